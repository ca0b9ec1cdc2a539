from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.memory import status_document
from tests.support.rows import rows

DOCUMENT: dict[str, Any] = {
    "active": {"initiative": "i", "milestone": "M1", "phase": 2},
    "sessions": [{"completed": "first"}, {"completed": ["a", "b"]}],
    "resume": {"next_action": "n", "context_files": ["x", "y"]},
}
FIELDS = {
    "initiative": "i",
    "milestone": "M1",
    "phase": "2",
    "last_action": "a; b",
    "next_action": "n",
    "context_files": "x, y",
}


def test_every_field_has_its_place() -> None:
    assert status_document.compare(FIELDS, DOCUMENT, {}, to_document=False) == []


def test_the_document_wins_where_both_differ_and_the_other_way_when_asked() -> None:
    fields = {**FIELDS, "milestone": "M2"}
    assert status_document.plan_checkpoint(
        status_document.compare(fields, DOCUMENT, {}, to_document=False)
    ) == {"milestone": "M1"}
    found = status_document.compare(fields, DOCUMENT, {}, to_document=True)
    assert status_document.plan_checkpoint(found) == {}
    assert status_document.plan_document(DOCUMENT, found) == {("active", "milestone"): "M2"}
    assert "M1" in str(found[0])
    assert "M2" in str(found[0])


@pytest.mark.parametrize("to_document", [False, True])
def test_what_one_side_lacks_is_filled_in_either_way(to_document: bool) -> None:
    found = status_document.compare(
        {"phase": "p", "context_files": "a,b"},
        {"active": {"initiative": "i"}},
        {},
        to_document=to_document,
    )
    assert status_document.plan_checkpoint(found) == {"initiative": "i"}
    assert status_document.plan_document({}, found) == {
        ("active", "phase"): "p",
        ("resume", "context_files"): ["a", "b"],
    }


def test_the_last_session_is_the_one_that_is_written() -> None:
    found = status_document.compare({"last_action": "c; d"}, DOCUMENT, {}, to_document=True)
    assert status_document.plan_document(DOCUMENT, found) == {
        ("sessions", 1, "completed"): ["c", "d"]
    }


@rows(
    "document",
    [
        ["a"],
        "text",
        {"workflow": "w", "steps": []},
        {"active": "x"},
        {"sessions": {}},
        {"resume": {"next_action": {"a": 1}}},
    ],
)
def test_a_document_of_another_shape_is_refused(document: Any) -> None:
    with pytest.raises(CheckpointError, match=r"^here\.yaml: "):
        status_document.check_shape(document, "here.yaml")


BOTH = {"initiative": "i", "milestone": "M1"}


@rows(
    ("ours", "theirs", "winner", "is_lost"),
    [
        ("M2", "M1", "checkpoint", False),
        ("M1", "M2", "document", False),
        ("M2", "M3", "document", True),
        ("", "M2", "document", False),
        ("M2", "", "checkpoint", False),
        ("", "M1", None, False),
        ("M1", "", None, False),
    ],
)
def test_after_a_sync_the_side_that_went_on_wins(
    ours: str, theirs: str, winner: str | None, is_lost: bool
) -> None:
    document = {"active": {"initiative": "i", "milestone": theirs}}
    found = status_document.compare(
        {"initiative": "i", "milestone": ours}, document, BOTH, to_document=False
    )
    assert [(one.winner, one.differs) for one in found] == ([(winner, is_lost)] if winner else [])


def test_what_both_have_is_remembered() -> None:
    document = {
        "active": {"initiative": "i", "milestone": "M2"},
        "resume": {"context_files": ["a", "b"]},
    }
    fields = {"initiative": "i", "milestone": "M1", "context_files": "a, b", "phase": "p"}
    found = status_document.compare(fields, document, {}, to_document=False)
    expected = {"initiative": "i", "milestone": "M2", "context_files": "a, b", "phase": "p"}
    assert status_document.agree(fields, document, found) == expected
