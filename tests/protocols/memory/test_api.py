from pathlib import Path

import pytest

from checkpoint_git import CheckpointError, MemoryCheckpoint
from checkpoint_git.core.clock import DAY
from checkpoint_git.protocols.memory.entity import Entity
from tests.support.memory import MemoryTransport

NOW = 1_800_000_000


def test_a_checkpoint_lives_from_save_to_clear(tmp_path: Path) -> None:
    checkpoint = MemoryCheckpoint(MemoryTransport(), path=tmp_path, now=NOW)
    assert checkpoint.load() is None
    assert checkpoint.save(initiative="i", milestone="M1")["milestone"] == "M1"
    done = checkpoint.save("milestone", last_action="All", next_milestone="M2")
    assert (done["phase"], done["next_action"]) == ("complete", "Begin M2")
    assert "phase" not in checkpoint.update(phase=None)
    assert checkpoint.validate() == []
    assert checkpoint.clear() is True
    assert checkpoint.clear() is False


def test_an_old_checkpoint_is_a_finding() -> None:
    transport = MemoryTransport()
    MemoryCheckpoint(transport, now=NOW).save(initiative="i")
    found = MemoryCheckpoint(transport, now=NOW + 8 * DAY).validate()
    assert [finding.code for finding in found] == ["memory/outdated"]


def test_two_names_are_two_checkpoints() -> None:
    transport = MemoryTransport()
    MemoryCheckpoint(transport, "one", now=NOW).save(initiative="a")
    MemoryCheckpoint(transport, "two", now=NOW).save(initiative="b")
    assert (MemoryCheckpoint(transport, "one").load() or {})["initiative"] == "a"


def test_what_cannot_be_saved_is_refused() -> None:
    transport = MemoryTransport([Entity("theirs", "person", ())])
    checkpoint = MemoryCheckpoint(transport, now=NOW)
    with pytest.raises(CheckpointError, match="occasion"):
        checkpoint.save("never")
    with pytest.raises(CheckpointError, match="no checkpoint"):
        checkpoint.update(phase="x")
    with pytest.raises(CheckpointError, match="another client's"):
        MemoryCheckpoint(transport, "theirs", now=NOW).clear()
    assert list(transport.entities) == ["theirs"]
