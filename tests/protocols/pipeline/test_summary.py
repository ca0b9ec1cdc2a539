"""Pipeline records in `checkpoint status`, and in what the doctor asks about them."""

import os
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.pipeline import layout, summary
from checkpoint_git.protocols.pipeline.store import find_bases
from checkpoint_git.protocols.pipeline.summary import is_present
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.status import verb as status
from tests.support.records import RUN, TICKET, put_record, put_text
from tests.support.repos import GitRepo
from tests.support.verbs import run_verb


@pytest.fixture
def base(project: Path, repo: GitRepo) -> Path:
    """A folder of records in the project, named by the setting."""
    folder = project / "records"
    repo.git("config", "checkpoint.pipelineDir", str(folder))
    put_record(folder)
    put_record(folder, attempt=2)
    put_record(folder, "create_pr")
    return folder


def test_status_shows_runs_beside_the_skills(base: Path, project: Path) -> None:
    ran = run_verb(status, cwd=project)
    assert f"{TICKET} | {RUN[:8]} | implement, create_pr | 3" in ran.text
    assert ran.outcome.data["pipelines"] == [
        {
            "ticket_id": TICKET,
            "run_id": RUN,
            "phases": ["implement", "create_pr"],
            "attempts": 3,
            "folder": f"records/{TICKET}/{RUN}",
        }
    ]


@pytest.mark.parametrize("words", [["build"], ["--brief"], ["--since", "2026-01-01"]])
def test_a_narrower_status_says_nothing_of_them(
    base: Path, project: Path, words: list[str]
) -> None:
    assert "pipelines" not in run_verb(status, *words, cwd=project).outcome.data


def test_a_project_without_records_is_not_asked_about_them(project: Path) -> None:
    assert not is_present(find_place(str(project)))
    assert "pipelines" not in run_verb(status, cwd=project).outcome.data


def test_the_usual_folder_counts_without_a_setting(project: Path) -> None:
    put_record(project / ".claude/checkpoints")
    assert len(run_verb(status, cwd=project).outcome.data["pipelines"]) == 1


def test_a_setting_that_names_the_usual_folder_counts_once(project: Path, repo: GitRepo) -> None:
    put_record(project / ".claude/checkpoints")
    repo.git("config", "checkpoint.pipelineDir", ".claude/checkpoints")
    assert len(run_verb(status, cwd=project).outcome.data["pipelines"]) == 1


def test_a_linked_worktree_has_the_setting_of_its_repository(
    base: Path, repo: GitRepo, tmp_path: Path
) -> None:
    repo.commit()
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    place = find_place(str(tmp_path / "linked"))
    assert is_present(place)
    assert find_bases(place, os.environ) == [str(base)]


def test_many_runs_are_cut_short(base: Path, project: Path) -> None:
    for number in range(30):
        put_record(base, run_id=f"00000000-0000-4000-8000-{number:012}")
    ran = run_verb(status, cwd=project)
    assert len(ran.outcome.data["pipelines"]) == 31
    assert "11 more" in ran.text


def ask_doctor(project: Path) -> list[tuple[str, str]]:
    """What the doctor's checks of records find: code and file name."""
    found = run_verb(doctor, "--check", "pipeline", cwd=project).outcome.findings
    return [(each.code, each.path.rpartition("/")[2]) for each in found]


def test_the_doctor_finds_nothing_about_good_records(
    base: Path, project: Path, repo: GitRepo
) -> None:
    repo.commit()
    assert ask_doctor(project) == []


def test_the_doctor_names_broken_records_and_changed_ones(
    base: Path, project: Path, repo: GitRepo
) -> None:
    repo.commit()
    put_text(base, "phase_2_local_review_a1.yaml", "a: [")
    put_record(base, artifact_paths=["other"])
    (base / TICKET / RUN / "phase_3_create_pr_a1.yaml").unlink()
    misnamed = base / TICKET / "my-run/phase_1_implement_a1.yaml"
    misnamed.parent.mkdir()
    misnamed.write_text("a: b")
    assert sorted(ask_doctor(project)) == [
        ("pipeline/broken", "phase_1_implement_a1.yaml"),
        ("pipeline/broken", "phase_2_local_review_a1.yaml"),
        ("pipeline/changed", "phase_1_implement_a1.yaml"),
        ("pipeline/changed", "phase_3_create_pr_a1.yaml"),
    ]


def test_the_doctor_names_a_record_whose_commit_was_reverted(
    base: Path, project: Path, repo: GitRepo
) -> None:
    repo.commit()
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repo.git("revert", "--no-edit", "HEAD")
    (project / ".checkpoints").mkdir()
    found = run_verb(doctor, "--check", "pipeline", cwd=project).outcome.findings
    assert {each.code for each in found} == {"pipeline/changed"}
    assert all("removed in a commit" in each.message for each in found)
    for each in found:
        subprocess.run(
            ["sh", "-c", str(each.hint).replace("commit --", "commit -m back --")],
            check=True,
            cwd=project,
        )
    assert ask_doctor(project) == []
    repo.git("symbolic-ref", "HEAD", "refs/heads/without-a-commit")
    assert ask_doctor(project) == []


def test_a_folder_that_a_branch_has_linked_elsewhere_is_not_the_projects(project: Path) -> None:
    put_record(project.parent / "out")
    (project / ".claude").mkdir()
    (project / ".claude/checkpoints").symlink_to(project.parent / "out")
    assert run_verb(status, cwd=project).outcome.data.get("pipelines", []) == []


def test_a_look_at_a_project_knows_the_usual_folder() -> None:
    assert summary._BASE == layout.BASE
