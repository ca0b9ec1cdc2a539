"""`checkpoint log`: the history of a checkpoint, commit by commit."""

import argparse
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, advise, command, join_hints
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import plural, shorten
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.git.history.log import environment, read_boundary
from checkpoint_git.git.history.steps import (
    Commit,
    HistoryStep,
    Touch,
    read_blob_at_head,
    read_life_steps,
)
from checkpoint_git.git.objects import Blobs
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.brief.history import (
    DecodedVersions,
    LifeEntry,
    Version,
    read_entries,
)
from checkpoint_git.protocols.skill.brief.life import (
    describe_event,
    event_lines,
    is_different,
    is_wanted,
)
from checkpoint_git.protocols.skill.brief.since import read_since

HELP = """\
show a checkpoint's history: progress, decisions and blockers, commit by commit

examples:
  checkpoint log build                        the newest 20 commits with a visible change
  checkpoint log build -n 0                   all of them
  checkpoint log build --since 2026-06-01
  checkpoint log build --rows                 progress of each row
  checkpoint log build --rows sprint-2        only that row
  checkpoint log build --decisions            decisions, and blockers opened and closed
  checkpoint log build --json

A merge shows only what differs from all its parents; everything else is shown at the commit that
changed it. Renames are followed. skill_state and the activity log are not shown.
"""

DEFAULT_LIMIT = 20
_SHOWN_LETTERS = 200
_SHOWN_EVENTS = 20  # of one commit
_MOST_NAMED = 12  # checkpoints in a hint
_ON_DISK = "on disk"  # the name of the version in the work tree, which may be no blob
_KIN = f":(top,glob)**/*{layout.SUFFIX}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("skill", metavar="NAME", nargs="?", help="whose checkpoint; required if there are several")
    default = f"default: {DEFAULT_LIMIT}, with --since all"
    limit_help = f"show at most N commits, newest first; 0 for all ({default})"
    add("-n", "--limit", metavar="N", type=int, help=limit_help)
    since_help = "only commits since 2d (days), 2026-06-01 or 2026-06-01T00:00:00Z"
    add("--since", metavar="TIME", help=since_help)
    add(
        "--rows",
        metavar="ID",
        nargs="?",
        const="",
        action="append",
        help="only rows, or this one; repeatable",
    )
    add("--decisions", action="store_true", help="only decisions, and blockers opened and closed")
    add("--all", action="store_true", help="include commits without a visible change")


class LogResult(NamedTuple):
    """The life of a checkpoint.

    entries: newest first. is_cut: older entries exist. silent: the number of commits without a
    visible change that entries leaves out.
    """

    skill: str
    path: str
    entries: list[LifeEntry]
    is_cut: bool
    silent: int
    findings: list[Finding]


def log(
    place: Place,
    skill: str,
    *,
    limit: int = 0,
    since: int | None = None,
    rows: Sequence[str] | None = None,
    decisions: bool = False,
    silent_too: bool = False,
) -> LogResult:
    """Return the life of one skill's checkpoint.

    limit: entries, 0 for all. since: seconds since 1970. rows: ids, [] for all. Raises
    CheckpointError outside git, and for a skill that neither the folder nor the history has.
    """
    layout.check_skill_name(skill)
    if place.work_tree is None:
        hint = join_hints(
            "the log is read from git's history",
            advise("make a repository", "git", "-C", place.root, "init"),
            "then commit the checkpoints",
        )
        raise CheckpointError(f"{place.root} is not in a git repository", hint)

    path = layout.relative_checkpoint_path(place, skill)
    boundary = read_boundary(place.work_tree)
    shown = list[LifeEntry]()
    silent = 0
    is_known = False
    is_cut = False
    for entry in read_life(place, skill, since, boundary):
        is_known = True
        events = [event for event in entry.events if is_wanted(event, rows, decisions)]
        is_silent = not entry.events and not entry.is_merge
        if not events and not (silent_too and is_silent):
            silent += is_silent
        elif limit and len(shown) == limit:
            is_cut = True
            break
        else:
            shown.append(entry._replace(events=events))

    if not is_known and since is None and store.read_skill(place, skill) is None:
        raise store.missing_checkpoint(place, skill)

    findings = []
    if boundary:
        message = "this clone is shallow: older commits are not in it"
        fetch = command("git", "fetch", "--unshallow", more=" brings the rest")
        findings.append(Finding("log/shallow", "note", message, path, hint=fetch))
    return LogResult(skill, path, shown, is_cut, silent, findings)


def read_life(
    place: Place, skill: str, since: int | None, boundary: frozenset[str]
) -> Iterator[LifeEntry]:
    """Yield the entries of a checkpoint's life, newest first.

    The first one is the change that is not committed yet, if there is one.
    """
    assert place.work_tree
    path = layout.relative_checkpoint_path(place, skill)
    on_disk = store.read_skill(place, skill)
    contents: dict[str, bytes] = {}
    now = ""
    if isinstance(on_disk, bytes):
        contents[_ON_DISK] = on_disk
        now = _ON_DISK

    with Blobs(place.work_tree, environment(), MAX_BYTES) as blobs:
        versions = DecodedVersions(blobs.read, contents)
        head = read_blob_at_head(place.work_tree, path)
        steps = read_life_steps(
            place.work_tree, path, _KIN, lambda paths: history_specs(paths, skill), since
        )
        is_readable = not isinstance(on_disk, OSError)
        if is_readable and not _is_same(versions.read(head), versions.read(now)):
            change = HistoryStep(Commit("", (), 0, 0, "", ""), [Touch(path, (head,), now)])
            steps = chain([change], steps)
        yield from read_entries(steps, versions, skill, boundary)


def _is_same(before: Version, after: Version) -> bool:
    """Whether two versions are equal. A value that is too deep to compare counts as different."""
    if isinstance(before, dict) and isinstance(after, dict):
        return not any(is_different(before, after, key) for key in {**before, **after})
    return before == after


def history_specs(paths: Sequence[str], skill: str) -> list[str]:
    """Return the pathspecs of the history files that `rotate` and `reset` wrote for a checkpoint.

    paths: that the checkpoint had.
    """
    name = skill.replace("[", "[[]")
    folders = dict.fromkeys(os.path.dirname(path).replace("[", "[[]") for path in paths)
    return [f":(top,glob){folder}/{layout.HISTORY}/{name}.*.json" for folder in folders]


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    place = find_place(invocation.cwd)
    skill = args.skill or _find_only_skill(place)
    limit = DEFAULT_LIMIT
    since = None
    if args.since is not None:
        since = read_since(args.since, invocation.now)
        limit = 0
    if args.limit is not None:
        limit = args.limit
    if limit < 0:
        raise CheckpointError(f"-n {limit}: not a number of commits", "give 0 for all")

    rows = args.rows
    if rows is not None and not all(rows):  # --rows without an id
        rows = []
    result = log(
        place,
        skill,
        limit=limit,
        since=since,
        rows=rows,
        decisions=args.decisions,
        silent_too=args.all,
    )
    data = {
        "skill": skill,
        "path": result.path,
        "entries": [entry_data(entry) for entry in result.entries],
        "more": result.is_cut,
        "silent": result.silent,
        "shallow": bool(result.findings),
    }
    return Outcome(data, list(_render(result)), result.findings)


def _find_only_skill(place: Place) -> str:
    """Return the skill of the only checkpoint. Raises CheckpointError if there is not just one."""
    skills = store.list_skills(place)
    if len(skills) == 1:
        return skills[0]
    hint: AnyHint = "the folder has none; name a deleted one"
    if skills:
        hint = join_hints(*(command("checkpoint", "log", name) for name in skills[:_MOST_NAMED]))
    raise CheckpointError("which checkpoint?", hint)


def _render(result: LogResult) -> Iterator[Block]:
    """Yield the lines of the log."""
    if not result.entries:
        yield Line(f"nothing to show of {result.skill}", "dim")
    for index, entry in enumerate(result.entries):
        if index:
            yield Line("")
        yield _render_title(entry)
        events = [(event.kind, describe_event(event)) for event in entry.events]
        yield from event_lines(events, _SHOWN_EVENTS, _SHOWN_LETTERS)
        if not entry.events:
            yield Line("  only its summary, files or private state", "dim")

    if result.is_cut:
        yield Line("")
        yield Line("older commits: -n 0 shows them all", "dim")

    if result.silent:
        yield Line("")
        count = plural(result.silent, "commit")
        yield Line(f"{count} changed only its summary, files or private state: --all", "dim")


def _render_title(entry: LifeEntry) -> Line:
    commit = entry.commit
    if commit is None:
        return Line("not committed yet", "warn", hang=2)
    instant = write_instant(commit.at)
    time = f"{instant[:10]} {instant[11:16]}"
    words = [commit.id[:9], time, commit.author, shorten(commit.subject, 80)]
    if entry.is_merge:
        words.append("(merge)")
    return Line("  ".join(words), "strong", hang=2)


def entry_data(entry: LifeEntry) -> dict[str, Any]:
    """Return an entry as JSON has it."""
    data: dict[str, Any] = dict.fromkeys(("commit", "at", "authored_at", "author", "subject"))
    commit = entry.commit
    if commit is not None:
        data["commit"] = commit.id
        data["at"] = write_instant(commit.at)
        data["authored_at"] = write_instant(commit.authored_at)
        data["author"] = commit.author
        data["subject"] = commit.subject

    events = []
    for event in entry.events:
        change = {"text": describe_event(event), "from": event.before, "to": event.after}
        events.append({"kind": event.kind, "subject": event.subject, **change})
    return {**data, "path": entry.path, "merge": entry.is_merge, "events": events}
