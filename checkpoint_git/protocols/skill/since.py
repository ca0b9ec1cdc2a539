"""What `checkpoint status --since` tells: each checkpoint beside its version of then, which git may still have."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Glyph, Line, Style
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.digest import Change, find_changes
from checkpoint_git.protocols.skill.read import iterate_checked
from checkpoint_git.protocols.skill.state import State

_SHOWN_LETTERS = 160
_SHOWN_EVENTS = 12  # of one checkpoint

# kind of event -> (what stands before it, sign, style)
_LOOKS: dict[str, tuple[str, Glyph, Style]] = {
    "started": ("started", "", "good"),
    "status": ("status", "", "strong"),
    "phase": ("phase", "", ""),
    "step": ("step", "", ""),
    "completed": ("completed", "complete", "good"),
    "row": ("row", "", ""),
    "done": ("done", "complete", "good"),
    "dropped": ("off the list", "", "dim"),
    "queued": ("queued", "not_started", ""),
    "decided": ("decided", "", ""),
    "opened": ("blocker opened", "blocked", "warn"),
    "closed": ("blocker closed", "complete", "good"),
    "ticket": ("ticket", "", ""),
    "handed_over": ("handed over", "", ""),
}
# what the first line counts: kind -> (one, several)
_COUNTED = {
    "completed": ("row completed", "rows completed"),
    "done": ("action done", "actions done"),
    "decided": ("decision made", "decisions made"),
    "opened": ("blocker opened", "blockers opened"),
    "closed": ("blocker closed", "blockers closed"),
}


def read_changes(
    place: Place, documents: Sequence[Document], states: Sequence[State], since: int, now: int
) -> tuple[list[Change], list[Finding]]:
    """What changed since an instant, and why git could not be asked where it could not. since, now: since 1970."""
    try:
        versions, troubles = _read_versions(place, documents, since, now), list[Finding]()
    except CheckpointError as error:
        message = f"the versions of then could not be read: {error.message}"
        versions, troubles = {}, [Finding("status/no-history", "note", message, hint=error.hint)]
    return find_changes(documents, states, since, versions), troubles


def _read_versions(place: Place, documents: Sequence[Document], since: int, now: int) -> dict[str, dict[str, Any]]:
    """The documents as HEAD's own line had them at an instant, by path; without those it did not have or that are
    broken.
    """
    if place.work_tree is None:
        return {}
    from checkpoint_git.git.history.history import read_commit_at
    from checkpoint_git.git.staged import read_committed

    commit = read_commit_at(place.work_tree, since)
    if not commit:
        return {}
    files = read_committed(place.work_tree, commit, {document.path for document in documents}).files
    return {document.path: document.value for document in iterate_checked(files, now) if document.value is not None}


def tell_changes(changes: Sequence[Change], checkpoints: int, since: str) -> list[Block]:
    """The lines for a person: what happened over all, then checkpoint by checkpoint. since: as it was asked for."""
    counts = Counter(event.kind for change in changes for event in change.events)
    told = ", ".join(f"{counts[kind]} {words[counts[kind] > 1]}" for kind, words in _COUNTED.items() if counts[kind])
    noun = "checkpoint" if checkpoints == 1 else "checkpoints"
    title = f"{len(changes)} of {checkpoints} {noun} changed since {since}{f': {told}' if told else ''}"
    blocks: list[Block] = [Line(title, hang=2)]
    for change in changes:
        state = change.state
        progress = f", {state.complete_rows}/{len(state.rows)} rows complete" if state.rows else ""
        text = f"{state.skill}: {state.status}, {state.step}{progress}, written {state.updated_at}"
        blocks += [Line(""), Line(text, "strong", hang=2), *_event_lines(change)]
    return blocks


def _event_lines(change: Change) -> list[Block]:
    events, lines = change.events, list[Block]()
    if change.is_compared and not events:
        lines.append(Line("  only its summary, files or private state changed", "dim"))
    for event in events[:_SHOWN_EVENTS]:
        name, glyph, style = _LOOKS[event.kind]
        lines.append(Line(f"  {name}: {shorten(event.text, _SHOWN_LETTERS)}", style, glyph, 4))
    more = len(events) - _SHOWN_EVENTS
    return [*lines, Line(f"  and {more} more: --json has all of them", "dim")] if more > 0 else lines
