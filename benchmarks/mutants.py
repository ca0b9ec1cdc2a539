"""Change the package in small wrong ways, one at a time, and see whether the tests notice.

    python -m benchmarks.mutants --count 20 --seed 7
    python -m benchmarks.mutants --paths checkpoint_git/merge --stages own folder
    python -m benchmarks.mutants --count 200 --out results.jsonl    # stop it and start it again: it
    goes on

A mutation turns one comparison, negates one condition, swaps one "and" for "or", changes one
constant or drops one statement, in a copy of this checkout. The tests run from near to far: those
of the module's name, those of its folder, and those outside of it that import the module or tell a
story about its part. A mutation is noticed when one of them fails. One that no test notices has
survived: its diff is printed at the end. Of the tests those run that enter the changed function in
their own process, not in one that they start.

benchmarks/mutants-alive.txt has the survivors that somebody has read, each with the reason why no
test sees it. They are not tried again. Results and reasons name a mutation by the text of the lines
that it changes, not by their number, so that they hold while the rest of the module changes.

    python -m benchmarks.mutants --promises

breaks each promise of docs/promises.md on purpose, as benchmarks/promises-broken.txt says, and
shows which of its tests falls.
"""

import argparse
import ast
import contextlib
import difflib
import hashlib
import importlib
import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "checkpoint_git"
READ = ROOT / "benchmarks" / "mutants-alive.txt"
BROKEN = ROOT / "benchmarks" / "promises-broken.txt"
PROMISES = ROOT / "docs" / "promises.md"

STAGES = ("own", "folder", "farther")

# where a fault could lose what somebody wrote
HEART = [
    "merge",
    "disk",
    "git",
    "protocols/write.py",
    "protocols/*/rules.py",
    "protocols/*/store.py",
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
    "protocols/restore/mechanisms": ["tests/protocols/restore"],
    "protocols/skill": ["tests/scenarios/test_session_loop.py", "tests/mcp/test_calls.py"],
    "protocols/workflow": [
        "tests/scenarios/test_workflow.py",
        "tests/scenarios/test_workflow_stories.py",
    ],
    "tools/sync": ["tests/scenarios/test_fleet.py"],
}

TURNED = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip

# what the tests import and no mutation changes
WARM = ["hypothesis.strategies", "jinja2", "jsonschema", "yaml"]

KILLED = "killed"
SURVIVED = "survived"
TIMEOUT = "timeout"  # noticed too: the test ends by itself without the mutation
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


class Change(NamedTuple):
    """What a mutation does to whole lines of a module, wherever they are: its name in results and
    reasons.
    """

    path: str
    old: str
    new: str


class Verdict(NamedTuple):
    """What one stage of the tests made of a mutation. test: the first that failed, "" where none
    did.
    """

    result: str
    test: str
    seconds: float


def describe(mutation: Mutation) -> Change:
    """Return the lines that a mutation changes, before and after it, without their indentation."""
    source = (ROOT / mutation.path).read_text()
    old = source.splitlines()
    new = mutation.apply(source).splitlines()
    first = mutation.start[0] - 1
    behind = len(old) - mutation.end[0]
    return Change(
        mutation.path,
        _strip(old[first : len(old) - behind]),
        _strip(new[first : len(new) - behind]),
    )


def _strip(lines: Iterable[str]) -> str:
    return "\n".join(line.strip() for line in lines)


def find_mutations(path: str, source: str) -> Iterator[Mutation]:
    """Yield every mutation of a module."""
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if _is_about_types(node) or _asserts(node):
            continue
        yield from _mutate_node(path, node)
        pending.extend(ast.iter_child_nodes(node))


def _asserts(node: ast.AST) -> bool:
    # what a program without faults does not need
    return isinstance(node, ast.Assert) or (isinstance(node, ast.keyword) and node.arg == "strict")


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
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if (
            type(operator) in TURNED
        ):
            # operands in brackets end behind their nodes: the whole comparison is written again
            turned = TURNED[type(operator)]
            yield _replace(
                path, "comparison", node, f"({ast.unparse(left)}) {turned} ({ast.unparse(right)})"
            )
        case ast.BoolOp(op=operator, values=values):
            swapped = " or " if isinstance(operator, ast.And) else " and "
            yield _replace(
                path,
                "and/or",
                node,
                "(" + swapped.join(f"({ast.unparse(value)})" for value in values) + ")",
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
            case (
                ast.Expr()
                | ast.AugAssign()
                | ast.Raise()
                | ast.Continue()
                | ast.Break()
                | ast.Delete()
            ):
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
    return Mutation(
        path, kind, (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset), text
    )


def list_modules(patterns: list[str]) -> list[str]:
    """Return the modules that the patterns name, as paths from the checkout; a folder stands for
    all in it.
    """
    found: set[str] = set()
    for pattern in patterns:
        for path in (ROOT / PACKAGE).glob(pattern.removeprefix(f"{PACKAGE}/").rstrip("/")):
            modules = path.rglob("*.py") if path.is_dir() else [path]
            found.update(module.relative_to(ROOT).as_posix() for module in modules)
    return sorted(found)


def choose(modules: list[str], count: int, seed: int) -> list[Mutation]:
    """Return some mutations of the modules that still compile, each with lines of its own.

    The choice is the same for the same seed and source, and nearly the same where only a few lines
    have changed.
    """
    candidates: dict[Change, Mutation] = {}
    for path in modules:
        for mutation in sorted(find_mutations(path, (ROOT / path).read_text())):
            candidates.setdefault(describe(mutation), mutation)

    chosen: list[Mutation] = []
    for change in sorted(candidates, key=lambda change: _draw(change, seed)):
        if len(chosen) == count:
            break
        mutation = candidates[change]
        try:
            compile(mutation.apply((ROOT / mutation.path).read_text()), mutation.path, "exec")
        except SyntaxError:
            continue
        chosen.append(mutation)
    return chosen


def _draw(change: Change, seed: int) -> bytes:
    # a mutation's lot depends on nothing but itself
    return hashlib.sha256(json.dumps([seed, *change]).encode()).digest()


def find_tests(path: str) -> dict[str, list[str]]:
    """Return the test files for each stage of a module."""
    inside = Path(path).relative_to(PACKAGE)
    own = (Path("tests") / inside.parent / f"test_{inside.name}").as_posix()
    folder = _find_folder(inside)
    parts = [parent.as_posix() for parent in inside.parents]
    stories = next((STORIES[part] for part in parts if part in STORIES), [])

    stages = {"own": _list_files(own), "folder": _list_files(folder)}
    stages["farther"] = _find_importing(inside) + [
        file for story in stories for file in _list_files(story)
    ]
    seen: set[str] = set()
    for stage, files in stages.items():
        stages[stage] = [file for file in dict.fromkeys(files) if file not in seen]
        seen.update(files)
    return stages


def _list_files(path: str) -> list[str]:
    # the test files that a file or a folder stands for, none if it is not there
    found = [ROOT / path] if path.endswith(".py") else sorted((ROOT / path).rglob("test_*.py"))
    return [file.relative_to(ROOT).as_posix() for file in found if path and file.exists()]


def _find_folder(inside: Path) -> str:
    # the nearest folder with tests on the module's path, "" where there is none
    for folder in (Path("tests") / inside).parents:
        if folder.name != "tests" and any((ROOT / folder).glob("test_*.py")):
            return folder.as_posix()
    return ""


def _find_importing(inside: Path) -> list[str]:
    # the test files that import the module
    parent = ".".join([PACKAGE, *inside.parent.parts])
    name = inside.stem
    imports = re.compile(
        rf"^ *(from|import) {parent}(\.{name}\b| import [^\n]*\b{name}\b)", re.MULTILINE
    )
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [file.relative_to(ROOT).as_posix() for file in files if imports.search(file.read_text())]


def find_function(mutation: Mutation) -> str:
    """Return "path:name" of the function that a mutation is in, "path:" for one outside of all."""
    found = ""
    for node in ast.walk(ast.parse((ROOT / mutation.path).read_text())):
        if not isinstance(node, ast.FunctionDef):
            continue
        assert node.end_lineno is not None
        if node.lineno <= mutation.start[0] <= node.end_lineno:
            found = node.name  # the outer ones come first
    return f"{mutation.path}:{found}"


class Reach:
    """A plugin of pytest: writes down which functions of the package each test enters, in the
    tests' own process.
    """

    def __init__(self, checkout: Path, target: Path) -> None:
        """target: gets a JSON object, node id -> functions as find_function names them."""
        self._prefix = f"{checkout}/"
        self._package = f"{checkout / PACKAGE}/"
        self._target = target
        self._reached: dict[str, list[str]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what is called while the test runs, and while it is set up."""
        entered: set[tuple[str, str]] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            code = frame.f_code
            if event == "call" and code.co_filename.startswith(self._package):
                entered.add((code.co_filename, code.co_name))

        threading.setprofile(note)
        sys.setprofile(note)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self._reached[item.nodeid] = sorted(
                f"{file.removeprefix(self._prefix)}:{name}" for file, name in entered
            )

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self._target.write_text(json.dumps(self._reached))


class Watch:
    """A plugin of pytest: notes which test runs, and ends the process where one takes too long."""

    def __init__(self, note: Path, limit: int) -> None:
        """limit: seconds for one test."""
        self._note = note
        self._limit = limit

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note the test and give it its time."""
        self._note.write_text(nodeid)
        signal.alarm(self._limit)


class Copy:
    """A copy of the checkout in a folder, in which one mutation after another is tried.

    Each run of the tests is a fork of this process, which has imported pytest and its plugins
    already. Of a folder's tests those run that enter the function with the mutation: they all run
    once, without a mutation, to find out.
    """

    def __init__(self, folder: Path, limit: int, *, deep: bool, cache: Path | None = None) -> None:
        """limit: seconds for one test. deep: the deep tests run too.

        cache: a folder that keeps which test enters which function.
        """
        self.checkout = folder / "checkout"
        self._temporary = folder / "temporary"
        self.scratch = self._temporary / "scratch"
        self.limit = limit
        self.deep = deep
        self._temporary.mkdir()
        self._note = folder / "running"
        self._clock = int(time.time())
        self._sound: dict[str, bool] = {}
        self._cache = cache or folder / "reach"
        self._cache.mkdir(exist_ok=True)
        copy_checkout(self.checkout)
        for plugin in importlib.metadata.entry_points(group="pytest11"):
            plugin.load()
        for package in WARM:
            importlib.import_module(package)

    def try_mutation(self, mutation: Mutation, files: list[str]) -> Verdict:
        """Run the tests that enter the mutation's function until one fails."""
        tests = self._find_entering(find_function(mutation), files)
        text = mutation.apply((self.checkout / mutation.path).read_text())
        return self.try_text(mutation.path, text, tests) if tests else Verdict(SURVIVED, "", 0.0)

    def try_text(self, path: str, text: str, tests: list[str]) -> Verdict:
        """Run tests with another text of a file until one fails; the copy is as before
        afterwards.
        """
        began = time.monotonic()
        former = (self.checkout / path).read_text()
        self._write(path, text)
        try:
            result, test = self._run(tests)
        finally:
            self._write(path, former)

        if result != SURVIVED and not self._is_sound(test):
            result = UNCLEAR
        return Verdict(result, test, round(time.monotonic() - began, 1))

    def _find_entering(self, function: str, files: list[str]) -> list[str]:
        # what is outside of all functions matters to each test that enters one of the module
        is_outside = function.endswith(":")
        tests = []
        for file in files:
            for test, functions in self._read_reach(file).items():
                if function in functions or (
                    is_outside and any(name.startswith(function) for name in functions)
                ):
                    tests.append(test)
        return tests

    def _read_reach(self, file: str) -> dict[str, list[str]]:
        digest = hashlib.sha256((self.checkout / file).read_bytes()).hexdigest()
        depth = "deep" if self.deep else "quick"
        kept = self._cache / f"{file.replace('/', '.')}-{digest[:12]}-{depth}.json"
        if not kept.exists():
            self._run([file], Reach(self.checkout, kept))
        found: dict[str, list[str]] = json.loads(kept.read_text())
        return found

    def _is_sound(self, test: str) -> bool:
        # whether the test passes without the mutation: else it says nothing about it
        if test not in self._sound:
            self._sound[test] = self._run([test])[0] == SURVIVED
        return self._sound[test]

    def _write(self, path: str, text: str) -> None:
        # each version gets a second of its own, by which Python tells that its bytecode is out of
        # date
        target = self.checkout / path
        target.write_text(text)
        self._clock += 1
        os.utime(target, (self._clock, self._clock))

    def _run(self, tests: list[str], plugin: object = None) -> tuple[str, str]:
        # a result, and the test that fell or took too long; with a plugin all tests run, else until
        # one falls
        self._note.write_text(tests[0])  # where not even the first test can start
        process = os.fork()
        if process == 0:
            self._become_pytest(tests, plugin)
        _, status = os.waitpid(process, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)  # what the tests started too

        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGALRM:
            return TIMEOUT, self._note.read_text()
        if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return SURVIVED, ""
        return KILLED, self._note.read_text()

    def _become_pytest(self, tests: list[str], plugin: object) -> NoReturn:
        # in the fork: what is imported from now on is the copy's, in the processes that tests start
        # too
        code = int(pytest.ExitCode.INTERNAL_ERROR)
        try:
            os.setsid()
            os.chdir(self.checkout)
            os.environ["PYTHONPATH"] = sys.path[0] = str(self.checkout)
            os.environ["TMPDIR"] = tempfile.tempdir = str(self._temporary)
            for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
                del sys.modules[name]
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)

            words = ["-q", "--tb=no", "-p", "no:cacheprovider", f"--basetemp={self.scratch}"]
            # the plugins are there before pytest starts
            words += [
                "-W",
                "ignore::pytest.PytestAssertRewriteWarning",
            ]
            if self.deep:
                words += ["-m", "not wheel"]
            if plugin is None:
                plugin = Watch(self._note, self.limit)
                words.append("-x")
                signal.alarm(self.limit)
            code = int(pytest.main([*words, *tests], plugins=[plugin]))
        finally:
            os._exit(code)


def copy_checkout(target: Path) -> None:
    """Copy what git has of this checkout, as it is in the work tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)


def show_diff(mutation: Mutation) -> str:
    """Return the mutation as a unified diff."""
    source = (ROOT / mutation.path).read_text()
    old, new = source.splitlines(), mutation.apply(source).splitlines()
    return "\n".join(difflib.unified_diff(old, new, mutation.path, mutation.path, n=3, lineterm=""))


def show_table(results: dict[Mutation, tuple[str, Verdict]]) -> str:
    """Return how many mutations of each folder which stage noticed. results: the stage and verdict
    of each.
    """
    folders = Counter(Path(mutation.path).parent.as_posix() for mutation in results)
    columns = [*STAGES, SURVIVED, UNCLEAR]
    counts: Counter[tuple[str, str]] = Counter()
    for mutation, (stage, verdict) in results.items():
        column = verdict.result if verdict.result in (SURVIVED, UNCLEAR) else stage
        counts[Path(mutation.path).parent.as_posix(), column] += 1
        counts["all", column] += 1

    lines = [f"{'folder':42} {'all':>8}" + "".join(f" {column:>8}" for column in columns)]
    for folder, count in [*sorted(folders.items()), ("all", len(results))]:
        lines.append(
            f"{folder:42} {count:8}" + "".join(f" {counts[folder, column]:8}" for column in columns)
        )
    return "\n".join(lines)


def read_results(path: Path) -> dict[tuple[Change, str], Verdict]:
    """Return what a results file holds: one JSON object a line, for a mutation and a stage."""
    found = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        change = Change(row["path"], row["old"], row["new"])
        found[change, row["stage"]] = Verdict(row["result"], row["test"], row["seconds"])
    return found


def append_result(path: Path, change: Change, stage: str, verdict: Verdict) -> None:
    """Add a line to the results file."""
    row = {**change._asdict(), "stage": stage, **verdict._asdict()}
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def read_changes(text: str) -> list[tuple[Change, str]]:
    """Return changes, each with the words about it.

    An entry is a path, the lines before ("- ") and after the change ("+ ") and words ("= ");
    entries are divided by an empty line, which a merge of two of them may leave out, and lines that
    begin with "#" are comments.
    """
    changes = []
    for entry in re.split(r"\n{2,}|\n(?=checkpoint_git/)", text):
        lines = [line for line in entry.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        path, *rest = lines
        parts = {sign: [line[2:] for line in rest if line[:1] == sign] for sign in "-+="}
        changes.append(
            (Change(path, _strip(parts["-"]), "\n".join(parts["+"])), " ".join(parts["="]))
        )
    return changes


def apply_change(change: Change, source: str) -> str | None:
    """Return the source with the first such lines replaced, None if it has none."""
    lines = source.splitlines()
    old = change.old.splitlines()
    for start in range(len(lines)):
        if [line.strip() for line in lines[start : start + len(old)]] == old:
            indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
            lines[start : start + len(old)] = [indent + line for line in change.new.splitlines()]
            return "\n".join(lines) + "\n"
    return None


def read_promises(text: str) -> dict[str, list[str]]:
    """Return the tests of each promise in a page's tables."""
    promises = {}
    for line in text.splitlines():
        tests = re.findall(r"`(tests/[^`]+::[^`]+)`", line)
        if line.startswith("| ") and tests:
            promises[line.split(" | ")[0].removeprefix("| ")] = tests
    return promises


def break_promises(limit: int) -> int:
    """Break each promise, print whether its tests notice, and return how many stay unnoticed."""
    changes = read_changes(BROKEN.read_text())
    promises = read_promises(PROMISES.read_text())
    unseen = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(Path(folder), limit, deep=True)
        for promise, tests in promises.items():
            result, test = "no mutation", ""
            for change, words in changes:
                if words not in tests:
                    continue
                text = apply_change(change, (ROOT / change.path).read_text())
                result, test = "not found", change.path
                if text is not None:
                    result, test, _ = copy.try_text(change.path, text, [words])
                if result not in (KILLED, TIMEOUT):
                    break
            unseen += result not in (KILLED, TIMEOUT)
            print(f"{result:11} {promise[:100]:100} {test}", flush=True)
    print(f"\n{len(promises) - unseen} of {len(promises)} promises, broken on purpose, are noticed")
    return unseen


def read_arguments() -> argparse.Namespace:
    """Return the command line's words."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutants", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--seed", type=int, default=1, help="another seed, other mutations")
    parser.add_argument("--count", type=int, default=20, help="how many mutations to try")
    parser.add_argument(
        "--paths", nargs="+", default=HEART, help="files or folders of the package; * is understood"
    )
    parser.add_argument(
        "--stages",
        nargs="+",
        choices=STAGES,
        default=STAGES,
        help="which tests to run (default: all)",
    )
    parser.add_argument("--deep", action="store_true", help="run the deep tests, too")
    parser.add_argument(
        "--limit", type=int, default=120, help="seconds for one test (default: 120)"
    )
    parser.add_argument(
        "--out", type=Path, help="append results to this file, and skip the mutations it has"
    )
    parser.add_argument(
        "--promises", action="store_true", help="break the promises of docs/promises.md instead"
    )
    parser.add_argument("--list", action="store_true", help="print the diffs and run nothing")
    return parser.parse_args()


def run_stages(
    mutations: list[Mutation], stages: Iterable[str], limit: int, *, deep: bool, out: Path | None
) -> dict[Mutation, tuple[str, Verdict]]:
    """Try each mutation stage by stage until one notices it; return the last stage of each, and its
    verdict.
    """
    known = read_results(out) if out and out.exists() else {}
    results: dict[Mutation, tuple[str, Verdict]] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(
            Path(folder), limit, deep=deep, cache=out.with_suffix(".reach") if out else None
        )
        for stage in stages:
            alive = [
                mutation
                for mutation in mutations
                if mutation not in results or _is_alive(results[mutation][1])
            ]
            for mutation in alive:
                change = describe(mutation)
                verdict = known.get((change, stage))
                if verdict is None:
                    verdict = copy.try_mutation(mutation, find_tests(mutation.path)[stage])
                    if out:
                        append_result(out, change, stage, verdict)
                results[mutation] = (stage, verdict)
                place = f"{mutation.path}:{mutation.start[0]}"
                print(
                    f"{stage:7} {verdict.result:8} {mutation.kind:10} {place:55} {verdict.test}",
                    flush=True,
                )
    return results


def main() -> int:
    """Try the mutations and print a line for each that a stage notices, the survivors and a
    table.
    """
    arguments = read_arguments()
    if arguments.promises:
        return min(1, break_promises(arguments.limit))

    mutations = choose(list_modules(arguments.paths), arguments.count, arguments.seed)
    if arguments.list:
        print("\n\n".join(map(show_diff, mutations)))
        return 0

    reasons = dict(read_changes(READ.read_text()))
    new = [mutation for mutation in mutations if describe(mutation) not in reasons]
    results = run_stages(
        new, arguments.stages, arguments.limit, deep=arguments.deep, out=arguments.out
    )
    survivors = [mutation for mutation in new if _is_alive(results[mutation][1])]
    for mutation in survivors:
        print(f"\n{show_diff(mutation)}")
    print(f"\n{show_table(results)}")
    print(
        f"\n{len(survivors)} of {len(mutations)} mutations survived unread, and {len(mutations) - len(new)} read"
    )
    return 0


def _is_alive(verdict: Verdict) -> bool:
    return verdict.result in (SURVIVED, UNCLEAR)


if __name__ == "__main__":
    sys.exit(main())
