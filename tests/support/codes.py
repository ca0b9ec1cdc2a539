"""Finding codes as the package spells them and as it reports them while tests run."""

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from checkpoint_git.core.finding import LEVELS, Finding
from checkpoint_git.tools.doctor.catalog import list_codes
from tests.architecture.imports import PACKAGE, module_files

CODE = re.compile(r"[a-z]+/[a-z0-9]+(?:-[a-z0-9]+)*")
_TABLE = f"{PACKAGE}.core.codes"
_MAKERS = ("make_error", "make_warning")  # of findings, in core.finding
# these make findings again from what they are given, which may be a test's
_COPYING = (f"{PACKAGE}.cli.render.sarif", f"{PACKAGE}.protocols.digest")


@cache
def known_codes() -> frozenset[str]:
    """Return every code of the table and of the checks."""
    return frozenset(row.code for row in list_codes())


@cache
def known_groups() -> frozenset[str]:
    """Return what the codes begin with."""
    return frozenset(code.partition("/")[0] for code in known_codes())


@cache
def read_texts() -> frozenset[str]:
    """Return every string that a module of the package spells out, except the table of codes."""
    found = set()
    for name, file in module_files().items():
        if name != _TABLE:
            nodes = ast.walk(ast.parse(file.read_text("utf-8")))
            found |= {
                node.value
                for node in nodes
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
    return frozenset(found)


@cache
def read_built_groups() -> frozenset[str]:
    """Return the groups whose codes are put together from parts, as in f"entry/{noun}"."""
    return frozenset(text.rstrip("/") for text in read_texts() if re.fullmatch("[a-z]+/", text))


def find_reported(source: str) -> Iterator[str]:
    """Yield the codes that a module's calls pass as those of a finding."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        words = [part.value if isinstance(part, ast.Constant) else None for part in node.args[:2]]
        is_maker = isinstance(node.func, ast.Name) and node.func.id in _MAKERS
        code = words[0]
        if (
            isinstance(code, str)
            and CODE.fullmatch(code)
            and (is_maker or (words[1:] and words[1] in LEVELS))
        ):
            yield code


@contextmanager
def watch_findings() -> Iterator[set[str]]:
    """Give the set of codes that the package reports in the meantime."""
    reported: set[str] = set()
    make: Any = Finding.__new__

    def note(kind: type[Finding], code: str, *values: Any, **named: Any) -> Finding:
        frame = sys._getframe(1)
        if frame.f_code.co_name in _MAKERS and frame.f_back is not None:
            frame = frame.f_back
        module = frame.f_globals.get("__name__", "")
        if code and module.startswith(f"{PACKAGE}.") and module not in _COPYING:
            reported.add(code)
        found: Finding = make(kind, code, *values, **named)
        return found

    Finding.__new__ = note  # type: ignore[method-assign,assignment]  # it counts, and does what it did
    try:
        yield reported
    finally:
        Finding.__new__ = make  # type: ignore[method-assign]
