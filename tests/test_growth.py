"""No pattern, merge or check of the package takes more steps than its input is long, whatever the
input.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from checkpoint_git.core import jsonplace, redact, untrusted_text
from checkpoint_git.git.attributes import adopt_lines, restore_lines
from checkpoint_git.merge.file import merge_file
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.memory.graph_file import GraphLine, plan_repair
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.restore.losses import find_loss
from checkpoint_git.protocols.skill import views
from checkpoint_git.protocols.skill.brief.page import make_parts
from checkpoint_git.protocols.skill.edit.fields import understand
from checkpoint_git.protocols.skill.edit.parse import parse_edits
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.tools.doctor.settings import read_settings_text
from tests.protocols.skill.brief.test_page import make_facts
from tests.support.growth import assert_linear_time, grows_faster
from tests.support.patterns import Use, find_uses, may_backtrack
from tests.support.samples import checkpoint, checkpoint_text

# module -> why its patterns may try a text in several ways
BOUNDED = {
    "mcp.tool_names": "our own hints",
    "protocols.skill.drift.generated_files": "at most 1,000 characters of an entry",
}

FINE = [
    r"(?:\w+\.)*\w+", r'"(?:[^"\\]|\\.)*"', r"\s*,\s*x", r"(?:a|b)*c", r"[^()]*(?:\([^()]*\)[^()]*)*x", r"a*+a*b",
    r"\s*x?\s*", r"(?:ab|cd)+;", r"(\d+)-(\d+)",
]  # fmt: skip
GROWING = [
    r"(a|aa)+$", r"x*y*x*z", r"(a+)+b", r"\s*\s*x", r"(?:\s*,\s*)*x", r"[^>]*a[^>]*>", r"(?:a|b|ab)*c", r"^(\w+\s?)*$",
    r"\d+\w*\d+x", r"(?:(?:a*)b?)*c", r"(?i:(k|x+)*)y", r"(.*)=(.*)$", r"(?=(a|aa)+b)",
]  # fmt: skip


def test_no_pattern_can_share_a_text_between_its_repeats_in_many_ways() -> None:
    uses = find_uses()
    assert len(uses) > 150
    assert [use for use in uses if use.module not in BOUNDED and may_backtrack(use.parse())] == []


def test_a_pattern_that_grows_is_found_and_one_that_does_not_is_not() -> None:
    assert [pattern for pattern in FINE if may_backtrack(Use("", pattern, 0).parse())] == []
    assert [pattern for pattern in GROWING if not may_backtrack(Use("", pattern, 0).parse())] == []


PATH = ".checkpoints/build.checkpoint.json"
_RULES = load_merge_schema(PATH)


def _merge(
    base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]
) -> Callable[[], object]:
    texts = [
        json.dumps({**checkpoint(), **part}, indent=2).encode() for part in (base, ours, theirs)
    ]
    return lambda: merge_file(texts[0], texts[1], texts[2], _RULES)


def _state(count: int, value: Any, name: str = "k") -> dict[str, Any]:
    return {"skill_state": {f"{name}{number}": value for number in range(count)}}


def _rows(count: int, status: str, step: int = 1) -> dict[str, Any]:
    return {
        "progress_table": [{"id": f"r{at}", "label": "x", "status": status} for at in range(count)][
            ::step
        ]
    }


def _plain_rows(first: int, count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"r{at}", "v": 1, "at": "2026-03-02T09:30:00Z"} for at in range(first, first + count)
    ]


# what makes the work of a size
MERGES: dict[str, Callable[[int], Callable[[], object]]] = {
    "members that both changed": lambda n: _merge(_state(n, 0), _state(n, 1), _state(n, 2)),
    "members that one removed and one changed": lambda n: _merge(
        _state(n, 0), {"skill_state": {}}, _state(n, 2)
    ),
    "members that both added": lambda n: _merge({}, _state(n, 1, "a"), _state(n, 1, "b")),
    "members that both added behind a conflict": lambda n: _merge(
        *(
            {"skill_state": {"first": side, "rows": _plain_rows(side * n, n * (side > 0))}}
            for side in range(3)
        )
    ),
    "rows in another order": lambda n: _merge(
        _rows(n, "complete"), _rows(n, "complete", -1), _rows(n, "blocked")
    ),
    "rows that both changed": lambda n: _merge(
        _rows(n, "not_started"), _rows(n, "blocked"), _rows(n, "complete")
    ),
    "entries of one text": lambda n: _merge(
        *({"next_actions": ["same"] * (n + more)} for more in (0, 5, 9))
    ),
    "lists that both changed": lambda n: _merge(*(_state(n, [word, 1]) for word in "xab")),
}


def _check(**changes: Any) -> Callable[[], object]:
    data = checkpoint_text(**changes).encode()
    return lambda: check_document(PATH, data, now=1_780_000_000)


def _draw_decisions(count: int) -> Callable[[], object]:
    decisions = [
        {"id": f"b{at}", "description": "x", "needs": "user_decision", "options": ["a", "b"]}
        for at in range(count)
    ]
    facts = make_facts(checkpoint(blockers=decisions))
    return lambda: make_parts(facts)


def _understand(count: int) -> Callable[[], object]:
    edits = parse_edits([f"--skill_state.k{at}=1" for at in range(count)])
    return lambda: understand(checkpoint(), edits, open_room("skill").schema.document)


_ENTITY = '{"type":"entity","name":"a","entityType":"b","observations":["%s"]}'
_ENTRY = '[[suppress]]\ncode = "a/b"\nreason = "x"\n'
CHECKS: dict[str, Callable[[int], Callable[[], object]]] = {
    "blockers of one id": lambda n: _check(blockers=[{"id": "b", "description": "x"}] * n),
    "rows of no status": lambda n: _check(
        progress_table=[{"id": at, "status": "odd"} for at in range(n)]
    ),
    "patterns": lambda n: _check(
        context_primer={
            "key_decisions": [],
            "generated_files": [f"d{at}/*" for at in range(n)],
            "user_preferences": [],
        }
    ),
    "keys and tokens": lambda n: _check(next_actions=["ghp_" + "a1B2" * 9] * n),
    "conflicts": lambda n: (
        lambda: check_document(
            PATH, b"{\n" + b'<<<<<<< a\n"a":1,\n=======\n"a":2,\n>>>>>>> b\n' * n + b"}", now=1
        )
    ),
    "answers to blockers": lambda n: (
        lambda: views.find_answers(
            "build", {"blockers": [{"id": f"b{at}", "description": "x"} for at in range(n)]}
        )
    ),
    "decisions on a page": lambda n: _draw_decisions(n),
    "edits of one update": lambda n: _understand(n),
    "places": lambda n: (
        lambda: jsonplace.locate_all(
            json.dumps({"a": [0] * n}), [f"/a/{number}" for number in range(n)]
        )
    ),
    "attributes that are adopted and given back": lambda n: (
        lambda: restore_lines(adopt_lines(b"*.x text %s\n" % (b"y" * 200) * n))
    ),
    "settings of newlines": lambda n: lambda: read_settings_text("\n" * n, "x", bool),
    "settings of entries": lambda n: (
        lambda: read_settings_text('[[suppress]]\ncode = "a/b"\nreason = "x"\n' * n, "x", bool)
    ),
    "settings of a key with many parts": lambda n: (
        lambda: read_settings_text("a" + ".a" * n + " = 1", "x", bool)
    ),
    "words with signs of keys": lambda n: (
        lambda: untrusted_text.may_hold_secret(b"aaaaaaaaaaaa-sk- " * n)
    ),
    "addresses": lambda n: lambda: untrusted_text.may_hold_secret(b"://a \\n" * n),
    "announced secrets": lambda n: lambda: redact.redact("password=a " * n),
    "truncated lines of a graph": lambda n: (
        lambda: plan_repair([GraphLine('{"type":"entity","na', None)] * n)
    ),
    "one entity of a graph again and again": lambda n: (
        lambda: plan_repair([GraphLine(_ENTITY % at, json.loads(_ENTITY % at)) for at in range(n)])
    ),
    "unfinished objects of a graph": lambda n: (
        lambda: plan_repair([GraphLine('{"a":', None)] * (2 * n))
    ),
    "beginnings of keys": lambda n: lambda: redact.redact("-----BEGIN PRIVATE KEY-----" * n),
    "shell commands: many commands": lambda n: (
        lambda: find_loss("git status; " * n, "/app", "/app")
    ),
    "shell commands: a long pipeline": lambda n: (
        lambda: find_loss("find . -type f | " * n, "/app", "/app")
    ),
    "shell commands: many words": lambda n: lambda: find_loss("rm -rf x " * n, "/app", "/app"),
    "shell commands: quotes": lambda n: lambda: find_loss("echo 'it' " * n, "/app", "/app"),
    "shell commands: open quotes": lambda n: lambda: find_loss("cat <<'E'\n'" * n, "/app", "/app"),
    "shell commands: statements": lambda n: lambda: find_loss("drop table x; " * n, "/app", "/app"),
    "shell commands: prefixes": lambda n: lambda: find_loss("sudo -u " * n, "/app", "/app"),
    "shell commands: tests of find": lambda n: (
        lambda: find_loss("find . ! -name x " * n, "/app", "/app")
    ),
}


WORKS = {**MERGES, **CHECKS}


def test_no_merge_and_no_check_runs_more_than_linearly_many_lines() -> None:
    def run(name: str) -> Callable[[int], object]:
        works = {count: WORKS[name](count) for count in (90, 360)}
        return lambda count: works[count]()

    assert {name: figures for name in WORKS if (figures := grows_faster(run(name), 360))} == {}


@pytest.mark.deep
@pytest.mark.parametrize("name", WORKS)
def test_no_merge_and_no_check_takes_more_than_linear_time(name: str) -> None:
    works = {count: WORKS[name](count) for count in (1_000, 8_000)}
    assert_linear_time(lambda count: works[count](), 1_000)
