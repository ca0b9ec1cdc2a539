"""Merge strategies: what a schema's `x-merge` keyword says of a place, and how single values
merge.
"""

from checkpoint_git.core.clock import read_loose_instant
from checkpoint_git.core.jsontext import split_pointer
from checkpoint_git.merge.result import Fresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from checkpoint_git.core.jsontext import Node

Schema = dict[str, "Any"]
KEYED = ("set", "log", "rows", "queue")  # lists whose items are known by a key
ORDERED = ("sequence", "tuple")  # lists whose items are known by where they are

KEYWORD = "x-merge"
REQUIRE = "x-merge-require"
NONE: "Schema" = {}


class Strategies:
    __slots__ = ("root",)

    def __init__(self, root: "Schema") -> None:
        self.root = root

    def resolve(self, schema: "Schema") -> "Schema":
        """Also what its `$ref` to "#/..." names; {} for a reference that leads nowhere."""
        for _ in range(8):  # references to references; a circle ends too
            reference = schema.get("$ref")
            if type(reference) is not str or not reference.startswith("#/"):
                return schema
            found: Any = self.root
            for key in split_pointer(reference[1:]):
                found = found.get(key) if type(found) is dict else None
            schema = found if type(found) is dict else NONE
        return schema

    def member(self, schema: "Schema", key: str) -> "Schema":
        properties = schema.get("properties")
        if properties and key in properties:
            return self.resolve(properties[key])
        for pattern, named in (schema.get("patternProperties") or NONE).items():
            if pattern[:1] == "^" and key.startswith(pattern[1:]):
                return self.resolve(named)
        rest = schema.get("additionalProperties")
        return self.resolve(rest) if type(rest) is dict else NONE

    def items(self, schema: "Schema") -> "Schema":
        items = schema.get("items")
        return self.resolve(items) if type(items) is dict else NONE

    def item_at(self, schema: "Schema", index: int) -> "Schema":
        """Return what holds for the item at an index of a list that has a schema for each of the
        first.
        """
        first = schema.get("prefixItems")
        if type(first) is list and index < len(first):
            return self.resolve(first[index]) if type(first[index]) is dict else NONE
        return self.items(schema)

    def groups(
        self, schema: "Schema", *versions: "dict[str, Node]"
    ) -> "list[tuple[Schema, list[str]]]":
        """Return the rule of each group of an object, and its members: those that a version has.

        They must come from one side together.
        """
        found: dict[str, tuple[Schema, list[str]]] = {}
        for key, place in (schema.get("properties") or NONE).items():
            rule = merge_rule(self.resolve(place))
            if rule.get("strategy") == "group" and any(key in version for version in versions):
                found.setdefault(rule["name"], (rule, []))[1].append(key)
        return list(found.values())


# The keyword is on the subschema that also validates the place. The schema came with this package
# or was named by the clone's owner; it is never a file of a branch being merged, because a branch
# could then change how it is merged.
def merge_rule(schema: "Schema") -> "Schema":
    """{"strategy": ..., ...}; {} if the structural default holds."""
    return schema.get(KEYWORD) or NONE


def list_strategy(schema: "Schema") -> str:
    """Return how a list merges by its schema: by what `x-merge` says, else by keywords that say
    what the list is. "" where its items decide.
    """
    named = merge_rule(schema).get("strategy")
    if named:
        return str(named)
    if schema.get("prefixItems") or (
        "maxItems" in schema and schema["maxItems"] == schema.get("minItems")
    ):
        return "tuple"
    return "set" if schema.get("uniqueItems") is True else ""


def key_names(rule: "Schema") -> "tuple[str, ...]":
    """The member names that identify an item, from "key": "/id" or ["/rubric", "/at"]; () for the
    whole item.
    """
    key = rule.get("key") or ()
    return tuple(pointer[1:] for pointer in ((key,) if type(key) is str else key))


def _merge_instant(
    rule: "Schema", base: "Node | None", ours: "Node", theirs: "Node"
) -> "Node | None":
    # the later or earlier instant
    left, right = read_loose_instant(ours.value), read_loose_instant(theirs.value)
    if left is None or right is None:
        return None
    if left == right:
        return _shorter(ours, theirs)
    return ours if (left > right) == (rule["strategy"] == "max-time") else theirs


def _shorter(ours: "Node", theirs: "Node") -> "Node":
    # of two spellings of one value the shorter, then the smaller by code point
    return min(ours, theirs, key=lambda node: (len(node.value), node.value))


def _merge_highest(
    rule: "Schema", base: "Node | None", ours: "Node", theirs: "Node"
) -> "Node | None":
    # the later of two values in the rule's "order", where both sides moved forward from base
    order = rule.get("order") or ()
    if not all(type(side.value) is str and side.value in order for side in (ours, theirs)):
        return None
    left, right = order.index(ours.value), order.index(theirs.value)
    if base is not None and (base.value not in order or order.index(base.value) > min(left, right)):
        return None
    return ours if left >= right else theirs


def _merge_greatest(
    rule: "Schema", base: "Node | None", ours: "Node", theirs: "Node"
) -> "Node | None":
    from checkpoint_git.core.decimals import compare_decimals  # few merges come here

    difference = compare_decimals(ours.value, theirs.value)
    if difference is None:
        return None
    return _shorter(ours, theirs) if difference == 0 else ours if difference > 0 else theirs


def _merge_sum(rule: "Schema", base: "Node | None", ours: "Node", theirs: "Node") -> "Fresh | None":
    # ours + theirs - base in exact decimals; a side that fell below base was reset
    from checkpoint_git.core.decimals import decimal_token, read_decimal  # few merges come here

    found = [
        read_decimal(node.value) if node is not None else (0, 0) for node in (base, ours, theirs)
    ]
    numbers = [number for number in found if number is not None]
    if len(numbers) < 3:
        return None
    scale = max(number[1] for number in numbers)
    start, left, right = [digits * 10 ** (scale - own) for digits, own in numbers]
    if left < start or right < start:
        return None
    return Fresh(decimal_token(left + right - start, scale))


# Strategies of single values. "newest" is not among them: it needs the whole documents.
LEAF_STRATEGIES = {
    "max-time": _merge_instant,
    "min-time": _merge_instant,
    "max": _merge_highest,
    "max-number": _merge_greatest,
    "sum": _merge_sum,
}

# Every strategy, each once. Their options are in x_merge_schema.json, which the lint reads. A test
# compares the table with that file, docs/x-merge.md and the conformance vectors, both ways.
STRATEGIES = ("atomic", "object", "newest", *LEAF_STRATEGIES, *KEYED, *ORDERED, "group")
