"""What does not fit between a checkpoint and the files of its telemetry, told from paths and values alone."""

import pytest

from checkpoint_git.protocols.skill.event_layout import (
    check_event,
    find_doubles,
    find_layout_troubles,
    find_leftovers,
    find_orphans,
    find_owner,
)
from checkpoint_git.protocols.skill.events import Event, Stored, event_name, event_text
from checkpoint_git.protocols.validate import check_document
from tests.support.samples import checkpoint, checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
FOLDER = ".checkpoints/history/build"
EVENT = Event("/skill_state/merged_prs", 5, 0, "", {"number": b"7"}, "")
TEXT = event_text("build", EVENT)
NAME = event_name(TEXT, EVENT)


def test_an_event_is_checked_by_its_path_its_name_and_what_it_holds() -> None:
    assert check_event(f"{FOLDER}/{NAME}", TEXT.encode()).findings == []
    assert check_document(f"a/{FOLDER}/{NAME}", TEXT.encode(), now=0).findings == []


def test_line_ends_and_indentation_are_no_change() -> None:
    assert check_event(f"{FOLDER}/{NAME}", TEXT.replace("\n", "\r\n").encode()).findings == []


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (f"{FOLDER}/{NAME}", TEXT.replace("7", "8").encode()),
        (f"{FOLDER}/0-{NAME}", TEXT.encode()),
        (f".checkpoints/history/other/{NAME}", TEXT.encode()),
        (f"{FOLDER}/{NAME}", b"\xff"),
        (f"{FOLDER}/{NAME}", b"<<<<<<< ours\n"),
    ],
)
def test_what_does_not_fit_its_name_or_folder_is_told(path: str, data: bytes) -> None:
    (finding,) = check_event(path, data).findings
    assert (finding.code, finding.level, finding.path) == ("layout/broken-event", "error", path)


def test_the_owner_of_an_event_is_its_folder() -> None:
    assert find_owner(f"{FOLDER}/{NAME}") == "build"
    assert find_owner(PATH) == ""


def test_only_a_sharded_checkpoint_can_have_something_left_over() -> None:
    state = {"merged_prs": [1], "run_history": [], "mode": [1], "reconciliation_a": {"b": 1}}
    assert find_leftovers(checkpoint(skill_state=state), PATH) == []
    assert find_leftovers(checkpoint(skill_state=[], layout="sharded"), PATH) == []
    (finding,) = find_leftovers(checkpoint(skill_state=state, layout="sharded"), PATH)
    assert (finding.code, finding.where) == ("layout/leftover", "/skill_state/merged_prs")


@pytest.mark.parametrize(("layout", "codes"), [("sharded", []), ({"a": 1}, ["layout/field-taken"])])
def test_a_field_with_another_meaning_is_told(layout: object, codes: list[str]) -> None:
    assert [finding.code for finding in find_layout_troubles(checkpoint(layout=layout), PATH)] == codes


@pytest.mark.parametrize(
    ("sharded", "is_whole", "told"),
    [({PATH: True}, True, 0), ({PATH: False}, True, 1), ({PATH: False}, False, 1), ({}, True, 1), ({}, False, 0)],
)
def test_events_without_a_sharded_checkpoint_are_told_once_a_folder(
    sharded: dict[str, bool], is_whole: bool, told: int
) -> None:
    events = [f"{FOLDER}/1-a.event.json", f"{FOLDER}/2-b.event.json"]
    found = find_orphans(events, sharded, is_whole=is_whole)
    assert [(finding.code, finding.path) for finding in found] == [("layout/orphans", FOLDER)] * told


def test_two_files_with_one_number_are_told_where_they_differ() -> None:
    same, other = EVENT._replace(copy=1), EVENT._replace(content={"number": b"7", "title": "x"})
    elsewhere = other._replace(where="/skill_state/merged_prs_old")
    assert find_doubles([Stored("a", EVENT), Stored("b", same), Stored("c", elsewhere)], FOLDER) == []
    (finding,) = find_doubles([Stored("a", EVENT), Stored("b", other)], FOLDER)
    assert (finding.code, finding.path) == ("layout/entry-twice", f"{FOLDER}/b")


def test_a_joined_checkpoint_is_as_big_as_its_file_would_be_without_the_entries() -> None:
    text = checkpoint_text(layout="sharded", skill_state={"merged_prs": ["x" * 1000] * 50})
    document = check_document(PATH, text.encode(), now=2_000_000_000)
    assert document.size < 2_000
    assert "skill/file-too-big" not in [finding.code for finding in document.findings]
