"""Merge commits as git holds them: their parents, merge bases, and every version of each checkpoint file they touched.

It judges nothing and merges nothing. It works in bare repositories too, and never opens the work tree.
"""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.git.history.history import is_shallow
from checkpoint_git.git.merges import differences as differing
from checkpoint_git.git.merges.bases import read_bases_of_all
from checkpoint_git.git.merges.differences import (
    NO_RENAMES,
    RENAMES,
    Records,
    Tree,
    blob_in,
    make_tree,
    read_empty_tree,
    read_records,
    read_trees,
)
from checkpoint_git.git.objects import read_blobs, read_commit
from checkpoint_git.git.run import run_git
from checkpoint_git.git.staged import pathspecs

UNSHALLOW = differing.UNSHALLOW
Env = differing.Env
_DEEPEST = 8  # how far merge bases of merge bases are followed


class Commit(NamedTuple):
    """A commit object. parents: as it was made, also where this clone was cut off before them."""

    id: str
    tree: str
    parents: tuple[str, ...]
    subject: str


class Base(NamedTuple):
    """A merge base. below: the merge bases between this one and those before it, of which git makes a virtual one."""

    id: str
    below: "tuple[Base, ...]"


class Ancestor(NamedTuple):
    """A file as a merge base has it, None where it has not; below: the same of the bases below that base."""

    data: bytes | None
    below: "tuple[Ancestor, ...]"


class Versions(NamedTuple):
    """One file in a merge.

    path: in the merge, else in the parent that has it; old_path: in the base, where a parent renamed it. bases: one a
    merge base, () where the parents have no common ancestor. first, second, result: None where there is no such file.
    parents: which parents, counted from 1, are first and second.
    """

    path: str
    old_path: str
    bases: tuple[Ancestor, ...]
    first: bytes | None
    second: bytes | None
    result: bytes | None
    parents: tuple[int, int]


class Touched(NamedTuple):
    """What a merge found of checkpoint files.

    files: those that call for a word, sorted by path. whole: how many more came from the only parent that changed
    them. crowded: the paths that more than two parents of an octopus changed. bases: the ids of the merge bases.
    """

    files: list[Versions]
    whole: int
    crowded: list[str]
    bases: list[str]


# finding merges


def read_commits(cwd: str, ids: Sequence[str], env: Env = None) -> list[Commit]:
    """Commits by their full ids, as they were made."""
    return [_parse_commit(*pair) for pair in zip(ids, read_blobs(cwd, ids, env), strict=True)]


def _parse_commit(commit: str, data: bytes) -> Commit:
    header, _, message = data.partition(b"\n\n")
    fields = [line.partition(b" ") for line in header.split(b"\n")]
    tree = next(value.decode() for name, _, value in fields if name == b"tree")
    parents = tuple(value.decode() for name, _, value in fields if name == b"parent")
    subject = message.lstrip(b"\n").partition(b"\n")[0].decode("utf-8", "replace")
    return Commit(commit, tree, parents, subject)


def read_merge(cwd: str, rev: str) -> Commit:
    """The merge that a revision names. Raises CheckpointError where it is none, or its parents are not here."""
    (commit,) = read_commits(cwd, [read_commit(cwd, rev)])
    if len(commit.parents) < 2:
        count = "no parent" if not commit.parents else "one parent"
        raise CheckpointError(
            f"{escape_controls(rev)} is no merge: it has {count}", "name a merge commit: git log --merges"
        )
    missing = read_missing(cwd, commit.parents)
    if missing:
        hint = UNSHALLOW if is_shallow(cwd) else "the repository is damaged: git fsck"
        raise CheckpointError(f"{escape_controls(rev)}: its parent {missing[0][:12]} is not in this repository", hint)
    return commit


def read_missing(cwd: str, ids: Sequence[str]) -> list[str]:
    """Those of the ids that name no object here."""
    out = run_git(["cat-file", "--batch-check"], cwd, stdin="".join(f"{one}\n" for one in ids).encode()).out
    return [one for one, line in zip(ids, out.splitlines(), strict=True) if line.endswith(b" missing")]


def read_merges(cwd: str, revisions: str) -> list[Commit]:
    """The merges in a range such as "main~20..main", newest first, that could have done something to a checkpoint."""
    result = run_git(["rev-list", "--merges", "--end-of-options", revisions, "--"], cwd, check=False)
    if result.code != 0:
        raise CheckpointError(
            f"git knows no range {escape_controls(revisions)!r}", "give one such as main~20..main, or a branch"
        )
    merges = read_commits(cwd, result.out.decode().split())
    return _keep_differing(cwd, merges)


def read_cut_merges(cwd: str, revisions: str) -> list[Commit]:
    """The merges of a range that lie where a shallow clone was cut off, so that nothing can be told of them."""
    return [commit for commit in read_cut_ends(cwd, revisions) if len(commit.parents) > 1]


def read_cut_ends(cwd: str, revisions: str) -> list[Commit]:
    """The commits of a range at which a shallow clone was cut off, with the parents that they were made with."""
    if not is_shallow(cwd):
        return []
    path = os.fsdecode(run_git(["rev-parse", "--path-format=absolute", "--git-path", "shallow"], cwd).out).rstrip("\n")
    with open(path, encoding="ascii") as stream:
        ends = set(stream.read().split())
    ids = run_git(["rev-list", "--end-of-options", revisions, "--"], cwd).out.decode().split()
    return read_commits(cwd, [commit for commit in ids if commit in ends])


def _keep_differing(cwd: str, merges: list[Commit]) -> list[Commit]:
    """The merges whose parents differ from one another, or from the merge, in a checkpoint; in one `git diff-tree`."""
    parents = sorted({parent for merge in merges for parent in merge.parents})
    trees = {commit.id: commit.tree for commit in read_commits(cwd, parents)}
    pairs = {
        merge.id: {f"{trees[merge.parents[0]]} {tree}" for tree in (*map(trees.get, merge.parents[1:]), merge.tree)}
        for merge in merges
    }
    asked = "".join(f"{pair}\n" for pair in sorted({pair for some in pairs.values() for pair in some}))
    words = ["diff-tree", "--stdin", "-r", "--raw", "--no-renames", "--no-relative", "--", *pathspecs()]
    differing, pair = set(), ""
    for line in run_git(words, cwd, stdin=asked.encode()).out.decode("utf-8", "replace").splitlines():
        if line.startswith(":"):
            differing.add(pair)
        else:
            pair = line
    return [merge for merge in merges if pairs[merge.id] & differing]


# merge bases


def read_bases(cwd: str, parents: Sequence[str], env: Env = None) -> tuple[Base, ...]:
    """The merge bases of a merge's parents; several after a criss-cross, none for unrelated histories."""
    words = ["--octopus", "--all"] if len(parents) > 2 else ["--all"]
    return _with_below(cwd, _read_base_ids(cwd, [*words, *parents], env), 0, env)


def _with_below(cwd: str, ids: list[str], depth: int, env: Env) -> tuple[Base, ...]:
    """Git merges the bases one after the other: each with the merge of those before it."""
    bases: list[Base] = []
    for number, one in enumerate(ids):
        below: tuple[Base, ...] = ()
        if number and depth < _DEEPEST:
            below = _with_below(cwd, _read_base_ids(cwd, ["--all", one, *ids[:number]], env), depth + 1, env)
        bases.append(Base(one, below))
    return tuple(bases)


def _read_base_ids(cwd: str, words: Sequence[str], env: Env) -> list[str]:
    result = run_git(["merge-base", *words], cwd, env=env, check=False)
    return result.out.decode().split() if result.code == 0 else []


def _ids_of(bases: Iterable[Base]) -> list[str]:
    return [one for base in bases for one in (base.id, *_ids_of(base.below))]


# the files of one merge


def read_touched(cwd: str, merge: Commit, env: Env = None) -> Touched:
    """Every version of the checkpoint files that a parent or the merge itself changed.

    A file beyond the size that a checkpoint may have is not read: NULs of that size stand for it.
    Raises CheckpointError where a shallow clone lacks what the parents have in common.
    """
    found = read_touched_all(cwd, [merge], env)[0]
    if isinstance(found, CheckpointError):
        raise found
    return found


def read_touched_all(
    cwd: str, merges: Sequence[Commit], env: Env = None, based: "Sequence[tuple[Base, ...]] | None" = None
) -> list[Touched | CheckpointError]:
    """The same of many merges, in the same few processes; an error stands for a merge of which nothing can be told.

    All that they hold is in memory at once. A merge's `tree` may be "": its id then says what it holds. based: the
    merge bases of each, where they are known.
    """
    based = read_all_bases(cwd, merges, env) if based is None else based
    cut = not all(based) and is_shallow(cwd)
    sources = _find_sources(cwd, merges, based, env)
    records = {
        **read_records(cwd, {(one.reference, tree) for one in sources for tree in one.parents}, RENAMES, env),
        **read_records(cwd, {(one.reference, tree) for one in sources for tree in one.plain()}, NO_RENAMES, env),
    }
    readers = [source.open(records) for source in sources]
    rows = [reader.list_rows() for reader in readers]
    wanted = [blob for reader, some in zip(readers, rows, strict=True) for row in some for blob in reader.blobs(row)]
    contents = read_contents(cwd, wanted, env)
    lacking = CheckpointError("what its parents have in common is not in this clone", UNSHALLOW)
    return [
        lacking if cut and not reader.bases else reader.tell(some, contents)
        for reader, some in zip(readers, rows, strict=True)
    ]


def read_all_bases(cwd: str, merges: Sequence[Commit], env: Env) -> list[tuple[Base, ...]]:
    """The merge bases of each merge; only where there are several, or more than two parents, git is asked again."""
    if len(merges) == 1:
        return [read_bases(cwd, merges[0].parents, env)]
    found = read_bases_of_all(cwd, [merge.parents for merge in merges], env)
    return [
        (Base(ids[0], ()),) if len(ids) == 1 and len(merge.parents) == 2 else read_bases(cwd, merge.parents, env)
        for merge, ids in zip(merges, found, strict=True)
    ]


class _Source(NamedTuple):
    """The trees of one merge, by their ids. others: of its merge bases, by the bases' ids."""

    reference: str
    parents: tuple[str, ...]
    result: str
    others: dict[str, str]
    bases: tuple[Base, ...]

    def plain(self) -> list[str]:
        """The trees that are compared without looking for renames."""
        return [self.result, *self.others.values()]

    def open(self, records: "Records") -> "_Reader":
        known: dict[str, str] = {}  # path -> blob in the reference
        parents = [make_tree(records[self.reference, tree, RENAMES], known) for tree in self.parents]
        result, *others = (make_tree(records[self.reference, tree, NO_RENAMES], known) for tree in self.plain())
        return _Reader(parents, result, dict(zip(self.others, others, strict=True)), known, self.bases)


def _find_sources(cwd: str, merges: Sequence[Commit], based: Sequence[tuple[Base, ...]], env: Env) -> list[_Source]:
    ids = {one for merge, bases in zip(merges, based, strict=True) for one in (*merge.parents, *_ids_of(bases))}
    trees = read_trees(cwd, sorted(ids | {merge.id for merge in merges if not merge.tree}), env)
    empty = "" if all(based) else read_empty_tree(cwd, env)
    return [
        _Source(
            trees[bases[0].id] if bases else empty,
            tuple(trees[parent] for parent in merge.parents),
            merge.tree or trees[merge.id],
            {one: trees[one] for one in sorted({*_ids_of(bases)})},
            bases,
        )
        for merge, bases in zip(merges, based, strict=True)
    ]


class _Row(NamedTuple):
    """One file: its path, that in the reference, the blob of every parent and of the merge; changed: which parents."""

    path: str
    old_path: str
    parents: tuple[str, ...]
    result: str
    changed: tuple[int, ...]


class _Reader(NamedTuple):
    """The trees of one merge, all as differences from the same reference."""

    parents: list[Tree]
    result: Tree
    others: dict[str, Tree]
    known: dict[str, str]
    bases: tuple[Base, ...]

    def list_rows(self) -> list[_Row]:
        """One row a file; a file renamed by a parent is one file."""
        renames: dict[str, str] = {}
        for tree in self.parents:
            renames.update(tree.renames)
        paths = {path for tree in (*self.parents, self.result) for path in tree.blobs} - set(renames.values())
        return [self._row(path, renames.get(path, "")) for path in sorted(paths)]

    def blobs(self, row: _Row) -> list[str]:
        """Every object to be read for a row."""
        below = [blob_in(self.others[one], self.known, row.old_path) for one in _ids_of(self.bases)]
        return [blob for blob in (*row.parents, row.result, *below) if blob]

    def tell(self, rows: list[_Row], contents: dict[str, bytes]) -> Touched:
        """The merge's files, with what was read of them."""
        files = [self.fill(row, contents) for row in rows if len(row.changed) <= 2]
        crowded = sorted(row.path for row in rows if len(row.changed) > 2)
        telling = sorted((file for file in files if not _is_whole(file)), key=lambda file: file.path)
        return Touched(telling, len(files) - len(telling), crowded, [base.id for base in self.bases])

    def _row(self, old: str, new: str) -> _Row:
        def find(tree: Tree) -> str:
            return (blob_in(tree, self.known, new) if new else "") or blob_in(tree, self.known, old)

        before = self.known.get(old, "")
        blobs = tuple(find(tree) for tree in self.parents)
        changed = tuple(number for number, blob in enumerate(blobs) if blob != before)
        return _Row(new or old, old, blobs, find(self.result), changed)

    def fill(self, row: _Row, contents: dict[str, bytes]) -> Versions:
        """A row with its contents. Of an octopus the two parents count that changed the file, or one and another."""
        two = (0, 1)
        if len(row.parents) > 2 and row.changed:
            other = next(number for number in range(len(row.parents)) if number not in row.changed[:1])
            pair = row.changed if len(row.changed) == 2 else (row.changed[0], other)
            two = (min(pair), max(pair))
        first, second = (contents.get(row.parents[number]) for number in two)
        old_path = row.old_path if row.old_path != row.path else ""
        bases = self._ancestors(self.bases, row.old_path, contents)
        parents = (two[0] + 1, two[1] + 1)
        return Versions(row.path, old_path, bases, first, second, contents.get(row.result), parents)

    def _ancestors(self, bases: tuple[Base, ...], path: str, contents: dict[str, bytes]) -> tuple[Ancestor, ...]:
        return tuple(
            Ancestor(
                contents.get(blob_in(self.others[base.id], self.known, path)),
                self._ancestors(base.below, path, contents),
            )
            for base in bases
        )


def _is_whole(file: Versions) -> bool:
    """Whether the merge took a file as the only parent that changed it has it, or as both have it."""
    if len(file.bases) > 1 and file.first != file.second:
        return False
    base = file.bases[0].data if file.bases else None
    if file.first == file.second:
        return file.result == file.first
    if base in (file.first, file.second):
        return file.result == (file.second if file.first == base else file.first)
    return False


def read_contents(cwd: str, blobs: Iterable[str], env: Env = None) -> dict[str, bytes]:
    """Blobs by their ids. One beyond the size that a checkpoint may have comes as NULs that are too many as well."""
    wanted = sorted(set(blobs))
    sizes = _read_sizes(cwd, wanted, env)
    small = [blob for blob in wanted if sizes[blob] <= MAX_BYTES]
    contents = dict(zip(small, read_blobs(cwd, small, env), strict=True))
    return {blob: contents.get(blob, blob.encode().ljust(MAX_BYTES + 1, b"\0")) for blob in wanted}


def _read_sizes(cwd: str, blobs: Sequence[str], env: Env) -> dict[str, int]:
    """The sizes in bytes; 0 for what is missing, so that reading it says so."""
    if not blobs:
        return {}
    words = ["cat-file", "--batch-check=%(objectsize)"]
    lines = run_git(words, cwd, env=env, stdin="".join(f"{blob}\n" for blob in blobs).encode()).out.splitlines()
    return {blob: int(line) if line.isdigit() else 0 for blob, line in zip(blobs, lines, strict=True)}
