"""An edit as a value: read from a word such as --a.b=text, made from a path, and written as a word
again. Pure.

Typed are --a.b=text, --a.b+=text, --a.b-=text, --a.b:json=..., --rows[id].c=text. Values are token
values (jsontext): numbers are bytes.
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

# what stands after the path: what to do, and whether the value is JSON
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
_NO_SPACE = ", with no space around ="


class PathStep(NamedTuple):
    """One step of a path. bracketed: written as [name]: an item by its id, or a key taken letter by
    letter.
    """

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

    meant: the edit in its place, "" if none is known. more: the end of the hint. at, count: the
    words that it replaces. start: "--step=" where all that is missing is the sign before a value.
    """

    def __init__(
        self, word: str, message: str, advice: str, meant: str = "", more: str = ""
    ) -> None:
        hint: AnyHint = advise(advice, edit_argument(meant), more=more) if meant else advice + more
        super().__init__(message, hint)
        self.word, self.advice, self.meant, self.more = word, advice, meant, more
        self.at = 0
        self.count = 1
        self.start = ""

    def complete(self, argv: Argv) -> CheckpointError:
        """Return it with the whole update in place of the edit."""
        if not self.meant or not all(word.isprintable() for word in write_plain(argv)):
            return self
        return CheckpointError(self.message, advise(self.advice, *argv, more=self.more))


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
    is_open = value == UNFILLED or (name.endswith(":json") and f'"{UNFILLED}"' in value)
    return split_blanks(word, "the value") if is_open else word


def find_values(skill: str, edits: Sequence[Edit]) -> dict[str, Any]:
    asked: dict[str, Any] = {"name": skill}
    for edit in edits:
        path, value, group = (
            path_text(edit.path),
            untoken(edit.value),
            asked.setdefault(edit.action, {}),
        )
        group[path] = value if edit.action == "replace" else [*group.get(path, ()), value]
    return asked if edits else {**asked, "replace": {}}


def untoken(value: Any) -> Any:
    """A number with more digits than Python reads is a text."""
    import json  # the command line brings text, which needs none of it

    from checkpoint_git.core import jsonwrite

    return json.loads(
        jsonwrite.render(value), parse_int=lambda token: int(token) if len(token) < 4_000 else token
    )


def dump(value: Any) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def parse_edits(words: list[str]) -> list[Edit]:
    """Return the edits that command line words ask for. Raises CheckpointError, naming the word and
    what was meant.
    """
    edits = list[Edit]()
    for at, word in enumerate(words):
        try:
            edits.append(_parse_edit(word, words[at - 1 : at], words[at + 1 :]))
        except EditError as error:
            error.at += at
            raise
    return edits


def _parse_edit(word: str, before: list[str], after: list[str]) -> Edit:
    check_text(word)
    if word == "--":
        raise CheckpointError('"--" is not an edit', "leave it out; an edit is --step=VALUE")
    at = _find_outside_brackets(word, "=")
    if at < 0 or not word.startswith("--"):
        raise _not_an_edit(word, at, before, after)
    key, text = word[2:at], word[at + 1 :]
    end = len(key) - 1 if key.endswith("-") else _find_outside_brackets(key, _OPERATOR_LETTERS)
    stem, operator = (key, "") if end < 0 else (key[:end], key[end:])
    if operator not in _OPERATORS:
        meant = ("+" if "+" in operator else "") + (":json" if ":" in operator else "")
        hint = (
            f"did you mean --{quote_step(stem)}{meant}=...? There are =, +=, -=, :json= and +:json="
        )
        raise CheckpointError(f"{quote(operator)} after {quote(stem)} is not an operator", hint)

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


def _not_an_edit(word: str, at: int, before: list[str], after: list[str]) -> EditError:
    """Return the refusal of a word, with the edit that is meant.

    Its dashes are missing or others, or its value is what follows. at: of its =, -1 for none.
    """
    has_dashes = word.startswith("--")
    if before and before[0].endswith("=") and not has_dashes:
        error = EditError(
            word, f"{quote(word)} is not an edit", "write it as", before[0] + word, _NO_SPACE
        )
        error.at = -1
        error.count = 2
        return error

    taken = _take_value(after, has_dashes=has_dashes) if at < 0 else []
    name, operator, value = _split_word(word, at, " ".join(taken))
    start = f"--{name}{operator}="
    line = typed_edit(start, value, "VALUE")
    if has_dashes:
        error = EditError(word, f"{quote(word)} has no value", "write it as", line, _NO_SPACE)
        if len(taken) == 1 and not taken[0].startswith("="):
            error.start = start
    else:
        error = EditError(
            word, f"{quote(word)} is not an edit", "an edit begins with two dashes", line
        )

    error.count += len(taken)
    return error


def _take_value(after: list[str], *, has_dashes: bool) -> list[str]:
    """Return the words behind a word without a = that are its value."""
    taken = [*takewhile(lambda word: not word.startswith("-") and "=" not in word[1:], after)]
    if not taken and has_dashes and after and not after[0].startswith("-"):
        return [after[0]]  # a value may hold a =
    return taken


def _split_word(word: str, at: int, following: str) -> tuple[str, str, str]:
    """Return (path, operator, value) of a word that is not an edit. at: of its =. following: the
    words behind it.
    """
    stem, value = word, following.lstrip("= ")
    if at >= 0:
        stem, value = word[:at], word[at + 1 :]
    stem = stem.lstrip(_DASHES)
    end = _find_outside_brackets(stem, _OPERATOR_LETTERS)
    name, operator = (stem, "") if end < 0 else (stem[:end], stem[end:])
    if at < 0 and operator not in _OPERATORS:  # --step:value
        value = operator[1:] or value
    if operator not in _OPERATORS or not operator:
        operator = "+" if names.find_meaning(name) in names.LISTS else ""
    return name, operator, value


def typed_edit(start: str, value: Any, unknown: str = "...") -> str:
    """Return an edit as a word. unknown: in place of a text that is empty or cannot be printed."""
    if not isinstance(value, str):
        return f"{start[:-1]}:json={dump(untoken(value))}"
    return f"{start}{value}" if value and value.isprintable() else f"{start}{unknown}"


Lists = Mapping[str, Iterable[Any]]


def make_edits(
    replace: Mapping[str, Any] | None, append: Lists | None, remove: Lists | None = None
) -> list[Edit]:
    """The edits of callers without a command line: dotted path -> new value, path of a list ->
    items to add or remove. A single text is one item. Raises CheckpointError for values that cannot
    be JSON.
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
    check_text(path)
    if _find_outside_brackets(path, _OPERATOR_LETTERS + "=") >= 0:
        raise CheckpointError(
            f"{quote(path)} is not a path", "give the path alone, such as progress_table.0.status"
        )
    return Edit(_parse_path(path, path), action, value, path)


def check_text(word: object) -> None:
    if not isinstance(word, str):
        raise CheckpointError(f"{word!r} is not a text", "give a str")
    try:
        word.encode()
    except UnicodeEncodeError:
        raise CheckpointError(
            f"{quote(word)} is not UTF-8 text", "give the value in UTF-8"
        ) from None


def quote_step(word: str) -> str:
    return quote(word)[1:-1]


def _find_outside_brackets(text: str, wanted: str) -> int:
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]" and depth > 0)
        if depth == 0 and letter in wanted:
            return at
    return -1


def _parse_path(text: str, word: str) -> tuple[PathStep, ...]:
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
    if text.startswith("[") and not is_first:
        name, bracket, rest = text[1:].partition("]")
        return (PathStep(name, bracketed=True) if bracket else None), rest
    if not is_first and not text.startswith("."):
        return None, text
    text = text if is_first else text[1:]
    end = next((at for at, letter in enumerate(text) if letter in ".["), len(text))
    name = text[:end]
    return (PathStep(name) if name == name.strip() and "]" not in name else None), text[end:]


def path_text(path: tuple[PathStep, ...]) -> str:
    shown = "".join(
        f"[{quote_step(step.name)}]" if step.bracketed else f".{quote_step(step.name)}"
        for step in path
    )
    return shown.removeprefix(".")
