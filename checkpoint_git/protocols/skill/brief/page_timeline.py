"""Draw what happened to checkpoints when, for a report's page: each has a lane."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import DAY, HOUR, read_instant, write_instant
from checkpoint_git.core.page import Section, Tone
from checkpoint_git.core.terminal_text import plural, shorten
from checkpoint_git.protocols.skill.brief.brief import Brief
from checkpoint_git.protocols.skill.brief.history import LifeEntry
from checkpoint_git.protocols.skill.brief.page_changes import TEMPLATE, describe_events
from checkpoint_git.protocols.skill.brief.page_lives import MOST_STEPS, Lives
from checkpoint_git.protocols.skill.brief.page_weeks import (
    MONDAY,
    MONTHS,
    WEEK,
    Week,
    find_weeks,
    write_day,
)

_MOST_LANES = 60
_MOST_TITLES = 12  # of one mark
_PLACES = 90  # along the width: what is nearer together becomes one mark
_LEFT, _WIDE = 1.5, 97.0  # percent of the width
_FEW_WEEKS = 2  # of which no columns are drawn
_LEAST_COLUMN, _COLUMN = 3, 28  # pixels: the height of the columns of weeks

_MOST_TICKS = 5  # that name hours and days
_STEPS = (HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, WEEK, 2 * WEEK)
_MOST_MONTHS = 13  # ticks that name months and years, which are shorter
_MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 600, 1_200, 12_000)
_PHONE_LETTERS = 40  # of all ticks: so many have room on a phone

Kind = Literal["progress", "decision", "blocker", "broken", "other"]
_KINDS: Mapping[str, Kind] = {
    "completed": "progress",
    "done": "progress",
    "repaired": "progress",
    "decided": "decision",
    "closed": "decision",
    "opened": "blocker",
    "broken": "broken",
    "deleted": "broken",
}
# kind -> (its shape, its name), in the order of the legend, and of a mark that has several
_SHAPES: dict[Kind, tuple[str, str]] = {
    "broken": ("M-4.5-4.5H4.5V4.5H-4.5Z", "deleted or broken"),
    "blocker": ("M0-6L6 4.5L-6 4.5Z", "blocker opened"),
    "progress": ("M0-5A5 5 0 1 1 0 5A5 5 0 1 1 0-5Z", "progress"),
    "decision": ("M0-6L6 0L0 6L-6 0Z", "decision, or blocker closed"),
    "other": ("M0-3A3 3 0 1 1 0 3A3 3 0 1 1 0-3Z", "other changes"),
}


class Mark(NamedTuple):
    """Hold what one commit did. at: seconds since 1970. text: what is shown on hover."""

    at: int
    kinds: frozenset[Kind]
    text: str


class Lane(NamedTuple):
    """Hold the marks of one checkpoint.

    number: of its details on the page, 0 for none. marks: newest first, at least one.
    """

    skill: str
    number: int
    tone: Tone
    marks: Sequence[Mark]


class TimeSpan(NamedTuple):
    """Hold the time that the width stands for, in seconds since 1970."""

    start: int
    end: int

    def share(self, instant: int) -> float:
        """Return the place of an instant: 0 at the start, 1 at the end, where later ones are."""
        return min(instant - self.start, self.end - self.start) / (self.end - self.start)


def draw_timeline(
    lives: Lives, states: Sequence[Brief], tones: Mapping[str, Tone], numbered: int, now: int
) -> Section | None:
    """Return the section, None where nothing happened.

    states: in the order of the page, of which the first ones, `numbered`, have details there.
    tones: by status.
    """
    lanes = list[Lane]()
    for number, state in enumerate(states, 1):
        marks = list(_iterate_marks(lives.by_skill.get(state.skill, ())))
        if marks:
            lane = Lane(state.skill, 0, tones.get(state.status, ""), marks)
            if number <= numbered:
                lane = lane._replace(number=number)
            lanes.append(lane)

    if not lanes:
        return None

    lanes.sort(key=lambda lane: lane.marks[0].at, reverse=True)
    hidden = len(lanes) - _MOST_LANES
    shown = sorted(lanes[:_MOST_LANES], key=lambda lane: lane.marks[-1].at, reverse=True)
    first = min(lane.marks[-1].at for lane in shown)
    notes = [f"since {write_day(first)}"]
    if lives.is_cut:
        notes.append(f"the newest {MOST_STEPS} commits")
    if lives.is_shallow:
        notes.append("this clone is shallow: older commits are not in it")
    if hidden > 0:
        notes.append(f"without {plural(hidden, 'more checkpoint')}")
    values = draw_lanes(shown, find_weeks(lives, now), now)
    return Section(TEMPLATE, "timeline", "Timeline", values, "; ".join(notes))


def _iterate_marks(entries: Iterable[LifeEntry]) -> Iterator[Mark]:
    """Yield a mark for each entry that is committed."""
    for entry in entries:
        if entry.commit:
            instant = entry.commit.at
            when = write_instant(instant)[:16].replace("T", " ")
            kinds = frozenset(_KINDS.get(event.kind, "other") for event in entry.events)
            events = "; ".join(describe_events(entry.events, 3, 160))
            yield Mark(instant, kinds, f"{when}: {events}")


def draw_lanes(lanes: Sequence[Lane], weeks: Sequence[Week], now: int) -> dict[str, Any]:
    """Return what the template draws: lanes from top to bottom, with places along the width.

    weeks: newest first.
    """
    first = min((mark.at for lane in lanes for mark in lane.marks), default=now)
    span = TimeSpan(min(first, now - DAY), now)
    ticks = find_ticks(span.start, span.end)
    used = {kind for lane in lanes for mark in lane.marks for kind in mark.kinds}
    return {
        "lanes": [_draw_lane(lane, span) for lane in lanes],
        "ticks": [(_percent(span.share(instant)), label) for instant, label in ticks],
        "is_dense": sum(len(label) for _, label in ticks) > _PHONE_LETTERS,
        "today": _percent(1),
        "columns": _draw_weeks(weeks, span),
        "weeks": weeks,
        "shapes": _SHAPES,
        "used": [kind for kind in _SHAPES if kind in used],
    }


def _draw_lane(lane: Lane, span: TimeSpan) -> dict[str, Any]:
    """Return what the template draws of a lane; marks near each other become one."""
    places: dict[int, list[Mark]] = {}
    for mark in lane.marks:
        places.setdefault(round(span.share(mark.at) * _PLACES), []).append(mark)

    drawn = []
    for place, marks in sorted(places.items()):
        kinds = {kind for mark in marks for kind in mark.kinds}
        titles = [shorten(mark.text, 200) for mark in marks[:_MOST_TITLES]]
        if len(marks) > _MOST_TITLES:
            titles.append(f"and {len(marks) - _MOST_TITLES} more")
        if kinds != {"other"}:
            kinds.discard("other")
        shown = [kind for kind in _SHAPES if kind in kinds]
        drawn.append({"x": _percent(place / _PLACES), "text": "\n".join(titles), "kinds": shown})

    oldest = write_day(lane.marks[-1].at)
    newest = write_day(lane.marks[0].at)
    when = newest
    if oldest != newest:
        when = f"{oldest} to {newest}"

    return {
        "skill": shorten(lane.skill, 60),
        "number": lane.number,
        "tone": lane.tone,
        "first": _percent(min(places) / _PLACES),
        "last": _percent(max(places) / _PLACES),
        "words": f"{plural(len(lane.marks), 'change')}, {when}",
        "marks": drawn,
    }


def _draw_weeks(weeks: Sequence[Week], span: TimeSpan) -> list[dict[str, Any]]:
    """Return a column for each week that finished something, [] for a few weeks."""
    if len(weeks) <= _FEW_WEEKS:
        return []

    most = max(week.steps for week in weeks)
    drawn = []
    for week in weeks:
        start = max(span.share(week.start), 0)
        end = span.share(week.start + WEEK)
        if week.steps and end > start:
            height = max(round(week.steps / most * _COLUMN), _LEAST_COLUMN)
            values = {
                "x": _percent(start),
                "width": f"{(end - start) * _WIDE * 0.85:.2f}%",
                "y": _COLUMN - height,
                "height": height,
                "text": f"Week of {week.name}: {week.text}",
            }
            drawn.append(values)

    return drawn


def _percent(share: float) -> str:
    """Return the place of a share of the time, as a length in SVG."""
    return f"{_LEFT + share * _WIDE:.2f}%"


# ticks


def find_ticks(start: int, end: int) -> list[tuple[int, str]]:
    """Return whole hours, days, weeks (Mondays), months or years within a time, with their names.

    start, end: seconds since 1970.
    """
    for step in _STEPS:
        if (end - start) // step <= _MOST_TICKS:
            first = start + (MONDAY - start) % step
            instants = range(first, end + 1, step)
            return [(instant, _name_instant(instant, step)) for instant in instants]

    for months in _MONTH_STEPS:
        ticks = list(_iterate_months(start, end, months))
        if len(ticks) <= _MOST_MONTHS:
            break

    return ticks


def _name_instant(instant: int, step: int) -> str:
    """Return the day of a tick; its hour too where ticks are nearer than a day."""
    day, month, _ = write_day(instant).split()
    if step >= DAY:
        return f"{day} {month}"
    return f"{day} {month} {write_instant(instant)[11:16]}"


def _iterate_months(start: int, end: int, step: int) -> Iterator[tuple[int, str]]:
    """Yield the first instant and the name of months, those whose number is a multiple of `step`.

    Months are counted from year 0, so January is a multiple of 12. Its name is the year.
    """
    date = write_instant(start)
    number = int(date[:4]) * 12 + int(date[5:7])  # of the month after the first one
    number += -number % step
    while number < 9_999 * 12:
        year, month = divmod(number, 12)
        instant = _find_month(year, month + 1)
        if instant > end:
            return
        name = MONTHS[month]
        if month == 0:
            name = str(year)
        yield instant, name
        number += step


def _find_month(year: int, month: int) -> int:
    """Return the first second of a month, 0 where it is no instant."""
    instant = read_instant(f"{year:04}-{month:02}-01T00:00:00Z")
    if instant is None:
        return 0
    return instant[0]
