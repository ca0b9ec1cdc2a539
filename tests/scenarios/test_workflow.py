"""Workflows as they are interrupted: real processes that are killed, a real terminal, real
merges.
"""

import json
import os
import pty
import random
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.protocols.validate import check_document
from checkpoint_git.tools.setup.init import Options, init
from tests.support.command import BIN, open_terminal, run_here
from tests.support.repos import GitRepo, copy_built
from tests.support.workflows import (
    OUTPUTS,
    execution,
    phase,
    read_json,
    task,
    text_of,
    write_output,
    write_workflow,
)

CHECKPOINT = str(BIN / "checkpoint")
PHASE, EXECUTION = "memory/state/phase.json", "memory/state/execution.json"
KILLS = int(os.environ.get("CHECKPOINT_TEST_KILLS", "25"))


def now_text(before: int = 0) -> str:
    """The clock's instant, some seconds ago."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - before))


def recent(current: str, **changes: Any) -> dict[str, Any]:
    """A state of the last hours, so that it is neither ancient nor ahead of the clock."""
    value = phase(current, **changes)
    value.update(started_at=now_text(7_200), last_updated=now_text(3_600))
    for row in value["completed_phases"]:
        row["completed_at"] = now_text(7_000)
    return value


# the four scenarios, on a terminal


def at_terminal(root: Path, *words: str, answer: str) -> tuple[int, str]:
    """`checkpoint workflow WORDS` on a terminal, the answer typed when it waits: (exit code, what
    was shown).
    """
    for end in open_terminal():
        os.close(end)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(root)
        os.execv(CHECKPOINT, [CHECKPOINT, "workflow", *words])  # noqa: S606 (the installed command, on a terminal)
    shown, typed = b"", False
    while select.select([terminal], [], [], 60)[0]:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data
        if not typed and shown.rstrip().endswith((b"[Y/n]", b"[y/N]")):
            os.write(terminal, answer.encode())
            typed = True
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown.decode().replace(
        "\r\n", "\n"
    )


def test_scenario_1_a_session_that_is_cut_off_leaves_an_orphan_which_is_tried_again(
    tmp_path: Path,
) -> None:
    write_workflow(
        tmp_path,
        recent("IMPLEMENTATION"),
        execution(task("task-001", "running", output="memory/r.json")),
    )
    code, shown = at_terminal(tmp_path, "resume", answer="\n")
    assert code == 0
    assert (
        "Detected interrupted workflow: login\nResuming workflow login from IMPLEMENTATION phase\n"
        in shown
    )
    assert "task-001: orphaned, one attempt counted; now pending" in shown
    row = read_json(tmp_path / EXECUTION)["tasks"][0]
    assert (row["status"], row["attempts"]) == ("pending", 1)


def test_scenario_2_a_result_that_was_written_before_the_crash_is_taken_over(
    tmp_path: Path,
) -> None:
    rows = task("task-001", "running", output="memory/r.json", started_at=now_text(60))
    write_workflow(tmp_path, recent("IMPLEMENTATION"), execution(rows))
    write_output(tmp_path, "memory/r.json", {"status": "complete"})
    code, shown = at_terminal(tmp_path, "resume", answer="y\n")
    assert code == 0
    assert "advance: all 1 tasks are complete: checkpoint workflow advance" in shown
    row = read_json(tmp_path / EXECUTION)["tasks"][0]
    assert (row["status"], row["attempts"]) == ("complete", 0)


def test_scenario_3_designs_that_waited_for_approval_are_presented_again(tmp_path: Path) -> None:
    write_workflow(tmp_path, recent("ARCHITECTURE"))
    write_output(tmp_path, "memory/reports/designs/bold.json")
    write_output(tmp_path, "memory/reports/designs/plain.json")
    code, shown = at_terminal(tmp_path, "resume", answer="y\n")
    assert code == 1
    assert "checkpoint workflow approve ARCHITECTURE" in shown
    assert "  memory/reports/designs/bold.json\n  memory/reports/designs/plain.json\n" in shown
    assert "Architects" not in shown.replace("the architects are not run again", "")


@pytest.mark.parametrize(("answer", "current"), [("\n", "VERIFICATION"), ("y\n", "REQUIREMENTS")])
def test_scenario_4_an_ancient_state_is_warned_about_and_offered_to_be_archived(
    tmp_path: Path, answer: str, current: str
) -> None:
    write_workflow(tmp_path, {**recent("VERIFICATION"), "started_at": now_text(8 * 86_400)})
    code, shown = at_terminal(tmp_path, "resume", answer=answer)
    assert code == 0
    assert "the workflow was started 8d ago" in shown
    assert ("proceed with caution" in shown) == (answer == "\n")
    assert read_json(tmp_path / PHASE)["current_phase"] == current
    assert (tmp_path / "memory/state/.archive").exists() == (answer == "y\n")


def test_hostile_text_in_the_state_never_reaches_the_terminal_raw(tmp_path: Path) -> None:
    evil = "x\x1b]0;owned\x07\u202e"
    state = recent("IMPLEMENTATION", workflow_id=evil)
    write_workflow(tmp_path, state, execution(task(evil, "running"), workflow_id=evil))
    _, shown = at_terminal(tmp_path, "resume", answer="y\n")
    assert "\x1b]0" not in shown
    assert "\u202e" not in shown


# kills and crowds


def read_state(root: Path) -> dict[str, str]:
    """The status of every task, from files that are both whole and valid."""
    for name in (PHASE, EXECUTION):
        assert check_document(name, (root / name).read_bytes(), now=int(time.time())).is_valid
    return {row["id"]: row["status"] for row in read_json(root / EXECUTION)["tasks"]}


@pytest.mark.deep
def test_a_kill_at_any_instant_leaves_a_whole_state_and_loses_nothing_that_was_acknowledged(
    tmp_path: Path,
) -> None:
    names = [f"t{number:03}" for number in range(KILLS)]
    write_workflow(
        tmp_path, recent("IMPLEMENTATION"), execution(*(task(name, "running") for name in names))
    )
    chance = random.Random(20261121)  # noqa: S311 (the same instants on every run)
    began = time.monotonic()
    assert run_here("workflow", "save", cwd=tmp_path).returncode == 0
    length = time.monotonic() - began
    acknowledged = set()
    for name in names:
        words = [CHECKPOINT, "workflow", "task", "done", name]
        process = subprocess.Popen(
            words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0, 1.3 * length))
        process.send_signal(signal.SIGKILL)
        said = process.communicate()[0]
        if b"checkpoint saved" in said:
            acknowledged.add(name)
        found = read_state(tmp_path)
        assert {each for each in acknowledged if found[each] != "complete"} == set()
        assert set(found.values()) <= {"running", "complete"}
    assert run_here("workflow", "save", cwd=tmp_path).returncode == 0
    assert read_json(tmp_path / PHASE)["interruption_safe"] is True
    assert sorted(path.name for path in (tmp_path / "memory/state").iterdir()) == [
        ".lock", "execution.json", "phase.json"
    ]  # fmt: skip


@pytest.mark.parametrize("count", [8, pytest.param(20, marks=pytest.mark.deep)])
def test_processes_at_once_lose_nothing(tmp_path: Path, count: int) -> None:
    names = [f"t{number}" for number in range(count)]
    write_workflow(
        tmp_path, recent("IMPLEMENTATION"), execution(*(task(name, "running") for name in names))
    )
    words = [CHECKPOINT, "workflow", "task", "done"]
    crowd = [
        subprocess.Popen([*words, name], cwd=tmp_path, stdout=subprocess.DEVNULL) for name in names
    ]
    assert [process.wait(timeout=120) for process in crowd] == [0] * count
    assert read_state(tmp_path) == dict.fromkeys(names, "complete")


# a disk that takes nothing


def test_of_many_that_start_at_once_one_begins_and_the_others_ask(tmp_path: Path) -> None:
    command = [CHECKPOINT, "workflow", "start"]
    started = [
        subprocess.Popen([*command, f"w{n}"], cwd=tmp_path, stdin=subprocess.DEVNULL)
        for n in range(6)
    ]
    assert sorted(each.wait(timeout=60) for each in started) == [0, 1, 1, 1, 1, 1]
    assert not (tmp_path / "memory/state/.archive").exists()


def test_a_write_that_fails_says_so_and_leaves_a_whole_state(tmp_path: Path) -> None:
    many = execution(*(task(f"t{number}", "running", error="x" * 200) for number in range(100)))
    write_workflow(tmp_path, recent("IMPLEMENTATION"), many)
    # a limit on file sizes stands for a full disk
    script = f'ulimit -f 8; exec "{CHECKPOINT}" workflow task done t1'
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "could not be written" in done.stderr
    assert read_state(tmp_path)["t1"] == "running"
    assert not [
        path for path in (tmp_path / "memory/state").iterdir() if path.name.endswith(".tmp")
    ]
    assert run_here("workflow", "task", "done", "t1", cwd=tmp_path).returncode == 0
    assert read_json(tmp_path / PHASE)["interruption_safe"] is True


def test_a_file_where_the_folder_should_be_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("x")
    done = run_here("workflow", "start", "login", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "expected a directory, found a file" in done.stderr


EVERY_VERB = [
    ("start", "login"),
    ("status",),
    ("resume",),
    ("task", "start", "t"),
    ("validate",),
    ("recover",),
    ("approve", "REQUIREMENTS"),
    ("save",),
    ("advance",),
    ("resume", "--yes"),
    ("archive",),
    ("resume",),
]


def test_every_answer_is_json_with_its_version(tmp_path: Path) -> None:
    for words in EVERY_VERB:
        done = run_here("workflow", *words, "--json", cwd=tmp_path)
        assert json.loads(done.stdout)["schema_version"] == 1, words
        assert done.stderr == ""


# git


@pytest.fixture
def tracked(repo: GitRepo) -> GitRepo:
    """A repository that is set up and tracks a workflow in its implementation."""
    copy_built(build_tracked, repo.path)
    return repo


def build_tracked(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    init(str(repo.path), Options(), os.environ)
    write_workflow(repo.path, recent("IMPLEMENTATION"), execution(task("a", "running"), task("b")))
    repo.commit("workflow")


def test_two_branches_of_one_workflow_merge(tracked: GitRepo) -> None:
    tracked.git("checkout", "-q", "-b", "side")
    assert run_here("workflow", "task", "done", "a", cwd=tracked.path).returncode == 0
    tracked.commit("a is done")
    tracked.git("checkout", "-q", "main")
    for words in (("task", "add", "c"), ("task", "start", "b"), ("save", "--note", "here")):
        assert run_here("workflow", *words, cwd=tracked.path).returncode == 0
    tracked.commit("b runs")
    tracked.git("merge", "-q", "--no-edit", "side")
    rows = {row["id"]: row["status"] for row in read_json(tracked.path / EXECUTION)["tasks"]}
    assert rows == {"a": "complete", "b": "running", "c": "pending"}
    assert read_json(tracked.path / PHASE)["saved"]["note"] == "here"
    assert run_here("workflow", "validate", cwd=tracked.path).returncode == 0


def test_the_driver_merges_below_a_folder_too_and_leaves_files_of_the_same_name_alone(
    tracked: GitRepo,
) -> None:
    said = tracked.git(
        "check-attr", "merge", "--", PHASE, f"app/{EXECUTION}", "phase.json", "src/execution.json"
    )
    assert [line.rpartition(" ")[2] for line in said.splitlines()] == [
        "checkpoint",
        "checkpoint",
        *["unspecified"] * 2,
    ]


def test_a_commit_of_a_broken_state_is_stopped_and_one_of_a_good_state_is_not(
    tracked: GitRepo,
) -> None:
    tracked.write(PHASE, text_of({**phase("VERIFICATION"), "completed_phases": []}))
    tracked.git("add", ".")
    done = tracked.run("git", "commit", "-qm", "bad")
    assert done.returncode == 1
    assert b"workflow/phase-skipped" in done.stderr
    tracked.write(PHASE, text_of(phase("VERIFICATION")))
    tracked.write(EXECUTION, text_of(execution(task("a", "complete"))))
    tracked.git("add", ".")
    assert tracked.run("git", "commit", "-qm", "good").returncode == 0


def test_checkpoint_diff_shows_a_task_by_its_id(tracked: GitRepo) -> None:
    run_here("workflow", "task", "done", "a", cwd=tracked.path)
    assert "+tasks[a].status: complete" in run_here("diff", EXECUTION, cwd=tracked.path).stdout


def test_a_conflict_is_decided_with_resolve(tracked: GitRepo) -> None:
    tracked.git("checkout", "-q", "-b", "side")
    run_here("workflow", "task", "done", "a", cwd=tracked.path)
    tracked.commit("done")
    tracked.git("checkout", "-q", "main")
    tracked.write(EXECUTION, text_of(execution(task("a", "failed", attempts=3), task("b"))))
    tracked.commit("failed")
    assert tracked.exit_code("merge", "-q", "side") == 1
    done = run_here("resolve", EXECUTION, "--take", "theirs", cwd=tracked.path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_json(tracked.path / EXECUTION)["tasks"][0]["status"] == "complete"
    assert tracked.git("diff", "--name-only", "--diff-filter=U") == ""


def test_validate_takes_the_files_by_name_from_the_index_and_from_a_commit(
    tracked: GitRepo,
) -> None:
    write_output(tracked.path, OUTPUTS["VERIFICATION"])
    tracked.write(EXECUTION, text_of(execution(task("a"), task("a"))))
    for words in ((EXECUTION,), (str(tracked.path / EXECUTION),)):
        assert "workflow/task-id-twice" in run_here("validate", *words, cwd=tracked.path).stdout
    assert run_here("validate", "--staged", cwd=tracked.path).returncode == 0
    tracked.git("add", ".")
    assert run_here("validate", "--staged", cwd=tracked.path).returncode == 1
    assert run_here("validate", "--rev", "HEAD", cwd=tracked.path).returncode == 0


def test_validate_looks_at_a_workflow_beside_the_checkpoints_without_them_and_outside_git(
    tracked: GitRepo, tmp_path: Path
) -> None:
    tracked.write(EXECUTION, text_of(execution(task("a"), task("a"))))
    assert "workflow/task-id-twice" in run_here("validate", cwd=tracked.path).stdout
    outside = tmp_path / "outside"
    outside.mkdir()
    write_workflow(outside, phase("VERIFICATION", "nearly"))
    for words in ((), (PHASE,), (".",)):
        done = run_here("validate", *words, cwd=outside)
        assert done.returncode == 1, words
        assert f"{PHASE}:" in done.stdout


def test_init_again_brings_an_older_block_up_to_date_and_uninstall_takes_all_of_it_away(
    repo: GitRepo,
) -> None:
    repo.write("README.md", "")
    repo.commit()
    init(str(repo.path), Options(), os.environ)
    for path in (repo.path / ".gitattributes", repo.path / ".git/info/attributes"):
        kept = [
            line
            for line in path.read_text().splitlines(keepends=True)
            if "memory/state" not in line
        ]
        path.write_text("".join(kept))
    assert repo.git("check-attr", "merge", "--", PHASE).endswith("unspecified")
    init(str(repo.path), Options(), os.environ)
    assert repo.git("check-attr", "merge", "--", PHASE).endswith("checkpoint")
    assert run_here("uninstall", cwd=repo.path).returncode == 0
    assert repo.git("status", "--porcelain") == ""
