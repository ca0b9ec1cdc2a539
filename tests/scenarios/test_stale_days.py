"""A project whose limits of days differ: everything that shows or uses a limit has the new one."""

import os
import time
from pathlib import Path

import pytest

from checkpoint_git import MemoryCheckpoint
from checkpoint_git.api import Checkpoints
from checkpoint_git.core.clock import DAY, write_instant
from checkpoint_git.disk.discover import find_place, plan_place
from checkpoint_git.protocols.limits import Limits, read_limits, read_stale_days
from checkpoint_git.protocols.workflow.api import Workflow
from checkpoint_git.tools.doctor.diagnose import diagnose
from checkpoint_git.tools.session.prime import prime
from tests.support.agents import ask, open_client_here, run
from tests.support.command import ask_json, run_here
from tests.support.memory import MemoryTransport, configure, entity_line, put_graph, serve_files
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.samples import checkpoint_text
from tests.support.workflows import phase, write_workflow

AGE = 5 * DAY
BLOCKER = {"id": "b1", "description": "No licence", "needs": "external_dep"}


@pytest.fixture
def project(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """Work of every kind that nobody touched for five days, committed then."""
    graph = put_graph(tmp_path / "graph.jsonl")
    configure(repo, "stand-in", graph)
    serve_files(monkeypatch)

    written = write_instant(int(time.time()) - AGE)
    put_graph(graph, entity_line("initiative:login", f"timestamp:{written}"))
    started = phase(started_at=written, last_updated=written)
    write_workflow(repo.path, started)
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(updated_at=written))
    blocked = checkpoint_text(
        skill="deploy", status="blocked", blockers=[BLOCKER], updated_at=written
    )
    repo.write(".checkpoints/deploy.checkpoint.json", blocked)
    primer = {"generated_files": ["docs/ship.md"]}
    complete = checkpoint_text(
        skill="ship", status="complete", context_primer=primer, updated_at=written
    )
    repo.write(".checkpoints/ship.checkpoint.json", complete)
    repo.write("docs/ship.md", "Shipped\n")
    for variable in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(variable, written)
    repo.commit()
    return repo


def read_doctor(folder: Path) -> dict[str, str]:
    """Return the messages of the doctor's findings about age, by their codes."""
    findings = ask_json(folder, "doctor", code=None)["findings"]
    codes = ("drift/stale-in-progress", "drift/stale-blocked", "workflow/stale")
    return {row["code"]: row["message"] for row in findings if row["code"] in codes}


def ask_mcp(folder: Path) -> dict[str, bool]:
    """Return of each tool of an agent's server whether the work in progress is stale for it."""
    answers: dict[str, bool] = {}

    async def talk() -> None:
        async with open_client_here(folder) as client:
            status = await ask(client, "checkpoint_status")
            states = {row["skill"]: row for row in status["skills"]}
            answers["MCP status"] = states["build"]["stale"]
            answers["MCP next"] = (await ask(client, "checkpoint_next"))["stale"]
            resumed = await ask(client, "checkpoint_resume", skill="build")
            answers["MCP resume"] = resumed["decision"] == "ask"

    run(talk)
    return answers


def list_checkpoint_readers(folder: Path) -> dict[str, bool]:
    """Return of each reader of checkpoints whether the work in progress is stale for it."""
    checkpoints = Checkpoints(folder)
    states = {state.skill: state for state in checkpoints.status().states}
    lines = prime(str(folder), int(time.time()), dict(os.environ))
    report = run_here("report", "-o", "-", "--no-doctor", cwd=folder).stdout

    return {
        "status": "stale (5d)" in run_here("status", cwd=folder).stdout,
        "next": "stale: not updated" in run_here("next", "build", cwd=folder).stdout,
        "resume": run_here("resume", "build", cwd=folder).returncode == 1,
        "show": bool(ask_json(folder, "show", "build")["choices"]),
        "report": "1 stale" in report,
        "prime": any("Stale: build" in line for line in lines),
        "doctor": "drift/stale-in-progress" in read_doctor(folder),
        "Python status": states["build"].stale,
        "Python next": checkpoints.next("build").queue.actions[0].stale,
        "Python resume": "stale" in checkpoints.resume("build").plan.reasons,
        **ask_mcp(folder),
    }


def list_other_readers(folder: Path) -> dict[str, bool]:
    """Return the same of the readers of the workflow and of the initiative."""
    workflow = Workflow(folder)
    saved = MemoryTransport()
    MemoryCheckpoint(saved, path=folder, now=int(time.time()) - AGE).save(initiative="login")
    memory = MemoryCheckpoint(saved, path=folder)
    loaded = ask_json(folder, "memory", "load", code=None)
    question = ask_json(folder, "workflow", "resume", code=1)
    validated = ask_json(folder, "workflow", "validate", code=None)

    return {
        "status": "5d old, outdated" in run_here("status", cwd=folder).stdout,
        "doctor": "workflow/stale" in read_doctor(folder),
        "workflow resume": "started 5 days ago" in question["question"],
        "what it found": "workflow/stale" in {row["code"] for row in question["findings"]},
        "workflow validate": "workflow/stale" in {row["code"] for row in validated["findings"]},
        "memory load": "memory/outdated" in {row["code"] for row in loaded["findings"]},
        "memory doctor": "5 days old" in run_here("memory", "doctor", cwd=folder).stdout,
        "Python resume": workflow.resume().question.kind == "stale",
        "Python validate": "workflow/stale" in {row.code for row in workflow.validate()},
        "Python memory": "memory/outdated" in {row.code for row in memory.validate()},
    }


def test_every_reader_has_the_days_of_the_setting(project: GitRepo) -> None:
    readers = list_checkpoint_readers(project.path)
    others = list_other_readers(project.path)
    assert {*readers.values(), *others.values()} == {False}

    project.git("config", "checkpoint.staleDays", "4")
    expected = dict.fromkeys(readers, True), dict.fromkeys(others, True)
    assert list_checkpoint_readers(project.path) == expected[0]
    assert list_other_readers(project.path) == expected[1]
    assert "5 days (limit: 4)" in read_doctor(project.path)["drift/stale-in-progress"]


def test_every_reader_of_checkpoints_has_the_days_of_the_project(project: GitRepo) -> None:
    text = "[thresholds]\nin_progress_days = 4\nblocked_days = 2\n"
    project.write(".checkpoints/doctor.toml", text)
    readers = list_checkpoint_readers(project.path)
    assert readers == dict.fromkeys(readers, True)
    assert set(list_other_readers(project.path).values()) == {False}
    assert "5 days (limit: 2)" in read_doctor(project.path)["drift/stale-blocked"]
    report = run_here("report", "-o", "-", "--no-doctor", cwd=project.path).stdout
    assert "1 blocker older than 2 days" in report

    project.write(".checkpoints/doctor.toml", text.replace("= 2", "= 6"))
    assert "drift/stale-blocked" not in read_doctor(project.path)
    report = run_here("report", "-o", "-", "--no-doctor", cwd=project.path).stdout
    assert "older than" not in report

    project.git("config", "checkpoint.staleDays", "6")
    assert read_limits(find_place(str(project.path)), os.environ) == Limits(6, 6, 14)
    assert "stale (5d)" not in run_here("status", cwd=project.path).stdout


def test_the_doctor_has_the_days_of_the_project_for_what_is_complete(
    project: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.delenv(variable)
    project.write("docs/ship.md", "Shipped, and changed\n")
    project.commit()
    place = find_place(str(project.path))

    def find_complete() -> tuple[bool, set[str]]:
        found = diagnose(place, int(time.time()), env=dict(os.environ))
        codes = {finding.code for finding in found.findings}
        return "drift/complete-but-moving" in codes, set(found.over)

    assert find_complete() == (False, set())
    project.write(".checkpoints/doctor.toml", "[thresholds]\ncomplete_days = 4\n")
    assert find_complete() == (True, {".checkpoints/ship.checkpoint.json"})


def test_each_side_of_a_conflict_has_the_days_of_the_setting(project: GitRepo) -> None:
    path = ".checkpoints/build.checkpoint.json"
    text = project.read(path)
    other = text.replace('"in_progress",', '"in_progress",\n  "phase_of": "theirs",', 1)
    project.write(path, f"<<<<<<< ours\n{text}=======\n{other}>>>>>>> theirs\n")

    def find_stale_sides() -> list[bool]:
        states = Checkpoints(project.path).status()
        return [side.stale for side in states.sides[path].values()]

    assert find_stale_sides() == [False, False]
    project.git("config", "checkpoint.staleDays", "4")
    assert find_stale_sides() == [True, True]


@rows(("text"), ["", "0", "-1", "soon", "1.5", "10000", "\u0661"])
def test_a_setting_that_is_not_a_number_of_days_is_refused(text: str, repo: GitRepo) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.git("config", "checkpoint.staleDays", text)
    done = run_here("status", cwd=repo.path)
    assert done.returncode == 2
    assert "expected 1 to 9999 days" in done.stderr
    assert "git config checkpoint.staleDays 7" in done.stderr


def test_where_git_cannot_be_asked_the_usual_days_hold(tmp_path: Path) -> None:
    assert read_stale_days(str(tmp_path / "missing"), os.environ) == 7
    place = plan_place(str(tmp_path))
    assert read_limits(place, {"PATH": ""}) == Limits(7, 3, 14)
