"""Squash merges and reverts as commit messages and refs name them."""

import os
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from checkpoint_git.git.merges.bases import read_base_ids
from checkpoint_git.git.merges.merges import MergeCommit
from checkpoint_git.git.run import Env, run_git
from checkpoint_git.git.staged import pathspecs

# Where clones keep the heads of pull requests, as servers name them and as people fetch them.
_FOLDERS = ("pull", "pr", "merge-requests")
_REFS = (
    "refs/pull",
    "refs/merge-requests",
    *(f"refs/remotes/*/{folder}/**" for folder in _FOLDERS),
)
_NUMBERED = re.compile(rf"/({'|'.join(_FOLDERS)})/([1-9][0-9]{{0,8}})(?:/head)?$")
_APPENDED = re.compile(r"\(#([1-9][0-9]{0,8})\)\s*$")
_SEEN = re.compile(r"^See merge request [^\s!]{0,200}!([1-9][0-9]{0,8})\s*$", re.MULTILINE)
_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{40}(?:[0-9a-f]{24})?)\b")
_LOG = ("log", "--no-show-signature", "--no-color", "--no-mailmap")  # whatever is configured
_FORMAT = "%H%x00%P%x00%ct%x00%T%x00%B%x00"
_MOST_MESSAGE = 20_000  # characters of one message


class _Logged(NamedTuple):
    id: str
    parents: tuple[str, ...]
    time: int
    tree: str
    message: str


# What they say is untrusted: it only leads to commits that are in this clone, and what is found
# there is looked at like any merge.
def read_squashes(
    cwd: str, revisions: Sequence[str], head: str, env: Env = None
) -> list[MergeCommit]:
    """Return the squash merges of a range whose other side is in this clone, newest first.

    Their parents are both sides. revisions: what rev-list takes, ids alone. head: the commit in
    whose history a number's first commit is the squash. A number counts where the subject ends in
    it and a ref of that pull request is here; a pull request that was merged otherwise, or whose
    ref has moved on since, does not.
    """
    heads = read_pull_heads(cwd, env)
    if not heads:
        return []
    words = [
        *_LOG,
        "-z",
        "--no-merges",
        "--full-history",
        "--reverse",
        f"--format={_FORMAT}",
        head,
        "--",
        *pathspecs(),
    ]
    first: dict[tuple[str, str], _Logged] = {}
    for commit in _parse_log(run_git(words, cwd, env=env).out):
        number = _number_of(commit.message)
        if number in heads and len(commit.parents) == 1:
            first.setdefault(number, commit)

    if not first:
        return []
    inside = run_git(["rev-list", "--no-merges", *revisions, "--"], cwd, env=env).out.decode()
    in_range = set(inside.split())
    times = _read_times(cwd, heads.values(), env)
    found = []
    for number, commit in first.items():
        other = heads[number]
        time = times.get(other)
        if commit.id not in in_range or time is None or time > commit.time:
            continue
        sides = (commit.parents[0], other)
        bases = read_base_ids(cwd, sides, env)
        if bases and other not in bases:
            subject = commit.message.partition("\n")[0]
            found.append(MergeCommit(commit.id, commit.tree, sides, subject))

    return found[::-1]


def _read_times(cwd: str, commits: Iterable[str], env: Env) -> dict[str, int]:
    """Return when each commit was committed, in seconds since 1970."""
    words = [*_LOG, "--no-walk=unsorted", "--stdin", "--format=%H %ct"]
    stdin = "".join(f"{commit}\n" for commit in sorted(set(commits))).encode()
    out = run_git(words, cwd, stdin=stdin, env=env).out.decode()
    rows = (line.split() for line in out.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2}


def read_pull_heads(cwd: str, env: Env = None) -> dict[tuple[str, str], str]:
    """Return ("pull" or "merge", number) -> commit, where only a single commit has that number."""
    words = ["for-each-ref", "--format=%(objectname) %(objecttype) %(refname)", *_REFS]
    out = run_git(words, cwd, env=env).out
    heads: dict[tuple[str, str], set[str]] = {}
    for line in os.fsdecode(out).split("\n")[:-1]:  # a name may have what Python takes for a break
        commit, kind, name = line.split(" ")
        numbered = _NUMBERED.search(name)
        if numbered and kind == "commit":
            where = "pull"
            if numbered[1] == "merge-requests":
                where = "merge"
            heads.setdefault((where, numbered[2]), set()).add(commit)

    return {number: commits.pop() for number, commits in heads.items() if len(commits) == 1}


def _number_of(message: str) -> tuple[str, str]:
    appended = _APPENDED.search(message.partition("\n")[0])
    if appended:
        return "pull", appended[1]
    seen = _SEEN.search(message[:_MOST_MESSAGE])
    if seen:
        return "merge", seen[1]
    return "", ""


def _parse_log(out: bytes) -> Iterable[_Logged]:
    fields = iter(out.decode("utf-8", "replace").split("\0"))
    for commit in fields:
        if not commit:
            return  # what is behind the last NUL
        parents, time, tree, message = islice(fields, 4)
        yield _Logged(commit, tuple(parents.split()), int(time or 0), tree, message)
        next(fields)  # the empty one before -z's own NUL


def read_reverts(cwd: str, ids: Iterable[str], head: str, env: Env = None) -> dict[str, str]:
    """Return the commits that `head`'s history reverts by name -> the last commit that does so.

    ids: of commits that change checkpoints.
    """
    wanted = set(ids)
    if not wanted:
        return {}
    words = [
        *_LOG,
        "-z",
        "--topo-order",
        "--full-history",
        "-F",
        "--grep=This reverts commit ",
        f"--format={_FORMAT}",
    ]
    reverts: dict[str, str] = {}
    gone: set[str] = set()
    # newest first
    for commit in _parse_log(run_git([*words, head, "--", *pathspecs()], cwd, env=env).out):
        if commit.id in gone:
            continue
        for reverted in _REVERTS.findall(commit.message[:_MOST_MESSAGE]):
            gone.add(reverted)
            if reverted in wanted:
                reverts.setdefault(reverted, commit.id)

    return reverts
