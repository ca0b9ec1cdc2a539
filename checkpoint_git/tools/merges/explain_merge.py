"""`checkpoint audit explain`: what past merges did to every entry of the checkpoints that they touched."""

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import get_args

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation, Line, Outcome, Style
from checkpoint_git.core.progress import follow
from checkpoint_git.core.terminal_text import escape_controls, plural, shorten
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import (
    UNSHALLOW,
    Commit,
    Touched,
    Versions,
    read_cut_ends,
    read_merge,
    read_merges,
    read_touched,
    read_touched_each,
)
from checkpoint_git.git.merges.new_commits import read_repaired
from checkpoint_git.git.run import fetching_env
from checkpoint_git.merge.explanation import Explanation
from checkpoint_git.merge.verdict import FAILURES, Verdict
from checkpoint_git.tools.merges.findings import AuditedFile, AuditedMerge, merge_data
from checkpoint_git.tools.merges.judged import Parents, Schemas, describe_ours, say_entry
from checkpoint_git.tools.merges.line_merge import find_event


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("commit", metavar="COMMIT", nargs="?", help="a merge commit; default: HEAD")
    which.add_argument("--range", metavar="REV..REV", help="every merge in a range of history")
    parser.add_argument("paths", metavar="PATH", nargs="*", help="only these, as paths from the repository root")
    parser.add_argument("--strict", action="store_true", help="also fail on discarded values and restored removals")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Exit code 1 where something was lost, duplicated or mixed up."""
    schemas = Schemas(read_choices(invocation.cwd), strict=True)
    if args.range is None:
        merges = [_explain_merge(invocation, args.commit or "HEAD", args.paths, schemas)]
    else:
        merges = _explain_range(invocation, args.range, schemas)
    explanations = [file.judged.found for merge in merges for file in merge.files]
    counts = Counter[str](entry.verdict for found in explanations for entry in found.entries)
    is_bad = any(found.has_failed or (args.strict and found.is_doubtful) for found in explanations)
    data = {
        "merges": [merge_data(merge) for merge in merges],
        "counts": {verdict: counts[verdict] for verdict in get_args(Verdict) if verdict != "agreed"},
        "strict": args.strict,
    }
    blocks = [line for merge in merges for line in _describe_merge(merge)]
    return Outcome(data, blocks, (), int(is_bad), [_summarize(merges, counts, is_bad)])


def _explain_merge(invocation: Invocation, rev: str, paths: Sequence[str], schemas: Schemas) -> AuditedMerge:
    """What the merge that a revision names did. paths: only these files; () for all. Raises CheckpointError where it is
    not a merge, is not all in this clone, or has nothing to report of a path.
    """
    cwd = invocation.cwd
    try:
        commit = read_merge(cwd, rev)
    except CheckpointError:
        repaired = read_repaired(cwd, rev)
        if not repaired:
            raise
        commands = ", ".join(f"checkpoint audit explain {merge[:12]}" for merge in repaired[:3])
        raise CheckpointError(f"{escape_controls(rev)} is not a merge: it repaired what merges did", commands) from None
    touched = read_touched(cwd, commit, fetching_env(invocation.env))
    if paths:
        touched = _narrow(touched, [os.path.normpath(path) for path in paths])
    return _judge(commit, touched, schemas)


def _judge(commit: Commit, touched: Touched | str, schemas: Schemas) -> AuditedMerge:
    if isinstance(touched, str):
        return AuditedMerge(find_event(commit), [], reason=touched)
    files = [AuditedFile(schemas.judge(file)) for file in touched.files]
    return AuditedMerge(find_event(commit), files, touched.whole, tuple(touched.crowded), bases=touched.bases)


def _narrow(touched: Touched, paths: Sequence[str]) -> Touched:
    names = {name for file in touched.files for name in (file.path, file.old_path)}
    strange = [path for path in paths if path not in (*names, *touched.crowded)]
    if strange:
        hint = "both parents agree, only one parent changed it, or it is not a checkpoint; omit paths to see all"
        raise CheckpointError(f"the merge did nothing at {escape_controls(strange[0])}", hint)
    files = [file for file in touched.files if file.path in paths or file.old_path in paths]
    return touched._replace(files=files, whole=0, crowded=[path for path in touched.crowded if path in paths])


def _explain_range(invocation: Invocation, revisions: str, schemas: Schemas) -> list[AuditedMerge]:
    cwd = invocation.cwd
    merges = read_merges(cwd, revisions)
    each = read_touched_each(cwd, merges, fetching_env(invocation.env))
    found = follow(each, "explaining merges", len(merges), invocation)
    explained = [_judge(commit, touched, schemas) for commit, touched in zip(merges, found, strict=True)]
    cut = [commit for commit in read_cut_ends(cwd, revisions) if len(commit.parents) > 1]
    return explained + [_judge(commit, f"this clone was cut off there; {UNSHALLOW}", schemas) for commit in cut]


def _describe_merge(merge: AuditedMerge) -> Iterator[Line]:
    event = merge.event
    title = f"merge {event.commit[:12]} of {', '.join(parent[:8] for parent in event.parents)}"
    yield Line(f"{title}: {shorten(event.subject, 80)}", "strong")
    if merge.reason:
        yield Line(f"  cannot be explained: {merge.reason}", "warn")
        return
    if not merge.bases:
        yield Line("  the parents have no common ancestor: all entries count as added", "dim")
    if len(merge.bases) > 1:
        yield Line(f"  the parents have {len(merge.bases)} merge bases: compared with the merge of those", "dim")
    if merge.whole:
        yield Line(f"  {plural(merge.whole, 'checkpoint')} taken whole from the only parent that changed it", "dim")
    if not (merge.whole or merge.files or merge.crowded):
        yield Line("  no parent changed a checkpoint", "dim")
    for path in merge.crowded:
        yield Line(f"  {path}: more than two parents changed it: not explained", "warn")
    for file in merge.files:
        yield from _describe_file(file.judged.file, file.judged.found)


_STYLE: dict[str, Style] = {**dict.fromkeys(FAILURES, "bad"), "resurrected": "warn", "decided": "warn", "edited": "dim"}


def _describe_file(file: Versions, found: Explanation) -> Iterator[Line]:
    counts = Counter(entry.verdict for entry in found.entries)
    parts = [*(f"{number} {verdict}" for verdict, number in counts.items()), f"{found.agreed} agreed"]
    renamed = f" (was {file.old_path})" if file.old_path else ""
    yield Line(f"  {file.path}{renamed}: {', '.join(parts)}", "bad" if found.has_failed else "")
    for version, message in found.unreadable:
        yield Line(f"    {version} cannot be read: {message}", "warn")
    for entry in found.entries:
        yield Line(f"    {entry.verdict:11} {say_entry(entry, Parents(*file.parents))}", _STYLE.get(entry.verdict, ""))
    if found.ours is not None:
        yield Line(f"    {describe_ours(found.ours)}", "dim")


def _summarize(merges: list[AuditedMerge], counts: Counter[str], is_bad: bool) -> Line:
    bad = [f"{counts[verdict]} {verdict}" for verdict in (*FAILURES, "resurrected", "decided") if counts[verdict]]
    unknown = sum(bool(merge.reason or merge.crowded) for merge in merges)
    parts = [plural(len(merges), "merge") + (" of checkpoints" if merges else ": none touched a checkpoint")]
    parts += bad or ["nothing lost, duplicated or mixed up"] if merges else []
    parts += [f"{unknown} not explained"] if unknown else []
    return Line(", ".join(parts), "bad" if is_bad else "warn" if unknown else "good")
