"""What happened to one checkpoint between two versions of it, or since an instant where the older one is unknown. Pure.

It knows no skill_state: what a digest tells is what other skills may read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import read_instant
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.progress import text_field
from checkpoint_git.protocols.skill.state import State
from checkpoint_git.protocols.skill.views import action_text, is_open, read_list, read_objects

# What can happen, in the order in which it is told.
KINDS = (
    "started", "status", "phase", "step", "completed", "done", "decided", "opened", "closed", "ticket", "handed_over",
    "row", "dropped", "queued",
)  # fmt: skip


class Event(NamedTuple):
    """One thing that happened. kind: one of KINDS. text: what it happened to."""

    kind: str
    text: str


class Change(NamedTuple):
    """A checkpoint written since an instant. done: the actions that were done since. is_compared: whether the events
    come from comparing it with its version of then, rather than from the times that it holds itself.
    """

    state: State
    done: list[str]
    events: list[Event]
    is_compared: bool


def find_changes(
    documents: Sequence[Document],
    states: Sequence[State],
    since: int,
    versions: Mapping[str, dict[str, Any]] | None = None,
) -> list[Change]:
    """The checkpoints whose updated_at is not before an instant (seconds since 1970), the newest first.

    versions: path -> what the checkpoint was at that instant, as far as it is known.
    """
    values = {document.path: document.value or {} for document in documents}
    changed = [state for state in states if is_since(state.updated_at, since)]
    changed.sort(key=lambda state: read_instant(state.updated_at) or (0, ""), reverse=True)
    return [_find_change(state, values[state.path], since, (versions or {}).get(state.path)) for state in changed]


def _find_change(state: State, value: dict[str, Any], since: int, before: dict[str, Any] | None) -> Change:
    events = find_events(before, value, since)
    return Change(state, [event.text for event in events if event.kind == "done"], events, before is not None)


def find_events(before: dict[str, Any] | None, value: dict[str, Any], since: int) -> list[Event]:
    """What happened since an instant (seconds since 1970), by field.

    before: the version of then. None where it is unknown: then only what carries a time of its own is told.
    """
    if before is None:
        return list(_find_dated(value, since))
    events = [Event(kind, text) for find in _COMPARISONS for kind, text in find(before, value)]
    return sorted(events, key=lambda event: KINDS.index(event.kind))


def find_done(value: dict[str, Any], since: int) -> list[str]:
    """The actions that were taken off the list since an instant, the newest first."""
    done = read_objects(value, "recently_done")
    return [action_text(entry) for entry in done if is_since(entry.get("at"), since) and action_text(entry)]


def is_since(text: object, since: int) -> bool:
    """Whether a text is an instant that is not before another."""
    instant = read_instant(text)
    return instant is not None and instant[0] >= since


def _find_dated(value: dict[str, Any], since: int) -> Iterator[Event]:
    if is_since(value.get("created_at"), since):
        yield Event("started", text_field(value, "project"))
    yield from (Event("done", text) for text in find_done(value, since))
    for blocker in read_objects(value, "blockers"):
        if is_since(blocker.get("resolved_at"), since):
            yield Event("closed", _describe_blocker(blocker))
    for ref in read_objects(value, "pm_refs"):
        if is_since(ref.get("first_seen_at"), since):
            yield Event("ticket", _describe_ticket(ref))
    for handoff in read_objects(value, "handoffs"):
        if is_since(handoff.get("at"), since):
            yield Event("handed_over", _describe_handoff(handoff))


# comparisons, each a (kind, text) for what differs

Pairs = Iterator[tuple[str, str]]


def _compare_fields(before: dict[str, Any], value: dict[str, Any]) -> Pairs:
    for key in ("status", "phase", "step"):
        old, new = text_field(before, key), text_field(value, key)
        if old != new:
            yield key, f"{old or '(none)'} -> {new or '(none)'}"


def _compare_rows(before: dict[str, Any], value: dict[str, Any]) -> Pairs:
    old: dict[str, list[Any]] = {}
    for row in _named_rows(before):
        old.setdefault(row["id"], []).append(row.get("status"))
    for row in _named_rows(value):
        then, now = old.get(row["id"], []), row.get("status")
        label = text_field(row, "label") or row["id"]
        if now not in then:
            yield (
                ("completed", label)
                if now == "complete"
                else ("row", f"{label}: {then[0] if then else 'new'} -> {now}")
            )


def _named_rows(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in read_objects(value, "progress_table") if text_field(row, "id")]


def _compare_actions(before: dict[str, Any], value: dict[str, Any]) -> Pairs:
    old, new = (_texts(read_list(document, "next_actions")) for document in (before, value))
    known = read_list(before, "recently_done")
    done = _texts([entry for entry in read_list(value, "recently_done") if entry not in known])
    yield from (("done", text) for text in done)
    yield from (("dropped", text) for text in old if text not in new and text not in done)
    yield from (("queued", text) for text in new if text not in old)


def _compare_decisions(before: dict[str, Any], value: dict[str, Any]) -> Pairs:
    old, new = (_texts(_read_decisions(document)) for document in (before, value))
    yield from (("decided", text) for text in new if text not in old)


def _compare_blockers(before: dict[str, Any], value: dict[str, Any]) -> Pairs:
    old, new = (
        {_describe_blocker(one): one for one in read_objects(document, "blockers")} for document in (before, value)
    )
    yield from (("opened", name) for name, one in new.items() if is_open(one) and not _stands(old.get(name)))
    yield from (("closed", name) for name, one in old.items() if is_open(one) and not _stands(new.get(name)))


def _stands(blocker: dict[str, Any] | None) -> bool:
    return blocker is not None and is_open(blocker)


def _compare_lists(key: str, kind: str, describe: Callable[[Any], str]) -> Callable[..., Pairs]:
    """A comparison that tells the new items of a list."""

    def compare(before: dict[str, Any], value: dict[str, Any]) -> Pairs:
        old = [describe(item) for item in read_list(before, key)]
        new = dict.fromkeys(describe(item) for item in read_list(value, key))
        yield from ((kind, text) for text in new if text and text not in old)

    return compare


def _describe_blocker(blocker: dict[str, Any]) -> str:
    return text_field(blocker, "description") or text_field(blocker, "id")


def _describe_ticket(ref: Any) -> str:
    if not isinstance(ref, dict) or not isinstance(ref.get("id"), str | int):
        return ""
    role = text_field(ref, "role")
    return f"{ref['id']} ({role})" if role else str(ref["id"])


def _describe_handoff(handoff: Any) -> str:
    if not isinstance(handoff, dict):
        return handoff if isinstance(handoff, str) else ""
    texts = [text_field(handoff, key) for key in ("to", "text", "summary", "description")]
    return ": ".join(filter(None, texts))


_COMPARISONS: tuple[Callable[[dict[str, Any], dict[str, Any]], Pairs], ...] = (
    _compare_fields,
    _compare_rows,
    _compare_actions,
    _compare_decisions,
    _compare_blockers,
    _compare_lists("pm_refs", "ticket", _describe_ticket),
    _compare_lists("handoffs", "handed_over", _describe_handoff),
)


def _texts(items: list[Any]) -> list[str]:
    return [text for item in items if (text := action_text(item).strip())]


def _read_decisions(document: dict[str, Any]) -> list[Any]:
    primer = document.get("context_primer")
    return read_list(primer, "key_decisions") if isinstance(primer, dict) else []
