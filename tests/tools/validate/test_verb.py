"""checkpoint validate: work tree, index, commits, named files."""

import json
import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.tools.validate import verb
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb
from tests.support.workflows import execution, phase

BAD = checkpoint_text(status="done")
WARNED = checkpoint_text(project_dir="here")


def test_a_valid_place_is_clean(project: Path) -> None:
    ran = run_verb(verb, cwd=project)
    assert (ran.outcome.exit_code, ran.codes) == (0, [])
    assert ran.text == "1 checkpoint: 0 errors, 0 warnings"
    assert ran.outcome.data["checked"] == [
        {"path": ".checkpoints/build.checkpoint.json", "valid": True}
    ]


def test_an_error_fails_and_says_where(build: Path, project: Path) -> None:
    build.write_text(BAD, "utf-8")
    ran = run_verb(verb, cwd=project)
    assert ran.outcome.exit_code == 1
    (finding,) = ran.outcome.findings
    assert (finding.path, finding.where, finding.line) == (
        ".checkpoints/build.checkpoint.json",
        "/status",
        10,
    )


def test_a_warning_fails_only_when_strict(build: Path, project: Path) -> None:
    build.write_text(WARNED, "utf-8")
    assert run_verb(verb, cwd=project).outcome.exit_code == 0
    assert run_verb(verb, "--strict", cwd=project).outcome.exit_code == 1


def test_named_files_and_folders_are_checked_and_no_others(build: Path, project: Path) -> None:
    build.write_text(BAD, "utf-8")
    good = project / ".checkpoints/audit.checkpoint.json"
    good.write_text(checkpoint_text(skill="audit"), "utf-8")
    assert run_verb(verb, ".checkpoints/audit.checkpoint.json", cwd=project).outcome.exit_code == 0
    assert run_verb(verb, str(build), cwd=project).outcome.exit_code == 1
    assert len(run_verb(verb, ".", cwd=project).outcome.data["checked"]) == 2
    assert len(run_verb(verb, ".checkpoints", cwd=project).outcome.data["checked"]) == 2
    ran = run_verb(verb, "../.checkpoints/audit.checkpoint.json", cwd=project / ".checkpoints")
    assert ran.outcome.data["checked"] == [
        {"path": ".checkpoints/audit.checkpoint.json", "valid": True}
    ]


def test_a_file_that_is_not_there_is_an_error(project: Path) -> None:
    with pytest.raises(CheckpointError, match="does not exist"):
        run_verb(verb, "nothing.checkpoint.json", cwd=project)


def test_a_file_of_another_name_is_a_finding(project: Path) -> None:
    (project / "state.json").write_text(checkpoint_text(), "utf-8")
    assert run_verb(verb, "state.json", cwd=project).codes == ["skill/file-name"]


def test_files_are_compared_by_their_names_and_with_each_other(repo: GitRepo) -> None:
    for skill in ("build", "Build"):
        repo.write(f".checkpoints/{skill}.checkpoint.json", checkpoint_text(skill=skill))
    repo.write("memory/state/phase.json", json.dumps(phase()))
    repo.write("memory/state/execution.json", json.dumps(execution()))
    assert run_verb(verb, cwd=repo.path).codes == ["file/name-twice"]
    repo.write("memory/state/execution.json", json.dumps(execution(workflow_id="another")))
    assert run_verb(verb, cwd=repo.path).codes == ["workflow/two-workflows", "file/name-twice"]


def test_the_index_is_checked_and_not_the_work_tree(repo: GitRepo) -> None:
    path = repo.write(".checkpoints/build.checkpoint.json", BAD)
    repo.git("add", "-A")
    path.write_text(checkpoint_text(), "utf-8")
    assert run_verb(verb, "--staged", cwd=repo.path).codes == ["skill/unknown-status"]
    repo.git("add", "-A")
    path.write_text(BAD, "utf-8")
    assert run_verb(verb, "--staged", cwd=repo.path).codes == []


def test_a_commit_is_checked_from_anywhere_in_the_repository(repo: GitRepo) -> None:
    repo.write("sub/.checkpoints/build.checkpoint.json", BAD)
    bad = repo.commit()
    repo.write("sub/.checkpoints/build.checkpoint.json", checkpoint_text())
    repo.commit()
    ran = run_verb(verb, "--rev", bad, cwd=repo.path / "sub")
    assert [finding.path for finding in ran.outcome.findings] == [
        "sub/.checkpoints/build.checkpoint.json"
    ]
    assert run_verb(verb, "--rev", "HEAD", cwd=repo.path).codes == []
    assert run_verb(verb, "--rev", bad, "docs", cwd=repo.path).outcome.data["checked"] == []
    assert len(run_verb(verb, "--rev", bad, "sub", cwd=repo.path).outcome.data["checked"]) == 1
    with pytest.raises(CheckpointError):
        run_verb(verb, "--rev", "nonsense", cwd=repo.path)


def test_what_a_merge_left_without_markers_is_told(repo: GitRepo) -> None:
    path, other = ".checkpoints/build.checkpoint.json", "pkg/.checkpoints/api.checkpoint.json"
    base = {path: checkpoint_text(), other: checkpoint_text(skill="api")}
    repo.diverge(
        base, {path: checkpoint_text(step="two")}, {other: checkpoint_text(skill="api", step="two")}
    )
    repo.git("rm", "-q", other)
    repo.git("commit", "-qm", "rm")
    repo.git("merge", "-q", "right", check=False)
    for words, codes in (
        ((), ["git/unmerged"]),
        (("--staged", "."), ["git/unmerged"]),
        ((path,), []),
    ):
        ran = run_verb(verb, *words, cwd=repo.path)
        assert ran.codes == codes
    assert (
        str(run_verb(verb, cwd=repo.path).outcome.findings[0].hint) == f"checkpoint resolve {other}"
    )


def test_outside_git_there_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not inside a git repository"):
        run_verb(verb, "--staged", cwd=tmp_path)


def test_without_a_place_the_hint_is_init(repo: GitRepo) -> None:
    with pytest.raises(CheckpointError) as caught:
        run_verb(verb, cwd=repo.path)
    assert "checkpoint init" in str(caught.value.hint)


def test_odd_files_are_findings_beside_the_good_ones(project: Path, tmp_path: Path) -> None:
    folder = project / ".checkpoints"
    (folder / "a-folder.checkpoint.json").mkdir()
    (folder / "b-link.checkpoint.json").symlink_to("/etc/hostname")
    (folder / "c-dangling.checkpoint.json").symlink_to("nowhere")
    os.mkfifo(folder / "d-pipe.checkpoint.json")
    with (folder / "e-huge.checkpoint.json").open("wb") as stream:
        stream.truncate(50 * 1024 * 1024)
    (folder / "f-empty.checkpoint.json").touch()
    ran = run_verb(verb, cwd=project)
    assert [(Path(finding.path).name[0], finding.code) for finding in ran.outcome.findings] == [
        ("a", "file/not-a-file"),
        ("b", "file/link-outside"),
        ("c", "file/missing"),
        ("d", "file/not-a-file"),
        ("e", "json/too-large"),
        ("f", "json/syntax"),
    ]
    assert {"path": ".checkpoints/build.checkpoint.json", "valid": True} in ran.outcome.data[
        "checked"
    ]


def test_a_file_name_that_is_not_text_is_shown_and_not_followed(project: Path) -> None:
    os.link(
        project / ".checkpoints/build.checkpoint.json",
        os.fsencode(project) + b"/.checkpoints/\xff.checkpoint.json",
    )
    assert run_verb(verb, cwd=project).codes == ["skill/file-name"]


def test_an_unreadable_file_is_a_finding(project: Path, build: Path) -> None:
    build.chmod(0)
    if os.access(build, os.R_OK):
        pytest.skip("this user may read every file")
    assert run_verb(verb, cwd=project).codes == ["file/unreadable"]


RUN = "4fa2159f-9c61-5f8b-9ae5-28692b46cbd7"


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """A base of two records of one run, outside git."""
    base = tmp_path / "records"
    payload = {"branch_name": "b", "commit_sha": "a1b2c3d", "files_changed": ["src/foo.py"]}
    for _ in range(2):
        words = ["write", "--ticket-id", "T-1", "--run-id", "a1b2c3d4", "--phase", "implement"]
        words += ["--timestamp", "2026-03-01T09:00:00Z"]
        done = run_here(
            "pipeline", *words, "--base", str(base), "--payload", json.dumps(payload), cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout
    return base


@pytest.mark.parametrize("below", ["", "T-1", f"T-1/{RUN}"])
def test_a_folder_of_pipeline_records_is_checked(below: str, records: Path) -> None:
    ran = run_verb(verb, str(records / below), cwd=records)
    assert (ran.outcome.exit_code, ran.text) == (0, "2 pipeline records: 0 errors, 0 warnings")
    first = records / f"T-1/{RUN}/phase_1_implement_a1.yaml"
    first.write_text(
        first.read_text("utf-8").replace("attempt_number: 1", "attempt_number: 2"), "utf-8"
    )
    ran = run_verb(verb, str(records / below), cwd=records)
    assert (ran.outcome.exit_code, ran.codes) == (1, ["pipeline/misplaced"])
    assert ran.outcome.findings[0].path == f"T-1/{RUN}/phase_1_implement_a1.yaml"


def test_a_projects_records_are_named_from_its_repository(repo: GitRepo, records: Path) -> None:
    (repo.path / ".claude").mkdir()
    records.rename(repo.path / ".claude/checkpoints")
    ran = run_verb(verb, str(repo.path), cwd=repo.path)
    assert [row["path"] for row in ran.outcome.data["checked"]] == [
        f".claude/checkpoints/T-1/{RUN}/phase_1_implement_a{number}.yaml" for number in (1, 2)
    ]


def test_at_the_top_of_a_work_tree_every_folder_is_checked_and_elsewhere_the_nearest(
    repo: GitRepo,
) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.write("pkg/a/.checkpoints/api.checkpoint.json", checkpoint_text(skill="api"))
    repo.write("pkg/b/.checkpoints/api.checkpoint.json", BAD)
    repo.write("gone/.checkpoints/api.checkpoint.json", BAD)
    repo.write(".gitignore", "gone\n")
    repo.git("add", "-A")

    def check(folder: str) -> list[str]:
        ran = run_verb(verb, cwd=repo.path / folder, env=dict(os.environ))
        return [one["path"] for one in ran.outcome.data["checked"]]

    mine, first, second = (f"{folder}.checkpoints/" for folder in ("", "pkg/a/", "pkg/b/"))
    names = [
        f"{mine}build.checkpoint.json",
        f"{first}api.checkpoint.json",
        f"{second}api.checkpoint.json",
    ]
    assert check("") == names
    # that git does not track, only the doctor looks for
    repo.write("new/.checkpoints/api.checkpoint.json", BAD)
    assert check("") == names
    repo.git("clean", "-fdq", "new")
    assert check("pkg/a") == names[1:2]
    (repo.path / names[0]).unlink()
    (repo.path / ".checkpoints").rmdir()
    assert check("") == names[1:]
