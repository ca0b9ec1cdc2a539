"""What a narrow terminal shows of common commands: no line is longer than it is wide, except commands to copy."""

import json
import re
from pathlib import Path

import pytest

from tests.support.command import run_here, show_here
from tests.support.histories import merge_notes
from tests.support.repos import GitRepo
from tests.support.rows import rows

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
    """Work that waits on a long question, after a merge, with what is out of date and what is not valid."""
    repo = GitRepo.create(tmp_path_factory.mktemp("screens") / "a-project-with-a-name")
    run_here("init", cwd=repo.path)
    run_here("update", "api", "--next_actions+=Merge PR #7: " + "search in all of it " * 6, cwd=repo.path)
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
def test_a_screen_fits_the_terminal(words: list[str], columns: int, project: Path) -> None:
    said = show_here(*words, cwd=project, env={"COLUMNS": str(columns), "NO_COLOR": "1"})
    shown = [line.rpartition("\x1b[K")[2] for line in said.split("\n")]
    long = [line for line in shown if len(line) > columns and " " in line.strip() and not TO_COPY.match(line)]
    assert long == []
