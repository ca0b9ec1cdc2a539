"""Read a pull request, its two commits and its branch, from untrusted words."""

import argparse
import os
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.core.untrusted_text import hide_in_value
from checkpoint_git.git.objects import check_readable, has_commit, is_id, read_commit
from checkpoint_git.git.remotes import HEADS, check_branch, check_remote, fetch, read_remote_ref
from checkpoint_git.git.run import run_git

Env = Mapping[str, str]
LONGEST_NAME = 100  # characters


class PullRequest(NamedTuple):
    cwd: str  # in the repository
    remote: str  # its name or address
    base_name: str  # as people call it
    head_name: str
    base: str  # full commit ids
    head: str
    ref: str  # the full ref of its branch on the remote, "" if unknown
    push: bool  # the merge may be pushed
    dry_run: bool


def read_request(args: argparse.Namespace, cwd: str, env: Env) -> PullRequest:
    """Return the pull request that the options name, and fetch the commits that this clone lacks.
    Raises CheckpointError if the options are not clear.
    """
    if not args.base:
        message = "the pull request's target branch is unknown"
        raise CheckpointError(message, "give it: --base origin/main")

    remote = args.remote or "origin"
    head_name = args.head or "HEAD"
    ref = _find_ref(args.branch, head_name, remote, cwd, env)
    if args.branch and not args.head:
        head_name = ref  # what a job has checked out may be anything, a trial merge for one
    push = bool(args.push) and not args.dry_run
    if push and not ref:
        hint = "give the pull request's branch as the remote calls it: --branch BRANCH"
        raise CheckpointError(f"{show_name(head_name)} does not say which branch to push to", hint)

    if push:
        check_remote(cwd, remote, env)
    base = _find_commit(args.base, remote, cwd, env)
    if head_name == ref:
        check_remote(cwd, remote, env)
        head = _fetch_branch(ref, remote, cwd, env)
        if not head:
            hint = "was the pull request closed? is --remote the repository that its branch is in?"
            message = (
                f"{show_name(remote)} has no branch {show_name(ref.removeprefix(HEADS))} to fetch"
            )
            raise CheckpointError(message, hint)
    else:
        head = _find_commit(head_name, remote, cwd, env)

    names = [_short_name(name, remote) for name in (args.base, ref or head_name)]
    return PullRequest(cwd, remote, names[0], names[1], base, head, ref, push, args.dry_run)


def _find_ref(branch: str | None, head: str, remote: str, cwd: str, env: Env) -> str:
    """Return the full ref of the branch that was named, or that the head's name means; "" for
    none.
    """
    if branch is not None:
        return check_branch(cwd, branch)

    name = head
    if head.startswith(f"{remote}/"):
        name = f"refs/remotes/{head}"
    words = ["rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options"]
    known = run_git([*words, name], cwd, env=env, check=False)
    if known.code != 0 and is_id(head):
        return ""
    if known.code != 0:
        # a branch that will be fetched, or nothing
        return f"{HEADS}{_short_name(head, remote)}"

    tracked = f"refs/remotes/{remote}/"
    lines = os.fsdecode(known.out).split("\n")
    full = next((line for line in lines if line.startswith("refs/")), "")
    if full.startswith(tracked):
        return f"{HEADS}{full.removeprefix(tracked)}"
    if full.startswith(HEADS):
        return full
    return ""


def _find_commit(name: str, remote: str, cwd: str, env: Env) -> str:
    """Return the id of a commit; one that this clone lacks is fetched from the remote. Raises
    CheckpointError for none.
    """
    if has_commit(cwd, name, env):
        return read_commit(cwd, name, env)
    check_readable(cwd, env)
    found = _fetch_branch(_short_name(name, remote), remote, cwd, env)
    if found:
        return found
    if is_id(name) and fetch(cwd, remote, [name], env):
        return read_commit(cwd, name, env)

    message = f"'{show_name(name)}' names no commit here, nor a branch of {show_name(remote)}"
    give = "give a branch such as origin/main, or a commit id"
    fetch_it = "a job that checks out one branch has to fetch the other"
    raise CheckpointError(message, f"{give}; {fetch_it}")


def _fetch_branch(short: str, remote: str, cwd: str, env: Env) -> str:
    """Fetch a branch, and return its commit; "" if the remote has no such branch."""
    try:
        ref = check_branch(cwd, short)
        check_remote(cwd, remote, env)
    except CheckpointError:
        return ""
    commit = read_remote_ref(cwd, remote, ref, env)
    if not commit or not fetch(cwd, remote, [ref], env):
        return ""
    return commit


def follow(request: PullRequest, env: Env) -> PullRequest:
    """Return the request with the present head of its branch. Raises CheckpointError if that
    cannot be fetched.
    """
    commit = read_remote_ref(request.cwd, request.remote, request.ref, env)
    if not commit or not fetch(request.cwd, request.remote, [request.ref], env):
        message = f"{show_name(request.head_name)} cannot be fetched again"
        raise CheckpointError(message, "run it once more")
    return request._replace(head=commit)


def _short_name(name: str, remote: str) -> str:
    for prefix in (HEADS, f"refs/remotes/{remote}/", f"{remote}/"):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def show_name(name: str) -> str:
    return escape_controls(shorten(hide_in_value(name), LONGEST_NAME))
