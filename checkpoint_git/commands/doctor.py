"""`checkpoint doctor`: do the checkpoints still tell the truth, and would git merge and guard them?"""

import argparse
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.checks.doctor import CHECKS, Check, choose_checks, find_all, is_meant, locate_all
from checkpoint_git.checks.sheet import Sheet, make_sheet
from checkpoint_git.commands.gathering import Tell, gather_world
from checkpoint_git.commands.reading import iterate_documents, read_document, read_text
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.outcome import Invocation, Line, Outcome, Style, Table
from checkpoint_git.core.safetext import escape_controls, shorten
from checkpoint_git.disk.discover import Place, find_place

SUMMARY = "compare checkpoints with git's history and the file system, and prove that the merge driver works"
EXAMPLES = """\
  checkpoint doctor                            everything; run it before you push
  checkpoint doctor build                      one skill's checkpoint, and the installation
  checkpoint doctor --list                     the checks: what they look at, how it is mended
  checkpoint doctor --check drift              all checks whose code begins with drift/
  checkpoint doctor --fail-on-warnings --format github"""


class Diagnosis(NamedTuple):
    """What the doctor looked at and found."""

    checks: list[Check]
    documents: int
    findings: list[Finding]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """[SKILL] [--list] [--check CODE]... [--fail-on-warnings]."""
    parser.add_argument("skill", metavar="SKILL", nargs="?", help="look at this skill's checkpoint only")
    parser.add_argument("--list", action="store_true", help="show the checks, and run none")
    help_text = "run only this check, or a group such as drift; may be given several times"
    parser.add_argument("--check", metavar="CODE", action="append", default=[], help=help_text)
    parser.add_argument("--fail-on-warnings", action="store_true", help="exit with 1 on warnings too")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 on errors, with --fail-on-warnings on warnings too."""
    checks = find_wanted_checks(args.check)
    if args.list:
        return _list_checks(checks)
    tell = _progress(invocation)
    try:
        place = find_place(invocation.cwd)
        found = diagnose(place, invocation.now, args.skill, checks, env=invocation.env, tell=tell)
    finally:
        tell("")
    return _tell_diagnosis(found, args.fail_on_warnings)


def diagnose(
    place: Place,
    now: int,
    skill: str | None = None,
    checks: Sequence[Check] = CHECKS,
    *,
    env: Mapping[str, str],
    tell: Tell = lambda what: None,
) -> Diagnosis:
    """Runs checks over a place, or over one skill's checkpoint in it, and over the repository around it.

    now: seconds since 1970. env: the environment that git is asked in. tell: called with what is looked at.
    """
    sheets = read_sheets(place, now, skill, tell)
    needs = {need for check in checks for need in check.needs.split()}
    world, troubles = gather_world(place, sheets, now, needs, env, tell)
    if place.work_tree is None and needs:
        message = "this is no git repository: history, merge driver and hooks were not looked at"
        troubles.append(Finding("doctor/not-looked-at", "note", message))
    skills = {sheet.path: sheet.skill for sheet in sheets}
    found = locate_all(find_all(checks, world), lambda path: read_text(place, skills[path]) if path in skills else None)
    return Diagnosis(list(checks), len(sheets), [*found, *troubles])


def read_sheets(place: Place, now: int, skill: str | None = None, tell: Tell = lambda what: None) -> list[Sheet]:
    """What the checks look at of every checkpoint, or of one skill's; no document is held longer than it is read."""
    if skill:
        return [make_sheet(read_document(place, skill, now))]
    sheets = []
    for document in iterate_documents(place, now):
        sheets.append(make_sheet(document))
        if len(sheets) % _PACE == 0:
            tell(f"checkpoints ({len(sheets)})")
    return sheets


_PACE = 100  # checkpoints between two words to a person who waits


def find_wanted_checks(codes: Sequence[str]) -> list[Check]:
    """The checks of some codes or groups, all for none. Raises CheckpointError for a code that no check has."""
    for code in codes:
        if not any(is_meant(check, code) for check in CHECKS):
            shown = escape_controls(shorten(code, 60))
            raise CheckpointError(f'there is no check "{shown}"', "`checkpoint doctor --list` shows them")
    return choose_checks(codes)


def _list_checks(checks: Sequence[Check]) -> Outcome:
    rows = [(check.code, check.level, check.looks_at, check.mend, check.fix) for check in checks]
    names = ("code", "level", "looks_at", "mend", "fix")
    data = {"checks": [dict(zip(names, row, strict=True)) for row in rows]}
    return Outcome(data, [Table(("check", "at worst", "looks at", "mend", "--fix"), rows)])


def _tell_diagnosis(found: Diagnosis, fail_on_warnings: bool) -> Outcome:
    counts = {f"{level}s": _count_level(found.findings, level) for level in _LEVELS}
    failed = bool(counts["errors"] or (fail_on_warnings and counts["warnings"]))
    data = {"checks": [check.code for check in found.checks], "documents": found.documents, **counts}
    told = ", ".join(_plural(counts[f"{level}s"], level) for level in _LEVELS if counts[f"{level}s"]) or "all is well"
    text = f"{_plural(found.documents, 'checkpoint')}, {_plural(len(found.checks), 'check')}: {told}"
    style: Style = "bad" if failed else "warn" if counts["warnings"] else "good"
    return Outcome(data, (), found.findings, int(failed), summary=[Line(text, style)])


_LEVELS: tuple[Level, ...] = ("error", "warning", "note")


def _count_level(findings: Sequence[Finding], level: Level) -> int:
    return sum(finding.level == level for finding in findings)


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _progress(invocation: Invocation) -> Tell:
    """A line on the terminal that says what is being looked at, and goes when nothing is."""

    def tell(what: str) -> None:
        invocation.stderr.write(f"\r\x1b[K{f'looking at {what}...' if what else ''}")
        invocation.stderr.flush()

    return tell if invocation.interactive else lambda what: None
