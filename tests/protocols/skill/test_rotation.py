"""What is past, and that nothing of it is lost."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint_git.core.jsontext import to_tokens
from checkpoint_git.protocols.skill.rotation import history_document, plan_rotation
from tests.support.samples import checkpoint


def rotate(**changes: Any) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    rotation = plan_rotation(to_tokens(checkpoint(**changes)))
    return rotation.value, {part.where: part.items for part in rotation.moved}


def test_closed_pull_requests_move_and_the_rest_of_the_state_stays() -> None:
    state = {"mode": "x", "merged_prs": [{"number": 1}], "merged_prs_today": ["#2"], "closed_unmerged_prs": ["#3"]}
    rest, moved = rotate(skill_state=state)
    assert rest["skill_state"] == {"mode": "x", "merged_prs": [], "merged_prs_today": [], "closed_unmerged_prs": []}
    assert moved == {
        "/skill_state/merged_prs": [{"number": b"1"}],
        "/skill_state/merged_prs_today": ["#2"],
        "/skill_state/closed_unmerged_prs": ["#3"],
    }


def test_reconciliation_records_move_whole() -> None:
    rest, moved = rotate(skill_state={"reconciliation_2026_05_08": {"why": "drift"}, "reconciliation_log": ["a"]})
    assert rest["skill_state"] == {"reconciliation_log": []}
    assert moved["/skill_state/reconciliation_2026_05_08"] == [{"why": "drift"}]


def test_settings_of_reconciliations_stay() -> None:
    state = {"reconciliation_interval_days": 7, "reconciliation_enabled": True}
    rest, moved = rotate(skill_state=state)
    assert rest["skill_state"] == {"reconciliation_interval_days": b"7", "reconciliation_enabled": True}
    assert moved == {}


def test_the_five_newest_runs_stay_whichever_way_the_list_runs() -> None:
    runs = [{"at": f"2026-03-0{day}T00:00:00Z"} for day in range(1, 9)]
    for order in (runs, runs[::-1]):
        rest, moved = rotate(skill_state={"run_history": order})
        assert sorted(run["at"][9] for run in rest["skill_state"]["run_history"]) == ["4", "5", "6", "7", "8"]
        assert sorted(run["at"][9] for run in moved["/skill_state/run_history"]) == ["1", "2", "3"]


def test_the_twenty_last_decisions_stay() -> None:
    rest, moved = rotate(context_primer={"key_decisions": [f"d{n}" for n in range(23)], "user_preferences": ["short"]})
    assert rest["context_primer"] == {"key_decisions": [f"d{n}" for n in range(3, 23)], "user_preferences": ["short"]}
    assert moved == {"/context_primer/key_decisions": ["d0", "d1", "d2"]}


def test_superseded_heads_move() -> None:
    rest, moved = rotate(superseded=[{"step": "a"}])
    assert rest["superseded"] == []
    assert moved == {"/superseded": [{"step": "a"}]}


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
    st.one_of(st.integers(), st.text(max_size=3), st.fixed_dictionaries({"at": st.text(max_size=3)})), max_size=9
)


@settings(max_examples=150, deadline=None)
@given(ITEMS, ITEMS, ITEMS, st.lists(st.text(max_size=3), max_size=30))
def test_what_stays_and_what_moves_are_together_what_there_was(
    prs: list[Any], runs: list[Any], superseded: list[Any], decisions: list[str]
) -> None:
    value = to_tokens(
        checkpoint(
            skill_state={"merged_prs": prs, "run_history": runs},
            superseded=superseded,
            context_primer={"key_decisions": decisions},
        )
    )
    rotation = plan_rotation(value)
    moved = {part.where: part.items for part in rotation.moved}
    state, rest = value["skill_state"], rotation.value["skill_state"]
    assert moved.get("/skill_state/merged_prs", []) + rest["merged_prs"] == state["merged_prs"]
    both = moved.get("/skill_state/run_history", []) + rest["run_history"]
    assert sorted(map(repr, both)) == sorted(map(repr, state["run_history"]))
    assert moved.get("/superseded", []) + rotation.value["superseded"] == value["superseded"]
    left = rotation.value["context_primer"]["key_decisions"]
    assert moved.get("/context_primer/key_decisions", []) + left == decisions
    assert plan_rotation(rotation.value).moved == []


def test_the_history_document_depends_on_the_entries_alone() -> None:
    state = {"merged_prs": [{"number": 12345678901234567890, "at": 1.50}]}
    first = plan_rotation(to_tokens(checkpoint(skill_state=state)))
    second = plan_rotation(to_tokens(checkpoint(skill_state=state, step="other", updated_at="2027-01-01T00:00:00Z")))
    text = history_document("build", first.moved)
    assert text == history_document("build", second.moved)
    assert json.loads(text) == {
        "skill": "build",
        "entries": [{"where": "/skill_state/merged_prs", "items": state["merged_prs"]}],
    }
