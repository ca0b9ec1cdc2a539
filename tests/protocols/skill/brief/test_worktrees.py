import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import ask_json, run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint

BUILD = ".checkpoints/build.checkpoint.json"


def write(repo: GitRepo, path: str = BUILD, **fields: Any) -> None:
    value = (
        checkpoint(**fields)
        if path == BUILD
        else checkpoint(skill=Path(path).name.split(".")[0], **fields)
    )
    repo.write(path, json.dumps(value, indent=2) + "\n")


def ask(repo: GitRepo, *words: str) -> dict[str, Any]:
    return ask_json(repo.path, *words, code=None)


@pytest.fixture
def main(tmp_path: Path) -> GitRepo:
    """A repository with one checkpoint on main."""
    repo = GitRepo.create(tmp_path / "main")
    write(repo)
    repo.commit()
    return repo


@pytest.fixture
def topic(main: GitRepo) -> GitRepo:
    """A linked work tree of it, on the branch feature/x."""
    main.git("worktree", "add", "-q", "-b", "feature/x", str(main.path.parent / "tree"))
    return GitRepo(main.path.parent / "tree")


def test_what_another_work_tree_finished_and_decided_is_shown(
    main: GitRepo, topic: GitRepo
) -> None:
    rows = [{**row, "status": "complete"} for row in checkpoint()["progress_table"]]
    primer = {**checkpoint()["context_primer"], "key_decisions": ["Tabs, not spaces"]}
    write(
        topic,
        updated_at="2099-01-01T00:00:00Z",
        step="sprint-9",
        progress_table=rows,
        context_primer=primer,
    )
    (ahead,) = ask(main, "status", "--worktrees")["worktrees"]
    assert (ahead["skill"], ahead["branch"], ahead["step"]) == ("build", "feature/x", "sprint-9")
    assert ahead["work_tree"] == str(topic.path)
    assert {"completed", "decided"} <= {kind for kind, _ in ahead["events"]}
    for words in (["status", "--worktrees"], ["resume", "build"], ["prime"]):
        said = run_here(*words, cwd=main.path).stdout
        assert "build on branch feature/x" in said
        assert "Tabs, not spaces" in said
    assert [one["branch"] for one in ask(main, "resume", "build")["worktrees"]] == ["feature/x"]


def test_the_main_work_tree_is_seen_from_a_linked_one(main: GitRepo, topic: GitRepo) -> None:
    write(main, updated_at="2099-01-01T00:00:00Z", step="sprint-9")
    assert [one["branch"] for one in ask(topic, "status", "--worktrees")["worktrees"]] == ["main"]
    assert ask(main, "status", "--worktrees")["worktrees"] == []


def test_a_checkpoint_that_is_only_there_is_shown_and_one_that_is_behind_is_not(
    main: GitRepo, topic: GitRepo
) -> None:
    write(topic, ".checkpoints/qa.checkpoint.json")
    write(topic, updated_at="2020-01-01T00:00:00Z")
    assert [one["skill"] for one in ask(main, "status", "--worktrees")["worktrees"]] == ["qa"]
    assert ask(main, "resume", "build")["worktrees"] == []
    assert [one["skill"] for one in ask(main, "resume", "qa")["worktrees"]] == ["qa"]


def test_a_work_tree_that_is_gone_or_detached_is_no_trouble(main: GitRepo, topic: GitRepo) -> None:
    write(topic, updated_at="2099-01-01T00:00:00Z")
    topic.git("checkout", "-q", "--detach")
    assert [one["branch"] for one in ask(main, "status", "--worktrees")["worktrees"]] == [""]
    topic.path.rename(topic.path.parent / "moved")
    assert ask(main, "status", "--worktrees")["worktrees"] == []


def test_a_broken_checkpoint_elsewhere_breaks_nothing_here(main: GitRepo, topic: GitRepo) -> None:
    topic.write(BUILD, "{")
    topic.write(".checkpoints/qa.checkpoint.json", "[1]")
    assert ask(main, "status", "--worktrees")["worktrees"] == []
    assert run_here("prime", cwd=main.path).returncode == 0


def test_a_project_below_the_top_is_found_in_the_other_work_tree(main: GitRepo) -> None:
    write(main, f"app/{BUILD}")
    main.commit()
    main.git("worktree", "add", "-q", "-b", "topic", str(main.path.parent / "tree"))
    app, there = GitRepo(main.path / "app"), GitRepo(main.path.parent / "tree" / "app")
    write(there, updated_at="2099-01-01T00:00:00Z")
    assert [one["skill"] for one in ask(app, "status", "--worktrees")["worktrees"]] == ["build"]
    assert ask(main, "status", "--worktrees")["worktrees"] == []


def test_text_from_another_work_tree_does_not_reach_the_terminal_raw(
    main: GitRepo, topic: GitRepo
) -> None:
    write(topic, updated_at="2099-01-01T00:00:00Z", step="\x1b[31mred\u202e")
    for words in (["status", "--worktrees"], ["prime"], ["resume", "build"]):
        assert not {"\x1b", "\u202e"}.intersection(run_here(*words, cwd=main.path).stdout)


def test_a_work_tree_that_git_keeps_by_a_relative_path_is_found(
    main: GitRepo, topic: GitRepo
) -> None:
    write(topic, updated_at="2099-01-01T00:00:00Z", step="sprint-9")
    main.write(".git/worktrees/tree/gitdir", "../../../../tree/.git\n")
    (found,) = ask(main, "status", "--worktrees")["worktrees"]
    assert found["work_tree"] == str(topic.path)
