"""What other work trees and branches have done that this work tree has not: their checkpoints
beside its own.
"""

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
_MOST_TOLD, _LETTERS = 4, 80
_MOST_FILES, _MOST_BYTES, _MOST_BYTES_OF_ONE = 32, 1 << 20, 1 << 18  # of branches


class Ahead(NamedTuple):
    """A checkpoint of another work tree, or of a branch without one: then work_tree is "". who: the
    branch's last author. since: when the branch's first commit to it was made. events: (kind, text)
    of what this one lacks.
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
        age = "" if self.age_seconds is None else ago_text(self.age_seconds)
        state = ", ".join(filter(None, (self.status, self.step, age)))
        told = [f"{life.LOOKS[kind][0]}: {shorten(text, _LETTERS)}" for kind, text in self.events]
        where = self.work_tree or f"{shorten(self.who, _LETTERS)}, since {self.since}"
        news = "; ".join(filter(None, (state, join_some(told, _MOST_TOLD, "; "))))
        return f"{self.skill} on branch {self.branch or 'none'} ({where}): {news}"


# path, content, origin (without what the content says), what the branch began with, where that is
# known
_Version = tuple[str, FileContent, Ahead, bytes | None]


def find_ahead(place: Place, now: int, skill: str | None = None) -> tuple[list[Ahead], str]:
    """Return where others wrote later, finished or decided what is not known here; and what was not
    compared, "" for nothing.
    """
    siblings = [(_find_branch(branch, other), other) for branch, other in find_siblings(place)]
    everything, is_cut = find_branch_work(place, [branch for branch, _ in siblings if branch], now)
    work = [part for part in everything if skill in (None, layout.find_skill(part.path))]
    ours = dict(store.read_files(place)) if siblings or work else {}

    read = list(_read_branches(place, work)) if work else []
    found: list[Ahead] = []
    for version in [*_read_siblings(siblings, ours), *read]:
        ahead = _compare_version(version, ours.get(version[0]), now)
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
                yield path, content, origin, None


def _compare_version(version: _Version, ours: FileContent | None, now: int) -> Ahead | None:
    """Return in what another's checkpoint is ahead of ours, None if it is not."""
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
    """Return what was not compared, "" for nothing. lacking: checkpoints. is_cut: of older
    commits.
    """
    parts: list[str] = []
    if lacking:
        parts.append(
            f"{plural(lacking, 'checkpoint')} (too many, too large, or missing in this clone)"
        )
    if is_cut:
        parts.append("commits before the newest 500")
    return f"not compared, of other branches: {' and '.join(parts)}" if parts else ""


def _find_branch(branch: str, place: Place) -> str:
    if branch != ".invalid":  # what git 2.45 puts into the file where a table holds the refs
        return branch
    from checkpoint_git.git.history.steps import read_branch

    return read_branch(place.top)


def _read_branches(place: Place, work: Sequence[BranchWork]) -> Iterator[_Version]:
    from checkpoint_git.git.history.log import environment
    from checkpoint_git.git.objects import Blobs, read_headers

    with suppress(CheckpointError), Blobs(place.top, environment(), _MOST_BYTES_OF_ONE) as blobs:
        left, names = _MOST_BYTES, [one.blob for one in work[:_MOST_FILES]]
        sizes = [header.size for header in read_headers(place.top, names, environment())]
        for one, size in zip(work, sizes, strict=False):  # no larger one is read from git
            left -= size if size <= _MOST_BYTES_OF_ONE else 0
            if not 0 < size <= _MOST_BYTES_OF_ONE or left < 0:
                continue
            content, base = blobs.read_all([one.blob, one.base or one.blob])
            if isinstance(content, bytes):
                origin = Ahead(
                    "",
                    one.ref.split("/", 2)[2],
                    "",
                    "",
                    "",
                    None,
                    [],
                    one.who,
                    write_instant(one.since),
                )
                yield (
                    one.path,
                    content,
                    origin,
                    base if one.base and isinstance(base, bytes) else None,
                )


def _read_value(path: str, content: FileContent | None, now: int) -> dict[str, Any]:
    return (store.check_files([(path, content)], now)[0].value or {}) if content is not None else {}
