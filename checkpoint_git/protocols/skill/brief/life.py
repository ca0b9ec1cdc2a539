"""Find what one commit did to the public part of a checkpoint, by comparing versions. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.outcome import Glyph, Line, Style
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.skill import views

# kind of event, in the order in which they are shown -> (its name, sign, style)
LOOKS: dict[str, tuple[str, Glyph, Style]] = {
    "started": ("started", "", "good"),
    "known": ("was there", "", "dim"),
    "deleted": ("deleted", "failed", "bad"),
    "archived": ("archived", "", "warn"),
    "moved": ("moved", "", ""),
    "broken": ("broken", "failed", "bad"),
    "repaired": ("repaired", "complete", "good"),
    "status": ("status", "", "strong"),
    "phase": ("phase", "", ""),
    "step": ("step", "", ""),
    "completed": ("completed", "complete", "good"),
    "row": ("row", "", ""),
    "row_gone": ("row removed", "", "dim"),
    "done": ("done", "complete", "good"),
    "decided": ("decided", "", ""),
    "withdrawn": ("decision removed", "", "warn"),
    "opened": ("blocker opened", "blocked", "warn"),
    "closed": ("blocker closed", "complete", "good"),
    "ticket": ("ticket", "", ""),
    "handed_over": ("handed over", "", ""),
    "dropped": ("dropped", "", "dim"),
    "queued": ("queued", "not_started", ""),
    "rotated": ("rotated", "", "dim"),
}
KINDS = tuple(LOOKS)
ROW_KINDS = frozenset(("completed", "row", "row_gone"))
DECISION_KINDS = frozenset(("decided", "withdrawn", "opened", "closed"))

_LONGEST = 2_000  # letters of one text
_MOST = 200  # events of one commit


class LifeEvent(NamedTuple):
    """Hold one thing that happened.

    kind: one of KINDS. subject: a name that stays: a row's id, a field, else the text. text: for
    output. before, after: of a status, field or path, "" if none.
    """

    kind: str
    subject: str
    text: str
    before: str = ""
    after: str = ""


def describe_event(event: LifeEvent) -> str:
    """Return an event's text for output, without the name of its kind."""
    change = f"{event.before or '(none)'} -> {event.after or '(none)'}"
    if event.kind in ("status", "phase", "step", "moved"):
        return change
    if event.kind == "row":
        return f"{event.text}: {change}"
    if event.kind in ("rotated", "archived"):
        return f"{event.text} to {event.after}"
    return event.text


class History(NamedTuple):
    """Hold a history file of a checkpoint.

    entries: former place -> the entries that moved; {} for a whole checkpoint.
    """

    path: str
    entries: Mapping[str, Sequence[Any]]


def event_lines(events: Sequence[tuple[str, str]], most: int, letters: int) -> Iterator[Line]:
    """Yield lines for events, each (kind, text). most: of events; letters: of each text."""
    for kind, text in events[:most]:
        name, glyph, style = LOOKS[kind]
        yield Line(f"  {name}: {shorten(text, letters)}", style, glyph, 4)
    if len(events) > most:
        yield Line(f"  and {len(events) - most} more: --json has all of them", "dim")


def find_events(before: dict[str, Any], after: dict[str, Any]) -> list[LifeEvent]:
    """Return the differences between the public parts of two versions, in the order of KINDS."""
    found = list[LifeEvent]()
    for keys, compare in _COMPARISONS:
        if any(is_different(before, after, key) for key in keys):
            found += compare(before, after)
    events = [_shorten_texts(event) for event in found[:_MOST]]
    return sorted(events, key=lambda event: KINDS.index(event.kind))


def _shorten_texts(event: LifeEvent) -> LifeEvent:
    return LifeEvent(event.kind, *(shorten(text, _LONGEST) for text in event[1:]))


def find_first_events(value: dict[str, Any]) -> list[LifeEvent]:
    """Return what a checkpoint's first version has: rows in work, decisions, open blockers."""
    early = ("completed", "row", "decided", "opened")
    events = [event for event in find_events({}, value) if event.kind in early]
    return [event for event in events if (event.kind, event.after) != ("row", "not_started")]


def is_different(before: dict[str, Any], after: dict[str, Any], key: str) -> bool:
    """Whether a field differs in two versions; one that is too deep to compare does."""
    try:
        return bool(before.get(key) != after.get(key))
    except RecursionError:
        return True


def find_own_events(parents: Sequence[dict[str, Any]], result: dict[str, Any]) -> list[LifeEvent]:
    """Return what a merge did itself: the events that its result has against all parents."""
    first, *others = [find_events(parent, result) for parent in parents]
    common = {_identity(event) for event in first}
    for found in others:
        common &= {_identity(event) for event in found}
    return [event for event in first if _identity(event) in common]


def _identity(event: LifeEvent) -> tuple[str, str, str]:
    return event.kind, event.subject, event.after


def fold_rotation(
    events: Sequence[LifeEvent], past: Sequence[History], *, is_gone: bool
) -> list[LifeEvent]:
    """Return the events of a commit with one for each history file that it added.

    Decisions that moved there are not withdrawn. is_gone: the commit removed the checkpoint.
    """
    moved = set[str]()
    for history in past:
        for items in history.entries.values():
            moved.update(_texts(list(items)))
    remaining = list[LifeEvent]()
    for event in events:
        if event.kind != "withdrawn" or event.subject not in moved:
            remaining.append(event)

    for history in past:
        path = history.path
        if history.entries:
            count = sum(len(items) for items in history.entries.values())
            text = "1 entry" if count == 1 else f"{count} entries"
            remaining.append(LifeEvent("rotated", path, text, after=path))
        elif is_gone:
            remaining = [event for event in remaining if event.kind != "deleted"]
            remaining.append(LifeEvent("archived", path, "the whole checkpoint", after=path))

    return sorted(remaining, key=lambda event: KINDS.index(event.kind))


def read_history(path: str, value: Any, skill: str) -> History | None:
    """Return a history file by its content; None for another skill's, and for another file."""
    if not isinstance(value, dict) or value.get("skill") != skill:
        return None
    entries: dict[str, list[Any]] = {}
    for part in views.read_objects(value, "entries"):
        if isinstance(part.get("items"), list):
            entries.setdefault(str(part.get("where")), []).extend(part["items"])
    if not entries and "protocol_version" not in value:
        return None
    return History(path, entries)


def is_wanted(event: LifeEvent, rows: Sequence[str] | None, decisions: bool) -> bool:
    """Whether an event passes the filters. rows: ids, [] for all rows, None for no such filter."""
    if rows is None and not decisions:
        return True
    if rows is not None and event.kind in ROW_KINDS and (not rows or event.subject in rows):
        return True
    return decisions and event.kind in DECISION_KINDS


Events = Iterator[LifeEvent]
_Compare = Callable[[dict[str, Any], dict[str, Any]], Events]


def _compare_fields(before: dict[str, Any], after: dict[str, Any]) -> Events:
    for key in ("status", "phase", "step"):
        old, new = views.text_field(before, key), views.text_field(after, key)
        if old != new:
            yield LifeEvent(key, key, "", old, new)


def _compare_rows(before: dict[str, Any], after: dict[str, Any]) -> Events:
    old = _read_rows(before)
    new = _read_rows(after)
    for name, (label, status) in new.items():
        former = "new"
        if name in old:
            former = old[name][1]
        if former != status:
            kind = "completed" if status == "complete" else "row"
            yield LifeEvent(kind, name, label, former, status)

    for name, (label, status) in old.items():
        if name not in new:
            yield LifeEvent("row_gone", name, label, status)


def _read_rows(value: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the label and the status of each row of progress_table, by its id."""
    rows = {}
    for row in views.read_objects(value, "progress_table"):
        name = views.text_field(row, "id")
        if name:
            label = views.text_field(row, "label") or name
            rows[name] = (label, str(row.get("status", "?")))
    return rows


def _compare_actions(before: dict[str, Any], after: dict[str, Any]) -> Events:
    old = _texts(views.read_list(before, "next_actions"))
    new = _texts(views.read_list(after, "next_actions"))
    listed_before = set(old)
    listed_now = set(new)
    recorded_before = set(_done_texts(before))

    done = dict[str, None]()
    for text in _done_texts(after):
        # an action of the list is done once it is off it, another one once it is recorded
        if text in listed_before:
            is_done = text not in listed_now
        else:
            is_done = text not in recorded_before
        if is_done:
            done[text] = None

    for text in done:
        yield LifeEvent("done", text, text)
    for text in old:
        if text not in listed_now and text not in done:
            yield LifeEvent("dropped", text, text)
    for text in new:
        if text not in listed_before:
            yield LifeEvent("queued", text, text)


def _compare_blockers(before: dict[str, Any], after: dict[str, Any]) -> Events:
    old = _read_blockers(before)
    new = _read_blockers(after)
    yield from (LifeEvent("opened", name, text) for name, text in new.items() if name not in old)
    yield from (LifeEvent("closed", name, text) for name, text in old.items() if name not in new)


def _read_blockers(value: dict[str, Any]) -> dict[str, str]:
    """Return the description of each open blocker by its id."""
    found = {}
    for blocker in views.open_blockers(value):
        name = views.text_field(blocker, "id")
        text = views.text_field(blocker, "description")
        if name or text:
            found[name or text] = text or name
    return found


def describe_ticket(ref: dict[str, Any]) -> str:
    """Return an entry of pm_refs as a text, such as T-1 (source)."""
    name = ref.get("id")
    role = views.text_field(ref, "role")
    if not isinstance(name, str | int):
        return ""
    if role:
        return f"{name} ({role})"
    return str(name)


def describe_handoff(item: Any) -> str:
    """Return an entry of handoffs as a text, such as deploy: roll it out."""
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        return ""
    texts = [views.text_field(item, key) for key in ("to", "text", "summary", "description")]
    return ": ".join(filter(None, texts))


def _compare_texts(
    read: Callable[[dict[str, Any]], Iterable[str]], added: str, removed: str = ""
) -> _Compare:
    """Return a comparison of the texts that two versions list.

    added, removed: kinds of events; removed is "" if a text that is gone is no event.
    """

    def compare(before: dict[str, Any], after: dict[str, Any]) -> Events:
        old, new = (dict.fromkeys(filter(None, read(value))) for value in (before, after))
        yield from (LifeEvent(added, text, text) for text in new if text not in old)
        yield from (LifeEvent(removed, text, text) for text in old if removed and text not in new)

    return compare


def _done_texts(value: dict[str, Any]) -> list[str]:
    texts = [views.done_text(entry).strip() for entry in views.read_list(value, "recently_done")]
    return [text for text in texts if text]


def _texts(items: list[Any]) -> list[str]:
    return [text for item in items if (text := views.action_text(item).strip())]


# the fields that a comparison reads: where they are equal there is nothing to compare
_COMPARISONS: tuple[tuple[tuple[str, ...], _Compare], ...] = (
    (("status", "phase", "step"), _compare_fields),
    (("progress_table",), _compare_rows),
    (("next_actions", "recently_done"), _compare_actions),
    (
        ("context_primer",),
        _compare_texts(
            lambda value: _texts(views.read_primer(value, "key_decisions")), "decided", "withdrawn"
        ),
    ),
    (("blockers",), _compare_blockers),
    (
        ("pm_refs",),
        _compare_texts(
            lambda value: map(describe_ticket, views.read_objects(value, "pm_refs")), "ticket"
        ),
    ),
    (
        ("handoffs",),
        _compare_texts(
            lambda value: map(describe_handoff, views.read_list(value, "handoffs")), "handed_over"
        ),
    ),
)
