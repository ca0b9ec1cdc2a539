"""Every regular expression of the package, found in its source, and hostile inputs made from its own parts."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import checkpoint_git

op: Any = importlib.import_module("re._constants")  # no stubs know them
parser: Any = importlib.import_module("re._parser")

_FUNCTIONS = frozenset(("compile", "match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"))
_LONG = 16  # times: what may be repeated as often as that is repeated without end here
_PICK = "aA0 ./-_\n\"'`(#é\x01"  # what a class is tried with, as far as it is in it
_TAILS = ("", "\x00", "\n!", "x", " ")


class Use(NamedTuple):
    """One pattern and how it is used. where: module and line."""

    where: str
    pattern: str | bytes
    flags: int
    how: str  # a function of `re`


def find_uses(given: dict[str, list[Any]]) -> Iterator[Use]:
    """given: the patterns of an expression that a module's own names do not explain, by its source."""
    root = Path(checkpoint_git.__file__).parent
    for info in pkgutil.walk_packages([str(root)], "checkpoint_git."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        assert module.__file__
        tree = ast.parse(Path(module.__file__).read_text())
        yield from _uses_of(tree, vars(module), f"{info.name.removeprefix('checkpoint_git.')}", given)


def _uses_of(tree: ast.Module, names: dict[str, Any], where: str, given: dict[str, list[Any]]) -> Iterator[Use]:
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    methods: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _FUNCTIONS:
            methods.setdefault(node.value.id, set()).add(node.attr)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=how)) if how in _FUNCTIONS:
                pass
            case _:
                continue
        for pattern in _evaluate(node.args[0], names, given):
            flags = [*node.args[1:], *(each.value for each in node.keywords)] if how == "compile" else node.args[3:]
            flag = next((value for each in flags for value in _evaluate(each, names, {"": []}) if value), 0)
            hows = {how}
            if how == "compile":
                above = parents[node]
                if isinstance(above, ast.Attribute):
                    hows = {above.attr}
                elif isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
                    hows = methods.get(above.targets[0].id, {"finditer"})
                else:
                    hows = {"finditer"}
            for each in sorted(hows):
                yield Use(f"{where}:{node.lineno}", pattern, int(flag), each)


def _evaluate(node: ast.expr, names: dict[str, Any], given: dict[str, list[Any]]) -> list[Any]:
    source = ast.unparse(node)
    if source in given:
        return given[source]
    try:
        return [eval(source, {**names})]  # noqa: S307  # the package's own text
    except NameError as error:
        raise AssertionError(f"{source}: what does it stand for? {error}") from None


# hostile inputs


def make_hostile(use: Use) -> list[tuple[str, str, str]]:
    """(before, pump, behind) of texts in which the pump is repeated."""
    text = use.pattern if isinstance(use.pattern, str) else use.pattern.decode("latin-1")
    tree = parser.parse(text, use.flags)
    loops = list(dict.fromkeys(_find_loops(list(tree), "")))
    whole = _sample(list(tree))
    pumps = list(dict.fromkeys(pump for _, pump in loops if pump))[:14]
    found = []
    for before, pump in loops:
        found += [("", pump, ""), (before, pump, ""), ("", before + pump, "")]
    found += [(first * 3, second, "") for first in pumps for second in pumps]
    found += [("", first + second, "") for first in pumps for second in pumps if first != second]
    found += [("", whole, ""), ("", whole[: len(whole) // 2 + 1], "")]
    tails = [*_TAILS, whole[-1:]]
    texts = [(before, pump, tail) for before, pump, _ in dict.fromkeys(found) if pump for tail in (*tails, "x" + pump)]
    return list(dict.fromkeys(texts))


def make_sequences(use: Use) -> list[tuple[str, str, str, str]]:
    """(before, first pump, between, second pump): two loops of a pattern that follow one another."""
    assert isinstance(use.pattern, str)
    loops = list(dict.fromkeys(_find_loops(list(parser.parse(use.pattern, use.flags)), "")))
    found = []
    for before, _ in loops:
        for later, pump in loops:
            first = later[len(before) :] if later.startswith(before) else ""
            for last, _ in loops:
                between = last[len(later) :] if last.startswith(later) else ""
                found += [(before, first, between, pump), (before, first, "", between), (before, first, between, "v")]
    return [one for one in dict.fromkeys(found) if one[1] and one[3]]


def _find_loops(items: list[Any], before: str) -> Iterator[tuple[str, str]]:
    # (what must stand before it, what it repeats)
    for code, value in items:
        match code:
            case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
                _, most, body = value
                if most == op.MAXREPEAT or most >= _LONG:
                    for sample in _samples(list(body)):
                        yield before, sample
                yield from _find_loops(list(body), before)
            case op.SUBPATTERN:
                yield from _find_loops(list(value[3]), before)
            case op.ATOMIC_GROUP:
                yield from _find_loops(list(value), before)
            case op.BRANCH:
                for branch in value[1]:
                    yield from _find_loops(list(branch), before)
            case op.ASSERT | op.ASSERT_NOT:
                yield from _find_loops(list(value[1]), before)
        before += _sample([(code, value)])


def _samples(items: list[Any]) -> list[str]:
    # several, where a single class or a choice is repeated
    if len(items) == 1:
        code, value = items[0]
        if code == op.IN or code == op.ANY or code == op.NOT_LITERAL:
            return _pick(items[0], 6)
        if code == op.BRANCH:
            return [sample for branch in value[1] for sample in _samples(list(branch))]
        if code == op.SUBPATTERN:
            return _samples(list(value[3]))
    return [_sample(items), _sample(items, 1)]


def _sample(items: list[Any], more: int = 0) -> str:
    text = ""
    for code, value in items:
        match code:
            case op.LITERAL:
                text += chr(value)
            case op.IN | op.ANY | op.NOT_LITERAL:
                text += next(iter(_pick((code, value), 1)), "a")
            case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
                text += _sample(list(value[2]), more) * max(min(value[0], 70), min(more, value[1]))
            case op.SUBPATTERN:
                text += _sample(list(value[3]), more)
            case op.ATOMIC_GROUP:
                text += _sample(list(value), more)
            case op.BRANCH:
                text += _sample(list(value[1][0]), more)
            case op.ASSERT if value[0] == -1:  # what stands before it has to be so
                text += "" if text.endswith(_sample(list(value[1]))) else _sample(list(value[1]))
            case op.GROUPREF:
                text += "a"
    return text


def _pick(item: tuple[Any, Any], most: int) -> list[str]:
    code, value = item
    spelled = re.compile(_spell(code, value), re.DOTALL)
    own = [chr(each[1]) for each in value if each[0] == op.LITERAL] if code == op.IN else []
    own += [chr(each[1][0]) for each in value if each[0] == op.RANGE] if code == op.IN else []
    return [each for each in dict.fromkeys([*own[:1], *_PICK, *own]) if spelled.fullmatch(each)][:most]


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
