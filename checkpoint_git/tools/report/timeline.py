"""The part of a page that tells what happened when: a timeline, and the same as a table. Pure."""

from collections.abc import Sequence

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.skill.history import Entry
from checkpoint_git.protocols.skill.life import LOOKS, Event, describe_event
from checkpoint_git.tools.report.blocks import Block, Cell, Fold, Grid, Kind, Lane, Mark, Section, Text, Timeline
from checkpoint_git.tools.report.facts import MOST_STEPS, Facts
from checkpoint_git.tools.report.pieces import count_of

_MOST_LANES = 24
_MOST_EVENTS = 200
_MARKS: dict[str, Kind] = {
    "completed": "progress", "done": "progress", "mended": "progress", "decided": "decision", "closed": "decision",
    "opened": "blocker", "broken": "broken", "deleted": "broken",
}  # fmt: skip
_IMPORTANT: tuple[Kind, ...] = ("broken", "blocker", "progress", "decision", "other")


def tell_timeline(facts: Facts) -> Section | None:
    lives = {skill: entries for skill, entries in facts.lives.by_skill.items() if entries}
    if not lives:
        return None
    order = [state.skill for state in facts.states if state.skill in lives]
    lanes = [Lane(skill, [_mark(entry) for entry in lives[skill]]) for skill in order[:_MOST_LANES]]
    newest = sorted(
        ((skill, entry) for skill in order for entry in lives[skill]), key=lambda pair: _when(pair[1]), reverse=True
    )
    counted = f"{count_of(len(newest), 'commit')} of {count_of(len(lives), 'skill')}"
    words = f"{counted}; the table below tells the same in words."
    left = len(order) - len(lanes)
    more = f"; in the table alone: {count_of(left, 'more skill')}" if left else ""
    shown = newest[:_MOST_EVENTS]
    rows = [_event_row(skill, entry) for skill, entry in shown]
    headers = ("When", "Skill", "What happened", "Who", "Commit")
    table = Grid("What happened, the newest first", headers, rows, len(newest) - len(shown))
    blocks: list[Block] = [Timeline("Timeline", words, lanes), Fold("events", "The timeline as a table", [], [table])]
    notes = [f"the newest {MOST_STEPS} commits at most"] if facts.lives.is_cut else []
    notes += ["this clone is shallow: older commits are not in it"] if facts.lives.is_shallow else []
    return Section("timeline", "Timeline", blocks, "; ".join(["from the history", *notes]) + more)


def _when(entry: Entry) -> int:
    return entry.commit.at if entry.commit else 0


def _mark(entry: Entry) -> Mark:
    kinds = {_MARKS.get(event.kind, "other") for event in entry.events}
    kind = next(one for one in _IMPORTANT if one in kinds)
    at = write_instant(_when(entry))
    return Mark(_when(entry), kind, f"{at[:10]} {at[11:16]}: {_tell_events(entry.events, 3)}")


def _tell_events(events: Sequence[Event], most: int) -> str:
    told = [f"{LOOKS[event.kind][0]}: {shorten(describe_event(event), 160)}" for event in events[:most]]
    more = len(events) - most
    return "; ".join([*told, f"and {more} more"] if more > 0 else told)


def _event_row(skill: str, entry: Entry) -> list[Cell]:
    commit = entry.commit
    at = write_instant(_when(entry))
    told = "\n".join(f"{LOOKS[event.kind][0]}: {shorten(describe_event(event), 240)}" for event in entry.events[:6])
    more = len(entry.events) - 6
    author, name = (shorten(commit.author, 60), commit.id[:9]) if commit else ("", "")
    return [f"{at[:10]} {at[11:16]}", shorten(skill, 100), told + (f"\nand {more} more" if more > 0 else ""), author,
            Text(name, is_code=True)]  # fmt: skip
