"""Describe a break of a schema in words, for every protocol. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Argument, Blank, Word, change_words
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.core.untrusted_text import hide_in_value
from checkpoint_git.protocols.document import read_list

# in the hint of a rule, which does not know the checkpoint's name
OWN = Blank("whose checkpoint", "NAME")
_ENDS_OF_NUMBER = ("", ".", "=", ":", "+", "-")
_LONGEST_NAME = 40  # of a row's id in a message
_TYPES = {
    "string": "a text",
    "object": "an object",
    "array": "a list",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


def explain_mismatch(mismatch: Mismatch) -> str:
    """Return a message such as 'invalid status "almost": expected complete or failed'."""
    name = quote_where(mismatch.where)
    value = quote(mismatch.value)
    expected = mismatch.expected
    if mismatch.keyword == "type":
        types = [expected] if isinstance(expected, str) else expected
        wanted = " or ".join(_TYPES.get(name_of_type, name_of_type) for name_of_type in types)
        return f"{name} must be {wanted}, and is {value}"

    if mismatch.keyword == "enum":
        *most, last = expected
        choices = f"{', '.join(most)} or {last}" if most else last
        return f"invalid {name} {value}: expected {choices}"

    if mismatch.keyword == "minimum":
        return f"{name} is {value}, and cannot be below {expected}"
    if mismatch.keyword == "minLength":
        return f"{name} is empty"
    if mismatch.keyword == "required":
        return f"{name} is missing"
    return f"{name}: {escape_controls(shorten(mismatch.message, 200))}"


def quote(value: Any) -> str:
    """Return a JSON value for a message: a text in quotes and without secrets, or a description."""
    if isinstance(value, str):
        return f'"{escape_controls(shorten(hide_in_value(value), 60))}"'
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return shorten(str(value), 60)
    except ValueError:  # more than 4,300 digits (sys.get_int_max_str_digits)
        return "a very long number"


def quote_where(where: str) -> str:
    shown = where.removeprefix("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
    return escape_controls(shorten(shown, 80)) or "the document"


def name_rows(findings: Iterable[Finding], document: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the findings with the ids of rows in place of their numbers.

    In messages that is progress_table[routes].status; in hints, if no other row has the id,
    --progress_table.routes.status, which no shell expands.
    """
    ids: dict[str, list[Any]] = {}
    for finding in findings:
        field, _, rest = finding.where[1:].partition("/")
        if field not in ids:
            ids[field] = _list_ids(document, field)
        number = rest.partition("/")[0]
        if not number.isdecimal() or int(number) >= len(ids[field]):
            yield finding
            continue
        name = ids[field][int(number)]
        if not _is_plain_name(name):
            yield finding
            continue

        message = f"{finding.message} "
        for end in ". :":
            message = message.replace(f"{field}.{number}{end}", f"{field}[{name}]{end}")
        finding = finding._replace(message=message[:-1])
        if ids[field].count(name) == 1 and not name.isdecimal():
            hint = _name_row(finding.hint, f"--{field}.{number}", f"--{field}.{name}")
            finding = finding._replace(hint=hint)
        yield finding


def _list_ids(document: Mapping[str, Any], field: str) -> list[Any]:
    """Return the id of each item of a list, None for an item without one."""
    ids = []
    for row in read_list(document, field):
        ids.append(row.get("id") if isinstance(row, dict) else None)
    return ids


def _is_plain_name(name: Any) -> bool:
    """Whether an id is a short text of letters, digits, dashes and underscores."""
    if not isinstance(name, str) or len(name) >= _LONGEST_NAME:
        return False
    return name.replace("-", "").replace("_", "").isalnum()


def _name_row(hint: AnyHint, numbered: str, named: str) -> AnyHint:
    """Return a hint whose edits begin with another name of the row."""

    def rename(word: Argument) -> Argument:
        if isinstance(word, Word) and isinstance(word.parts[0], str):
            return Word((rename_start(word.parts[0]), *word.parts[1:]))
        if isinstance(word, str):
            return rename_start(word)
        return word

    def rename_start(start: str) -> str:
        rest = start.removeprefix(numbered)
        if start.startswith(numbered) and rest[:1] in _ENDS_OF_NUMBER:
            return named + rest
        return start

    return change_words(hint, rename)


def list_objects(value: Mapping[str, Any], field: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the pointer and the value of each object in a list."""
    for index, item in enumerate(read_list(value, field)):
        if isinstance(item, dict):
            yield f"/{field}/{index}", item


def find_doubles(value: Mapping[str, Any], field: str) -> Iterator[tuple[str, Any, str]]:
    """Yield for each item whose id an earlier item has: the pointer to its id, the id, and the
    pointer to the first item.
    """
    first: dict[tuple[type, Any], int] = {}
    for index, identity in enumerate(_list_ids(value, field)):
        if isinstance(identity, (str, int, float)):
            earlier = first.setdefault((type(identity), identity), index)
            if earlier != index:
                yield f"/{field}/{index}/id", identity, f"/{field}/{earlier}"
