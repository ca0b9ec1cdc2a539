"""What an agent's hook says on stdin, and how each agent wants its answer."""

import os
import time

# the C part of json: the whole of it costs more than all this
from _json import (
    encode_basestring_ascii,
)
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TextIO

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Answer
from checkpoint_git.core.terminal_text import escape_controls

_MOST_BYTES = 8 << 20  # what is looked at
_MOST_DRAINED = 64 << 20  # what is taken, so that the agent can finish writing
_PATIENCE = 2.0  # seconds for all of it: some start a hook with a pipe that nobody ever writes to
_MOST_NAME = 64
_NAMELESS = "default"


class HookInput(NamedTuple):
    session: str = _NAMELESS  # a name that can be a file's
    # why it starts ("startup", "resume", "clear", "compact"), "" if that is not said
    source: str = ""
    active: bool = False  # an earlier answer of a stop hook keeps the session going already
    ended: bool = False  # the turn was broken off, so nothing is to be asked

    @property
    def is_new(self) -> bool:
        """Return whether a session that starts starts a new one, rather than going on after a pause
        or a compaction.
        """
        return self.source in ("startup", "clear", "new") or (
            self.session == _NAMELESS and not self.source
        )


def read_hook_input(stdin: TextIO) -> HookInput:
    """Return the content of stdin; defaults if it is empty, malformed or too long. A terminal is
    not read.
    """
    data = b""
    with suppress(OSError, ValueError):  # closed
        data = b"" if stdin.isatty() else _read_bytes(stdin)
    if not data.strip():
        return HookInput()
    from checkpoint_git.core.jsontext import JsonTextError, decode, load

    with suppress(JsonTextError):
        return find_hook_input(load(decode(data)))
    return HookInput()


def find_hook_input(value: Any) -> HookInput:
    """What a decoded value says, whatever it is. The agents have different names for one thing."""
    if not isinstance(value, Mapping):
        return HookInput()
    named = [value.get(key) for key in ("session_id", "conversation_id", "sessionId")]
    session = next((name for name in named if isinstance(name, str) and name), "")[:_MOST_NAME]
    safe = "".join(
        letter for letter in session if letter == "-" or (letter.isascii() and letter.isalnum())
    )
    source = next(
        (text for text in (value.get("source"), value.get("trigger")) if isinstance(text, str)), ""
    )
    loops = value.get("loop_count")
    again = isinstance(loops, int) and loops is not True and loops > 0
    ended = value.get("status") in ("aborted", "error")
    return HookInput(
        safe or _NAMELESS, source, value.get("stop_hook_active") is True or again, ended
    )


def _read_bytes(stdin: TextIO) -> bytes:
    """b"" where there is too much, or where it is long in coming."""
    try:
        descriptor = stdin.fileno()
    except (OSError, ValueError, AttributeError):  # no file: a stream in memory
        return stdin.read(_MOST_BYTES).encode("utf-8", "replace")

    import select

    parts, taken, until = list[bytes](), 0, time.monotonic() + _PATIENCE
    while select.select([descriptor], (), (), max(0.0, until - time.monotonic()))[0]:
        part = os.read(descriptor, 1 << 16)
        taken += len(part)
        if not part or taken > _MOST_DRAINED:
            break
        if taken <= _MOST_BYTES:
            parts.append(part)

    return b"".join(parts) if taken <= _MOST_BYTES else b""


# How an agent is answered, as JSON on stdout where %s is the text: "prime" is context for the model
# at the start, "remind" a line for the user when a turn ends, "block" one for the model that keeps
# it going, "compact" one before the context is made shorter. What is missing here the agent has no
# way to hear.
SHAPES = {
    "claude": {
        "prime": '{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": %s}}',
        "remind": '{"systemMessage": %s}',
        "block": '{"decision": "block", "reason": %s}',
        "compact": '{"systemMessage": %s}',
    },
    "codex": {
        "prime": '{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": %s}}',
        "remind": '{"systemMessage": %s}',
        "block": '{"decision": "block", "reason": %s}',
        "compact": '{"systemMessage": %s}',
    },
    "gemini": {
        "prime": '{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": %s}}',
        "remind": '{"systemMessage": %s}',
        "block": '{"decision": "deny", "reason": %s}',
        "compact": '{"systemMessage": %s}',
    },
    "cursor": {
        "prime": '{"additional_context": %s}',
        "block": '{"followup_message": %s}',
        "compact": '{"user_message": %s}',
    },
    "copilot": {
        "prime": '{"additionalContext": %s}',
        "block": '{"decision": "block", "reason": %s}',
    },
}
FORMATS = ("text", "json", *SHAPES)
_COULD_NOT_TELL = 2


def make_answer(
    form: str, command: str, about: Mapping[str, Any], text: str, moment: str
) -> Answer:
    """form: of FORMATS. about: what JSON says besides. text: "" for nothing. moment: in the agent's
    row of SHAPES.
    """
    if form == "json":
        import json

        return Answer([json.dumps({"schema_version": 1, "command": command, **about}), "\n"], 0)
    if form in SHAPES:
        shape = SHAPES[form].get(moment, "")
        text = shape % encode_basestring_ascii(text) if shape and text else ""
    return Answer([text, "\n"] if text else (), 0)


def make_error_answer(verb: str, words: Sequence[str], error: CheckpointError) -> Answer:
    # No session is disturbed: trouble is one line on stderr
    message = " ".join(escape_controls(error.message).split())
    return Answer(
        (), _COULD_NOT_TELL if "--strict" in words else 0, f"checkpoint {verb}: {message}"
    )
