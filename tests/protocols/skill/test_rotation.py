"""What is past, and that nothing of it is lost."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core import jsonwrite
from checkpoint_git.core.jsontext import load, to_tokens
from checkpoint_git.protocols.skill.rotation import find_merged, history_document, plan_rotation
from tests.merge.schemas import skill_schema
from tests.support.examples import examples
from tests.support.merging import merge_texts
from tests.support.rows import rows
from tests.support.samples import checkpoint


def rotate(**changes: Any) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    rotation = plan_rotation(to_tokens(checkpoint(**changes)))
    return rotation.value, {part.where: part.items for part in rotation.moved}


def test_closed_pull_requests_move_and_the_rest_of_the_state_stays() -> None:
    state = {
        "mode": "x",
        "merged_prs": [{"number": 1}],
        "merged_prs_today": ["#2"],
        "closed_unmerged_prs": ["#3"],
    }
    rest, moved = rotate(skill_state=state)
    assert rest["skill_state"] == {
        "mode": "x",
        "merged_prs": [],
        "merged_prs_today": [],
        "closed_unmerged_prs": [],
    }
    assert moved == {
        "/skill_state/merged_prs": [{"number": b"1"}],
        "/skill_state/merged_prs_today": ["#2"],
        "/skill_state/closed_unmerged_prs": ["#3"],
    }


def test_reconciliation_records_move_whole() -> None:
    rest, moved = rotate(
        skill_state={"reconciliation_2026_05_08": {"why": "drift"}, "reconciliation_log": ["a"]}
    )
    assert rest["skill_state"] == {"reconciliation_log": []}
    assert moved["/skill_state/reconciliation_2026_05_08"] == [{"why": "drift"}]


def test_settings_of_reconciliations_stay() -> None:
    state = {"reconciliation_interval_days": 7, "reconciliation_enabled": True}
    rest, moved = rotate(skill_state=state)
    assert rest["skill_state"] == {
        "reconciliation_interval_days": b"7",
        "reconciliation_enabled": True,
    }
    assert moved == {}


def test_the_five_newest_runs_stay_whichever_way_the_list_runs() -> None:
    runs = [{"at": f"2026-03-0{day}T00:00:00Z"} for day in range(1, 9)]
    for order in (runs, runs[::-1]):
        rest, moved = rotate(skill_state={"run_history": order})
        assert sorted(run["at"][9] for run in rest["skill_state"]["run_history"]) == [
            "4",
            "5",
            "6",
            "7",
            "8",
        ]
        assert sorted(run["at"][9] for run in moved["/skill_state/run_history"]) == ["1", "2", "3"]


def test_the_twenty_last_decisions_stay() -> None:
    rest, moved = rotate(
        context_primer={
            "key_decisions": [f"d{n}" for n in range(23)],
            "user_preferences": ["short"],
        }
    )
    assert rest["context_primer"] == {
        "key_decisions": [f"d{n}" for n in range(3, 23)],
        "user_preferences": ["short"],
    }
    assert moved == {"/context_primer/key_decisions": ["d0", "d1", "d2"]}


def test_superseded_heads_move() -> None:
    rest, moved = rotate(superseded=[{"step": "a"}])
    assert rest["superseded"] == []
    assert moved == {"/superseded": [{"step": "a"}]}


# what is closed and stays


@rows(
    "changes",
    [
        {"next_actions": ["Write the docs of #2", "Rest"]},
        {"next_actions": [{"text": "See https://github.com/ada/tidepool/pull/2 for the fallout"}]},
        {
            "blockers": [
                {"id": "b", "description": "Which region?", "proposed_resolution": "as PR 2 did"}
            ]
        },
        {
            "progress_table": [
                {"id": "s", "label": "Follow up on ada/tidepool#2", "status": "in_progress"}
            ]
        },
    ],
)
@rows("entry", [2, "#2", "ada/tidepool#2", {"number": 2, "title": "search"}, {"pr": "#2"}])
def test_an_entry_that_something_open_names_stays(changes: dict[str, Any], entry: Any) -> None:
    state = {"merged_prs": [{"number": 1, "title": "after #2"}, entry, "#22"]}
    rotation = plan_rotation(to_tokens(checkpoint(skill_state=state, **changes)))
    assert rotation.value["skill_state"]["merged_prs"] == [to_tokens(entry)]
    assert [part.items for part in rotation.moved] == [[to_tokens(state["merged_prs"][0]), "#22"]]
    assert [(one.where, one.entry) for one in rotation.kept] == [("/skill_state/merged_prs", "#2")]


def test_what_only_closed_parts_name_goes() -> None:
    closed = {
        "blockers": [{"id": "b", "description": "wait for #2", "resolved": True}],
        "progress_table": [{"id": "s", "label": "#2", "status": "complete"}],
        "recently_done": [{"text": "Merge #2"}],
    }
    rest, moved = rotate(skill_state={"merged_prs": ["#2"]}, **closed)
    assert rest["skill_state"] == {"merged_prs": []}
    assert moved == {"/skill_state/merged_prs": ["#2"]}


def test_a_record_and_an_old_run_that_an_action_names_stay() -> None:
    runs = [{"id": f"run-{day}", "at": f"2026-03-0{day}T00:00:00Z"} for day in range(1, 9)]
    state = {"run_history": runs, "reconciliation_2026_05_08": {"why": "drift"}}
    rest, moved = rotate(
        skill_state=state, next_actions=["Repeat run-2, then read reconciliation_2026_05_08"]
    )
    assert rest["skill_state"] == {
        "run_history": [runs[1], *runs[3:]],
        "reconciliation_2026_05_08": {"why": "drift"},
    }
    assert moved == {"/skill_state/run_history": [runs[0], runs[2]]}


def test_an_old_decision_that_is_named_takes_a_newer_ones_place() -> None:
    decisions = ["Keep what #7 brought", *(f"d{n}" for n in range(1, 23))]
    rest, moved = rotate(context_primer={"key_decisions": decisions}, next_actions=["Extend #7"])
    assert rest["context_primer"]["key_decisions"] == [decisions[0], *decisions[4:]]
    assert moved == {"/context_primer/key_decisions": ["d1", "d2", "d3"]}


def test_a_pull_request_that_was_taken_back_stays_where_it_is_listed_as_merged() -> None:
    value = to_tokens(
        checkpoint(skill_state={"merged_prs": ["#1", {"number": 2}], "closed_unmerged_prs": [2]})
    )
    rotation = plan_rotation(value, {"#2": "abc"})
    assert rotation.value["skill_state"] == {
        "merged_prs": [{"number": b"2"}],
        "closed_unmerged_prs": [],
    }
    assert [(one.entry, one.why) for one in rotation.kept] == [("#2", "it was reverted: abc")]


def test_the_history_is_asked_about_merged_pull_requests_that_would_go() -> None:
    state = {"merged_prs": ["#1", {"number": 2}, "ada/tidepool#3"], "closed_unmerged_prs": ["#4"]}
    assert find_merged(checkpoint(skill_state=state, next_actions=["Look at #1"])) == {"#2", "#3"}


def test_what_is_due_is_what_would_move() -> None:
    value = checkpoint(
        skill_state={"merged_prs": [1, 2, 3]}, superseded=[{}], next_actions=["Look at #1"]
    )
    moved = plan_rotation(value).moved
    assert [(part.where, len(part.items)) for part in moved] == [
        ("/superseded", 1),
        ("/skill_state/merged_prs", 2),
    ]
    assert plan_rotation(plan_rotation(value).value).moved == []


def test_nothing_past_is_nothing_moved_and_the_same_document() -> None:
    value = to_tokens(checkpoint())
    rotation = plan_rotation(value)
    assert rotation.moved == []
    assert rotation.value == value


def test_wrong_types_are_left_alone() -> None:
    changes: dict[str, Any] = {"skill_state": [], "context_primer": "x", "superseded": {"a": 1}}
    rest, moved = rotate(**changes)
    assert moved == {}
    assert rest["skill_state"] == []


ITEMS = st.lists(
    st.one_of(
        st.integers(), st.text(max_size=3), st.fixed_dictionaries({"at": st.text(max_size=3)})
    ),
    max_size=9,
)


NUMBERS = st.integers(1, 9)
ENTRIES: st.SearchStrategy[Any] = st.one_of(
    st.text(max_size=3), NUMBERS, NUMBERS.map("#{}".format), st.builds(dict, number=NUMBERS)
)
PRS: st.SearchStrategy[list[Any]] = st.lists(ENTRIES, max_size=9)
DECISIONS = st.lists(st.one_of(st.text(max_size=3), NUMBERS.map("as in #{}".format)), max_size=30)


@examples(150)
@given(PRS, ITEMS, ITEMS, DECISIONS, st.lists(NUMBERS, max_size=4), st.sets(NUMBERS))
def test_what_stays_and_what_moves_are_together_what_there_was(
    prs: list[Any],
    runs: list[Any],
    superseded: list[Any],
    decisions: list[str],
    named: list[int],
    reverted: set[int],
) -> None:
    value = to_tokens(
        checkpoint(
            skill_state={"merged_prs": prs, "run_history": runs},
            superseded=superseded,
            context_primer={"key_decisions": decisions},
            next_actions=[f"Look at #{number}" for number in named],
        )
    )
    evidence = {f"#{number}": "a commit" for number in reverted}
    rotation = plan_rotation(value, evidence)
    moved = {part.where: part.items for part in rotation.moved}
    for where, read in PLACES.items():
        left, before = read(rotation.value), read(value)
        assert sorted(map(repr, moved.get(where, []) + left)) == sorted(map(repr, before))
        assert is_part(left, before)
        assert is_part(moved.get(where, []), before)
    assert len(rotation.value["context_primer"]["key_decisions"]) <= 20
    assert plan_rotation(rotation.value, evidence).moved == []


PLACES: dict[str, Callable[[dict[str, Any]], list[Any]]] = {
    "/skill_state/merged_prs": lambda value: list(value["skill_state"]["merged_prs"]),
    "/skill_state/run_history": lambda value: list(value["skill_state"]["run_history"]),
    "/superseded": lambda value: list(value["superseded"]),
    "/context_primer/key_decisions": lambda value: list(value["context_primer"]["key_decisions"]),
}


def is_part(some: list[Any], whole: list[Any]) -> bool:
    """Whether the items stand in the whole in this order."""
    rest = iter(whole)
    return all(any(item == other for other in rest) for item in some)


def test_the_history_document_depends_on_the_entries_alone() -> None:
    state = {"merged_prs": [{"number": 12345678901234567890, "at": 1.50}]}
    first = plan_rotation(to_tokens(checkpoint(skill_state=state)))
    second = plan_rotation(
        to_tokens(checkpoint(skill_state=state, step="other", updated_at="2027-01-01T00:00:00Z"))
    )
    text = history_document("build", first.moved)
    assert text == history_document("build", second.moved)
    assert json.loads(text) == {
        "skill": "build",
        "entries": [{"where": "/skill_state/merged_prs", "items": state["merged_prs"]}],
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "text", "status", "number"]), inner)
    ),
    max_leaves=6,
)
PARTS = st.sampled_from(
    ["progress_table", "next_actions", "blockers", "superseded", "context_primer", "skill_state"]
)
STATES = st.dictionaries(
    st.sampled_from(["merged_prs", "run_history", "reconciliation_log", "closed_unmerged_prs"]),
    JSON,
)


@examples(150)
@given(st.dictionaries(PARTS, JSON), STATES)
def test_a_value_that_breaks_the_schema_breaks_no_rotation(
    parts: dict[str, Any], state: dict[str, Any]
) -> None:
    value = {"skill_state": state, **parts}
    rotation = plan_rotation(to_tokens(value), {"#1": "a commit"})
    assert plan_rotation(rotation.value, {"#1": "a commit"}).moved == []
    plain = plan_rotation(value, {"#1": "a commit"})
    assert [len(part.items) for part in plain.moved] == [len(part.items) for part in rotation.moved]


# two branches


RUNS = [{"at": f"2026-03-01T0{hour}:00:00Z"} for hour in range(8)]
NEW = st.lists(st.integers(100, 104).map("#{}".format), max_size=3, unique=True)


def branch(
    base: dict[str, Any], prs: list[str], runs: list[Any], *, rotates: bool
) -> tuple[str, list[str]]:
    """The checkpoint's text after a branch added entries and maybe rotated, and what its history
    files hold.
    """
    state = base["skill_state"]
    own = {
        "merged_prs": [*state["merged_prs"], *prs],
        "run_history": [*state["run_history"], *runs],
    }
    value = to_tokens({**base, "skill_state": own})
    rotation = plan_rotation(value)
    past = [repr(item) for part in rotation.moved for item in part.items] if rotates else []
    return jsonwrite.render(rotation.value if rotates else value), past


def entries_of(value: dict[str, Any]) -> list[str]:
    return [repr(item) for read in PLACES.values() for item in read({"superseded": [], **value})]


@examples(60)
@given(st.sets(NUMBERS), NEW, NEW, st.booleans(), st.booleans(), st.sets(NUMBERS, max_size=2))
def test_whatever_two_branches_rotate_no_entry_is_lost_when_they_merge(
    numbers: set[int],
    added: list[str],
    also: list[str],
    ours_rotates: bool,
    theirs_rotates: bool,
    named: set[int],
) -> None:
    base = checkpoint(
        skill_state={
            "merged_prs": [f"#{number}" for number in sorted(numbers)],
            "run_history": RUNS[:6],
        },
        context_primer={"key_decisions": [f"d{number}" for number in range(22)]},
        next_actions=["Go on", *(f"Look at #{number}" for number in sorted(named))],
    )
    ours, past = branch(base, added, RUNS[6:7], rotates=ours_rotates)
    theirs, also_past = branch(base, also, RUNS[7:8], rotates=theirs_rotates)
    merged = merge_texts(jsonwrite.render(to_tokens(base)), ours, theirs, skill_schema())
    assert merged.conflicts == []
    left = [*entries_of(to_tokens(load(merged.text))), *past, *also_past]
    everything = {
        *entries_of(to_tokens(base)),
        *map(repr, added),
        *map(repr, also),
        *map(repr, RUNS),
    }
    assert set(left) == everything
