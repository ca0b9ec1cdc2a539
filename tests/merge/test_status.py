"""What is done next, and whether the work goes on: every small combination, since only together are they valid."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

from checkpoint_git.merge.conflicts import Conflict, decide_each
from tests.merge.choosing import OURS, THEIRS, keep_side
from tests.merge.schemas import skill_schema
from tests.support.merging import merge_texts
from tests.support.rows import rows

SCHEMA = skill_schema()
STATUSES = ("in_progress", "blocked", "complete", "failed")
ABSENT = None
ACTIONS: tuple[Any, ...] = (ABSENT, [], ["A"], ["B"], [{"text": "A", "done_when": "make"}])

State = tuple[str, Any]


def text(state: State) -> str:
    status, actions = state
    fields: dict[str, Any] = {"updated_at": "2026-01-01T00:00:00Z", "step": "s", "status": status}
    fields.update({} if actions is ABSENT else {"next_actions": actions})
    return json.dumps({**fields, "skill_state": {}}, indent=2) + "\n"


def is_valid(text: str) -> bool:
    value = json.loads(text)
    return bool(value["status"] != "in_progress" or value.get("next_actions"))


STATES = [state for state in itertools.product(STATUSES, ACTIONS) if is_valid(text(state))]


def find_invalid(base: State, ours: State, theirs: State) -> Iterator[str]:
    merged = merge_texts(text(base), text(ours), text(theirs), SCHEMA)
    for side in (OURS, THEIRS):
        if not is_valid(keep_side(merged.text, side)):
            yield f"{base} {ours} {theirs}: in an editor, {side}"
    places = [conflict.where for conflict in merged.conflicts]
    for sides in itertools.product((0, 1, 2), repeat=len(places)):
        decided = decide_each(merged, choose(dict(zip(places, sides, strict=True))), 7)
        if not is_valid(decided.merged.text):
            yield f"{base} {ours} {theirs}: {decided.sides}"


def choose(sides: dict[str, int]) -> Callable[[Conflict], int]:
    return lambda conflict: sides[conflict.where]


@rows("base", STATES)
def test_no_merge_and_no_choice_leaves_work_in_progress_without_a_next_action(base: State) -> None:
    found = [each for ours, theirs in itertools.product(STATES, STATES) for each in find_invalid(base, ours, theirs)]
    assert found == []


def test_a_removed_list_and_work_that_was_taken_up_again_are_one_question() -> None:
    merged = merge_texts(text(("complete", ["A"])), text(("complete", ABSENT)), text(("in_progress", ["A"])), SCHEMA)
    assert [conflict.where for conflict in merged.conflicts] == ["/next_actions"]
    assert json.loads(keep_side(merged.text, OURS)) == json.loads(text(("complete", ABSENT)))
    assert json.loads(keep_side(merged.text, THEIRS)) == json.loads(text(("in_progress", ["A"])))


def test_a_question_about_the_head_takes_the_actions_with_it() -> None:
    merged = merge_texts(text(("blocked", ["A"])), text(("complete", [])), text(("in_progress", ["A"])), SCHEMA)
    assert [conflict.where for conflict in merged.conflicts] == ["/status"]
    assert json.loads(keep_side(merged.text, THEIRS)) == json.loads(text(("in_progress", ["A"])))


def test_a_head_in_conflict_asks_for_no_actions_that_no_version_has() -> None:
    states = (("in_progress", ABSENT), ("blocked", ABSENT), ("complete", ABSENT))
    base, ours, theirs = map(text, states)
    merged = merge_texts(base, ours, theirs, SCHEMA)
    assert [conflict.where for conflict in merged.conflicts] == ["/status"]
    assert json.loads(keep_side(merged.text, THEIRS)) == json.loads(text(("complete", ABSENT)))
