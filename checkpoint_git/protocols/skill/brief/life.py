"""What one commit did to the public part of a checkpoint: two versions compared, or a merge with
its parents. Pure.
"""

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
    """One thing that happened. kind: one of KINDS. subject: what it happened to, by the name that
    stays: a row's id, a field, else the text. text: for people. before, after: what a status, field
    or path was and is, "" if none.
    """

    kind: str
    subject: str
    text: str
    before: str = ""
    after: str = ""


def describe_event(event: LifeEvent) -> str:
    """An event's text after its name: what it happened to, what that was and is."""
    if event.kind in ("completed", "done", "row_gone"):
        return event.text
    change = f"{event.before or '(none)'} -> {event.after or '(none)'}"
    if event.kind in ("status", "phase", "step", "moved"):
        return change
    if event.kind == "row":
        return f"{event.text}: {change}"
    return f"{event.text} to {event.after}" if event.kind in ("rotated", "archived") else event.text


class History(NamedTuple):
    """A file beside the checkpoint's past. entries: their former places -> what moved; {} for a
    whole checkpoint.
    """

    path: str
    entries: Mapping[str, Sequence[Any]]


def event_lines(events: Sequence[tuple[str, str]], most: int, letters: int) -> Iterator[Line]:
    """For people, from (kind, text): so many events at most, and so many letters of each."""
    for kind, text in events[:most]:
        name, glyph, style = LOOKS[kind]
        yield Line(f"  {name}: {shorten(text, letters)}", style, glyph, 4)
    if len(events) > most:
        yield Line(f"  and {len(events) - most} more: --json has all of them", "dim")


def find_events(before: dict[str, Any], after: dict[str, Any]) -> list[LifeEvent]:
    """What differs between two versions, in the order of KINDS; [] where only what nobody else
    reads does.
    """
    differing = (
        find for keys, find in _COMPARISONS if any(is_different(before, after, key) for key in keys)
    )
    found = [event for find in differing for event in find(before, after)][:_MOST]
    events = [
        LifeEvent(event.kind, *(shorten(text, _LONGEST) for text in event[1:])) for event in found
    ]
    return sorted(events, key=lambda event: KINDS.index(event.kind))


def find_first_events(value: dict[str, Any]) -> list[LifeEvent]:
    """What the first version of a checkpoint holds already: rows that have begun, decisions, open
    blockers.
    """
    early = ("completed", "row", "decided", "opened")
    events = [event for event in find_events({}, value) if event.kind in early]
    return [event for event in events if (event.kind, event.after) != ("row", "not_started")]


def is_different(before: dict[str, Any], after: dict[str, Any], key: str) -> bool:
    """Return whether a field differs in two versions; one that is too deep counts as different."""
    try:
        return bool(before.get(key) != after.get(key))
    except RecursionError:
        return True


def find_own_events(parents: Sequence[dict[str, Any]], result: dict[str, Any]) -> list[LifeEvent]:
    """What a merge did that none of its parents had done: what one of them has as it is now came by
    the merge.
    """
    first, *others = [find_events(parent, result) for parent in parents]
    known = [{(event.kind, event.subject, event.after) for event in events} for events in others]
    return [
        event
        for event in first
        if all((event.kind, event.subject, event.after) in each for each in known)
    ]


def fold_rotation(
    events: Sequence[LifeEvent], past: Sequence[History], *, is_gone: bool
) -> list[LifeEvent]:
    """Of a commit that also filled the history, with one event a file there. is_gone: the
    checkpoint itself went.
    """
    moved = {text for one in past for items in one.entries.values() for text in _texts(list(items))}
    left = [event for event in events if not (event.kind == "withdrawn" and event.subject in moved)]
    for one in past:
        count = sum(len(items) for items in one.entries.values())
        if one.entries:
            left.append(
                LifeEvent(
                    "rotated",
                    one.path,
                    f"{count} entr{'y' if count == 1 else 'ies'}",
                    after=one.path,
                )
            )
        elif is_gone:
            left = [event for event in left if event.kind != "deleted"]
            left.append(LifeEvent("archived", one.path, "the whole checkpoint", after=one.path))

    return sorted(left, key=lambda event: KINDS.index(event.kind))


def read_history(path: str, value: Any, skill: str) -> History | None:
    """A history file by its content; None if it is another skill's, or has nothing of this kind."""
    if not isinstance(value, dict) or value.get("skill") != skill:
        return None
    entries: dict[str, list[Any]] = {}
    for part in views.read_objects(value, "entries"):
        if isinstance(part.get("items"), list):
            entries.setdefault(str(part.get("where")), []).extend(part["items"])
    return History(path, entries) if entries or "protocol_version" in value else None


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
    """By id, each with its label and its status."""
    old, new = (
        {
            row["id"]: (views.text_field(row, "label") or row["id"], str(row.get("status", "?")))
            for row in views.read_objects(value, "progress_table")
            if views.text_field(row, "id")
        }
        for value in (before, after)
    )
    for name, (label, now) in new.items():
        then = old[name][1] if name in old else "new"
        if then != now:
            yield LifeEvent("completed" if now == "complete" else "row", name, label, then, now)

    yield from (
        LifeEvent("row_gone", name, label, then)
        for name, (label, then) in old.items()
        if name not in new
    )


def _compare_actions(before: dict[str, Any], after: dict[str, Any]) -> Events:
    old, new = (_texts(views.read_list(value, "next_actions")) for value in (before, after))
    known, recent = (_done_texts(value) for value in (before, after))
    was, stands, known_before = set(old), set(new), set(known)
    # what was on the list is done once it is off it, what never was once it is recorded
    done = dict.fromkeys(
        text for text in recent if (text not in stands if text in was else text not in known_before)
    )
    yield from (LifeEvent("done", text, text) for text in done)
    yield from (
        LifeEvent("dropped", text, text) for text in old if text not in stands and text not in done
    )
    yield from (LifeEvent("queued", text, text) for text in new if text not in was)


def _compare_blockers(before: dict[str, Any], after: dict[str, Any]) -> Events:
    old, new = dict[str, str](), dict[str, str]()
    for found, value in ((old, before), (new, after)):
        for blocker in views.open_blockers(value):
            name, text = views.text_field(blocker, "id"), views.text_field(blocker, "description")
            if name or text:
                found[name or text] = text or name
    yield from (LifeEvent("opened", name, text) for name, text in new.items() if name not in old)
    yield from (LifeEvent("closed", name, text) for name, text in old.items() if name not in new)


def describe_ticket(ref: dict[str, Any]) -> str:
    """An entry of pm_refs, such as T-1 (source)."""
    name, role = ref.get("id"), views.text_field(ref, "role")
    return "" if not isinstance(name, str | int) else f"{name} ({role})" if role else str(name)


def describe_handoff(item: Any) -> str:
    """An entry of handoffs, such as deploy: roll it out."""
    if not isinstance(item, dict):
        return item if isinstance(item, str) else ""
    return ": ".join(
        filter(
            None, (views.text_field(item, key) for key in ("to", "text", "summary", "description"))
        )
    )


def _compare_texts(
    read: Callable[[dict[str, Any]], Iterable[str]], added: str, removed: str = ""
) -> _Compare:
    """A comparison of what two versions list. removed: "" if what goes is not an event."""

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
