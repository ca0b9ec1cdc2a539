"""`checkpoint undo`: revert the last write of a checkpoint; what it takes back is kept in turn."""

from argparse import ArgumentParser, Namespace
from typing import NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.skill import kept_write, layout, store
from checkpoint_git.protocols.write import Tell, say_waiting

HELP = """\
revert the last write of a checkpoint; a second undo restores it

examples:
  checkpoint undo build

Reverts the last update, done, note, ask, decide, block, unblock or drop in this clone, byte for
byte. It refuses if the file changed since. Only one write is kept.

exit 1: refused, nothing written
"""


class Undone(NamedTuple):
    """fields: the root fields that differ. brought_back: what an earlier undo had taken back is
    there again. exists: whether the checkpoint does; its first write may be what was taken back.
    """

    fields: list[str]
    brought_back: bool
    exists: bool


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("skill", metavar="NAME", help="whose last write to revert")


def undo(place: Place, skill: str, on_wait: Tell = lambda: None) -> Undone:
    """Raises CheckpointError if nothing is kept, or where the file changed since its last write."""
    shown = layout.relative_checkpoint_path(place, skill)
    with store.writing(place, skill, on_wait):
        kept, content = kept_write.read_kept(place, shown), store.read_skill(place, skill)
        if kept is None and content is None:
            raise store.missing_checkpoint(place, skill)
        git = advise("look at its history", "git", "log", "-p", "--", shown)
        if kept is None:
            raise CheckpointError(f"no write to {skill} is recorded in this clone", git)
        before, after, is_undone = kept
        if content != after:
            raise CheckpointError(
                f"{escape_controls(shown)} changed since its last write: nothing was undone", git
            )
        if before is None:
            store.remove_checkpoint(place, skill, after or b"")
        else:
            store.write_checkpoint(place, skill, after, before)
        kept_write.keep_write(place, shown, after, before, is_undone=not is_undone)

    there, gone = (jsontext.load(jsontext.decode(data)) if data else {} for data in (before, after))
    names = [name for name in {**there, **gone} if there.get(name) != gone.get(name)]
    return Undone(
        [name for name in names if name != "updated_at"] or names, is_undone, before is not None
    )


def run(args: Namespace, invocation: Invocation) -> Outcome:
    place = store.find_own_place(args.skill, invocation.cwd, invocation.env)
    fields, brought_back, exists = undone = undo(place, args.skill, say_waiting(invocation.stderr))
    path = layout.relative_checkpoint_path(place, args.skill)
    done, again = ("restored", "revert it again") if brought_back else ("reverted", "restore it")
    what = (
        f"{done} the last write ({', '.join(fields)})"
        if exists
        else "removed, as before its first write"
    )
    line = Line(
        f"{args.skill}: {what}",
        "good",
        hint=advise(f"to {again}", "checkpoint", "undo", args.skill),
    )
    return Outcome({"skill": args.skill, "path": path, "written": True, **undone._asdict()}, [line])
