"""What is done next, and whether the work goes on: every small combination, since only together are
they valid.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from checkpoint_git.merge.conflicts import (
    Conflict,
    Decision,
    NextAnswer,
    decide,
    decide_each,
    find_choices,
    take_side,
)
from checkpoint_git.merge.file import Merged
from tests.merge.choosing import BASE, OURS, THEIRS, keep_side
from tests.merge.schemas import skill_schema
from tests.support.merging import merge_texts

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

# `failed` merges as `complete` does but for its rank, and an object as its text: the deep test has
# them too
USUAL = [state for state in itertools.product(STATUSES[:3], ACTIONS[:4]) if is_valid(text(state))]


def texts(value: Any) -> set[str]:
    actions = json.loads(value).get("next_actions") or []
    return {action["text"] if isinstance(action, dict) else action for action in actions}


def find_wrong(base: State, ours: State, theirs: State) -> Iterator[str]:
    versions = text(base), text(ours), text(theirs)
    before, left, right = map(texts, versions)
    merged = merge_texts(*versions, SCHEMA)
    places = [conflict.where for conflict in merged.conflicts]
    for sides in itertools.product((0, 1, 2), repeat=len(places)):
        for answer in (NextAnswer("next"), NextAnswer(None)):
            decided = decide_each(merged, choose(dict(zip(places, sides, strict=True)), answer), 7)
            if answer.item is None and not any(conflict.question for conflict in decided.conflicts):
                continue  # nothing was asked, so the other answer has shown it
            if not is_valid(decided.merged.text):
                yield f"{base} {ours} {theirs}: {decided.sides} is not valid"
            # a status that --complete wrote may look like another side's
            is_plain = answer.item is not None or len(places) == 1
            if is_plain and find_choices(merged, decided.merged.text, 7) is None:
                yield f"{base} {ours} {theirs}: {decided.sides} cannot be read off the text"

            finished = (before - left) | (before - right) if 1 not in sides else set()
            kept = texts(decided.merged.text)
            if not merged.conflicts and kept & finished:
                yield f"{base} {ours} {theirs}: {kept & finished} came back"


def choose(sides: dict[str, int], answer: NextAnswer) -> Callable[[Conflict], Decision]:
    def decide(conflict: Conflict) -> Decision:
        return answer if conflict.question else sides.get(conflict.where, OURS)

    return decide


def test_every_choice_and_answer_ends_in_a_valid_checkpoint_without_what_was_finished() -> None:
    assert find_all_wrong(USUAL) == []


@pytest.mark.deep
def test_every_choice_and_answer_of_every_state_ends_in_a_valid_checkpoint() -> None:
    assert find_all_wrong(STATES) == []


def find_all_wrong(states: list[State]) -> list[str]:
    triples = itertools.product(states, repeat=3)
    return list(itertools.chain.from_iterable(itertools.starmap(find_wrong, triples)))


def is_question(merged: Merged) -> bool:
    return [(choice.where, choice.note) for choice in merged.conflicts] == [
        ("/next_actions", '--next "..." or --complete')
    ]


def test_what_two_sessions_finish_stays_finished_and_only_what_is_next_is_asked() -> None:
    base = text(("in_progress", ["A", "B"]))
    ours, theirs = text(("in_progress", ["B"])), text(("in_progress", ["A"]))
    merged = merge_texts(base, ours, theirs, SCHEMA)
    assert is_question(merged)
    for side in (OURS, THEIRS):
        assert json.loads(keep_side(merged.text, side))["next_actions"] == []
    assert 'what is next: checkpoint resolve --next "..." or --complete)' in merged.text

    answered = decide(merged, {"/next_actions": NextAnswer("C")})
    assert json.loads(answered.text) == json.loads(text(("in_progress", ["C"])))
    finished = decide(merged, {"/next_actions": NextAnswer(None)})
    assert json.loads(finished.text) == json.loads(text(("complete", [])))

    # no side is an answer, whoever takes it
    taken = take_side(merged, THEIRS)
    assert is_question(taken)
    assert merge_texts(base, ours, theirs, SCHEMA, inner=True).conflicts == []


def test_where_something_is_left_or_nothing_is_needed_nobody_is_asked() -> None:
    base = text(("in_progress", ["A", "B"]))
    theirs = text(("in_progress", ["A"]))
    for state, expected in (
        (("in_progress", ["B", "C"]), ("in_progress", ["C"])),
        (("blocked", ["B"]), ("blocked", [])),
        (("complete", []), ("complete", [])),
    ):
        for sides in ((text(state), theirs), (theirs, text(state))):
            merged = merge_texts(base, *sides, SCHEMA)
            assert merged.conflicts == []
            assert json.loads(merged.text) == json.loads(text(expected))


def test_a_side_that_had_no_next_action_already_is_not_asked_about() -> None:
    base, ours = text(("in_progress", ["A"])), text(("in_progress", ABSENT))
    merged = merge_texts(base, ours, ours.replace('"s"', '"t"'), SCHEMA)
    assert merged.conflicts == []


def test_work_that_was_taken_up_again_with_a_finished_action_asks_what_is_next() -> None:
    merged = merge_texts(
        text(("complete", ["A"])), text(("complete", ABSENT)), text(("in_progress", ["A"])), SCHEMA
    )
    assert is_question(merged)
    assert json.loads(keep_side(merged.text, OURS))["next_actions"] == []


def test_an_open_status_is_decided_first_and_may_bring_up_the_question() -> None:
    merged = merge_texts(
        text(("blocked", ["A"])), text(("complete", [])), text(("in_progress", ["A"])), SCHEMA
    )
    assert [conflict.where for conflict in merged.conflicts] == ["/status"]
    assert decide(merged, {"/status": OURS}).conflicts == []
    assert is_question(decide(merged, {"/status": THEIRS}))


def test_a_head_in_conflict_asks_for_no_actions_that_no_version_has() -> None:
    states = (("in_progress", ABSENT), ("blocked", ABSENT), ("complete", ABSENT))
    base, ours, theirs = map(text, states)
    merged = merge_texts(base, ours, theirs, SCHEMA)
    assert [conflict.where for conflict in merged.conflicts] == ["/status"]
    for side in (OURS, BASE, THEIRS):
        assert decide(merged, {"/status": side}).conflicts == []
    assert json.loads(keep_side(merged.text, THEIRS)) == json.loads(text(("complete", ABSENT)))
