"""The log of what was done to restore points: a chain in which a change shows."""

import json
import os
from codecs import BOM_UTF8
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import audit
from checkpoint_git.protocols.restore.layout import AUDIT_LOG
from tests.support.restore_points import workspace_of

POINT = "chk_20260115_143022_a7b3c9"


def write_log(root: Path, count: int = 3) -> Path:
    for number in range(count):
        audit.append_record(workspace_of(root), "create", "success", POINT, {"step": number})
    return root / AUDIT_LOG


def find_breaks(root: Path) -> list[tuple[str, int]]:
    return [(one.code, one.line) for one in audit.find_breaks(audit.read_records(str(root)))]


def test_records_are_numbered_and_bound_to_each_other(tmp_path: Path) -> None:
    log = write_log(tmp_path)
    records = [audit.parse_record(line) for _, line in audit.read_records(str(tmp_path))]
    assert [record and (record["number"], record["details"]["step"]) for record in records] == [
        (1, 0),
        (2, 1),
        (3, 2),
    ]
    assert find_breaks(tmp_path) == []
    assert log.stat().st_mode & 0o777 == 0o600
    assert audit.read_records(str(tmp_path / "elsewhere")) == []


def test_lines_that_were_changed_are_missing_or_changed_places_are_found(tmp_path: Path) -> None:
    log = write_log(tmp_path)
    first, second, third = log.read_bytes().splitlines(keepends=True)
    edited = second.replace(b"success", b"failure")
    wrong = "restore/audit-order"
    for lines, found in (
        ([first, second], []),  # the log alone cannot show that its end is missing
        ([second, third], [(wrong, 1)]),
        ([first, third], [(wrong, 2)]),
        ([first, third, second], [(wrong, 2), (wrong, 3)]),
        ([first, edited, third], [("restore/audit-edited", 2), (wrong, 3)]),
        ([first, BOM_UTF8 + second, third], [("restore/audit-edited", 2), (wrong, 3)]),
    ):
        log.write_bytes(b"".join(lines))
        assert find_breaks(tmp_path) == found


def test_a_log_that_was_cut_off_is_continued_behind_the_break(tmp_path: Path) -> None:
    log = write_log(tmp_path, 2)
    log.write_bytes(log.read_bytes()[:-10])
    write_log(tmp_path, 1)
    assert find_breaks(tmp_path) == [("restore/audit-edited", 2)]
    last = audit.parse_record(log.read_bytes().splitlines()[-1])
    assert last is not None
    assert last["number"] == 2


def test_details_that_are_too_long_for_a_line_are_left_out(tmp_path: Path) -> None:
    audit.append_record(
        workspace_of(tmp_path), "create", "success", POINT, {"scope": ["x" * 70_000], "type": "a"}
    )
    ((_, line),) = audit.read_records(str(tmp_path))
    assert json.loads(line)["details"] == {"type": "a", "shortened": True}


@pytest.mark.parametrize("kind", ["link", "folder link", "pipe", "folder"])
def test_a_log_that_is_no_file_of_its_own_is_refused_and_nothing_is_written(
    tmp_path: Path, kind: str
) -> None:
    away, root = tmp_path / "away", tmp_path / "root"
    away.mkdir()
    log = root / AUDIT_LOG
    log.parent.parent.mkdir(parents=True)
    if kind == "folder link":
        log.parent.symlink_to(away)
    else:
        log.parent.mkdir()
    if kind == "link":
        log.symlink_to(away / "log")
    elif kind == "pipe":
        os.mkfifo(log)
    elif kind == "folder":
        log.mkdir()
    with pytest.raises(CheckpointError):
        write_log(root, 1)
    assert os.listdir(away) == []
