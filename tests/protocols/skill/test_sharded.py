"""Taking a checkpoint apart and joining it again loses nothing, whatever is written in between."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.decimals import read_decimal
from checkpoint_git.core.jsontext import to_tokens
from checkpoint_git.protocols.skill.events import CLOSING, FIELD, SHARDED, Event, Stored, store_event
from checkpoint_git.protocols.skill.sharded import Split, identify, join_value, plan_entries, plan_split
from tests.support.samples import checkpoint

PRS = "/skill_state/merged_prs"
RUNS = "/skill_state/run_history"
MARKS = [f"{number:016x}" for number in range(20)]
LATER = "2026-03-02T10:00:00Z"

ENTRIES = st.one_of(
    st.integers(0, 5).map(lambda number: {"number": str(number).encode()}),
    st.sampled_from(["a", "b", None, True, b"1", b"1.0", b"9007199254740993", {"a": ["x"], "b": {}}]),
)
LISTS = st.lists(ENTRIES, max_size=8)
AMOUNTS = st.decimals(0, 100, places=2).map(lambda amount: str(amount).encode())


def tokens(**changes: Any) -> dict[str, Any]:
    value: dict[str, Any] = to_tokens(checkpoint(**changes))
    return value


def sharded(**changes: Any) -> dict[str, Any]:
    return tokens(**{FIELD: SHARDED, **changes})


class Folder:
    """A checkpoint's own value and its events, changed only as a plan says."""

    def __init__(self, active: dict[str, Any], stored: Sequence[Stored] = ()) -> None:
        self.active = active
        self.stored = list(stored)
        self.marks = 0

    def write(self, after: dict[str, Any]) -> Split:
        self.marks += 100
        marks = [f"{self.marks + number:016x}" for number in range(20)]
        plan = plan_split("build", self.active, self.stored, after, marks)
        assert set(plan.remove) <= {each.name for each in self.stored}
        files = {each.name: each for each in [*self.stored, *plan.create] if each.name not in plan.remove}
        self.active, self.stored = plan.active, [files[name] for name in sorted(files)]
        return plan

    @property
    def whole(self) -> dict[str, Any]:
        return join_value(self.active, self.stored)


def merged(ours: Folder, theirs: Folder, base: Folder) -> Folder:
    """What git's text merge makes of two branches that left the checkpoint's own file alone: the union of files."""
    assert ours.active == theirs.active == base.active
    gone = {each.name for each in base.stored} - (
        {each.name for each in ours.stored} & {each.name for each in theirs.stored}
    )
    files = {each.name: each for each in [*ours.stored, *theirs.stored] if each.name not in gone}
    return Folder(base.active, [files[name] for name in sorted(files)])


@given(lists=st.lists(st.tuples(LISTS, LISTS), min_size=1, max_size=5))
def test_whatever_is_written_is_what_is_read(lists: list[tuple[list[Any], list[Any]]]) -> None:
    folder = Folder(tokens(skill_state={"merged_prs": [], "mode": "x"}))
    folder.write(sharded(skill_state={"merged_prs": [], "mode": "x"}))
    for prs, runs in lists:
        state = {"merged_prs": prs, "mode": "x", "run_history": runs}
        folder.write(sharded(skill_state=state))
        assert folder.whole == sharded(skill_state={key: state[key] for key in state if key != "run_history" or runs})
        assert folder.active["skill_state"] == {"merged_prs": [], "mode": "x"}


@given(prs=LISTS, runs=LISTS)
def test_there_and_back_is_the_same_document(prs: list[Any], runs: list[Any]) -> None:
    single = tokens(skill_state={"merged_prs": prs, "mode": "x", "run_history": runs})
    folder = Folder(single)
    folder.write(sharded(skill_state=single["skill_state"]))
    assert folder.whole == sharded(skill_state=single["skill_state"])
    assert list(folder.whole["skill_state"]) == ["merged_prs", "mode", "run_history"]
    folder.write(single)
    assert folder.active == single
    assert folder.stored == []


@given(prs=LISTS)
def test_writing_the_same_again_changes_no_file(prs: list[Any]) -> None:
    folder = Folder(tokens(skill_state={"merged_prs": prs}))
    folder.write(sharded(skill_state={"merged_prs": prs}))
    before = (folder.active, folder.stored)
    plan = folder.write(folder.whole)
    assert (plan.create, plan.remove) == ([], [])
    assert (folder.active, folder.stored) == before


@given(base=LISTS, ours=LISTS, theirs=LISTS)
def test_two_branches_that_append_leave_the_checkpoint_alone_and_both_are_there(
    base: list[Any], ours: list[Any], theirs: list[Any]
) -> None:
    start = Folder(tokens(skill_state={"merged_prs": base}))
    start.write(sharded(skill_state={"merged_prs": base}))
    sides = [Folder(start.active, start.stored) for _ in range(2)]
    for side, more in zip(sides, (ours, theirs), strict=True):
        side.write(
            {**side.whole, "skill_state": {"merged_prs": base + more}, "updated_at": LATER} if more else side.whole
        )
    both = merged(sides[0], sides[1], start).whole["skill_state"]["merged_prs"]
    assert both[: len(base)] == base
    words = [Counter(map(repr, entries)) for entries in (base, ours, theirs, both)]
    assert words[3] == words[0] + (words[1] | words[2]), "of equal ones as many as the side with more of them has"
    for more in (ours, theirs):
        if not words[1] & words[2]:  # an entry of both sides stands where the one that counts less has it
            assert is_subsequence(more, both[len(base) :])


def is_subsequence(wanted: list[Any], found: list[Any]) -> bool:
    rest = iter(found)
    return all(any(entry == other for other in rest) for entry in wanted)


def test_an_entry_that_both_branches_added_is_there_once() -> None:
    start = Folder(sharded(skill_state={"merged_prs": []}))
    ours, theirs = Folder(start.active), Folder(start.active)
    ours.write(sharded(skill_state={"merged_prs": ["x", "same"]}, updated_at=LATER))
    theirs.write(sharded(skill_state={"merged_prs": ["same"]}, updated_at="2026-03-02T11:00:00Z"))
    assert sorted(merged(ours, theirs, start).whole["skill_state"]["merged_prs"]) == ["same", "x"]


def test_an_entry_at_the_head_is_one_new_file() -> None:
    folder = Folder(tokens(skill_state={"run_history": ["b", "a"]}))
    folder.write(sharded(skill_state={"run_history": ["b", "a"]}))
    plan = folder.write(sharded(skill_state={"run_history": ["d", "c", "b", "a"]}))
    assert [each.event.content for each in plan.create] == ["d", "c"]
    assert plan.remove == []
    assert folder.whole["skill_state"]["run_history"] == ["d", "c", "b", "a"]


def test_appending_writes_nothing_into_the_checkpoint_and_still_tells_the_time() -> None:
    folder = Folder(sharded(skill_state={"merged_prs": []}))
    before = folder.active
    folder.write(sharded(skill_state={"merged_prs": ["x"]}, updated_at=LATER))
    assert folder.active == before
    assert folder.whole["updated_at"] == LATER


def test_a_rotation_of_the_entry_that_told_the_time_keeps_the_time() -> None:
    folder = Folder(sharded(skill_state={"merged_prs": []}))
    folder.write(sharded(skill_state={"merged_prs": ["x"]}, updated_at=LATER))
    folder.write(sharded(skill_state={"merged_prs": []}, updated_at=LATER))
    assert folder.stored == []
    assert folder.whole["updated_at"] == LATER


def test_what_another_branch_appended_to_the_file_comes_after_the_entries_and_counts_once() -> None:
    folder = Folder(tokens(skill_state={"merged_prs": ["a", "b"]}))
    folder.write(sharded(skill_state={"merged_prs": ["a", "b"]}))
    folder.active = sharded(skill_state={"merged_prs": ["a", "b", "d"]})
    assert folder.whole["skill_state"]["merged_prs"] == ["a", "b", "d"]
    folder.active = sharded(skill_state={"merged_prs": ["d"]})
    assert folder.whole["skill_state"]["merged_prs"] == ["a", "b", "d"]
    folder.write(folder.whole)
    assert folder.active["skill_state"] == {"merged_prs": []}
    assert folder.whole["skill_state"]["merged_prs"] == ["a", "b", "d"]


def test_events_of_a_checkpoint_that_went_back_come_after_its_own_entries() -> None:
    folder = Folder(tokens(skill_state={"merged_prs": []}))
    folder.write(sharded(skill_state={"merged_prs": ["a", "d"]}))
    folder.active = tokens(skill_state={"merged_prs": ["a", "c"]})
    assert folder.whole["skill_state"]["merged_prs"] == ["a", "c", "d"]


# amounts


def cost(total: Any) -> dict[str, Any]:
    return sharded(cost={"total_usd": total, "budget_usd": 9}, skill_state={})


@given(base=AMOUNTS, amounts=st.lists(AMOUNTS, max_size=5))
def test_an_amount_is_what_was_last_written(base: bytes, amounts: list[bytes]) -> None:
    folder = Folder(cost(base))
    for amount in amounts:
        folder.write(cost(amount))
        read, wanted = read_decimal(folder.whole["cost"]["total_usd"]), read_decimal(amount)
        assert read is not None
        assert wanted is not None
        assert read[0] * 10 ** wanted[1] == wanted[0] * 10 ** read[1]


def test_two_branches_that_spend_are_added_up_even_where_they_spend_the_same() -> None:
    start = Folder(cost(b"1.00"))
    ours, theirs = Folder(start.active), Folder(start.active)
    theirs.marks = 7000
    ours.write(cost(b"1.50"))
    theirs.write(cost(b"1.50"))
    assert merged(ours, theirs, start).whole["cost"]["total_usd"] == b"2.00"


def test_spending_in_a_new_place_leaves_the_checkpoint_alone() -> None:
    folder = Folder(sharded(skill_state={}))
    before = folder.active
    folder.write(sharded(skill_state={}, cost={"total_usd": b"1", "by_phase": {"a/b": b"0.5"}}))
    assert folder.active == before
    assert folder.whole["cost"] == {"total_usd": b"1", "by_phase": {"a/b": b"0.5"}}


def test_an_amount_that_falls_is_written_whole_and_its_events_go() -> None:
    folder = Folder(cost(b"1.00"))
    folder.write(cost(b"3.00"))
    folder.write(cost(b"2.00"))
    assert folder.stored == []
    assert folder.active["cost"]["total_usd"] == b"2.00"


def test_an_amount_that_was_taken_in_already_is_not_counted_again() -> None:
    event = store_event("build", Event("/cost/total_usd", 0, 0, "", b"0.5", MARKS[1]))
    value = tokens(cost={"total_usd": b"1.5"}, **{CLOSING: [MARKS[1]]})
    assert join_value(value, [event])["cost"]["total_usd"] == b"1.5"
    assert CLOSING not in join_value(value, [event])
    plan = plan_split("build", value, [event], join_value(value, [event]), MARKS)
    assert plan.remove == [event.name]


# where nothing can be joined


@pytest.mark.parametrize("state", ["text", [], {"merged_prs": "text"}])
def test_events_without_a_list_to_stand_in_are_left_out(state: Any) -> None:
    value = sharded(skill_state=state)
    stored = store_event("build", Event(PRS, 0, 0, "", "x", ""))
    assert join_value(value, [stored]) == value


@given(entries=LISTS, old=LISTS)
def test_a_plan_for_a_list_gives_that_list(entries: list[Any], old: list[Any]) -> None:
    first, _ = plan_entries(RUNS, old, [], "")
    stored = sorted([store_event("build", event) for event in first], key=lambda each: (each.event.order, each.name))
    create, gone = plan_entries(RUNS, entries, stored, "")
    after = [each for each in stored if each.name not in gone] + [store_event("build", event) for event in create]
    assert len({each.name for each in after}) == len(after)
    joined = join_value(sharded(skill_state={"run_history": []}), after)
    assert joined["skill_state"]["run_history"] == entries


JUNK = st.recursive(
    st.none() | st.booleans() | st.sampled_from([b"1", b"0", b"-2", b"1e999", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["merged_prs", "run_history", "total_usd", "by_phase", "by_model", "plan"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
DOCUMENTS = st.dictionaries(
    st.sampled_from(["skill_state", "cost", "updated_at", "skill", CLOSING]), JUNK, max_size=5
).flatmap(lambda value: st.sampled_from([value, {**value, FIELD: SHARDED}]))
EVENTS = st.lists(
    st.one_of(
        st.builds(
            Event, st.sampled_from([PRS, RUNS]), st.integers(0, 9), st.integers(0, 2), st.just(""), JUNK, st.just("")
        ),
        st.builds(
            Event,
            st.sampled_from(["/cost/total_usd", "/cost/by_phase/plan"]),
            st.just(0),
            st.just(0),
            st.just(LATER),
            st.sampled_from([b"1", b"0.5"]),
            st.sampled_from(MARKS),
        ),
    ),
    max_size=5,
).map(
    lambda events: sorted(
        {store_event("build", event).name: store_event("build", event) for event in events}.values(),
        key=lambda each: each.name,
    )
)


@given(before=DOCUMENTS, after=DOCUMENTS, stored=EVENTS)
def test_a_document_that_breaks_the_schema_breaks_nothing(
    before: dict[str, Any], after: dict[str, Any], stored: list[Stored]
) -> None:
    whole = join_value(before, stored)
    folder = Folder(before, stored)
    folder.write(after)
    if after.get(FIELD) != SHARDED:
        assert (folder.active, folder.stored) == (after, [])
    again = Folder(before, stored)
    again.write(whole)
    assert identify(again.whole) == identify(whole)
