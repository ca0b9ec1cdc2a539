"""`checkpoint explain-merge`: what past merges did to every entry of the checkpoints that they touched."""

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Style
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
from checkpoint_git.tools.merges.judged import JudgedFile, Schemas
from checkpoint_git.tools.merges.sentences import Parents, describe_ours, file_data, say_entry

SUMMARY = "what a past merge did to each entry of each checkpoint: taken from whom, combined, lost"
EXAMPLES = """\
  checkpoint explain-merge                    the merge at HEAD
  checkpoint explain-merge v2.1~3
  checkpoint explain-merge HEAD -- .checkpoints/build.checkpoint.json
  checkpoint explain-merge --range main~50..main
  checkpoint explain-merge --range main --json"""


class Explained(NamedTuple):
    """One file of a merge, and what the merge did to it."""

    versions: Versions
    explanation: Explanation


class ExplainedMerge(NamedTuple):
    """One merge. touched: None where nothing is known of it; `reason` then says why."""

    commit: Commit
    touched: Touched | None
    files: list[Explained]
    reason: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """[COMMIT [PATH...] | --range REVISIONS] [--strict]."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("commit", metavar="COMMIT", nargs="?", help="a merge commit; default: HEAD")
    which.add_argument("--range", metavar="REV..REV", help="every merge in a range of history")
    parser.add_argument("paths", metavar="PATH", nargs="*", help="only these checkpoints, as the repository names them")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="fail too where one of two values had to go, or something removed came back",
    )


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 where something was lost, duplicated or mixed up."""
    if args.range is None:
        merges = [explain_merge(invocation.cwd, args.commit or "HEAD", args.paths)]
    else:
        merges = explain_range(invocation.cwd, args.range)
    counts = Counter[str](
        entry.verdict for merge in merges for file in merge.files for entry in file.explanation.entries
    )
    failed = any(has_failed(merge, args.strict) for merge in merges)
    data = {
        "merges": [_merge_data(merge) for merge in merges],
        "counts": {verdict: counts[verdict] for verdict in get_args(Verdict) if verdict != "agreed"},
        "strict": args.strict,
    }
    blocks = [block for merge in merges for block in _describe_merge(merge)]
    return Outcome(data, blocks, (), int(failed), [_summary(merges, counts, failed)])


def has_failed(merge: ExplainedMerge, strict: bool) -> bool:
    explanations = [file.explanation for file in merge.files]
    return any(found.has_failed or (strict and found.is_doubtful) for found in explanations)


def explain_merge(cwd: str, rev: str, paths: Sequence[str] = ()) -> ExplainedMerge:
    """What the merge that a revision names did. paths: only these files, "/" between their parts; () for all.

    Raises CheckpointError where it is not a merge, is not all in this clone, or has nothing to report of a path.
    """
    commit = _read_merge(cwd, rev)
    touched = read_touched(cwd, commit)
    if paths:
        touched = _narrow(touched, [os.path.normpath(path) for path in paths])
    return _explain(commit, touched, Schemas(read_choices(cwd), strict=True))


def _read_merge(cwd: str, rev: str) -> Commit:
    try:
        return read_merge(cwd, rev)
    except CheckpointError:
        repaired = read_repaired(cwd, rev)
        if not repaired:
            raise
        commands = ", ".join(f"checkpoint explain-merge {merge[:12]}" for merge in repaired[:3])
        raise CheckpointError(f"{escape_controls(rev)} is not a merge: it repaired what merges did", commands) from None


def _narrow(touched: Touched, paths: Sequence[str]) -> Touched:
    names = {name for file in touched.files for name in (file.path, file.old_path)}
    strange = [path for path in paths if path not in (*names, *touched.crowded)]
    if strange:
        raise CheckpointError(
            f"the merge has nothing to tell of {escape_controls(strange[0])}",
            "both parents have it so, only one parent changed it, or it is no checkpoint; without paths all is told",
        )
    files = [file for file in touched.files if file.path in paths or file.old_path in paths]
    return touched._replace(files=files, whole=0, crowded=[path for path in touched.crowded if path in paths])


def explain_range(cwd: str, revisions: str) -> list[ExplainedMerge]:
    """What every merge of a range did, newest first; those that touched no checkpoint are left out."""
    schemas = Schemas(read_choices(cwd), strict=True)
    merges = read_merges(cwd, revisions)
    found = [
        ExplainedMerge(commit, None, [], touched) if isinstance(touched, str) else _explain(commit, touched, schemas)
        for commit, touched in zip(merges, read_touched_each(cwd, merges), strict=True)
    ]
    cut = [commit for commit in read_cut_ends(cwd, revisions) if len(commit.parents) > 1]
    return found + [ExplainedMerge(commit, None, [], f"this clone was cut off there; {UNSHALLOW}") for commit in cut]


def _explain(commit: Commit, touched: Touched, schemas: Schemas) -> ExplainedMerge:
    files = [
        Explained(file, JudgedFile(file, schemas.load(file.path), schemas.choices.narrative).found)
        for file in touched.files
    ]
    return ExplainedMerge(commit, touched, files)


# for programs


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
        "files": [file_data(file.versions, file.explanation) for file in merge.files],
    }


# for people


def _describe_merge(merge: ExplainedMerge) -> list[Block]:
    commit = merge.commit
    title = f"merge {commit.id[:12]} of {', '.join(parent[:8] for parent in commit.parents)}"
    blocks: list[Block] = [Line(f"{title}: {shorten(commit.subject, 80)}", "strong")]
    if merge.touched is None:
        return [*blocks, Line(f"  cannot be explained: {merge.reason}", "warn")]
    blocks += [Line(f"  {text}", "dim") for text in _remarks(merge.touched)]
    blocks += [Line(f"  {path}: more than two parents changed it: not explained", "warn")
               for path in merge.touched.crowded]  # fmt: skip
    for file in merge.files:
        blocks += _describe_file(file)
    return blocks


def _remarks(touched: Touched) -> list[str]:
    remarks = []
    if not touched.bases:
        remarks.append("the parents have no common ancestor: whatever they hold counts as added")
    if len(touched.bases) > 1:
        remarks.append(f"the parents have {len(touched.bases)} merge bases: compared with the merge of those")
    if touched.whole:
        remarks.append(f"{plural(touched.whole, 'checkpoint')} taken whole from the only parent that changed it")
    if not (touched.whole or touched.files or touched.crowded):
        remarks.append("no parent changed a checkpoint")
    return remarks


_STYLES: dict[str, Style] = {
    **dict.fromkeys(FAILURES, "bad"),
    "resurrected": "warn",
    "decided": "warn",
    "edited": "dim",
}


def _describe_file(file: Explained) -> list[Block]:
    parents = Parents(*file.versions.parents)
    found = file.explanation
    counts = Counter(entry.verdict for entry in found.entries)
    told = [f"{number} {verdict}" for verdict, number in counts.items()]
    renamed = f" (was {file.versions.old_path})" if file.versions.old_path else ""
    head = f"  {file.versions.path}{renamed}: {', '.join([*told, f'{found.agreed} agreed'])}"
    lines = [Line(head, "bad" if found.has_failed else "")]
    lines += [Line(f"    {version} cannot be read: {message}", "warn") for version, message in found.unreadable]
    lines += [
        Line(f"    {entry.verdict:11} {say_entry(entry, parents)}", _STYLES.get(entry.verdict, ""))
        for entry in found.entries
    ]
    if found.ours is not None:
        lines.append(Line(f"    {describe_ours(found.ours)}", "dim"))
    return list(lines)


def _summary(merges: list[ExplainedMerge], counts: Counter[str], failed: bool) -> Line:
    bad = [f"{counts[verdict]} {verdict}" for verdict in (*FAILURES, "resurrected", "decided") if counts[verdict]]
    untold = sum(merge.touched is None or bool(merge.touched.crowded) for merge in merges)
    parts = [plural(len(merges), "merge") + (" of checkpoints" if merges else ": none touched a checkpoint")]
    parts += bad or ["nothing lost, doubled or blended"] if merges else []
    parts += [f"{untold} not explained"] if untold else []
    return Line(", ".join(parts), "bad" if failed else "warn" if untold else "good")
