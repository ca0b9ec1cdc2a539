"""JSON Schema: a quick answer for what is surely valid, and jsonschema's own words for the rest.

The only owner of jsonschema, which costs ten times an interpreter's start and is imported only to explain a failure.
It knows the keywords below and no protocol. Whatever it does not know makes it answer "not surely".
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext

Check = Callable[[Any], bool]


class Schema(NamedTuple):
    """A schema as data (draft 2020-12), and its quick check."""

    document: Any
    check: Check


class Mismatch(NamedTuple):
    """One place where a value breaks its schema.

    where: JSON Pointer of the value, or of the member that is missing. keyword: the schema's keyword that failed.
    expected: what that keyword asks for. value: what stands there. message: jsonschema's words.
    """

    where: str
    keyword: str
    expected: Any
    value: Any
    message: str


class _NotSureError(Exception):
    """The schema uses what the quick check does not know."""


def load_schema(text: str) -> Schema:
    """A schema from its text. Raises JsonTextError where that is not JSON."""
    document = jsontext.load(text)
    try:
        check = _compile(document, _Compiler(document))
    except _NotSureError:
        check = _never
    return Schema(document, check)


def is_surely_valid(schema: Schema, value: Any) -> bool:
    """True only where jsonschema, format checks off, accepts the value. False says nothing: ask explain."""
    return schema.check(value)


def explain(schema: Schema, value: Any) -> list[Mismatch]:
    """Every place where a value breaks the schema, in jsonschema's view (format checks off); [] where it is valid."""
    from jsonschema import Draft202012Validator

    found: list[Mismatch] = []
    for error in Draft202012Validator(schema.document).iter_errors(value):
        where = ""
        for key in error.absolute_path:
            where = jsontext.join_pointer(where, key)
        if error.validator == "required":
            found += [
                _missing(where, name, error.message) for name in error.validator_value if name not in error.instance
            ]
        else:
            found.append(Mismatch(where, str(error.validator), error.validator_value, error.instance, error.message))
    return list({(mismatch.where, mismatch.keyword): mismatch for mismatch in found}.values())


def _missing(where: str, name: str, message: str) -> Mismatch:
    return Mismatch(jsontext.join_pointer(where, name), "required", name, None, message)


# the quick check: every schema becomes a function of a value


class _Compiler:
    """Resolves #/$defs/ references, each compiled once."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self._done: dict[str, Check] = {}

    def resolve(self, reference: Any) -> Check:
        if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
            raise _NotSureError
        name = reference.removeprefix("#/$defs/")
        if name not in self._done:
            definitions = self.document.get("$defs", {})
            if name not in definitions:
                raise _NotSureError
            self._done[name] = lambda value: self._done[name](value)  # a definition may refer to itself
            self._done[name] = _compile(definitions[name], self)
        return self._done[name]


def _always(value: Any) -> bool:
    return True


def _never(value: Any) -> bool:
    return False


def _compile(schema: Any, compiler: _Compiler) -> Check:
    if schema is True or schema == {}:
        return _always
    if not isinstance(schema, dict):
        raise _NotSureError
    checks = [check for check in _keyword_checks(schema, compiler) if check is not _always]
    if not checks:
        return _always
    return checks[0] if len(checks) == 1 else _all_of(checks)


def _all_of(checks: list[Check]) -> Check:
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)

    def check_all(value: Any) -> bool:
        for check in checks:  # noqa: SIM110 - a generator costs twice as much here, in the hot place of a long run
            if not check(value):
                return False
        return True

    return check_all


def _keyword_checks(schema: dict[str, Any], compiler: _Compiler) -> list[Check]:
    checks = []
    for keyword, expected in schema.items():
        if keyword in _ANNOTATIONS or keyword.startswith("x-"):
            continue
        if keyword == "$ref":
            checks.append(compiler.resolve(expected))
        elif keyword in _TEXT_KEYWORDS:
            checks.append(_TEXT_KEYWORDS[keyword](expected))
        elif keyword in _NESTED_KEYWORDS:
            checks.append(_NESTED_KEYWORDS[keyword](schema, compiler))
        else:
            raise _NotSureError
    return checks


def _is_integer(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


_TYPES: dict[str, Check] = {
    "string": lambda value: type(value) is str,
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "integer": _is_integer,
    "number": lambda value: type(value) is int or type(value) is float,
}


def _type(expected: Any) -> Check:
    names = [expected] if isinstance(expected, str) else expected
    if not isinstance(names, list) or not names or any(name not in _TYPES for name in names):
        raise _NotSureError
    if len(names) == 1:
        return _TYPES[names[0]]
    first, second = _TYPES[names[0]], _TYPES[names[1]]
    if len(names) == 2:
        return lambda value: first(value) or second(value)
    checks = [_TYPES[name] for name in names]
    return lambda value: any(check(value) for check in checks)


def _enum(expected: Any) -> Check:
    if not isinstance(expected, list) or not all(isinstance(text, str) for text in expected):
        raise _NotSureError
    allowed = frozenset(expected)
    return lambda value: type(value) is str and value in allowed


def _const(expected: Any) -> Check:
    return _enum([expected])


def _size(expected: Any) -> int:
    if type(expected) is not int:
        raise _NotSureError
    return expected


def _min_length(expected: Any) -> Check:
    size = _size(expected)
    return lambda value: type(value) is not str or len(value) >= size


def _max_length(expected: Any) -> Check:
    size = _size(expected)
    return lambda value: type(value) is not str or len(value) <= size


def _min_items(expected: Any) -> Check:
    size = _size(expected)
    return lambda value: type(value) is not list or len(value) >= size


def _max_items(expected: Any) -> Check:
    size = _size(expected)
    return lambda value: type(value) is not list or len(value) <= size


def _minimum(expected: Any) -> Check:
    limit = _size(expected)
    return lambda value: (type(value) is not int and type(value) is not float) or value >= limit


def _exclusive_minimum(expected: Any) -> Check:
    limit = _size(expected)
    return lambda value: (type(value) is not int and type(value) is not float) or value > limit


def _pattern(expected: Any) -> Check:
    search = _searcher(expected)
    return lambda value: type(value) is not str or search(value) is not None


def _searcher(expected: Any) -> Callable[[str], object]:
    if not isinstance(expected, str):
        raise _NotSureError
    try:
        return re.compile(expected).search
    except re.error:
        raise _NotSureError from None


def _required(expected: Any) -> Check:
    if not isinstance(expected, list) or not all(isinstance(name, str) for name in expected):
        raise _NotSureError
    names = frozenset(expected)
    return lambda value: type(value) is not dict or names <= value.keys()


_TEXT_KEYWORDS: dict[str, Callable[[Any], Check]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minLength": _min_length,
    "maxLength": _max_length,
    "minItems": _min_items,
    "maxItems": _max_items,
    "minimum": _minimum,
    "exclusiveMinimum": _exclusive_minimum,
    "pattern": _pattern,
    "required": _required,
}


def _items(schema: dict[str, Any], compiler: _Compiler) -> Check:
    check = _compile(schema["items"], compiler)
    if check is _always:
        return _always

    def check_items(value: Any) -> bool:
        if type(value) is list:
            for item in value:
                if not check(item):
                    return False
        return True

    return check_items


def _properties(schema: dict[str, Any], compiler: _Compiler) -> Check:
    if not isinstance(schema["properties"], dict):
        raise _NotSureError
    compiled = {name: _compile(child, compiler) for name, child in schema["properties"].items()}
    checks = {name: check for name, check in compiled.items() if check is not _always}
    find = checks.get

    def check_members(value: Any) -> bool:
        if type(value) is dict:
            for name, member in value.items():
                check = find(name)
                if check is not None and not check(member):
                    return False
        return True

    return check_members if checks else _always


def _pattern_properties(schema: dict[str, Any], compiler: _Compiler) -> Check:
    if not isinstance(schema["patternProperties"], dict):
        raise _NotSureError
    compiled = [(key, _compile(child, compiler)) for key, child in schema["patternProperties"].items()]
    checks = [(_searcher(key), check) for key, check in compiled if check is not _always]
    if not checks:
        return _always

    def check_members(value: Any) -> bool:
        return type(value) is not dict or all(
            check(member) for name, member in value.items() for search, check in checks if search(name)
        )

    return check_members


def _additional_properties(schema: dict[str, Any], compiler: _Compiler) -> Check:
    check: Check = _never
    if schema["additionalProperties"] is not False:
        check = _compile(schema["additionalProperties"], compiler)
    if check is _always:
        return _always
    known = frozenset(schema.get("properties", ()))
    patterns = [_searcher(key) for key in schema.get("patternProperties", ())]

    def check_members(value: Any) -> bool:
        return type(value) is not dict or all(
            name in known or any(search(name) for search in patterns) or check(member) for name, member in value.items()
        )

    return check_members


_NESTED_KEYWORDS: dict[str, Callable[[dict[str, Any], _Compiler], Check]] = {
    "items": _items,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
}

_ANNOTATIONS = frozenset(
    ["$schema", "$id", "$comment", "$defs", "title", "description", "default", "examples", "deprecated", "format"]
)
