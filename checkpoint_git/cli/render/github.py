"""Render findings as workflow commands, which GitHub Actions shows as annotations."""

from checkpoint_git.cli.render.screen import Screen
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.protocols.digest import rank

_SHOWN = 10  # annotations of one level that GitHub shows of one step
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_IN_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(command: str, outcome: Outcome, screen: Screen) -> list[str]:
    """Return one annotation per finding, and nothing else: a job obeys every line of its log that
    begins with "::".
    """
    findings = sorted(outcome.findings, key=rank)
    lines = list[str]()
    for level, command_name in _COMMANDS.items():
        annotations = [annotate(finding) for finding in findings if finding.level == level]
        if len(annotations) > _SHOWN:
            shown = f"{_SHOWN - 1} are shown beside their lines, and the job's log has all"
            summary = f"{len(annotations)} of these; {shown}"
            lines.append(f"::{command_name} title=checkpoint {_property(command)}::{summary}")
        lines += annotations

    return [f"{line}\n" for line in lines]


def annotate(finding: Finding) -> str:
    places = {
        "file": finding.path,
        "line": finding.line or "",
        "col": finding.column or "",
        "title": finding.code,
    }
    properties = ",".join(f"{name}={_property(value)}" for name, value in places.items() if value)
    text = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
    data = escape_controls(text).translate(_IN_DATA)
    return f"::{_COMMANDS[finding.level]} {properties}::{data}"


def _property(value: object) -> str:
    return escape_controls(str(value)).translate(_IN_PROPERTY)
