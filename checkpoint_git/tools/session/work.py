"""Whether work went on since a checkpoint was last written: files and commits that are younger,
asked of git.
"""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.core.hint import Blank, Hint, advise, blank, command, join_hints
from checkpoint_git.core.terminal_text import plural
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.read import open_plain
from checkpoint_git.git.run import clean_env, run_git, stream_git
from checkpoint_git.git.settings import SESSION_BLOCKS, read_flag
from checkpoint_git.protocols.registry import own_folders
from checkpoint_git.tools.session.record import read_started, read_time, read_written

# the folders in which nothing is work
_OURS = tuple(own_folders())
_LOG_BYTES = 1 << 16  # of the end of the log of HEAD
_MOST_BYTES = 1 << 20  # of git's answers
SECOND = 10**9  # in nanoseconds
_ID = "([0-9a-f]{40}|[0-9a-f]{64})"
# `OLD NEW NAME <MAIL> SECONDS ZONE<tab>MESSAGE`, what git writes into that log when somebody works;
# "pull", "checkout", "reset" and "clone" bring others' work
_WORK = "(commit|merge|rebase|cherry-pick|revert|am)"
_MOVE = re.compile(rf"{_ID} {_ID} (?:[^\t]* )?([0-9]{{1,12}}) [^ \t]*\t{_WORK}")
_MOST_MOVES = 200


class UnsavedWork(NamedTuple):
    """What is younger than what was written last. commits: how many. since: nanoseconds. written:
    by a checkpoint.
    """

    files: tuple[str, ...]  # paths from the top of the work tree, the youngest first
    commits: int
    since: int
    written: bool


def find_work(
    place: Place, session: str, env: Mapping[str, str], since: int = 0
) -> UnsavedWork | None:
    """What was done since the session started or a checkpoint was written, whichever is later; None
    for nothing. None too outside git, and for a session whose start is not known. since: a later
    time to count from, nanoseconds. Raises CheckpointError if git fails.
    """
    started = read_started(place.git_dir, session) if place.git_dir else None
    if started is None or place.work_tree is None:
        return None
    wrote = read_written(place)
    after = max(started, wrote, since)
    top, own = place.work_tree, clean_env(env)
    is_file = not os.path.isdir(os.path.join(place.git_dir or "", "reftable"))  # of git 2.45
    moves = _read_moves(place.git_dir or "", after) if is_file else _ask_for_moves(top, after, own)
    status = [
        "status",
        "--porcelain",
        "-z",
        "--untracked-files=all",
        "--no-renames",
        "--ignore-submodules=all",
    ]
    changed = [field[3:] for field in _ask(status, top, own) if len(field) > 3]
    paths = {*changed, *_read_committed(top, moves, own)}
    times = {path: _read_change(top, path) for path in paths if not path.startswith(_OURS)}
    younger = tuple(
        path for path in sorted(times, key=lambda path: (-times[path], path)) if times[path] > after
    )
    commits = sum(seconds * SECOND > after for _, _, seconds in moves)
    return UnsavedWork(younger, commits, after, wrote > started) if younger else None


def has_gone_on(place: Place, session: str, env: Mapping[str, str], since: int) -> bool:
    """Return whether there is work, or a checkpoint was written, since a time in nanoseconds."""
    return read_written(place) > since or find_work(place, session, env, since) is not None


def describe_work(work: UnsavedWork, name: str = "NAME") -> str:
    """A sentence that holds no untrusted text. name: from name_checkpoint."""
    files = plural(len(work.files), "file")
    commits = f" ({plural(work.commits, 'commit')})" if work.commits else ""
    when = (
        "since the last checkpoint"
        if work.written
        else "in this session, and no checkpoint was written"
    )
    which = ", where NAME is the checkpoint's name" if name == "NAME" else ""
    return (
        f"{files} changed{commits} {when}. Record progress before stopping: {_advise(name)}{which}."
    )


def _advise(name: str) -> Hint:
    """Return the two ways to record progress."""
    update = command(
        "checkpoint",
        "update",
        name,
        blank("--step=", "the step"),
        "--next",
        Blank("the next action"),
    )
    return join_hints(update, advise("or", "checkpoint", "done", name))


def _read_moves(git_dir: str, after: int) -> list[tuple[str, str, int]]:
    """(old, new, seconds) of HEAD's moves by somebody's work, from the end of git's own log.
    Seconds are cut off.
    """
    lines = list[str]()
    with suppress(OSError), open_plain(os.path.join(git_dir, "logs", "HEAD")) as stream:
        stream.seek(max(stream.seek(0, os.SEEK_END) - _LOG_BYTES, 0))
        lines = stream.read(_LOG_BYTES).decode("utf-8", "replace").split("\n")
    found = [match for line in lines if (match := _MOVE.match(line))]
    moves = [(match[1], match[2], int(match[3])) for match in found]
    return [move for move in moves if (move[2] + 1) * SECOND > after]


def _ask_for_moves(top: str, after: int, env: Mapping[str, str]) -> list[tuple[str, str, int]]:
    words = [
        "log",
        "-g",
        f"-n{_MOST_MOVES}",
        "--no-show-signature",
        "--date=unix",
        "--format=%H %gd %gs%x00",
        "HEAD",
    ]
    reflog = run_git(words, top, env=env, check=False).out
    found = re.findall(
        rf"(?:\A|\0\n){_ID} HEAD@\{{([0-9]{{1,12}})\}} {_WORK}?", reflog.decode("utf-8", "replace")
    )
    olds = [old for old, _, _ in found[1:]] + ["0" * 40] * (len(found) < _MOST_MOVES)
    moves = [
        (old, new, int(seconds))
        for (new, seconds, work), old in zip(found, olds, strict=False)
        if work
    ]
    return [move for move in reversed(moves) if (move[2] + 1) * SECOND > after]


def _read_change(top: str, path: str) -> int:
    """When a file changed; of one that is gone, by its name or altogether, when the nearest folder
    did.
    """
    return read_time(os.path.join(top, path)) or (
        _read_change(top, os.path.dirname(path)) if path else 0
    )


def _read_committed(
    top: str, moves: list[tuple[str, str, int]], env: Mapping[str, str]
) -> list[str]:
    """The files that differ between before the first and after the last of the moves."""
    if not moves:
        return []
    old, new = moves[0][0], moves[-1][1]
    if not old.strip("0"):  # the first commit of all: there is nothing to compare with
        return _ask(["ls-tree", "-r", "-z", "--name-only", new], top, env)
    return _ask(
        ["diff", "--name-only", "-z", "--no-ext-diff", "--no-renames", old, new, "--"], top, env
    )


def _ask(words: list[str], top: str, env: Mapping[str, str]) -> list[str]:
    data = b""
    for chunk in stream_git(words, top, env={"GIT_OPTIONAL_LOCKS": "0", **env}):
        data += chunk
        if len(data) > _MOST_BYTES:
            break
    return [os.fsdecode(field) for field in data.split(b"\0") if field]


def may_block(place: Place, env: Mapping[str, str], *, wish: bool) -> bool:
    """Return whether a reminder keeps a session going: as the configuration says, else as
    wished.
    """
    configured = read_flag(SESSION_BLOCKS, place.top, clean_env(env))
    return wish if configured is None else configured
