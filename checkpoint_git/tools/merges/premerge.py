"""A pull request merged as its forge would and as our rules say."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens
from checkpoint_git.core.terminal_text import plural, shorten
from checkpoint_git.git.merges.merges import read_contents
from checkpoint_git.git.merges.new_commits import write_merge_commit
from checkpoint_git.git.merges.trees import merge_by_lines, open_plain
from checkpoint_git.git.objects import Change, diff_trees
from checkpoint_git.git.remotes import (
    UnreachableError,
    push_commit,
    read_full_bases,
    read_remote_ref,
)
from checkpoint_git.protocols.write import find_new_errors
from checkpoint_git.tools.merges.pull_request import LONGEST_NAME, Env, PullRequest, show_name
from checkpoint_git.tools.merges.tree_merge import MergedTree, UnrelatedError, merge_commits
from checkpoint_git.version import __version__

State = Literal["contained", "up-to-date", "mergeable", "merged", "conflicts", "invalid"]
_UNSAFE_IN_NAME = re.compile(r"[^\w./+-]")


class Premerge(NamedTuple):
    """The result for a pull request. state: "contained" (the base has all of it), "up-to-date" (it
    has all of the base), "mergeable" (a line-based merge makes the same), "merged" (our merge is
    needed, and clean), "conflicts", "invalid" (the merge would break a checkpoint that was valid).
    merged: None for the first two. plain_conflicts: the conflicts of a line-based merge. mixed_up:
    the checkpoints that it would merge without a word into something else. errors: for "invalid".
    commit: "" if none was written.
    """

    state: State
    merged: MergedTree | None = None
    plain_conflicts: tuple[str, ...] = ()
    mixed_up: tuple[str, ...] = ()
    errors: tuple[Finding, ...] = ()
    commit: str = ""
    pushed: bool = False


class MovedError(CheckpointError):
    """The branch is no longer where it was when its merge was made."""


# Where these differ, ours is made a commit and pushed. The pull request is untrusted: nothing of it
# is checked out, run, or asked how it wants to be merged.
def premerge(request: PullRequest, now: int, env: Env) -> Premerge:
    """Merges a pull request, writes the commit where it is needed and pushes it where that was
    asked for. Raises MovedError where the branch moved meanwhile, UnrelatedError for unrelated
    histories, CheckpointError if a shallow clone cannot be deepened or the push was refused.
    """
    bases = read_full_bases(request.cwd, request.remote, request.head, request.base, env)
    if request.head in bases:
        return Premerge("contained")
    if request.base in bases:
        return Premerge("up-to-date")
    if not bases:
        names = f"{show_name(request.head_name)} and {show_name(request.base_name)}"
        raise UnrelatedError(
            f"{names} have no common ancestor", "they are unrelated histories: merge them by hand"
        )

    done = _merge(request, now, env)
    if done.state != "merged" or request.dry_run or done.merged is None:
        return done
    message = _make_message(request, len(done.merged.files))
    commit = write_merge_commit(
        request.cwd, done.merged.tree, (request.head, request.base), message, env
    )
    if request.push:
        _push(request, commit, env)
    return done._replace(commit=commit, pushed=request.push)


def _merge(request: PullRequest, now: int, env: Env) -> Premerge:
    with open_plain(request.cwd, env) as plain:
        by_lines = merge_by_lines(plain, request.head, request.base)
        merged = merge_commits(
            request.cwd, request.head, request.base, env=plain.aside if request.dry_run else env
        )
        changes = diff_trees(request.cwd, by_lines.tree, merged.tree, (), plain.env)
        differing = _read_differing(
            request.cwd, changes, {file.path for file in merged.files}, plain.env
        )

    conflicts = tuple(one.path for one in by_lines.unsettled)
    errors = tuple(
        error
        for file in merged.files
        for error in find_new_errors(
            file.path, file.data or b"", (file.sides[0], file.sides[2]), now
        )
    )
    state: State = "merged"
    if not merged.is_clean:
        state = "conflicts"
    elif errors:
        state = "invalid"
    elif by_lines.clean and not differing:
        state = "mergeable"

    mixed_up = tuple(sorted(differing - set(conflicts)))
    return Premerge(state, merged, conflicts, mixed_up, errors if state == "invalid" else ())


def _read_differing(
    cwd: str, changes: Iterable[Change], documents: set[str], env: Env | None
) -> set[str]:
    # Paths on which the two merges differ; another spelling of the same document does not count
    blobs = {one.path: [entry.blob for entry in (one.old, one.after) if entry] for one in changes}
    contents = read_contents(
        cwd, {blob for path in blobs.keys() & documents for blob in blobs[path]}, env
    )
    same = {
        path
        for path in blobs.keys() & documents
        if _is_same([contents[blob] for blob in blobs[path]])
    }
    return set(blobs) - same


def _is_same(versions: list[bytes]) -> bool:
    try:
        values = [scan_tokens(decode(data)) for data in versions]
    except JsonTextError:
        return False
    return len(values) == 2 and values[0] == values[1]


def _make_message(request: PullRequest, count: int) -> str:
    # Names are untrusted: what services take for commands is left out of them
    names = (request.base_name, request.head_name)
    base, head = (_UNSAFE_IN_NAME.sub("?", shorten(name, LONGEST_NAME)) for name in names)
    return (
        f"Merge {base} into {head}\n\n"
        f"Both sides changed {plural(count, 'checkpoint')}; merged field by field, not as text.\n\n"
        f"Made by checkpoint-git {__version__}: checkpoint ci merge\n"
    )


def _push(request: PullRequest, commit: str, env: Env) -> None:
    reply = push_commit(request.cwd, request.remote, request.ref, commit, request.head, env)
    if reply.kind == "arrived":
        return
    branch, made = show_name(request.head_name), f"the merge is commit {commit[:12]} in this clone"
    try:  # the connection may have died after the push
        now = read_remote_ref(request.cwd, request.remote, request.ref, env)
    except UnreachableError as error:
        hint = f"{made}; look whether it arrived before you run it again: it is safe to"
        raise CheckpointError(f"the remote does not answer: {reply.said}", hint) from error

    if not now:
        raise MovedError(f"{branch} is gone from the remote", "was the pull request closed?")
    if now not in (request.head, commit):
        places = f"the remote has {now[:12]}, merged was {request.head[:12]}"
        hint = "fetch, and run it again; --retries N does this automatically"
        raise MovedError(f"{branch} moved: {places}; nothing was pushed", hint)

    if now != commit:
        did = "refused" if reply.kind == "refused" else "did not confirm"
        asked = "May this job's identity push there? a protected branch has to let it"
        hint = f"{made}; run it again: it is safe to. {asked}"
        raise CheckpointError(f"the remote {did} the push to {branch}: {reply.said}", hint)
