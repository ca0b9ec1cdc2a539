"""What a record's values say, whatever the schema says of them."""

from typing import Any

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.schema import Mismatch, is_surely_valid
from checkpoint_git.core.yamlblock import MAX_KEY
from checkpoint_git.protocols.pipeline import rules
from tests.support.records import RUN, record
from tests.support.rows import rows

NOW = 1_772_452_800
LONG = "x" * (MAX_KEY + 1)


def check(value: dict[str, Any], skill: str = "") -> list[Finding]:
    return rules.check(value, skill=skill, size=1, now=NOW)


def find(value: dict[str, Any], skill: str = "") -> list[tuple[str, str]]:
    """The code and the place of each finding about a record, without a name where none is given."""
    return [(finding.code, finding.where) for finding in check(value, skill)]


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
        ({"artifact_paths": "a//b"}, []),
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
    ("value", "level", "message", "hint"),
    [
        (
            {"schema_version": "99.0.0"},
            "warning",
            f'schema_version is "99.0.0"; this tool knows {rules.SCHEMA_VERSION}',
            "a newer checkpoint-git may know it",
        ),
        (
            {"ticket_id": "../ABC-1"},
            "error",
            'ticket_id is "../ABC-1": it is a path; give one plain name',
            "",
        ),
        (
            {"timestamp_utc": "soon"},
            "error",
            'timestamp_utc is "soon": invalid timestamp, or one without an offset',
            "write it with its offset: 2026-03-31T14:00:00Z",
        ),
        (
            {"phase_payload": {"label_applied_at": "2027-01-01T00:00:00Z"}},
            "warning",
            'phase_payload/label_applied_at is "2027-01-01T00:00:00Z", which is in the future',
            "look at the clock of the machine that wrote it",
        ),
        (
            {"phase_payload": {"files_changed": ["../x"]}},
            "error",
            'phase_payload/files_changed/0 is "../x": it contains ..',
            "write it relative to the repository's root, with / between its parts",
        ),
        (
            {"artifact_paths": ["a", "./b"]},
            "warning",
            'artifact_paths/1 is "./b", which can be written shorter',
            "",
        ),
        (
            {"repo_commit_map": {"a\x1b": ""}},
            "error",
            '"a\\x1b" cannot be the name of a repository',
            "",
        ),
        (
            {"phase": "implement", "phase_payload": {"phase": "create_pr"}},
            "error",
            'phase_payload/phase is "create_pr", but the record\'s phase is "implement"',
            "both name the same phase; a payload that is being written may leave it out",
        ),
        (
            {"attempt_number": 1.0},
            "error",
            "attempt_number is 1.0 and must be a whole number",
            "",
        ),
        (
            {"phase_payload": {"pr_number": 10**15 + 1}},
            "error",
            f"phase_payload/pr_number is larger than {10**15}",
            "",
        ),
    ],
)
def test_a_finding_names_the_place_and_its_value_and_says_what_to_do(
    value: dict[str, Any], level: str, message: str, hint: str
) -> None:
    (found,) = check(value)
    assert (found.level, found.message, found.hint) == (level, message, hint)


def test_a_number_of_a_payload_is_whole_and_not_above_a_quadrillion() -> None:
    payload = {
        "a": 2.5,
        "b": 2.0,
        "c": 10**15,
        "d": 10**15 + 1,
        "e": True,
        "f": "2.0",
        "g/~\x1b": 1.0,
    }
    assert find({"attempt_number": 10**16, "phase_payload": payload}) == [
        ("pipeline/too-long", "/attempt_number"),
        ("pipeline/wrong-type", "/phase_payload/b"),
        ("pipeline/too-long", "/phase_payload/d"),
        ("pipeline/wrong-type", "/phase_payload/g~1~0\x1b"),
    ]
    assert all(found.message.isprintable() for found in check({"phase_payload": payload}))


def test_what_a_record_says_of_itself_is_what_its_path_says() -> None:
    named = {"ticket_id": "T-1", "run_id": RUN, "phase": "implement", "attempt_number": 1}
    path = f"T-1/{RUN}/phase_1_implement_a1.yaml"
    assert find(named, path) == []
    assert find({}, path) == []
    assert find(named, "notes.yaml") == []
    # only the file itself is named
    other = {**named, "ticket_id": "T-2", "attempt_number": 2}
    assert find(other, "phase_1_implement_a1.yaml") == [("pipeline/misplaced", "/attempt_number")]
    wrong = {"ticket_id": "T-2", "run_id": "", "phase": "create_pr", "attempt_number": 2}
    assert find(wrong, path) == [("pipeline/misplaced", f"/{field}") for field in wrong]

    (found,) = check({**named, "ticket_id": "T-2"}, path)
    assert found.level == "error"
    assert found.message == 'ticket_id is "T-2", but the file\'s path has "T-1"'
    assert found.hint == "restore the file: records are never renamed or edited"


@rows(
    ("value", "phase"),
    [
        ({"phase": "create_pr"}, "create_pr"),
        ({"phase": "create_pr", "phase_payload": "text"}, "create_pr"),
        ({"phase": "create_pr", "phase_payload": {}}, "create_pr"),
        ({"phase": "create_pr", "phase_payload": {"phase": "create_pr"}}, "create_pr"),
        ({"phase": "create_pr", "phase_payload": {"phase": "implement"}}, ""),
        ({"phase": "deploy", "phase_payload": {"phase": "deploy"}}, ""),
        ({"phase": ["create_pr"]}, ""),
        ({"phase_payload": {"phase": "create_pr"}}, ""),
    ],
)
def test_a_payload_is_of_the_records_phase_unless_the_two_contradict(
    value: dict[str, Any], phase: str
) -> None:
    assert rules.find_payload_phase(value) == phase


def test_the_schema_of_a_phase_asks_for_the_payload_of_that_phase() -> None:
    written = record()
    assert is_surely_valid(rules.schema_for("implement"), written)
    assert not is_surely_valid(rules.schema_for("create_pr"), written)
    for unknown in ("", "deploy"):
        assert is_surely_valid(rules.schema_for(unknown), written)


@rows(
    ("path", "trouble"),
    [
        ("a/b.c", ""),
        ("a\u200bb", ""),
        ("/a", "it is absolute"),
        ("a\\b", "it contains a backslash"),
        ("C:/a", "it begins with a drive letter"),
        ("C:", "it begins with a drive letter"),
        ("C", ""),
        ("1:/a", ""),
        ("ab:/c", ""),
        ("a/../b", "it contains .."),
        ("a..b", ""),
        ("./.", "it names no file"),
        (" ", "it names no file"),
        ("a ", ""),
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
        ("2026-03-01  08:00:00Z", None),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("0001-01-01T00:59:59+01:00", None),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ("9999-12-31T23:00:00-01:00", None),
    ],
)
def test_an_instant_is_written_in_utc(text: str, in_utc: str | None) -> None:
    assert rules.to_utc(text) == in_utc


@rows(
    ("mismatch", "code", "message", "hint"),
    [
        (
            Mismatch("/run_id", "pattern", "^x$", "a", ""),
            "pipeline/run-id",
            'run_id is "a", which is not a UUID in its usual form',
            "",
        ),
        (
            Mismatch("/phase_payload/pr_url", "pattern", "^x$", "a", ""),
            "pipeline/pr-url",
            'phase_payload/pr_url is "a", which is not a full address',
            "https://HOST/...",
        ),
        (
            Mismatch("/repo_commit_map/web", "pattern", "^x$", "a", ""),
            "pipeline/commit-format",
            'repo_commit_map/web is "a", which is not a commit id',
            "7 to 40 or 64 lower-case hexadecimal digits; in YAML in quotes",
        ),
        (
            Mismatch("/ticket_id", "type", "string", 7, ""),
            "pipeline/wrong-type",
            "ticket_id must be a text, and is 7",
            "write it in quotes",
        ),
        (
            Mismatch("/attempt_number", "type", "integer", "7", ""),
            "pipeline/wrong-type",
            'attempt_number must be a whole number, and is "7"',
            "",
        ),
        (
            Mismatch("/phase", "enum", ["implement", "create_pr"], "deploy", ""),
            "pipeline/unknown-phase",
            'invalid phase "deploy": expected implement or create_pr',
            "",
        ),
        (
            Mismatch("/phase_payload/phase", "enum", ["implement"], "deploy", ""),
            "pipeline/shape",
            'invalid phase_payload/phase "deploy": expected implement',
            "",
        ),
        (
            Mismatch("/phase", "minLength", 1, "", ""),
            "pipeline/empty-field",
            "phase is empty",
            "",
        ),
        (
            Mismatch(
                "",
                "additionalProperties",
                False,
                {},
                "Additional properties are not allowed ('x' was unexpected)",
            ),
            "pipeline/unknown-field",
            "the document: not part of the format ('x' was unexpected)",
            "",
        ),
        (
            Mismatch("/a.b/c", "const", "", "", "a.b is wrong"),
            "pipeline/shape",
            "a/b/c: a.b is wrong",
            "",
        ),
        (
            Mismatch("/a/b", "minimum", 1, "a.b", ""),
            "pipeline/too-small",
            'a/b is "a.b", and cannot be below 1',  # what it is stays as it is written
            "",
        ),
    ],
)
def test_a_break_of_the_schema_is_explained_by_its_keyword_and_field(
    mismatch: Mismatch, code: str, message: str, hint: str
) -> None:
    found = rules.describe(mismatch)
    assert (found.code, found.level, found.where) == (code, "error", mismatch.where)
    assert (found.message, found.hint) == (message, hint)
