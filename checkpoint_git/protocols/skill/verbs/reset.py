"""`checkpoint reset`: archive a skill's checkpoint, so that the skill starts a new one."""

import argparse

from checkpoint_git.core.clock import write_stamp
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.write import Tell, say_waiting, set_apart

HELP = """\
archive a checkpoint and start over

examples:
  checkpoint reset build

The file moves to .checkpoints/history/ unchanged, even if it is not valid JSON.

exit 1: a checkpoint cannot be read
"""

_MOST_A_SECOND = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skill", metavar="NAME", help="whose checkpoint to archive")


def reset(place: Place, skill: str, now: int, on_wait: Tell = lambda: None) -> str:
    """Archive a skill's checkpoint, remove it, and return the archive's path.

    Each line of JSON gets one more space, all else is kept byte for byte. A kill in between leaves
    both files. Raises CheckpointError if there is no file or it cannot be read.
    """
    layout.check_skill_name(skill)
    with store.writing(place, skill, on_wait):
        content = store.read_skill(place, skill)
        if content is None:
            raise store.missing_checkpoint(place, skill)
        if isinstance(content, OSError):
            path = layout.relative_checkpoint_path(place, skill)
            message = f"{path} cannot be archived: {content.strerror}"
            raise CheckpointError(message, "move it away by hand")
        stamp = write_stamp(now)
        marks = [stamp, *(f"{stamp}-{number}" for number in range(2, _MOST_A_SECOND))]
        archive = store.write_history(place, skill, marks, set_apart(content))
        store.remove_checkpoint(place, skill, content)

    return relative_path(archive, place.top)


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    place = store.find_own_place(args.skill, invocation.cwd, invocation.env)
    archive = reset(place, args.skill, invocation.now, say_waiting(invocation.stderr))
    hint = advise("to start a new one", "checkpoint", "update", args.skill)
    line = Line(f"{args.skill}: archived to {archive}", "good", hint=hint)
    return Outcome({"skill": args.skill, "archive": archive}, [line])
