"""`checkpoint add`: add a next action."""

from argparse import ArgumentParser, Namespace
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.protocols.skill.edit import entries
from checkpoint_git.protocols.skill.edit.entries import MadeEntry
from checkpoint_git.protocols.skill.verbs.record import run_record

SENTENCES = ("text",)
MAY_OMIT_NAME = True
HELP = """\
add a next action, at the end of the list

examples:
  checkpoint add build "Write the docs"
  checkpoint add build "Fix the login first" --first

exit 1: refused, nothing written
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "skill", metavar="NAME", help="whose checkpoint; optional if there is only one"
    )
    parser.add_argument("text", metavar="TEXT", nargs="+", help="what is to be done")
    parser.add_argument("--first", action="store_true", help="put it before all others")


def run(args: Namespace, invocation: Invocation) -> Outcome:
    def change(value: dict[str, Any]) -> MadeEntry | Finding:
        return entries.add(value, invocation.now, " ".join(args.text), first=args.first)

    return run_record("add", args, invocation, change)
