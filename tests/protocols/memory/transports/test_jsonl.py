import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.memory.entity import Entity, Steps
from checkpoint_git.protocols.memory.transports import GraphError
from checkpoint_git.protocols.memory.transports.jsonl import (
    JsonlTransport,
    check_graph_file,
    plan_repair,
    read_lines,
    salvage,
)
from tests.support.memory import OTHERS, entity_line, put_graph

ODD = '{"type":"entity", "name":"odd",  "extra":1, "entityType":"x", "observations":["\\u00e9"]}'
NO_TEXTS, TWICE = "observations that are not texts", 'the entity "Ada" is there twice'
SPLIT = "not one JSON object"
STRANGE = '{"type":"something else"}'


def open_graph(path: Path) -> JsonlTransport:
    return JsonlTransport(str(path), str(path.parent / "locks"))


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
def test_a_graph_that_was_printed_in_another_form_is_read_and_not_emptied(tmp_path: Path, text: str) -> None:
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
def test_what_cannot_be_read_between_printed_objects_counts_as_lost(tmp_path: Path, text: str, lost: int) -> None:
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
    with pytest.raises(GraphError):
        JsonlTransport(str(path), str(tmp_path)).read_graph()


def test_an_object_of_many_lines_and_long_texts_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonl"
    long = {**VALUE, "observations": [f"phase:{'x' * 9_000}", *(f"note:{at}\u00e9\n" for at in range(3_000))]}
    path.write_text("{\n" * 2 + printed(long, RELATION))
    assert [line.value for line in plan_repair(read_lines(str(path))).lines] == [long, RELATION]


def test_every_verb_keeps_the_bytes_of_others_lines(tmp_path: Path) -> None:
    path = put_graph(tmp_path / "graph.jsonl", ODD, STRANGE)
    transport = open_graph(path)
    assert transport.create_entities([Entity("e", "checkpoint", ("a:1",)), Entity("Ada", "x", ())]) == ["e"]
    transport.change_observations("e", Steps((), ["a:2"], ["a:1", "never there"]))
    assert transport.open_nodes(["e"])[0].observations == ("a:2",)
    transport.delete_entities(["e", "never there"])
    assert path.read_text("utf-8").splitlines() == [OTHERS[0], OTHERS[1], ODD, STRANGE, OTHERS[2]]


def test_a_graph_that_is_not_there_is_empty_and_begun_by_the_first_write(tmp_path: Path) -> None:
    transport = open_graph(tmp_path / "new" / "graph.jsonl")
    assert transport.read_graph() == []
    transport.create_entities([Entity("e", "checkpoint", ("a:b:c\n",))])
    assert transport.read_graph() == [Entity("e", "checkpoint", ("a:b:c\n",))]


def test_observations_of_an_entity_that_is_not_there_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(GraphError):
        open_graph(tmp_path / "graph.jsonl").change_observations("e", Steps(add=["a:1"]))


def test_an_entity_comes_with_its_relations(tmp_path: Path) -> None:
    found = open_graph(put_graph(tmp_path / "graph.jsonl")).open_nodes(["Ada"])
    assert found[0].relations == (json.loads(OTHERS[2]),)


def test_a_deleted_entity_takes_its_relations_along(tmp_path: Path) -> None:
    path = put_graph(tmp_path / "graph.jsonl")
    open_graph(path).delete_entities(["checkpoint"])
    assert path.read_text("utf-8").splitlines() == [OTHERS[0]]


def test_a_broken_line_stops_every_verb_and_changes_nothing(tmp_path: Path) -> None:
    path = put_graph(tmp_path / "graph.jsonl", '{"type":"entity","na')
    before = path.read_bytes()
    graph = open_graph(path)
    with pytest.raises(GraphError, match="line 3"):
        graph.read_graph()
    with pytest.raises(GraphError, match="line 3"):
        graph.create_entities([Entity("e", "checkpoint", ())])
    with pytest.raises(GraphError, match="line 3"):
        graph.delete_entities(["Ada"])
    assert path.read_bytes() == before


def test_a_broken_file_is_moved_aside_whole(tmp_path: Path) -> None:
    path = put_graph(tmp_path / "graph.jsonl", '{"half', entity_line("a:1"))
    before = path.read_bytes()
    repair = salvage(str(path), str(tmp_path / "aside"))
    assert (len(repair.lines), repair.lost, repair.faults) == (4, 1, [(3, "not JSON")])
    assert (tmp_path / "aside").read_bytes() == before
    assert [line.text for line in read_lines(str(path))] == [*OTHERS[:2], entity_line("a:1"), OTHERS[2]]


def test_a_relative_graph_is_refused() -> None:
    with pytest.raises(CheckpointError, match="relative"):
        JsonlTransport("graph.jsonl", "/tmp")  # noqa: S108 - nothing is written there


@pytest.mark.parametrize(
    ("line", "kept", "fault"),
    [
        ("null", 0, ["not JSON"]),
        ('{"type":"entity","name":1,"entityType":"x","observations":[]}', 0, ["entity: its name is not a text"]),
        ('{"type":"relation","from":"a","to":"b"}', 0, ["relation: its relationType is not a text"]),
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
        (entity_line("a:1") + entity_line("a:1", name="n") + '{"type":"en', 2, [SPLIT, SPLIT, "not JSON"]),
    ],
)
def test_every_line_that_stops_a_server_is_repaired(tmp_path: Path, line: str, kept: int, fault: Sequence[str]) -> None:
    path = put_graph(tmp_path / "graph.jsonl", line)
    repair = plan_repair(read_lines(str(path)))
    assert len(repair.lines) == 3 + kept
    assert [text for _, text in repair.faults] == [*fault]
    assert plan_repair(repair.lines).faults == []


def test_an_entity_that_is_there_twice_loses_nothing(tmp_path: Path) -> None:
    path = put_graph(tmp_path / "graph.jsonl", entity_line("a:1", "b:1"), entity_line("a:1", "b:2"))
    salvage(str(path), str(tmp_path / "aside"))
    assert open_graph(path).open_nodes(["initiative-checkpoint"])[0].observations == ("a:1", "b:1", "b:2")


@pytest.mark.parametrize("half", ["d800", "dbff", "dc00", "dd00", "dfff"])
def test_half_of_a_surrogate_pair_stays_what_it_is_when_its_entity_is_changed(tmp_path: Path, half: str) -> None:
    path = put_graph(tmp_path / "graph.jsonl", entity_line("a:1").replace("a:1", f"a:\\u{half}"))
    open_graph(path).change_observations("initiative-checkpoint", Steps(add=["b:é"]))
    assert open_graph(path).open_nodes(["initiative-checkpoint"])[0].observations == (f"a:{chr(int(half, 16))}", "b:é")


def test_a_graph_that_is_no_file_is_refused_and_a_missing_folder_made(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "."):
        with pytest.raises(CheckpointError, match="not a regular file"):
            open_graph(tmp_path / name).read_graph()
    check_graph_file(str(tmp_path / "new" / "folder" / "graph.jsonl"))
    assert (tmp_path / "new" / "folder").is_dir()
