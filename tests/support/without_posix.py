"""Run the package where what Windows has not is taken away. stdin: a command a line, as a JSON list
of words.

stdout: for each a JSON line with its exit code and what it wrote. As a module of the package's own
tests it shows what can be shown without Windows: that nothing outside core/platform.py needs these
parts.
"""

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

# As on Windows no function takes a folder's descriptor; shutil asks this once, when it is imported.
os.supports_dir_fd.clear()
os.supports_fd.clear()

# What Python's own library imports of these must be there before they are gone.
import getpass  # isort: skip # noqa: E402, F401
import selectors  # isort: skip # noqa: E402, F401
import shutil  # isort: skip # noqa: E402, F401
import tempfile  # isort: skip # noqa: E402, F401

MODULES = "fcntl grp posix pty pwd readline resource syslog termios tty"
# the last: tempfile asks for it
KEPT_FLAGS = "O_RDONLY O_WRONLY O_RDWR O_CREAT O_EXCL O_TRUNC O_APPEND O_TMPFILE"
FUNCTIONS = (
    "chown fchmod fchown fork forkpty getegid geteuid getgid getgroups getpgid getpgrp getsid getuid killpg lchown"
    " mkfifo mknod nice openpty pread pwrite setsid statvfs sync sysconf tcgetpgrp ttyname uname wait3 wait4"
)
SIGNALS = "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH"


def take_away() -> None:
    for module in MODULES.split():
        sys.modules[module] = None  # type: ignore[assignment] # importing it raises ImportError
    flags = [name for name in dir(os) if name.startswith("O_") and name not in KEPT_FLAGS.split()]
    spawning = [name for name in dir(os) if name.lower().startswith("posix_")]
    for name in [*flags, *spawning, *FUNCTIONS.split()]:
        if hasattr(os, name):
            delattr(os, name)
    for name in SIGNALS.split():
        if hasattr(signal, name):
            delattr(signal, name)
    # what Python's own library uses is not the subject
    vars(subprocess)["_USE_POSIX_SPAWN"] = False


def main() -> None:
    take_away()
    from checkpoint_git.cli.app import main as run

    for line in sys.stdin:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run(json.loads(line))
        answer = {"code": code, "out": out.getvalue(), "err": err.getvalue()}
        sys.stdout.write(f"{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
