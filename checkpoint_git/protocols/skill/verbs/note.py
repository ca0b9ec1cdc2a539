"""`checkpoint note`: record a key decision."""

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
record a key decision

examples:
  checkpoint note build "SQLite for storage"

exit 1: refused, nothing written
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "skill", metavar="NAME", help="whose checkpoint; optional if there is only one"
    )
    parser.add_argument("text", metavar="TEXT", nargs="+", help="what was decided, in a sentence")


def run(args: Namespace, invocation: Invocation) -> Outcome:
    def change(value: dict[str, Any]) -> MadeEntry | Finding:
        return entries.note(value, " ".join(args.text))

    return run_record("note", args, invocation, change)
