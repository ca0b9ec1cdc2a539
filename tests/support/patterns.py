r"""The regular expressions of the package, and whether one of them can be made to try a text in too
many ways.

A pattern backtracks without end where two of its repeats can share one text between them in many
ways: `\s*\s*x`, `(a+)+b`, `(a|aa)+b`. may_backtrack finds such neighbours in the parsed pattern; it
runs nothing.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import checkpoint_git

op: Any = importlib.import_module("re._constants")  # no stubs know them
parser: Any = importlib.import_module("re._parser")

_FUNCTIONS = frozenset(
    ("compile", "match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split")
)
_LONG = 16  # times: what may be repeated as often as that is repeated without end here
_MOST_WAYS = 200  # through the branches of one pattern: more are not looked at
_ALPHABET = [chr(number) for number in range(256)] + ["\u0660", "\u2028", "\u4e2d", "\U0001f600"]

# what re's parser makes of a pattern: an operation's code and its value
Items = list[tuple[Any, Any]]


class Use(NamedTuple):
    """A pattern and the module that has it."""

    module: str
    pattern: str | bytes
    flags: int

    def parse(self) -> Items:
        """Return the pattern as `re` reads it."""
        text = self.pattern if isinstance(self.pattern, str) else self.pattern.decode("latin-1")
        return list(
            parser.parse(
                text, self.flags & ~re.UNICODE if isinstance(self.pattern, bytes) else self.flags
            )
        )


def find_uses() -> list[Use]:
    """Return every pattern that a module has compiled or writes as a literal in a call of `re`."""
    found: dict[Use, None] = {}
    root = Path(checkpoint_git.__file__).parent
    for info in pkgutil.walk_packages([str(root)], "checkpoint_git."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        name = info.name.removeprefix("checkpoint_git.")

        for pattern in _compiled_in(vars(module).values()):
            found[Use(name, pattern.pattern, pattern.flags)] = None
        for literal in _literals_in(module):
            found[Use(name, literal, 0)] = None
    return list(found)


def _compiled_in(values: Iterable[object], depth: int = 3) -> Iterator[re.Pattern[Any]]:
    for value in values:
        if isinstance(value, re.Pattern):
            yield value
        elif depth and isinstance(value, (list, tuple, set, frozenset)):
            yield from _compiled_in(value, depth - 1)
        elif depth and isinstance(value, dict):
            yield from _compiled_in([*value, *value.values()], depth - 1)


def _literals_in(module: ModuleType) -> Iterator[str | bytes]:
    assert module.__file__
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=name),
                args=[ast.Constant(value=literal), *_],
            ) if name in _FUNCTIONS:
                assert isinstance(literal, (str, bytes))
                yield literal


# the rule


class Part(NamedTuple):
    """A piece of a pattern. chars: what it can hold, of the alphabet; firsts: what it can begin
    with.
    """

    chars: frozenset[str]
    firsts: frozenset[str]
    varies: bool  # how much of a text it takes is open: the engine tries again with less
    is_endless: bool
    is_required: bool  # it takes one character at least, or looks whether something is there


_END = Part(frozenset(), frozenset(), varies=False, is_endless=False, is_required=True)


def may_backtrack(items: Items) -> bool:
    """Return whether two repeats can share a text in many ways, and something behind them can
    fail.
    """
    if any(_is_shared(row, "is_endless") for row in _spread(items)):
        return True
    for code, value in items:
        for body in _bodies(code, value):
            if (
                code in (op.MAX_REPEAT, op.MIN_REPEAT)
                and _is_endless(value[1])
                and _can_share_with_itself(body)
            ):
                return True
            if may_backtrack(body):
                return True
    return False


def _can_share_with_itself(body: Items) -> bool:
    # a loop's body follows itself, where all that varies is a repeat
    rows = _spread(body)
    return any(_is_shared([*row, *following, _END], "varies") for row in rows for following in rows)


def _is_shared(row: list[Part], kind: str) -> bool:
    for index, first in enumerate(row):
        if not getattr(first, kind):
            continue

        common = first.chars
        for place in range(index + 1, len(row)):
            part = row[place]
            is_followed = any(later.is_required for later in row[place + 1 :])
            if getattr(part, kind) and common & part.firsts and is_followed:
                return True
            if part.is_required and part.chars:
                common &= part.chars
            if not common:
                break
    return False


def _spread(items: Items) -> list[list[Part]]:
    """Return the ways through a pattern, one for each choice of branches."""
    rows: list[list[Part]] = [[]]
    for code, value in items:
        ways = _ways(code, value)
        rows = [[*row, *way] for row in rows for way in ways][:_MOST_WAYS]
    return rows


def _ways(code: Any, value: Any) -> list[list[Part]]:
    match code:
        case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
            least, most, body = value
            varies = least < most and code != op.POSSESSIVE_REPEAT
            is_endless = varies and _is_endless(most)
            return [
                [
                    Part(
                        _chars(list(body)),
                        _firsts(list(body)),
                        varies,
                        is_endless,
                        is_required=least > 0,
                    )
                ]
            ]
        case op.SUBPATTERN:
            return _spread(list(value[3]))
        case op.BRANCH:
            ways = [way for branch in value[1] for way in _spread(list(branch))]
            firsts = [_firsts(list(branch)) for branch in value[1]]
            every = frozenset[str]().union(*firsts)
            if [] in ways or sum(map(len, firsts)) > len(every):
                is_required = all(any(part.is_required for part in way) for way in ways)
                ways.append(
                    [
                        Part(
                            _chars([(code, value)]),
                            every,
                            True,
                            is_endless=False,
                            is_required=is_required,
                        )
                    ]
                )
            return ways
        case op.AT | op.ASSERT | op.ASSERT_NOT:
            return [[_END]]
        case op.ATOMIC_GROUP:
            return [[_END._replace(chars=_chars(list(value)), firsts=_firsts(list(value)))]]
    chars = _chars([(code, value)])
    return [[_END._replace(chars=chars, firsts=chars)]]


def _firsts(items: Items) -> frozenset[str]:
    return frozenset[str]().union(*(_firsts_of(way) for way in _spread(items)))


def _firsts_of(way: list[Part]) -> frozenset[str]:
    found: set[str] = set()
    for part in way:
        found |= part.firsts
        if part.is_required and part.chars:
            break
    return frozenset(found)


def _bodies(code: Any, value: Any) -> list[Items]:
    match code:
        case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
            return [list(value[2])]
        case op.SUBPATTERN:
            return [list(value[3])]
        case op.ATOMIC_GROUP:
            return [list(value)]
        case op.BRANCH:
            return [list(branch) for branch in value[1]]
        case op.ASSERT | op.ASSERT_NOT:
            return [list(value[1])]
    return []


def _is_endless(most: Any) -> bool:
    return bool(most == op.MAXREPEAT or most >= _LONG)


def _chars(items: Items) -> frozenset[str]:
    found: set[str] = set()
    for code, value in items:
        match code:
            case op.LITERAL:
                found.add(chr(value))
            case op.IN | op.ANY | op.NOT_LITERAL:
                found |= _matching(_spell(code, value))
            case op.ASSERT | op.ASSERT_NOT | op.AT:
                pass
            case op.GROUPREF:
                found.update(_ALPHABET)
            case _:
                for body in _bodies(code, value):
                    found |= _chars(body)
    return frozenset(found)


@cache
def _matching(spelled: str) -> frozenset[str]:
    pattern = re.compile(spelled)
    return frozenset(char for char in _ALPHABET if pattern.fullmatch(char))


_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s", op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _spell(code: Any, value: Any) -> str:
    if code == op.ANY:
        return "."
    if code == op.NOT_LITERAL:
        return f"[^{re.escape(chr(value))}]"
    parts = []
    for kind, each in value:
        if kind == op.LITERAL:
            parts.append(re.escape(chr(each)))
        elif kind == op.RANGE:
            parts.append(f"{re.escape(chr(each[0]))}-{re.escape(chr(each[1]))}")
        elif kind == op.CATEGORY:
            parts.append(_CATEGORIES[each])
    negated = value[0][0] == op.NEGATE
    return f"[{'^' if negated else ''}{''.join(parts)}]"
