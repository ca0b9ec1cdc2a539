"""checkpoint audit --all: what real merges in real repositories did."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.tools.merges import audit
from tests.scenarios.driven import PATH, branch_with, drive
from tests.support.command import run_checkpoint
from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint_text
from tests.support.verbs import Ran, run_verb

R1, R2, R3 = ({"at": f"2026-03-0{day}T00:00:00Z", "verdict": "PASS"} for day in (1, 2, 3))


def text(*runs: Any, **fields: Any) -> str:
    return checkpoint_text(skill_state={"run_history": list(runs)}, **fields)


@pytest.fixture
def diverged(repo: GitRepo) -> GitRepo:
    """Both branches logged a run; left also decided another step; left is checked out, the driver
    is set up.
    """
    copy_built(build_diverged, repo.path)
    return repo


def build_diverged(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    drive(repo)
    repo.diverge({PATH: text(R1)}, {PATH: text(R1, R2, step="sprint-3")}, {PATH: text(R1, R3)})


def merge(repo: GitRepo, content: str | bytes | None = None, other: str = "right") -> None:
    """A merge of another branch, its result replaced by the content given."""
    repo.run("git", "merge", "-q", "--no-commit", other)
    if content is not None:
        repo.write(PATH, content)
    repo.commit("a merge")


def entries(ran: Ran) -> list[tuple[str, str]]:
    """(verdict, name) of every entry of every file."""
    return [
        (entry["verdict"], entry["name"])
        for found in ran.outcome.data["merges"]
        for file in found["files"]
        for entry in file["entries"]
    ]


def test_the_drivers_own_merge_loses_nothing(diverged: GitRepo) -> None:
    merge(diverged)
    ran = run_verb(audit, "--all", cwd=diverged.path)
    assert ran.outcome.exit_code == 0
    assert [verdict for verdict, _ in entries(ran)] == ["first", "first", "second"]
    assert "the checkpoint driver gets the same result" in ran.text


def test_an_entry_that_a_side_added_and_nobody_has_now_is_lost(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2, step="sprint-3"))
    ran = run_verb(audit, "--all", cwd=diverged.path)
    assert ran.outcome.exit_code == 1
    assert ran.outcome.data["counts"]["lost"] == 1
    (lost,) = [line for line in ran.text.splitlines() if line.lstrip().startswith("lost")]
    assert "skill_state.run_history[" in lost
    assert "the second parent added it" in lost
    assert "with another result at /skill_state/run_history" in ran.text


def test_values_are_there_for_programs_and_absent_is_left_out(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2, step="sprint-3"))
    (found,) = run_verb(audit, "--all", "HEAD", cwd=diverged.path).outcome.data["merges"]
    (lost,) = [entry for entry in found["files"][0]["entries"] if entry["verdict"] == "lost"]
    assert (lost["side"], lost["values"]) == ("second", {"second": R3})
    assert found["files"][0]["driver"]["differences"] == ("/skill_state/run_history",)
    assert found["parents"] == diverged.git("rev-parse", "HEAD^1", "HEAD^2").split()
    assert found["bases"] == [diverged.git("rev-parse", "main")]


def test_single_files_of_a_merge_can_be_asked_for(diverged: GitRepo) -> None:
    other = ".checkpoints/audit.checkpoint.json"
    diverged.git("checkout", "-q", "right")
    diverged.write(other, checkpoint_text(skill="audit"))
    diverged.commit("audit")
    diverged.git("checkout", "-q", "left")
    diverged.run("git", "merge", "-q", "--no-commit", "right")
    (diverged.path / other).unlink()
    merge(diverged, text(R1, R2, step="sprint-3"))
    for paths in ([PATH], [other], [f"./{other}", PATH]):
        (found,) = run_verb(audit, "--all", "HEAD", "--", *paths, cwd=diverged.path).outcome.data[
            "merges"
        ]
        assert [file["path"] for file in found["files"]] == sorted(
            path.removeprefix("./") for path in paths
        )
    with pytest.raises(CheckpointError, match="did nothing at readme"):
        run_verb(audit, "--all", "HEAD", "readme", cwd=diverged.path)


def test_a_decision_fails_only_when_strict(diverged: GitRepo) -> None:
    diverged.git("checkout", "-q", "right")
    diverged.write(PATH, text(R1, R3, step="sprint-4"))
    diverged.commit("another step")
    diverged.git("checkout", "-q", "left")
    merge(diverged, text(R1, R2, R3, step="sprint-3"))
    ran = run_verb(audit, "--all", cwd=diverged.path)
    assert ran.outcome.exit_code == 0
    assert ("decided", "step") in entries(ran)
    assert "would ask for a decision: /step" in ran.text
    assert run_verb(audit, "--all", "--strict", cwd=diverged.path).outcome.exit_code == 1


def test_conflict_markers_that_were_committed_fail(diverged: GitRepo) -> None:
    merge(diverged, "<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n")
    ran = run_verb(audit, "--all", cwd=diverged.path)
    assert (ran.outcome.exit_code, entries(ran)) == (1, [("mixed-up", "(the file)")])


def test_a_range_tells_every_merge_of_checkpoints(diverged: GitRepo) -> None:
    merge(diverged)
    first = diverged.git("rev-parse", "HEAD")
    branch_with(diverged, "more", text(R1, R3, {**R3, "verdict": "FAIL"}), "right")
    diverged.git("checkout", "-q", "left")
    merge(diverged, text(R1, R2, R3, step="sprint-3"), "more")
    ran = run_verb(audit, "--all", "main..left", cwd=diverged.path)
    assert [found["commit"] for found in ran.outcome.data["merges"]] == [
        diverged.git("rev-parse", "HEAD"),
        first,
    ]
    assert ran.outcome.exit_code == 1
    assert run_verb(audit, "--all", f"main..{first}", cwd=diverged.path).outcome.exit_code == 0
    ran = run_verb(audit, "--all", "main..main", cwd=diverged.path)
    assert (ran.outcome.exit_code, ran.outcome.data["merges"]) == (0, [])


def test_a_criss_cross_is_compared_with_the_merge_of_its_bases(repo: GitRepo) -> None:
    drive(repo)
    repo.write(PATH, text(R1))
    repo.commit("base")
    branch_with(repo, "left", text(R1, R2))
    branch_with(repo, "right", text(R1, R3))
    left, right = repo.git("rev-parse", "left"), repo.git("rev-parse", "right")
    for branch, other, step in (("left", right, "sprint-2"), ("right", left, "sprint-5")):
        repo.git("checkout", "-q", branch)
        repo.git("merge", "-q", "--no-edit", other)
        repo.write(PATH, text(R1, R2, R3, step=step))
        repo.commit("on")
    merge(repo, other="left")
    ran = run_verb(audit, "--all", cwd=repo.path)
    assert "the parents have 2 merge bases" in ran.text
    assert (ran.outcome.exit_code, entries(ran)) == (0, [("first", "step")])


def test_a_merge_of_unrelated_histories_is_told_without_a_base(diverged: GitRepo) -> None:
    diverged.git("checkout", "-q", "--orphan", "other")
    diverged.write(PATH, text(R1, R3))
    diverged.commit("other")
    diverged.git("checkout", "-q", "left")
    diverged.git("merge", "-q", "--no-commit", "--allow-unrelated-histories", "-s", "ours", "other")
    diverged.commit("joined")
    ran = run_verb(audit, "--all", cwd=diverged.path)
    assert "no common ancestor" in ran.text
    assert ran.outcome.exit_code == 1
    assert [verdict for verdict, _ in entries(ran)] == ["decided", "first", "lost"]


def test_an_octopus_with_three_changes_of_one_file_is_not_explained(diverged: GitRepo) -> None:
    branch_with(diverged, "third", text(R1, step="x"))
    tree = diverged.git("rev-parse", "left^{tree}")
    commit = diverged.git(
        "commit-tree", tree, "-p", "left", "-p", "right", "-p", "third", "-m", "octopus"
    )
    ran = run_verb(audit, "--all", commit, cwd=diverged.path)
    assert ran.outcome.exit_code == 0
    assert "more than two parents changed it: not judged" in ran.text


def test_the_schema_that_this_clone_merges_by_is_used(diverged: GitRepo, tmp_path: Path) -> None:
    schema = tmp_path / "private.json"
    schema.write_text(json.dumps({"properties": {"seen": {"x-merge": {"strategy": "sum"}}}}))
    command = diverged.git("config", "merge.checkpoint.driver")
    words = command.replace("%O %A", f"--merge-schema '{schema}' %O %A", 1)
    diverged.git("config", "merge.checkpoint.driver", words)
    diverged.git("checkout", "-q", "main")
    diverged.write(PATH, checkpoint_text(skill_state={"seen": 1}))
    diverged.commit("seen")
    branch_with(diverged, "one", checkpoint_text(skill_state={"seen": 2}))
    branch_with(diverged, "two", checkpoint_text(skill_state={"seen": 3}))
    merge(diverged, other="one")
    ran = run_verb(audit, "--all", cwd=diverged.path)
    assert (ran.outcome.exit_code, entries(ran)) == (0, [("combined", "skill_state.seen")])
    schema.write_text("{")
    with pytest.raises(CheckpointError, match="cannot be read"):
        run_verb(audit, "--all", cwd=diverged.path)


def test_a_shallow_clone_fails_with_a_hint_and_a_range_says_what_it_cannot_tell(
    diverged: GitRepo, tmp_path: Path
) -> None:
    merge(diverged)
    diverged.git(
        "clone",
        "-q",
        "--depth",
        "1",
        "--branch",
        "left",
        f"file://{diverged.path}",
        str(tmp_path / "clone"),
    )
    with pytest.raises(CheckpointError) as caught:
        run_verb(audit, "--all", cwd=tmp_path / "clone")
    assert "--unshallow" in str(caught.value.hint)
    ran = run_verb(audit, "--range", "HEAD", cwd=tmp_path / "clone")
    assert ran.outcome.exit_code == 0
    assert "cannot be judged: this clone was cut off there" in ran.text


def test_text_from_a_checkpoint_reaches_the_terminal_escaped(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2, {"at": "\x1b[31mred", "\x1b[0m": 1}, step="sprint-3"))
    done = run_checkpoint("explain-merge", "HEAD", cwd=diverged.path)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    done = run_checkpoint("explain-merge", "--json", cwd=diverged.path)
    assert json.loads(done.stdout)["counts"]["lost"] == 1


def test_outside_a_repository_it_could_not_run(tmp_path: Path) -> None:
    assert run_checkpoint("explain-merge", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("rev", "said"),
    [
        ("left", "it has one parent"),
        ("main", "it has no parent"),
        ("nonsense", "invalid range"),
        ("HEAD:readme", "invalid range"),
        ("a..b", "invalid range"),
    ],
)
def test_what_is_no_merge_is_refused(rev: str, said: str, diverged: GitRepo) -> None:
    with pytest.raises(CheckpointError, match=said):
        run_verb(audit, "--all", rev, cwd=diverged.path)
