"""Two commits merged by git without index or work tree: the tree it makes, and the files that it
leaves unmerged.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from checkpoint_git.git import isolated_dir
from checkpoint_git.git.merges.bases import list_ids, read_base_ids, read_bases
from checkpoint_git.git.merges.merges import MergeCommit, read_commits
from checkpoint_git.git.objects import TreeEntry, diff_trees, read_tree
from checkpoint_git.git.run import (
    USAGE_ERROR,
    Env,
    check_git_version,
    fetching_env,
    git_error,
    run_git,
)
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.protocols.registry import is_merged

OURS, BASE, THEIRS = 0, 1, 2
_SIDE_OF_STAGE = {"1": BASE, "2": OURS, "3": THEIRS}
_CONFLICT = "CONFLICT ("


class Unsettled(NamedTuple):
    path: str
    # ours, base, theirs; None for nothing there
    sides: tuple[TreeEntry | None, TreeEntry | None, TreeEntry | None]
    # git's short words for why: "contents", "binary", "modify/delete"; may be empty
    kinds: tuple[str, ...]


class Note(NamedTuple):
    kind: str  # of a conflict, in git's words: "contents"
    paths: tuple[str, ...]
    text: str


class TreeMerge(NamedTuple):
    tree: str  # with conflict markers or one side's content at what is unsettled
    clean: bool
    unsettled: list[Unsettled]  # sorted by path
    notes: list[Note]  # every conflict, also those that concern no single path
    texts: frozenset[str]  # the paths whose content was merged line by line, or was tried to


# With attributes of ours, or (`Plain`) as a server merges them: line-based, whatever attributes,
# drivers and settings this clone has. It needs git 2.38 (`git merge-tree --write-tree`), judges
# nothing, and knows no checkpoint's content.
def merge_trees(sealed: isolated_dir.Sealed, ours: str, theirs: str) -> TreeMerge:
    """Merge two commits (full ids) as git does by the sealed directory's attributes.

    Renames are followed and several merge bases merged first, as `git merge` does. Raises
    CheckpointError if git cannot merge them: no common ancestor, objects that are missing, a git
    before 2.38.
    """
    isolated_dir.name_commits(sealed, {"ours": ours, "theirs": theirs})
    words = ["merge-tree", "--write-tree", "--messages", "-z", "ours", "theirs"]
    result = isolated_dir.run_sealed(sealed, words, answers=(0, 1, USAGE_ERROR))
    if result.code == USAGE_ERROR:
        check_git_version(sealed.cwd, (2, 38))
    if not result.out:  # git answers 1 also where it has not merged at all
        raise git_error(words, result, "a merge in memory")
    return parse_merge(result.out, clean=result.code == 0)


def parse_merge(out: bytes, *, clean: bool) -> TreeMerge:
    """Parse the output of `git merge-tree -z`, whose fields are ended by NULs.

    They are the tree; "MODE ID STAGE<tab>PATH" of each unmerged entry; an empty field; for each
    message the count of its paths, the paths, the kind and the sentence.
    """
    tree, *fields = os.fsdecode(out).split("\0")
    stages = fields[: fields.index("")]
    found: dict[str, list[TreeEntry | None]] = {}
    for field in stages:
        facts, _, path = field.partition("\t")
        mode, blob, stage = facts.split()
        found.setdefault(path, [None, None, None])[_SIDE_OF_STAGE[stage]] = TreeEntry(mode, blob)

    notes = []
    texts = set[str]()
    messages = iter(fields[len(stages) + 1 :])
    for count in messages:
        if not count.isdigit():
            break  # what is behind the last NUL
        paths = tuple(islice(messages, int(count)))
        kind = next(messages)
        text = next(messages)
        if kind == "Auto-merging":
            texts.update(paths)
        elif kind.startswith(_CONFLICT):
            notes.append(Note(kind.removeprefix(_CONFLICT).removesuffix(")"), paths, text.strip()))

    unsettled = []
    for path, (ours, base, theirs) in sorted(found.items()):
        kinds = dict.fromkeys(note.kind for note in notes if path in note.paths)
        unsettled.append(Unsettled(path, (ours, base, theirs), tuple(kinds)))

    return TreeMerge(tree, clean, unsettled, notes, frozenset(texts))


def fetch_missing(cwd: str, sides: tuple[str, str], env: Env = None) -> None:
    """Make git get the files that a merge of two commits reads.

    In a partial clone they may be on the server only. They are got all at once for each merge base
    and side; of a criss-cross those of the bases below count too, which git merges first.
    """
    if env is None:
        env = os.environ
    env = fetching_env(env)
    words = ["diff", "--no-ext-diff", "--no-textconv", "-M", "--shortstat"]
    for base in dict.fromkeys(list_ids(read_bases(cwd, sides, env))):
        for side in sides:
            run_git([*words, base, side, "--"], cwd, env=env)


def write_blobs(sealed: isolated_dir.Sealed, contents: Sequence[bytes]) -> list[str]:
    if not contents:
        return []
    for number, data in enumerate(contents):
        with open(os.path.join(sealed.folder, f"blob-{number}"), "wb") as stream:
            stream.write(data)
    stdin = b"".join(b"../../blob-%d\n" % number for number in range(len(contents)))
    words = ["hash-object", "-w", "--no-filters", "--stdin-paths"]
    return isolated_dir.run_sealed(sealed, words, stdin).out.decode().split()


def write_tree(
    sealed: isolated_dir.Sealed, tree: str, changes: Mapping[str, TreeEntry | None]
) -> str:
    """Write a tree with some paths changed; return its id. None takes a path away."""
    if not changes:
        return tree
    isolated_dir.run_sealed(sealed, ["read-tree", tree])
    nothing = TreeEntry("0", "0" * len(tree))
    entries = ((path, entry or nothing) for path, entry in changes.items())
    lines = "".join(f"{entry.mode} {entry.blob} 0\t{path}\0" for path, entry in entries)
    isolated_dir.run_sealed(sealed, ["update-index", "-z", "--index-info"], os.fsencode(lines))
    return isolated_dir.run_sealed(sealed, ["write-tree", "--missing-ok"]).out.decode().strip()


def read_versions(
    sealed: isolated_dir.Sealed, tree: str, paths: Sequence[str]
) -> dict[str, TreeEntry]:
    """Return the files of a tree at some paths."""
    if not paths:
        return {}
    found = read_tree(sealed.cwd, tree, sealed.env, paths)
    return {path: entry for path, entry in found.items() if entry.is_file}


class RenameLoss(NamedTuple):
    path: str
    mover: str  # "ours" or "theirs"
    target: str  # "" if that is not known


def read_rename_losses(
    sealed: isolated_dir.Sealed, bases: Sequence[str], tree: str
) -> list[RenameLoss]:
    """Return the checkpoints that a merge of "ours" and "theirs" dropped by following a rename.

    tree: what the merge made. bases: the merge bases, full ids. What was moved to another place
    that a checkpoint may have is not among them.
    """
    found = []
    for mover, other in (("ours", "theirs"), ("theirs", "ours")):
        changes = diff_trees(sealed.cwd, other, tree, pathspecs(), sealed.env)
        dropped = []
        for change in changes:
            if change.after is None and is_merged(change.path):
                dropped.append(change.path)
        now = read_versions(sealed, other, dropped)
        before = [read_versions(sealed, base, dropped) for base in bases]
        lost = [
            path
            for path in dropped
            if any(path in versions for versions in before)
            and all(versions.get(path) != now.get(path) for versions in before)
        ]
        if not lost:
            continue
        renames = diff_trees(sealed.cwd, bases[0], mover, (), sealed.env, renames=True)
        targets = {rename.came_from: rename.path for rename in renames if rename.came_from}
        losses = (RenameLoss(path, mover, targets.get(path, "")) for path in lost)
        found += [loss for loss in losses if not is_merged(loss.target)]

    return found


class Plain(NamedTuple):
    sealed: isolated_dir.Sealed
    cwd: str  # the repository
    env: Env  # in which git there reads what was made here too
    aside: Env  # in which git there also writes here, so that the repository gets no object


@contextmanager
def open_plain(cwd: str, env: Env = None) -> Iterator[Plain]:
    """Open, for a `with` block, a sealed directory whose new objects do not reach the repository.

    env: of the repository. Raises CheckpointError outside a repository.
    """
    user_env: Mapping[str, str] = os.environ
    if env is not None:
        user_env = env
    others = isolated_dir.OTHER_OBJECTS
    with isolated_dir.open_sealed(cwd, env=env) as sealed:
        objects = os.path.join(sealed.env["GIT_DIR"], "objects")
        repository = isolated_dir.list_folders(
            sealed.env[isolated_dir.OBJECTS], sealed.env.get(others)
        )
        apart = {isolated_dir.OBJECTS: objects, others: repository}
        beside = {others: isolated_dir.list_folders(objects, user_env.get(others))}
        yield Plain(
            sealed=sealed._replace(env={**sealed.env, **apart}),
            cwd=cwd,
            env={**user_env, **beside},
            aside={**user_env, **apart},
        )


def merge_by_lines(plain: Plain, first: str, second: str) -> TreeMerge:
    if plain.sealed.partial:
        fetch_missing(plain.cwd, (first, second), plain.env)
    return merge_trees(plain.sealed, first, second)


def find_stopped(merged: TreeMerge) -> dict[str, tuple[str, ...]]:
    """Return the checkpoints at which a merge stopped, with git's words for why."""
    stopped = {}
    for file in merged.unsettled:
        if is_merged(file.path):
            stopped[file.path] = file.kinds
    for note in merged.notes:
        for path in note.paths:
            if is_merged(path):
                stopped.setdefault(path, (note.kind,))
    return stopped


# Only what is seen on other files than checkpoints counts: one side's checkpoints alone may have
# been thrown away by whoever had to resolve them.
def is_dropped(cwd: str, commit: MergeCommit, env: Env = None) -> bool:
    """Return whether a merge of two took nothing at all of one of them, as `git merge -s ours`
    does.
    """
    trees = [parent.tree for parent in read_commits(cwd, commit.parents, env)]
    if len(trees) != 2 or trees[0] == trees[1] or commit.tree not in trees:
        return False
    if commit.tree == trees[1]:
        other = commit.parents[0]
    else:
        other = commit.parents[1]
    bases = read_base_ids(cwd, commit.parents, env)
    if not bases:
        return False
    changed = {change.path for change in diff_trees(cwd, bases[0], other, (), env)}
    missing = {change.path for change in diff_trees(cwd, commit.tree, other, (), env)}
    return any(not is_merged(path) for path in changed & missing)
