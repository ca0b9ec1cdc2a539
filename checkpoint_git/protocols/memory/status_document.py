"""Compare a checkpoint with WORKFLOW-STATUS.yaml, and plan what each side gets. Pure.

The document's mapping has active, sessions and resume.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten

Path = tuple[str | int, ...]

FIELDS: dict[str, Path] = {
    "initiative": ("active", "initiative"),
    "milestone": ("active", "milestone"),
    "phase": ("active", "phase"),
    "last_action": ("sessions", -1, "completed"),
    "next_action": ("resume", "next_action"),
    "context_files": ("resume", "context_files"),
}
_OTHER_SHAPE = ("workflow", "current_step", "steps")
# of a list in the document, in the checkpoint's one text
_SEPARATORS = {
    "last_action": "; ",
    "context_files": ",",
}


class GraphDifference(NamedTuple):
    """A field that checkpoint and document do not agree about.

    ours, theirs: checkpoint's and document's value, "" for none. place: in the document, as a
    person writes it. differs: both are set, and the one that goes is not just what both had.
    winner: whose value both will have.
    """

    field: str
    place: str
    ours: str
    theirs: str
    differs: bool
    winner: Literal["document", "checkpoint"]

    def __str__(self) -> str:
        ours = quote(self.ours)
        theirs = quote(self.theirs)
        values = f"{ours} in the checkpoint, {theirs} at {self.place}"
        return f"{self.field}: {values}; the {self.winner} wins"


def quote(text: str) -> str:
    if not text:
        return "nothing"
    return f'"{escape_controls(shorten(text, 80))}"'


def check_shape(document: Any, path: str) -> dict[str, Any]:
    """Return the document's mapping. Raises CheckpointError for a file of another kind.

    document: the value of the file, None if that is blank. path: escaped, for the message.
    """
    if document is None:
        return {}
    if not isinstance(document, dict):
        hint = "its top level has active, sessions and resume"
        raise CheckpointError(f"{path}: it is not a mapping", hint)

    others = ", ".join(key for key in _OTHER_SHAPE if key in document)
    if others and "active" not in document:
        message = f"{path}: a status file of another kind: it has {others}, and no active"
        raise CheckpointError(message, "sync needs active, sessions and resume; name such a file")

    for field in FIELDS:
        try:
            read_text(document, field)
        except TypeError:
            message = f"{path}: {_place(field)} has an unknown form"
            raise CheckpointError(message, "write a text, or several") from None

    return document


def compare(
    fields: Mapping[str, str],
    document: Mapping[str, Any],
    base: Mapping[str, str],
    *,
    to_document: bool,
) -> list[GraphDifference]:
    """Return how checkpoint and document differ.

    base: what both sides had after the last sync. The side that changed since wins; what one
    removed stays removed.
    """
    found = []
    for field in FIELDS:
        ours = fields.get(field, "").strip()
        theirs = read_text(document, field)
        before = base.get(field)
        difference = _compare_field(field, ours, theirs, before, to_document=to_document)
        if difference:
            found.append(difference)

    return found


def _compare_field(
    field: str,
    ours: str,
    theirs: str,
    before: str | None,
    *,
    to_document: bool,
) -> GraphDifference | None:
    """Return how a field differs, None if nothing has to be done about it.

    ours: of the checkpoint. theirs: of the document. before: of both after the last sync, None if
    that is unknown.
    """
    is_ours_old = before is not None and _is_same(field, ours, before)
    is_theirs_old = before is not None and _is_same(field, theirs, before)
    is_removed = is_ours_old if ours else is_theirs_old
    if _is_same(field, ours, theirs) or (is_removed and not (ours and theirs)):
        return None

    checkpoint_wins = bool(ours) and (to_document or is_theirs_old)
    if theirs and not checkpoint_wins:
        winner: Literal["document", "checkpoint"] = "document"
        is_lost = bool(ours) and not is_ours_old
    else:
        winner = "checkpoint"
        is_lost = bool(ours and theirs) and not is_theirs_old

    return GraphDifference(field, _place(field), ours, theirs, is_lost, winner)


def agree(
    fields: Mapping[str, str], document: Mapping[str, Any], differences: Sequence[GraphDifference]
) -> dict[str, str]:
    """Return the fields that both sides have after the sync: the next one's base."""
    agreed = {}
    for found in differences:
        agreed[found.field] = found.ours if found.winner == "checkpoint" else found.theirs

    for field in FIELDS:
        text = fields.get(field, "").strip()
        if text and _is_same(field, text, read_text(document, field)):
            agreed[field] = text

    return agreed


def plan_document(
    document: Mapping[str, Any], differences: list[GraphDifference]
) -> dict[Path, str | list[str]]:
    """Return the values that the document gets, by their paths. A list stays a list."""
    changes: dict[Path, str | list[str]] = {}
    for found in differences:
        if found.winner != "checkpoint" or not found.ours:
            continue
        path = FIELDS[found.field]
        if found.field == "last_action":
            path = ("sessions", max(len(document.get("sessions") or []) - 1, 0), "completed")
        before = _find(document, found.field)
        if isinstance(before, list) or (before is None and found.field == "context_files"):
            separator = _SEPARATORS.get(found.field, ", ").strip()
            changes[path] = [part.strip() for part in found.ours.split(separator) if part.strip()]
        else:
            changes[path] = found.ours

    return changes


def plan_checkpoint(differences: Sequence[GraphDifference]) -> dict[str, str]:
    return {found.field: found.theirs for found in differences if found.winner == "document"}


def is_lossy(differences: Sequence[GraphDifference]) -> bool:
    """Return whether the document replaces something of the checkpoint."""
    return any(found.differs and found.winner == "document" for found in differences)


def _is_same(field: str, text: str, other: str) -> bool:
    return _normal(field, text) == _normal(field, other)


def _normal(field: str, text: str) -> list[str]:
    if field != "context_files":
        return [text]
    return [part.strip() for part in text.split(",")]


def _place(field: str) -> str:
    if field == "last_action":
        return "sessions[-1].completed"
    return ".".join(str(step) for step in FIELDS[field])


def read_text(document: Mapping[str, Any], field: str) -> str:
    """Return the text of a field, "" for none. Raises TypeError for an unknown form."""
    value = _find(document, field)
    if value is None:
        return ""

    items = value if isinstance(value, list) else [value]
    texts = []
    for item in items:
        if isinstance(item, bool):
            texts.append(str(item).lower())
        elif isinstance(item, str | int | float):
            texts.append(str(item))
        else:
            raise TypeError

    return _SEPARATORS.get(field, ", ").join(texts).strip()


def _find(document: Mapping[str, Any], field: str) -> Any:
    """Return the value of a field, None if there is none. Raises TypeError for another shape."""
    value: Any = document
    for step in FIELDS[field]:
        if value is None or (isinstance(step, int) and value == []):
            return None
        if isinstance(value, list) and isinstance(step, int):
            value = value[step]
        elif isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        else:
            raise TypeError
    return value
