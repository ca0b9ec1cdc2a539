"""A hint is typed where the command was called: other folders' commands go there, and other texts
stay as they are.
"""

from pathlib import Path

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, advise, chain, command
from checkpoint_git.protocols.typed_hints import type_hints
from tests.support.repos import GitRepo

HERE = ".checkpoints/a.checkpoint.json"
THERE = f"it's/{HERE}"
UPDATE = advise("if so", "checkpoint", "update", "a", "--x=checkpoint update b")
ADD = advise("add it", "git", "add", "--", "git add")
RENAME = advise("rename it", "mv", "-n", "a", "b")
MOVE = chain("move it", [("mv", "a", "b"), ("checkpoint", "workflow", "back", "X")])
RESUME = command("checkpoint", "workflow", "resume")
INIT = command("checkpoint", "init")
SHOWN = "if so: checkpoint update a --x='checkpoint update b'"


def typed(folder: Path, path: str, hint: AnyHint) -> str:
    (finding,) = type_hints([Finding("x", "error", "m", path, hint=hint)], str(folder))
    return str(finding.hint)


@pytest.mark.parametrize(
    ("folder", "path", "hint", "expected"),
    [
        ("", HERE, UPDATE, SHOWN),
        ("src", HERE, UPDATE, SHOWN),
        (
            "",
            THERE,
            UPDATE,
            SHOWN.replace("checkpoint update a", "checkpoint -C 'it'\"'\"'s' update a"),
        ),
        ("it's", THERE, UPDATE, SHOWN),
        (
            "it's/x",
            HERE,
            UPDATE,
            SHOWN.replace("checkpoint update a", "checkpoint -C ../.. update a"),
        ),
        ("src", HERE, ADD, "add it: git -C .. add -- 'git add'"),
        ("", HERE, ADD, "add it: git add -- 'git add'"),
        ("it's/x", THERE, RENAME, "rename it: cd ../.. && mv -n a b"),
        (
            "src",
            "memory/state/phase.json",
            MOVE,
            "move it: cd .. && mv a b && checkpoint workflow back X",
        ),
        (
            "it's/x",
            "it's/memory/state/phase.json",
            MOVE,
            "move it: cd ../.. && mv a b && checkpoint -C 'it'\"'\"'s' workflow back X",
        ),
        ("src", "memory/state/phase.json", RESUME, "checkpoint -C .. workflow resume"),
        ("", "memory/state/phase.json", RESUME, "checkpoint workflow resume"),
        ("src", ".checkpoints", INIT, "checkpoint init"),
        ("src", HERE, "checkpoint update a", "checkpoint update a"),
    ],
)
def test_commands_go_to_the_place_of_the_finding(
    repo: GitRepo, folder: str, path: str, hint: AnyHint, expected: str
) -> None:
    for name in (f"it's/{HERE}", "it's/x/y", "src/y", *([] if "memory" in path else [HERE])):
        repo.write(name, "")
    assert typed(repo.path / folder, path, hint) == expected


def test_outside_git_hints_stay(tmp_path: Path) -> None:
    assert typed(tmp_path, THERE, UPDATE) == SHOWN
