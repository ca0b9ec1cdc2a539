"""What happened when, as a drawing inside a page: lanes over one span of time, as wide as there is room.

Places along the width are shares of it, so that letters and marks keep their size on a phone and on a wall.
"""

from collections.abc import Iterator, Sequence

from checkpoint_git.core.clock import DAY, write_instant
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.tools.report.blocks import Kind, Lane, Mark, Timeline
from checkpoint_git.tools.report.markup import Markup, element

_LANE, _TOP, _AXIS = 46, 8, 26  # pixels
_PLACES = 90  # along the width: what is nearer together becomes one mark
_FEW_DAYS = 5 * DAY
_MOST_TOLD = 12  # of one mark
_LEFT, _WIDE = 1.5, 97.0  # percent of the width
_SHAPES: dict[Kind, str] = {
    "progress": "M0-6A6 6 0 1 1 0 6A6 6 0 1 1 0-6Z",
    "decision": "M0-7.5L7.5 0L0 7.5L-7.5 0Z",
    "blocker": "M0-7L7 5.5L-7 5.5Z",
    "broken": "M-5.5-5.5H5.5V5.5H-5.5Z",
    "other": "M0-4.5A4.5 4.5 0 1 1 0 4.5A4.5 4.5 0 1 1 0-4.5Z",
}
_NAMES: dict[Kind, str] = {
    "progress": "progress",
    "decision": "a decision, or a blocker closed",
    "blocker": "a blocker opened",
    "broken": "deleted or broken",
    "other": "anything else",
}
_STRONGEST: tuple[Kind, ...] = ("broken", "blocker", "progress", "decision", "other")  # which one a mark of several is


def draw_timeline(timeline: Timeline) -> Markup:
    """The drawing and what its marks mean."""
    times = [mark.at for lane in timeline.lanes for mark in lane.marks]
    end = max(times, default=0)
    span = max(end - min(times, default=0), DAY)
    start = end - span  # a short time ends where it ended: nothing stands in the days to come
    height = _TOP + _LANE * len(timeline.lanes) + _AXIS
    names = "timeline-name timeline-words"
    drawing = element(
        "svg",
        {"class": "timeline", "role": "img", "width": "100%", "height": height, "aria-labelledby": names},
        element("title", {"id": "timeline-name"}, timeline.title),
        element("desc", {"id": "timeline-words"}, timeline.description),
        *_draw_axis(start, start + span, height),
        *(part for at, lane in enumerate(timeline.lanes) for part in _draw_lane(lane, at, start, span)),
    )
    used = {mark.kind for lane in timeline.lanes for mark in lane.marks}
    legend = [element("li", {}, _sample(kind), name) for kind, name in _NAMES.items() if kind in used]
    return element("figure", {}, drawing, element("figcaption", {}, element("ul", {"class": "legend"}, *legend)))


def _share(part: float) -> str:
    return f"{_LEFT + part * _WIDE:.2f}%"


def _draw_axis(start: int, end: int, height: int) -> Iterator[Markup]:
    bottom = height - _AXIS + 4
    for step, (anchor, name) in enumerate(
        (("start", ""), ("middle", "wide"), ("middle", ""), ("middle", "wide"), ("end", ""))
    ):
        x = _share(step / 4)
        yield element("line", {"class": f"rule {name}".strip(), "x1": x, "x2": x, "y1": _TOP, "y2": bottom})
        told = _tell_instant(start + (end - start) * step // 4, end - start)
        yield element("text", {"class": f"day {name}".strip(), "x": x, "y": height - 6, "text-anchor": anchor}, told)


def _tell_instant(instant: int, span: int) -> str:
    """A day, or where there are only a few of them, a day of the year with its hour."""
    at = write_instant(instant)
    return at[:10] if span > _FEW_DAYS else f"{at[5:10]} {at[11:16]}"


def _draw_lane(lane: Lane, at: int, start: int, span: int) -> Iterator[Markup]:
    top = _TOP + at * _LANE
    y = top + 30
    yield element("text", {"class": "lane", "x": _share(0), "y": top + 14}, shorten(lane.name, 40))
    yield element("line", {"class": "thread", "x1": _share(0), "x2": _share(1), "y1": y, "y2": y})
    places = _gather_places(lane.marks, start, span)
    if places:
        first, last = (_share(place / _PLACES) for place in (min(places), max(places)))
        yield element("line", {"class": "lived", "x1": first, "x2": last, "y1": y, "y2": y})
    for place, marks in sorted(places.items()):
        yield _draw_mark(marks, _share(place / _PLACES), y)


def _gather_places(marks: Sequence[Mark], start: int, span: int) -> dict[int, list[Mark]]:
    places: dict[int, list[Mark]] = {}
    for mark in marks:
        places.setdefault(round((mark.at - start) / span * _PLACES), []).append(mark)
    return places


def _draw_mark(marks: Sequence[Mark], x: str, y: int) -> Markup:
    kinds = {mark.kind for mark in marks}
    kind = next(each for each in _STRONGEST if each in kinds)
    told = [shorten(mark.text, 200) for mark in marks[:_MOST_TOLD]]
    told += [f"and {len(marks) - _MOST_TOLD} more"] if len(marks) > _MOST_TOLD else []
    title = element("title", {}, "\n".join(told))
    shape = element("path", {"class": f"mark {kind}", "d": _SHAPES[kind]})
    return element("svg", {"x": x, "y": y, "overflow": "visible"}, title, shape)


def _sample(kind: Kind) -> Markup:
    shape = element("path", {"class": f"mark {kind}", "d": _SHAPES[kind]})
    return element("svg", {"width": 16, "height": 16, "viewBox": "-8 -8 16 16", "aria-hidden": "true"}, shape)
