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
    Argument,
    Argv,
    Blank,
    Output,
    Word,
    commands_of,
    write_plain,
)
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.validate import verb as validate
from tests.scenarios.test_hints import BLOCKER, HINTS, primer
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint
from tests.support.snapshot import take_snapshot
from tests.support.verbs import run_verb
from tests.support.workflows import phase, write_workflow

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
