"""A project's settings of the doctor: suppressions with reasons, and what is wrong in its file.
Pure.

The text is untrusted: it comes with the branch. So it may silence drift, which hurts nobody but its
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

VALIDATED = ("schema", "skill", "json", "file")  # what validate's findings begin with
# whose errors nothing silences
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
    """One entry. path: a glob, "" for any. where: the beginning of a JSON Pointer. contains: a part
    of the message. until: the first second that it does not hold any more, None for ever. line: in
    the settings file.
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
        code, group = self.code.rstrip("/"), finding.code.partition("/")[0]
        if (
            self.is_over(now)
            or finding.code in _OWN
            or (finding.level == "error" and group in _ALWAYS_SHOWN)
        ):
            return False

        return bool(
            (finding.code == code or group == code or (code == "schema" and group in VALIDATED))
            and (not self.path or fnmatchcase(finding.path, self.path))
            and (not self.where or f"{finding.where}/".startswith(f"{self.where.rstrip('/')}/"))
            and self.contains in finding.message
        )


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


def _find_start(lines: Mapping[str, list[int]], at: int) -> int:
    starts = lines.get("suppress", [0])
    return starts[min(at, len(starts) - 1)]


def _read_suppressions(
    table: Mapping[str, Any], refused: set[str], lines: Mapping[str, list[int]]
) -> list[Suppression]:
    if "suppress" in refused:
        return []
    suppressions = []
    for at, entry in enumerate(table.get("suppress") or ()):
        if f"suppress/{at}" not in refused:
            values = {**entry, "until": _read_day(entry.get("until"))}
            suppressions.append(Suppression(**values, line=_find_start(lines, at)))
    return suppressions


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    # a date of TOML becomes the text that it could have been written as
    texts = {
        key: value.strip() if isinstance(value, str) else value for key, value in entry.items()
    }
    return {
        key: value.isoformat()[:10] if isinstance(value, date) else value
        for key, value in texts.items()
    }


def _find_troubles(
    table: Mapping[str, Any], is_code: Callable[[str], bool]
) -> Iterator[tuple[str, str, str]]:
    """(JSON Pointer, message, a key that is unknown there or "")."""
    from difflib import get_close_matches

    schema = load_schema(read_own(__file__, "settings_schema.json"))
    for found in () if is_surely_valid(schema, table) else explain(schema, table):
        unknown = (
            [key for key in found.value if key not in _KEYS]
            if found.keyword == "additionalProperties"
            else []
        )
        message = explain_mismatch(found)
        if unknown:
            near = get_close_matches(unknown[0], _KEYS, 1)
            message = (
                f"unknown key {quote(unknown[0])}{f': did you mean {near[0]}?' if near else ''}"
            )
        yield found.where, message, "".join(unknown[:1])

    entries = table.get("suppress")
    for at, entry in enumerate(entries if isinstance(entries, list) else ()):
        code, until = (
            (entry.get("code"), entry.get("until")) if isinstance(entry, dict) else (None, None)
        )
        if isinstance(code, str) and not is_code(code):
            yield (
                f"/suppress/{at}",
                f"suppress.{at}.code {quote(code)} is not a code that a check has",
                "",
            )
        if isinstance(until, str) and _read_day(until) is None:
            yield (
                f"/suppress/{at}",
                f"suppress.{at}.until is {quote(until)}, not a day such as 2026-06-30",
                "",
            )


def _read_day(text: str | None) -> int | None:
    """The end of a day in seconds since 1970."""
    instant = read_instant(f"{text}T00:00:00Z")
    return instant[0] + DAY if instant else None


def split_findings(
    findings: Iterable[Finding], suppressions: Sequence[Suppression], now: int
) -> tuple[list[Finding], list[Suppressed], set[int]]:
    """(what is reported, what is not, the indexes of the suppressions that were used). now: seconds
    since 1970.
    """
    shown, silent, used = [], [], set[int]()
    for finding in findings:
        at = next((at for at, one in enumerate(suppressions) if one.matches(finding, now)), None)
        if at is None:
            shown.append(finding)
        else:
            used.add(at)
            silent.append(Suppressed(finding, suppressions[at].reason))

    return shown, silent, used


def find_unused(
    suppressions: Sequence[Suppression], used: set[int], now: int, path: str
) -> list[Finding]:
    findings = []
    for at, one in enumerate(suppressions):
        if at not in used:
            what = f'the suppression of {shorten(one.code, 60)} ("{shorten(one.reason, 60)}")'
            message = f"{what} has expired" if one.is_over(now) else f"{what} matches nothing"
            findings.append(
                Finding(UNUSED, "note", message, path, line=one.line, column=1, hint="remove it")
            )
    return findings
