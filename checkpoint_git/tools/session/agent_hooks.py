"""Read the input of an agent's hook on stdin, and write the answer in each agent's format."""

import os
import time
from _json import encode_basestring_ascii  # all of json takes longer than the rest of this
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TextIO

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Answer
from checkpoint_git.core.terminal_text import escape_controls

_MOST_BYTES = 8 << 20  # that are parsed
_MOST_DRAINED = 64 << 20  # that are read, so that the agent can finish writing
_PATIENCE = 2.0  # seconds in all: some agents start a hook with a pipe that nobody ever writes to
_MOST_NAME = 64
_NAMELESS = "default"


class HookInput(NamedTuple):
    """session: a name that can be a file's. source: why the session starts ("startup", "resume",
    "clear", "compact"), "" if unknown. active: an earlier answer of a stop hook keeps the session
    going already. ended: the turn was interrupted, so nothing is to be asked.
    """

    session: str = _NAMELESS
    source: str = ""
    active: bool = False
    ended: bool = False

    @property
    def is_new(self) -> bool:
        """Whether a new session starts, not one that continues after a pause or a compaction."""
        if self.session == _NAMELESS and not self.source:
            return True
        return self.source in ("startup", "clear", "new")


def read_hook_input(stdin: TextIO) -> HookInput:
    """Return the content of stdin; defaults if it is empty, malformed or too long. A terminal is
    not read.
    """
    data = b""
    # a stream that is closed raises one of these
    with suppress(OSError, ValueError):
        if not stdin.isatty():
            data = _read_bytes(stdin)
    if not data.strip():
        return HookInput()
    from checkpoint_git.core.jsontext import JsonTextError, decode, load

    with suppress(JsonTextError):
        return find_hook_input(load(decode(data)))
    return HookInput()


def find_hook_input(value: Any) -> HookInput:
    """Return the input that a decoded value means; defaults for any other value. The agents have
    different names for the same members.
    """
    if not isinstance(value, Mapping):
        return HookInput()

    session = _find_text(value, "session_id", "conversation_id", "sessionId")[:_MOST_NAME]
    safe = "".join(letter for letter in session if letter == "-" or _is_plain(letter))
    source = ""
    for key in ("source", "trigger"):
        text = value.get(key)
        if isinstance(text, str):
            source = text
            break

    loops = value.get("loop_count")
    again = isinstance(loops, int) and loops is not True and loops > 0
    return HookInput(
        session=safe or _NAMELESS,
        source=source,
        active=value.get("stop_hook_active") is True or again,
        ended=value.get("status") in ("aborted", "error"),
    )


def _find_text(value: Mapping[str, Any], *keys: str) -> str:
    """Return the first member that is a text and not empty; "" for none."""
    for key in keys:
        text = value.get(key)
        if isinstance(text, str) and text:
            return text
    return ""


def _is_plain(letter: str) -> bool:
    return letter.isascii() and letter.isalnum()


def _read_bytes(stdin: TextIO) -> bytes:
    """Return the bytes of stdin; b"" if there are too many, or if they take too long."""
    try:
        descriptor = stdin.fileno()
    except (OSError, ValueError, AttributeError):  # no file: a stream in memory
        return stdin.read(_MOST_BYTES).encode("utf-8", "replace")

    import select

    parts: list[bytes] = []
    taken = 0
    end = time.monotonic() + _PATIENCE
    while select.select([descriptor], (), (), max(0.0, end - time.monotonic()))[0]:
        part = os.read(descriptor, 1 << 16)
        taken += len(part)
        if not part or taken > _MOST_DRAINED:
            break
        if taken <= _MOST_BYTES:
            parts.append(part)

    if taken > _MOST_BYTES:
        return b""
    return b"".join(parts)


_CONTEXT = '{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": %s}}'
# The JSON that answers an agent, with %s for the text: "prime" is context for the model at the
# start, "remind" a line for the user when a turn ends, "block" one for the model that keeps it
# going, "compact" one before the context is compacted. An agent has no way to get what is missing.
SHAPES = {
    "claude": {
        "prime": _CONTEXT,
        "remind": '{"systemMessage": %s}',
        "block": '{"decision": "block", "reason": %s}',
        "compact": '{"systemMessage": %s}',
    },
    "codex": {
        "prime": _CONTEXT,
        "remind": '{"systemMessage": %s}',
        "block": '{"decision": "block", "reason": %s}',
        "compact": '{"systemMessage": %s}',
    },
    "gemini": {
        "prime": _CONTEXT,
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
_FAILED = 2  # with --strict


def make_answer(
    form: str, command: str, about: Mapping[str, Any], text: str, moment: str
) -> Answer:
    """Return the answer to an agent.

    form: of FORMATS. about: the members of JSON beside the usual ones. text: "" for nothing.
    moment: in the agent's row of SHAPES.
    """
    if form == "json":
        import json

        return Answer([json.dumps({"schema_version": 1, "command": command, **about}), "\n"], 0)

    if not text:
        return Answer((), 0)
    if form not in SHAPES:
        return Answer([text, "\n"], 0)
    shape = SHAPES[form].get(moment, "")
    if not shape:
        return Answer((), 0)
    return Answer([shape % encode_basestring_ascii(text), "\n"], 0)


def make_error_answer(verb: str, words: Sequence[str], error: CheckpointError) -> Answer:
    """Return an error as one line on stderr; it fails only with --strict among the words."""
    message = " ".join(escape_controls(error.message).split())
    code = _FAILED if "--strict" in words else 0
    return Answer((), code, f"checkpoint {verb}: {message}")
