"""Set-ups that meet, and set-ups that were killed half-way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.tools.agents.table import TABLE
from checkpoint_git.tools.setup.steps import (
    JOURNAL,
    RemoveFile,
    SetupStep,
    WriteFile,
    apply_steps,
    clear_folders,
    find_folders,
    leave_hidden,
)
from tests.support.command import BIN, run_here
from tests.support.repos import GitRepo
from tests.support.snapshot import take_snapshot

EVERYBODY = [f"--agent={name}" for name in TABLE]


def find_dead_process() -> int:
    done = subprocess.Popen([sys.executable, "-S", "-c", ""])
    done.wait()
    return done.pid


def test_folders_are_those_to_make_and_those_to_write_into(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    steps = [
        SetupStep("add", "", "", WriteFile(f"{tmp_path}/a/b/c/x", b"")),
        SetupStep("remove", "", "", RemoveFile(f"{tmp_path}/a/d/y", 1)),
        SetupStep("keep", ""),
    ]
    assert set(find_folders(steps)) == {
        f"+{tmp_path}/a/b/c",
        f"+{tmp_path}/a/b",
        f"={tmp_path}/a",
        f"+{tmp_path}/a/d",
    }


def test_a_file_that_a_sparse_work_tree_leaves_out_is_not_made_anew(
    repo: GitRepo, tmp_path: Path
) -> None:
    repo.write("README.md", "our own words")
    repo.write("src/a", "")
    repo.commit()
    linked = tmp_path / "linked"
    repo.git("worktree", "add", "-q", str(linked))
    subprocess.run(["git", "sparse-checkout", "set", "--no-cone", "/src/"], cwd=linked, check=True)
    paths = [linked / "README.md", linked / "new", linked / "src/a", repo.path / ".git/hooks/new"]
    steps = [SetupStep("add", path.name, "", WriteFile(str(path), b"x")) for path in paths]
    deeds = [step.deed for step in leave_hidden(steps, str(linked), os.environ)]
    assert deeds == ["skip", "add", "add", "add"]


def test_clearing_takes_empty_folders_of_ours_and_the_files_of_dead_writers(tmp_path: Path) -> None:
    (tmp_path / "ours/deep").mkdir(parents=True)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "used").mkdir()
    (tmp_path / "used/mine.tmp").touch()
    (tmp_path / f"ours/deep/.x.{find_dead_process()}-01234567.tmp").touch()
    clear_folders(
        [f"+{tmp_path}/ours", f"+{tmp_path}/ours/deep", f"={tmp_path}/theirs", f"+{tmp_path}/used"]
    )
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["mine.tmp", "theirs", "used"]


def test_a_step_that_fails_leaves_no_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    steps = [
        SetupStep("add", "", "", RemoveFile(f"{tmp_path}/missing")),
        SetupStep("add", "", "", WriteFile(f"{tmp_path}/b/x", b"")),
    ]
    with pytest.raises(CheckpointError):
        apply_steps(steps, None)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_new_program_can_be_run_from_the_moment_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.chmod", lambda path, mode: None)  # a kill comes before it
    apply_steps(
        [SetupStep("add", "", "", WriteFile(f"{tmp_path}/hook", b"#!/bin/sh\n", True))], None
    )
    assert (tmp_path / "hook").stat().st_mode & 0o111


@pytest.mark.parametrize("again", [True, False])
def test_nothing_is_left_of_an_init_that_was_killed(repo: GitRepo, again: bool) -> None:
    (repo.path / ".gemini").mkdir()  # the user's own, and empty
    before = take_snapshot(repo.path)
    folders = [".claude", ".claude/skills", ".claude/skills/checkpoint-git"]
    for folder in folders:
        (repo.path / folder).mkdir()
    (repo.path / folders[-1] / f".SKILL.md.{find_dead_process()}-01234567.tmp").write_text(
        "---\nhalf"
    )
    (repo.path / ".git" / f".{JOURNAL}.{find_dead_process()}-01234567.tmp").write_text("half")
    (repo.path / ".git" / JOURNAL).write_text(
        "\0".join([*(f"+{folder}" for folder in folders), "=."])
    )
    if again:
        assert run_here("init", *EVERYBODY, cwd=repo.path).returncode == 0
        assert not (repo.path / ".git" / JOURNAL).exists()
    run_here("uninstall", cwd=repo.path)
    assert take_snapshot(repo.path) == before


def test_inits_at_once_wait_for_each_other(repo: GitRepo) -> None:
    before = take_snapshot(repo.path)
    command = [str(BIN / "checkpoint"), "init", *EVERYBODY]
    running = [
        subprocess.Popen(command, cwd=repo.path, stdout=subprocess.DEVNULL) for _ in range(3)
    ]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    run_here("uninstall", cwd=repo.path)
    assert take_snapshot(repo.path) == before
