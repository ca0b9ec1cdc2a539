"""Two commits merged in memory by our rules: git merges the ordinary files, the merge schemas every checkpoint.

No index, no work tree and no ref is touched, and nothing that either commit holds has a say in how it is merged.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES, JsonTextError, decode, scan_tokens
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.driver_settings import Choices, driver_command
from checkpoint_git.git.history.history import is_shallow
from checkpoint_git.git.isolated_dir import Env, Sealed, open_sealed
from checkpoint_git.git.merges.bases import read_base_ids
from checkpoint_git.git.merges.conflicts import merge_lines, read_choices
from checkpoint_git.git.merges.merges import UNSHALLOW, read_contents
from checkpoint_git.git.merges.trees import (
    BASE,
    OURS,
    THEIRS,
    Note,
    RenameLoss,
    TreeMerge,
    Unsettled,
    fetch_missing,
    merge_trees,
    read_rename_losses,
    read_tree_id,
    read_versions,
    write_blobs,
    write_tree,
)
from checkpoint_git.git.objects import Entry, diff_trees, read_commit
from checkpoint_git.merge.conflicts import Clash, list_clashes
from checkpoint_git.merge.file import merge_file
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.registry import attribute_patterns, is_merged, protocol_of
from checkpoint_git.tools.merges.judged import Schemas

Kind = Literal["checkpoint", "text", "too-large", "record", "file", "binary", "removed", "renamed", "mode", "type"]
Only = Callable[[str], bool]
Schema = dict[str, Any]

# a word in git's name of a conflict -> what we call it; the first that fits
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("rename", "renamed"),
    ("modify/delete", "removed"),
    ("binary", "binary"),
    ("contents", "file"),
    ("content", "file"),
    ("modes", "type"),
    ("submodule", "type"),
    ("directory", "type"),
)
_CONTENT_ALONE = frozenset(("contents", "content", "binary"))
_LONGEST_VALUE = 200  # characters of one side's value


class Remaining(NamedTuple):
    """What a merge leaves to the user.

    path: "" for a conflict of no single path. kind: "checkpoint" (both sides say different things, at clashes), "text"
    (a checkpoint that is no JSON), "too-large", "record" (only ever added, and both sides have it differently),
    "file" and "binary" (an ordinary file), "removed" (changed here, removed there), "renamed", "mode", "type" (file,
    folder, link or submodule). detail: a sentence, may hold untrusted text. clashes: ours and theirs at a pointer.
    """

    path: str
    kind: Kind
    detail: str
    clashes: tuple[Clash, ...] = ()


class MergedFile(NamedTuple):
    """A checkpoint that both sides changed. sides: ours, base, theirs as bytes; base is None where both added it.

    data: what came of it, None where nothing could; with conflict markers where it is in `remaining`.
    """

    path: str
    sides: tuple[bytes | None, bytes | None, bytes | None]
    data: bytes | None


class MergedTree(NamedTuple):
    """Two commits merged.

    tree: the id of a tree in the repository. Where something remains it holds conflict markers or one side's content
    there, and must not be committed. ours, theirs, bases: full commit ids; several bases after a criss-cross. files:
    the checkpoints that both sides changed, sorted by path. remaining: sorted by path; empty for a clean merge.
    """

    tree: str
    ours: str
    theirs: str
    bases: tuple[str, ...]
    files: tuple[MergedFile, ...]
    remaining: tuple[Remaining, ...]

    @property
    def is_clean(self) -> bool:
        return not self.remaining


_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class UnrelatedError(CheckpointError):
    """Two commits have no common ancestor, or this clone does not have it."""


def merge_commits(
    cwd: str, ours: str, theirs: str, *, only: Only | None = None, choices: Choices | None = None, env: Env = None
) -> MergedTree:
    """What `git merge` with the installed driver would make of two commits, as a tree.

    cwd: in any repository: bare, a linked work tree, inside a hook (its quarantine is kept). ours, theirs: revisions.
    only: whether a path counts; all others stay as ours has them, and their conflicts are not reported: a merge of
    checkpoints alone is `only=is_merged`. choices: narrative and schema; None for those of the driver that this clone
    has installed. env: git's surroundings, None for this process's. Differences from `git merge`: no file's attributes
    count (no merge=union, no driver but ours, no line ends), and a checkpoint is given to our driver wherever both
    sides changed it, whatever attributes say; a pipeline's record that both sides have differently is a conflict.

    New objects are written to the repository; no ref points to them. Raises CheckpointError where a revision is
    unknown, UnrelatedError where the two have nothing in common or a shallow clone lacks it.
    """
    first, second = (read_commit(cwd, rev, env) for rev in (ours, theirs))
    bases = read_checked_bases(cwd, first, second, env)
    decided = read_choices(cwd) if choices is None else choices
    ways: tuple[_How, ...] = ("inner" if len(bases) > 1 else "none", "every")
    for how in ways:
        value = "-merge" if how == "none" else "merge=checkpoint"
        attributes = [f"{pattern} {value}" for pattern in attribute_patterns()]
        with open_sealed(cwd, attributes, _drivers(how, decided), env) as sealed:
            if sealed.partial:
                fetch_missing(cwd, [(base, side) for base in bases for side in (first, second)], env)
            merged = merge_trees(sealed, first, second)
            if how == "every" or not _is_entangled(merged):
                joined = Joiner(cwd, sealed, Schemas(decided), env, how == "every").join(merged, bases, only)
                break
    return joined._replace(ours=first, theirs=second, bases=tuple(bases))


def merge_plainly(cwd: str, ours: str, theirs: str, *, env: Env = None) -> TreeMerge:
    """What a forge would make of two commits: git's own text merge of every file, with no attributes.

    Raises as merge_commits does.
    """
    first, second = (read_commit(cwd, rev, env) for rev in (ours, theirs))
    bases = read_checked_bases(cwd, first, second, env)
    with open_sealed(cwd, env=env) as sealed:
        if sealed.partial:
            fetch_missing(cwd, [(base, side) for base in bases for side in (first, second)], env)
        return merge_trees(sealed, first, second)


def read_checked_bases(cwd: str, ours: str, theirs: str, env: Env = None) -> list[str]:
    """The merge bases of two commits (full ids), at least one. Raises UnrelatedError where there is none."""
    bases = read_base_ids(cwd, (ours, theirs), env)
    if bases:
        return bases
    names = f"{ours[:12]} and {theirs[:12]}"
    if is_shallow(cwd):
        raise UnrelatedError(f"what {names} have in common is not in this clone", UNSHALLOW)
    raise UnrelatedError(f"{names} have no common ancestor", "they are unrelated histories: merge them by hand")


# Which merges git gives to the driver: none, so that every checkpoint that both sides changed is left to us; those of
# the merge bases of a criss-cross; or every one, a process each, where it merges what it has merged already.
_How = Literal["none", "inner", "every"]


def _drivers(how: _How, choices: Choices) -> dict[str, str]:
    if how == "none":
        return {}
    command = driver_command(sys.executable, _PACKAGE, choices)
    return {
        "merge.checkpoint.driver": "false" if how == "inner" else command,
        "merge.checkpoint.recursive": "checkpoint-base",
        "merge.checkpoint-base.driver": driver_command(sys.executable, _PACKAGE, choices, base=True),
    }


def _is_entangled(merged: TreeMerge) -> bool:
    # whether a renamed checkpoint meets another: git then merges the result of one merge with the next file
    return any("rename" in note.kind and any(map(is_merged, note.paths)) for note in merged.notes)


class _Outcome(NamedTuple):
    """One unsettled checkpoint merged by us: data and mode as they go into the tree, and what is left of it."""

    file: MergedFile
    mode: str
    remaining: Remaining | None


class Joiner(NamedTuple):
    """cwd: in the repository. sealed: where git merged. schemas: by which we merge. env: git's, of the repository.

    driven: git gave every checkpoint to the driver, so that what is merged already has to be looked up.
    """

    cwd: str
    sealed: Sealed
    schemas: Schemas
    env: Env
    driven: bool = False

    def join(self, merged: TreeMerge, bases: Sequence[str], only: Only | None) -> MergedTree:
        """Git's merge with our merge of each checkpoint in it. bases: the merge bases of the two."""
        ours = [file for file in merged.unsettled if _is_for_us(file) and _counts(only, file.path)]
        blobs = [side.blob for file in ours for side in file.sides if side is not None]
        contents = read_contents(self.cwd, blobs, self.env)
        outcomes = [self._merge(file, contents) for file in ours]
        tree = self._write(merged.tree, outcomes)
        settled = {file.path for file in ours}
        remaining = [outcome.remaining for outcome in outcomes if outcome.remaining]
        remaining += [one for one in _list_others(merged, settled) if _counts(only, one.path)]
        known = {one.path for one in remaining}
        followed = [one for one in read_rename_losses(self.sealed, bases, merged.tree) if one.path not in known]
        remaining += [_tell_followed(one) for one in followed if _counts(only, one.path)]
        files = [outcome.file for outcome in outcomes]
        if self.driven:
            done = sorted(path for path in merged.texts - settled if is_merged(path) and _counts(only, path))
            files += self._read_driven(merged.tree, done)
        if only is not None:
            tree = self._narrow(tree, only)
        told = sorted(dict.fromkeys(remaining), key=lambda one: (one.path, one.kind))
        return MergedTree(tree, "", "", (), tuple(sorted(files, key=lambda file: file.path)), tuple(told))

    def _read_driven(self, tree: str, paths: Sequence[str]) -> list[MergedFile]:
        # what the driver has merged; a file that a side has under another name counts as one that it has not
        sides = [read_versions(self.sealed, commit, paths) for commit in ("ours", "theirs", tree)]
        blobs = [version.blob for versions in sides for version in versions.values()]
        contents = read_contents(self.cwd, blobs, self.env)
        ours, theirs, made = ({path: contents[to.blob] for path, to in versions.items()} for versions in sides)
        return [MergedFile(path, (ours.get(path), None, theirs.get(path)), made.get(path)) for path in paths]

    def _merge(self, file: Unsettled, contents: dict[str, bytes]) -> _Outcome:
        ours, base, theirs = (None if side is None else contents[side.blob] for side in file.sides)
        assert file.sides[OURS] is not None
        assert ours is not None
        assert theirs is not None
        data, remaining = self._merge_contents(file.path, base, ours, theirs)
        mode = _merge_modes(file)
        if not mode and remaining is None:
            detail = "one side made it executable, the other did not"
            remaining = Remaining(file.path, "mode", detail)
        kept = file.sides[OURS]
        return _Outcome(
            MergedFile(file.path, (ours, base, theirs), data), mode or (kept.mode if kept else ""), remaining
        )

    def _merge_contents(
        self, path: str, base: bytes | None, ours: bytes, theirs: bytes
    ) -> tuple[bytes | None, Remaining | None]:
        if max(len(base or b""), len(ours), len(theirs)) > MAX_BYTES:
            return None, Remaining(path, "too-large", f"a version of it is larger than {MAX_BYTES >> 20} MiB")
        try:
            narrative = self.schemas.choices.narrative
            merged = merge_file(base, ours, theirs, self.schemas.load(path), narrative=narrative)
        except Exception as error:  # no JSON that we accept, or a fault of ours: the driver does the same then
            return self._merge_as_text(path, (base or b"", ours, theirs), error)
        clashes = list_clashes(merged)
        places = [escape_controls(shorten(clash.where or "/", _LONGEST_VALUE)) for clash in clashes]
        detail = f"both sides changed {', '.join(places)}"
        return merged.data, Remaining(path, "checkpoint", detail, clashes) if clashes else None

    def _merge_as_text(
        self, path: str, sides: tuple[bytes, bytes, bytes], error: Exception
    ) -> tuple[bytes | None, Remaining | None]:
        # as the driver does where a version is not JSON: git's line merge, if that makes a document
        lines = merge_lines(self.sealed.cwd, *sides, env=self.sealed.env)
        why = error.message if isinstance(error, JsonTextError) else type(error).__name__
        if lines is None:
            return None, Remaining(path, "text", f"it holds binary content: {why}")
        data, clean = lines
        if clean and _is_json(data):
            return data, None
        return data, Remaining(path, "text", f"a version of it cannot be read as JSON: {why}")

    def _write(self, tree: str, outcomes: Sequence[_Outcome]) -> str:
        made = [(outcome, outcome.file.data) for outcome in outcomes if outcome.file.data is not None]
        blobs = write_blobs(self.sealed, [data for _, data in made if data is not None])
        changes = {outcome.file.path: Entry(outcome.mode, blob) for (outcome, _), blob in zip(made, blobs, strict=True)}
        return write_tree(self.sealed, tree, dict(changes))

    def _narrow(self, tree: str, only: Only) -> str:
        start = read_tree_id(self.sealed, "ours")
        changes = diff_trees(self.sealed.cwd, start, tree, (), self.sealed.env)
        return write_tree(self.sealed, start, {one.path: one.after for one in changes if only(one.path)})


def _is_for_us(file: Unsettled) -> bool:
    # whether both sides have a checkpoint that differs in content alone, as far as git could tell
    both = [file.sides[side] for side in (OURS, THEIRS)]
    base = file.sides[BASE]
    plain = all(side is not None and side.is_file for side in both) and (base is None or base.is_file)
    return is_merged(file.path) and plain and set(file.kinds) <= _CONTENT_ALONE


def _merge_modes(file: Unsettled) -> str:
    # the mode that the merged file has, "" where the sides disagree
    ours, base, theirs = ("" if side is None else side.mode for side in file.sides)
    if ours in (theirs, base):
        return theirs
    return ours if theirs == base else ""


def _list_others(merged: TreeMerge, settled: set[str]) -> Iterable[Remaining]:
    # what git left to the user, except the files that we have merged
    for file in merged.unsettled:
        if file.path not in settled:
            yield _describe(file, [note for note in merged.notes if file.path in note.paths])
    told = {file.path for file in merged.unsettled}
    for note in merged.notes if not merged.clean else ():
        if not told & set(note.paths):
            yield Remaining(note.paths[0] if note.paths else "", _kind_of(note.kind), note.text)
    for path in sorted(merged.texts - told):
        if _is_record(path):
            yield Remaining(path, "record", _RECORD)


_RECORD = (
    "both sides have this record differently, and records are only ever added: give one of the two another attempt"
)


def _tell_followed(one: RenameLoss) -> Remaining:
    target = shorten(one.target, _LONGEST_VALUE)
    where = f"moved it to {target}, where no checkpoint is" if target else "moved it away"
    return Remaining(one.path, "removed", f"{one.mover} {where}, and the other side changed it")


def _describe(file: Unsettled, notes: Sequence[Note]) -> Remaining:
    if _is_record(file.path) and file.sides[OURS] and file.sides[THEIRS]:
        return Remaining(file.path, "record", _RECORD)
    path = _find_own_name(file)
    kinds = [_kind_of(kind) for kind in file.kinds]
    kind = next((one for one in _WEIGHTS if one in kinds), _WEIGHTS[-1])
    if kind == "removed":
        who = "theirs" if file.sides[OURS] else "ours"
        return Remaining(path, kind, f"{who} removed it, and the other side changed it")
    if kind == "mode":
        return Remaining(path, kind, "one side made it executable, the other did not")
    said = next((note.text for note in notes if _kind_of(note.kind) == kind), "")
    return Remaining(path, kind, _DETAILS.get(kind, said) or said)


def _find_own_name(file: Unsettled) -> str:
    # a path as the commits have it: git names what is in another's way after the side, "PATH~theirs"
    if any(word in kind for kind in file.kinds for word in ("directory", "types", "modes")):
        return file.path.removesuffix("~ours").removesuffix("~theirs")
    return file.path


# of several kinds, the first that is there
_WEIGHTS: tuple[Kind, ...] = (
    "removed",
    "renamed",
    "type",
    "binary",
    "file",
    "mode",
)
_DETAILS: dict[Kind, str] = {
    "file": "both sides changed the same lines",
    "binary": "both sides changed it, and its content is binary",
}


def _kind_of(name: str) -> Kind:
    return next((kind for word, kind in _KINDS if word in name), "type")


def _is_record(path: str) -> bool:
    """Whether a path is of a kind that has no merge, because its files may only ever be added."""
    kind = protocol_of(path)
    if kind is None or is_merged(path):
        return False
    return kind != "pipeline" or bool(open_room(kind).layout.find_skill(path))  # whose pattern fits other files too


def _counts(only: Only | None, path: str) -> bool:
    return only is None or only(path)


def _is_json(data: bytes) -> bool:
    try:
        scan_tokens(decode(data))
    except JsonTextError:
        return False
    return True
