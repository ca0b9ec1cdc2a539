"""Find the branch, the remote and the settings of one sync. Nothing is changed."""

import os
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Blank, advise, command, join_hints
from checkpoint_git.core.platform import find_user_number
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.core.untrusted_text import hide_in_value
from checkpoint_git.disk.discover import Place
from checkpoint_git.git.driver_settings import DRIVER, Choices, read_driver_command
from checkpoint_git.git.objects import blob_id
from checkpoint_git.git.remotes import HEADS, check_branch, network_env
from checkpoint_git.git.repository import read_all_settings
from checkpoint_git.git.run import run_git
from checkpoint_git.git.settings import SYNC_BRANCH, SYNC_REMOTE, find_setting
from checkpoint_git.tools.sync.decide import MergeOptions, Take
from checkpoint_git.tools.sync.state import Names, name_refs

ATTEMPTS = 200
TIMEOUT = 120.0  # seconds
_IN_TURN = "CHECKPOINT_SYNC_TURN"  # set for the processes of a sync


class Wish(NamedTuple):
    """remote, branch: "" for those of the settings. timeout: seconds. only: a skill. ignored: sync
    files that git ignores too.
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
    """local: the ref that HEAD names. who: as git writes it into a commit. env: for git.
    ends: as time.monotonic(). turn: the file that this user's clones of a branch lock in turn, ""
    for none. journal: of the files that are being written.
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
    """Return what one sync needs. now: seconds since 1970. Raises CheckpointError without a
    repository, remote or branch.
    """
    if place.work_tree is None or place.git_dir is None:
        message = f"{escape_controls(place.root)} is not in a git repository"
        raise CheckpointError(message, command("git", "init", more=", or clone one"))

    top = place.work_tree
    settings, local, git_env = read_branch(top, env)
    target = _find_target(top, settings, local, wish)
    names = name_refs(target.remote, target.branch)
    choices = Choices()
    driver = read_driver_command(settings.get(DRIVER, ""))
    if driver:
        choices = driver.choices

    turn = ""
    if not env.get(_IN_TURN):
        turn = _name_turn(settings[f"remote.{target.remote}.url"], target.branch, env)
    # a hook of the push that syncs another clone would wait for its own push
    git_env[_IN_TURN] = "1"
    journal = f"taking-{blob_id(os.fsencode(names.synced), '')}"
    return SyncContext(
        place=place,
        top=top,
        target=target,
        names=names,
        local=local,
        rules=MergeOptions(choices.narrative, choices.schema, wish.take, now),
        wish=wish,
        who=_read_committer(top, now, git_env),
        env=git_env,
        ends=time.monotonic() + wish.timeout,
        turn=turn,
        journal=os.path.join(place.git_dir, "checkpoint", journal),
        tell=tell,
    )


def _read_committer(top: str, now: int, env: Mapping[str, str]) -> str:
    dated = {**env, "GIT_COMMITTER_DATE": f"@{now} +0000"}
    result = run_git(["var", "GIT_COMMITTER_IDENT"], top, env=dated, check=False)
    found = result.out.decode("utf-8", "replace").strip()
    return found or f"checkpoint <checkpoint@localhost> {now} +0000"


def _name_turn(address: str, branch: str, env: Mapping[str, str]) -> str:
    shared = blob_id(os.fsencode(f"{address}\0{branch}"), "")
    # anybody can guess the name, so the file's owner is checked
    folder = os.path.abspath(env.get("TMPDIR") or "/tmp")  # noqa: S108
    return os.path.join(folder, f"checkpoint-sync-{find_user_number()}-{shared}")


def read_branch(top: str, env: Mapping[str, str]) -> tuple[dict[str, str], str, dict[str, str]]:
    """Return all settings, the ref that HEAD names ("" for none), and the environment for git."""
    git_env = network_env(env)
    local = run_git(["symbolic-ref", "-q", "HEAD"], top, env=git_env, check=False).out
    return read_all_settings(top, git_env), os.fsdecode(local).strip(), git_env


def find_remote(settings: Mapping[str, str], wish: str, upstream: str = "") -> str:
    """Return the remote to sync with. Raises CheckpointError if this clone does not have it."""
    known = []
    for key in settings:
        if key.startswith("remote.") and key.endswith(".url"):
            known.append(key.removeprefix("remote.").removesuffix(".url"))

    remote = wish or find_setting(settings, SYNC_REMOTE) or upstream
    if not remote and "origin" in known:
        remote = "origin"
    if not remote and len(known) == 1:
        remote = known[0]
    if remote in known:
        return remote

    message = "this clone has no remote to sync with"
    if remote:
        # a branch's upstream may be an address, with a password in it
        message = f"no remote named {escape_controls(shorten(hide_in_value(remote), 100))}"
    name = Blank("the remote", "NAME")
    hint = join_hints(
        command("git", "remote", "add", "origin", Blank("its address", "URL")),
        advise("or name one", "git", "config", "checkpoint.syncRemote", name),
    )
    raise CheckpointError(message, hint)


def _find_target(top: str, settings: Mapping[str, str], local: str, wish: Wish) -> SyncTarget:
    current = ""
    if local.startswith(HEADS):
        current = local.removeprefix(HEADS)
    upstream_remote, upstream_branch = _find_upstream(settings, current)
    remote = find_remote(settings, wish.remote, upstream_remote)
    branch = wish.branch or find_setting(settings, SYNC_BRANCH)
    if not branch and upstream_remote == remote:
        branch = upstream_branch
    if not branch:
        raise _missing_branch(local)

    branch = check_branch(top, branch, is_new=True).removeprefix(HEADS)
    followed = (remote, current)
    if upstream_branch:
        followed = (upstream_remote, upstream_branch)
    return SyncTarget(remote, branch, follows=followed == (remote, branch))


def _find_upstream(settings: Mapping[str, str], branch: str) -> tuple[str, str]:
    """Return the remote and the branch that a branch follows; "" and "" for none."""
    remote = settings.get(f"branch.{branch}.remote", "")
    merge = settings.get(f"branch.{branch}.merge", "")
    if not branch or remote in ("", ".") or not merge.startswith(HEADS):
        return "", ""
    return remote, merge.removeprefix(HEADS)


def _missing_branch(local: str) -> CheckpointError:
    """Return the error about a branch that is not known. local: the ref that HEAD names."""
    why = "HEAD is detached and follows no branch"
    if local:
        why = "the checked-out branch follows none"
    name = Blank("the branch", "NAME")
    hint = join_hints(
        advise("name one", "checkpoint", "sync", "--branch", name),
        advise("for good", "git", "config", "checkpoint.syncBranch", name),
        advise("or have it follow one", "git", "push", "-u", "origin", name),
    )
    return CheckpointError(f"{why}, so there is none to sync with", hint)
