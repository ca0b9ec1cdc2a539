"""Pipeline records that a repository tracks: checked like checkpoints, added and nothing else."""

from pathlib import Path

import pytest

from tests.hooks.conftest import build_guarded
from tests.hooks.test_commit import commit
from tests.support.records import RUN, TICKET, put_record, put_text
from tests.support.repos import GitRepo, copy_built

FIRST = f"records/{TICKET}/{RUN}/phase_1_implement_a1.yaml"


@pytest.fixture
def recorded(repo: GitRepo) -> GitRepo:
    """A repository with hooks, and one record committed."""
    copy_built(_build_recorded, repo.path)
    return repo


def _build_recorded(folder: Path) -> None:
    build_guarded(folder)
    repo = GitRepo(folder / "0")
    put_record(repo.path / "records")
    repo.commit(hooks=False)


def test_a_new_record_passes(recorded: GitRepo) -> None:
    put_record(recorded.path / "records", attempt=2)
    recorded.git("add", "-A")
    assert commit(recorded).returncode == 0


def test_a_broken_record_is_blocked_with_its_line(recorded: GitRepo) -> None:
    put_text(recorded.path / "records", "phase_1_implement_a2.yaml", "schema_version: 1\n\ta: b\n")
    recorded.git("add", "-A")
    done = commit(recorded)
    assert done.returncode == 1
    assert "phase_1_implement_a2.yaml:2" in done.stderr.decode()


@pytest.mark.parametrize("change", ["changed", "removed"])
def test_a_committed_record_is_neither_changed_nor_removed(recorded: GitRepo, change: str) -> None:
    if change == "changed":
        put_record(recorded.path / "records", artifact_paths=["other"])
    else:
        (recorded.path / FIRST).unlink()
    recorded.git("add", "-A")
    done = commit(recorded)
    assert done.returncode == 1
    assert "pipeline/append-only" in done.stderr.decode()
    assert FIRST in done.stderr.decode()


def test_a_record_that_is_moved_is_taken_away(recorded: GitRepo) -> None:
    recorded.git("mv", "records", "elsewhere")
    assert commit(recorded).returncode == 1


def test_a_file_that_is_only_named_like_a_record_may_come_and_go(recorded: GitRepo) -> None:
    recorded.write("docs/phase_1_alpha.yaml", "a: [")
    (recorded.path / "docs/phase_1_implement_a1.yaml").symlink_to("/etc/hosts")
    recorded.git("add", "-A")
    assert commit(recorded).returncode == 0
    recorded.git("rm", "-q", "docs/phase_1_alpha.yaml")
    assert commit(recorded).returncode == 0


def test_records_of_both_sides_come_together_in_a_merge(recorded: GitRepo) -> None:
    base = recorded.path / "records"
    recorded.git("checkout", "-q", "-b", "other")
    put_record(base, "local_review")
    recorded.commit(hooks=False)
    recorded.git("checkout", "-q", "main")
    put_record(base, attempt=2)
    recorded.commit(hooks=False)
    assert recorded.exit_code("merge", "-q", "-m", "merge", "other") == 0
    assert len(list((base / TICKET / RUN).iterdir())) == 3


def test_two_different_records_of_one_name_are_a_conflict(recorded: GitRepo) -> None:
    base = recorded.path / "records"
    recorded.git("checkout", "-q", "-b", "other")
    put_record(base, attempt=2, artifact_paths=["theirs"])
    recorded.commit(hooks=False)
    recorded.git("checkout", "-q", "main")
    put_record(base, attempt=2, artifact_paths=["ours"])
    recorded.commit(hooks=False)
    assert recorded.exit_code("merge", "-q", "-m", "merge", "other") != 0
    recorded.git("add", "-A")
    assert "yaml/conflict-markers" in commit(recorded).stderr.decode()


@pytest.mark.parametrize("branch", ["main", "other"])
def test_a_push_that_would_take_a_record_away_is_refused(
    recorded: GitRepo, tmp_path: Path, branch: str
) -> None:
    recorded.git("init", "-q", "--bare", str(tmp_path / "origin.git"))
    recorded.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    recorded.git("push", "-q", "origin", "main")
    recorded.git("checkout", "-q", "-B", branch)
    recorded.git("rm", "-q", FIRST)
    recorded.commit(hooks=False)
    done = recorded.run("git", "push", "-q", "origin", branch)
    assert done.returncode != 0
    assert "pipeline/append-only" in done.stderr.decode()
    recorded.git("revert", "--no-edit", "HEAD")
    assert recorded.exit_code("push", "-q", "origin", branch) == 0


def merge_of_two_records(recorded: GitRepo) -> tuple[str, str]:
    """A merge in which both sides wrote attempt 2: theirs keeps the name, ours is attempt 3. The
    two records.
    """
    base = recorded.path / "records"
    recorded.git("checkout", "-q", "-b", "other")
    put_record(base, attempt=2, artifact_paths=["theirs"])
    recorded.commit(hooks=False)
    recorded.git("checkout", "-q", "main")
    put_record(base, attempt=2, artifact_paths=["ours"])
    recorded.commit(hooks=False)
    assert recorded.exit_code("merge", "-q", "other") == 1
    second, third = (FIRST.replace("_a1", f"_a{number}") for number in (2, 3))
    recorded.git("checkout", "--theirs", second)
    put_record(base, attempt=3, artifact_paths=["ours"])
    return second, third


def test_a_merge_takes_the_other_branchs_record_and_ours_becomes_another_attempt(
    recorded: GitRepo, tmp_path: Path
) -> None:
    for branch in ("main", "fresh"):
        recorded.git("init", "-q", "--bare", str(tmp_path / f"{branch}.git"))
        recorded.git("remote", "add", f"to-{branch}", str(tmp_path / f"{branch}.git"))
    merge_of_two_records(recorded)
    recorded.git("push", "-q", "to-main", "main")
    recorded.git("push", "-q", "to-fresh", "main:first", "other")
    recorded.git("add", "-A")
    done = commit(recorded)
    assert (done.returncode, done.stderr) == (0, b"")
    assert recorded.exit_code("push", "-q", "to-main", "main") == 0
    assert recorded.exit_code("push", "-q", "to-fresh", "main") == 0


def test_a_conflict_that_was_settled_as_ours_is_settled_for_the_other_branch(
    recorded: GitRepo,
) -> None:
    second, third = merge_of_two_records(recorded)
    recorded.git("checkout", "--ours", second)
    (recorded.path / third).unlink()
    recorded.git("add", "-A")
    assert commit(recorded).returncode == 0

    recorded.git("checkout", "-q", "other")
    recorded.write("README.md", "so that git has something to merge\n")
    recorded.commit()

    assert recorded.exit_code("merge", "-q", "-m", "merge", "main") == 0


@pytest.mark.parametrize("change", ["edited", "removed"])
def test_a_merge_changes_no_record_otherwise(recorded: GitRepo, change: str) -> None:
    second, _ = merge_of_two_records(recorded)
    if change == "edited":
        put_record(recorded.path / "records", attempt=2, artifact_paths=["both"])
    else:
        (recorded.path / second).unlink()
    recorded.git("add", "-A")
    done = commit(recorded)
    assert (done.returncode, b"pipeline/append-only" in done.stderr) == (1, True)


def test_what_one_branch_edited_is_a_change_when_it_is_merged_and_pushed(
    recorded: GitRepo, tmp_path: Path
) -> None:
    recorded.git("init", "-q", "--bare", str(tmp_path / "origin.git"))
    recorded.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    recorded.git("push", "-q", "origin", "main")
    recorded.git("checkout", "-q", "-b", "other")
    put_record(recorded.path / "records", artifact_paths=["edited"])
    recorded.commit(hooks=False)
    recorded.git("checkout", "-q", "main")
    recorded.git("merge", "-q", "--no-ff", "--no-verify", "other")
    assert recorded.exit_code("push", "-q", "origin", "main") == 1
