"""Find what changed since an instant, by comparing each checkpoint with its version in git."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, read_duration, read_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Line
from checkpoint_git.core.terminal_text import escape_controls, plural, shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.brief import life
from checkpoint_git.protocols.skill.brief.brief import Brief
from checkpoint_git.protocols.skill.views import done_text, read_objects, text_field
from checkpoint_git.protocols.validate import iterate_checked

# The kinds of events, in the order of the output.
KINDS = (
    "started",
    "status",
    "phase",
    "step",
    "completed",
    "done",
    "decided",
    "opened",
    "closed",
    "ticket",
    "handed_over",
    "row",
    "dropped",
    "queued",
)
_SHOWN_LETTERS = 160
_SHOWN_EVENTS = 12  # of one checkpoint
# what the first line counts: kind -> (one, several)
_COUNTED = {
    "completed": ("row completed", "rows completed"),
    "done": ("action done", "actions done"),
    "decided": ("decision made", "decisions made"),
    "opened": ("blocker opened", "blockers opened"),
    "closed": ("blocker closed", "blockers closed"),
}


class SinceEvent(NamedTuple):
    """Hold one thing that happened. kind: one of KINDS. text: what it happened to."""

    kind: str
    text: str


class ChangedCheckpoint(NamedTuple):
    """Hold what changed in a checkpoint since an instant.

    done: the actions done since. is_compared: the events come from comparing it with its version
    at that instant, not only from the times in it.
    """

    state: Brief
    done: list[str]
    events: list[SinceEvent]
    is_compared: bool


def read_since(text: str, now: int) -> int:
    """Return a time, a day (from its first second in UTC), today, yesterday, or 12h, 2d, 3w back,
    since 1970.

    Raises CheckpointError.
    """
    instant = read_instant(text) or read_instant(f"{text}T00:00:00Z")
    if instant is not None:
        return instant[0]
    days_back = {"today": 0, "yesterday": 1}.get(text.strip().lower())
    if days_back is not None:
        return now - now % DAY - days_back * DAY
    back = read_duration(text)
    if back is not None and text[-1] in "hdw" and len(text) < 6:
        return now - back
    shown = escape_controls(shorten(text, 60))
    raise CheckpointError(
        f'--since: cannot parse "{shown}"', "try yesterday, 2d, 2026-06-01 or 2026-06-01T00:00:00Z"
    )


def read_changes(
    place: Place, documents: Sequence[Document], states: Sequence[Brief], since: int, now: int
) -> tuple[list[ChangedCheckpoint], list[Finding]]:
    """Return the checkpoints that changed since an instant, and a finding if git cannot be read.

    since, now: seconds since 1970.
    """
    # without those that are broken, or that HEAD's own line did not have at that instant
    versions: dict[str, dict[str, Any]] = {}
    troubles = list[Finding]()
    if place.work_tree is not None:
        from checkpoint_git.git.history.history import read_commit_at
        from checkpoint_git.git.staged import read_committed

        try:
            commit = read_commit_at(place.work_tree, since)
            if commit:
                paths = {document.path for document in documents}
                files = read_committed(place.work_tree, commit, paths).files
                for version in iterate_checked(files, now):
                    if version.value is not None:
                        versions[version.path] = version.value
        except CheckpointError as error:
            message = f"the versions of then could not be read: {error.message}"
            troubles.append(Finding("status/no-history", "note", message, hint=error.hint))

    return find_changes(documents, states, since, versions), troubles


def find_changes(
    documents: Sequence[Document],
    states: Sequence[Brief],
    since: int,
    versions: Mapping[str, dict[str, Any]],
) -> list[ChangedCheckpoint]:
    """Return the checkpoints written since an instant, newest first.

    versions: path -> the value at that instant, if it is known.
    """
    values = {document.path: document.value or {} for document in documents}
    changed = [state for state in states if _is_since(state.updated_at, since)]
    changed.sort(key=lambda state: read_instant(state.updated_at) or (0, ""), reverse=True)
    found = []
    for state in changed:
        before = versions.get(state.path)
        events = find_events(before, values[state.path], since)
        done = [event.text for event in events if event.kind == "done"]
        found.append(ChangedCheckpoint(state, done, events, before is not None))

    return found


def find_events(
    before: dict[str, Any] | None, value: dict[str, Any], since: int
) -> list[SinceEvent]:
    """Return the events since an instant.

    before: the value at that instant; None for only the events of entries with a time.
    """
    if before is None:
        return list(_find_dated(value, since))
    found = [event for event in life.find_events(before, value) if event.kind in KINDS]
    found.sort(key=lambda event: KINDS.index(event.kind))
    return [SinceEvent(event.kind, life.describe_event(event)) for event in found]


def _is_since(text: object, since: int) -> bool:
    instant = read_instant(text)
    return instant is not None and instant[0] >= since


def _find_dated(value: dict[str, Any], since: int) -> Iterator[SinceEvent]:
    if _is_since(value.get("created_at"), since):
        yield SinceEvent("started", text_field(value, "project"))
    for entry in read_objects(value, "recently_done"):
        if _is_since(entry.get("at"), since) and done_text(entry):
            yield SinceEvent("done", done_text(entry))

    for blocker in read_objects(value, "blockers"):
        if _is_since(blocker.get("resolved_at"), since):
            yield SinceEvent(
                "closed", text_field(blocker, "description") or text_field(blocker, "id")
            )

    for ref in read_objects(value, "pm_refs"):
        if _is_since(ref.get("first_seen_at"), since):
            yield SinceEvent("ticket", life.describe_ticket(ref))

    for handoff in read_objects(value, "handoffs"):
        if _is_since(handoff.get("at"), since):
            yield SinceEvent("handed_over", life.describe_handoff(handoff))


def describe_changes(
    changes: Sequence[ChangedCheckpoint], checkpoints: int, since: str
) -> list[Block]:
    """Return the lines that describe changes: first all together, then each checkpoint's.

    checkpoints: the number of all. since: as it was typed.
    """
    counts = Counter(event.kind for change in changes for event in change.events)
    parts = []
    for kind, (singular, several) in _COUNTED.items():
        if counts[kind] == 1:
            parts.append(f"1 {singular}")
        elif counts[kind]:
            parts.append(f"{counts[kind]} {several}")

    title = f"{len(changes)} of {plural(checkpoints, 'checkpoint')} changed since {since}"
    if parts:
        title += f": {', '.join(parts)}"
    blocks: list[Block] = [Line(title, hang=2)]
    for change in changes:
        state = change.state
        text = f"{state.skill}: {state.status}, {state.step}"
        if state.rows:
            text += f", {state.complete_rows}/{len(state.rows)} rows complete"
        text += f", written {state.updated_at}"
        blocks += [Line(""), Line(text, "strong", hang=2)]
        if change.is_compared and not change.events:
            blocks.append(Line("  only its summary, files or private state changed", "dim"))
        blocks += life.event_lines(change.events, _SHOWN_EVENTS, _SHOWN_LETTERS)

    return blocks
