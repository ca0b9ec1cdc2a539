"""Complete the edits of `checkpoint update` for a shell, one step of the path at a time."""

from collections.abc import Iterator, Mapping
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
    """Return the continuations of an edit of a skill's checkpoint, each with its description."""
    document = {}
    data = store.read_skill(find_place(cwd), skill)
    if isinstance(data, bytes):
        try:
            document = jsontext.load(jsontext.decode(data))
        except jsontext.JsonTextError:
            document = {}
    return find_edits(open_room("skill").schema.document, document, typed, _MOST_ITEMS)


def find_edits(schema: Schema, document: Any, typed: str, most: int) -> Iterator[tuple[str, str]]:
    """Return the continuations of an edit, each with its description. most: items of a list."""
    path, equals, _ = typed.partition("=")
    stem = path.removeprefix("--").removesuffix(":json").removesuffix("+")
    if equals:
        rules, _ = _descend(schema, document, _split(stem))
        choices = [value for value in rules.get("enum", ()) if isinstance(value, str)]
        return ((f"{path}={choice}", "") for choice in choices)

    head = stem[: max(stem.rfind("."), stem.rfind("[")) + 1]
    rules, value = _descend(schema, document, _split(head.rstrip(".[")))
    if head.endswith("["):
        return ((f"--{head}{name}]", text) for name, text in _list_items(value, most))
    return _list_children(schema, rules, value, f"--{head}")


def _split(path: str) -> list[str]:
    """Return the names on a path: of `a.b[c].d` a, b, c and d."""
    return [name for name in path.replace("[", ".").replace("]", "").split(".") if name]


def _descend(schema: Schema, document: Any, names: list[str]) -> tuple[Schema, Any]:
    """Return the schema and the value of a place; {} and None if it is unknown or empty."""
    rules = resolve(schema, schema)
    value = document
    for name in names:
        rules = child_rules(schema, rules, name)
        if isinstance(value, dict):
            value = value.get(name)
        else:
            value = find_item(value, name)
    return rules, value


def _list_items(value: Any, most: int) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of the objects that have an id among a list's first items."""
    if not isinstance(value, list):
        return
    for item in value[:most]:
        if isinstance(item, dict) and ids_of(item):
            texts = [str(item[key]) for key in _TEXT_NAMES if key in item]
            yield ids_of(item)[0], next(iter(texts), "")


def _list_children(
    schema: Schema, rules: Schema, value: Any, head: str
) -> Iterator[tuple[str, str]]:
    """Yield the fields below a place, each with the sign that may follow it, and its description.

    head: the edit up to the place. The sign is a dot, a bracket or the equals sign.
    """
    known: Mapping[str, Any] = rules.get("properties", {})
    present = value if isinstance(value, dict) else {}
    for name in dict.fromkeys([*known, *present]):
        if name == "$schema" or "." in name:
            continue
        member = present.get(name)
        stated = known.get(name, {})
        inner = resolve(schema, stated)
        text = stated.get("description") or inner.get("description") or inner.get("title") or ""

        if inner.get("type") == "array" or isinstance(member, list):
            yield (f"{head}{name}+=", text)
            if any(True for _ in _list_items(member, 1)):
                yield (f"{head}{name}[", text)
        elif isinstance(member, dict) or "properties" in inner:
            yield (f"{head}{name}.", text)
        else:
            yield (f"{head}{name}=", text)
