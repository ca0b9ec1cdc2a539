"""Render findings as SARIF 2.1.0, which code scanning services read."""

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
    results = list[dict[str, Any]]()
    for finding, reason in findings:
        result = describe(finding, reason)
        result["ruleIndex"] = codes.index(finding.code)
        result |= _fingerprint(finding, seen)
        results.append(result)

    rules = [_describe_rule(code) for code in codes]
    run = {
        "tool": {"driver": {"name": "checkpoint", "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "results": results,
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
    """Return a finding as a result. reason: why it is suppressed, "" if it is not."""
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
            place["region"] = {"startLine": finding.line}
            if finding.column:
                place["region"]["startColumn"] = finding.column
        result["locations"] = [{"physicalLocation": place}]

    return result


# Ages, sizes, counts and, after a rebase, commits change while the finding is the same.
_PASSING = re.compile(r"(?<![#\w./-])(?:\d+(?:\.\d+)?(?= [a-zA-Z])|[0-9a-f]{9,64}\b)")
_INDEX = re.compile(r"(?<=/)\d+(?=/|$)")


def _fingerprint(finding: Finding, seen: Counter[str]) -> dict[str, Any]:
    """Return what a service knows a finding by from run to run.

    Lines move, items move in their lists, and days pass: none of them is in it.
    """
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
