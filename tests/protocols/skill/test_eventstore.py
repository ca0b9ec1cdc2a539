"""The folder of events: whatever somebody puts into it is told, never followed, and never makes a reader wait."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.skill import eventstore, store
from checkpoint_git.protocols.skill.events import MAX_EVENTS, Event, event_name, event_text
from tests.support.samples import checkpoint_text

SHARDED = checkpoint_text(layout="sharded", skill_state={"merged_prs": []})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A place outside git with one sharded checkpoint and the folder of its events."""
    (tmp_path / ".checkpoints/history/build").mkdir(parents=True)
    (tmp_path / ".checkpoints/build.checkpoint.json").write_text(SHARDED, "utf-8")
    return Place(str(tmp_path), str(tmp_path / ".checkpoints"), None, None)


def folder_of(place: Place) -> Path:
    return Path(place.directory) / "history/build"


def put(place: Place, number: int, entry: str = "x") -> Path:
    event = Event("/skill_state/merged_prs", number, 0, "", entry, "")
    path = folder_of(place) / event_name(event_text("build", event), event)
    path.write_text(event_text("build", event), "utf-8")
    return path


def read(place: Place) -> tuple[int, list[str]]:
    found = eventstore.read_folder(place, "build")
    return len(found.stored), [finding.code for finding in found.troubles]


def test_no_folder_is_no_trouble(place: Place) -> None:
    folder_of(place).rmdir()
    assert read(place) == (0, [])


def test_what_is_not_named_like_an_event_is_none(place: Place) -> None:
    put(place, 1)
    (folder_of(place) / "notes.txt").write_text("x")
    (folder_of(place) / ".gitkeep").write_text("")
    assert read(place) == (1, [])


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder", "big", "bytes", "deep"])
def test_a_hostile_file_is_told_and_the_others_are_read(place: Place, tmp_path: Path, kind: str) -> None:
    good = put(place, 1)
    bad = folder_of(place) / "5-bad.event.json"
    makers: dict[str, Callable[[], object]] = {
        "link": lambda: bad.symlink_to(good),
        "dangling": lambda: bad.symlink_to("/etc/shadow-of-nothing"),
        "pipe": lambda: os.mkfifo(bad),
        "folder": lambda: bad.mkdir(),
        "big": lambda: bad.write_bytes(b" " * (5 * 1024 * 1024)),
        "bytes": lambda: bad.write_bytes(b"\xff\xfe{}"),
        "deep": lambda: bad.write_text("[" * 100_000),
    }
    makers[kind]()
    assert read(place) == (1, ["layout/broken-event"])
    data = store.read_skill(place, "build")
    assert isinstance(data, bytes)
    assert b'"merged_prs": [\n      "x"\n    ]' in data
    store.write_checkpoint(place, "build", data)
    assert os.path.lexists(bad)


def test_a_sparse_file_beyond_all_limits_is_not_read(place: Place) -> None:
    with (folder_of(place) / "5-bad.event.json").open("wb") as file:
        file.truncate(MAX_BYTES * 100)
    assert read(place) == (0, ["layout/broken-event"])


def test_of_too_many_files_the_newest_are_read(place: Place) -> None:
    empty = folder_of(place) / "0-first.event.json"
    empty.write_text("{}")
    for number in range(1, MAX_EVENTS + 3):
        os.link(empty, folder_of(place) / f"{number:08d}-x.event.json")
    newest = put(place, 99_999_999)
    found = eventstore.read_folder(place, "build")
    assert [each.name for each in found.stored] == [newest.name]
    codes = [finding.code for finding in found.troubles]
    assert codes[0] == "layout/too-many-events"
    assert set(codes[1:]) == {"layout/broken-event"}
    assert len(codes) < 50


def test_of_too_much_text_the_newest_is_read(place: Place) -> None:
    for number in range(40):
        put(place, number, "x" * 200_000)
    stored, codes = read(place)
    assert stored == 31
    assert codes == ["layout/too-many-events"]


@pytest.mark.parametrize("where", ["build", ""])
def test_a_folder_that_leads_out_is_neither_read_nor_written(place: Place, tmp_path: Path, where: str) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    (outside / "build").mkdir(parents=True)
    folder_of(place).rmdir()
    target = Path(place.directory) / "history" / where
    if not where:
        (Path(place.directory) / "history").rmdir()
    target.symlink_to(outside / where)
    assert read(place) == (0, ["layout/not-a-folder"])
    data = checkpoint_text(layout="sharded", skill_state={"merged_prs": ["x"]}).encode()
    with pytest.raises(CheckpointError, match="folder"):
        store.write_checkpoint(place, "build", data)
    assert os.listdir(outside / "build") == []
    assert (Path(place.directory) / "build.checkpoint.json").read_text("utf-8") == SHARDED


def test_a_file_that_stands_under_the_name_of_a_new_event_is_not_overwritten(place: Place) -> None:
    path = put(place, 50_000_000)
    path.write_text("changed", "utf-8")
    data = checkpoint_text(layout="sharded", skill_state={"merged_prs": ["x"]}).encode()
    with pytest.raises(CheckpointError, match="changed"):
        store.write_checkpoint(place, "build", data)
    assert path.read_text("utf-8") == "changed"


def test_a_skill_whose_name_would_lead_elsewhere_has_no_events(place: Place) -> None:
    text = checkpoint_text(skill=".")
    (Path(place.directory) / "..checkpoint.json").write_text(text, "utf-8")
    (Path(place.directory) / "history/5-x.event.json").write_text("{}", "utf-8")
    assert dict(store.read_files(place))[".checkpoints/..checkpoint.json"] == text.encode()
