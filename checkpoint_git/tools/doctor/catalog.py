"""All checks of the doctor, and all finding codes.

Checks are found by convention: the checks.py of each protocol and of each tool that has one.
"""

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from checkpoint_git.core.codes import TABLE, Code
from checkpoint_git.protocols.check import Check, Fix, collect_checks
from checkpoint_git.protocols.contract import load_part
from checkpoint_git.protocols.registry import PROTOCOLS
from checkpoint_git.tools.doctor.settings import VALIDATED

DOCTOR = "doctor"  # the reporter of what checks find
SAFE = "safe"  # a --fix without a code: every fix that needs no name
_TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@cache
def list_checks() -> tuple[Check, ...]:
    """Return the checks of the protocols in the registry's order, then those of the tools by name;
    the checks of a group are together.
    """
    tools = []
    for name in os.listdir(_TOOLS):
        if os.path.isfile(os.path.join(_TOOLS, name, "checks.py")):
            tools.append(name)
    # the doctor's own checks come last: they need the facts of the others
    tools.sort(key=lambda name: (name == "doctor", name))

    modules = [load_part(row, "checks") for row in PROTOCOLS]
    modules += [import_module(f"checkpoint_git.tools.{name}.checks") for name in tools]
    checks = [check for module in modules if module for check in collect_checks(module)]
    groups = list(dict.fromkeys(check.group for check in checks))
    return tuple(sorted(checks, key=lambda check: groups.index(check.group)))


def choose_checks(codes: Sequence[str], *, online: bool = False) -> list[Check]:
    """Return the checks of these codes or groups; without codes those that always run. online:
    those that ask a server too.
    """
    chosen = []
    for check in list_checks():
        is_wanted = any(check.matches(code) for code in codes)
        if not codes:
            is_wanted = check.when == "always"
        if is_wanted or (online and check.when == "online"):
            chosen.append(check)
    return chosen


@cache
def list_codes() -> tuple[Code, ...]:
    """Return every finding code: of the checks first, then of the table.

    A check that stands for a group, such as "workflow", has no code of its own. A row of the table
    counts before the check of the same code: another command reports it as worse.
    """
    written = {row.code for row in TABLE}
    found = []
    for check in list_checks():
        if "/" in check.code and check.code not in written:
            found.append(_row_of(check))
    return (*found, *TABLE)


def _row_of(check: Check) -> Code:
    system = check.find.__module__.split(".")[2]  # the folder of its protocol or tool
    return Code(check.code, check.level, check.looks_at, check.remedy, system, DOCTOR)


@cache
def _codes_by_name() -> dict[str, Code]:
    return {row.code: row for row in list_codes()}


def find_code(code: str) -> Code | None:
    """Return the row of a code; None if no finding has it."""
    return _codes_by_name().get(code)


def find_codes(word: str) -> list[tuple[Code, Fix]]:
    """Return the codes that a word names, or whose group it names, each with the way in which the
    doctor fixes it.
    """
    fixes = {check.code: check.fix for check in list_checks()}
    whole = [check for check in list_checks() if check.code == word and "/" not in check.code]
    found = [_row_of(check) for check in whole]
    found += [row for row in list_codes() if row.code == word or row.group == word.rstrip("/")]
    return [(row, fixes.get(row.code, "no")) for row in found]


def is_code(word: str) -> bool:
    """Whether the doctor can report findings of a code, or of a group of codes."""
    if any(check.matches(word) for check in list_checks()):
        return True
    group = word.partition("/")[0]
    whole = {*VALIDATED, *(check.code for check in list_checks() if "/" not in check.code)}
    if word.rstrip("/") == group:
        return group in whole
    row = find_code(word)
    return row is not None and (group in whole or row.reporter in ("validate", DOCTOR))


def find_option(code: str) -> list[str]:
    """Return the option that runs only the check with findings of this code; [] if there is no
    such check.
    """
    group = code.partition("/")[0]
    if group in VALIDATED:
        group = "schema"
    known = [check.code for check in list_checks()]
    if code in known:
        return [f"--check={code}"]
    if group in known:
        return [f"--check={group}"]
    return []
