"""Documents for the pure checks, made from values."""

import json
from typing import Any

from checkpoint_git.core.clock import read_instant
from checkpoint_git.git.history.reference_facts import Fact, State
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.limits import Limits
from checkpoint_git.protocols.skill.drift.merged_work import Known, Work
from checkpoint_git.protocols.validate import check_document
from tests.support.samples import checkpoint

NOON = "2026-03-02T12:00:00Z"


def seconds(instant: str) -> int:
    """An instant's text as seconds since 1970."""
    return (read_instant(instant) or (0, ""))[0]


NOW = seconds(NOON)
LIMITS = Limits(in_progress=7, blocked=3, complete=14)


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


def facts_of(*references: str, state: State = "merged", at: int = NOW) -> Known:
    """What the history says of references: the same of all."""
    return {
        reference: Fact(reference, state, at, "abc1234" * 6, "a rule", 1)
        for reference in references
    }


def work_of(skill: str, *references: str, state: State = "merged") -> Work:
    """The same for one skill's document."""
    return {f".checkpoints/{skill}.checkpoint.json": facts_of(*references, state=state)}
