"""`checkpoint release`: give up a claim before it ends."""

from argparse import ArgumentParser, Namespace

from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.tools.claims.target import add_target_arguments, find_target

HELP = """\
give up this session's claim on a checkpoint

examples:
  checkpoint release build
  checkpoint release build --force        another session's, if that session is gone

exit 1: another session has claimed it
"""


def add_arguments(parser: ArgumentParser) -> None:
    add_target_arguments(parser)
    parser.add_argument("--force", action="store_true", help="another session's claim too")


def run(args: Namespace, invocation: Invocation) -> Outcome:
    """Give a claim up; exit with code 1 if another session has it."""
    target = find_target(args, invocation)
    _, taken = target.swap(invocation.now, invocation.now, force=args.force)
    if taken:
        return target.refuse(taken)
    data = {"claim": None, "held": False, "remote": target.remote or None}
    return Outcome(data, [Line(f"{args.skill} is released ({target.where})", "good")])
