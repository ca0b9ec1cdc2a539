"""A project's settings of the doctor: suppressions with reasons, and what is wrong in its file.
Pure.

The text is untrusted: it comes with the branch. So it may silence drift, which hurts only its
reader, and never what makes a checkpoint unusable: a file that is not a valid checkpoint, a merge
that was left unresolved.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.schema import explain, is_surely_valid, load_schema
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.project_file import ProjectFileError, parse_table
from checkpoint_git.disk.read import read_own
from checkpoint_git.protocols.limits import THRESHOLDS
from checkpoint_git.protocols.mismatch import explain_mismatch, quote

BAD = "doctor/bad-settings"
UNUSED = "doctor/suppression-unused"
_OWN = (BAD, UNUSED)

VALIDATED = ("schema", "skill", "json", "file")  # groups of validate's findings
# groups whose errors nothing silences
_ALWAYS_SHOWN = (*VALIDATED, "content", "workflow", "pipeline", "merge", "doctor")
_KEYS = (
    "thresholds",
    "suppress",
    *THRESHOLDS,
    "code",
    "path",
    "where",
    "contains",
    "reason",
    "until",
)


class Suppression(NamedTuple):
    """One entry. path: a glob, "" for any. where: the beginning of a JSON Pointer. contains: a
    part of the message. until: the second at which it ends, None for never. line: in the settings
    file.
    """

    code: str
    reason: str
    path: str = ""
    where: str = ""
    contains: str = ""
    until: int | None = None
    line: int = 0

    def is_over(self, now: int) -> bool:
        return self.until is not None and now >= self.until

    def matches(self, finding: Finding, now: int) -> bool:
        """Whether this entry silences a finding."""
        group = finding.code.partition("/")[0]
        if self.is_over(now) or finding.code in _OWN:
            return False
        if finding.level == "error" and group in _ALWAYS_SHOWN:
            return False

        code = self.code.rstrip("/")
        is_validated = code == "schema" and group in VALIDATED
        if code not in (finding.code, group) and not is_validated:
            return False
        if self.path and not fnmatchcase(finding.path, self.path):
            return False
        if self.where and not f"{finding.where}/".startswith(f"{self.where.rstrip('/')}/"):
            return False
        return self.contains in finding.message


class Settings(NamedTuple):
    """findings: about the file itself."""

    suppressions: Sequence[Suppression] = ()
    findings: Sequence[Finding] = ()


class Suppressed(NamedTuple):
    finding: Finding
    reason: str


_KEY = re.compile(r"\s*+(?:\[\[?\s*+)?([A-Za-z_][\w-]*+)\s*+[\]=]").match


def read_settings_text(text: str, path: str, is_code: Callable[[str], bool]) -> Settings:
    """Return the settings in a TOML text. path: the file, for findings. is_code: whether a finding
    or group has it.
    """
    try:
        table = parse_table(text)
    except ProjectFileError as error:
        return Settings(findings=[_bad(path, error.line, error.message)])
    lines = _find_lines(text)
    entries = table.get("suppress")
    if isinstance(entries, list):
        table["suppress"] = [
            _plain(entry) if isinstance(entry, dict) else entry for entry in entries
        ]

    findings: list[Finding] = []
    refused: set[str] = set()
    for where, message, unknown in _find_troubles(table, is_code):
        keys = where.split("/")[1:]
        findings.append(_bad(path, _find_line(lines, keys, unknown), message))
        if not unknown or keys[:1] == ["suppress"]:
            refused.add("/".join(keys[:2]))

    return Settings(_read_suppressions(table, refused, lines), findings)


def _bad(path: str, line: int, message: str) -> Finding:
    hint = "see docs/doctor.md; until then this part of the settings is not used"
    return Finding(BAD, "warning", message, path, line=line, column=int(line > 0), hint=hint)


def _find_lines(text: str) -> dict[str, list[int]]:
    """Return the lines of each key. tomllib has none; one regex sees nearly all."""
    lines: dict[str, list[int]] = {}
    for number, match in enumerate(map(_KEY, text.split("\n")), 1):
        if match:
            lines.setdefault(match[1], []).append(number)
    return lines


def _find_line(lines: Mapping[str, list[int]], keys: Sequence[str], unknown: str) -> int:
    """Return the line of a trouble, 0 if no key of it was seen. keys: of its JSON Pointer."""
    if keys[:1] == ["suppress"] and keys[1:]:
        return _find_start(lines, int(keys[1]))
    for key in (unknown, *reversed(keys)):
        if key in lines:
            return lines[key][0]
    return 0


def _find_start(lines: Mapping[str, list[int]], index: int) -> int:
    """Return the line at which an entry of the suppressions begins."""
    starts = lines.get("suppress", [0])
    return starts[min(index, len(starts) - 1)]


def _read_suppressions(
    table: Mapping[str, Any], refused: set[str], lines: Mapping[str, list[int]]
) -> list[Suppression]:
    if "suppress" in refused:
        return []
    suppressions = []
    for index, entry in enumerate(table.get("suppress") or ()):
        if f"suppress/{index}" not in refused:
            values = {**entry, "until": _read_day(entry.get("until"))}
            suppressions.append(Suppression(**values, line=_find_start(lines, index)))
    return suppressions


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry whose texts are stripped, and whose dates are texts such as 2026-06-30."""
    plain: dict[str, Any] = {}
    for key, value in entry.items():
        if isinstance(value, str):
            value = value.strip()
        elif isinstance(value, date):
            value = value.isoformat()[:10]
        plain[key] = value
    return plain


def _find_troubles(
    table: Mapping[str, Any], is_code: Callable[[str], bool]
) -> Iterator[tuple[str, str, str]]:
    """Yield (JSON Pointer, message, a key that is unknown there or "")."""
    schema = load_schema(read_own(__file__, "settings_schema.json"))
    if not is_surely_valid(schema, table):
        for found in explain(schema, table):
            unknown = None
            if found.keyword == "additionalProperties":
                unknown = next((key for key in found.value if key not in _KEYS), None)
            message = explain_mismatch(found)
            if unknown is not None:
                message = _refuse_key(unknown)
            yield found.where, message, unknown or ""

    entries = table.get("suppress")
    if not isinstance(entries, list):
        return
    for index, entry in enumerate(entries):
        if isinstance(entry, dict):
            for message in _find_entry_troubles(entry, f"suppress.{index}", is_code):
                yield f"/suppress/{index}", message, ""


def _refuse_key(key: str) -> str:
    from difflib import get_close_matches

    message = f"unknown key {quote(key)}"
    near = get_close_matches(key, _KEYS, 1)
    if near:
        message = f"{message}: did you mean {near[0]}?"
    return message


def _find_entry_troubles(
    entry: Mapping[str, Any], name: str, is_code: Callable[[str], bool]
) -> Iterator[str]:
    code, until = entry.get("code"), entry.get("until")
    if isinstance(code, str) and not is_code(code):
        yield f"{name}.code {quote(code)} is not a code that a check has"
    if isinstance(until, str) and _read_day(until) is None:
        yield f"{name}.until is {quote(until)}, not a day such as 2026-06-30"


def _read_day(text: str | None) -> int | None:
    """Return the end of a day in seconds since 1970; None for a text that is not a day."""
    instant = read_instant(f"{text}T00:00:00Z")
    if instant is None:
        return None
    return instant[0] + DAY


def split_findings(
    findings: Iterable[Finding], suppressions: Sequence[Suppression], now: int
) -> tuple[list[Finding], list[Suppressed], set[int]]:
    """Return what is reported, what is not, and the indexes of the suppressions that were used.
    now: seconds since 1970.
    """
    shown: list[Finding] = []
    silent: list[Suppressed] = []
    used: set[int] = set()
    for finding in findings:
        for index, suppression in enumerate(suppressions):
            if suppression.matches(finding, now):
                used.add(index)
                silent.append(Suppressed(finding, suppression.reason))
                break
        else:
            shown.append(finding)

    return shown, silent, used


def find_unused(
    suppressions: Sequence[Suppression], used: set[int], now: int, path: str
) -> list[Finding]:
    """Return a note about each suppression that was not used. path: of the settings file."""
    findings = []
    for index, row in enumerate(suppressions):
        if index in used:
            continue
        state = "has expired" if row.is_over(now) else "matches nothing"
        code, reason = shorten(row.code, 60), shorten(row.reason, 60)
        message = f'the suppression of {code} ("{reason}") {state}'
        note = Finding(UNUSED, "note", message, path, line=row.line, column=1, hint="remove it")
        findings.append(note)
    return findings
