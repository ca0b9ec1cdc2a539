"""`checkpoint unblock`: mark a blocker as resolved."""

from argparse import ArgumentParser, Namespace
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.protocols.skill.edit import entries
from checkpoint_git.protocols.skill.edit.entries import MadeEntry
from checkpoint_git.protocols.skill.verbs.record import run_record

SENTENCES = ("id",)
MAY_OMIT_NAME = True
HELP = """\
mark a blocker as resolved

examples:
  checkpoint unblock build
  checkpoint unblock build b41d7             if several are open

exit 1: refused, nothing written
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "skill", metavar="NAME", help="whose checkpoint; optional if there is only one"
    )
    parser.add_argument(
        "id", metavar="ID", nargs="*", help="the blocker's id or text, if several are open"
    )


def run(args: Namespace, invocation: Invocation) -> Outcome:
    def change(value: dict[str, Any]) -> MadeEntry | Finding:
        name = " ".join(args.id) if args.id else None
        return entries.unblock(value, invocation.now, name)

    return run_record("unblock", args, invocation, change)
