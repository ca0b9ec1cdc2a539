"""What a narrow terminal shows of common commands: no line is longer than it is wide, except
commands to copy.
"""

import json
import re
from pathlib import Path

import pytest

from tests.support.command import run_here, show_here
from tests.support.histories import merge_notes
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

LONG = "Which region should the service run in when it goes to production in the first week of the next quarter?"
TO_COPY = re.compile(r"\s*(checkpoint|git|mv|sh|rm) ")
COMMANDS = [
    ["status"],
    ["status", "api"],
    ["status", "--brief"],
    ["next"],
    ["resume", "api"],
    ["validate"],
    ["doctor"],
    ["doctor", "--full"],
    ["doctor", "--list"],
    ["log", "api"],
    ["diff"],
    ["audit", "explain"],
    ["audit"],
    ["rotate", "--dry-run"],
    ["note", "api", LONG],
    ["update", "api", "--status=almost"],
    ["update", "api", "--stauts=almost"],
    ["nonsense"],
    ["-C", "..", "status"],
    ["sync", "--status"],
    ["init", "--dry-run"],
    ["uninstall", "--dry-run"],
    ["schema"],
    ["ci", "verify", "--base", "main"],
    ["workflow", "status"],
    ["restore-point", "list"],
    ["memory", "load"],
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Work that waits on a long question, after a merge, with what is out of date and what is not
    valid.
    """
    repo = GitRepo.create(tmp_path_factory.mktemp("screens") / "a-project-with-a-name")
    run_here("init", cwd=repo.path)
    run_here(
        "update", "api", "--next_actions+=Merge PR #7: " + "search in all of it " * 6, cwd=repo.path
    )
    run_here("ask", "api", LONG, "--option", "eu-west", "--option", "us-east", cwd=repo.path)
    run_here("update", "api", "--context_primer.generated_files+=src/gone.py", cwd=repo.path)
    repo.commit("Merge pull request #7 from ada/search")
    merge_notes(repo, "api")
    path = repo.path / ".checkpoints/api.checkpoint.json"
    value = json.loads(path.read_text("utf-8"))
    value["progress_table"] = [{"id": "routes", "label": "Routes", "status": "almost"}]
    path.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
    return repo.path


@pytest.mark.parametrize("columns", [50, pytest.param(80, marks=pytest.mark.deep)])
@rows("words", COMMANDS)
@pytest.mark.usefixtures("untried_driver")
def test_a_screen_fits_the_terminal(words: list[str], columns: int, project: Path) -> None:
    said = show_here(*words, cwd=project, env={"COLUMNS": str(columns), "NO_COLOR": "1"})
    shown = [line.rpartition("\x1b[K")[2] for line in said.split("\n")]
    long = [
        line
        for line in shown
        if len(line) > columns and " " in line.strip() and not TO_COPY.match(line)
    ]
    assert long == []


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten checkpoints on which history moved on: more than 40 findings of more than 9 causes."""
    repo = GitRepo.create(tmp_path_factory.mktemp("screens") / "team")
    run_here("init", cwd=repo.path)
    repo.write("gone.txt", "gone\n" * 9)
    for at in range(10):
        repo.write(f"lib/part{at}.py", f"part {at}\n" * 9)
        changes: dict[str, object] = {
            "context_primer": {"generated_files": [f"lib/part{at}.py", "gone.txt"]}
        }
        changes["project_dir"] = str(repo.path) if at > 5 else "/home/bob/project"
        changes["next_actions"] = ["Merge #12", "Write it"] if at < 5 else ["Write it"]
        changes["verified_for_sha"] = "deadbeef" if at % 2 else ""
        if at in (2, 3, 4, 5):
            changes["status"] = "blocked"
            changes["blockers"] = [{"id": "b1", "description": "waits", "needs": "user_decision"}]
        if at > 6:
            changes["superseded"] = [{"step": "x"}]
        skill = f"a-team-work-{at}"
        repo.write(f".checkpoints/{skill}.checkpoint.json", checkpoint_text(skill=skill, **changes))
    repo.write(".checkpoints/broken.checkpoint.json", '{\n  "a": \n')
    repo.commit("begin", hooks=False)
    repo.git("mv", "lib", "core")
    repo.git("rm", "-q", "gone.txt")
    repo.commit("move", hooks=False)
    repo.commit("Merge pull request #12 from ada/search", hooks=False)
    return repo.path


@pytest.mark.usefixtures("untried_driver")
def test_the_doctor_shows_every_cause_on_one_screen_and_what_fixes_most(team: Path) -> None:
    report = json.loads(run_here("doctor", "--json", cwd=team).stdout)
    codes = {finding["code"] for finding in report["findings"]}
    total = len(report["findings"])
    assert (total > 40, len(codes) >= 8) == (True, True)

    shown = show_here("doctor", cwd=team, env={"COLUMNS": "80", "NO_COLOR": "1"}).rpartition(
        "\x1b[K"
    )[2]
    lines = shown.rstrip("\n").split("\n")
    assert len(lines) <= 23
    assert len([line for line in lines if re.match("error|warning|note", line)]) >= len(codes)
    offer = re.search(
        rf"(\d+) of {total} findings can be fixed safely; all at once: checkpoint doctor --fix\n",
        shown,
    )
    assert offer
    assert lines[-1] == f"{total} findings in all; each of them: checkpoint doctor --full"

    fixed = json.loads(run_here("doctor", "--fix", "--json", cwd=team).stdout)
    assert total - len(fixed["findings"]) == int(offer[1])
    assert "can be fixed" not in run_here("doctor", "--fix", cwd=team).stdout
