"""A JSON Schema written as plain Python that only ever says "valid" where jsonschema does."""

import re
from typing import Any

Lines = list[str]

_ANNOTATIONS = frozenset(
    ["$schema", "$id", "$comment", "$defs", "title", "description", "default", "examples", "deprecated", "format"]
)
# by keyword, the one type of values that it says something about
_APPLIES_TO = {
    "minLength": "string",
    "maxLength": "string",
    "pattern": "string",
    "minItems": "array",
    "maxItems": "array",
    "items": "array",
    "minimum": "number",
    "exclusiveMinimum": "number",
    "required": "object",
    "properties": "object",
    "patternProperties": "object",
    "additionalProperties": "object",
}
_IS_TYPE = {
    "string": "type({0}) is str",
    "object": "type({0}) is dict",
    "array": "type({0}) is list",
    "boolean": "type({0}) is bool",
    "null": "{0} is None",
    "integer": "type({0}) is int or (type({0}) is float and {0}.is_integer())",
    "number": "type({0}) is int or type({0}) is float",
}
# by keyword, what is wrong with a value of the right type
_BREAKS = {
    "minLength": "len({0}) < {1}",
    "maxLength": "len({0}) > {1}",
    "minItems": "len({0}) < {1}",
    "maxItems": "len({0}) > {1}",
    "minimum": "not {0} >= {1}",
    "exclusiveMinimum": "not {0} > {1}",
}
_LONGEST_LINE = 110
_IS_EMPTY = (("minLength", 1), ("minItems", 1))


class NotSureError(Exception):
    """The schema uses what the quick check does not know."""


# It knows the keywords below and no protocol. What it does not know is a NotSureError: then there is no quick check. A
# function of its own for each place would cost two calls a value; in a long run that is most of the time.
def write_check(document: Any) -> str:
    """The source of `check(value)`, True only where jsonschema, format checks off, accepts the value. Raises
    NotSureError.
    """
    writer = _Writer(document)
    body = writer.write_value(document, "value", 1)
    functions = [line for lines in writer.functions.values() for line in lines]
    head = ["import re", ""] if writer.has_patterns else []
    constants = [f"{name} = {text}" for text, name in writer.constants.items()]
    return "\n".join([*head, *constants, *_join_tests([*functions, "", "", *_function("check", body)]), ""])


def _join_tests(lines: Lines) -> Lines:
    # tests that follow one another and refuse alike as one test
    joined = Lines()
    for line in lines:
        joined.append(line)
        if len(joined) < 4 or joined[-1].strip() != "return False" or joined[-1] != joined[-3]:
            continue
        before, test = joined[-4], joined[-2]
        both = f"{before[:-1]} or {test.strip()[3:]}"
        if before.strip()[:3] == test.strip()[:3] == "if " and before[:-1].rstrip() and len(both) <= _LONGEST_LINE:
            joined[-4:] = [both, joined[-1]]
    return joined


def write_module(document: Any) -> str:
    # Kept beside the schema, so that nobody has to wait until it is written
    return f"{_MODULE_HEAD}\n{write_check(document)}"


_MODULE_HEAD = """\
\"""Whether a value is surely valid. Made from the schema beside it by .ci/write-schema-checks and never edited: a test
compares it with what the schema says today, and no linter or type checker reads it.\"""
# mypy: ignore-errors
"""


def _function(name: str, body: Lines) -> Lines:
    return [f"def {name}(value):", *_indent(body), "    return True"]


def _indent(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


class _Writer:
    """Writes one schema; it keeps what is in front of the check: sets, patterns, definitions that name themselves.
    Every write_ method returns lines that return False where a value breaks the schema, and go on where it does not.
    `value` is the name of a variable, and depth keeps the names of variables apart.
    """

    def __init__(self, document: Any) -> None:
        self.constants: dict[str, str] = {}
        self.functions: dict[str, Lines] = {}
        self.has_patterns = False
        self._definitions = document.get("$defs", {}) if isinstance(document, dict) else {}
        self._inside: list[str] = []

    def write_value(self, schema: Any, value: str, depth: int) -> Lines:
        if schema is True or schema == {}:
            return []
        if schema is False:
            return ["return False"]
        if not isinstance(schema, dict):
            raise NotSureError
        known = {key: schema[key] for key in schema if key not in _ANNOTATIONS and not key.startswith("x-")}
        if known.keys() - _APPLIES_TO.keys() - {"$ref", "type", "enum", "const"}:
            raise NotSureError
        lines = self._write_reference(known["$ref"], value, depth) if "$ref" in known else []
        return lines + self._write_types(known, value, depth)

    def _write_types(self, schema: dict[str, Any], value: str, depth: int) -> Lines:
        types = _read_types(schema)
        texts = _read_texts(schema)
        by_type: dict[str, Lines] = {}
        if texts is not None:  # texts alone are allowed: nothing but a text passes
            types = ["string"] if types is None or "string" in types else []
            by_type["string"] = [f"if {value} not in {self._name(_write_set(texts))}:", "    return False"]
        if types == []:
            return ["return False"]
        for kind in {_APPLIES_TO[name] for name in _APPLIES_TO.keys() & schema.keys()}:
            by_type[kind] = by_type.get(kind, []) + _WRITERS[kind](self, schema, value, depth)
        if types is not None and len(types) == 1:
            test = _IS_TYPE[types[0]].format(value)
            wrong = test.replace(" is ", " is not ") if " or " not in test else f"not ({test})"
            return [f"if {wrong}:", "    return False", *by_type.get(_family(types[0]), [])]
        return _write_branches(types, by_type, value)

    # references

    def _write_reference(self, reference: Any, value: str, depth: int) -> Lines:
        name = self._resolve(reference)
        if name not in self._inside and not self._names_itself(name):
            return self.write_value(self._definitions[name], value, depth)
        function = f"_is_{list(self._definitions).index(name)}"
        if function not in self.functions:
            self.functions[function] = []
            body = self.write_value(self._definitions[name], "value", 1)
            self.functions[function] = ["", "", *_function(function, body)]
        return [f"if not {function}({value}):", "    return False"]

    def _resolve(self, reference: Any) -> str:
        name = reference.removeprefix("#/$defs/") if isinstance(reference, str) else ""
        if reference != f"#/$defs/{name}" or name not in self._definitions:
            raise NotSureError
        return name

    def _names_itself(self, name: str) -> bool:
        # a definition that leads back to itself would have no end when it is written out
        seen, ahead = set[str](), [name]
        while ahead:
            for found in _find_references(self._definitions[ahead.pop()]):
                target = self._resolve(found)
                if target == name:
                    return True
                if target not in seen:
                    seen.add(target)
                    ahead.append(target)
        return False

    # constants

    def _name(self, text: str) -> str:
        return self.constants.setdefault(text, f"_{len(self.constants)}")

    def _search(self, pattern: Any) -> str:
        if not isinstance(pattern, str):
            raise NotSureError
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError):
            raise NotSureError from None
        self.has_patterns = True
        return self._name(f"re.compile({pattern!r}).search")

    # what the keywords of each type say

    def write_text(self, schema: dict[str, Any], value: str, depth: int) -> Lines:
        lines = _write_sizes(schema, ("minLength", "maxLength"), value)
        if "pattern" in schema:
            lines += [f"if not {self._search(schema['pattern'])}({value}):", "    return False"]
        return lines

    def write_number(self, schema: dict[str, Any], value: str, depth: int) -> Lines:
        return _write_sizes(schema, ("minimum", "exclusiveMinimum"), value)

    def write_array(self, schema: dict[str, Any], value: str, depth: int) -> Lines:
        lines = _write_sizes(schema, ("minItems", "maxItems"), value)
        item = f"item{depth}"
        each = self.write_value(schema.get("items", True), item, depth + 1)
        return [*lines, f"for {item} in {value}:", *_indent(each)] if each else lines

    def write_object(self, schema: dict[str, Any], value: str, depth: int) -> Lines:
        properties, patterns = _read_object(schema, "properties"), _read_object(schema, "patternProperties")
        lines = self._write_members(properties, _read_names(schema), value, depth)
        for pattern, child in patterns.items():
            inner = self.write_value(child, f"member{depth}", depth + 1)
            lines += _write_loop(f"{self._search(pattern)}(key{depth})", inner, value, depth) if inner else []
        if "additionalProperties" in schema:
            lines += self._write_others(schema["additionalProperties"], list(properties), list(patterns), value, depth)
        return lines

    def _write_members(self, properties: dict[str, Any], required: list[str], value: str, depth: int) -> Lines:
        lines, member = Lines(), f"member{depth}"
        for name in dict.fromkeys([*required, *properties]):
            inner = self.write_value(properties.get(name, True), member, depth + 1)
            if name not in required:
                if inner:
                    lines += [f"if {name!r} in {value}:", f"    {member} = {value}[{name!r}]", *_indent(inner)]
            elif inner and self._refuses_null(properties[name]):  # what is missing is None, and refused as that
                lines += [f"{member} = {value}.get({name!r})", *inner]
            else:
                lines += [f"if {name!r} not in {value}:", "    return False"]
                lines += [f"{member} = {value}[{name!r}]", *inner] if inner else []
        return lines

    def _refuses_null(self, schema: Any) -> bool:
        if not isinstance(schema, dict):
            return False
        types = _read_types(schema)
        if types is not None:
            return "null" not in types
        return "$ref" in schema and self._refuses_null(self._definitions[self._resolve(schema["$ref"])])

    def _write_others(self, child: Any, known: list[str], patterns: list[str], value: str, depth: int) -> Lines:
        if child is False and not patterns:
            return [f"if not {value}.keys() <= {self._name(_write_set(known))}:", "    return False"]
        inner = self.write_value(child, f"member{depth}", depth + 1)
        if not inner:
            return []
        tests = [f"key{depth} not in {self._name(_write_set(known))}"] if known else []
        tests += [f"not {self._search(pattern)}(key{depth})" for pattern in patterns]
        return _write_loop(" and ".join(tests), inner, value, depth)


_WRITERS = {
    "string": _Writer.write_text,
    "number": _Writer.write_number,
    "array": _Writer.write_array,
    "object": _Writer.write_object,
}


def _write_loop(test: str, inner: Lines, value: str, depth: int) -> Lines:
    # the inner lines for each member that passes a test, for all where that is empty
    if test:
        inner = [f"if {test}:", *_indent(inner)]
    return [f"for key{depth}, member{depth} in {value}.items():", *_indent(inner)]


def _family(kind: str) -> str:
    return "number" if kind == "integer" else kind


def _write_branches(types: "list[str] | None", by_type: dict[str, Lines], value: str) -> Lines:
    # one branch a type; without types a value of another one passes
    lines, word, passing = Lines(), "if", list[str]()
    for kind in types or by_type:
        inner, test = by_type.get(_family(kind), []), _IS_TYPE[kind].format(value)
        if inner:
            lines += [f"{word} {test}:", *_indent(inner)]
            word = "elif"
        else:
            passing.append(test)
    if not types:
        return lines
    last = f"{word} not ({' or '.join(passing)}):" if passing else "else:"
    return [*lines, last, "    return False"]


def _write_sizes(schema: dict[str, Any], keywords: tuple[str, ...], value: str) -> Lines:
    lines = Lines()
    for keyword in keywords:
        if keyword in schema:
            if type(schema[keyword]) is not int:
                raise NotSureError
            test = f"not {value}" if (keyword, schema[keyword]) in _IS_EMPTY else _BREAKS[keyword]
            lines += [f"if {test.format(value, schema[keyword])}:", "    return False"]
    return lines


def _write_set(names: list[str]) -> str:
    return f"frozenset({sorted(set(names))!r})"


def _read_types(schema: dict[str, Any]) -> "list[str] | None":
    if "type" not in schema:
        return None
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if not isinstance(names, list) or not names or any(name not in _IS_TYPE for name in names):
        raise NotSureError
    return names


def _read_texts(schema: dict[str, Any]) -> "list[str] | None":
    # the texts that enum and const leave, None where there is neither
    if "const" in schema and "enum" in schema:
        raise NotSureError
    texts = [schema["const"]] if "const" in schema else schema.get("enum")
    if texts is not None and not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        raise NotSureError
    return texts


def _read_names(schema: dict[str, Any]) -> list[str]:
    names = schema.get("required", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise NotSureError
    return names


def _read_object(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    found = schema.get(keyword, {})
    if not isinstance(found, dict):
        raise NotSureError
    return found


def _find_references(schema: Any) -> list[Any]:
    # every $ref below a schema; one that is no reference, in an example or an annotation, does no harm
    if isinstance(schema, list):
        return [found for item in schema for found in _find_references(item)]
    if not isinstance(schema, dict):
        return []
    inner = [found for key, item in schema.items() if key not in _ANNOTATIONS for found in _find_references(item)]
    return [schema["$ref"], *inner] if isinstance(schema.get("$ref"), str) else inner
