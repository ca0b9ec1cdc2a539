"""Findings for services: SARIF by its official schema and with lasting fingerprints, annotations by
their weight.
"""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.cli import render
from checkpoint_git.cli.render import github, markdown
from checkpoint_git.cli.render.screen import Screen
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Digest, Outcome

SCHEMA = Path(__file__).parents[2] / "examples" / "sarif" / "sarif-schema-2.1.0.json.gz"
BAD = Finding(
    "drift/x",
    "warning",
    "nothing was written for 9 days",
    "a b%/ü.json",
    "/rows/3",
    6,
    3,
    "mend it",
)
LEVELS = st.sampled_from(["error", "warning", "note"])
TEXTS = st.text(max_size=30)
FINDINGS = st.builds(
    Finding, TEXTS, LEVELS, TEXTS, TEXTS, TEXTS, st.integers(0, 9), st.integers(0, 9), TEXTS
)


@cache
def validator() -> Any:
    return jsonschema.Draft7Validator(json.loads(gzip.decompress(SCHEMA.read_bytes())))


def sarif(*findings: Finding, suppressed: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    outcome = Outcome({"suppressed": suppressed}, findings=findings)
    log = json.loads(render.render("doctor", outcome, "sarif", Screen()))
    assert [error.message for error in validator().iter_errors(log)] == []
    run: dict[str, Any] = log["runs"][0]
    return run


def prints(*findings: Finding) -> list[str]:
    return [
        result["partialFingerprints"]["checkpointFinding/v1"]
        for result in sarif(*findings)["results"]
    ]


def test_the_schema_can_fail() -> None:
    assert list(validator().iter_errors({"version": "2.1.0", "runs": [{"results": [{}]}]}))


@given(st.lists(FINDINGS, max_size=5))
def test_whatever_is_found_the_report_is_valid(findings: list[Finding]) -> None:
    assert len(sarif(*findings)["results"]) == len(findings)


def test_a_rule_says_what_its_code_means_and_only_rules_that_occur_are_listed() -> None:
    run = sarif(
        BAD,
        Finding("skill/row-id-twice", "error", "x"),
        Finding("drift/stale-blocked", "warning", "x"),
    )
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [
        "drift/stale-blocked",
        "drift/x",
        "skill/row-id-twice",
    ]
    assert rules[0]["shortDescription"]["text"] == (
        "Blocked for more than blocked_days days (default: 3)"
    )
    assert rules[0]["defaultConfiguration"] == {"level": "warning"}
    assert rules[1] == {"id": "drift/x"}
    assert rules[2]["help"]["text"] == "Fixed by: rename one"
    assert [result["ruleIndex"] for result in run["results"]] == [1, 2, 0]


def test_a_place_is_an_address_from_the_root_with_odd_letters_encoded() -> None:
    place = sarif(BAD)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b%25/%C3%BC.json", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 6, "startColumn": 3}


def test_what_is_suppressed_is_reported_with_its_reason() -> None:
    run = sarif(suppressed=({**BAD._asdict(), "reason": "built in CI"},))
    assert run["results"][0]["suppressions"] == [
        {"kind": "external", "justification": "built in CI"}
    ]


def test_a_finding_keeps_its_fingerprint_as_lines_items_and_days_move_on() -> None:
    moved = BAD._replace(
        line=99, column=1, where="/rows/7", message="nothing was written for 23 days"
    )
    assert prints(BAD) == prints(moved)


def test_different_findings_have_different_fingerprints() -> None:
    texts = ("merge #12", "merge #13", "ABC-12 is in", "ABC-13 is in")
    others = [BAD._replace(message=text) for text in texts]
    assert (
        len(set(prints(BAD, *others, BAD._replace(path="b"), BAD._replace(code="drift/y"), BAD)))
        == 8
    )


def test_annotations_come_by_weight() -> None:
    found = [Finding("a/b", level, level) for level in ("note", "error", "warning", "error")]
    said = render.render("doctor", Outcome({}, findings=found), "github", Screen())
    assert [line.split(" ")[0] for line in said.splitlines()] == [
        "::error",
        "::error",
        "::warning",
        "::notice",
    ]


def test_annotations_begin_with_what_matters_most() -> None:
    found = [
        Finding(code, "warning", "m", code)
        for code in ("skill/x", "drift/project-dir", "install/missing")
    ]
    lines = github.render("doctor", Outcome({}, findings=found), Screen())
    assert [line.partition("title=")[2].partition("::")[0] for line in lines] == [
        "install/missing",
        "drift/project-dir",
        "skill/x",
    ]


def test_markdown_has_a_row_for_a_cause() -> None:
    found = [Finding("a/b", "warning", str(at), f"{at}") for at in range(4)]
    digest = Digest(
        [(Finding("a/b", "warning", "4 files moved"), 4)], ("checkpoint", "doctor", "--full")
    )
    (page,) = markdown.render("doctor", Outcome({}, findings=found, digest=digest), Screen())
    assert [line for line in page.split("\n") if line.startswith("| warning")] == [
        "| warning |  | 4 files moved |  | a/b |"
    ]
