"""The index of a history as files: which commits name what; it knows how they lie on the disk, and asks no git.

A layer is one immutable file: the commits that one tip has beyond some other layers. Its runs hold the commits' ids,
and numbers (see repo.spots) in ascending order, in pages that each carry a checksum: a look-up touches a page or two
of a mapped file. What describes them stands at the end, with a checksum of its own. Nothing here is believed that
does not add up: whoever asks hears of damage, and reads the history instead.
"""

import os
from array import array
from binascii import crc32
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from checkpoint_git.git.history.reference_scan import MAX_RUN, NUMBER_BITS

INDEX_FOLDER = "checkpoint/history"  # in the common git directory
_MAGIC = b"checkpoint hist1"
_PAGE = 128  # postings
_TRAILER = 16 + len(_MAGIC)  # bytes: the description's length, its checksum, the magic again
_ENDING = ".tmp"
_KEPT = 6  # newest layers; what they stand on stays with them
_OLD = 600  # seconds after which nobody is still about to name a file that no layer names


class DamagedIndexError(Exception):
    """The index does not add up. Whoever catches it reads the history instead."""


class Run(NamedTuple):
    """Some commits. ids: one after another, width bytes each. postings: see repo.spots, ascending.

    firsts, sums: of every page of postings the first and the checksum; sums is empty for a run that was just made.
    """

    width: int
    ids: "memoryview[int]"
    postings: "memoryview[int]"
    firsts: "memoryview[int]"
    sums: "memoryview[int]"

    @property
    def size(self) -> int:
        """How many commits."""
        return len(self.ids) // self.width


class Layer(NamedTuple):
    """One file's content. bases: names of the layers that it stands on, of whose runs all count.

    excluded: sorted ids; commits of the bases that (as far as git could tell at once) the tip's history does not hold.
    """

    name: str
    tip: str
    bases: tuple[str, ...]
    excluded: tuple[bytes, ...]
    runs: tuple[Run, ...]


def make_run(width: int, ids: bytes, postings: list[int]) -> Run:
    """A run of commits whose postings are in any order; they get sorted."""
    postings.sort()
    numbers = array("Q", postings)
    return Run(width, memoryview(ids), memoryview(numbers), memoryview(numbers[::_PAGE]), memoryview(array("Q")))


def join_runs(runs: Sequence[Run]) -> Run:
    """Several runs as one; together at most MAX_RUN commits."""
    postings: list[int] = []
    before = 0
    for run in runs:
        postings += [posting + before for posting in _checked(run)]
        before += run.size
    return make_run(runs[0].width, b"".join(run.ids for run in runs), postings)


def _checked(run: Run) -> list[int]:
    for page in range(len(run.sums)):
        _check_page(run, page)
    return run.postings.tolist()


def find_ids(run: Run, keys: Sequence[int]) -> Iterator[bytes]:
    """The ids of the commits that hold one of some keys. keys: ascending. Raises DamagedIndexError.

    Many keys cost little more than few: neighbours share a page, which is taken out of the file once.
    """
    firsts = run.firsts.tolist()
    page, values = -1, list[int]()
    for key in keys if firsts else ():
        low, high = key << NUMBER_BITS, (key + 1) << NUMBER_BITS
        place = max(bisect_right(firsts, low) - 1, 0)
        if place != page:
            page, values = place, _read_page(run, place)
        at = bisect_left(values, low)
        while at < len(values) or (page + 1 < len(firsts) and firsts[page + 1] < high):
            if at == len(values):
                page, values, at = page + 1, _read_page(run, page + 1), 0
            if values[at] >= high:
                break
            number = (values[at] & (MAX_RUN - 1)) * run.width
            yield bytes(run.ids[number : number + run.width])
            at += 1


def _read_page(run: Run, page: int) -> list[int]:
    _check_page(run, page)
    return run.postings[page * _PAGE : (page + 1) * _PAGE].tolist()


def _check_page(run: Run, page: int) -> None:
    if len(run.sums) and crc32(run.postings[page * _PAGE : (page + 1) * _PAGE]) != run.sums[page]:
        raise DamagedIndexError


class LayerWriter:
    """A layer on its way to the disk; all methods raise OSError and then leave nothing behind."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._folder = folder
        self._nonce = os.urandom(8).hex()
        self._path = os.path.join(folder, f".{self._nonce}{_ENDING}")
        self._stream = open(self._path, "xb")  # noqa: SIM115 (it stays open until finish or abandon)
        self._numbers: list[int] = []
        self._pages: list[bytes] = []
        self._put(_MAGIC)

    def add(self, run: Run) -> None:
        """Writes one run."""
        sums = array("Q", (crc32(run.postings[at : at + _PAGE]) for at in range(0, len(run.postings), _PAGE)))
        self._put(run.postings)
        self._put(run.ids)
        self._numbers += [run.size, len(run.postings)]
        self._pages += [run.firsts.tobytes(), sums.tobytes()]

    def finish(self, tip: str, state: str, bases: Sequence[str], excluded: Sequence[bytes]) -> str:
        """Gives the file its name, and returns that."""
        name = f"{tip}.{state}.{self._nonce}"
        texts = "\n".join((name, *bases)).encode()
        numbers = array("Q", [len(tip) // 2, len(texts), len(excluded), len(self._numbers) // 2, *self._numbers])
        told = b"".join((numbers.tobytes(), *self._pages, texts, *excluded))
        self._put(told + array("Q", [len(told), crc32(told)]).tobytes() + _MAGIC)
        try:
            self._stream.close()
            os.replace(self._path, os.path.join(self._folder, name))
        except OSError:
            self.abandon()
            raise
        return name

    def abandon(self) -> None:
        """Leaves nothing behind but a finished layer."""
        for leave in (self._stream.close, lambda: os.unlink(self._path)):
            try:
                leave()
            except OSError:
                continue

    def _put(self, data: "bytes | memoryview[int]") -> None:
        try:
            self._stream.write(data)
        except OSError:
            self.abandon()
            raise


def read_layer(folder: str, name: str) -> Layer:
    """One layer, mapped into memory. Raises DamagedIndexError for whatever is not a whole one of this name."""
    import mmap

    try:
        descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            mapped = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        finally:
            os.close(descriptor)
        return _parse_layer(mapped, name)
    except (OSError, ValueError, IndexError) as error:
        raise DamagedIndexError from error


def _parse_layer(mapped: "memoryview[int]", name: str) -> Layer:
    size = len(mapped)
    if size < _TRAILER + len(_MAGIC) or mapped[: len(_MAGIC)] != _MAGIC or mapped[size - len(_MAGIC) :] != _MAGIC:
        raise DamagedIndexError
    length, checksum = mapped[size - _TRAILER : size - len(_MAGIC)].cast("Q")
    told = mapped[max(size - _TRAILER - length, len(_MAGIC)) : size - _TRAILER]
    if len(told) != length or crc32(told) != checksum:
        raise DamagedIndexError
    width, text_length, excluded, count = told[:32].cast("Q")
    sizes = told[32 : 32 + 16 * count].cast("Q")
    at, place, runs = 32 + 16 * count, len(_MAGIC), []
    for run in range(count):
        commits, postings = sizes[2 * run], sizes[2 * run + 1]
        pages, middle = 8 * -(-postings // _PAGE), place + 8 * postings
        parts = (told[at : at + pages], told[at + pages : at + 2 * pages])
        runs.append(
            Run(
                width,
                mapped[middle : middle + width * commits],
                mapped[place:middle].cast("Q"),
                parts[0].cast("Q"),
                parts[1].cast("Q"),
            )
        )
        at, place = at + 2 * pages, middle + width * commits
    own, *bases = bytes(told[at : at + text_length]).decode().split("\n")
    if own != name or place != size - _TRAILER - length or at + text_length + width * excluded != length:
        raise DamagedIndexError
    ids = bytes(told[at + text_length :])
    left_out = tuple(ids[start : start + width] for start in range(0, len(ids), width))
    return Layer(name, name.partition(".")[0], tuple(bases), left_out, tuple(runs))


def read_names(folder: str) -> list[str]:
    """The layers in a folder, the newest first; [] where there is none."""
    return [name for _, name in _read_ages(folder) if not name.endswith(_ENDING)]


def _read_ages(folder: str) -> list[tuple[float, str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(((entry.stat(follow_symlinks=False).st_mtime, entry.name) for entry in entries), reverse=True)
    except OSError:
        return []


def remove_layer(folder: str, name: str) -> None:
    """Removes a layer, if it can be."""
    try:
        os.unlink(os.path.join(folder, name))
    except OSError:
        return


def remove_old_layers(folder: str) -> None:
    """Removes what no recent layer stands on, and what writers that were killed left behind."""
    ages = _read_ages(folder)
    names = [name for _, name in ages if not name.endswith(_ENDING)]
    kept = set(names[:_KEPT])
    for name in names[:_KEPT]:
        try:
            kept.update(read_layer(folder, name).bases)
        except DamagedIndexError:
            kept.discard(name)
    newest = ages[0][0] if ages else 0.0
    for age, name in ages:
        if name not in kept and newest - age > _OLD:
            remove_layer(folder, name)


def remove_index(folder: str) -> None:
    """Removes a folder of layers, and the one around it once that is empty; what else lies there stays."""
    for _, name in _read_ages(folder):
        remove_layer(folder, name)
    for empty in (folder, os.path.dirname(folder)):
        try:
            os.rmdir(empty)
        except OSError:
            return
