"""`checkpoint row`: add a row to the progress table, or set a row's status."""

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
add a row to the progress table, or set the status of a row

examples:
  checkpoint row build "Data model"                     adds it with the id data-model
  checkpoint row build data-model --status complete

exit 1: refused, nothing written
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "skill", metavar="NAME", help="whose checkpoint; optional if there is only one"
    )
    parser.add_argument("text", metavar="TEXT", nargs="+", help="the row's label or id")
    parser.add_argument(
        "--status",
        metavar="STATUS",
        help=(
            "not_started (default of a new row), in_progress, complete, blocked, failed, "
            "skipped or deferred"
        ),
    )
    parser.add_argument(
        "--id", metavar="ID", dest="row_id", help="the id of a new row; default: made of its label"
    )


def run(args: Namespace, invocation: Invocation) -> Outcome:
    def change(value: dict[str, Any]) -> MadeEntry | Finding:
        return entries.row(value, " ".join(args.text), args.status, args.row_id)

    return run_record("row", args, invocation, change)
