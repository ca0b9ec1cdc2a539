"""pre-commit, pre-merge-commit and post-commit, run by git itself."""

import os
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.tools.setup.init import Options, init
from tests.hooks.conftest import BAD, GOOD, PATH
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.tools.setup.test_steps import find_dead_process

BARE_PATH = "/usr/bin:/bin"


def commit(
    repo: GitRepo, *words: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Git commit, whatever it answers."""
    return repo.run(
        "git", "commit", "-q", "-m", "change", *words, env={**os.environ, **(env or {})}
    )


def test_an_invalid_staged_checkpoint_is_blocked_with_file_and_line(guarded: GitRepo) -> None:
    guarded.write(PATH, BAD)
    guarded.git("add", PATH)
    done = commit(guarded)
    said = done.stderr.decode()
    assert done.returncode == 1
    assert f"{PATH}:10" in said
    assert "nearly" in said
    assert done.stdout == b""


def test_an_invalid_staged_checkpoint_is_blocked_though_the_work_tree_is_valid(
    guarded: GitRepo,
) -> None:
    guarded.write(PATH, BAD)
    guarded.git("add", PATH)
    guarded.write(PATH, GOOD)
    assert commit(guarded).returncode == 1


def test_a_valid_staged_checkpoint_passes_though_the_work_tree_is_invalid(guarded: GitRepo) -> None:
    guarded.write(PATH, checkpoint_text(step="sprint-3"))
    guarded.git("add", PATH)
    guarded.write(PATH, BAD)
    assert commit(guarded).returncode == 0


def test_commit_all_is_checked_through_its_own_index(guarded: GitRepo) -> None:
    guarded.write(PATH, BAD)
    assert commit(guarded, "-a").returncode == 1
    guarded.write(PATH, checkpoint_text(step="sprint-3"))
    assert commit(guarded, "-a").returncode == 0


def test_a_partial_commit_is_checked_for_what_it_takes(guarded: GitRepo) -> None:
    other = ".checkpoints/deploy.checkpoint.json"
    guarded.write(PATH, BAD)
    guarded.write(other, checkpoint_text(skill="deploy"))
    guarded.git("add", ".")
    assert commit(guarded, "--", other).returncode == 0
    assert commit(guarded, "--", PATH).returncode == 1


def test_a_deleted_checkpoint_passes(guarded: GitRepo) -> None:
    guarded.git("rm", "-q", PATH)
    assert commit(guarded).returncode == 0


def test_an_old_error_in_an_untouched_file_does_not_block(guarded: GitRepo) -> None:
    guarded.write(PATH, BAD)
    guarded.commit("bad", hooks=False)
    guarded.write(".checkpoints/deploy.checkpoint.json", checkpoint_text(skill="deploy"))
    guarded.git("add", ".")
    assert commit(guarded).returncode == 0


def test_the_first_commit_of_a_repository_is_checked(repo: GitRepo) -> None:
    init(str(repo.path), Options(), os.environ)
    repo.write(PATH, BAD)
    repo.git("add", ".")
    assert commit(repo).returncode == 1


def test_a_commit_from_a_subfolder_is_checked(guarded: GitRepo) -> None:
    guarded.write(PATH, BAD)
    (guarded.path / "src").mkdir()
    done = guarded.run("git", "commit", "-qam", "x", cwd=guarded.path / "src")
    assert done.returncode == 1


def test_a_checkpoint_of_a_folder_with_an_odd_name_is_checked(guarded: GitRepo) -> None:
    name = 'päckages/it\'s "x" y'
    guarded.write(f"{name}/{PATH}", BAD)
    guarded.git("add", ".")
    done = commit(guarded)
    assert done.returncode == 1
    assert name in done.stderr.decode()


def test_a_link_out_of_the_repository_is_blocked(guarded: GitRepo) -> None:
    (guarded.path / ".checkpoints/deploy.checkpoint.json").symlink_to("../../outside.json")
    guarded.git("add", ".")
    done = commit(guarded)
    assert done.returncode == 1
    assert "symbolic link out of the repository" in done.stderr.decode()


def test_a_link_inside_the_repository_passes(guarded: GitRepo) -> None:
    (guarded.path / ".checkpoints/deploy.checkpoint.json").symlink_to("build.checkpoint.json")
    guarded.git("add", ".")
    assert commit(guarded).returncode == 0


def test_terminal_escapes_in_a_staged_file_are_shown_as_text(guarded: GitRepo) -> None:
    guarded.write(PATH, checkpoint_text(status="\x1b[31mred"))
    done = commit(guarded, "-a")
    assert done.returncode == 1
    assert b"\x1b[31mred" not in done.stderr


@pytest.mark.parametrize("name", ["it's with space", 'a "b" tëst 100%'])
def test_a_repository_of_any_name_is_guarded(tmp_path: Path, name: str) -> None:
    repo = GitRepo.create(tmp_path / name)
    init(str(repo.path), Options(), os.environ)
    repo.write(PATH, BAD)
    repo.git("add", ".")
    assert commit(repo).returncode == 1


def test_a_linked_worktree_is_guarded_and_reads_its_own_index(guarded: GitRepo) -> None:
    guarded.git("worktree", "add", "-q", "../linked", "-b", "side")
    linked = GitRepo(guarded.path.parent / "linked")
    linked.write(PATH, BAD)
    linked.git("add", PATH)
    assert commit(linked).returncode == 1
    guarded.write(PATH, checkpoint_text(step="sprint-3"))
    assert commit(guarded, "-a").returncode == 0


def test_a_submodule_is_guarded(repo: GitRepo, tmp_path: Path) -> None:
    inner = GitRepo.create(tmp_path / "inner")
    inner.commit()
    repo.add_submodule(inner.path, "lib")
    lib = GitRepo(repo.path / "lib")
    init(str(lib.path), Options(), os.environ)
    lib.write(PATH, BAD)
    lib.git("add", ".")
    assert commit(lib).returncode == 1


def test_a_bare_search_path_as_of_a_program_with_windows_is_enough(guarded: GitRepo) -> None:
    guarded.write(PATH, BAD)
    done = commit(guarded, "-a", env={"PATH": BARE_PATH})
    assert done.returncode == 1
    assert f"{PATH}:10" in done.stderr.decode()


@pytest.mark.parametrize(
    "path",
    [
        None,
        ":",
        ".",
        *(pytest.param(path, marks=pytest.mark.deep) for path in ("", ":/nowhere", "/nowhere:")),
    ],
)
def test_modules_of_the_work_tree_are_not_run(guarded: GitRepo, path: str | None) -> None:
    env = {**os.environ, "PYTHONPATH": path} if path is not None else None
    guarded.write("json.py", "raise SystemExit('the work tree was imported')\n")
    guarded.write("checkpoint_git/__init__.py", "raise SystemExit('the work tree was imported')\n")
    guarded.write(PATH, checkpoint_text(step="sprint-3"))
    guarded.git("add", ".")
    assert commit(guarded, env=env).returncode == 0


def test_what_a_killed_writer_left_beside_the_files_goes_with_the_next_commit(
    guarded: GitRepo,
) -> None:
    left = guarded.path / f"..merge_file_Ab12cD.{find_dead_process()}-0011aabb.tmp"
    left.write_text("half")
    own = guarded.path / ".notes.tmp"
    own.write_text("somebody's")
    guarded.write(PATH, checkpoint_text(step="sprint-3"))
    guarded.git("add", PATH)
    assert commit(guarded).returncode == 0
    assert (left.exists(), own.exists()) == (False, True)


def test_without_interpreter_and_command_the_commit_stops_with_a_hint(guarded: GitRepo) -> None:
    guarded.git("config", "checkpoint.install.python", "/gone/python")
    guarded.write(PATH, checkpoint_text(step="sprint-3"))
    done = commit(guarded, "-a", env={"PATH": BARE_PATH})
    assert done.returncode == 1
    assert b"checkpoint init" in done.stderr
    assert b"--no-verify" in done.stderr


def test_what_does_not_start_is_passed_over_and_an_answer_is_not(
    guarded: GitRepo, tmp_path: Path
) -> None:
    programs = {
        "checkpoint": 'echo "asked: $*"',
        "lost": "exit 1",
        "old": "exit 2",
        "refuses": "exit 11",
    }
    for name, script in programs.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    known = guarded.git("config", "checkpoint.install.python")
    package = guarded.git("config", "checkpoint.install.package")

    cases = [(known, "/gone/checkpoint_git", True)]
    cases += [
        (f"{tmp_path}/bin/{name}", package, name != "refuses")
        for name in ("lost", "old", "refuses")
    ]
    for python, folder, is_passed_over in cases:
        guarded.git("config", "checkpoint.install.python", python)
        guarded.git("config", "checkpoint.install.package", folder)
        guarded.write(PATH, checkpoint_text(step=f"sprint-{python}-{folder}"))
        done = commit(guarded, "-a", env={"PATH": f"{tmp_path}/bin:{BARE_PATH}"})
        assert (done.returncode == 0) is is_passed_over, (python, done.stderr)
        assert (b"asked: hook pre-commit" in done.stderr) is is_passed_over, python


def test_a_commit_that_touches_no_checkpoint_starts_no_python(
    guarded: GitRepo, no_python: Path
) -> None:
    guarded.write("a.txt", "a\n")
    guarded.write(".checkpoints/README.md", "changed\n")
    guarded.commit()
    assert not no_python.exists()
    guarded.write(PATH, checkpoint_text(step="sprint-3"))
    guarded.commit()
    assert no_python.exists()


def test_a_clean_merge_that_brings_an_invalid_checkpoint_is_stopped(guarded: GitRepo) -> None:
    guarded.git("checkout", "-q", "-b", "side")
    guarded.write(PATH, BAD)
    guarded.commit("bad", hooks=False)
    guarded.git("checkout", "-q", "main")
    guarded.write("a.txt", "a\n")
    guarded.commit()
    done = guarded.run("git", "merge", "-m", "merge", "side")
    assert done.returncode != 0
    assert f"{PATH}:10" in done.stderr.decode()


def test_a_cherry_pick_of_an_invalid_checkpoint_goes_through_with_a_hint(guarded: GitRepo) -> None:
    guarded.git("checkout", "-q", "-b", "side")
    guarded.write(PATH, BAD)
    guarded.commit("bad", hooks=False)
    guarded.git("checkout", "-q", "main")
    done = guarded.run("git", "cherry-pick", "side")
    assert done.returncode == 0
    assert f"{PATH}:10" in done.stderr.decode()
    assert b"before you push" in done.stderr


def test_a_valid_commit_says_nothing(guarded: GitRepo) -> None:
    guarded.write(PATH, checkpoint_text(step="sprint-3"))
    done = commit(guarded, "-a")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_driver_whose_python_is_gone_is_told_before_a_merge_meets_it(guarded: GitRepo) -> None:
    driver = guarded.git("config", "merge.checkpoint.driver")
    python = guarded.git("config", "checkpoint.install.python")
    guarded.git("config", "merge.checkpoint.driver", driver.replace(python, "/gone/python"))
    guarded.write(PATH, checkpoint_text(project="other"))
    guarded.git("add", PATH)
    done = commit(guarded)
    assert done.returncode == 0
    said = done.stderr.decode().splitlines()
    assert said == ["the merge driver's Python is gone: /gone/python; to fix it: checkpoint init"]


def test_a_conflicted_merge_that_is_committed_with_markers_is_stopped(guarded: GitRepo) -> None:
    guarded.write(PATH, GOOD.replace('  "blockers"', '<<<<<<< ours\n  "blockers"'))
    done = commit(guarded, "-a")
    assert done.returncode == 1
    assert "conflict" in done.stderr.decode()


@pytest.mark.parametrize("ending", ["exit 0\n", "exec true\n", "set -e\n. /dev/null\nexit 0\n"])
def test_ours_runs_in_a_hook_that_ends_early(guarded: GitRepo, ending: str) -> None:
    hook = guarded.write(".git/hooks/pre-commit", f"#!/bin/sh\n{ending}")
    hook.chmod(0o755)
    init(str(guarded.path), Options(), os.environ)
    guarded.write(PATH, BAD)
    assert commit(guarded, "-a").returncode == 1


def test_husky_runs_ours(guarded: GitRepo) -> None:
    guarded.write(".husky/pre-commit", "echo npm test\n")
    stub = guarded.write(".husky/_/pre-commit", '#!/usr/bin/env sh\n. "${0%/*}/h"\n')
    stub.chmod(0o755)
    guarded.write(
        ".husky/_/h", 'sh -e "$(dirname "$(dirname "$0")")/$(basename "$0")" "$@"\nexit $?\n'
    )
    guarded.git("config", "core.hooksPath", ".husky/_")
    init(str(guarded.path), Options(), os.environ)
    guarded.write(PATH, BAD)
    assert commit(guarded, "-a").returncode == 1
    guarded.write(PATH, checkpoint_text(step="sprint-3"))
    done = commit(guarded, "-a")
    assert done.returncode == 0
    assert b"npm test" in done.stderr + done.stdout
