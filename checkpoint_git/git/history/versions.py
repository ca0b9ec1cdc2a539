"""Where a commit or a tag stands beside HEAD; the names come from strangers, so none reaches git as an expression."""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from checkpoint_git.git.run import GitResult, offline_env, run_git

_ID = re.compile(r"[0-9a-f]{7,64}")
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]*")


class Standing(NamedTuple):
    """head: HEAD's commit, "" where there is none yet. id: the commit that was meant, "" where this clone knows none.

    behind: how many of HEAD's commits it lacks; ahead: how many of its own HEAD lacks. ambiguous: several commits begin
    with those digits.
    """

    head: str
    id: str = ""
    behind: int = 0
    ahead: int = 0
    ambiguous: bool = False


def read_standing(work_tree: str, start: str, tags: Sequence[str]) -> Standing:
    """Where a version stands. start: 7 digits or more that a commit's id begins with, or "". tags: full names of tags.

    The id goes first, then the tags in their order. What is spelled as neither is looked up nowhere.
    """
    head = _resolve("HEAD", work_tree)
    if not head:
        return Standing("")
    commits = _read_commits(start, work_tree) if _ID.fullmatch(start) else []
    if len(commits) > 1:
        return Standing(head, ambiguous=True)
    names = (f"refs/tags/{tag}" for tag in tags if _TAG.fullmatch(tag) and ".." not in tag)
    meant = commits[0] if commits else next(filter(None, (_resolve(name, work_tree) for name in names)), "")
    if not meant:
        return Standing(head)
    counts = _run(["rev-list", "--left-right", "--count", f"{head}...{meant}"], work_tree).out.split()
    return Standing(head, meant, int(counts[0]), int(counts[1]))


def _read_commits(start: str, work_tree: str) -> list[str]:
    """The commits whose ids begin so. `--disambiguate` knows ids only: a branch with such a name is not asked."""
    found = _run(["rev-parse", f"--disambiguate={start}"], work_tree, check=False)
    kinds = _run(["cat-file", "--batch-check=%(objectname) %(objecttype)"], work_tree, stdin=found.out).out
    return [line.split()[0] for line in kinds.decode().splitlines() if line.endswith(" commit")]


def _resolve(name: str, work_tree: str) -> str:
    result = _run(["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], work_tree, check=False)
    return result.out.decode().strip() if result.code == 0 else ""


def _run(words: Sequence[str], work_tree: str, stdin: bytes = b"", check: bool = True) -> GitResult:
    return run_git(words, work_tree, stdin=stdin, env={**offline_env(os.environ), "LC_ALL": "C"}, check=check)
