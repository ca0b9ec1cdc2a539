"""Turn a request to save into fields, by the occasion: one table. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError


class Trigger(NamedTuple):
    """An occasion to save.

    needs: fields that must be there in the end. defaults: for fields that were not given. fresh:
    needed fields that have to be given again, because an earlier value would be wrong now.
    """

    needs: tuple[str, ...]
    defaults: Mapping[str, str] = {}
    fresh: tuple[str, ...] = ()


_STANDARD = ("initiative", "milestone", "phase", "last_action", "next_action")

TRIGGERS: dict[str, Trigger] = {
    "milestone": Trigger(_STANDARD, {"phase": "complete"}, ("last_action", "next_action")),
    "phase": Trigger(("initiative", "milestone", "phase"), {"phase": "complete"}),
    "commit": Trigger(("initiative", "last_commit"), fresh=("last_commit",)),
    "idle": Trigger(("initiative", "interrupted_action"), fresh=("interrupted_action",)),
    "session-end": Trigger(_STANDARD, fresh=("last_action", "next_action")),
    "manual": Trigger(("initiative",)),
}
# Fields that only some occasions keep: on any other they are removed unless they are given again.
_TRANSIENT: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("interrupted_action", "stopped_on"), ("idle", "manual")
)
_TRANSIENT |= dict.fromkeys(("session_duration", "files_modified"), ("manual",))
# field -> what gives it, where that is not the option of its name
_OPTIONS = {
    "last_action": "--last-action (or --summary)",
    "next_action": "--next-action (or --next-milestone, --next-phase)",
    "interrupted_action": "--interrupted",
    "last_commit": "a repository with a commit",
}


class TriggerRequest(NamedTuple):
    trigger: str
    given: Mapping[str, str]
    next_milestone: str = ""
    next_phase: str = ""
    interrupted: str = ""


def plan_fields(
    request: TriggerRequest, before: Mapping[str, str], stamp: str
) -> dict[str, str | None]:
    """Return the changes that a request makes; None removes a field. Raises CheckpointError.

    before: what the checkpoint holds now.
    """
    trigger = TRIGGERS[request.trigger]
    changes: dict[str, str | None] = dict(trigger.defaults)
    following = request.next_milestone or request.next_phase
    if following:
        changes["next_action"] = f"Begin {following}"

    doing = before.get("next_action") or before.get("last_action")
    if request.interrupted:
        changes["interrupted_action"] = request.interrupted
        changes["next_action"] = f"Take up again: {request.interrupted}"
    elif request.trigger == "idle" and doing:
        changes["interrupted_action"] = doing

    changes |= {**request.given, "timestamp": stamp}
    missing = _find_missing(trigger, changes, before)
    if missing:
        options = [_OPTIONS.get(key, f"--{key.replace('_', '-')}") for key in missing]
        message = f"a checkpoint on {request.trigger} needs {', '.join(missing)}"
        raise CheckpointError(message, f"give {', '.join(options)}")

    for key, kept_on in _TRANSIENT.items():
        if key in before and request.trigger not in kept_on:
            changes.setdefault(key, None)

    return changes


def _find_missing(
    trigger: Trigger, changes: Mapping[str, str | None], before: Mapping[str, str]
) -> list[str]:
    """Return the needed fields that neither the changes nor the checkpoint before has."""
    missing = []
    for key in trigger.needs:
        is_kept = key not in trigger.fresh and bool(before.get(key))
        if not changes.get(key) and not is_kept:
            missing.append(key)

    return missing
