"""Squash merges and reverts as messages and refs tell of them, in real repositories."""

from pathlib import Path

import pytest

from checkpoint_git.git.merges.squashes import read_pull_heads, read_reverts, read_squashes
from tests.support.repos import GitRepo, copy_built

PATH = ".checkpoints/build.checkpoint.json"


@pytest.fixture
def squashed(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """Main holds the work of pull request 12 as one commit; the request's head is here under the
    server's name.
    """
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@1772452800 +0000")
    copy_built(build_squashed, repo.path)
    return repo


def build_squashed(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    repo.write(PATH, "base\n")
    repo.commit("base")
    repo.git("checkout", "-q", "-b", "topic")
    repo.write(PATH, "topic\n")
    repo.git("update-ref", "refs/pull/12/head", repo.commit("work"))
    repo.git("checkout", "-q", "main")
    repo.write("readme", "on\n")
    repo.commit("on")
    repo.git("merge", "-q", "--squash", "topic")
    repo.commit("Do the work (#12)")


def find(repo: GitRepo) -> list[tuple[str, ...]]:
    head = repo.git("rev-parse", "HEAD")
    return [found.parents for found in read_squashes(str(repo.path), ["HEAD"], head)]


def sides(repo: GitRepo) -> tuple[str, ...]:
    return (repo.git("rev-parse", "main^"), repo.git("rev-parse", "topic"))


def test_the_subjects_number_leads_to_the_other_side(squashed: GitRepo) -> None:
    assert find(squashed) == [sides(squashed)]


def test_only_a_numbers_first_commit_is_the_squash(squashed: GitRepo) -> None:
    expected = sides(squashed)
    squashed.write(PATH, "later\n")
    squashed.commit("Follow up (#12)")
    assert find(squashed) == [expected]


@pytest.mark.parametrize(
    "name", ["refs/remotes/origin/pr/12", "refs/remotes/upstream/pull/12/head"]
)
def test_heads_are_found_where_people_fetch_them(name: str, squashed: GitRepo) -> None:
    squashed.git("update-ref", name, "topic")
    squashed.git("update-ref", "-d", "refs/pull/12/head")
    assert find(squashed) == [sides(squashed)]


def test_a_requests_number_in_the_last_line_counts_where_servers_write_it(
    squashed: GitRepo,
) -> None:
    squashed.git("update-ref", "refs/merge-requests/7/head", "topic")
    squashed.git(
        "commit", "-q", "--amend", "-m", "Do the work\n\nSee merge request group/project!7"
    )
    assert find(squashed) == [sides(squashed)]


def test_a_head_that_moved_on_is_no_other_side(
    squashed: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    squashed.git("checkout", "-q", "topic")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@1772452900 +0000")
    squashed.write(PATH, "more\n")
    squashed.git("update-ref", "refs/pull/12/head", squashed.commit("more"))
    squashed.git("checkout", "-q", "main")
    assert find(squashed) == []


def test_a_request_that_was_merged_with_its_history_is_no_squash(squashed: GitRepo) -> None:
    squashed.git("reset", "-q", "--hard", "HEAD^")
    squashed.git("merge", "-q", "--no-ff", "-m", "Merge pull request #12", "topic")
    squashed.write(PATH, "later\n")
    squashed.commit("Follow up (#12)")
    assert find(squashed) == []


def test_two_heads_under_one_number_are_none(squashed: GitRepo) -> None:
    squashed.git("update-ref", "refs/remotes/fork/pr/12", "main^")
    assert read_pull_heads(str(squashed.path)) == {}


def test_a_stranger_may_write_what_they_like_into_a_message(squashed: GitRepo) -> None:
    expected = sides(squashed)
    squashed.write(PATH, "x\n")
    squashed.commit("\x01 (#999999999999999999999)\n\nSee merge request " + "a" * 5_000 + "!3")
    squashed.write(PATH, "y\n")
    squashed.commit("-- (#0012)")
    assert find(squashed) == [expected]


def test_a_revert_is_known_by_the_id_it_names_and_by_the_last_word(squashed: GitRepo) -> None:
    def reverted() -> dict[str, str]:
        return read_reverts(str(squashed.path), [wrong], squashed.git("rev-parse", "HEAD"))

    wrong = squashed.git("rev-parse", "HEAD")
    assert reverted() == {}
    squashed.git("revert", "--no-edit", "HEAD")
    taken = squashed.git("rev-parse", "HEAD")
    assert reverted() == {wrong: taken}
    squashed.git("revert", "--no-edit", "HEAD")
    assert reverted() == {}


def test_of_several_squashes_the_newest_comes_first(squashed: GitRepo) -> None:
    expected = [sides(squashed)]
    for number in (13, 14):
        squashed.git("checkout", "-q", "-b", f"topic{number}", "main")
        squashed.write(PATH, f"topic {number}\n")
        head = squashed.commit("work")
        squashed.git("update-ref", f"refs/pull/{number}/head", head)
        squashed.git("checkout", "-q", "main")
        squashed.write(f"readme{number}", "on\n")
        before = squashed.commit("on")
        squashed.git("merge", "-q", "--squash", f"topic{number}")
        squashed.commit(f"Do more (#{number})")
        expected.append((before, head))
    assert find(squashed) == expected[::-1]
