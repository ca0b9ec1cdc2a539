"""Find the process of a session, and whether it still runs.

A process is known by its id and its start, since ids are used again.
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
    """Return the process that a session is, "" if that is unknown.

    It is the nearest one above this process that was not given that session's name, as what it
    starts is; for "" the leader of the terminal's session. A named session without /proc is
    unknown.
    """
    if not session:
        return _read(str(find_session_leader()))[0]
    with suppress(OSError):
        for process in read_ancestors():
            if not _is_of(process.partition(" ")[0], session):
                return process

    return ""


def is_session_running(session: str) -> bool:
    """Return whether any process was given that session's name."""
    if not session or not os.path.isdir(_PROC):
        return False
    for number in filter(str.isdecimal, os.listdir(_PROC)):
        with suppress(OSError):  # ended meanwhile, or somebody else's
            if _is_of(number, session):
                return True
    return False


def _is_of(number: str, session: str) -> bool:
    """Return whether a process was given that session's name. Raises OSError."""
    with open(f"{_PROC}/{number}/environ", "rb") as stream:
        environ = stream.read().split(b"\0")
    return any(os.fsencode(f"{name}={session}") in environ for name in SESSIONS)


class Command(NamedTuple):
    """Describe a process of this user.

    env: {} if it cannot be read. folder: that it works in, "" if unknown.
    """

    number: int
    words: list[str]
    env: dict[str, str]
    folder: str = ""


def read_own_commands() -> list[Command]:
    """Return what this user's processes were started with; [] if neither /proc nor ps shows it."""
    if os.path.isdir(_PROC):
        numbers = [name for name in os.listdir(_PROC) if name.isdecimal()]
        commands = map(_read_command, numbers)
        return [command for command in commands if command is not None]

    words = ["ps", "-u", str(find_user_number()), "-o", "pid=", "-o", "args="]
    try:
        printed = subprocess.run(
            words, capture_output=True, encoding="utf-8", errors="replace", check=False
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
    """Return whether a program may be at work in one of these folders.

    program: such as git, with its helpers. What this process started is not counted, nor is a
    daemon. A program whose folder is unknown may be in any of them.
    """
    this_process = str(os.getpid())
    for command in read_own_commands():
        name = os.path.basename(command.words[0])
        is_daemon = any(word.endswith("--daemon") for word in command.words[:2])
        if is_daemon or not (name == program or name.startswith(f"{program}-")):
            continue
        if _read(str(command.number))[1] == this_process:
            continue

        places = [command.folder, command.env.get("GIT_DIR", ""), *command.words]
        if not command.folder or any(folder in place for folder in folders for place in places):
            return True

    return False


def read_process(number: int) -> str:
    """Return a process as its number and its start, "" if unknown.

    No later process of that number has that start.
    """
    return _read(str(number))[0]


def is_running(process: str) -> bool:
    return bool(process) and _read(process.partition(" ")[0])[0] == process


def read_ancestors() -> Iterator[str]:
    process, parent = _read(str(os.getppid()))
    while process:
        yield process
        process, parent = _read(parent)


def _read(number: str) -> tuple[str, str]:
    """Return a process as its id and start, and its parent's id; "" and "" if there is none."""
    if not number.isdecimal() or number == "0":
        return "", ""
    try:
        if os.path.isdir(_PROC):
            state, parent, start = _read_stat(number)
        else:
            state, parent, start = _ask_ps(number)
    except (OSError, ValueError):
        return "", ""

    if state[0] in "XZ":  # it has ended
        return "", ""
    return f"{number} {start}", parent


def _read_stat(number: str) -> tuple[str, str, str]:
    """Return the state, the parent and the start of a process, from /proc. Raises OSError."""
    with open(f"{_PROC}/{number}/stat", "rb") as stream:
        fields = stream.read().decode("ascii", "replace").rpartition(")")[2].split()
    return fields[0], fields[1], fields[19]


def _ask_ps(number: str) -> tuple[str, str, str]:
    """Return what _read_stat does, from ps. Raises OSError, and ValueError for no such process."""
    env = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}  # the start is written as a date
    words = ["ps", "-o", "stat=", "-o", "ppid=", "-o", "lstart=", "-p", number]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    state, parent, start = done.stdout.strip().split(maxsplit=2)
    return state, parent, start
