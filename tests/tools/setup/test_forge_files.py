"""`init --ci` and uninstall: the forge's files come, are renewed and go, and nobody else's is touched."""

import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.tools.setup.forge_templates import forge_files
from checkpoint_git.tools.setup.init import Options, init
from checkpoint_git.tools.setup.uninstall import uninstall
from tests.support.command import run_checkpoint
from tests.support.repos import GitRepo
from tests.support.snapshot import take_snapshot

CHECKS = ".github/workflows/checkpoints.yml"


def set_up(repo: GitRepo, *forges: str) -> list[str]:
    """What init did to the forges' files, as "deed what"."""
    steps = init(str(repo.path), Options(ci=forges), os.environ).steps
    return [f"{step.deed} {step.what}" for step in steps if ".git" in step.what and ".yml" in step.what]


def test_both_forges_get_their_files_and_a_second_run_changes_nothing(repo: GitRepo) -> None:
    done = run_checkpoint("init", "--ci", "github", "--ci", "gitlab", cwd=repo.path)
    assert done.returncode == 0
    assert "added: .github/workflows/checkpoint-premerge.yml" in done.stdout
    assert "added: .gitlab-ci.yml" in done.stdout
    before = take_snapshot(repo.path)
    assert {line.split()[0] for line in set_up(repo, "github", "gitlab")} == {"keep"}
    assert set_up(repo) == []
    assert take_snapshot(repo.path) == before


def test_a_dry_run_writes_nothing(repo: GitRepo) -> None:
    before = take_snapshot(repo.path)
    init(str(repo.path), Options(ci=("github",), dry_run=True), os.environ)
    assert take_snapshot(repo.path) == before


def test_the_jobs_name_the_default_branch(repo: GitRepo) -> None:
    repo.git("symbolic-ref", "HEAD", "refs/heads/trunk")
    set_up(repo, "github")
    assert "branches: ['trunk']" in repo.read(".github/workflows/checkpoint-premerge.yml")


def test_a_default_branch_that_no_list_can_hold_is_refused(repo: GitRepo) -> None:
    repo.git("symbolic-ref", "HEAD", "refs/heads/it's")
    with pytest.raises(CheckpointError, match="cannot stand in"):
        set_up(repo, "github")


def test_what_an_older_release_wrote_is_renewed_without_asking_again(repo: GitRepo) -> None:
    for file in forge_files("github", "main", "0.0.1"):
        repo.write(file.path, file.data)
    assert [line.split()[0] for line in set_up(repo)] == ["update", "update"]
    assert "==0.0.1" not in repo.read(CHECKS)


def test_a_file_of_somebody_elses_stays_as_it_is_with_and_without_uninstall(repo: GitRepo) -> None:
    repo.write(CHECKS, "name: mine\n")
    repo.write(".gitlab-ci.yml", "stages: [test]\n")
    repo.write(".gitlab/notes.txt", "mine\n")
    before = take_snapshot(repo.path)
    steps = init(str(repo.path), Options(ci=("github", "gitlab")), os.environ).steps
    told = {step.what: step.text for step in steps if step.deed == "skip"}
    assert set(told) == {CHECKS, ".gitlab-ci.yml"}
    assert "include: [{local: .gitlab/checkpoints.gitlab-ci.yml}]" in told[".gitlab-ci.yml"]
    assert repo.read(CHECKS) == "name: mine\n"
    uninstall(str(repo.path), os.environ)
    assert take_snapshot(repo.path) == before


def test_a_pipeline_that_includes_ours_already_leaves_nothing_to_do(repo: GitRepo) -> None:
    repo.write(".gitlab-ci.yml", "include:\n  - local: .gitlab/checkpoints.gitlab-ci.yml\nstages: [test]\n")
    assert "keep .gitlab-ci.yml" in set_up(repo, "gitlab")


def test_uninstall_takes_the_files_and_the_folders_that_held_nothing_else(repo: GitRepo) -> None:
    before = take_snapshot(repo.path)
    set_up(repo, "github", "gitlab")
    uninstall(str(repo.path), os.environ)
    assert take_snapshot(repo.path) == before


def test_uninstall_leaves_a_file_that_was_edited(repo: GitRepo) -> None:
    set_up(repo, "github")
    repo.write(CHECKS, repo.read(CHECKS).replace("ubuntu-latest", "self-hosted"))
    uninstall(str(repo.path), os.environ)
    assert "self-hosted" in repo.read(CHECKS)
    assert not (repo.path / ".github/workflows/checkpoint-premerge.yml").exists()


def test_a_folder_that_leads_elsewhere_is_not_written_into(repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (repo.path / ".github").symlink_to(tmp_path / "elsewhere")
    assert [line.split()[0] for line in set_up(repo, "github")] == ["skip", "skip"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("url", ["git@github.com:a/b.git", "https://user@gitlab.example/x/y.git", "/srv/github.git"])
def test_the_forge_of_a_clone_is_suggested_where_its_address_says_it(repo: GitRepo, url: str) -> None:
    repo.git("remote", "add", "origin", url)
    done = run_checkpoint("init", cwd=repo.path)
    asked = [name for name in ("github", "gitlab") if f"checkpoint init --ci {name}" in done.stdout]
    assert asked == [name for name in ("github", "gitlab") if f"{name}." in url and not url.startswith("/")]


def test_outside_git_and_in_a_bare_repository_there_is_no_place_for_them(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not a git repository"):
        init(str(tmp_path), Options(ci=("github",)), os.environ)
    bare = GitRepo.create(tmp_path / "bare.git", "--bare")
    with pytest.raises(CheckpointError, match="work tree"):
        init(str(bare.path), Options(ci=("github",)), os.environ)
