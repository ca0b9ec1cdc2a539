"""Which process a session is, and whether it still runs: by its id and its start, since ids are
used again.
"""

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.core.outcome import SESSIONS
from checkpoint_git.core.platform import find_session_leader, find_user_number

# macOS has none: ps knows a process's start and parent there, and not reliably its environment
_PROC = "/proc"


def read_session_process(session: str) -> str:
    """The nearest process above this one that was not given that session's name, as what it starts
    is; for "" the leader of the terminal's session. "" if that is unknown, as of a named session
    without /proc.
    """
    if not session:
        return _read(str(find_session_leader()))[0]
    with suppress(OSError):
        return next(
            (
                process
                for process in read_ancestors()
                if not _is_of(process.partition(" ")[0], session)
            ),
            "",
        )

    return ""


def is_session_running(session: str) -> bool:
    """Return whether any process was given that session's name."""
    for number in filter(
        str.isdecimal, os.listdir(_PROC) if session and os.path.isdir(_PROC) else ()
    ):
        with suppress(OSError):  # ended meanwhile, or somebody else's
            if _is_of(number, session):
                return True
    return False


def _is_of(number: str, session: str) -> bool:
    with open(f"{_PROC}/{number}/environ", "rb") as stream:
        return not {os.fsencode(f"{name}={session}") for name in SESSIONS}.isdisjoint(
            stream.read().split(b"\0")
        )


class Command(NamedTuple):
    """A process of this user. env: {} if it cannot be read. folder: that it works in, "" if
    unknown.
    """

    number: int
    words: list[str]
    env: dict[str, str]
    folder: str = ""


def read_own_commands() -> list[Command]:
    """Return what this user's processes were started with; [] if neither /proc nor ps shows it."""
    if os.path.isdir(_PROC):
        numbers = [name for name in os.listdir(_PROC) if name.isdecimal()]
        return [command for number in numbers if (command := _read_command(number)) is not None]

    words = ["ps", "-u", str(find_user_number()), "-o", "pid=", "-o", "args="]
    try:
        printed = subprocess.run(
            words, capture_output=True, text=True, errors="replace", check=False
        ).stdout
    except OSError:
        return []

    rows = [line.split() for line in printed.splitlines()]
    return [Command(int(row[0]), row[1:], {}) for row in rows if row and row[0].isdecimal()]


def _read_command(number: str) -> Command | None:
    try:
        # In this order: a process that is just being started has both at once, or neither
        with open(f"{_PROC}/{number}/cmdline", "rb") as stream:
            words = os.fsdecode(stream.read()).rstrip("\0").split("\0")
        with open(f"{_PROC}/{number}/environ", "rb") as stream:  # another user's is not shown
            environ = os.fsdecode(stream.read())
        folder = os.readlink(f"{_PROC}/{number}/cwd")
    except OSError:
        return None
    pairs = (text.partition("=") for text in environ.split("\0"))
    return Command(int(number), words, {name: value for name, _, value in pairs}, folder)


def is_program_running(program: str, folders: Iterable[str]) -> bool:
    """Return whether a program, such as git with its helpers, may be at work in one of these
    folders.

    What this process started is not counted, nor is a daemon. A program whose folder is unknown may
    be anywhere.
    """
    own = str(os.getpid())
    for command in read_own_commands():
        name = os.path.basename(command.words[0])
        is_daemon = any(word.endswith("--daemon") for word in command.words[:2])
        if is_daemon or not (name == program or name.startswith(f"{program}-")):
            continue
        if _read(str(command.number))[1] == own:
            continue
        places = [command.folder, command.env.get("GIT_DIR", ""), *command.words]
        if not command.folder or any(folder in place for folder in folders for place in places):
            return True

    return False


def read_process(number: int) -> str:
    """Return a process as its number and its start, which no later process of that number has; ""
    if unknown.
    """
    return _read(str(number))[0]


def is_running(process: str) -> bool:
    return bool(process) and _read(process.partition(" ")[0])[0] == process


def read_ancestors() -> Iterator[str]:
    parent = str(os.getppid())
    while (found := _read(parent))[0]:
        process, parent = found
        yield process


def _read(number: str) -> tuple[str, str]:
    """A process as its id and start, and its parent's id; "" if there is none."""
    with suppress(OSError, ValueError):
        if not number.isdecimal() or number == "0":
            return "", ""
        if os.path.isdir(_PROC):
            with open(f"{_PROC}/{number}/stat", "rb") as stream:
                fields = stream.read().decode("ascii", "replace").rpartition(")")[2].split()
            state, parent, start = fields[0], fields[1], fields[19]
        else:
            env = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}  # the start is written as a date
            words = ["ps", "-o", "stat=", "-o", "ppid=", "-o", "lstart=", "-p", number]
            printed = subprocess.run(
                words, env=env, capture_output=True, text=True, check=False
            ).stdout
            state, parent, start = printed.strip().split(maxsplit=2)
        return (f"{number} {start}", parent) if state[0] not in "XZ" else ("", "")  # it has ended

    return "", ""
