"""A repository for one trial, in a temporary folder: real git runs in it as if a desktop program
had started it.

It has a bare PATH, no virtual environment, no language and no user's settings. A git that hangs is
ended, with all that it started.
"""

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.read import read_own
from checkpoint_git.git.remotes import run_bounded
from checkpoint_git.git.run import check_git_version

SECONDS = 10.0  # for one answer of git's with all that it starts
FILE = ".checkpoints/proof.checkpoint.json"
_PLAIN_PATH = "/usr/bin:/bin"
_GLOBAL_CONFIG = (2, 32)  # an older git reads HOME's .gitconfig whatever GIT_CONFIG_GLOBAL says
_HINT = "check that the temporary folder (TMPDIR) is writable and not full"
_ROOM = 1 << 18  # bytes that must be free in the temporary folder when something went wrong

# branch -> the files of its only commit, in ASCII, and the branches it comes from
Branches = Mapping[str, tuple[Mapping[str, str], tuple[str, ...]]]


SAMPLE: dict[str, Any] = json.loads(read_own(__file__, "trial_checkpoint.json"))


class Trial(NamedTuple):
    """seconds: how long one git may take."""

    work_tree: str
    env: Mapping[str, str]
    seconds: float

    @property
    def folder(self) -> str:
        return os.path.dirname(self.work_tree)


class Tried(NamedTuple):
    """hung: it was ended because its time was over."""

    code: int
    out: bytes
    err: bytes
    hung: bool = False

    @property
    def printed(self) -> str:
        """Return the first line that was written to stderr."""
        return self.err.decode("utf-8", "replace").strip().partition("\n")[0]


@contextmanager
def open_trial(
    env: Mapping[str, str], settings: Mapping[str, str], seconds: float = SECONDS
) -> Iterator[Trial]:
    """Make an empty repository with these settings, and remove it afterwards. env: the caller's;
    its PATH leads to git. Raises CheckpointError if none can be made: the temporary folder is
    full, or cannot be written.
    """
    git = shutil.which("git", path=env.get("PATH"))
    if git is None:
        raise CheckpointError("git was not found", "install git, or put it on PATH")
    try:
        with (
            _tidied_when_ended(),
            tempfile.TemporaryDirectory(
                prefix="checkpoint-proof-", ignore_cleanup_errors=True
            ) as folder,
        ):
            trial_env = _make_env(folder, os.path.dirname(git), env, settings)
            trial = Trial(os.path.join(folder, "repository"), trial_env, seconds)
            os.mkdir(trial.work_tree)
            must(trial, ["init", "-q", "--template="])
            with open(os.path.join(trial.work_tree, ".git", "config"), "a") as stream:
                stream.write(read_own(__file__, "trial.gitconfig"))
            yield trial
    except OSError as error:
        raise _no_room(error) from error


def _make_env(
    folder: str, git_folder: str, env: Mapping[str, str], settings: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment that a desktop hands to a program. HOME stays: a desktop has it, and
    Python finds there what was installed for one user.
    """
    path = _PLAIN_PATH
    if git_folder not in _PLAIN_PATH.split(":"):
        path = f"{_PLAIN_PATH}:{git_folder}"
    home = env.get("HOME") or folder
    if check_git_version(folder) < _GLOBAL_CONFIG:
        os.symlink(os.path.join(home, ".local"), os.path.join(folder, ".local"))
        home = folder

    trial_env = {
        "PATH": path,
        "HOME": home,
        "GIT_CONFIG_COUNT": str(len(settings)),
        "XDG_CONFIG_HOME": folder,
        "GIT_EDITOR": ":",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
    }
    for number, (key, value) in enumerate(settings.items()):
        trial_env[f"GIT_CONFIG_KEY_{number}"] = key
        trial_env[f"GIT_CONFIG_VALUE_{number}"] = value
    return trial_env


@contextmanager
def _tidied_when_ended() -> Iterator[None]:
    """Remove the temporary folder if this process is ended, and end what git started: that is in a
    process group of its own, and would go on.
    """

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    ends = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP"):
        ends.append(signal.SIGHUP)
    taken = [number for number in ends if signal.getsignal(number) == signal.SIG_DFL]
    try:
        for number in taken:
            signal.signal(number, leave)
    except ValueError:
        # only the main thread may handle signals
        taken = []

    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _no_room(error: OSError) -> CheckpointError:
    return CheckpointError(f"no trial repository could be made: {error.strerror}", _HINT)


def check_room(trial: Trial) -> None:
    """Raise CheckpointError if the temporary folder is full: a failure says nothing about the
    driver then.
    """
    path = os.path.join(trial.folder, "room")
    try:
        with open(path, "wb") as stream:
            stream.write(bytes(_ROOM))
        os.unlink(path)
    except OSError as error:
        raise _no_room(error) from error


def try_git(trial: Trial, words: Sequence[str], stdin: bytes = b"") -> Tried:
    with tempfile.TemporaryFile() as stream:
        stream.write(stdin)
        stream.seek(0)
        descriptor = stream.fileno()
        result, trouble = run_bounded(words, trial.work_tree, trial.env, trial.seconds, descriptor)
    return Tried(result.code, result.out, result.err, hung=bool(trouble))


def must(trial: Trial, words: Sequence[str], stdin: bytes = b"") -> Tried:
    """Run git as try_git does. Raises CheckpointError if git fails: nothing is known about the
    driver then.
    """
    result = try_git(trial, words, stdin)
    if result.code != 0:
        verb = next(word for word in words if not word.startswith("-"))
        reason = result.printed or "no answer"
        raise CheckpointError(f"it could not be tried: git {verb} failed: {reason}", _HINT)
    return result


def import_history(trial: Trial, branches: Branches) -> None:
    """Make the branches, one commit each."""
    marks = {branch: mark for mark, branch in enumerate(branches, 1)}
    stream = ""
    for branch, (files, parents) in branches.items():
        stream += f"commit refs/heads/{branch}\nmark :{marks[branch]}\n"
        stream += f"committer proof <proof@localhost> {marks[branch]} +0000\ndata 5\nproof\n"
        keyword = "from"
        for parent in parents:
            stream += f"{keyword} :{marks[parent]}\n"
            keyword = "merge"
        for name, text in files.items():
            stream += f"M 100644 inline {name}\ndata {len(text)}\n{text}\n"

    must(trial, ["fast-import", "--quiet"], stream.encode())
