"""`checkpoint undo`: revert the last write of a checkpoint; what it takes back is kept in turn."""

from argparse import ArgumentParser, Namespace
from typing import Any, NamedTuple

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
    """Revert the last write of a checkpoint, or the last undo.

    Raises CheckpointError if nothing is kept, or the file changed since its last write.
    """
    shown = layout.relative_checkpoint_path(place, skill)
    with store.writing(place, skill, on_wait):
        kept = kept_write.read_kept(place, shown)
        content = store.read_skill(place, skill)
        if kept is None and content is None:
            raise store.missing_checkpoint(place, skill)
        git = advise("look at its history", "git", "log", "-p", "--", shown)
        if kept is None:
            raise CheckpointError(f"no write to {skill} is recorded in this clone", git)
        before, after, is_undone = kept
        if content != after:
            message = f"{escape_controls(shown)} changed since its last write: nothing was undone"
            raise CheckpointError(message, git)
        if before is None:
            store.remove_checkpoint(place, skill, after or b"")
        else:
            store.write_checkpoint(place, skill, after, before)
        kept_write.keep_write(place, shown, after, before, is_undone=not is_undone)

    restored = _read_members(before)
    reverted = _read_members(after)
    names = [name for name in {**restored, **reverted} if restored.get(name) != reverted.get(name)]
    fields = [name for name in names if name != "updated_at"]
    return Undone(fields or names, is_undone, before is not None)


def _read_members(data: bytes | None) -> dict[str, Any]:
    """Return the members of a version of a checkpoint, {} for no file."""
    if not data:
        return {}
    members: dict[str, Any] = jsontext.load(jsontext.decode(data))
    return members


def run(args: Namespace, invocation: Invocation) -> Outcome:
    place = store.find_own_place(args.skill, invocation.cwd, invocation.env)
    undone = undo(place, args.skill, say_waiting(invocation.stderr))
    path = layout.relative_checkpoint_path(place, args.skill)

    verb = "reverted"
    advice = "to restore it"
    if undone.brought_back:
        verb = "restored"
        advice = "to revert it again"
    text = f"{args.skill}: removed, as before its first write"
    if undone.exists:
        text = f"{args.skill}: {verb} the last write ({', '.join(undone.fields)})"
    line = Line(text, "good", hint=advise(advice, "checkpoint", "undo", args.skill))
    return Outcome({"skill": args.skill, "path": path, "written": True, **undone._asdict()}, [line])
