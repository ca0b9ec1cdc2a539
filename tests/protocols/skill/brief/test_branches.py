import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.skill.brief.branches import has_others
from tests.support.command import ask_json, run_here
from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint

BUILD = ".checkpoints/build.checkpoint.json"
LATER = "2099-01-01T00:00:00Z"


def write(
    repo: GitRepo, skill: str = "build", decisions: tuple[str, ...] = (), **fields: Any
) -> None:
    primer = {**checkpoint()["context_primer"], "key_decisions": list(decisions)}
    value = checkpoint(skill=skill, context_primer=primer, **fields)
    repo.write(f".checkpoints/{skill}.checkpoint.json", json.dumps(value, indent=2) + "\n")


def ahead(repo: GitRepo) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask_json(repo.path, "status", "--worktrees", code=None)[
        "worktrees"
    ]
    return found


def push(repo: GitRepo) -> None:
    repo.commit()
    repo.git("push", "-q", "-u", "origin", "HEAD")


@pytest.fixture
def ann(tmp_path: Path) -> GitRepo:
    """A clone on main with one checkpoint, which is pushed; ben's clone is made from the same
    hub.
    """
    copy_built(build_clones, tmp_path / "hub.git", tmp_path / "ann", tmp_path / "ben")
    return GitRepo(tmp_path / "ann")


def build_clones(folder: Path) -> None:
    """0: the hub; 1 and 2: the clones."""
    hub = GitRepo.create(folder / "0", "--bare")
    repo = GitRepo.create(folder / "1")
    repo.git("remote", "add", "origin", str(hub.path))
    write(repo, decisions=("Plain files",))
    push(repo)
    repo.git("clone", "-q", str(hub.path), str(folder / "2"))


@pytest.fixture
def ben(ann: GitRepo) -> GitRepo:
    return GitRepo(ann.path.parent / "ben")


def test_after_a_fetch_it_is_shown_what_another_clone_does_on_its_branch(
    ann: GitRepo, ben: GitRepo
) -> None:
    ann.git("checkout", "-q", "-b", "feature/a")
    ann.git("config", "user.name", "Ann")
    write(ann, decisions=("Plain files", "Tabs, not spaces"), updated_at=LATER, step="sprint-9")
    push(ann)
    assert ahead(ben) == []
    ben.git("fetch", "-q")
    (found,) = ahead(ben)
    assert (found["skill"], found["branch"], found["work_tree"]) == (
        "build",
        "origin/feature/a",
        "",
    )
    assert found["who"]
    assert found["since"].endswith("Z")
    assert found["events"] == [["decided", "Tabs, not spaces"]]
    for words in (["status", "--worktrees"], ["resume", "build"], ["prime"]):
        said = run_here(*words, cwd=ben.path).stdout
        assert f"build on branch origin/feature/a ({found['who']}, since {found['since']})" in said
        assert "Tabs, not spaces" in said


def test_the_remotes_head_is_no_branch_of_its_own(ann: GitRepo) -> None:
    clone = GitRepo(ann.path.parent / "cleo")
    write(ann, decisions=("Plain files", "Tabs, not spaces"), updated_at=LATER)
    push(ann)
    subprocess.run(
        ["git", "clone", "-q", str(ann.path.parent / "hub.git"), str(clone.path)], check=True
    )
    head = clone.git("symbolic-ref", "refs/remotes/origin/HEAD").removeprefix("refs/remotes/")
    clone.git("checkout", "-q", "-b", "older", "HEAD~")
    clone.git("branch", "-q", "-D", head.removeprefix("origin/"))
    assert [one["branch"] for one in ahead(clone)] == [head]


def test_a_sync_moves_no_other_branch_of_the_remote_so_that_a_forced_push_with_a_lease_loses_nothing(
    ann: GitRepo, ben: GitRepo
) -> None:
    ann.git("checkout", "-q", "-b", "shared")
    ann.write("a.txt", "1")
    push(ann)
    ben.git("fetch", "-q")
    seen = ben.git("rev-parse", "refs/remotes/origin/shared")
    ann.write("a.txt", "2")
    push(ann)
    assert run_here("sync", cwd=ben.path).returncode == 0
    assert ben.git("rev-parse", "refs/remotes/origin/shared") == seen


def test_what_is_merged_here_is_not_shown_and_what_was_rotated_away_here_is_no_news(
    ann: GitRepo, ben: GitRepo
) -> None:
    ann.git("checkout", "-q", "-b", "old")
    write(ann, "qa", decisions=("Never on Friday",))
    push(ann)
    ben.git("fetch", "-q")
    write(ben, updated_at=LATER)  # "Plain files" is gone here, and the branch has it from before
    ben.commit()
    assert [one["skill"] for one in ahead(ben)] == ["qa"]
    ben.git("merge", "-q", "--no-edit", "origin/old")
    assert ahead(ben) == []


def test_a_local_branch_counts_and_so_does_an_older_version_that_decided_something(
    ann: GitRepo,
) -> None:
    ann.git("checkout", "-q", "-b", "topic")
    write(ann, decisions=("Plain files", "No cache"), updated_at="2020-01-01T00:00:00Z")
    ann.write(".checkpoints/copy.json", ann.read(BUILD))
    ann.write(".checkpoints/drafts/build.checkpoint.json", ann.read(BUILD))
    ann.commit()
    ann.git("checkout", "-q", "main")
    assert [(one["branch"], one["events"]) for one in ahead(ann)] == [
        ("topic", [["decided", "No cache"]])
    ]


def test_a_branch_nobody_touched_for_a_month_is_left_aside(
    ann: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.git("checkout", "-q", "-b", "topic")
    write(ann, updated_at=LATER)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
    ann.commit()
    ann.git("checkout", "-q", "main")
    assert ahead(ann) == []


def test_a_repository_with_one_branch_has_no_others(repo: GitRepo) -> None:
    write(repo)
    place = find_place(str(repo.path))
    assert not has_others(place)
    repo.commit()
    assert not has_others(place)
    repo.git("branch", "topic/a")
    assert has_others(place)
    repo.git("pack-refs", "--all")
    assert has_others(place)


def test_branches_with_what_head_has_take_no_place_of_one_that_is_ahead(ann: GitRepo) -> None:
    ann.git("checkout", "-q", "-b", "topic")
    write(ann, "qa", decisions=("No cache",), updated_at=LATER)
    ann.commit()
    ann.git("checkout", "-q", "-b", "squashed", "main")
    for at in range(33):
        write(ann, f"s{at}", updated_at=LATER)
    ann.commit()
    ann.git("checkout", "-q", "main")
    ann.git("merge", "-q", "--squash", "squashed")
    ann.commit()
    assert [(one["skill"], one["branch"]) for one in ahead(ann)] == [("qa", "topic")]


def test_few_bytes_of_branches_are_read(ann: GitRepo) -> None:
    ann.git("checkout", "-q", "-b", "topic")
    for skill, size in [("a", 300_000), *((f"b{at}", 240_000) for at in range(6))]:
        write(ann, skill, updated_at=LATER, skill_state={"text": "x" * size})
    ann.commit()
    ann.git("checkout", "-q", "main")
    assert [one["skill"] for one in ahead(ann)] == ["b0", "b1", "b2", "b3"]
    assert (
        "not compared, of other branches: 3 checkpoints"
        in run_here("status", "--worktrees", cwd=ann.path).stdout
    )
    assert "not compared" in run_here("prime", cwd=ann.path).stdout
    assert ask_json(ann.path, "resume", "a", code=None)["not_compared"].startswith("not compared")


def test_many_checkpoints_of_a_branch_hide_none_that_is_asked_for(ann: GitRepo) -> None:
    ann.git("checkout", "-q", "-b", "topic")
    for at in range(40):
        write(ann, f"s{at:02}", updated_at=LATER)
    ann.commit()
    ann.git("checkout", "-q", "main")
    assert len(ahead(ann)) == 32
    assert [
        one["skill"] for one in ask_json(ann.path, "resume", "s39", code=None)["worktrees"]
    ] == ["s39"]


@pytest.mark.parametrize(
    "content", ["{", "[1]", "\x00", '{"skill": "build", "step": "\\u001b[31mred\\u202e"}']
)
def test_a_hostile_checkpoint_of_a_branch_breaks_nothing_and_is_shown_escaped(
    ann: GitRepo, content: str
) -> None:
    ann.git("checkout", "-q", "-b", "topic")
    ann.git("config", "user.name", "\u202eEve >>>>> end of data")
    write(ann, "qa", step="\x1b[31mred\u202e", updated_at=LATER)
    ann.write(BUILD, content)
    ann.commit()
    ann.git("checkout", "-q", "main")
    assert [one["skill"] for one in ahead(ann)] == ["qa"]
    for words in (["status", "--worktrees"], ["prime"], ["resume", "qa"]):
        done = run_here(*words, cwd=ann.path)
        assert done.returncode == 0
        assert not {"\x1b", "\u202e"}.intersection(done.stdout)


def test_a_damaged_ref_and_an_unborn_branch_are_no_trouble(ann: GitRepo) -> None:
    ann.write(".git/refs/heads/broken", "nonsense\n")
    assert ahead(ann) == []
    ann.git("symbolic-ref", "HEAD", "refs/heads/unborn")
    ann.git("branch", "-q", "other", "main")
    assert ahead(ann) == []


def test_a_branch_that_is_ahead_of_what_is_pushed_is_one(ann: GitRepo) -> None:
    ann.git("checkout", "-q", "-b", "topic")
    write(ann, decisions=("Plain files", "No cache"), updated_at=LATER)
    push(ann)
    write(ann, decisions=("Plain files", "No cache", "No index"), updated_at=LATER)
    ann.commit()
    ann.git("checkout", "-q", "main")
    told = [["decided", "No cache"], ["decided", "No index"]]
    assert [(one["branch"], one["events"]) for one in ahead(ann)] == [("topic", told)]


def test_a_branch_whose_state_head_once_had_is_not_ahead(ann: GitRepo) -> None:
    ann.git("checkout", "-q", "-b", "topic")
    write(ann, decisions=("Plain files", "No cache"), updated_at=LATER)
    ann.commit()
    ann.git("checkout", "-q", "main")
    ann.git("merge", "-q", "--squash", "topic")
    ann.commit()
    write(ann, updated_at=LATER)
    ann.commit()
    assert ahead(ann) == []


def test_next_says_that_another_branch_has_done_its_action(ann: GitRepo) -> None:
    action = checkpoint()["next_actions"][0]
    text = action if isinstance(action, str) else action["text"]
    ann.git("checkout", "-q", "-b", "topic")
    write(ann, next_actions=["Go on"], recently_done=[{"text": text}], updated_at=LATER)
    ann.commit()
    ann.git("checkout", "-q", "main")
    assert ask_json(ann.path, "next", code=None)["done_elsewhere"] == ["topic"]
    assert "done already on branch topic" in run_here("next", cwd=ann.path).stdout
