"""What POSIX has and Windows has not, each by one name that works on both, so that no other module
asks.

It is written for Windows and tried on a Python from which these parts were removed, not on Windows
itself.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment] # Windows
try:
    import pwd
except ImportError:
    pwd = None  # type: ignore[assignment] # Windows

if TYPE_CHECKING:
    import subprocess

# Flags of os.open; one that the platform does not have changes nothing.
CLOSE_ON_EXEC: int = (
    getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0) | getattr(os, "O_BINARY", 0)
)
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)  # a pipe that nobody writes is not waited for
NO_TERMINAL: int = getattr(os, "O_NOCTTY", 0)

IS_POSIX = fcntl is not None and hasattr(os, "fork")
_STILL_ACTIVE = 259  # what Windows gives as the exit code of a process that runs
_QUERY_PROCESS = 0x1000


def flock(descriptor: int, *, wait: bool) -> bool | None:
    """Lock an open file until it is closed. Return whether it is locked now; None if the platform
    has no such lock. Raises OSError, such as ENOLCK where the file system has none.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def widen_pipe(descriptor: int, size: int) -> None:
    """Give a pipe a buffer of `size` bytes, where the system and the user's limits allow it."""
    if fcntl is None:
        return
    try:
        fcntl.fcntl(descriptor, getattr(fcntl, "F_SETPIPE_SZ", -1), size)
    except OSError:
        return


def find_user_number() -> int:
    """Return the number of this process's user; 0 if users have none."""
    return os.getuid() if hasattr(os, "getuid") else 0


def find_user_name(env: Mapping[str, str]) -> str:
    """Return the user's name as the system has it, else as env says, else the number."""
    if pwd is not None and hasattr(os, "getuid"):
        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:  # a container's user may have no entry
            pass
    return env.get("USER") or env.get("LOGNAME") or env.get("USERNAME") or str(find_user_number())


def find_host_name() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    return os.environ.get("COMPUTERNAME", "localhost")


def find_session_leader() -> int:
    """Return the process that leads the terminal's session; 0 if there are no such sessions."""
    return os.getsid(0) if hasattr(os, "getsid") else 0


def has_ended(process: str) -> bool:
    """Return whether surely no process has this number; False for anything but a number."""
    if not (process.isdecimal() and process.isascii()):
        return False
    if os.name == "nt":
        # there os.kill(number, 0) is Ctrl-C for a whole console
        return _has_ended_on_windows(int(process))

    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # somebody else's process
        pass

    return False


def _has_ended_on_windows(process: int) -> bool:
    import ctypes

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined] # Windows
    handle = kernel.OpenProcess(_QUERY_PROCESS, False, process)
    if not handle:
        # ERROR_INVALID_PARAMETER: no process has this number
        return bool(kernel.GetLastError() == 87)
    code = ctypes.c_ulong()
    is_known = kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return bool(is_known) and code.value != _STILL_ACTIVE


def spawn(
    words: Sequence[str], env: Mapping[str, str], streams: Sequence[int]
) -> Callable[[], int]:
    """Start a program with three descriptors as its stdin, stdout and stderr. Return what waits for
    its end and returns its exit code, negative for a signal. Raises OSError. Quicker than
    subprocess, which is imported where it must be.
    """
    if hasattr(os, "posix_spawnp"):
        actions = [
            (os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate(streams)
        ]
        process = os.posix_spawnp(words[0], list(words), env, file_actions=actions)
        return lambda: os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

    import subprocess

    stdin, stdout, stderr = streams
    return subprocess.Popen(words, env=env, stdin=stdin, stdout=stdout, stderr=stderr).wait


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process that leads a group, with all that it started; on Windows the process alone."""
    if not hasattr(os, "killpg"):
        process.kill()
        return
    import signal

    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
