import json
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.memory.entity import Entity
from checkpoint_git.protocols.memory.transports import GraphError
from checkpoint_git.protocols.memory.transports.jsonl import JsonlTransport, read_lines, salvage
from tests.support.memory import OTHERS, entity_line, put_graph

ODD = '{"type":"entity", "name":"odd",  "extra":1, "entityType":"x", "observations":["\\u00e9"]}'
STRANGE = '{"type":"something else"}'


def open_graph(path: Path) -> JsonlTransport:
    return JsonlTransport(str(path), str(path.parent / "locks"))


def test_every_verb_keeps_the_bytes_of_others_lines(tmp_path: Path) -> None:
    path = put_graph(tmp_path / "graph.jsonl", ODD, STRANGE)
    transport = open_graph(path)
    assert transport.create_entities([Entity("e", "checkpoint", ("a:1",)), Entity("Ada", "x", ())]) == ["e"]
    transport.add_observations("e", ["a:2", "a:1"])
    transport.delete_observations("e", ["a:1", "never there"])
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
        open_graph(tmp_path / "graph.jsonl").add_observations("e", ["a:1"])


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
    assert salvage(str(path), str(tmp_path / "aside")) == (4, 1)
    assert (tmp_path / "aside").read_bytes() == before
    assert [line.text for line in read_lines(str(path))] == [*OTHERS[:2], entity_line("a:1"), OTHERS[2]]


def test_a_relative_graph_is_refused() -> None:
    with pytest.raises(CheckpointError, match="relative"):
        JsonlTransport("graph.jsonl", "/tmp")  # noqa: S108 - nothing is written there
