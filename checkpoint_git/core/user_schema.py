"""Judge documents by a schema that a user wrote: nothing in it is fetched, and nothing can take
forever.
"""

from checkpoint_git.core.jsontext import JsonTextError, split_pointer
from checkpoint_git.core.schema import Schema, explain, is_surely_valid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from checkpoint_git.core.schema import Mismatch

# The value of these is a schema, a list of schemas, or schemas by name.
_ONE = (
    "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames",
    "contains", "not", "if", "then", "else",
)  # fmt: skip
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
# These accept a value because a schema in them refuses it, or choose by it: half of that schema
# would be another one.
_EXACT = ("not", "if", "oneOf", "contains", "unevaluatedProperties", "unevaluatedItems")
# A regular expression can take hours on a text that somebody else wrote. The rest names other
# documents.
_UNREAD = ("pattern", "$schema", "$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$vocabulary")


def make_judge(schema: "dict[str, Any]") -> "Callable[[Any], list[str]]":
    """Return a judge: it lists the places at which a document breaks a schema, as JSON Pointers.

    The list of a valid document is empty. schema, and the documents: numbers as tokens. The judge
    raises JsonTextError if the schema cannot be applied.
    """
    explain_document = make_explainer(schema)
    return lambda document: [mismatch.where for mismatch in explain_document(document)]


def make_explainer(schema: "dict[str, Any]") -> "Callable[[Any], list[Mismatch]]":
    """Return a judge as make_judge does, which lists the reasons too."""
    readable = Schema(lambda: _SchemaReader(schema).read(to_numbers(schema))[0])

    def explain_document(document: "Any") -> "list[Mismatch]":
        try:
            value = to_numbers(document)
            if is_surely_valid(readable, value):
                return []
            return explain(readable, value)
        except Exception as error:  # of a schema that is not one, or that leads back into itself
            message = f"the schema cannot be applied to it ({type(error).__name__})"
            raise JsonTextError("schema/unusable", message) from None

    return explain_document


def to_numbers(value: "Any") -> "Any":
    """Return a value with Python numbers in place of tokens."""
    kind = type(value)
    if kind is bytes:
        is_integer = not (b"." in value or b"e" in value or b"E" in value)
        if is_integer and len(value) < 4_000:
            return int(value)
        return float(value)

    if kind is dict:
        return {key: to_numbers(child) for key, child in value.items()}
    if kind is list:
        return [to_numbers(child) for child in value]
    return value


class _SchemaReader:
    def __init__(self, root: "dict[str, Any]") -> None:
        self._root = root

    def read(self, schema: "Any") -> "tuple[Any, bool]":
        """Return a schema without what is not read, and whether nothing was left out."""
        if type(schema) is not dict:
            return schema, True
        found: dict[str, Any] = {}
        is_whole = True
        for key, value in schema.items():
            read, is_read = self._read_keyword(key, value)
            if is_read or key not in (*_EXACT, *_UNREAD, "$ref"):
                found[key] = read
            is_whole = is_whole and is_read

        patterns = schema.get("patternProperties")
        if type(patterns) is dict and len(found["patternProperties"]) < len(patterns):
            found.pop("additionalProperties", None)  # some names belong to a pattern
            found.pop("unevaluatedProperties", None)

        return found, is_whole

    def _read_keyword(self, key: str, value: "Any") -> "tuple[Any, bool]":
        if key in _UNREAD:
            return None, key in ("$schema", "$id", "$vocabulary")
        if key == "$ref":
            return value, self._is_known(value)
        if key in _ONE:
            if type(value) in (dict, bool):
                return self.read(value)
            return True, False  # of an older draft, which has a list there

        if key in _LISTS and type(value) is list:
            return self._read_list(value)
        if key in _MAPS and type(value) is dict:
            names = [name for name in value if key != "patternProperties" or _is_prefix(name)]
            parts, is_read = self._read_list([value[name] for name in names])
            return dict(zip(names, parts, strict=True)), is_read and len(names) == len(value)

        return value, True

    def _read_list(self, schemas: "list[Any]") -> "tuple[list[Any], bool]":
        parts = [self.read(schema) for schema in schemas]
        return [part for part, _ in parts], all(is_read for _, is_read in parts)

    def _is_known(self, reference: "Any") -> bool:
        """Return whether a reference leads to another part of this schema."""
        if reference == "#":
            return True
        if type(reference) is not str or not reference.startswith("#/") or "%" in reference:
            return False
        part: Any = self._root
        for key in split_pointer(reference[1:]):
            if type(part) is not dict:
                return False
            part = part.get(key)
        return type(part) in (dict, bool)


def _is_prefix(pattern: str) -> bool:
    return pattern[:1] == "^" and pattern[1:].replace("_", "").isalnum()
