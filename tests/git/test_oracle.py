"""Our reader of objects, refs and the index says what GitPython says, which reads them by itself.

GitPython cannot read SHA-256, a reftable, an index that is split or shortens names, or names in it
that are not UTF-8: there other commands of git are asked than our reader uses.
"""

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import git
import pytest

from checkpoint_git.git.history.steps import read_steps
from checkpoint_git.git.merges.merges import read_commits
from checkpoint_git.git.objects import (
    GITLINK,
    IndexEntry,
    TreeEntry,
    blob_id,
    diff_trees,
    find_commit,
    read_bounded,
    read_headers,
    read_index,
    read_tree,
)
from checkpoint_git.git.private_objects import read_refs
from tests.support.repos import GitRepo, needs_git

ODD_NAMES = (
    "päck age/b'\"\t\\x",
    "-dash",
    "sp ace ",
    "*glob[1]",
    "deep/er/and/deeper/still",
    ".hidden/.x",
    "ünïcode/日本",
)
NOT_UTF8 = os.fsdecode(b"caf\xe9/n\xff")


class Known(NamedTuple):
    """What a repository holds: files of HEAD, contents by blob, the index, refs -> commits, and the
    parents of each.
    """

    tree: dict[str, TreeEntry]
    contents: dict[str, bytes]
    staged: list[IndexEntry]
    refs: dict[str, str]
    parents: dict[str, tuple[str, ...]]


def read_ours(repo: GitRepo) -> Known:
    top = str(repo.path)
    env = dict(os.environ)
    tree = read_tree(top, "HEAD")
    blobs = [entry.blob for entry in tree.values() if entry.mode != GITLINK]
    contents = dict(zip(blobs, read_bounded(top, blobs), strict=True))

    refs = {}
    for name in read_refs(top, "refs/", env):
        refs[f"refs/{name}"] = find_commit(top, f"refs/{name}")
    ids = repo.git("rev-list", "--all").split()
    parents = {commit.id: tuple(commit.parents) for commit in read_commits(top, ids)}

    assert all(isinstance(data, bytes) for data in contents.values())
    texts = {blob: data for blob, data in contents.items() if isinstance(data, bytes)}
    return Known(tree, texts, sorted(read_index(top)), refs, parents)


def read_with_gitpython(repo: GitRepo) -> Known:
    opened = git.Repo(repo.path)
    tree, contents = dict[str, TreeEntry](), dict[str, bytes]()
    for path, item in _walk(opened.head.commit.tree):
        tree[path] = TreeEntry(f"{item.mode:06o}", item.hexsha)
        if isinstance(item, git.Blob):
            contents[item.hexsha] = item.data_stream.read()

    index = []
    for (name, stage), entry in opened.index.entries.items():
        index.append(IndexEntry(os.fspath(name), f"{entry.mode:06o}", entry.hexsha, int(stage)))
    refs = {ref.path: ref.commit.hexsha for ref in git.Reference.iter_items(opened)}
    parents = {}
    for commit in opened.iter_commits("--all"):
        parents[commit.hexsha] = tuple(parent.hexsha for parent in commit.parents)
    return Known(tree, contents, sorted(index), refs, parents)


def _walk(tree: git.Tree) -> Iterator[tuple[str, git.Blob | git.Submodule]]:
    for item in tree:
        if isinstance(item, git.Tree):
            yield from _walk(item)
        else:
            assert isinstance(item, git.Blob | git.Submodule)
            yield os.fspath(item.path), item


def read_with_git(repo: GitRepo) -> Known:
    """Read with archive, diff-index, show-ref and rev-list, which our reader does not use."""
    algorithm = repo.git("rev-parse", "--show-object-format")
    index = [entry for entry in _read_diff_index(repo) if entry.mode.strip("0")]
    tree = {entry.path: TreeEntry(entry.mode, entry.blob) for entry in index}
    contents = {}
    with tarfile.open(fileobj=io.BytesIO(repo.run("git", "archive", "HEAD").stdout)) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isreg() else None
            if member.isdir():
                continue
            data = stream.read() if stream else os.fsencode(member.linkname)
            contents[blob_id(data, "0" * (64 if algorithm == "sha256" else 40))] = data

    refs = {}
    for line in repo.git("show-ref", "-d").split("\n"):
        name, _, ref = line.partition(" ")
        refs[ref.removesuffix("^{}")] = name  # of a tag, its commit comes after the tag
    lines = [line.split() for line in repo.git("rev-list", "--parents", "--all").split("\n")]
    return Known(tree, contents, sorted(index), refs, {line[0]: tuple(line[1:]) for line in lines})


def _read_diff_index(repo: GitRepo) -> Iterator[IndexEntry]:
    empty = repo.git("hash-object", "-t", "tree", "--stdin")
    words = ["diff-index", "--cached", "--raw", "--no-abbrev", "-z", empty]
    fields = iter(repo.run("git", *words).stdout.split(b"\0"))
    for facts in fields:
        if facts:
            _, mode, _, blob, _ = facts.decode().split()
            yield IndexEntry(os.fsdecode(next(fields)), mode, blob, 0)


def fill(repo: GitRepo, *names: str) -> None:
    """Make what is odd: names, a link, a program, a submodule, large contents that become deltas,
    tags, a merge.
    """
    for name in (*ODD_NAMES, *names):
        repo.write(name, f"{name!a}\n")
    repo.write("empty", b"")
    repo.write("binary", bytes(range(256)) * 9)
    repo.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    (repo.path / "link").symlink_to("deep/er")
    (repo.path / "dangling").symlink_to("näwhere")
    lines = [f"line {number} of a text that is long enough\n" for number in range(3_000)]
    for number in range(4):
        lines[number * 100] = f"changed in {number}\n"
        repo.write("large", "".join(lines))
        repo.write("noted", f"{number}\n")
        repo.commit(f"change {number}\n\nwith a body: ü")

    repo.git("tag", "light")
    repo.git("tag", "-a", "heavy", "-m", "a tag")
    repo.git("tag", "-a", "of-a-tag", "-m", "a tag of a tag", "heavy")
    repo.git("checkout", "-q", "-b", "team/side", "HEAD~2")
    repo.write("side", "1\n")
    repo.commit("aside")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "team/side")
    repo.git("update-ref", "refs/checkpoint/own", "HEAD~1")
    repo.git(
        "update-index",
        "--add",
        "--cacheinfo",
        f"{GITLINK},{repo.git('rev-parse', 'light')},library",
    )
    repo.git("commit", "-q", "-m", "a submodule")


@pytest.fixture
def filled(repo: GitRepo) -> GitRepo:
    fill(repo)
    return repo


def test_loose_and_packed_repositories(filled: GitRepo) -> None:
    loose = read_ours(filled)
    assert loose == read_with_gitpython(filled) == read_with_git(filled)
    assert {entry.mode for entry in loose.tree.values()} == {"100644", "100755", "120000", GITLINK}
    assert loose.tree.keys() >= set(ODD_NAMES)
    assert max(map(len, loose.parents.values())) == 2
    assert loose.refs["refs/tags/of-a-tag"] == loose.refs["refs/tags/light"]

    filled.git("repack", "-adfq", "--depth=50")
    filled.git("pack-refs", "--all")
    pack = next(filled.path.glob(".git/objects/pack/*.idx"))
    assert "chain length = " in filled.git("verify-pack", "-v", str(pack))
    assert not list(filled.path.glob(".git/objects/[0-9a-f][0-9a-f]"))
    assert read_ours(filled) == read_with_gitpython(filled) == loose

    # and again where a part is loose, and another repository holds the rest
    filled.git("clone", "-q", "--shared", ".", "../borrower")
    borrower = GitRepo(filled.path.parent / "borrower")
    borrower.write("new", "only here\n")
    borrower.commit("new")
    assert read_ours(borrower) == read_with_gitpython(borrower)
    assert read_ours(borrower).contents.items() > loose.contents.items()


def test_an_index_with_conflicts_and_one_with_names_shortened(filled: GitRepo) -> None:
    filled.git("checkout", "-q", "-b", "theirs", "HEAD~1")
    filled.write("noted", "theirs\n")
    filled.git("rm", "-q", "--cached", "large")
    filled.git("commit", "-q", "-am", "theirs")
    filled.git("checkout", "-qf", "main")
    filled.write("noted", "ours\n")
    filled.write("large", "ours\n")
    filled.git("commit", "-q", "-m", "ours", "noted", "large")
    filled.git("merge", "-q", "theirs", check=False)
    ours = read_ours(filled)
    assert {(entry.path, entry.stage) for entry in ours.staged if entry.stage} == {
        *(("noted", stage) for stage in (1, 2, 3)),
        *(("large", stage) for stage in (1, 2)),
    }
    assert ours == read_with_gitpython(filled)

    filled.git("reset", "-q", "--hard")
    filled.git("update-index", "--index-version", "4")
    assert read_ours(filled) == read_with_git(filled)
    filled.git("update-index", "--index-version", "2", "--split-index")
    filled.write("staged", "1\n")
    filled.git("add", "staged")
    filled.git("commit", "-q", "-m", "staged")
    assert read_ours(filled) == read_with_git(filled)


def test_changes_and_history(filled: GitRepo) -> None:
    opened = git.Repo(filled.path)
    top = str(filled.path)
    filled.git("mv", "noted", "renamed")
    (filled.path / "run.sh").chmod(0o644)
    filled.git("commit", "-q", "-am", "move")
    for commit in opened.iter_commits("main", first_parent=True):
        for parent in commit.parents:
            theirs = {}
            for diff in parent.diff(commit, no_renames=True):
                before = (
                    TreeEntry(f"{diff.a_mode:06o}", str(diff.a_blob and diff.a_blob.hexsha))
                    if diff.a_mode
                    else None
                )
                after = (
                    TreeEntry(f"{diff.b_mode:06o}", str(diff.b_blob and diff.b_blob.hexsha))
                    if diff.b_mode
                    else None
                )
                theirs[diff.b_path or diff.a_path] = (before, after)
            ours = diff_trees(top, parent.hexsha, commit.hexsha)
            assert {change.path: (change.old, change.after) for change in ours} == theirs

    followed = {
        commit.hexsha: commit.committed_date
        for commit in opened.iter_commits("main", paths="large")
    }
    steps = {step.commit.id: step.commit.at for step in read_steps(top, [":(top,literal)large"])}
    assert steps == followed
    headers = read_headers(top, ["HEAD", "heavy", "HEAD:large", "HEAD^{tree}"])
    objects = [
        opened.head.commit,
        opened.tag("heavy").tag,
        opened.head.commit.tree / "large",
        opened.head.commit.tree,
    ]
    assert [(header.id, header.kind, header.size) for header in headers] == [
        (item.hexsha, item.type, item.size) for item in objects if item is not None
    ]


@pytest.mark.parametrize(
    "options",
    [
        ["--object-format=sha256"],
        pytest.param(["--ref-format=reftable"], marks=needs_git(2, 45, feature="reftable")),
        pytest.param(
            ["--ref-format=reftable", "--object-format=sha256"],
            marks=needs_git(2, 45, feature="reftable"),
        ),
    ],
)
def test_formats_that_git_alone_reads(options: list[str], tmp_path: Path) -> None:
    repo = GitRepo.create(tmp_path / "repo", *options)
    fill(repo, NOT_UTF8)
    loose = read_ours(repo)
    assert loose == read_with_git(repo)
    assert loose.tree.keys() >= {NOT_UTF8, *ODD_NAMES}
    repo.git("repack", "-adfq")
    repo.git("pack-refs", "--all")
    assert read_ours(repo) == loose
