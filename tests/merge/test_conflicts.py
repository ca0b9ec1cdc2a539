"""A text says itself which conflicts of its merge are decided, and a line merge is told from a
person's edit.
"""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.merge.conflicts import (
    Conflict,
    Decision,
    Held,
    NextAnswer,
    decide_each,
    find_choices,
    is_about,
    is_text_merge,
    list_conflicts,
    split_sides,
)
from checkpoint_git.merge.file import Merged
from checkpoint_git.merge.result import BASE, OURS, THEIRS
from tests.merge.choosing import keep_side
from tests.merge.operations import Operation, text_of
from tests.merge.schemas import skill_schema
from tests.merge.test_laws import many, merged_of, ours_history, sides, theirs_history
from tests.support.merging import merge_texts
from tests.support.repos import needs_git
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

SIZE = 7


def merged(ours: dict[str, object], theirs: dict[str, object]) -> Merged:
    return merge_texts(
        checkpoint_text(), checkpoint_text(**ours), checkpoint_text(**theirs), skill_schema()
    )


def test_a_conflict_tells_what_each_side_holds() -> None:
    found = list_conflicts(merged({"project": "a"}, {"project": ...}))
    assert found == [Conflict("/project", ("/project",), (Held("a"), Held("tidepool"), None))]


def test_a_group_is_one_conflict_with_all_its_disputed_places() -> None:
    (found,) = list_conflicts(
        merged({"step": "a", "progress_summary": "A"}, {"step": "b", "progress_summary": "B"})
    )
    assert (found.where, found.places) == ("/step", ("/step", "/progress_summary"))
    assert found.sides[OURS] == Held({"step": "a", "progress_summary": "A"})
    assert found.sides[THEIRS] == Held({"step": "b", "progress_summary": "B"})


def test_markers_name_the_places_of_a_group_that_the_sides_dispute() -> None:
    both = merged({"step": "a", "progress_summary": "A"}, {"step": "b", "progress_summary": "B"})
    one = merged({"step": "a", "progress_summary": "A"}, {"step": "b", "progress_summary": "A"})
    labels = [
        line.rstrip(",")
        for text in (both.text, one.text)
        for line in text.splitlines()
        if line.startswith("<<<<<<< ")
    ]
    assert labels == ["<<<<<<< ours: /step /progress_summary", "<<<<<<< ours: /step"]


def test_a_conflict_on_the_order_shows_both_orders() -> None:
    base, ours, theirs = (text_of({"next_actions": list(order)}) for order in ("abc", "cab", "bac"))
    (found,) = list_conflicts(merge_texts(base, ours, theirs, skill_schema()))
    assert [side and side.value for side in found.sides] == [
        ["c", "a", "b"],
        ["a", "b", "c"],
        ["b", "a", "c"],
    ]


@rows(
    ("where", "named"),
    [
        ("/step", True),
        ("/progress_summary", True),
        ("", True),
        ("/", True),
        ("/ste", False),
        ("/step/x", False),
    ],
)
def test_a_pointer_names_a_conflict_by_any_place_of_it(where: str, named: bool) -> None:
    conflict = Conflict("/step", ("/step", "/progress_summary"), (None, None, None))
    assert is_about(conflict, where) is named


def test_a_pointer_names_what_it_holds() -> None:
    assert is_about(
        Conflict("/blockers/2/text", ("/blockers/2/text",), (None, None, None)), "/blockers/2"
    )


@given(ours=ours_history, theirs=theirs_history, data=st.data())
@many
def test_the_decisions_are_read_off_the_text(
    ours: list[Operation], theirs: list[Operation], data: st.DataObject
) -> None:
    start = merged_of(*sides(ours, theirs))
    sides_taken = st.sampled_from([OURS, BASE, THEIRS, None])
    answers = st.sampled_from([NextAnswer("what is next"), NextAnswer(None), None])

    def draw(conflict: Conflict) -> Decision | None:
        return data.draw(answers if conflict.question else sides_taken)

    decided = decide_each(start, draw, SIZE)
    found = find_choices(start, decided.merged.text, SIZE)
    assert found is not None

    def repeat(conflict: Conflict) -> Decision | None:
        decision = found.get(conflict.where)
        if conflict.question and not isinstance(decision, NextAnswer):
            return None  # the decision is on the list that was emptied
        return decision

    assert decide_each(start, repeat, SIZE).merged.text == decided.merged.text


def test_a_question_that_a_side_was_taken_for_is_read_off_the_empty_list() -> None:
    nothing: dict[str, object] = {"next_actions": []}
    start = merged({"status": "complete", **nothing}, {"status": "failed", **nothing})
    wanted = {"/status": BASE, "/next_actions": OURS}
    decided = decide_each(start, lambda conflict: wanted[conflict.where], SIZE)
    assert json.loads(decided.merged.text)["next_actions"] == []
    assert find_choices(start, decided.merged.text, SIZE) == wanted


def test_a_list_that_was_decided_is_no_longer_marked_where_it_is_asked_about() -> None:
    base, longer = ["a", "b"], ["a", "b", "c"]
    texts = [
        checkpoint_text(next_actions=base, step="s"),
        checkpoint_text(next_actions=longer, step="t"),
        checkpoint_text(next_actions=..., step="u", status="complete"),
    ]
    start = merge_texts(texts[0], texts[1], texts[2], skill_schema())
    wanted = {"/step": OURS, "/next_actions": THEIRS}

    def choose(conflict: Conflict) -> Decision | None:
        return None if conflict.question else wanted[conflict.where]

    decided = decide_each(start, choose, SIZE)
    assert [conflict.where for conflict in decided.remaining] == ["/next_actions"]
    assert find_choices(start, decided.merged.text, SIZE) == wanted


def test_decisions_are_read_off_a_document_on_one_line() -> None:
    texts = [json.dumps({"a": a, "b": b, "c": c}) for a, b, c in ((1, 1, 1), (2, 2, 2), (3, 3, 3))]
    start = merge_texts(texts[0], texts[1], texts[2])
    wanted = {"/a": THEIRS, "/b": OURS, "/c": BASE}
    decided = decide_each(start, lambda conflict: wanted[conflict.where], SIZE)
    assert find_choices(start, decided.merged.text, SIZE) == wanted


def test_an_edited_text_has_no_decisions() -> None:
    start = merged({"step": "a"}, {"step": "b"})
    assert find_choices(start, start.text.replace("Passkeys", "Passwords"), SIZE) is None
    assert find_choices(start, checkpoint_text(step="c"), SIZE) is None


def test_choosing_by_hand_between_the_markers_is_a_decision() -> None:
    start = merged({"step": "a"}, {"step": "b"})
    assert find_choices(start, keep_side(start.text, THEIRS), SIZE) == {"/step": THEIRS}


def test_a_decision_can_bring_up_another_conflict() -> None:
    base = text_of({"next_actions": ["a", "b", {"text": "c", "done_when": "1"}]})
    ours = text_of({"next_actions": [{"text": "c", "done_when": "2"}, "a", "b"]})
    theirs = text_of({"next_actions": ["b", "a", {"text": "c", "done_when": "3"}]})
    asked: list[str] = []

    def choose(conflict: Conflict) -> int:
        asked.append(conflict.where)
        return OURS

    decided = decide_each(merge_texts(base, ours, theirs, skill_schema()), choose, SIZE)
    assert json.loads(decided.merged.text) == json.loads(ours)
    assert len(asked) == len(set(asked)) == len(decided.conflicts) > 1
    assert decided.remaining == []


# --quiet stands for the plain style
STYLES = (
    "--quiet",
    "--diff3",
    pytest.param("--zdiff3", marks=needs_git(2, 35, feature="--zdiff3")),
)


def line_merge(folder: Path, *options: str) -> str:
    words = ["git", "merge-file", "-p", "-L", "HEAD", "-L", "1234", "-L", "a branch", *options]
    done = subprocess.run(
        [*words, "ours", "base", "theirs"], cwd=folder, capture_output=True, check=False
    )
    return done.stdout.decode()


@pytest.fixture
def three(tmp_path: Path) -> Path:
    (tmp_path / "base").write_text(checkpoint_text())
    (tmp_path / "ours").write_text(
        checkpoint_text(step="a", progress_summary="A", blockers=[{"id": "b"}])
    )
    (tmp_path / "theirs").write_text(checkpoint_text(step="b", progress_summary="A", phase="q"))
    return tmp_path


@pytest.mark.parametrize("style", STYLES)
def test_a_line_merge_of_any_style_is_known(three: Path, style: str) -> None:
    text = line_merge(three, style)
    favoured = line_merge(three, "--ours"), line_merge(three, "--theirs")
    assert "\n" + "<" * SIZE + " " in "\n" + text
    assert is_text_merge(text, checkpoint_text(), *favoured, SIZE)


@pytest.mark.parametrize("style", STYLES)
def test_an_edit_in_a_line_merge_is_seen_wherever_it_stands(three: Path, style: str) -> None:
    text = line_merge(three, style)
    favoured = line_merge(three, "--ours"), line_merge(three, "--theirs")
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        edited = "".join([*lines[:number], line.rstrip("\n") + " edited\n", *lines[number + 1 :]])
        is_label = line.startswith(("<<<<<<< ", "||||||| ", ">>>>>>> "))
        assert is_text_merge(edited, checkpoint_text(), *favoured, SIZE) is is_label, line


def test_marker_lines_are_told_by_their_size_and_their_turn() -> None:
    text = '{\n"a": "======="\n<<<<<<< x\n1\n=======\n2\n>>>>>>> y\n}\n'
    assert split_sides(text, 7) == (
        '{\n"a": "======="\n1\n}\n',
        '{\n"a": "======="\n2\n}\n',
        [],
        None,
    )
    assert split_sides(text, 9).ours == text


def test_a_base_is_whole_if_every_conflict_shows_its_part() -> None:
    shown = "<<<<<<< x\n1\n||||||| b\n0\n=======\n2\n>>>>>>> y\n"
    hidden = "<<<<<<< x\n3\n=======\n4\n>>>>>>> y\n"
    assert split_sides(f"a\n{shown}b\n", 7) == ("a\n1\nb\n", "a\n2\nb\n", ["0\n"], "a\n0\nb\n")
    assert split_sides(shown + hidden, 7) == ("1\n3\n", "2\n4\n", ["0\n"], None)


def test_a_separator_inside_a_text_ends_no_line() -> None:
    text = '{\n"a": "x\u2028<<<<<<< y\x85>>>>>>> z"\n}\n'
    assert split_sides(text, 7) == (text, text, [], text)
