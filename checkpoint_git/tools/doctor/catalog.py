"""All checks of the doctor, found by convention: the checks.py of each protocol and of each tool that has one."""

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from checkpoint_git.protocols.check import Check, collect_checks
from checkpoint_git.protocols.contract import load_part
from checkpoint_git.protocols.registry import PROTOCOLS
from checkpoint_git.tools.doctor.settings import VALIDATED

SAFE = "safe"  # what a bare --fix asks for: every fix that needs no name
_TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@cache
def list_checks() -> tuple[Check, ...]:
    """Of the protocols in the registry's order, then of the tools by name; those of a group together."""
    tools = [name for name in os.listdir(_TOOLS) if os.path.isfile(os.path.join(_TOOLS, name, "checks.py"))]
    tools.sort(key=lambda name: (name == "doctor", name))  # what it tries rests on the others
    modules = [load_part(row, "checks") for row in PROTOCOLS]
    modules += [import_module(f"checkpoint_git.tools.{name}.checks") for name in tools]
    checks = [check for module in modules if module for check in collect_checks(module)]
    groups = list(dict.fromkeys(check.group for check in checks))
    return tuple(sorted(checks, key=lambda check: groups.index(check.group)))


def choose_checks(codes: Sequence[str], *, online: bool = False) -> list[Check]:
    """The checks of these codes or groups; without codes those that always run, with online those of a server."""
    return [
        check
        for check in list_checks()
        if (any(check.matches(code) for code in codes) if codes else check.when == "always")
        or (online and check.when == "online")
    ]


def is_code(word: str) -> bool:
    """Also a finding of a check that has a whole group: "workflow/..."."""
    group = word.partition("/")[0]
    return any(check.matches(word) or check.code == group for check in list_checks())


def find_option(code: str) -> list[str]:
    """Return the option that has only the check run which has such findings, [] for the doctor's own."""
    room = "schema" if code.partition("/")[0] in VALIDATED else code.partition("/")[0]
    known = [check.code for check in list_checks() if check.code in (code, room)]
    return [f"--check={code if code in known else room}"] if known else []
