"""The checked-out branch beside its upstream, as far as this clone knows it; it asks no server and
merges nothing.
"""

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.git.clone import read_operation
from checkpoint_git.git.driver_settings import DRIVER, Choices, read_driver_command
from checkpoint_git.git.merges.merges import MergeCommit, Touched, read_touched
from checkpoint_git.git.objects import read_commit
from checkpoint_git.git.run import run_git
from checkpoint_git.git.staged import pathspecs

_STATUS = (
    "status",
    "--porcelain=v2",
    "--branch",
    "--ahead-behind",
    "-z",
    "--untracked-files=no",
    "--no-renames",
)
_FIELDS_BEFORE_PATH = {b"1 ": 8, b"u ": 10}  # of its records on a changed and on an unmerged file


class Tracking(NamedTuple):
    branch: str
    head: str  # full id
    name: str  # such as "origin/main"
    commit: str  # full id, "" if the upstream is configured and not in this clone
    tracked: bool  # it is the branch's upstream, else the remote's default branch
    ahead: int
    behind: int
    dirty: frozenset[str]  # checkpoint paths whose index or work tree differs from HEAD


class PullSettings(NamedTuple):
    installed: bool  # our driver is configured
    choices: Choices
    rebases: bool  # a pull of this branch rebases
    stashes: bool  # a pull puts aside what is not committed, and brings it back afterwards


def read_tracking(cwd: str, git_dir: str, env: Mapping[str, str]) -> Tracking | None:
    """Return the branch beside its upstream.

    None without an upstream or default branch, for a detached or unborn HEAD, and in the middle of
    an operation.
    """
    if read_operation(git_dir):
        return None
    headers = dict[str, str]()
    changed = set[str]()
    for record in run_git([*_STATUS, "--", *pathspecs()], cwd, env=env).out.split(b"\0"):
        if record.startswith(b"# "):
            name, _, value = os.fsdecode(record[2:]).partition(" ")
            headers[name] = value
        elif fields := _FIELDS_BEFORE_PATH.get(record[:2]):
            changed.add(os.fsdecode(record.split(b" ", fields)[-1]))

    dirty = frozenset(changed)
    head = headers.get("branch.oid", "")
    branch = headers.get("branch.head", "")
    if branch == "(detached)" or head == "(initial)":
        return None
    name = headers.get("branch.upstream", "")
    if not name:
        return _read_default(cwd, branch, head, dirty, env)
    counts = re.fullmatch(r"\+(\d+) -(\d+)", headers.get("branch.ab", ""))
    if counts is None:
        return Tracking(branch, head, name, "", True, 0, 0, dirty)
    ahead, behind = int(counts[1]), int(counts[2])
    commit = head
    if behind:
        commit = read_commit(cwd, "@{upstream}", env)
    return Tracking(branch, head, name, commit, True, ahead, behind, dirty)


def _read_default(
    cwd: str, branch: str, head: str, dirty: frozenset[str], env: Mapping[str, str]
) -> Tracking | None:
    """Return a branch that follows nothing beside the default of origin, or of the only remote."""
    words = ["for-each-ref", "--format=%(refname) %(objectname) %(symref)", "refs/remotes/*/HEAD"]
    known = {}
    for row in run_git(words, cwd, env=env).out.splitlines():
        ref, commit, target = os.fsdecode(row).split(" ")
        known[ref] = (target or ref, commit)  # a fetch may have written the commit itself

    if "refs/remotes/origin/HEAD" in known:
        name, commit = known["refs/remotes/origin/HEAD"]
    elif len(known) == 1:
        ((name, commit),) = known.values()
    else:
        return None
    words = ["rev-list", "--left-right", "--count", f"{head}...{commit}", "--"]
    ahead, behind = run_git(words, cwd, env=env).out.decode().split()
    return Tracking(
        branch,
        head,
        name.removeprefix("refs/remotes/"),
        commit,
        False,
        int(ahead),
        int(behind),
        dirty,
    )


def read_diverged_files(cwd: str, tracking: Tracking, env: Mapping[str, str]) -> Touched:
    """Return the files that the upstream changed, as the base, HEAD and upstream have them.

    Raises CheckpointError if no base is known.
    """
    merge = MergeCommit(tracking.head, "", (tracking.head, tracking.commit), "")
    return read_touched(cwd, merge, env)


def read_settings(cwd: str, branch: str, env: Mapping[str, str]) -> PullSettings:
    """Return the settings that decide what a pull of this branch does."""
    keys = (
        r"^(merge\.checkpoint\.driver|pull\.rebase|branch\..*\.rebase|(merge|rebase)\.autostash)$"
    )
    out = run_git(["config", "-z", "--get-regexp", keys], cwd, env=env, check=False).out
    records = (record.partition("\n") for record in os.fsdecode(out).split("\0"))
    known = {}
    for key, equals, value in records:
        if not equals:  # a name alone means true
            value = "true"
        known[key] = value

    rebases = _is_set(known.get(f"branch.{branch}.rebase", known.get("pull.rebase", "")))
    if rebases:
        stashes = _is_set(known.get("rebase.autostash", ""))
    else:
        stashes = _is_set(known.get("merge.autostash", ""))
    driver = read_driver_command(known.get(DRIVER, ""))
    if driver is None:
        return PullSettings(False, Choices(), rebases, stashes)
    return PullSettings(True, driver.choices, rebases, stashes)


def _is_set(value: str) -> bool:
    # as git reads a boolean that may be another word too
    return value.lower() not in ("", "false", "no", "off", "0")


def is_in_the_way(
    cwd: str, path: str, tracking: Tracking, settings: PullSettings, is_new: bool
) -> bool:
    """Return whether git would not merge over what is at a path. is_new: HEAD has no such file."""
    if path in tracking.dirty:
        return not settings.stashes
    return is_new and os.path.lexists(os.path.join(cwd, path))
