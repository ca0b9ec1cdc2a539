"""Judge values by JSON Schema: quickly what is surely valid, by jsonschema the rest.

jsonschema costs ten times an interpreter's start, so it is imported only here, and only to explain
a failure. For the quick check a schema becomes functions, and each value goes through those for its
type; a schema that it does not know completely makes it answer "not surely".
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext

MOST_ERRORS = 1_000  # that are explained of one document: a branch may bring one with millions

Check = Callable[[Any], bool]
# The one type that a value must have, and what is asked of it beyond that; None accepts everything.
# Whoever has a step compares the type itself: a function that does would double the time.
Step = tuple[type | None, Check | None]


class Schema:
    """A schema (draft 2020-12) and its quick check, each made when it is first asked for."""

    def __init__(self, load_document: Callable[[], Any]) -> None:
        self._load_document = load_document

    @cached_property
    def document(self) -> Any:
        return self._load_document()

    @cached_property
    def check(self) -> Check:
        try:
            return make_check(self.document)
        except (NotSureError, RecursionError):
            return _refuse

    @cached_property
    def validator(self) -> Any:
        """jsonschema's; to make one takes longer than to validate most documents."""
        return _make_validator(self)


class Mismatch(NamedTuple):
    """One way in which a value breaks a schema.

    message: jsonschema's words. where: JSON Pointer of the value or missing member. expected: what
    the schema has at the keyword.
    """

    where: str
    keyword: str
    expected: Any
    value: Any
    message: str


def load_schema(text: str) -> Schema:
    document = jsontext.load(text)
    return Schema(lambda: document)


def is_surely_valid(schema: Schema, value: Any) -> bool:
    """Whether jsonschema, format checks off, surely accepts it. False means unsure: ask explain."""
    try:
        return schema.check(value)
    except (NotSureError, RecursionError):
        return False


def explain(schema: Schema, value: Any) -> list[Mismatch]:
    """Return what jsonschema (format checks off) finds wrong, [] if the value is valid."""
    found: dict[tuple[str, str], Mismatch] = {}
    for error in islice(schema.validator.iter_errors(value), MOST_ERRORS):
        for mismatch in _read_error(error):
            found[mismatch.where, mismatch.keyword] = mismatch

    return list(found.values())


def _read_error(error: Any) -> Iterator[Mismatch]:
    """Yield an error of jsonschema; one about missing members for each of them."""
    where = ""
    for key in error.absolute_path:
        where = jsontext.join_pointer(where, key)
    keyword, expected = str(error.validator), error.validator_value
    if keyword != "required":
        yield Mismatch(where, keyword, expected, error.instance, error.message)
        return
    for name in expected:
        if name not in error.instance:
            missing = jsontext.join_pointer(where, name)
            yield Mismatch(missing, keyword, name, None, error.message)


def _make_validator(schema: Schema) -> Any:
    try:
        from jsonschema import Draft202012Validator, ValidationError, validators
    except ImportError:
        # The merge driver runs without site-packages, and few of its merges need this
        import site

        site.main()
        from jsonschema import Draft202012Validator, ValidationError, validators

    from referencing import Registry

    def find_in_items(
        validator: Any, items: Any, value: Any, parent: Mapping[str, Any]
    ) -> Iterator[Any]:
        # jsonschema takes 20 microseconds for an item that is right, and a file has room for a
        # million
        if not isinstance(items, dict) or "prefixItems" in parent:
            yield from Draft202012Validator.VALIDATORS["items"](validator, items, value, parent)
            return
        if not isinstance(value, list):
            return
        part = Schema(lambda: {**items, "$defs": schema.document.get("$defs", {})})
        for index, item in enumerate(value):
            if not is_surely_valid(part, item):
                yield from validator.descend(item, items, path=index)

    def find_repeated(
        validator: Any, is_wanted: Any, value: Any, parent: Mapping[str, Any]
    ) -> Iterator[Any]:
        if is_wanted is not True or not isinstance(value, list):
            return
        # jsonschema compares each object with each other one
        if len(set(map(_freeze, value))) < len(value):
            yield ValidationError("it has an item twice")

    faster = {"items": find_in_items, "uniqueItems": find_repeated}
    make = validators.extend(Draft202012Validator, faster)  # type: ignore[no-untyped-call]  # it has none
    return make(schema.document, registry=Registry())  # an empty registry fetches nothing


def _freeze(value: Any) -> Any:
    """Return something that can be in a set, and is equal for equal JSON values."""
    if isinstance(value, dict):
        return "object", frozenset((key, _freeze(child)) for key, child in value.items())
    if isinstance(value, list):
        return "array", tuple(map(_freeze, value))
    return isinstance(value, bool), value


_ANNOTATIONS = frozenset([
    "$schema", "$id", "$comment", "$defs", "title", "description", "default", "examples",
    "deprecated", "format",
])  # fmt: skip
_KEYWORDS = frozenset([
    "$ref", "type", "enum", "const",
    "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "items",
    "minimum", "exclusiveMinimum",
    "required", "properties", "patternProperties", "additionalProperties",
])  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "object": (dict,),
    "array": (list,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int, float),
    "number": (int, float),
}
_NO_END = float("inf")


class NotSureError(Exception):
    """The schema uses what the quick check does not know."""


def make_check(document: Any) -> Check:
    """Return a check that accepts a value only if jsonschema, format checks off, does.

    Raises NotSureError.
    """
    definitions = document.get("$defs", {}) if isinstance(document, dict) else {}
    return _join(*_Maker(definitions).make(document))


def _refuse(value: Any) -> bool:
    return False


class _Members(dict[str, Step]):
    """The steps of members by name, each made when a value first has it.

    Most values have few of the members that a schema knows.
    """

    def __init__(
        self, make: Callable[[Any], Step], schemas: Mapping[str, Any], others: Step
    ) -> None:
        super().__init__()
        self._make, self._schemas, self._others = make, schemas, others

    def __missing__(self, name: str) -> Step:
        if name not in self._schemas:
            return self._others
        self[name] = made = self._make(self._schemas[name])
        return made


class _Maker:
    """Makes the step of a schema, and of all schemas in it. definitions: those of "$defs"."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._made: dict[str, Step] = {}

    def make(self, schema: Any) -> Step:
        if schema is True:
            return None, None
        if schema is False:
            return None, _refuse
        if not isinstance(schema, dict):
            raise NotSureError
        known = {
            key: schema[key]
            for key in schema
            if key not in _ANNOTATIONS and not key.startswith("x-")
        }
        if not known:
            return None, None
        if not known.keys() <= _KEYWORDS:
            raise NotSureError
        if [*known] == ["$ref"]:
            return self._make_referred(known["$ref"])
        return self._make_known(known)

    def _make_known(self, known: Mapping[str, Any]) -> Step:
        """Return the step of a schema with known keywords only."""
        types = _read_types(known)
        texts = _read_texts(known)
        number = _make_number_check(known)
        checks: dict[type, Check | None] = {
            str: _make_text_check(known, texts),
            int: number,
            float: number,
            list: self._make_array_check(known),
            dict: self._make_object_check(known),
        }
        if types and "integer" in types and "number" not in types:
            checks[float] = lambda value: value.is_integer() and (number is None or number(value))
        by_type = {kind: check for kind, check in checks.items() if check}
        referred = _join(*self._make_referred(known["$ref"])) if "$ref" in known else None
        return _choose(_find_allowed(types, texts), by_type, referred)

    def _make_referred(self, reference: Any) -> Step:
        name = reference.removeprefix("#/$defs/") if isinstance(reference, str) else ""
        if reference != f"#/$defs/{name}" or name not in self._definitions:
            raise NotSureError
        if name not in self._made:
            # for a definition that leads back to itself
            self._made[name] = None, lambda value: _join(*self._made[name])(value)
            self._made[name] = self.make(self._definitions[name])
        return self._made[name]

    def _make_array_check(self, schema: Mapping[str, Any]) -> Check | None:
        least, most = _read_bounds(schema, "minItems", "maxItems")
        kind, item = self.make(schema.get("items", True))
        if (kind, item, least, most) == (None, None, 0, _NO_END):
            return None
        kinds = frozenset((kind,))
        return lambda value: (
            least <= len(value) <= most
            and (kind is None or kinds.issuperset(map(type, value)))
            and (item is None or all(map(item, value)))
        )

    def _make_object_check(self, schema: Mapping[str, Any]) -> Check | None:
        names = schema.get("required", [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise NotSureError
        required = frozenset(names)
        schemas = _read_object(schema, "properties")
        patterns = _read_object(schema, "patternProperties")
        others = self.make(schema.get("additionalProperties", True))
        if patterns:
            return self._make_pattern_check(required, schemas, patterns, others)
        if not (required or schemas or any(others)):
            return None
        members = _Members(self.make, schemas, others)

        def check(value: dict[str, Any]) -> bool:
            if not required <= value.keys():
                return False
            for name, member in value.items():
                kind, inner = members[name]
                if kind is not None and type(member) is not kind:
                    return False
                if inner is not None and not inner(member):
                    return False
            return True

        return check

    def _make_pattern_check(
        self,
        required: frozenset[str],
        schemas: Mapping[str, Any],
        patterns: Mapping[str, Any],
        others: Step,
    ) -> Check:
        members = {name: _join(*self.make(part)) for name, part in schemas.items()}
        searches = [
            (_compile(pattern), _join(*self.make(part))) for pattern, part in patterns.items()
        ]
        rest = _join(*others)

        def is_valid(name: str, member: Any) -> bool:
            found = [inner for search, inner in searches if search(name)]
            if name in members:
                found.append(members[name])
            return all(inner(member) for inner in (found or [rest]))

        def check(value: dict[str, Any]) -> bool:
            if not required <= value.keys():
                return False
            return all(is_valid(name, member) for name, member in value.items())

        return check


def _join(kind: type | None, inner: Check | None) -> Check:
    """Return a step as one check."""
    if kind is None:
        return inner or (lambda value: True)
    if inner is None:
        return lambda value: type(value) is kind
    return lambda value: type(value) is kind and inner(value)


def _find_allowed(
    types: list[str] | None,
    texts: "frozenset[str] | None",
) -> frozenset[type] | None:
    """Return the types that a value may have, None for any. texts: the allowed ones, or None."""
    allowed = None
    if types is not None:
        allowed = frozenset(kind for name in types for kind in _TYPES[name])
    if texts is None:
        return allowed
    return frozenset((str,)) & (allowed or {str})


def _choose(
    allowed: frozenset[type] | None, by_type: Mapping[type, Check], referred: Check | None
) -> Step:
    if allowed and len(allowed) == 1 and not referred:
        (kind,) = allowed
        return kind, by_type.get(kind)

    def check(value: Any) -> bool:
        if allowed is not None and type(value) not in allowed:
            return False
        if referred is not None and not referred(value):
            return False
        inner = by_type.get(type(value))
        return inner is None or inner(value)

    return None, check


def _make_text_check(schema: Mapping[str, Any], texts: "frozenset[str] | None") -> Check | None:
    least, most = _read_bounds(schema, "minLength", "maxLength")
    search = _compile(schema["pattern"]) if "pattern" in schema else None
    if (least, most, search) == (0, _NO_END, None):
        if texts is None:
            return None
        return texts.__contains__
    if (least, most, search, texts) == (1, _NO_END, None, None):
        return bool
    return lambda value: (
        least <= len(value) <= most
        and (search is None or bool(search(value)))
        and (texts is None or value in texts)
    )


def _make_number_check(schema: Mapping[str, Any]) -> Check | None:
    if "minimum" not in schema and "exclusiveMinimum" not in schema:
        return None
    least = _read_whole(schema, "minimum", -_NO_END)
    below = _read_whole(schema, "exclusiveMinimum", -_NO_END)
    return lambda value: value >= least and value > below


def _compile(pattern: Any) -> Callable[[str], Any]:
    if isinstance(pattern, str) and pattern[:1] == "^" and pattern[1:].replace("_", "").isalnum():
        # the patterns of our schemas are of this form, and to compile them takes longer
        return lambda text: text.startswith(pattern[1:])
    import re

    try:
        return re.compile(pattern).search
    except (TypeError, re.error, OverflowError):
        raise NotSureError from None


def _read_bounds(schema: Mapping[str, Any], least: str, most: str) -> tuple[float, float]:
    return _read_whole(schema, least, 0), _read_whole(schema, most, _NO_END)


def _read_whole(schema: Mapping[str, Any], keyword: str, default: float) -> float:
    if keyword not in schema:
        return default
    number = schema[keyword]
    if type(number) is not int:
        raise NotSureError
    return number


def _read_types(schema: Mapping[str, Any]) -> list[str] | None:
    if "type" not in schema:
        return None
    names = schema["type"]
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, list) or not names:
        raise NotSureError
    if not all(isinstance(name, str) and name in _TYPES for name in names):
        raise NotSureError
    return names


def _read_texts(schema: Mapping[str, Any]) -> "frozenset[str] | None":
    """Return the texts that enum or const allows, None if there is neither."""
    if "const" in schema and "enum" in schema:
        raise NotSureError
    texts = schema.get("enum")
    if "const" in schema:
        texts = [schema["const"]]
    if texts is None:
        return None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise NotSureError
    return frozenset(texts)


def _read_object(schema: Mapping[str, Any], keyword: str) -> dict[str, Any]:
    found = schema.get(keyword, {})
    if not isinstance(found, dict):
        raise NotSureError
    return found
