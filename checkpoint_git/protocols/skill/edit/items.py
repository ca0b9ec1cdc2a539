"""Which item of a list a name means, and which items a list lost. Pure."""

from collections.abc import Iterator
from typing import Any

from checkpoint_git.core import jsontext

ID_NAMES = ("id", "number", "name")
_TEXT_NAMES = (*ID_NAMES, "text", "path", "title", "rubric", "label", "description")
_LONGEST_INDEX = 10  # digits


def find_near_item(wanted: str, items: list[Any]) -> int | None:
    """Return the index of the item with the nearest name, None if none is near."""
    from difflib import get_close_matches

    indexes: dict[str, int] = {}
    for index, item in enumerate(items):
        indexes.update(dict.fromkeys(names_of(item), index))
    near = get_close_matches(wanted, indexes, 1, 0.4)
    return indexes.get(next(iter(near), ""))


def is_index(text: str, items: list[Any]) -> bool:
    return (
        text.isascii()
        and text.isdecimal()
        and len(text) < _LONGEST_INDEX
        and int(text) < len(items)
    )


def find_index(items: list[Any], wanted: Any) -> int | None:
    """Where the first item is that a value names as it is or by its id, or the only one with that
    text.
    """
    by_id = [at for at, item in enumerate(items) if str(wanted) in ids_of(item)]
    by_text = [at for at, item in enumerate(items) if str(wanted) in names_of(item)]
    return by_id[0] if by_id else by_text[0] if len(by_text) == 1 else None


def ids_of(item: Any) -> list[str]:
    """What names an item of a list: its ids, or where it is a text or a number, that."""
    inner = [item[name] for name in ID_NAMES if name in item] if isinstance(item, dict) else [item]
    return [str(plain(each)) for each in inner]


def names_of(item: Any) -> list[str]:
    """An item as it is, then what names it in itself."""
    return [str(plain(item)), *inner_names(item)]


def inner_names(item: Any) -> list[str]:
    return (
        [str(plain(item[name])) for name in _TEXT_NAMES if name in item]
        if isinstance(item, dict)
        else []
    )


def list_entries(value: Any, where: str = "") -> Iterator[tuple[str, list[list[str]]]]:
    """The lists in an object, and what each of their entries says or is named by."""
    for name, member in value.items() if isinstance(value, dict) else ():
        path = f"{where}.{name}".removeprefix(".")
        if isinstance(member, list):
            yield path, [inner_names(entry) or _list_texts(entry) for entry in member]
        else:
            yield from list_entries(member, path)


def find_removed(
    before: list[tuple[str, list[list[str]]]], after: Any
) -> Iterator[tuple[str, list[str]]]:
    """The lists that lost entries, and what those say. One of which an id or a text is anywhere in
    after is no loss.
    """
    there = set(_list_texts(after) if before else ())
    for path, entries in before:
        lost = [each[-1] for each in entries if each and there.isdisjoint(each)]
        yield from [(path, lost)] if lost else []


def _list_texts(value: Any) -> list[str]:
    if isinstance(value, jsontext.CONTAINERS):
        members = value.values() if isinstance(value, dict) else value
        return [text for member in members for text in _list_texts(member)]
    return [plain(value)] if isinstance(value, (str, bytes)) else []


def find_item(items: Any, name: str) -> Any:
    """The item of a list that a step of a path names by its number or id, None if there is none."""
    if not isinstance(items, list):
        return None
    at = int(name) if is_index(name, items) else find_index(items, name)
    return None if at is None else items[at]


def plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
