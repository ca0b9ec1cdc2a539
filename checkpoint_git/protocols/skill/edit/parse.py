"""Read an edit from a word of the command line, make one from a path, and write it as a word.

The words are --a.b=text, --a.b+=text, --a.b-=text, --a.b:json=... and --rows[id].c=text. Values
are token values (jsontext): numbers are bytes. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import (
    UNFILLED,
    AnyHint,
    Argument,
    Argv,
    advise,
    split_blanks,
    write_plain,
)
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill import names

# operator after the path -> the action, and whether the value is JSON
Action = Literal["replace", "append", "remove"]
_OPERATORS: dict[str, tuple[Action, bool]] = {
    "": ("replace", False),
    "+": ("append", False),
    "-": ("remove", False),
    ":json": ("replace", True),
    "+:json": ("append", True),
    ":json+": ("append", True),
}
_OPERATOR_LETTERS = "+:"
SIGNS = {"replace": "", "append": "+", "remove": "-"}
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212"  # which word processors put for two of them
_MAX_STEPS = 20
_MOST_DIGITS = 4_000  # Python refuses to read numbers of more than 4,300
_NO_SPACE = ", with no space around ="


class PathStep(NamedTuple):
    """One step of a path. bracketed: it is written as [name], for an id or a key with dots."""

    name: str
    bracketed: bool = False


class Edit(NamedTuple):
    """One change. value: a token value. word: as it was typed, for messages."""

    path: tuple[PathStep, ...]
    action: Action
    value: Any
    word: str

    @property
    def field(self) -> str:
        return self.path[0].name


class EditError(CheckpointError):
    """An edit that cannot be made.

    correction: the edit to type in its place, "" if none is known. ending: the end of the hint.
    index, count: the words of the command line that the correction replaces. start: "--step=" if
    only the sign before a value is missing.
    """

    def __init__(
        self, word: str, message: str, advice: str, correction: str = "", ending: str = ""
    ) -> None:
        hint: AnyHint = advice + ending
        if correction:
            hint = advise(advice, edit_argument(correction), more=ending)
        super().__init__(message, hint)
        self.word = word
        self.advice = advice
        self.correction = correction
        self.ending = ending
        self.index = 0
        self.count = 1
        self.start = ""

    def complete(self, argv: Argv) -> CheckpointError:
        """Return it with the whole update in place of the edit."""
        if not self.correction or not all(word.isprintable() for word in write_plain(argv)):
            return self
        return CheckpointError(self.message, advise(self.advice, *argv, more=self.ending))


def spell_update(skill: str, edits: Sequence[Edit]) -> Argv:
    """Return the command that makes these edits."""
    return ("checkpoint", "update", skill, *(edit_argument(_spell_edit(edit)) for edit in edits))


def _spell_edit(edit: Edit) -> str:
    if edit.word.startswith("--"):
        return edit.word
    return typed_edit(f"--{path_text(edit.path)}{SIGNS[edit.action]}=", edit.value)


def edit_argument(word: str) -> Argument:
    """Return an edit as a word of a command, with blanks where the user has to write a value."""
    name, _, value = word.partition("=")
    has_blank = value == UNFILLED or (name.endswith(":json") and f'"{UNFILLED}"' in value)
    if has_blank:
        return split_blanks(word, "the value")
    return word


def find_values(skill: str, edits: Sequence[Edit]) -> dict[str, Any]:
    """Return the edits as arguments of the MCP tool: the name, and for each action the values by
    path.
    """
    arguments: dict[str, Any] = {"name": skill}
    if not edits:
        arguments["replace"] = {}

    for edit in edits:
        path = path_text(edit.path)
        value = untoken(edit.value)
        values = arguments.setdefault(edit.action, {})
        if edit.action == "replace":
            values[path] = value
        else:
            values.setdefault(path, []).append(value)

    return arguments


def untoken(value: Any) -> Any:
    """Return a token value as Python reads its JSON. A number with too many digits is a text."""
    import json  # the command line brings text, which needs none of it

    from checkpoint_git.core import jsonwrite

    return json.loads(jsonwrite.render(value), parse_int=_read_int)


def _read_int(digits: str) -> int | str:
    if len(digits) >= _MOST_DIGITS:
        return digits
    return int(digits)


def dump(value: Any) -> str:
    """Return a value as JSON in one line that can be printed."""
    import json

    text = json.dumps(value, ensure_ascii=False)
    if not text.isprintable():
        return json.dumps(value)
    return text


def parse_edits(words: list[str]) -> list[Edit]:
    """Return the edits that command line words ask for.

    Raises CheckpointError, which names the word and its correction.
    """
    edits = list[Edit]()
    for index, word in enumerate(words):
        try:
            edits.append(_parse_edit(word, words[index - 1 : index], words[index + 1 :]))
        except EditError as error:
            error.index += index
            raise
    return edits


def _parse_edit(word: str, before: list[str], after: list[str]) -> Edit:
    """Return the edit of a word. before, after: the word before it, and all words after it."""
    check_text(word)
    if word == "--":
        raise CheckpointError('"--" is not an edit', "leave it out; an edit is --step=VALUE")
    equals = _find_outside_brackets(word, "=")
    if equals < 0 or not word.startswith("--"):
        raise _not_an_edit(word, equals, before, after)

    key = word[2:equals]
    text = word[equals + 1 :]
    stem, operator = key.removesuffix("-"), "-"
    if not key.endswith("-"):
        stem, operator = _split_operator(key)
    if operator not in _OPERATORS:
        raise _unknown_operator(stem, operator)

    path = _parse_path(stem, word)
    if path in ((PathStep("field"),), (PathStep("set"),)):
        field, _, value = text.partition("=")
        line = typed_edit(f"--{field or 'status'}=", value)
        raise EditError(word, f"{quote(word)} is not a field", "write the field's own name", line)

    action, is_json = _OPERATORS[operator]
    if not is_json:
        return Edit(path, action, text, word)
    try:
        jsontext.load(text)  # the limits on depth hold here too
        return Edit(path, action, jsontext.scan_tokens(text), word)
    except jsontext.JsonTextError as error:
        message = f"{quote(word)}: the value is not JSON: {error.message} (column {error.column})"
        raise CheckpointError(message, "quote it for the shell: --a:json='[\"x\", 1]'") from None


def _split_operator(key: str) -> tuple[str, str]:
    """Return the path of a key, and the operator behind it, "" for none."""
    end = _find_outside_brackets(key, _OPERATOR_LETTERS)
    if end < 0:
        return key, ""
    return key[:end], key[end:]


def _unknown_operator(stem: str, operator: str) -> CheckpointError:
    """Return the refusal of an operator, with the one that has its letters."""
    correction = ""
    if "+" in operator:
        correction += "+"
    if ":" in operator:
        correction += ":json"
    advice = f"did you mean --{quote_step(stem)}{correction}=...?"
    hint = f"{advice} There are =, +=, -=, :json= and +:json="
    return CheckpointError(f"{quote(operator)} after {quote(stem)} is not an operator", hint)


def _not_an_edit(word: str, equals: int, before: list[str], after: list[str]) -> EditError:
    """Return the refusal of a word that has no dashes or no value, with its correction.

    equals: the index of its =, -1 for none. before, after: as for _parse_edit.
    """
    has_dashes = word.startswith("--")
    not_an_edit = f"{quote(word)} is not an edit"
    if before and before[0].endswith("=") and not has_dashes:
        error = EditError(word, not_an_edit, "write it as", before[0] + word, _NO_SPACE)
        error.index = -1
        error.count = 2
        return error

    taken: list[str] = []
    if equals < 0:
        taken = _take_value(after, has_dashes=has_dashes)
    name, operator, value = _split_word(word, equals, " ".join(taken))
    start = f"--{name}{operator}="
    line = typed_edit(start, value, "VALUE")
    if has_dashes:
        error = EditError(word, f"{quote(word)} has no value", "write it as", line, _NO_SPACE)
        if len(taken) == 1 and not taken[0].startswith("="):
            error.start = start
    else:
        error = EditError(word, not_an_edit, "an edit begins with two dashes", line)

    error.count += len(taken)
    return error


def _take_value(after: list[str], *, has_dashes: bool) -> list[str]:
    """Return the words behind a word without a = that are its value."""
    taken = [*takewhile(lambda word: not word.startswith("-") and "=" not in word[1:], after)]
    if not taken and has_dashes and after and not after[0].startswith("-"):
        return [after[0]]  # a value may contain a =
    return taken


def _split_word(word: str, equals: int, following: str) -> tuple[str, str, str]:
    """Return (path, operator, value) of a word that is not an edit.

    equals: the index of its =, -1 for none. following: the words behind it.
    """
    stem = word
    value = following.lstrip("= ")
    if equals >= 0:
        stem = word[:equals]
        value = word[equals + 1 :]

    name, operator = _split_operator(stem.lstrip(_DASHES))
    if equals < 0 and operator not in _OPERATORS:  # --step:value
        value = operator[1:] or value
    if operator not in _OPERATORS or not operator:
        operator = "+" if names.find_meaning(name) in names.LISTS else ""
    return name, operator, value


def typed_edit(start: str, value: Any, unknown: str = "...") -> str:
    """Return an edit as a word.

    start: its path and operator, such as "--step=". unknown: in place of a text that is empty or
    cannot be printed.
    """
    if not isinstance(value, str):
        return f"{start[:-1]}:json={dump(untoken(value))}"
    if value and value.isprintable():
        return f"{start}{value}"
    return f"{start}{unknown}"


Lists = Mapping[str, Iterable[Any]]


def make_edits(
    replace: Mapping[str, Any] | None, append: Lists | None, remove: Lists | None = None
) -> list[Edit]:
    """Return the edits of a caller without a command line.

    replace: dotted path -> new value. append, remove: path of a list -> items; a single text is
    one item. Raises CheckpointError for values that cannot be JSON.
    """
    if not all(isinstance(fields, Mapping | None) for fields in (replace, append, remove)):
        raise CheckpointError(
            "replace, append and remove map paths to values", 'write {"step": "..."}'
        )

    edits = [make_edit(path, "replace", _tokens(value)) for path, value in (replace or {}).items()]
    actions: tuple[tuple[Action, Lists | None], ...] = (("append", append), ("remove", remove))
    for action, lists in actions:
        for path, items in (lists or {}).items():
            if isinstance(items, str):
                edits.append(make_edit(path, action, _tokens(items)))
                continue
            if isinstance(items, bytes | Mapping) or not isinstance(items, Iterable):
                message = f"{action} takes a list of items for each path"
                raise CheckpointError(message, 'write {"next_actions": ["..."]}')
            edits += [make_edit(path, action, _tokens(item)) for item in items]

    return edits


def _tokens(value: Any) -> Any:
    """Return a Python value as a token value. Raises CheckpointError if it cannot be JSON."""
    import json  # the command line brings text, which needs none of it

    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        check_text(text)
        return jsontext.scan_tokens(text)
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            f"the value cannot be JSON: {error}", "give texts, numbers, lists and mappings"
        ) from None


def make_edit(path: str, action: Action, value: Any) -> Edit:
    """Return an edit of a dotted path. Raises CheckpointError if the path is none."""
    check_text(path)
    if _find_outside_brackets(path, _OPERATOR_LETTERS + "=") >= 0:
        hint = "give the path alone, such as progress_table.0.status"
        raise CheckpointError(f"{quote(path)} is not a path", hint)
    return Edit(_parse_path(path, path), action, value, path)


def check_text(word: object) -> None:
    """Raise CheckpointError if a word is not a text that UTF-8 can encode."""
    if not isinstance(word, str):
        raise CheckpointError(f"{word!r} is not a text", "give a str")
    try:
        word.encode()
    except UnicodeEncodeError:
        message = f"{quote(word)} is not UTF-8 text"
        raise CheckpointError(message, "give the value in UTF-8") from None


def quote_step(word: str) -> str:
    return quote(word)[1:-1]


def _find_outside_brackets(text: str, wanted: str) -> int:
    """Return the index of the first wanted letter outside of brackets, -1 for none."""
    depth = 0
    for index, letter in enumerate(text):
        if letter == "[":
            depth += 1
        elif letter == "]" and depth > 0:
            depth -= 1
        if depth == 0 and letter in wanted:
            return index
    return -1


def _parse_path(text: str, word: str) -> tuple[PathStep, ...]:
    """Return the steps of a path. Raises CheckpointError, which names the word, if it is none."""
    steps: list[PathStep] = []
    rest = text
    while rest or not steps:
        step, rest = _take_step(rest, is_first=not steps)
        if step is None or not step.name or len(steps) == _MAX_STEPS:
            hint = "a path is a.b, rows.0.status or rows.id.status"
            raise CheckpointError(f"{quote(word)}: {quote(text)} is not a path", hint)
        steps.append(step)
    return tuple(steps)


def _take_step(text: str, *, is_first: bool) -> tuple[PathStep | None, str]:
    """Return the first step of a path, None if it is not one, and the rest of the path."""
    if not is_first:
        if text.startswith("["):
            name, bracket, rest = text[1:].partition("]")
            if not bracket:
                return None, rest
            return PathStep(name, bracketed=True), rest
        if not text.startswith("."):
            return None, text
        text = text[1:]

    end = len(text)
    for sign in ".[":
        if sign in text:
            end = min(end, text.index(sign))
    name = text[:end]
    if name != name.strip() or "]" in name:
        return None, text[end:]
    return PathStep(name), text[end:]


def path_text(path: tuple[PathStep, ...]) -> str:
    """Return a path as it is typed, such as progress_table[build].status."""
    text = ""
    for step in path:
        name = quote_step(step.name)
        text += f"[{name}]" if step.bracketed else f".{name}"
    return text.removeprefix(".")
