"""What the writing verbs do to a checkpoint's value: start one, edit, stamp, finish an action. Pure.

Values are token values (jsontext): numbers are bytes, and whatever is not touched stays what it was.
"""

from typing import Any

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.skill import names
from checkpoint_git.protocols.skill.edits import Edit, apply_edit
from checkpoint_git.protocols.skill.views import read_list

KEPT_DONE = 10
_FIRST_ACTION = (
    "Say what this work is: set project, phase, step and progress_summary, and list its steps in progress_table"
)
SCHEMA_FILE = "schemas/skill.schema.json"  # below .checkpoints, where a project keeps the schema for its editors


def scaffold(skill: str, project: str, project_dir: str, now: int) -> dict[str, Any]:
    """A new checkpoint that is valid as it stands."""
    instant = write_instant(now)
    return {
        "protocol_version": "1.0",
        "skill": skill,
        "project": project,
        "project_dir": project_dir,
        "created_at": instant,
        "updated_at": instant,
        "phase": "start",
        "step": "start",
        "status": "in_progress",
        "progress_summary": "Started; nothing is done yet.",
        "progress_table": [],
        "context_primer": {"key_decisions": [], "generated_files": [], "user_preferences": []},
        "blockers": [],
        "next_actions": [],
        "skill_state": {},
    }


def apply_edits(value: dict[str, Any], edits: list[Edit], *, is_new: bool) -> None:
    """All edits in turn, and what follows from them. is_new: the value comes from scaffold.

    The version becomes 1.1 only when a field that 1.1 added is written and no edit sets the version itself.
    """
    for edit in edits:
        apply_edit(value, edit)
    fields = {edit.field for edit in edits}
    if value.get("protocol_version") == "1.0" and fields & names.ADDED_IN_1_1 and "protocol_version" not in fields:
        value["protocol_version"] = "1.1"
    if is_new and value.get("status") == "in_progress" and "next_actions" not in fields:
        value["next_actions"] = [_FIRST_ACTION]


def stamp(value: dict[str, Any], now: int) -> bool:
    """Sets updated_at to now, but never back and never before created_at. Returns whether the clock was behind."""
    latest = write_instant(now)
    behind = False
    for key in ("updated_at", "created_at"):
        instant, best = read_instant(value.get(key)), read_instant(latest)
        if instant and best and instant > best:
            behind = behind or instant[0] > now
            latest = str(value[key])
    value["updated_at"] = latest
    return behind


def find_done_trouble(value: dict[str, Any], next_action: str | None, complete: bool) -> Finding | None:
    """Why the first action cannot be taken off, None where it can."""
    actions = read_list(value, "next_actions")
    if not actions:
        message = "next_actions is empty: there is nothing to mark as done"
        return Finding("done/no-action", "error", message, where="/next_actions")
    if not isinstance(value.get("recently_done", []), list):
        message = "recently_done is not a list, so the action cannot be recorded there"
        return Finding("done/no-record", "error", message, where="/recently_done", hint="fix that field first")
    if len(actions) > 1 or next_action or complete or value.get("status") != "in_progress":
        return None
    message = "this is the last action, and a checkpoint that is in_progress needs a next one"
    hint = 'say what comes next (--next "..."), or that all is done (--complete)'
    return Finding("done/last-action", "error", message, where="/next_actions/0", hint=hint)


def finish_action(value: dict[str, Any], now: int, next_action: str | None, complete: bool) -> Any:
    """Moves the first action to recently_done (newest first, the last ten are kept) and returns it.

    next_action: a text put first in the queue. complete: the status becomes complete.
    """
    action = value["next_actions"].pop(0)
    if next_action:
        value["next_actions"].insert(0, next_action)
    if complete:
        value["status"] = "complete"
    record = dict(action) if isinstance(action, dict) else {"text": action}
    record["at"] = write_instant(now)
    value["recently_done"] = [record, *read_list(value, "recently_done")][:KEPT_DONE]
    return action
