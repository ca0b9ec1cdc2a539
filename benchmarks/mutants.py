"""Change the package in small wrong ways, one at a time, and see whether the tests notice.

    python -m benchmarks.mutants --count 20 --seed 7
    python -m benchmarks.mutants --paths checkpoint_git/merge --tests tests/merge tests/test_conformance.py

Each mutation is one comparison turned, one condition negated, one constant changed or one statement dropped, in a copy
of this checkout. A mutation that the tests do not notice has survived: its diff is printed below the table.
"""

import argparse
import ast
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = "checkpoint_git"

# where a fault could lose what somebody wrote
HEART = ["merge", "disk", "git", "tools/sync", "protocols/restore", "protocols/*/rules.py", "protocols/*/store.py"]
HEART += ["protocols/*/write.py", "protocols/*/rules", "protocols/*/edit"]

TURNED = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
LONGEST = 600  # seconds for the tests of one mutation; who never ends has been noticed


class Mutation(NamedTuple):
    """What is written in place of a piece of source. start, end: (line from 1, column in bytes)."""

    path: str
    kind: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str

    def apply(self, source: str) -> str:
        """Return the source with the piece replaced."""
        data = source.encode()
        lines = data.splitlines(keepends=True)
        begin = sum(map(len, lines[: self.start[0] - 1])) + self.start[1]
        stop = sum(map(len, lines[: self.end[0] - 1])) + self.end[1]
        return (data[:begin] + self.text.encode() + data[stop:]).decode()


def find_mutations(path: str, source: str) -> Iterator[Mutation]:
    """Yield every mutation of a module."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in TURNED:
                text = f" {TURNED[type(operator)]} "
                yield _between(path, "comparison", left, right, text)
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield _replaced(path, "condition", test, f"(not ({ast.unparse(test)}))")
            case ast.Constant(value=bool(value)):
                yield _replaced(path, "constant", node, str(not value))
            case ast.Constant(value=int(value)):
                yield _replaced(path, "constant", node, str(value + 1))
            case ast.FunctionDef(body=body):
                for statement in _statements(body):
                    yield _replaced(path, "statement", statement, "pass")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    # those that a function can be without and still run
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Constant()):
                pass  # a docstring
            case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
                yield statement
        for field in ("body", "orelse", "finalbody"):
            if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                yield from _statements(getattr(statement, field, []))


def _replaced(path: str, kind: str, node: ast.expr | ast.stmt, text: str) -> Mutation:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return Mutation(path, kind, (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset), text)


def _between(path: str, kind: str, left: ast.expr, right: ast.expr, text: str) -> Mutation:
    # an operand in brackets ends behind its node: the whole comparison is written again
    whole = f"({ast.unparse(left)}){text}({ast.unparse(right)})"
    assert right.end_lineno is not None
    assert right.end_col_offset is not None
    return Mutation(path, kind, (left.lineno, left.col_offset), (right.end_lineno, right.end_col_offset), whole)


def list_modules(patterns: list[str]) -> list[str]:
    """Return the modules that the patterns name, as paths from the checkout; a folder stands for all in it."""
    found: set[str] = set()
    for pattern in patterns:
        pattern = pattern.removeprefix(f"{PACKAGE}/")
        for path in (ROOT / PACKAGE).glob(pattern.rstrip("/")):
            modules = path.rglob("*.py") if path.is_dir() else [path]
            found.update(module.relative_to(ROOT).as_posix() for module in modules)
    return sorted(found)


def choose(modules: list[str], count: int, seed: int) -> list[Mutation]:
    """Return some mutations of the modules that still compile; the same for the same seed and source."""
    every = []
    for path in modules:
        source = (ROOT / path).read_text()
        every += sorted(find_mutations(path, source))
    chance = random.Random(seed)  # noqa: S311  # the same mutations for the same seed
    chance.shuffle(every)

    chosen: list[Mutation] = []
    for mutation in every:
        if len(chosen) == count:
            break
        try:
            compile(mutation.apply((ROOT / mutation.path).read_text()), mutation.path, "exec")
        except SyntaxError:
            continue
        chosen.append(mutation)
    return chosen


def find_tests(path: str) -> list[str]:
    """Return the tests of a module: of its name, else of its folder or the nearest above that has some."""
    inside = Path(path).relative_to(PACKAGE)
    named = ROOT / "tests" / inside.parent / f"test_{inside.name}"
    found = [named] if named.exists() else []
    for folder in (ROOT / "tests" / inside).parents:
        if folder.is_dir() and folder != ROOT / "tests" and any(folder.rglob("test_*.py")):
            found.append(folder)  # those of its name come first: most faults end there
            break
    return [each.relative_to(ROOT).as_posix() for each in found]


def try_mutation(copy: Path, mutation: Mutation, tests: list[str]) -> str:
    """Return `killed`, `survived` or `timeout`; the copy is as before afterwards."""
    target = copy / mutation.path
    former = target.read_text()
    target.write_text(mutation.apply(former))
    try:
        return "survived" if pass_in(copy, tests) else "killed"
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        target.write_text(former)


def pass_in(copy: Path, tests: list[str]) -> bool:
    """Return whether the tests pass in the copy."""
    # the copy comes before the installed checkout, in processes too
    environ = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=copy, env=environ, capture_output=True, timeout=LONGEST).returncode == 0


def show_diff(mutation: Mutation) -> str:
    """Return the mutation as a unified diff."""
    source = (ROOT / mutation.path).read_text()
    old, new = source.splitlines(), mutation.apply(source).splitlines()
    return "\n".join(difflib.unified_diff(old, new, mutation.path, mutation.path, n=3, lineterm=""))


def copy_checkout(target: Path) -> None:
    """Copy what git has of this checkout, as it is in the work tree."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)


def read_arguments() -> argparse.Namespace:
    """Return the command line's words."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="another seed, other mutations")
    parser.add_argument("--count", type=int, default=20, help="how many mutations to try")
    parser.add_argument("--paths", nargs="+", default=HEART, help="files or folders of the package; * is understood")
    parser.add_argument("--tests", nargs="+", help="what pytest gets; default: the module's own tests and its folder's")
    parser.add_argument("--list", action="store_true", help="print the diffs and run nothing")
    return parser.parse_args()


def main() -> int:
    """Try the mutations and print a table, then the survivors."""
    arguments = read_arguments()
    mutations = choose(list_modules(arguments.paths), arguments.count, arguments.seed)
    if arguments.list:
        print("\n\n".join(map(show_diff, mutations)))
        return 0

    chosen_tests = [tuple(arguments.tests or find_tests(mutation.path)) for mutation in mutations]
    survivors = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder)
        copy_checkout(copy)
        failing = [tests for tests in sorted(set(chosen_tests)) if not pass_in(copy, list(tests))]
        if failing:
            print(f"these fail without any mutation: {failing}", file=sys.stderr)
            return 1

        for mutation, tests in zip(mutations, chosen_tests, strict=True):
            result = try_mutation(copy, mutation, list(tests))
            print(f"{result:9} {mutation.kind:11} {mutation.path}:{mutation.start[0]}", flush=True)
            if result == "survived":
                survivors.append(mutation)

    for mutation in survivors:
        print(f"\n{show_diff(mutation)}")
    print(f"\n{len(mutations) - len(survivors)} of {len(mutations)} mutations were noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
