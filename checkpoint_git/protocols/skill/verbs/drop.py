"""`checkpoint drop`: remove a next action that will not be done."""

from argparse import ArgumentParser, Namespace
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.protocols.skill.edit import entries
from checkpoint_git.protocols.skill.edit.entries import MadeEntry
from checkpoint_git.protocols.skill.verbs.record import run_record

SENTENCES = ("action", "why", "next")
MAY_OMIT_NAME = True
HELP = """\
remove a next action without doing it; the reason is kept as a key decision

examples:
  checkpoint drop build "evaluator" --why "the new suite covers it"

exit 1: refused, nothing written
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "skill", metavar="NAME", help="whose checkpoint; optional if there is only one"
    )
    parser.add_argument(
        "action",
        metavar="ACTION",
        nargs="*",
        help="its number or part of its text; default: the first",
    )
    parser.add_argument("--why", "--reason", metavar="TEXT", required=True, help="the reason")
    parser.add_argument("--next", metavar="TEXT", help="the next action, put first in the list")
    parser.add_argument("--complete", action="store_true", help="also set status to complete")


def run(args: Namespace, invocation: Invocation) -> Outcome:
    def change(value: dict[str, Any]) -> MadeEntry | Finding:
        action = " ".join(args.action) if args.action else None
        return entries.drop(
            value,
            invocation.now,
            args.why,
            action,
            next_action=args.next,
            complete=args.complete,
        )

    return run_record("drop", args, invocation, change)
