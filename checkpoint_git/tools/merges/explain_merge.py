"""`checkpoint explain-merge`: what past merges did to every entry of the checkpoints that they touched."""

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, get_args

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
from checkpoint_git.merge.explanation import Explanation
from checkpoint_git.merge.verdict import FAILURES, Verdict
from checkpoint_git.tools.merges.judged import JudgedFile, Parents, Schemas, describe_ours, file_data, say_entry


class ExplainedMerge(NamedTuple):
    """One merge. touched: None where nothing is known of it; `reason` then says why."""

    commit: Commit
    touched: Touched | None
    files: list[JudgedFile]
    reason: str = ""


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
        merges = [_explain_merge(invocation.cwd, args.commit or "HEAD", args.paths, schemas)]
    else:
        merges = _explain_range(invocation, args.range, schemas)
    explanations = [file.found for merge in merges for file in merge.files]
    counts = Counter[str](entry.verdict for found in explanations for entry in found.entries)
    is_bad = any(found.has_failed or (args.strict and found.is_doubtful) for found in explanations)
    data = {
        "merges": [_merge_data(merge) for merge in merges],
        "counts": {verdict: counts[verdict] for verdict in get_args(Verdict) if verdict != "agreed"},
        "strict": args.strict,
    }
    blocks = [line for merge in merges for line in _describe_merge(merge)]
    return Outcome(data, blocks, (), int(is_bad), [_summarize(merges, counts, is_bad)])


def _explain_merge(cwd: str, rev: str, paths: Sequence[str], schemas: Schemas) -> ExplainedMerge:
    """What the merge that a revision names did. paths: only these files; () for all. Raises CheckpointError where it is
    not a merge, is not all in this clone, or has nothing to report of a path.
    """
    try:
        commit = read_merge(cwd, rev)
    except CheckpointError:
        repaired = read_repaired(cwd, rev)
        if not repaired:
            raise
        commands = ", ".join(f"checkpoint explain-merge {merge[:12]}" for merge in repaired[:3])
        raise CheckpointError(f"{escape_controls(rev)} is not a merge: it repaired what merges did", commands) from None
    touched = read_touched(cwd, commit)
    if paths:
        touched = _narrow(touched, [os.path.normpath(path) for path in paths])
    return ExplainedMerge(commit, touched, [schemas.judge(file) for file in touched.files])


def _narrow(touched: Touched, paths: Sequence[str]) -> Touched:
    names = {name for file in touched.files for name in (file.path, file.old_path)}
    strange = [path for path in paths if path not in (*names, *touched.crowded)]
    if strange:
        hint = "both parents agree, only one parent changed it, or it is not a checkpoint; omit paths to see all"
        raise CheckpointError(f"the merge did nothing at {escape_controls(strange[0])}", hint)
    files = [file for file in touched.files if file.path in paths or file.old_path in paths]
    return touched._replace(files=files, whole=0, crowded=[path for path in touched.crowded if path in paths])


def _explain_range(invocation: Invocation, revisions: str, schemas: Schemas) -> list[ExplainedMerge]:
    cwd, explained = invocation.cwd, []
    merges = read_merges(cwd, revisions)
    found = follow(read_touched_each(cwd, merges), "explaining merges", len(merges), invocation)
    for commit, touched in zip(merges, found, strict=True):
        if isinstance(touched, str):
            explained.append(ExplainedMerge(commit, None, [], touched))
        else:
            explained.append(ExplainedMerge(commit, touched, [schemas.judge(file) for file in touched.files]))
    cut = [commit for commit in read_cut_ends(cwd, revisions) if len(commit.parents) > 1]
    return explained + [
        ExplainedMerge(commit, None, [], f"this clone was cut off there; {UNSHALLOW}") for commit in cut
    ]


def _merge_data(merge: ExplainedMerge) -> dict[str, Any]:
    touched = merge.touched
    return {
        "commit": merge.commit.id,
        "subject": merge.commit.subject,
        "parents": list(merge.commit.parents),
        "bases": touched.bases if touched else [],
        "unexplained": merge.reason or None,
        "taken_whole": touched.whole if touched else 0,
        "changed_by_more_than_two_parents": touched.crowded if touched else [],
        "files": [file_data(file.file, file.found) for file in merge.files],
    }


def _describe_merge(merge: ExplainedMerge) -> Iterator[Line]:
    commit, touched = merge.commit, merge.touched
    title = f"merge {commit.id[:12]} of {', '.join(parent[:8] for parent in commit.parents)}"
    yield Line(f"{title}: {shorten(commit.subject, 80)}", "strong")
    if touched is None:
        yield Line(f"  cannot be explained: {merge.reason}", "warn")
        return
    if not touched.bases:
        yield Line("  the parents have no common ancestor: all entries count as added", "dim")
    if len(touched.bases) > 1:
        bases = f"{len(touched.bases)} merge bases: compared with the merge of those"
        yield Line(f"  the parents have {bases}", "dim")
    if touched.whole:
        yield Line(f"  {plural(touched.whole, 'checkpoint')} taken whole from the only parent that changed it", "dim")
    if not (touched.whole or touched.files or touched.crowded):
        yield Line("  no parent changed a checkpoint", "dim")
    for path in touched.crowded:
        yield Line(f"  {path}: more than two parents changed it: not explained", "warn")
    for file in merge.files:
        yield from _describe_file(file.file, file.found)


_STYLES: dict[str, Style] = {
    **dict.fromkeys(FAILURES, "bad"),
    "resurrected": "warn",
    "decided": "warn",
    "edited": "dim",
}


def _describe_file(file: Versions, found: Explanation) -> Iterator[Line]:
    counts = Counter(entry.verdict for entry in found.entries)
    parts = [*(f"{number} {verdict}" for verdict, number in counts.items()), f"{found.agreed} agreed"]
    renamed = f" (was {file.old_path})" if file.old_path else ""
    yield Line(f"  {file.path}{renamed}: {', '.join(parts)}", "bad" if found.has_failed else "")
    for version, message in found.unreadable:
        yield Line(f"    {version} cannot be read: {message}", "warn")
    for entry in found.entries:
        said = say_entry(entry, Parents(*file.parents))
        yield Line(f"    {entry.verdict:11} {said}", _STYLES.get(entry.verdict, ""))
    if found.ours is not None:
        yield Line(f"    {describe_ours(found.ours)}", "dim")


def _summarize(merges: list[ExplainedMerge], counts: Counter[str], is_bad: bool) -> Line:
    bad = [f"{counts[verdict]} {verdict}" for verdict in (*FAILURES, "resurrected", "decided") if counts[verdict]]
    unknown = sum(merge.touched is None or bool(merge.touched.crowded) for merge in merges)
    parts = [plural(len(merges), "merge") + (" of checkpoints" if merges else ": none touched a checkpoint")]
    parts += bad or ["nothing lost, duplicated or mixed up"] if merges else []
    parts += [f"{unknown} not explained"] if unknown else []
    return Line(", ".join(parts), "bad" if is_bad else "warn" if unknown else "good")
