"""An action that stands both in next_actions and in recently_done: it is found, and taken off only if that is asked."""

from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.skill.fixes import FixFacts, fix_value
from checkpoint_git.protocols.skill.views import find_done_actions

DONE = [{"text": "A", "at": "2026-03-02T00:00:00Z"}, {"text": "A", "at": "2026-03-01T00:00:00Z"}]


def test_a_done_action_is_found_unless_it_was_added_again_later() -> None:
    later, earlier = ({"text": "A", "added_at": f"2026-03-0{day}T00:00:00Z"} for day in (3, 1))
    actions: list[Any] = ["A", "B", later, earlier, {"text": "A"}, 7]
    assert find_done_actions({"next_actions": actions, "recently_done": DONE}) == [0, 3, 4]
    assert find_done_actions({"next_actions": ["A"], "recently_done": "A"}) == []


def test_the_fix_takes_it_off_and_leaves_work_in_progress_an_action() -> None:
    found = [Finding("drift/action-done", "warning", "", where="/next_actions/0")]
    value: dict[str, Any] = {"status": "in_progress", "next_actions": ["A", "B"], "recently_done": DONE}
    fixed = fix_value(value, found, FixFacts())
    assert (fixed.value["next_actions"], fixed.value["recently_done"]) == (["B"], DONE)
    assert [done.code for done in fixed.done] == ["drift/action-done"]

    alone: dict[str, Any] = {"status": "in_progress", "next_actions": ["A"], "recently_done": DONE}
    assert fix_value(alone, found, FixFacts()).done == []
    assert alone["next_actions"] == ["A"]
