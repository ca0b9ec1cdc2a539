"""Reading merge strategies out of a schema: the `x-merge` keyword on the subschema that also validates the place.

The schema is data that came with this package or that the clone's owner named; never a file of a branch being merged.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

STRATEGIES = (
    "atomic",
    "object",
    "max-time",
    "min-time",
    "max",
    "max-number",
    "newest",
    "sum",
    "set",
    "log",
    "rows",
    "queue",
    "group",
)  # fmt: skip

KEYWORD = "x-merge"
REQUIRE = "x-merge-require"
NONE: "Schema" = {}


class Strategies:
    """The strategies that one schema declares, looked up place by place from its root."""

    __slots__ = ("root",)

    def __init__(self, root: "Schema") -> None:
        self.root = root

    def resolve(self, schema: "Schema") -> "Schema":
        """The schema itself, or what its `$ref` to "#/..." names. A reference that leads nowhere is no schema."""
        for _ in range(8):
            reference = schema.get("$ref")
            if type(reference) is not str or not reference.startswith("#/"):
                return schema
            schema = self._named(reference)
        return schema

    def _named(self, reference: str) -> "Schema":
        found: Any = self.root
        for key in reference[2:].split("/"):
            found = found.get(key) if type(found) is dict else None
        return found if type(found) is dict else NONE

    def member(self, schema: "Schema", key: str) -> "Schema":
        """The schema of an object's member."""
        properties = schema.get("properties")
        if properties and key in properties:
            return self.resolve(properties[key])
        for pattern, named in (schema.get("patternProperties") or NONE).items():
            if pattern[:1] == "^" and key.startswith(pattern[1:]):
                return self.resolve(named)
        rest = schema.get("additionalProperties")
        return self.resolve(rest) if type(rest) is dict else NONE

    def items(self, schema: "Schema") -> "Schema":
        """The schema of an array's items."""
        items = schema.get("items")
        return self.resolve(items) if type(items) is dict else NONE


def merge_rule(schema: "Schema") -> "Schema":
    """The place's x-merge keyword: {"strategy": ..., ...}; {} where the structural default holds."""
    return schema.get(KEYWORD) or NONE


def key_names(rule: "Schema") -> "tuple[str, ...]":
    """The member names that identify an item, from "key": "/id" or ["/rubric", "/at"]; () for the whole item."""
    key = rule.get("key") or ()
    pointers = (key,) if type(key) is str else key
    return tuple(pointer[1:] for pointer in pointers)
