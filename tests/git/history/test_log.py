"""What git prints, in blocks of whole records."""

from pathlib import Path

from checkpoint_git.git.history.log import MAX_RECORD, read_blocks, read_boundary
from tests.support.repos import GitRepo


def write_blob(repo: GitRepo, data: bytes) -> list[str]:
    """The words after git that print the data."""
    blob = repo.run("git", "hash-object", "-w", "--stdin", stdin=data).stdout.decode().strip()
    return ["cat-file", "blob", blob]


def test_every_record_is_whole_in_its_block(repo: GitRepo) -> None:
    data = b"".join(b"record %d\0" % number for number in range(100_000))
    blocks = list(read_blocks(str(repo.path), write_blob(repo, data)))
    assert b"".join(blocks) == data
    assert len(blocks) > 1
    assert all(block.endswith(b"\0") for block in blocks)


def test_a_huge_record_is_cut_and_the_next_one_is_whole(repo: GitRepo) -> None:
    words = write_blob(repo, b"x" * (4 * MAX_RECORD) + b"\0next")
    cut, rest = b"".join(read_blocks(str(repo.path), words)).rstrip(b"\0").split(b"\0")
    assert rest == b"next"
    assert MAX_RECORD <= len(cut) < 2 * MAX_RECORD


def test_without_commits_there_is_nothing_to_read(repo: GitRepo) -> None:
    assert list(read_blocks(str(repo.path), ["log"])) == []


def test_only_a_shallow_clone_ends_somewhere(repo: GitRepo, tmp_path: Path) -> None:
    assert read_boundary(str(repo.path)) == frozenset()
    assert read_boundary(str(tmp_path)) == frozenset()
    commit = repo.commit("an end")
    repo.write(".git/shallow", f"{commit}\n")
    assert read_boundary(str(repo.path)) == {commit}
