"""Every command of every hint runs: with its blanks filled it is no wrong usage, and unfilled it
writes nothing.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import (
    UNFILLED,
    AnyHint,
    Argument,
    Argv,
    Blank,
    Output,
    Word,
    commands_of,
    write_plain,
)
from checkpoint_git.protocols.workflow import verbs as workflow
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.setup import init
from checkpoint_git.tools.validate import verb as validate
from tests.scenarios.test_hints import BLOCKER, HINTS, primer
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint
from tests.support.snapshot import take_snapshot
from tests.support.verbs import run_verb
from tests.support.workflows import OUTPUTS, execution, phase, task, write_output, write_workflow

_USAGE = (2, 129)  # of checkpoint, of git
_REMOTE = ("fetch", "pull", "push", "clone", "ls-remote")
_LATER = "2027-03-02T12:00:00Z"  # when what is not complete is stale
_DRIFT: list[dict[str, Any]] = [
    {},
    {"project_dir": "/nowhere/at all"},
    {"project_dir": "app"},
    {"status": "blocked", "blockers": [BLOCKER, {**BLOCKER, "id": "b2", "needs": "code_fix"}]},
    {"status": "blocked", "blockers": []},
    {"status": "complete", **primer("docs/plan.md")},
    primer("docs/none.md", "docs/{a,b}.md", "/etc/x", "lib/old.py", "lib/it's.py"),
    {"next_actions": ["Merge #340", "After #340 lands, tell Ada"]},
    {"next_actions": ["After #340 lands, tell Ada"]},
    {"next_actions": ["Write", {"text": "Go", "done_when_merged": ["#340"]}]},
    {"blockers": [{**BLOCKER, "proposed_resolution": "Fixed by #340"}], "depends_on": ["#340"]},
    {"verified_for_sha": "deadbeef" * 5},
    {"superseded": [{"step": "x"}]},
    {"skill_state": {"merged_prs": [{"number": at} for at in range(60)]}},
]


def build(repo: GitRepo) -> None:
    """One repository with a checkpoint for each fault that does not hide another's."""
    repo.write("docs/plan.md", "the plan\n")
    repo.write("lib/old.py", "pass\n" * 30)
    repo.commit("Add the notes (#340)")
    faults = [*_DRIFT, *(row.make for row in HINTS if isinstance(row.make, dict))]
    for number, changes in enumerate(faults):
        value = checkpoint(**{"skill": f"s{number}", "project_dir": str(repo.path), **changes})
        repo.write(f".checkpoints/s{number}.checkpoint.json", json.dumps(value, indent=2))
    for name, text in (("empty", ""), ("cut", '{"a": '), ("list", "[]"), ("mark", "\ufeff{}")):
        repo.write(f".checkpoints/{name}.checkpoint.json", text)
    repo.write(".checkpoints/My notes.Checkpoint.JSON", "{}")
    repo.git("add", "-A")
    repo.git("commit", "-qnm", "write")
    repo.git("mv", "lib/old.py", "lib/new.py")
    repo.write("docs/plan.md", "newer\n")
    repo.git("commit", "-qnam", "move")


def find(repo: GitRepo) -> list[Finding]:
    found = [*run_verb(validate, cwd=repo.path, now=_LATER).outcome.findings]
    found += run_verb(doctor, cwd=repo.path, now=_LATER).outcome.findings
    return list(dict.fromkeys(found))


def fill(argv: Argv, cwd: Path) -> list[str]:
    """The words with 1 in place of each blank, and with what the commands in it print."""

    def write(part: str | Blank | Output) -> str:
        if isinstance(part, Output):
            return subprocess.run(
                part.argv, cwd=cwd, check=True, capture_output=True, text=True
            ).stdout.strip()
        return "1" if isinstance(part, Blank) else part

    def write_argument(word: Argument) -> str:
        if not isinstance(word, Word):
            return write(word)
        text = "".join(map(write, word.parts))
        return text.replace("{1}", '{"a": 1}')  # an object's members

    return [write_argument(word) for word in argv]


def run(words: list[str], cwd: Path) -> tuple[int, str]:
    if words[0] == "checkpoint":
        ran = run_here(*words[1:], cwd=cwd, env={"GIT_EDITOR": "true"})
    else:
        env = {**os.environ, "GIT_EDITOR": "true"}
        ran = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stdout + ran.stderr


def read_all(repo: GitRepo) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path in (repo.path / ".checkpoints").rglob("*")
        if path.is_file()
    }


def put_back(repo: GitRepo, before: dict[Path, bytes]) -> None:
    now = read_all(repo)
    for path in now.keys() - before.keys():
        path.unlink()
    for path, data in before.items():
        if now.get(path) != data:
            path.write_bytes(data)


def test_every_command_of_every_hint_runs_and_stores_no_placeholder(repo: GitRepo) -> None:
    build(repo)
    commands = list(
        dict.fromkeys(argv for finding in find(repo) for argv in commands_of(finding.hint))
    )
    assert len(commands) > 80
    before, wrong = read_all(repo), list[tuple[list[str], str]]()
    for argv in commands:
        if argv[0] == "git" and argv[1] in _REMOTE:
            continue
        words = fill(argv, repo.path)
        code, said = run(words, repo.path)
        if code in _USAGE:
            wrong.append((words, said))
        put_back(repo, before)
    assert wrong == []


def test_a_pasted_blank_is_refused_before_anything_is_written(repo: GitRepo) -> None:
    build(repo)
    commands = dict.fromkeys(argv for finding in find(repo) for argv in commands_of(finding.hint))
    before, wrong = read_all(repo), list[tuple[list[str], str]]()
    blanks = [
        write_plain(argv)
        for argv in commands
        if any(UNFILLED in word for word in write_plain(argv))
    ]
    assert len(blanks) > 20
    for words in blanks:
        code, said = run(words, repo.path)
        if code != 2 or read_all(repo) != before or "Traceback" in said:
            wrong.append((words, said))
        put_back(repo, before)
    assert wrong == []


_PLACEHOLDERS = (
    "workflow start ...",
    "workflow task add ...",
    "workflow fail --error ...",
    "workflow save --note=...",
    "restore-point create lib --reason ...",
    "restore-point create ...",
    "memory save --initiative ...",
    "memory save --initiative a --set phase=...",
    "memory save --fields fields.json",
    "memory update phase=...",
)


def test_no_verb_of_another_protocol_stores_a_placeholder(repo: GitRepo) -> None:
    repo.write("lib/a.py", "pass\n")
    repo.write("fields.json", '{"initiative": "a", "phase": "..."}')
    write_workflow(repo.path, phase())
    repo.git("config", "checkpoint.memoryFile", str(repo.path / "graph.json"))
    before, wrong = take_snapshot(repo.path), list[tuple[str, int, str]]()
    for line in _PLACEHOLDERS:
        ran = run_here(*line.split(), cwd=repo.path)
        if (
            ran.returncode != 2
            or '"..." is a placeholder' not in ran.stderr
            or take_snapshot(repo.path) != before
        ):
            wrong.append((line, ran.returncode, ran.stdout + ran.stderr))
    assert wrong == []


_BACK = {"to": "IMPLEMENTATION", "at": "2026-03-02T09:00:00Z"}
# the situations of a workflow in which `resume` gives a hint
_WORKFLOWS: tuple[tuple[dict[str, Any], dict[str, Any], dict[str, str]], ...] = (
    (phase("VERIFICATION"), execution(task("t1")), {}),
    (phase("VERIFICATION", "failed"), execution(), {}),
    (phase("IMPLEMENTATION"), execution(task("t1", "failed", attempts=3)), {}),
    (phase("IMPLEMENTATION", went_back=[_BACK]), execution(task("t1", "complete")), {}),
    (phase("IMPLEMENTATION"), execution(task("t1", "complete")), {}),
    (phase("VERIFICATION"), execution(), {"status": "failed"}),
    (phase("ARCHITECTURE"), execution(), {"design": "a"}),
)


def list_hints(repo: GitRepo) -> list[AnyHint]:
    """The hints of next steps, and of the steps of a set-up."""
    hints: list[AnyHint] = []
    for state, tasks, result in _WORKFLOWS:
        write_workflow(repo.path, state, tasks)
        if result:
            write_output(repo.path, OUTPUTS[state["current_phase"]], result)
        hints.append(run_verb(workflow, "resume", "--yes", cwd=repo.path).outcome.data["hint"])

    repo.git("config", "core.hooksPath", str(repo.path / ".git/elsewhere"))
    repo.git("config", "merge.checkpoint.driver", "another")
    for words in ((), ("--hooks", "none"), ("--hooks", "pre-commit")):
        outcome = run_verb(init, "--dry-run", *words, cwd=repo.path).outcome
        hints += [step.get("hint", "") for step in outcome.data["steps"]]

    return hints


def test_every_command_of_a_next_step_and_of_a_set_up_runs(repo: GitRepo) -> None:
    build(repo)
    (repo.path / ".pre-commit-config.yaml").write_text("repos: []\n")
    hints = list_hints(repo)
    assert all(commands_of(hint) for hint in hints[: len(_WORKFLOWS)])
    commands = dict.fromkeys(argv for hint in hints for argv in commands_of(hint))
    assert len(commands) > 10
    wrong = []
    for argv in commands:
        if argv[0] in ("checkpoint", "git"):
            words = fill(argv, repo.path)
            code, printed = run(words, repo.path)
            if code in _USAGE:
                wrong.append((words, printed))
    assert wrong == []
