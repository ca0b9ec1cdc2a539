"""Which code and hint a break of the schema gets. Pure."""

from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.protocols.mismatch import explain_mismatch, quote_where

_INSTANT_HINT = "write an instant as 2026-03-31T14:00:00Z"

# by the object that misses a field or has it empty, indices as *: code, what it is, hint
_INCOMPLETE = {
    "": ("skill/missing-field", "the checkpoint", ""),
    "/progress_table/*": (
        "skill/row-incomplete",
        "the row",
        'a row has id, label and status: --progress_table+:json=\'{"id": ..., "label": ..., "status": ...}\'',
    ),
    "/blockers/*": (
        "skill/blocker-incomplete",
        "the blocker",
        "a blocker has id and description; `checkpoint block` adds one from its text",
    ),
    "/next_actions/*": ("skill/action-shape", "the action", 'an action is a text or {"text": ..., "done_when": ...}'),
    "/pm_refs/*": ("skill/pm-ref-incomplete", "the ticket", "a ticket has provider and id"),
    "/eval_scores/*": ("skill/eval-score-incomplete", "the score", "a score has rubric and score"),
}

# by place, whatever keyword failed: code, hint
_PLACES = {
    "/protocol_version": (
        "skill/protocol-version",
        'protocol_version is the version of the file format, "1.0" or "1.1", not the release of a skill or a tool',
    ),
    "/status": ("skill/unknown-status", ""),
    "/progress_table/*/status": ("skill/unknown-row-status", ""),
    "/blockers/*/needs": ("skill/unknown-need", ""),
    "/pm_refs/*/role": ("skill/unknown-role", ""),
    "/next_actions/*": ("skill/action-shape", 'an action is a text or {"text": ..., "done_when": ...}'),
    "/next_actions/*/text": ("skill/action-shape", 'an action is a text or {"text": ..., "done_when": ...}'),
    "/next_actions/*/done_when": ("skill/action-shape", "done_when is a shell command, as text"),
    "/telemetry_handle": ("skill/telemetry-handle", "name it, describe it in an object, or leave the field out"),
    "/created_at": ("skill/timestamp", _INSTANT_HINT),
    "/updated_at": ("skill/timestamp", _INSTANT_HINT),
}

_KEYWORDS = {"type": "skill/wrong-type", "minimum": "skill/negative-amount", "minLength": "skill/empty-field"}


def describe(mismatch: Mismatch) -> Finding:
    """A break of the schema as a finding: an error with code, where, message and hint."""
    where, keyword = mismatch.where, mismatch.keyword
    parent, name = _split(where)
    code, hint = _PLACES.get(_star_indices(where), ("", ""))
    if keyword == "required":
        code, what, hint = _INCOMPLETE.get(parent, ("skill/missing-field", "the object", ""))
        if not hint and name.isidentifier():
            hint = f"add it: checkpoint update SKILL --{name}=..."
        return Finding(code, "error", f"{what} has no {name}", where=where, hint=hint)
    if keyword == "minLength" and not code:
        return empty_field(where)
    code = code or _KEYWORDS.get(keyword, "skill/shape")
    if keyword == "type":
        hint = hint or _INCOMPLETE.get(_star_indices(where), ("", "", ""))[2] or _write_line(where, mismatch.expected)
    return Finding(code, "error", explain_mismatch(mismatch), where=where, hint=hint)


_VALUES = {"array": ("+", "..."), "object": (":json", "'{...}'"), "number": ("", "5"), "boolean": ("", "true")}


def _write_line(where: str, wanted: Any) -> str:
    """The command that writes a value of the wanted type."""
    if f"{where}/*" in _INCOMPLETE and where != "/next_actions":
        return f"write each as checkpoint update SKILL --{quote_where(where)}+:json='{{...}}'"
    operator, value = _VALUES.get(wanted if isinstance(wanted, str) else wanted[0], ("", "..."))
    return f"write it as checkpoint update SKILL --{quote_where(where)}{operator}={value}"


def empty_field(where: str) -> Finding:
    """The finding for a text that must say something and does not."""
    parent, name = _split(where)
    code, what, hint = _INCOMPLETE.get(parent, ("skill/empty-field", "the object", ""))
    if code == "skill/missing-field":
        code = "skill/empty-field"
    return Finding(code, "error", f"{what}'s {name} is empty", where=where, hint=hint)


def _star_indices(where: str) -> str:
    return "/".join("*" if part.isascii() and part.isdigit() else part for part in where.split("/"))


def _split(where: str) -> tuple[str, str]:
    """The place's parent with indices as *, and its own name."""
    parent, _, name = where.rpartition("/")
    return _star_indices(parent), name.replace("~1", "/").replace("~0", "~")
