"""Checkpoint files out of the index and out of commits, in the real git."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.git.objects import Change, TreeEntry
from checkpoint_git.git.pushed import Push, read_pushed
from checkpoint_git.git.staged import (
    Loss,
    find_losses,
    read_committed,
    read_losses,
    read_staged,
    read_staged_changes,
)
from tests.support.repos import GitRepo

A, B = ".checkpoints/a.checkpoint.json", "päck age/.checkpoints/b'\"\t.checkpoint.json"


def test_staged_content_is_read_and_not_the_work_tree(repo: GitRepo) -> None:
    repo.write(A, "staged\n")
    repo.write(B, b"\xff\x00raw")
    repo.write(".checkpoints/README.md", "no checkpoint")
    repo.write(".checkpoints/history/a.checkpoint.json", "past")
    repo.git("add", ".")
    repo.write(A, "work tree\n")
    assert list(read_staged(str(repo.path)).files) == [(A, b"staged\n"), (B, b"\xff\x00raw")]


def test_some_of_the_files_can_be_read_alone(repo: GitRepo) -> None:
    repo.write(A, "a\n")
    repo.write(B, "b\n")
    repo.git("add", ".")
    files = read_staged(str(repo.path)).files
    some = files.only({B, "none"})
    assert list(some) == [(B, b"b\n")]
    assert (len(files), len(some)) == (2, 1)


def test_a_subfolder_reads_the_whole_index(repo: GitRepo) -> None:
    repo.write(A, "staged\n")
    repo.write("src/x", "")
    repo.git("add", ".")
    assert list(read_staged(str(repo.path / "src")).files) == [(A, b"staged\n")]


def test_only_changes_against_head_are_read_when_asked(repo: GitRepo) -> None:
    repo.write(A, "1\n")
    repo.write(B, "1\n")
    assert list(read_staged_changes(str(repo.path)).files) == []
    repo.git("add", ".")
    assert [path for path, _ in read_staged_changes(str(repo.path)).files] == [A, B]
    repo.commit()
    repo.write(B, "2\n")
    repo.git("rm", "-q", "--cached", A)
    repo.git("add", B)
    assert list(read_staged_changes(str(repo.path)).files) == [(B, b"2\n")]
    repo.git("reset", "-q", "--hard")
    phase, execution = "memory/state/phase.json", "memory/state/execution.json"
    for path in (phase, execution):
        repo.write(path, "1\n")
    start = repo.commit()
    repo.write(phase, "2\n")
    repo.git("add", ".")
    # a workflow is checked as a whole
    assert [path for path, _ in read_staged_changes(str(repo.path)).files] == [execution, phase]
    repo.commit()
    assert list(read_staged_changes(str(repo.path)).files) == []
    assert len(read_staged_changes(str(repo.path), start).files) == 2


def test_unresolved_files_are_named(repo: GitRepo) -> None:
    repo.write(A, "1\n")
    repo.commit()
    repo.git("checkout", "-q", "-b", "side")
    repo.write(A, "2\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write(A, "3\n")
    repo.commit()
    assert repo.exit_code("merge", "side") == 1
    index = read_staged(str(repo.path))
    assert (list(index.files), index.unmerged) == ([], [A])


def test_links_are_apart(repo: GitRepo) -> None:
    repo.write(".checkpoints/x", "")
    (repo.path / A).symlink_to("x")
    repo.git("add", ".")
    index = read_staged(str(repo.path))
    assert (list(index.files), list(index.links)) == ([], [(A, b"x")])
    commit = repo.commit()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{A}")
    index = read_staged(str(repo.path))
    assert (list(index.files), list(index.links), index.unmerged) == ([], [], [])


def test_a_commit_is_read_by_any_name(repo: GitRepo) -> None:
    repo.write(A, "1\n")
    repo.write("src/main.py", "no checkpoint\n")
    first = repo.commit()
    repo.git("tag", "-a", "v1", "-m", "v1")
    repo.write(A, "2\n")
    repo.commit()
    for rev in (first, "v1", "HEAD~1"):
        assert list(read_committed(str(repo.path), rev).files) == [(A, b"1\n")]
    assert list(read_committed(str(repo.path), "HEAD", set()).files) == []
    assert list(read_committed(str(repo.path), "HEAD", {A, B}).files) == [(A, b"2\n")]


def test_of_a_push_only_what_the_remote_lacks_is_read(repo: GitRepo) -> None:
    repo.write(A, "1\n")
    repo.write(B, "1\n")
    first = repo.commit()
    repo.write(A, "2\n")
    second = repo.commit()
    assert list(read_pushed(str(repo.path), Push("", second, "", first), "").files) == [(A, b"2\n")]


def test_of_a_new_branch_everything_is_read_only_where_the_remote_is_unknown(repo: GitRepo) -> None:
    repo.write(A, "1\n")
    first = repo.commit()
    repo.write(B, "1\n")
    push = Push("", repo.commit(), "", "0" * 40)

    repo.git("update-ref", "refs/remotes/origin/main", first)
    assert list(read_pushed(str(repo.path), push, "origin").files) == [(B, b"1\n")]
    assert {path for path, _ in read_pushed(str(repo.path), push, "other").files} == {A, B}


@pytest.mark.parametrize("rev", ["nowhere", "--all", "", "HEAD^{tree}", "a b\x1b[0m"])
def test_an_unknown_revision_is_an_error(repo: GitRepo, rev: str) -> None:
    repo.commit()
    with pytest.raises(CheckpointError, match="names no commit") as caught:
        read_committed(str(repo.path), rev)
    assert "\x1b" not in caught.value.message


def test_large_and_many_contents_come_whole(repo: GitRepo) -> None:
    texts = [bytes([number % 256]) * 5000 + b"\n" for number in range(300)]
    for number, text in enumerate(texts):
        repo.write(f".checkpoints/s{number:03}.checkpoint.json", text)
    repo.git("add", ".")
    assert [data for _, data in read_staged(str(repo.path)).files] == texts


def test_a_sha256_repository_is_read(repo: GitRepo) -> None:
    other = GitRepo.create(repo.path / "inner", "--object-format=sha256")
    other.write(A, "1\n")
    other.commit()
    assert list(read_committed(str(other.path), "HEAD").files) == [(A, b"1\n")]


def test_what_is_larger_than_a_checkpoint_may_be_is_not_read(repo: GitRepo) -> None:
    repo.write(A, b" " * (MAX_BYTES + 1))
    repo.write(B, "1\n")
    repo.git("add", ".")
    (large, small) = read_staged(str(repo.path)).files
    assert isinstance(large[1], OSError)
    assert large[1].errno == errno.EFBIG
    assert str(MAX_BYTES + 1) in str(large[1])
    assert small == (B, b"1\n")


def test_a_loss_is_what_was_there_and_is_changed_or_removed() -> None:
    old, new = TreeEntry("100644", "1"), TreeEntry("100644", "2")
    changes = [
        Change("changed", (old,), new),
        Change("removed", (old,), None),
        Change("added", (None,), new),
        Change("changed", (new,), old),
    ]
    assert find_losses(changes) == [Loss("changed", "changed"), Loss("removed", "removed")]


def test_losses_are_looked_for_in_the_work_tree_or_the_index(repo: GitRepo) -> None:
    top = str(repo.path)
    for name in ("a.yaml", "b.yaml", "c.yaml", "d.txt", "sub/e.yaml"):
        repo.write(name, "1\n")
    repo.git("add", "a.yaml")
    assert read_losses(top, "*.yaml") == read_losses(top, "*.yaml", staged=True) == []

    repo.commit()
    assert read_losses(top, "*.yaml") == []
    repo.write("a.yaml", "2\n")
    repo.git("add", "a.yaml")
    for name in ("b.yaml", "d.txt", "sub/e.yaml"):
        repo.write(name, "2\n")
    (repo.path / "c.yaml").unlink()
    repo.write("new.yaml", "new\n")
    changed = Loss("a.yaml", "changed")
    assert read_losses(top, "*.yaml", staged=True) == [changed]
    assert read_losses(f"{top}/sub", "*.yaml") == [
        changed,
        Loss("b.yaml", "changed"),
        Loss("c.yaml", "removed"),
    ]


def test_a_merge_that_takes_the_other_branchs_file_over_loses_nothing_but_what_it_removes(
    repo: GitRepo,
) -> None:
    top = str(repo.path)
    base = {"a.yaml": "0\n", "b.yaml": "0\n", "c.yaml": "0\n"}
    repo.diverge(base, {"a.yaml": "1\n"}, {"a.yaml": "2\n", "b.yaml": "2\n"})
    theirs = repo.git("rev-parse", "right")
    repo.git("merge", "-q", "--no-commit", "right", check=False)
    repo.git("checkout", "-q", "--theirs", "a.yaml")
    repo.write("c.yaml", "edited\n")
    repo.git("add", ".")
    edited = [Loss("c.yaml", "changed")]
    assert read_losses(top, "*.yaml", staged=True) == edited
    assert read_losses(top, "*.yaml") == edited
    repo.write("b.yaml", "edited\n")
    (repo.path / "c.yaml").unlink()
    repo.git("add", ".")
    losses = [Loss("b.yaml", "changed"), Loss("c.yaml", "removed")]
    assert read_losses(top, "*.yaml", staged=True) == losses

    # pre-merge-commit runs before MERGE_HEAD is there, with the commits' names in its environment
    (repo.path / ".git/MERGE_HEAD").unlink()
    repo.git("tag", "MERGE_HEAD", "right")  # as anybody may push it
    others = [Loss("a.yaml", "changed"), *losses]
    assert read_losses(top, "*.yaml", staged=True) == others
    for name, found in ((theirs, losses), ("0" * 40, others), ("right", others)):
        env = {"HOME": "/", f"GITHEAD_{name}": "right"}
        assert read_losses(top, "*.yaml", staged=True, env=env) == found

    # several branches at once
    repo.write(".git/MERGE_HEAD", f"{repo.git('rev-parse', 'main')}\n{theirs}\n")
    assert read_losses(top, "*.yaml", staged=True) == losses


READERS = [
    ("hook post-commit", "diff --rev HEAD~1"),
    pytest.param(("validate --rev HEAD", "validate --staged"), marks=pytest.mark.deep),
]


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="it is Linux that tells how much memory was taken",
)
@pytest.mark.parametrize("calls", READERS)
def test_a_blob_of_any_size_takes_little_memory(repo: GitRepo, calls: tuple[str, ...]) -> None:
    repo.write(A, "{}")
    repo.commit()
    repo.write(A, b" " * (12 * MAX_BYTES))
    repo.commit()
    script = (
        "import sys; from checkpoint_git.cli.app import main; main(sys.argv[1:]); "
        "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
    )
    for words in calls:
        call = [sys.executable, "-c", script, *words.split()]
        done = subprocess.run(call, cwd=repo.path, capture_output=True, text=True, timeout=60)
        assert "json/too-large" in done.stdout or words.startswith("diff")
        assert int(done.stdout.split()[-1]) * 1024 < 40_000_000 + 4 * MAX_BYTES
