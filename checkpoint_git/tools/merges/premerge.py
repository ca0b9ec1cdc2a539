"""Merge a pull request as its forge would and as our rules say, and compare the two."""

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
    """The result for a pull request.

    state: "contained" (the base has all of it), "up-to-date" (it has all of the base), "mergeable"
    (a text merge makes the same), "merged" (our merge is needed, and clean), "conflicts",
    "invalid" (the merge would break a checkpoint that was valid).
    merged: None for the first two. plain_conflicts: paths that stop a text merge.
    mixed_up: checkpoints that a text merge would change without a conflict into something else.
    errors: for "invalid". commit: "" if none was written.
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


def premerge(request: PullRequest, now: int, env: Env) -> Premerge:
    """Merge a pull request, write the commit if a text merge would differ, and push it if asked
    to.

    The pull request is untrusted: nothing of it is checked out or run, and its attributes do not
    decide how it is merged.
    Raises MovedError if the branch moved meanwhile, UnrelatedError for unrelated histories,
    CheckpointError if a shallow clone cannot be deepened or the push was refused.
    """
    bases = read_full_bases(request.cwd, request.remote, request.head, request.base, env)
    if request.head in bases:
        return Premerge("contained")
    if request.base in bases:
        return Premerge("up-to-date")
    if not bases:
        names = f"{show_name(request.head_name)} and {show_name(request.base_name)}"
        hint = "they are unrelated histories: merge them by hand"
        raise UnrelatedError(f"{names} have no common ancestor", hint)

    done = _merge(request, now, env)
    if done.state != "merged" or request.dry_run or done.merged is None:
        return done

    message = _make_message(request, len(done.merged.files))
    parents = (request.head, request.base)
    commit = write_merge_commit(request.cwd, done.merged.tree, parents, message, env)
    if request.push:
        _push(request, commit, env)
    return done._replace(commit=commit, pushed=request.push)


def _merge(request: PullRequest, now: int, env: Env) -> Premerge:
    """Return both merges compared; nothing is written on a dry run."""
    with open_plain(request.cwd, env) as plain:
        by_lines = merge_by_lines(plain, request.head, request.base)
        merge_env = plain.aside if request.dry_run else env
        merged = merge_commits(request.cwd, request.head, request.base, env=merge_env)
        changes = diff_trees(request.cwd, by_lines.tree, merged.tree, (), plain.env)
        documents = {file.path for file in merged.files}
        differing = _read_differing(request.cwd, changes, documents, plain.env)

    conflicts = tuple(file.path for file in by_lines.unsettled)
    errors: list[Finding] = []
    for file in merged.files:
        ours, _, theirs = file.sides
        errors += find_new_errors(file.path, file.data or b"", (ours, theirs), now)

    state: State = "merged"
    if not merged.is_clean:
        state = "conflicts"
    elif errors:
        state = "invalid"
    elif by_lines.clean and not differing:
        state = "mergeable"

    mixed_up = tuple(sorted(differing - set(conflicts)))
    done = Premerge(state, merged, conflicts, mixed_up)
    if state == "invalid":
        done = done._replace(errors=tuple(errors))
    return done


def _read_differing(
    cwd: str, changes: Iterable[Change], documents: set[str], env: Env | None
) -> set[str]:
    """Return the paths on which two merges differ; another spelling of the same document does not
    count. documents: the paths of checkpoints.
    """
    changes = list(changes)
    differing = {change.path for change in changes}
    blobs: dict[str, list[str]] = {}
    for change in changes:
        if change.path in documents:
            blobs[change.path] = [entry.blob for entry in (change.old, change.after) if entry]

    contents = read_contents(cwd, {blob for pair in blobs.values() for blob in pair}, env)
    for path, pair in blobs.items():
        if _is_same([contents[blob] for blob in pair]):
            differing.remove(path)
    return differing


def _is_same(versions: list[bytes]) -> bool:
    try:
        values = [scan_tokens(decode(data)) for data in versions]
    except JsonTextError:
        return False
    return len(values) == 2 and values[0] == values[1]


def _make_message(request: PullRequest, count: int) -> str:
    # names are untrusted: letters that services read as commands are replaced
    names = (request.base_name, request.head_name)
    base, head = (_UNSAFE_IN_NAME.sub("?", shorten(name, LONGEST_NAME)) for name in names)
    changed = plural(count, "checkpoint")
    return (
        f"Merge {base} into {head}\n\n"
        f"Both sides changed {changed}; merged field by field, not as text.\n\n"
        f"Made by checkpoint-git {__version__}: checkpoint ci merge\n"
    )


def _push(request: PullRequest, commit: str, env: Env) -> None:
    reply = push_commit(request.cwd, request.remote, request.ref, commit, request.head, env)
    if reply.kind == "arrived":
        return

    branch = show_name(request.head_name)
    made = f"the merge is commit {commit[:12]} in this clone"
    try:
        # the connection may have died after the push
        now = read_remote_ref(request.cwd, request.remote, request.ref, env)
    except UnreachableError as error:
        hint = f"{made}; look whether it arrived before you run it again: it is safe to"
        raise CheckpointError(f"the remote does not answer: {reply.reason}", hint) from error

    if not now:
        raise MovedError(f"{branch} is gone from the remote", "was the pull request closed?")
    if now not in (request.head, commit):
        places = f"the remote has {now[:12]}, merged was {request.head[:12]}"
        hint = "fetch, and run it again; --retries N does this automatically"
        raise MovedError(f"{branch} moved: {places}; nothing was pushed", hint)

    if now != commit:
        did = "did not confirm"
        if reply.kind == "refused":
            did = "refused"
        asked = "May this job's identity push there? a protected branch has to let it"
        hint = f"{made}; run it again: it is safe to. {asked}"
        raise CheckpointError(f"the remote {did} the push to {branch}: {reply.reason}", hint)
