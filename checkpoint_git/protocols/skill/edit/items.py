"""Find the item of a list that a name means, and the items that a list lost. Pure."""

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
    """Whether a text is the index of an item."""
    return (
        text.isascii()
        and text.isdecimal()
        and len(text) < _LONGEST_INDEX
        and int(text) < len(items)
    )


def find_index(items: list[Any], wanted: Any) -> int | None:
    """Return the index of the first item that is this value or has it as an id, else of the only
    item with that text; None if there is none.
    """
    text = str(wanted)
    for index, item in enumerate(items):
        if text in ids_of(item):
            return index

    by_text = [index for index, item in enumerate(items) if text in names_of(item)]
    return by_text[0] if len(by_text) == 1 else None


def ids_of(item: Any) -> list[str]:
    """Return the ids of an object in a list; of a text or a number, itself."""
    if not isinstance(item, dict):
        return [str(plain(item))]
    return [str(plain(item[name])) for name in ID_NAMES if name in item]


def names_of(item: Any) -> list[str]:
    """Return an item as it is, then its ids and texts."""
    return [str(plain(item)), *inner_names(item)]


def inner_names(item: Any) -> list[str]:
    """Return the ids and texts of an object, [] for another value."""
    if not isinstance(item, dict):
        return []
    return [str(plain(item[name])) for name in _TEXT_NAMES if name in item]


def list_entries(value: Any, where: str = "") -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the path of each list in an object, with the names or texts of each of its entries."""
    if not isinstance(value, dict):
        return
    for name, member in value.items():
        path = f"{where}.{name}".removeprefix(".")
        if isinstance(member, list):
            yield path, [inner_names(entry) or _list_texts(entry) for entry in member]
        else:
            yield from list_entries(member, path)


def find_removed(
    before: list[tuple[str, list[list[str]]]], after: Any
) -> Iterator[tuple[str, list[str]]]:
    """Yield the path of each list that lost entries, with their texts.

    before: as from list_entries. An entry is not lost if an id or a text of it is anywhere in
    after.
    """
    if not before:
        return
    remaining = set(_list_texts(after))
    for path, entries in before:
        lost = [names[-1] for names in entries if names and remaining.isdisjoint(names)]
        if lost:
            yield path, lost


def _list_texts(value: Any) -> list[str]:
    """Return all texts and numbers in a value."""
    if isinstance(value, (str, bytes)):
        return [plain(value)]
    if not isinstance(value, jsontext.CONTAINERS):
        return []
    members = value.values() if isinstance(value, dict) else value
    return [text for member in members for text in _list_texts(member)]


def find_item(items: Any, name: str) -> Any:
    """Return the item of a list that a step of a path names by its number or id, None for none."""
    if not isinstance(items, list):
        return None
    if is_index(name, items):
        return items[int(name)]
    index = find_index(items, name)
    return None if index is None else items[index]


def plain(value: Any) -> Any:
    """Return a token value as a text if it is a number."""
    if isinstance(value, bytes):
        return value.decode()
    return value
