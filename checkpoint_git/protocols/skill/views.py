"""Small readers of a checkpoint's parts, for values that may break the schema: they return what is usable. Pure."""

from typing import Any

PUBLIC_FIELDS = (
    "protocol_version",
    "skill",
    "project",
    "project_dir",
    "created_at",
    "updated_at",
    "phase",
    "step",
    "status",
    "progress_summary",
    "progress_table",
    "context_primer",
    "blockers",
    "next_actions",
    "pm_refs",
    "depends_on",
)


def public_view(value: dict[str, Any]) -> dict[str, Any]:
    """What siblings may read, in the document's own order; never skill_state."""
    return {key: member for key, member in value.items() if key in PUBLIC_FIELDS}


def read_list(value: dict[str, Any], key: str) -> list[Any]:
    """The list under a key, [] where there is none or something else."""
    found = value.get(key)
    return found if isinstance(found, list) else []


def read_objects(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects in the list under a key; items of other types are left out."""
    return [item for item in read_list(value, key) if isinstance(item, dict)]


def is_open(blocker: dict[str, Any]) -> bool:
    """Whether a blocker has neither `resolved: true` nor a resolved_at."""
    return blocker.get("resolved") is not True and not blocker.get("resolved_at")


def open_blockers(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The blockers that still stand in the way, in order."""
    return [blocker for blocker in read_objects(value, "blockers") if is_open(blocker)]


def waits_on_user(blocker: dict[str, Any]) -> bool:
    """Whether an open blocker needs a decision of the user's."""
    return is_open(blocker) and blocker.get("needs") == "user_decision"


def is_reviewed(superseded: Any) -> bool:
    """Whether somebody marked a narrative that a merge set aside as read: `reviewed: true` or a reviewed_at."""
    return isinstance(superseded, dict) and (superseded.get("reviewed") is True or bool(superseded.get("reviewed_at")))


def action_text(action: Any) -> str:
    """What an item of next_actions says to do, "" where it says nothing."""
    text = action.get("text") if isinstance(action, dict) else action
    return text if isinstance(text, str) else ""


def action_done_when(action: Any) -> str | None:
    """The shell command that tells whether the action is done, None where there is none. Never run it unasked."""
    command = action.get("done_when") if isinstance(action, dict) else None
    return command if isinstance(command, str) and command.strip() else None
