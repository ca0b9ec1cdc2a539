"""Which process a session is, and whether it still runs: by its id and its start, since ids are used again."""

import os
from collections.abc import Iterator
from contextlib import suppress


def read_session_process(session: str) -> str:
    """The nearest process above this one without a variable of that value, which it gives to what it starts; for "" the
    leader of the terminal's session. "" where that is unknown, as it is without /proc.
    """
    if not session:
        return _read(str(os.getsid(0)))[0]
    with suppress(OSError):
        for process in read_ancestors():
            with open(f"/proc/{process.partition(' ')[0]}/environ", "rb") as stream:
                values = [entry.partition(b"=")[2] for entry in stream.read().split(b"\0")]
            if os.fsencode(session) not in values:
                return process
    return ""


def is_running(process: str) -> bool:
    return bool(process) and _read(process.partition(" ")[0])[0] == process


def read_ancestors() -> Iterator[str]:
    parent = str(os.getppid())
    while (found := _read(parent))[0]:
        process, parent = found
        yield process


def _read(number: str) -> tuple[str, str]:
    """A process as its id and start, and its parent's id; "" where there is none."""
    with suppress(OSError):
        if number.isdecimal():
            with open(f"/proc/{number}/stat", "rb") as stream:
                fields = stream.read().decode("ascii", "replace").rpartition(")")[2].split()
            return (f"{number} {fields[19]}", fields[1]) if fields[0] not in ("X", "Z") else ("", "")  # it has ended
    return "", ""
