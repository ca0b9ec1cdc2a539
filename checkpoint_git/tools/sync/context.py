"""What one sync is about: which branch of which remote, how this clone merges, who commits. It changes nothing."""

import re
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import Place
from checkpoint_git.git.driver_settings import DRIVER, Choices, read_driver_command
from checkpoint_git.git.run import clean_env
from checkpoint_git.tools.sync import state as remembering
from checkpoint_git.tools.sync.commits import Identity
from checkpoint_git.tools.sync.decide import Rules, Take
from checkpoint_git.tools.sync.remote import network_env
from checkpoint_git.tools.sync.settings import Settings, read_sync_settings
from checkpoint_git.tools.sync.state import Names

ATTEMPTS, TIMEOUT = 200, 120.0
_BAD_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.]|/\.|[/.]$|\.lock(/|$)|^refs/|^(HEAD|@)$")


class Wish(NamedTuple):
    """What was asked for. remote, branch: "" for what the clone's settings say. attempts: pushes at most. timeout: in
    seconds, for everything. hooks: the pre-push hook is asked. keep_branch: the checked-out branch never moves.
    only: a skill whose files alone are meant, "" for all.
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


class Target(NamedTuple):
    """The branch to meet. follows: it is what the checked-out branch follows."""

    remote: str
    branch: str
    follows: bool


class World(NamedTuple):
    """What does not change during one sync."""

    place: Place
    top: str
    target: Target
    names: Names
    settings: Settings
    local: str
    rules: Rules
    wish: Wish
    who: Identity
    env: Mapping[str, str]
    network: Mapping[str, str]
    ends: float
    tell: Callable[[], None]


def open_world(place: Place, wish: Wish, now: int, env: Mapping[str, str], tell: Callable[[], None]) -> World:
    if place.work_tree is None or place.git_dir is None:
        raise CheckpointError(f"{escape_controls(place.root)} is not in a git repository", "git init, or git clone")
    top = place.work_tree
    own = {
        **clean_env(env),
        **{key: value for key, value in env.items() if key.startswith("GIT_CONFIG")},
        "LC_ALL": "C",
    }
    own["GIT_OPTIONAL_LOCKS"] = "0"
    settings = read_sync_settings(top, own)
    local = remembering.read_local(top, own)
    target = find_target(settings, local, wish)
    driver = read_driver_command(settings.values.get(DRIVER, ""))
    choices = driver.choices if driver else Choices()
    rules = Rules(choices.narrative, choices.schema, wish.take, now)
    network = network_env(env, "core.sshcommand" in settings.values)
    names = remembering.name_refs(target.remote, target.branch)
    who = Identity(*settings.identity(env), now)
    ends = time.monotonic() + wish.timeout
    return World(place, top, target, names, settings, local, rules, wish, who, own, network, ends, tell)


def find_target(settings: Settings, local: str, wish: Wish) -> Target:
    """Which branch of which remote: what was asked for, else the settings, else what the checked-out branch follows."""
    upstream = settings.upstream(local)
    known = settings.remotes
    only = "origin" if "origin" in known else known[0] if len(known) == 1 else ""
    remote = wish.remote or settings.values.get("checkpoint.syncremote", "") or (upstream.remote if upstream else only)
    if remote not in known:
        shown = f"there is no remote {escape_controls(remote)}" if remote else "this clone has no remote to sync with"
        raise CheckpointError(shown, "git remote add origin URL, or name one: --remote NAME")
    branch = wish.branch or settings.values.get("checkpoint.syncbranch", "")
    if not branch and upstream and upstream.remote == remote:
        branch = upstream.branch
    if not branch:
        why = "the checked-out branch follows none" if local else "HEAD is detached and follows no branch"
        raise CheckpointError(
            f"{why}, so there is none to sync with",
            "name one: --branch NAME, for good: git config checkpoint.syncBranch NAME, or: git push -u origin BRANCH",
        )
    if _BAD_BRANCH.search(branch) or len(branch) > 200:
        raise CheckpointError(
            f"{escape_controls(branch)} cannot be the name of a branch", "give its short name, such as checkpoints"
        )
    own = upstream or (remote, local.removeprefix("refs/heads/") if local.startswith("refs/heads/") else "")
    return Target(remote, branch, tuple(own) == (remote, branch))
