"""Find what `claim` and `release` change: the clone, the remote that shares the claims, and this
session.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, command, join_hints
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.disk.discover import plan_place
from checkpoint_git.git.leases import OURS, Claim, find_holder
from checkpoint_git.git.settings import SYNC_REMOTE, find_setting
from checkpoint_git.protocols.contract import skill_layout
from checkpoint_git.tools.claims.lease import swap_claim
from checkpoint_git.tools.sync.context import find_remote, read_branch


class ClaimTarget(NamedTuple):
    """A checkpoint that is claimed or released. remote: "" for the work trees of this clone
    alone.
    """

    skill: str
    path: str
    top: str
    remote: str
    holder: str
    env: Mapping[str, str]
    argv: tuple[str, ...]  # the checkpoint and --remote, as they are typed

    @property
    def where(self) -> str:
        if self.remote:
            return f"in all clones that share {self.remote}"
        return "in the work trees of this clone"

    def swap(self, now: int, until: int, *, force: bool = False) -> tuple[Claim, Claim | None]:
        """Return the claim that is wished for, and another session's that prevents it."""
        wish = Claim(f"{OURS}{self.skill}", "", now, until, self.holder)
        return wish, swap_claim(self.top, self.remote, wish, now, self.env, force=force)

    def refuse(self, taken: Claim) -> Outcome:
        """Return the outcome of a command that another session's claim prevents."""
        hint = join_hints(
            advise("other work", "checkpoint", "next"),
            advise("if that session is gone", "checkpoint", "release", *self.argv, "--force"),
        )
        finding = Finding("claim/held", "error", taken.line, hint=hint)
        data = {"claim": taken.data, "held": False, "remote": self.remote or None}
        return Outcome(data, [], [finding])


def add_target_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("skill", metavar="NAME", help="the checkpoint to work on")
    help_text = "a remote that the clones share; . for this clone's work trees "
    help_text += "(default: the branch's remote, else .)"
    parser.add_argument("--remote", metavar="REMOTE", default="", help=help_text)


def find_target(args: Namespace, invocation: Invocation) -> ClaimTarget:
    """Return the checkpoint and the remote that the arguments name. Raises CheckpointError outside
    git and for an unknown remote.
    """
    place = plan_place(invocation.cwd)
    path = skill_layout().checkpoint_path(place, args.skill)
    top = place.work_tree
    if top is None:
        message = "not in a git repository, and a claim is a ref"
        raise CheckpointError(message, command("git", "init", more=", or clone one"))

    settings, branch, env = read_branch(top, invocation.env)
    followed = settings.get(f"branch.{branch.removeprefix('refs/heads/')}.remote", "")
    remote = args.remote or find_setting(settings, SYNC_REMOTE) or followed or "."
    if remote == ".":
        remote = ""
    else:
        remote = find_remote(settings, remote)

    argv: tuple[str, ...] = (args.skill,)
    if args.remote:
        argv = (args.skill, "--remote", args.remote)
    return ClaimTarget(args.skill, path, top, remote, find_holder(top, invocation), env, argv)
