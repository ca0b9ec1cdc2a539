"""Which module of the package imports which, read from the source: nothing is executed."""

import ast
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "checkpoint_git"


class Import(NamedTuple):
    """One import statement: both ends as dotted module names, the line it stands on, whether it
    runs at import time.

    late: it stands inside a function, or is for type checkers only.
    """

    importer: str
    imported: str
    line: int
    late: bool = False


@cache
def module_files() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    files = sorted((ROOT / PACKAGE).rglob("*.py"))
    return {module_name(file): file for file in files}


def module_name(file: Path) -> str:
    """The dotted name of a source file below the project's root."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def read_imports() -> list[Import]:
    """Every import statement of the package's modules, of our own modules and of others'."""
    modules = module_files()
    return [
        found
        for name, file in modules.items()
        for found in find_imports(name, file.read_text("utf-8"), modules)
    ]


def is_ours(name: str) -> bool:
    """Whether a dotted name lies in the package."""
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def find_imports(importer: str, source: str, modules: dict[str, Path]) -> Iterator[Import]:
    """The imports in one source text."""
    waiting: deque[tuple[ast.AST, bool]] = deque([(ast.parse(source), False)])
    while waiting:
        node, late = waiting.popleft()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{importer}:{node.lineno}: imports are absolute here"
            names = [_home(f"{node.module}.{alias.name}", modules) for alias in node.names]
        else:
            late = late or _is_late(node)
            waiting += [
                (child, late)
                for child in ast.iter_child_nodes(node)
                if not isinstance(child, ast.expr)
            ]
            continue
        for name in names:
            yield Import(importer, name, node.lineno, late)


def _is_late(node: ast.AST) -> bool:
    for_type_checkers = (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )
    return for_type_checkers or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _home(name: str, modules: dict[str, Path]) -> str:
    return name if name in modules else name.rpartition(".")[0]
