"""Merge commits as git has them: their parents, merge bases, and every version of each checkpoint file they touched.

It judges nothing and merges nothing. It works in bare repositories too, and never opens the work tree.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.git.history.history import is_shallow
from checkpoint_git.git.merges.bases import Base, list_ids, read_all_bases
from checkpoint_git.git.objects import (
    Blobs,
    Change,
    Entry,
    Env,
    diff_tree_pairs,
    find_missing,
    read_blobs,
    read_commit,
    read_headers,
    read_tree,
)
from checkpoint_git.git.run import run_git
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.protocols.registry import is_merged

UNSHALLOW = "fetch the rest of the history: git fetch --unshallow"
AT_ONCE = 64  # merges whose files are in memory at once


class Commit(NamedTuple):
    """A commit object. parents: as it was made, also where this clone was cut off before them."""

    id: str
    tree: str
    parents: tuple[str, ...]
    subject: str


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
            f"{escape_controls(rev)} is not a merge: it has {count}", "name a merge commit: git log --merges"
        )
    missing = find_missing(cwd, commit.parents)
    if missing:
        parent = next(parent for parent in commit.parents if parent in missing)
        hint = UNSHALLOW if is_shallow(cwd) else "the repository is damaged: git fsck"
        raise CheckpointError(f"{escape_controls(rev)}: its parent {parent[:12]} is not in this repository", hint)
    return commit


def read_merges(cwd: str, revisions: str) -> list[Commit]:
    """The merges in a range such as "main~20..main", newest first, that could have done something to a checkpoint."""
    result = run_git(["rev-list", "--merges", "--end-of-options", revisions, "--"], cwd, check=False)
    if result.code != 0:
        raise CheckpointError(
            f"git knows no range {escape_controls(revisions)!r}", "give one such as main~20..main, or a branch"
        )
    merges = read_commits(cwd, result.out.decode().split())
    return _keep_differing(cwd, merges)


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
    parents = sorted({parent for merge in merges for parent in merge.parents})
    trees = {commit.id: commit.tree for commit in read_commits(cwd, parents)}
    pairs = {
        merge.id: {(trees[merge.parents[0]], tree) for tree in (*map(trees.__getitem__, merge.parents[1:]), merge.tree)}
        for merge in merges
    }
    changes = diff_tree_pairs(cwd, {pair for some in pairs.values() for pair in some}, pathspecs())
    return [merge for merge in merges if any(changes[pair] for pair in pairs[merge.id])]


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
    """read_touched for many merges, in as few processes; an error for a merge of which nothing is known.

    All that they hold is in memory at once. A merge's `tree` may be "": its id then says what it holds. based: the
    merge bases of each, where they are known.
    """
    based = read_all_bases(cwd, [merge.parents for merge in merges], env) if based is None else based
    cut = not all(based) and is_shallow(cwd)
    sources = _find_sources(cwd, merges, based, env)
    renamed = {(one.reference, tree) for one in sources for tree in one.parents}
    plain = {(one.reference, tree) for one in sources for tree in one.plain()}
    records = {
        True: diff_tree_pairs(cwd, renamed, pathspecs(), env, renames=True),
        False: diff_tree_pairs(cwd, plain, pathspecs(), env),
    }
    readers = [source.open(records) for source in sources]
    rows = [reader.list_rows() for reader in readers]
    wanted = [blob for reader, some in zip(readers, rows, strict=True) for row in some for blob in reader.blobs(row)]
    contents = read_contents(cwd, wanted, env)
    lacking = CheckpointError("what its parents have in common is not in this clone", UNSHALLOW)
    return [
        lacking if cut and not reader.bases else reader.fill_all(some, contents)
        for reader, some in zip(readers, rows, strict=True)
    ]


def read_touched_each(cwd: str, merges: Sequence[Commit], env: Env = None) -> Iterator[Touched | str]:
    """What each merge touched, as many at a time as memory should hold; a sentence where nothing is known of one."""
    missing = find_missing(cwd, sorted({parent for merge in merges for parent in merge.parents}), env)
    touched = _read_in_parts(cwd, [merge for merge in merges if not missing & set(merge.parents)], env)
    for merge in merges:
        parent = next((parent for parent in merge.parents if parent in missing), "")
        found = f"{parent[:12]} is not in this clone; {UNSHALLOW}" if parent else next(touched)
        yield f"{found.message}; {found.hint}" if isinstance(found, CheckpointError) else found


def _read_in_parts(cwd: str, merges: Sequence[Commit], env: Env) -> Iterator[Touched | CheckpointError]:
    based: Sequence[tuple[Base, ...]] | None = None
    with suppress(CheckpointError):
        based = read_all_bases(cwd, [merge.parents for merge in merges], env)
    for at in range(0, len(merges), AT_ONCE):
        some = merges[at : at + AT_ONCE]
        try:
            yield from read_touched_all(cwd, some, env, None if based is None else based[at : at + AT_ONCE])
        except CheckpointError:  # where one is damaged, it alone is an error
            for merge in some:
                try:
                    yield read_touched(cwd, merge, env)
                except CheckpointError as error:
                    yield error


Changes = dict[bool, dict[tuple[str, str], list[Change]]]  # with renames or not -> two trees -> how they differ


class _Tree(NamedTuple):
    """How a tree differs from the reference: path -> blob ("" for none), and old path -> new path of renames."""

    blobs: dict[str, str]
    renames: dict[str, str]


def _make_tree(changes: list[Change], known: dict[str, str]) -> _Tree:
    # known: path -> blob in the reference, as far as the trees differ from it; filled here
    tree = _Tree({}, {})
    for change in changes:
        old_path = change.came_from or change.path
        known.setdefault(old_path, _blob_of(change.old))
        if change.came_from:
            known.setdefault(change.path, "")
            tree.blobs[old_path] = ""
            tree.renames[old_path] = change.path
        tree.blobs[change.path] = _blob_of(change.after)
    for path in [path for path in tree.blobs if not is_merged(path)]:
        del tree.blobs[path]
    return tree


def _blob_of(entry: Entry | None) -> str:
    return entry.blob if entry is not None and entry.is_file else ""


class _Source(NamedTuple):
    """The trees of one merge, by their ids. others: of its merge bases, by the bases' ids."""

    reference: str
    parents: tuple[str, ...]
    result: str
    others: dict[str, str]
    bases: tuple[Base, ...]

    def plain(self) -> list[str]:
        return [self.result, *self.others.values()]

    def open(self, records: Changes) -> "_Reader":
        known: dict[str, str] = {}
        parents = [_make_tree(records[True][self.reference, tree], known) for tree in self.parents]
        result, *others = (_make_tree(records[False][self.reference, tree], known) for tree in self.plain())
        return _Reader(parents, result, dict(zip(self.others, others, strict=True)), known, self.bases)


def _find_sources(cwd: str, merges: Sequence[Commit], based: Sequence[tuple[Base, ...]], env: Env) -> list[_Source]:
    ids = {one for merge, bases in zip(merges, based, strict=True) for one in (*merge.parents, *list_ids(bases))}
    trees = _read_trees(cwd, sorted(ids | {merge.id for merge in merges if not merge.tree}), env)
    empty = "" if all(based) else run_git(["hash-object", "-t", "tree", "--stdin"], cwd, env=env).out.decode().strip()
    return [
        _Source(
            trees[bases[0].id] if bases else empty,
            tuple(trees[parent] for parent in merge.parents),
            merge.tree or trees[merge.id],
            {one: trees[one] for one in sorted({*list_ids(bases)})},
            bases,
        )
        for merge, bases in zip(merges, based, strict=True)
    ]


def _read_trees(cwd: str, ids: Sequence[str], env: Env) -> dict[str, str]:
    headers = read_headers(cwd, [f"{one}^{{tree}}" for one in ids], env)
    trees = {one: header.id for one, header in zip(ids, headers, strict=True)}
    missing = next((one for one, tree in trees.items() if not tree), "")
    if missing:
        raise CheckpointError(f"commit {missing[:12]} is not in this repository", UNSHALLOW)
    return trees


class _Row(NamedTuple):
    """One file: its path, that in the reference, the blob of every parent and of the merge; changed: which parents."""

    path: str
    old_path: str
    parents: tuple[str, ...]
    result: str
    changed: tuple[int, ...]


class _Reader(NamedTuple):
    """The trees of one merge, all as differences from the same reference."""

    parents: list[_Tree]
    result: _Tree
    others: dict[str, _Tree]
    known: dict[str, str]
    bases: tuple[Base, ...]

    def list_rows(self) -> list[_Row]:
        """One row a file; a file renamed by a parent is one file."""
        renames: dict[str, str] = {}
        for tree in self.parents:
            renames.update(tree.renames)
        paths = {path for tree in (*self.parents, self.result) for path in tree.blobs} - set(renames.values())
        return [self._row(path, renames.get(path, "")) for path in sorted(paths)]

    def blob_in(self, tree: _Tree, path: str) -> str:
        return tree.blobs.get(path, self.known.get(path, ""))

    def blobs(self, row: _Row) -> list[str]:
        """Every object to be read for a row."""
        below = [self.blob_in(self.others[one], row.old_path) for one in list_ids(self.bases)]
        return [blob for blob in (*row.parents, row.result, *below) if blob]

    def fill_all(self, rows: list[_Row], contents: dict[str, bytes]) -> Touched:
        files = [self.fill(row, contents) for row in rows if len(row.changed) <= 2]
        crowded = sorted(row.path for row in rows if len(row.changed) > 2)
        open_files = sorted((file for file in files if not _is_whole(file)), key=lambda file: file.path)
        return Touched(open_files, len(files) - len(open_files), crowded, [base.id for base in self.bases])

    def _row(self, old: str, new: str) -> _Row:
        def find(tree: _Tree) -> str:
            return (self.blob_in(tree, new) if new else "") or self.blob_in(tree, old)

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
                contents.get(self.blob_in(self.others[base.id], path)),
                self._ancestors(base.below, path, contents),
            )
            for base in bases
        )


def _is_whole(file: Versions) -> bool:
    # whether the merge took a file as the only parent that changed it has it, or as both have it
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
    contents: dict[str, bytes] = {}
    if not wanted:
        return contents
    with Blobs(cwd, env, MAX_BYTES) as reader:
        for blob, content in zip(wanted, reader.read_all(wanted), strict=True):
            if content is None:
                raise CheckpointError(f"git has no object {blob}", "the repository is damaged: git fsck")
            too_large = blob.encode().ljust(MAX_BYTES + 1, b"\0")
            contents[blob] = content if isinstance(content, bytes) else too_large
    return contents


def read_blobs_at(cwd: str, paths: Sequence[str], env: Env = None, commit: str = "HEAD") -> dict[str, str]:
    """The blobs that a commit or tree has at some paths; "" where it has no file."""
    found = read_tree(cwd, commit, env, paths) if paths else {}
    known = {path: entry.blob for path, entry in found.items() if entry.mode.startswith("100")}
    return {path: known.get(path, "") for path in paths}


def read_files_at(cwd: str, paths: Sequence[str], env: Env = None, commit: str = "HEAD") -> dict[str, bytes | None]:
    """What a commit or tree has at some paths, None where it has no file."""
    blobs = read_blobs_at(cwd, paths, env, commit)
    contents = read_contents(cwd, filter(None, blobs.values()), env)
    return {path: contents.get(blob) for path, blob in blobs.items()}
