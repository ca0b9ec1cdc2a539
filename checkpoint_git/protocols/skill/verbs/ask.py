"""`checkpoint ask`: ask the user for a decision."""

from argparse import ArgumentParser, Namespace
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.protocols.skill.edit import entries
from checkpoint_git.protocols.skill.edit.entries import MadeEntry
from checkpoint_git.protocols.skill.verbs.record import run_record

SENTENCES = ("question", "option")
MAY_OMIT_NAME = True
HELP = """\
ask the user for a decision; it waits until `decide` answers it

examples:
  checkpoint ask build "Which region?" --option eu-west --option us-east --blocks sprint-2

exit 1: refused, nothing written
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "skill", metavar="NAME", help="whose checkpoint; optional if there is only one"
    )
    parser.add_argument("question", metavar="QUESTION", nargs="+", help="what is to be decided")
    parser.add_argument(
        "--option",
        metavar="TEXT",
        action="append",
        default=[],
        help="a possible answer; repeatable",
    )
    parser.add_argument(
        "--blocks", metavar="ROW", help="the id of the progress_table row that waits"
    )


def run(args: Namespace, invocation: Invocation) -> Outcome:
    def change(value: dict[str, Any]) -> MadeEntry | Finding:
        return entries.ask(value, " ".join(args.question), args.option, args.blocks)

    return run_record("ask", args, invocation, change)
