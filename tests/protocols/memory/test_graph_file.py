import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.process import Command
from checkpoint_git.protocols.memory import graph_file
from checkpoint_git.protocols.memory.graph_file import (
    check_graph_file,
    find_servers,
    plan_repair,
    read_lines,
    salvage,
)
from tests.support.memory import OTHERS, entity_line, put_graph, read_observations

ODD = '{"type":"entity", "name":"odd",  "extra":1, "entityType":"x", "observations":["\\u00e9"]}'
NO_TEXTS, TWICE = "observations that are not texts", 'the entity "Ada" appears twice'
SPLIT = "not one JSON object"
STRANGE = '{"type":"something else"}'


def printed(*values: object, indent: int | None = 2, between: str = "\n") -> str:
    return between.join(json.dumps(each, indent=indent) for each in values)


VALUE = {"type": "entity", "name": "a", "entityType": "x", "observations": ["b"]}
RELATION = {"type": "relation", "from": "a", "to": "a", "relationType": "is"}


@pytest.mark.parametrize(
    "text",
    [
        printed(VALUE, RELATION),
        printed(VALUE, RELATION, between=",\n"),
        printed([VALUE, RELATION]),
        printed([VALUE, RELATION], indent=None),
        f"[\n{printed(VALUE, RELATION, indent=None, between=',' + chr(10))}\n]\n",
        f"{printed(VALUE)}\n{printed(RELATION, indent=None)}\n",
        f"{printed(VALUE, indent=None)}\n\n{printed(RELATION)}",
    ],
)
def test_a_graph_that_was_printed_in_another_form_is_read_and_not_emptied(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "graph.jsonl"
    path.write_text(text)
    repair = plan_repair(read_lines(str(path)))
    assert [line.value for line in repair.lines] == [VALUE, RELATION]
    assert not any("\n" in line.text for line in repair.lines)
    assert (repair.lost, bool(repair.faults)) == (0, True)


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        (f'{printed(VALUE)}\n{{\n  "type": "entity",\n{printed(RELATION)}', 2),
        (f"{printed(VALUE)} and more\n{printed(RELATION)}", 1),
        (f"[\n{printed(VALUE, RELATION, indent=None)}\n]", 0),
    ],
)
def test_what_cannot_be_read_between_printed_objects_counts_as_lost(
    tmp_path: Path, text: str, lost: int
) -> None:
    path = tmp_path / "graph.jsonl"
    path.write_text(text)
    repair = plan_repair(read_lines(str(path)))
    assert ([line.value for line in repair.lines], repair.lost) == ([VALUE, RELATION], lost)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_graph_in_utf_16_is_repaired_and_not_emptied(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "graph.jsonl"
    path.write_bytes(f"\ufeff{printed(VALUE, RELATION, indent=None)}\r\n".encode(encoding))
    repair = plan_repair(read_lines(str(path)))
    assert ([line.value for line in repair.lines], repair.lost) == ([VALUE, RELATION], 0)
    assert repair.faults[0][0] == 1


def test_an_object_of_many_lines_and_long_texts_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonl"
    long = {
        **VALUE,
        "observations": [f"phase:{'x' * 9_000}", *(f"note:{at}\u00e9\n" for at in range(3_000))],
    }
    path.write_text("{\n" * 2 + printed(long, RELATION))
    assert [line.value for line in plan_repair(read_lines(str(path))).lines] == [long, RELATION]


def test_a_broken_file_is_moved_aside_whole(tmp_path: Path) -> None:
    path = put_graph(tmp_path / "graph.jsonl", '{"half', entity_line("a:1"))
    before = path.read_bytes()
    repair = salvage(str(path), str(tmp_path / "aside"))
    assert (len(repair.lines), repair.lost, repair.faults) == (4, 1, [(3, "not JSON")])
    assert (tmp_path / "aside").read_bytes() == before
    assert [line.text for line in read_lines(str(path))] == [
        *OTHERS[:2],
        entity_line("a:1"),
        OTHERS[2],
    ]


@pytest.mark.parametrize(
    ("line", "kept", "fault"),
    [
        ("null", 0, ["not JSON"]),
        (
            '{"type":"entity","name":1,"entityType":"x","observations":[]}',
            0,
            ["entity: its name is not a text"],
        ),
        (
            '{"type":"relation","from":"a","to":"b"}',
            0,
            ["relation: its relationType is not a text"],
        ),
        (
            '{"type":"entity","name":"n","entityType":"x","observations":[1,null,"b"]}',
            1,
            [NO_TEXTS],
        ),
        ('{"type":"entity","name":"n","entityType":"x"}', 1, [NO_TEXTS]),
        (
            '{"type":"entity","name":"Ada","entityType":"x","observations":["more"]}',
            0,
            [TWICE],
        ),
        (STRANGE, 1, []),
        ("\ufeff" + entity_line("a:1"), 1, [SPLIT]),
        (
            entity_line("a:1") + entity_line("a:1", name="n") + '{"type":"en',
            2,
            [SPLIT, SPLIT, "not JSON"],
        ),
    ],
)
def test_every_line_that_stops_a_server_is_repaired(
    tmp_path: Path, line: str, kept: int, fault: Sequence[str]
) -> None:
    path = put_graph(tmp_path / "graph.jsonl", line)
    repair = plan_repair(read_lines(str(path)))
    assert len(repair.lines) == 3 + kept
    assert [text for _, text in repair.faults] == [*fault]
    assert plan_repair(repair.lines).faults == []


def test_an_entity_that_is_there_twice_loses_nothing(tmp_path: Path) -> None:
    path = put_graph(tmp_path / "graph.jsonl", entity_line("a:1", "b:1"), entity_line("a:1", "b:2"))
    salvage(str(path), str(tmp_path / "aside"))
    assert read_observations(path) == ["a:1", "b:1", "b:2"]


@pytest.mark.parametrize("half", ["d800", "dbff", "dc00", "dd00", "dfff"])
def test_half_of_a_surrogate_pair_stays_what_it_is_in_a_line_that_is_repaired(
    tmp_path: Path, half: str
) -> None:
    texts = entity_line("a:1", "b:é").replace("a:1", f"a:\\u{half}")
    path = put_graph(tmp_path / "graph.jsonl", f"[{texts}]")
    salvage(str(path), str(tmp_path / "aside"))
    assert read_observations(path) == [f"a:{chr(int(half, 16))}", "b:é"]


def test_a_graph_that_is_no_file_is_refused_and_a_missing_folder_made(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "."):
        with pytest.raises(CheckpointError, match="not a regular file"):
            read_lines(str(tmp_path / name))
    check_graph_file(str(tmp_path / "new" / "folder" / "graph.jsonl"))
    assert (tmp_path / "new" / "folder").is_dir()


SCRIPT = "/x/node_modules/@modelcontextprotocol/server-memory/dist/index.js"
OWN = {"MEMORY_FILE_PATH": "/graph.jsonl"}


def test_a_server_that_runs_is_known_by_its_program_and_its_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [
        (["node", SCRIPT], OWN, True),
        (["node", SCRIPT], {"MEMORY_FILE_PATH": "/other.jsonl"}, False),
        (["node", SCRIPT], {}, True),  # ps shows no environment
        (["node", SCRIPT], {"HOME": "/"}, False),  # its graph is beside its program
        (["node", SCRIPT], {"MEMORY_FILE_PATH": "graph.jsonl"}, True),
        (["node", "/home/ada/.npm/_npx/1/node_modules/.bin/mcp-server-memory"], OWN, True),
        (["/usr/bin/my-memory", "--quiet"], OWN, True),
        (["python3", "my-memory", "--quiet"], OWN, True),
        (["my-memory"], OWN, False),
        (["vim", "server-memory.md"], OWN, False),
        ([""], {}, False),
    ]
    wrong = []
    for words, env, is_found in rows:
        commands = [Command(7, words, env)]
        monkeypatch.setattr(graph_file, "read_own_commands", lambda commands=commands: commands)
        if find_servers("/graph.jsonl", ["/opt/my-memory", "--quiet"]) != [7] * is_found:
            wrong.append((words, env))
    assert wrong == []
