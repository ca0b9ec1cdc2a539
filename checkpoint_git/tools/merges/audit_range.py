"""Audit a range of history: find the damage of its merges that is still there."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation
from checkpoint_git.core.progress import follow
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import (
    UNSHALLOW,
    MergeCommit,
    read_commits,
    read_cut_ends,
    read_outside,
    read_touching_merges,
)
from checkpoint_git.git.merges.squashes import read_reverts, read_squashes
from checkpoint_git.git.merges.trees import Plain
from checkpoint_git.git.objects import find_commit, read_commit
from checkpoint_git.git.run import Env, run_git
from checkpoint_git.tools.merges.audited_file import AuditedFile, Schemas
from checkpoint_git.tools.merges.findings import AuditedMerge, make_event
from checkpoint_git.tools.merges.line_merge import Events, audit_merges, keep_lasting


class AuditRange(NamedTuple):
    """revisions: as rev-list takes them, without options. options: for rev-list.
    head: the commit with which the merges' results are compared.
    ahead: the range is not part of HEAD's history.
    squash: the only commit of the range, with its two sides as parents. names: of the sides.
    """

    revisions: str
    head: str
    ahead: bool = False
    squash: MergeCommit | None = None
    names: tuple[str, str] = ("", "")
    options: tuple[str, ...] = ()


class AuditResult(NamedTuple):
    """merges: how many are in the range. squashes: ids. audited: merges to report, newest first.
    reverted: how many damaging merges a later commit reverted as a whole.
    end: the commit before which a shallow clone knows nothing of the range, "" for none.
    """

    merges: int
    squashes: set[str]
    audited: list[AuditedMerge]
    reverted: int
    end: str


def read_tips(cwd: str, env: Env, revisions: str) -> list[str]:
    """Return the ids that a range ends at. Raises CheckpointError if it names no commit."""
    run_git(["rev-parse", "--git-dir"], cwd, env=env)
    ids: list[str] = []
    if revisions and not revisions.startswith("-"):
        words = ["rev-parse", "--revs-only", revisions]
        result = run_git(words, cwd, env=env, check=False)
        if result.code == 0:
            ids = result.out.decode().split()

    tips = [read_commit(cwd, tip, env) for tip in ids if not tip.startswith("^")]
    if not tips:
        message = f"invalid range {escape_controls(shorten(revisions, 80))!r}"
        raise CheckpointError(message, "give one such as main~20..main, or a branch")

    return tips


def read_range(cwd: str, env: Env, revisions: str) -> AuditRange:
    """Return the range of the merges to audit. Raises CheckpointError if it names no commit."""
    tips = read_tips(cwd, env, revisions)
    head = find_commit(cwd, "HEAD", env)
    if not head or read_outside(cwd, tips, env):
        return AuditRange(revisions, tips[0], ahead=True)
    return AuditRange(revisions, head)


def read_squash(cwd: str, env: Env, rev: str, base: str | None, head: str) -> AuditRange:
    """Return the range of one commit that has a branch's work without naming the branch.

    base: the side that it was squashed into; None for its parent. head: the branch.
    """
    (commit,) = read_commits(cwd, [read_commit(cwd, rev, env)], env)
    if base is not None:
        first = read_commit(cwd, base, env)
    elif commit.parents:
        first = commit.parents[0]
    else:
        message = f"{escape_controls(rev)} has no parent"
        raise CheckpointError(message, "name what it is based on: --base REF")

    sides = (first, read_commit(cwd, head, env))
    asked = read_range(cwd, env, commit.id)
    return asked._replace(squash=commit._replace(parents=sides), names=(base or first[:8], head))


class _Found(NamedTuple):
    """The merges of a range that may have done damage. ends: where a shallow clone is cut off."""

    events: Events
    merges: int = 0
    squashes: frozenset[str] = frozenset()
    ends: Sequence[MergeCommit] = ()


def _find_events(cwd: str, asked: AuditRange, env: Env) -> _Found:
    if asked.squash is not None:
        event = make_event(asked.squash, squash=True, names=asked.names)
        return _Found([(asked.squash, event)], squashes=frozenset([asked.squash.id]))

    ids = list_merges(cwd, asked, env)
    squashes = read_squashes(cwd, [*asked.options, asked.revisions], asked.head, env)
    events = [(commit, make_event(commit)) for commit in read_touching_merges(cwd, ids, env)]
    events += [(commit, make_event(commit, squash=True)) for commit in squashes]
    ends = read_cut_ends(cwd, asked.revisions)
    return _Found(events, len(ids), frozenset(commit.id for commit in squashes), ends)


def audit_range(
    plain: Plain, asked: AuditRange, schemas: Schemas, invocation: Invocation, strict: bool
) -> AuditResult:
    """Return the damage of a range's merges that lasts.

    strict: losses that look deliberate count like others.
    """
    cwd, env = plain.cwd, plain.env
    found = _find_events(cwd, asked, env)
    audits = audit_merges(cwd, found.events, schemas, env, plain)
    merges = follow(audits, "auditing merges", len(found.events), invocation)
    reported = [merge for merge in merges if merge.is_reported]
    lasting = [keep_lasting(cwd, merge, asked.head, env) for merge in reported]

    damaging = [merge.event.commit for merge in lasting if merge.hits]
    reverts = read_reverts(cwd, damaging, asked.head, env)
    audited = [
        merge for merge in lasting if merge.is_reported and merge.event.commit not in reverts
    ]
    if strict:
        for merge in audited:
            for file in merge.files:
                file.hits = [hit._replace(is_meant=False) for hit in file.hits]

    cut = [make_cut(commit) for commit in found.ends if len(commit.parents) > 1]
    end = next((commit.id for commit in found.ends if len(commit.parents) == 1), "")
    return AuditResult(
        merges=found.merges + len(cut),
        squashes=set(found.squashes),
        audited=audited + cut,
        reverted=len(reverts),
        end=end,
    )


def audit_recent(cwd: str, ids: Sequence[str], env: Env) -> list[AuditedMerge]:
    """Return what merges of HEAD's history did that HEAD still shows; no merge is made again."""
    schemas = Schemas(read_choices(cwd))
    head = read_commit(cwd, "HEAD", env)
    events = [(commit, make_event(commit)) for commit in read_touching_merges(cwd, ids, env)]
    lasting: list[AuditedMerge] = []
    # an unreadable merge ends the audit; those before it count
    with suppress(CheckpointError):
        for merge in audit_merges(cwd, events, schemas, env):
            lasting.append(keep_lasting(cwd, merge, head, env))
    return [merge for merge in lasting if merge.is_reported]


def list_merges(cwd: str, asked: AuditRange, env: Env) -> list[str]:
    words = ["rev-list", "--merges", *asked.options, "--end-of-options", asked.revisions, "--"]
    return run_git(words, cwd, env=env).out.decode().split()


def make_cut(commit: MergeCommit) -> AuditedMerge:
    """Return a merge that cannot be audited because a shallow clone ends at it."""
    reason = "this clone was cut off there"
    return AuditedMerge(make_event(commit), [], reason=reason, hint=UNSHALLOW)


def keep_paths(found: AuditResult, paths: Sequence[str]) -> AuditResult:
    """Return the result for these files alone; no paths for all."""
    if not paths:
        return found

    audited = []
    for merge in found.audited:
        files = [file for file in merge.files if is_named(file, paths)]
        crowded = tuple(path for path in merge.crowded if path in paths)
        kept = merge._replace(files=files, crowded=crowded)
        if kept.is_reported:
            audited.append(kept)
    return found._replace(audited=audited)


def is_named(file: AuditedFile, paths: Sequence[str]) -> bool:
    return file.file.path in paths or file.file.old_path in paths
