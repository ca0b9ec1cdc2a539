"""Find checkpoints of other work trees and branches that are ahead of this work tree's."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from checkpoint_git.core.clock import ago_text, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import join_some, plural, shorten
from checkpoint_git.disk.discover import Place, find_siblings
from checkpoint_git.disk.read import FileContent
from checkpoint_git.protocols.skill import layout, store, views
from checkpoint_git.protocols.skill.brief import life
from checkpoint_git.protocols.skill.brief.branches import BranchWork, find_branch_work

_AHEAD = ("completed", "done", "decided", "closed")
_MOST_EVENTS = 4  # in a line
_LETTERS = 80  # of an event
# limits for what is read of branches
_MOST_FILES = 32
_MOST_BYTES = 1 << 20
_MOST_BYTES_OF_ONE = 1 << 18


class Ahead(NamedTuple):
    """Hold a checkpoint of another work tree, or of a branch without one: work_tree is "".

    events: (kind, text) of those that this work tree lacks. who: the branch's last author. since:
    the time of the branch's first commit to it.
    """

    skill: str
    branch: str
    work_tree: str
    status: str
    step: str
    age_seconds: int | None
    events: list[tuple[str, str]]
    who: str = ""
    since: str = ""

    @property
    def line(self) -> str:
        """Return it in one line."""
        state = [self.status, self.step]
        if self.age_seconds is not None:
            state.append(ago_text(self.age_seconds))
        events = list[str]()
        for kind, text in self.events:
            name, _, _ = life.LOOKS[kind]
            events.append(f"{name}: {shorten(text, _LETTERS)}")
        news = [", ".join(filter(None, state)), join_some(events, _MOST_EVENTS, "; ")]
        where = self.work_tree or f"{shorten(self.who, _LETTERS)}, since {self.since}"
        origin = f"{self.skill} on branch {self.branch or 'none'} ({where})"
        return f"{origin}: {'; '.join(filter(None, news))}"


class _Version(NamedTuple):
    """Hold a checkpoint elsewhere.

    origin: without the members that come from the content. base: the content with which its branch
    began, None for unknown.
    """

    path: str
    content: FileContent
    origin: Ahead
    base: bytes | None = None


def find_ahead(place: Place, now: int, skill: str | None = None) -> tuple[list[Ahead], str]:
    """Return the checkpoints that were written later elsewhere, or have work done or decided that
    is unknown here; and what was not compared, "" for nothing.
    """
    siblings = [(_find_branch(branch, other), other) for branch, other in find_siblings(place)]
    everything, is_cut = find_branch_work(place, [branch for branch, _ in siblings if branch], now)
    work = [part for part in everything if skill in (None, layout.find_skill(part.path))]
    if not siblings and not work:
        return [], _describe_rest(0, is_cut=is_cut)

    ours = dict(store.read_files(place))
    read = list(_read_branches(place, work))
    found: list[Ahead] = []
    for version in [*_read_siblings(siblings, ours), *read]:
        ahead = _compare_version(version, ours.get(version.path), now)
        if ahead is not None and skill in (None, ahead.skill):
            found.append(ahead)

    return found, _describe_rest(len(work) - len(read), is_cut=is_cut)


def _read_siblings(
    siblings: Sequence[tuple[str, Place]], ours: Mapping[str, FileContent]
) -> Iterator[_Version]:
    """Yield the checkpoints of other work trees that differ from ours."""
    for branch, tree in siblings:
        origin = Ahead("", branch, tree.top, "", "", None, [])
        for path, content in store.read_files(tree):
            if content != ours.get(path):
                yield _Version(path, content, origin)


def _compare_version(version: _Version, ours: FileContent | None, now: int) -> Ahead | None:
    """Return how a checkpoint elsewhere is ahead of ours, None if it is not."""
    path, content, origin, base = version
    document = store.check_files([(path, content)], now)[0]
    value = document.value or {}
    before = _read_value(path, ours, now)
    events = [event for event in life.find_events(before, value) if event.kind in _AHEAD]
    if base is not None:  # what it had from the start may have been rotated away here
        new = {event[:2] for event in life.find_events(_read_value(path, base, now), value)}
        events = [event for event in events if event[:2] in new]

    age = views.find_age(value, now)
    age_here = views.find_age(before, now)
    is_later = age is not None and (age_here is None or age < age_here)
    if not (events or is_later):
        return None
    return origin._replace(
        skill=document.skill,
        status=views.text_field(value, "status"),
        step=views.text_field(value, "step"),
        age_seconds=age,
        events=[(event.kind, life.describe_event(event)) for event in events],
    )


def _describe_rest(lacking: int, *, is_cut: bool) -> str:
    """Return what was not compared, "" for nothing.

    lacking: the number of checkpoints. is_cut: older commits were not read.
    """
    parts: list[str] = []
    if lacking:
        count = plural(lacking, "checkpoint")
        parts.append(f"{count} (too many, too large, or missing in this clone)")
    if is_cut:
        parts.append("commits before the newest 500")
    if not parts:
        return ""
    return f"not compared, of other branches: {' and '.join(parts)}"


def _find_branch(branch: str, place: Place) -> str:
    """Return the branch of a work tree. branch: as git's file has it."""
    if branch != ".invalid":  # what git 2.45 puts into the file where a table holds the refs
        return branch
    from checkpoint_git.git.history.steps import read_branch

    return read_branch(place.top)


def _read_branches(place: Place, work: Sequence[BranchWork]) -> Iterator[_Version]:
    from checkpoint_git.git.history.log import environment
    from checkpoint_git.git.objects import Blobs, read_headers

    if not work:
        return
    with suppress(CheckpointError), Blobs(place.top, environment(), _MOST_BYTES_OF_ONE) as blobs:
        room = _MOST_BYTES
        names = [part.blob for part in work[:_MOST_FILES]]
        sizes = [header.size for header in read_headers(place.top, names, environment())]
        for part, size in zip(work, sizes, strict=False):
            if not 0 < size <= _MOST_BYTES_OF_ONE:  # no larger one is read from git
                continue
            room -= size
            if room < 0:
                continue
            content, base = blobs.read_all([part.blob, part.base or part.blob])
            if not isinstance(content, bytes):
                continue
            branch = part.ref.split("/", 2)[2]
            since = write_instant(part.since)
            origin = Ahead("", branch, "", "", "", None, [], who=part.who, since=since)
            if not part.base or not isinstance(base, bytes):
                base = None
            yield _Version(part.path, content, origin, base)


def _read_value(path: str, content: FileContent | None, now: int) -> dict[str, Any]:
    """Return the value of a checkpoint, {} if it cannot be read."""
    if content is None:
        return {}
    return store.check_files([(path, content)], now)[0].value or {}
