"""`git mergetool -t checkpoint`, as `checkpoint init` registers it, with the real git and, where
asked, a terminal.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.tools.setup.init import Options, init
from tests.scenarios.driven import PATH, branch_with
from tests.support.command import open_terminal
from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint_text


@pytest.fixture
def conflicted(repo: GitRepo) -> GitRepo:
    """A merge that stopped at a checkpoint and at a file that is none, in an initialised
    repository.
    """
    copy_built(build_conflicted, repo.path)
    return repo


def build_conflicted(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    init(str(repo.path), Options(hooks="none"), os.environ)
    repo.write("notes.txt", "base\n")
    repo.write(PATH, checkpoint_text())
    repo.commit("base")
    for name in ("right", "left"):
        branch_with(repo, name, checkpoint_text(project=name, step=f"{name}-step"))
        repo.write("notes.txt", f"{name}\n")
        repo.commit(name)
    repo.git("merge", "-q", "right", check=False)


def run_tool(
    repo: GitRepo, *words: str, typed: str = "", cwd: Path | None = None
) -> tuple[int, str]:
    """The tool with a person at a terminal who types; its exit code and what it wrote."""
    ours, its = open_terminal()
    try:
        os.write(ours, typed.encode())
        command = ["git", "mergetool", "--tool=checkpoint", "--no-prompt", *words]
        done = subprocess.run(
            command,
            cwd=cwd or repo.path,
            stdin=its,
            stdout=subprocess.PIPE,
            stderr=its,
            timeout=60,
            check=False,
        )
    finally:
        os.close(its)
        os.close(ours)
    return done.returncode, done.stdout.decode()


def left_overs(repo: GitRepo) -> list[str]:
    return sorted(path.name for path in (repo.path / ".checkpoints").iterdir())


def test_without_a_terminal_the_conflict_is_left(conflicted: GitRepo) -> None:
    before = conflicted.read(PATH)
    done = conflicted.run("git", "mergetool", "--tool=checkpoint", "--no-prompt", "--", PATH)
    assert done.returncode != 0
    assert b"undecided at /project" in done.stdout
    assert conflicted.read(PATH) == before
    assert PATH in conflicted.git("diff", "--name-only", "--diff-filter=U")


@pytest.mark.parametrize("folder", ["", "a folder"])
def test_at_a_terminal_each_conflict_is_asked_and_the_file_staged(
    conflicted: GitRepo, folder: str
) -> None:
    (conflicted.path / folder).mkdir(exist_ok=True)
    typed = os.path.relpath(PATH, folder or ".")
    code, said = run_tool(conflicted, "--", typed, typed="t\no\n", cwd=conflicted.path / folder)
    assert code == 0, said
    merged = json.loads(conflicted.git("cat-file", "blob", f":{PATH}"))
    assert (merged["project"], merged["step"]) == ("right", "left-step")
    assert conflicted.git("diff", "--name-only", "--diff-filter=U") == "notes.txt"


def test_a_file_resolved_in_part_goes_back_to_what_it_was(conflicted: GitRepo) -> None:
    before = conflicted.read(PATH)
    code, _ = run_tool(conflicted, "--", PATH, typed="t\nq\n")
    assert code != 0
    assert conflicted.read(PATH) == before
    assert PATH in conflicted.git("diff", "--name-only", "--diff-filter=U")


def test_a_file_that_is_no_checkpoint_is_refused(conflicted: GitRepo) -> None:
    code, _ = run_tool(conflicted, "--", "notes.txt", typed="n\n")
    assert code != 0
    assert "notes.txt" in conflicted.git("diff", "--name-only", "--diff-filter=U")


def test_the_work_tree_cannot_slip_in_a_module(conflicted: GitRepo) -> None:
    conflicted.write("checkpoint_git/__init__.py", "raise SystemExit(0)\n")
    conflicted.write("json.py", "raise SystemExit(0)\n")
    done = conflicted.run("git", "mergetool", "--tool=checkpoint", "--no-prompt", "--", PATH)
    assert done.returncode != 0
    assert b"undecided at /project" in done.stdout


def test_a_vanished_interpreter_leaves_the_conflict(conflicted: GitRepo) -> None:
    before = conflicted.read(PATH)
    conflicted.git(
        "config",
        "mergetool.checkpoint.cmd",
        "'/gone/python' -P -m checkpoint_git resolve -- \"$MERGED\"",
    )
    assert conflicted.exit_code("mergetool", "--tool=checkpoint", "--no-prompt", "--", PATH) != 0
    assert conflicted.read(PATH) == before
    assert PATH in conflicted.git("diff", "--name-only", "--diff-filter=U")
