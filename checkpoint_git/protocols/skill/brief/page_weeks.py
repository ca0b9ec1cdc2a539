"""Find what was finished in each week, for a report's page."""

from collections.abc import Iterator
from typing import NamedTuple

from checkpoint_git.core.clock import DAY, write_instant
from checkpoint_git.core.terminal_text import join_some, plural, shorten
from checkpoint_git.protocols.skill.brief.life import LifeEvent
from checkpoint_git.protocols.skill.brief.page_lives import Lives

WEEK = 7 * DAY
MONDAY = 4 * DAY  # the first one since 1970
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MOST_NAMES = 6  # checkpoints of one week
_MOST_MOVED = 3
_MOST_WEEKS = 53


class Week(NamedTuple):
    """Hold what was finished in a week.

    start: its Monday, in seconds since 1970. complete: the checkpoints that became complete.
    steps: the number of rows and actions that were finished, of the checkpoints `moved`.
    """

    start: int
    complete: list[str]
    steps: int
    moved: list[str]

    @property
    def name(self) -> str:
        return write_day(self.start)

    @property
    def text(self) -> str:
        """Return what was finished, in words."""
        parts = list[str]()
        if self.complete:
            parts.append(f"{join_some(self.complete, _MOST_NAMES)} complete")
        if self.steps:
            moved = join_some(self.moved, _MOST_MOVED)
            parts.append(f"{plural(self.steps, 'step')} finished in {moved}")
        return "; ".join(parts) or "nothing finished"


def find_weeks(lives: Lives, now: int) -> list[Week]:
    """Return the weeks from the first commit to now, the newest first, a year of them at most.

    A step that is a row and an action with the same words counts once.
    """
    complete: dict[int, list[str]] = {}
    steps: dict[int, set[tuple[str, str]]] = {}
    moved: dict[int, dict[str, None]] = {}
    first = now
    for skill, instant, event in _iterate_events(lives):
        first = min(first, instant)
        start = find_monday(instant)
        if event.kind in ("completed", "done"):
            steps.setdefault(start, set()).add((skill, event.text.strip().lower()))
            moved.setdefault(start, {})[shorten(skill, 60)] = None
        elif event.kind == "status" and event.after == "complete":
            complete.setdefault(start, []).append(shorten(skill, 60))

    starts = range(find_monday(now), find_monday(first) - 1, -WEEK)[:_MOST_WEEKS]
    return [
        Week(
            start=start,
            complete=list(dict.fromkeys(complete.get(start, ()))),
            steps=len(steps.get(start, ())),
            moved=list(moved.get(start, ())),
        )
        for start in starts
    ]


def _iterate_events(lives: Lives) -> Iterator[tuple[str, int, LifeEvent]]:
    """Yield the committed events, each with its skill and its instant."""
    for skill, entries in lives.by_skill.items():
        for entry in entries:
            if entry.commit is None:
                continue
            for event in entry.events:
                yield skill, entry.commit.at, event


def find_monday(instant: int) -> int:
    """Return the first second of an instant's week in UTC."""
    return instant - (instant - MONDAY) % WEEK


def write_day(instant: int) -> str:
    """Return the day of an instant as people write it, such as 23 Nov 2026."""
    date = write_instant(instant)
    return f"{int(date[8:10])} {MONTHS[int(date[5:7]) - 1]} {date[:4]}"
