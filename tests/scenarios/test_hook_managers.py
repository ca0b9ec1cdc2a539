"""Hooks that another tool manages, with the real tool (lefthook, husky, prek), or that git's
configuration names.
"""

import json
import os
import re
from collections.abc import Callable

import pytest

from tests.support.command import BIN, run_here
from tests.support.npm import install_packages
from tests.support.repos import GitRepo, needs_git
from tests.support.samples import checkpoint_text
from tests.support.snapshot import take_snapshot

BUILD = ".checkpoints/build.checkpoint.json"
PACKAGES = ("lefthook@2.2.2", "husky@9.1.7", "@j178/prek@0.5.3")
STOPPING = ("pre-commit", "pre-push")
JOBS = "".join(f"{name}:\n  jobs:\n    - run: touch .git/theirs-{name}\n" for name in STOPPING)
FRAMEWORK = """repos:
- repo: local
  hooks:
  - {id: x, name: x, language: system, entry: touch .git/theirs-pre-commit, always_run: true, pass_filenames: false}
"""

Start = Callable[..., None]


@pytest.fixture
def start(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Starts a manager in the repository; `checkpoint` is on PATH too."""
    programs = (
        install_packages("hook-managers", "node_modules/.bin/lefthook", *PACKAGES)
        / "node_modules/.bin"
    )
    monkeypatch.setenv("PATH", f"{programs}:{BIN}:{os.environ['PATH']}")

    def run(*words: str) -> None:
        done = repo.run(*words)
        assert done.returncode == 0, done.stdout + done.stderr

    return run


def checkpoint(repo: GitRepo, *words: str) -> str:
    """What `checkpoint WORDS` prints."""
    return run_here(*words, cwd=repo.path).stdout


def find_unreached(repo: GitRepo) -> str:
    """What the doctor says of hooks, with its hint, "" where it has nothing to say."""
    findings = json.loads(checkpoint(repo, "doctor", "--check", "hooks", "--json"))["findings"]
    return next(
        (
            f"{one['message']}; {one['hint']}"
            for one in findings
            if one["code"] == "hooks/unreachable"
        ),
        "",
    )


def expect_both_at_work(repo: GitRepo, *theirs: str) -> None:
    """An invalid checkpoint is neither committed nor pushed, and the manager's own jobs (of these
    hooks) still run.
    """
    assert find_unreached(repo) == ""
    repo.commit("set up")
    bare = GitRepo.create(repo.path.parent / "hub.git", "--bare")
    repo.git("push", "-q", str(bare.path), "main")
    for name in theirs:
        assert (repo.path / f".git/theirs-{name}").exists()
    repo.write(BUILD, checkpoint_text(status="nearly"))
    repo.git("add", "-A")
    refused = repo.run("git", "commit", "-q", "-m", "broken")
    assert refused.returncode != 0
    assert b"invalid status" in refused.stdout + refused.stderr
    repo.git("commit", "-q", "--no-verify", "-m", "broken")
    refused = repo.run("git", "push", "-q", str(bare.path), "main")
    assert refused.returncode != 0
    assert b"invalid status" in refused.stdout + refused.stderr


def follow_recipes(repo: GitRepo, config: str) -> None:
    """Does with lefthook's configuration what the doctor says, as often as it says something."""
    for _ in STOPPING:
        found = re.search(
            r"add it to lefthook\.yml, jobs of ([\w-]+): (- \{.*\})", find_unreached(repo)
        )
        assert found
        text = repo.read(config)
        repo.write(
            config,
            text.replace(f"{found[1]}:\n  jobs:\n", f"{found[1]}:\n  jobs:\n    {found[2]}\n"),
        )


@pytest.mark.parametrize(
    "config", ["lefthook.yml", pytest.param(".lefthook.yaml", marks=pytest.mark.deep)]
)
def test_lefthook_runs_ours_once_its_configuration_does(
    repo: GitRepo, start: Start, config: str
) -> None:
    repo.write(config, JOBS)
    start("lefthook", "install")
    assert 'lefthook.yml, jobs of pre-push: - {run: "checkpoint hook pre-push {0}"' in checkpoint(
        repo, "init"
    )
    follow_recipes(repo, config)
    expect_both_at_work(repo, *STOPPING)
    assert "lefthook" not in checkpoint(repo, "init")


@pytest.mark.deep
def test_hooks_that_lefthook_took_the_place_of_are_found(repo: GitRepo, start: Start) -> None:
    checkpoint(repo, "init")
    repo.write("lefthook.yml", JOBS)
    start("lefthook", "install")
    follow_recipes(repo, "lefthook.yml")
    expect_both_at_work(repo, *STOPPING)


@pytest.mark.parametrize("is_first", [pytest.param(True, marks=pytest.mark.deep), False])
def test_husky_runs_ours_beside_its_own(repo: GitRepo, start: Start, is_first: bool) -> None:
    if not is_first:
        checkpoint(repo, "init")
    repo.write("package.json", "{}")
    start("husky")
    for name in STOPPING:
        repo.write(f".husky/{name}", f"touch .git/theirs-{name}\n")
    assert is_first or "checkpoint init" in find_unreached(repo)
    checkpoint(repo, "init")
    expect_both_at_work(repo, *STOPPING)


def test_prek_runs_ours_from_its_configuration(repo: GitRepo, start: Start) -> None:
    repo.write(".pre-commit-config.yaml", FRAMEWORK)
    start("prek", "install")
    assert "not installed here" not in checkpoint(repo, "init", "--verbose")
    expect_both_at_work(repo, "pre-commit")


def test_prek_runs_the_hook_of_ours_that_it_put_aside(repo: GitRepo, start: Start) -> None:
    checkpoint(repo, "init")
    repo.write(".pre-commit-config.yaml", FRAMEWORK)
    repo.git("add", "-A")
    start("prek", "install")
    expect_both_at_work(repo, "pre-commit")


# git's own


def configure(repo: GitRepo, *names: str) -> None:
    """Hooks of ours in git's configuration."""
    for name in names:
        repo.git("config", f"hook.checkpoint-{name}.event", name)
        repo.git("config", f"hook.checkpoint-{name}.command", f"checkpoint hook {name}")


@needs_git(2, 54, feature="a hook in git's configuration")
def test_a_hook_in_gits_configuration_counts_and_is_not_doubled(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{BIN}:{os.environ['PATH']}")
    configure(repo, *STOPPING)
    checkpoint(repo, "init")
    hooks = repo.path / ".git/hooks"
    assert [(hooks / name).exists() for name in (*STOPPING, "post-merge")] == [False, False, True]
    expect_both_at_work(repo)


@needs_git(2, 54, feature="a hook in git's configuration")
def test_a_configured_hook_that_is_turned_off_does_not_count(repo: GitRepo) -> None:
    checkpoint(repo, "init")
    configure(repo, *STOPPING)
    (repo.path / ".git/hooks/pre-push").unlink()
    assert find_unreached(repo) == ""
    repo.git("config", "hook.checkpoint-pre-push.enabled", "false")
    assert "pre-push (not there)" in find_unreached(repo)


@pytest.mark.skipif(
    needs_git(2, 54, feature="").args[0] is False, reason="this git has hooks in its configuration"
)
def test_an_older_git_does_not_run_what_its_configuration_names(repo: GitRepo) -> None:
    configure(repo, *STOPPING)
    checkpoint(repo, "init")
    assert [(repo.path / ".git/hooks" / name).exists() for name in STOPPING] == [True, True]


NEEDS_HOOKS_IN_CONFIGURATION = needs_git(2, 54, feature="a hook in git's configuration")


def list_own_files(repo: GitRepo) -> list[str]:
    """The hook files that are ours."""
    files = (repo.path / ".git/hooks").iterdir()
    return sorted(
        path.name for path in files if path.is_file() and b"checkpoint-git" in path.read_bytes()
    )


@NEEDS_HOOKS_IN_CONFIGURATION
def test_hooks_in_gits_configuration_run_beside_others_without_a_file_of_ours(
    repo: GitRepo,
) -> None:
    before = take_snapshot(repo.path)
    checkpoint(repo, "init", "--hooks", "config")
    assert list_own_files(repo) == []
    assert checkpoint(repo, "init") == "already set up\n"
    assert list_own_files(repo) == []
    checkpoint(repo, "uninstall")
    assert take_snapshot(repo.path) == before
    repo.git("config", "hook.theirs.command", "touch .git/theirs-pre-commit")
    repo.git("config", "hook.theirs.event", "pre-commit")
    repo.write(".git/hooks/pre-push", "#!/bin/sh\ncat >.git/theirs-pre-push\n").chmod(0o755)
    checkpoint(repo, "init", "--hooks", "config")
    expect_both_at_work(repo, *STOPPING)
    assert "refs/heads/main" in repo.read(".git/theirs-pre-push")


@NEEDS_HOOKS_IN_CONFIGURATION
def test_hooks_go_from_files_to_the_configuration_and_back(repo: GitRepo) -> None:
    checkpoint(repo, "init")
    files = list_own_files(repo)
    checkpoint(repo, "init", "--hooks", "config")
    assert (len(files), list_own_files(repo)) == (6, [])
    assert find_unreached(repo) == ""
    checkpoint(repo, "init", "--hooks", "native")
    assert list_own_files(repo) == files
    assert repo.exit_code("config", "--get-regexp", r"^hook\.|^checkpoint\.install\.hooks") == 1


@NEEDS_HOOKS_IN_CONFIGURATION
def test_a_clone_whose_hooks_are_elsewhere_is_offered_those_of_the_configuration(
    repo: GitRepo,
) -> None:
    repo.git("config", "core.hooksPath", "/nonexistent/hooks")
    assert "or without hook files: checkpoint init --hooks config" in checkpoint(repo, "init")
    checkpoint(repo, "init", "--hooks", "config")
    expect_both_at_work(repo)


@NEEDS_HOOKS_IN_CONFIGURATION
def test_a_script_that_nobody_can_extend_is_offered_those_of_the_configuration(
    repo: GitRepo,
) -> None:
    repo.write(".git/hooks/pre-commit", "#!/usr/bin/env python3\n").chmod(0o755)
    assert "or without hook files: checkpoint init --hooks config" in checkpoint(repo, "init")


@NEEDS_HOOKS_IN_CONFIGURATION
@pytest.mark.parametrize(
    "words", [("command", "true"), ("event", "post-commit"), ("enabled", "false")]
)
def test_a_changed_hook_of_ours_in_the_configuration_is_found(
    repo: GitRepo, words: tuple[str, str]
) -> None:
    checkpoint(repo, "init", "--hooks", "config")
    repo.git("config", "core.hooksPath", "/nonexistent/hooks")
    repo.git("config", f"hook.checkpoint-git-pre-push.{words[0]}", words[1])
    assert re.search(r"pre-push \(not there\); set it up: checkpoint init$", find_unreached(repo))
    checkpoint(repo, "doctor", "--fix")
    expect_both_at_work(repo)


@NEEDS_HOOKS_IN_CONFIGURATION
def test_a_bare_repository_checks_pushes_from_its_configuration(repo: GitRepo) -> None:
    bare = GitRepo.create(repo.path.parent / "served.git", "--bare")
    before = take_snapshot(bare.path)
    checkpoint(bare, "init", "--hooks", "config")
    assert find_unreached(bare) == ""
    repo.write(BUILD, checkpoint_text(status="nearly"))
    repo.commit("broken")
    refused = repo.run("git", "push", "-q", str(bare.path), "main")
    assert refused.returncode != 0
    assert b"invalid status" in refused.stderr
    checkpoint(bare, "uninstall")
    assert {
        name: bytes_of
        for name, bytes_of in take_snapshot(bare.path).items()
        if "objects" not in name
    } == {name: bytes_of for name, bytes_of in before.items() if "objects" not in name}


@pytest.mark.skipif(
    NEEDS_HOOKS_IN_CONFIGURATION.args[0] is False, reason="this git has hooks in its configuration"
)
def test_an_older_git_is_named_with_the_one_that_has_hooks_in_its_configuration(
    repo: GitRepo,
) -> None:
    done = run_here("init", "--hooks", "config", cwd=repo.path)
    assert (done.returncode, "install git 2.54 or newer" in done.stderr) == (2, True)
    assert not (repo.path / ".checkpoints").exists()
