"""What happened to checkpoints when, for a report's page: lanes over one span of time, and the same as a table."""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import DAY, HOUR, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.page import Section
from checkpoint_git.core.terminal_text import join_some, plural, shorten
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.git.history.log import environment, read_boundary
from checkpoint_git.git.history.steps import Step, Touch, read_steps
from checkpoint_git.git.objects import Blobs
from checkpoint_git.protocols.skill import layout
from checkpoint_git.protocols.skill.brief.brief import Brief
from checkpoint_git.protocols.skill.brief.history import Entry, Versions, read_entries
from checkpoint_git.protocols.skill.brief.life import LOOKS, Event, describe_event

TEMPLATE = "protocols/skill/brief/page.html"
_MOST_STEPS = 400  # commits of the history that are looked at
_MOST_READ = 48 << 20  # bytes of older versions
_MOST_LANES = 24
_MOST_EVENTS = 200
_LANE, _TOP, _AXIS = 46, 8, 26  # pixels
_PLACES = 90  # along the width: what is nearer together becomes one mark
_MOST_TITLES = 12  # of one mark
_LEFT, _WIDE = 1.5, 97.0  # percent of the width
_MOST_TICKS = 5
_STEPS = [HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, *(days * DAY for days in (7, 14, 28, 91, 182, 364, 1_820))]
_MONDAY = 4 * DAY  # the first one since 1970

Kind = Literal["progress", "decision", "blocker", "broken", "other"]
_KINDS: Mapping[str, Kind] = {
    "completed": "progress", "done": "progress", "repaired": "progress", "decided": "decision", "closed": "decision",
    "opened": "blocker", "broken": "broken", "deleted": "broken",
}  # fmt: skip
# kind -> (its shape, its name), in the order of the legend, and of a mark that has several
_SHAPES: dict[Kind, tuple[str, str]] = {
    "broken": ("M-5.5-5.5H5.5V5.5H-5.5Z", "deleted or broken"),
    "blocker": ("M0-7L7 5.5L-7 5.5Z", "blocker opened"),
    "progress": ("M0-6A6 6 0 1 1 0 6A6 6 0 1 1 0-6Z", "progress"),
    "decision": ("M0-7.5L7.5 0L0 7.5L-7.5 0Z", "decision, or blocker closed"),
    "other": ("M0-4.5A4.5 4.5 0 1 1 0 4.5A4.5 4.5 0 1 1 0-4.5Z", "other changes"),
}


class Lives(NamedTuple):
    """Entries by skill, newest first. is_cut: older history was not looked at. trouble: why there is none."""

    by_skill: Mapping[str, Sequence[Entry]]
    is_cut: bool = False
    is_shallow: bool = False
    trouble: str = ""


class Mark(NamedTuple):
    at: int
    kinds: frozenset[Kind]
    text: str


class Row(NamedTuple):
    """One commit in the table of changes. at: seconds since 1970."""

    at: int
    skill: str
    what: str
    who: str
    commit: str


def read_lives(place: Place, skills: Sequence[str]) -> Lives:
    """All skills' entries from one walk through the history."""
    if place.work_tree is None:
        return Lives({}, trouble="not a git repository, so without history")
    try:
        return _read_lives(place, place.work_tree, skills)
    except CheckpointError as error:
        return Lives({}, trouble=f"the history could not be read: {error.message}")


def _read_lives(place: Place, work_tree: str, skills: Sequence[str]) -> Lives:
    folder = relative_path(place.directory, place.top).replace("[", "[[]")
    specs = [f":(top,glob){folder}/*{layout.SUFFIX}", f":(top,glob){folder}/{layout.HISTORY}/*.json"]
    steps = list(read_steps(work_tree, specs, most=_MOST_STEPS))
    boundary = read_boundary(work_tree)
    by_skill: dict[str, list[Entry]] = {}
    left = _MOST_READ
    with Blobs(work_tree, environment(), limit=MAX_BYTES) as blobs:

        def load(blob: str) -> bytes | int | None:
            nonlocal left
            content = blobs.read(blob)
            left -= len(content) if isinstance(content, bytes) else content or 0
            return content

        def find_steps(skill: str) -> Iterator[Step]:
            for step in steps:
                touches = [touch for touch in step.touches if _is_of(touch, skill)]
                if touches:
                    yield step._replace(touches=touches)

        for skill in skills:
            entries = read_entries(takewhile(lambda _: left >= 0, find_steps(skill)), Versions(load), skill, boundary)
            by_skill[skill] = [entry for entry in entries if entry.events]
    return Lives(by_skill, len(steps) == _MOST_STEPS or left < 0, bool(boundary))


def _is_of(touch: Touch, skill: str) -> bool:
    names = [os.path.basename(path) for path in (touch.path, touch.came_from) if path]
    return any((layout.find_skill(name) or skill) == skill and name.startswith(f"{skill}.") for name in names)


def draw_timeline(lives: Lives, states: Sequence[Brief]) -> Section | None:
    """The section, None where nothing happened. states: they give the order of the lanes."""
    order = [state.skill for state in states if lives.by_skill.get(state.skill)]
    if not order:
        return None
    lanes = {skill: [_mark(entry) for entry in lives.by_skill[skill]] for skill in order[:_MOST_LANES]}
    notes = [f"the newest {_MOST_STEPS} commits"] if lives.is_cut else []
    notes += ["this clone is shallow: older commits are not in it"] if lives.is_shallow else []
    if len(order) > len(lanes):
        notes.append(f"without {plural(len(order) - len(lanes), 'more checkpoint')}")
    return Section(TEMPLATE, "timeline", "Timeline", draw_lanes(lanes), "; ".join(notes))


def list_changes(lives: Lives, since: int, address: str) -> Section | None:
    """What changed since an instant and by whom, then what changed before. address: of a commit without its id."""
    every = [_row(skill, entry) for skill, entries in lives.by_skill.items() for entry in entries]
    if not every:
        return None
    rows = sorted(every, key=lambda row: row.at, reverse=True)
    shown, recent = rows[:_MOST_EVENTS], [row for row in rows if row.at >= since]
    people = []
    for who in dict.fromkeys(row.who for row in recent):
        own = [row for row in recent if row.who == who]
        names = join_some([*dict.fromkeys(row.skill for row in own)], 8)
        people.append((who or "not committed", f"{plural(len({row.commit for row in own}), 'commit')}: {names}"))
    values = {
        "people": people,
        "recent": [row for row in shown if row.at >= since],
        "older": [row for row in shown if row.at < since],
        "left": len(rows) - len(shown),
        "address": address,
    }
    return Section(TEMPLATE, "changes", f"Changes since {write_instant(since)[:10]}", values)


def _when(entry: Entry) -> int:
    return entry.commit.at if entry.commit else 0


def _mark(entry: Entry) -> Mark:
    when = write_instant(_when(entry))[:16].replace("T", " ")
    kinds = frozenset(_KINDS.get(event.kind, "other") for event in entry.events)
    return Mark(_when(entry), kinds, f"{when}: {'; '.join(_describe(entry.events, 3, 160))}")


def _describe(events: Sequence[Event], most: int, letters: int) -> list[str]:
    said = [f"{LOOKS[event.kind][0]}: {shorten(describe_event(event), letters)}" for event in events[:most]]
    return [*said, f"and {len(events) - most} more"] if len(events) > most else said


def _row(skill: str, entry: Entry) -> Row:
    author, name = (shorten(entry.commit.author, 60), entry.commit.id) if entry.commit else ("", "")
    return Row(_when(entry), shorten(skill, 100), "\n".join(_describe(entry.events, 6, 240)), author, name)


def draw_lanes(lanes: Mapping[str, Sequence[Mark]]) -> dict[str, Any]:
    """What the template draws: lanes from top to bottom, marks and ticks at their share of the width."""
    marks = [mark for lane in lanes.values() for mark in lane]
    end = max((mark.at for mark in marks), default=0)
    span = max(end - min((mark.at for mark in marks), default=0), DAY)
    start = end - span  # a short time ends where it ended: nothing is in the days to come
    used = {kind for mark in marks for kind in mark.kinds}
    return {
        "lanes": [_draw_lane(name, lane, at, start, span) for at, (name, lane) in enumerate(lanes.items())],
        "ticks": [(_share((at - start) / span), label) for at, label in find_ticks(start, end)],
        "height": _TOP + _LANE * len(lanes) + _AXIS,
        "words": f"{plural(len(marks), 'change')} of {plural(len(lanes), 'checkpoint')}; a table of them follows.",
        "shapes": _SHAPES,
        "used": [kind for kind in _SHAPES if kind in used],
    }


def find_ticks(start: int, end: int) -> list[tuple[int, str]]:
    """Whole hours, days or weeks (their Mondays) within a time, with what to write below them."""
    step = next((step for step in _STEPS if (end - start) // step <= _MOST_TICKS), end - start)
    first = start + (_MONDAY - start) % step
    chosen = slice(0, 10) if step >= DAY else slice(5, 16)
    return [(at, write_instant(at)[chosen].replace("T", " ")) for at in range(first, end + 1, step)]


def _share(part: float) -> str:
    return f"{_LEFT + part * _WIDE:.2f}%"


def _draw_lane(name: str, marks: Sequence[Mark], at: int, start: int, span: int) -> dict[str, Any]:
    places: dict[int, list[Mark]] = {}
    for mark in marks:
        places.setdefault(round((mark.at - start) / span * _PLACES), []).append(mark)
    drawn = []
    for place, found in sorted(places.items()):
        kinds = {kind for mark in found for kind in mark.kinds}
        titles = [shorten(mark.text, 200) for mark in found[:_MOST_TITLES]]
        titles += [f"and {len(found) - _MOST_TITLES} more"] if len(found) > _MOST_TITLES else []
        shown = [kind for kind in _SHAPES if kind in kinds and (kind != "other" or kinds == {kind})]
        drawn.append({"x": _share(place / _PLACES), "text": "\n".join(titles), "kinds": shown})
    ends = [_share(place / _PLACES) for place in (min(places, default=0), max(places, default=0))]
    return {"name": shorten(name, 40), "y": _TOP + at * _LANE + 30, "first": ends[0], "last": ends[1], "marks": drawn}
