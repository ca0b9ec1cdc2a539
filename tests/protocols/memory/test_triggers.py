import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.memory.triggers import TRIGGERS, TriggerRequest, plan_fields
from tests.support.rows import rows

STAMP = "2026-01-09T12:00:00Z"
BEFORE = {
    "initiative": "i",
    "milestone": "M1",
    "phase": "design",
    "last_action": "old",
    "next_action": "old",
}


def test_a_milestone_is_complete_and_the_next_one_begins() -> None:
    fields = plan_fields(
        TriggerRequest("milestone", {"last_action": "All done"}, next_milestone="M2"), BEFORE, STAMP
    )
    assert fields == {
        "phase": "complete",
        "last_action": "All done",
        "next_action": "Begin M2",
        "timestamp": STAMP,
    }


def test_a_phase_needs_no_more_than_its_names() -> None:
    assert plan_fields(TriggerRequest("phase", {"milestone": "M1"}), BEFORE, STAMP) == {
        "milestone": "M1",
        "phase": "complete",
        "timestamp": STAMP,
    }


def test_an_idle_session_says_what_was_interrupted_until_the_next_checkpoint() -> None:
    idle = plan_fields(TriggerRequest("idle", {}, interrupted="the tests"), BEFORE, STAMP)
    assert (idle["interrupted_action"], idle["next_action"]) == (
        "the tests",
        "Take up again: the tests",
    )
    after = plan_fields(
        TriggerRequest("phase", {}), {**BEFORE, "interrupted_action": "the tests"}, STAMP
    )
    assert after["interrupted_action"] is None


def test_what_a_session_end_does_not_say_is_not_taken_from_an_earlier_one() -> None:
    given = {"last_action": "a", "next_action": "b", "files_modified": "12"}
    before = {**BEFORE, "session_duration": "2h", "files_modified": "3"}
    fields = plan_fields(TriggerRequest("session-end", given), before, STAMP)
    assert (fields["session_duration"], fields["files_modified"]) == (None, "12")


def test_an_idle_session_was_at_its_next_action() -> None:
    assert (
        plan_fields(TriggerRequest("idle", {}), {"initiative": "i", "next_action": "n"}, STAMP)[
            "interrupted_action"
        ]
        == "n"
    )


@rows("trigger", sorted(TRIGGERS))
def test_nothing_is_saved_without_an_initiative(trigger: str) -> None:
    with pytest.raises(CheckpointError, match="initiative"):
        plan_fields(TriggerRequest(trigger, {}), {}, STAMP)


@pytest.mark.parametrize(
    ("trigger", "option"), [("milestone", "--summary"), ("session-end", "--next-action")]
)
def test_what_is_missing_is_named_by_its_option(trigger: str, option: str) -> None:
    with pytest.raises(CheckpointError) as raised:
        plan_fields(TriggerRequest(trigger, {}), BEFORE, STAMP)
    assert option in str(raised.value.hint)
