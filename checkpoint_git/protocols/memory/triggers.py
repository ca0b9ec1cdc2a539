"""What a checkpoint holds by the occasion that it is saved on. Pure: a table, and how a request becomes fields."""

from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError


class Trigger(NamedTuple):
    """needs: the fields that must be there in the end. defaults: of what nobody named. says: what the occasion is."""

    needs: tuple[str, ...]
    defaults: Mapping[str, str]
    says: str


_STANDARD = ("initiative", "milestone", "phase", "last_action", "next_action")

TRIGGERS: dict[str, Trigger] = {
    "milestone": Trigger(_STANDARD, {"phase": "complete"}, "a milestone is complete: its summary, and the next one"),
    "phase": Trigger(
        ("initiative", "milestone", "phase"), {"phase": "complete"}, "a phase is complete: its summary, the next phase"
    ),
    "commit": Trigger(("initiative", "last_commit"), {}, "a commit was made: its hash and the files it changed"),
    "idle": Trigger(("initiative", "interrupted_action"), {}, "30 minutes without work: what was interrupted"),
    "session-end": Trigger(_STANDARD, {}, "the session ends: everything that is known"),
    "manual": Trigger(("initiative",), {}, "as it stands now"),
}
# What has to be said anew on an occasion: what an earlier checkpoint holds would be a wrong answer.
_FRESH = {
    "milestone": ("last_action", "next_action"),
    "phase": (),
    "commit": ("last_commit",),
    "idle": ("interrupted_action",),
    "session-end": ("last_action", "next_action"),
    "manual": (),
}
# What only one occasion says: a later checkpoint takes it away unless it is said again.
_TRANSIENT = {
    "interrupted_action": ("idle", "manual"),
    "session_duration": ("manual",),
    "files_modified": ("manual",),
}
_OPTIONS = {
    "last_action": "--last-action (or --summary)",
    "next_action": "--next-action (or --next-milestone, --next-phase)",
    "interrupted_action": "--interrupted",
    "last_commit": "a repository with a commit",
}


class Wish(NamedTuple):
    """What a caller says of the occasion beyond the fields themselves; "" where nothing."""

    next_milestone: str = ""
    next_phase: str = ""
    interrupted: str = ""


def plan_fields(
    trigger: str, given: Mapping[str, str], wish: Wish, before: Mapping[str, str], stamp: str
) -> dict[str, str | None]:
    """The fields to set on an occasion; None takes one away. before: what the checkpoint holds now.

    stamp: the present instant. Raises CheckpointError, naming the options, where something is missing.
    """
    row = TRIGGERS[trigger]
    changes: dict[str, str | None] = {**row.defaults, **_wished(wish), **given, "timestamp": stamp}
    _check_complete(trigger, changes, before)
    for key, stays_on in _TRANSIENT.items():
        if key in before and trigger not in stays_on:
            changes.setdefault(key, None)
    return changes


def _wished(wish: Wish) -> dict[str, str]:
    fields = {}
    if wish.next_milestone or wish.next_phase:
        fields["next_action"] = f"Begin {wish.next_milestone or wish.next_phase}"
    if wish.interrupted:
        fields["interrupted_action"] = wish.interrupted
        fields["next_action"] = f"Take up again: {wish.interrupted}"
    return fields


def _check_complete(trigger: str, changes: Mapping[str, str | None], before: Mapping[str, str]) -> None:
    fresh = _FRESH[trigger]
    missing = [
        key for key in TRIGGERS[trigger].needs if not (changes.get(key) or (key not in fresh and before.get(key)))
    ]
    if missing:
        options = [_OPTIONS.get(key, f"--{key.replace('_', '-')}") for key in missing]
        message = f"a checkpoint on {trigger} needs {', '.join(missing)}"
        raise CheckpointError(message, f"give {', '.join(options)}")
