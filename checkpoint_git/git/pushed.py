"""What a push brings: git's hook lines taken apart, and the checkpoint files that new commits
touch.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.objects import Change, diff_parents, diff_trees, has_commit, read_commit
from checkpoint_git.git.run import Env, run_git
from checkpoint_git.git.staged import (
    Loss,
    Staged,
    find_losses,
    pathspecs,
    read_committed,
    sort_out,
    top_glob,
)
from checkpoint_git.protocols.registry import protocol_of, with_siblings

# places where a pushed branch leaves what the remote has; more only until a loss is found
_MOST_ENDS = 50


class Push(NamedTuple):
    local_ref: str
    local_id: str
    remote_ref: str
    remote_id: str


def parse_pushes(text: str) -> list[Push]:
    """Parse the lines that git gives a pre-push hook. A deletion sends nothing and is left out."""
    pushes = []
    for line in text.split("\n"):
        words = line.split(" ")
        if len(words) == 4:
            push = Push(*words)
            if not is_zero(push.local_id):
                pushes.append(push)
    return pushes


def is_zero(object_id: str) -> bool:
    """Return whether an id is git's "no object", in SHA-1 and SHA-256 alike."""
    return not object_id.strip("0")


def read_pushed(work_tree: str, push: Push, remote: str) -> Staged:
    """Return the pushed commit's checkpoint files that the remote lacks in this form.

    remote: its name, else its address.
    """
    try:
        commit = read_commit(work_tree, push.local_id)
    except CheckpointError:
        return sort_out(work_tree, [])

    if not is_zero(push.remote_id) and has_commit(work_tree, push.remote_id):
        changed = _paths_of(diff_trees(work_tree, push.remote_id, commit, pathspecs()))
    elif _is_known(work_tree, remote):
        words = ["rev-list", commit, "--not", f"--remotes={remote}", "--", *pathspecs()]
        changed = read_commit_changes(work_tree, run_git(words, work_tree).out.decode().split())
    else:
        changed = None  # nothing is known of what the remote has: all files count

    return read_committed(work_tree, commit, changed)


def _is_known(work_tree: str, remote: str) -> bool:
    """Return whether this clone has a ref of the remote."""
    words = ["for-each-ref", "--count=1", f"refs/remotes/{remote}"]
    return bool(run_git(words, work_tree).out)


def read_commit_changes(work_tree: str, commits: list[str]) -> set[str]:
    """Return the paths of the checkpoint files that commits changed."""
    return _paths_of(diff_parents(work_tree, commits, pathspecs()))


def _paths_of(changes: Iterable[Change]) -> set[str]:
    paths = set()
    for change in changes:
        if change.after and protocol_of(change.path):
            paths.add(change.path)
    return with_siblings(paths)


def read_pushed_losses(work_tree: str, push: Push, remote: str, pattern: str) -> list[Loss]:
    """Return what a push would lose on the remote, as far as this clone knows what that has."""
    try:
        commit = read_commit(work_tree, push.local_id)
    except CheckpointError:
        return []

    known = [f"--remotes={remote}"]
    if is_zero(push.remote_id):
        return read_new_losses(work_tree, commit, known, pattern)
    if not has_commit(work_tree, push.remote_id):
        return []
    return read_losses_between(work_tree, (push.remote_id, commit), known, pattern)


def read_losses_between(
    work_tree: str, ends: tuple[str, str], known: Sequence[str], pattern: str, env: Env = None
) -> list[Loss]:
    """Return what the second commit has changed or left out of the first.

    Not what its merges took over from a branch as it is there. known: rev-list's words for what is
    there already, as "--all": an edit in it is not this push's.
    """
    specs = [top_glob(pattern)]
    losses = find_losses(diff_trees(work_tree, *ends, specs, env))
    if not any(loss.how == "changed" for loss in losses):
        return losses
    words = ["rev-list", ends[1], f"^{ends[0]}", "--not", *known]
    commits = run_git(words, work_tree, env=env).out.decode().split()
    changes = diff_parents(work_tree, commits, specs, env, combined=True)
    edited = {change.path for change in changes if any(change.before)}
    return [loss for loss in losses if loss.how == "removed" or loss.path in edited]


def read_new_losses(
    work_tree: str, commit: str, known: Sequence[str], pattern: str, env: Env = None
) -> list[Loss]:
    """Return what a commit on a new ref changed or left out. commit: a full id. known: as above."""
    if not run_git(["rev-parse", *known], work_tree, env=env).out:
        return []  # and no walk through all of the history
    words = ["rev-list", "--boundary", commit, "--not", *known]
    lines = run_git(words, work_tree, env=env).out.decode().splitlines()
    ends = [line[1:] for line in lines if line.startswith("-")]
    # one process for all of them says, as a rule, that nothing is lost
    pairs = [f"{commit} {end}" for end in ends]
    if not find_losses(diff_parents(work_tree, pairs, [top_glob(pattern)], env)):
        return []

    losses: dict[Loss, None] = {}
    for number, end in enumerate(ends):
        if losses and number >= _MOST_ENDS:
            break
        found = read_losses_between(work_tree, (end, commit), known, pattern, env)
        losses |= dict.fromkeys(found)
    return list(losses)
