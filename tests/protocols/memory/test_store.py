from collections.abc import Sequence

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
