"""Documents for the pure checks, made from values."""

import json
from collections.abc import Mapping
from typing import Any

from checkpoint_git.core.clock import read_instant
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.next_action import FindProof, Proof
from checkpoint_git.protocols.validate import check_document
from tests.support.samples import checkpoint

NOON = "2026-03-02T12:00:00Z"


def seconds(instant: str) -> int:
    """An instant's text as seconds since 1970."""
    return (read_instant(instant) or (0, ""))[0]


NOW = seconds(NOON)


def document(skill: str = "build", **changes: Any) -> Document:
    """A checked document of a skill, with top-level fields replaced."""
    data = json.dumps(checkpoint(**{"skill": skill, **changes})).encode()
    return check_document(f".checkpoints/{skill}.checkpoint.json", data, now=NOW)


def broken(skill: str = "bad", data: bytes = b"null") -> Document:
    """A document whose file holds these bytes."""
    return check_document(f".checkpoints/{skill}.checkpoint.json", data, now=NOW)


def decision(**changes: Any) -> dict[str, Any]:
    """An open blocker that needs the user."""
    return {"id": "b1", "description": "Which region?", "needs": "user_decision", **changes}


def proving(texts: Mapping[str, str], *, sure: bool = True) -> FindProof:
    """What finds the proof of the actions that have these texts: text -> evidence."""
    return lambda path, text: Proof(sure, "#1 is merged", texts[text]) if text in texts else None
