"""Findings as SARIF 2.1.0, which code scanning services read."""

import json
from typing import Any
from urllib.parse import quote

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Outcome
from checkpoint_git.core.safetext import escape_controls
from checkpoint_git.report.screen import Screen

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(command: str, outcome: Outcome, screen: Screen) -> str:
    """One run of one tool; every code that occurs is a rule."""
    rules = [{"id": code} for code in sorted({finding.code for finding in outcome.findings})]
    run = {
        "tool": {"driver": {"name": "checkpoint", "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [describe(finding) for finding in outcome.findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def describe(finding: Finding) -> dict[str, Any]:
    """One finding as a SARIF result."""
    text = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": finding.level,
        "message": {"text": escape_controls(text)},
    }
    return {**result, "locations": [_locate(finding)]} if finding.path else result


def _locate(finding: Finding) -> dict[str, Any]:
    address = quote(finding.path.encode("utf-8", "surrogateescape"))
    place: dict[str, Any] = {"artifactLocation": {"uri": address}}
    if finding.line:
        columns = {"startColumn": finding.column} if finding.column else {}
        place["region"] = {"startLine": finding.line, **columns}
    return {"physicalLocation": place}
