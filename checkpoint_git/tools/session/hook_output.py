"""How each agent wants to hear from a hook: one row of a table each. It knows nothing of what is said."""

from collections.abc import Callable
from typing import Any, NamedTuple

Shape = Callable[[str], "dict[str, Any]"]


class Shapes(NamedTuple):
    """What goes to stdout as JSON. None: the agent has no way to be told at that moment.

    prime: context for the model at the start. remind: a line for the person when a turn ends. block: a line for the
    model that keeps it going. compact: a line before the context is made shorter.
    """

    prime: Shape
    remind: Shape | None
    block: Shape
    compact: Shape | None


def _context(text: str) -> "dict[str, Any]":
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}


def _message(text: str) -> "dict[str, Any]":
    return {"systemMessage": text}


def _block(text: str) -> "dict[str, Any]":
    return {"decision": "block", "reason": text}


def _deny(text: str) -> "dict[str, Any]":
    return {"decision": "deny", "reason": text}


SHAPES = {
    "claude": Shapes(_context, _message, _block, _message),
    "codex": Shapes(_context, _message, _block, _message),
    "gemini": Shapes(_context, _message, _deny, _message),
    "cursor": Shapes(
        lambda text: {"additional_context": text},
        None,
        lambda text: {"followup_message": text},
        lambda text: {"user_message": text},
    ),
}
FORMATS = ("text", "json", *SHAPES)


def render_shape(value: "dict[str, Any]") -> str:
    """One line of JSON in ASCII, which no terminal and no encoding can spoil."""
    return _render(value) + "\n"


def _render(value: Any) -> str:
    from _json import encode_basestring_ascii  # the C part of json: the whole of it costs more than all this

    if isinstance(value, dict):
        return "{" + ", ".join(f"{_render(key)}: {_render(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_render, value)) + "]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value) if isinstance(value, int) else encode_basestring_ascii(str(value))
