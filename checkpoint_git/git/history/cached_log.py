"""HEAD's whole history as look-ups: from the index where there is one, else read once and left behind as one.

It knows git and the index, and no rule of evidence. The index lies in the common git directory, for all work trees
together. It is a cache: missing, damaged, foreign, read-only or on a full disk it costs time, never an answer.
"""

import os
from binascii import unhexlify
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.index import (
    INDEX_FOLDER,
    DamagedIndexError,
    Layer,
    LayerWriter,
    Run,
    find_ids,
    join_runs,
    make_run,
    read_layer,
    read_names,
    remove_layer,
    remove_old_layers,
)
from checkpoint_git.git.history.log import PLAIN_LOG, environment, read_blocks, read_words
from checkpoint_git.git.history.reference_scan import KINDS, find_postings
from checkpoint_git.git.run import stream_git

SMALLEST = 2_000  # commits; a shorter history is read as fast as an index
_FEW = 64  # commits beyond a layer that are read each time, rather than written down
_SHORT = 8_192  # commits of a layer that are written again with what is added to it
_MAX_BASES = 12
_MAX_LEFT = 5_000  # commits of a layer that are not HEAD's; with more of them HEAD gets an index of its own
_RUN = 1 << 15  # commits of a run, about
_LOOK_BACK = 500  # commits behind HEAD among which a layer's tip is looked for

_FORMAT = "--format=%m%H%n%B"


class Covered(NamedTuple):
    """A history. tip: the id of its last commit. runs: all its commits, and perhaps some of `excluded`.

    excluded: sorted ids; most of them, but not surely all, are not part of the history.
    """

    tip: str
    runs: tuple[Run, ...]
    excluded: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """How many commits the runs hold."""
        return sum(run.size for run in self.runs)


class Shelf(NamedTuple):
    """Where the layers lie, and which state of the clone's depth they must be from."""

    folder: str
    state: str


def read_covered(work_tree: str, smallest: int = SMALLEST) -> Covered | None:
    """HEAD's history, None without commits. smallest: commits from which on an index is kept."""
    shelf = _find_shelf(work_tree)
    names = _read_fitting(shelf) if shelf else []
    covered = _read_indexed(work_tree, shelf, names) if shelf and names else None
    return covered or _read_whole(work_tree, shelf, smallest)


def read_whole(work_tree: str) -> Covered | None:
    """HEAD's history without any index: the layers there are go, since one of them is damaged."""
    shelf = _find_shelf(work_tree)
    if shelf:
        _forget(shelf)
    return _read_whole(work_tree, None, 0)


def find_all(covered: Covered, keys: Iterable[int]) -> set[str]:
    """The ids of the commits that hold one of some keys. Raises DamagedIndexError."""
    ascending = sorted(set(keys))
    return {commit.hex() for run in covered.runs for commit in find_ids(run, ascending)}


def find_doubtful(covered: Covered, commits: Iterable[str]) -> list[str]:
    """Which of some commits may not be part of the history after all."""
    excluded = frozenset(covered.excluded)
    return sorted(commit for commit in commits if bytes.fromhex(commit) in excluded) if excluded else []


def _forget(shelf: Shelf) -> None:
    for name in read_names(shelf.folder):
        remove_layer(shelf.folder, name)


def _read_whole(work_tree: str, shelf: Shelf | None, smallest: int) -> Covered | None:
    """HEAD's history read from its last commit to its first, and written down where it is long and can be."""
    writer: LayerWriter | None = None
    runs: list[Run] = []
    tip = ""
    try:
        for run in _read_runs(work_tree, ["HEAD"], []):
            tip = tip or bytes(run.ids[: run.width]).hex()
            if shelf and not writer and run.size >= min(smallest, _RUN):
                writer = LayerWriter(shelf.folder)
            if writer:
                writer.add(run)
            else:
                runs.append(run)
        if writer and shelf:
            runs = [*read_layer(shelf.folder, writer.finish(tip, shelf.state, (), ())).runs]
            remove_old_layers(shelf.folder)
    except (OSError, DamagedIndexError):  # it cannot be written: once more, in memory
        if shelf is None:
            raise
        return _read_whole(work_tree, None, 0)
    finally:
        if writer:
            writer.abandon()
    return Covered(tip, tuple(runs)) if runs else None


def _read_indexed(work_tree: str, shelf: Shelf, names: Sequence[str]) -> Covered | None:
    """HEAD's history from the layers, and from git what they do not cover; None where that would not pay."""
    heads = {name.partition(".")[0]: name for name in reversed(names)}
    tip = next(iter(read_words(work_tree, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])), "")
    try:
        if tip in heads:
            layer = read_layer(shelf.folder, heads[tip])
            return Covered(tip, _with_bases(shelf, layer), layer.excluded)
        behind = read_words(work_tree, ["rev-list", f"--max-count={_LOOK_BACK}", tip, "--"]) if tip else []
        near = next((commit for commit in behind if commit in heads), "")
        if not behind:
            return None
        layer = read_layer(shelf.folder, heads[near] if near else names[0])
        return _extend(work_tree, shelf, layer, tip, is_behind=bool(near))
    except DamagedIndexError:
        _forget(shelf)
        return None


def _with_bases(shelf: Shelf, layer: Layer) -> tuple[Run, ...]:
    bases = [run for base in layer.bases for run in read_layer(shelf.folder, base).runs]
    return (*bases, *layer.runs)


def _extend(work_tree: str, shelf: Shelf, layer: Layer, tip: str, *, is_behind: bool) -> Covered | None:
    """A layer and what HEAD's history has beyond it; without what it lacks. is_behind: it lacks nothing, surely."""
    covered = Covered(layer.tip, _with_bases(shelf, layer), layer.excluded)
    left: list[bytes] = []
    words = [f"^{layer.tip}", tip] if is_behind else ["--left-right", f"{layer.tip}...{tip}"]
    try:
        runs = tuple(_read_runs(work_tree, words, left))
    except CheckpointError:  # as a rule the layer's tip is no longer there
        remove_layer(shelf.folder, layer.name)
        return None
    added = {bytes(run.ids[at : at + run.width]) for run in runs for at in range(0, len(run.ids), run.width)}
    excluded = tuple(sorted((set(covered.excluded) | set(left)) - added))
    if len(excluded) > _MAX_LEFT or len(layer.bases) > _MAX_BASES:
        return None
    if len(added) + len(left) > _FEW:
        _write_beyond(shelf, layer, tip, excluded, runs)
    return Covered(tip, (*covered.runs, *runs), excluded)


def _write_beyond(shelf: Shelf, layer: Layer, tip: str, excluded: Sequence[bytes], runs: tuple[Run, ...]) -> None:
    bases: tuple[str, ...] = (*layer.bases, layer.name)
    if sum(run.size for run in (*layer.runs, *runs)) <= _SHORT:
        bases, runs = layer.bases, (join_runs((*layer.runs, *runs)),)
    try:
        writer = LayerWriter(shelf.folder)
        for run in runs:
            writer.add(run)
        writer.finish(tip, shelf.state, bases, excluded)
    except OSError:
        return
    remove_old_layers(shelf.folder)


def _read_runs(work_tree: str, revisions: Sequence[str], left: list[bytes]) -> Iterator[Run]:
    """The commits that `git log` lists, in runs; those of the left side only as ids, added to `left`."""
    ids, postings, width = bytearray(), _no_postings(), 0
    for block in read_blocks(work_tree, [*PLAIN_LOG, _FORMAT, *revisions, "--"]):
        records = block.split(b"\0")[:-1]
        width = records[0].index(b"\n") // 2
        if "--left-right" in revisions:
            left += [_hex_to_ids([record], width) for record in records if record.startswith(b"<")]
            records = [record for record in records if not record.startswith(b"<")]
            block = b"\0".join((*records, b""))
        for kept, found in zip(postings, find_postings(block, records, len(ids) // width), strict=True):
            kept += found
        ids += _hex_to_ids(records, width)
        if len(ids) >= _RUN * width:
            yield make_run(width, bytes(ids), [*chain.from_iterable(postings)])
            ids, postings = bytearray(), _no_postings()
    if ids:
        yield make_run(width, bytes(ids), [*chain.from_iterable(postings)])


def _no_postings() -> list[list[int]]:
    return [[] for _ in range(KINDS)]


def _hex_to_ids(records: Sequence[bytes], width: int) -> bytes:
    end = 1 + 2 * width
    return unhexlify(b"".join([record[1:end] for record in records]))


def _find_shelf(work_tree: str) -> Shelf | None:
    """The folder of the layers, which need not be there; None outside a repository."""
    common = os.path.join(work_tree, ".git")
    if not (os.path.isfile(os.path.join(common, "HEAD")) and os.path.isdir(os.path.join(common, "objects"))):
        common = _read_common_dir(work_tree)  # a linked work tree, a folder below the top, a bare repository
    return Shelf(os.path.join(common, INDEX_FOLDER), _read_depth(common)) if common else None


def _read_common_dir(work_tree: str) -> str:
    words = ["rev-parse", "--path-format=absolute", "--git-common-dir"]
    try:
        out = b"".join(stream_git(words, work_tree, env=environment()))
    except CheckpointError:
        return ""
    return os.fsdecode(out.removesuffix(b"\n"))


def _read_depth(common: str) -> str:
    """Something that differs when a shallow clone ends elsewhere; "whole" for one that is not shallow."""
    try:
        with open(os.path.join(common, "shallow"), "rb") as stream:
            ends = stream.read()
    except OSError:
        return "whole"
    from hashlib import sha256

    return sha256(ends).hexdigest()[:32] if ends else "whole"


def _read_fitting(shelf: Shelf) -> list[str]:
    return [name for name in read_names(shelf.folder) if name.partition(".")[2].startswith(shelf.state + ".")]
