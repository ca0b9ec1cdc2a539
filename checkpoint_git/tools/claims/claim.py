"""`checkpoint claim`: reserve a checkpoint for this session, until the claim ends."""

import os
from argparse import ArgumentParser, Namespace

from checkpoint_git.core.clock import read_duration
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise, command
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.git.leases import LONGEST
from checkpoint_git.tools.claims.target import add_target_arguments, find_target

HELP = """\
reserve a checkpoint for this session, so that no two sessions do the same work

examples:
  checkpoint claim build
  checkpoint claim build --for 30m        the same session again: renews it
  checkpoint claim build --remote .       between the work trees of this clone alone

A claim is a ref, refs/checkpoint/claims/NAME. It ends by itself; status, next, resume and prime
show it.

exit 1: another session has claimed it
"""


def add_arguments(parser: ArgumentParser) -> None:
    add_target_arguments(parser)
    parser.add_argument(
        "--for", dest="lease", metavar="TIME", default="2h", help="90m, 2h, 1d (default: 2h)"
    )


def run(args: Namespace, invocation: Invocation) -> Outcome:
    """Claim a checkpoint; exit with code 1 if another session has the claim."""
    lease = read_duration(args.lease)
    if lease is None or lease > LONGEST:
        message = f'--for: cannot parse "{escape_controls(args.lease)}"'
        raise CheckpointError(message, "try 30m, 2h or 1d (7d at most)")

    target = find_target(args, invocation)
    wish, taken = target.swap(invocation.now, invocation.now + lease)
    if taken:
        return target.refuse(taken)

    until = wish.data["until"]
    release = advise("when it is done", "checkpoint", "release", *target.argv)
    lines = [Line(f"{args.skill} is yours until {until} ({target.where})", "good", hint=release)]
    if not os.path.lexists(target.path):
        hint = command("checkpoint", "status", more=" lists those that are")
        lines.append(Line(f"no such checkpoint here: {args.skill}", "warn", hint=hint))

    return Outcome({"claim": wish.data, "held": True, "remote": target.remote or None}, lines)
