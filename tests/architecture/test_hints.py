"""A hint that is a text is prose: where it names a command, it is a value (core/hint.py)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "checkpoint_git"
COMMAND = re.compile(r"(?:^|[:;,] |`)(?:checkpoint|git) (?:-C |[a-z][a-z-]+(?: |$|`))")
_MAKERS = {
    "make_error": 3,
    "make_warning": 3,
    "CheckpointError": 1,
    "UsageError": 1,
    "UnreachableError": 1,
}


def find_texts(tree: ast.AST) -> Iterator[ast.expr]:
    """The hints that are written as texts where a finding or an error is made, or in a name that is
    called so.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "hint")
            yield from node.args[_MAKERS[name] : _MAKERS[name] + 1] if name in _MAKERS else ()
        elif isinstance(node, ast.Assign) and any(
            getattr(name, "id", "") == "hint" for name in node.targets
        ):
            yield node.value


def spell(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values
        )
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_a_hint_that_is_a_text_has_no_command() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        nodes = find_texts(ast.parse(path.read_text("utf-8")))
        found += [
            f"{path.name}:{node.lineno}: {spell(node)}"
            for node in nodes
            if COMMAND.search(spell(node))
        ]
    assert found == []


def test_a_command_in_a_text_is_found() -> None:
    made = 'Finding("a", "error", "b", hint=f"do it: checkpoint update {name}")'
    assert [COMMAND.search(spell(node)) is None for node in find_texts(ast.parse(made))] == [False]
