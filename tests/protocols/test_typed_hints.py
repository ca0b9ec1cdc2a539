"""A hint is typed where the command was called: other folders' commands go there, and other texts stay as they are."""

from pathlib import Path

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.typed_hints import type_hints
from tests.support.repos import GitRepo

HERE = ".checkpoints/a.checkpoint.json"
THERE = f"it's/{HERE}"
UPDATE = "if so: checkpoint update a --x='checkpoint update b'"


def typed(folder: Path, path: str, hint: str) -> str:
    (finding,) = type_hints([Finding("x", "error", "m", path, hint=hint)], str(folder))
    return finding.hint


@pytest.mark.parametrize(
    ("folder", "path", "hint", "expected"),
    [
        ("", HERE, UPDATE, UPDATE),
        ("src", HERE, UPDATE, UPDATE),
        ("", THERE, UPDATE, UPDATE.replace("checkpoint update a", "checkpoint -C 'it'\"'\"'s' update a")),
        ("it's", THERE, UPDATE, UPDATE),
        ("it's/x", HERE, UPDATE, UPDATE.replace("checkpoint update a", "checkpoint -C ../.. update a")),
        ("src", HERE, "add it: git add -- 'git add'", "add it: git -C .. add -- 'git add'"),
        ("", HERE, "add it: git add -- a", "add it: git add -- a"),
        ("it's/x", THERE, "rename it: mv -n a b", "rename it: cd ../.. && mv -n a b"),
        ("src", "memory/state/phase.json", "`checkpoint workflow resume`", "`checkpoint -C .. workflow resume`"),
        ("", "memory/state/phase.json", "`checkpoint workflow resume`", "`checkpoint workflow resume`"),
        ("src", ".checkpoints", "run `checkpoint init`", "run `checkpoint init`"),
    ],
)
def test_commands_go_to_the_place_of_the_finding(
    repo: GitRepo, folder: str, path: str, hint: str, expected: str
) -> None:
    for name in (f"it's/{HERE}", "it's/x/y", "src/y", *([] if "memory" in path else [HERE])):
        repo.write(name, "")
    assert typed(repo.path / folder, path, hint) == expected


def test_outside_git_hints_stay(tmp_path: Path) -> None:
    assert typed(tmp_path, THERE, UPDATE) == UPDATE
