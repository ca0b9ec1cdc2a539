"""Two commits merged in memory by our rules: git merges the ordinary files, the merge schemas every checkpoint.

No index, no work tree and no ref is touched, and nothing that either commit holds has a say in how it is merged.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.checks.merging import Clash
from checkpoint_git.commands.merges.explain_merge import Schemas
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES, JsonTextError, decode, scan_tokens
from checkpoint_git.core.safetext import escape_controls, shorten
from checkpoint_git.merge.document import merge_texts
from checkpoint_git.merge.identity import canonical_text
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.registry import attribute_patterns, is_merged, protocol_of
from checkpoint_git.repo.merges.conflicts import read_choices
from checkpoint_git.repo.merges.merges import UNSHALLOW, read_contents
from checkpoint_git.repo.merges.sealed import Env, Sealed, open_sealed
from checkpoint_git.repo.merges.trees import (
    BASE,
    OURS,
    THEIRS,
    Note,
    TreeMerge,
    Unsettled,
    Version,
    fetch_missing,
    merge_lines,
    merge_trees,
    read_bases_of,
    read_differences,
    read_tree_id,
    write_blobs,
    write_tree,
)
from checkpoint_git.repo.past.history import is_shallow
from checkpoint_git.repo.setup.settings import Choices, driver_command
from checkpoint_git.repo.staged import read_commit

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
    ("file/directory", "type"),
)
_CONTENT_ALONE = frozenset(("contents", "content", "binary"))
_LONGEST_VALUE = 200  # characters of one side's value
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Remaining(NamedTuple):
    """What a merge leaves to a person.

    path: "" for a conflict of no single path. kind: "checkpoint" (both sides say different things, at clashes), "text"
    (a checkpoint that is no JSON), "too-large", "record" (an append-only record that both sides have differently),
    "file" and "binary" (an ordinary file), "removed" (changed here, removed there), "renamed", "mode", "type" (file,
    folder, link or submodule). detail: a sentence, may hold a stranger's text. clashes: ours and theirs at a pointer.
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
        """Whether nothing is left to a person."""
        return not self.remaining


class UnrelatedError(CheckpointError):
    """Two commits have no common ancestor, or this clone does not have it."""


def merge_commits(
    cwd: str, ours: str, theirs: str, *, only: Only | None = None, choices: Choices | None = None, env: Env = None
) -> MergedTree:
    """What `git merge` with the installed driver would make of two commits, as a tree.

    cwd: in any repository: bare, a linked work tree, inside a hook (its quarantine is kept). ours, theirs: revisions.
    only: whether a path counts; all others stay as ours has them, and their conflicts are not told: a merge of
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
    crossed = len(bases) > 1
    attributes = [f"{pattern} {'merge=checkpoint' if crossed else '-merge'}" for pattern in attribute_patterns()]
    with open_sealed(cwd, attributes, _inner_driver(decided) if crossed else {}, env) as sealed:
        if sealed.partial:
            fetch_missing(cwd, [(bases[0], first), (bases[0], second)], env)
        merged = merge_trees(sealed, first, second)
        joiner = _Joiner(cwd, sealed, Schemas(decided), env)
        return joiner.join(merged, only)._replace(ours=first, theirs=second, bases=tuple(bases))


def merge_plainly(cwd: str, ours: str, theirs: str, *, env: Env = None) -> TreeMerge:
    """What a forge would make of two commits: git's own text merge of every file, with no attributes.

    Raises as merge_commits does.
    """
    first, second = (read_commit(cwd, rev, env) for rev in (ours, theirs))
    bases = read_checked_bases(cwd, first, second, env)
    with open_sealed(cwd, env=env) as sealed:
        if sealed.partial:
            fetch_missing(cwd, [(bases[0], first), (bases[0], second)], env)
        return merge_trees(sealed, first, second)


def read_checked_bases(cwd: str, ours: str, theirs: str, env: Env = None) -> list[str]:
    """The merge bases of two commits (full ids), at least one. Raises UnrelatedError where there is none."""
    bases = read_bases_of(cwd, ours, theirs, env)
    if bases:
        return bases
    names = f"{ours[:12]} and {theirs[:12]}"
    if is_shallow(cwd):
        raise UnrelatedError(f"what {names} have in common is not in this clone", UNSHALLOW)
    raise UnrelatedError(f"{names} have no common ancestor", "they are unrelated histories: merge them by hand")


def _inner_driver(choices: Choices) -> dict[str, str]:
    """Settings for a criss-cross: our driver merges the merge bases, and leaves the merge itself to us."""
    command = driver_command(sys.executable, _PACKAGE, choices, base=True)
    return {
        "merge.checkpoint.driver": "false",
        "merge.checkpoint.recursive": "checkpoint-base",
        "merge.checkpoint-base.driver": command,
    }


# joining what git made with what we make


class _Outcome(NamedTuple):
    """One unsettled checkpoint merged by us: data and mode as they go into the tree, and what is left of it."""

    file: MergedFile
    mode: str
    remaining: Remaining | None


class _Joiner(NamedTuple):
    cwd: str
    sealed: Sealed
    schemas: Schemas
    env: Env

    def join(self, merged: TreeMerge, only: Only | None) -> MergedTree:
        """Git's merge with our merge of each checkpoint in it."""
        ours = [file for file in merged.unsettled if _is_for_us(file) and _counts(only, file.path)]
        blobs = [side.blob for file in ours for side in file.sides if side is not None]
        contents = read_contents(self.cwd, blobs, self.env)
        outcomes = [self._merge(file, contents) for file in ours]
        tree = self._write(merged.tree, outcomes)
        settled = {file.path for file in ours}
        remaining = [outcome.remaining for outcome in outcomes if outcome.remaining]
        remaining += [one for one in _list_others(merged, settled) if _counts(only, one.path)]
        if only is not None:
            tree = self._narrow(tree, only)
        return MergedTree(
            tree, "", "", (), tuple(outcome.file for outcome in outcomes), tuple(sorted(remaining, key=_order))
        )

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
            texts = [None if not data else decode(data) for data in (base, ours, theirs)]
            schema = self._load_schema(path)
            merged = merge_texts(texts[0], texts[1] or "", texts[2] or "", schema, self.schemas.choices.narrative)
        except Exception as error:  # no JSON that we accept, or a fault of ours: the driver does the same then
            return self._merge_as_text(path, (base or b"", ours, theirs), error)
        clashes = tuple(Clash(one.where, _said(one.sides[0]), _said(one.sides[2])) for one in merged.conflicts)
        detail = f"both sides changed {_listed(clash.where or '/' for clash in clashes)}"
        return merged.text.encode(), Remaining(path, "checkpoint", detail, clashes) if clashes else None

    def _merge_as_text(
        self, path: str, sides: tuple[bytes, bytes, bytes], error: Exception
    ) -> tuple[bytes | None, Remaining | None]:
        """As the driver does where a version is no JSON: git's line merge, if that makes a document."""
        lines = merge_lines(self.sealed, *sides)
        why = error.message if isinstance(error, JsonTextError) else type(error).__name__
        if lines is None:
            return None, Remaining(path, "text", f"it holds binary content: {why}")
        data, clean = lines
        if clean and _is_json(data):
            return data, None
        return data, Remaining(path, "text", f"a version of it cannot be read as JSON: {why}")

    def _load_schema(self, path: str) -> Schema:
        """As the driver: without the clone's private schema where that cannot be read."""
        try:
            return self.schemas.load(path)
        except CheckpointError:
            return Schemas(self.schemas.choices._replace(schema="")).load(path)

    def _write(self, tree: str, outcomes: Sequence[_Outcome]) -> str:
        made = [(outcome, outcome.file.data) for outcome in outcomes if outcome.file.data is not None]
        blobs = write_blobs(self.sealed, [data for _, data in made if data is not None])
        changes = {
            outcome.file.path: Version(outcome.mode, blob) for (outcome, _), blob in zip(made, blobs, strict=True)
        }
        return write_tree(self.sealed, tree, dict(changes))

    def _narrow(self, tree: str, only: Only) -> str:
        """Ours with those paths of the merged tree that count."""
        changes = read_differences(self.sealed, "ours", tree)
        return write_tree(
            self.sealed, read_tree_id(self.sealed, "ours"), {path: to for path, to in changes.items() if only(path)}
        )


def _is_for_us(file: Unsettled) -> bool:
    """Whether both sides have a checkpoint that differs in content alone, as far as git could tell."""
    both = [file.sides[side] for side in (OURS, THEIRS)]
    base = file.sides[BASE]
    plain = all(side is not None and side.is_file for side in both) and (base is None or base.is_file)
    return is_merged(file.path) and plain and set(file.kinds) <= _CONTENT_ALONE


def _merge_modes(file: Unsettled) -> str:
    """The mode that the merged file has, "" where the sides disagree."""
    ours, base, theirs = ("" if side is None else side.mode for side in file.sides)
    if ours in (theirs, base):
        return theirs
    return ours if theirs == base else ""


def _list_others(merged: TreeMerge, settled: set[str]) -> Iterable[Remaining]:
    """What git left to a person, but for the files that we have merged."""
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


def _describe(file: Unsettled, notes: Sequence[Note]) -> Remaining:
    if _is_record(file.path) and file.sides[OURS] and file.sides[THEIRS]:
        return Remaining(file.path, "record", _RECORD)
    kinds = [_kind_of(kind) for kind in file.kinds]
    kind = next((one for one in _WEIGHTS if one in kinds), _WEIGHTS[-1])
    if kind == "removed":
        who = "theirs" if file.sides[OURS] else "ours"
        return Remaining(file.path, kind, f"{who} removed it, the other side changed it")
    if kind == "mode":
        return Remaining(file.path, kind, "one side made it executable, the other did not")
    said = next((note.text for note in notes if _kind_of(note.kind) == kind), "")
    return Remaining(file.path, kind, _DETAILS.get(kind, said) or said)


_WEIGHTS: tuple[Kind, ...] = ("removed", "renamed", "type", "binary", "file", "mode")  # of several, the more telling first
_DETAILS: dict[Kind, str] = {
    "file": "both sides changed the same lines",
    "binary": "both sides changed it, and its content is binary",
}


def _kind_of(name: str) -> Kind:
    return next((kind for word, kind in _KINDS if word in name), "type")


def _is_record(path: str) -> bool:
    """Whether a path is a record's of a pipeline, which may only ever be added."""
    return protocol_of(path) == "pipeline" and bool(open_room("pipeline").layout.find_skill(path))


def _counts(only: Only | None, path: str) -> bool:
    return only is None or only(path)


def _order(one: Remaining) -> tuple[str, str]:
    return one.path, one.kind


def _is_json(data: bytes) -> bool:
    try:
        scan_tokens(decode(data))
    except JsonTextError:
        return False
    return True


def _said(side: Any) -> str:
    """One side of a conflict as the driver says it."""
    if side is None:
        return "(nothing)"
    return shorten(canonical_text(side.value), _LONGEST_VALUE) if hasattr(side, "value") else "another order"


def _listed(places: Iterable[str]) -> str:
    return ", ".join(escape_controls(shorten(place, _LONGEST_VALUE)) for place in places)
