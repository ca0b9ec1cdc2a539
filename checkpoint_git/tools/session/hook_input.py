"""What an agent's hook is told on stdin, read with patience for anything else: nothing at all, nonsense, too much."""

import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, TextIO

_MOST_BYTES = 8 << 20  # what is looked at
_MOST_DRAINED = 64 << 20  # what is taken, so that the agent can finish writing
_PATIENCE = 2.0  # seconds for all of it: some start a hook with a pipe that nobody ever writes to
_MOST_NAME = 64
_NAMELESS = "default"


class HookInput(NamedTuple):
    """session: a name for the session that can stand in a file's name; _NAMELESS where it has none.

    source: why it starts ("startup", "resume", "clear", "compact"), "" where that is not said. active: an earlier
    answer of a stop hook keeps the session going already. ended: the turn was broken off, so nothing is to be asked.
    """

    session: str = _NAMELESS
    source: str = ""
    active: bool = False
    ended: bool = False

    @property
    def is_new(self) -> bool:
        """Whether a session that starts begins afresh, rather than going on after a pause or a compaction."""
        return self.source in ("startup", "clear") or (self.session == _NAMELESS and not self.source)


def read_hook_input(stdin: TextIO) -> HookInput:
    """What stdin says, an empty answer for what makes no sense. A terminal is not read."""
    try:
        if stdin.isatty():
            return HookInput()
        data = _read_bytes(stdin)
    except (OSError, ValueError):  # closed
        return HookInput()
    if not data.strip():
        return HookInput()
    from checkpoint_git.core.jsontext import JsonTextError, decode, load

    try:
        return find_hook_input(load(decode(data)))
    except JsonTextError:
        return HookInput()


def find_hook_input(value: Any) -> HookInput:
    """The same from the decoded value, whatever that is; the agents have different names for one thing."""
    if not isinstance(value, Mapping):
        return HookInput()
    named = (value.get(key) for key in ("session_id", "conversation_id", "sessionId"))
    session = next((name for name in named if isinstance(name, str) and name), "")
    source = next((text for key in ("source", "trigger") if isinstance(text := value.get(key), str)), "")
    loops = value.get("loop_count")
    again = isinstance(loops, int) and not isinstance(loops, bool) and loops > 0
    ended = value.get("status") in ("aborted", "error")
    return HookInput(_file_name(session), source, value.get("stop_hook_active") is True or again, ended)


def _file_name(session: str) -> str:
    """A session's id as a part of a file's name: letters, digits and dashes."""
    kept = "".join(
        letter for letter in session[:_MOST_NAME] if letter == "-" or (letter.isascii() and letter.isalnum())
    )
    return kept or _NAMELESS


def _read_bytes(stdin: TextIO) -> bytes:
    """The first bytes of stdin, at most _MOST_BYTES; b"" where there are more, or where they are long in coming."""
    try:
        descriptor = stdin.fileno()
    except (OSError, ValueError, AttributeError):  # no file: a stream in memory
        return stdin.read(_MOST_BYTES).encode("utf-8", "replace")
    parts, taken, until = list[bytes](), 0, time.monotonic() + _PATIENCE
    while _has_more(descriptor, until - time.monotonic()):
        part = os.read(descriptor, 1 << 16)
        taken += len(part)
        if not part or taken > _MOST_DRAINED:
            break
        if taken <= _MOST_BYTES:
            parts.append(part)
    return b"".join(parts) if taken <= _MOST_BYTES else b""


def _has_more(descriptor: int, seconds: float) -> bool:
    """Whether something can be read, the end included, before the time is over."""
    import select

    return seconds > 0 and bool(select.select([descriptor], (), (), seconds)[0])
