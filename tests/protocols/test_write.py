"""The shared writing: a change is checked before it is written, and only new errors refuse it."""

import io
import json
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import plan_place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.protocols.write import (
    find_new,
    find_new_errors,
    hold_place,
    plan_write,
    say_waiting,
    set_apart,
)
from tests.support.rows import rows
from tests.support.samples import checkpoint, checkpoint_text
from tests.support.verbs import NOON, seconds

NOW = seconds(NOON)
PATH = ".checkpoints/build.checkpoint.json"
GOOD = checkpoint_text()
BAD = checkpoint_text(status="done")


def read(text: str) -> Document:
    return check_document(PATH, text.encode(), now=NOW)


def finding(where: str, message: str = "wrong", level: str = "error") -> Finding:
    return Finding("x/y", "warning" if level == "warning" else "error", message, where=where)


def step(name: str) -> Any:
    """A change that sets step."""

    def change(value: dict[str, Any] | None) -> dict[str, Any]:
        return {**(value or {}), "step": name}

    return change


def codes(findings: list[Finding]) -> list[str]:
    return [found.code for found in findings]


# set_apart


def test_no_line_of_an_archive_is_one_of_its_document_and_it_says_the_same() -> None:
    text = '{\n  "a": "é",\r\n\n \t\n"b": [\n1]}\n'
    for document in (text, "\ufeff" + text, text.rstrip("\n")):
        data = document.encode()
        apart = set_apart(data)
        assert json.loads(apart.decode("utf-8-sig")) == json.loads(text)
        written = [line for line in data.splitlines(keepends=True) if line.strip()]
        assert not set(written) & set(apart.splitlines(keepends=True))
        assert len(apart) == len(data) + len(written)
        assert (apart[:3] == BOM_UTF8) == (data[:3] == BOM_UTF8)


@rows("data", [b"", b"{", b"\xff{}", b"a line\nanother\n"])
def test_what_is_no_document_is_archived_as_it_is(data: bytes) -> None:
    assert set_apart(data) == data


# plan_write


def test_a_change_keeps_what_it_does_not_touch_to_the_byte() -> None:
    odd = GOOD.replace('"step": "sprint-2"', '"step":   "sprint-2"').replace(
        '"project": ', '"project":\t'
    )
    written = plan_write(PATH, read(odd), step("sprint-3"), NOW)
    assert written.refused == []
    assert written.document.text == odd.replace("sprint-2", "sprint-3", 1)


def test_a_missing_file_is_made_of_what_the_change_returns() -> None:
    written = plan_write(
        PATH, None, lambda value: json.loads(GOOD) if value is None else value, NOW
    )
    assert (written.created, written.refused) == (True, [])
    assert json.loads(written.document.text or "") == json.loads(GOOD)


def test_a_new_file_is_refused_for_its_errors_and_reports_its_warnings() -> None:
    for changes, refused, arisen in (
        ({"project_dir": "here"}, [], ["skill/relative-project-dir"]),
        ({"status": "done"}, ["skill/unknown-status"], ["skill/unknown-status"]),
    ):
        value = checkpoint(**changes)
        written = plan_write(PATH, None, lambda _, value=value: value, NOW)  # type: ignore[misc]
        assert (codes(written.refused), codes(written.arisen)) == (refused, arisen)
        assert written.created


def test_a_byte_order_mark_stays_before_what_is_changed() -> None:
    written = plan_write(PATH, read("\ufeff" + GOOD), step("sprint-3"), NOW)
    assert (written.created, written.refused) == (False, [])
    assert written.document.text == "\ufeff" + GOOD.replace("sprint-2", "sprint-3", 1)


def test_a_change_gets_a_value_of_its_own() -> None:
    before = read(GOOD)

    def spoil(value: dict[str, Any] | None) -> Finding:
        assert value is not None
        value["progress_table"].clear()
        return finding("/step")

    refused = plan_write(PATH, before, spoil, NOW)
    assert (refused.document, refused.created) == (before, False)
    assert plan_write(PATH, before, step("a"), NOW).document.value == {
        **json.loads(GOOD),
        "step": "a",
    }


def test_a_finding_refuses_and_names_the_file() -> None:
    written = plan_write(PATH, None, lambda value: finding("/step"), NOW)
    assert [(each.path, each.where) for each in written.refused] == [(PATH, "/step")]
    assert written.created
    assert (written.document.text, written.document.size) == (None, 0)


def test_a_new_error_refuses() -> None:
    written = plan_write(PATH, read(GOOD), step(""), NOW)
    assert codes(written.refused) == ["skill/empty-field"]


def test_an_error_from_before_does_not_refuse() -> None:
    written = plan_write(PATH, read(BAD), step("sprint-3"), NOW)
    assert (written.refused, written.arisen) == ([], [])
    assert codes(written.document.findings) == ["skill/unknown-status"]


def test_a_new_warning_is_reported_and_written() -> None:
    change = {"project_dir": "here"}
    written = plan_write(PATH, read(GOOD), lambda value: {**(value or {}), **change}, NOW)
    assert (written.refused, codes(written.arisen)) == ([], ["skill/relative-project-dir"])


@rows("text", ["", "null", "[1]", "{", GOOD + "}"])
def test_a_file_that_is_no_object_is_refused_with_what_is_wrong_with_it(text: str) -> None:
    before = read(text)
    written = plan_write(PATH, before, step("a"), NOW)
    assert written.refused == before.findings != []
    assert (written.document, written.created, written.arisen) == (before, False, [])


# find_new and find_new_errors


def test_a_finding_that_moved_in_its_list_is_not_new() -> None:
    assert find_new([finding("/rows/3/id", "row 3")], [finding("/rows/12/id", "row 12")]) == []


def test_the_second_of_two_alike_is_new() -> None:
    both = [finding("/rows/1/id"), finding("/rows/2/id")]
    assert find_new(both[:1], both) == both[1:]
    assert find_new(both, both) == []


def test_an_error_that_no_earlier_version_has_is_found() -> None:
    bad = checkpoint_text(next_actions=[], step="").encode()
    good = GOOD.encode()
    assert codes(find_new_errors(PATH, bad, [good, good], NOW)) == [
        "skill/empty-field",
        "skill/next-actions-empty",
    ]
    assert find_new_errors(PATH, bad, [good, bad], NOW) == []
    assert find_new_errors(PATH, good, [bad, None], NOW) == []


def test_a_version_without_an_earlier_one_has_new_errors_alone() -> None:
    assert codes(find_new_errors(PATH, BAD.encode(), [None], NOW)) == ["skill/unknown-status"]
    assert codes(find_new_errors(PATH, BAD.encode(), [], NOW)) == ["skill/unknown-status"]


def test_an_earlier_version_is_checked_only_where_there_are_errors() -> None:
    asked = list[bytes]()

    def check(path: str, data: bytes, now: int) -> Document:
        asked.append(data)
        return Document(path, "", None, None, 0, [finding("/a")] if data == b"bad" else [])

    assert find_new_errors(PATH, b"good", [b"one", b"two"], NOW, check) == []
    assert asked == [b"good"]
    assert find_new_errors(PATH, b"bad", [b"one", b"bad"], NOW, check) == []
    assert asked[1:] == [b"bad", b"one", b"bad"]


# hold_place


def test_what_a_killed_writer_left_behind_is_cleared_under_the_lock(tmp_path: Path) -> None:
    place = plan_place(str(tmp_path))
    folder = Path(place.directory)
    folder.mkdir()
    left = folder / ".build.checkpoint.json.99999999-0a1b2c3d.tmp"
    left.write_text("half")
    with hold_place(place, [str(folder / "none"), place.directory]):
        assert (folder / ".lock").exists()
        assert not left.exists()


@rows(
    ("before", "refused"),
    [
        (checkpoint_text(), True),
        (checkpoint_text(weather="fine"), True),  # a warning of its own excuses no error
        (checkpoint_text(protocol_version="9.0"), False),  # of a later version little is known
    ],
)
def test_a_new_error_refuses_a_change_unless_the_file_was_of_another_version(
    before: str, refused: bool
) -> None:
    def change(value: dict[str, Any] | None) -> dict[str, Any]:
        return {**(value or {}), "protocol_version": "1.0", "status": "done"}

    written = plan_write(PATH, read(before), change, NOW)
    assert bool(written.refused) == refused
    assert any(each.level == "error" for each in written.document.findings)


def test_that_another_process_writes_is_reported_at_once() -> None:
    shown = io.BytesIO()
    stream = io.TextIOWrapper(shown)
    say_waiting(stream)()
    report = b"checkpoint: another process is writing; waiting for it\n"
    assert shown.getvalue() == report

    stream.isatty = lambda: True  # type: ignore[method-assign]
    say_waiting(stream)()
    assert shown.getvalue() == report + b"\r\x1b[K" + report  # a line of progress is cleared
