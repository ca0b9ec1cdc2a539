"""`checkpoint rotate`: move closed telemetry out of the active checkpoints into history."""

import argparse
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext, jsonwrite
from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.progress import follow
from checkpoint_git.disk.discover import Place, find_place, relative_path
from checkpoint_git.protocols.skill import layout, rotation, store
from checkpoint_git.protocols.skill.drift.merged_work import read_reverted
from checkpoint_git.protocols.skill.rotation import Kept, Moved
from checkpoint_git.protocols.skill.views import is_reviewed
from checkpoint_git.protocols.validate import FOREIGN
from checkpoint_git.protocols.write import Tell, say_waiting

HELP = """\
move closed pull requests, old runs and old decisions to .checkpoints/history

examples:
  checkpoint rotate --dry-run
  checkpoint rotate build

It moves closed and merged pull requests, all runs but the last 5, reconciliation records,
superseded heads, and all key decisions but the last 20. Entries that an open action, blocker or
row names stay, as do reverted pull requests. updated_at does not change:
housekeeping is not progress.

exit 1: a checkpoint cannot be read
"""

_MOST_SHOWN = 10  # entries that stay, of one checkpoint


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skill", metavar="NAME", nargs="?", help="whose checkpoint (default: all)")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would move, and change nothing"
    )


class RotateResult(NamedTuple):
    """What a rotation moved.

    moved: entries by place. history: the file that they went to, None for none. kept: closed
    entries that stay. saved: bytes. findings: about a file or a history that cannot be read.
    """

    skill: str
    moved: list[Moved]
    history: str | None
    kept: list[Kept]
    saved: int
    findings: list[Finding]


def rotate(
    place: Place, skill: str, now: int, *, dry_run: bool = False, on_wait: Tell = lambda: None
) -> RotateResult:
    """Move the past of one checkpoint into a history file.

    The history file is complete on disk before the checkpoint shrinks, so that no entry is lost.
    Raises CheckpointError if there is no file.
    """
    layout.check_skill_name(skill)
    # before the lock is taken: it can take a while
    reverted, findings = read_reverted(place, store.read_document(place, skill, now), now)
    with nullcontext() if dry_run else store.writing(place, skill, on_wait):
        document = store.read_document(place, skill, now)
        is_foreign = any(finding.code == FOREIGN for finding in document.findings)
        if document.value is None or document.text is None or is_foreign:
            return RotateResult(skill, [], None, [], 0, [*document.findings, *findings])
        root = jsontext.parse(document.text)
        planned = rotation.plan_rotation(root.value, reverted)
        if not planned.moved:
            return RotateResult(skill, [], None, planned.kept, 0, findings)
        past = rotation.history_document(skill, planned.moved).encode()
        rest = jsonwrite.rewrite(root, planned.value).encode()
        marks = rotation.history_marks(write_instant(now)[:10], past)
        path = layout.history_path(place, skill, marks[0])
        if not dry_run:
            path = store.write_history(place, skill, marks, past)
            store.write_checkpoint(place, skill, document.text.encode(), rest)

    saved = len(document.text.encode()) - len(rest)
    return RotateResult(
        skill, planned.moved, relative_path(path, place.top), planned.kept, saved, findings
    )


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Run the verb. Without a NAME it rotates the checkpoint of CHECKPOINT_SKILL, else all."""
    place = find_place(invocation.cwd)
    skills = _choose_skills(place, args.skill, invocation)
    tell = say_waiting(invocation.stderr)
    shown = follow(skills, "rotating", len(skills), invocation)
    blocks = list[Block]()
    findings = list[Finding]()
    kept = list[dict[str, Any]]()
    rotated = list[dict[str, Any]]()
    for skill in shown:
        result = rotate(place, skill, invocation.now, dry_run=args.dry_run, on_wait=tell)
        blocks += _lines(result, args.dry_run)
        findings += result.findings
        kept += [{"skill": result.skill, **entry._asdict()} for entry in result.kept]
        if result.moved:
            rotated.append(_rotated_data(result))

    data = {"dry_run": args.dry_run, "rotated": rotated, "kept": kept}
    return Outcome(data, blocks or [Line("nothing to rotate", "dim")], findings)


def _choose_skills(place: Place, named: str | None, invocation: Invocation) -> list[str]:
    """Return the skills to rotate: the named one, the environment's, else all. Raises
    CheckpointError.
    """
    chosen = named or invocation.env.get("CHECKPOINT_SKILL", "")
    if named is not None or chosen:
        layout.check_skill_name(chosen)
        store.check_owner(chosen, invocation.env)
        return [chosen]
    return [name for name in store.list_skills(place) if not layout.find_name_trouble(name)]


def _rotated_data(result: RotateResult) -> dict[str, Any]:
    return {
        "skill": result.skill,
        "history": result.history,
        "moved": [{"where": part.where, "entries": len(part.items)} for part in result.moved],
        "bytes_saved": result.saved,
    }


def _lines(result: RotateResult, dry_run: bool) -> Iterator[Block]:
    if result.moved:
        verb = "would move to" if dry_run else "moved to"
        less = f"{result.saved} bytes less" if result.saved >= 0 else f"{-result.saved} bytes more"
        yield Line(f"{result.skill}: {verb} {result.history} ({less})", "good")
    elif result.kept:
        yield Line(f"{result.skill}: nothing to move", "dim")

    for part in result.moved:
        count = len(part.items)
        text = f"  {part.where}: 1 entry" if count == 1 else f"  {part.where}: {count} entries"
        if part.where == "/superseded":
            unread = sum(not is_reviewed(entry) for entry in part.items)
            if unread:
                text += f" ({unread} not marked as reviewed: read them there)"
        yield Line(text)

    for kept in result.kept[:_MOST_SHOWN]:
        yield Line(f"  {kept.where}: {kept.entry} stays: {kept.why}", "warn")
    if len(result.kept) > _MOST_SHOWN:
        yield Line(f"  {len(result.kept) - _MOST_SHOWN} more stay", "warn")
