import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.memory import layout
from tests.support.rows import rows


def test_a_command_is_split_as_a_shell_splits_and_runs_in_none() -> None:
    server = layout.read_command("MODE=x 'my node' /a/index.js '$(id)'", "/g.jsonl", {})
    assert server.words == ("my node", "/a/index.js", "$(id)")
    assert server.env == {"MODE": "x", "MEMORY_FILE_PATH": "/g.jsonl"}


@rows(
    ("command", "file", "env", "graph"),
    [
        ("s", "/a.jsonl", {"MEMORY_FILE_PATH": "/b.jsonl"}, "/a.jsonl"),
        ("MEMORY_FILE_PATH=/c.jsonl s", "", {"MEMORY_FILE_PATH": "/b.jsonl"}, "/c.jsonl"),
        ("s", "", {"MEMORY_FILE_PATH": "/b.jsonl"}, "/b.jsonl"),
        ("node /x/server-memory/dist/index.js", "", {}, "/x/server-memory/dist/memory.jsonl"),
        ("s", "", {}, ""),
    ],
)
def test_the_graph_is_where_the_nearest_setting_says(
    command: str, file: str, env: dict[str, str], graph: str
) -> None:
    assert layout.read_command(command, file, env).graph == graph


@pytest.mark.parametrize(
    ("command", "file", "env"),
    [
        ("s", "a.jsonl", {}),
        ("MEMORY_FILE_PATH=./a s", "", {}),
        ("s", "", {"MEMORY_FILE_PATH": "a"}),
    ],
)
def test_a_relative_graph_is_refused_wherever_it_is_named(
    command: str, file: str, env: dict[str, str]
) -> None:
    with pytest.raises(CheckpointError, match="relative"):
        layout.read_command(command, file, env)


@pytest.mark.parametrize("command", ["'", "A=b", " "])
def test_a_command_without_a_program_is_refused(command: str) -> None:
    with pytest.raises(CheckpointError, match="memoryCommand"):
        layout.read_command(command, "", {})


@rows("name", ["", " ", "a\nb", "x" * 300])
def test_what_cannot_be_a_name_is_none(name: str) -> None:
    with pytest.raises(CheckpointError):
        layout.check_entity_name(name)


def test_clones_of_one_remote_have_a_mark_in_common_and_other_repositories_none() -> None:
    addresses = (
        "git@host:acme/app.git",
        "https://user:secret@host/acme/app",
        "ssh://git@host/acme/app/",
    )
    marks = {
        layout.mark_repository(address, f"/home/{at}/app/.git")[0]
        for at, address in enumerate(addresses)
    }
    assert len(marks) == 1
    assert marks.pop().startswith("app-")
    folders = ("/home/a/app/.git", "/home/b/app/.git", "/home/c/app.git")
    assert len({mark for folder in folders for mark in layout.mark_repository("", folder)}) == 3
    assert len(layout.mark_repository("../hub", "/home/a/\x1b[31m/.git")) == 1
    assert layout.mark_repository("", "/home/a/\x1b[31m/.git")[0].startswith("31m-")
