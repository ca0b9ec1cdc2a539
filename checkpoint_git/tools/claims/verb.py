"""`checkpoint claim` and `checkpoint release`: one session at a time works on a checkpoint, until its lease ends."""

import os
from argparse import ArgumentParser, Namespace
from typing import NamedTuple

from checkpoint_git.core.clock import read_duration
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, quote_word
from checkpoint_git.disk.discover import plan_place
from checkpoint_git.git.leases import LONGEST, OURS, Claim, find_holder
from checkpoint_git.protocols.contract import skill_layout
from checkpoint_git.tools.claims.lease import swap_claim
from checkpoint_git.tools.sync.context import find_remote, read_branch


class _Verb(NamedTuple):
    """Made like a module of its own."""

    is_claim: bool

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("skill", metavar="NAME", help="the checkpoint to work on")
        text = "a remote that the clones share; . for this clone's work trees (default: the branch's remote, else .)"
        parser.add_argument("--remote", metavar="REMOTE", default="", help=text)
        if self.is_claim:
            parser.add_argument("--for", dest="lease", metavar="TIME", default="2h", help="90m, 2h, 1d (default: 2h)")
        else:
            parser.add_argument("--force", action="store_true", help="another session's claim too")

    def run(self, args: Namespace, invocation: Invocation) -> Outcome:
        now, place = invocation.now, plan_place(invocation.cwd)
        path, top = skill_layout().checkpoint_path(place, args.skill), place.work_tree
        if top is None:
            raise CheckpointError("not in a git repository, and a claim is a ref", "git init, or git clone")
        lease = read_duration(args.lease) if self.is_claim else 0
        if lease is None or lease > LONGEST:
            message = f'--for: cannot parse "{escape_controls(args.lease)}"'
            raise CheckpointError(message, "try 30m, 2h or 1d (7d at most)")
        settings, branch, env = read_branch(top, invocation.env)
        followed = settings.get(f"branch.{branch.removeprefix('refs/heads/')}.remote", "")
        remote = args.remote or settings.get("checkpoint.syncremote", "") or followed or "."
        remote = "" if remote == "." else find_remote(settings, remote)
        wish = Claim(f"{OURS}{args.skill}", "", now, now + lease, find_holder(top, invocation))
        taken = swap_claim(top, remote, wish, now, env, force=not self.is_claim and args.force)
        claim, name = taken or (wish if lease else None), quote_word(args.skill)
        name += f" --remote {quote_word(args.remote)}" if args.remote else ""
        data = {"claim": claim and claim.data, "held": claim is wish, "remote": remote or None}
        if taken:
            hint = f"other work: checkpoint next; if that session is gone: checkpoint release {name} --force"
            return Outcome(data, [], [Finding("claim/held", "error", taken.line, hint=hint)])
        where = f"in all clones that share {remote}" if remote else "in the work trees of this clone"
        told = f"yours until {wish.data['until']}; when it is done: checkpoint release {name}" if claim else "released"
        lines = [Line(f"{args.skill} is {told} ({where})", "good")]
        if claim and not os.path.lexists(path):
            message = f"found no checkpoint {args.skill} here; `checkpoint status` lists those that are"
            lines.append(Line(message, "warn"))
        return Outcome(data, lines)


CLAIM, RELEASE = _Verb(is_claim=True), _Verb(is_claim=False)
