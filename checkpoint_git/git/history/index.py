"""Which commits of HEAD's history name what: read with one `git log`, of a long history kept in a database."""

import os
from binascii import unhexlify
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.log import PLAIN_LOG, environment, has_commits, read_blocks, read_words
from checkpoint_git.git.history.reference_scan import find_names, find_reverts, prepare_search
from checkpoint_git.git.own_files import read_start
from checkpoint_git.git.run import stream_git

if TYPE_CHECKING:
    from checkpoint_git.git.history.database import Database, Line

INDEX_FILE = "checkpoint/history.sqlite"  # in the common git directory

SMALLEST = 2_000  # commits; a shorter history is read as fast as an index
_FEW = 64  # commits beyond an index that are read each time, rather than written down
_MAX_RUNS = 64  # that are added to a line; then it is made anew
_MAX_LEFT = 5_000  # commits of a line that are not HEAD's; with more of them HEAD gets one of its own
_RUN = 1 << 15  # commits of a run, about
_LOOK_BACK = 500  # commits behind HEAD among which the end of a line is looked for

_FORMAT = "--format=%m%H%n%B"

Place = tuple[int, int]  # a run's number, negated, and a commit's in it: the newest commits come first


class Run(NamedTuple):
    ids: bytes  # one after another
    names: bytes  # see reference_scan.find_names


class History(NamedTuple):
    tip: str  # the id of its last commit
    runs: dict[int, Run]  # by number, the newest have the highest
    size: int  # commits
    database: "Database | None" = None  # what has the other runs, under `line`
    line: int = 0
    excluded: frozenset[bytes] = frozenset()  # ids among the runs that are, most of them, not part of the history

    def find(self, references: Collection[str]) -> tuple[dict[str, list[Place]], dict[str, list[Place]]]:
        """Where the commits are that name each, and by reference_scan.find_revert_key, where those are that revert a
        commit. The newest first.
        """
        search = prepare_search(references)
        naming, reverting = dict[str, list[Place]](), dict[str, list[Place]]()
        for number, names in self._read_names():
            for places, found in ((naming, search(names)), (reverting, find_reverts(names))):
                for key, at in found.items():
                    places.setdefault(key, []).extend(zip(repeat(-number), sorted({*at})))
        return naming, reverting

    def _read_names(self) -> Iterator[tuple[int, bytes]]:
        # The newest first
        yield from ((number, self.runs[number].names) for number in sorted(self.runs, reverse=True))
        yield from self.database.read_names(self.line) if self.database else ()

    def read_ids(self, places: Iterable[Place]) -> dict[Place, str]:
        width = len(self.tip) // 2
        kept = {number: run.ids for number, run in self.runs.items()}
        ids: dict[Place, str] = {}
        for negated, at in places:
            if -negated not in kept and self.database:
                kept[-negated] = self.database.read_ids(self.line, -negated)
            ids[negated, at] = kept[-negated][at * width : (at + 1) * width].hex()
        return ids


# The database is a cache: missing, damaged, foreign, read-only or on a full disk it costs time, never an answer.
def read_history(work_tree: str, smallest: int = SMALLEST, *, anew: bool = False) -> History | None:
    """HEAD's, None without commits. smallest: commits from which on an index is kept. anew: the index is made again."""
    common = _find_common_dir(work_tree)
    path = os.path.join(common, INDEX_FILE)
    if anew and common:
        remove_index(path)
    state = _read_depth(common) if common and not anew else ""
    found = _read_indexed(work_tree, path, state) if state and os.path.exists(path) else None
    return found or _read_whole(work_tree, path, state, smallest)


def _read_whole(work_tree: str, path: str, state: str, smallest: int) -> History | None:
    """state: "" for never to be written down."""
    tip = _read_tip(work_tree)
    runs = {-number: run for number, run in enumerate(_read_runs(work_tree, [tip], []))} if tip else {}
    size = sum(len(run.ids) for run in runs.values()) // (len(tip) // 2 or 1)
    database = _open_database(path) if state and size >= smallest else None
    if database:
        line = database.add_line(tip, state, size)
        for number, run in runs.items():
            database.add_run(line, number, *run)
        database.save()
    return History(tip, runs, size) if tip else None


def _read_indexed(work_tree: str, path: str, state: str) -> History | None:
    database = _open_database(path)
    lines = {line.tip: line for line in reversed(database.list_lines(state))} if database else {}
    tip = _read_tip(work_tree) if lines else ""
    if not database or not tip:
        return None
    if tip in lines:
        excluded = database.read_excluded(lines[tip].number)
        return History(tip, {}, lines[tip].size, database, lines[tip].number, excluded)
    behind = read_words(work_tree, ["rev-list", f"--max-count={_LOOK_BACK}", tip, "--"])
    near = next((commit for commit in behind if commit in lines), "")
    return _extend(work_tree, database, lines[near or list(lines)[-1]], tip, is_behind=bool(near))


def _read_tip(work_tree: str) -> str:
    """Gives "" where there is none. Raises CheckpointError where git cannot tell."""
    words = read_words(work_tree, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
    if not words:
        has_commits(work_tree)
    return "".join(words)


def _open_database(path: str) -> "Database | None":
    try:
        from checkpoint_git.git.history.database import Database
    except ImportError:  # a Python that was built without SQLite
        return None
    return Database(path)


def _extend(work_tree: str, database: "Database", line: "Line", tip: str, *, is_behind: bool) -> History | None:
    left: list[bytes] = []
    words = [f"^{line.tip}", tip] if is_behind else ["--left-right", f"{line.tip}...{tip}"]
    try:
        new = list(_read_runs(work_tree, words, left))
    except CheckpointError:  # as a rule the line's last commit is no longer there
        database.remove_line(line.number)
        database.save()
        return None
    width = len(tip) // 2
    added = {run.ids[at : at + width] for run in new for at in range(0, len(run.ids), width)}
    excluded = (database.read_excluded(line.number) | set(left)) - added
    last, size = line.last + len(new), line.size + len(added)
    if len(excluded) > _MAX_LEFT or last > _MAX_RUNS:
        return None
    runs = {last - at: run for at, run in enumerate(new)}
    if len(added) + len(left) > _FEW:
        for number, run in runs.items():
            database.add_run(line.number, number, *run)
        database.move_line(line._replace(tip=tip, size=size, last=last), excluded)
        database.save()
        runs = {}
    return History(tip, runs, size, database, line.number, excluded)


def _read_runs(work_tree: str, revisions: Sequence[str], left: list[bytes]) -> Iterator[Run]:
    """The commits that `git log` lists, in runs; those of the left side only as ids, added to `left`."""
    ids, names, width = bytearray(), list[bytes](), 0
    for block in read_blocks(work_tree, [*PLAIN_LOG, _FORMAT, *revisions, "--"]):
        records = block.split(b"\0")[:-1]
        width = records[0].index(b"\n") // 2
        if "--left-right" in revisions:
            left += [_hex_to_ids([record], width) for record in records if record.startswith(b"<")]
            records = [record for record in records if not record.startswith(b"<")]
        names.append(find_names([record[2 + 2 * width :] for record in records]))
        ids += _hex_to_ids(records, width)
        if len(ids) >= _RUN * width:
            yield Run(bytes(ids), b"".join(names))
            ids, names = bytearray(), []
    if ids:
        yield Run(bytes(ids), b"".join(names))


def _hex_to_ids(records: Sequence[bytes], width: int) -> bytes:
    end = 1 + 2 * width
    return unhexlify(b"".join([record[1:end] for record in records]))


def _find_common_dir(work_tree: str) -> str:
    common = os.path.join(work_tree, ".git")
    if os.path.isfile(os.path.join(common, "HEAD")) and os.path.isdir(os.path.join(common, "objects")):
        return common
    words = ["rev-parse", "--path-format=absolute", "--git-common-dir"]  # a linked work tree, a bare repository
    with suppress(CheckpointError):
        return os.fsdecode(b"".join(stream_git(words, work_tree, env=environment())).removesuffix(b"\n"))
    return ""


def _read_depth(common: str) -> str:
    ends = read_start(os.path.join(common, "shallow"), -1)
    if not ends:
        return "whole"
    from hashlib import sha256

    return sha256(ends).hexdigest()[:32]


def remove_index(path: str) -> None:
    for remove, one in ((os.unlink, path), (os.unlink, f"{path}.tmp"), (os.rmdir, os.path.dirname(path))):
        with suppress(OSError):
            remove(one)
