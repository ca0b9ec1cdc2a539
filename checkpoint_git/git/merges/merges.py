"""Read merge commits: parents, merge bases, and each version of the checkpoints they touched."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.git import objects
from checkpoint_git.git.history.history import is_shallow
from checkpoint_git.git.history.log import read_boundary
from checkpoint_git.git.merges.bases import MergeBase, list_ids, read_all_bases
from checkpoint_git.git.objects import Change, TreeEntry
from checkpoint_git.git.run import Env, run_git
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.protocols.registry import is_merged, protocol_of

UNSHALLOW = advise("fetch the rest of the history", "git", "fetch", "--unshallow")
AT_ONCE = 64  # merges whose files are in memory at once
MOST_MERGES = 20  # recent ones
DAYS = 30
_MOST_VERSIONS = 20  # of a file after a merge are looked at


class MergeCommit(NamedTuple):
    id: str
    tree: str
    parents: tuple[str, ...]  # as it was made, also where this clone was cut off before them
    subject: str


class Ancestor(NamedTuple):
    """A file as a merge base has it. below: as the merge bases of that one's parents have it."""

    data: bytes | None
    below: tuple["Ancestor", ...]


class Versions(NamedTuple):
    """One file in a merge; None if there is no such file."""

    path: str  # in the merge, else in the parent that has it
    old_path: str  # in the base, where a parent renamed it
    bases: tuple[Ancestor, ...]  # one a merge base, () if the parents have no common ancestor
    first: bytes | None
    second: bytes | None
    result: bytes | None
    parents: tuple[int, int]  # which of them, counted from 1, are first and second


class Touched(NamedTuple):
    files: list[Versions]  # those that call for a word, sorted by path
    whole: int  # how many more came from the only parent that changed them
    crowded: list[str]  # the paths that more than two parents of an octopus changed
    bases: list[str]  # the ids of the merge bases


def read_commits(cwd: str, ids: Sequence[str], env: Env = None) -> list[MergeCommit]:
    commits = []
    for commit, data in zip(ids, objects.read_beginnings(cwd, ids, env), strict=True):
        header, _, message = data.partition(b"\n\n")
        fields = [line.partition(b" ") for line in header.split(b"\n")]
        tree = next(value.decode() for name, _, value in fields if name == b"tree")
        parents = tuple(value.decode() for name, _, value in fields if name == b"parent")
        subject = message.lstrip(b"\n").partition(b"\n")[0].decode("utf-8", "replace")
        commits.append(MergeCommit(commit, tree, parents, subject))
    return commits


def read_recent_merges(cwd: str, now: int, env: Env = None) -> list[str]:
    """Return the ids of HEAD's last merges, newest first: of 30 days before `now`, 20 at most."""
    since = max(now - DAYS * 86_400, 0)
    words = ["rev-list", "--merges", f"--max-count={MOST_MERGES}", f"--since=@{since} +0000"]
    return run_git([*words, "HEAD", "--"], cwd, env=env, check=False).out.decode().split()


def read_touching_merges(cwd: str, ids: Sequence[str], env: Env = None) -> list[MergeCommit]:
    """Return the merges whose parents or result differ in a checkpoint, or that lack a parent."""
    merges = read_commits(cwd, ids, env)
    parents = sorted({parent for merge in merges for parent in merge.parents})
    missing = objects.find_missing(cwd, parents, env)
    known = [parent for parent in parents if parent not in missing]
    trees = {commit.id: commit.tree for commit in read_commits(cwd, known, env)}

    pairs: dict[str, set[tuple[str, str]]] = {}
    for merge in merges:
        if not missing.intersection(merge.parents):
            first, *others = (trees[parent] for parent in merge.parents)
            pairs[merge.id] = {(first, tree) for tree in (*others, merge.tree)}

    every: set[tuple[str, str]] = set().union(*pairs.values())
    touching = set()
    for pair, changes in objects.diff_tree_pairs(cwd, every, pathspecs(), env).items():
        # git 2.36.0 forgets the paths after the first pair of trees
        if any(protocol_of(change.path) for change in changes):
            touching.add(pair)

    return [merge for merge in merges if merge.id not in pairs or touching & pairs[merge.id]]


def read_cut_ends(cwd: str, revisions: str) -> list[MergeCommit]:
    """Return the commits of a range at which a shallow clone was cut off, with their parents."""
    ends = read_boundary(cwd)
    if not ends:
        return []
    ids = run_git(["rev-list", "--end-of-options", revisions, "--"], cwd).out.decode().split()
    return read_commits(cwd, [commit for commit in ids if commit in ends])


def read_touched(cwd: str, merge: MergeCommit, env: Env = None) -> Touched:
    """Return every version of the checkpoint files that a parent or the merge itself changed.

    The work tree is not opened. A file beyond the size that a checkpoint may have is not read:
    NULs of that size replace it. The merge's `tree` may be "": then it is that of its id. Raises
    CheckpointError if a shallow clone lacks what the parents have in common.
    """
    (found,) = _read_touched_all(cwd, [merge], read_all_bases(cwd, [merge.parents], env), env)
    if isinstance(found, CheckpointError):
        raise found
    return found


def read_touched_each(
    cwd: str, merges: Sequence[MergeCommit], env: Env = None
) -> Iterator[Touched | CheckpointError]:
    """Yield what each merge touched, or why that is not known.

    Raises CheckpointError at the end if nothing is known of any.
    """
    parents = sorted({parent for merge in merges for parent in merge.parents})
    missing = objects.find_missing(cwd, parents, env)
    whole = [merge for merge in merges if missing.isdisjoint(merge.parents)]
    touched = _read_in_parts(cwd, whole, env)
    errors = list[CheckpointError]()
    for merge in merges:
        lacking = [parent for parent in merge.parents if parent in missing]
        found: Touched | CheckpointError
        if lacking:
            found = CheckpointError(f"{lacking[0][:12]} is not in this clone", UNSHALLOW)
        else:
            found = next(touched)

        if isinstance(found, CheckpointError):
            errors.append(found)
        yield found

    if errors and len(errors) == len(merges):
        raise errors[0]


def _read_in_parts(
    cwd: str, merges: Sequence[MergeCommit], env: Env
) -> Iterator[Touched | CheckpointError]:
    based: Sequence[tuple[MergeBase, ...]] = []
    with suppress(CheckpointError):
        based = read_all_bases(cwd, [merge.parents for merge in merges], env)
    for start in range(0, len(merges), AT_ONCE):
        some = merges[start : start + AT_ONCE]
        try:
            known = based[start : start + AT_ONCE]
            if not known:
                known = read_all_bases(cwd, [merge.parents for merge in some], env)
            yield from _read_touched_all(cwd, some, known, env)
        except CheckpointError:  # if one is damaged, it alone is an error
            for merge in some:
                try:
                    yield read_touched(cwd, merge, env)
                except CheckpointError as error:
                    yield error


def _read_touched_all(
    cwd: str, merges: Sequence[MergeCommit], based: Sequence[tuple[MergeBase, ...]], env: Env
) -> list[Touched | CheckpointError]:
    """Read several merges in few processes, all in memory at once.

    Returns an error for a merge of which nothing is known.
    """
    is_cut = not all(based) and is_shallow(cwd)
    sources = _find_sources(cwd, merges, based, env)
    renamed = {(source.reference, tree) for source in sources for tree in source.parents}
    moves = objects.diff_tree_pairs(cwd, renamed, pathspecs(), env, renames=True)
    plain = set()
    for source in sources:
        for tree in (source.result, *source.others.values()):
            plain.add((source.reference, tree))
    changes = objects.diff_tree_pairs(cwd, plain, pathspecs(), env)
    readers = [_MergeReader(source, moves, changes) for source in sources]
    blobs = set[str]()
    for reader in readers:
        blobs.update(reader.list_blobs())
    contents = read_contents(cwd, blobs, env)

    found: list[Touched | CheckpointError] = []
    for reader in readers:
        if is_cut and not reader.bases:
            message = "the common history of its parents is not in this clone"
            found.append(CheckpointError(message, UNSHALLOW))
        else:
            found.append(reader.fill(contents))
    return found


Changes = dict[tuple[str, str], list[Change]]  # two trees -> how they differ


class _Source(NamedTuple):
    """The trees of one merge."""

    reference: str  # that of the first merge base, which the others are compared with
    parents: tuple[str, ...]
    result: str
    others: dict[str, str]  # of all its merge bases, by the bases' ids
    bases: tuple[MergeBase, ...]


def _find_sources(
    cwd: str, merges: Sequence[MergeCommit], based: Sequence[tuple[MergeBase, ...]], env: Env
) -> list[_Source]:
    ids = set[str]()
    for merge, bases in zip(merges, based, strict=True):
        ids.update(merge.parents, list_ids(bases))
        if not merge.tree:
            ids.add(merge.id)

    known = sorted(ids)
    headers = objects.read_headers(cwd, [f"{commit}^{{tree}}" for commit in known], env)
    trees = {commit: header.id for commit, header in zip(known, headers, strict=True)}
    for commit, tree in trees.items():
        if not tree:
            raise CheckpointError(f"commit {commit[:12]} is not in this repository", UNSHALLOW)

    empty = ""
    if not all(based):
        made = run_git(["hash-object", "-t", "tree", "--stdin"], cwd, env=env)
        empty = made.out.decode().strip()

    sources = []
    for merge, bases in zip(merges, based, strict=True):
        source = _Source(
            reference=trees[bases[0].id] if bases else empty,
            parents=tuple(trees[parent] for parent in merge.parents),
            result=merge.tree or trees[merge.id],
            others={base: trees[base] for base in list_ids(bases)},
            bases=bases,
        )
        sources.append(source)
    return sources


class _Row(NamedTuple):
    path: str
    old_path: str  # in the reference
    parents: tuple[str, ...]  # blobs
    result: str  # blob
    changed: tuple[int, ...]  # which parents

    @property
    def is_crowded(self) -> bool:
        return len(self.changed) > 2

    def choose_parents(self) -> tuple[int, int]:
        """Return the parents to look at: of an octopus the two that changed the file, or the one
        that did, and another.
        """
        if not self.changed:
            return 0, 1
        first = self.changed[0]
        if len(self.changed) == 2:
            second = self.changed[1]
        else:
            second = 1 if first == 0 else 0
        return min(first, second), max(first, second)


class _MergeReader:
    """Finds the files of one merge, by how each of its trees differs from the same reference.

    A blob is "" if there is no file.
    """

    def __init__(self, source: _Source, moves: Changes, changes: Changes) -> None:
        self.bases = source.bases
        # path -> blob in the reference, as far as a tree differs from it
        self._known: dict[str, str] = {}
        self._renames: dict[str, str] = {}  # by a parent: old path -> new path
        reference = source.reference
        self._parents = [self._find_blobs(moves[reference, tree]) for tree in source.parents]
        self._result = self._find_blobs(changes[source.reference, source.result])
        self._others = {
            base: self._find_blobs(changes[source.reference, tree])
            for base, tree in source.others.items()
        }
        paths = set[str]().union(*self._parents, self._result)
        paths -= set(self._renames.values())
        self._rows = [self._make_row(path) for path in sorted(paths)]

    def _find_blobs(self, changes: list[Change]) -> dict[str, str]:
        blobs = {}
        for change in changes:
            self._known.setdefault(change.came_from or change.path, _blob_of(change.old))
            if change.came_from:
                self._renames[change.came_from] = change.path
                blobs[change.came_from] = ""
            blobs[change.path] = _blob_of(change.after)
        return {path: blob for path, blob in blobs.items() if is_merged(path)}

    def _blob_in(self, blobs: dict[str, str], path: str) -> str:
        return blobs.get(path, self._known.get(path, ""))

    def _make_row(self, old: str) -> _Row:
        new = self._renames.get(old, "")
        found = []
        for blobs in (*self._parents, self._result):
            blob = ""
            if new:
                blob = self._blob_in(blobs, new)
            found.append(blob or self._blob_in(blobs, old))

        *parents, result = found
        before = self._known.get(old, "")
        changed = tuple(number for number, blob in enumerate(parents) if blob != before)
        return _Row(new or old, old, tuple(parents), result, changed)

    def list_blobs(self) -> list[str]:
        """Return the contents to be read: those of the files that call for a word."""
        found = set[str]()
        for row in self._list_open():
            found.update((*row.parents, row.result))
            for base in list_ids(self.bases):
                found.add(self._blob_in(self._others[base], row.old_path))
        return sorted(found - {""})

    def fill(self, contents: dict[str, bytes]) -> Touched:
        """Return what the merge touched. contents: of the blobs that list_blobs names."""
        files = [self._fill_row(row, contents) for row in self._list_open()]
        files.sort(key=lambda file: file.path)
        crowded = sorted(row.path for row in self._rows if row.is_crowded)
        whole = len(self._rows) - len(crowded) - len(files)
        return Touched(files, whole, crowded, [base.id for base in self.bases])

    def _list_open(self) -> list[_Row]:
        return [row for row in self._rows if not (row.is_crowded or self._is_whole(row))]

    def _is_whole(self, row: _Row) -> bool:
        """Return whether the merge took a file as both parents, or the only changed one, has it."""
        first, second = [row.parents[number] for number in row.choose_parents()]
        if first == second:
            return row.result == first
        if len(self.bases) != 1:
            return False
        base = self._known.get(row.old_path, "")
        if first == base:
            return row.result == second
        return second == base and row.result == first

    def _fill_row(self, row: _Row, contents: dict[str, bytes]) -> Versions:
        first, second = row.choose_parents()
        return Versions(
            path=row.path,
            old_path=row.old_path if row.old_path != row.path else "",
            bases=self._list_ancestors(self.bases, row.old_path, contents),
            first=contents.get(row.parents[first]),
            second=contents.get(row.parents[second]),
            result=contents.get(row.result),
            parents=(first + 1, second + 1),
        )

    def _list_ancestors(
        self, bases: tuple[MergeBase, ...], path: str, contents: dict[str, bytes]
    ) -> tuple[Ancestor, ...]:
        blobs = [self._blob_in(self._others[base.id], path) for base in bases]
        return tuple(
            Ancestor(contents.get(blob), self._list_ancestors(base.below, path, contents))
            for blob, base in zip(blobs, bases, strict=True)
        )


def _blob_of(entry: TreeEntry | None) -> str:
    if entry is None or not entry.is_file:
        return ""
    return entry.blob


def read_outside(cwd: str, ids: Iterable[str], env: Env = None) -> set[str]:
    """Return the commits that are not in HEAD's history; all of them if one is not here at all."""
    asked = sorted(set(ids))
    if not asked:
        return set()
    stdin = "".join(f"{commit}\n" for commit in asked).encode()
    words = ["rev-list", "--stdin", "--not", "HEAD"]
    result = run_git(words, cwd, stdin=stdin, env=env, check=False)
    if result.code:
        return set(asked)
    return set(result.out.decode().split()).intersection(asked)


def read_later_versions(
    cwd: str, merge: str, path: str, env: Env = None, head: str = "HEAD"
) -> list[bytes]:
    """Return the versions of a file after a merge, up to `head`; newest first, 20 at most."""
    words = ["log", "-z", "--format=", "--raw", "-m", "--full-history", "--no-renames"]
    words += ["--full-index", "--no-ext-diff", "--no-relative", "--no-color"]
    words += ["--no-show-signature", "--ancestry-path"]
    out = run_git([*words, f"{merge}..{head}", "--", f":(top,literal){path}"], cwd, env=env).out
    blobs: dict[str, None] = {}
    fields = iter(out.split(b"\0"))
    for field in fields:
        facts = field.lstrip(b"\n")
        if facts:
            change = objects.parse_change(facts, fields)
            blobs[_blob_of(change.after)] = None
    present = [blob for blob in blobs if blob][:_MOST_VERSIONS]
    contents = read_contents(cwd, present, env)
    return [contents[blob] for blob in present]


def read_contents(cwd: str, blobs: Iterable[str], env: Env = None) -> dict[str, bytes]:
    """Return the contents of blobs by their ids.

    One beyond a checkpoint's size is replaced by NULs that are too many as well.
    """
    wanted = sorted(set(blobs))
    contents = {}
    for blob, data in zip(wanted, objects.read_bounded(cwd, wanted, env), strict=True):
        if isinstance(data, bytes):
            contents[blob] = data
        else:
            contents[blob] = blob.encode().ljust(MAX_BYTES + 1, b"\0")
    return contents


def read_files_at(
    cwd: str, paths: Sequence[str], env: Env = None, commit: str = "HEAD"
) -> dict[str, bytes | None]:
    """Return the contents of files in a commit or tree, None if there is no file."""
    if not paths:
        return {}
    found = objects.read_tree(cwd, commit, env, paths)
    blobs = {path: entry.blob for path, entry in found.items() if entry.mode.startswith("100")}
    contents = read_contents(cwd, blobs.values(), env)
    return {path: contents.get(blobs.get(path, "")) for path in paths}
