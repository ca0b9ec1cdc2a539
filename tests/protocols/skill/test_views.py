"""Readers of a checkpoint's parts bear any value."""

from typing import Any

import pytest

from checkpoint_git.protocols.skill import views
from tests.support.samples import checkpoint

ODD: list[Any] = [None, 0, 1.5, True, "", "x", [], {}, [[]], [None], {"a": 1}]


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_value_has_no_parts(odd: Any) -> None:
    value = {"blockers": odd, "next_actions": odd}
    assert views.open_blockers(value) == ([odd[0]] if odd == [{"a": 1}] else [])
    assert views.read_list(value, "next_actions") == (odd if isinstance(odd, list) else [])
    assert views.read_objects(value, "next_actions") == []
    assert views.action_done_when(odd) is None
    assert views.action_text(odd) == (odd if isinstance(odd, str) else "")
    assert not views.is_reviewed(odd)


def test_the_public_part_has_no_private_state_and_no_field_of_ones_own() -> None:
    public = views.public_view(checkpoint(my_own=1, superseded=[], recently_done=[]))
    assert list(public) == [key for key in checkpoint() if key != "skill_state"]


@pytest.mark.parametrize(
    ("fields", "is_open"),
    [
        ({}, True),
        ({"resolved": False}, True),
        ({"resolved": "yes"}, True),
        ({"resolved": True}, False),
        ({"resolved_at": "2026-03-02T12:00:00Z"}, False),
        ({"resolved_at": ""}, True),
    ],
)
def test_a_blocker_is_open_until_it_is_resolved(fields: dict[str, Any], is_open: bool) -> None:
    blocker = {"id": "b", "description": "x", "needs": "user_decision", **fields}
    assert views.is_open(blocker) is is_open
    assert views.waits_on_user(blocker) is is_open
    assert views.open_blockers({"blockers": [1, blocker]}) == ([blocker] if is_open else [])
    assert not views.waits_on_user({**blocker, "needs": "code_fix"})


def test_an_action_is_a_text_or_an_object() -> None:
    assert views.action_text({"text": "go", "done_when": "make"}) == views.action_text("go") == "go"
    assert views.action_done_when({"text": "go", "done_when": "make"}) == "make"
    assert views.action_done_when({"text": "go", "done_when": "  "}) is None


def test_a_superseded_narrative_is_reviewed_when_it_is_marked_so() -> None:
    assert views.is_reviewed({"reviewed": True})
    assert views.is_reviewed({"reviewed_at": "2026-03-02T12:00:00Z"})
    assert not views.is_reviewed({"reviewed": "no"})
