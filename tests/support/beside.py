"""A merge in memory beside the real `git merge` with the installed driver: where the two differ."""

from typing import NamedTuple

from checkpoint_git.git.merges.trees import TreeMerge, merge_by_lines, open_plain
from checkpoint_git.tools.merges.tree_merge import merge_commits
from tests.support.repos import GitRepo

# Markers in ordinary files name the sides, and where renames collide git names files after them:
# that may differ.
_NAMED_AFTER_SIDES = ("file", "renamed")


class Compared(NamedTuple):
    """differences: paths, and "clean" where one merge is clean and the other is not. is_clean: the
    real one is.
    """

    differences: list[str]
    is_clean: bool


def compare_merges(repo: GitRepo, ours: str, theirs: str) -> Compared:
    """Both merges of two branches; the work tree is used for the real one, and left on ours.

    The driver keeps theirs in a file beside ours where a version is binary: that file is in no tree
    of ours.
    """
    repo.git("checkout", "-q", "-f", ours)
    repo.git("clean", "-fdxq")
    repo.git("branch", "-f", "theirs", theirs)
    is_clean = repo.exit_code("merge", "-q", "--no-commit", "theirs") == 0
    repo.git("add", "-A")
    tree = repo.git("write-tree")
    repo.git("reset", "-q", "--hard", ours)
    merged = merge_commits(str(repo.path), ours, theirs)
    left = {remaining.path: remaining.kind for remaining in merged.remaining}
    paths = repo.git("diff", "--no-renames", "--name-only", tree, merged.tree).splitlines()
    differences = [
        path for path in paths if ".theirs" not in path and left.get(path) not in _NAMED_AFTER_SIDES
    ]
    return Compared(differences + ([] if is_clean == merged.is_clean else ["clean"]), is_clean)


def merge_plainly(repo: GitRepo, ours: str, theirs: str) -> TreeMerge:
    """As a forge merges two revisions; what is new of it is gone afterwards."""
    with open_plain(str(repo.path)) as plain:
        return merge_by_lines(plain, repo.git("rev-parse", ours), repo.git("rev-parse", theirs))
