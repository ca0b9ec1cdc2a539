"""What is said about whole record files: the example folders, and files of any kind."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.yamlblock import write_block
from checkpoint_git.protocols.pipeline import rules
from checkpoint_git.protocols.pipeline.validate import CheckedRecord, check_record
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.tools.validate import verb as validate
from tests.support.records import RECORD_FIELDS, RUN, TICKET, put_record, record
from tests.support.rows import rows
from tests.support.verbs import NOON, run_verb, seconds

EXAMPLES = Path(__file__).parents[2] / "examples/pipeline"
VALID = sorted((EXAMPLES / "valid").iterdir())
INVALID = sorted((EXAMPLES / "invalid").iterdir())
NOW = seconds(NOON)
PATH = f"{TICKET}/{RUN}/phase_1_implement_a1.yaml"


def check_example(folder: Path) -> CheckedRecord:
    (path,) = folder.glob("*.yaml")
    return check_record(f"{TICKET}/{RUN}/{path.name}", path.read_bytes(), now=NOW)


@rows("folder", VALID)
def test_a_valid_example_has_no_findings(folder: Path) -> None:
    found = check_example(folder)
    assert found.findings == []
    assert found.value is not None
    assert set(found.value) == set(RECORD_FIELDS)


@rows("folder", INVALID)
def test_an_invalid_example_has_exactly_the_findings_it_names(folder: Path) -> None:
    found = check_example(folder).findings
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
    assert all(each.message and each.message.isprintable() for each in found)


@rows("folder", INVALID)
def test_a_brief_look_comes_to_the_same_judgement(folder: Path) -> None:
    (path,) = folder.glob("*.yaml")
    brief = check_record(f"{TICKET}/{RUN}/{path.name}", path.read_bytes(), now=NOW, brief=True)
    assert brief.is_valid == check_example(folder).is_valid


def test_every_code_has_an_example() -> None:
    folder = Path(rules.__file__).parent
    sources = [
        (folder / f"{name}.py").read_text("utf-8")
        for name in ("layout", "rules", "store", "validate")
    ]
    named = {code for text in sources for code in re.findall(r'"(pipeline/[a-z0-9-]+)"', text)}
    named |= {
        f"pipeline/{code}"
        for text in sources
        for code in re.findall(r'(?:_error|_warning)\("([a-z-]+)"', text)
    }
    shown = {
        each["code"]
        for folder in INVALID
        for each in json.loads((folder / "expected.json").read_text("utf-8"))
    }
    of_git = {
        f"pipeline/{name}"
        for name in ("artifact-missing", "commit-unknown", "commit-elsewhere", "other-repository")
    }
    # a keyword that the schema does not use yet
    assert named <= shown | of_git | {"pipeline/shape"}


def test_validate_reads_records_as_it_reads_checkpoints() -> None:
    document = check_document(
        f"records/{PATH}", write_block(record(attempt_number=2)).encode(), now=NOW
    )
    assert [(each.code, each.line) for each in document.findings] == [("pipeline/misplaced", 10)]
    assert document.skill == PATH


def test_a_file_that_is_only_named_like_a_record_is_let_alone() -> None:
    assert check_document("docs/phase_1_alpha.yaml", b"a: [", now=NOW).findings == []


def test_a_file_that_could_not_be_read_is_a_finding() -> None:
    found = check_record(PATH, PermissionError(13, "Permission denied"), now=NOW)
    assert [each.code for each in found.findings] == ["file/unreadable"]


@given(st.binary(max_size=200))
def test_any_bytes_give_a_record_with_findings(data: bytes) -> None:
    assert not check_record(PATH, data, now=NOW).is_valid


@given(
    st.dictionaries(
        st.sampled_from(RECORD_FIELDS),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=3),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(st.text(max_size=3), inner, max_size=2)
            ),
            max_leaves=4,
        ),
    )
)
def test_any_values_in_the_fields_are_judged_without_a_crash(changes: dict[str, object]) -> None:
    value = {**record(), **changes}
    found = check_record(PATH, json.dumps(value).encode(), now=NOW)
    assert (
        found.is_valid
        == check_record(PATH, json.dumps(value).encode(), now=NOW, brief=True).is_valid
    )


@rows(
    ("text", "utc"),
    [
        ("2026-03-02T10:30:00+01:00", "2026-03-02T09:30:00Z"),
        ("2026-03-02 09:30:00.250+00:00", "2026-03-02T09:30:00.25Z"),
        ("2026-02-28T23:30:00-01:00", "2026-03-01T00:30:00Z"),
        ("2026-03-02T09:30:00", None),
        ("0001-01-01T00:00:00+01:00", None),
        ("9999-12-31T23:59:59-01:00", None),
        ("yesterday", None),
    ],
)
def test_instants_are_kept_in_utc(text: str, utc: str | None) -> None:
    assert rules.to_utc(text) == utc


def test_of_very_much_that_is_wrong_the_first_is_told() -> None:
    changes: list[dict[str, object]] = [
        {"artifact_paths": [1] * 4_000},
        {"artifact_paths": ["/a"] * 4_000},
        {"artifact_paths": [*["a"] * 4_000, ""]},
        {"repo_commit_map": {f"r{number}": "x" for number in range(4_000)}},
    ]
    for change in changes:
        found = check_record(PATH, write_block({**record(), **change}).encode(), now=NOW)
        assert not found.is_valid
        assert 1 <= len(found.findings) <= 102


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (f"{TICKET}/{RUN}/phase_1_implement_a01.yaml", "pipeline/misplaced"),
        (f"{TICKET}/{RUN}/phase_9_deploy_a1.yaml", "pipeline/misplaced"),
        (f"{TICKET}/run-1/phase_1_implement_a1.yaml", "pipeline/misplaced"),
        (f"{TICKET}/{RUN}/phase_2_local_review_a1.yaml", "pipeline/misplaced"),
        (f"{TICKET}/{RUN}/notes.yaml", ""),
    ],
)
def test_validate_of_a_folder_finds_what_is_in_no_place_of_a_record(
    tmp_path: Path, path: str, code: str
) -> None:
    put_record(tmp_path / "base")
    file = tmp_path / "base" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(write_block(record()))
    codes = run_verb(validate, str(tmp_path / "base"), cwd=tmp_path).codes
    assert set(codes) == ({code} if code else set())
