"""A git.Repo is taken wherever a path is, and git.Commit objects come back."""

import os
import subprocess
import sys
from pathlib import Path

import git
import pytest

from checkpoint_git import (
    CheckpointError,
    Checkpoints,
    MemoryCheckpoint,
    Pipeline,
    RestorePoints,
    Workflow,
)
from checkpoint_git.git.gitpython import find_folder, make_commits, open_repo
from tests.support.memory import MemoryTransport
from tests.support.records import PAYLOADS, SHORT_RUN, TICKET
from tests.support.repos import GitRepo, needs_git
from tests.support.samples import checkpoint_text
from tests.support.verbs import NOON, seconds

FILE = ".checkpoints/build.checkpoint.json"
NOW = seconds(NOON)


def test_a_repo_means_its_work_tree(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit()
    repo.git("worktree", "add", "-q", "../linked")
    assert find_folder(git.Repo(repo.path)) == str(repo.path)
    assert find_folder(git.Repo(repo.path.parent / "linked")) == str(repo.path.parent / "linked")
    bare = git.Repo.init(tmp_path / "bare", bare=True)
    assert find_folder(bare) == str(tmp_path / "bare")
    monkeypatch.chdir(repo.path)
    assert find_folder(".") == find_folder(Path()) == str(repo.path)
    with pytest.raises(TypeError, match=r"path or a git\.Repo"):
        find_folder(12)  # type: ignore[arg-type]


def test_a_folder_is_never_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHERE", str(tmp_path / "other"))
    GitRepo.create(tmp_path / "other")
    named = GitRepo.create(tmp_path / "$WHERE")
    assert open_repo(".", str(named.path)).working_tree_dir == str(named.path)


def test_log_rows_and_evidence_have_commits(repo: GitRepo) -> None:
    actions = [{"text": "Rebase on #12", "done_when_merged": ["#12"]}, "Announce #12"]
    repo.write(FILE, checkpoint_text(protocol_version="1.1", next_actions=actions))
    first = repo.commit("Start")
    merged = repo.commit("Add the API (#12)")
    given = git.Repo(repo.path)
    checkpoints = Checkpoints(given)
    assert checkpoints.repo is given
    checkpoints.update("build", replace={"step": "sprint-3"})

    entries = checkpoints.log("build").entries
    assert [entry.commit and entry.commit.id for entry in entries] == [None, first]
    (commit,) = checkpoints.commits(*entries)
    assert (commit.hexsha, commit.repo, commit.summary) == (first, given, "Start")
    assert FILE in commit.stats.files

    queue = checkpoints.next().queue
    assert [action.action for action in queue.skipped] == ["Rebase on #12"]
    found = checkpoints.commits(queue.actions[0], queue.skipped[0], *queue.actions[0].facts)
    assert [(commit.hexsha, commit.summary) for commit in found] == [(merged, "Add the API (#12)")]
    assert checkpoints.commits(*checkpoints.resume("build").shipped) == found

    # without a Repo one is opened, below the work tree too
    (repo.path / "src").mkdir()
    assert Checkpoints(repo.path / "src").commits(*entries) == [commit]


def test_a_commit_of_another_repository_and_no_repository(repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "plain/.checkpoints").mkdir(parents=True)
    with pytest.raises(CheckpointError, match="not in a git repository"):
        _ = Checkpoints(tmp_path / "plain").repo
    with pytest.raises(CheckpointError, match="has no commit"):
        make_commits(git.Repo(repo.path), ["1" * 40])


def test_what_gitpython_cannot_read_is_read_by_git(tmp_path: Path) -> None:
    repo = GitRepo.create(tmp_path / "long", "--object-format=sha256")
    repo.write(FILE, checkpoint_text())
    repo.commit("Start")
    checkpoints = Checkpoints(git.Repo(repo.path))
    entries = checkpoints.log("build").entries
    assert [entry.commit and entry.commit.subject for entry in entries] == ["Start"]
    with pytest.raises(CheckpointError, match="SHA-256") as raised:
        checkpoints.commits(*entries)
    assert entries[0].commit
    assert f"git show {entries[0].commit.id}" in str(raised.value.hint)


@needs_git(2, 45, feature="reftable")
def test_commits_are_found_in_a_repository_with_reftable(tmp_path: Path) -> None:
    repo = GitRepo.create(tmp_path / "tables", "--ref-format=reftable")
    repo.write(FILE, checkpoint_text())
    repo.commit("Start")
    checkpoints = Checkpoints(git.Repo(repo.path))
    assert [
        commit.summary for commit in checkpoints.commits(*checkpoints.log("build").entries)
    ] == ["Start"]


def test_every_protocol_takes_a_repo(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("settings.txt", "limit = 10\n")
    commit = repo.commit()
    given = git.Repo(repo.path)
    monkeypatch.chdir(tmp_path)

    points = RestorePoints(given, now=NOW)
    made = points.create("settings.txt", "before")
    repo.write("settings.txt", "limit = 11\n")
    points.rollback(made["checkpoint_id"])
    assert repo.read("settings.txt") == "limit = 10\n"

    Workflow(given, approvals=(), now=NOW).start("login")
    assert (repo.path / "memory/state").is_dir()

    repo.git("config", "checkpoint.pipelineDir", str(repo.path / "records"))
    pipeline = Pipeline(TICKET, SHORT_RUN, given, now=NOW)
    written = pipeline.write("implement", PAYLOADS["implement"], commits={"web": given.head.commit})
    assert (repo.path / "records" / written.path).is_file()
    assert written.value["repo_commit_map"] == {"web": commit}
    with pytest.raises(CheckpointError):
        pipeline.write("implement", PAYLOADS["implement"], commits={"web": 12})  # type: ignore[dict-item]

    memory = MemoryCheckpoint(MemoryTransport(), path=given, now=NOW)
    assert memory.load() is None


def test_gitpython_is_loaded_when_it_is_needed() -> None:
    code = "import sys, checkpoint_git.api; print('git' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env={**os.environ}
    )
    assert done.stdout == "False\n"
