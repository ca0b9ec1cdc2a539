"""JSON Schema: a quick answer for what is surely valid, and jsonschema's own words for the rest."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext

MOST_ERRORS = 1_000  # that are explained of one document: a branch may bring one with millions

Check = Callable[[Any], bool]
# the one type that a value must have, and what is asked of it beyond that
Step = tuple[type | None, Check | None]


class Schema:
    """A schema (draft 2020-12) and its quick check, each made when first asked for: most who need
    one need it alone.
    """

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
    """message: jsonschema's words. where: JSON Pointer of the value or missing member. expected: by
    the keyword.
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
    """Return whether jsonschema, format checks off, surely accepts it. False means unsure: ask
    explain.
    """
    try:
        return schema.check(value)
    except (NotSureError, RecursionError):
        return False


# The only owner of jsonschema, which costs ten times an interpreter's start and is imported only to
# explain a failure. It knows no protocol. What make_check does not know makes it answer "not
# surely".
def explain(schema: Schema, value: Any) -> list[Mismatch]:
    """In jsonschema's view (format checks off); [] if the value is valid."""
    found: list[Mismatch] = []
    for error in islice(schema.validator.iter_errors(value), MOST_ERRORS):
        where = ""
        for key in error.absolute_path:
            where = jsontext.join_pointer(where, key)
        if error.validator == "required":
            for name in error.validator_value:
                if name not in error.instance:
                    missing = jsontext.join_pointer(where, name)
                    found.append(Mismatch(missing, "required", name, None, error.message))
        else:
            found.append(
                Mismatch(
                    where,
                    str(error.validator),
                    error.validator_value,
                    error.instance,
                    error.message,
                )
            )

    return list({(mismatch.where, mismatch.keyword): mismatch for mismatch in found}.values())


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
        part = Schema(lambda: {**items, "$defs": schema.document.get("$defs", {})})
        for at, item in enumerate(value if isinstance(value, list) else ()):
            if not is_surely_valid(part, item):
                yield from validator.descend(item, items, path=at)

    def find_repeated(
        validator: Any, is_wanted: Any, value: Any, parent: Mapping[str, Any]
    ) -> Iterator[Any]:
        # jsonschema compares each object with each
        if (
            is_wanted is True
            and isinstance(value, list)
            and len(set(map(_freeze, value))) < len(value)
        ):
            yield ValidationError("it has an item twice")

    own = {"items": find_in_items, "uniqueItems": find_repeated}
    make = validators.extend(Draft202012Validator, own)  # type: ignore[no-untyped-call]  # it has none
    return make(schema.document, registry=Registry())  # an empty registry fetches nothing


def _freeze(value: Any) -> Any:
    """Return what is equal, and can be in a set, for equal JSON values."""
    if isinstance(value, dict):
        return "object", frozenset((key, _freeze(child)) for key, child in value.items())
    if isinstance(value, list):
        return "array", tuple(map(_freeze, value))
    return isinstance(value, bool), value


_ANNOTATIONS = frozenset(
    [
        "$schema",
        "$id",
        "$comment",
        "$defs",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "format",
    ]
)
_KEYWORDS = frozenset(
    (
        "$ref", "type", "enum", "const", "minLength", "maxLength", "pattern", "minItems", "maxItems", "items",
        "minimum", "exclusiveMinimum", "required", "properties", "patternProperties", "additionalProperties",
    )
)  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "object": (dict,), "array": (list,), "boolean": (bool,), "null": (type(None),),
    "integer": (int, float), "number": (int, float),
}  # fmt: skip


_NO_END = float("inf")


class NotSureError(Exception):
    """The schema uses what the quick check does not know."""


def make_check(document: Any) -> Check:
    """True only where jsonschema, format checks off, accepts the value. Raises NotSureError."""
    return _join(
        *_Maker(document.get("$defs", {}) if isinstance(document, dict) else {}).make(document)
    )


def _refuse(value: Any) -> bool:
    return False


class _Members(dict[str, Step]):
    """By name, each made when a value first has it: most values have few of those that a schema
    knows.
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


# A schema becomes functions, and each value goes through those for its own type. None means what
# accepts everything. Whoever holds a step asks for the type itself: a function that does would
# double the time.
class _Maker:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._made: dict[str, Step] = {}

    def make(self, schema: Any) -> Step:
        if isinstance(schema, bool):
            return None, None if schema else _refuse
        if not isinstance(schema, dict):
            raise NotSureError
        known = {
            key: schema[key]
            for key in schema
            if key not in _ANNOTATIONS and not key.startswith("x-")
        }
        if not known.keys() <= _KEYWORDS:
            raise NotSureError
        if [*known] == ["$ref"]:
            return self._make_referred(known["$ref"])
        return self._make_known(known) if known else (None, None)

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
        schemas, patterns = (
            _read_object(schema, "properties"),
            _read_object(schema, "patternProperties"),
        )
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
                if (kind is not None and type(member) is not kind) or (
                    inner is not None and not inner(member)
                ):
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
        members = {name: _join(*self.make(each)) for name, each in schemas.items()}
        searches = [
            (_compile(pattern), _join(*self.make(each))) for pattern, each in patterns.items()
        ]
        rest = _join(*others)

        def is_good(name: str, member: Any) -> bool:
            found = [inner for search, inner in searches if search(name)]
            found += [members[name]] if name in members else []
            return all(inner(member) for inner in (found or [rest]))

        return lambda value: (
            required <= value.keys() and all(is_good(*each) for each in value.items())
        )


def _join(kind: type | None, inner: Check | None) -> Check:
    if kind is None:
        return inner or (lambda value: True)
    return (
        (lambda value: type(value) is kind)
        if inner is None
        else lambda value: type(value) is kind and inner(value)
    )


def _find_allowed(
    types: list[str] | None,
    texts: "frozenset[str] | None",
) -> frozenset[type] | None:
    """Return the types that a value may have, None for any. texts: if only some are allowed."""
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
        if (allowed is not None and type(value) not in allowed) or (
            referred is not None and not referred(value)
        ):
            return False
        inner = by_type.get(type(value))
        return inner is None or inner(value)

    return None, check


def _make_text_check(schema: Mapping[str, Any], texts: "frozenset[str] | None") -> Check | None:
    least, most = _read_bounds(schema, "minLength", "maxLength")
    search = _compile(schema["pattern"]) if "pattern" in schema else None
    if (least, most, search) == (0, _NO_END, None):
        return texts.__contains__ if texts is not None else None
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
    least, below = (_read_whole(schema, name, -_NO_END) for name in ("minimum", "exclusiveMinimum"))
    return lambda value: value >= least and value > below


def _compile(pattern: Any) -> Callable[[str], Any]:
    if isinstance(pattern, str) and pattern[:1] == "^" and pattern[1:].replace("_", "").isalnum():
        # ours is such, and to compile it takes longer
        return lambda text: text.startswith(pattern[1:])
    import re

    try:
        return re.compile(pattern).search
    except (TypeError, re.error, OverflowError):
        raise NotSureError from None


def _read_bounds(schema: Mapping[str, Any], least: str, most: str) -> tuple[float, float]:
    return _read_whole(schema, least, 0), _read_whole(schema, most, _NO_END)


def _read_whole(schema: Mapping[str, Any], keyword: str, default: float) -> float:
    number = schema.get(keyword, default)
    if keyword in schema and type(number) is not int:
        raise NotSureError
    found: float = number
    return found


def _read_types(schema: Mapping[str, Any]) -> list[str] | None:
    if "type" not in schema:
        return None
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if (
        not isinstance(names, list)
        or not names
        or not all(isinstance(name, str) and name in _TYPES for name in names)
    ):
        raise NotSureError
    return names


def _read_texts(schema: Mapping[str, Any]) -> "frozenset[str] | None":
    # the texts that enum and const leave, None if there is neither
    if "const" in schema and "enum" in schema:
        raise NotSureError
    texts = [schema["const"]] if "const" in schema else schema.get("enum")
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
