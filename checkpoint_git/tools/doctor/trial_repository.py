"""A repository for one trial, in a temporary folder: real git runs in it as a program with a window
would start it.

A bare PATH, no virtual environment, no language, nobody's settings. What hangs is ended, with all
that it started.
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
_HINT = "check that the temporary folder (TMPDIR) is writable and not full"
_ROOM = 1 << 18  # bytes that the temporary folder must still hold when something went wrong

# branch -> the files of its one commit, in ASCII, and the branches it comes from
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
    def said(self) -> str:
        return self.err.decode("utf-8", "replace").strip().partition("\n")[0]


@contextmanager
def open_trial(
    env: Mapping[str, str], settings: Mapping[str, str], seconds: float = SECONDS
) -> Iterator[Trial]:
    """Make an empty repository with these settings, and remove it afterwards. env: the caller's;
    its PATH leads to git. Raises CheckpointError if none can be made: the temporary folder is full,
    or must not be written.
    """
    git = shutil.which("git", path=env.get("PATH"))
    if git is None:
        raise CheckpointError("git was not found", "install git, or put it on PATH")
    place = os.path.dirname(git)
    path = _PLAIN_PATH if place in _PLAIN_PATH.split(":") else f"{_PLAIN_PATH}:{place}"
    try:
        with (
            _tidied_when_ended(),
            tempfile.TemporaryDirectory(
                prefix="checkpoint-proof-", ignore_cleanup_errors=True
            ) as folder,
        ):
            # What a program that was started from a desktop hands down. HOME stays: a desktop knows
            # it, and Python finds there what was installed for one user.
            home = env.get("HOME") or folder
            # it reads HOME's .gitconfig whatever GIT_CONFIG_GLOBAL says
            if check_git_version(folder) < (
                2,
                32,
            ):
                os.symlink(os.path.join(home, ".local"), os.path.join(folder, ".local"))
                home = folder
            own = {
                "PATH": path,
                "HOME": home,
                "GIT_CONFIG_COUNT": str(len(settings)),
                "XDG_CONFIG_HOME": folder,
                "GIT_EDITOR": ":",
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_TERMINAL_PROMPT": "0",
            }
            for at, (key, value) in enumerate(settings.items()):
                own |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
            trial = Trial(os.path.join(folder, "repository"), own, seconds)
            os.mkdir(trial.work_tree)
            must(trial, ["init", "-q", "--template="])
            with open(os.path.join(trial.work_tree, ".git", "config"), "a") as stream:
                stream.write(read_own(__file__, "trial.gitconfig"))
            yield trial
    except OSError as error:
        raise _no_room(error) from error


@contextmanager
def _tidied_when_ended() -> Iterator[None]:
    # what git started is in a group of its own, and would go on after this process is ended
    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    ends = [signal.SIGTERM] + ([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])
    taken = [number for number in ends if signal.getsignal(number) == signal.SIG_DFL]
    try:
        for number in taken:
            signal.signal(number, leave)
    except ValueError:  # not the main thread: signals are its business
        taken = []

    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _no_room(error: OSError) -> CheckpointError:
    return CheckpointError(f"no trial repository could be made: {error.strerror}", _HINT)


def check_room(trial: Trial) -> None:
    """Raises CheckpointError if the temporary folder is full: then a failure says nothing about
    what was tried.
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
        result, trouble = run_bounded(
            words, trial.work_tree, trial.env, trial.seconds, stream.fileno()
        )
    return Tried(result.code, result.out, result.err, hung=bool(trouble))


def must(trial: Trial, words: Sequence[str], stdin: bytes = b"") -> Tried:
    """Like try_git. Raises CheckpointError if git fails: then nothing is known about what was
    tried.
    """
    result = try_git(trial, words, stdin)
    if result.code != 0:
        what = next(word for word in words if not word.startswith("-"))
        raise CheckpointError(
            f"it could not be tried: git {what} failed: {result.said or 'no answer'}", _HINT
        )
    return result


def import_history(trial: Trial, branches: Branches) -> None:
    marks = {branch: mark for mark, branch in enumerate(branches, 1)}
    stream = ""
    for branch, (files, parents) in branches.items():
        stream += f"commit refs/heads/{branch}\nmark :{marks[branch]}\n"
        stream += f"committer proof <proof@localhost> {marks[branch]} +0000\ndata 5\nproof\n"
        stream += "".join(
            f"{'merge' if at else 'from'} :{marks[parent]}\n" for at, parent in enumerate(parents)
        )
        stream += "".join(
            f"M 100644 inline {name}\ndata {len(text)}\n{text}\n" for name, text in files.items()
        )

    must(trial, ["fast-import", "--quiet"], stream.encode())
