"""No pattern, merge or check of the package takes more steps than its input is long, whatever the input."""

import json
import re
import time
from collections import deque
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest

from checkpoint_git.core import jsonplace, redact, untrusted_text
from checkpoint_git.git.history import claims
from checkpoint_git.merge.file import merge_file
from checkpoint_git.protocols.memory.graph_file import GraphLine, _read_line, plan_repair
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.restore import shell_command
from checkpoint_git.protocols.skill import document_summary, generated_files, request_text, views
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.tools.doctor import deployed
from checkpoint_git.tools.doctor.settings import read_settings_text
from tests.support.growth import assert_linear
from tests.support.patterns import Use, find_uses, make_hostile, make_sequences
from tests.support.samples import checkpoint, checkpoint_text

_REWRITTEN = [pattern.pattern for pattern, _ in request_text._REWRITTEN]
_REWRITTEN += [pattern.pattern for pattern in request_text.PATTERNS.values()]
# what stands in a local name: expression -> the patterns
LOCAL: dict[str, list[Any]] = {
    "pattern": [claims._SCOPE, claims._LEADING, claims._TAGGED, *_REWRITTEN],
    "spelling": [rb" ((?:2(?:1|))0*+(?:|\#|\-LL|/))(?= )"],
    "never": [],  # these three are bounded
    "look": [],
    "loss": [],
    "word + _KEY_END": [word + document_summary._KEY_END for word in document_summary._KEY_WORDS],
    "joint": [claims._BEFORE_FIRST, claims._BETWEEN],
    "translate(head)": [],  # the standard library's, one part of a path at a time
    "translate(part)": [],
    "'|'.join(values)": ["@POINT@|@FOLDER@"],
    "re.escape(ending.encode()) + b'\\x00'": [b"abc\0"],
    "f'^([<|>])\\\\1{{{size - 1}}} (ours|base|theirs)(?=:)'": [r"^([<|>])\1{6} (ours|base|theirs)(?=:)"],
    "f'[@/.]{forge}\\\\.[a-z]+[:/]'": [r"[@/.]github\.[a-z]+[:/]"],
}
# pattern -> the most characters that its callers give it
BOUNDED = {claims._SUFFIXES: 400, generated_files._NOTES.pattern: 1_000, deployed._ID_IN_NAME.pattern: 100}
BOUNDED |= {r"( +\S.*?  +|\S+ +)(\S.*)": 120}  # a line of our own help texts
_LOSSES = [one for one, _ in shell_command._LOSSES]
_COMMANDS = [*shell_command._TABLE["never"], *chain(*shell_command._LOOKS), *_LOSSES, shell_command._TABLE["texts"]]
_OTHERS = ["clients", "deletes", "copies", "unpacks", "archives", "mirrors", "outputs", "runners"]
_OTHERS += ["downloads", "download_files", "download_folders"]
_COMMANDS += [shell_command._TABLE[name] for name in _OTHERS]
BOUNDED |= dict.fromkeys(_COMMANDS, shell_command._LONGEST)

# characters; at 30 what grows exponentially is seen before it never ends, at 1,000 what takes three loops
_SIZES = (30, 1_000, 4_000)
_SUSPECT = 0.001  # seconds: quadratic work on 4,000 characters takes longer, linear work a hundredth of it
_FACTOR = 4
_LIMIT = 2 * _FACTOR  # quadratic work takes _FACTOR times _FACTOR
_ENDLESS = 0.5  # seconds
_MEASURED = 6  # times that a text must be seen to grow: on a busy machine a single ratio doubles by chance

USES = [use for use in dict.fromkeys(find_uses(LOCAL)) if use.pattern not in BOUNDED]


def _run(use: Use, compiled: re.Pattern[Any], text: str) -> float:
    given = text.encode("utf-8") if isinstance(use.pattern, bytes) else text
    scan = getattr(compiled, use.how) if use.how in ("match", "fullmatch", "search") else compiled.finditer
    began = time.process_time()
    found = scan(given)
    deque(found if scan == compiled.finditer else (), 0)
    return time.process_time() - began


def _grows(use: Use, before: str, pump: str, behind: str) -> bool:
    compiled = re.compile(use.pattern, use.flags)

    def measure(size: int, times: int) -> float:
        text = before + pump * (size // len(pump) + 1) + behind
        return min(_run(use, compiled, text) for _ in range(times))

    for size, most in zip(_SIZES, (_SUSPECT, _ENDLESS / 5, _SUSPECT), strict=True):
        if measure(size, 1) > most and (small := measure(size, 3)) > most:
            if size < _SIZES[-1] or small > _ENDLESS:
                return True
            return all(measure(_FACTOR * size, 2) > _LIMIT * measure(size, 3) for _ in range(_MEASURED))
    return False


@pytest.mark.parametrize("use", USES, ids=[f"{use.where}-{use.how}-{at}" for at, use in enumerate(USES)])
def test_a_pattern_takes_no_more_than_linear_time(use: Use) -> None:
    growing = [case for case in make_hostile(use) if _grows(use, *case)]
    assert not growing, f"{use.pattern!r}: {growing[0]}"


@pytest.mark.parametrize("pattern", [r"\s+into", r"(a|aa)+$", r"<[^>]*>", r"x*y*x*z"])
def test_a_pattern_that_grows_is_found(pattern: str) -> None:
    use = Use("here:1", pattern, 0, "finditer")
    assert any(_grows(use, *case) for case in make_hostile(use))


@pytest.mark.parametrize("pattern", BOUNDED)
def test_a_pattern_with_bounded_callers_does_not_grow_beyond_the_bound(pattern: str) -> None:
    # a shell command is looked at as a whole
    use = Use("here:1", pattern, 0, "fullmatch" if pattern in _COMMANDS else "search")
    compiled, most = re.compile(pattern), BOUNDED[pattern]
    spent = [
        _run(use, compiled, before + pump * (most // len(pump)) + behind) for before, pump, behind in make_hostile(use)
    ]
    for before, first, between, second in make_sequences(use):
        text = before + first * (most // 2 // len(first)) + between + second * (most // 2 // len(second))
        spent += [_run(use, compiled, text + tail) for tail in ("", "!")]
    assert max(spent) < _ENDLESS


PATH = ".checkpoints/build.checkpoint.json"
_RULES = load_merge_schema(PATH)


def _merge(base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> Callable[[], object]:
    texts = [json.dumps({**checkpoint(), **part}, indent=2).encode() for part in (base, ours, theirs)]
    return lambda: merge_file(texts[0], texts[1], texts[2], _RULES)


def _state(count: int, value: Any, name: str = "k") -> dict[str, Any]:
    return {"skill_state": {f"{name}{number}": value for number in range(count)}}


def _rows(count: int, status: str, step: int = 1) -> dict[str, Any]:
    return {"progress_table": [{"id": f"r{at}", "label": "x", "status": status} for at in range(count)][::step]}


def _plain_rows(first: int, count: int) -> list[dict[str, Any]]:
    return [{"id": f"r{at}", "v": 1, "at": "2026-03-02T09:30:00Z"} for at in range(first, first + count)]


# what makes the work of a size
MERGES: dict[str, Callable[[int], Callable[[], object]]] = {
    "members that both changed": lambda n: _merge(_state(n, 0), _state(n, 1), _state(n, 2)),
    "members that one removed and one changed": lambda n: _merge(_state(n, 0), {"skill_state": {}}, _state(n, 2)),
    "members that both added": lambda n: _merge({}, _state(n, 1, "a"), _state(n, 1, "b")),
    "members that both added behind a conflict": lambda n: _merge(
        *({"skill_state": {"first": side, "rows": _plain_rows(side * n, n * (side > 0))}} for side in range(3))
    ),
    "rows in another order": lambda n: _merge(_rows(n, "complete"), _rows(n, "complete", -1), _rows(n, "blocked")),
    "rows that both changed": lambda n: _merge(_rows(n, "not_started"), _rows(n, "blocked"), _rows(n, "complete")),
    "entries of one text": lambda n: _merge(*({"next_actions": ["same"] * (n + more)} for more in (0, 5, 9))),
    "lists that both changed": lambda n: _merge(*(_state(n, [word, 1]) for word in "xab")),
}


def _check(**changes: Any) -> Callable[[], object]:
    data = checkpoint_text(**changes).encode()
    return lambda: check_document(PATH, data, now=1_780_000_000)


_ENTITY = '{"type":"entity","name":"a","entityType":"b","observations":["%s"]}'
_ENTRY = '[[suppress]]\ncode = "a/b"\nreason = "x"\n'
CHECKS: dict[str, Callable[[int], Callable[[], object]]] = {
    "blockers of one id": lambda n: _check(blockers=[{"id": "b", "description": "x"}] * n),
    "rows of no status": lambda n: _check(progress_table=[{"id": at, "status": "odd"} for at in range(n)]),
    "patterns": lambda n: _check(
        context_primer={"key_decisions": [], "generated_files": [f"d{at}/*" for at in range(n)], "user_preferences": []}
    ),
    "keys and tokens": lambda n: _check(next_actions=["ghp_" + "a1B2" * 9] * n),
    "conflicts": lambda n: (
        lambda: check_document(PATH, b"{\n" + b'<<<<<<< a\n"a":1,\n=======\n"a":2,\n>>>>>>> b\n' * n + b"}", now=1)
    ),
    "answers to blockers": lambda n: (
        lambda: views.find_answers("build", {"blockers": [{"id": f"b{at}", "description": "x"} for at in range(n)]})
    ),
    "places": lambda n: (
        lambda: jsonplace.locate_all(json.dumps({"a": [0] * n}), [f"/a/{number}" for number in range(n)])
    ),
    "settings of newlines": lambda n: lambda: read_settings_text("\n" * n, "x", bool),
    "settings of entries": lambda n: (
        lambda: read_settings_text('[[suppress]]\ncode = "a/b"\nreason = "x"\n' * n, "x", bool)
    ),
    "settings of a key with many parts": lambda n: lambda: read_settings_text("a" + ".a" * n + " = 1", "x", bool),
    "words with signs of keys": lambda n: lambda: untrusted_text.may_hold_secret(b"aaaaaaaaaaaa-sk- " * n),
    "addresses": lambda n: lambda: untrusted_text.may_hold_secret(b"://a \\n" * n),
    "announced secrets": lambda n: lambda: redact.redact("password=a " * n),
    "truncated lines of a graph": lambda n: lambda: plan_repair([GraphLine('{"type":"entity","na', None)] * n),
    "one entity of a graph again and again": lambda n: (
        lambda: plan_repair([_read_line(_ENTITY % at) for at in range(n)])
    ),
    "unfinished objects of a graph": lambda n: lambda: plan_repair([GraphLine('{"a":', None)] * (2 * n)),
    "beginnings of keys": lambda n: lambda: redact.redact("-----BEGIN PRIVATE KEY-----" * n),
}


@pytest.mark.parametrize("name", MERGES)
def test_a_merge_takes_no_more_than_linear_time(name: str) -> None:
    works = {count: MERGES[name](count) for count in (1_000, 8_000)}
    assert_linear(lambda count: works[count](), 1_000)


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_takes_no_more_than_linear_time(name: str) -> None:
    works = {count: CHECKS[name](count) for count in (1_000, 8_000)}
    assert_linear(lambda count: works[count](), 1_000)
