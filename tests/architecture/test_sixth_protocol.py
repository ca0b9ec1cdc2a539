"""A protocol is one folder and one row: a sixth one, in a copy of the package, is found by every
tool.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.imports import ROOT
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

ROW = """\
    ProtocolRow(
        "notes",
        (Kind("note", "schema.json", ".notes", ("", ".note.json"), noun="note", is_merged=True),),
        {"note": ("verb", "what was noted", "state")},
    ),
)
KINDS ="""
LAYOUT = """\
SUFFIX = ".note.json"


def find_skill(file_name):
    name = file_name.rpartition("/")[2]
    return name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else ""
"""
RULES = """\
from checkpoint_git.core.finding import Finding


def describe(mismatch):
    return Finding("notes/shape", "error", mismatch.message, where=mismatch.where)


def check(value, *, skill, size, now):
    return [] if value.get("name") == skill else [Finding("notes/name", "error", "another note's name", where="/name")]
"""
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["name", "text"],
    "properties": {"name": {"type": "string"}, "text": {"type": "string"}},
}
SUMMARY = """\
import os

from checkpoint_git.core.outcome import Line
from checkpoint_git.protocols.contract import Summary


def is_present(place):
    return os.path.isdir(os.path.join(place.root, ".notes"))


def summarize(question):
    folder = os.path.join(question.place.root, ".notes")
    names = sorted(name.removesuffix(".note.json") for name in os.listdir(folder)) if os.path.isdir(folder) else []
    told = f"notes: {len(names)}, the first is {names[0]}" if names else "notes: none"
    return Summary({"notes": names}, blocks=[Line(told)], lines=[told], names={"NOTE": names})
"""
CHECKS = '''\
import os

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.check import Context, check


@check("notes/old", "warning", remedy="remove it")
def find_old_notes(context: Context):
    """A note that says it is old."""
    folder = os.path.join(context.place.root, ".notes")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if "old" in name:
            yield Finding("notes/old", "warning", "this note is old", f".notes/{name}", hint="remove it")
'''
VERB = '''\
"""`checkpoint note`: show a note."""

from checkpoint_git.core.outcome import Line, Outcome

HELP = """\
show what was noted

examples:
  checkpoint note old
"""


def add_arguments(parser):
    parser.add_argument("note", metavar="NOTE", help="its name")


def run(args, invocation):
    return Outcome({"note": args.note}, [Line(f"note {args.note}")])
'''
FILES = {
    "__init__.py": '"""Notes."""\n',
    "README.md": "# Notes\n",
    "layout.py": LAYOUT,
    "rules.py": RULES,
    "schema.json": json.dumps(SCHEMA),
    "store.py": '"""Notes are read as any file."""\n',
    "summary.py": SUMMARY,
    "checks.py": CHECKS,
    "verb.py": VERB,
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package, to which one folder and one row were added."""
    home = tmp_path_factory.mktemp("sixth")
    copy = home / "checkpoint_git"
    shutil.copytree(ROOT / "checkpoint_git", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("hooks", "plugins"):
        shutil.copytree(ROOT / folder, home / folder)
    registry = copy / "protocols/registry.py"
    text = registry.read_text("utf-8")
    assert text.count(")\nKINDS =") == 1
    registry.write_text(text.replace(")\nKINDS =", ROW), "utf-8")
    (copy / "protocols/notes").mkdir()
    for name, content in FILES.items():
        (copy / "protocols/notes" / name).write_text(content, "utf-8")
    return home


@pytest.fixture
def noted(repo: GitRepo) -> GitRepo:
    """A repository with a checkpoint and a valid note."""
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.write(
        ".notes/old.note.json", json.dumps({"name": "old", "text": "Remember"}, indent=2) + "\n"
    )
    repo.commit()
    return repo


def run(package: Path, repo: GitRepo, *words: str, code: int = 0, stdin: str = "") -> str:
    """What a command of the copy says."""
    env = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, "-m", "checkpoint_git", *words]
    done = subprocess.run(
        command, cwd=repo.path, env=env, input=stdin, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_its_verb_is_listed_and_runs(package: Path, noted: GitRepo) -> None:
    assert "  note           what was noted" in run(package, noted, "--help")
    assert run(package, noted, "note", "old") == "note old\n"


def test_status_and_prime_say_what_there_is_of_it(package: Path, noted: GitRepo) -> None:
    assert "notes: 1, the first is old" in run(package, noted, "status")
    assert json.loads(run(package, noted, "status", "--json"))["notes"] == ["old"]
    assert "| notes: 1, the first is old" in run(package, noted, "prime")


def test_validate_checks_its_shape_and_its_meaning(package: Path, noted: GitRepo) -> None:
    assert "1 checkpoint, 1 note: 0 errors" in run(package, noted, "validate")
    noted.write(".notes/new.note.json", '{"name": "other"}')
    found = json.loads(run(package, noted, "validate", "--json", code=1))["findings"]
    assert sorted(one["code"] for one in found) == ["notes/name", "notes/shape"]
    assert "another note's name" in run(package, noted, "validate", ".notes/new.note.json", code=1)


def test_the_doctor_lists_and_runs_its_check(package: Path, noted: GitRepo) -> None:
    assert "notes/old" in run(package, noted, "doctor", "--list")
    found = json.loads(run(package, noted, "doctor", "--check", "notes", "--json"))["findings"]
    assert [(one["code"], one["path"]) for one in found] == [("notes/old", ".notes/old.note.json")]


def test_the_report_shows_it(package: Path, noted: GitRepo) -> None:
    page = run(package, noted, "report", "--no-doctor", "-o", "-")
    assert "notes: 1, the first is old" in page


def test_a_shell_completes_its_verb_and_its_names(package: Path, noted: GitRepo) -> None:
    assert run(package, noted, "complete", "--line", "checkpoint not").startswith("note\t")
    assert run(package, noted, "complete", "--line", "checkpoint note ") == "old\t\n"


def test_git_merges_its_files_and_its_hooks_check_them(package: Path, noted: GitRepo) -> None:
    run(package, noted, "init")
    attributes = [noted.path / ".gitattributes", noted.path / ".git/info/attributes"]
    assert any(
        "**/.notes/*.note.json merge=" in file.read_text("utf-8")
        for file in attributes
        if file.exists()
    )
    noted.write(".notes/new.note.json", '{"name": "other", "text": ""}')
    noted.git("add", ".notes")
    assert "another note's name" in run(package, noted, "hook", "pre-commit", code=1)
    assert ".notes" in run(package, noted, "schema")


@pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="the MCP SDK is not installed")
def test_an_agent_hears_of_it(package: Path, noted: GitRepo) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "checkpoint_status", "arguments": {}}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    answers = [json.loads(line) for line in run(package, noted, "mcp", stdin=lines).splitlines()]
    (answer,) = [each for each in answers if each.get("id") == 2]
    assert answer["result"]["structuredContent"]["notes"] == ["old"]
