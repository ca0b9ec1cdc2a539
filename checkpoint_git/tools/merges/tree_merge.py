"""Two commits merged in memory by our rules: git merges the ordinary files, the merge schemas every
checkpoint.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES, JsonTextError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.driver_settings import driver_command
from checkpoint_git.git.history.history import is_shallow
from checkpoint_git.git.isolated_dir import Sealed, open_sealed
from checkpoint_git.git.merges import trees
from checkpoint_git.git.merges.bases import read_base_ids
from checkpoint_git.git.merges.conflicts import merge_as_text, read_choices
from checkpoint_git.git.merges.merges import UNSHALLOW, read_contents
from checkpoint_git.git.objects import TreeEntry, read_commit
from checkpoint_git.git.run import Env
from checkpoint_git.merge.conflicts import Clash, list_clashes
from checkpoint_git.merge.file import merge_file
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.registry import attribute_patterns, is_merged, protocol_of
from checkpoint_git.tools.merges.audited_file import Schemas

Kind = Literal[
    "checkpoint",
    "text",
    "too-large",
    "record",
    "file",
    "binary",
    "removed",
    "renamed",
    "mode",
    "type",
]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# a word in git's name of a conflict -> what we call it; the first that fits, else "type"
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("rename", "renamed"),
    ("modify/delete", "removed"),
    ("binary", "binary"),
    ("content", "file"),
)
# of several, the first that is there
_WEIGHTS: tuple[Kind, ...] = (
    "removed",
    "renamed",
    "type",
    "binary",
    "file",
)
_CONTENT_ALONE = frozenset(("contents", "content", "binary"))
_LONGEST_VALUE = 200  # characters of one side's value
_RECORD = (
    "both sides have this record differently, and records are only ever added:"
    " give one of the two another attempt"
)
_MODE = "one side made it executable, the other did not"


class Remaining(NamedTuple):
    """What a merge leaves to the user. path: "" for a conflict of no single path. kind:
    "checkpoint" (both sides say different things, at clashes), "text" (a checkpoint that is not
    JSON), "too-large", "record" (only ever added, and both sides have it differently), "file" and
    "binary" (an ordinary file), "removed" (changed here, removed there), "renamed", "mode", "type"
    (file, folder, link or submodule). detail: a sentence, may hold untrusted text. clashes: ours
    and theirs at a pointer.
    """

    path: str
    kind: Kind
    detail: str
    clashes: tuple[Clash, ...] = ()


class MergedFile(NamedTuple):
    path: str
    # ours, base, theirs; no base where both added it
    sides: tuple[bytes | None, bytes | None, bytes | None]
    # None if nothing could be made; with conflict markers where it is in `remaining`
    data: bytes | None


class MergedTree(NamedTuple):
    """tree: an id; if anything remains, it has conflict markers or one side's content and must not
    be committed.
    """

    tree: str
    bases: tuple[str, ...]  # several after a criss-cross
    files: tuple[MergedFile, ...]  # the checkpoints that both sides changed, sorted by path
    remaining: tuple[Remaining, ...]  # sorted by path; empty for a clean merge

    @property
    def is_clean(self) -> bool:
        return not self.remaining


class UnrelatedError(CheckpointError):
    """Two commits have no common ancestor, or this clone does not have it."""


def merge_commits(cwd: str, ours: str, theirs: str, *, env: Env = None) -> MergedTree:
    """What `git merge` with the installed driver would make of two commits, as a tree. No file's
    attributes count: no merge=union, no driver but ours, which merges every checkpoint. New objects
    are written to the repository; no ref points to them. Raises CheckpointError if a revision is
    unknown, UnrelatedError where the two have nothing in common or a shallow clone lacks it.
    """
    sides = [read_commit(cwd, rev, env) for rev in (ours, theirs)]
    bases = read_checked_bases(cwd, sides[0], sides[1], env)
    return _merge(cwd, (sides[0], sides[1]), bases, "inner" if len(bases) > 1 else "none", env)


def read_checked_bases(cwd: str, ours: str, theirs: str, env: Env = None) -> list[str]:
    """At least one, for full ids. Raises UnrelatedError if there is none."""
    bases = read_base_ids(cwd, (ours, theirs), env)
    if bases:
        return bases
    names = f"{ours[:12]} and {theirs[:12]}"
    if is_shallow(cwd):
        raise UnrelatedError(f"what {names} have in common is not in this clone", UNSHALLOW)
    raise UnrelatedError(
        f"{names} have no common ancestor", "they are unrelated histories: merge them by hand"
    )


# Which merges git gives to the driver: none, so that every checkpoint that both sides changed is
# left to us; those of the merge bases of a criss-cross; or every one, a process each, where it
# merges what it has merged already.
_How = Literal["none", "inner", "every"]


def _merge(
    cwd: str, sides: tuple[str, str], bases: Sequence[str], how: _How, env: Env
) -> MergedTree:
    choices = read_choices(cwd)
    drivers = {}
    if how != "none":
        command = driver_command(sys.executable, _PACKAGE, choices)
        drivers = {
            "merge.checkpoint.driver": "false" if how == "inner" else command,
            "merge.checkpoint.recursive": "checkpoint-base",
            "merge.checkpoint-base.driver": driver_command(
                sys.executable, _PACKAGE, choices, base=True
            ),
        }

    value = "-merge" if how == "none" else "merge=checkpoint"
    with open_sealed(
        cwd, [f"{pattern} {value}" for pattern in attribute_patterns()], drivers, env
    ) as sealed:
        if sealed.partial:
            trees.fetch_missing(cwd, bases, sides, env)
        merged = trees.merge_trees(sealed, *sides)
        # a renamed checkpoint that meets another: git then merges the result of one merge with the
        # next file
        renames = [
            note
            for note in merged.notes
            if "rename" in note.kind and any(map(is_merged, note.paths))
        ]
        if how == "every" or not renames:
            return _join(cwd, sealed, merged, bases, Schemas(choices), how == "every", env)

    return _merge(cwd, sides, bases, "every", env)


# No index, no work tree and no ref is touched, and nothing that either commit holds has a say in
# how it is merged.
def _join(
    cwd: str,
    sealed: Sealed,
    merged: trees.TreeMerge,
    bases: Sequence[str],
    schemas: Schemas,
    is_driven: bool,
    env: Env,
) -> MergedTree:
    mine = [file for file in merged.unsettled if _is_mine(file)]
    paths = {file.path for file in mine}
    contents = read_contents(cwd, [side.blob for file in mine for side in file.sides if side], env)
    files, remaining = [], list(_list_others(merged, paths))
    made: dict[str, tuple[str, bytes]] = {}
    for file in mine:
        merged_file, mode, left = _merge_one(file, contents, schemas, sealed)
        files.append(merged_file)
        remaining += [left] if left else []
        if merged_file.data is not None:
            made[file.path] = (mode, merged_file.data)

    tree = _write_made(sealed, merged.tree, made)
    if is_driven:
        driven = [path for path in merged.texts - paths if is_merged(path)]
        files += _read_driven(cwd, sealed, merged.tree, driven, env)

    known = {left.path for left in remaining}
    losses = trees.read_rename_losses(sealed, bases, merged.tree)
    remaining += [_tell_rename(loss) for loss in losses if loss.path not in known]
    remaining = sorted(dict.fromkeys(remaining), key=lambda left: (left.path, left.kind))
    return MergedTree(
        tree, tuple(bases), tuple(sorted(files, key=lambda file: file.path)), tuple(remaining)
    )


def _merge_one(
    file: trees.Unsettled, contents: Mapping[str, bytes], schemas: Schemas, sealed: Sealed
) -> tuple[MergedFile, str, Remaining | None]:
    """Return the file, its mode, and what it leaves to the user."""
    ours, base, theirs = (None if side is None else contents[side.blob] for side in file.sides)
    data, left = _merge_contents(file.path, base, ours or b"", theirs or b"", schemas, sealed)
    modes = ["" if side is None else side.mode for side in file.sides]
    mode = _merge_modes(*modes)
    if not mode and left is None:
        left = Remaining(file.path, "mode", _MODE)
    return MergedFile(file.path, (ours, base, theirs), data), mode or modes[trees.OURS], left


def _write_made(sealed: Sealed, tree: str, made: Mapping[str, tuple[str, bytes]]) -> str:
    blobs = trees.write_blobs(sealed, [data for _, data in made.values()])
    entries = {
        path: TreeEntry(mode, blob)
        for (path, (mode, _)), blob in zip(made.items(), blobs, strict=True)
    }
    return trees.write_tree(sealed, tree, entries)


def _tell_rename(loss: trees.RenameLoss) -> Remaining:
    target = shorten(loss.target, _LONGEST_VALUE)
    where = f"moved it to {target}, where no checkpoint is" if target else "moved it away"
    return Remaining(loss.path, "removed", f"{loss.mover} {where}, and the other side changed it")


def _is_mine(file: trees.Unsettled) -> bool:
    # whether both sides have a checkpoint that differs in content alone, as far as git could tell
    ours, base, theirs = file.sides
    are_files = (
        ours and ours.is_file and theirs and theirs.is_file and (base is None or base.is_file)
    )
    return bool(are_files) and is_merged(file.path) and set(file.kinds) <= _CONTENT_ALONE


def _merge_modes(ours: str, base: str, theirs: str) -> str:
    # "" if the sides disagree
    if ours in (theirs, base):
        return theirs
    return ours if theirs == base else ""


def _merge_contents(
    path: str, base: bytes | None, ours: bytes, theirs: bytes, schemas: Schemas, sealed: Sealed
) -> tuple[bytes | None, Remaining | None]:
    if max(len(base or b""), len(ours), len(theirs)) > MAX_BYTES:
        return None, Remaining(
            path, "too-large", f"a version of it is larger than {MAX_BYTES >> 20} MB"
        )

    try:
        merged = merge_file(
            base, ours, theirs, schemas.load(path), narrative=schemas.choices.narrative
        )
    except (
        Exception
    ) as error:  # no JSON that we accept, or a fault of ours: the driver does the same then
        why = error.message if isinstance(error, JsonTextError) else type(error).__name__
        data, is_clean = merge_as_text(sealed.cwd, base, ours, theirs, sealed.env)
        if is_clean:
            return data, None
        trouble = (
            "it has binary content" if data is None else "a version of it cannot be read as JSON"
        )
        return data, Remaining(path, "text", f"{trouble}: {why}")

    clashes = list_clashes(merged)
    places = [escape_controls(shorten(clash.where or "/", _LONGEST_VALUE)) for clash in clashes]
    detail = f"both sides changed {', '.join(places)}"
    return merged.data, Remaining(path, "checkpoint", detail, clashes) if clashes else None


def _read_driven(
    cwd: str, sealed: Sealed, tree: str, paths: Sequence[str], env: Env
) -> list[MergedFile]:
    # what the driver has merged; a file that a side has under another name counts as one that it
    # has not
    sides = [trees.read_versions(sealed, commit, paths) for commit in ("ours", "theirs", tree)]
    contents = read_contents(
        cwd, [entry.blob for versions in sides for entry in versions.values()], env
    )
    ours, theirs, made = (
        {path: contents[to.blob] for path, to in versions.items()} for versions in sides
    )
    return [
        MergedFile(path, (ours.get(path), None, theirs.get(path)), made.get(path)) for path in paths
    ]


def _list_others(merged: trees.TreeMerge, settled: set[str]) -> Iterator[Remaining]:
    # what git left to the user, except the files that we have merged
    for file in merged.unsettled:
        if file.path not in settled:
            notes = [note for note in reversed(merged.notes) if file.path in note.paths]
            yield _describe(file, {_find_kind(note.kind): note.text for note in notes})
    known = {file.path for file in merged.unsettled}
    for note in merged.notes if not merged.clean else ():
        if not known & set(note.paths):
            yield Remaining(note.paths[0] if note.paths else "", _find_kind(note.kind), note.text)
    for path in sorted(merged.texts - known):
        if _is_record(path):
            yield Remaining(path, "record", _RECORD)


def _describe(file: trees.Unsettled, said: Mapping[Kind, str]) -> Remaining:
    """said: git's first sentence of each kind."""
    if _is_record(file.path) and file.sides[trees.OURS] and file.sides[trees.THEIRS]:
        return Remaining(file.path, "record", _RECORD)
    path = file.path
    if any(word in kind for kind in file.kinds for word in ("directory", "types", "modes")):
        # git names what is in another's way after the side, "PATH~theirs"; the commits have it
        # without
        path = path.removesuffix("~ours").removesuffix("~theirs")

    kinds = [_find_kind(kind) for kind in file.kinds]
    kind: Kind = next((one for one in _WEIGHTS if one in kinds), "mode")
    remover = "theirs" if file.sides[trees.OURS] else "ours"
    details: dict[Kind, str] = {
        "removed": f"{remover} removed it, and the other side changed it",
        "mode": _MODE,
        "file": "both sides changed the same lines",
        "binary": "both sides changed it, and its content is binary",
    }
    return Remaining(path, kind, details.get(kind) or said.get(kind, ""))


def _find_kind(name: str) -> Kind:
    return next((kind for word, kind in _KINDS if word in name), "type")


def _is_record(path: str) -> bool:
    kind = protocol_of(path)
    if kind is None or is_merged(path):
        return False
    # whose pattern fits other files too
    return kind != "pipeline" or bool(open_room(kind).layout.find_skill(path))
