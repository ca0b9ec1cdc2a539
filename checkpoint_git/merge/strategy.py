"""Read what a schema's `x-merge` keyword says of a place, and merge single values by it."""

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
        """Return a schema, or what its `$ref` to "#/..." leads to; {} if it leads nowhere."""
        for _ in range(8):  # references to references; a circle ends too
            reference = schema.get("$ref")
            if type(reference) is not str or not reference.startswith("#/"):
                return schema
            found: Any = self.root
            for key in split_pointer(reference[1:]):
                if type(found) is not dict:
                    break
                found = found.get(key)
            if type(found) is not dict:
                return NONE
            schema = found
        return schema

    def member(self, schema: "Schema", key: str) -> "Schema":
        properties = schema.get("properties")
        if properties and key in properties:
            return self.resolve(properties[key])
        for pattern, named in (schema.get("patternProperties") or NONE).items():
            if pattern[:1] == "^" and key.startswith(pattern[1:]):
                return self.resolve(named)
        rest = schema.get("additionalProperties")
        return self._resolve_any(rest)

    def items(self, schema: "Schema") -> "Schema":
        items = schema.get("items")
        return self._resolve_any(items)

    def item_at(self, schema: "Schema", index: int) -> "Schema":
        """Return the schema of the item at an index of a list.

        The first items may have one for each of them.
        """
        first = schema.get("prefixItems")
        if type(first) is list and index < len(first):
            return self._resolve_any(first[index])
        return self.items(schema)

    def _resolve_any(self, schema: "Any") -> "Schema":
        """Return what resolve does; {} for true, false and what is no schema."""
        if type(schema) is dict:
            return self.resolve(schema)
        return NONE

    def groups(
        self, schema: "Schema", *versions: "dict[str, Node]"
    ) -> "list[tuple[Schema, list[str]]]":
        """Return the rule of each group of an object, and its members: those that a version has.

        The members of a group must come from one side together.
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
    """Return {"strategy": ..., ...}, {} if the structural default holds."""
    return schema.get(KEYWORD) or NONE


def list_strategy(schema: "Schema") -> str:
    """Return the strategy of a list by its schema, "" where its items decide.

    It is what `x-merge` says, else what keywords say that the list is.
    """
    named = merge_rule(schema).get("strategy")
    if named:
        return str(named)
    has_one_length = "maxItems" in schema and schema["maxItems"] == schema.get("minItems")
    if schema.get("prefixItems") or has_one_length:
        return "tuple"
    if schema.get("uniqueItems") is True:
        return "set"
    return ""


def key_names(rule: "Schema") -> "tuple[str, ...]":
    """Return the names of the members that identify an item, () for the whole item.

    They are those of the rule's "key", such as "/id" or ["/rubric", "/at"].
    """
    key = rule.get("key") or ()
    if type(key) is str:
        return (key[1:],)
    return tuple(pointer[1:] for pointer in key)


def _merge_instant(
    rule: "Schema", base: "Node | None", ours: "Node", theirs: "Node"
) -> "Node | None":
    # the later or earlier instant
    our_time = read_loose_instant(ours.value)
    their_time = read_loose_instant(theirs.value)
    if our_time is None or their_time is None:
        return None
    if our_time == their_time:
        return _shorter(ours, theirs)

    is_latest_wanted = rule["strategy"] == "max-time"
    if (our_time > their_time) == is_latest_wanted:
        return ours
    return theirs


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
    our_step = order.index(ours.value)
    their_step = order.index(theirs.value)
    if base is not None:
        if base.value not in order:
            return None
        if order.index(base.value) > min(our_step, their_step):
            return None

    if our_step >= their_step:
        return ours
    return theirs


def _merge_greatest(
    rule: "Schema", base: "Node | None", ours: "Node", theirs: "Node"
) -> "Node | None":
    from checkpoint_git.core.decimals import compare_decimals  # few merges come here

    difference = compare_decimals(ours.value, theirs.value)
    if difference is None:
        return None
    if difference == 0:
        return _shorter(ours, theirs)
    if difference > 0:
        return ours
    return theirs


def _merge_sum(rule: "Schema", base: "Node | None", ours: "Node", theirs: "Node") -> "Fresh | None":
    # ours + theirs - base in exact decimals; a side that fell below base was reset
    from checkpoint_git.core.decimals import decimal_token, read_decimal  # few merges come here

    numbers = []
    for node in (base, ours, theirs):
        number: tuple[int, int] | None = (0, 0)
        if node is not None:
            number = read_decimal(node.value)
        if number is None:
            return None
        numbers.append(number)

    scale = max(node_scale for _, node_scale in numbers)
    before, our_sum, their_sum = [
        digits * 10 ** (scale - node_scale) for digits, node_scale in numbers
    ]
    if our_sum < before or their_sum < before:
        return None
    return Fresh(decimal_token(our_sum + their_sum - before, scale))


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
