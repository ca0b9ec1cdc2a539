"""Read the history of all checkpoints for a report's page, in one walk through git's."""

import os
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.git.history.log import environment, read_boundary
from checkpoint_git.git.history.steps import Commit, HistoryStep, Touch, read_steps
from checkpoint_git.git.objects import Blobs
from checkpoint_git.protocols.skill import layout
from checkpoint_git.protocols.skill.brief.history import DecodedVersions, LifeEntry, read_entries
from checkpoint_git.protocols.skill.views import text_field

MOST_STEPS = 400  # commits of the history that are looked at
_MOST_READ = 48 << 20  # bytes of older versions


class Lives(NamedTuple):
    """Hold the entries of each skill's history, newest first.

    is_cut: older history was not looked at. trouble: why there is none.
    """

    by_skill: Mapping[str, Sequence[LifeEntry]]
    is_cut: bool = False
    is_shallow: bool = False
    trouble: str = ""


def read_lives(place: Place, skills: Sequence[str]) -> Lives:
    """Return all skills' entries from one walk through the history."""
    if place.work_tree is None:
        return Lives({}, trouble="not a git repository, so without history")
    try:
        return _read_lives(place, place.work_tree, skills)
    except CheckpointError as error:
        return Lives({}, trouble=f"the history could not be read: {error.message}")


def _read_lives(place: Place, work_tree: str, skills: Sequence[str]) -> Lives:
    """Return all skills' entries. Raises CheckpointError."""
    folder = relative_path(place.directory, place.top).replace("[", "[[]")
    specs = [
        f":(top,glob){folder}/*{layout.SUFFIX}",
        f":(top,glob){folder}/{layout.HISTORY}/*.json",
    ]
    steps = list(read_steps(work_tree, specs, most=MOST_STEPS))
    boundary = read_boundary(work_tree)
    by_skill: dict[str, list[LifeEntry]] = {}
    remaining = _MOST_READ

    with Blobs(work_tree, environment(), limit=MAX_BYTES) as blobs:

        def load(blob: str) -> bytes | int | None:
            nonlocal remaining
            content = blobs.read(blob)
            if isinstance(content, bytes):
                remaining -= len(content)
            elif content is not None:
                remaining -= content  # the size of one that is too large
            return content

        for skill, steps_of_skill in _sort_steps(steps, skills).items():
            affordable = takewhile(lambda _: remaining >= 0, steps_of_skill)
            entries = read_entries(affordable, DecodedVersions(load), skill, boundary)
            by_skill[skill] = [entry for entry in entries if entry.events]

    return Lives(by_skill, len(steps) == MOST_STEPS or remaining < 0, bool(boundary))


def _sort_steps(
    steps: Sequence[HistoryStep], skills: Sequence[str]
) -> dict[str, list[HistoryStep]]:
    """Return the steps that touched each skill's files, with those touches alone."""
    by_skill: dict[str, list[HistoryStep]] = {skill: [] for skill in skills}
    for step in steps:
        touches: dict[str, list[Touch]] = {}
        for touch in step.touches:
            for skill in _find_owners(touch):
                touches.setdefault(skill, []).append(touch)

        for skill, found in touches.items():
            if skill in by_skill:
                by_skill[skill].append(step._replace(touches=found))

    return by_skill


def _find_owners(touch: Touch) -> set[str]:
    """Return the skills that a touched file may belong to.

    The name of a history file begins with its skill's, and both may have dots in them.
    """
    owners = set[str]()
    for path in (touch.path, touch.came_from):
        name = os.path.basename(path)
        skill = layout.find_skill(name)
        if skill:
            owners.add(skill)
        else:
            parts = name.split(".")
            owners.update(".".join(parts[:count]) for count in range(1, len(parts)))

    return owners


def find_opened(entries: Sequence[LifeEntry]) -> dict[str, Commit]:
    """Return the commit that opened each blocker, the latest if it was opened again.

    entries: of one checkpoint, newest first. The keys are the names of blockers, see name_blocker.
    """
    opened: dict[str, Commit] = {}
    for entry in entries:
        if entry.commit is None:
            continue
        for event in entry.events:
            if event.kind == "opened":
                opened.setdefault(event.subject, entry.commit)

    return opened


def name_blocker(blocker: dict[str, Any]) -> str:
    """Return what history calls a blocker: its id, else its description."""
    return text_field(blocker, "id") or text_field(blocker, "description")
