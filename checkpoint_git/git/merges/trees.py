"""Two commits merged by git without index or work tree: the tree it makes, and the files that it leaves unsettled.

It needs git 2.38 (`git merge-tree --write-tree`), judges nothing, and knows no checkpoint's content.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.isolated_dir import Env, Sealed, name_commits, run_sealed
from checkpoint_git.git.run import git_error, run_git

FILE_MODES = ("100644", "100755")
OURS, BASE, THEIRS = 0, 1, 2
_SIDE_OF_STAGE = {"1": BASE, "2": OURS, "3": THEIRS}
_CONFLICT = "CONFLICT ("
_USAGE_ERROR = 129


class Version(NamedTuple):
    """A file as one side has it. mode: "100644". blob: the object's id."""

    mode: str
    blob: str

    @property
    def is_file(self) -> bool:
        """Whether it is a file with content: no symbolic link, no submodule."""
        return self.mode in FILE_MODES


class Unsettled(NamedTuple):
    """A path that git could not merge. sides: ours, base, theirs, each None where it has nothing there.

    kinds: git's short words for why, such as "contents", "binary", "modify/delete"; may be empty.
    """

    path: str
    sides: tuple[Version | None, Version | None, Version | None]
    kinds: tuple[str, ...]


class Note(NamedTuple):
    """A conflict in git's words. kind: as "contents". paths: those it is about."""

    kind: str
    paths: tuple[str, ...]
    text: str


class TreeMerge(NamedTuple):
    """What git made of two commits. tree: with conflict markers or one side's content at what is unsettled.

    unsettled: sorted by path. notes: every conflict, also those that concern no single path. texts: the paths whose
    content was merged line by line, or was tried to. clean: nothing is left to anybody.
    """

    tree: str
    clean: bool
    unsettled: list[Unsettled]
    notes: list[Note]
    texts: frozenset[str]


def merge_trees(sealed: Sealed, ours: str, theirs: str) -> TreeMerge:
    """The merge of two commits (full ids) as git makes it by the sealed directory's attributes.

    Renames are followed and several merge bases merged first, as `git merge` does. Raises CheckpointError where git
    cannot merge them: no common ancestor, objects that are missing, a git before 2.38.
    """
    name_commits(sealed, {"ours": ours, "theirs": theirs})
    words = ["merge-tree", "--write-tree", "--messages", "-z", "ours", "theirs"]
    result = run_sealed(sealed, words, answers=(0, 1, _USAGE_ERROR))
    if result.code == _USAGE_ERROR:
        raise CheckpointError("this git cannot merge without a work tree", "install git 2.39 or newer")
    if not result.out.partition(b"\0")[0]:  # git answers 1 also where it has not merged at all
        raise git_error(words, result, "a merge in memory")
    return parse_merge(result.out, clean=result.code == 0)


def parse_merge(out: bytes, *, clean: bool) -> TreeMerge:
    """The output of `git merge-tree --write-tree --messages -z`."""
    fields = os.fsdecode(out).split("\0")
    tree, at = fields[0], 1
    found: dict[str, list[Version | None]] = {}
    while at < len(fields) and fields[at]:
        facts, _, path = fields[at].partition("\t")
        mode, blob, stage = facts.split()
        found.setdefault(path, [None, None, None])[_SIDE_OF_STAGE[stage]] = Version(mode, blob)
        at += 1
    notes = _parse_notes(fields[at + 1 :])
    conflicts = [note for note in notes if note.kind]
    unsettled = [
        Unsettled(path, (sides[0], sides[1], sides[2]),
                  tuple(dict.fromkeys(note.kind for note in conflicts if path in note.paths)))
        for path, sides in sorted(found.items())
    ]  # fmt: skip
    texts = frozenset(path for note in notes if not note.kind for path in note.paths)
    return TreeMerge(tree, clean, unsettled, conflicts, texts)


def _parse_notes(fields: Sequence[str]) -> list[Note]:
    """Records of: how many paths, the paths, the kind, the sentence. kind is "" for what is no conflict."""
    notes, at = [], 0
    while at < len(fields) and fields[at].strip().isdigit():
        count = int(fields[at])
        paths = tuple(fields[at + 1 : at + 1 + count])
        kind, text = fields[at + 1 + count], fields[at + 2 + count]
        at += 3 + count
        if kind == "Auto-merging":
            notes.append(Note("", paths, text.strip()))
        elif kind.startswith(_CONFLICT):
            notes.append(Note(kind.removeprefix(_CONFLICT).removesuffix(")"), paths, text.strip()))
    return notes


def read_bases_of(cwd: str, ours: str, theirs: str, env: Env = None) -> list[str]:
    """The merge bases of two commits; several after a criss-cross, none for unrelated histories."""
    result = run_git(["merge-base", "--all", ours, theirs], cwd, env=env, check=False)
    return result.out.decode().split() if result.code == 0 else []


def fetch_missing(cwd: str, pairs: Sequence[tuple[str, str]], env: Env = None) -> None:
    """In a partial clone: makes git get the files that differ between commits, all at once for each pair."""
    for old, new in pairs:
        run_git(["diff", "--no-ext-diff", "--no-textconv", "-M", "--shortstat", old, new, "--"], cwd, env=env)


def merge_lines(sealed: Sealed, base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool] | None:
    """Git's line merge of three contents, and whether it is clean; None for what git calls binary."""
    paths = [os.path.join(sealed.folder, name) for name in ("ours", "base", "theirs")]
    for path, data in zip(paths, (ours, base, theirs), strict=True):
        with open(path, "wb") as stream:
            stream.write(data)
    words = ["merge-file", "-p", "-q", "-L", "ours", "-L", "base", "-L", "theirs", *paths]
    result = run_sealed(sealed, words, answers=range(256))
    return None if result.code > 127 else (result.out, result.code == 0)


def write_blobs(sealed: Sealed, contents: Sequence[bytes]) -> list[str]:
    """Contents as objects of the repository, their ids in order."""
    if not contents:
        return []
    for number, data in enumerate(contents):
        with open(os.path.join(sealed.folder, f"blob-{number}"), "wb") as stream:
            stream.write(data)
    stdin = b"".join(b"../../blob-%d\n" % number for number in range(len(contents)))
    return run_sealed(sealed, ["hash-object", "-w", "--no-filters", "--stdin-paths"], stdin).out.decode().split()


def write_tree(sealed: Sealed, tree: str, changes: Mapping[str, Version | None]) -> str:
    """The id of a tree that is as `tree` but for these paths; None takes a path away."""
    if not changes:
        return tree
    run_sealed(sealed, ["read-tree", tree])
    nothing = "0" * len(tree)
    lines = []
    for path, version in changes.items():
        mode, blob = ("0", nothing) if version is None else version
        lines.append(f"{mode} {blob} 0\t{path}\0")
    run_sealed(sealed, ["update-index", "-z", "--index-info"], os.fsencode("".join(lines)))
    return run_sealed(sealed, ["write-tree", "--missing-ok"]).out.decode().strip()


def read_tree_id(sealed: Sealed, commit: str) -> str:
    """The tree of a commit."""
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}"]
    return run_sealed(sealed, words).out.decode().split()[-1]


def read_versions(sealed: Sealed, tree: str, paths: Sequence[str]) -> dict[str, Version]:
    """The files that a commit or tree has at some paths."""
    if not paths:
        return {}
    words = ["--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", tree, "--", *paths]
    records = (record.partition("\t") for record in os.fsdecode(run_sealed(sealed, words).out).split("\0"))
    found = {path: facts.split() for facts, _, path in records if path}
    return {path: Version(mode, blob) for path, (mode, _, blob) in found.items() if mode in FILE_MODES}


def read_differences(sealed: Sealed, old: str, new: str) -> dict[str, Version | None]:
    """The paths that differ between two commits or trees, as the second has them; None where it has nothing."""
    words = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index"]
    trees = [read_tree_id(sealed, one) for one in (old, new)]
    fields = os.fsdecode(run_sealed(sealed, [*words, *trees]).out).split("\0")
    found: dict[str, Version | None] = {}
    for facts, path in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, blob, _ = facts.lstrip(":").split()
        found[path] = Version(mode, blob) if blob.strip("0") else None
    return found
