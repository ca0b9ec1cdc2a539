"""Lists that no schema describes, and what a session does to them: part of the histories in
operations.py.

A pair or a record keeps its identity when it is replaced, so a law can tell which item a result
has. The merge cannot: the identity is in a place that it takes for no key.
"""

from collections.abc import Callable
from typing import Any

Items = list[Any]

NUMBERS = "numbers"  # of one length on all sides, they merge by position


def start_lists() -> dict[str, Items]:
    """Return the lists of a base: texts and numbers with repetitions, lists in a list, records
    without a key.
    """
    return {
        "lines": ["", "line 0", "line 1", "", "line 2", "}"],
        NUMBERS: [0, 0, 1.5, 4],
        "pairs": [[f"p{number}", f"pair {number}"] for number in range(5)],
        "records": [_make_record(f"r{number}", f"record {number}") for number in range(5)],
    }


def identify_item(item: Any) -> Any:
    """Return what stays of a pair or a record when it is replaced."""
    return item[0] if type(item) is list else item["at"][0]


def _make_record(identity: str, text: str) -> dict[str, Any]:
    return {"kind": "cell", "at": [identity], "lines": [text], "runs": "none"}


def _make_number(mark: str) -> int:
    return 100 * ord(mark[0]) + int(mark[1:])


MAKERS: dict[str, Callable[[str], Any]] = {
    "lines": lambda mark: mark,
    NUMBERS: _make_number,
    "pairs": lambda mark: [mark, f"{mark} new"],
    "records": lambda mark: _make_record(mark, f"{mark} new"),
}


def _rewrite_pair(item: Any, mark: str) -> Any:
    return [item[0], mark]


def _rewrite_record(item: Any, mark: str) -> Any:
    # one member or the other, so that the sides may change both
    name = "lines" if int(mark[1:]) % 2 else "runs"
    return {**item, name: [mark] if name == "lines" else mark}


REWRITERS: dict[str, Callable[[Any, str], Any]] = {
    "pairs": _rewrite_pair,
    "records": _rewrite_record,
}


def insert_item(items: Items, name: str, number: int, mark: str) -> None:
    items.insert(number % (len(items) + 1), MAKERS[name](mark))


def delete_item(items: Items, name: str, number: int, mark: str) -> None:
    if items:
        del items[number % len(items)]


def replace_item(items: Items, name: str, number: int, mark: str) -> None:
    if items:
        place = number % len(items)
        rewrite = REWRITERS.get(name)
        items[place] = MAKERS[name](mark) if rewrite is None else rewrite(items[place], mark)


def move_item(items: Items, name: str, number: int, mark: str) -> None:
    if items:
        item = items.pop(number % len(items))
        items.insert(int(mark[1:]) % (len(items) + 1), item)


ACTIONS: dict[str, Callable[[Items, str, int, str], None]] = {
    "insert": insert_item,
    "delete": delete_item,
    "replace": replace_item,
    "move": move_item,
}
LIST_KINDS = [f"{action} {name}" for action in ACTIONS for name in MAKERS]


def change_list(lists: dict[str, Items], kind: str, number: int, mark: str) -> None:
    """Do what a kind of LIST_KINDS names, at the place that the number gives."""
    action, name = kind.split()
    ACTIONS[action](lists[name], name, number, mark)
