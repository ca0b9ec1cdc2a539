"""post-merge and post-rewrite, run by git itself: they tell, and never stop anything."""

from pathlib import Path

from tests.hooks.conftest import BAD, PATH
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text


def _bad_side_branch(repo: GitRepo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.write(PATH, BAD)
    repo.commit("bad", hooks=False)
    repo.git("checkout", "-q", "main")


def test_a_fast_forward_to_an_invalid_checkpoint_is_told(guarded: GitRepo) -> None:
    _bad_side_branch(guarded)
    done = guarded.run("git", "merge", "-q", "side")
    assert done.returncode == 0
    assert f"{PATH}:10" in done.stderr.decode()


def test_a_merge_saves_to_the_memory_server_where_that_is_asked_for(guarded: GitRepo) -> None:
    log = guarded.path / ".git/checkpoint/memory-save.log"
    for number, is_wanted in enumerate((False, True)):
        guarded.git("checkout", "-q", "-b", f"side-{number}")
        guarded.write(f"a{number}.txt", "a\n")
        guarded.commit(hooks=False)
        guarded.git("checkout", "-q", "main")
        guarded.git("config", "checkpoint.memoryOnCommit", str(is_wanted).lower())
        guarded.git("merge", "-q", "--no-ff", "-m", "merge", f"side-{number}")
        # the save fails, since no server is configured: its log stays
        assert log.exists() == is_wanted


def test_a_squash_of_an_invalid_checkpoint_is_told(guarded: GitRepo) -> None:
    _bad_side_branch(guarded)
    done = guarded.run("git", "merge", "-q", "--squash", "side")
    assert f"{PATH}:10" in done.stderr.decode()


def test_a_rebase_over_an_invalid_checkpoint_is_told_once(guarded: GitRepo) -> None:
    _bad_side_branch(guarded)
    guarded.write("a.txt", "a\n")
    guarded.commit()
    guarded.git("checkout", "-q", "side")
    guarded.write("b.txt", "b\n")
    guarded.commit()
    done = guarded.run("git", "rebase", "-q", "main")
    assert done.returncode == 0
    assert done.stderr.decode().count(f"{PATH}:10") == 1


def test_an_amended_commit_is_told_once(guarded: GitRepo) -> None:
    guarded.write(PATH, BAD)
    done = guarded.run("git", "commit", "-qa", "--amend", "-m", "x", "--no-verify")
    assert done.returncode == 0
    assert done.stderr.decode().count(f"{PATH}:10") == 1


def test_a_merge_and_a_rebase_without_checkpoints_start_no_python(
    guarded: GitRepo, no_python: Path
) -> None:
    guarded.git("checkout", "-q", "-b", "side")
    guarded.write("a.txt", "a\n")
    guarded.commit()
    guarded.git("checkout", "-q", "main")
    guarded.write("b.txt", "b\n")
    guarded.commit()
    guarded.git("merge", "-q", "-m", "m", "side")
    guarded.git("checkout", "-q", "-b", "again", "HEAD~1")
    guarded.write("c.txt", "c\n")
    guarded.commit()
    guarded.git("rebase", "-q", "main")
    assert not no_python.exists()


def test_a_missing_interpreter_only_prints_a_hint(guarded: GitRepo) -> None:
    _bad_side_branch(guarded)
    guarded.git("config", "checkpoint.install.python", "/gone/python")
    done = guarded.run("git", "merge", "-q", "side", env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0
    assert b"checkpoint init" in done.stderr


def test_a_valid_merge_says_nothing(guarded: GitRepo) -> None:
    guarded.git("checkout", "-q", "-b", "side")
    guarded.write(PATH, checkpoint_text(step="sprint-3"))
    guarded.commit()
    guarded.git("checkout", "-q", "main")
    done = guarded.run("git", "merge", "-q", "side")
    assert (done.returncode, done.stderr) == (0, b"")
