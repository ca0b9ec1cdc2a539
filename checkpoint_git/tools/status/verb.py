"""`checkpoint status`: show the state of all work, what waits for the user, and what changed since
an instant.
"""

from argparse import ArgumentParser, Namespace
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.git.clone import add_gaps, find_gaps
from checkpoint_git.protocols.contract import StatusQuestion, find_project, read_summaries

_GAP_LINES = 4  # of a terminal, for one thing that the clone lacks and the command that fixes it

HELP = """\
show all work: decisions that wait for you, progress, next actions, blockers

examples:
  checkpoint status
  checkpoint status build
  checkpoint status --brief                        only the most important checkpoint
  checkpoint status --short                        one line per checkpoint
  checkpoint status --worktrees                    also what others did, as last fetched
  checkpoint status --since 2d                     what changed in two days
  checkpoint status --merged                       next actions and blockers that name merged work
  checkpoint status --json

exit 1: a checkpoint is invalid
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "skill", metavar="NAME", nargs="?", help="show only this one, in full; default: all"
    )
    parser.add_argument(
        "--all", action="store_true", help="on a terminal: all, even if it is more than a screen"
    )
    parser.add_argument(
        "--brief",
        action="store_true",
        help="only the most important skill, its next action, blockers",
    )
    parser.add_argument(
        "--worktrees",
        action="store_true",
        help="also what other work trees and branches have done",
    )
    parser.add_argument(
        "--short", action="store_true", help="only the table: one line for each checkpoint"
    )
    parser.add_argument(
        "--merged",
        action="store_true",
        help="only what names merged or closed work, with the commands",
    )
    parser.add_argument(
        "--since", metavar="TIME", help="changes since yesterday, 2d (days), 2026-06-01T00:00:00Z"
    )


def run(args: Namespace, invocation: Invocation) -> Outcome:
    """Show the state; exit with code 1 if a file is broken, after the others are shown."""
    form = getattr(args, "format", "")
    is_text = form in ("", "text")
    if args.skill or args.since:
        place = find_place(invocation.cwd)
    else:
        place = find_project(invocation.cwd)

    height = 0
    if is_text and not args.all:
        height = _find_room(place, invocation)
    asked = (args.skill, args.brief, args.since, args.short, args.worktrees, args.merged, height)
    question = StatusQuestion(place, invocation.now, invocation.env, "status", form, *asked)

    data: dict[str, Any] = {}
    lead: list[Block] = []
    blocks: list[Block] = []
    findings: list[Finding] = []
    for summary in read_summaries(question):
        data |= summary.data
        lead += summary.lead
        blocks += summary.blocks
        findings += summary.findings

    if lead and is_text and invocation.stdout.isatty():
        # what waits for the user is next to the prompt, and does not scroll away
        blocks = [*blocks, Line(""), *lead[:-1]]
    else:
        blocks = [*lead, *blocks]
    return add_gaps(Outcome(data, blocks, findings), (place.work_tree, place.git_dir), invocation)


def _find_room(place: Place, invocation: Invocation) -> int:
    """Return how many lines of the terminal are free, without those for what the clone lacks; 0
    off a terminal.
    """
    height = invocation.height
    if not height:
        return 0
    gaps = find_gaps(place.work_tree, place.git_dir, invocation.env)
    return max(height - _GAP_LINES * len(gaps), 1)
