"""`checkpoint restore-point guard`: a hook that agents run before each tool call; it lets through what can be undone.

Exit code 0 lets the call go on, 2 stops it with the reason on stderr. Whatever goes wrong stops it too.
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import JsonTextError, decode, load
from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import find_repository
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.guard_rules import Call, Cover, decide, find_cover, read_call

SUMMARY = "stop an agent's tool call unless a live restore point covers what it changes"
EXAMPLES = """\
  checkpoint restore-point guard < tool-call.json
  checkpoint restore-point guard --reader mcp__docs__search

The tool call is the JSON that an agent's hook gets on stdin: {"tool_name": "Edit", "tool_input": {...}, "cwd": "..."}.
Tools that only read pass. A tool that changes a file passes when a live restore point covers the file; a tool that may
change anything (a shell command that is more than a look, a tool that nobody knows) when one covers the whole
workspace: checkpoint restore-point create . --expiry 8h. --reader names further tools that only read."""
EXIT_CODES = """\
exit codes:
  0    the call may go on
  2    it may not, or nobody can tell; stderr says why"""

ALLOWED, STOPPED = 0, 2
_MAX_CALL = 64 << 20  # bytes: a tool call holds the whole content of a file


def add_arguments(parser: ArgumentParser) -> None:
    """[--reader TOOL]..."""
    parser.add_argument("--reader", metavar="TOOL", action="append", help="a further tool that only reads")


def answer(args: Namespace, invocation: Invocation) -> Answer:
    """The verb: nothing on stdout."""
    try:
        value = load(decode(_read_stdin(invocation)))
    except JsonTextError:
        return _stop("the tool call on stdin is not JSON")
    call = read_call(value, invocation.cwd, args.reader or ())
    if call is None:
        return _stop("the tool call on stdin makes no sense")
    if call.reads:
        return Answer((), ALLOWED)
    return _judge(call, invocation)


def tell_error(words: Sequence[str], error: CheckpointError) -> Answer:
    """Being unable to tell is a no."""
    return _stop(error.message)


def _read_stdin(invocation: Invocation) -> bytes:
    stream: Any = getattr(invocation.stdin, "buffer", invocation.stdin)
    data = stream.read(_MAX_CALL + 1)
    if len(data) > _MAX_CALL:
        raise CheckpointError("the tool call on stdin is too long")
    return data if isinstance(data, bytes) else data.encode()


def _stop(reason: str, needs: str = "") -> Answer:
    """needs: the scope of a point that would let the call go on."""
    hint = f"; make one first: checkpoint restore-point create {needs} --expiry 8h" if needs else ""
    return Answer((), STOPPED, f"stopped: {shorten(escape_controls(reason), 500)}{hint}")


def _judge(call: Call, invocation: Invocation) -> Answer:
    path = _follow(call.path)
    here = call.cwd if os.path.isdir(call.cwd) else invocation.cwd
    repository = find_repository(os.path.dirname(path) if path and os.path.isdir(os.path.dirname(path)) else here)
    root = os.path.realpath(repository[0] if repository else _find_root(here))
    covers = _Covers(_read_covers(root, repository[1] if repository else "", invocation.now))
    verdict = decide(call._replace(path=path), root, covers)
    if verdict.allowed and path and _is_left_out(root, path, covers, invocation.env, inside_git=repository is not None):
        return _stop(f"git ignores {path}, so no restore point holds it (name it in the scope)", "SCOPE")
    return Answer((), ALLOWED) if verdict.allowed else _stop(verdict.reason, verdict.needs)


def _follow(path: str) -> str:
    """The path with all links followed: what a tool writes through a link is what must be covered."""
    return os.path.realpath(path) if path else ""


def _find_root(cwd: str) -> str:
    from checkpoint_git.disk.discover import find_place

    try:
        return find_place(cwd).root
    except CheckpointError:
        return cwd


class _Covers:
    """What points cover, read no further than somebody asks: a manifest of thousands of files takes its time."""

    def __init__(self, unread: Iterator[Cover]) -> None:
        self._unread = unread
        self._read: list[Cover] = []

    def __iter__(self) -> Iterator[Cover]:
        yield from self._read
        for cover in self._unread:
            self._read.append(cover)
            yield cover


def _read_covers(root: str, git_dir: str, now: int) -> Iterator[Cover]:
    """What every live point covers, newest first. A manifest that makes no sense covers nothing, and neither does one
    that came with somebody's branch: git keeps no content for it.
    """
    for point in reversed(layout.list_ids(root)):
        try:
            value = load(decode(_read_manifest(layout.manifest_path(root, point))))
        except (OSError, JsonTextError):
            continue
        cover = find_cover(value, point, now)
        if cover is not None and (not cover.in_git or _is_kept(git_dir, point)):
            yield cover


def _is_kept(git_dir: str, point: str) -> bool:
    """Whether the ref of a point is there, by a look at the files in which git keeps refs."""
    if not git_dir:
        return False
    common = os.path.join(git_dir, _read_text(os.path.join(git_dir, "commondir")).strip())
    ref = layout.ref_name(point)
    if os.path.isfile(os.path.join(common, ref)) or os.path.isdir(os.path.join(common, "reftable")):
        return True
    return f" {ref}\n" in _read_text(os.path.join(common, "packed-refs"))


def _read_text(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return stream.read(_MAX_CALL).decode("utf-8", "replace")
    except OSError:
        return ""


def _read_manifest(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as stream:
        return stream.read(_MAX_CALL)


def _is_left_out(root: str, path: str, covers: Iterable[Cover], env: Mapping[str, str], *, inside_git: bool) -> bool:
    """Whether a file that is there already is in no point, because git ignores it."""
    relative = path[len(root.rstrip("/")) + 1 :]
    if not inside_git or not os.path.lexists(path) or any(relative in cover.paths for cover in covers):
        return False
    from checkpoint_git.git.run import clean_env, run_git

    words = ["check-ignore", "-q", "--no-index", "--", relative]
    return run_git(words, root, env=clean_env(env), check=False).code != 1
