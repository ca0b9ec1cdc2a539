"""What every protocol's room offers, and how one is opened by its name. It knows no protocol itself.

A room is a package with five drawers: layout.py (names and places), schema.json (shape, and how versions merge),
rules.py (meaning beyond shape), store.py (reading and writing) and README.md.
"""

import os
from importlib import import_module
from typing import Any, NamedTuple, Protocol, cast

from checkpoint_git.core import jsontext
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.schema import Check, Mismatch, Schema
from checkpoint_git.protocols.registry import KINDS

DRAWERS = ("layout.py", "schema.json", "rules.py", "store.py", "README.md")


class Layout(Protocol):
    """layout.py: how files are named."""

    SUFFIX: str

    def find_skill(self, file_name: str) -> str:
        """The owner that a file's name says, "" where the name is not one of this protocol's."""


class Rules(Protocol):
    """rules.py: what a document means. Findings come with `where` set; path, line and column are filled in later."""

    def describe(self, mismatch: Mismatch) -> Finding:
        """A break of the schema in the protocol's own words."""

    def check(self, value: dict[str, Any], *, skill: str, size: int, now: int) -> list[Finding]:
        """Everything beyond shape that is wrong with a document; the value may break the schema.

        skill: the name that the file's name says. size: of the file, bytes. now: seconds since 1970.
        """


class Room(NamedTuple):
    """An opened room, as far as checks need it."""

    layout: Layout
    rules: Rules
    schema: Schema


_opened: dict[str, Room] = {}


def open_room(kind: str) -> Room:
    """The room of a kind of file in the registry with that kind's schema, opened once a process."""
    if kind not in _opened:
        row = next(each for each in KINDS if each.name == kind)
        _opened[kind] = _load_room(row.package, row.schema)
    return _opened[kind]


def _load_room(module: str, schema_file: str) -> Room:
    layout = cast(Layout, import_module(f"{module}.layout"))
    rules = import_module(f"{module}.rules")
    path = os.path.join(os.path.dirname(str(rules.__file__)), schema_file)
    return Room(layout, cast(Rules, rules), Schema(lambda: _load_document(path), _load_check(module, path)))


def _load_document(path: str) -> Any:
    with open(path, encoding="utf-8") as stream:
        return jsontext.load(stream.read())


def _load_check(module: str, path: str) -> Check | None:
    """The quick check that a room keeps beside its schema (schema.json: schema_check.py), None where it keeps none."""
    kept = path.removesuffix(".json") + "_check.py"
    if not os.path.isfile(kept):
        return None
    name = os.path.basename(kept).removesuffix(".py")
    return cast(Check, import_module(f"{module}.{name}").check)
