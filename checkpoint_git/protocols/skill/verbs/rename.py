"""`checkpoint rename`: rename a checkpoint with its history, and update what refers to it."""

import os
import stat
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext, jsonwrite
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, plural
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.disk.read import read_plain
from checkpoint_git.git.clone import find_claims
from checkpoint_git.git.moves import Move, read_entries, stage_moves
from checkpoint_git.git.own_files import read_tag
from checkpoint_git.git.run import clean_env
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill import kept_write, layout, store, views
from checkpoint_git.protocols.validate import fold_name
from checkpoint_git.protocols.write import Tell, plan_write, say_waiting

HELP = """\
rename a checkpoint: its file, its name inside, its history, and depends_on of the others

examples:
  checkpoint rename build api

What is in git's index is staged under the new name, as with git mv; updated_at does not change.

exit 1: refused, nothing written
"""


class Renamed(NamedTuple):
    """What a rename did.

    path: of the checkpoint now. refused: errors, for which nothing was written. staged: git's index
    has the new name. history: the number of history files that moved. dependents: skills whose
    depends_on changed. mentions: skills whose depends_on still has the old name among other words.
    arisen: new findings.
    """

    path: str
    refused: list[Finding]
    staged: bool = False
    history: int = 0
    dependents: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    arisen: tuple[Finding, ...] = ()


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("skill", metavar="NAME", help="the checkpoint to rename")
    parser.add_argument("new", metavar="NEW", help="its new name")


def find_claim(place: Place, skill: str, env: Mapping[str, str], now: int) -> Finding | None:
    """Return the claim on a checkpoint that forbids a new name, None if nobody holds one."""
    for claim in find_claims(place.work_tree, place.git_dir, env, now):
        if claim.name == skill:
            hint = advise("end the claim first", "checkpoint", "release", skill)
            return Finding("claim/held", "error", claim.line, hint=hint)
    return None


def rename(
    place: Place,
    skill: str,
    new: str,
    now: int,
    env: Mapping[str, str],
    on_wait: Tell = lambda: None,
) -> Renamed:
    """Rename a checkpoint under the lock.

    The new files are complete before an old one is removed, so a kill loses nothing. Raises
    CheckpointError for a name that is invalid or taken, a checkpoint that cannot be read, and one
    in a merge.
    """
    layout.check_skill_name(skill)
    layout.check_skill_name(new)
    _check_free(place, skill, new)
    path = layout.checkpoint_path(place, skill)
    new_path = layout.checkpoint_path(place, new)
    new_shown = relative_path(new_path, place.top)

    with store.writing(place, skill, on_wait):
        _check_free(place, skill, new)
        store.read_value(place, skill, now)  # raises if there is nothing to rename
        before = store.read_document(place, skill, now)
        written = plan_write(new_shown, before, lambda value: {**(value or {}), "skill": new}, now)
        if written.refused:
            return Renamed(new_shown, written.refused)

        data = (written.document.text or "").encode()
        contents = {path: (new_path, data)}
        known = {path: (before.text or "").encode()}
        for old in store.list_history(place, skill):
            mark = os.path.basename(old).removeprefix(f"{skill}.").removesuffix(".json")
            known[old] = read_plain(old)
            contents[old] = (layout.history_path(place, new, mark), known[old])

        staged = _write_new(place, contents, new, env)
        for old, content in known.items():
            atomic.remove_known(old, content)
        _move_kept(place, relative_path(path, place.top), new_shown, known[path], data, new)
        dependents, mentions = _rename_dependencies(place, skill, new, now)

    return Renamed(
        new_shown,
        refused=[],
        staged=staged,
        history=len(contents) - 1,
        dependents=tuple(dependents),
        mentions=tuple(mentions),
        arisen=tuple(written.arisen),
    )


def _check_free(place: Place, skill: str, new: str) -> None:
    """Raise CheckpointError for a new name that a checkpoint or the history of a former one has."""
    hint = "choose another name"
    if store.is_mistyped(new, store.list_skills(place)):
        raise CheckpointError(f"a checkpoint cannot be named {quote(new)}", hint)
    if skill == new:
        raise CheckpointError(f"{new} is its name already", hint)
    if fold_name(skill) == fold_name(new):
        message = f"{new} differs only in case or accents, which some systems ignore"
        raise CheckpointError(message, hint)

    store.check_index(place, new)
    for known in store.list_skills(place):
        if fold_name(known) == fold_name(new):
            raise CheckpointError(f"{escape_controls(known)} already exists", hint)

    shown = layout.relative_checkpoint_path(place, new)
    if read_tag(place.work_tree, place.git_dir, shown):
        raise CheckpointError(f"{shown} is not here, but still in git's index", hint)
    if store.list_history(place, new):
        folder = f"{layout.DIRECTORY}/{layout.HISTORY}"
        raise CheckpointError(f"a former {new} has files in {folder}", hint)


def _write_new(
    place: Place, contents: Mapping[str, tuple[str, bytes]], new: str, env: Mapping[str, str]
) -> bool:
    """Create the new files, stage them, and return whether the index has the checkpoint.

    contents: old path -> new path and its content. An error removes the new files.
    """
    created = list[str]()
    try:
        for old, (new_path, data) in contents.items():
            if not atomic.create_file(new_path, data, stat.S_IMODE(os.stat(old).st_mode)):
                message = f"{relative_path(new_path, place.top)} already exists"
                raise CheckpointError(message, "choose another name")
            created.append(new_path)
        paths = {old: new_path for old, (new_path, _) in contents.items()}
        return _stage(place, paths, new, env)
    except BaseException:
        for path in created:
            atomic.remove_file(path)
        raise


def _stage(place: Place, paths: Mapping[str, str], new: str, env: Mapping[str, str]) -> bool:
    """Rename files in the index, and return whether the checkpoint is in it.

    paths: old -> new. Edits that are not staged stay so.
    """
    if not (place.work_tree and place.git_dir):
        return False
    top, clean = place.work_tree, clean_env(env)
    names = {relative_path(old, top): relative_path(path, top) for old, path in paths.items()}
    entries = read_entries(top, names, clean)
    if not entries:
        return False

    moves = list[Move]()
    for path, entry in entries.items():
        data = None
        if layout.find_skill(path):
            from checkpoint_git.git.objects import read_blob

            data = _rename_text(read_blob(top, entry.blob, clean), new)
        moves.append(Move(entry, names[path], data))

    stage_moves(top, moves, clean)
    return any(layout.find_skill(path) for path in entries)


def _rename_text(data: bytes | None, new: str) -> bytes | None:
    """Return a version of a checkpoint with its new name, None if it is not a JSON object."""
    try:
        root = jsontext.parse(jsontext.decode(data or b""))
    except jsontext.JsonTextError:
        return None
    if not isinstance(root.value, dict):
        return None
    return jsonwrite.rewrite(root, {**root.value, "skill": new}).encode()


def _move_kept(place: Place, old: str, path: str, was: bytes, data: bytes, new: str) -> None:
    """Rename what is kept for undo, so that `undo` reverts the last write under the new name.

    old, path: of the checkpoint before and now. was, data: its content before and now.
    """
    kept = kept_write.read_kept(place, old)
    kept_write.forget_write(place, old)
    if kept is None:
        return
    before, after, is_undone = kept
    if after != was:
        return
    if before is not None:
        before = _rename_text(before, new)
        if before is None:
            return
    kept_write.keep_write(place, path, before, data, is_undone=is_undone)


def _rename_dependencies(
    place: Place, skill: str, new: str, now: int
) -> tuple[list[str], list[str]]:
    """Put the new name into depends_on of other checkpoints.

    Return the skills that changed, and those that have the old name among other words.
    """
    changed = list[str]()
    mentions = list[str]()
    for document in list(store.iterate_documents(place, now)):
        waits = [wait for wait in views.list_waits(document.value or {}) if isinstance(wait, str)]
        if skill in waits:
            written = plan_write(
                document.path, document, lambda value: _depend_on(value or {}, skill, new), now
            )
            if not written.refused:
                before = (document.text or "").encode()
                data = (written.document.text or "").encode()
                store.write_checkpoint(place, document.skill, before, data)
                kept_write.keep_write(place, document.path, before, data)
                changed.append(document.skill)
        elif any(word.strip(",.:;()") == skill for wait in waits for word in wait.split()):
            mentions.append(document.skill)

    return changed, mentions


def _depend_on(value: dict[str, Any], skill: str, new: str) -> dict[str, Any]:
    waits = value["depends_on"]
    if isinstance(waits, str):
        return {**value, "depends_on": new}
    return {**value, "depends_on": [new if wait == skill else wait for wait in waits]}


def run(args: Namespace, invocation: Invocation) -> Outcome:
    place = store.find_own_place(args.skill, invocation.cwd, invocation.env)
    layout.check_skill_name(args.new)
    store.check_owner(args.new, invocation.env)
    claim = find_claim(place, args.skill, invocation.env, invocation.now)
    if claim:
        return Outcome(_describe(args, place, None), _refuse(args), [claim], 1)

    tell = say_waiting(invocation.stderr)
    result = rename(place, args.skill, args.new, invocation.now, invocation.env, tell)
    if result.refused:
        return Outcome(_describe(args, place, None), _refuse(args), result.refused, 1)
    return Outcome(_describe(args, place, result), _report(args, result), result.arisen, 0)


def _refuse(args: Namespace) -> list[Block]:
    return [Line(f"{args.skill}: rename refused, nothing was written", "bad")]


def _describe(args: Namespace, place: Place, result: Renamed | None) -> dict[str, Any]:
    """Return the JSON document. result: None if it was refused."""
    is_written = result is not None
    if result is None:
        result = Renamed(layout.relative_checkpoint_path(place, args.skill), [])
    return {
        "skill": args.skill,
        "new": args.new,
        "path": result.path,
        "written": is_written,
        "staged": result.staged,
        "history": result.history,
        "dependents": list(result.dependents),
    }


def _report(args: Namespace, result: Renamed) -> list[Block]:
    """Return the lines that report a rename."""
    text = f"{args.skill}: renamed to {args.new} in {result.path}"
    if result.staged:
        text += ", staged"
    back = advise("to go back", "checkpoint", "rename", args.new, args.skill)
    lines: list[Block] = [Line(text, "good", hint=back)]
    if result.history:
        lines.append(Line(f"  {plural(result.history, 'file')} of its history renamed, too", "dim"))
    for name in result.dependents:
        lines.append(Line(f"  {name}: depends_on names {args.new} now", "dim"))
    for name in result.mentions:
        look = advise("look at it", "checkpoint", "show", name)
        lines.append(Line(f"  {name}: depends_on still mentions {args.skill}", "warn", hint=look))

    return lines
