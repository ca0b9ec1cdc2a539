"""Which field of a checkpoint is which place of WORKFLOW-STATUS.yaml, and what has to change. Pure."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten

Path = tuple[str | int, ...]
Winner = Literal["", "document", "checkpoint"]

FIELDS: dict[str, Path] = {
    "initiative": ("active", "initiative"),
    "milestone": ("active", "milestone"),
    "phase": ("active", "phase"),
    "last_action": ("sessions", -1, "completed"),
    "next_action": ("resume", "next_action"),
    "context_files": ("resume", "context_files"),
}
_OTHER_SHAPE = ("workflow", "current_step", "steps")
_SEPARATORS = {"last_action": "; ", "context_files": ","}  # of a list in the document, in the checkpoint's one text


class Difference(NamedTuple):
    """One field that is not the same on both sides. ours, theirs: checkpoint's and document's value, "" for none.

    place: in the document, for people. differs: both are set. winner: the side whose value both will have.
    """

    field: str
    place: str
    ours: str
    theirs: str
    differs: bool
    winner: Winner


def check_shape(document: Any) -> dict[str, Any]:
    """The document as a mapping. Raises CheckpointError for anything else and for the other kind of status file."""
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise CheckpointError("the status file is no mapping", "its top level holds active, sessions and resume")
    if any(key in document for key in _OTHER_SHAPE) and "active" not in document:
        found = ", ".join(key for key in _OTHER_SHAPE if key in document)
        message = f"this is a status file of another kind: it holds {found}, and no active"
        raise CheckpointError(message, "sync needs active, sessions and resume; name such a file")
    for key, kind in (("active", dict), ("resume", dict), ("sessions", list)):
        if not isinstance(document.get(key), kind | None):
            raise CheckpointError(f"{key} in the status file has an unknown form", "mend it by hand")
    return document


def compare(fields: Mapping[str, str], document: Mapping[str, Any], *, to_document: bool) -> list[Difference]:
    """What is not the same. to_document: where both are set the checkpoint wins, else the document."""
    found = []
    for field in FIELDS:
        ours, theirs = fields.get(field, "").strip(), read_field(document, field)
        if not _is_same(field, ours, theirs):
            winner: Winner = "document" if theirs and not (to_document and ours) else "checkpoint"
            found.append(Difference(field, place_text(field), ours, theirs, bool(ours and theirs), winner))
    return found


def _is_same(field: str, ours: str, theirs: str) -> bool:
    if field != "context_files":
        return ours == theirs
    return [part.strip() for part in ours.split(",")] == [part.strip() for part in theirs.split(",")]


def read_field(document: Mapping[str, Any], field: str) -> str:
    """A field's value in the document as one text, "" where it is not set. Raises CheckpointError for other forms."""
    value: Any = document
    for step in FIELDS[field]:
        if value is None or (isinstance(step, int) and not value):
            return ""
        if isinstance(value, list) and isinstance(step, int):
            value = value[step]
        elif isinstance(value, dict):
            value = value.get(step)
        else:
            raise _strange(field)
    if value is None:
        return ""
    if isinstance(value, list):
        if not all(isinstance(item, str | int | float) for item in value):
            raise _strange(field)
        return _SEPARATORS.get(field, ", ").join(str(item) for item in value).strip()
    if isinstance(value, dict):
        raise _strange(field)
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value).strip()


def _strange(field: str) -> CheckpointError:
    return CheckpointError(f"{place_text(field)} in the status file has an unknown form", "mend it by hand")


def place_text(field: str) -> str:
    """A field's place as people write it."""
    return "sessions[-1].completed" if field == "last_action" else ".".join(map(str, FIELDS[field]))


def plan_document(document: Mapping[str, Any], differences: list[Difference]) -> dict[Path, str | list[str]]:
    """The values that the document gets, by their paths. A list stays a list."""
    changes: dict[Path, str | list[str]] = {}
    for found in differences:
        if found.winner == "checkpoint" and found.ours:
            path = FIELDS[found.field]
            sessions = document.get("sessions") or []
            if found.field == "last_action":
                path = ("sessions", max(len(sessions) - 1, 0), "completed")
            changes[path] = _form(document, found)
    return changes


def _form(document: Mapping[str, Any], found: Difference) -> str | list[str]:
    value: Any = document
    for step in FIELDS[found.field]:
        if isinstance(value, list) and isinstance(step, int) and value:
            value = value[step]
        else:
            value = value.get(step) if isinstance(value, dict) else None
    is_list = isinstance(value, list) or (value is None and found.field == "context_files")
    if not is_list:
        return found.ours
    separator = _SEPARATORS.get(found.field, ", ").strip()
    return [part.strip() for part in found.ours.split(separator) if part.strip()]


def plan_checkpoint(differences: list[Difference]) -> dict[str, str]:
    """The fields that the checkpoint gets."""
    return {found.field: found.theirs for found in differences if found.winner == "document"}


def say(found: Difference) -> str:
    """A difference in one line, both values shown. Not escaped."""
    ours, theirs = (
        f'"{escape_controls(shorten(text, 80))}"' if text else "nothing" for text in (found.ours, found.theirs)
    )
    return f"{found.field}: checkpoint {ours}, {found.place} {theirs}; the {found.winner} counts"
