"""What a project has told the doctor not to say, with the reason, and when something counts as old. Pure.

The text is untrusted: it comes with the branch. So it may silence drift, which hurts nobody but its reader, and
never what makes a checkpoint unusable: a file that is not a valid checkpoint, a merge that was left unresolved.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import shorten

MAX_BYTES = 64 * 1024
BAD = "doctor/bad-settings"
UNUSED = "doctor/suppression-unused"
_OWN = (BAD, UNUSED)

# name in [thresholds] -> the status it is about
THRESHOLDS = {"in_progress_days": "in_progress", "blocked_days": "blocked", "complete_days": "complete"}
_LONGEST = 3_650  # days
VALIDATED = ("schema", "skill", "json", "file")  # what validate's findings begin with
_ALWAYS_TOLD = (*VALIDATED, "workflow", "pipeline", "merge", "doctor")  # whose errors nothing silences
_TEXTS = ("code", "path", "where", "contains", "reason")


class Suppression(NamedTuple):
    """One entry. path: a glob, "" for any. where: the beginning of a JSON Pointer. contains: a part of the message.
    until: the first second that it does not hold any more, None for ever. line: in the settings file.
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
        if self.is_over(now) or finding.code in _OWN or (finding.level == "error" and group in _ALWAYS_TOLD):
            return False
        return bool(
            (finding.code == code or group == code or (code == "schema" and group in VALIDATED))
            and (not self.path or fnmatchcase(finding.path, self.path))
            and (not self.where or f"{finding.where}/".startswith(f"{self.where.rstrip('/')}/"))
            and self.contains in finding.message
        )


class Settings(NamedTuple):
    """limits: status -> days, only those that it sets."""

    limits: Mapping[str, int] = {}
    suppressions: Sequence[Suppression] = ()
    findings: Sequence[Finding] = ()


class Suppressed(NamedTuple):
    finding: Finding
    reason: str


_KEY = re.compile(r"\s*+(?:\[\[?\s*+)?([A-Za-z_][\w-]*+)\s*+[\]=]").match
Bad = Callable[[int, str], None]  # reports what is wrong in a line, 0 for none


def read_settings_text(text: str, path: str, is_code: Callable[[str], bool]) -> Settings:
    """The settings in a TOML text. path: the file, for findings. is_code: whether a check or a group is called so."""
    import tomllib

    findings: list[Finding] = []

    def bad(line: int, message: str) -> None:
        hint = "see docs/doctor.md; until then this part of the settings is not used"
        findings.append(Finding(BAD, "warning", message, path, line=line, column=int(line > 0), hint=hint))

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        bad(int(found[1]) if found else 0, f"this is not TOML: {error}")
        return Settings(findings=findings)
    except RecursionError:
        bad(0, "it is nested too deeply")
        return Settings(findings=findings)
    lines: dict[str, list[int]] = {}  # tomllib has none; one regex sees nearly all
    for number, match in enumerate(map(_KEY, text.split("\n")), 1):
        if match:
            lines.setdefault(match[1], []).append(number)
    for key in table.keys() - {"thresholds", "suppress"}:
        bad(lines.get(key, [0])[0], f'"{shorten(key, 60)}" is unknown')
    limits = _read_limits(table.get("thresholds", {}), lines, bad)
    suppressions = _read_suppressions(table.get("suppress", []), lines.get("suppress", []), is_code, bad)
    return Settings(limits, suppressions, findings)


def _read_limits(table: Any, lines: Mapping[str, list[int]], bad: Bad) -> dict[str, int]:
    if not isinstance(table, dict):
        bad(lines.get("thresholds", [0])[0], "thresholds must be a table")
        return {}
    limits = {}
    for key, days in table.items():
        line = lines.get(key, [0])[0]
        if key not in THRESHOLDS:
            bad(line, f'the threshold "{shorten(key, 60)}" is unknown; there are {", ".join(THRESHOLDS)}')
        elif type(days) is not int or not 0 < days <= _LONGEST:
            bad(line, f"{key} must be a whole number of days from 1 to {_LONGEST}")
        else:
            limits[THRESHOLDS[key]] = days
    return limits


def _read_suppressions(
    entries: Any, lines: Sequence[int], is_code: Callable[[str], bool], bad: Bad
) -> list[Suppression]:
    lines = lines or [0]
    if not isinstance(entries, list):
        bad(lines[0], "suppress must be a list of tables: [[suppress]]")
        return []
    suppressions = []
    for at, entry in enumerate(entries):
        line = lines[min(at, len(lines) - 1)]
        trouble = _find_trouble(entry, is_code)
        if trouble:
            bad(line, f"entry {at + 1} of suppress {trouble}")
        else:
            texts = {key: entry[key].strip() for key in _TEXTS if key in entry}
            suppressions.append(Suppression(**texts, until=_read_day(entry.get("until")), line=line))
    return suppressions


def _find_trouble(entry: Any, is_code: Callable[[str], bool]) -> str:
    if not isinstance(entry, dict):
        return "is not a table"
    unknown = sorted(entry.keys() - {*_TEXTS, "until"})
    if unknown:
        return f'has the unknown key "{shorten(unknown[0], 60)}"'
    wrong = next((key for key in _TEXTS if not isinstance(entry.get(key, ""), str)), None)
    if wrong:
        return f"has a {wrong} that is not a text"
    missing = next((key for key in ("code", "reason") if not entry.get(key, "").strip()), None)
    if missing:
        return f"has no {missing}"
    code = entry["code"].strip()
    if not is_code(code) and code.rstrip("/").partition("/")[0] not in VALIDATED:
        return f'names the code "{shorten(entry["code"], 60)}", which no check has'
    has_day = _read_day(entry.get("until", "2026-01-01")) is not None
    return "" if has_day else "has an until that is not a day, such as 2026-06-30"


def _read_day(value: Any) -> int | None:
    """The end of a day (a date of TOML, or a text) in seconds since 1970."""
    text = value if isinstance(value, str) else value.isoformat()[:10] if hasattr(value, "isoformat") else ""
    instant = read_instant(f"{text}T00:00:00Z")
    return instant[0] + DAY if instant else None


def split_findings(
    findings: Iterable[Finding], suppressions: Sequence[Suppression], now: int
) -> tuple[list[Finding], list[Suppressed], set[int]]:
    """(what is reported, what is not, the indexes of the suppressions that were used). now: seconds since 1970."""
    shown, silent, used = [], [], set[int]()
    for finding in findings:
        at = next((at for at, one in enumerate(suppressions) if one.matches(finding, now)), None)
        if at is None:
            shown.append(finding)
        else:
            used.add(at)
            silent.append(Suppressed(finding, suppressions[at].reason))
    return shown, silent, used


def find_unused(suppressions: Sequence[Suppression], used: set[int], now: int, path: str) -> list[Finding]:
    findings = []
    for at, one in enumerate(suppressions):
        if at not in used:
            what = f'the suppression of {shorten(one.code, 60)} ("{shorten(one.reason, 60)}")'
            message = f"{what} is over" if one.is_over(now) else f"{what} suppresses nothing"
            findings.append(Finding(UNUSED, "note", message, path, line=one.line, column=1, hint="remove it"))
    return findings
