"""What the repository's other work trees have done that this one has not: their checkpoints beside its own."""

from typing import Any, NamedTuple

from checkpoint_git.core.clock import ago_text
from checkpoint_git.core.terminal_text import join_some, shorten
from checkpoint_git.disk.discover import Place, find_siblings
from checkpoint_git.protocols.skill import life, store, views

_AHEAD = ("completed", "done", "decided", "closed")
_MOST_TOLD, _LETTERS = 4, 80


class Ahead(NamedTuple):
    """A checkpoint of another work tree. events: (kind, text) of what this one lacks."""

    skill: str
    branch: str
    work_tree: str
    status: str
    step: str
    age_seconds: int | None
    events: list[tuple[str, str]]

    @property
    def line(self) -> str:
        age = "" if self.age_seconds is None else ago_text(self.age_seconds)
        state = ", ".join(filter(None, (self.status, self.step, age)))
        told = [f"{life.LOOKS[kind][0]}: {shorten(text, _LETTERS)}" for kind, text in self.events]
        where = f"branch {self.branch or 'none'} ({self.work_tree})"
        return f"{self.skill} on {where}: {state}{'; ' if told else ''}{join_some(told, _MOST_TOLD, '; ')}"


def find_ahead(place: Place, now: int, skill: str | None = None) -> list[Ahead]:
    """Where another work tree wrote a checkpoint later, or finished or decided something that is not known here."""
    siblings, found = find_siblings(place), list[Ahead]()
    ours = dict(store.read_files(place)) if siblings else {}
    for branch, other in siblings:
        files = [(path, content) for path, content in store.read_files(other) if content != ours.get(path)]
        for document in store.check_files(files, now):
            known = store.check_files([(document.path, ours[document.path])] if document.path in ours else [], now)
            value, before = document.value or {}, next((one.value or {} for one in known), dict[str, Any]())
            status, step = (views.text_field(value, key) for key in ("status", "step"))
            events = [(one.kind, life.describe_event(one)) for one in life.find_events(before, value)]
            events = [event for event in events if event[0] in _AHEAD]
            ages = [views.find_age(each, now) for each in (value, before)]
            is_later = ages[0] is not None and (ages[1] is None or ages[0] < ages[1])
            if skill in (None, document.skill) and (events or is_later):
                found.append(Ahead(document.skill, branch, other.top, status, step, ages[0], events))
    return found
