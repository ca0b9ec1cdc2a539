"""What a reader of the package has to carry: `python -m tests.architecture.figures` prints it. A
mirror, not a law.

Size is counted in tokens, which no layout changes. Lines are not counted: they come out where
readable code puts them.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

from tests.architecture.imports import ROOT

MOST_FORKS = 15
_LAYOUT = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.COMMENT,
    tokenize.ENDMARKER,
}
_FORKS = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.While,
    ast.comprehension,
    ast.ExceptHandler,
    ast.match_case,
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Function(NamedTuple):
    """forks: 1, and one more for each place where the way through the function forks; nested
    functions apart.
    """

    name: str
    forks: int
    lines: int
    blank_lines: int


def read_functions() -> Iterator[Function]:
    """Yield every function of the package, as "merge/places.py merge_place"."""
    for path in sorted((ROOT / "checkpoint_git").rglob("*.py")):
        text = path.read_text("utf-8")
        rows = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = rows[node.lineno - 1 : node.end_lineno]
                name = f"{path.relative_to(ROOT / 'checkpoint_git')} {node.name}"
                yield Function(
                    name, count_forks(node), len(body), sum(not row.strip() for row in body)
                )


def count_forks(function: ast.AST) -> int:
    """Count the ways through a function: statements, conditional expressions, comprehensions, `and`
    and `or`.
    """
    forks = 1
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, _FORKS):
            forks += 1
        elif isinstance(node, ast.BoolOp):
            forks += len(node.values) - 1
        waiting += ast.iter_child_nodes(node)
    return forks


def count_tokens(text: str) -> int:
    return sum(
        token.type not in _LAYOUT for token in tokenize.generate_tokens(io.StringIO(text).readline)
    )


def main() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "checkpoint_git").rglob("*.py")]
    functions = list(read_functions())
    tokens = sum(map(count_tokens, texts))
    lines = sum(text.count("\n") for text in texts)
    blank = sum(function.blank_lines for function in functions)
    print(f"tokens                      {tokens:8}")
    print(f"tokens a line               {tokens / lines:8.1f}")
    print(
        f"functions over {MOST_FORKS} forks     {sum(one.forks > MOST_FORKS for one in functions):8}"
    )
    print(f"forks of the worst          {max(one.forks for one in functions):8}")
    print(f"blank lines in functions, % {100 * blank / sum(one.lines for one in functions):8.1f}")


if __name__ == "__main__":
    main()
