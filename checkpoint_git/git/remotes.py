"""One branch on a remote: asked for, fetched, pushed under a lease. What the remote says is untrusted."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.history.history import is_shallow
from checkpoint_git.git.history.log import read_boundary
from checkpoint_git.git.merges.bases import read_base_ids
from checkpoint_git.git.merges.merges import UNSHALLOW
from checkpoint_git.git.objects import Env
from checkpoint_git.git.run import GitResult, run_git

HEADS = "refs/heads/"
_DEEPER = (64, 512)  # commits, before all the rest is fetched
_SETTINGS = (
    f"core.hooksPath={os.devnull}",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.lowSpeedLimit=1",  # bytes a second, for so many seconds: then the connection is dead
    "http.lowSpeedTime=120",
)
_ALONE = tuple(word for setting in _SETTINGS for word in ("-c", setting))
_FETCH = ("fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance")
_LONGEST_SAID = 300  # characters of what a server says


class Pushed(NamedTuple):
    arrived: bool  # the remote has the commit on the branch
    now: str | None  # what the branch is at, "" where it is gone, None where the remote does not answer any more
    said: str  # the server's reason, one line, not escaped
    refused: bool = False  # the server said no to the branch; else the push has ended before it said anything


def quiet_env(env: Mapping[str, str]) -> dict[str, str]:
    return {**env, "GIT_TERMINAL_PROMPT": "0", "GCM_INTERACTIVE": "never"}


def check_branch(cwd: str, name: str) -> str:
    """Named "x" or "refs/heads/x". Raises CheckpointError for what cannot be one."""
    short = name.removeprefix(HEADS)
    fits = bool(short) and short.isprintable() and not short.startswith("refs/")
    if not fits or run_git(["check-ref-format", f"{HEADS}{short}"], cwd, check=False).code != 0:
        shown = escape_controls(shorten(name, 100))
        raise CheckpointError(f"'{shown}' cannot be a branch", "give the pull request's branch, such as topic")
    return f"{HEADS}{short}"


def check_remote(cwd: str, remote: str, env: Env = None) -> None:
    known = run_git(["remote"], cwd, env=env).out.decode("utf-8", "replace").splitlines()
    if remote in (*known, ".") or (remote and not remote.startswith("-") and re.search("[/:\\\\]", remote)):
        return
    shown = escape_controls(shorten(remote, 100))
    raise CheckpointError(f"no remote named {shown!r}", f"known are: {', '.join(known) or 'none'}; see --remote")


def read_remote_branch(cwd: str, remote: str, ref: str, env: Env = None) -> str | None:
    """What a full ref is at on the remote, "" where it has no such ref; None where the remote does not answer."""
    result = run_git([*_ALONE, "ls-remote", "-q", "--", remote, ref], cwd, env=env, check=False)
    if result.code != 0:
        return None
    rows = (line.split("\t") for line in os.fsdecode(result.out).splitlines())
    return next((row[0] for row in rows if len(row) == 2 and row[1] == ref), "")


def fetch_commits(cwd: str, remote: str, wanted: Sequence[str], env: Env = None) -> bool:
    """Full refs or ids; only objects come."""
    return run_git([*_ALONE, *_FETCH, "--", remote, *wanted], cwd, env=env, check=False).code == 0


# As much is fetched into a shallow clone as it takes to know them: there, a base that is here may be the wrong one.
def read_full_bases(cwd: str, remote: str, ours: str, theirs: str, env: Env = None) -> list[str]:
    """For full ids. Raises CheckpointError where what a shallow clone lacks cannot be fetched."""
    for depth in _DEEPER:
        if not is_shallow(cwd) or not _is_cut(cwd, ours, theirs, env):
            return read_base_ids(cwd, (ours, theirs), env)
        words = [*_ALONE, *_FETCH, f"--deepen={depth}", "--", remote, ours, theirs]
        run_git(words, cwd, env=env, check=False)
    for wanted in ([ours, theirs], []):
        if is_shallow(cwd):
            run_git([*_ALONE, *_FETCH, "--unshallow", "--", remote, *wanted], cwd, env=env, check=False)
    if is_shallow(cwd) and _is_cut(cwd, ours, theirs, env):
        message = f"this clone is too shallow to find what {ours[:12]} and {theirs[:12]} have in common"
        raise CheckpointError(f"{message}, and the rest could not be fetched", UNSHALLOW)
    return read_base_ids(cwd, (ours, theirs), env)


def _is_cut(cwd: str, ours: str, theirs: str, env: Env) -> bool:
    ends = read_boundary(cwd, env)
    if not ends:
        return False
    bases = read_base_ids(cwd, (ours, theirs), env)
    own = run_git(["rev-list", ours, theirs, "--not", *bases], cwd, env=env).out.decode().split()
    return not bases or not ends.isdisjoint(own)


# No hook of this clone runs, the user is asked nothing, and no ref is written but what git keeps of remote branches.
def push_words(remote: str, commit: str, ref: str, expected: str, options: Sequence[str]) -> list[str]:
    """A push under a lease. ref: of a branch, in full. expected: where it must be, "" for one that is not there."""
    words = ["push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", *options]
    return [*words, f"--force-with-lease={ref}:{expected}", "--end-of-options", remote, f"{commit}:{ref}"]


def push_commit(cwd: str, remote: str, commit: str, ref: str, expected: str, env: Env = None) -> Pushed:
    words = push_words(remote, commit, ref, expected, ("--no-verify", "--no-signed"))
    result = run_git([*_ALONE, *words], cwd, env=env, check=False)
    if result.code == 0:
        return Pushed(True, commit, "")
    now = read_remote_branch(cwd, remote, ref, env)  # the connection may have died after the push
    return Pushed(now == commit, now, find_reason(result), b"\n!\t" in b"\n" + result.out)


def find_reason(result: GitResult) -> str:
    lines = result.out.decode("utf-8", "replace").splitlines()
    refused = [match[1] for line in lines if line.startswith("!") and (match := re.search(r"\(([^()]*)\)\s*$", line))]
    said = result.err.decode("utf-8", "replace").splitlines()
    remote = [line.removeprefix("remote:").strip() for line in said if line.startswith("remote:")]
    fatal = [line for line in said if line.startswith(("fatal:", "error:"))][:1]
    parts = [*refused, *filter(None, remote)] or fatal or [line for line in said if line.strip()][:1]
    return shorten("; ".join(parts) or f"git push ended with {result.code}", _LONGEST_SAID)
