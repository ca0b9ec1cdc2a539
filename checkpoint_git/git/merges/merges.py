"""Merge commits as git has them: parents, merge bases, every version of the checkpoint files they
touched.
"""

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
    """A file as a merge base has it; below: the same of the bases below that base."""

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
    """Return the merges among whose parents and result a checkpoint differs, or that lack a parent
    here.
    """
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

    every = {pair for some in pairs.values() for pair in some}
    changes = objects.diff_tree_pairs(cwd, every, pathspecs(), env)

    # git 2.36.0 forgets the paths after the first pair of trees
    touching = {
        pair for pair, some in changes.items() if any(protocol_of(one.path) for one in some)
    }
    return [merge for merge in merges if merge.id not in pairs or touching & pairs[merge.id]]


def read_cut_ends(cwd: str, revisions: str) -> list[MergeCommit]:
    """The commits of a range at which a shallow clone was cut off, with the parents that they were
    made with.
    """
    ends = read_boundary(cwd)
    if not ends:
        return []
    ids = run_git(["rev-list", "--end-of-options", revisions, "--"], cwd).out.decode().split()
    return read_commits(cwd, [commit for commit in ids if commit in ends])


# Bare repositories too: the work tree is never opened.
def read_touched(cwd: str, merge: MergeCommit, env: Env = None) -> Touched:
    """Every version of the checkpoint files that a parent or the merge itself changed. A file
    beyond the size that a checkpoint may have is not read: NULs of that size replace it. The
    merge's `tree` may be "": its id then says what it holds. Raises CheckpointError if a shallow
    clone lacks what the parents have in common.
    """
    (found,) = _read_touched_all(cwd, [merge], read_all_bases(cwd, [merge.parents], env), env)
    if isinstance(found, CheckpointError):
        raise found
    return found


def read_touched_each(
    cwd: str, merges: Sequence[MergeCommit], env: Env = None
) -> Iterator[Touched | CheckpointError]:
    """Yield what each merge touched, or why that is not known. Raises CheckpointError at the end if
    nothing is known of any.
    """
    missing = objects.find_missing(
        cwd, sorted({parent for merge in merges for parent in merge.parents}), env
    )
    touched = _read_in_parts(
        cwd, [merge for merge in merges if not missing & set(merge.parents)], env
    )
    errors = list[CheckpointError]()
    for merge in merges:
        parent = next((parent for parent in merge.parents if parent in missing), "")
        found = (
            CheckpointError(f"{parent[:12]} is not in this clone", UNSHALLOW)
            if parent
            else next(touched)
        )
        errors += [found] if isinstance(found, CheckpointError) else []
        yield found

    if errors and len(errors) == len(merges):
        raise errors[0]


def _read_in_parts(
    cwd: str, merges: Sequence[MergeCommit], env: Env
) -> Iterator[Touched | CheckpointError]:
    based: Sequence[tuple[MergeBase, ...]] = []
    with suppress(CheckpointError):
        based = read_all_bases(cwd, [merge.parents for merge in merges], env)
    for at in range(0, len(merges), AT_ONCE):
        some = merges[at : at + AT_ONCE]
        try:
            known = based[at : at + AT_ONCE] or read_all_bases(
                cwd, [merge.parents for merge in some], env
            )
            yield from _read_touched_all(cwd, some, known, env)
        except CheckpointError:  # where one is damaged, it alone is an error
            for merge in some:
                try:
                    yield read_touched(cwd, merge, env)
                except CheckpointError as error:
                    yield error


def _read_touched_all(
    cwd: str, merges: Sequence[MergeCommit], based: Sequence[tuple[MergeBase, ...]], env: Env
) -> list[Touched | CheckpointError]:
    """In as few processes, all in memory at once; an error for a merge of which nothing is
    known.
    """
    is_cut = not all(based) and is_shallow(cwd)
    sources = _find_sources(cwd, merges, based, env)
    renamed = {(one.reference, tree) for one in sources for tree in one.parents}
    moves = objects.diff_tree_pairs(cwd, renamed, pathspecs(), env, renames=True)
    plain = {
        (one.reference, tree) for one in sources for tree in (one.result, *one.others.values())
    }
    changes = objects.diff_tree_pairs(cwd, plain, pathspecs(), env)
    readers = [_MergeReader(one, moves, changes) for one in sources]
    contents = read_contents(cwd, [blob for reader in readers for blob in reader.list_blobs()], env)
    lacking = CheckpointError("the common history of its parents is not in this clone", UNSHALLOW)
    return [lacking if is_cut and not reader.bases else reader.fill(contents) for reader in readers]


Changes = dict[tuple[str, str], list[Change]]  # two trees -> how they differ


class _Source(NamedTuple):
    reference: str
    parents: tuple[str, ...]
    result: str
    others: dict[str, str]  # of all its merge bases, by the bases' ids
    bases: tuple[MergeBase, ...]


def _find_sources(
    cwd: str, merges: Sequence[MergeCommit], based: Sequence[tuple[MergeBase, ...]], env: Env
) -> list[_Source]:
    ids = {
        one
        for merge, bases in zip(merges, based, strict=True)
        for one in (*merge.parents, *list_ids(bases))
    }
    known = sorted(ids | {merge.id for merge in merges if not merge.tree})
    headers = objects.read_headers(cwd, [f"{one}^{{tree}}" for one in known], env)
    trees = {one: header.id for one, header in zip(known, headers, strict=True)}
    missing = next((one for one, tree in trees.items() if not tree), "")
    if missing:
        raise CheckpointError(f"commit {missing[:12]} is not in this repository", UNSHALLOW)
    empty = (
        ""
        if all(based)
        else run_git(["hash-object", "-t", "tree", "--stdin"], cwd, env=env).out.decode().strip()
    )
    return [
        _Source(
            trees[bases[0].id] if bases else empty,
            tuple(trees[parent] for parent in merge.parents),
            merge.tree or trees[merge.id],
            {one: trees[one] for one in list_ids(bases)},
            bases,
        )
        for merge, bases in zip(merges, based, strict=True)
    ]


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
        """Of an octopus the two parents count that changed the file, or one and another."""
        if len(self.parents) == 2 or not self.changed:
            return 0, 1
        first = self.changed[0]
        unchanged = next(number for number in range(len(self.parents)) if number != first)
        second = self.changed[1] if len(self.changed) == 2 else unchanged
        return min(first, second), max(first, second)


class _MergeReader:
    """The files of one merge, from how each of its trees differs from the same reference. Blobs: ""
    for no file.
    """

    def __init__(self, source: _Source, moves: Changes, changes: Changes) -> None:
        self.bases = source.bases
        # path -> blob in the reference, as far as a tree differs from it
        self._known: dict[str, str] = {}
        self._renames: dict[str, str] = {}  # by a parent: old path -> new path
        self._parents = [self._find_blobs(moves[source.reference, tree]) for tree in source.parents]
        self._result = self._find_blobs(changes[source.reference, source.result])
        self._others = {
            one: self._find_blobs(changes[source.reference, tree])
            for one, tree in source.others.items()
        }
        paths = {path for blobs in (*self._parents, self._result) for path in blobs} - set(
            self._renames.values()
        )
        self._rows = [self._make_row(path) for path in sorted(paths)]

    def _find_blobs(self, changes: list[Change]) -> dict[str, str]:
        blobs = {}
        for change in changes:
            self._known.setdefault(change.came_from or change.path, _blob_of(change.old))
            if change.came_from:
                self._known.setdefault(change.path, "")
                self._renames[change.came_from] = change.path
                blobs[change.came_from] = ""
            blobs[change.path] = _blob_of(change.after)
        return {path: blob for path, blob in blobs.items() if is_merged(path)}

    def _blob_in(self, blobs: dict[str, str], path: str) -> str:
        return blobs.get(path, self._known.get(path, ""))

    def _make_row(self, old: str) -> _Row:
        new = self._renames.get(old, "")
        *parents, result = [
            (self._blob_in(blobs, new) if new else "") or self._blob_in(blobs, old)
            for blobs in (*self._parents, self._result)
        ]
        before = self._known.get(old, "")
        changed = tuple(number for number, blob in enumerate(parents) if blob != before)
        return _Row(new or old, old, tuple(parents), result, changed)

    def list_blobs(self) -> list[str]:
        """Return the contents to be read: of the files that call for a word."""
        found = set[str]()
        for row in self._list_open():
            found.update((*row.parents, row.result))
            found.update(
                self._blob_in(self._others[one], row.old_path) for one in list_ids(self.bases)
            )
        return sorted(found - {""})

    def fill(self, contents: dict[str, bytes]) -> Touched:
        files = sorted(
            (self._fill_row(row, contents) for row in self._list_open()), key=lambda file: file.path
        )
        crowded = sorted(row.path for row in self._rows if row.is_crowded)
        whole = len(self._rows) - len(crowded) - len(files)
        return Touched(files, whole, crowded, [base.id for base in self.bases])

    def _list_open(self) -> list[_Row]:
        return [row for row in self._rows if not (row.is_crowded or self._is_whole(row))]

    def _is_whole(self, row: _Row) -> bool:
        # whether the merge took a file as the only parent that changed it has it, or as both have
        # it
        one, other = row.choose_parents()
        first, second = row.parents[one], row.parents[other]
        base = self._known.get(row.old_path, "") if self.bases else None
        if first == second:
            return row.result == first
        if len(self.bases) > 1 or base not in (first, second):
            return False
        return row.result == (second if first == base else first)

    def _fill_row(self, row: _Row, contents: dict[str, bytes]) -> Versions:
        one, other = row.choose_parents()
        old_path = row.old_path if row.old_path != row.path else ""
        bases = self._list_ancestors(self.bases, row.old_path, contents)
        first, second = (contents.get(row.parents[number]) for number in (one, other))
        return Versions(
            row.path, old_path, bases, first, second, contents.get(row.result), (one + 1, other + 1)
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
    return entry.blob if entry is not None and entry.is_file else ""


def read_outside(cwd: str, ids: Iterable[str], env: Env = None) -> set[str]:
    """Return the commits that are not in HEAD's history; all of them if one is not here at all."""
    asked = sorted(set(ids))
    if not asked:
        return set()
    stdin = "".join(f"{one}\n" for one in asked).encode()
    result = run_git(
        ["rev-list", "--stdin", "--not", "HEAD"], cwd, stdin=stdin, env=env, check=False
    )
    return set(asked if result.code else result.out.decode().split()) & set(asked)


def read_later_versions(
    cwd: str, merge: str, path: str, env: Env = None, head: str = "HEAD"
) -> list[bytes]:
    """Return what a file was between a merge and `head`, after the merge; newest first, 20 at
    most.
    """
    words = [
        "log",
        "-z",
        "--format=",
        "--raw",
        "-m",
        "--full-history",
        "--no-renames",
        "--full-index",
    ]
    words += [
        "--no-ext-diff",
        "--no-relative",
        "--no-color",
        "--no-show-signature",
        "--ancestry-path",
    ]
    out = run_git([*words, f"{merge}..{head}", "--", f":(top,literal){path}"], cwd, env=env).out
    records = [field.lstrip(b"\n") for field in out.split(b"\0")]
    blobs = dict.fromkeys(
        record.split()[3].decode() for record in records if record.startswith(b":")
    )
    present = [blob for blob in blobs if blob.strip("0")][:_MOST_VERSIONS]
    contents = read_contents(cwd, present, env)
    return [contents[blob] for blob in present]


def read_contents(cwd: str, blobs: Iterable[str], env: Env = None) -> dict[str, bytes]:
    """A blob beyond a checkpoint's size comes as NULs that are too many as well."""
    wanted = sorted(set(blobs))
    found = zip(wanted, objects.read_bounded(cwd, wanted, env), strict=True)
    return {
        one: data if isinstance(data, bytes) else one.encode().ljust(MAX_BYTES + 1, b"\0")
        for one, data in found
    }


def read_files_at(
    cwd: str, paths: Sequence[str], env: Env = None, commit: str = "HEAD"
) -> dict[str, bytes | None]:
    """The contents in a commit or tree, None for no file."""
    found = objects.read_tree(cwd, commit, env, paths) if paths else {}
    blobs = {path: entry.blob for path, entry in found.items() if entry.mode.startswith("100")}
    contents = read_contents(cwd, blobs.values(), env)
    return {path: contents.get(blobs.get(path, "")) for path in paths}
