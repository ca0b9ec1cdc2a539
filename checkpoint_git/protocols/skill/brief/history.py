"""A checkpoint's life as `log` and `report` show it: git's steps with what each one did. It renders
nothing.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.git.history.steps import Commit, HistoryStep, Touch
from checkpoint_git.protocols.skill import layout
from checkpoint_git.protocols.skill.brief import life
from checkpoint_git.protocols.skill.views import text_field

_KEPT_VERSIONS = 6  # decoded at once: a version is asked for by its own commit and by the next one


class LifeEntry(NamedTuple):
    """One commit in a checkpoint's life. commit: None for what is not committed yet. events: []
    where it changed only what the log does not tell. is_merge: it has several parents, and the
    events are its own.
    """

    path: str
    commit: Commit | None
    events: list[life.LifeEvent]
    is_merge: bool = False


class Broken(NamedTuple):
    why: str


Version = dict[str, Any] | Broken | None
Load = Callable[[str], bytes | int | None]


def parse_version(content: bytes | int | None) -> Version:
    """A version's value from its bytes, from its size where it is too large, or from None if the
    clone lacks it.
    """
    if content is None:
        return Broken("this clone does not have that version")
    if isinstance(content, int):
        return Broken(f"that version has {content} bytes, which is too large")
    try:
        text = jsontext.decode(content)
        try:
            # The past cannot be fixed: a duplicate key is read as other readers of JSON take it.
            # That costs a fifth of reading it strictly, and there may be thousands of versions.
            value = json.loads(text)
        except (ValueError, RecursionError):
            # which knows byte order marks, and says what is wrong where
            value = jsontext.load(text)
    except jsontext.JsonTextError as error:
        return Broken(f"not valid JSON, line {error.line}: {error.message}")

    return value if isinstance(value, dict) else Broken("not a JSON object")


class DecodedVersions:
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


class _Pending(NamedTuple):
    """An entry on its way out. broken: the blob of the version before where that one is broken,
    else ""; then the entry is compared as soon as a good one comes, which may be many commits
    further down.
    """

    entry: LifeEntry
    broken: str = ""
    after: Mapping[str, Any] = {}


def read_entries(
    steps: Iterable[HistoryStep],
    versions: DecodedVersions,
    skill: str,
    boundary: frozenset[str] = frozenset(),
) -> Iterator[LifeEntry]:
    """One skill's, newest first. steps: of its file and of the history's. boundary: where a clone
    was cut off.
    """
    pending: list[_Pending] = []  # in order; what is behind one that waits is held too
    for step in steps:
        touch, past = _find_own(step, skill, versions)
        if touch is None:
            continue
        for at, (entry, broken, after) in enumerate(pending):
            if broken and broken == touch.after:
                blob = next((blob for blob in touch.before if blob), "")
                before = versions.read(blob)
                if isinstance(before, Broken):
                    pending[at] = _Pending(entry, blob, after)
                else:
                    events = life.find_events(before, dict(after)) if before is not None else []
                    pending[at] = _Pending(entry._replace(events=[*entry.events, *events]))
        pending.append(_judge(step.commit, touch, past, versions, boundary))
        while pending and not pending[0].broken:
            yield pending.pop(0).entry

    yield from (each.entry for each in pending)


def _find_own(
    step: HistoryStep, skill: str, versions: DecodedVersions
) -> tuple[Touch | None, list[life.History]]:
    """Return what a step did to the checkpoint, a move as one touch, and what it put into the
    history.
    """
    touches = [part for touch in step.touches for part in _split_rename(touch)]
    past = list[life.History]()
    for touch in touches:
        if not layout.find_skill(touch.path) and touch.after and not any(touch.before):
            value = versions.read(touch.after)
            found = (
                None if isinstance(value, Broken) else life.read_history(touch.path, value, skill)
            )
            if found:
                past.append(found)

    own = [touch for touch in touches if layout.find_skill(touch.path)]
    return (_join_move(own) if own else None), past


def _split_rename(touch: Touch) -> list[Touch]:
    """Return a rename between a checkpoint and another file, as `reset` makes one, as two: one
    goes, one comes.
    """
    if not touch.came_from or all(map(layout.find_skill, (touch.path, touch.came_from))):
        return [touch]
    return [Touch(touch.came_from, touch.before, ""), Touch(touch.path, ("",), touch.after)]


def _join_move(touches: Sequence[Touch]) -> Touch:
    """Return the one touch of several of a checkpoint: it may have been rewritten while it was
    moved, so much that git sees no rename.
    """
    here = next((touch for touch in touches if touch.after), touches[0])
    gone = [
        touch for touch in touches if not touch.after and any(touch.before) and touch is not here
    ]
    if gone and not any(here.before):
        return here._replace(before=gone[0].before, came_from=gone[0].path)
    return here


def _judge(
    commit: Commit,
    touch: Touch,
    past: Sequence[life.History],
    versions: DecodedVersions,
    boundary: frozenset[str],
) -> _Pending:
    """Return what a commit did. past: what it put into the history. boundary: where a clone was cut
    off.
    """
    entry = LifeEntry(touch.path, commit if commit.id else None, [], is_merge=len(touch.before) > 1)
    after = versions.read(touch.after)
    if isinstance(after, Broken):
        events = [*_find_move(touch), life.LifeEvent("broken", "", after.why)]
        return _Pending(entry._replace(events=events))

    if after is None:
        deleted = [life.LifeEvent("deleted", "", touch.path)]
        return _Pending(entry._replace(events=life.fold_rotation(deleted, past, is_gone=True)))

    blobs = [blob for blob in touch.before if blob]
    parents = [versions.read(blob) for blob in blobs]
    good = [parent for parent in parents if isinstance(parent, dict)]
    if good:
        changed = (
            life.find_own_events(good, after)
            if entry.is_merge
            else life.find_events(good[0], after)
        )
        events = life.fold_rotation([*_find_move(touch), *changed], past, is_gone=False)
        return _Pending(entry._replace(events=events), "", after)

    if parents:
        events = [*_find_move(touch), life.LifeEvent("repaired", "", "valid JSON again")]
        return _Pending(entry._replace(events=events), blobs[0], after)

    events = _describe_start(after)
    if commit.id in boundary:
        events = [life.LifeEvent("known", "", "earlier history is not in this shallow clone")]
    return _Pending(entry._replace(events=events), "", after)


def _find_move(touch: Touch) -> list[life.LifeEvent]:
    return (
        [life.LifeEvent("moved", "path", "", touch.came_from, touch.path)]
        if touch.came_from
        else []
    )


def _describe_start(value: dict[str, Any]) -> list[life.LifeEvent]:
    """Return the events of a checkpoint's first version."""
    words = [text_field(value, key) for key in ("project", "phase", "step", "status")]
    start = ", ".join(filter(None, words)) or "an empty checkpoint"
    return [life.LifeEvent("started", "", start), *life.find_first_events(value)]
