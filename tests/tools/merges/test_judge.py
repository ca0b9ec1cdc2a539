"""What a merge did, told from its four versions: every verdict on small cases, then laws over
generated histories.
"""

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.merge.conflicts import list_conflicts
from checkpoint_git.tools.merges.judge import Judged, judge_merge
from checkpoint_git.tools.merges.verdict import FAILURES
from tests.merge.choosing import OURS, THEIRS, keep_side
from tests.merge.operations import Operation, Value, apply_operations, histories, start, text_of
from tests.merge.schemas import skill_schema
from tests.merge.test_corpus import CASES, NEEDS_CORPUS, read_case
from tests.support.examples import examples
from tests.support.merging import TAKEN, judge_texts, merge_texts

SCHEMA = skill_schema()
Told = list[tuple[str, str, str]]

R1, R2, R3 = ({"at": f"2026-03-0{day}T00:00:00Z", "verdict": "PASS"} for day in (1, 2, 3))


def tell(base: Any, first: Any, second: Any, result: Any) -> Told:
    """(verdict, name, side) of every entry."""
    found = judge_texts(
        json.dumps(base), json.dumps(first), json.dumps(second), json.dumps(result), SCHEMA
    )
    return [(entry.verdict, entry.name, entry.side) for entry in found.entries]


def whole(base: Value, first: Value, second: Value, result: str) -> Judged:
    return judge_texts(text_of(base), text_of(first), text_of(second), result, SCHEMA)


# single values


@pytest.mark.parametrize(
    ("base", "first", "second", "result", "told"),
    [
        (1, 2, 1, 2, ("first", "first")),
        (1, 1, 2, 2, ("second", "second")),
        (1, 2, 3, 2, ("decided", "first")),
        (1, 2, 3, 3, ("decided", "second")),
        (1, 2, 1, 1, ("lost", "first")),
        (1, 1, 2, 1, ("lost", "second")),
        (1, 2, 2, 1, ("lost", "both")),
        (1, 2, 3, 1, ("lost", "both")),
        (1, 2, 1, 7, ("edited", "")),
        (1, 1, 1, 7, ("edited", "")),
        (1, 2, 3, 7, ("edited", "")),
    ],
)
def test_a_value_is_taken_decided_lost_or_edited(
    base: int, first: int, second: int, result: int, told: tuple[str, str]
) -> None:
    versions = ({"extra": value} for value in (base, first, second, result))
    assert tell(*versions) == [(told[0], "extra", told[1])]


@pytest.mark.parametrize(
    ("base", "first", "second", "result", "told"),
    [
        ({}, {"a": 1}, {}, {}, [("lost", "a", "first")]),
        ({}, {"a": 1}, {"a": 1}, {}, [("lost", "a", "both")]),
        ({"a": 1}, {"a": 1}, {"a": 1}, {}, [("lost", "a", "both")]),
        ({"a": 1}, {}, {"a": 1}, {}, [("first", "a", "first")]),
        ({"a": 1}, {}, {"a": 1}, {"a": 1}, [("resurrected", "a", "first")]),
        ({"a": 1}, {}, {}, {"a": 1}, [("resurrected", "a", "both")]),
        ({"a": 1}, {}, {"a": 2}, {"a": 2}, [("decided", "a", "second")]),
        ({"a": 1}, {}, {"a": 2}, {}, [("decided", "a", "first")]),
        ({"a": 1}, {"a": None}, {"a": 1}, {}, [("lost", "a", "first")]),
        (
            {},
            {"a": {"b": 1}},
            {"a": {"c": 2}},
            {"a": {"c": 2}},
            [("second", "a.c", "second"), ("lost", "a.b", "first")],
        ),
    ],
)
def test_absence_is_a_value(
    base: Value, first: Value, second: Value, result: Value, told: Told
) -> None:
    assert tell(base, first, second, result) == told


def test_what_both_parents_agree_on_is_only_counted() -> None:
    found = judge_texts(
        '{"a": 1, "b": 1}', '{"a": 2, "b": 1}', '{"a": 2, "b": 1}', '{"a": 2, "b": 1}', SCHEMA
    )
    assert (found.entries, found.agreed) == ((), 1)


def test_a_rule_that_replaces_a_value_excuses_its_absence() -> None:
    early, middle, late = (f"2026-03-0{day}T00:00:00Z" for day in (1, 2, 3))
    base, first, second = ({"updated_at": value} for value in (early, middle, late))
    assert tell(base, first, second, second) == [("second", "updated_at", "second")]
    assert tell(base, first, second, first) == [("lost", "updated_at", "second")]


@pytest.mark.parametrize(
    ("total", "verdict"), [(1.75, "combined"), (1.5, "lost"), (1.25, "lost"), (9, "edited")]
)
def test_costs_must_have_been_added_up(total: float, verdict: str) -> None:
    versions = ({"cost": {"total_usd": value}} for value in (1.0, 1.5, 1.25, total))
    assert [told[0] for told in tell(*versions)] == [verdict]


# groups


def head(step: str, summary: str) -> Value:
    return {"step": step, "progress_summary": summary}


def test_a_head_taken_whole_is_a_decision_also_of_its_other_leaves() -> None:
    base, first, second = head("s0", "A"), head("s1", "A"), head("s2", "B")
    assert tell(base, first, second, first) == [
        ("decided", "step", "first"),
        ("decided", "progress_summary", "first"),
    ]


def test_a_head_of_two_states_is_a_blend() -> None:
    base, first, second = head("s0", "A"), head("s1", "B"), head("s2", "C")
    assert ("mixed-up", "step", "both") in tell(base, first, second, head("s1", "C"))


def test_a_head_that_a_newer_one_replaced_and_that_is_kept_is_not_gone() -> None:
    early, middle, late = (f"2026-03-0{day}T00:00:00Z" for day in (1, 2, 3))
    base, older = (
        {**head("s0", "A"), "updated_at": early},
        {**head("s1", "B"), "updated_at": middle},
    )
    newer = {**head("s2", "C"), "updated_at": late}
    told = tell(base, newer, older, {**newer, "superseded": [older]})
    assert {verdict for verdict, _, _ in told} <= set(TAKEN)
    told = tell(base, newer, older, older)
    assert [verdict for verdict, name, _ in told if name in ("step", "progress_summary")] == [
        "decided",
        "decided",
    ]


def state(run: Any, passes: int) -> Value:
    return {"skill_state": {"last_run": run, "streak": passes}}


def test_the_latest_run_comes_whole_from_the_newer_side() -> None:
    base, first, second = state(R1, 1), state(R2, 2), state(R3, 3)
    assert {told[0] for told in tell(base, first, second, second)} == {"second"}
    assert {told[::2] for told in tell(base, first, second, first)} == {("lost", "second")}
    assert "mixed-up" in {told[0] for told in tell(base, first, second, state(R3, 2))}


def test_a_run_made_of_two_runs_is_a_blend() -> None:
    second = {"at": "2026-03-03T00:00:00Z", "verdict": "FAIL", "notes": "three tests"}
    mixed = {"at": R2["at"], "verdict": "FAIL", "notes": "three tests"}
    assert "mixed-up" in {
        told[0] for told in tell(state(R1, 1), state(R2, 1), state(second, 1), state(mixed, 1))
    }


# lists


def history(*runs: Any) -> Value:
    return {"skill_state": {"run_history": list(runs)}}


def test_an_entry_of_a_log_that_is_in_neither_place_is_lost() -> None:
    told = tell(history(R1), history(R1, R2), history(R1, R3), history(R1, R2))
    assert [told[0] for told in told] == ["first", "lost"]
    assert told[1][2] == "second"


def test_an_entry_that_both_parents_had_is_lost_too() -> None:
    assert [
        told[0]
        for told in tell(history(R1, R2), history(R1, R2), history(R1, R2, R3), history(R2, R3))
    ] == [
        "second",
        "lost",
    ]


def rows(**statuses: str) -> Value:
    return {
        "progress_table": [
            {"id": row, "label": f"The row {row} 1", "status": statuses[row]} for row in statuses
        ]
    }


def test_rows_are_followed_by_their_id() -> None:
    base, first, second = rows(a="x", b="x"), rows(a="y", b="x"), rows(b="z", a="x", c="x")
    assert sorted(tell(base, first, second, rows(a="y", b="z", c="x"))) == [
        ("first", "progress_table[a].status", "first"),
        ("second", "progress_table[b].status", "second"),
        ("second", "progress_table[c]", "second"),
    ]


def test_a_row_that_stands_twice_is_doubled() -> None:
    twice = rows(a="y", b="x")
    twice["progress_table"].append(twice["progress_table"][0])
    told = tell(rows(a="x", b="x"), rows(a="y", b="x"), rows(a="x", b="x"), twice)
    assert ("duplicated", "progress_table[a]", "") in told


def test_what_a_parent_had_twice_already_is_not_doubled() -> None:
    twice = {"pm_refs": [R1, R1]}
    assert tell(twice, {"pm_refs": [R1, R1, R2]}, twice, {"pm_refs": [R1, R1, R2]}) == [
        ("first", "pm_refs[" + json.dumps(R1 | R2, separators=(",", ":")) + "]", "first")
    ]


def test_a_row_with_another_rows_label_is_a_blend() -> None:
    base, changed = rows(a="x", b="x"), rows(a="y", b="x")
    result = copy.deepcopy(changed)
    result["progress_table"][0]["label"] = "The row b 1"
    assert ("mixed-up", "progress_table[a]", "") in tell(base, changed, base, result)


def test_a_record_of_two_records_is_a_blend() -> None:
    first = {"at": "2026-03-02T00:00:00Z", "verdict": "PASS", "notes": "all 12 tests"}
    second = {"at": "2026-03-03T00:00:00Z", "verdict": "FAIL", "notes": "none of 12"}
    mixed = {**second, "notes": first["notes"]}
    told = tell(history(R1), history(R1, first), history(R1, second), history(R1, mixed))
    assert [verdict for verdict, _, _ in told] == ["mixed-up", "lost", "lost"]


def test_one_id_for_two_records_is_a_decision_and_a_mixture_a_blend() -> None:
    first, second = ({"blockers": [{"id": "b", "description": text, "needs": need}]}
                     for text, need in (("one", "code_fix"), ("two", "user_decision")))  # fmt: skip
    mixed = {"blockers": [{"id": "b", "description": "one", "needs": "user_decision"}]}
    base: Value = {"blockers": []}
    assert tell(base, first, second, first) == [("decided", "blockers[b]", "first")]
    assert tell(base, first, second, mixed) == [("mixed-up", "blockers[b]", "both")]


def test_a_blocker_that_comes_back_is_resurrected() -> None:
    blockers = {"blockers": [{"id": "b", "description": "one"}]}
    assert tell(blockers, {"blockers": []}, blockers, blockers) == [
        ("resurrected", "blockers[b]", "first")
    ]


def test_a_full_list_may_cut_its_oldest_entries_but_no_newer_ones() -> None:
    def done(*days: int) -> Value:
        return {
            "recently_done": [
                {"text": f"action {day}", "at": f"2026-03-{day:02}T00:00:00Z"} for day in days
            ]
        }

    base, first, second = (
        done(*range(12, 2, -1)),
        done(*range(14, 4, -1)),
        done(20, *range(12, 3, -1)),
    )
    kept = done(20, *range(14, 5, -1))
    assert {told[0] for told in tell(base, first, second, kept)} <= set(TAKEN)
    told = tell(base, first, second, done(*range(14, 4, -1)))
    assert [name for verdict, name, _ in told if verdict == "lost"] == [
        "recently_done[action 20 2026-03-20T00:00:00Z]"
    ]


def primer(*decisions: str) -> Value:
    return {"context_primer": {"key_decisions": list(decisions)}}


def test_two_sentences_that_a_person_joined_are_not_lost() -> None:
    old, one, two = "Notes sync over HTTP", "SQLite holds every note", "Passkeys only, no passwords"
    told = tell(primer(old), primer(old, one), primer(old, two), primer(old, f"{one}; {two}"))
    assert [verdict for verdict, _, _ in told] == ["edited"] * 3


def test_an_action_that_was_done_in_the_merge_is_found_where_it_went() -> None:
    action = "Write the release notes"
    base = {"next_actions": [action, "Ship"], "recently_done": []}
    done = {
        "next_actions": ["Ship"],
        "recently_done": [{"text": action, "at": "2026-03-03T00:00:00Z"}],
    }
    assert [verdict for verdict, _, _ in tell(base, base, base, done)] == ["moved", "edited"]


def test_a_finished_action_is_back_in_any_form_of_its_record() -> None:
    base = {"next_actions": ["Ship", "Rest"]}
    for record in (
        {"text": "Ship"},
        {"action": "Ship"},
        {"action": {"text": "Ship", "done_when": "true"}},
    ):
        finished = {
            "next_actions": ["Rest"],
            "recently_done": [{"at": "2026-03-03T00:00:00Z", **record}],
        }
        by_hand = {**finished, "next_actions": ["Ship", "Rest"]}
        assert ("came-back", "next_actions[Ship]") in [
            told[:2] for told in tell(base, finished, base, by_hand)
        ]


def test_an_order_that_one_side_made_is_lost_where_the_old_one_stands() -> None:
    base, first = ({"next_actions": list(order)} for order in ("abc", "cab"))
    assert tell(base, first, base, base) == [("lost", "next_actions (order)", "first")]
    assert tell(base, first, first, base) == [("lost", "next_actions (order)", "both")]
    assert tell(base, first, base, first) == []


def test_no_order_is_lost_of_an_action_that_one_side_has_twice() -> None:
    base, first, second = ({"next_actions": list(order)} for order in ("abcd", "abcdcd", "abdcd"))
    by_hand = {"next_actions": list("abcdcdx")}
    assert [verdict for verdict, _, _ in tell(base, first, second, by_hand)] == ["first", "edited"]
    assert ("lost", "next_actions (order)", "first") in tell(
        base, {"next_actions": list("bacdcd")}, base, base
    )

    # both moved: a conflict
    first, second = ({"next_actions": list(order)} for order in ("xabdcc", "adbc"))
    assert [verdict for verdict, _, _ in tell(base, first, second, first)] == ["first", "first"]


# whole files


def test_conflict_markers_in_the_result_are_a_blend() -> None:
    marked = '{\n<<<<<<< ours\n"a": 1\n=======\n"a": 2\n>>>>>>> theirs\n}'
    found = judge_texts("{}", '{"a": 1}', '{"a": 2}', marked, SCHEMA)
    assert [(entry.verdict, entry.name) for entry in found.entries] == [("mixed-up", "(the file)")]
    assert found.has_failed
    assert found.unreadable[0][0] == "result"


def test_a_key_that_stands_twice_is_doubled() -> None:
    found = judge_texts("{}", '{"a": 1}', '{"a": 2}', '{"a": 1, "a": 2}', SCHEMA)
    assert [entry.verdict for entry in found.entries] == ["duplicated"]


def test_a_parent_that_cannot_be_read_is_said_and_nothing_is_guessed() -> None:
    found = judge_merge(b"\xff", b"{}", b"{}", b"{}", SCHEMA)
    assert (found.entries, found.unreadable[0][0], found.has_failed) == ((), "base", False)


def test_files_may_be_absent_on_any_side() -> None:
    assert tell_files(b"{}", None, b'{"a": 1}', None) == ["decided"]
    assert tell_files(None, b"{}", None, None) == ["lost"]
    assert tell_files(b"{}", None, b"{}", b"{}") == ["resurrected"]
    assert tell_files(None, b'{"a": 1}', b'{"b": 1}', b'{"a": 1, "b": 1}') == ["first", "second"]


def tell_files(*versions: bytes | None) -> list[str]:
    base, first, second, result = versions
    return [entry.verdict for entry in judge_merge(base, first, second, result, SCHEMA).entries]


def test_the_result_is_compared_with_our_own_merge() -> None:
    base, first, second = ({"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2})
    found = whole(base, first, second, text_of({"b": 2, "a": 2}))
    assert found.ours is not None
    assert (found.ours.clean, found.ours.same) == (True, True)
    found = whole(base, first, second, text_of(first))
    assert found.ours is not None
    assert found.ours.differences == ("/b",)
    found = whole(base, first, {"a": 3, "b": 1}, text_of(first))
    assert found.ours is not None
    assert found.ours.conflicts == ("/a",)


# growth


def count_calls(items: int) -> int:
    """Calls of Python and C functions that it takes to judge a list of equal items, half of which
    are gone.
    """
    versions = (
        {"list": ["the same text"] * number} for number in (items, items + 5, items - 5, items // 2)
    )
    base, first, second, result = map(text_of, versions)
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        found = judge_texts(base, first, second, result, {})
    finally:
        sys.setprofile(None)
    assert found.has_failed
    return calls


def test_equal_items_are_judged_in_linear_time() -> None:
    small, large = count_calls(300), count_calls(1200)
    assert large < 4.4 * small


# laws


def explained_choices(
    base: str | None, first: str, second: str, narrative: str = "conflict"
) -> list[Judged]:
    """Our own merge of two sides, explained with each side of its conflicts chosen."""
    merged = merge_texts(base, first, second, SCHEMA, narrative)
    chosen = [keep_side(merged.text, side) for side in (OURS, THEIRS)]
    assert merged.conflicts or chosen[0] == chosen[1]
    found = [judge_texts(base, first, second, text, SCHEMA, narrative) for text in chosen]
    if not merged.conflicts and narrative == "conflict":
        assert found[0].count("decided") == 0
    return found


def unexpected(found: list[Judged]) -> list[tuple[str, str]]:
    return [(entry.verdict, entry.name) for each in found for entry in each.entries
            if entry.verdict not in (*TAKEN, "decided")]  # fmt: skip


both_histories = {"ours": histories("o"), "theirs": histories("t")}


@given(**both_histories, narrative=st.sampled_from(["conflict", "newest"]), add_add=st.booleans())
@examples(200)
def test_our_own_merge_loses_nothing(
    ours: list[Operation], theirs: list[Operation], narrative: str, add_add: bool
) -> None:
    first, second = (text_of(apply_operations(start(), side)) for side in (ours, theirs))
    assert (
        unexpected(
            explained_choices(None if add_add else text_of(start()), first, second, narrative)
        )
        == []
    )


@NEEDS_CORPUS
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_our_own_merge_of_a_real_pair_loses_nothing(case: Path) -> None:
    base, first, second = read_case(case)
    assert unexpected(explained_choices(base or None, first, second)) == []
    assert unexpected(explained_choices(base or None, second, first)) == []


@given(**both_histories)
@examples(100)
def test_the_parents_swapped_swap_nothing_but_their_names(
    ours: list[Operation], theirs: list[Operation]
) -> None:
    base, first, second = (
        start(),
        apply_operations(start(), ours),
        apply_operations(start(), theirs),
    )
    result = text_of(first)
    one, other = whole(base, first, second, result), whole(base, second, first, result)
    swapped = {"first": "second", "second": "first"}
    assert {(entry.where, entry.verdict) for entry in one.entries if entry.verdict != "lost"} == {
        (entry.where, swapped.get(entry.verdict, entry.verdict))
        for entry in other.entries
        if entry.verdict != "lost"
    }
    lost = [sum(entry.verdict == "lost" for entry in found.entries) for found in (one, other)]
    assert lost[0] == lost[1]


LISTS = ("progress_table", "next_actions", "blockers", "recently_done")


@given(
    **both_histories, name=st.sampled_from(LISTS), number=st.integers(0, 20), twice=st.booleans()
)
@examples(200)
def test_an_item_taken_out_of_or_doubled_in_a_good_result_is_found(
    ours: list[Operation], theirs: list[Operation], name: str, number: int, twice: bool
) -> None:
    base, first, second = (
        start(),
        apply_operations(start(), ours),
        apply_operations(start(), theirs),
    )
    merged = merge_texts(text_of(base), text_of(first), text_of(second), SCHEMA)
    result = json.loads(keep_side(merged.text, OURS))
    items = result.get(name, [])
    if not items or any(
        f"{where}/".startswith(f"/{name}/")
        for one in list_conflicts(merged)
        for where in one.places
    ):
        return  # of an item in conflict, taking it out may be the other side's choice
    if name == "recently_done" and len(items) >= 10:
        return  # it may have been too much
    item = items[number % len(items)]
    done = [entry["text"] for side in (first, second) for entry in side["recently_done"]]
    if name == "next_actions" and not twice and item in done:
        return  # a side finished it, and its list holds it again: taking it out may be that
    if twice:
        items.append(copy.deepcopy(item))
    else:
        items.remove(item)
    found = whole(base, first, second, text_of(result))
    # the copy that the other side removed, of two that a side had, is back: that is no failure, and
    # told below
    is_back = twice and items.count(item) <= max(
        side.get(name, []).count(item) for side in (first, second)
    )
    assert found.has_failed or is_back or not (twice or item in first[name] or item in second[name])
    assert {entry.verdict for entry in found.entries} & {
        *FAILURES,
        "resurrected",
        "limited",
        "moved",
    }
