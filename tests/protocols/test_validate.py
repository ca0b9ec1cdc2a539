"""What validate says about whole files: the example folders, odd input, real files."""

import copy
import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import checkpoint_git.protocols.skill as room
from checkpoint_git.core.clock import DAY
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.validate import check_document, unreadable_document
from tests.support.examples import examples
from tests.support.rows import rows
from tests.support.samples import checkpoint, checkpoint_text
from tests.support.verbs import NOON, seconds

EXAMPLES = Path(__file__).parents[1] / "examples/skill"
CORPUS = Path(__file__).parents[2].parent / "shared/corpus"
VALID = sorted((EXAMPLES / "valid").glob("*.checkpoint.json"))
INVALID = sorted(path.parent for path in (EXAMPLES / "invalid").glob("*/expected.json"))
NOW = seconds(NOON)
PATH = ".checkpoints/build.checkpoint.json"


BASE = json.loads((EXAMPLES / "base.checkpoint.json").read_text("utf-8"))


def read_example(folder: Path) -> bytes:
    """Return an invalid checkpoint: a file of its own, or the base with the fields of
    change.json.
    """
    change_file = folder / "change.json"
    if not change_file.exists():
        return (folder / "build.checkpoint.json").read_bytes()

    change = json.loads(change_file.read_text("utf-8"))
    value = {**BASE, **change.get("set", {})}
    for field in change.get("remove", ()):
        del value[field]
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def check(data: bytes | str, path: str = PATH) -> Document:
    return check_document(path, data.encode() if isinstance(data, str) else data, now=NOW)


@rows("path", VALID)
def test_a_valid_example_has_no_findings(path: Path) -> None:
    document = check(path.read_bytes(), f".checkpoints/{path.name}")
    assert document.findings == []
    assert document.is_valid


def test_the_base_of_the_invalid_examples_has_no_findings() -> None:
    assert check((EXAMPLES / "base.checkpoint.json").read_bytes()).findings == []


@rows("folder", INVALID)
def test_an_invalid_example_has_exactly_the_findings_it_names(folder: Path) -> None:
    found = check(read_example(folder)).findings
    assert [
        {
            "level": each.level,
            "code": each.code,
            "where": each.where,
            "line": each.line,
            "column": each.column,
        }
        for each in found
    ] == json.loads((folder / "expected.json").read_text("utf-8"))
    assert all(each.path == PATH for each in found)
    assert all(each.message and each.message.isprintable() for each in found)


def test_every_code_has_an_example() -> None:
    """The codes in the room's source, each shown by at least one example folder."""
    sources = [path.read_text("utf-8") for path in Path(room.__file__).parent.rglob("*.py")]
    named = {code for text in sources for code in re.findall(r'"(skill/[a-z0-9-]+)"', text)}
    shown = {
        each["code"]
        for folder in INVALID
        for each in json.loads((folder / "expected.json").read_text("utf-8"))
    }
    # of a keyword that is not used yet, of a write, and of the file that the next test makes
    assert named <= shown | {"skill/shape", "skill/near-name", "skill/file-too-big"}


def test_a_file_that_is_too_big_is_valid_and_has_a_finding() -> None:
    document = check(checkpoint_text(skill_state={"notes": ["x" * 80] * 500}))
    (found,) = document.findings
    assert (found.level, found.code, found.where) == ("warning", "skill/file-too-big", "")
    assert (found.line, found.column) == (1, 1)
    assert document.is_valid


def test_a_document_keeps_its_value_when_its_shape_is_wrong() -> None:
    document = check(checkpoint_text(status="done"))
    assert document.value is not None
    assert document.value["status"] == "done"
    assert not document.is_valid


def test_a_warning_does_not_make_a_document_invalid() -> None:
    document = check(checkpoint_text(project_dir="here"))
    assert [finding.code for finding in document.findings] == ["skill/relative-project-dir"]
    assert document.is_valid


def test_the_skill_comes_from_the_file_name() -> None:
    assert check(checkpoint_text(), "a/.checkpoints/build.checkpoint.json").skill == "build"


def test_a_name_that_is_no_checkpoint_is_a_finding() -> None:
    document = check(checkpoint_text(), "build.json")
    assert document.skill == ""
    assert [finding.code for finding in document.findings] == ["skill/file-name"]


def test_a_file_over_the_limit_is_a_finding_and_not_read_as_json() -> None:
    document = check(b" " * (8 * 1024 * 1024 + 1))
    assert [finding.code for finding in document.findings] == ["json/too-large"]


def test_one_day_ahead_is_still_fine() -> None:
    text = checkpoint_text(updated_at="2026-03-03T12:00:00Z")
    assert check_document(PATH, text.encode(), now=NOW).findings == []
    assert check_document(PATH, text.encode(), now=NOW - 1).findings != []
    assert check_document(PATH, text.encode(), now=NOW + 400 * DAY).findings == []


def test_numbers_without_end_are_ordinary_input() -> None:
    text = checkpoint_text(skill_state={"n": 0}).replace('"n": 0', '"n": ' + "9" * 5000)
    assert check(text).findings == []
    text = checkpoint_text(cost={"total_usd": 0, "budget_usd": 1}).replace(
        '"total_usd": 0', '"total_usd": 1e400'
    )
    assert [finding.code for finding in check(text).findings] == ["skill/over-budget"]


@rows(
    ("code", "number"),
    [
        ("file/missing", errno.ENOENT),
        ("file/unreadable", errno.EACCES),
        ("file/not-a-file", errno.EISDIR),
        ("json/too-large", errno.EFBIG),
        ("file/link-outside", errno.ELOOP),
    ],
)
def test_a_file_that_cannot_be_read_is_a_document_with_a_finding(code: str, number: int) -> None:
    document = unreadable_document(PATH, OSError(number, os.strerror(number)))
    assert document.skill == "build"
    assert document.value is None
    assert [(finding.code, finding.level) for finding in document.findings] == [(code, "error")]
    assert str(document.findings[0].hint)


JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def containers_in(value: Any) -> list[Any]:
    """All objects and lists in a value, itself included."""
    children = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    return [
        value,
        *(
            found
            for child in children
            if isinstance(child, (dict, list))
            for found in containers_in(child)
        ),
    ]


@examples(400, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_nothing_in_a_document_makes_the_checks_fail(data: st.DataObject) -> None:
    value = copy.deepcopy(
        checkpoint(
            blockers=[{"id": "b", "description": "d"}],
            pm_refs=[{"provider": "p", "id": "i"}],
            cost={},
            eval_scores=[{}],
        )
    )
    for _ in range(data.draw(st.integers(1, 4))):
        container = data.draw(st.sampled_from(containers_in(value)))
        keys = list(container) if isinstance(container, dict) else list(range(len(container)))
        if keys:
            container[data.draw(st.sampled_from(keys))] = data.draw(JUNK)
    document = check(json.dumps(value))
    assert document.value is not None
    assert all(finding.line >= 1 and finding.column >= 1 for finding in document.findings)


@examples(200)
@given(st.binary(max_size=60))
def test_no_bytes_make_the_checks_fail(data: bytes) -> None:
    assert check(data).findings


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real files is not on this machine")
def test_no_real_file_is_refused() -> None:
    """These versions were written, committed and read by people; what we call an error there would
    be a false alarm.
    """
    refused = []
    for path in sorted((CORPUS / "versions").glob("*.checkpoint.json")):
        data = path.read_bytes()
        name = path.name.partition("__")[2]
        document = check_document(f".checkpoints/{name}", data, now=seconds("2027-01-01T00:00:00Z"))
        refused += [
            (path.name, finding) for finding in document.findings if finding.level == "error"
        ]
    assert refused == []


def test_a_misspelt_field_is_found_among_thousands_of_unknown_ones() -> None:
    data = checkpoint_text(**{f"zone_{number}": 1 for number in range(30_000)}, handofs=[]).encode()
    found = check_document(".checkpoints/build.checkpoint.json", data, now=seconds(NOON)).findings
    assert [finding.where for finding in found if finding.code == "skill/unknown-field"] == [
        "/handofs"
    ]


def test_each_of_hundreds_of_errors_has_its_line() -> None:
    rows = [{"id": f"r{number}", "label": "x", "status": "odd"} for number in range(500)]
    text = checkpoint_text(progress_table=rows)
    found = check_document(
        ".checkpoints/build.checkpoint.json", text.encode(), now=seconds(NOON)
    ).findings
    placed = {
        finding.where: (finding.line, finding.column)
        for finding in found
        if finding.where.endswith("/status")
    }
    assert len(placed) == 500
    lines = text.split("\n")
    assert all(
        '"status"' in lines[line - 1] and lines[line - 1][: column - 1].isspace()
        for line, column in placed.values()
    )


def test_a_hint_names_the_skill_of_the_file() -> None:
    document = check(
        '{"protocol_version": "1.0", "skill": "build", "status": "in_progress", "next_actions": []}'
    )
    hints = {
        str(finding.hint)
        for finding in document.findings
        if "checkpoint update" in str(finding.hint)
    }
    assert 'add it: checkpoint update build --phase="..."' in hints
    assert not any("NAME" in hint for hint in hints)
    odd = check(document.text or "", ".checkpoints/a b.checkpoint.json")
    assert "add it: checkpoint update 'a b' --phase=\"...\"" in {
        str(finding.hint) for finding in odd.findings
    }
