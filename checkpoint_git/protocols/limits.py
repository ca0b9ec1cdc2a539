"""After how many days something counts as old.

The limits are values: a command reads them once, and every view, check and page gets them passed.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.project_file import ProjectFileError, parse_table, read_text
from checkpoint_git.git.settings import SETTINGS, STALE_DAYS, find_setting

BLOCKED_DAYS = 3
COMPLETE_DAYS = 14
MOST_DAYS = 9_999
# the keys of a project's [thresholds]
THRESHOLDS = ("in_progress_days", "blocked_days", "complete_days")


class Limits(NamedTuple):
    """Days after which a checkpoint that was not written counts as old, by its status.

    blocked: also the days after which an open blocker counts as old.
    """

    in_progress: int
    blocked: int
    complete: int


def read_limits(place: Place, env: Mapping[str, str]) -> Limits:
    """Return the limits of a project's checkpoints.

    The user's own setting counts before what the project's file has. Raises CheckpointError for a
    setting that is not a number of days.
    """
    found = _read_settings(place.root, env)
    thresholds = read_thresholds(place)
    in_progress = _find_stale_days(found)
    if STALE_DAYS.lower() not in found:
        in_progress = thresholds.get("in_progress_days", in_progress)

    return Limits(
        in_progress=in_progress,
        blocked=thresholds.get("blocked_days", BLOCKED_DAYS),
        complete=thresholds.get("complete_days", COMPLETE_DAYS),
    )


def read_stale_days(folder: str, env: Mapping[str, str]) -> int:
    """Return the days after which a workflow or an initiative counts as old.

    Raises CheckpointError for a setting that is not a number of days.
    """
    return _find_stale_days(_read_settings(folder, env))


def read_thresholds(place: Place) -> dict[str, int]:
    """Return the [thresholds] of the project's file, without those that are mistakes.

    The doctor reports these.
    """
    try:
        text = read_text(place)
        return find_thresholds(parse_table(text)) if text else {}
    except ProjectFileError:
        return {}


def find_thresholds(table: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of days in the [thresholds] of a project's file, by their keys."""
    thresholds = table.get("thresholds")
    if not isinstance(thresholds, dict):
        return {}
    days = {key: thresholds.get(key) for key in THRESHOLDS}
    return {key: number for key, number in days.items() if type(number) is int and number >= 1}


def _find_stale_days(found: Mapping[str, str]) -> int:
    """Return the number in checkpoint.staleDays, else its default. found: what git lists."""
    text = find_setting(found, STALE_DAYS).strip()
    if text.isascii() and text.isdigit() and len(text) <= len(str(MOST_DAYS)) and int(text) > 0:
        return int(text)

    shown = escape_controls(shorten(text, 40))
    message = f'invalid {STALE_DAYS} "{shown}": expected 1 to {MOST_DAYS} days'
    raise CheckpointError(
        message, command("git", "config", STALE_DAYS, SETTINGS[STALE_DAYS].default)
    )


def _read_settings(folder: str, env: Mapping[str, str]) -> Mapping[str, str]:
    """Return all settings of git, {} if it cannot be asked: what needs git reports that."""
    # late: what is only validated starts no git
    from checkpoint_git.git.repository import read_all_settings
    from checkpoint_git.git.run import clean_env

    try:
        return read_all_settings(folder, clean_env(env))
    except CheckpointError:
        return {}
