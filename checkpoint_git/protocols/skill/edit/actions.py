"""Start a checkpoint, and make the changes that a write implies: stamp, actions, rows. Pure."""

from typing import Any

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Argv, Blank, advise, join_hints
from checkpoint_git.core.placeholder import check_filled
from checkpoint_git.protocols.mismatch import OWN
from checkpoint_git.protocols.skill.edit.parse import check_text
from checkpoint_git.protocols.skill.goals import FIELD, with_goals
from checkpoint_git.protocols.skill.layout import HERE
from checkpoint_git.protocols.skill.views import find_done_actions, read_list, read_objects

KEPT_DONE = 10
FIRST_ACTION = (
    "Say what this work is: set project, phase, step and progress_summary,"
    " and list its steps in progress_table"
)
FIRST_STEP = "start"


def scaffold(skill: str, project: str, now: int) -> dict[str, Any]:
    """Return the value of a new checkpoint."""
    instant = write_instant(now)
    return {
        "protocol_version": "1.0",
        "skill": skill,
        "project": project,
        "project_dir": HERE,
        "created_at": instant,
        "updated_at": instant,
        "phase": "start",
        "step": FIRST_STEP,
        "status": "in_progress",
        "progress_summary": "No summary yet.",
        "progress_table": [],
        "context_primer": {"key_decisions": [], "generated_files": [], "user_preferences": []},
        "blockers": [],
        "next_actions": [],
        "skill_state": {},
    }


def remove_first_action(value: dict[str, Any]) -> int | None:
    """Remove the placeholder of scaffold if there is a real action.

    Return the index that it had, None for no change.
    """
    actions = read_list(value, "next_actions")
    if len(actions) < 2 or FIRST_ACTION not in actions:
        return None
    index = actions.index(FIRST_ACTION)
    del actions[index]
    return index


def add_step_row(value: dict[str, Any], previous: Any) -> None:
    """Add the row of the current step to progress_table if work is in progress.

    previous: the step before. A table without a row for it was planned in other terms, and stays
    as it is.
    """
    rows = value.setdefault("progress_table", [])
    step = value.get("step")
    if not isinstance(rows, list) or not isinstance(step, str) or not step.strip():
        return
    if value.get("status") != "in_progress" or _has_row(value, step):
        return

    if not rows or _has_row(value, str(previous)):
        rows.append(_step_row(step))
        remove_first_row(value)


def _has_row(value: dict[str, Any], step: str) -> bool:
    """Whether progress_table has a row for a step: sprint-2 is one for sprint-2-review, too."""
    ids = [str(row.get("id")) for row in read_objects(value, "progress_table")]
    return any(step == name or step.startswith(f"{name}-") for name in ids)


def remove_first_row(value: dict[str, Any]) -> None:
    """Remove the row of scaffold's first step where there is another row."""
    rows = read_list(value, "progress_table")
    if len(rows) > 1 and rows[0] == _step_row(FIRST_STEP):
        del rows[0]


def _step_row(step: str) -> dict[str, Any]:
    return {"id": step, "label": step, "status": "in_progress"}


def complete_step_row(value: dict[str, Any]) -> None:
    """Mark a row that add_step_row made as complete, once the status is."""
    if value.get("status") != "complete":
        return
    made = _step_row(str(value.get("step")))
    for row in read_list(value, "progress_table"):
        if row == made:
            row["status"] = "complete"


def has_goals(value: dict[str, Any]) -> bool:
    return any(
        isinstance(action, dict) and FIELD in action for action in read_list(value, "next_actions")
    )


def raise_version(value: dict[str, Any]) -> None:
    if value.get("protocol_version") == "1.0":
        value["protocol_version"] = "1.1"


def mark_repeated(value: dict[str, Any], places: list[str], now: int) -> None:
    """Set added_at of each new next action that was finished before.

    places: JSON Pointers of what was written. Without added_at, an action that recently_done has
    too counts as done.
    """
    for index in find_done_actions(value):
        if f"/next_actions/{index}" in places:
            members = _as_object(value["next_actions"][index])
            value["next_actions"][index] = {**members, "added_at": write_instant(now)}


def _as_object(action: Any) -> dict[str, Any]:
    """Return an action as an object, with its text if it was nothing else."""
    if isinstance(action, dict):
        return action
    return {"text": action}


def describe_goals(action: Any) -> str:
    """Return when a new action with done_when_merged is skipped, "" for another action."""
    if not isinstance(action, dict) or not action.get(FIELD):
        return ""
    goals = action[FIELD]
    verb = "is" if len(goals) == 1 else "are"
    return f"it is skipped once {' and '.join(goals)} {verb} merged"


def stamp(value: dict[str, Any], now: int) -> bool:
    """Set updated_at to now, or to the later of its old value and created_at.

    Return whether one of these is later than this machine's clock.
    """
    latest = write_instant(now)
    is_behind = False
    for key in ("updated_at", "created_at"):
        instant, best = read_instant(value.get(key)), read_instant(latest)
        if instant and best and instant > best:
            is_behind = is_behind or instant[0] > now
            latest = str(value[key])

    value["updated_at"] = latest
    return is_behind


def check_next(next_action: str | None, complete: bool) -> None:
    """Raise CheckpointError for an empty next action, and for one of work that is complete."""
    if next_action is None:
        return
    check_text(next_action)
    check_filled(next_action)
    if not next_action.strip():
        raise CheckpointError("--next is empty", "name the next action, or use --complete")
    if complete:
        hint = "give --next while work is left"
        raise CheckpointError("--next and --complete cannot be combined", hint)


def find_done_trouble(
    value: dict[str, Any], next_action: str | None, complete: bool, verb: Argv = ("done", OWN)
) -> Finding | None:
    """Return why no action can be taken off the queue, None if one can.

    verb: the words of the command that the hint completes.
    """
    actions = read_list(value, "next_actions")
    if not actions:
        message = "next_actions is empty: there is nothing to mark as done"
        return Finding("done/no-action", "error", message, where="/next_actions")

    if not isinstance(value.get("recently_done", []), list):
        message = "recently_done is not a list, so the action cannot be recorded there"
        advice = "fix that field first"
        return Finding("done/no-record", "error", message, where="/recently_done", hint=advice)

    if len(actions) > 1 or next_action or complete or value.get("status") != "in_progress":
        return None
    message = "this is the last action, and a checkpoint that is in_progress needs a next one"
    hint = join_hints(
        advise("add what comes next", "checkpoint", *verb, "--next", Blank("the next action")),
        advise("or if all is done", "checkpoint", *verb, "--complete"),
    )
    return Finding("done/last-action", "error", message, where="/next_actions/0", hint=hint)


def insert_action(value: dict[str, Any], index: int, text: str) -> None:
    """Add a new action to next_actions, in place of the placeholder of scaffold."""
    value["next_actions"].insert(index, with_goals(text))
    if has_goals(value):
        raise_version(value)
    remove_first_action(value)


def take_action(value: dict[str, Any], index: int, next_action: str | None, complete: bool) -> Any:
    """Remove an action from the queue, and return it. next_action: added as the first."""
    action = value["next_actions"].pop(index)
    if next_action:
        insert_action(value, 0, next_action)
    if complete:
        value["status"] = "complete"
        complete_step_row(value)
    return action


def finish_action(
    value: dict[str, Any], now: int, next_action: str | None, complete: bool, index: int = 0
) -> Any:
    """Move an action to recently_done, which keeps the last ten, and return it."""
    action = take_action(value, index, next_action, complete)
    entry = {**_as_object(action), "at": write_instant(now)}
    value["recently_done"] = [entry, *read_list(value, "recently_done")][:KEPT_DONE]
    if next_action:
        mark_repeated(value, ["/next_actions/0"], now)
    return action
