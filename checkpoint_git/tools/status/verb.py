"""`checkpoint status`: the state of everything, what waits on you, and what changed since an
instant.
"""

from argparse import ArgumentParser, Namespace
from typing import Any

from checkpoint_git.core.outcome import Invocation, Line, Outcome
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
        "skill", metavar="NAME", nargs="?", help="show this one in full; default: all"
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
        "--worktrees", action="store_true", help="also what other work trees and branches have done"
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
    """The verb: exit code 1 when a file is broken; the others are shown all the same."""
    cwd, form = invocation.cwd, getattr(args, "format", "")
    place = find_place(cwd) if args.skill or args.since else find_project(cwd)
    height = 0 if args.all or form not in ("", "text") else _find_room(place, invocation)
    asked = (args.skill, args.brief, args.since, args.short, args.worktrees, args.merged, height)
    summaries = list(
        read_summaries(
            StatusQuestion(place, invocation.now, invocation.env, "status", form, *asked)
        )
    )
    data: dict[str, Any] = {}
    for summary in summaries:
        data |= summary.data
    lead = [block for summary in summaries for block in summary.lead]
    blocks = [block for summary in summaries for block in summary.blocks]
    is_screen = form in ("", "text") and invocation.stdout.isatty()
    # what waits for the user is next to the prompt, and does not scroll away
    if is_screen and lead:
        blocks = [*blocks, Line(""), *lead[:-1]]
    else:
        blocks = [*lead, *blocks]

    findings = [finding for summary in summaries for finding in summary.findings]
    return add_gaps(Outcome(data, blocks, findings), (place.work_tree, place.git_dir), invocation)


def _find_room(place: Place, invocation: Invocation) -> int:
    """Return the lines of the terminal without those for what the clone lacks, 0 off a terminal."""
    height = invocation.height
    if not height:
        return 0
    gaps = find_gaps(place.work_tree, place.git_dir, invocation.env)
    return max(height - _GAP_LINES * len(gaps), 1)
