"""`checkpoint decide`: answer a waiting decision."""

from argparse import ArgumentParser, Namespace
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.protocols.skill.edit import entries
from checkpoint_git.protocols.skill.edit.entries import MadeEntry
from checkpoint_git.protocols.skill.verbs.record import run_record

SENTENCES = ("words",)
MAY_OMIT_NAME = True
HELP = """\
answer a waiting decision; the answer becomes a key decision with today's date

examples:
  checkpoint decide build "eu-west"
  checkpoint decide build b41d7 "eu-west"   if several wait

exit 1: refused, nothing written
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.usage = "%(prog)s NAME [ID] ANSWER"
    parser.add_argument(
        "skill", metavar="NAME", help="whose checkpoint; optional if there is only one"
    )
    parser.add_argument(
        "words",
        metavar="[ID] ANSWER",
        nargs="+",
        help="the question's id, if several wait; the answer",
    )


def run(args: Namespace, invocation: Invocation) -> Outcome:
    def change(value: dict[str, Any]) -> MadeEntry | Finding:
        answer, question = entries.split_answer(value, args.words)
        return entries.decide(value, invocation.now, answer, question)

    return run_record("decide", args, invocation, change)
