"""What happened to checkpoints when, for a report's page: lanes over one span of time, and the same as a table."""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Literal, NamedTuple

from checkpoint_git.core.clock import DAY, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.html import Markup, Section, code, count_of, fold, grid, html
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.git.history.log import environment, read_boundary
from checkpoint_git.git.history.steps import Step, Touch, read_steps
from checkpoint_git.git.objects import Blobs
from checkpoint_git.protocols.skill import layout
from checkpoint_git.protocols.skill.history import Entry, Versions, read_entries
from checkpoint_git.protocols.skill.life import LOOKS, Event, describe_event
from checkpoint_git.protocols.skill.state import State

_MOST_STEPS = 400  # commits of the history that are looked at
_MOST_READ = 48 << 20  # bytes of older versions
_MOST_LANES = 24
_MOST_EVENTS = 200
_LANE, _TOP, _AXIS = 46, 8, 26  # pixels
_PLACES = 90  # along the width: what is nearer together becomes one mark
_FEW_DAYS = 5 * DAY
_MOST_TITLES = 12  # of one mark
_LEFT, _WIDE = 1.5, 97.0  # percent of the width

Kind = Literal["progress", "decision", "blocker", "broken", "other"]
_KINDS: Mapping[str, Kind] = {
    "completed": "progress", "done": "progress", "mended": "progress", "decided": "decision", "closed": "decision",
    "opened": "blocker", "broken": "broken", "deleted": "broken",
}  # fmt: skip
_STRONGEST: tuple[Kind, ...] = ("broken", "blocker", "progress", "decision", "other")  # which one a mark of several is
# kind -> (its shape, its name), in the order of the legend
_SHAPES: dict[Kind, tuple[str, str]] = {
    "progress": ("M0-6A6 6 0 1 1 0 6A6 6 0 1 1 0-6Z", "progress"),
    "decision": ("M0-7.5L7.5 0L0 7.5L-7.5 0Z", "a decision, or a blocker closed"),
    "blocker": ("M0-7L7 5.5L-7 5.5Z", "a blocker opened"),
    "broken": ("M-5.5-5.5H5.5V5.5H-5.5Z", "deleted or broken"),
    "other": ("M0-4.5A4.5 4.5 0 1 1 0 4.5A4.5 4.5 0 1 1 0-4.5Z", "anything else"),
}

_FIGURE = """\
<figure><svg class="timeline" role="img" width="100%" height="{}" aria-labelledby="timeline-name timeline-words">\
<title id="timeline-name">Timeline</title><desc id="timeline-words">{}</desc>{}{}</svg>\
<figcaption><ul class="legend">{}</ul></figcaption></figure>"""


class Lives(NamedTuple):
    """Entries by skill, newest first. is_cut: older history was not looked at. trouble: why there is none."""

    by_skill: Mapping[str, Sequence[Entry]]
    is_cut: bool = False
    is_shallow: bool = False
    trouble: str = ""


class Mark(NamedTuple):
    at: int
    kind: Kind
    text: str


def read_lives(place: Place, skills: Sequence[str]) -> Lives:
    """All skills' entries from one walk through the history."""
    if place.work_tree is None:
        return Lives({}, trouble="this project is in no git repository, so it has no history to show")
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
            affordable = takewhile(lambda _: left >= 0, find_steps(skill))
            entries = read_entries(affordable, Versions(load), skill, boundary)
            by_skill[skill] = [entry for entry in entries if entry.events]
    return Lives(by_skill, len(steps) == _MOST_STEPS or left < 0, bool(boundary))


def _is_of(touch: Touch, skill: str) -> bool:
    names = [os.path.basename(path) for path in (touch.path, touch.came_from) if path]
    return any((layout.find_skill(name) or skill) == skill and name.startswith(f"{skill}.") for name in names)


def draw_timeline(lives: Lives, states: Sequence[State]) -> Section | None:
    """The section, None where nothing happened. states: they give the order of the lanes."""
    order = [state.skill for state in states if lives.by_skill.get(state.skill)]
    if not order:
        return None
    lanes = {skill: [_mark(entry) for entry in lives.by_skill[skill]] for skill in order[:_MOST_LANES]}
    newest = [(skill, entry) for skill in order for entry in lives.by_skill[skill]]
    newest.sort(key=lambda pair: _when(pair[1]), reverse=True)
    rows = [_event_row(skill, entry) for skill, entry in newest[:_MOST_EVENTS]]
    headers = ("When", "Skill", "What happened", "Who", "Commit")
    table = grid("What happened, the newest first", headers, rows, len(newest) - len(rows))
    counted = f"{count_of(len(newest), 'commit')} of {count_of(len(order), 'skill')}"
    drawing = draw_lanes(lanes, f"{counted}; the table below has the same data.")
    notes = ["from the history"]
    notes += [f"the newest {_MOST_STEPS} commits at most"] if lives.is_cut else []
    notes += ["this clone is shallow: older commits are not in it"] if lives.is_shallow else []
    if len(order) > len(lanes):
        notes.append(f"in the table alone: {count_of(len(order) - len(lanes), 'more skill')}")
    parts = [drawing, fold("The timeline as a table", [table], anchor="events")]
    return Section("timeline", "Timeline", parts, "; ".join(notes))


def _when(entry: Entry) -> int:
    return entry.commit.at if entry.commit else 0


def _minute(instant: int) -> str:
    return write_instant(instant)[:16].replace("T", " ")


def _mark(entry: Entry) -> Mark:
    kinds = {_KINDS.get(event.kind, "other") for event in entry.events}
    kind = next(one for one in _STRONGEST if one in kinds)
    return Mark(_when(entry), kind, f"{_minute(_when(entry))}: {'; '.join(_describe(entry.events, 3, 160))}")


def _describe(events: Sequence[Event], most: int, letters: int) -> list[str]:
    said = [f"{LOOKS[event.kind][0]}: {shorten(describe_event(event), letters)}" for event in events[:most]]
    return [*said, f"and {len(events) - most} more"] if len(events) > most else said


def _event_row(skill: str, entry: Entry) -> list[str]:
    author, name = (shorten(entry.commit.author, 60), entry.commit.id[:9]) if entry.commit else ("", "")
    what = "\n".join(_describe(entry.events, 6, 240))
    return [_minute(_when(entry)), shorten(skill, 100), what, author, code(name)]


def draw_lanes(lanes: Mapping[str, Sequence[Mark]], description: str) -> Markup:
    marks = [mark for lane in lanes.values() for mark in lane]
    end = max((mark.at for mark in marks), default=0)
    span = max(end - min((mark.at for mark in marks), default=0), DAY)
    start = end - span  # a short time ends where it ended: nothing is in the days to come
    height = _TOP + _LANE * len(lanes) + _AXIS
    used = {mark.kind for mark in marks}
    sample = '<li><svg width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true">{}</svg>{}</li>'
    legend = [html(sample, _shape(kind), name) for kind, (_, name) in _SHAPES.items() if kind in used]
    drawn = [_draw_lane(name, lane, at, start, span) for at, (name, lane) in enumerate(lanes.items())]
    return html(_FIGURE, height, description, _draw_axis(start, span, height), drawn, legend)


def _share(part: float) -> str:
    return f"{_LEFT + part * _WIDE:.2f}%"


def _draw_axis(start: int, span: int, height: int) -> Iterator[Markup]:
    line = '<line class="rule{}" x1="{}" x2="{}" y1="{}" y2="{}"></line>'
    for quarter, anchor in enumerate(("start", "middle", "middle", "middle", "end")):
        x, at, width = _share(quarter / 4), _minute(start + span * quarter // 4), " wide" if quarter % 2 else ""
        day = at[:10] if span > _FEW_DAYS else at[5:]  # of a few days, with the hour
        yield html(line, width, x, x, _TOP, height - _AXIS + 4)
        yield html('<text class="day{}" x="{}" y="{}" text-anchor="{}">{}</text>', width, x, height - 6, anchor, day)


def _draw_lane(name: str, marks: Sequence[Mark], at: int, start: int, span: int) -> Markup:
    top = _TOP + at * _LANE
    y = top + 30
    places: dict[int, list[Mark]] = {}
    for mark in marks:
        places.setdefault(round((mark.at - start) / span * _PLACES), []).append(mark)
    line = '<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"></line>'
    parts = [html('<text class="lane" x="{}" y="{}">{}</text>', _share(0), top + 14, shorten(name, 40))]
    parts.append(html(line, "thread", _share(0), _share(1), y, y))
    if places:
        first, last = (_share(place / _PLACES) for place in (min(places), max(places)))
        parts.append(html(line, "lived", first, last, y, y))
    for place, found in sorted(places.items()):
        kind = next(each for each in _STRONGEST if each in {mark.kind for mark in found})
        titles = [shorten(mark.text, 200) for mark in found[:_MOST_TITLES]]
        titles += [f"and {len(found) - _MOST_TITLES} more"] if len(found) > _MOST_TITLES else []
        drawn = '<svg x="{}" y="{}" overflow="visible"><title>{}</title>{}</svg>'
        parts.append(html(drawn, _share(place / _PLACES), y, "\n".join(titles), _shape(kind)))
    return html("{}", parts)


def _shape(kind: Kind) -> Markup:
    return html('<path class="mark {}" d="{}"></path>', kind, _SHAPES[kind][0])
