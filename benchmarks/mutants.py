"""Change the package in small wrong ways, one at a time, and see whether the tests notice.

    python -m benchmarks.mutants --count 20 --seed 7
    python -m benchmarks.mutants --paths checkpoint_git/merge --tests tests/merge tests/test_conformance.py
    python -m benchmarks.mutants --count 200 --out results.jsonl    # stop it and start it again: it goes on

A mutation turns one comparison, negates one condition, swaps one "and" for "or", changes one constant or drops one
statement, in a copy of this checkout. It has the tests of its module's name run first, then those of the folder, then
the stories that belong to it, and ends at the first test that fails. A mutation that no test notices has survived: its
diff is printed below the table.
"""

import argparse
import ast
import difflib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = "checkpoint_git"

# where a fault could lose what somebody wrote
HEART = [
    "merge",
    "disk",
    "git",
    "protocols/write.py",
    "protocols/*/rules.py",
    "protocols/*/store.py",
    "protocols/*/changes.py",
    "protocols/*/state.py",
    "protocols/*/edit",
    "protocols/restore",
    "tools/sync",
]

# stories beside the mirror, by the part of the package that they are about; the longest name counts
STORIES = {
    "merge": ["tests/test_conformance.py", "tests/test_mergefile.py", "tests/tools/merges"],
    "disk": ["tests/protocols/test_write.py", "tests/scenarios/test_crash.py"],
    "git": ["tests/tools/merges", "tests/tools/setup", "tests/hooks"],
    "git/history": ["tests/protocols/skill", "tests/scenarios/test_truth_of_history.py"],
    "git/merges": ["tests/tools/merges", "tests/scenarios/test_git_operations.py"],
    "protocols": ["tests/scenarios/test_crash.py"],
    "protocols/memory": ["tests/scenarios/test_memory_stories.py"],
    "protocols/pipeline": ["tests/scenarios/test_pipeline_stories.py"],
    "protocols/restore": ["tests/scenarios/test_restore_stories.py"],
    "protocols/skill": ["tests/scenarios/test_session_loop.py", "tests/mcp/test_calls.py"],
    "protocols/workflow": ["tests/scenarios/test_workflow.py", "tests/scenarios/test_workflow_stories.py"],
    "tools/sync": ["tests/scenarios/test_fleet.py"],
}

TURNED = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip

KILLED = "killed"
SURVIVED = "survived"
TIMEOUT = "timeout"
UNCLEAR = "unclear"  # the test that fell also falls without the mutation


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


class Verdict(NamedTuple):
    """What the tests made of a mutation. test: the first that failed, "" where none did."""

    result: str
    test: str
    seconds: float


class Record(NamedTuple):
    """A line of the results file: a mutation, and what the tests made of it."""

    mutation: Mutation
    verdict: Verdict


def find_mutations(path: str, source: str) -> Iterator[Mutation]:
    """Yield every mutation of a module."""
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Assert) or _is_about_types(node):
            continue
        yield from _mutate_node(path, node)
        pending.extend(ast.iter_child_nodes(node))


def _is_about_types(node: ast.AST) -> bool:
    # what only a type checker reads
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id="TYPE_CHECKING")]):
            return True
    return False


def _mutate_node(path: str, node: ast.AST) -> Iterator[Mutation]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in TURNED:
            # operands in brackets end behind their nodes: the whole comparison is written again
            turned = TURNED[type(operator)]
            yield _replace(path, "comparison", node, f"({ast.unparse(left)}) {turned} ({ast.unparse(right)})")
        case ast.BoolOp(op=operator, values=values):
            swapped = " or " if isinstance(operator, ast.And) else " and "
            yield _replace(
                path, "and/or", node, "(" + swapped.join(f"({ast.unparse(value)})" for value in values) + ")"
            )
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield _replace(path, "condition", test, f"(not ({ast.unparse(test)}))")
        case ast.Constant(value=bool(value)):
            yield _replace(path, "constant", node, str(not value))
        case ast.Constant(value=int(value)):
            yield _replace(path, "constant", node, str(value + 1))
        case ast.FunctionDef(body=body):
            for statement in _find_statements(body):
                yield _replace(path, "statement", statement, "pass")


def _find_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    # those that a function can be without and still run
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Constant()):
                pass  # a docstring
            case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
                yield statement
            case ast.FunctionDef() | ast.ClassDef():
                continue  # visited as a node
        for field in ("body", "orelse", "finalbody"):
            yield from _find_statements(getattr(statement, field, []))
        for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            yield from _find_statements(part.body)


def _replace(path: str, kind: str, node: ast.expr | ast.stmt, text: str) -> Mutation:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return Mutation(path, kind, (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset), text)


def list_modules(patterns: list[str]) -> list[str]:
    """Return the modules that the patterns name, as paths from the checkout; a folder stands for all in it."""
    found: set[str] = set()
    for pattern in patterns:
        for path in (ROOT / PACKAGE).glob(pattern.removeprefix(f"{PACKAGE}/").rstrip("/")):
            modules = path.rglob("*.py") if path.is_dir() else [path]
            found.update(module.relative_to(ROOT).as_posix() for module in modules)
    return sorted(found)


def choose(modules: list[str], count: int, seed: int) -> list[Mutation]:
    """Return some mutations of the modules that still compile; the same for the same seed and source."""
    candidates: list[Mutation] = []
    for path in modules:
        candidates += sorted(find_mutations(path, (ROOT / path).read_text()))
    chance = random.Random(seed)  # noqa: S311  # the same mutations for the same seed
    chance.shuffle(candidates)

    chosen: list[Mutation] = []
    for mutation in candidates:
        if len(chosen) == count:
            break
        try:
            compile(mutation.apply((ROOT / mutation.path).read_text()), mutation.path, "exec")
        except SyntaxError:
            continue
        chosen.append(mutation)
    return chosen


def find_tests(path: str) -> list[list[str]]:
    """Return the tests of a module in stages: those of its name, those of its folder, the stories about its part."""
    inside = Path(path).relative_to(PACKAGE)
    stages: list[list[str]] = []

    name = Path("tests") / inside.parent / f"test_{inside.name}"
    if (ROOT / name).exists():
        stages.append([name.as_posix()])

    for folder in (Path("tests") / inside).parents:
        if folder.name != "tests" and any((ROOT / folder).glob("test_*.py")):
            stages.append([folder.as_posix()])
            break

    parts = [parent.as_posix() for parent in inside.parents]
    stories = next((STORIES[part] for part in parts if part in STORIES), [])
    present = [story for story in stories if (ROOT / story).exists() and [story] not in stages]
    if present:
        stages.append(present)
    return stages


class Copy:
    """A copy of the checkout in a folder, in which one mutation after another is tried."""

    def __init__(self, folder: Path, limit: float) -> None:
        """limit: seconds for all tests of one mutation."""
        self.checkout = folder / "checkout"
        self.scratch = folder / "scratch"
        self.limit = limit
        self._clock = int(time.time())
        copy_checkout(self.checkout)

    def try_mutation(self, mutation: Mutation, stages: list[list[str]]) -> Verdict:
        """Run the tests stage by stage until one fails; the copy is as before afterwards."""
        began = time.monotonic()
        former = (self.checkout / mutation.path).read_text()
        self._write(mutation.path, mutation.apply(former))
        try:
            failed = self._find_failure(stages, began + self.limit)
        except subprocess.TimeoutExpired:
            return Verdict(TIMEOUT, "", time.monotonic() - began)
        finally:
            self._write(mutation.path, former)

        result = SURVIVED
        if failed:
            result = KILLED if self._passes(failed) else UNCLEAR
        return Verdict(result, failed, time.monotonic() - began)

    def _find_failure(self, stages: list[list[str]], end: float) -> str:
        # the first test that fails, "" if none does
        for tests in stages:
            code, output = self._run(tests, max(1, end - time.monotonic()))
            if code != 0:
                return _first_failure(output) or tests[0]
        return ""

    def _passes(self, test: str) -> bool:
        # whether the test passes without the mutation: else it says nothing about it
        try:
            return self._run([test], self.limit)[0] == 0
        except subprocess.TimeoutExpired:
            return False

    def _write(self, path: str, text: str) -> None:
        # each version gets a second of its own, by which Python tells that its bytecode is out of date
        target = self.checkout / path
        target.write_text(text)
        self._clock += 1
        os.utime(target, (self._clock, self._clock))

    def _run(self, tests: list[str], seconds: float) -> tuple[int, str]:
        # the copy comes before the installed checkout, in the processes that tests start too
        environ = {**os.environ, "PYTHONPATH": str(self.checkout)}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider"]
        command += [f"--basetemp={self.scratch}", *tests]
        process = subprocess.Popen(
            command,
            cwd=self.checkout,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # what the tests started too
            process.communicate()
            raise
        return process.returncode, output


def _first_failure(output: str) -> str:
    # pytest's summary: "FAILED tests/a.py::test_b[c - d] - AssertionError: ..."
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("FAILED", "ERROR") and rest.startswith("tests/"):
            return rest.partition(" - ")[0]
    return ""


def copy_checkout(target: Path) -> None:
    """Copy what git has of this checkout, as it is in the work tree."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)


def show_diff(mutation: Mutation) -> str:
    """Return the mutation as a unified diff."""
    source = (ROOT / mutation.path).read_text()
    old, new = source.splitlines(), mutation.apply(source).splitlines()
    return "\n".join(difflib.unified_diff(old, new, mutation.path, mutation.path, n=3, lineterm=""))


def show_table(records: list[Record]) -> str:
    """Return how many mutations of each folder were killed and survived."""
    folders = Counter(Path(record.mutation.path).parent.as_posix() for record in records)
    counts = Counter((Path(record.mutation.path).parent.as_posix(), record.verdict.result) for record in records)
    lines = [f"{'folder':42} {'all':>4} {KILLED:>8} {SURVIVED:>8} {TIMEOUT:>8} {UNCLEAR:>8}"]
    for folder in sorted(folders):
        figures = [counts[folder, result] for result in (KILLED, SURVIVED, TIMEOUT, UNCLEAR)]
        lines.append(f"{folder:42} {folders[folder]:4} " + " ".join(f"{figure:8}" for figure in figures))
    return "\n".join(lines)


def read_records(path: Path) -> dict[Mutation, Verdict]:
    """Return what a results file holds: one JSON object a line."""
    found = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        mutation = Mutation(row["path"], row["kind"], tuple(row["start"]), tuple(row["end"]), row["text"])
        found[mutation] = Verdict(row["result"], row["test"], row["seconds"])
    return found


def append_record(path: Path, record: Record) -> None:
    """Add a line to the results file."""
    row = {**record.mutation._asdict(), **record.verdict._asdict()}
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def read_arguments() -> argparse.Namespace:
    """Return the command line's words."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="another seed, other mutations")
    parser.add_argument("--count", type=int, default=20, help="how many mutations to try")
    parser.add_argument("--paths", nargs="+", default=HEART, help="files or folders of the package; * is understood")
    parser.add_argument(
        "--tests", nargs="+", help="what pytest gets; default: a module's own, its folder's, its stories"
    )
    parser.add_argument("--limit", type=float, default=120, help="seconds for the tests of one mutation (default: 120)")
    parser.add_argument("--out", type=Path, help="append results to this file, and skip the mutations it has")
    parser.add_argument("--list", action="store_true", help="print the diffs and run nothing")
    return parser.parse_args()


def main() -> int:
    """Try the mutations and print a line for each, the survivors and a table."""
    arguments = read_arguments()
    mutations = choose(list_modules(arguments.paths), arguments.count, arguments.seed)
    if arguments.list:
        print("\n\n".join(map(show_diff, mutations)))
        return 0

    known = read_records(arguments.out) if arguments.out and arguments.out.exists() else {}
    records: list[Record] = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(Path(folder), arguments.limit)
        for mutation in mutations:
            verdict = known.get(mutation)
            if verdict is None:
                stages = [arguments.tests] if arguments.tests else find_tests(mutation.path)
                verdict = copy.try_mutation(mutation, stages)
                if arguments.out:
                    append_record(arguments.out, Record(mutation, verdict))
            records.append(Record(mutation, verdict))
            place = f"{mutation.path}:{mutation.start[0]}"
            print(f"{verdict.result:9} {mutation.kind:11} {place:55} {verdict.test}", flush=True)

    survivors = [record.mutation for record in records if record.verdict.result == SURVIVED]
    for mutation in survivors:
        print(f"\n{show_diff(mutation)}")
    print(f"\n{show_table(records)}")
    print(f"\n{len(survivors)} of {len(records)} mutations survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
