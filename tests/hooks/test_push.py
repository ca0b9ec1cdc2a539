"""pre-push, run by git itself, over every ref of a push."""

import subprocess
from pathlib import Path

import pytest

from tests.hooks.conftest import BAD, GOOD, PATH, build_guarded
from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint_text


@pytest.fixture
def remote(guarded: GitRepo, tmp_path: Path) -> GitRepo:
    """A remote named origin that has main."""
    bare = tmp_path / "origin repo.git"
    copy_built(build_pushed, guarded.path, bare)
    return GitRepo(bare)


def build_pushed(folder: Path) -> None:
    """0: a repository with hooks; 1: its remote."""
    build_guarded(folder)
    repo, bare = GitRepo(folder / "0"), GitRepo.create(folder / "1", "--bare")
    repo.git("remote", "add", "origin", str(bare.path))
    repo.git("push", "-q", "origin", "main")


def push(repo: GitRepo, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Git push to origin, whatever it answers."""
    return repo.run("git", "push", "-q", "origin", *words)


def make_branch(repo: GitRepo, name: str, text: str, start: str = "main") -> None:
    """A branch whose tip holds a checkpoint of this text."""
    repo.git("checkout", "-q", "-b", name, start)
    repo.write(PATH, text)
    repo.commit(name, hooks=False)
    repo.git("checkout", "-q", "main")


def test_a_push_of_two_refs_whose_first_is_bad_is_blocked(
    guarded: GitRepo, remote: GitRepo
) -> None:
    make_branch(guarded, "a-bad", BAD)
    make_branch(guarded, "b-good", checkpoint_text(step="sprint-3"))
    done = push(guarded, "a-bad", "b-good")
    assert done.returncode == 1
    assert "refs/heads/a-bad" in done.stderr.decode()
    assert f"{PATH}:10" in done.stderr.decode()
    assert remote.git("branch", "--list", "*-*") == ""


def test_a_push_of_two_refs_whose_last_is_bad_is_blocked(guarded: GitRepo, remote: GitRepo) -> None:
    make_branch(guarded, "a-good", checkpoint_text(step="sprint-3"))
    make_branch(guarded, "b-bad", BAD)
    assert push(guarded, "a-good", "b-bad").returncode == 1


def test_a_new_branch_that_is_bad_is_blocked_and_a_good_one_passes(
    guarded: GitRepo, remote: GitRepo
) -> None:
    make_branch(guarded, "bad", BAD)
    make_branch(guarded, "good", checkpoint_text(step="sprint-3"))
    assert push(guarded, "bad").returncode == 1
    assert push(guarded, "good").returncode == 0


def test_a_bad_commit_that_a_later_one_mended_passes(guarded: GitRepo, remote: GitRepo) -> None:
    make_branch(guarded, "mended", BAD)
    guarded.git("checkout", "-q", "mended")
    guarded.write(PATH, GOOD)
    guarded.commit("mend", hooks=False)
    assert push(guarded, "mended").returncode == 0


def test_an_update_of_a_branch_is_compared_with_what_the_remote_has(
    guarded: GitRepo, remote: GitRepo
) -> None:
    guarded.write(PATH, BAD)
    guarded.commit("bad", hooks=False)
    assert push(guarded, "main").returncode == 1
    assert guarded.run("git", "push", "-q", "--no-verify", "origin", "main").returncode == 0
    guarded.write("a.txt", "a\n")
    guarded.commit()
    assert push(guarded, "main").returncode == 0


def test_a_deleted_ref_beside_a_bad_one_is_no_obstacle(guarded: GitRepo, remote: GitRepo) -> None:
    make_branch(guarded, "gone", checkpoint_text(step="sprint-3"))
    assert push(guarded, "gone").returncode == 0
    make_branch(guarded, "bad", BAD)
    assert push(guarded, ":gone", "bad").returncode == 1
    assert push(guarded, ":gone").returncode == 0


def test_a_remote_that_moved_on_unknown_to_us_does_not_stop_the_check(
    guarded: GitRepo, remote: GitRepo, tmp_path: Path
) -> None:
    guarded.git("clone", "-q", str(remote.path), str(tmp_path / "other"))
    other = GitRepo(tmp_path / "other")
    other.write("b.txt", "b\n")
    other.commit("unknown to us")
    other.git("push", "-q", "origin", "main")
    guarded.write(PATH, BAD)
    guarded.commit("bad", hooks=False)
    done = push(guarded, "--force", "main")
    assert done.returncode == 1
    assert f"{PATH}:10" in done.stderr.decode()


def test_a_forced_push_back_to_an_older_bad_commit_is_blocked(
    guarded: GitRepo, remote: GitRepo
) -> None:
    guarded.write(PATH, BAD)
    guarded.commit("bad", hooks=False)
    guarded.write(PATH, checkpoint_text(step="sprint-3"))
    guarded.commit("good", hooks=False)
    assert push(guarded, "main").returncode == 0
    assert push(guarded, "--force", "HEAD~1:main").returncode == 1


def test_a_first_push_to_an_address_checks_everything(guarded: GitRepo, tmp_path: Path) -> None:
    bare = GitRepo.create(tmp_path / "elsewhere", "--bare")
    make_branch(guarded, "bad", BAD)
    assert guarded.run("git", "push", "-q", str(bare.path), "main").returncode == 0
    assert guarded.run("git", "push", "-q", str(bare.path), "bad").returncode == 1


def test_tags_on_commits_are_checked_and_tags_on_files_are_not(
    guarded: GitRepo, remote: GitRepo
) -> None:
    make_branch(guarded, "bad", BAD)
    guarded.git("tag", "-a", "v1", "-m", "v1", "bad")
    guarded.git("tag", "file", "HEAD:.gitattributes")
    assert push(guarded, "file").returncode == 0
    assert push(guarded, "v1").returncode == 1


def test_a_push_that_touches_no_checkpoint_starts_no_python(
    guarded: GitRepo, remote: GitRepo, no_python: Path
) -> None:
    guarded.write("a.txt", "a\n")
    guarded.commit()
    guarded.git("branch", "new")
    assert push(guarded, "main", "new").returncode == 0
    assert push(guarded, "main").returncode == 0
    assert push(guarded, ":new").returncode == 0
    assert not no_python.exists()
    make_branch(guarded, "other", checkpoint_text(step="sprint-3"))
    push(guarded, "other")
    assert no_python.exists()


def test_another_tools_hook_still_reads_every_line_after_ours(
    guarded: GitRepo, remote: GitRepo
) -> None:
    hook = guarded.write(".git/hooks/pre-push.new", "")
    ours = guarded.read(".git/hooks/pre-push")
    hook.write_text(f'{ours}while read -r line; do echo "$1: $line" >> lines.txt; done\n')
    hook.chmod(0o755)
    hook.replace(guarded.path / ".git/hooks/pre-push")
    make_branch(guarded, "a", checkpoint_text(step="sprint-3"))
    make_branch(guarded, "b", checkpoint_text(step="sprint-4"))
    assert push(guarded, "a", "b").returncode == 0
    lines = guarded.read("lines.txt").splitlines()
    assert [line.split()[1] for line in lines] == ["refs/heads/a", "refs/heads/b"]
    assert push(guarded, "a", "b").returncode == 0
    assert guarded.read("lines.txt").splitlines() == lines


def ship(repo: GitRepo) -> None:
    """Main has a merged pull request that a checkpoint on a branch still asks for."""
    repo.commit("Add the notes API (#12)", hooks=False)
    make_branch(repo, "drifted", checkpoint_text(next_actions=["Merge #12"]))
    repo.git("checkout", "-q", "drifted")


def test_an_action_that_is_shipped_is_told_and_let_through(
    guarded: GitRepo, remote: GitRepo
) -> None:
    ship(guarded)
    done = push(guarded, "drifted")
    assert done.returncode == 0
    assert "drift/action-shipped" in done.stderr.decode()


def test_a_setting_makes_drift_stop_a_push(guarded: GitRepo, remote: GitRepo) -> None:
    guarded.git("config", "checkpoint.driftBlocks", "yes")
    ship(guarded)
    done = push(guarded, "drifted")
    assert done.returncode == 1
    assert "drift/action-shipped" in done.stderr.decode()
    assert remote.git("branch", "--list", "drifted") == ""
