"""What is wrong with the merge strategies that a schema declares. Pure; the schema is plain or token JSON."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.merge.strategy import KEYWORD, REQUIRE, STRATEGIES, Strategies

# Where a schema may hold schemas that the merge follows: one, or several by name.
_ONE = ("items", "additionalProperties")
_MANY = ("properties", "patternProperties", "$defs", "definitions")
# Where it may hold schemas that the merge never follows, for whether they hold depends on the value.
_IGNORED = (
    "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "prefixItems", "contains", "dependentSchemas",
    "dependencies", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "additionalItems",
)  # fmt: skip
_LITERAL = re.compile(r"\^[\w\s/:@#%&=!<>,;\"'~`-]*")  # "^" and letters that mean themselves


def _rule(options: str = "", needed: str = "") -> tuple[frozenset[str], frozenset[str]]:
    # what the keyword of one strategy may hold beside "strategy", and which of that it must
    return frozenset((*options.split(), *needed.split())), frozenset(needed.split())


_RULES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    **dict.fromkeys(STRATEGIES, _rule()),
    "max": _rule(needed="order"),
    "newest": _rule(needed="by"),
    "log": _rule("key sort limit"),
    "rows": _rule("added", needed="key"),
    "queue": _rule(needed="key"),
    "group": _rule("by superseded newest rank", needed="name"),
}


# The merge itself ignores what it does not understand, so that a mistake in a schema would show only as a bad merge:
# this is where it is refused.
def lint_schema(schema: Any, root: dict[str, Any] | None = None) -> list[Finding]:
    """Everything wrong with the x-merge keywords and references of a schema, in its order; [] for a good one. schema: a
    JSON Schema as a value, numbers as Python numbers or as tokens. root: the schema that it becomes a part of, which
    references then lead into; None where it stands alone. Findings have `where`, a JSON Pointer into `schema`, and no
    path.
    """
    if not isinstance(schema, dict):
        return [] if isinstance(schema, bool) else [_error("not-a-schema", "", "a schema is an object")]
    if root is not None and REQUIRE in schema:
        return [_error("requirement", f"/{REQUIRE}", f"{REQUIRE} is read at the root of a document only")]
    return [*_lint_place(schema, "", schema if root is None else root), *_lint_requirements(schema)]


def _error(code: str, where: str, message: str, hint: str = "") -> Finding:
    return Finding(f"schema/{code}", "error", message, where=where, hint=hint)


# places


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
    yield from _lint_groups(schema, where)
    for below, pointer in _children(schema, where):
        yield from _lint_place(below, pointer, root)
    yield from _lint_patterns(schema.get("patternProperties"), join_pointer(where, "patternProperties"))


def _children(schema: dict[str, Any], where: str) -> Iterator[tuple[Any, str]]:
    for name in _ONE:
        yield schema.get(name), join_pointer(where, name)
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
        if name == "$dynamicRef" or not isinstance(reference, str) or not reference.startswith("#/"):
            hint = 'refer to a place in the same file: "#/$defs/..."'
            yield _error("foreign-reference", pointer, f"the merge does not follow {reference!r}", hint)
        elif not Strategies(root).resolve({"$ref": reference}):
            yield _error("dead-reference", pointer, f"{reference} leads nowhere")
        if KEYWORD in schema:
            message = f"{KEYWORD} beside a reference is not read: the place is what the reference names"
            yield _error("hidden-strategy", join_pointer(where, KEYWORD), message, "move it to where that leads")


def _find_unreached(value: Any, where: str, under: str) -> Iterator[Finding]:
    if isinstance(value, dict):
        if KEYWORD in value:
            hint = f"say it beside {under}, not inside"
            yield _error("hidden-strategy", join_pointer(where, KEYWORD), f"{KEYWORD} under {under} is not read", hint)
        for key, below in value.items():
            yield from _find_unreached(below, join_pointer(where, key), under)
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _find_unreached(below, join_pointer(where, number), under)


def _lint_patterns(patterns: Any, where: str) -> Iterator[Finding]:
    for pattern, schema in patterns.items() if isinstance(patterns, dict) else ():
        if _declares(schema) and not _LITERAL.fullmatch(pattern):
            message = f"the merge reads patterns as beginnings; {pattern!r} is none"
            yield _error("pattern", join_pointer(where, pattern), message, 'write "^" and then plain letters')


def _declares(schema: Any) -> bool:
    if isinstance(schema, dict):
        return KEYWORD in schema or any(_declares(below) for below in schema.values())
    return isinstance(schema, list) and any(_declares(below) for below in schema)


# one keyword


def _lint_rule(rule: Any, where: str) -> Iterator[Finding]:
    if not isinstance(rule, dict) or not isinstance(rule.get("strategy"), str):
        yield _error("no-strategy", where, f'{KEYWORD} is an object with a "strategy"')
        return
    name = rule["strategy"]
    if name not in _RULES:
        from difflib import get_close_matches

        near = get_close_matches(name, STRATEGIES, 1)
        hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(STRATEGIES)}"
        yield _error("unknown-strategy", join_pointer(where, "strategy"), f"there is no strategy {name!r}", hint)
        return
    options, needed = _RULES[name]
    for option in rule:
        if option != "strategy" and option not in options:
            allowed = ", ".join(sorted(options)) or "nothing"
            message = f"{name} knows no {option!r}"
            yield _error("unknown-option", join_pointer(where, option), message, f"it takes {allowed}")
    for option in sorted(needed - rule.keys()):
        yield _error("missing-option", where, f'{name} needs "{option}"')
    for option, value in rule.items():
        is_right, expected = _CHECKS.get(option, (None, ""))
        if is_right and option in options and not is_right(value):
            yield _error("bad-option", join_pointer(where, option), f'"{option}" is {expected}')


def _is_member(value: Any) -> bool:
    # the pointer of a direct member: "/id"; the merge does not undo escapes
    return isinstance(value, str) and re.fullmatch(r"/[^/~]+", value) is not None


def _is_key(value: Any) -> bool:
    several = isinstance(value, list) and value and len(set(map(str, value))) == len(value)
    return all(_is_member(one) for one in value) if several else _is_member(value)


def _is_pointer(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"(/[^/~]+)+", value) is not None


def _is_limit(value: Any) -> bool:
    if isinstance(value, bytes):
        return re.fullmatch(rb"[1-9][0-9]{0,8}", value) is not None
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9


def _is_order(value: Any) -> bool:
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return texts and len(value) > 1 and len(set(value)) == len(value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_rank(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and one.keys() == {"at", "order"} for one in value)
        and all(_is_member(one["at"]) and _is_order(one["order"]) for one in value)
    )


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "key": (_is_key, 'the pointer of a member such as "/id", or a list of such without repetition'),
    "sort": (_is_member, 'the pointer of a member such as "/at"'),
    "limit": (_is_limit, "a positive whole number"),
    "order": (_is_order, "a list of two texts or more, none twice"),
    "by": (_is_pointer, 'a pointer from the document\'s root, such as "/updated_at"'),
    "newest": (_is_pointer, 'a pointer to an instant, beginning with a member of the group: "/last_run/at"'),
    "name": (_is_name, "the group's name"),
    "superseded": (_is_name, "the name of a list at the document's root"),
    "added": (lambda value: value == "merge", '"merge", or left out'),
    "rank": (_is_rank, 'a list of {"at": "/member", "order": [texts]}'),
}


# groups and requirements: what several places say together


def _lint_groups(schema: dict[str, Any], where: str) -> Iterator[Finding]:
    groups: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    properties = schema.get("properties")
    for key, below in properties.items() if isinstance(properties, dict) else ():
        rule = below.get(KEYWORD) if isinstance(below, dict) else None
        if isinstance(rule, dict) and rule.get("strategy") == "group" and _is_name(rule.get("name")):
            groups.setdefault(rule["name"], []).append((key, rule))
    for name, key, rule in [(name, *leaf) for name, leaves in groups.items() for leaf in leaves]:
        keys = [each for each, _ in groups[name]]
        pointer = join_pointer(join_pointer(f"{where}/properties", key), KEYWORD)
        if rule != groups[name][0][1]:
            yield _error("group", pointer, f"{key} and {keys[0]} say different things of their group {name}")
        newest = rule.get("newest")
        if _is_pointer(newest) and str(newest).split("/")[1] not in keys:
            yield _error("group", pointer, f"{newest} does not begin with a member of the group {name}")
        if "superseded" in rule and "by" not in rule:
            yield _error("group", pointer, '"superseded" needs "by": which side is newer')
        for entry in rule["rank"] if _is_rank(rule.get("rank")) else ():
            if entry["at"][1:] not in keys:
                yield _error("group", pointer, f"{entry['at']} is not a member of the group {name}")


def _lint_requirements(root: dict[str, Any]) -> Iterator[Finding]:
    requirements = root.get(REQUIRE, [])
    pointer = f"/{REQUIRE}"
    if not isinstance(requirements, list):
        yield _error("requirement", pointer, f"{REQUIRE} is a list")
        return
    for number, requirement in enumerate(requirements):
        where = join_pointer(pointer, number)
        if not isinstance(requirement, dict):
            requirement = {}
        form = next((name for name in _FORMS if name in requirement), "")
        if form:
            members = _FORMS[form]
            known = requirement.keys() == members.keys()
            message = (
                f'a requirement by "{form}" has {", ".join(members)}: pointers of members, texts for done and order'
            )
            if not known or not all(check(requirement[name]) for name, check in members.items()):
                yield _error("requirement", where, message)
            continue
        conditions = requirement.get("non_empty_when")
        is_form = requirement.keys() == {"where", "non_empty_when"} and _is_member(requirement["where"])
        if not is_form or not isinstance(conditions, dict) or not conditions or not all(map(_is_member, conditions)):
            message = 'a requirement is {"where": "/list", "non_empty_when": {"/field": value}}'
            yield _error("requirement", where, message)


# requirements of another form than non_empty_when: the member that tells the form -> what each of its members must be
_FORMS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "same": {"same": _is_member},
    "steps": {
        **dict.fromkeys(("steps", "key", "at", "current", "status", "begin", "end"), _is_member),
        "order": _is_order,
        "done": _is_name,
    },
}
