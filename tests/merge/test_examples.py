"""What single places become: the documented examples, each in both orientations."""

import json
from typing import Any

import pytest

from checkpoint_git.merge.file import Merged
from tests.merge.choosing import OURS, THEIRS, keep_side
from tests.merge.schemas import skill_schema
from tests.support.merging import TAKEN, judge_texts, merge_texts
from tests.support.rows import rows

ABSENT = object()
CONFLICT = object()

T1, T2, T3, T4 = "T1", "T2", "T3", "T4"
T1_DONE_WHEN = {"text": "T1", "done_when": "make test"}


def row(status: str, label: str = "Row") -> dict[str, str]:
    return {"id": "r", "label": label, "status": status}


R1, R2, R3 = ({"at": f"2026-01-0{day}T00:00:00Z", "verdict": "PASS"} for day in (1, 2, 3))
B1, B2 = ({"id": name, "description": f"about {name}"} for name in ("b1", "b2"))

EXAMPLES: list[tuple[str, Any, Any, Any, Any]] = [
    # place, base, ours, theirs, result
    ("next_actions", [T1, T2, T3], [T2, T3], [T1, T2, T3, T4], [T2, T3, T4]),
    ("next_actions", [T1, T2], [T1_DONE_WHEN, T2], [T1, T2, T3], [T1_DONE_WHEN, T2, T3]),
    ("next_actions", [T1], ["U", "V", T1], ["R", T1], ["R", "U", "V", T1]),
    ("next_actions", [T1, T2, T3], [T3, T1, T2], [T2, T1, T3], CONFLICT),
    ("next_actions", [T1, T2], [T2], [T1_DONE_WHEN, T2], CONFLICT),
    ("next_actions", [T1, T2, T3], [T3, T1, T2], [T1, T2, T3, T4], [T3, T1, T2, T4]),
    ("next_actions", [], [T2, T1], [T1], [T2, T1]),
    ("next_actions", [T4], ["Fix the outage", "Add tests", "Write docs"], ["Add tests", "Write docs"],
     ["Fix the outage", "Add tests", "Write docs"]),
    ("next_actions", [], [T2, T1], [T1, T3, T2], [T1, T3, T2]),
    ("next_actions", [T1, T2], [T1, T2, T3, T4], [T4, T2, T1], [T2, T1, T3, T4]),
    ("next_actions", [T1, T2], [T1, T3, T2], [T2, T1], [T2, T1, T3]),
    ("depends_on", ["a", "b", "c"], ["c", "a", "b"], ["b", "a", "c"], ["c", "b", "a"]),
    ("next_actions", [T1, T2], [T2, T1], [T2, T1], [T2, T1]),
    ("context_primer.key_decisions", ["a", "b"], ["a and b, in one"], ["a", "b", "c"], ["a and b, in one", "c"]),
    ("context_primer.user_preferences", ["p"], ["p, shorter"], ["p, longer"], ["p, longer", "p, shorter"]),
    ("context_primer.generated_files", ["x"], ["x", "b"], ["x", "a"], ["x", "a", "b"]),
    ("skill_state.run_history", [R1], [R1, R3], [R1, R2], [R1, R2, R3]),
    ("skill_state.run_history", [R1, R1], [R1, R1, R2], [R1, R1, R3], [R1, R1, R2, R3]),
    ("progress_table", [row("in_progress")], [row("complete")], [row("in_progress", "New")], [row("complete", "New")]),
    ("progress_table", [row("complete")], [row("in_progress")], [row("complete", "New")], [row("in_progress", "New")]),
    ("progress_table", [row("not_started")], [row("in_progress")], [row("complete")], [row("complete")]),
    ("progress_table", [row("in_progress")], [row("complete")], [row("blocked")], CONFLICT),
    ("progress_table", [row("in_progress")], [row("skipped")], [row("complete")], CONFLICT),
    ("progress_table", [row("in_progress")], [row("not_started")], [row("complete")], CONFLICT),
    ("progress_table", [row("not_started")], [], [row("not_started")], []),
    ("progress_table", [row("not_started")], [], [row("complete")], CONFLICT),
    ("blockers", [B1], [], [B1, B2], [B2]),
    ("blockers", [], [{**B1, "needs": "code_fix"}], [B1], CONFLICT),
    ("blockers", [B1], [{**B1, "needs": "x"}, B1], [{**B1, "resolved_by": "me"}],
     [{**B1, "needs": "x"}, {**B1, "resolved_by": "me"}]),
    ("progress_table", [row("blocked")], [row("complete", "Another"), row("blocked")], [row("blocked", "New")],
     [row("complete", "Another"), row("blocked", "New")]),
    ("updated_at", "2026-01-01T10:00:00Z", "2026-01-01T12:00:00+02:00", "2026-01-01T10:30:00Z", "2026-01-01T10:30:00Z"),
    ("updated_at", "2026-01-01T09:00:00Z", "2026-01-01T12:00:00+02:00", "2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"),
    ("updated_at", "2026-01-01T09:00:00Z", "yesterday", "2026-01-01T10:00:00Z", CONFLICT),
    ("created_at", ABSENT, "2026-01-01T11:00:00Z", "2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"),
    ("protocol_version", ABSENT, "1.1", "1.0", "1.1"),
    ("cost", {"total_usd": 1.00}, {"total_usd": 1.50}, {"total_usd": 1.25}, {"total_usd": 1.75}),
    ("cost", {"total_usd": 5}, {"total_usd": 1}, {"total_usd": 6}, CONFLICT),
    ("cost", ABSENT, {"by_phase": {"plan": 0.1}}, {"by_phase": {"plan": 0.2}}, {"by_phase": {"plan": 0.3}}),
    ("cost", {"by_model": {}}, {"by_model": {"a": 1}}, {"by_model": {"b": 2}}, {"by_model": {"a": 1, "b": 2}}),
    ("skill_state.numbers", [1, 2], [1, 2, 4], [1, 2, 3], [1, 2, 3, 4]),
    ("skill_state.thing", {"a": 1}, {"a": 1, "b": 2}, {"a": 1, "c": 3}, {"a": 1, "b": 2, "c": 3}),
    ("skill_state.leaf", 1, ABSENT, None, CONFLICT),
    ("skill_state.leaf", 1, 2, 3, CONFLICT),
    ("skill_state.leaf", True, False, True, False),
    ("skill_state.leaf", ABSENT, {"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
    ("skill_state.leaf", 1, [1], {"a": 1}, CONFLICT),
    ("skill_state.prs", [{"number": 1, "t": "x"}], [{"number": 1, "t": "y"}],
     [{"number": 1, "t": "x"}, {"number": 2}], [{"number": 1, "t": "y"}, {"number": 2}]),
    ("skill_state.pr", {"number": 1, "t": "x"}, {"number": 2, "t": "y"}, {"number": 3, "t": "z"}, CONFLICT),
    ("skill_state.log", [{"a": 1}, {"a": 1}], [{"a": 1}, {"a": 1}, {"a": 3}], [{"a": 1}, {"a": 1}, {"a": 2}],
     [{"a": 1}, {"a": 1}, {"a": 2}, {"a": 3}]),
    ("skill_state.log", [{"a": 1}, {"a": 1}], [{"a": 1}, {"a": 3}], [{"a": 1}, {"a": 2}], CONFLICT),
    ("skill_state.merged_prs", [{"number": 1}], [{"number": 1}, {"number": 3}], [{"number": 1}, {"number": 2}],
     [{"number": 1}, {"number": 2}, {"number": 3}]),
    ("skill_state.merged_prs+", {"number": 1}, {"number": 3}, {"number": 2}, [{"number": 2}, {"number": 3}]),
    ("skill_state.merged_prs+", {"number": 1}, [{"number": 2}, {"number": 3}], {"number": 4},
     [{"number": 2}, {"number": 3}, {"number": 4}]),
    ("skill_state.merged_prs+", {"number": 1}, {"number": 1, "t": "x"}, {"number": 1, "n": "y"},
     {"number": 1, "t": "x", "n": "y"}),
    ("skill_state.merged_prs+", {"number": 1}, [{"number": 1, "t": "x"}], {"number": 4}, CONFLICT),
    ("skill_state.merged_prs_this_session", ["#1"], ["#1", "#3"], ["#1", "#2"], ["#1", "#2", "#3"]),
    ("skill_state.last_run", {"at": "2026-01-01T00:00:00Z", "n": 1}, {"at": "2026-01-02T00:00:00Z", "n": 2},
     {"at": "2026-01-03T00:00:00Z", "n": 3}, {"at": "2026-01-03T00:00:00Z", "n": 3}),
    ("pm_refs", [{"provider": "linear", "id": "A-1"}] * 2, [{"provider": "linear", "id": "A-1"}] * 3,
     [{"provider": "linear", "id": "A-1"}] * 2, [{"provider": "linear", "id": "A-1"}] * 3),
    ("eval_scores", [], [{"rubric": "a", "score": 1}], [{"rubric": "a", "score": 2}],
     [{"rubric": "a", "score": 1}, {"rubric": "a", "score": 2}]),
    ("depends_on", ["x"], ["x", "y"], ["z", "x"], ["z", "x", "y"]),
    ("depends_on", "x", "y", "z", CONFLICT),
]  # fmt: skip


def document(place: str, value: Any) -> str:
    fields: dict[str, Any] = {"skill": "build"}
    if value is not ABSENT:
        *parents, name = place.split(".")
        inner: dict[str, Any] = {name: value}
        for parent in reversed(parents):
            inner = {parent: inner}
        fields.update(inner)
    return json.dumps(fields, indent=2) + "\n"


def value_at(text: str, place: str) -> Any:
    value = json.loads(text)
    for name in place.split("."):
        value = value.get(name, ABSENT) if isinstance(value, dict) else ABSENT
    return value


def merge(place: str, base: Any, ours: Any, theirs: Any) -> Merged:
    return merge_texts(
        document(place, base), document(place, ours), document(place, theirs), skill_schema()
    )


@pytest.mark.parametrize(("place", "base", "ours", "theirs", "result"), EXAMPLES)
def test_a_place_becomes_the_same_from_either_side(
    place: str, base: Any, ours: Any, theirs: Any, result: Any
) -> None:
    for merged in (merge(place, base, ours, theirs), merge(place, base, theirs, ours)):
        if result is CONFLICT:
            assert len(merged.conflicts) == 1
        else:
            assert merged.conflicts == []
            assert value_at(merged.text, place) == result


@pytest.mark.parametrize(("place", "base", "ours", "theirs", "result"), EXAMPLES)
def test_the_laws_of_one_changed_side_hold_at_every_example(
    place: str, base: Any, ours: Any, theirs: Any, result: Any
) -> None:
    for side in (ours, theirs):
        for merged in (
            merge(place, base, side, base),
            merge(place, base, base, side),
            merge(place, base, side, side),
        ):
            assert merged.text == document(place, side)


@pytest.mark.parametrize("example", [example for example in EXAMPLES if example[4] is CONFLICT])
def test_either_side_of_a_conflict_is_a_document_that_holds_that_side(
    example: tuple[str, Any, Any, Any, Any],
) -> None:
    place, base, ours, theirs, _ = example
    merged = merge(place, base, ours, theirs)
    if place not in ("next_actions", "blockers", "progress_table"):
        assert value_at(keep_side(merged.text, OURS), place) == ours
        assert value_at(keep_side(merged.text, THEIRS), place) == theirs
    assert json.loads(keep_side(merged.text, OURS)) != json.loads(keep_side(merged.text, THEIRS))


DAY1, DAY2, DAY3 = (f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 3))
HEAD = {"phase": "p", "step": "s0", "status": "in_progress", "progress_summary": "A"}


def head(**changes: str) -> str:
    return json.dumps({"updated_at": "2026-01-01T00:00:00Z", **HEAD, **changes}, indent=2)


def test_one_changed_leaf_a_side_in_the_head_is_no_conflict() -> None:
    merged = merge_texts(head(), head(step="s1"), head(progress_summary="B"), skill_schema())
    assert merged.conflicts == []
    assert json.loads(merged.text) == json.loads(head(step="s1", progress_summary="B"))


def test_a_conflict_in_the_head_is_one_and_shows_each_sides_whole_state() -> None:
    merged = merge_texts(
        head(), head(step="s1", progress_summary="B"), head(step="s2"), skill_schema()
    )
    assert [conflict.where for conflict in merged.conflicts] == ["/step"]
    assert merged.text.count("<<<<<<<") == 1
    assert json.loads(keep_side(merged.text, OURS)) == json.loads(
        head(step="s1", progress_summary="B")
    )
    assert json.loads(keep_side(merged.text, THEIRS)) == json.loads(head(step="s2"))


def test_the_newest_policy_takes_the_newer_head_and_keeps_the_other_for_review() -> None:
    ours = head(step="s1", progress_summary="B", updated_at="2026-01-02T00:00:00Z")
    theirs = head(step="s2", updated_at="2026-01-03T00:00:00Z")
    for left, right in ((ours, theirs), (theirs, ours)):
        merged = merge_texts(head(), left, right, skill_schema(), narrative="newest")
        assert merged.conflicts == []
        value = json.loads(merged.text)
        assert (value["step"], value["progress_summary"]) == ("s2", "B")
        lost = {**HEAD, "step": "s1", "progress_summary": "B", "updated_at": "2026-01-02T00:00:00Z"}
        assert value["superseded"] == [lost]


BY_DEFAULT = {
    # what ours and theirs say beside step s1 and step s2, theirs being newer -> the step, None
    # where it is asked for
    "both only went on": ({}, {}, "s2"),
    "both wrote a summary": ({"progress_summary": "B"}, {"progress_summary": "C"}, "s2"),
    "both came to one new status": ({"status": "failed"}, {"status": "failed"}, "s2"),
    "the older side has another status": ({"status": "failed"}, {}, None),
    "the newer side has another status": ({}, {"status": "failed"}, None),
    "the older side is in another phase": ({"phase": "q"}, {}, None),
    "the newer side is in another phase": ({}, {"phase": "q"}, None),
    "one instant": ({}, {"updated_at": DAY2}, None),
    "no instant": ({"updated_at": "yesterday"}, {}, None),
    "a side no later than the base": ({"updated_at": "2026-01-01T00:00:00Z"}, {}, None),
    "a side before the base": ({"updated_at": "2025-12-01T00:00:00Z"}, {}, None),
}


@pytest.mark.parametrize("case", BY_DEFAULT)
def test_by_default_the_newer_head_wins_while_both_sides_have_one_phase_and_status(
    case: str,
) -> None:
    one, other, step = BY_DEFAULT[case]
    ours = head(**{"step": "s1", "updated_at": DAY2, **one})
    theirs = head(**{"step": "s2", "updated_at": DAY3, **other})
    for left, right in ((ours, theirs), (theirs, ours)):
        merged = merge_texts(head(updated_at=DAY1), left, right, skill_schema())
        assert [
            conflict.where for conflict in merged.conflicts if conflict.where != "/updated_at"
        ] == ([] if step else ["/phase" if "phase" in {**one, **other} else "/step"])
        value = json.loads(keep_side(merged.text, OURS))
        assert not step or value["step"] == step
        assert value.get("superseded") == ([json.loads(ours)] if step else None)
        assert (
            len(
                merge_texts(
                    head(updated_at=DAY1), left, right, skill_schema(), "conflict"
                ).conflicts
            )
            >= 1
        )


TASKS = [{"content": text, "status": "pending", "steps": ["look"]} for text in ("write", "test")]
WITHOUT_IDS = [
    # ours, theirs: the first task; what becomes of it, None for a conflict
    ({"status": "done"}, {"steps": ["look", "run"]}, {"status": "done", "steps": ["look", "run"]}),
    ({"status": "done"}, {"status": "skipped"}, None),
    ({"content": "write it"}, {"content": "write all"}, None),
    ({"content": "write it"}, {"status": "done"}, {"content": "write it", "status": "done"}),
]


@pytest.mark.parametrize(("ours", "theirs", "expected"), WITHOUT_IDS)
def test_tasks_without_ids_merge_by_what_they_are(ours: Any, theirs: Any, expected: Any) -> None:
    sides = [
        json.dumps(
            {"tasks": [{**TASKS[0], **change}, TASKS[1], {**TASKS[0], "content": name}]}, indent=1
        )
        for change, name in ((ours, "from here"), (theirs, "from there"))
    ]
    for left, right in (sides, sides[::-1]):
        merged = merge_texts(json.dumps({"tasks": TASKS}, indent=1), left, right)
        assert bool(merged.conflicts) == (expected is None)
        if expected is not None:
            tasks = json.loads(merged.text)["tasks"]
            assert tasks[:2] == [{**TASKS[0], **expected}, TASKS[1]]
            assert {task["content"] for task in tasks[2:]} == {"from here", "from there"}


def test_of_a_head_that_both_sides_wrote_twice_what_was_set_aside_before_gives_way() -> None:
    base = head(step="s1", updated_at=DAY2)
    ours = json.dumps({**json.loads(head(step="s9", updated_at="2026-02-01T00:00:00Z")),
                       "superseded": [{"step": "other"}, json.loads(base)]}, indent=2)  # fmt: skip
    theirs = head(step="s2", updated_at=DAY3)
    for left, right in ((ours, theirs), (theirs, ours)):
        value = json.loads(merge_texts(base, left, right, skill_schema()).text)
        assert (value["step"], value["superseded"]) == (
            "s9",
            [{"step": "other"}, json.loads(theirs)],
        )


def test_the_newest_policy_never_restores_the_bases_summary_over_the_one_that_was_written() -> None:
    ours = head(step="s1", progress_summary="B", status="failed", updated_at="2026-01-02T00:00:00Z")
    theirs = head(step="s2", phase="q", updated_at="2026-01-03T00:00:00Z")
    for left, right in ((ours, theirs), (theirs, ours)):
        merged = merge_texts(head(), left, right, skill_schema(), narrative="newest")
        value = json.loads(merged.text)
        assert [value[key] for key in HEAD] == ["q", "s2", "failed", "B"]
        found = judge_texts(head(), left, right, merged.text, skill_schema(), "newest")
        assert [entry.name for entry in found.entries if entry.verdict not in TAKEN] == []


def test_the_newest_policy_adds_to_what_both_sides_have_set_aside() -> None:
    def text(step: str, at: str, aside: list[str]) -> str:
        value = {
            **json.loads(head(step=step, updated_at=at)),
            "superseded": [{"step": name} for name in aside],
        }
        return json.dumps(value, indent=2)

    base = text("s0", "2026-01-01T00:00:00Z", ["old"])
    ours = text("s1", "2026-01-02T00:00:00Z", ["old", "x"])
    theirs = text("s2", "2026-01-03T00:00:00Z", ["old", "y"])
    merged = merge_texts(base, ours, theirs, skill_schema(), narrative="newest")
    assert [record["step"] for record in json.loads(merged.text)["superseded"]] == [
        "old",
        "x",
        "y",
        "s1",
    ]


def test_a_tie_under_the_newest_policy_is_left_to_a_person() -> None:
    merged = merge_texts(
        head(), head(step="s1"), head(step="s2"), skill_schema(), narrative="newest"
    )
    assert len(merged.conflicts) == 1


def test_the_directory_follows_the_newer_side_and_never_conflicts() -> None:
    def text(path: str, at: str) -> str:
        return json.dumps({"project_dir": path, "updated_at": at})

    base = text("/a", "2026-01-01T00:00:00Z")
    newer, older = text("/c", "2026-01-03T00:00:00Z"), text("/b", "2026-01-02T00:00:00Z")
    for sides in ((newer, older), (older, newer)):
        merged = merge_texts(base, *sides, skill_schema())
        assert json.loads(merged.text) == json.loads(newer)
    tie = text("/b", "2026-01-03T00:00:00Z")
    for sides in ((newer, tie), (tie, newer)):
        assert json.loads(merge_texts(base, *sides, skill_schema()).text)["project_dir"] == "/b"


def test_two_sides_that_finish_each_others_last_action_are_asked_what_is_next() -> None:
    def text(actions: list[str]) -> str:
        return json.dumps({"status": "in_progress", "next_actions": actions}, indent=2)

    merged = merge_texts(text(["a", "b"]), text(["a"]), text(["b"]), skill_schema())
    assert [conflict.where for conflict in merged.conflicts] == ["/next_actions"]
    assert json.loads(keep_side(merged.text, OURS))["next_actions"] == []
    assert json.loads(keep_side(merged.text, THEIRS))["next_actions"] == []


@rows(
    ("key", "is_known"),
    [("title", True), ("key", True), ("id", True), ("text", True), ("kind", False)],
)
@pytest.mark.parametrize("base", [None, {}])
def test_records_that_both_sides_added_with_one_title_are_one_record(
    base: Any, key: str, is_known: bool
) -> None:
    # a list that both sides added has no base: "Write docs" must not stand there both done and not
    # done
    ours, theirs = [
        {"todo": [{key: "Write docs", "done": done}, {key: name, "done": False}]}
        for done, name in ((True, "a"), (False, "b"))
    ]
    before = "" if base is None else json.dumps(base, indent=2)
    merged = merge_texts(before, json.dumps(ours, indent=2), json.dumps(theirs, indent=2))
    assert [conflict.where for conflict in merged.conflicts] == ["/todo/0" if is_known else "/todo"]
    for side in (OURS, THEIRS):
        kept = json.loads(keep_side(merged.text, side))["todo"]
        assert [item[key] for item in kept].count("Write docs") == 1


def test_a_row_that_one_side_gave_another_id_and_the_other_edited_is_one_row() -> None:
    def text(name: str, label: str) -> str:
        rows = [{"id": name, "label": label, "status": "not_started"}, {"id": "z", "label": "Z"}]
        return json.dumps({"progress_table": rows}, indent=2)

    base, renamed, edited, expected = (
        text("a", "A"),
        text("b", "A"),
        text("a", "New"),
        text("b", "New"),
    )
    for sides in ((renamed, edited), (edited, renamed)):
        merged = merge_texts(base, *sides, skill_schema())
        assert (merged.conflicts, json.loads(merged.text)) == ([], json.loads(expected))


def test_a_record_that_only_the_older_side_changed_is_not_lost() -> None:
    def text(at: str, streak: int, run: str) -> str:
        state = {"last_run": {"at": run}, "streak": {"passes": streak}}
        return json.dumps({"updated_at": at, "skill_state": state}, indent=2)

    base = text("2026-01-01T00:00:00Z", 1, "2026-01-01T00:00:00Z")
    ours = text("2026-01-05T00:00:00Z", 1, "2026-01-01T00:00:00Z")
    theirs = text("2026-01-02T00:00:00Z", 2, "2026-01-02T00:00:00Z")
    merged = merge_texts(base, ours, theirs, skill_schema())
    assert json.loads(merged.text) == json.loads(
        text("2026-01-05T00:00:00Z", 2, "2026-01-02T00:00:00Z")
    )


def test_what_was_done_lately_is_newest_first_and_bounded() -> None:
    def text(*days: int) -> str:
        done = [{"text": f"t{day}", "at": f"2026-01-{day:02}T00:00:00Z"} for day in days]
        return json.dumps({"recently_done": done}, indent=2)

    ten = range(10, 0, -1)
    merged = merge_texts(text(*ten), text(12, *ten[:9]), text(11, *ten[:9]), skill_schema())
    assert json.loads(merged.text) == json.loads(text(12, 11, *ten[:8]))


def done(*days: int) -> list[Any]:
    return [{"text": f"t{day}", "at": f"2026-01-{day:02}T00:00:00Z"} for day in days]


TEN, SAID = range(10, 0, -1), [f"e{n}" for n in range(10)]
LATELY = [
    # base, ours, theirs, result: of what is too much the oldest goes, wherever it stands
    (
        done(*range(1, 11)),
        done(*range(1, 11), 12),
        done(*range(1, 11), 11),
        done(*range(2, 12), 12),
    ),
    (done(*TEN), done(12, *TEN), done(11, *TEN), done(12, 11, *TEN[:-1])),
    (SAID, [*SAID, "new a"], [*SAID, "new b"], [*SAID[:-1], "new a", "new b"]),
    (done(*TEN), ["said", *done(*TEN)], done(11, *TEN), ["said", *done(11, *TEN[:-1])]),
]


@pytest.mark.parametrize(("base", "ours", "theirs", "result"), LATELY)
def test_a_list_with_a_limit_is_cut_of_its_oldest(
    base: Any, ours: Any, theirs: Any, result: Any
) -> None:
    for sides in ((ours, theirs), (theirs, ours)):
        merged = merge("recently_done", base, *sides)
        assert merged.conflicts == []
        assert sorted(map(json.dumps, value_at(merged.text, "recently_done"))) == sorted(
            map(json.dumps, result)
        )


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x7f"])
def test_only_a_newline_ends_a_line_of_a_conflict(separator: str) -> None:
    def text(end: str) -> str:
        return json.dumps({"project": f"a{separator}<<<<<<< {end}"}, indent=2, ensure_ascii=False)

    merged = merge_texts(text("a"), text("b"), text("c"), skill_schema())
    markers = [
        line
        for line in merged.text.split("\n")
        if line.startswith(("<<<<<<<", "|||||||", "=======", ">>>>>>>"))
    ]
    assert len(markers) == 4
    sides = merged.text.split("\n||||||| base: /project\n")[0].split("<<<<<<< ours: /project\n")
    assert json.loads("".join(sides) + "\n}") == json.loads(text("b"))


def aside(step: str, at: str, names: list[str] | None, **more: Any) -> str:
    value: dict[str, Any] = {**json.loads(head(step=step, updated_at=at)), **more}
    if names is not None:
        value["superseded"] = [{"step": name} for name in names]
    return json.dumps(value, indent=2)


SET_ASIDE = [
    # base, ours, theirs: what each has set aside already
    (None, None, ["x", "y", "z"]),
    (["x"], ["x"], ["x", "y", "z"]),
    (["x", "y"], ["x", "y"], ["y"]),
    (None, ["x"], ["y", "z"]),
    ([], [], None),
]


@pytest.mark.parametrize(("base", "ours", "theirs"), SET_ASIDE)
def test_what_is_set_aside_joins_what_either_side_had(
    base: list[str] | None, ours: list[str] | None, theirs: list[str] | None
) -> None:
    left, right = aside("s1", DAY2, ours), aside("s2", DAY3, theirs)
    expected = {
        name
        for name in (ours or []) + (theirs or [])
        if name not in (base or []) or name in (theirs or [])
    }
    for sides in ((left, right), (right, left)):
        merged = merge_texts(aside("s0", DAY1, base), *sides, skill_schema(), narrative="newest")
        assert merged.conflicts == []
        names = [record["step"] for record in json.loads(merged.text)["superseded"]]
        assert set(names[:-1]) == expected
        assert names[-1] == "s1"


def test_a_list_of_things_set_aside_that_is_itself_in_conflict_gets_the_record_on_both_sides() -> (
    None
):
    left, right = aside("s1", DAY2, None), aside("s2", DAY3, ["x", "y"])
    for sides in ((left, right), (right, left)):
        merged = merge_texts(aside("s0", DAY1, ["x"]), *sides, skill_schema(), narrative="newest")
        assert [conflict.where for conflict in merged.conflicts] == ["/superseded"]
        kept = [
            json.loads(keep_side(merged.text, side)).get("superseded") for side in (OURS, THEIRS)
        ]
        assert sorted([record["step"] for record in names or []] for names in kept) == [
            ["s1"],
            ["x", "y", "s1"],
        ]


def test_an_unattended_merge_of_finished_work_with_a_changed_head_is_clean_from_both_sides() -> (
    None
):
    base = aside("s0", DAY1, None, next_actions=["a"])
    left = aside("s1", DAY3, None, next_actions=[], status="complete")
    right = aside("s2", DAY2, None, next_actions=["a"])
    for sides in ((left, right), (right, left)):
        merged = merge_texts(base, *sides, skill_schema(), narrative="newest")
        assert merged.conflicts == []
        assert json.loads(merged.text)["status"] == "complete"


def test_rows_that_both_moved_and_edited_come_out_in_one_order_from_either_side() -> None:
    def text(*rows: tuple[str, str]) -> str:
        return json.dumps(
            {"progress_table": [{"id": name, "label": label} for name, label in rows]}, indent=2
        )

    base = text(("a", "1"), ("b", "2"), ("c", "3"))
    left = text(("c", "9"), ("a", "1"), ("b", "2"))
    right = text(("b", "0"), ("a", "1"), ("c", "3"))
    assert (
        merge_texts(base, left, right, skill_schema()).text
        == merge_texts(base, right, left, skill_schema()).text
    )
