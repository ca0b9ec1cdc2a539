"""`checkpoint block`: add a blocker."""

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
add a blocker; the status stays

examples:
  checkpoint block build "The sandbox key is missing" --needs external_dep

exit 1: refused, nothing written
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "skill", metavar="NAME", help="whose checkpoint; optional if there is only one"
    )
    parser.add_argument("text", metavar="TEXT", nargs="+", help="what blocks the work")
    parser.add_argument(
        "--needs", metavar="WHO", help="who can clear it: user_decision, code_fix, external_dep"
    )
    parser.add_argument(
        "--blocks", metavar="ROW", help="the id of the progress_table row that waits"
    )


def run(args: Namespace, invocation: Invocation) -> Outcome:
    def change(value: dict[str, Any]) -> MadeEntry | Finding:
        return entries.block(value, " ".join(args.text), args.needs, args.blocks)

    return run_record("block", args, invocation, change)
