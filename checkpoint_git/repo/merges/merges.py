"""Merge commits as git holds them: their parents, merge bases, and every version of each checkpoint file they touched.

It judges nothing and merges nothing. It works in bare repositories too, and never opens the work tree.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.safetext import escape_controls
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.repo.git import run_git
from checkpoint_git.repo.past.history import is_shallow
from checkpoint_git.repo.staged import pathspecs, read_blobs, read_commit

_FILE_MODES = ("100644", "100755")
_DEEPEST = 8  # how far merge bases of merge bases are followed
_DIFF_TREE = ("diff-tree", "-r", "-z", "--raw", "--no-ext-diff", "--no-relative", "--full-index")
UNSHALLOW = "fetch the rest of the history: git fetch --unshallow"
Env = Mapping[str, str] | None  # git's surroundings; None for this process's own


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
    if not is_shallow(cwd):
        return []
    path = os.fsdecode(run_git(["rev-parse", "--path-format=absolute", "--git-path", "shallow"], cwd).out).rstrip("\n")
    with open(path, encoding="ascii") as stream:
        ends = set(stream.read().split())
    ids = run_git(["rev-list", "--end-of-options", revisions, "--"], cwd).out.decode().split()
    commits = read_commits(cwd, [commit for commit in ids if commit in ends])
    return [commit for commit in commits if len(commit.parents) > 1]


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


class _Tree(NamedTuple):
    """How a commit differs from the reference: path -> blob ("" for none), and old path -> new path of renames."""

    blobs: dict[str, str]
    renames: dict[str, str]


def read_touched(cwd: str, merge: Commit, env: Env = None) -> Touched:
    """Every version of the checkpoint files that a parent or the merge itself changed.

    A file beyond the size that a checkpoint may have is not read: NULs of that size stand for it.
    Raises CheckpointError where a shallow clone lacks what the parents have in common.
    """
    bases = read_bases(cwd, merge.parents, env)
    if not bases and is_shallow(cwd):
        raise CheckpointError("what its parents have in common is not in this clone", UNSHALLOW)
    reference = bases[0].id if bases else _empty_tree(cwd, env)
    known: dict[str, str] = {}  # path -> blob in the reference
    parents = [_read_tree(cwd, reference, parent, known, env, renames=True) for parent in merge.parents]
    result = _read_tree(cwd, reference, merge.id, known, env)
    others = {one: _read_tree(cwd, reference, one, known, env) for one in sorted({*_ids_of(bases)})}
    reader = _Reader(parents, result, others, known, bases)
    rows = reader.list_rows()
    contents = read_contents(cwd, [blob for row in rows for blob in row.blobs(others, known, bases)], env)
    files = [reader.fill(row, contents) for row in rows if len(row.changed) <= 2]
    crowded = sorted(row.path for row in rows if len(row.changed) > 2)
    telling = [file for file in files if not _is_whole(file)]
    ids = [base.id for base in bases]
    return Touched(sorted(telling, key=lambda file: file.path), len(files) - len(telling), crowded, ids)


class _Row(NamedTuple):
    """One file: its path, that in the reference, the blob of every parent and of the merge; changed: which parents."""

    path: str
    old_path: str
    parents: tuple[str, ...]
    result: str
    changed: tuple[int, ...]

    def blobs(self, others: dict[str, _Tree], known: dict[str, str], bases: tuple[Base, ...]) -> list[str]:
        """Every object to be read for it."""
        below = [_blob_in(others[one], known, self.old_path) for one in _ids_of(bases)]
        return [blob for blob in (*self.parents, self.result, *below) if blob]


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

    def _row(self, old: str, new: str) -> _Row:
        def find(tree: _Tree) -> str:
            return (_blob_in(tree, self.known, new) if new else "") or _blob_in(tree, self.known, old)

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
                contents.get(_blob_in(self.others[base.id], self.known, path)),
                self._ancestors(base.below, path, contents),
            )
            for base in bases
        )


def _blob_in(tree: _Tree, known: dict[str, str], path: str) -> str:
    return tree.blobs.get(path, known.get(path, ""))


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


def _empty_tree(cwd: str, env: Env) -> str:
    return run_git(["hash-object", "-t", "tree", "--stdin"], cwd, env=env).out.decode().strip()


def _read_tree(cwd: str, reference: str, commit: str, known: dict[str, str], env: Env, renames: bool = False) -> _Tree:
    words = [*_DIFF_TREE, "-M" if renames else "--no-renames", reference, commit, "--", *pathspecs()]
    fields = run_git(words, cwd, env=env).out.split(b"\0")
    tree = _Tree({}, {})
    at = 0
    while at + 1 < len(fields):
        old_mode, new_mode, old_blob, new_blob, status = fields[at].decode().lstrip(":").split()
        path = os.fsdecode(fields[at + 1])
        new_path = os.fsdecode(fields[at + 2]) if status[0] in "RC" else path
        at += 3 if status[0] in "RC" else 2
        known.setdefault(path, old_blob if old_mode in _FILE_MODES else "")
        if new_path != path:
            known.setdefault(new_path, "")
            tree.blobs[path] = ""
            tree.renames[path] = new_path
        tree.blobs[new_path] = new_blob if new_mode in _FILE_MODES else ""
    for path in [path for path in tree.blobs if not is_merged(path)]:
        del tree.blobs[path]
    return tree


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
