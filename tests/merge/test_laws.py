"""Laws that hold for every pair of histories, checked on generated operations."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.finding import has_errors
from checkpoint_git.merge.file import Merged
from checkpoint_git.protocols.validate import check_document
from tests.merge.choosing import OURS, THEIRS, keep_side
from tests.merge.operations import Operation, Value, apply_operations, histories, start, text_of
from tests.merge.schemas import skill_schema
from tests.support.examples import examples
from tests.support.merging import merge_texts

SCHEMA = skill_schema()
DECLARED = ("updated_at", "cost", "recently_done")
OVERTAKEN = '"in_progress"'  # of a row that the other side completed
NOW = 1_790_000_000
many = examples(150)

one_history = histories("x")
ours_history = histories("o")
theirs_history = histories("t")


def merged_of(base: Value, ours: Value, theirs: Value) -> Merged:
    return merge_texts(text_of(base), text_of(ours), text_of(theirs), SCHEMA)


def sides(ours: list[Operation], theirs: list[Operation]) -> tuple[Value, Value, Value]:
    base = start()
    return base, apply_operations(base, ours), apply_operations(base, theirs)


def scalars(value: Any) -> set[str]:
    """Every scalar in a document as text, keys included."""
    if isinstance(value, dict):
        return set(value) | {leaf for child in value.values() for leaf in scalars(child)}
    if isinstance(value, list):
        return {leaf for child in value for leaf in scalars(child)}
    return {json.dumps(value)}


def without_declared(value: Value) -> Value:
    """Without what is declared to be replaced, added up or cut: the latest run, instants, sums,
    what was done.
    """
    state = {
        key: field
        for key, field in value["skill_state"].items()
        if key not in ("last_run", "streak")
    }
    return {
        key: field for key, field in {**value, "skill_state": state}.items() if key not in DECLARED
    }


@given(history=one_history)
@many
def test_a_side_alone_is_the_result_byte_for_byte(history: list[Operation]) -> None:
    base, changed, _ = sides(history, [])
    for merged in (
        merged_of(base, changed, base),
        merged_of(base, base, changed),
        merged_of(base, changed, changed),
    ):
        assert merged.conflicts == []
        assert merged.text == text_of(changed)


@given(ours=ours_history, theirs=theirs_history)
@many
def test_swapping_the_sides_swaps_nothing_but_the_conflicts_sides(
    ours: list[Operation], theirs: list[Operation]
) -> None:
    base, left, right = sides(ours, theirs)
    one, other = merged_of(base, left, right), merged_of(base, right, left)
    assert len(one.conflicts) == len(other.conflicts)
    if not one.conflicts:
        assert one.text == other.text
    for side in (OURS, THEIRS):
        assert json.loads(keep_side(one.text, side)) == json.loads(keep_side(other.text, 2 - side))


@given(ours=ours_history, theirs=theirs_history)
@many
def test_what_a_side_wrote_is_in_the_result_or_in_a_conflict(
    ours: list[Operation], theirs: list[Operation]
) -> None:
    base, left, right = sides(ours, theirs)
    merged = merged_of(base, left, right)
    found = scalars(json.loads(keep_side(merged.text, OURS))) | scalars(
        json.loads(keep_side(merged.text, THEIRS))
    )
    for side in (left, right):
        assert scalars(without_declared(side)) - scalars(base) - found - {OVERTAKEN} == set()


@given(ours=ours_history, theirs=theirs_history)
@many
def test_what_one_side_removed_and_the_other_left_alone_stays_removed(
    ours: list[Operation], theirs: list[Operation]
) -> None:
    base, left, right = sides(ours, theirs)
    value = json.loads(keep_side(merged_of(base, left, right).text, OURS))
    for list_name, key in (("blockers", "id"), ("progress_table", "id")):
        before = {row[key]: row for row in base[list_name]}
        for side, other in ((left, right), (right, left)):
            untouched = {row[key] for row in other[list_name] if row == before.get(row[key])}
            removed = set(before) - {row[key] for row in side[list_name]}
            assert {row[key] for row in value[list_name]} & removed & untouched == set()


@given(ours=ours_history, theirs=theirs_history)
@many
def test_what_one_side_finished_is_never_offered_again(
    ours: list[Operation], theirs: list[Operation]
) -> None:
    # the queue alone, shortened, so that many histories end it
    finishing = [Operation("finish", number, f"f{number}") for number in (0, 0)]
    base = apply_operations(start(), finishing)
    left, right = (
        apply_operations(base, ours),
        apply_operations(base, [*theirs, Operation("finish", 1, "f1")]),
    )
    merged = merged_of(base, left, right)
    for side in (OURS, THEIRS):
        offered = json.loads(keep_side(merged.text, side)).get("next_actions", [])
        for one, other in ((left, right), (right, left)):
            if "next_actions" in one:
                finished = [
                    text for text in base["next_actions"] if text not in one["next_actions"]
                ]
                assert [
                    text
                    for text in finished
                    if other.get("next_actions", []).count(text) < 2 and text in offered
                ] == []


@given(ours=ours_history, theirs=theirs_history)
@many
def test_nothing_is_invented(ours: list[Operation], theirs: list[Operation]) -> None:
    base, left, right = sides(ours, theirs)
    known = scalars(base) | scalars(left) | scalars(right)
    for side in (OURS, THEIRS):
        value = json.loads(keep_side(merged_of(base, left, right).text, side))
        value.pop("cost")
        value.pop("superseded", None)  # a list that the merge may begin; its entries are a side's
        assert scalars(value) - known == set()


@given(ours=ours_history, theirs=theirs_history)
@many
def test_costs_add_up(ours: list[Operation], theirs: list[Operation]) -> None:
    base, left, right = sides(ours, theirs)
    value = json.loads(keep_side(merged_of(base, left, right).text, OURS))
    totals = [side["cost"]["total_usd"] for side in (base, left, right)]
    expected = totals[1] if totals[1] == totals[2] else totals[1] + totals[2] - totals[0]
    assert abs(value["cost"]["total_usd"] - expected) < 1e-9


@given(ours=ours_history, theirs=theirs_history)
@many
def test_a_clean_result_of_valid_sides_is_valid(
    ours: list[Operation], theirs: list[Operation]
) -> None:
    base, left, right = sides(ours, theirs)
    merged = merged_of(base, left, right)
    path = ".checkpoints/build.checkpoint.json"
    if not merged.conflicts:
        assert not has_errors(check_document(path, merged.text.encode(), now=NOW).findings)


layouts = st.sampled_from([None, 1, 4, "\t"])


@given(ours=ours_history, theirs=theirs_history, layout=layouts, other=layouts)
@many
def test_the_layout_of_the_files_does_not_change_what_is_merged(
    ours: list[Operation], theirs: list[Operation], layout: Any, other: Any
) -> None:
    base, left, right = sides(ours, theirs)
    plain = merged_of(base, left, right)
    styled = merge_texts(
        text_of(base, layout), text_of(left, layout), text_of(right, other), SCHEMA
    )
    assert len(plain.conflicts) == len(styled.conflicts)
    for side in (OURS, THEIRS):
        assert json.loads(keep_side(plain.text, side)) == json.loads(keep_side(styled.text, side))


@given(ours=ours_history, theirs=theirs_history, layout=st.sampled_from([1, 2, 4, "\t"]))
@many
def test_every_line_of_a_clean_merge_is_a_line_of_a_side(
    ours: list[Operation], theirs: list[Operation], layout: Any
) -> None:
    base, left, right = (text_of(side, layout) for side in sides(ours, theirs))
    merged = merge_texts(base, left, right, SCHEMA)
    if not merged.conflicts:
        known = {line.rstrip(",") for text in (left, right) for line in text.splitlines()}
        lines = [line.rstrip(",") for line in merged.text.splitlines()]
        assert [
            line
            for line in lines
            if line not in known and "total_usd" not in line and '": ' not in line
        ] == []


@given(ours=ours_history, theirs=theirs_history)
@many
def test_a_merge_of_merge_bases_is_always_valid_json(
    ours: list[Operation], theirs: list[Operation]
) -> None:
    base, left, right = (text_of(side) for side in sides(ours, theirs))
    merged = merge_texts(base, left, right, SCHEMA, inner=True)
    assert merged.conflicts == []
    assert isinstance(json.loads(merged.text), dict)


@given(ours=ours_history, theirs=theirs_history)
@many
def test_the_newest_policy_leaves_no_conflict_in_the_head(
    ours: list[Operation], theirs: list[Operation]
) -> None:
    base, left, right = sides(
        [*ours, Operation("bump", 20, "")], [*theirs, Operation("bump", 21, "")]
    )
    merged = merge_texts(text_of(base), text_of(left), text_of(right), SCHEMA, narrative="newest")
    assert [
        conflict.where
        for conflict in merged.conflicts
        if conflict.where in ("/step", "/progress_summary")
    ] == []
    for side in (left, right):
        for leaf in ("step", "progress_summary"):
            assert side[leaf] == base[leaf] or json.dumps(side[leaf]) in merged.text
