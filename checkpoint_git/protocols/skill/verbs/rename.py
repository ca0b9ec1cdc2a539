"""`checkpoint rename`: give a checkpoint another name, with its history and what refers to it."""

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
from checkpoint_git.protocols.write import Tell, plan_write, say_waiting

HELP = """\
rename a checkpoint: its file, its name inside, its history, and depends_on of the others

examples:
  checkpoint rename build api

What is in git's index is staged under the new name, as with git mv; updated_at does not change.

exit 1: refused, nothing written
"""


class Renamed(NamedTuple):
    """path: of the checkpoint now. refused: errors that prevent it; nothing was written then.
    staged: whether git's index has the new name. history: how many files of its past moved.
    dependents: whose depends_on changed. mentions: whose depends_on still names it, among other
    words. arisen: findings that were not there before.
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
    """Rename a checkpoint under the lock. The new files are whole before an old one goes, so a kill
    loses nothing. Raises CheckpointError for a name that is invalid or taken, a checkpoint that
    cannot be read, and one in a merge.
    """
    layout.check_skill_name(skill)
    layout.check_skill_name(new)
    _check_free(place, skill, new)
    path, new_path = layout.checkpoint_path(place, skill), layout.checkpoint_path(place, new)
    shown, new_shown = relative_path(path, place.top), relative_path(new_path, place.top)

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
        _move_kept(place, shown, new_shown, known[path], data, new)
        dependents, mentions = _rename_dependencies(place, skill, new, now)

    return Renamed(
        new_shown,
        [],
        staged,
        len(contents) - 1,
        tuple(dependents),
        tuple(mentions),
        tuple(written.arisen),
    )


def _check_free(place: Place, skill: str, new: str) -> None:
    """Raises CheckpointError for a new name that is taken, by a checkpoint or by the history of a
    former one.
    """
    hint = "choose another name"
    if store.is_mistyped(new, store.list_skills(place)):
        raise CheckpointError(f"a checkpoint cannot be named {quote(new)}", hint)
    if skill.casefold() == new.casefold():
        what = (
            "is its name already"
            if skill == new
            else "differs only in case, which some systems ignore"
        )
        raise CheckpointError(f"{new} {what}", hint)

    store.check_index(place, new)
    for known in store.list_skills(place):
        if known.casefold() == new.casefold():
            raise CheckpointError(f"{escape_controls(known)} already exists", hint)

    shown = layout.relative_checkpoint_path(place, new)
    if place.git_dir and read_tag(place.work_tree, place.git_dir, shown):
        raise CheckpointError(f"{shown} is not here, but still in git's index", hint)
    if store.list_history(place, new):
        raise CheckpointError(
            f"a former {new} has files in {layout.DIRECTORY}/{layout.HISTORY}", hint
        )


def _write_new(
    place: Place, contents: Mapping[str, tuple[str, bytes]], new: str, env: Mapping[str, str]
) -> bool:
    """Create the new files and stage them; return whether the index has the checkpoint. On an error
    none is left. contents: old path -> new path and what is written there.
    """
    created = list[str]()
    try:
        for old, (new_path, data) in contents.items():
            if not atomic.create_file(new_path, data, stat.S_IMODE(os.stat(old).st_mode)):
                raise CheckpointError(
                    f"{relative_path(new_path, place.top)} already exists", "choose another name"
                )
            created.append(new_path)
        return _stage(place, {old: new_path for old, (new_path, _) in contents.items()}, new, env)
    except BaseException:
        for made in created:
            atomic.remove_file(made)
        raise


def _stage(place: Place, paths: Mapping[str, str], new: str, env: Mapping[str, str]) -> bool:
    """Give the index the new names of what it has. What is edited and not staged yet stays so."""
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
    """Return a version of a checkpoint with its new name, None for what is not a JSON object."""
    try:
        root = jsontext.parse(jsontext.decode(data or b""))
    except jsontext.JsonTextError:
        return None
    return (
        jsonwrite.rewrite(root, {**root.value, "skill": new}).encode()
        if isinstance(root.value, dict)
        else None
    )


def _move_kept(place: Place, old: str, path: str, was: bytes, data: bytes, new: str) -> None:
    """Let `undo` revert the last write under the new name: what is kept for it is renamed, too."""
    kept = kept_write.read_kept(place, old)
    kept_write.forget_write(place, old)
    if kept is None or kept[1] != was:
        return
    before = None if kept[0] is None else _rename_text(kept[0], new)
    if before is not None or kept[0] is None:
        kept_write.keep_write(place, path, before, data, is_undone=kept[2])


def _rename_dependencies(
    place: Place, skill: str, new: str, now: int
) -> tuple[list[str], list[str]]:
    """Put the new name in depends_on of the others; return whose changed, and whose says it among
    other words.
    """
    changed, mentions = list[str](), list[str]()
    for document in list(store.iterate_documents(place, now)):
        waits = [wait for wait in views.list_waits(document.value or {}) if isinstance(wait, str)]
        if skill in waits:
            written = plan_write(
                document.path, document, lambda value: _depend_on(value or {}, skill, new), now
            )
            if not written.refused:
                data = (written.document.text or "").encode()
                store.write_checkpoint(place, document.skill, (document.text or "").encode(), data)
                kept_write.keep_write(place, document.path, (document.text or "").encode(), data)
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
    return Outcome(_describe(args, place, result), _tell(args, result), result.arisen, 0)


def _refuse(args: Namespace) -> list[Block]:
    return [Line(f"{args.skill}: rename refused, nothing was written", "bad")]


def _describe(args: Namespace, place: Place, result: Renamed | None) -> dict[str, Any]:
    """Return the JSON document; result: None if it was refused."""
    return {
        "skill": args.skill,
        "new": args.new,
        "path": layout.relative_checkpoint_path(place, args.new if result else args.skill),
        "written": result is not None,
        "staged": result is not None and result.staged,
        "history": result.history if result else 0,
        "dependents": list(result.dependents) if result else [],
    }


def _tell(args: Namespace, result: Renamed) -> list[Block]:
    staged = ", staged" if result.staged else ""
    back = advise("to go back", "checkpoint", "rename", args.new, args.skill)
    lines: list[Block] = [
        Line(f"{args.skill}: renamed to {args.new} in {result.path}{staged}", "good", hint=back)
    ]
    if result.history:
        lines.append(Line(f"  {plural(result.history, 'file')} of its history renamed, too", "dim"))
    for name in result.dependents:
        lines.append(Line(f"  {name}: depends_on names {args.new} now", "dim"))
    for name in result.mentions:
        look = advise("look at it", "checkpoint", "show", name)
        lines.append(Line(f"  {name}: depends_on still mentions {args.skill}", "warn", hint=look))

    return lines
