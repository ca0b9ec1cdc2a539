"""checkpoint done: the queue, the proof, the question."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.skill.verbs import done
from tests.support.command import run_checkpoint
from tests.support.samples import checkpoint_text
from tests.support.verbs import NOON, run_verb


def read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value


def test_the_first_action_moves_to_recently_done(build: Path, project: Path) -> None:
    ran = run_verb(done, "build", cwd=project)
    value = read(build)
    assert value["next_actions"] == [{"text": "Run the evaluator", "done_when": "make eval"}]
    assert value["recently_done"] == [{"text": "Write the notes API", "at": NOON}]
    assert value["updated_at"] == NOON
    assert (ran.outcome.data["done"], ran.outcome.data["next"]) == (
        "Write the notes API",
        "Run the evaluator",
    )


def test_the_newest_comes_first_and_ten_are_kept(build: Path, project: Path) -> None:
    build.write_text(checkpoint_text(next_actions=[f"a{n}" for n in range(14)]), "utf-8")
    for _ in range(12):
        run_verb(done, "build", cwd=project)
    assert [each["text"] for each in read(build)["recently_done"]] == [
        f"a{n}" for n in range(11, 1, -1)
    ]


def test_an_action_with_a_command_keeps_it_in_the_record(build: Path, project: Path) -> None:
    run_verb(done, "build", cwd=project)
    run_verb(done, "build", "--complete", cwd=project)
    assert read(build)["recently_done"][0] == {
        "text": "Run the evaluator",
        "done_when": "make eval",
        "at": NOON,
    }


def test_the_last_action_of_running_work_needs_a_successor(build: Path, project: Path) -> None:
    build.write_text(checkpoint_text(next_actions=["only"]), "utf-8")
    before = build.read_bytes()
    ran = run_verb(done, "build", cwd=project)
    assert ran.codes == ["done/last-action"]
    assert ran.outcome.exit_code == 1
    hint = str(ran.outcome.findings[0].hint)
    assert (
        'checkpoint done build --next "..."; or if all is done: checkpoint done build --complete'
        in hint
    )
    assert "done: " not in ran.text
    assert "next: " not in ran.text
    assert build.read_bytes() == before


def test_next_puts_the_new_action_first(build: Path, project: Path) -> None:
    ran = run_verb(done, "build", "--next", "Write the docs", cwd=project)
    assert read(build)["next_actions"][0] == "Write the docs"
    assert ran.outcome.data["next"] == "Write the docs"


def test_complete_ends_the_work(build: Path, project: Path) -> None:
    build.write_text(checkpoint_text(next_actions=["only"]), "utf-8")
    run_verb(done, "build", "--complete", cwd=project)
    assert (read(build)["status"], read(build)["next_actions"]) == ("complete", [])


def test_complete_with_work_left_names_the_status_and_no_next_action(
    build: Path, project: Path
) -> None:
    before = build.read_bytes()
    with pytest.raises(CheckpointError, match='1 other action would be left: "Run the evaluator"'):
        run_verb(done, "build", "--complete", cwd=project)
    assert build.read_bytes() == before
    ran = run_verb(done, "build", "--complete", "--force", cwd=project)
    assert "the status is complete" in ran.text
    assert "next: " not in ran.text
    assert ran.outcome.data["fields"] == ["next_actions", "recently_done", "status"]


def test_the_last_action_of_work_that_is_not_running_needs_nothing(
    build: Path, project: Path
) -> None:
    build.write_text(checkpoint_text(status="complete", next_actions=["tidy up"]), "utf-8")
    assert run_verb(done, "build", cwd=project).outcome.exit_code == 0


def test_nothing_to_do_is_said(build: Path, project: Path) -> None:
    build.write_text(checkpoint_text(status="complete", next_actions=[]), "utf-8")
    assert run_verb(done, "build", cwd=project).codes == ["done/no-action"]


def test_a_skill_without_a_checkpoint_is_an_error_that_names_the_others(project: Path) -> None:
    with pytest.raises(CheckpointError) as caught:
        run_verb(done, "deploy", cwd=project)
    assert "build" in str(caught.value.hint)
    assert not (project / ".checkpoints/deploy.checkpoint.json").exists()


@pytest.mark.parametrize("text", [" ", "", "caf\udce9"])
def test_a_next_action_that_says_nothing_is_refused(build: Path, project: Path, text: str) -> None:
    before = build.read_bytes()
    with pytest.raises(CheckpointError):
        run_verb(done, "build", "--next", text, cwd=project)
    assert build.read_bytes() == before


def test_half_a_letter_in_the_file_survives_the_move(build: Path, project: Path) -> None:
    build.write_text(
        checkpoint_text().replace("Write the notes API", "Write \\ud83d half"), "utf-8"
    )
    run_verb(done, "build", cwd=project)
    assert '"Write \\ud83d half"' in build.read_text("utf-8")


def test_another_skills_action_is_not_taken(project: Path) -> None:
    with pytest.raises(CheckpointError):
        run_verb(done, "build", cwd=project, env={"CHECKPOINT_SKILL": "deploy"})


def with_command(build: Path, command: str) -> None:
    build.write_text(
        checkpoint_text(next_actions=[{"text": "Make it", "done_when": command}, "then"]), "utf-8"
    )


def test_a_command_is_never_run_unasked(build: Path, project: Path) -> None:
    with_command(build, "touch ran")
    ran = run_verb(done, "build", cwd=project)
    assert ran.outcome.exit_code == 0
    assert not (project / "ran").exists()


def test_verify_refuses_where_nobody_can_be_asked(build: Path, project: Path) -> None:
    with_command(build, "touch ran")
    before = build.read_bytes()
    ran = run_verb(done, "build", "--verify", cwd=project)
    assert ran.codes == ["done/not-confirmed"]
    assert ran.outcome.exit_code == 1
    assert not (project / "ran").exists()
    assert build.read_bytes() == before


def test_verify_for_a_program_answers_with_json_alone_and_holds_the_command(
    build: Path, project: Path
) -> None:
    with_command(build, "echo hello; exit 3")
    refused = run_checkpoint("done", "build", "--verify", "--json", cwd=project)
    assert (refused.returncode, refused.stderr) == (1, "")
    assert json.loads(refused.stdout)["done_when"] == "echo hello; exit 3"
    failed = run_checkpoint("done", "build", "--verify", "--yes", "--json", cwd=project)
    assert (failed.returncode, failed.stderr) == (1, "hello\n")
    assert json.loads(failed.stdout)["findings"][0]["code"] == "done/not-verified"


def test_verify_shows_the_command_escaped_and_takes_no_for_an_answer(
    build: Path, project: Path
) -> None:
    with_command(build, "touch ran \x1b[8m; rm -rf x")
    ran = run_verb(done, "build", "--verify", cwd=project, answer="n\n")
    assert "touch ran \\x1b[8m; rm -rf x" in ran.stderr
    assert "\x1b" not in ran.stderr
    assert ran.codes == ["done/not-confirmed"]
    assert not (project / "ran").exists()


def test_verify_runs_in_the_repositorys_root_once_a_person_agrees(
    build: Path, project: Path
) -> None:
    with_command(build, "touch ran && test -d .git")
    ran = run_verb(done, "build", "--verify", cwd=project / ".checkpoints", answer="y\n")
    assert ran.outcome.exit_code == 0
    assert ran.outcome.data["verified"] is True
    assert (project / "ran").exists()
    assert read(build)["next_actions"] == ["then"]


def test_a_command_that_fails_keeps_the_action(build: Path, project: Path) -> None:
    with_command(build, "exit 7")
    before = build.read_bytes()
    ran = run_verb(done, "build", "--verify", "--yes", cwd=project)
    assert ran.codes == ["done/not-verified"]
    assert "exit code 7" in ran.outcome.findings[0].message
    assert build.read_bytes() == before


def test_an_action_without_a_command_cannot_be_verified(build: Path, project: Path) -> None:
    ran = run_verb(done, "build", "--verify", "--yes", cwd=project)
    assert ran.codes == ["done/no-done-when"]
    assert len(read(build)["next_actions"]) == 2


def test_an_action_that_changed_while_its_command_ran_is_not_taken(
    build: Path, project: Path
) -> None:
    with_command(build, "perl -pi -e 's/Make it/Make another/' .checkpoints/build.checkpoint.json")
    ran = run_verb(done, "build", "--verify", "--yes", cwd=project)
    assert ran.codes == ["done/action-changed"]
    assert read(build)["next_actions"][0]["text"] == "Make another"


def test_what_the_command_prints_does_not_mix_with_our_answer(
    build: Path, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with_command(build, "echo noise")
    run_verb(done, "build", "--verify", "--yes", cwd=project)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "noise\n")


def test_a_record_that_is_no_list_is_left_alone_and_nothing_is_popped(
    build: Path, project: Path
) -> None:
    build.write_text(checkpoint_text(recently_done="yesterday: much"), "utf-8")
    before = build.read_bytes()
    ran = run_verb(done, "build", cwd=project)
    assert [finding.code for finding in ran.outcome.findings] == ["done/no-record"]
    assert build.read_bytes() == before
