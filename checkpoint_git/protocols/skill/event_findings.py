"""What is wrong with the folders of events of a place, as `validate` and the doctor tell it. It writes nothing."""

import os
from collections.abc import Iterable
from typing import NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.protocols.skill import eventstore, layout, store
from checkpoint_git.protocols.skill.event_layout import find_doubles, find_leftovers, find_orphans
from checkpoint_git.protocols.skill.events import SUFFIX, broken_event, event_name, event_text, is_sharded


class Folders(NamedTuple):
    """Every folder of events looked through. events: how many could be read. owners: their skills, if there are any."""

    findings: list[Finding]
    events: int
    owners: list[str]


def read_folders(place: Place, skills: Iterable[str] | None = None) -> Folders:
    """What the files of the folders are that are no events. skills: whose; all where left out."""
    findings: list[Finding] = []
    owners: list[str] = []
    events = 0
    for skill in eventstore.list_owners(place) if skills is None else skills:
        folder = eventstore.read_folder(place, skill)
        shown = relative_path(layout.events_path(place, skill), place.top)
        findings += folder.troubles
        for each in folder.stored:
            if event_name(event_text(skill, each.event), each.event) != each.name:
                findings.append(broken_event(f"{shown}/{each.name}", "its name does not fit what it holds"))
        findings += find_doubles(folder.stored, shown)
        events += len(folder.stored)
        if folder.stored:
            owners.append(skill)
    return Folders(findings, events, owners)


def find_folder_orphans(place: Place, owners: Iterable[str], sharded: dict[str, bool]) -> list[Finding]:
    """The folders among those of some skills that no sharded checkpoint owns. sharded: as find_orphans has it."""
    folders = [relative_path(layout.events_path(place, skill), place.top) for skill in owners]
    return find_orphans([f"{folder}/*{SUFFIX}" for folder in folders], sharded, is_whole=True)


def read_layout_findings(place: Place, skill: str = "") -> list[Finding]:
    """Everything about the layouts of a place, or of one skill in it: for the doctor, who reads checkpoints joined."""
    folders = read_folders(place, [skill] if skill else None)
    findings, sharded = list(folders.findings), dict[str, bool]()
    for owner in folders.owners:
        path = layout.relative_checkpoint_path(place, owner)
        content = store.read_content(os.path.join(place.top, path), place.top)
        if isinstance(content, OSError):
            continue
        try:
            value = jsontext.load(jsontext.decode(content))
        except jsontext.JsonTextError:
            value = None
        sharded[path] = True if not isinstance(value, dict) else is_sharded(value)
        findings += find_leftovers(value, path) if isinstance(value, dict) else []
    return findings + find_folder_orphans(place, folders.owners, sharded)
