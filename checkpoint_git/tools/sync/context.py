"""What one sync is about: which branch of which remote, how this clone merges, who commits. It
changes nothing.
"""

import os
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Blank, advise, command, join_hints
from checkpoint_git.core.platform import find_user_number
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import Place
from checkpoint_git.git.driver_settings import DRIVER, Choices, read_driver_command
from checkpoint_git.git.objects import blob_id
from checkpoint_git.git.remotes import HEADS, check_branch, network_env
from checkpoint_git.git.repository import read_all_settings
from checkpoint_git.git.run import run_git
from checkpoint_git.git.settings import SYNC_BRANCH, SYNC_REMOTE, find_setting
from checkpoint_git.tools.sync.decide import MergeOptions, Take
from checkpoint_git.tools.sync.state import Names, name_refs

ATTEMPTS, TIMEOUT = 200, 120.0
_IN_TURN = "CHECKPOINT_SYNC_TURN"  # set for the processes of a sync


class Wish(NamedTuple):
    """remote, branch: "" for the settings'. timeout: seconds. only: a skill. ignored: also what git
    ignores.
    """

    remote: str = ""
    branch: str = ""
    attempts: int = ATTEMPTS
    timeout: float = TIMEOUT
    take: Take = ""
    hooks: bool = True
    keep_branch: bool = False
    dry_run: bool = False
    only: str = ""
    ignored: bool = False


class SyncTarget(NamedTuple):
    remote: str
    branch: str
    follows: bool


class SyncContext(NamedTuple):
    """local: HEAD's ref. env: for git. ends: as time.monotonic(). turn: what this user's clones of
    a branch take. journal: of the files that are being written.
    """

    place: Place
    top: str
    target: SyncTarget
    names: Names
    local: str
    rules: MergeOptions
    wish: Wish
    who: str
    env: Mapping[str, str]
    ends: float
    turn: str
    journal: str
    tell: Callable[[], None]


def open_context(
    place: Place,
    wish: Wish,
    now: int,
    env: Mapping[str, str],
    tell: Callable[[], None] = lambda: None,
) -> SyncContext:
    if place.work_tree is None or place.git_dir is None:
        raise CheckpointError(
            f"{escape_controls(place.root)} is not in a git repository",
            command("git", "init", more=", or clone one"),
        )

    top = place.work_tree
    settings, local, own = read_branch(top, env)
    target = _find_target(top, settings, local, wish)
    driver = read_driver_command(settings.get(DRIVER, ""))
    choices = driver.choices if driver else Choices()
    rules = MergeOptions(choices.narrative, choices.schema, wish.take, now)
    names, dated = (
        name_refs(target.remote, target.branch),
        {**own, "GIT_COMMITTER_DATE": f"@{now} +0000"},
    )
    found = (
        run_git(["var", "GIT_COMMITTER_IDENT"], top, env=dated, check=False)
        .out.decode("utf-8", "replace")
        .strip()
    )
    # as git writes it into a commit
    who = found or f"checkpoint <checkpoint@localhost> {now} +0000"
    ends = time.monotonic() + wish.timeout
    shared = blob_id(os.fsencode(f"{settings[f'remote.{target.remote}.url']}\0{target.branch}"), "")
    folder = os.path.abspath(env.get("TMPDIR") or "/tmp")  # noqa: S108 # its name is known, and its owner is looked at
    turn = (
        ""
        if env.get(_IN_TURN)
        else os.path.join(folder, f"checkpoint-sync-{find_user_number()}-{shared}")
    )
    own[_IN_TURN] = "1"  # a hook of the push that syncs another clone would wait for its own push
    journal = os.path.join(
        place.git_dir, "checkpoint", f"taking-{blob_id(os.fsencode(names.synced), '')}"
    )
    return SyncContext(
        place, top, target, names, local, rules, wish, who, own, ends, turn, journal, tell
    )


def read_branch(top: str, env: Mapping[str, str]) -> tuple[dict[str, str], str, dict[str, str]]:
    """(all settings, the ref that HEAD names, the environment for git)."""
    own = network_env(env)
    local = run_git(["symbolic-ref", "-q", "HEAD"], top, env=own, check=False).out
    return read_all_settings(top, own), os.fsdecode(local).strip(), own


def find_remote(settings: Mapping[str, str], wish: str, upstream: str = "") -> str:
    known = sorted(
        key[7:-4] for key in settings if key.startswith("remote.") and key.endswith(".url")
    )
    only = "origin" if "origin" in known else known[0] if len(known) == 1 else ""
    remote = wish or find_setting(settings, SYNC_REMOTE) or upstream or only
    if remote not in known:
        shown = (
            f"no remote named {escape_controls(remote)}"
            if remote
            else "this clone has no remote to sync with"
        )
        hint = join_hints(
            command("git", "remote", "add", "origin", Blank("its address", "URL")),
            advise(
                "or name one", "git", "config", "checkpoint.syncRemote", Blank("the remote", "NAME")
            ),
        )
        raise CheckpointError(shown, hint)

    return remote


def _find_target(top: str, settings: Mapping[str, str], local: str, wish: Wish) -> SyncTarget:
    current = local.removeprefix("refs/heads/") if local.startswith("refs/heads/") else ""
    followed, merge = (settings.get(f"branch.{current}.{key}", "") for key in ("remote", "merge"))
    upstream = None
    if current and followed not in ("", ".") and merge.startswith("refs/heads/"):
        upstream = (followed, merge.removeprefix("refs/heads/"))
    remote = find_remote(settings, wish.remote, upstream[0] if upstream else "")
    branch = wish.branch or find_setting(settings, SYNC_BRANCH)
    if not branch and upstream and upstream[0] == remote:
        branch = upstream[1]
    if not branch:
        why = (
            "the checked-out branch follows none"
            if local
            else "HEAD is detached and follows no branch"
        )
        name = Blank("the branch", "NAME")
        hint = join_hints(
            advise("name one", "checkpoint", "sync", "--branch", name),
            advise("for good", "git", "config", "checkpoint.syncBranch", name),
            advise("or have it follow one", "git", "push", "-u", "origin", name),
        )
        raise CheckpointError(f"{why}, so there is none to sync with", hint)

    branch = check_branch(top, branch, is_new=True).removeprefix(HEADS)
    return SyncTarget(remote, branch, (upstream or (remote, current)) == (remote, branch))
