"""What a break of a schema is called in messages, whatever the protocol. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Argument, Blank, Word, change_words
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.core.untrusted_text import hide_in_value
from checkpoint_git.protocols.document import read_list

# in the hint of a rule, which does not know whose checkpoint it looks at
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
    """Such as 'invalid status "almost": expected complete or failed'."""
    name, value, expected = quote_where(mismatch.where), quote(mismatch.value), mismatch.expected
    if mismatch.keyword == "type":
        words = [expected] if isinstance(expected, str) else expected
        return f"{name} must be {' or '.join(_TYPES.get(word, word) for word in words)}, and is {value}"

    if mismatch.keyword == "enum":
        *most, last = expected
        return f"invalid {name} {value}: expected {', '.join(most)}{' or ' if most else ''}{last}"

    if mismatch.keyword == "minimum":
        return f"{name} is {value}, and cannot be below {expected}"
    if mismatch.keyword == "minLength":
        return f"{name} is empty"
    if mismatch.keyword == "required":
        return f"{name} is missing"
    return f"{name}: {escape_controls(shorten(mismatch.message, 200))}"


def quote(value: Any) -> str:
    if isinstance(value, str):
        return f'"{escape_controls(shorten(hide_in_value(value), 60))}"'
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    try:
        return {"None": "null", "True": "true", "False": "false"}.get(
            str(value), shorten(str(value), 60)
        )
    except ValueError:  # more than 4,300 digits (sys.get_int_max_str_digits)
        return "a very long number"


def quote_where(where: str) -> str:
    shown = where.removeprefix("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
    return escape_controls(shorten(shown, 80)) or "the document"


def name_rows(findings: Iterable[Finding], document: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the findings with the ids of rows for their numbers.

    In messages that is progress_table[routes].status; in hints, where the id names one row alone,
    --progress_table.routes.status, which no shell expands.
    """
    known: dict[str, list[Any]] = {}
    for finding in findings:
        field, _, rest = finding.where[1:].partition("/")
        if field not in known:
            known[field] = [
                row.get("id") if isinstance(row, dict) else None
                for row in read_list(document, field)
            ]
        number = rest.partition("/")[0]
        name = (
            known[field][int(number)]
            if number.isdecimal() and int(number) < len(known[field])
            else None
        )
        if (
            isinstance(name, str)
            and name.replace("-", "").replace("_", "").isalnum()
            and len(name) < _LONGEST_NAME
        ):
            message = f"{finding.message} "
            for end in ". :":
                message = message.replace(f"{field}.{number}{end}", f"{field}[{name}]{end}")
            finding = finding._replace(message=message[:-1])
            if known[field].count(name) == 1 and not name.isdecimal():
                hint = _name_row(finding.hint, f"--{field}.{number}", f"--{field}.{name}")
                finding = finding._replace(hint=hint)
        yield finding


def _name_row(hint: AnyHint, numbered: str, named: str) -> AnyHint:
    """Return the hint with another start of its edits."""

    def rename(word: Argument) -> Argument:
        start = word.parts[0] if isinstance(word, Word) else word
        if not isinstance(start, str) or not start.startswith(numbered):
            return word
        rest = start[len(numbered) :]
        if rest[:1] not in _ENDS_OF_NUMBER:
            return word
        return Word((named + rest, *word.parts[1:])) if isinstance(word, Word) else named + rest

    return change_words(hint, rename)


def list_objects(value: Mapping[str, Any], field: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(where, item) of the objects in a list."""
    for at, item in enumerate(read_list(value, field)):
        if isinstance(item, dict):
            yield f"/{field}/{at}", item


def find_doubles(value: Mapping[str, Any], field: str) -> Iterator[tuple[str, Any, str]]:
    """Yield, for every item whose id an earlier one has: where its id is, the id, where the first
    one is.
    """
    first: dict[tuple[type, Any], int] = {}
    for index, item in enumerate(read_list(value, field)):
        identity = item.get("id") if isinstance(item, dict) else None
        if isinstance(identity, (str, int, float)):
            seen = first.setdefault((type(identity), identity), index)
            if seen != index:
                yield f"/{field}/{index}/id", identity, f"/{field}/{seen}"
