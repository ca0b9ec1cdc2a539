"""`checkpoint rotate`: move closed telemetry out of the active checkpoints into history."""

import argparse
from typing import Any, NamedTuple

from checkpoint_git.commands.reading import check_files, missing_checkpoint
from checkpoint_git.commands.writing import check_owner, say_waiting
from checkpoint_git.core import jsonedit, jsontext
from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.disk.discover import Place, find_place, relative_path
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.rotation import Moved, history_document, plan_rotation

SUMMARY = "move closed telemetry into .checkpoints/history"
EXAMPLES = """\
  checkpoint rotate --dry-run
  checkpoint rotate build

Moved are lists of merged and closed pull requests, runs but the last 5, reconciliation records, superseded heads, and
key decisions but the last 20. updated_at stays: housekeeping is no progress."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """[SKILL] [--dry-run]."""
    parser.add_argument("skill", metavar="SKILL", nargs="?", help="whose checkpoint; all where left out")
    parser.add_argument("--dry-run", action="store_true", help="say what would move, and change nothing")


class RotateResult(NamedTuple):
    """moved: what goes, place by place. history: the file it goes to, None where nothing does. findings: why not."""

    skill: str
    moved: list[Moved]
    history: str | None
    saved: int
    findings: list[Finding]


def rotate(
    place: Place, skill: str, now: int, *, dry_run: bool = False, on_wait: store.Tell = lambda: None
) -> RotateResult:
    """Moves the past of one checkpoint into a history file; active file and history together hold every entry.

    The history file is complete on disk before the active one shrinks. Raises CheckpointError where there is no file.
    """
    layout.check_skill_name(skill)
    if dry_run:
        return _rotate(place, skill, now, write=False)
    with store.writing(place, on_wait):
        return _rotate(place, skill, now, write=True)


def _rotate(place: Place, skill: str, now: int, *, write: bool) -> RotateResult:
    content = store.read_skill(place, skill)
    if content is None:
        raise missing_checkpoint(place, skill)
    document = check_files([(layout.relative_checkpoint_path(place, skill), content)], now)[0]
    if document.value is None or document.text is None:
        return RotateResult(skill, [], None, 0, document.findings)
    root = jsontext.parse(document.text)
    rotation = plan_rotation(root.value)
    if not rotation.moved:
        return RotateResult(skill, [], None, 0, [])
    past = history_document(skill, rotation.moved).encode()
    rest = jsonedit.rewrite(root, rotation.value).encode()
    marks = _marks(now, past)
    path = layout.history_path(place, skill, marks[0])
    if write:
        path = store.write_history(place, skill, marks, past)
        store.write_checkpoint(place, skill, rest)
    saved = document.size - len(rest)
    return RotateResult(skill, rotation.moved, relative_path(path, place.top), saved, [])


def _marks(now: int, past: bytes) -> list[str]:
    """The day, and what the file holds: other entries of one day go to another file, the same ones to the same.

    The numbered names are for a file whose content was changed by hand since.
    """
    from hashlib import sha256

    mark = f"{write_instant(now)[:10]}-{sha256(past).hexdigest()[:12]}"
    return [mark, *(f"{mark}-{number}" for number in range(2, 10))]


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb. With CHECKPOINT_SKILL set and no SKILL given it rotates that skill's checkpoint only."""
    place = find_place(invocation.cwd)
    skills = _choose_skills(place, args.skill, invocation)
    tell = say_waiting(invocation.stderr)
    results = [rotate(place, skill, invocation.now, dry_run=args.dry_run, on_wait=tell) for skill in skills]
    findings = [finding for result in results for finding in result.findings]
    data = {"dry_run": args.dry_run, "rotated": [_data(result) for result in results if result.moved]}
    blocks = [line for result in results for line in _lines(result, args.dry_run)]
    return Outcome(data, blocks or [Line("nothing to rotate", "dim")], findings)


def _choose_skills(place: Place, skill: str | None, invocation: Invocation) -> list[str]:
    owner = invocation.env.get("CHECKPOINT_SKILL", "")
    if skill is None and not owner:
        return [name for name in store.list_skills(place) if not layout.find_name_trouble(name)]
    chosen = skill or owner
    layout.check_skill_name(chosen)
    check_owner(chosen, invocation.env)
    return [chosen]


def _data(result: RotateResult) -> dict[str, Any]:
    moved = [{"where": part.where, "entries": len(part.items)} for part in result.moved]
    return {"skill": result.skill, "history": result.history, "moved": moved, "bytes_saved": result.saved}


def _lines(result: RotateResult, dry_run: bool) -> list[Block]:
    if not result.moved:
        return []
    verb = "would move to" if dry_run else "moved to"
    title = Line(f"{result.skill}: {verb} {result.history} ({result.saved} bytes less)", "good")
    return [title, *(Line(f"  {part.where}: {len(part.items)} entries") for part in result.moved)]
