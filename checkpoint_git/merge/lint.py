"""What is wrong with the merge strategies that a schema declares. Pure; the schema is plain or
token JSON.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.schema import Schema, explain, is_surely_valid
from checkpoint_git.merge.strategy import KEYWORD, REQUIRE, STRATEGIES, Strategies

# Where a schema may hold schemas that the merge follows: one, or several by name.
_ONE = ("items", "additionalProperties")
_MANY = ("properties", "patternProperties", "$defs", "definitions")
# Where it may hold schemas that the merge never follows, for whether they hold depends on the
# value.
_IGNORED = (
    "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "contains", "dependentSchemas",
    "dependencies", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "additionalItems",
)  # fmt: skip
_LITERAL = re.compile(r"\^[\w\s/:@#%&=!<>,;\"'~`-]*")  # "^" and letters that mean themselves


# What the keywords may hold is said in one place, for editors and for this: the schema of schemas
# that use them.
@cache
def _read_vocabulary() -> Any:
    return json.loads(
        files("checkpoint_git.merge").joinpath("x_merge_schema.json").read_text("utf-8")
    )["$defs"]


def _find_form(name: str) -> dict[str, Any] | None:
    """What the keyword of one strategy may hold, as a JSON Schema; None if there is no such
    strategy.
    """
    forms = [(form["properties"]["strategy"], form) for form in _read_vocabulary()["rule"]["oneOf"]]
    return next(
        (form for named, form in forms if name in named.get("enum", [named.get("const")])), None
    )


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    if isinstance(value, bytes):  # a number's token: none but plain digits is read
        value = int(value) if value.isdigit() else None
    form = Schema(lambda: {**schema, "$defs": _read_vocabulary()})
    return is_surely_valid(form, value) or not explain(form, value)


# The merge itself ignores what it does not understand, so that a mistake in a schema would show
# only as a bad merge: this is where it is refused.
def lint_schema(schema: Any, root: dict[str, Any] | None = None) -> list[Finding]:
    """Everything wrong with the x-merge keywords and references of a schema, in its order; [] for a
    good one. schema: a JSON Schema as a value, numbers as Python numbers or as tokens. root: the
    schema that it becomes a part of, which references then lead into; None if it is alone. Findings
    have `where`, a JSON Pointer into `schema`, and no path.
    """
    if not isinstance(schema, dict):
        return (
            []
            if isinstance(schema, bool)
            else [_error("not-a-schema", "", "a schema is an object")]
        )

    if root is not None and REQUIRE in schema:
        return [
            _error(
                "requirement", f"/{REQUIRE}", f"{REQUIRE} is read at the root of a document only"
            )
        ]

    return [*_lint_place(schema, "", schema if root is None else root), *_lint_requirements(schema)]


def _error(code: str, where: str, message: str, hint: str = "") -> Finding:
    return Finding(f"schema/{code}", "error", message, where=where, hint=hint)


def _lint_place(schema: Any, where: str, root: dict[str, Any]) -> Iterator[Finding]:
    if not isinstance(schema, dict):
        return
    yield from _lint_reference(schema, where, root)
    if KEYWORD in schema:
        yield from _lint_rule(schema[KEYWORD], join_pointer(where, KEYWORD))
    for name in _IGNORED:
        if name in schema:
            yield from _find_unreached(schema[name], join_pointer(where, name), name)

    if isinstance(schema.get("items"), list):
        yield from _find_unreached(schema["items"], join_pointer(where, "items"), "a list of items")
    yield from _lint_groups(schema, where, root)
    for below, pointer in _children(schema, where):
        yield from _lint_place(below, pointer, root)
    yield from _lint_patterns(
        schema.get("patternProperties"), join_pointer(where, "patternProperties")
    )


def _children(schema: dict[str, Any], where: str) -> Iterator[tuple[Any, str]]:
    for name in _ONE:
        yield schema.get(name), join_pointer(where, name)
    first = schema.get("prefixItems")
    for index, below in enumerate(first if isinstance(first, list) else []):
        yield below, join_pointer(join_pointer(where, "prefixItems"), index)
    for name in _MANY:
        named = schema.get(name)
        if isinstance(named, dict):
            for key, below in named.items():
                yield below, join_pointer(join_pointer(where, name), key)


def _lint_reference(schema: dict[str, Any], where: str, root: dict[str, Any]) -> Iterator[Finding]:
    for name in ("$ref", "$dynamicRef"):
        if name not in schema:
            continue
        pointer, reference = join_pointer(where, name), schema[name]
        if (
            name == "$dynamicRef"
            or not isinstance(reference, str)
            or not reference.startswith("#/")
        ):
            hint = 'refer to a place in the same file: "#/$defs/..."'
            yield _error(
                "foreign-reference", pointer, f"the merge does not follow {reference!r}", hint
            )
        elif not Strategies(root).resolve({"$ref": reference}):
            yield _error("dead-reference", pointer, f"{reference} leads nowhere")
        if KEYWORD in schema:
            message = (
                f"{KEYWORD} beside a reference is not read: the place is what the reference names"
            )
            yield _error(
                "hidden-strategy",
                join_pointer(where, KEYWORD),
                message,
                "move it to where that leads",
            )


def _find_unreached(value: Any, where: str, under: str) -> Iterator[Finding]:
    if isinstance(value, dict):
        if KEYWORD in value:
            hint = f"put it beside {under}, not inside"
            yield _error(
                "hidden-strategy",
                join_pointer(where, KEYWORD),
                f"{KEYWORD} under {under} is not read",
                hint,
            )
        for key, below in value.items():
            yield from _find_unreached(below, join_pointer(where, key), under)
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _find_unreached(below, join_pointer(where, number), under)


def _lint_patterns(patterns: Any, where: str) -> Iterator[Finding]:
    for pattern, schema in patterns.items() if isinstance(patterns, dict) else ():
        if _declares(schema) and not _LITERAL.fullmatch(pattern):
            message = f"the merge reads patterns as beginnings; {pattern!r} is none"
            yield _error(
                "pattern", join_pointer(where, pattern), message, 'write "^" and then plain letters'
            )


def _declares(schema: Any) -> bool:
    if isinstance(schema, dict):
        return KEYWORD in schema or any(_declares(below) for below in schema.values())
    return isinstance(schema, list) and any(_declares(below) for below in schema)


def _lint_rule(rule: Any, where: str) -> Iterator[Finding]:
    if not isinstance(rule, dict) or not isinstance(rule.get("strategy"), str):
        yield _error("no-strategy", where, f'{KEYWORD} is an object with a "strategy"')
        return

    name = rule["strategy"]
    form = _find_form(name)
    if form is None:
        from difflib import get_close_matches

        near = get_close_matches(name, STRATEGIES, 1)
        hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(STRATEGIES)}"
        yield _error(
            "unknown-strategy", join_pointer(where, "strategy"), f"unknown strategy {name!r}", hint
        )
        return

    options = {
        option: schema for option, schema in form["properties"].items() if option != "strategy"
    }
    for option in rule.keys() - options.keys() - {"strategy"}:
        message, allowed = f"{name} knows no {option!r}", ", ".join(sorted(options)) or "nothing"
        yield _error("unknown-option", join_pointer(where, option), message, f"it takes {allowed}")

    for option in sorted(set(form["required"]) - rule.keys() if "required" in form else ()):
        yield _error("missing-option", where, f'{name} needs "{option}"')
    for option, schema in options.items():
        if option in rule and not _fits(rule[option], schema):
            yield _error(
                "bad-option", join_pointer(where, option), f'"{option}" is {schema["description"]}'
            )


def _lint_groups(schema: dict[str, Any], where: str, root: dict[str, Any]) -> Iterator[Finding]:
    """Yield what is wrong with the groups of an object's members."""
    for name, rules in _read_groups(schema, root).items():
        keys = list(rules)
        for key, rule in rules.items():
            pointer = join_pointer(join_pointer(f"{where}/properties", key), KEYWORD)
            if rule != rules[keys[0]]:
                message = f"{key} and {keys[0]} disagree about their group {name}"
                yield _error("group", pointer, message)
            for message in _lint_group_rule(rule, keys):
                yield _error("group", pointer, message)


def _read_groups(
    schema: dict[str, Any], root: dict[str, Any]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, by the name of each group, the rules of its members by their key."""
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return groups
    for key, below in properties.items():
        rule = Strategies(root).resolve(below).get(KEYWORD) if isinstance(below, dict) else None
        if not isinstance(rule, dict) or rule.get("strategy") != "group":
            continue
        if isinstance(rule.get("name"), str):
            groups.setdefault(rule["name"], {})[key] = rule

    return groups


def _lint_group_rule(rule: dict[str, Any], keys: list[str]) -> Iterator[str]:
    """Yield what is wrong with the rule of one member of a group. keys: of all its members."""
    name = rule["name"]
    newest = rule.get("newest")
    if _fits(newest, {"$ref": "#/$defs/pointer"}) and str(newest).split("/")[1] not in keys:
        yield f"{newest} does not begin with a member of the group {name}"
    if "superseded" in rule and "by" not in rule:
        yield '"superseded" needs "by": which side is newer'

    ranked = [entry.get("at") for entry in _listed(rule, "rank") if isinstance(entry, dict)]
    for member in (*ranked, *_listed(rule, "same")):
        if str(member)[1:] not in keys:
            yield f"{member} is not a member of the group {name}"


def _listed(rule: dict[str, Any], name: str) -> list[Any]:
    return rule[name] if isinstance(rule.get(name), list) else []


def _lint_requirements(root: dict[str, Any]) -> Iterator[Finding]:
    requirements = root.get(REQUIRE, [])
    if not isinstance(requirements, list):
        yield _error("requirement", f"/{REQUIRE}", f"{REQUIRE} is a list")
        return
    for number, requirement in enumerate(requirements):
        if not _fits(requirement, {"$ref": "#/$defs/requirement"}):
            message = _read_vocabulary()["requirement"]["description"]
            yield _error("requirement", join_pointer(f"/{REQUIRE}", number), message)
