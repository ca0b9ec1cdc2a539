"""Everyday commands end on a Python without POSIX's parts as they do here, and two of them say that
they do not run.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path

from tests.architecture.imports import ROOT
from tests.support.command import run_here
from tests.support.repos import GitRepo, environ_in
from tests.support.without_posix import MODULES

EVERYDAY = [
    ["init"],
    ["init"],
    ["update", "api", "--step=one", "--next+=A", "--next+=B"],
    ["note", "api", "a note"],
    ["block", "api", "a blocker"],
    ["undo", "api"],
    ["update", "api", "--step=two"],
    ["ask", "api", "which port?", "80", "81"],
    ["claim", "api"],
    ["release", "api"],
    ["validate"],
    ["status"],
    ["next"],
    ["resume", "api"],
    ["show", "api"],
    ["log"],
    ["diff"],
    ["doctor"],
    ["audit"],
    ["prime"],
    ["report"],
    ["rotate"],
    ["schema", "skill"],
    ["workflow", "start", "w1"],
    ["workflow", "status"],
    ["hook", "pre-commit"],
    ["update", "../api", "--step=x"],
    ["nonsense"],
    ["uninstall"],
]
NOT_YET = [["sync"], ["restore-point", "list"]]


def run_without_posix(
    commands: list[list[str]], folder: Path
) -> "subprocess.CompletedProcess[str]":
    lines = "".join(f"{json.dumps(words)}\n" for words in commands)
    words = [sys.executable, "-m", "tests.support.without_posix"]
    env = {**environ_in(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        words, cwd=folder, env=env, input=lines, capture_output=True, text=True, check=False
    )


def test_everyday_commands_end_as_they_do_here(tmp_path: Path) -> None:
    for name in ("here", "without"):
        repo = GitRepo.create(tmp_path / name)
        repo.write("README", "readme\n")
        repo.commit()
    done = run_without_posix([*EVERYDAY, *NOT_YET], tmp_path / "without")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(EVERYDAY) + len(NOT_YET), done.stderr

    wrong = {}
    for words, answer in zip(EVERYDAY, answers, strict=False):
        here = run_here(*words, cwd=tmp_path / "here")
        if here.returncode != answer["code"]:
            wrong[" ".join(words)] = here.returncode, answer
    assert not wrong

    for answer in answers[len(EVERYDAY) :]:
        assert answer["code"] == 2
        assert "does not run on Windows yet" in answer["err"]


def test_the_driver_merges_and_falls_back_to_text(tmp_path: Path) -> None:
    versions = {"base": "a\n", "ours": "a\nb\n", "theirs": "c\na\n"}
    for name, text in versions.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"next_actions": text.split()}))
        (tmp_path / f"{name}.txt").write_text(text)

    for ending, path in ((".json", ".checkpoints/api.checkpoint.json"), (".txt", "notes.txt")):
        names = [f"{name}{ending}" for name in versions]
        done = run_without_posix([["merge-driver", *names, "7", path]], tmp_path)
        assert done.returncode == 0  # it leaves the process
        assert "the driver failed" not in done.stderr
    assert json.loads((tmp_path / "ours.json").read_text()) == {"next_actions": ["c", "a", "b"]}
    assert (tmp_path / "ours.txt").read_text() == "c\na\nb\n"
    assert len(list(tmp_path.iterdir())) == 6


def test_no_module_needs_them_to_be_imported() -> None:
    offending = []
    for path in sorted((ROOT / "checkpoint_git").rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if set(names) & set(MODULES.split()):
                offending.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not offending
