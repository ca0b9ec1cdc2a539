"""Find what is wrong with the merge strategies that a schema declares.

The merge ignores what it does not understand, so that a mistake in a schema would show only as a
bad merge: this is where it is refused. A schema has Python numbers, or numbers as tokens.
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

# Where a schema may have schemas that the merge follows: one, or several by name.
_ONE = ("items", "additionalProperties")
_MANY = ("properties", "patternProperties", "$defs", "definitions")
# Where it may have schemas that the merge never follows, because the value decides whether they
# count.
_IGNORED = (
    "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "contains", "dependentSchemas",
    "dependencies", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "additionalItems",
)  # fmt: skip
_LITERAL = re.compile(r"\^[\w\s/:@#%&=!<>,;\"'~`-]*")  # "^" and letters that mean themselves


@cache
def _read_vocabulary() -> Any:
    """Return the schema of schemas with merge strategies, which editors read, too."""
    text = files("checkpoint_git.merge").joinpath("x_merge_schema.json").read_text("utf-8")
    return json.loads(text)["$defs"]


def _find_form(name: str) -> dict[str, Any] | None:
    """Return the JSON Schema for the keyword of a strategy; None if there is no such strategy."""
    for form in _read_vocabulary()["rule"]["oneOf"]:
        named = form["properties"]["strategy"]
        if name in named.get("enum", [named.get("const")]):
            found: dict[str, Any] = form
            return found
    return None


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value of a schema is as the vocabulary wants it."""
    if isinstance(value, bytes):  # a number's token: only plain digits are read
        value = int(value) if value.isdigit() else None
    form = Schema(lambda: {**schema, "$defs": _read_vocabulary()})
    return is_surely_valid(form, value) or not explain(form, value)


def lint_schema(schema: Any, root: dict[str, Any] | None = None) -> list[Finding]:
    """Return what is wrong with the x-merge keywords and references of a schema, in its order.

    root: the schema that it becomes a part of, which references then lead into; None if it is
    alone. Findings have `where`, a JSON Pointer into `schema`, and no path.
    """
    if isinstance(schema, bool):
        return []
    if not isinstance(schema, dict):
        return [_error("not-a-schema", "", "a schema is an object")]

    if root is None:
        root = schema
    elif REQUIRE in schema:
        message = f"{REQUIRE} is read at the root of a document only"
        return [_error("requirement", f"/{REQUIRE}", message)]
    return [*_lint_place(schema, "", root), *_lint_requirements(schema)]


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
    patterns = schema.get("patternProperties")
    if isinstance(patterns, dict):
        yield from _lint_patterns(patterns, join_pointer(where, "patternProperties"))


def _children(schema: dict[str, Any], where: str) -> Iterator[tuple[Any, str]]:
    """Yield the schemas in a schema that the merge follows, with their places."""
    for name in _ONE:
        yield schema.get(name), join_pointer(where, name)
    first = schema.get("prefixItems")
    if isinstance(first, list):
        for index, below in enumerate(first):
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
        is_followed = name == "$ref" and isinstance(reference, str) and reference.startswith("#/")
        if not is_followed:
            message = f"the merge does not follow {reference!r}"
            hint = 'refer to a place in the same file: "#/$defs/..."'
            yield _error("foreign-reference", pointer, message, hint)
        elif not Strategies(root).resolve({"$ref": reference}):
            yield _error("dead-reference", pointer, f"{reference} leads nowhere")
        if KEYWORD in schema:
            what_counts = "the place is what the reference names"
            message = f"{KEYWORD} beside a reference is not read: {what_counts}"
            hint = "move it to where that leads"
            yield _error("hidden-strategy", join_pointer(where, KEYWORD), message, hint)


def _find_unreached(value: Any, where: str, under: str) -> Iterator[Finding]:
    """Yield the keywords in a part of a schema that the merge never follows."""
    if isinstance(value, dict):
        if KEYWORD in value:
            message = f"{KEYWORD} under {under} is not read"
            hint = f"put it beside {under}, not inside"
            yield _error("hidden-strategy", join_pointer(where, KEYWORD), message, hint)
        for key, below in value.items():
            yield from _find_unreached(below, join_pointer(where, key), under)
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _find_unreached(below, join_pointer(where, number), under)


def _lint_patterns(patterns: dict[str, Any], where: str) -> Iterator[Finding]:
    for pattern, schema in patterns.items():
        if _declares(schema) and not _LITERAL.fullmatch(pattern):
            message = f"the merge reads patterns as beginnings; {pattern!r} is none"
            hint = 'write "^" and then plain letters'
            yield _error("pattern", join_pointer(where, pattern), message, hint)


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
        if near:
            hint = f"did you mean {near[0]}?"
        else:
            hint = f"one of {', '.join(STRATEGIES)}"
        message = f"unknown strategy {name!r}"
        yield _error("unknown-strategy", join_pointer(where, "strategy"), message, hint)
        return

    options = dict(form["properties"])
    del options["strategy"]
    for option in rule.keys() - options.keys() - {"strategy"}:
        allowed = ", ".join(sorted(options)) or "nothing"
        message = f"{name} knows no {option!r}"
        yield _error("unknown-option", join_pointer(where, option), message, f"it takes {allowed}")

    for option in sorted(set(form.get("required", ())) - rule.keys()):
        yield _error("missing-option", where, f'{name} needs "{option}"')
    for option, schema in options.items():
        if option in rule and not _fits(rule[option], schema):
            message = f'"{option}" is {schema["description"]}'
            yield _error("bad-option", join_pointer(where, option), message)


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
        if not isinstance(below, dict):
            continue
        rule = Strategies(root).resolve(below).get(KEYWORD)
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
    """Return a list that a rule has, [] if it has none."""
    value = rule.get(name)
    return value if isinstance(value, list) else []


def _lint_requirements(root: dict[str, Any]) -> Iterator[Finding]:
    requirements = root.get(REQUIRE, [])
    if not isinstance(requirements, list):
        yield _error("requirement", f"/{REQUIRE}", f"{REQUIRE} is a list")
        return
    for number, requirement in enumerate(requirements):
        if not _fits(requirement, {"$ref": "#/$defs/requirement"}):
            message = _read_vocabulary()["requirement"]["description"]
            yield _error("requirement", join_pointer(f"/{REQUIRE}", number), message)
