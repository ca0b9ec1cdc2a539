"""`checkpoint audit --all`: show what merges did to every entry of the checkpoints."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import get_args

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise, command, join_hints
from checkpoint_git.core.outcome import Invocation, Line, Outcome, Style
from checkpoint_git.core.progress import follow
from checkpoint_git.core.terminal_text import escape_controls, plural, shorten
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import (
    MergeCommit,
    Touched,
    read_commits,
    read_cut_ends,
    read_touched_each,
    read_touching_merges,
)
from checkpoint_git.git.merges.new_commits import read_repaired
from checkpoint_git.git.run import Env, fetching_env
from checkpoint_git.tools.merges.audit_range import (
    AuditRange,
    is_named,
    list_merges,
    make_cut,
    read_tips,
)
from checkpoint_git.tools.merges.audited_file import AuditedFile, Schemas
from checkpoint_git.tools.merges.findings import AuditedMerge, make_event, merge_data
from checkpoint_git.tools.merges.line_merge import gather
from checkpoint_git.tools.merges.verdict import FAILURES, Verdict
from checkpoint_git.tools.merges.wording import describe_ours, say_entry

_STYLE: dict[str, Style] = {
    "lost": "bad",
    "came-back": "bad",
    "duplicated": "bad",
    "mixed-up": "bad",
    "resurrected": "warn",
    "decided": "warn",
    "edited": "dim",
}


def show_entries(args: Namespace, paths: Sequence[str], invocation: Invocation) -> Outcome:
    """Show every entry; exit with code 1 if one was lost, duplicated or mixed up, even if it was
    repaired since.
    """
    cwd, env = invocation.cwd, fetching_env(invocation.env)
    revisions = args.range or "HEAD"
    tips = read_tips(cwd, env, revisions)
    schemas = Schemas(read_choices(cwd), strict=True)
    is_range = args.every is not None or ".." in revisions or len(tips) > 1
    if is_range:
        ids = list_merges(cwd, AuditRange(revisions, tips[0]), env)
        commits = read_touching_merges(cwd, ids, env)
    else:
        commits = [_read_merge(cwd, revisions, tips[0], env)]

    touched_files = read_touched_each(cwd, commits, env)
    found = follow(touched_files, "looking at merges", len(commits), invocation)
    merges = [
        _judge(commit, touched, schemas, paths)
        for commit, touched in zip(commits, found, strict=True)
    ]
    if is_range:
        merges = [merge for merge in merges if _is_shown(merge)]
        ends = read_cut_ends(cwd, revisions)
        merges += [make_cut(commit) for commit in ends if len(commit.parents) > 1]
    elif paths:
        _check_paths(merges[0], paths)

    return _make_full_outcome(merges, args.strict)


def _is_shown(merge: AuditedMerge) -> bool:
    return bool(merge.files or merge.whole or merge.crowded or merge.reason)


def _read_merge(cwd: str, rev: str, commit_id: str, env: Env) -> MergeCommit:
    """Return a merge commit. Raises CheckpointError if it has less than two parents."""
    (commit,) = read_commits(cwd, [commit_id], env)
    if len(commit.parents) > 1:
        return commit

    name = escape_controls(rev)
    repaired = read_repaired(cwd, commit_id)
    if repaired:
        shows = [command("checkpoint", "audit", "--all", merge[:12]) for merge in repaired[:3]]
        message = f"{name} is not a merge: it repaired what merges did"
        raise CheckpointError(message, join_hints(*shows))

    parents = "one parent" if commit.parents else "no parent"
    message = f"{name} is not a merge: it has {parents}"
    raise CheckpointError(message, advise("name a merge commit", "git", "log", "--merges"))


def _judge(
    commit: MergeCommit, touched: Touched | CheckpointError, schemas: Schemas, paths: Sequence[str]
) -> AuditedMerge:
    event = make_event(commit)
    if isinstance(touched, CheckpointError):
        return AuditedMerge(event, [], reason=touched.message, hint=touched.hint)
    files = [schemas.audit(file) for file in touched.files]
    for audited in files:
        audited.release_trees()
    if not paths:
        return gather(event, touched, files)

    crowded = [path for path in touched.crowded if path in paths]
    named = [file for file in files if is_named(file, paths)]
    return gather(event, touched._replace(whole=0, crowded=crowded), named)


def _check_paths(merge: AuditedMerge, paths: Sequence[str]) -> None:
    known = {name for file in merge.files for name in (file.file.path, file.file.old_path)}
    strange = [path for path in paths if path not in known and path not in merge.crowded]
    if strange and not merge.reason:
        why = "both parents agree, only one parent changed it, or it is not a checkpoint"
        message = f"the merge did nothing at {escape_controls(strange[0])}"
        raise CheckpointError(message, f"{why}; omit paths to see all")


def _make_full_outcome(merges: Sequence[AuditedMerge], strict: bool) -> Outcome:
    judged = [file.found for merge in merges for file in merge.files]
    counts = Counter[str](entry.verdict for found in judged for entry in found.entries)
    is_bad = any(found.has_failed or (strict and found.is_doubtful) for found in judged)
    data = {
        "merges": [merge_data(merge) for merge in merges],
        "counts": {kind: counts[kind] for kind in get_args(Verdict) if kind != "agreed"},
        "strict": strict,
    }
    blocks = [line for merge in merges for line in _describe_merge(merge)]
    summary = _summarize_all(merges, counts, is_bad)
    return Outcome(data, blocks, (), int(is_bad), [summary])


def _describe_merge(merge: AuditedMerge) -> Iterator[Line]:
    event = merge.event
    parents = ", ".join(parent[:8] for parent in event.parents)
    yield Line(f"merge {event.commit[:12]} of {parents}: {shorten(event.subject, 80)}", "strong")
    if merge.reason:
        yield Line(f"  cannot be judged: {merge.reason}", "warn", hint=merge.hint)
        return

    if not merge.bases:
        yield Line("  the parents have no common ancestor: all entries count as added", "dim")
    if len(merge.bases) > 1:
        count = f"  the parents have {len(merge.bases)} merge bases"
        yield Line(f"{count}: compared with the merge of those", "dim")

    if merge.whole:
        count = f"  {plural(merge.whole, 'checkpoint')}"
        yield Line(f"{count} taken whole from the only parent that changed it", "dim")

    if not (merge.whole or merge.files or merge.crowded):
        yield Line("  no parent changed a checkpoint", "dim")
    for path in merge.crowded:
        yield Line(f"  {path}: more than two parents changed it: not judged", "warn")
    for file in merge.files:
        yield from _describe_file(merge, file)


def _describe_file(merge: AuditedMerge, audited: AuditedFile) -> Iterator[Line]:
    file, found = audited.file, audited.found
    counts = Counter(entry.verdict for entry in found.entries)
    parts = [f"{number} {verdict}" for verdict, number in counts.items()]
    parts.append(f"{found.agreed} agreed")
    title = file.path
    if file.old_path:
        title = f"{file.path} (was {file.old_path})"
    style: Style = "bad" if found.has_failed else ""
    yield Line(f"  {title}: {', '.join(parts)}", style)

    for version, message in found.unreadable:
        yield Line(f"    {version} cannot be read: {message}", "warn")
    parents = merge.event.name_parents(file)
    for entry in found.entries:
        text = say_entry(entry, parents)
        yield Line(f"    {entry.verdict:11} {text}", _STYLE.get(entry.verdict, ""))

    if found.ours is not None:
        yield Line(f"    {describe_ours(found.ours)}", "dim")


def _summarize_all(merges: Sequence[AuditedMerge], counts: Counter[str], is_bad: bool) -> Line:
    shown_counts = [
        f"{counts[kind]} {kind}" for kind in (*FAILURES, "resurrected", "decided") if counts[kind]
    ]
    unknown = sum(bool(merge.reason or merge.crowded) for merge in merges)
    parts = [f"{plural(len(merges), 'merge')} of checkpoints"]
    if not merges:
        parts = ["0 merges: none touched a checkpoint"]
    elif shown_counts:
        parts += shown_counts
    else:
        parts.append("no damage")

    style: Style = "good"
    if unknown:
        parts.append(f"{unknown} not judged")
        style = "warn"
    if is_bad:
        style = "bad"
    return Line(", ".join(parts), style)
