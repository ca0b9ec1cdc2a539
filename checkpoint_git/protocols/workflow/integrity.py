"""Whether the state of a workflow can be trusted, beyond what each file says alone. Pure: facts in, findings out."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, age_text, read_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.workflow.resume import is_stale
from checkpoint_git.protocols.workflow.rules import quote, read_rows


class Referenced(NamedTuple):
    """A file that the state names. state: "good", "missing", "outside" the project, "unreadable" (why says how)."""

    state: str
    why: str = ""


# what a referenced file's state means: code, what is said
_REFERENCED = {
    "missing": ("workflow/output-missing", "the output {path} of {whose} is not there"),
    "outside": ("workflow/output-outside", "the output {path} of {whose} does not lie in the project"),
    "unreadable": ("workflow/output-invalid", "the output {path} of {whose} cannot be read: {why}"),
}
_CORRUPT_WARNINGS = ("workflow/in-future",)


def list_references(phase: Mapping[str, Any], execution: Mapping[str, Any] | None) -> list[tuple[str, str, str, str]]:
    """(file, pointer, whose, path) of every output that the two documents say is there."""
    found = [
        ("phase", f"{where}/output", str(row.get("phase")), row["output"])
        for where, row in read_rows(dict(phase), "completed_phases")
        if isinstance(row.get("output"), str)
    ]
    return found + [
        ("execution", f"{where}/output", f"task {row.get('id')}", row["output"])
        for where, row in read_rows(dict(execution or {}), "tasks")
        if row.get("status") == "complete" and isinstance(row.get("output"), str)
    ]


def check_references(
    references: list[tuple[str, str, str, str]], found: Mapping[str, Referenced]
) -> list[tuple[str, Finding]]:
    """(file, finding) for every output that is not as the state says. found: by path."""
    findings = []
    for file, where, whose, path in references:
        fact = found.get(path, Referenced("missing"))
        if fact.state in _REFERENCED:
            code, words = _REFERENCED[fact.state]
            message = words.format(path=quote(path), whose=whose, why=fact.why)
            hint = "restore it from git, or do that work again"
            findings.append((file, Finding(code, "error", message, where=where, hint=hint)))
    return findings


def check_together(phase: Mapping[str, Any], execution: Mapping[str, Any] | None) -> list[Finding]:
    """What the two files say against each other, as findings about execution.json."""
    own, other = phase.get("workflow_id"), (execution or {}).get("workflow_id")
    if execution is None or not isinstance(own, str) or not isinstance(other, str) or own == other:
        return []
    message = f"it belongs to the workflow {quote(other)}, and phase.json to {quote(own)}"
    return [
        Finding("workflow/two-workflows", "error", message, where="/workflow_id", hint="restore both from one commit")
    ]


def check_age(phase: Mapping[str, Any], now: int) -> list[Finding]:
    """A warning for a workflow that began seven days ago or earlier."""
    started = read_instant(phase.get("started_at"))
    if started is None or not is_stale(phase, now):
        return []
    message = f"the workflow was started {age_text(now - started[0])} ago: what it knows may be out of date"
    hint = "checkpoint workflow resume --fresh archives it and starts again; --yes goes on"
    return [Finding("workflow/stale", "warning", message, where="/started_at", hint=hint)]


def is_corrupt(finding: Finding) -> bool:
    """Whether a finding means that the state must not be resumed unseen."""
    return finding.level == "error" or finding.code in _CORRUPT_WARNINGS


def stale_days(phase: Mapping[str, Any], now: int) -> int:
    """How many whole days ago the workflow began; 0 where nobody can tell."""
    started = read_instant(phase.get("started_at"))
    return 0 if started is None else max((now - started[0]) // DAY, 0)
