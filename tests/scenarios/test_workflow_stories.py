"""Workflows where state is usually lost: git in between, the seed's own hands, odd files and
clocks.
"""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import run_here
from tests.support.repos import GitRepo, environ_in
from tests.support.workflows import execution, phase, read_json, task, write_output, write_workflow

DEMAND, DESIGN = "memory/reports/demand.json", "memory/reports/final_design.json"
PHASE, EXECUTION = "memory/state/phase.json", "memory/state/execution.json"


def flow(folder: Path, *words: str) -> dict[str, Any]:
    """The answer as JSON, its exit code beside it."""
    done = run_here("workflow", *words, "--json", cwd=folder)
    return {**json.loads(done.stdout), "code": done.returncode}


def utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def current(seconds: float = 3600) -> dict[str, str]:
    return {"started_at": utc(-seconds), "last_updated": utc(-60)}


def test_git_clean_takes_the_reports_and_the_phase_is_not_over(repo: GitRepo) -> None:
    flow(repo.path, "start", "login")
    write_output(repo.path, DEMAND)
    flow(repo.path, "advance", "--yes")
    shutil.rmtree(repo.path / "memory/reports")
    answer = flow(repo.path, "resume", "--yes")
    assert answer["code"] != 0
    assert answer["corrupt"]


def test_a_branch_switch_brings_another_branchs_result_and_it_is_not_this_ones(
    repo: GitRepo,
) -> None:
    write_output(repo.path, DEMAND, {"of": "another branch"})
    repo.commit()
    flow(repo.path, "start", "login")
    answer = flow(repo.path, "resume", "--yes")
    assert (answer["action"], answer["agent"]) == ("spawn", "PM")


def test_reset_hard_brings_back_a_tracked_state_and_it_is_told(repo: GitRepo) -> None:
    flow(repo.path, "start", "login")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "start")
    write_output(repo.path, DEMAND)
    flow(repo.path, "advance", "--yes")
    repo.git("reset", "-q", "--hard")
    answer = flow(repo.path, "resume", "--yes")
    # the result lies there, untracked
    assert (answer["phase"], answer["action"]) == (
        "REQUIREMENTS",
        "ask_approval",
    )


@pytest.mark.parametrize(
    "when", ["2026-03-01T08:00:00", "2026-03-01T08:00:00+0000", "2026-03-01T08:00Z"]
)
def test_the_seeds_iso_8601_is_read(tmp_path: Path, when: str) -> None:
    write_workflow(tmp_path, phase(started_at=when, last_updated=when))
    assert flow(tmp_path, "validate")["valid"]
    assert flow(tmp_path, "resume", "--yes")["decision"] == "resume"


def test_an_agent_that_writes_the_files_by_hand_is_resumed(tmp_path: Path) -> None:
    value = {
        "workflow_id": "by-hand", "started_at": utc(-600), "last_updated": utc(-60),
        "current_phase": "ARCHITECTURE", "phase_status": "in_progress",
        "completed_phases": [{"phase": "REQUIREMENTS", "completed_at": utc(-300), "output": DEMAND}],
        "user_checkpoints": [{"phase": "REQUIREMENTS", "approved_at": utc(-200)}], "interruption_safe": True,
    }  # fmt: skip
    write_output(tmp_path, DEMAND)
    (tmp_path / "memory/state").mkdir()
    (tmp_path / PHASE).write_text(json.dumps(value))
    write_output(tmp_path, "memory/reports/designs/one.json")
    done = run_here("workflow", "resume", "--yes", cwd=tmp_path)
    for said in ("Detected interrupted workflow: by-hand", "Resuming workflow by-hand from ARCHITECTURE phase",
                 "Last activity:", "Completed: REQUIREMENTS", "designs/one.json"):  # fmt: skip
        assert said in done.stdout
    assert (
        json.loads(run_here("workflow", "status", "--json", cwd=tmp_path).stdout)["action"]
        == "ask_approval"
    )


def test_a_half_written_file_beside_the_state_is_no_corruption(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(**current()))
    (tmp_path / f"{PHASE}.tmp").write_text('{"workflow_id": "lo')
    assert flow(tmp_path, "resume", "--yes")["decision"] == "resume"


def test_interruption_safe_false_alone_is_no_corruption(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(interruption_safe=False, **current()))
    assert flow(tmp_path, "resume", "--yes")["decision"] == "resume"


def test_an_ancient_workflow_is_continued_with_caution(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(started_at=utc(-8 * 86400), last_updated=utc(-7 * 86400)))
    assert flow(tmp_path, "resume")["stale"]
    done = run_here("workflow", "resume", "--yes", cwd=tmp_path)
    assert "proceed with caution" in done.stdout


def test_a_clock_that_went_back_writes_no_time_before_the_start(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(started_at=utc(200), last_updated=utc(200)))
    assert flow(tmp_path, "save")["code"] == 0
    value = read_json(tmp_path / PHASE)
    assert value["last_updated"] >= value["started_at"]


def test_a_folder_of_spaces_and_bytes_holds_a_workflow(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a b \xff"))
    folder.mkdir()
    assert flow(folder, "start", "login")["code"] == 0
    write_output(folder, DEMAND)
    assert flow(folder, "advance", "--yes")["following"] == "ARCHITECTURE"


def test_a_fifo_in_the_place_of_a_result_is_not_waited_for(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase(**current()))
    (tmp_path / "memory/reports").mkdir()
    os.mkfifo(tmp_path / DEMAND)
    answer = flow(tmp_path, "resume", "--yes")
    assert (answer["action"], answer["agent"]) == ("spawn", "PM")


NOTHING = (
    "",
    "null",
    "{}",
    "[]",
    "[null]",
    '{"status": null}',
    "{",
    '{"status": "In progress"}',
    '{"status": "todo"}',
)
FAILURE = (
    '{"status": "failed"}',
    '"failed"',
    '{"success": "false"}',
    '{"result": "FAIL"}',
    '{"status": "timed out"}',
)


@pytest.mark.parametrize("content", [*NOTHING, *FAILURE])
def test_a_result_that_says_nothing_or_failure_ends_no_phase(tmp_path: Path, content: str) -> None:
    write_workflow(tmp_path, phase("VERIFICATION"), execution(task("a", "complete")))
    write_output(tmp_path, "memory/reports/verification.json", content)
    assert flow(tmp_path, "advance")["code"] == 1
    assert read_json(tmp_path / PHASE)["current_phase"] == "VERIFICATION"


def test_both_files_gone_astray_are_archived_and_never_deleted(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase())
    (tmp_path / PHASE).write_text("{broken")
    answer = flow(tmp_path, "start", "next", "--fresh")
    archived = tmp_path / answer["archive"]
    assert (archived / "phase.json").read_text() == "{broken"
    assert (archived / "execution.json").exists()


def test_a_clean_merge_that_reopens_a_task_is_told(repo: GitRepo) -> None:
    write_workflow(repo.path, phase("VERIFICATION"), execution(task("a", "complete"), task("b")))
    answer = flow(repo.path, "resume", "--yes")
    assert (answer["action"], answer["tasks"]) == ("ask", ["b"])
    assert flow(repo.path, "advance")["code"] == 1


def finish(repo: GitRepo) -> None:
    for path in ("memory/reports/verification.json", "memory/reports/reflection.json"):
        flow(repo.path, "advance")
        write_output(repo.path, path)
    flow(repo.path, "advance")


def begin(repo: GitRepo) -> None:
    """At IMPLEMENTATION on main and on fin, all tasks complete."""
    write_workflow(
        repo.path,
        phase("IMPLEMENTATION"),
        execution(*(task(f"t{at}", "complete") for at in range(9))),
    )
    repo.commit("base")
    repo.git("checkout", "-q", "-b", "fin")


def add_task(repo: GitRepo) -> None:
    repo.git("checkout", "-q", "main")
    value = read_json(repo.path / EXECUTION)
    (repo.path / EXECUTION).write_text(
        json.dumps({**value, "tasks": [*value["tasks"], task("open")]}, indent=2) + "\n"
    )
    repo.commit("open")


@pytest.mark.parametrize("here", ["main", "fin"])
def test_what_one_branch_archived_never_takes_what_another_did_meanwhile(
    repo: GitRepo, here: str
) -> None:
    begin(repo)
    finish(repo)
    (archive,) = (repo.path / "memory/state/.archive").iterdir()
    repo.commit("fin")
    add_task(repo)
    repo.git("checkout", "-q", here)
    repo.git("merge", "-q", "main" if here == "fin" else "fin", check=False)
    assert "open" not in (archive / "execution.json").read_text()
    assert run_here("resolve", cwd=repo.path).returncode == 1
    run_here("resolve", "--take", "ours" if here == "main" else "theirs", cwd=repo.path)
    assert '"open"' in (repo.path / EXECUTION).read_text()


@pytest.mark.parametrize(
    "path", [PHASE, EXECUTION, "memory/./state/phase.json", "memory", "link.json"]
)
def test_a_workflows_own_state_is_no_result(tmp_path: Path, path: str) -> None:
    write_workflow(tmp_path, phase("IMPLEMENTATION"), execution(task()))
    (tmp_path / "link.json").symlink_to(tmp_path / PHASE)
    for words in (("task", "start", "t1"), ("task", "done", "t1"), ("advance",)):
        if words == ("advance",):  # the result of IMPLEMENTATION is its tasks
            write_workflow(tmp_path, phase("REQUIREMENTS"), execution(task()))
        answer = flow(tmp_path, *words, "--output", path)
        assert (answer["code"], answer["findings"][0]["code"]) == (1, "workflow/output-outside")
    by_hand = execution(task("t1", "complete", output=path))
    (tmp_path / EXECUTION).write_text(json.dumps(by_hand))
    assert "workflow/output-outside" in [
        one["code"] for one in flow(tmp_path, "validate")["findings"]
    ]


def test_a_recovered_task_is_told_as_what_its_output_says(tmp_path: Path) -> None:
    rows = [
        task(name, "running", output=name) for name in ("folder", "skipped.json", "failed.json")
    ]
    write_workflow(tmp_path, phase("IMPLEMENTATION"), execution(*rows))
    write_output(tmp_path, "folder/out.txt", "x")
    for word in ("skipped", "failed"):
        write_output(tmp_path, f"{word}.json", {"status": word})
    said = run_here("workflow", "recover", cwd=tmp_path).stdout
    assert "folder: finished before the crash; now complete (folder exists)" in said
    assert (
        "skipped.json: finished before the crash; now skipped (skipped.json exists and says skipped)"
        in said
    )
    assert "failed.json: ended; now failed (failed.json exists and says failed)" in said


def test_status_tells_a_missing_file_as_validate_does(tmp_path: Path) -> None:
    write_workflow(tmp_path, phase("IMPLEMENTATION"))
    (tmp_path / EXECUTION).unlink()
    answer = flow(tmp_path, "status")
    assert (answer["code"], answer["findings"]) == (1, flow(tmp_path, "validate")["findings"])
    assert "git restore" not in answer["findings"][0]["hint"]  # this is no repository


def commit_at(repo: GitRepo, when: float, *paths: str) -> None:
    repo.git("add", "-f", *paths)
    dates = {name: utc(when) for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")}
    assert (
        repo.run(
            "git", "commit", "-qm", "results", env={**environ_in(repo.path), **dates}
        ).returncode
        == 0
    )


REPORT = "memory/reports/verification.json"


@pytest.mark.parametrize("age", [-90_000, -60])
def test_a_clone_takes_no_result_that_was_committed_before_an_agents_state_began(
    repo: GitRepo, tmp_path: Path, age: float
) -> None:
    write_workflow(repo.path, phase("VERIFICATION", **current()), execution(task("t", "complete")))
    rows = phase("VERIFICATION")["completed_phases"]
    rows = [{**row, "completed_at": utc(-1800)} for row in rows]
    (repo.path / PHASE).write_text(
        json.dumps(phase("VERIFICATION", **current(), completed_phases=rows))
    )
    write_output(repo.path, REPORT)
    commit_at(repo, age, "memory")
    clone = tmp_path / "clone with a blank"
    repo.git("clone", "-q", ".", str(clone))
    answer = flow(clone, "resume", "--yes")
    assert answer["action"] == ("spawn" if age < -3600 else "advance")
    write_output(clone, REPORT, {"new": "one"})
    assert flow(clone, "resume", "--yes")["action"] == "advance"


def test_a_merge_of_results_from_before_the_start_ends_no_phase(repo: GitRepo) -> None:
    repo.write(".gitignore", "memory/state/\n")
    repo.commit("base")
    repo.git("checkout", "-q", "-b", "old")
    for path in (REPORT, "memory/reports/reflection.json"):
        write_output(repo.path, path)
    commit_at(repo, -90_000, "memory/reports")
    repo.git("checkout", "-q", "main")
    rows = [
        {**row, "completed_at": utc(-1800)} for row in phase("VERIFICATION")["completed_phases"]
    ]
    value = phase("VERIFICATION", **current(), completed_phases=rows, earlier_results={})
    write_workflow(repo.path, value, execution(task("t", "complete")))
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "old")
    assert flow(repo.path, "resume", "--yes")["agent"] == "QA"
    assert flow(repo.path, "advance")["code"] == 1
    assert flow(repo.path, "advance", "--output", REPORT)["code"] == 0  # who knows better says so
    write_output(repo.path, "memory/reports/reflection.json", {"new": "one"})
    commit_at(repo, -60, "memory/reports")
    assert flow(repo.path, "resume", "--yes")["action"] == "complete"


def test_a_task_that_a_merge_put_into_an_agents_archive_is_found_and_comes_back(
    repo: GitRepo,
) -> None:
    begin(repo)
    archive = repo.path / "memory/state/.archive/login_20260302T120000Z"
    archive.mkdir(parents=True)
    for name in ("phase.json", "execution.json"):
        (repo.path / "memory/state" / name).rename(archive / name)
    done = phase("REFLECTION", "complete")
    done["completed_phases"].append(
        {"phase": "REFLECTION", "completed_at": "2026-03-02T09:00:00Z", "output": "r.json"}
    )
    (archive / "phase.json").write_text(json.dumps(done))
    repo.commit("fin")
    add_task(repo)
    repo.git("merge", "-q", "fin")
    for verb in ("status", "validate", "resume"):
        answer = flow(repo.path, verb)
        assert (answer["code"], answer["findings"][0]["code"]) == (1, "workflow/archived-tasks")
    assert flow(repo.path, "start", "other")["code"] == 1
    assert "1 open task " in run_here("prime", cwd=repo.path).stdout
    (repo.path / ".checkpoints").mkdir()
    assert run_here("doctor", "--check", "workflow", cwd=repo.path).returncode == 1
    command = answer["findings"][0]["hint"].removeprefix("to continue them: ").partition(" && ")[0]
    subprocess.run(["sh", "-c", command], check=True, cwd=repo.path)
    flow(repo.path, "back", "IMPLEMENTATION")
    assert flow(repo.path, "resume", "--yes")["tasks"] == ["open"]


def test_a_merged_result_from_before_the_start_is_approved_as_the_hints_say(repo: GitRepo) -> None:
    path = "memory/reports/demand.json"
    repo.write(".gitignore", "memory/state/\n")
    repo.commit("base")
    repo.git("checkout", "-q", "-b", "old")
    write_output(repo.path, path)
    commit_at(repo, -90_000, path)
    repo.git("checkout", "-q", "main")
    flow(repo.path, "start", "login")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "old")
    assert f"advance --output {path}" in flow(repo.path, "resume", "--yes")["hint"]
    answer = flow(repo.path, "advance", "--output", path)
    assert answer["findings"][0]["code"] == "workflow/not-approved"
    command = (
        answer["findings"][0]["hint"]
        .removeprefix("ask the user, then: checkpoint workflow ")
        .partition("; ")[0]
    )
    assert command == f"approve REQUIREMENTS --output {path}"
    assert flow(repo.path, *command.split())["code"] == 0
    write_output(repo.path, path, {"changed": "since"})
    assert flow(repo.path, "advance")["findings"][0]["code"] == "workflow/not-approved"
    assert flow(repo.path, *command.split())["code"] == 0
    assert flow(repo.path, "advance", "--output", path)["following"] == "ARCHITECTURE"
    assert flow(repo.path, "advance", "--yes", "--force")["following"] == "IMPLEMENTATION"
    assert flow(repo.path, "task", "add", "task-001")["code"] == 0
    assert flow(repo.path, "approve", "IMPLEMENTATION", "--output", path)["code"] == 2
    assert flow(repo.path, "advance", "--output", path)["code"] == 2


def test_open_tasks_that_the_user_archived_are_not_laid_to_a_merge(repo: GitRepo) -> None:
    done = phase("REFLECTION", "complete", **current())
    rows = [{**row, "completed_at": utc(-1800)} for row in done["completed_phases"]]
    last = {"phase": "REFLECTION", "completed_at": utc(-1800), "output": REPORT}
    write_workflow(
        repo.path, {**done, "completed_phases": [*rows, last]}, execution(task("open", "pending"))
    )
    assert flow(repo.path, "archive")["archive"]
    assert flow(repo.path, "status")["findings"] == []
    assert flow(repo.path, "start", "other")["code"] == 0


def test_what_was_sent_back_after_a_failed_test_is_done_again_before_it_counts(
    tmp_path: Path,
) -> None:
    rows = [
        {**row, "completed_at": utc(-1800)} for row in phase("VERIFICATION")["completed_phases"]
    ]
    done = task("api", "complete", started_at=utc(-2000), completed_at=utc(-1800))
    write_workflow(
        tmp_path, phase("VERIFICATION", **current(), completed_phases=rows), execution(done)
    )
    write_output(tmp_path, REPORT, {"status": "failed"})
    assert "back IMPLEMENTATION" in flow(tmp_path, "resume", "--yes")["hint"]
    flow(tmp_path, "back", "IMPLEMENTATION", "--note", "the login test fails")
    answer = flow(tmp_path, "resume", "--yes")
    assert answer["action"] == "ask"
    assert "checkpoint workflow task retry ID" in answer["hint"]
    assert flow(tmp_path, "advance")["findings"][0]["code"] == "workflow/tasks-open"
    flow(tmp_path, "task", "retry", "api")
    assert flow(tmp_path, "resume", "--yes")["tasks"] == ["api"]
    flow(tmp_path, "task", "done", "api")
    assert flow(tmp_path, "advance")["following"] == "VERIFICATION"


def test_only_five_archives_are_kept_and_the_newest_is_one_of_them(tmp_path: Path) -> None:
    for number in range(8):
        assert flow(tmp_path, "start", f"w{number}", "--fresh")["code"] == 0
    names = sorted(path.name for path in (tmp_path / "memory/state/.archive").iterdir())
    assert len(names) == 5
    assert any(name.startswith("w6_") for name in names)


def test_a_task_whose_result_is_a_folder_is_done_after_a_crash(tmp_path: Path) -> None:
    rows = [task("a", "running", started_at=utc(-60), output="out")]
    write_workflow(tmp_path, phase("IMPLEMENTATION"), execution(*rows))
    write_output(tmp_path, "out/deep/file.txt", "x")
    answer = flow(tmp_path, "resume", "--yes")
    assert read_json(tmp_path / EXECUTION)["tasks"][0]["status"] == "complete"
    assert answer["action"] == "advance"


def test_a_clone_takes_no_tasks_output_that_was_committed_before_the_task_began(
    repo: GitRepo, tmp_path: Path
) -> None:
    write_output(repo.path, "out.json", {"status": "complete"})
    commit_at(repo, -90_000, "out.json")
    row = task("a", "running", started_at=utc(-1800), output="./out.json")
    write_workflow(repo.path, phase("IMPLEMENTATION"), execution(row))
    repo.commit("state")
    clone = tmp_path / "clone"
    repo.git("clone", "-q", ".", str(clone))
    assert flow(clone, "resume", "--yes")["tasks"] == ["a"]
    (clone / "out.json").write_text('{"status": "complete", "new": true}')
    (clone / EXECUTION).write_text(json.dumps(execution(row)))
    assert flow(clone, "resume", "--yes")["action"] == "advance"


def test_an_approval_of_nothing_approves_no_design_that_is_written_later(tmp_path: Path) -> None:
    value = phase("ARCHITECTURE")
    value["user_checkpoints"].append(
        {"phase": "ARCHITECTURE", "approved_at": utc(-60), "results": {}}
    )
    write_workflow(tmp_path, value)
    write_output(tmp_path, DESIGN)
    assert flow(tmp_path, "resume", "--yes")["action"] == "ask_approval"
    assert flow(tmp_path, "advance")["findings"][0]["code"] == "workflow/not-approved"


@pytest.mark.parametrize(
    ("missing", "code"),
    [(PHASE, "workflow/phase-missing"), (EXECUTION, "workflow/execution-missing")],
)
def test_a_missing_file_is_told_by_validate_and_by_the_doctor_without_checkpoints(
    repo: GitRepo, missing: str, code: str
) -> None:
    write_workflow(repo.path, phase("IMPLEMENTATION"), execution(task("a")))
    for verb in (["validate"], ["doctor", "--check", "workflow"]):
        done = run_here(*verb, "--json", cwd=repo.path)
        assert code not in done.stdout
    (repo.path / missing).unlink()
    for verb in (
        ["validate"],
        ["validate", "--strict"],
        ["doctor", "--check", "workflow"],
        ["doctor", "--all"],
    ):
        done = run_here(*verb, "--json", cwd=repo.path)
        assert (
            done.returncode,
            [one["code"] for one in json.loads(done.stdout)["findings"] if one["level"] == "error"],
        ) == (1, [code])
    rest = PHASE if missing == EXECUTION else EXECUTION
    # one that is named is looked at alone
    assert run_here("validate", rest, cwd=repo.path).returncode == 0
    (repo.path / rest).write_text("{")
    assert code not in run_here("validate", cwd=repo.path).stdout


def test_a_phases_output_that_is_no_result_is_placed_in_the_phase(tmp_path: Path) -> None:
    flow(tmp_path, "start", "login")
    write_output(tmp_path, "other.json", "null")
    found = flow(tmp_path, "advance", "--yes", "--output", "other.json")["findings"][0]
    assert (found["path"], found["message"]) == (
        PHASE,
        "the output other.json cannot be read: it contains null",
    )


def test_an_agents_own_words_for_a_tasks_status_are_read(tmp_path: Path) -> None:
    rows = [task("a", "completed"), task("b", "Done"), task("c", "in-progress"), task("d", "todo")]
    write_workflow(tmp_path, phase("IMPLEMENTATION"), execution(*rows))
    answer = flow(tmp_path, "resume", "--yes")
    assert (answer["action"], answer["tasks"]) == ("continue_tasks", ["c", "d"])
    assert "workflow/unknown-task-status" not in [one["code"] for one in answer["findings"]]
    assert "2/4 tasks" in run_here("prime", cwd=tmp_path).stdout
    assert flow(tmp_path, "task", "start", "a")["findings"][0]["code"] == "workflow/task-complete"
    for name in ("c", "d"):
        flow(tmp_path, "task", "done", name)
    assert [row["status"] for row in read_json(tmp_path / EXECUTION)["tasks"]] == [
        "completed",
        "Done",
        *["complete"] * 2,
    ]
    assert flow(tmp_path, "resume", "--yes")["action"] == "advance"
    assert flow(tmp_path, "advance")["following"] == "VERIFICATION"
    assert flow(tmp_path, "validate")["valid"] is True


@pytest.mark.parametrize(
    ("form", "is_done"),
    [("%Y-%m-%dT%H:%M:%S+0000", False), ("%Y-%m-%dT%H:%M:%S", True), ("%Y-%m-%dT%H:%MZ", False)],
)
def test_an_output_from_before_a_task_began_is_known_whatever_form_its_start_has(
    tmp_path: Path, form: str, is_done: bool
) -> None:
    started = time.strftime(form, time.gmtime(time.time() - 600))
    write_workflow(
        tmp_path,
        phase("IMPLEMENTATION"),
        execution(task("a", "running", started_at=started, output="o.json")),
    )
    write_output(tmp_path, "o.json", {"status": "complete"})
    os.utime(tmp_path / "o.json", (time.time() - 7200,) * 2)
    # without an offset it may be later
    assert (flow(tmp_path, "resume", "--yes")["action"] == "advance") is is_done
    (tmp_path / EXECUTION).write_text(
        json.dumps(execution(task("a", "running", started_at=started, output="o.json")))
    )
    os.utime(tmp_path / "o.json", (time.time() - 86_400,) * 2)
    assert flow(tmp_path, "resume", "--yes")["tasks"] == ["a"]
