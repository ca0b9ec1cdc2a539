"""What a record's values say, whatever the schema says of them."""

from typing import Any

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.core.yamlblock import MAX_KEY
from checkpoint_git.protocols.pipeline import rules
from tests.support.rows import rows

NOW = 1_772_452_800
LONG = "x" * (MAX_KEY + 1)


def find(value: dict[str, Any]) -> list[tuple[str, str]]:
    """The code and the place of each finding about a record without a name."""
    return [(one.code, one.where) for one in rules.check(value, skill="", size=1, now=NOW)]


@rows(
    ("value", "found"),
    [
        ({"schema_version": rules.SCHEMA_VERSION}, []),
        ({"schema_version": "99.0.0"}, [("pipeline/schema-version", "/schema_version")]),
        ({"schema_version": 99}, []),  # which the schema refuses
        ({"schema_version": ""}, []),
        ({"ticket_id": "ABC-1"}, []),
        ({"ticket_id": "../ABC-1"}, [("pipeline/ticket-id", "/ticket_id")]),
        ({"ticket_id": ""}, []),
        ({"ticket_id": 7}, []),
        ({"timestamp_utc": write_instant(NOW + rules.CLOCK_TOLERANCE)}, []),
        (
            {"timestamp_utc": write_instant(NOW + rules.CLOCK_TOLERANCE + 1)},
            [("pipeline/future", "/timestamp_utc")],
        ),
        ({"timestamp_utc": "2026-03-01T08:00:00"}, [("pipeline/timestamp", "/timestamp_utc")]),
        ({"timestamp_utc": NOW}, []),
        (
            {"phase_payload": {"label_applied_at": "soon"}},
            [("pipeline/timestamp", "/phase_payload/label_applied_at")],
        ),
        ({"repo_commit_map": {"a b": "", LONG[1:]: ""}}, []),
        (
            {"repo_commit_map": {" ": "", "a": "", "b\n": "", LONG: ""}},
            [
                ("pipeline/repository-name", "/repo_commit_map/ "),
                ("pipeline/repository-name", "/repo_commit_map/b\n"),
                ("pipeline/repository-name", f"/repo_commit_map/{LONG}"),
            ],
        ),
        ({"artifact_paths": ["a/b", "", 7]}, []),
        (
            {"artifact_paths": ["ok", "a//b"], "phase_payload": {"files_changed": ["a/../b"]}},
            [
                ("pipeline/path-not-normal", "/artifact_paths/1"),
                ("pipeline/path", "/phase_payload/files_changed/0"),
            ],
        ),
    ],
)
def test_a_value_of_a_record_is_found_where_it_is_wrong(
    value: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    assert find(value) == found


@rows(
    ("path", "trouble"),
    [
        ("a/b.c", ""),
        ("a\u200bb", ""),
        ("/a", "it is absolute"),
        ("a\\b", "it contains a backslash"),
        ("C:/a", "it begins with a drive letter"),
        ("1:/a", ""),
        ("a/../b", "it contains .."),
        ("a..b", ""),
        ("./.", "it names no file"),
        (" ", "it names no file"),
        ("a\x1bb", "it contains control characters"),
    ],
)
def test_a_path_of_a_record_stays_in_the_repository(path: str, trouble: str) -> None:
    assert rules.find_path_trouble(path) == trouble


@rows(
    ("text", "in_utc"),
    [
        ("2026-03-01T08:00:00Z", "2026-03-01T08:00:00Z"),
        ("2026-03-01 08:00:00+02:00", "2026-03-01T06:00:00Z"),
        ("2026-03-01T08:00:00.250-01:00", "2026-03-01T09:00:00.25Z"),
        ("2026-03-01", None),
        ("0001-01-01T00:00:00+01:00", None),
    ],
)
def test_an_instant_is_written_in_utc(text: str, in_utc: str | None) -> None:
    assert rules.to_utc(text) == in_utc


def test_a_pattern_is_explained_by_its_field() -> None:
    found = []
    for where in ("/run_id", "/phase_payload/pr_url", "/repo_commit_map/web"):
        mismatch = Mismatch(where, "pattern", "^[0-9a-f]+$", "x", "x does not match")
        finding = rules.describe(mismatch)
        found.append((finding.code, finding.where))
    assert found == [
        ("pipeline/run-id", "/run_id"),
        ("pipeline/pr-url", "/phase_payload/pr_url"),
        ("pipeline/commit-format", "/repo_commit_map/web"),
    ]
