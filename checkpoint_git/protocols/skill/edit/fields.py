"""What an edit means: the field that its path names, and its value as the schema wants it there.
Pure.

Only what is surely meant is taken; another name is refused where the protocol is not open to names
of one's own.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Argv, Blank, advise
from checkpoint_git.core.terminal_text import quote_word
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill import names
from checkpoint_git.protocols.skill.edit.apply import name_text
from checkpoint_git.protocols.skill.edit.items import find_index, find_item, ids_of
from checkpoint_git.protocols.skill.edit.parse import (
    SIGNS,
    Edit,
    EditError,
    PathStep,
    path_text,
    typed_edit,
)
from checkpoint_git.protocols.skill.names import TEXTS
from checkpoint_git.protocols.skill.shape import write_item
from checkpoint_git.protocols.skill.views import read_objects

Schema = Mapping[str, Any]
_GLOBAL_OPTIONS = frozenset(["format", "help", "json", "new-field", "no-color", "quiet", "version"])
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_TYPES: dict[type, str] = {
    bytes: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    str: "string",
}


class Understood(NamedTuple):
    """What was understood other than it was typed. is_option: typed is a field's name behind two
    dashes.
    """

    typed: str
    meant: str
    is_option: bool = False

    @property
    def text(self) -> str:
        """Return it as a line of output, such as: --files is context_primer.generated_files."""
        typed = f"--{self.typed}" if self.is_option else f'"{self.typed}"'
        return f"{typed} is {self.meant}"

    @property
    def data(self) -> dict[str, str]:
        return {"typed": self.typed, "meant": self.meant}


class _EditReader(NamedTuple):
    edit: Edit
    schema: Schema
    taken: list[Understood]
    new_field: bool
    skill: str
    document: Mapping[str, Any]


def understand(
    value: Mapping[str, Any],
    edits: Iterable[Edit],
    schema: Schema,
    *,
    new_field: bool = False,
    skill: str = "NAME",
) -> tuple[list[Edit], list[Understood]]:
    """The edits as they are meant for a document, and what differs from what was typed. new_field:
    names that nobody knows are taken as they are. Raises CheckpointError for what is not
    understood.
    """
    taken: list[Understood] = []
    meant = [
        _understand(value, _EditReader(edit, schema, taken, new_field, quote_word(skill), value))
        for edit in edits
    ]
    for at, edit in enumerate(meant):
        length = len(edit.path)
        if edit.action == "replace" and any(
            other.path[:length] == edit.path for other in meant[:at]
        ):
            message = f"{quote(edit.word)}: {path_text(edit.path)} is written twice, and the first would be lost"
            raise CheckpointError(message, "write it once")

    return meant, taken


class _EditPlace(NamedTuple):
    """Where an edit's path leads: its steps as they are meant, and the rules, the value and the
    name there.

    name: without the steps into lists, such as context_primer.key_decisions.
    """

    path: tuple[PathStep, ...]
    rules: Schema
    value: Any
    name: str


def _understand(value: Any, reader: _EditReader) -> Edit:
    """Return the reader's edit as it is meant for the document, which is the value."""
    edit = reader.edit
    place = _follow_path(value, reader)
    path = place.path
    if [step.name for step in path] != [step.name for step in edit.path]:
        reader.taken.append(Understood(path_text(edit.path), path_text(path), is_option=True))
    if edit.action == "remove":
        if edit.value == "":
            _check_removal(edit, path, place.value, place.rules)
        return edit._replace(path=path)

    if _adds_to_list(edit, path):
        reader.taken.append(
            Understood(f"{path_text(edit.path)}=", f"{path_text(path)}+=", is_option=True)
        )
        edit = edit._replace(action="append")

    return edit._replace(path=path, value=_understand_value(edit, place, reader))


def _follow_path(value: Any, reader: _EditReader) -> _EditPlace:
    """Return the place that the path of the reader's edit means in a value."""
    path: list[PathStep] = []
    rules = resolve(reader.schema, reader.schema)
    where = ""
    for step in reader.edit.path:
        if isinstance(value, list) or rules.get("type") == "array":
            path.append(_find_id(step, value))
            rules = child_rules(reader.schema, rules, "")
            value = find_item(value, step.name)
            continue

        known = frozenset(value if isinstance(value, dict) else ())
        found = _find_name(step.name, where, known, reader)
        path += [step] if found == (step.name,) else [PathStep(name) for name in found]
        _note_new_field(step.name, value, where, reader)
        for name in found:
            rules = child_rules(reader.schema, rules, name)
            where = f"{where}.{name}".lstrip(".")
            value = value.get(name) if isinstance(value, dict) else None

    return _EditPlace(tuple(path), rules, value, where)


def _note_new_field(name: str, value: Any, where: str, reader: _EditReader) -> None:
    """Note where a new field comes beside one with nearly its name. value: what the name is looked
    up in.
    """
    if not isinstance(value, dict) or where in names.KNOWN or name in value:
        return
    near = "" if reader.edit.action == "remove" else names.find_sibling(name, value)
    if near:
        meant = f"a new field beside {quote(f'{where}.{near}')[1:-1]}"
        reader.taken.append(Understood(f"{where}.{name}", meant, is_option=True))


def _understand_value(edit: Edit, place: _EditPlace, reader: _EditReader) -> Any:
    """Return the value of an edit as it is meant. Where no rule says what it is, it keeps its
    type.
    """
    rules = child_rules(reader.schema, place.rules, "") if edit.action == "append" else place.rules
    kind = _TYPES.get(type(place.value), "string")
    may_keep = (
        edit.action == "replace"
        and kind != "string"
        and not rules.keys() & {"type", "enum", "examples"}
    )
    is_kept = may_keep and isinstance(edit.value, str) and ":json=" not in edit.word
    if is_kept:
        rules = {"type": kind}
    value = _read(edit.value, rules, place.value, place.name, reader)
    if not is_kept:
        return value

    if isinstance(value, str) and kind in ("array", "object"):
        message = f"{quote(edit.word)}: {path_text(place.path)} is not a text, and would be lost"
        raise CheckpointError(
            message, "name what is in it, add to a list with +=, or replace it with :json="
        )

    meant = f"a text, where a {kind} was" if isinstance(value, str) else f"a {kind}, as before"
    reader.taken.append(Understood(edit.value, meant))
    return value


def _adds_to_list(edit: Edit, path: tuple[PathStep, ...]) -> bool:
    """Whether an edit puts one text in place of a known list of texts: that can only mean one more
    item.
    """
    texts = names.LISTS.get(path_text(path), ())
    takes_texts = texts is str or (isinstance(texts, tuple) and str in texts)
    is_text = isinstance(edit.value, str) and bool(edit.value.strip()) and ":json=" not in edit.word
    return (
        takes_texts and is_text and edit.action == "replace" and not str(edit.value).startswith("[")
    )


def _find_id(step: PathStep, items: Any) -> PathStep:
    """By the item's id, where it is named by its text or behind a dot."""
    is_number = not step.bracketed and step.name.isdecimal()
    at = find_index(items, step.name) if isinstance(items, list) and not is_number else None
    ids = ids_of(items[at]) if at is not None and isinstance(items[at], dict) else []
    return PathStep(step.name if step.name in ids else ids[0], bracketed=True) if ids else step


def _check_removal(edit: Edit, path: tuple[PathStep, ...], held: Any, rules: Schema) -> None:
    """Raises CheckpointError where -= without a value may empty more than was meant."""
    name, count = path_text(path), len(held) if isinstance(held, list) else 0
    is_guessed = [step.name for step in path] != [step.name for step in edit.path] and not path[
        -1
    ].bracketed
    if not held or not (is_guessed or (count > 1 and rules)):
        return
    first = typed_edit(f"--{name}-=", next(iter(ids_of(held[0])), "")) if count else f"--{name}-="
    hint, more = (
        ("remove one", f"; or all: --{name}:json='[]'") if count else ("remove it explicitly", "")
    )
    raise EditError(
        edit.word,
        f"{quote(edit.word)} would remove all of {name} ({count or 1})",
        hint,
        first,
        more,
    )


def _find_name(name: str, where: str, own: frozenset[str], reader: _EditReader) -> tuple[str, ...]:
    """The names that a name in an object means. own: those that the object has."""
    known = names.KNOWN.get(where)
    if known is None or name in known or reader.new_field or name == "$schema":
        return (name,)
    meant = names.find_meaning(name, where)
    near = "" if meant else names.find_near_miss(name, known)
    if name in own and (reader.edit.action == "remove" or not (meant or near)):
        return (name,)
    if meant:
        return tuple(meant.split("."))
    raise _unknown(name, where, reader)


def _unknown(name: str, where: str, reader: _EditReader) -> CheckpointError:
    """Return the refusal of a name that an object does not know, with the line that was probably
    meant.
    """
    edit = reader.edit
    inside = f" in {where}" if where else ""
    message = f"{quote(edit.word)}: unknown field {quote(name)}{inside}"
    if name in _GLOBAL_OPTIONS and edit.word.startswith("--"):
        return CheckpointError(message, f"--{name} is a separate option without a value")

    is_typed = any(step.name == name for step in edit.path)  # else it is in an object
    near, operator = _find_near(name, where, edit, is_typed=is_typed)
    if edit.action == "remove" and not near:
        return CheckpointError(message, advise("see what there is", "checkpoint", "show"))

    value = edit.value
    if near in TEXTS and isinstance(value, str) and operator == "+":
        value = write_item(near, value)
    own = f"skill_state.{quote(name)[1:-1]}"
    flag = "--new-field" if edit.word.startswith("--") else "new_field"
    more = f"; a field of your own is {own}, or any name with {flag}"
    mistaken = _name_verb_or_row(name, value, where, message, more, reader)
    if mistaken is not None:
        return mistaken

    line = _write_near(name, near, operator, value, edit, is_typed=is_typed)
    if line:
        return EditError(edit.word, message, "did you mean this", line, more)
    if not is_typed:
        return EditError(edit.word, message, f"A{more[3:]}")
    kept = own if where else f"skill_state.{path_text(edit.path)}"
    return _offer_own_field(f"{kept}{operator}", value, message, flag, edit)


def _find_near(name: str, where: str, edit: Edit, *, is_typed: bool) -> tuple[str, str]:
    """Return the known field that is nearest to a name, "" for none, and the operator for a value
    there.

    is_typed: the name is in the edit's path.
    """
    near = names.find_nearest(name, where)
    full = f"{where}.{near}".lstrip(".")
    operator = SIGNS[edit.action]
    if not operator and is_typed and full in names.LISTS:
        operator = "+"
    if is_typed and name != edit.path[-1].name and full not in names.KNOWN:
        near = ""
    return near, operator


def _write_near(
    name: str, near: str, operator: str, value: Any, edit: Edit, *, is_typed: bool
) -> str:
    """Return the edit with a known field in place of a name, "" if there is none or none can be
    written.
    """
    path = path_text(edit.path)
    if near and is_typed:
        return typed_edit(f"--{path.replace(name, near, 1)}{operator}=", value)
    if near and quote_word(name) == name:
        return typed_edit(f"--{path}{operator}=", value).replace(name, near, 1)
    return ""


def _offer_own_field(start: str, value: Any, message: str, flag: str, edit: Edit) -> EditError:
    """Return the refusal of a name that is near to none, with the edit that keeps it outside the
    protocol.
    """
    line = typed_edit(f"--{start}=", value)
    advice = "to keep it in a field of your own"
    return EditError(edit.word, message, advice, line, f"; any name is taken with {flag}")


def _name_verb_or_row(
    name: str, text: Any, where: str, message: str, more: str, reader: _EditReader
) -> CheckpointError | None:
    """Return the refusal of a text for the name of a verb or of a row of the progress table, else
    None.
    """
    edit = reader.edit
    if not isinstance(text, str) or where or len(edit.path) != 1:
        return None
    if not text.strip() or not text.isprintable():
        return None
    if name in ("note", "ask", "decide", "block", "unblock", "done", "drop"):
        words: Argv = ("--", text) if text.startswith("-") else (text,)
        if name == "drop":  # what follows a reason of one word could be a part of it
            why: Argv = ("--why", Blank("the reason"))
            words = (*why, *words) if text.startswith("-") else (*words, *why)
        argv: Argv = ("checkpoint", name, reader.skill, *words)
        return CheckpointError(message, advise("did you mean this", *argv, more=more))

    if name in [row.get("id") for row in read_objects(dict(reader.document), "progress_table")]:
        row = f"--progress_table[{name}]{name_text('progress_table', text)}"
        return EditError(edit.word, message, "did you mean this", row, more)

    return None


def _read(value: Any, rules: Schema, held: Any, where: str, reader: _EditReader) -> Any:
    """Return a token value as it is meant: texts by type and enum, names in objects.

    held: what is there in the document.
    """
    if isinstance(value, str):
        value = _read_text(value, rules, reader)
    if isinstance(value, list):
        inner = child_rules(reader.schema, rules, "")
        return [_read(item, inner, held, where, reader) for item in value]

    if isinstance(value, dict):
        return _read_object(value, rules, held, where, reader)
    if isinstance(value, bytes) and b"e" in value.lower() and abs(float(value)) == float("inf"):
        message = f"{quote(reader.edit.word)}: {quote(value.decode())} is not finite"
        raise CheckpointError(message, "give a smaller number")

    return value


def _read_object(
    value: Mapping[str, Any], rules: Schema, held: Any, where: str, reader: _EditReader
) -> dict[str, Any]:
    """Return an object with the names and values that are meant."""
    objects = held if isinstance(held, list) else [held]
    known = frozenset(name for item in objects if isinstance(item, dict) for name in item)
    found: dict[str, Any] = {}
    for name, member in value.items():
        (meant,) = _find_name(name, where, known, reader)
        if meant in found or (meant != name and meant in value):
            raise CheckpointError(
                f"{quote(reader.edit.word)}: {where} has {meant} twice", "write it once"
            )
        place = f"{where}.{meant}"
        if meant != name:
            reader.taken.append(Understood(name, place))
        held_member = held.get(meant) if isinstance(held, dict) else None
        found[meant] = _read(
            member, child_rules(reader.schema, rules, meant), held_member, place, reader
        )

    return found


def _read_text(text: str, rules: Schema, reader: _EditReader) -> Any:
    """Return a text as the value that the rules ask for, where it can be read as one."""
    choices = rules.get("enum", ())
    if choices:
        return _read_choice(text, choices, reader)

    wanted = _list_types(rules)
    is_shape = "object" in wanted and text.startswith("{")
    if not wanted or ("string" in wanted and not is_shape):
        return text

    value = _scan(text)
    if is_shape and "string" in wanted:  # an action may be a text or an object
        if not isinstance(value, dict) or not value.keys() <= rules["properties"].keys():
            return text
        reader.taken.append(Understood(text, f"an object with {', '.join(value)}"))

    if "boolean" in wanted:
        value = _BOOLEANS.get(text.lower(), value)
    if _TYPES.get(type(value)) in (wanted if isinstance(wanted, list) else [wanted]):
        return value
    if "type" in rules:
        return text  # the check of the whole document says what is wrong
    raise _wrong_type(text, wanted, reader.edit)


def _list_types(rules: Schema) -> Any:
    """Return the type or types that a schema states, else those of its examples."""
    return rules.get("type") or [_TYPES[type(example)] for example in rules.get("examples", ())]


def _read_choice(text: str, choices: Sequence[str], reader: _EditReader) -> str:
    """Return the one of the choices that a text means; the text itself, where it is one or means
    none.
    """
    meant = "" if text in choices else names.find_choice(text, choices)
    if not meant:
        return text
    reader.taken.append(Understood(text, meant))
    return meant


def _scan(text: str) -> Any:
    """Return the value that a text is as JSON; None for null, and the text itself where it is no
    JSON.
    """
    try:
        return jsontext.scan_tokens(text) if jsontext.load(text) is not None else None
    except jsontext.JsonTextError:
        return text


def _wrong_type(text: str, wanted: Sequence[str], edit: Edit) -> EditError:
    """Return the refusal of a text where only a list or a boolean can be."""
    path = path_text(edit.path)
    if wanted == ["array"]:
        line = typed_edit(f"--{path}+=", text)
        return EditError(
            edit.word, f"{quote(edit.word)}: {path} is a list", "add an item to it", line
        )
    message = f"{quote(edit.word)}: {quote(text)} is neither true nor false"
    return EditError(edit.word, message, "write it as", f"--{path}=true", ", or =false")


def resolve(schema: Schema, rules: Any) -> Schema:
    """Rules with the reference followed that they may consist of; of several alternatives the first
    that is a shape.
    """
    for _ in range(10):
        if not isinstance(rules, Mapping):
            return {}
        if str(rules.get("$ref", "")).startswith("#/$defs/"):
            rules = schema.get("$defs", {}).get(rules["$ref"].removeprefix("#/$defs/"))
        elif "anyOf" in rules or "oneOf" in rules:
            options = [resolve(schema, each) for each in rules.get("anyOf") or rules["oneOf"]]
            rules = next(
                (
                    each
                    for each in options
                    if "properties" in each or "items" in each or "enum" in each
                ),
                {},
            )
        else:
            return rules

    return {}


def child_rules(schema: Schema, rules: Schema, name: str) -> Schema:
    """The rules of a member of an object, or of the items of a list; {} if the schema knows nothing
    of them.
    """
    own = rules.get("properties", {}).get(name)
    return resolve(schema, own or rules.get("items") or rules.get("additionalProperties"))
