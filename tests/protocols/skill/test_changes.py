"""What update and done do to a checkpoint's value."""

from typing import Any

import pytest

from checkpoint_git.core.jsontext import to_tokens
from checkpoint_git.protocols.skill import changes, rules
from checkpoint_git.protocols.skill.edits import parse_edits
from tests.support.samples import checkpoint
from tests.support.verbs import NOON, seconds

NOW = seconds(NOON)


def tokens(**fields: Any) -> dict[str, Any]:
    value: dict[str, Any] = to_tokens(checkpoint(**fields))
    return value


# start and stamp


def test_a_new_checkpoint_is_valid_once_an_edit_or_its_first_action_says_what_is_next() -> None:
    value = changes.scaffold("build", "tidepool", "/srv/tidepool", NOW)
    changes.apply_edits(value, [], is_new=True)
    found = rules.check(value, skill="build", size=1_000, now=NOW)
    assert [each.code for each in found if each.level == "error"] == []
    assert len(value["next_actions"]) == 1


def test_a_new_checkpoint_that_gets_actions_or_another_status_needs_no_first_action() -> None:
    for word, left in (("--next_actions+=go", ["go"]), ("--status=complete", [])):
        value = changes.scaffold("build", "tidepool", "/srv/tidepool", NOW)
        changes.apply_edits(value, parse_edits([word]), is_new=True)
        assert value["next_actions"] == left


@pytest.mark.parametrize(
    ("word", "version"),
    [
        ("--cost.total_usd:json=1", "1.1"),
        ("--handoffs+:json={}", "1.1"),
        ("--step=x", "1.0"),
        ("--my_own=x", "1.0"),
    ],
)
def test_the_version_follows_the_fields_that_are_written(word: str, version: str) -> None:
    value = tokens()
    changes.apply_edits(value, parse_edits([word]), is_new=False)
    assert value["protocol_version"] == version


def test_a_version_that_an_edit_sets_stays() -> None:
    value = tokens()
    changes.apply_edits(value, parse_edits(["--cost.total_usd:json=1", "--protocol_version=1.0"]), is_new=False)
    assert value["protocol_version"] == "1.0"


@pytest.mark.parametrize(
    ("created", "updated", "stamped", "behind"),
    [
        ("2026-03-01T08:00:00Z", "2026-03-02T09:30:00Z", NOON, False),
        ("2026-03-01T08:00:00Z", "2026-03-02T12:00:01Z", "2026-03-02T12:00:01Z", True),
        ("2026-03-04T08:00:00Z", "2026-03-02T09:30:00Z", "2026-03-04T08:00:00Z", True),
        ("2026-03-01T08:00:00Z", "2026-03-02T12:00:00.5Z", "2026-03-02T12:00:00.5Z", False),
        ("nonsense", 7, NOON, False),
    ],
)
def test_a_stamp_never_goes_back(created: str, updated: Any, stamped: str, behind: bool) -> None:
    value = tokens(created_at=created, updated_at=updated)
    assert changes.stamp(value, NOW) is behind
    assert value["updated_at"] == stamped


# done


def test_the_first_action_moves_to_what_was_done_lately() -> None:
    value = tokens(next_actions=[{"text": "a", "done_when": "make"}, "b"], recently_done=["old"])
    assert changes.finish_action(value, NOW, None, complete=False) == {"text": "a", "done_when": "make"}
    assert value["next_actions"] == ["b"]
    assert value["recently_done"] == [{"text": "a", "done_when": "make", "at": NOON}, "old"]


def test_ten_are_kept_and_the_next_one_comes_first() -> None:
    value = tokens(next_actions=["a", "b"], recently_done=[str(at) for at in range(12)])
    changes.finish_action(value, NOW, "new", complete=True)
    assert (value["next_actions"], value["status"]) == (["new", "b"], "complete")
    assert value["recently_done"] == [{"text": "a", "at": NOON}, *(str(at) for at in range(9))]


@pytest.mark.parametrize(
    ("fields", "next_action", "complete", "code"),
    [
        ({"next_actions": []}, None, True, "done/no-action"),
        ({"next_actions": "go"}, None, True, "done/no-action"),
        ({"recently_done": "x"}, None, False, "done/no-record"),
        ({"next_actions": ["a"]}, None, False, "done/last-action"),
        ({"next_actions": ["a"]}, "b", False, None),
        ({"next_actions": ["a"]}, None, True, None),
        ({"next_actions": ["a"], "status": "blocked"}, None, False, None),
        ({"next_actions": ["a", "b"]}, None, False, None),
    ],
)
def test_why_an_action_cannot_be_done(
    fields: dict[str, Any], next_action: str | None, complete: bool, code: str | None
) -> None:
    found = changes.find_done_trouble(tokens(**fields), next_action, complete)
    assert (found.code if found else None) == code
