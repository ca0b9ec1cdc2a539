"""Asking a remote for a branch and sending it one commit, compare and swap; it knows nothing of what is in a commit."""

import os
import re
import selectors
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.remotes import push_words
from checkpoint_git.git.run import GitResult, clean_env, start_git

if TYPE_CHECKING:
    import subprocess

Kind = Literal["arrived", "lost", "refused", "hook", "unknown"]

_MOST_SAID = 1 << 20  # bytes of one stream
_CHUNK = 1 << 16
_PATIENCE, _NAP = 5.0, 0.05  # seconds
_LONGEST_REASON = 600
_QUIET = (
    "-c",
    "fetch.unpackLimit=1",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "advice.pushFetchFirst=false",
)
_NO_SUCH_BRANCH = b"couldn't find remote ref"
_LOST = re.compile(
    rb"stale info|fetch first|non-fast-forward|failed to update ref|cannot lock ref|incorrect old value|already exists"
    rb"|but expected|unable to create .*\.lock|failed to lock"
)
_NO_ROOM = b"exists; cannot create"  # a/b beside a branch a: no attempt will ever succeed
_NOISE = re.compile(rb"^(To |error: failed to push some refs|hint: |fatal: the remote end hung up upon initial)")


class UnreachableError(CheckpointError):
    """No network, no such host, no permission, or the time was over."""


class Reply(NamedTuple):
    """lost: somebody was faster. refused: the remote does not take it. hook: this clone's own pre-push hook stopped it.
    unknown: the line broke, and it may have arrived. said: the reason, escaped.
    """

    kind: Kind
    said: str


def network_env(env: Mapping[str, str], ssh_is_chosen: bool) -> dict[str, str]:
    # Git asks nobody for anything, and speaks English; settings handed down with `git -c` stay
    kept = {name: value for name, value in env.items() if name.startswith("GIT_CONFIG")}
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_MERGE_AUTOEDIT": "no"}
    if not ssh_is_chosen and "GIT_SSH_COMMAND" not in env and "GIT_SSH" not in env:
        quiet["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"
    return {**clean_env(env), **kept, **quiet}


def fetch_branch(cwd: str, remote: str, branch: str, into: str, env: Mapping[str, str], timeout: float) -> bool:
    """Brings the tip into the ref `into`; False: there is no such branch. Raises UnreachableError."""
    words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--end-of-options"]
    ends = time.monotonic() + min(timeout, _PATIENCE)
    while True:
        result = _run([*words, remote, f"+refs/heads/{branch}:{into}"], cwd, env, timeout)
        if result.code == 0 or not _LOST.search(result.err) or time.monotonic() > ends:
            break
        time.sleep(_NAP)  # the fetch of a sync that was killed still holds the ref
    if result.code == 0:
        return True
    if _NO_SUCH_BRANCH in result.err:
        return False
    raise UnreachableError(f"{escape_controls(remote)} gave no answer: {_reason(result)}")


def look_at_branch(cwd: str, remote: str, branch: str, env: Mapping[str, str], timeout: float) -> str:
    words = ["ls-remote", "--quiet", "--refs", "--end-of-options", remote, f"refs/heads/{branch}"]
    result = _run(words, cwd, env, timeout)
    return result.out.partition(b"\t")[0].decode("ascii", "replace") if result.code == 0 else ""


def push_commit(
    cwd: str, remote: str, branch: str, commit: str, expected: str, env: Mapping[str, str], timeout: float,
    *, hooks: bool = True,
) -> Reply:  # fmt: skip
    """Compare and swap: only if the branch still names `expected`, "" for one that must not exist yet."""
    words = push_words(remote, commit, f"refs/heads/{branch}", expected, () if hooks else ("--no-verify",))
    return read_reply(_run(words, cwd, env, timeout))


def read_reply(result: GitResult) -> Reply:
    rows = [line for line in result.out.split(b"\n") if line.startswith(b"!\t")]
    if result.code == 0 and not rows:
        return Reply("arrived", "")
    for row in rows:
        if _LOST.search(row) and _NO_ROOM not in result.err:
            return Reply("lost", _shown(row.rpartition(b"\t")[2]))
        if b"[remote rejected]" in row or b"[rejected]" in row:
            told = [line[8:] for line in result.err.split(b"\n") if line.startswith(b"remote: ") and line[8:].strip()]
            return Reply("refused", _shown(b" / ".join([row.rpartition(b"\t")[2], *told])))
    has_talked = any(line.startswith(b"To ") for line in result.out.split(b"\n"))
    if result.code == 1 and b"error: dst refspec " in result.err:  # the remote has a branch called refs/heads/...
        return Reply("refused", _reason(result))
    if result.code == 1 and not has_talked and b"fatal:" not in result.err:
        return Reply("hook", _reason(result))
    return Reply("unknown", _reason(result))


def _reason(result: GitResult) -> str:
    lines = [line for line in result.err.split(b"\n") if line.strip() and not _NOISE.match(line)]
    return _shown(b" / ".join(lines)) or f"git ended with {result.code}"


def _shown(text: bytes) -> str:
    return escape_controls(shorten(text.decode("utf-8", "replace").strip(), _LONGEST_REASON))


def _run(words: Sequence[str], cwd: str, env: Mapping[str, str], timeout: float) -> GitResult:
    with start_git([*_QUIET, *words], cwd, env=env, own_group=True) as process:
        try:
            assert process.stdin is not None
            process.stdin.close()
            out, err, trouble = _collect(process, timeout)
        except BaseException:
            _end_group(process.pid)
            raise
        if trouble:
            _end_group(process.pid)
            return GitResult(-signal.SIGKILL, out, b"fatal: " + trouble.encode() + b"\n" + err)
        return GitResult(process.wait(), out, err)


# Whoever answers may be slow, silent, talkative or gone: every question has an end in time and in memory.
def _collect(process: "subprocess.Popen[bytes]", timeout: float) -> tuple[bytes, bytes, str]:
    """(stdout, stderr, why it has to be ended)."""
    ends = time.monotonic() + timeout
    said = {process.stdout: b"", process.stderr: b""}
    with selectors.DefaultSelector() as selector:
        for stream in said:
            assert stream is not None
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            left = ends - time.monotonic()
            ready = selector.select(max(left, 0))
            if not ready and left <= 0:
                return said[process.stdout], said[process.stderr], f"no end within {timeout:.0f} seconds"
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                stream = process.stdout if key.fileobj is process.stdout else process.stderr
                said[stream] += chunk
                if not chunk:
                    selector.unregister(key.fileobj)
                if len(said[stream]) > _MOST_SAID:
                    return said[process.stdout], said[process.stderr][:_CHUNK], "it said more than a megabyte"
    return said[process.stdout], said[process.stderr], ""


def _end_group(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
