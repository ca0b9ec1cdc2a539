"""The edits that `checkpoint update` takes, as a shell completes them: a step of the path at a
time.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from checkpoint_git.core import jsontext
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.skill import store
from checkpoint_git.protocols.skill.edit.fields import Schema, child_rules, resolve
from checkpoint_git.protocols.skill.edit.items import find_item, ids_of

_MOST_ITEMS = 200  # of one list
_TEXT_NAMES = ("label", "description", "text")


def complete_edit(skill: str, typed: str, cwd: str) -> Iterator[tuple[str, str]]:
    """(what an edit of a skill's checkpoint may continue with, what that means)."""
    data = store.read_skill(find_place(cwd), skill)
    try:
        document = jsontext.load(jsontext.decode(data)) if isinstance(data, bytes) else {}
    except jsontext.JsonTextError:
        document = {}
    return find_edits(open_room("skill").schema.document, document, typed, _MOST_ITEMS)


def find_edits(schema: Schema, document: Any, typed: str, most: int) -> Iterator[tuple[str, str]]:
    path, equals, _ = typed.partition("=")
    stem = path.removeprefix("--").removesuffix(":json").removesuffix("+")
    if equals:
        rules, _ = _descend(schema, document, _split(stem))
        return (
            (f"{path}={value}", "") for value in rules.get("enum", ()) if isinstance(value, str)
        )

    head = stem[: max(stem.rfind("."), stem.rfind("[")) + 1]
    rules, held = _descend(schema, document, _split(head.rstrip(".[")))
    if head.endswith("["):
        return ((f"--{head}{name}]", text) for name, text in _list_items(held, most))
    return _list_children(schema, rules, held, f"--{head}")


def _split(path: str) -> list[str]:
    """The names on a path: `a.b[c].d` is a, b, c, d."""
    return [name for name in path.replace("[", ".").replace("]", "").split(".") if name]


def _descend(schema: Schema, document: Any, names: list[str]) -> tuple[Schema, Any]:
    """The schema and the value of a place; {} and None where they know nothing of it."""
    rules, held = resolve(schema, schema), document
    for name in names:
        rules = child_rules(schema, rules, name)
        held = held.get(name) if isinstance(held, dict) else find_item(held, name)
    return rules, held


def _list_items(held: Any, most: int) -> Iterator[tuple[str, str]]:
    """(id, what it is) of a list's items that have one."""
    items = (
        item
        for item in islice(held if isinstance(held, list) else (), most)
        if isinstance(item, dict)
    )
    for item in items:
        if ids_of(item):
            yield ids_of(item)[0], next((str(item[key]) for key in _TEXT_NAMES if key in item), "")


def _list_children(
    schema: Schema, rules: Schema, held: Any, head: str
) -> Iterator[tuple[str, str]]:
    """The fields below a place, each with what goes on after it: a dot, a bracket, or the equals
    sign.
    """
    known: Mapping[str, Any] = rules.get("properties", {})
    own = held if isinstance(held, dict) else {}
    for name in [*known, *(name for name in own if name not in known)]:
        inner, value = resolve(schema, known.get(name, {})), own.get(name)
        text = (
            known.get(name, {}).get("description")
            or inner.get("description")
            or inner.get("title")
            or ""
        )
        if name == "$schema" or "." in name:
            continue
        if inner.get("type") == "array" or isinstance(value, list):
            yield (f"{head}{name}+=", text)
            if any(True for _ in _list_items(value, 1)):
                yield (f"{head}{name}[", text)
        elif isinstance(value, dict) or "properties" in inner:
            yield (f"{head}{name}.", text)
        else:
            yield (f"{head}{name}=", text)
