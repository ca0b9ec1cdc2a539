"""Read a checkpoint's life for `log` and `report`: git's steps with the events of each one."""

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
    """Hold one commit in a checkpoint's life.

    commit: None for a change that is not committed yet. events: [] for a commit that changed only
    private parts. is_merge: it has several parents, and events has what differs from all of them.
    """

    path: str
    commit: Commit | None
    events: list[life.LifeEvent]
    is_merge: bool = False


class Broken(NamedTuple):
    """Stand for a version that cannot be read. why: a reason in words."""

    why: str


Version = dict[str, Any] | Broken | None
Load = Callable[[str], bytes | int | None]


def parse_version(content: bytes | int | None) -> Version:
    """Return a version's value.

    content: its bytes, its size if it is too large, or None if the clone lacks it.
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

    if not isinstance(value, dict):
        return Broken("not a JSON object")
    return value


class DecodedVersions:
    """Decodes blobs, and keeps the last few. contents: by names that are not blobs."""

    def __init__(self, load: Load, contents: dict[str, bytes] | None = None) -> None:
        self._load = load
        self._contents = contents or {}
        self._kept: OrderedDict[str, Version] = OrderedDict()

    def read(self, blob: str) -> Version:
        """Return the version of a blob, None for "" (no file)."""
        if not blob:
            return None
        if blob in self._kept:
            self._kept.move_to_end(blob)
            return self._kept[blob]

        if blob in self._contents:
            version = parse_version(self._contents[blob])
        else:
            version = parse_version(self._load(blob))
        self._kept[blob] = version
        if len(self._kept) > _KEPT_VERSIONS:
            self._kept.popitem(last=False)
        return version


class _Pending(NamedTuple):
    """Hold an entry that may wait for an older version to be compared with.

    broken: the blob of the version before if that is broken, else "". Then the entry is compared
    with the next good one, which may be many commits further down. after: its own version.
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
    """Yield the entries of a skill's life, newest first.

    steps: of its file and of its history files. boundary: the first commits of a shallow clone.
    """
    pending: list[_Pending] = []  # in order: entries behind one that waits are in it, too
    for step in steps:
        touch, past = _find_touch(step, skill, versions)
        if touch is None:
            continue
        for index, waiting in enumerate(pending):
            if waiting.broken and waiting.broken == touch.after:
                pending[index] = _compare_again(waiting, touch, versions)
        pending.append(_judge(step.commit, touch, past, versions, boundary))
        while pending and not pending[0].broken:
            yield pending.pop(0).entry

    for waiting in pending:
        yield waiting.entry


def _compare_again(waiting: _Pending, touch: Touch, versions: DecodedVersions) -> _Pending:
    """Return a waiting entry, compared with the version before a touch, which may be broken."""
    entry = waiting.entry
    blob = next((blob for blob in touch.before if blob), "")
    before = versions.read(blob)
    if before is None:
        return _Pending(entry)
    if isinstance(before, Broken):
        return _Pending(entry, blob, waiting.after)
    events = life.find_events(before, dict(waiting.after))
    return _Pending(entry._replace(events=[*entry.events, *events]))


def _find_touch(
    step: HistoryStep, skill: str, versions: DecodedVersions
) -> tuple[Touch | None, list[life.History]]:
    """Return what a step did to the checkpoint, a move as one touch, and the history files that it
    added.
    """
    touches = [part for touch in step.touches for part in _split_rename(touch)]
    ours = list[Touch]()
    past = list[life.History]()
    for touch in touches:
        if layout.find_skill(touch.path):
            ours.append(touch)
        elif touch.after and not any(touch.before):
            value = versions.read(touch.after)
            if not isinstance(value, Broken):
                history = life.read_history(touch.path, value, skill)
                if history is not None:
                    past.append(history)

    if not ours:
        return None, past
    return _join_move(ours), past


def _split_rename(touch: Touch) -> list[Touch]:
    """Return a rename between a checkpoint and another file, which `reset` makes, as two touches:
    one file goes, one comes.
    """
    if not touch.came_from or all(map(layout.find_skill, (touch.path, touch.came_from))):
        return [touch]
    return [Touch(touch.came_from, touch.before, ""), Touch(touch.path, ("",), touch.after)]


def _join_move(touches: Sequence[Touch]) -> Touch:
    """Return several touches of a checkpoint as one.

    A file that was moved may have been rewritten so much that git sees no rename.
    """
    current = next((touch for touch in touches if touch.after), touches[0])
    if any(current.before):
        return current
    for touch in touches:
        if touch is not current and not touch.after and any(touch.before):
            return current._replace(before=touch.before, came_from=touch.path)
    return current


def _judge(
    commit: Commit,
    touch: Touch,
    past: Sequence[life.History],
    versions: DecodedVersions,
    boundary: frozenset[str],
) -> _Pending:
    """Return the entry of a commit. past: the history files that it added. boundary: as for
    read_entries.
    """
    is_merge = len(touch.before) > 1
    entry = LifeEntry(touch.path, commit if commit.id else None, [], is_merge)
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
        if is_merge:
            changed = life.find_own_events(good, after)
        else:
            changed = life.find_events(good[0], after)
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
    """Return the event of a move, [] for none."""
    if not touch.came_from:
        return []
    return [life.LifeEvent("moved", "path", "", touch.came_from, touch.path)]


def _describe_start(value: dict[str, Any]) -> list[life.LifeEvent]:
    """Return the events of a checkpoint's first version."""
    words = [text_field(value, key) for key in ("project", "phase", "step", "status")]
    start = ", ".join(filter(None, words)) or "an empty checkpoint"
    return [life.LifeEvent("started", "", start), *life.find_first_events(value)]
