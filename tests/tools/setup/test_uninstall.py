"""init and then uninstall leave every byte of a repository as it was, whatever was there before."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_git.tools.setup.init import Options, init
from checkpoint_git.tools.setup.uninstall import uninstall
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.snapshot import take_snapshot

OTHER_LINE = ".checkpoints/*.checkpoint.json text merge=opchain-checkpoint -diff\n"
PYTHON_HOOK = "#!/usr/bin/env python3\nprint('theirs')\n"


def _executable(repo: GitRepo, name: str, content: str) -> None:
    repo.write(name, content).chmod(0o755)


def _husky(repo: GitRepo) -> None:
    repo.write(".husky/pre-commit", "npm test\n")
    _executable(repo, ".husky/_/pre-commit", '#!/usr/bin/env sh\n. "${0%/*}/h"\n')
    _executable(repo, ".husky/_/h", '#!/usr/bin/env sh\nsh -e "${0%/*}/../pre-commit"\n')
    repo.git("config", "core.hooksPath", ".husky/_")


def _without_template(repo: GitRepo) -> None:
    for name in ("info", "hooks"):
        for file in (repo.path / ".git" / name).iterdir():
            file.unlink()
        (repo.path / ".git" / name).rmdir()


def _empty_folders(repo: GitRepo) -> None:
    _without_template(repo)
    (repo.path / ".git/info").mkdir()
    (repo.path / ".git/hooks").mkdir()


def _append(repo: GitRepo, name: str, content: str) -> None:
    with (repo.path / name).open("ab") as stream:
        stream.write(content.encode())


def _unreadable_list(repo: GitRepo) -> None:
    repo.write(".pre-commit-config.yaml", "repos: [{repo: local, hooks: []}]\n")


FIXTURES: dict[str, Callable[[GitRepo], object]] = {
    "an empty repository": lambda repo: None,
    "a repository with commits": lambda repo: (repo.write("a.txt", "a\n"), repo.commit()),
    "attributes": lambda repo: repo.write(".gitattributes", "*.png binary\n"),
    "attributes without a final newline": lambda repo: repo.write(".gitattributes", "*.png binary"),
    "attributes with CRLF": lambda repo: repo.write(
        ".gitattributes", "*.png binary\r\n*.jpg binary\r\n"
    ),
    "attributes with CRLF, unended": lambda repo: repo.write(
        ".gitattributes", "*.png binary\r\n*.jpg binary"
    ),
    "empty attributes": lambda repo: repo.write(".gitattributes", ""),
    "attributes of one blank line": lambda repo: repo.write(".gitattributes", "\n"),
    "attributes that are a link": lambda repo: (repo.path / ".gitattributes").symlink_to(
        "elsewhere"
    ),
    "the same lines by hand": lambda repo: repo.write(
        ".gitattributes", "**/.checkpoints/*.checkpoint.json  merge=checkpoint diff=checkpoint\n"
    ),
    "info/attributes unended": lambda repo: repo.write(".git/info/attributes", "*.c diff=cpp"),
    "no template folders": _without_template,
    "empty template folders": _empty_folders,
    "the other driver": lambda repo: repo.write(
        ".gitattributes", f"*.png binary\n{OTHER_LINE}*.c text\n"
    ),
    "the other driver, unended": lambda repo: repo.write(".gitattributes", OTHER_LINE.rstrip()),
    "the other driver, CRLF": lambda repo: repo.write(
        ".gitattributes", OTHER_LINE.replace("\n", "\r\n")
    ),
    "the other driver in info": lambda repo: repo.write(".git/info/attributes", OTHER_LINE),
    "a configuration with CRLF": lambda repo: _append(
        repo, ".git/config", "[user]\r\n\tname = B\r\n"
    ),
    "a configuration that ends in a comment": lambda repo: _append(repo, ".git/config", "# mine\n"),
    "settings of ours by hand": lambda repo: _append(
        repo, ".git/config", "[checkpoint]\n\tdriftBlocks = true\n# m\n"
    ),
    "a foreign driver under our name": lambda repo: repo.git(
        "config", "merge.checkpoint.driver", "mine %A"
    ),
    "a foreign merge tool under our name": lambda repo: repo.git(
        "config", "mergetool.checkpoint.cmd", "mine"
    ),
    "merge tools of others": lambda repo: repo.git(
        "config", "mergetool.meld.trustExitCode", "true"
    ),
    "a shell hook": lambda repo: _executable(
        repo, ".git/hooks/pre-commit", "#!/bin/sh\nnpm test\n"
    ),
    "a hook without a final newline": lambda repo: _executable(
        repo, ".git/hooks/pre-push", "#!/bin/sh\nexit 0"
    ),
    "a hook that is one line": lambda repo: _executable(repo, ".git/hooks/pre-push", "#!/bin/sh"),
    "a hook without a first line": lambda repo: _executable(
        repo, ".git/hooks/pre-commit", "npm test\n"
    ),
    "an empty hook": lambda repo: _executable(repo, ".git/hooks/pre-commit", ""),
    "a python hook": lambda repo: _executable(repo, ".git/hooks/pre-commit", PYTHON_HOOK),
    "a hook that is not executable": lambda repo: repo.write(
        ".git/hooks/post-merge", "#!/bin/sh\ntrue\n"
    ),
    "a hook that is a link": lambda repo: (repo.path / ".git/hooks/pre-commit").symlink_to(
        "../../hook.sh"
    ),
    "husky": _husky,
    "a hooks folder in the work tree": lambda repo: repo.git(
        "config", "core.hooksPath", "githooks"
    ),
    "a hooks folder elsewhere": lambda repo: repo.git(
        "config", "core.hooksPath", "/nonexistent/hooks"
    ),
    "an empty core.hooksPath": lambda repo: repo.git("config", "core.hooksPath", ""),
    "the framework": lambda repo: repo.write(
        ".pre-commit-config.yaml", "repos:\n- repo: local\n  hooks: []\n"
    ),
    "the framework, unended": lambda repo: repo.write(
        ".pre-commit-config.yaml", "repos:\n  - repo: meta\n    hooks: []"
    ),
    "the framework, CRLF": lambda repo: repo.write(
        ".pre-commit-config.yaml", "repos:\r\n- repo: meta\r\n  hooks: []\r\n"
    ),
    "the framework in flow style": _unreadable_list,
    "checkpoints already": lambda repo: repo.write(
        ".checkpoints/build.checkpoint.json", checkpoint_text()
    ),
    "a README already": lambda repo: repo.write(".checkpoints/README.md", "# Ours\n"),
    "damaged marks": lambda repo: repo.write(
        ".gitattributes", "# >>> checkpoint-git >>>\n*.png binary\n"
    ),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_uninstall_leaves_every_byte_as_it_was(repo: GitRepo, name: str) -> None:
    FIXTURES[name](repo)
    before = take_snapshot(repo.path)

    init(str(repo.path), Options(adopt=True), os.environ)
    installed = take_snapshot(repo.path)
    assert installed != before

    again = init(str(repo.path), Options(adopt=True), os.environ)
    assert take_snapshot(repo.path) == installed
    assert {step.deed for step in again.steps} <= {"keep", "skip", "advise"}

    uninstall(str(repo.path), os.environ)
    assert take_snapshot(repo.path) == before


def test_a_second_uninstall_changes_nothing(repo: GitRepo) -> None:
    before = take_snapshot(repo.path)
    init(str(repo.path), Options(adopt=True), os.environ)
    for _ in range(2):
        uninstall(str(repo.path), os.environ)
        assert take_snapshot(repo.path) == before


@pytest.mark.parametrize("hooks", ["native", "pre-commit", "none"])
def test_uninstall_undoes_every_choice_of_hooks(repo: GitRepo, hooks: str) -> None:
    before = take_snapshot(repo.path)
    init(str(repo.path), Options(hooks=hooks, narrative="newest"), os.environ)  # type: ignore[arg-type]  # one of the choices
    uninstall(str(repo.path), os.environ)
    assert take_snapshot(repo.path) == before


def test_what_commands_keep_in_the_git_directory_goes_and_backups_stay(repo: GitRepo) -> None:
    init(str(repo.path), Options(), os.environ)
    for name in (
        "a-cache-of-tomorrow.json",
        "sessions/one",
        "undo/build.before",
        "backups/2026/build.json",
    ):
        repo.write(f".git/checkpoint/{name}", "x")
    steps = uninstall(str(repo.path), os.environ).steps
    assert [step.what for step in steps if step.deed == "keep"] == ["checkpoint/backups"]
    left = [path for path in (repo.path / ".git/checkpoint").rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["build.json"]


def test_a_dry_run_of_either_changes_nothing(repo: GitRepo) -> None:
    empty = take_snapshot(repo.path)
    planned = init(str(repo.path), Options(dry_run=True), os.environ).steps
    assert take_snapshot(repo.path) == empty
    assert init(str(repo.path), Options(), os.environ).steps == planned
    installed = take_snapshot(repo.path)
    removal = uninstall(str(repo.path), os.environ, dry_run=True).steps
    assert take_snapshot(repo.path) == installed
    assert uninstall(str(repo.path), os.environ).steps == removal


def test_what_others_wrote_after_init_stays(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.png binary")
    init(str(repo.path), Options(), os.environ)
    _append(repo, ".gitattributes", "*.jpg binary\n")
    _append(repo, ".git/hooks/pre-commit", "npm test\n")
    repo.git("config", "checkpoint.driftBlocks", "true")
    uninstall(str(repo.path), os.environ)
    assert repo.read(".gitattributes") == "*.png binary\n*.jpg binary\n"
    assert repo.read(".git/hooks/pre-commit") == "#!/bin/sh\nnpm test\n"
    assert repo.git("config", "checkpoint.driftBlocks") == "true"


def test_checkpoints_and_an_edited_readme_stay(repo: GitRepo) -> None:
    init(str(repo.path), Options(), os.environ)
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    _append(repo, ".checkpoints/README.md", "And a word of ours.\n")
    uninstall(str(repo.path), os.environ)
    assert sorted(path.name for path in (repo.path / ".checkpoints").iterdir()) == [
        "README.md",
        "build.checkpoint.json",
    ]


def test_an_adopted_line_that_was_edited_since_is_kept_as_edited(repo: GitRepo) -> None:
    repo.write(".gitattributes", OTHER_LINE)
    init(str(repo.path), Options(adopt=True), os.environ)
    edited = repo.read(".gitattributes").replace("text merge=checkpoint -diff", "merge=mine")
    repo.write(".gitattributes", edited)
    uninstall(str(repo.path), os.environ)
    assert repo.read(".gitattributes") == ".checkpoints/*.checkpoint.json merge=mine\n"


def test_hooks_left_behind_by_a_later_hookspath_are_found(repo: GitRepo) -> None:
    before = take_snapshot(repo.path / ".git/hooks")
    init(str(repo.path), Options(), os.environ)
    repo.git("config", "core.hooksPath", ".husky")
    init(str(repo.path), Options(), os.environ)
    uninstall(str(repo.path), os.environ)
    assert take_snapshot(repo.path / ".git/hooks") == before
    assert not (repo.path / ".husky").exists()


def test_our_hook_that_the_framework_moved_aside_is_found(repo: GitRepo) -> None:
    init(str(repo.path), Options(), os.environ)
    repo.write(".pre-commit-config.yaml", "repos: []\n")
    framework = Path(sys.executable).parent / "pre-commit"
    subprocess.run(
        [framework, "install", "-t", "pre-push"], cwd=repo.path, check=True, capture_output=True
    )
    assert (repo.path / ".git/hooks/pre-push.legacy").exists()
    again = init(str(repo.path), Options(), os.environ)
    assert next(step for step in again.steps if step.what == ".git/hooks/pre-push").deed == "keep"
    uninstall(str(repo.path), os.environ)
    assert not (repo.path / ".git/hooks/pre-push.legacy").exists()
    assert "pre-commit.com" in repo.read(".git/hooks/pre-push")


def test_the_lock_between_writers_goes_too(repo: GitRepo) -> None:
    repo.write(".git/checkpoint.lock", "")
    uninstall(str(repo.path), os.environ)
    assert not (repo.path / ".git/checkpoint.lock").exists()


def test_outside_git_only_the_readme_goes(tmp_path: Path) -> None:
    init(str(tmp_path), Options(), os.environ)
    assert uninstall(str(tmp_path), os.environ).work_tree is None
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_is_installed_nothing_is_done(repo: GitRepo) -> None:
    assert uninstall(str(repo.path), os.environ).steps == []


def test_uninstall_works_where_the_folder_became_a_link(repo: GitRepo) -> None:
    before = repo.read(".git/config")
    init(str(repo.path), Options(), os.environ)
    (repo.path / ".checkpoints").rename(repo.path / "state")
    (repo.path / ".checkpoints").symlink_to("state")
    uninstall(str(repo.path), os.environ)
    assert repo.read(".git/config") == before
    assert not (repo.path / ".git/hooks/pre-commit").exists()


def test_uninstall_outside_git_takes_the_lock_with_it(tmp_path: Path) -> None:
    init(str(tmp_path), Options(), os.environ)
    (tmp_path / ".checkpoints/.lock").touch()
    uninstall(str(tmp_path), os.environ)
    assert list(tmp_path.iterdir()) == []


def test_what_the_doctor_remembers_goes_and_what_it_replaced_stays(repo: GitRepo) -> None:
    repo.commit("start")
    before = take_snapshot(repo.path)
    for name in ("sheets.json", "merges", "removed.json"):
        repo.write(f".git/checkpoint/{name}", "{}")
    uninstall(str(repo.path), os.environ)
    assert take_snapshot(repo.path) == before
    repo.write(".git/checkpoint/backups/20260101T000000Z/a", "what somebody wrote")
    kept = [step for step in uninstall(str(repo.path), os.environ).steps if step.deed == "keep"]
    assert [step.what for step in kept] == ["checkpoint/backups"]
    assert repo.read(".git/checkpoint/backups/20260101T000000Z/a") == "what somebody wrote"


def test_the_lines_that_hide_restore_points_go_with_the_last_point(repo: GitRepo) -> None:
    repo.write("a", "a\n")
    before = (repo.path / ".git/info/exclude").read_bytes()
    done = run_here("rp", "create", "a", "--json", cwd=repo.path)
    point = json.loads(done.stdout)["checkpoint_id"]
    kept = [
        step for step in uninstall(str(repo.path), os.environ).steps if step.what == "info/exclude"
    ]
    assert [(step.deed, "1 left" in step.text) for step in kept] == [("keep", True)]
    assert run_here("rp", "drop", point, cwd=repo.path).returncode == 0
    uninstall(str(repo.path), os.environ)
    assert (repo.path / ".git/info/exclude").read_bytes() == before


def test_the_readme_of_a_clone_with_other_line_ends_is_ours_too(repo: GitRepo) -> None:
    before = take_snapshot(repo.path)
    run_here("init", cwd=repo.path)
    readme = repo.path / ".checkpoints/README.md"
    readme.write_bytes(readme.read_bytes().replace(b"\n", b"\r\n"))
    run_here("uninstall", cwd=repo.path)
    assert take_snapshot(repo.path) == before
