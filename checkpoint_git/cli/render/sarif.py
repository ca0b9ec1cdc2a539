"""Findings as SARIF 2.1.0, which code scanning services read."""

import json
import re
from collections import Counter
from typing import Any
from urllib.parse import quote

from checkpoint_git.cli.render.screen import Screen
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.tools.doctor.catalog import find_code

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"  # what services take for the repository's root
_FINGERPRINT = "checkpointFinding/v1"


def render(command: str, outcome: Outcome, screen: Screen) -> list[str]:
    findings = [(finding, "") for finding in outcome.findings]
    for entry in outcome.data.get("suppressed", ()):
        suppressed = Finding(**{key: value for key, value in entry.items() if key != "reason"})
        findings.append((suppressed, str(entry["reason"])))

    codes = sorted({finding.code for finding, _ in findings})
    seen: Counter[str] = Counter()
    run = {
        "tool": {
            "driver": {"name": "checkpoint", "rules": [_describe_rule(code) for code in codes]}
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "results": [
            {
                **describe(finding, reason),
                "ruleIndex": codes.index(finding.code),
                **_fingerprint(finding, seen),
            }
            for finding, reason in findings
        ],
    }
    return [json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"]


def _describe_rule(code: str) -> dict[str, Any]:
    known = find_code(code)
    if known is None:  # a protocol of somebody else's
        return {"id": code}
    rule: dict[str, Any] = {"id": code, "shortDescription": {"text": known.text}}
    if known.remedy:
        rule["help"] = {"text": f"Fixed by: {known.remedy}"}
    rule["defaultConfiguration"] = {"level": known.level}
    return rule


def describe(finding: Finding, reason: str = "") -> dict[str, Any]:
    """reason: why it is suppressed, "" if it is not."""
    text = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": finding.level,
        "message": {"text": escape_controls(text)},
    }
    if reason:
        result["suppressions"] = [{"kind": "external", "justification": escape_controls(reason)}]
    if finding.path:
        address = quote(finding.path.encode("utf-8", "surrogateescape"))
        place: dict[str, Any] = {"artifactLocation": {"uri": address, "uriBaseId": _ROOT}}
        if finding.line:
            place["region"] = {"startLine": finding.line} | (
                {"startColumn": finding.column} if finding.column else {}
            )
        result["locations"] = [{"physicalLocation": place}]

    return result


# What changes from day to day though the finding is the same: ages, sizes, counts; and commits,
# after a rebase.
_PASSING = re.compile(r"(?<![#\w./-])(?:\d+(?:\.\d+)?(?= [a-zA-Z])|[0-9a-f]{9,64}\b)")
_INDEX = re.compile(r"(?<=/)\d+(?=/|$)")


def _fingerprint(finding: Finding, seen: Counter[str]) -> dict[str, Any]:
    # What a service knows a finding by from run to run: lines move, items move in their lists, days
    # pass
    from hashlib import sha256

    parts = (
        finding.code,
        finding.path,
        _INDEX.sub("#", finding.where),
        _PASSING.sub("#", finding.message),
    )
    mark = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    seen[mark] += 1
    return {"partialFingerprints": {_FINGERPRINT: f"{mark}:{seen[mark]}"}}
