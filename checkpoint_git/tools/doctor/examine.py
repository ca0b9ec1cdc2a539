"""What `checkpoint doctor` does before it tells: read every checkpoint once, gather the facts, run the checks."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.progress import Tell
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.protocols.skill import store
from checkpoint_git.protocols.skill.read import read_text
from checkpoint_git.tools.doctor.context import STALE_DAYS, World
from checkpoint_git.tools.doctor.gather import gather_world
from checkpoint_git.tools.doctor.summaries import read_sheets
from checkpoint_git.tools.doctor.suppression import (
    BAD,
    MAX_BYTES,
    Settings,
    Suppressed,
    find_idle,
    read_settings_text,
    split_findings,
)
from checkpoint_git.tools.doctor.table import ALL, CHECKS, Check, find_all, is_meant, locate_all

SETTINGS = "doctor.toml"  # in .checkpoints


class Diagnosis(NamedTuple):
    """What the doctor looked at and found. suppressed: what the project's settings keep from being told."""

    checks: list[Check]
    findings: list[Finding]
    suppressed: list[Suppressed]
    world: World


def diagnose(
    place: Place,
    now: int,
    skill: str | None = None,
    checks: Sequence[Check] = CHECKS,
    *,
    env: Mapping[str, str],
    tell: Tell = lambda what: None,
    since: str = "",
) -> Diagnosis:
    """Runs checks over a place, or over one skill's checkpoint in it, and over the repository around it.

    now: seconds since 1970. env: the environment that git is asked in. tell: called with what is looked at. since: a
    commit; merges after it are audited, "" for the latest ones.
    """
    settings = read_settings(place)
    sheets = read_sheets(place, now, skill, tell)
    needs = {need for check in checks for need in check.needs.split()}
    world, troubles = gather_world(place, sheets, now, needs, env, tell, skill=skill or "", since=since)
    world = world._replace(limits={**STALE_DAYS, **settings.limits})
    if place.work_tree is None and needs:
        message = "this is no git repository: history, merge driver and hooks were not looked at"
        troubles.append(Finding("doctor/not-looked-at", "note", message))
    skills = {sheet.path: sheet.skill for sheet in sheets}
    found = locate_all(find_all(checks, world), lambda path: read_text(place, skills[path]) if path in skills else None)
    told, suppressed, used = split_findings([*found, *troubles], settings.suppressions, now)
    is_whole = skill is None and all(check in checks for check in CHECKS)
    used = used | _find_untried(settings, checks)
    idle = find_idle(settings.suppressions, used, now, settings_path(place)) if is_whole else []
    return Diagnosis(list(checks), [*told, *settings.findings, *idle], suppressed, world)


def settings_path(place: Place) -> str:
    """The settings file, relative to the repository."""
    return relative_path(os.path.join(place.directory, SETTINGS), place.top)


def read_settings(place: Place) -> Settings:
    """The project's settings for the doctor; none where there is no file."""
    path = os.path.join(place.directory, SETTINGS)
    if not os.path.lexists(path):
        return Settings()
    content = store.read_content(path, place.top)
    trouble = f"it cannot be read: {content.strerror or content}" if isinstance(content, OSError) else ""
    if isinstance(content, bytes) and len(content) > MAX_BYTES:
        trouble = f"it has {len(content)} bytes, and {MAX_BYTES} is the limit"
    try:
        if isinstance(content, bytes) and not trouble:
            return read_settings_text(jsontext.decode(content).removeprefix("\ufeff"), settings_path(place), is_code)
    except jsontext.JsonTextError as error:
        trouble = error.message
    return Settings(findings=[Finding(BAD, "warning", trouble, settings_path(place), hint="nothing in it is used")])


def is_code(word: str) -> bool:
    """Whether a check, or a group of them, is called so."""
    room = word.partition("/")[0]  # of a check that tells everything a room's rules say
    return any(is_meant(check, word) or check.code == room for check in ALL)


def _find_untried(settings: Settings, checks: Sequence[Check]) -> set[int]:
    """The suppressions of checks that did not run this time, by their numbers."""
    tried = (any(is_meant(check, one.code) for check in checks) for one in settings.suppressions)
    return {at for at, was_tried in enumerate(tried) if not was_tried}
