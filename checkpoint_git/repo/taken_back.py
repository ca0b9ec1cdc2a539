"""Which pull requests a history merged and took back: asked only about those of which nothing merged is found."""

import os

from checkpoint_git.core.references import unqualify
from checkpoint_git.core.safetext import shorten
from checkpoint_git.repo.evidence import Commit, find_claims
from checkpoint_git.repo.git import clean_env, run_git
from checkpoint_git.repo.history import has_commits, read_merged, read_own_names

_LOG = ("log", "-z", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--format=%H %P%n%s%n%b")
_REVERTING = "revert|back(s|ed)? out|roll(s|ed)? ?back"
_MAX_SUBJECT = 1_000  # characters
_MAX_BODY = 100_000
_MOST = 1_000  # undone commits that are looked up


def read_taken_back(work_tree: str, references: set[str]) -> dict[str, str]:
    """Which of the references HEAD's history reverted and did not merge again: reference -> the evidence.

    references: without a repository ("#12"). No commits yet: an empty answer. Raises CheckpointError when git cannot
    run.
    """
    if not references or not has_commits(work_tree):
        return {}
    wanted = references - read_merged(work_tree, references).keys()
    if not wanted:
        return {}
    own = read_own_names(work_tree)
    reverts = _read_commits(work_tree, ["-i", "-E", f"--grep={_REVERTING}"])
    found = _find_reverted(reverts, own)
    return {reference: found[reference] for reference in wanted if reference in found} | _find_undone(
        work_tree, reverts, wanted - found.keys(), own
    )


def _find_reverted(reverts: list[Commit], own: frozenset[str]) -> dict[str, str]:
    """What reverts name themselves; the newest revert tells it."""
    found: dict[str, str] = {}
    for commit in reverts:
        for reference in find_claims(commit).reverted:
            found.setdefault(unqualify(reference, own), _tell(commit))
    return found


def _find_undone(work_tree: str, reverts: list[Commit], wanted: set[str], own: frozenset[str]) -> dict[str, str]:
    """What those commits had merged that a revert names by their ids alone."""
    ids = list(dict.fromkeys(undone for commit in reverts for undone in find_claims(commit).undone))[:_MOST]
    if not ids or not wanted:
        return {}
    undone = _read_commits(work_tree, ["--no-walk=unsorted", "--ignore-missing", *ids, "--"])
    return {
        plain: f"{_tell(commit)}, which a later commit reverts"
        for commit in undone
        for reference in find_claims(commit).merged
        if (plain := unqualify(reference, own)) in wanted
    }


def _tell(commit: Commit) -> str:
    return f'{commit.id[:9]} "{shorten(commit.subject, 80)}"'


def _read_commits(work_tree: str, words: list[str]) -> list[Commit]:
    env = {**clean_env(os.environ), "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    out = run_git([*_LOG, *words], work_tree, env=env).out
    return [_parse(record) for record in out.split(b"\0") if record]


def _parse(record: bytes) -> Commit:
    header, _, message = record[:_MAX_BODY].decode("utf-8", "replace").partition("\n")
    subject, _, body = message.partition("\n")
    commit, *parents = header.split()
    return Commit(commit, len(parents), subject[:_MAX_SUBJECT], body)
