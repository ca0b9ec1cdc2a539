"""Merge two commits without a work tree: git merges ordinary files, our rules checkpoints."""

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
# a word in git's name of a conflict -> our kind; the first that fits, else "type"
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("rename", "renamed"),
    ("modify/delete", "removed"),
    ("binary", "binary"),
    ("content", "file"),
)
# a file with several conflicts is reported by the first of these kinds
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
    """A conflict that a merge leaves to the user.

    path: "" for a conflict of no single path. detail: a sentence, may have untrusted text.
    clashes: ours and theirs at a pointer.
    kind: "checkpoint" (the sides differ at clashes), "text" (a checkpoint that is not JSON),
    "too-large", "record" (only ever added, and both sides have it differently), "file" and
    "binary" (an ordinary file), "removed" (changed here, removed there), "renamed", "mode", "type"
    (file, folder, link or submodule).
    """

    path: str
    kind: Kind
    detail: str
    clashes: tuple[Clash, ...] = ()


class MergedFile(NamedTuple):
    """sides: ours, base and theirs; no base if both added the file.

    data: None if the merge has no result; it has conflict markers if the file is in `remaining`.
    """

    path: str
    sides: tuple[bytes | None, bytes | None, bytes | None]
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
    """Return what `git merge` with the installed driver would make of two commits.

    Attributes in the commits do not count: no merge=union, and no driver except ours, which merges
    every checkpoint. New objects are written to the repository; no ref points to them.
    Raises CheckpointError for an unknown revision, UnrelatedError if the two have no common
    ancestor in this clone.
    """
    sides = (read_commit(cwd, ours, env), read_commit(cwd, theirs, env))
    bases = read_checked_bases(cwd, *sides, env)
    if len(bases) > 1:
        return _merge(cwd, sides, bases, "inner", env)
    return _merge(cwd, sides, bases, "none", env)


def read_checked_bases(cwd: str, ours: str, theirs: str, env: Env = None) -> list[str]:
    """Return the merge bases of two commits, given by full ids. Raises UnrelatedError for none."""
    bases = read_base_ids(cwd, (ours, theirs), env)
    if bases:
        return bases
    names = f"{ours[:12]} and {theirs[:12]}"
    if is_shallow(cwd):
        raise UnrelatedError(f"what {names} have in common is not in this clone", UNSHALLOW)
    hint = "they are unrelated histories: merge them by hand"
    raise UnrelatedError(f"{names} have no common ancestor", hint)


# Which merges git gives to the driver. "none": every checkpoint that both sides changed is left to
# us. "inner": those of the merge bases of a criss-cross. "every": all, a process each, because git
# merges the result of one merge again.
_How = Literal["none", "inner", "every"]


def _merge(
    cwd: str, sides: tuple[str, str], bases: Sequence[str], how: _How, env: Env
) -> MergedTree:
    """Merge with no index, no work tree and no ref; nothing in either commit can change how."""
    choices = read_choices(cwd)
    value = "-merge"
    drivers = {}
    if how != "none":
        value = "merge=checkpoint"
        drivers = {
            "merge.checkpoint.driver": driver_command(sys.executable, _PACKAGE, choices),
            "merge.checkpoint.recursive": "checkpoint-base",
            "merge.checkpoint-base.driver": driver_command(
                sys.executable, _PACKAGE, choices, base=True
            ),
        }
    if how == "inner":
        drivers["merge.checkpoint.driver"] = "false"

    attributes = [f"{pattern} {value}" for pattern in attribute_patterns()]
    with open_sealed(cwd, attributes, drivers, env) as sealed:
        if sealed.partial:
            trees.fetch_missing(cwd, sides, env)
        merged = trees.merge_trees(sealed, *sides)
        if how == "every" or not _has_renamed_checkpoint(merged):
            return _join(cwd, sealed, merged, bases, Schemas(choices), how == "every", env)

    return _merge(cwd, sides, bases, "every", env)


def _has_renamed_checkpoint(merged: trees.TreeMerge) -> bool:
    # if a renamed checkpoint meets another, git merges the result of one merge with the next file
    return any("rename" in note.kind and any(map(is_merged, note.paths)) for note in merged.notes)


def _join(
    cwd: str,
    sealed: Sealed,
    merged: trees.TreeMerge,
    bases: Sequence[str],
    schemas: Schemas,
    is_driven: bool,
    env: Env,
) -> MergedTree:
    """Merge the checkpoints that git left to us, and put them into git's tree."""
    mine = [file for file in merged.unsettled if _is_mine(file)]
    paths = {file.path for file in mine}
    contents = read_contents(cwd, [side.blob for file in mine for side in file.sides if side], env)
    files = []
    remaining = list(_list_others(merged, paths))
    made: dict[str, tuple[str, bytes]] = {}
    for file in mine:
        merged_file, mode, conflict = _merge_mine(file, contents, schemas, sealed)
        files.append(merged_file)
        if conflict is not None:
            remaining.append(conflict)
        if merged_file.data is not None:
            made[file.path] = (mode, merged_file.data)

    tree = _write_made(sealed, merged.tree, made)
    if is_driven:
        driven = [path for path in merged.texts - paths if is_merged(path)]
        files += _read_driven(cwd, sealed, merged.tree, driven, env)

    known = {conflict.path for conflict in remaining}
    losses = trees.read_rename_losses(sealed, bases, merged.tree)
    remaining += [_describe_rename(loss) for loss in losses if loss.path not in known]
    remaining = sorted(
        dict.fromkeys(remaining), key=lambda conflict: (conflict.path, conflict.kind)
    )
    files.sort(key=lambda file: file.path)
    return MergedTree(tree, tuple(bases), tuple(files), tuple(remaining))


def _merge_mine(
    file: trees.Unsettled, contents: Mapping[str, bytes], schemas: Schemas, sealed: Sealed
) -> tuple[MergedFile, str, Remaining | None]:
    """Return the merged file, its mode, and the conflict that it leaves to the user."""
    merged_file, conflict = _merge_checkpoint(file, contents, schemas, sealed)
    mode, is_agreed = _merge_modes(*(side.mode if side else "" for side in file.sides))
    if conflict is None and not is_agreed:
        conflict = Remaining(file.path, "mode", _MODE)
    return merged_file, mode, conflict


def _merge_checkpoint(
    file: trees.Unsettled, contents: Mapping[str, bytes], schemas: Schemas, sealed: Sealed
) -> tuple[MergedFile, Remaining | None]:
    """Return the merged file, and the conflict that it leaves to the user."""
    ours, base, theirs = (contents[side.blob] if side else None for side in file.sides)
    data, conflict = _merge_contents(file.path, base, ours or b"", theirs or b"", schemas, sealed)
    return MergedFile(file.path, (ours, base, theirs), data), conflict


def _write_made(sealed: Sealed, tree: str, made: Mapping[str, tuple[str, bytes]]) -> str:
    blobs = trees.write_blobs(sealed, [data for _, data in made.values()])
    entries = {
        path: TreeEntry(mode, blob)
        for (path, (mode, _)), blob in zip(made.items(), blobs, strict=True)
    }
    return trees.write_tree(sealed, tree, entries)


def _describe_rename(loss: trees.RenameLoss) -> Remaining:
    moved = "moved it away"
    if loss.target:
        target = shorten(loss.target, _LONGEST_VALUE)
        moved = f"moved it to {target}, where no checkpoint is"
    return Remaining(loss.path, "removed", f"{loss.mover} {moved}, and the other side changed it")


def _is_mine(file: trees.Unsettled) -> bool:
    """Whether both sides have a checkpoint that differs in content alone, as far as git knows."""
    ours, base, theirs = file.sides
    if not ours or not theirs or not is_merged(file.path):
        return False
    if not ours.is_file or not theirs.is_file or (base and not base.is_file):
        return False
    return set(file.kinds) <= _CONTENT_ALONE


def _merge_modes(ours: str, base: str, theirs: str) -> tuple[str, bool]:
    """Return the mode of the merged file, and whether the sides agree on it."""
    if ours in (theirs, base):
        return theirs, True
    return ours, theirs == base


def _merge_contents(
    path: str, base: bytes | None, ours: bytes, theirs: bytes, schemas: Schemas, sealed: Sealed
) -> tuple[bytes | None, Remaining | None]:
    """Return the merged content, None for none, and the conflict that it leaves to the user."""
    if max(len(base or b""), len(ours), len(theirs)) > MAX_BYTES:
        trouble = f"a version of it is larger than {MAX_BYTES >> 20} MB"
        return None, Remaining(path, "too-large", trouble)

    narrative = schemas.choices.narrative
    try:
        merged = merge_file(base, ours, theirs, schemas.load(path), narrative=narrative)
    except Exception as error:
        # JSON that we do not accept, or a fault of ours: the driver falls back to text then, too
        reason = type(error).__name__
        if isinstance(error, JsonTextError):
            reason = error.message
        data, is_clean = merge_as_text(sealed.cwd, base, ours, theirs, sealed.env)
        if is_clean:
            return data, None
        trouble = "a version of it cannot be read as JSON"
        if data is None:
            trouble = "it has binary content"
        return data, Remaining(path, "text", f"{trouble}: {reason}")

    clashes = list_clashes(merged)
    if not clashes:
        return merged.data, None
    places = [escape_controls(shorten(clash.where or "/", _LONGEST_VALUE)) for clash in clashes]
    detail = f"both sides changed {', '.join(places)}"
    return merged.data, Remaining(path, "checkpoint", detail, clashes)


def _read_driven(
    cwd: str, sealed: Sealed, tree: str, paths: Sequence[str], env: Env
) -> list[MergedFile]:
    """Return the files that the driver has merged; a side that has a file under another name
    counts as one that lacks it.
    """
    versions = [trees.read_versions(sealed, commit, paths) for commit in ("ours", "theirs", tree)]
    blobs = [entry.blob for entries in versions for entry in entries.values()]
    contents = read_contents(cwd, blobs, env)

    files = []
    for path in paths:
        ours, theirs, made = (
            contents[entries[path].blob] if path in entries else None for entries in versions
        )
        files.append(MergedFile(path, (ours, None, theirs), made))
    return files


def _list_others(merged: trees.TreeMerge, settled: set[str]) -> Iterator[Remaining]:
    """Yield what git left to the user, except the files that we have merged."""
    for file in merged.unsettled:
        if file.path not in settled:
            notes = [note for note in reversed(merged.notes) if file.path in note.paths]
            yield _describe(file, {_find_kind(note.kind): note.text for note in notes})

    known = {file.path for file in merged.unsettled}
    if not merged.clean:
        for note in merged.notes:
            if known & set(note.paths):
                continue
            path = note.paths[0] if note.paths else ""
            yield Remaining(path, _find_kind(note.kind), note.text)

    for path in sorted(merged.texts - known):
        if _is_record(path):
            yield Remaining(path, "record", _RECORD)


def _describe(file: trees.Unsettled, sentences: Mapping[Kind, str]) -> Remaining:
    """Return a file that git left to the user. sentences: git's first one of each kind."""
    if _is_record(file.path) and file.sides[trees.OURS] and file.sides[trees.THEIRS]:
        return Remaining(file.path, "record", _RECORD)
    path = file.path
    if any(word in kind for kind in file.kinds for word in ("directory", "types", "modes")):
        # git adds the side to the name of a file that another one blocks: "PATH~theirs"
        path = path.removesuffix("~ours").removesuffix("~theirs")

    kinds = [_find_kind(kind) for kind in file.kinds]
    kind: Kind = next((candidate for candidate in _WEIGHTS if candidate in kinds), "mode")
    remover = "theirs" if file.sides[trees.OURS] else "ours"
    details: dict[Kind, str] = {
        "removed": f"{remover} removed it, and the other side changed it",
        "mode": _MODE,
        "file": "both sides changed the same lines",
        "binary": "both sides changed it, and its content is binary",
    }
    return Remaining(path, kind, details.get(kind) or sentences.get(kind, ""))


def _find_kind(name: str) -> Kind:
    return next((kind for word, kind in _KINDS if word in name), "type")


def _is_record(path: str) -> bool:
    kind = protocol_of(path)
    if kind is None or is_merged(path):
        return False
    # the pipeline's pattern fits other files too
    return kind != "pipeline" or bool(open_room(kind).layout.find_skill(path))
