"""checkpoint update, its refusals, and what survives of a crowd of writers and of a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.skill.verbs import update
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import NOON, run_verb, seconds

WRITER = (
    "import sys, time\n"
    "from checkpoint_git.protocols.skill.verbs.update import update\n"
    "from checkpoint_git.disk.discover import find_place\n"
    "from checkpoint_git.protocols.skill.edit.parse import parse_edits\n"
    "place = find_place(sys.argv[1])\n"
    "for word in sys.argv[2:]:\n"
    "    assert not update(place, 'build', parse_edits([word]), int(time.time())).written.refused\n"
    "    print(word, flush=True)\n"
)


def start_writer(root: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root), *words], stdout=subprocess.PIPE, text=True
    )


def read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_only_what_changed_changes_in_the_file(build: Path, project: Path) -> None:
    before = build.read_text("utf-8")
    ran = run_verb(update, "build", "--phase=review", cwd=project)
    expected = before.replace('"phase": "build-loop"', '"phase": "review"').replace(
        "2026-03-02T09:30:00Z", NOON
    )
    assert build.read_text("utf-8") == expected
    assert ran.outcome.exit_code == 0
    assert ran.outcome.data["fields"] == ["phase"]
    assert ran.outcome.data["updated_at"] == NOON


def test_the_file_keeps_its_own_style_and_number_tokens(build: Path, project: Path) -> None:
    text = (
        checkpoint_text(skill_state={"n": 0})
        .replace('"n": 0', '"n": 9007199254740993.0, "m" : 1.50')
        .replace("\n", "\r\n")
    )
    build.write_bytes(text.encode())
    run_verb(update, "build", "--skill_state.n:json=2.00", cwd=project)
    written = build.read_bytes().decode()
    assert '"n": 2.00, "m" : 1.50' in written
    assert written.count("\r\n") == text.count("\r\n")


def test_lists_objects_and_rows_in_one_go(build: Path, project: Path) -> None:
    run_verb(
        update,
        "build",
        "--context_primer.key_decisions+=No cookies",
        '--blockers+:json={"id": "b1", "description": "No key", "needs": "user_decision", "blocking": "sprint-2"}',
        "--progress_table[sprint-2].status=complete",
        "--next_actions.0=Write it",
        cwd=project,
    )
    value = read(build)
    assert value["context_primer"]["key_decisions"][-1] == "No cookies"
    assert value["blockers"][0]["id"] == "b1"
    assert value["progress_table"][2]["status"] == "complete"
    assert value["next_actions"][0] == "Write it"


def test_a_missing_checkpoint_is_started_and_valid(project: Path) -> None:
    ran = run_verb(update, "deploy", "--phase=staging", cwd=project)
    value = read(project / ".checkpoints/deploy.checkpoint.json")
    assert ran.outcome.exit_code == 0
    assert ran.outcome.data["created"]
    assert (value["skill"], value["project"], value["project_dir"]) == ("deploy", "repo", ".")
    assert (value["protocol_version"], value["status"], value["phase"]) == (
        "1.0",
        "in_progress",
        "staging",
    )
    assert value["created_at"] == value["updated_at"] == NOON
    assert len(value["next_actions"]) == 1


def test_a_started_checkpoint_takes_its_actions_from_the_edits(project: Path) -> None:
    run_verb(update, "deploy", "--next_actions+=Ship it", cwd=project)
    assert read(project / ".checkpoints/deploy.checkpoint.json")["next_actions"] == ["Ship it"]


def test_a_checkpoint_started_as_complete_needs_no_action(project: Path) -> None:
    run_verb(update, "deploy", "--status=complete", cwd=project)
    assert read(project / ".checkpoints/deploy.checkpoint.json")["next_actions"] == []


def test_it_works_outside_git(tmp_path: Path) -> None:
    (tmp_path / ".checkpoints").mkdir()
    run_verb(update, "build", cwd=tmp_path)
    assert names_in(tmp_path / ".checkpoints") == [".lock", "build.checkpoint.json"]


def test_it_writes_into_the_nearest_place_from_a_folder_below(repo: GitRepo) -> None:
    repo.write("api/.checkpoints/README.md", "")
    repo.write("api/src/deep/file", "")
    repo.write(".checkpoints/README.md", "")
    ran = run_verb(update, "build", cwd=repo.path / "api/src/deep")
    assert ran.outcome.data["path"] == "api/.checkpoints/build.checkpoint.json"
    assert (repo.path / "api/.checkpoints/build.checkpoint.json").exists()


def test_without_a_place_the_hint_is_init(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError) as caught:
        run_verb(update, "build", cwd=tmp_path)
    assert "checkpoint init" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("--status=nearly", "skill/unknown-status"),
        ("--next_actions:json=[]", "skill/next-actions-empty"),
        ("--blockers=none", "skill/wrong-type"),
        ("--skill=deploy", "skill/file-name"),
        ("--created_at=2026-13-45T00:00:00Z", "skill/timestamp"),
        (
            '--progress_table+:json={"id": "plan", "label": "Again", "status": "complete"}',
            "skill/row-id-twice",
        ),
    ],
)
def test_a_new_error_is_refused_and_nothing_written(
    build: Path, project: Path, word: str, code: str
) -> None:
    before = build.read_bytes()
    ran = run_verb(update, "build", word, cwd=project)
    assert ran.codes == [code]
    assert ran.outcome.findings[0].path == ".checkpoints/build.checkpoint.json"
    assert ran.outcome.exit_code == 1
    assert ran.outcome.data["written"] is False
    assert build.read_bytes() == before


def test_an_invalid_file_can_be_mended_step_by_step(build: Path, project: Path) -> None:
    rows = [
        {"id": "a", "label": "A", "status": "complete"},
        {"id": "a", "label": "B", "status": "complete"},
    ]
    build.write_text(
        checkpoint_text(status="done", progress_table=rows, updated_at="2026-13-45"), "utf-8"
    )
    ran = run_verb(update, "build", "--status=complete", cwd=project)
    assert ran.outcome.exit_code == 0
    assert ran.outcome.data["errors_left"] == 1
    assert "errors left from before: 1" in ran.text
    ran = run_verb(update, "build", "--progress_table.1.id=b", cwd=project)
    assert ran.outcome.data["errors_left"] == 0
    assert read(build)["updated_at"] == NOON


def test_a_file_that_is_not_json_is_refused_and_kept(build: Path, project: Path) -> None:
    for text in ("null", "[]", "{", "<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n", ""):
        build.write_text(text)
        ran = run_verb(update, "build", "--step=x", cwd=project)
        assert ran.outcome.exit_code == 1
        assert ran.outcome.findings
        assert build.read_text() == text


def test_warnings_that_arise_are_told_and_those_that_were_there_are_not(
    build: Path, project: Path
) -> None:
    ran = run_verb(update, "build", "--project_dir=here", cwd=project)
    assert ran.codes == ["skill/relative-project-dir"]
    assert ran.outcome.exit_code == 0
    assert run_verb(update, "build", "--step=x", cwd=project).codes == []


def test_the_version_becomes_1_1_only_when_a_field_of_1_1_is_written(
    build: Path, project: Path
) -> None:
    run_verb(update, "build", "--step=x", cwd=project)
    assert read(build)["protocol_version"] == "1.0"
    run_verb(update, "build", "--cost.total_usd:json=1.50", cwd=project)
    assert read(build)["protocol_version"] == "1.1"
    assert '"total_usd": 1.50' in build.read_text("utf-8")


def test_a_clock_that_is_behind_never_takes_the_stamp_back(build: Path, project: Path) -> None:
    ran = run_verb(update, "build", "--step=x", cwd=project, now="2026-03-01T23:00:00Z")
    assert read(build)["updated_at"] == "2026-03-02T09:30:00Z"
    assert read(build)["step"] == "x"
    assert "clock" in ran.text


def test_a_stamp_that_was_set_by_name_is_kept(build: Path, project: Path) -> None:
    run_verb(update, "build", "--updated_at=2026-03-02T08:00:00Z", cwd=project)
    assert read(build)["updated_at"] == "2026-03-02T08:00:00Z"


def test_another_skills_checkpoint_is_not_written(build: Path, project: Path) -> None:
    before = build.read_bytes()
    with pytest.raises(CheckpointError, match="CHECKPOINT_SKILL"):
        run_verb(update, "build", "--step=x", cwd=project, env={"CHECKPOINT_SKILL": "deploy"})
    assert build.read_bytes() == before
    run_verb(update, "build", "--step=x", cwd=project, env={"CHECKPOINT_SKILL": "build"})


@pytest.mark.parametrize("name", ["../build", "/etc/x", "a/b", ".git", "con"])
def test_a_skill_that_is_a_path_is_refused(project: Path, name: str) -> None:
    with pytest.raises(CheckpointError, match="invalid name"):
        run_verb(update, name, "--step=x", cwd=project)


def test_a_link_out_of_the_repository_is_neither_read_nor_written(
    build: Path, project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(checkpoint_text(), "utf-8")
    build.unlink()
    build.symlink_to(outside)
    ran = run_verb(update, "build", "--step=x", cwd=project)
    assert ran.codes == ["file/link-outside"]
    assert outside.read_text("utf-8") == checkpoint_text()
    assert build.is_symlink()


@pytest.mark.parametrize(
    ("name", "target"), [("build", "../state.json"), ("alias", "build.checkpoint.json")]
)
def test_a_link_within_the_repository_is_not_written_through(
    build: Path, project: Path, name: str, target: str
) -> None:
    before = build.read_bytes()
    (project / "state.json").write_bytes(before)
    link = build.with_name(f"{name}.checkpoint.json")
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    with pytest.raises(CheckpointError, match="symbolic link"):
        run_verb(update, name, "--step=x", cwd=project)
    assert (link.is_symlink(), link.read_bytes()) == (True, before)


def test_a_full_disk_leaves_the_checkpoint_as_it_was(build: Path, project: Path) -> None:
    before = build.read_bytes()
    script = (
        "import resource, sys\n"
        "from checkpoint_git.core.errors import CheckpointError\n"
        "from checkpoint_git.protocols.skill.verbs.update import update\n"
        "from checkpoint_git.disk.discover import find_place\n"
        "from checkpoint_git.protocols.skill.edit.parse import parse_edits\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
        "try:\n    update(find_place(sys.argv[1]), 'build', parse_edits(['--step=x']), 0)\n"
        "except CheckpointError as error:\n    sys.exit(2)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(project)], check=False).returncode == 2
    assert build.read_bytes() == before
    assert names_in(build.parent) == ["build.checkpoint.json"]


@pytest.mark.parametrize("count", [8, pytest.param(20, marks=pytest.mark.deep)])
def test_processes_at_once_all_leave_their_mark(build: Path, project: Path, count: int) -> None:
    writers = [
        start_writer(
            project,
            *(f"--context_primer.key_decisions+=writer {n} mark {mark}" for mark in range(3)),
        )
        for n in range(count)
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * count
    for writer in writers:
        writer.communicate()
    decisions = read(build)["context_primer"]["key_decisions"]
    assert sorted(decisions[2:]) == sorted(
        f"writer {n} mark {mark}" for n in range(count) for mark in range(3)
    )
    assert names_in(build.parent) == ["build.checkpoint.json"]


@pytest.mark.parametrize("kills", [10, pytest.param(60, marks=pytest.mark.deep)])
def test_a_kill_at_any_instant_leaves_a_readable_file_and_every_acknowledged_write(
    build: Path, project: Path, kills: int
) -> None:
    """Writers, each killed a little later than the one before it, then one that is let live."""
    said: list[str] = []
    for kill in range(kills):
        words = [f"--skill_state.marks+=kill {kill} mark {mark}" for mark in range(200)]
        writer = start_writer(project, *words)
        assert writer.stdout is not None
        said.append(writer.stdout.readline())  # it is at work now
        time.sleep(kill / kills * 0.01)
        os.kill(writer.pid, signal.SIGKILL)
        said += writer.communicate()[0].splitlines(keepends=True)
        json.loads(build.read_bytes())
    run_verb(update, "build", "--step=after", cwd=project)
    marks = set(read(build)["skill_state"]["marks"])
    acknowledged = {line.partition("+=")[2].strip() for line in said if line.endswith("\n")}
    assert len(acknowledged) >= kills
    assert acknowledged <= marks
    assert names_in(build.parent) == ["build.checkpoint.json"]


def test_a_field_of_ones_own_is_written_where_it_is_asked_for_or_there_already(
    build: Path, project: Path
) -> None:
    with pytest.raises(CheckpointError, match="unknown field"):
        run_verb(update, "build", "--mood=calm", cwd=project)
    run_verb(update, "build", "--new-field", "--mood=calm", "--stp=x", cwd=project)
    run_verb(update, "build", "--mood=wild", cwd=project)
    assert (read(build)["mood"], read(build)["stp"]) == ("wild", "x")


def test_an_entry_that_no_edit_touched_is_not_called_removed(build: Path, project: Path) -> None:
    build.write_text(
        checkpoint_text(skill_state={"notes": ["Keep"], "flags": [{"name": True}, {"id": None}]})
    )
    ran = run_verb(update, "build", "--step=sprint-3", cwd=project)
    assert (ran.outcome.data["written"], ran.outcome.data["removed"]) == (True, {})
    ran = run_verb(update, "build", "--skill_state.notes-=Keep", cwd=project)
    assert ran.outcome.data["removed"]["skill_state.notes"] == ["Keep"]


def test_no_edits_only_stamp(build: Path, project: Path) -> None:
    ran = run_verb(update, "build", cwd=project)
    assert ran.outcome.data["fields"] == []
    assert seconds(read(build)["updated_at"]) == seconds(NOON)


def test_a_checkpoint_that_the_next_clone_will_not_have_is_told(repo: GitRepo) -> None:
    path = ".checkpoints/build.checkpoint.json"
    repo.write(".checkpoints/README.md", "")
    assert run_verb(update, "build", cwd=repo.path).outcome.data["git"] == "untracked"
    repo.write(".gitignore", ".checkpoints\n")
    ran = run_verb(update, "build", "--step=x", cwd=repo.path)
    assert ran.outcome.data["git"] == "ignored"
    assert f"git add -f {path}" in ran.text
    repo.git("add", "-f", path)
    assert run_verb(update, "build", "--step=y", cwd=repo.path).outcome.data["git"] is None


def test_a_file_of_another_version_is_not_written(build: Path, project: Path) -> None:
    build.write_text(checkpoint_text(protocol_version="2.0"), "utf-8")
    before = build.read_bytes()
    ran = run_verb(update, "build", "--step=x", cwd=project)
    assert (ran.codes, ran.outcome.exit_code) == (["skill/protocol-version"], 1)
    assert "--protocol_version=1.0" in str(ran.outcome.findings[0].hint)
    assert build.read_bytes() == before
    assert run_verb(update, "build", "--protocol_version=1.0", cwd=project).outcome.exit_code == 0


def test_two_names_that_differ_in_capital_letters_are_refused(build: Path, project: Path) -> None:
    with pytest.raises(CheckpointError, match="only in case"):
        run_verb(update, "Build", "--step=x", cwd=project)
    assert names_in(build.parent) == ["build.checkpoint.json"]


def test_two_names_that_differ_in_how_an_accent_is_written_are_refused(project: Path) -> None:
    composed, two_characters = "caf\u00e9", "cafe\u0301"
    run_verb(update, composed, "--step=x", cwd=project)
    with pytest.raises(CheckpointError, match="how accents are written: macOS sees one file"):
        run_verb(update, two_characters, "--step=y", cwd=project)
    with pytest.raises(CheckpointError, match="how accents are written"):
        run_verb(update, two_characters.upper(), "--step=y", cwd=project)


def test_what_is_not_in_git_is_added_by_the_printed_command_from_where_it_was_printed(
    repo: GitRepo,
) -> None:
    repo.write(".checkpoints/deploy.checkpoint.json", checkpoint_text(skill="deploy"))
    deep = repo.path / "a folder/deep"
    deep.mkdir(parents=True)
    said = run_verb(update, "build", "--step=x", cwd=deep).text
    assert "not in git yet: git add ../../.checkpoints/build.checkpoint.json" in said
    again = run_verb(update, "build", "--step=y", cwd=deep)
    assert (again.outcome.data["git"], "not in git yet" in again.text) == ("untracked", False)
    repo.run("git", "add", "../../.checkpoints/build.checkpoint.json", cwd=deep)
    assert run_verb(update, "build", "--step=z", cwd=deep).outcome.data["git"] is None


@pytest.mark.parametrize(
    "words", [["--step", "s2", "build"], ["--step=s1", "--next", "Write the tests", "build"]]
)
def test_a_value_before_the_name_is_not_taken_for_the_name(
    words: list[str], build: Path, project: Path
) -> None:
    before = build.read_bytes()
    ran = run_here("update", *words, cwd=project)
    assert (ran.returncode, "NAME comes before --" in ran.stderr) == (2, True)
    assert (build.read_bytes(), os.listdir(build.parent)) == (before, [build.name])
    assert run_here("update", "--step=s2", "build", cwd=project).returncode == 0
