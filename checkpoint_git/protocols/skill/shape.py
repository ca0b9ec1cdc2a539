"""What a break of the schema is called here: codes, messages and hints for people. Pure."""

from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.core.terminal_text import escape_controls, shorten

_INSTANT_HINT = "write an instant as 2026-03-31T14:00:00Z"

# by the object that misses a field or has it empty, indices as *: code, what it is, hint
_INCOMPLETE = {
    "": ("skill/missing-field", "the checkpoint", ""),
    "/progress_table/*": ("skill/row-incomplete", "the row", "a row has id, label and status"),
    "/blockers/*": ("skill/blocker-incomplete", "the blocker", "a blocker has id and description"),
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

_TYPE_NAMES = {
    "string": "a text",
    "object": "an object",
    "array": "a list",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


def describe(mismatch: Mismatch) -> Finding:
    """A break of the schema as a finding: an error with code, where, message and hint."""
    if mismatch.keyword == "required":
        return _describe_missing(mismatch)
    place = _star_indices(mismatch.where)
    code, hint = _PLACES.get(place, ("", ""))
    if mismatch.keyword == "minLength" and not code:
        return empty_field(mismatch.where)
    name = quote_where(mismatch.where)
    message = _MESSAGES.get(mismatch.keyword, _say_as_jsonschema)(name, mismatch)
    return Finding(
        code or _KEYWORDS.get(mismatch.keyword, "skill/shape"), "error", message, where=mismatch.where, hint=hint
    )


def empty_field(where: str) -> Finding:
    """The finding for a text that must say something and does not."""
    parent, name = _split(where)
    code, what, hint = _INCOMPLETE.get(parent, ("skill/empty-field", "the object", ""))
    if code == "skill/missing-field":
        code = "skill/empty-field"
    return Finding(code, "error", f"{what}'s {name} is empty", where=where, hint=hint)


def _describe_missing(mismatch: Mismatch) -> Finding:
    parent, name = _split(mismatch.where)
    code, what, hint = _INCOMPLETE.get(parent, ("skill/missing-field", "the object", ""))
    return Finding(code, "error", f"{what} has no {name}", where=mismatch.where, hint=hint or _missing_hint(name))


def _missing_hint(name: str) -> str:
    return f"add it: checkpoint update SKILL --{name}=..." if name.isidentifier() else ""


def _star_indices(where: str) -> str:
    return "/".join("*" if part.isascii() and part.isdigit() else part for part in where.split("/"))


def _split(where: str) -> tuple[str, str]:
    """The place's parent with indices as *, and its own name."""
    parent, _, name = where.rpartition("/")
    return _star_indices(parent), name.replace("~1", "/").replace("~0", "~")


def quote(value: Any) -> str:
    """A value from a document as a message shows it: short, and safe on a terminal."""
    if isinstance(value, str):
        return f'"{escape_controls(shorten(value, 60))}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else escape_controls(shorten(_number_text(value), 60))


def _number_text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:
        return "a very long number"


def quote_where(where: str) -> str:
    """A place as a message shows it."""
    return escape_controls(shorten(where.removeprefix("/").replace("/", "."), 80)) or "the document"


def _say_type(name: str, mismatch: Mismatch) -> str:
    names = [mismatch.expected] if isinstance(mismatch.expected, str) else mismatch.expected
    wanted = " or ".join(_TYPE_NAMES.get(word, word) for word in names)
    return f"{name} must be {wanted}, and is {quote(mismatch.value)}"


def _say_enum(name: str, mismatch: Mismatch) -> str:
    return f"{name} is {quote(mismatch.value)}, and must be one of {', '.join(mismatch.expected)}"


def _say_minimum(name: str, mismatch: Mismatch) -> str:
    return f"{name} is {quote(mismatch.value)}, and cannot be below {mismatch.expected}"


def _say_empty(name: str, mismatch: Mismatch) -> str:
    return f"{name} is empty"


def _say_as_jsonschema(name: str, mismatch: Mismatch) -> str:
    return f"{name}: {escape_controls(shorten(mismatch.message, 200))}"


_MESSAGES = {"type": _say_type, "enum": _say_enum, "minimum": _say_minimum, "minLength": _say_empty}
