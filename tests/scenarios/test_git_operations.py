"""Whatever git calls ours and theirs: merge, rebase, cherry-pick, revert, stash, am, in both
directions.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.git.driver_settings import Choices
from tests.merge.choosing import OURS, THEIRS, keep_side
from tests.scenarios.driven import PACKAGE, PATH, branch_with, drive
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo, copy_built
from tests.support.samples import checkpoint, checkpoint_text

R1, R2, R3 = ({"at": f"2026-03-0{day}T00:00:00Z", "verdict": "PASS"} for day in (1, 2, 3))
ROWS = checkpoint()["progress_table"]


def rows(*statuses: str) -> list[dict[str, str]]:
    return [{**row, "status": status} for row, status in zip(ROWS, statuses, strict=True)]


BASE: dict[str, Any] = {
    "next_actions": ["one", "two", "three"],
    "progress_table": rows("in_progress", "not_started", "not_started"),
    "skill_state": {"run_history": [R1]},
}
LEFT: dict[str, Any] = {
    "next_actions": ["two", "three"],
    "recently_done": [{"text": "one", "at": "2026-03-03T00:00:00Z"}],
    "progress_table": rows("complete", "not_started", "not_started"),
    "skill_state": {"run_history": [R1, R2]},
    "updated_at": "2026-03-03T00:00:00Z",
}
RIGHT: dict[str, Any] = {
    "next_actions": ["one", "two", "three", "four"],
    "progress_table": rows("in_progress", "in_progress", "not_started"),
    "skill_state": {"run_history": [R1, R3]},
    "updated_at": "2026-03-04T00:00:00Z",
}
BOTH: dict[str, Any] = {
    "next_actions": ["two", "three", "four"],
    "recently_done": [{"text": "one", "at": "2026-03-03T00:00:00Z"}],
    "progress_table": rows("complete", "in_progress", "not_started"),
    "skill_state": {"run_history": [R1, R2, R3]},
    "updated_at": "2026-03-04T00:00:00Z",
}


@pytest.fixture
def diverged(repo: GitRepo) -> GitRepo:
    """Two branches from one base, left and right, that both went on; main is the base."""
    copy_built(build_diverged, repo.path)
    return repo


def build_diverged(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    drive(repo)
    base, left, right = ({PATH: checkpoint_text(**fields)} for fields in (BASE, LEFT, RIGHT))
    repo.diverge(base, left, right)


def merge(repo: GitRepo, ours: str, theirs: str) -> None:
    repo.git("checkout", "-q", ours)
    repo.git("merge", "-q", "--no-edit", theirs)


def rebase(repo: GitRepo, ours: str, theirs: str) -> None:
    repo.git("rebase", "-q", ours, theirs)


def rebase_with_patches(repo: GitRepo, ours: str, theirs: str) -> None:
    repo.git("rebase", "-q", "--apply", ours, theirs)


def cherry_pick(repo: GitRepo, ours: str, theirs: str) -> None:
    repo.git("checkout", "-q", ours)
    repo.git("cherry-pick", theirs)


def stash_pop(repo: GitRepo, ours: str, theirs: str) -> None:
    repo.git("checkout", "-q", "main")
    repo.write(PATH, repo.git("show", f"{theirs}:{PATH}") + "\n")
    repo.git("stash", "-q")
    repo.git("checkout", "-q", ours)
    repo.git("stash", "pop", "-q")


def checkout_with_merge(repo: GitRepo, ours: str, theirs: str) -> None:
    repo.git("checkout", "-q", "main")
    repo.write(PATH, repo.git("show", f"{theirs}:{PATH}") + "\n")
    repo.git("checkout", "-q", "-m", ours)


def apply_mail(repo: GitRepo, ours: str, theirs: str) -> None:
    patch = repo.git("format-patch", "-1", theirs, "-o", str(repo.path.parent / "mail"))
    repo.git("checkout", "-q", ours)
    repo.git("am", "-q", "-3", patch)


OPERATIONS = [
    merge,
    rebase,
    rebase_with_patches,
    cherry_pick,
    stash_pop,
    checkout_with_merge,
    apply_mail,
]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("ours", "theirs"), [("left", "right"), ("right", "left")])
def test_work_of_both_sides_comes_together_without_a_question(
    diverged: GitRepo, operation: Callable[[GitRepo, str, str], None], ours: str, theirs: str
) -> None:
    operation(diverged, ours, theirs)
    assert json.loads(diverged.read(PATH)) == checkpoint(**BOTH)
    assert diverged.git("ls-files", "--unmerged") == ""


def test_a_revert_takes_back_only_what_the_commit_did(diverged: GitRepo) -> None:
    merge(diverged, "left", "right")
    diverged.git("revert", "--no-edit", "HEAD^1")
    value = json.loads(diverged.read(PATH))
    assert value["next_actions"] == ["one", *BOTH["next_actions"]]
    assert value["progress_table"] == RIGHT["progress_table"]
    assert value["skill_state"] == RIGHT["skill_state"]


@NEEDS_MERGE_TREE
def test_a_merge_computed_without_a_work_tree_is_the_same(diverged: GitRepo) -> None:
    tree = diverged.git("merge-tree", "--write-tree", "left", "right").splitlines()[0]
    assert json.loads(diverged.git("show", f"{tree}:{PATH}")) == checkpoint(**BOTH)


@pytest.fixture
def conflicting(repo: GitRepo) -> GitRepo:
    """Two branches that say different things about where the work stands; left is checked out, and
    shall be asked.
    """
    copy_built(build_conflicting, repo.path)
    return repo


def build_conflicting(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    drive(repo, choices=Choices(narrative="conflict"))
    repo.write(PATH, checkpoint_text(**BASE))
    repo.commit("base")
    branch_with(repo, "left", checkpoint_text(**{**LEFT, "step": "left-step"}))
    branch_with(repo, "right", checkpoint_text(**{**RIGHT, "step": "right-step"}))
    repo.git("checkout", "-q", "left")


def test_a_real_conflict_stops_the_merge_with_everything_else_merged(conflicting: GitRepo) -> None:
    assert conflicting.exit_code("merge", "right") == 1
    text = conflicting.read(PATH)
    assert json.loads(keep_side(text, OURS)) == checkpoint(**BOTH, step="left-step")
    assert json.loads(keep_side(text, THEIRS)) == checkpoint(**BOTH, step="right-step")
    assert conflicting.git("ls-files", "--unmerged").count(PATH) == 3


def test_a_conflict_resolved_once_is_replayed(conflicting: GitRepo) -> None:
    conflicting.git("config", "rerere.enabled", "true")
    conflicting.git("config", "rerere.autoUpdate", "true")
    assert conflicting.exit_code("merge", "right") == 1
    resolved = keep_side(conflicting.read(PATH), THEIRS)
    conflicting.write(PATH, resolved)
    conflicting.commit("resolved by hand")
    conflicting.git("reset", "-q", "--hard", "HEAD^1")
    conflicting.exit_code("merge", "right")
    assert conflicting.read(PATH) == resolved
    assert conflicting.git("ls-files", "--unmerged") == ""


def test_a_merge_that_ran_without_the_driver_can_be_run_again(conflicting: GitRepo) -> None:
    conflicting.git("config", "--remove-section", "merge.checkpoint")
    assert conflicting.exit_code("merge", "right") == 1
    drive(conflicting, choices=Choices(narrative="conflict"))
    conflicting.git("checkout", "--merge", "--", PATH)
    assert json.loads(keep_side(conflicting.read(PATH), OURS)) == checkpoint(
        **BOTH, step="left-step"
    )


@pytest.mark.parametrize("narrative", ["auto", "newest"])
def test_the_newer_head_is_taken_and_the_other_kept_and_told(
    conflicting: GitRepo, narrative: Any
) -> None:
    drive(conflicting, choices=Choices(narrative=narrative))
    told = conflicting.run("git", "merge", "-q", "--no-edit", "right").stderr.decode()
    value = json.loads(conflicting.read(PATH))
    assert value["step"] == "right-step"
    assert [record["step"] for record in value["superseded"]] == ["left-step"]
    assert (
        "both sides changed step; the newer side's stays, the other's is kept in /superseded"
        in told
    )


def test_a_rebase_of_several_commits_onto_a_newer_head_keeps_the_last_of_theirs(
    repo: GitRepo,
) -> None:
    drive(repo)
    repo.write(PATH, checkpoint_text())
    repo.commit("base")
    branch_with(repo, "newer", checkpoint_text(step="newer", updated_at="2026-04-01T00:00:00Z"))
    repo.git("checkout", "-q", "-b", "work", "main")
    for day in (1, 2, 3):
        repo.write(
            PATH, checkpoint_text(step=f"work-{day}", updated_at=f"2026-03-1{day}T00:00:00Z")
        )
        repo.commit(f"work {day}")
    repo.git("rebase", "-q", "newer")
    value = json.loads(repo.read(PATH))
    assert value["step"] == "newer"
    assert [record["step"] for record in value["superseded"]] == ["work-3"]


def test_a_criss_cross_merge_sets_each_head_aside_once(repo: GitRepo) -> None:
    drive(repo)
    base, left, right = (
        checkpoint_text(step=at, updated_at=f"2026-03-1{at}T00:00:00Z") for at in "123"
    )
    repo.diverge({PATH: base}, {PATH: left}, {PATH: right})
    tips = repo.git("rev-parse", "left"), repo.git("rev-parse", "right")
    for branch, other in (("left", tips[1]), ("right", tips[0])):
        repo.git("checkout", "-q", branch)
        repo.git("merge", "-q", "--no-edit", other)
        value = json.loads(repo.read(PATH))
        repo.write(PATH, json.dumps({**value, f"of_{branch}": 1}, indent=2) + "\n")
        repo.commit(f"work on {branch}")
    repo.git("merge", "-q", "--no-edit", "left")
    value = json.loads(repo.read(PATH))
    assert (value["step"], [record["step"] for record in value["superseded"]]) == ("3", ["2"])


def test_a_file_added_on_both_sides_is_merged(repo: GitRepo) -> None:
    drive(repo)
    repo.commit("empty")
    branch_with(repo, "left", checkpoint_text(blockers=[], created_at="2026-02-01T00:00:00Z"))
    branch_with(repo, "right", checkpoint_text(pm_refs=[{"provider": "linear", "id": "A-1"}]))
    repo.git("merge", "-q", "--no-edit", "left")
    value = json.loads(repo.read(PATH))
    assert value["created_at"] == "2026-02-01T00:00:00Z"
    assert value["pm_refs"] == [{"provider": "linear", "id": "A-1"}]


def test_a_criss_cross_history_merges_with_valid_bases(repo: GitRepo) -> None:
    drive(repo)
    repo.write(PATH, checkpoint_text(**BASE))
    repo.commit("base")
    branch_with(repo, "left", checkpoint_text(**{**BASE, "step": "left-1"}))
    branch_with(repo, "right", checkpoint_text(**{**BASE, "step": "right-1"}))
    left, right = repo.git("rev-parse", "left"), repo.git("rev-parse", "right")
    for branch, other, step in (("left", right, "left-2"), ("right", left, "right-2")):
        repo.git("checkout", "-q", branch)
        repo.exit_code("merge", other)
        repo.write(PATH, checkpoint_text(**{**BASE, "step": step}))
        repo.commit(step)
    repo.git("checkout", "-q", "left")
    done = repo.run("git", "merge", "right")
    assert done.returncode == 1
    assert b"falling back" not in done.stderr + done.stdout
    text = repo.read(PATH)
    assert json.loads(keep_side(text, OURS))["step"] == "left-2"
    assert json.loads(keep_side(text, THEIRS))["step"] == "right-2"


def test_a_renamed_file_merges_under_its_new_name(diverged: GitRepo) -> None:
    new_path = PATH.replace("build", "craft")
    diverged.git("checkout", "-q", "left")
    diverged.git("mv", PATH, new_path)
    diverged.commit("rename")
    diverged.git("merge", "-q", "--no-edit", "right")
    assert json.loads(diverged.read(new_path))["next_actions"] == BOTH["next_actions"]


@pytest.mark.parametrize("attribute", ["eol=crlf", "eol=lf"])
def test_line_ends_follow_the_attributes(repo: GitRepo, attribute: str) -> None:
    drive(repo)
    repo.write(".gitattributes", f"*.json text {attribute}\n")
    repo.write(PATH, checkpoint_text(**BASE))
    repo.commit("base")
    branch_with(repo, "left", checkpoint_text(**LEFT))
    branch_with(repo, "right", checkpoint_text(**RIGHT))
    repo.git("merge", "-q", "--no-edit", "left")
    text = repo.read(PATH)
    assert json.loads(text) == checkpoint(**BOTH)
    assert ("\r\n" in text) == (attribute == "eol=crlf")
    assert repo.git("status", "--porcelain") == ""


def test_marker_size_is_the_attributes(conflicting: GitRepo) -> None:
    conflicting.write(".gitattributes", f"{PATH} conflict-marker-size=12\n")
    conflicting.commit("longer markers")
    assert conflicting.exit_code("merge", "right") == 1
    assert f"{'<' * 12} ours: /step\n" in conflicting.read(PATH)


@pytest.mark.parametrize(
    ("python", "package"), [("/nowhere/python", PACKAGE), (sys.executable, "/nowhere")]
)
def test_without_interpreter_or_driver_gits_text_merge_leaves_both_sides(
    conflicting: GitRepo, python: str, package: str
) -> None:
    drive(conflicting, python, package)
    done = conflicting.run("git", "merge", "right")
    assert done.returncode == 1
    text = conflicting.read(PATH)
    assert "<<<<<<< ours" in text
    assert '"left-step"' in text
    assert '"right-step"' in text
    assert conflicting.run("git", "diff", "main", "left").returncode == 0


def test_a_driver_that_crashes_leaves_both_sides(conflicting: GitRepo, tmp_path: Path) -> None:
    broken = tmp_path / "it's 100% broken" / "checkpoint_git"
    broken.mkdir(parents=True)
    for code in (
        "raise SystemExit(1)",
        "import os; os.kill(os.getpid(), 9)",
        "1/0",
        "syntax error",
    ):
        (broken / "driver.py").write_text(code)
        drive(conflicting, package=str(broken))
        assert conflicting.exit_code("merge", "right") == 1
        text = conflicting.read(PATH)
        assert '"left-step"' in text
        assert '"right-step"' in text
        conflicting.git("merge", "--abort")


def test_the_driver_works_from_a_repository_with_an_awkward_path(tmp_path: Path) -> None:
    repo = GitRepo.create(tmp_path / 'it\'s a "repö" 100%')
    drive(repo)
    repo.write(PATH, checkpoint_text(**BASE))
    repo.commit("base")
    branch_with(repo, "left", checkpoint_text(**LEFT))
    branch_with(repo, "right", checkpoint_text(**RIGHT))
    repo.git("merge", "-q", "--no-edit", "left")
    assert json.loads(repo.read(PATH)) == checkpoint(**BOTH)


def test_a_sparse_checkout_without_the_file_merges_it_all_the_same(diverged: GitRepo) -> None:
    diverged.git("checkout", "-q", "left")
    diverged.write("docs/a.md", "a")
    diverged.commit("docs")
    diverged.git("sparse-checkout", "set", "docs")
    assert not (diverged.path / PATH).exists()
    diverged.git("merge", "-q", "--no-edit", "right")
    assert json.loads(diverged.git("show", f"HEAD:{PATH}")) == checkpoint(**BOTH)
