"""`checkpoint doctor --list`: show the checks, and what finding codes mean."""

from collections.abc import Sequence

from checkpoint_git.core.codes import SIDE_BY_SIDE
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command
from checkpoint_git.core.outcome import Block, Line, Outcome, Table
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.check import Check
from checkpoint_git.tools.doctor.catalog import choose_checks, find_codes, list_checks


def find_wanted_checks(codes: Sequence[str], *, online: bool = False) -> list[Check]:
    """Return the checks that --check names, or those that always run. Raises CheckpointError for
    an unknown code.
    """
    for code in codes:
        if not any(check.matches(code) for check in list_checks()):
            raise _unknown_check(code)
    return choose_checks(codes, online=online)


def _unknown_check(code: str) -> CheckpointError:
    hint = command("checkpoint", "doctor", "--list", more=" shows them")
    return CheckpointError(f'unknown check "{escape_controls(shorten(code, 60))}"', hint)


def show_checks() -> Outcome:
    """Return a table of all checks."""
    rows = []
    entries = []
    for check in list_checks():
        rows.append((check.code, check.level, check.fix, f"{check.looks_at}. Fix: {check.remedy}"))
        entries.append(
            _describe_code(check.code, check.level, check.looks_at, check.remedy, check.fix)
        )
    table = Table(("check", "at worst", "--fix", "finds"), rows, (0, 1, 2), has_tail=True)
    return Outcome({"checks": entries}, [table])


def list_code_meanings(words: Sequence[str]) -> Outcome:
    """Return the meaning of each code that the words name, or whose group they name, whichever
    command reports it.
    """
    rows = []
    entries = []
    related: list[Block] = []
    for word in words:
        found = find_codes(word)
        if not found:
            raise _unknown_check(word)
        for row, fix in found:
            text = row.text
            if row.remedy:
                text = f"{row.text}. Fix: {row.remedy}"
            rows.append((row.code, row.level, row.reporter, text))
            entries.append(_describe_code(row.code, row.level, row.text, row.remedy, fix))
        for about, codes in SIDE_BY_SIDE.items():
            if word in codes:
                others = ", ".join(code for code in codes if code != word)
                related.append(Line(f"also about {about}: {others}", "dim"))

    table = Table(("code", "at worst", "from", "says"), rows, (0, 1, 2), has_tail=True)
    return Outcome({"checks": entries}, [table, *related])


def _describe_code(code: str, level: str, looks_at: str, remedy: str, fix: str) -> dict[str, str]:
    return {"code": code, "level": level, "looks_at": looks_at, "remedy": remedy, "fix": fix}
