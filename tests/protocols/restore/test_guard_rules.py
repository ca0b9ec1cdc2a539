from typing import Any

import pytest

from checkpoint_git.protocols.restore.guard import Cover, decide, is_looking, read_call

ROOT = "/app"
ALL = Cover(("",), frozenset())
SRC = Cover(("src",), frozenset({"src/a.py"}))


def ask(tool: str, covers: list[Cover], **given: Any) -> bool:
    call = read_call({"tool_name": tool, "tool_input": given, "cwd": "/app/src"}, ROOT)
    return call is not None and decide(call, ROOT, covers).allowed


def test_reading_is_always_allowed() -> None:
    assert ask("Read", [], file_path="/etc/Edit.md")


def test_an_edit_needs_a_point_that_covers_its_file() -> None:
    assert not ask("Edit", [], file_path="/app/src/a.py")
    assert ask("Edit", [SRC], file_path="/app/src/a.py")
    assert not ask("Edit", [SRC], file_path="/app/lib/a.py")


def test_a_relative_path_counts_from_the_calls_folder() -> None:
    assert ask("Write", [SRC], file_path="new.py")
    assert not ask("Write", [SRC], file_path="../new.py")


def test_a_neighbour_by_name_is_not_covered() -> None:
    assert not ask("Write", [SRC], file_path="/app/src2/a.py")


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/app/../etc/x", "/app/.git/config", "/app/.checkpoints/chk_x/restore.sh"]
)
def test_no_point_covers_what_lies_outside_or_is_gits(path: str) -> None:
    assert not ask("Write", [ALL], file_path=path)


def test_an_unknown_tool_counts_as_one_that_changes_things() -> None:
    assert not ask("mcp__files__move", [SRC])
    assert ask("mcp__files__move", [ALL])


def test_a_tool_can_be_called_harmless() -> None:
    call = read_call({"tool_name": "mcp__docs__search"}, ROOT, ["mcp__docs__search"])
    assert call is not None
    assert decide(call, ROOT, []).allowed


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"tool_name": 1},
        {"tool_name": "Edit"},
        {"tool_name": "Edit", "tool_input": 1},
        {"tool_name": "Edit", "tool_input": {"file_path": "a\0b"}},
        {"tool_name": "Bash"},
    ],
)
def test_a_call_that_makes_no_sense_is_no_call(value: object) -> None:
    assert read_call(value, ROOT) is None


@pytest.mark.parametrize(
    "command",
    ["ls -la src", "git status --short", "git log -5 --oneline", "cat 'a b'", "checkpoint status",
     "checkpoint restore-point create src --reason 'before it'", "git checkpoint rp list", "checkpoint doctor",
     "checkpoint rp rollback chk_20260115_143022_a7b3c9"],
)  # fmt: skip
def test_a_command_that_only_looks_is_reading(command: str) -> None:
    assert is_looking(command)


@pytest.mark.parametrize(
    "command",
    ["rm -rf x", "ls > x", "ls; rm x", "cat a && rm b", "cat $(rm x)", "cat `rm x`", "ls | xargs rm", "FOO=1 ls",
     "git reset", "git log --output=x", "git diff --ext-diff", "checkpoint doctor --fix", "checkpoint reset build",
     "git checkpoint update x", "checkpoint rp drop x", "checkpoint restore-point gc --expired", "checkpoint rp",
     "checkpoint doctor --fi", "git diff --outpu=x", "git cat-file --filters HEAD:x", "file -C -m x", "python -c 1",
     "ls\nrm x", "", "'", "sudo ls"],
)  # fmt: skip
def test_any_other_command_may_change_things(command: str) -> None:
    assert not is_looking(command)


def test_a_refusal_says_what_is_not_covered() -> None:
    call = read_call({"tool_name": "Edit", "tool_input": {"file_path": "/app/lib/x"}}, ROOT)
    assert call is not None
    assert decide(call, ROOT, [SRC]).reason == "no live restore point covers lib/x"
