"""Find work that is younger than the last written checkpoint: files and commits, from git."""

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

# folders whose files are not work
_OURS = tuple(own_folders())
_LOG_BYTES = 1 << 16  # of the end of the log of HEAD
_MOST_BYTES = 1 << 20  # of git's answers
SECOND = 10**9  # in nanoseconds
_ID = "([0-9a-f]{40}|[0-9a-f]{64})"
# `OLD NEW NAME <MAIL> SECONDS ZONE<tab>MESSAGE`: a line of that log about the user's own work;
# "pull", "checkout", "reset" and "clone" bring others' work
_WORK = "(commit|merge|rebase|cherry-pick|revert|am)"
_MOVE = re.compile(rf"{_ID} {_ID} (?:[^\t]* )?([0-9]{{1,12}}) [^ \t]*\t{_WORK}")
_MOST_MOVES = 200


class UnsavedWork(NamedTuple):
    """Work since the last checkpoint. files: paths from the top of the work tree, the youngest
    first. commits: how many. since: nanoseconds. written: a checkpoint was written in this
    session.
    """

    files: tuple[str, ...]
    commits: int
    since: int
    written: bool


def find_work(
    place: Place, session: str, env: Mapping[str, str], since: int = 0
) -> UnsavedWork | None:
    """Return what was done since the session started or a checkpoint was written, whichever is
    later; None for nothing, outside git, and for a session whose start is unknown.

    since: a later time to count from, nanoseconds. Raises CheckpointError if git fails.
    """
    if place.git_dir is None or place.work_tree is None:
        return None
    started = read_started(place.git_dir, session)
    if started is None:
        return None

    wrote = read_written(place)
    after = max(started, wrote, since)
    top, git_env = place.work_tree, clean_env(env)
    if os.path.isdir(os.path.join(place.git_dir, "reftable")):  # of git 2.45
        moves = _ask_for_moves(top, after, git_env)
    else:
        moves = _read_moves(place.git_dir, after)

    options = ["-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"]
    status = _ask(["status", "--porcelain", *options], top, git_env)
    changed = [field[3:] for field in status if len(field) > 3]
    times: dict[str, int] = {}
    for path in {*changed, *_read_committed(top, moves, git_env)}:
        if not path.startswith(_OURS):
            times[path] = _read_change(top, path)

    younger = [path for path in times if times[path] > after]
    if not younger:
        return None
    younger.sort(key=lambda path: (-times[path], path))
    commits = sum(seconds * SECOND > after for _, _, seconds in moves)
    return UnsavedWork(tuple(younger), commits, after, wrote > started)


def has_gone_on(place: Place, session: str, env: Mapping[str, str], since: int) -> bool:
    """Whether there is work, or a checkpoint was written, since a time in nanoseconds."""
    return read_written(place) > since or find_work(place, session, env, since) is not None


def describe_work(work: UnsavedWork, name: str = "NAME") -> str:
    """Return a sentence about work, without untrusted text. name: from name_checkpoint."""
    changes = f"{plural(len(work.files), 'file')} changed"
    if work.commits:
        changes = f"{changes} ({plural(work.commits, 'commit')})"
    when = "in this session, and no checkpoint was written"
    if work.written:
        when = "since the last checkpoint"

    advice = f"Record progress before stopping: {_advise(name)}"
    if name == "NAME":
        advice = f"{advice}, where NAME is the checkpoint's name"
    return f"{changes} {when}. {advice}."


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
    """Return (old, new, seconds) of HEAD's moves by the user's own work, from the end of git's
    log. Seconds are rounded down.
    """
    lines = list[str]()
    with suppress(OSError), open_plain(os.path.join(git_dir, "logs", "HEAD")) as stream:
        stream.seek(max(stream.seek(0, os.SEEK_END) - _LOG_BYTES, 0))
        lines = stream.read(_LOG_BYTES).decode("utf-8", "replace").split("\n")
    moves = []
    for line in lines:
        match = _MOVE.match(line)
        if match and (int(match[3]) + 1) * SECOND > after:
            moves.append((match[1], match[2], int(match[3])))
    return moves


def _ask_for_moves(top: str, after: int, env: Mapping[str, str]) -> list[tuple[str, str, int]]:
    """Return the moves as _read_moves does, by a process: git's log is not a file here."""
    options = [f"-n{_MOST_MOVES}", "--no-show-signature", "--date=unix", "--format=%H %gd %gs%x00"]
    reflog = run_git(["log", "-g", *options, "HEAD"], top, env=env, check=False).out
    entry = rf"(?:\A|\0\n){_ID} HEAD@\{{([0-9]{{1,12}})\}} {_WORK}?"
    found = re.findall(entry, reflog.decode("utf-8", "replace"))
    # the youngest first: each entry's old commit is the new one of the next
    olds = [old for old, _, _ in found[1:]]
    if len(found) < _MOST_MOVES:
        olds.append("0" * 40)

    moves = []
    for (new, seconds, work), old in zip(found, olds, strict=False):
        if work and (int(seconds) + 1) * SECOND > after:
            moves.append((old, new, int(seconds)))
    return moves[::-1]


def _read_change(top: str, path: str) -> int:
    """Return when a file changed; for one that does not exist (any more), when the nearest folder
    did.
    """
    changed = read_time(os.path.join(top, path))
    if changed:
        return changed
    if not path:
        return 0
    return _read_change(top, os.path.dirname(path))


def _read_committed(
    top: str, moves: list[tuple[str, str, int]], env: Mapping[str, str]
) -> list[str]:
    """Return the files that differ between before the first and after the last of the moves."""
    if not moves:
        return []
    old, _, _ = moves[0]
    _, new, _ = moves[-1]
    if not old.strip("0"):
        # the very first commit: there is nothing to compare it with
        return _ask(["ls-tree", "-r", "-z", "--name-only", new], top, env)
    options = ["--name-only", "-z", "--no-ext-diff", "--no-renames"]
    return _ask(["diff", *options, old, new, "--"], top, env)


def _ask(words: list[str], top: str, env: Mapping[str, str]) -> list[str]:
    data = b""
    for chunk in stream_git(words, top, env={"GIT_OPTIONAL_LOCKS": "0", **env}):
        data += chunk
        if len(data) > _MOST_BYTES:
            break
    return [os.fsdecode(field) for field in data.split(b"\0") if field]


def may_block(place: Place, env: Mapping[str, str], *, wish: bool) -> bool:
    """Whether a reminder keeps a session going: as the configuration says, otherwise as wished."""
    configured = read_flag(SESSION_BLOCKS, place.top, clean_env(env))
    if configured is None:
        return wish
    return configured
