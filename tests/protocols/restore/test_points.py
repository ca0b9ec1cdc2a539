import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git import private_objects, run
from checkpoint_git.git.run import GitResult, run_git
from checkpoint_git.protocols.restore import layout, points, rollback
from checkpoint_git.protocols.restore.mechanisms.contract import WantedState
from tests.support.repos import GitRepo
from tests.support.restore_points import KINDS, create, go_back, look, workspace_of


def git_state(repo: GitRepo) -> tuple[bytes, str, str]:
    """What must not move when a point is made: the index's bytes, what status says, the stash."""
    return (
        (repo.path / ".git/index").read_bytes(),
        repo.git("status", "--porcelain"),
        repo.git("stash", "list"),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_making_a_point_disturbs_nothing(full_work: GitRepo, kind: str) -> None:
    before, tree = git_state(full_work), look(full_work.path)
    create(workspace_of(full_work.path), ["src"], "", kind, None)
    assert git_state(full_work) == before
    assert look(full_work.path) == tree


@pytest.mark.parametrize("kind", KINDS)
def test_restore_sh_gives_back_all_that_was_kept(full_work: GitRepo, kind: str) -> None:
    before = look(full_work.path)
    made = create(workspace_of(full_work.path), ["src"], "", kind, None)
    shutil.rmtree(full_work.path / "src")
    full_work.write("src/debug.log", "ignored")
    for folder in (full_work.path, full_work.path / "src", Path("/")):
        script = full_work.path / layout.FOLDER / made.manifest.id / layout.RESTORE_SCRIPT
        done = subprocess.run(
            ["/bin/sh", str(script)], cwd=folder, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        if kind == "git_stash":
            assert look(full_work.path) == before
    plan, _ = rollback.plan_rollback(workspace_of(full_work.path), made.manifest, WantedState())
    assert (plan.remove, plan.restore) == ([], [])


def test_what_git_ignores_is_left_out_unless_it_is_named(full_work: GitRepo) -> None:
    made = create(workspace_of(full_work.path), ["src"], "", "git_stash", None)
    assert any("src/debug.log" in text for text in made.warnings)
    named = create(workspace_of(full_work.path), ["src/debug.log"], "", "git_stash", None)
    assert [entry.path for entry in named.entries] == ["src/debug.log"]
    full_work.write("src/debug.log", "more")
    go_back(workspace_of(full_work.path), made.manifest)
    assert full_work.read("src/debug.log") == "more"


def test_the_folder_of_earlier_points_is_nothing_that_a_new_point_leaves_out(repo: GitRepo) -> None:
    repo.write("a", "1")
    repo.write(".gitignore", ".checkpoints/chk_*\n.audit/\n")
    first = create(workspace_of(repo.path), ["."], "", "git_stash", None)
    second = create(workspace_of(repo.path), ["."], "", "git_stash", None)
    assert (second.warnings, second.proofs) == (first.warnings, first.proofs) == ([], second.proofs)
    repo.write(".gitignore", ".checkpoints/\n.audit/\n")
    repo.write(".checkpoints/mine.json", "{}")
    third = create(workspace_of(repo.path), ["."], "", "git_stash", None)
    assert any(".checkpoints/mine.json" in text for text in third.warnings)


def test_the_content_outlives_a_pruning_gc_and_a_cleared_stash(full_work: GitRepo) -> None:
    made = create(workspace_of(full_work.path), ["src"], "", "git_stash", None)
    full_work.git("reflog", "expire", "--expire=now", "--all")
    full_work.git("stash", "clear")
    full_work.git("gc", "-q", "--prune=now")
    assert points.find_damage(made.location, made.manifest) == []


@pytest.mark.parametrize(
    "at", [0, 4, 8, *(pytest.param(at, marks=pytest.mark.deep) for at in (1, 2, 3, 5, 6, 7))]
)
def test_a_prune_before_any_of_the_calls_of_git_takes_nothing_along(
    full_work: GitRepo, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    full_work.write("src/a.py", "staged\n")
    full_work.git("add", "-A")
    full_work.write("src/a.py", "written\n")
    real, calls = run_git, list[Sequence[str]]()

    def prune_once(words: Sequence[str], *rest: Any, **more: Any) -> GitResult:
        if len(calls) == at:
            full_work.git("reset", "-q")  # or what is staged would keep its content alive
            full_work.git("prune", "--expire=now")
        calls.append(words)
        return real(words, *rest, **more)

    monkeypatch.setattr(points, "_PAUSE", 0)
    monkeypatch.setattr(private_objects, "run_git", prune_once)
    monkeypatch.setattr(run, "run_git", prune_once)
    made = create(workspace_of(full_work.path), ["src"], "", "git_stash", None)
    assert len(calls) > at
    full_work.git("prune", "--expire=now")
    assert points.find_damage(made.location, made.manifest) == []
    full_work.git("rev-list", "--objects", layout.ref_name(made.manifest.id))


def test_a_scope_of_secrets_alone_is_an_error(full_work: GitRepo) -> None:
    full_work.write("src/.env", "TOKEN=1")
    with pytest.raises(CheckpointError, match="looks like a secret by its name"):
        create(workspace_of(full_work.path), ["src/.env"], "", "git_stash", None)
