"""A checkpoint's life as `log` and `report` tell it: git's steps with what each one did. It renders nothing."""

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.git.history.steps import Commit, Step, Touch
from checkpoint_git.protocols.skill import layout
from checkpoint_git.protocols.skill.life import (
    Event,
    History,
    find_events,
    find_first_events,
    find_own_events,
    fold_rotation,
    read_history,
)

_KEPT_VERSIONS = 6  # decoded at once: a version is asked for by its own commit and by the next one


class Entry(NamedTuple):
    """One commit in a checkpoint's life. commit: None for what is not committed yet. events: [] where it changed only
    what the log does not tell. is_merge: it has several parents, and the events are its own.
    """

    path: str
    commit: Commit | None
    events: list[Event]
    is_merge: bool = False


class Broken(NamedTuple):
    why: str


Version = dict[str, Any] | Broken | None
Load = Callable[[str], bytes | int | None]


def parse_version(content: bytes | int | None) -> Version:
    """A version's value from its bytes, from its size where it is too large, or from None where the clone lacks it."""
    if content is None:
        return Broken("this clone does not have that version")
    if isinstance(content, int):
        return Broken(f"that version has {content} bytes, which is too large")
    try:
        value = _load(jsontext.decode(content))
    except jsontext.JsonTextError as error:
        return Broken(f"not valid JSON, line {error.line}: {error.message}")
    return value if isinstance(value, dict) else Broken("not a JSON object")


def _load(text: str) -> Any:
    """Of what is past nothing can be mended: a key that stands twice is taken as other readers of JSON take it.

    That costs a fifth of reading it strictly, and there may be thousands of versions. Raises JsonTextError.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return jsontext.load(text)  # which knows byte order marks, and says what is wrong where


class Versions:
    """Blobs decoded, the last few of them kept. own: contents by names that are no blob's."""

    def __init__(self, load: Load, own: dict[str, bytes] | None = None) -> None:
        self._load = load
        self._own = own or {}
        self._kept: OrderedDict[str, Version] = OrderedDict()

    def read(self, blob: str) -> Version:
        """The version of a blob, None for "" (no file)."""
        if not blob:
            return None
        if blob in self._kept:
            self._kept.move_to_end(blob)
            return self._kept[blob]
        version = parse_version(self._own[blob] if blob in self._own else self._load(blob))
        self._kept[blob] = version
        if len(self._kept) > _KEPT_VERSIONS:
            self._kept.popitem(last=False)
        return version


class _Waiting(NamedTuple):
    """An entry whose version before was broken: it is compared as soon as a good one comes. blob: the broken one."""

    entry: Entry
    blob: str
    after: dict[str, Any]


def read_entries(
    steps: Iterable[Step], versions: Versions, skill: str, boundary: frozenset[str] = frozenset()
) -> Iterator[Entry]:
    """The entries of one skill, newest first. steps: of its file and of the history's. boundary: where a shallow clone
    was cut off.
    """
    waiting: list[_Waiting | Entry] = []  # in order; what stands behind one that waits is held too
    for step in steps:
        touch, past = _find_own(step, skill, versions)
        if touch is None:
            continue
        waiting = [_settle(each, touch, versions) for each in waiting]
        waiting.append(_judge(step.commit, touch, past, versions, boundary))
        while waiting and isinstance(waiting[0], Entry):
            yield waiting.pop(0)  # type: ignore[misc]  # an Entry, as was just asked
    yield from (each if isinstance(each, Entry) else each.entry for each in waiting)


def _find_own(step: Step, skill: str, versions: Versions) -> tuple[Touch | None, list[History]]:
    """What a step did to the checkpoint, a move as one touch, and what it put into the history."""
    touches = [part for touch in step.touches for part in _split_rename(touch)]
    own = [touch for touch in touches if layout.find_skill(touch.path)]
    added = [touch for touch in touches if touch not in own and touch.after and not any(touch.before)]
    past = [one for touch in added if (one := _read_past(touch, skill, versions))]
    if not own:
        return None, past
    here = [touch for touch in own if touch.after] or own
    gone = [touch for touch in own if not touch.after and any(touch.before) and touch is not here[0]]
    if gone and not any(here[0].before):  # rewritten while it was moved, so much that git sees no rename
        return here[0]._replace(before=gone[0].before, came_from=gone[0].path), past
    return here[0], past


def _split_rename(touch: Touch) -> list[Touch]:
    """A rename between a checkpoint and what is none, as `reset` makes one: the one goes, the other comes."""
    if not touch.came_from or all(map(layout.find_skill, (touch.path, touch.came_from))):
        return [touch]
    return [Touch(touch.came_from, touch.before, ""), Touch(touch.path, ("",), touch.after)]


def _read_past(touch: Touch, skill: str, versions: Versions) -> History | None:
    value = versions.read(touch.after)
    return None if isinstance(value, Broken) else read_history(touch.path, value, skill)


def _judge(
    commit: Commit, touch: Touch, past: Sequence[History], versions: Versions, boundary: frozenset[str]
) -> _Waiting | Entry:
    is_merge = len(touch.before) > 1
    entry = Entry(touch.path, commit if commit.id else None, [], is_merge)
    after = versions.read(touch.after)
    moved = [Event("moved", "path", "", touch.came_from, touch.path)] if touch.came_from else []
    if isinstance(after, Broken):
        return entry._replace(events=[*moved, Event("broken", "", after.why)])
    parents = [versions.read(blob) for blob in touch.before if blob]
    good = [parent for parent in parents if isinstance(parent, dict)]
    if after is None:
        return entry._replace(events=fold_rotation([Event("deleted", "", touch.path)], past, is_gone=True))
    if good:
        events = find_own_events(good, after) if is_merge else find_events(good[0], after)
        return entry._replace(events=fold_rotation([*moved, *events], past, is_gone=False))
    if parents:
        mended = Event("mended", "", "valid JSON again")
        blob = next(blob for blob in touch.before if blob)
        return _Waiting(entry._replace(events=[*moved, mended]), blob, after)
    if commit.id in boundary:
        return entry._replace(events=[Event("known", "", "what came before is not in this shallow clone")])
    return entry._replace(events=[Event("started", "", _describe_start(after)), *find_first_events(after)])


def _describe_start(value: dict[str, Any]) -> str:
    words = [value.get(key) for key in ("project", "phase", "step", "status")]
    return ", ".join(word for word in words if isinstance(word, str) and word) or "an empty checkpoint"


def _settle(each: _Waiting | Entry, touch: Touch, versions: Versions) -> _Waiting | Entry:
    """What waits, with the step that made the broken version: compared with the version before it, if that is good."""
    if isinstance(each, Entry) or touch.after != each.blob:
        return each
    blob = next((blob for blob in touch.before if blob), "")
    before = versions.read(blob)
    if isinstance(before, Broken):
        return each._replace(blob=blob)
    events = find_events(before, each.after) if before is not None else []
    return each.entry._replace(events=[*each.entry.events, *events])
