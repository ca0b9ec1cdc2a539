"""A remote: its refs looked up, fetched, and pushed under a lease. What it says is untrusted, and
has an end.
"""

import os
import re
import selectors
import time
from collections.abc import Mapping, Sequence
from typing import IO, Literal, NamedTuple, cast

from checkpoint_git.core import platform
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.core.untrusted_text import hide_secrets
from checkpoint_git.git.history.history import is_shallow
from checkpoint_git.git.history.log import read_boundary
from checkpoint_git.git.merges.bases import read_base_ids
from checkpoint_git.git.merges.merges import UNSHALLOW
from checkpoint_git.git.run import (
    LAZY_FETCH,
    NO_HOOKS,
    Env,
    GitResult,
    clean_env,
    run_git,
    start_git,
)

Kind = Literal["arrived", "lost", "refused", "hook", "unknown"]

HEADS = "refs/heads/"
PATIENCE = 540.0  # seconds for one question, unless the caller says: less than a forge's job has
_DEEPER = ("--deepen=64", "--deepen=512")  # commits, before all the rest is fetched
_MOST_SAID = 1 << 20  # bytes of one stream
_CHUNK = 1 << 16
_DEVNULL = -3  # as subprocess calls it
_KILLED = -9  # as subprocess reports SIGKILL
_HELD, _NAP = 5.0, 0.05  # seconds
_LONGEST_REASON, _LONGEST_BRANCH = 600, 200  # characters
_SETTINGS = (
    "fetch.unpackLimit=1",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.pushFetchFirst=false",
)
_FETCH = ("fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
_MISSING = re.compile(rb"couldn't find remote ref|not our ref|unadvertised object")
_LOST = re.compile(
    rb"stale info|fetch first|non-fast-forward|failed to update ref|cannot lock ref"
    rb"|incorrect old value|already exists"
    rb"|but expected|[Uu]nable to create '[^']*\.lock': File exists|failed to lock"
    # `git prune --expire=now` removes the temporary files of every git that runs
    rb"|unable to write file [^:]{1,300}: No such file|unable to rename temporary"
    rb"|/tmp_[^:]{1,300}: No such file"
)
_NO_ROOM = b"exists; cannot create"  # a/b beside a branch a: no attempt will ever succeed
_NOISE = re.compile(
    rb"^(To |error: failed to push some refs|hint: |fatal: the remote end hung up upon initial)"
)
_NO_ACCESS = re.compile(
    rb"could not read (User|Pass)|Authentication failed|Permission denied|error: 40[13]"
    rb"|key verific"
)


class UnreachableError(CheckpointError):
    """No network, no such host, no permission, or the time was over."""


class PushReply(NamedTuple):
    """What a push came to.

    lost: somebody was faster. refused: the remote does not take it. hook: this clone's own
    pre-push hook stopped it. unknown: the line broke, and it may have arrived.
    """

    kind: Kind
    reason: str  # escaped


def network_env(env: Mapping[str, str]) -> dict[str, str]:
    # Git speaks English and asks nobody for anything: no terminal (see _run, for ssh), no window.
    # A GIT_ASKPASS stays, with which a job answers, and settings handed down with `git -c`.
    kept = {name: value for name, value in env.items() if name.startswith("GIT_CONFIG")}
    quiet = {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
        "GIT_MERGE_AUTOEDIT": "no",
    }
    quiet |= {"SSH_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never", "GCM_INTERACTIVE": "never"}
    return {"GIT_ASKPASS": "", LAZY_FETCH: "0", **clean_env(env), **kept, **quiet}


def check_branch(cwd: str, name: str, *, is_new: bool = False) -> str:
    """Return the full ref of a branch that is named "x" or "refs/heads/x".

    is_new: git itself must be willing to make it. Raises CheckpointError for what is no branch.
    """
    short = name.removeprefix(HEADS)
    fits = short.isprintable() and 0 < len(short) <= _LONGEST_BRANCH
    fits = fits and not short.startswith("refs/")
    fits = fits and not (is_new and (short in ("@", "HEAD") or short.startswith("-")))
    # most are plain: git need not be asked
    is_plain = short.isascii() and short.replace("-", "").replace("_", "").isalnum()
    if fits and not is_plain:
        fits = run_git(["check-ref-format", f"{HEADS}{short}"], cwd, check=False).code == 0
    if not fits:
        shown = escape_controls(shorten(name, 100))
        hint = "give its short name, such as topic"
        raise CheckpointError(f"'{shown}' cannot be a branch", hint)

    return f"{HEADS}{short}"


def check_remote(cwd: str, remote: str, env: Env = None) -> None:
    """Raise CheckpointError for what is neither a remote's name nor an address."""
    names = run_git(["remote"], cwd, env=env).out.splitlines()
    known = [name.decode("utf-8", "replace") for name in names]
    if remote in (*known, "."):
        return
    if not remote.startswith("-") and re.search("[/:\\\\]", remote):
        return
    shown = escape_controls(shorten(remote, 100))
    raise CheckpointError(
        f"no remote named {shown!r}", f"known are: {', '.join(known) or 'none'}; see --remote"
    )


def read_remote_ref(cwd: str, remote: str, ref: str, env: Env = None, timeout: float = 0.0) -> str:
    """Return the id that a full ref names on the remote, "" if it has no such ref.

    Raises UnreachableError.
    """
    words = ["ls-remote", "-q", "--refs", "--end-of-options", remote, ref]
    result = _run(words, cwd, env, timeout)
    if result.code != 0:
        raise _unreachable(remote, result)
    for line in os.fsdecode(result.out).split("\n"):
        commit, _, name = line.partition("\t")
        if name == ref:
            return commit
    return ""


def fetch(
    cwd: str, remote: str, wanted: Sequence[str], env: Env = None, timeout: float = 0.0
) -> bool:
    """Fetch full refs, ids or refspecs; return False if the remote has no such thing.

    Raises UnreachableError.
    """
    ends = time.monotonic() + min(timeout or PATIENCE, _HELD)
    words = list(_FETCH)
    if any("*" in name for name in wanted):
        words.append("--prune")
    while True:
        result = _run([*words, "--end-of-options", remote, *wanted], cwd, env, timeout)
        if result.code == 0 or not _LOST.search(result.err) or time.monotonic() > ends:
            break
        time.sleep(_NAP)  # the fetch of a sync that was killed still holds the ref

    if result.code == 0 or _MISSING.search(result.err):
        return result.code == 0
    raise _unreachable(remote, result)


def _unreachable(remote: str, result: GitResult) -> UnreachableError:
    shown = escape_controls(remote.rpartition("@")[2])  # an address may begin with a password
    message = f"{shown} gave no answer: {_reason(result)}"
    if not _NO_ACCESS.search(result.err):
        return UnreachableError(message)
    hint = advise(
        "log in once by hand, with a credential helper or an ssh agent", "git", "ls-remote", shown
    )
    return UnreachableError(message, hint)


# As much is fetched into a shallow clone as it takes to know them: there, a base that is here may
# be the wrong one.
def read_full_bases(cwd: str, remote: str, ours: str, theirs: str, env: Env = None) -> list[str]:
    """Return the merge bases of two commits (full ids).

    Raises CheckpointError if what a shallow clone lacks cannot be fetched.
    """
    ends = ["--end-of-options", remote, ours, theirs]
    for words in (
        [_DEEPER[0], *ends],
        [_DEEPER[1], *ends],
        ["--unshallow", *ends],
        ["--unshallow", *ends[:2]],
    ):
        if not _is_cut(cwd, ours, theirs, env):
            break
        _run([*_FETCH, *words], cwd, env, 0.0)

    if _is_cut(cwd, ours, theirs, env):
        message = (
            f"this clone is too shallow to find what {ours[:12]} and {theirs[:12]} have in common"
        )
        raise CheckpointError(f"{message}, and the rest could not be fetched", UNSHALLOW)

    return read_base_ids(cwd, (ours, theirs), env)


def _is_cut(cwd: str, ours: str, theirs: str, env: Env) -> bool:
    """Return whether a shallow clone ends before the merge bases of two commits."""
    if not is_shallow(cwd):
        return False
    ends = read_boundary(cwd, env)
    if not ends:
        return False
    bases = read_base_ids(cwd, (ours, theirs), env)
    words = ["rev-list", ours, theirs, "--not", *bases]
    since_bases = run_git(words, cwd, env=env).out.decode().split()
    return not bases or not ends.isdisjoint(since_bases)


def push_commit(
    cwd: str,
    remote: str,
    ref: str,
    commit: str,
    expected: str,
    env: Env = None,
    timeout: float = 0.0,
    *,
    hooks: bool = False,
) -> PushReply:
    """Push a commit to a full ref, only if that names `expected` on the remote ("": is not there).

    hooks: run the pre-push hook.
    """
    words = ["push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no"]
    words += [f"--force-with-lease={ref}:{expected}"]
    words += ["--end-of-options", remote, f"{commit}:{ref}"]
    return read_reply(_run(words, cwd, env, timeout, hooks=hooks))


def read_reply(result: GitResult) -> PushReply:
    """Return what a push came to, from git's exit code and its output."""
    rows = [line for line in result.out.split(b"\n") if line.startswith(b"!\t")]
    if result.code == 0 and not rows:
        return PushReply("arrived", "")
    for row in rows:
        reply = _read_refusal(row, result.err)
        if reply:
            return reply

    # the remote has a branch called refs/heads/..., or forbids it
    is_ambiguous = result.code == 1 and b"error: dst refspec " in result.err
    if is_ambiguous or _NO_ACCESS.search(result.err):
        return PushReply("refused", _reason(result))
    has_talked = any(line.startswith(b"To ") for line in result.out.split(b"\n"))
    if result.code == 1 and not has_talked and b"fatal:" not in result.err:
        return PushReply("hook", _reason(result))
    return PushReply("unknown", _reason(result))


def _read_refusal(row: bytes, errors: bytes) -> PushReply | None:
    """Return what a row of `git push --porcelain` says about a ref, None if it does not decide."""
    why = row.rpartition(b"\t")[2]
    if _LOST.search(row) and _NO_ROOM not in errors:
        return PushReply("lost", _shown(why))
    if b"[remote rejected]" not in row and b"[rejected]" not in row:
        return None
    reasons = [why]
    for line in errors.split(b"\n"):
        text = line.removeprefix(b"remote: ")
        if text != line and text.strip():
            reasons.append(text)

    return PushReply("refused", _shown(b" / ".join(reasons)))


def _reason(result: GitResult) -> str:
    lines = [line for line in result.err.split(b"\n") if line.strip() and not _NOISE.match(line)]
    return _shown(b" / ".join(lines)) or f"git ended with {result.code}"


def _shown(text: bytes) -> str:
    reason = text.decode("utf-8", "replace").strip()
    return escape_controls(shorten(str(hide_secrets(reason, reason)), _LONGEST_REASON))


# No hook of this clone runs but pre-push, and no ref is written but what git keeps of remote
# branches. Whoever answers may be slow, silent, talkative or gone: every question has an end in
# time and in memory.
def _run(
    words: Sequence[str], cwd: str, env: Env, timeout: float, *, hooks: bool = False
) -> GitResult:
    options = list[str]()
    for setting in _SETTINGS:
        options += ["-c", setting]
    if not hooks:
        options += NO_HOOKS

    result, trouble = run_bounded([*options, *words], cwd, env, timeout or PATIENCE)
    if not trouble:
        return result
    return result._replace(err=f"fatal: {trouble}\n".encode() + result.err)


def run_bounded(
    words: Sequence[str], cwd: str, env: Env, timeout: float, stdin: int = _DEVNULL
) -> tuple[GitResult, str]:
    """Run git; return its result, and why it was ended with all that it has started.

    The reason is "" if it ended by itself. timeout: seconds.
    """
    ends = time.monotonic() + timeout
    out = bytearray()
    err = bytearray()
    trouble = "it was interrupted"
    process = start_git(words, cwd, env=env, stdin=stdin, own_group=True)
    with process, selectors.DefaultSelector() as selector:
        try:
            selector.register(cast(IO[bytes], process.stdout), selectors.EVENT_READ, out)
            selector.register(cast(IO[bytes], process.stderr), selectors.EVENT_READ, err)
            while (
                selector.get_map()
                and max(len(out), len(err)) <= _MOST_SAID
                and time.monotonic() < ends
            ):
                for key, _ in selector.select(max(ends - time.monotonic(), 0)):
                    chunk = os.read(key.fd, _CHUNK)
                    key.data.extend(chunk)
                    if not chunk:
                        selector.unregister(key.fileobj)
            if not selector.get_map():
                trouble = ""
            elif time.monotonic() >= ends:
                trouble = f"no answer within {timeout:.0f} seconds"
            else:
                trouble = "it printed more than a megabyte"
        finally:
            if trouble:
                platform.end_group(process)

    if trouble:
        code = _KILLED
    else:
        code = process.wait()
    return GitResult(code, bytes(out), bytes(err[:_MOST_SAID])), trouble
