import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.memory.entity import Entity, Steps
from checkpoint_git.protocols.memory.layout import ENTITY, Home
from checkpoint_git.protocols.memory.store import (
    MAX_VALUE,
    OtherInitiativeError,
    Saved,
    check_fields,
    find_name,
    load_entity,
    remove_entity,
    save_checkpoint,
    update_checkpoint,
    write_fields,
)
from checkpoint_git.protocols.memory.transports import GraphError
from checkpoint_git.protocols.memory.triggers import TriggerRequest
from tests.support.memory import MemoryTransport
from tests.support.rows import rows

NAME = "initiative-checkpoint"


class ForgetfulTransport(MemoryTransport):
    """A graph that acknowledges so many writes and keeps none of them: another writer was
    faster.
    """

    def __init__(self, entities: Sequence[Entity] = (), forgets: int = 1) -> None:
        super().__init__(entities)
        self.forgets = forgets

    def create_entities(self, entities: Sequence[Entity]) -> list[str]:
        return (
            [each.name for each in entities]
            if self._is_forgotten()
            else super().create_entities(entities)
        )

    def change_observations(self, name: str, steps: Steps) -> None:
        if not self._is_forgotten():
            super().change_observations(name, steps)

    def _is_forgotten(self) -> bool:
        self.forgets -= 1
        return self.forgets >= 0


def test_a_write_that_was_acknowledged_and_lost_is_made_again() -> None:
    transport = ForgetfulTransport(forgets=2)
    written = write_fields(transport, NAME, {"initiative": "i"})
    assert (written.created, written.entity.observations) == (True, ("initiative:i",))


def test_a_write_that_is_lost_again_and_again_fails() -> None:
    before = Entity(NAME, "checkpoint", ("initiative:i",))
    with pytest.raises(CheckpointError, match="is not in the graph"):
        write_fields(ForgetfulTransport([before], 100), NAME, {"phase": "a"})


def test_an_entity_that_appears_while_it_is_made_is_changed_instead() -> None:
    transport = MemoryTransport()
    made = transport.create_entities

    def create(entities: Sequence[Entity]) -> list[str]:
        transport.entities.setdefault(
            NAME, Entity(NAME, "checkpoint", ("initiative:theirs", "note:kept"))
        )
        return made(entities)

    transport.create_entities = create  # type: ignore[method-assign]  # another client, between two calls
    written = write_fields(transport, NAME, {"initiative": "ours"})
    assert written.entity.observations == ("note:kept", "initiative:ours")
    assert not written.created


def test_anothers_entity_is_refused() -> None:
    transport = MemoryTransport([Entity(NAME, "person", ("phase:a",))])
    with pytest.raises(CheckpointError, match="another client's"):
        write_fields(transport, NAME, {"phase": "b"})
    assert transport.entities[NAME].observations == ("phase:a",)


def test_a_fresh_beginning_leaves_nothing_of_what_was() -> None:
    before = Entity(NAME, "checkpoint", ("phase:a", "phase:b", "remark"))
    transport = MemoryTransport([before])
    request = TriggerRequest("manual", {"initiative": "i", "phase": "b"})
    save_checkpoint(transport, Home(NAME), lambda: request, 86_400, lambda _: "")
    assert set(transport.entities[NAME].observations) == {
        "initiative:i",
        "phase:b",
        "timestamp:1970-01-02T00:00:00Z",
    }


def test_what_is_removed_is_gone_and_the_rest_is_there() -> None:
    transport = MemoryTransport([Entity(NAME, "checkpoint", ()), Entity("other", "x", ())])
    remove_entity(transport, NAME)
    assert list(transport.entities) == ["other"]
    assert load_entity(transport, NAME) is None


OURS = Home("", ("app-1", "app-2"))
THEIRS = ("initiative:theirs", "repository:other-3")


@rows(
    ("there", "initiative", "name"),
    [
        ({}, "", ENTITY),
        ({ENTITY: ("initiative:a", "repository:app-2")}, "b", ENTITY),
        ({ENTITY: THEIRS}, "", f"{ENTITY}-app-1"),
        ({ENTITY: THEIRS, f"{ENTITY}-app-2": ("initiative:a",)}, "", f"{ENTITY}-app-2"),
        ({ENTITY: ("initiative:a",)}, "", ENTITY),
        ({ENTITY: ("initiative:a",)}, "a", ENTITY),
        ({ENTITY: ("initiative:a",)}, "b", f"{ENTITY}-app-1"),
    ],
)
def test_a_repository_has_a_checkpoint_of_its_own(
    there: dict[str, tuple[str, ...]], initiative: str, name: str
) -> None:
    transport = MemoryTransport([Entity(key, "checkpoint", texts) for key, texts in there.items()])
    assert find_name(transport, OURS, initiative) == name
    assert find_name(transport, Home("given"), initiative) == "given"


def test_another_initiative_takes_no_place_unasked() -> None:
    before = Entity(NAME, "checkpoint", ("initiative:a", "milestone:M1", "repository:app-1"))
    transport, kept = MemoryTransport([before]), list[Entity]()
    request = TriggerRequest("manual", {"initiative": "b", "phase": "p"})

    def keep(entity: Entity) -> str:
        kept.append(entity)
        return "copy"

    def save(replace: bool) -> Saved:
        return save_checkpoint(transport, OURS, lambda: request, 0, keep, replace=replace)

    with pytest.raises(OtherInitiativeError):
        save(replace=False)
    with pytest.raises(OtherInitiativeError):
        update_checkpoint(transport, OURS, {"initiative": "b"}, 0, lambda one: "")
    assert transport.entities[NAME] == before
    assert save(replace=True).fields.keys() == {"initiative", "phase", "timestamp", "repository"}
    assert kept == [before]


def test_a_checkpoint_without_an_initiative_gets_one_and_keeps_its_fields() -> None:
    transport = MemoryTransport([Entity(NAME, "checkpoint", ("milestone:M1", "phase:complete"))])
    with pytest.raises(CheckpointError, match="no initiative"):
        update_checkpoint(transport, OURS, {"phase": "x"}, 0, lambda one: "")
    fields = update_checkpoint(transport, OURS, {"initiative": "i"}, 0, lambda one: "").fields
    assert (fields["initiative"], fields["milestone"]) == ("i", "M1")


@rows(
    ("name", "texts", "is_kept"),
    [
        (NAME, ("initiative:a", "phase:x", "repository:app-1"), False),
        (NAME, ("initiative:a", "phase:x", "phase:y", "repository:app-1"), True),
    ],
)
def test_an_update_of_a_field_with_several_values_keeps_a_copy_first(
    name: str, texts: tuple[str, ...], is_kept: bool
) -> None:
    before = Entity(name, "checkpoint", texts)
    transport, kept = MemoryTransport([before]), list[Entity]()

    def keep(entity: Entity) -> str:
        assert transport.entities[name] == before
        kept.append(entity)
        return "copy"

    saved = update_checkpoint(transport, OURS, {"phase": "z"}, 0, keep)
    assert kept == ([before] if is_kept else [])
    assert saved.copy == ("copy" if is_kept else "")
    assert transport.entities[name].observations.count("phase:z") == 1


@rows(
    ("fields", "trouble"),
    [
        ({"next": "x" * MAX_VALUE, "a_B-1": "é"}, ""),
        ({"1a": "x"}, 'invalid field "1a"'),
        ({"next": " "}, "next is empty"),
        (
            {"next": "x" * (MAX_VALUE + 1)},
            f"next has {MAX_VALUE + 1} characters; {MAX_VALUE} is the limit",
        ),
        ({"phase": "a", "next": "\udcff"}, "next is not UTF-8 text"),
    ],
)
def test_a_field_has_a_plain_name_and_a_text_that_every_server_keeps(
    fields: dict[str, str], trouble: str
) -> None:
    found = ""
    try:
        check_fields(fields)
    except CheckpointError as error:
        found = error.message
    assert found == trouble


def test_a_field_is_given_and_written_in_lower_case_and_never_twice() -> None:
    transport = MemoryTransport([Entity(NAME, "checkpoint", ("Initiative: i", "Phase: A"))])
    home = Home(NAME)
    saved = update_checkpoint(transport, home, {"Milestone": "M1"}, 0, lambda entity: "")
    assert {*saved.entity.observations} >= {"initiative:i", "phase:A", "milestone:M1"}
    request = TriggerRequest("manual", {"Initiative": "i", "PHASE": "B"})
    saved = save_checkpoint(transport, home, lambda: request, 0, lambda entity: "")
    assert (saved.fields["phase"], saved.fields["initiative"]) == ("B", "i")
    assert {text.partition(":")[0] for text in saved.entity.observations} == {*saved.fields}
    with pytest.raises(CheckpointError, match="twice"):
        update_checkpoint(transport, home, {"Phase": "A", "phase": "B"}, 0, lambda entity: "")


def keep_nothing(entity: Entity) -> str:
    raise AssertionError(f"a copy of {entity} was made")


def read_manual(**fields: str) -> Callable[[], TriggerRequest]:
    return lambda: TriggerRequest("manual", fields)


def test_a_checkpoint_of_this_repository_is_found_under_any_name() -> None:
    usual = Entity(ENTITY, "checkpoint", THEIRS)
    before = Entity("moved", "checkpoint", ("initiative:a", "repository:app-2"))
    assert find_name(MemoryTransport([usual, before]), OURS) == "moved"
    person = before._replace(entity_type="person")
    assert find_name(MemoryTransport([usual, person]), OURS) == f"{ENTITY}-app-1"

    # the usual name comes first; outside git it is the only one
    own = Entity(f"{ENTITY}-app-1", "checkpoint", ("initiative:b",))
    mine = usual._replace(observations=before.observations)
    assert find_name(MemoryTransport([mine, own]), OURS) == ENTITY
    assert find_name(MemoryTransport([usual, own]), Home("")) == ENTITY
    nameless = usual._replace(observations=("phase:x",))
    assert find_name(MemoryTransport([nameless]), OURS, "b") == ENTITY
    taken = usual._replace(observations=("initiative:a",))
    assert find_name(MemoryTransport([taken]), OURS, " a ") == ENTITY
    foreign = usual._replace(entity_type="person")
    assert find_name(MemoryTransport([foreign]), OURS) == ENTITY


def test_a_graph_that_cannot_be_searched_has_no_checkpoint_of_another_name() -> None:
    class Unreadable(MemoryTransport):
        def read_graph(self) -> list[Entity]:
            raise GraphError("broken", "")

    transport = Unreadable([Entity(ENTITY, "checkpoint", THEIRS)])
    assert find_name(transport, OURS) == f"{ENTITY}-app-1"


def test_an_entity_that_is_stored_twice_is_read_as_one_and_never_changed() -> None:
    class Doubled(MemoryTransport):
        def open_nodes(self, names: Sequence[str]) -> list[Entity]:
            entity = self.entities[NAME]
            other = Entity("another", "checkpoint", ("phase:y",))
            return [other, entity, entity._replace(observations=("initiative:i", "phase:x"))]

    before = Entity(NAME, "checkpoint", ("initiative:i", "milestone:M1"))
    transport = Doubled([before])
    merged = before._replace(observations=("initiative:i", "milestone:M1", "phase:x"), copies=2)
    assert load_entity(transport, NAME) == merged
    with pytest.raises(GraphError, match="2 times"):
        save_checkpoint(transport, Home(NAME), read_manual(initiative="i"), 0, keep_nothing)
    with pytest.raises(GraphError, match="2 times"):
        update_checkpoint(transport, Home(NAME), {"phase": "z"}, 0, keep_nothing)
    assert transport.entities == {NAME: before}


def test_what_is_refused_changes_nothing() -> None:
    ours = Entity(NAME, "checkpoint", ("initiative:a",))
    foreign = Entity("theirs", "person", ("initiative:a", "phase:x", "phase:y"))
    transport = MemoryTransport([ours, foreign])
    home, their_home = Home(NAME), Home("theirs")

    def save(home: Home, **fields: str) -> None:
        save_checkpoint(transport, home, read_manual(**fields), 0, keep_nothing)

    def update(home: Home, fields: Mapping[str, str | None]) -> None:
        update_checkpoint(transport, home, fields, 0, keep_nothing)

    with pytest.raises(CheckpointError, match="next_action is empty"):
        save(home, initiative="a", next_action=" ")
    with pytest.raises(CheckpointError, match="next_action is empty"):
        update(home, {"next_action": " "})
    with pytest.raises(CheckpointError, match="another client's"):
        save(their_home, initiative="a")
    with pytest.raises(CheckpointError, match="another client's"):
        update(their_home, {"phase": "z"})
    with pytest.raises(CheckpointError, match='no checkpoint "none"'):
        update(Home("none"), {"phase": "z"})
    with pytest.raises(CheckpointError, match="has no field milestone") as caught:
        update(home, {"milestone": None})
    assert str(caught.value.hint) == "there are: initiative"
    assert transport.entities == {NAME: ours, "theirs": foreign}


def test_a_question_names_both_initiatives_and_what_happens() -> None:
    transport = MemoryTransport([Entity(NAME, "checkpoint", ("initiative:a",))])
    home = Home(NAME)
    subject = f'the checkpoint {NAME} is about the initiative "a"'
    with pytest.raises(OtherInitiativeError, match='about another initiative, "a"') as caught:
        save_checkpoint(transport, home, read_manual(initiative="b"), 0, keep_nothing)
    assert caught.value.question == f'{subject}. Keep a copy and start "b"?'
    with pytest.raises(OtherInitiativeError) as caught:
        update_checkpoint(transport, home, {"initiative": "b"}, 0, keep_nothing)
    assert caught.value.question == f'{subject}. Rename it to "b"?'

    # the same initiative in other blanks is not another one
    update_checkpoint(transport, home, {"initiative": " a "}, 0, keep_nothing)
    update_checkpoint(transport, home, {"initiative": "b"}, 0, keep_nothing, rename=True)
    assert "initiative:b" in transport.entities[NAME].observations


def test_a_save_says_what_it_made_changed_and_kept() -> None:
    transport = MemoryTransport()
    home = Home(NAME, ("app-1",))
    stamps = [f"1970-01-01T00:00:{second:02}Z" for second in range(6)]

    def save(now: int, replace: bool = False, **fields: str) -> Saved:
        return save_checkpoint(
            transport, home, read_manual(**fields), now, lambda entity: "copy", replace=replace
        )

    saved = save(1, initiative="a", milestone="M1")
    first = {"initiative": "a", "milestone": "M1", "timestamp": stamps[1], "repository": "app-1"}
    assert saved == Saved(saved.entity, True, first)
    assert saved.fields == first
    saved = save(2, phase="x")
    assert saved == Saved(saved.entity, False, {"phase": "x", "timestamp": stamps[2]})

    # of several values a copy is kept first, and the rest stays
    entity = transport.entities[NAME]
    transport.entities[NAME] = entity._replace(observations=(*entity.observations, "phase:y"))
    saved = save(3, initiative="a", phase="z")
    changed = {"initiative": "a", "phase": "z", "timestamp": stamps[3]}
    assert saved == Saved(saved.entity, False, changed, "copy")
    assert saved.fields["milestone"] == "M1"

    # of another initiative nothing stays, and a copy is kept
    saved = save(4, replace=True, initiative="b")
    changed = {"initiative": "b", "timestamp": stamps[4], "repository": "app-1"}
    assert saved == Saved(saved.entity, False, changed, "copy", fresh=True)
    assert saved.fields == changed

    update = {"phase": None}
    transport.entities[NAME] = saved.entity._replace(
        observations=(*saved.entity.observations, "phase:y", "phase:z", "remark")
    )
    saved = update_checkpoint(transport, home, update, 5, lambda entity: "copy")
    assert (saved.created, saved.copy, saved.fresh) == (False, "copy", False)
    assert "remark" in saved.entity.observations
    assert saved.fields == {**changed, "timestamp": stamps[5]}


def test_a_checkpoint_outside_git_has_no_owner() -> None:
    transport = MemoryTransport()
    saved = save_checkpoint(transport, Home(""), read_manual(initiative="a"), 0, keep_nothing)
    assert saved.entity.name == ENTITY
    assert saved.fields.keys() == {"initiative", "timestamp"}


class BusyTransport(MemoryTransport):
    """A graph of which another client writes a former state while a change settles."""

    def __init__(self, entities: Sequence[Entity], monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(entities)
        self.former = dict(self.entities)
        self.overwrites = 0
        monkeypatch.setattr(time, "sleep", self.settle)

    def settle(self, _: float) -> None:
        if self.overwrites:
            self.overwrites -= 1
            self.entities = dict(self.former)


def test_a_change_that_is_undone_while_it_settles_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = Entity(NAME, "checkpoint", ("initiative:i",))
    transport = BusyTransport([before], monkeypatch)
    transport.overwrites = 2
    write_fields(transport, NAME, {"phase": "x"})
    assert transport.entities[NAME].observations == ("initiative:i", "phase:x")
    transport.overwrites = 2
    remove_entity(transport, NAME)
    assert transport.entities == {}

    transport.entities = {NAME: before}
    transport.overwrites = 100
    with pytest.raises(CheckpointError, match="another client writes to it at the same time"):
        write_fields(transport, NAME, {"phase": "x"})
    with pytest.raises(CheckpointError, match="another client writes to it at the same time"):
        remove_entity(transport, NAME)


def test_a_field_that_is_given_twice_is_named() -> None:
    fields = {"Phase": "A", "phase": "B", "next": "c"}
    with pytest.raises(CheckpointError, match="a field is given twice") as caught:
        save_checkpoint(MemoryTransport(), OURS, read_manual(**fields), 0, keep_nothing)
    assert str(caught.value.hint) == "keep one of each: Phase in lower case is a field, too"
