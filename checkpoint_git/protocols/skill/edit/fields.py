"""Resolve an edit: find the field that its path means, and read its value as the schema wants it.

A name is corrected only if its meaning is certain. Another unknown name is refused, unless the
protocol allows any name there. Pure.
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
    quote_step,
    typed_edit,
)
from checkpoint_git.protocols.skill.names import TEXTS
from checkpoint_git.protocols.skill.shape import write_item
from checkpoint_git.protocols.skill.views import read_objects

Schema = Mapping[str, Any]
_GLOBAL_OPTIONS = frozenset(
    ["format", "help", "json", "new-field", "no-color", "quiet", "version"],
)
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_TYPES: dict[type, str] = {
    bytes: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    str: "string",
}


class Understood(NamedTuple):
    """A name or value that was corrected. is_option: typed is a field's name behind two dashes."""

    typed: str
    meant: str
    is_option: bool = False

    @property
    def text(self) -> str:
        """Return it as a line of output, such as: --files is context_primer.generated_files."""
        if self.is_option:
            return f"--{self.typed} is {self.meant}"
        return f'"{self.typed}" is {self.meant}'

    @property
    def data(self) -> dict[str, str]:
        return {"typed": self.typed, "meant": self.meant}


class _EditReader(NamedTuple):
    """An edit and its context. corrections: filled while it is read. skill: quoted for a shell."""

    edit: Edit
    schema: Schema
    corrections: list[Understood]
    new_field: bool
    skill: str
    document: Mapping[str, Any]

    def correct(self, typed: str, meant: str, *, is_option: bool = False) -> None:
        self.corrections.append(Understood(typed, meant, is_option))


def understand(
    value: Mapping[str, Any],
    edits: Iterable[Edit],
    schema: Schema,
    *,
    new_field: bool = False,
    skill: str = "NAME",
) -> tuple[list[Edit], list[Understood]]:
    """Return the edits with the known names and values of a document, and what was corrected.

    new_field: unknown names are kept as they are. Raises CheckpointError for a name or a value
    without a certain meaning.
    """
    corrections: list[Understood] = []
    clear: list[Edit] = []
    for edit in edits:
        reader = _EditReader(edit, schema, corrections, new_field, quote_word(skill), value)
        clear.append(_understand(value, reader))

    written = set[tuple[PathStep, ...]]()  # with all that is around it
    for edit in clear:
        if edit.action == "replace" and edit.path in written:
            problem = f"{path_text(edit.path)} is written twice, and the first would be lost"
            raise CheckpointError(f"{quote(edit.word)}: {problem}", "write it once")
        written.update(edit.path[:length] for length in range(len(edit.path) + 1))

    return clear, corrections


class _EditPlace(NamedTuple):
    """An edit's path with known names, and the rules, the value and the name of its place.

    name: without the steps into lists, such as context_primer.key_decisions.
    """

    path: tuple[PathStep, ...]
    rules: Schema
    value: Any
    name: str


def _understand(value: Any, reader: _EditReader) -> Edit:
    """Return the reader's edit with known names and values. value: the document's."""
    edit = reader.edit
    place = _follow_path(value, reader)
    path = place.path
    if _is_corrected(edit, path):
        reader.correct(path_text(edit.path), path_text(path), is_option=True)
    if edit.action == "remove":
        if edit.value == "":
            _check_removal(edit, place)
        return edit._replace(path=path)

    if _adds_to_list(edit, path):
        reader.correct(f"{path_text(edit.path)}=", f"{path_text(path)}+=", is_option=True)
        edit = edit._replace(action="append")

    return edit._replace(path=path, value=_understand_value(edit, place, reader))


def _is_corrected(edit: Edit, path: tuple[PathStep, ...]) -> bool:
    """Whether a path has other names than the edit's own."""
    return [step.name for step in path] != [step.name for step in edit.path]


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

        names_there = frozenset(value if isinstance(value, dict) else ())
        found = _find_name(step.name, where, names_there, reader)
        if found == (step.name,):
            path.append(step)
        else:
            path += [PathStep(name) for name in found]
        _note_new_field(step.name, value, where, reader)
        for name in found:
            rules = child_rules(reader.schema, rules, name)
            where = f"{where}.{name}".lstrip(".")
            value = value.get(name) if isinstance(value, dict) else None

    return _EditPlace(tuple(path), rules, value, where)


def _note_new_field(name: str, value: Any, where: str, reader: _EditReader) -> None:
    """Note that an object gets a new field beside one with nearly its name. value: the object."""
    if not isinstance(value, dict) or where in names.KNOWN or name in value:
        return
    if reader.edit.action == "remove":
        return
    near = names.find_sibling(name, value)
    if near:
        sibling = quote_step(f"{where}.{near}")
        reader.correct(f"{where}.{name}", f"a new field beside {sibling}", is_option=True)


def _understand_value(edit: Edit, place: _EditPlace, reader: _EditReader) -> Any:
    """Return the value of an edit as the schema wants it; without a rule it keeps its type."""
    rules = place.rules
    if edit.action == "append":
        rules = child_rules(reader.schema, place.rules, "")
    kind = _TYPES.get(type(place.value), "string")
    is_free = not rules.keys() & {"type", "enum", "examples"}
    may_keep = edit.action == "replace" and kind != "string" and is_free
    if not (may_keep and isinstance(edit.value, str) and ":json=" not in edit.word):
        return _read(edit.value, rules, place.value, place.name, reader)

    value = _read(edit.value, {"type": kind}, place.value, place.name, reader)
    if not isinstance(value, str):
        reader.correct(edit.value, f"a {kind}, as before")
        return value

    if kind in ("array", "object"):
        message = f"{quote(edit.word)}: {path_text(place.path)} is not a text, and would be lost"
        hint = "name what is in it, add to a list with +=, or replace it with :json="
        raise CheckpointError(message, hint)
    reader.correct(edit.value, f"a text, where a {kind} was")
    return value


def _adds_to_list(edit: Edit, path: tuple[PathStep, ...]) -> bool:
    """Whether an edit puts one text in place of a known list of texts: that can only mean one more
    item.
    """
    if edit.action != "replace" or not isinstance(edit.value, str) or ":json=" in edit.word:
        return False
    texts = names.LISTS.get(path_text(path), ())
    takes_texts = texts is str or (isinstance(texts, tuple) and str in texts)
    return takes_texts and bool(edit.value.strip()) and not edit.value.startswith("[")


def _find_id(step: PathStep, items: Any) -> PathStep:
    """Return the step with the id of the item that it names by a text, or else the step itself."""
    is_number = not step.bracketed and step.name.isdecimal()
    if is_number or not isinstance(items, list):
        return step
    index = find_index(items, step.name)
    if index is None or not isinstance(items[index], dict):
        return step

    ids = ids_of(items[index])
    if not ids:
        return step
    name = step.name if step.name in ids else ids[0]
    return PathStep(name, bracketed=True)


def _check_removal(edit: Edit, place: _EditPlace) -> None:
    """Raise EditError if -= without a value may remove more than the user wants."""
    present = place.value
    if not present:
        return
    name = path_text(place.path)
    count = len(present) if isinstance(present, list) else 0
    is_guessed = _is_corrected(edit, place.path) and not place.path[-1].bracketed
    if not is_guessed and not (count > 1 and place.rules):
        return

    message = f"{quote(edit.word)} would remove all of {name} ({count or 1})"
    if not count:
        raise EditError(edit.word, message, "remove it explicitly", f"--{name}-=")
    first = typed_edit(f"--{name}-=", next(iter(ids_of(present[0])), ""))
    raise EditError(edit.word, message, "remove one", first, f"; or all: --{name}:json='[]'")


def _find_name(
    name: str, where: str, names_there: frozenset[str], reader: _EditReader
) -> tuple[str, ...]:
    """Return the known names that a name in an object means. names_there: of the object's members.

    Raises CheckpointError for an unknown name.
    """
    known = names.KNOWN.get(where)
    if known is None or name in known or reader.new_field or name == "$schema":
        return (name,)

    meaning = names.find_meaning(name, where)
    if name in names_there:
        has_other_meaning = bool(meaning or names.find_near_miss(name, known))
        if reader.edit.action == "remove" or not has_other_meaning:
            return (name,)
    if meaning:
        return tuple(meaning.split("."))
    raise _unknown(name, where, reader)


def _unknown(name: str, where: str, reader: _EditReader) -> CheckpointError:
    """Return the refusal of a name that an object does not know, with the probable correction."""
    edit = reader.edit
    message = f"{quote(edit.word)}: unknown field {quote(name)}"
    if where:
        message += f" in {where}"
    if name in _GLOBAL_OPTIONS and edit.word.startswith("--"):
        return CheckpointError(message, f"--{name} is a separate option without a value")

    is_typed = any(step.name == name for step in edit.path)  # else it is in an object
    near, operator = _find_near(name, where, edit, is_typed=is_typed)
    if edit.action == "remove" and not near:
        return CheckpointError(message, advise("see what there is", "checkpoint", "show"))

    value = edit.value
    if near in TEXTS and isinstance(value, str) and operator == "+":
        value = write_item(near, value)
    own_field = f"skill_state.{quote_step(name)}"
    flag = "--new-field" if edit.word.startswith("--") else "new_field"
    advice = f"a field of your own is {own_field}, or any name with {flag}"
    mistaken = _name_verb_or_row(name, value, where, message, f"; {advice}", reader)
    if mistaken is not None:
        return mistaken

    line = _write_near(name, near, operator, value, edit, is_typed=is_typed)
    if line:
        return EditError(edit.word, message, "did you mean this", line, f"; {advice}")
    if not is_typed:
        return EditError(edit.word, message, f"A{advice[1:]}")
    if not where:
        own_field = f"skill_state.{path_text(edit.path)}"
    return _offer_own_field(f"{own_field}{operator}", value, message, flag, edit)


def _find_near(name: str, where: str, edit: Edit, *, is_typed: bool) -> tuple[str, str]:
    """Return the known field that is nearest to a name, "" for none, and the operator for a value.

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
    """Return the edit with a known field in place of a name, "" if there is no such edit."""
    path = path_text(edit.path)
    if near and is_typed:
        return typed_edit(f"--{path.replace(name, near, 1)}{operator}=", value)
    if near and quote_word(name) == name:
        return typed_edit(f"--{path}{operator}=", value).replace(name, near, 1)
    return ""


def _offer_own_field(start: str, value: Any, message: str, flag: str, edit: Edit) -> EditError:
    """Return the refusal of a name that resembles none, with the same edit below skill_state."""
    line = typed_edit(f"--{start}=", value)
    advice = "to keep it in a field of your own"
    return EditError(edit.word, message, advice, line, f"; any name is taken with {flag}")


def _name_verb_or_row(
    name: str, text: Any, where: str, message: str, ending: str, reader: _EditReader
) -> CheckpointError | None:
    """Return the refusal of a text for a name that is a verb's or a row's of the progress table,
    None for another name.

    ending: the end of its hint.
    """
    edit = reader.edit
    if not isinstance(text, str) or where or len(edit.path) != 1:
        return None
    if not text.strip() or not text.isprintable():
        return None
    if name in ("note", "ask", "decide", "block", "unblock", "done", "drop"):
        argv: Argv = ("checkpoint", name, reader.skill, *_words_of_verb(name, text))
        return CheckpointError(message, advise("did you mean this", *argv, more=ending))

    if name in [row.get("id") for row in read_objects(dict(reader.document), "progress_table")]:
        row = f"--progress_table[{name}]{name_text('progress_table', text)}"
        return EditError(edit.word, message, "did you mean this", row, ending)

    return None


def _words_of_verb(verb: str, text: str) -> Argv:
    """Return the words that give a verb its text; a text that begins with a dash comes last."""
    reason: Argv = ()
    if verb == "drop":
        reason = ("--why", Blank("the reason"))
    if text.startswith("-"):
        return (*reason, "--", text)
    return (text, *reason)  # words behind a reason could be a part of it


def _read(value: Any, rules: Schema, present: Any, where: str, reader: _EditReader) -> Any:
    """Return a token value as the rules want it: texts by type and enum, known names in objects.

    present: the document's value at that place.
    """
    if isinstance(value, str):
        value = _read_text(value, rules, reader)
    if isinstance(value, list):
        inner = child_rules(reader.schema, rules, "")
        return [_read(item, inner, present, where, reader) for item in value]

    if isinstance(value, dict):
        return _read_object(value, rules, present, where, reader)
    if isinstance(value, bytes) and b"e" in value.lower() and abs(float(value)) == float("inf"):
        message = f"{quote(reader.edit.word)}: {quote(value.decode())} is not finite"
        raise CheckpointError(message, "give a smaller number")

    return value


def _read_object(
    value: Mapping[str, Any], rules: Schema, present: Any, where: str, reader: _EditReader
) -> dict[str, Any]:
    """Return an object with its known names, and their values as the rules want them."""
    objects = present if isinstance(present, list) else [present]
    names_there = frozenset(name for item in objects if isinstance(item, dict) for name in item)
    found: dict[str, Any] = {}
    for name, member in value.items():
        (known,) = _find_name(name, where, names_there, reader)
        if known in found or (known != name and known in value):
            message = f"{quote(reader.edit.word)}: {where} has {known} twice"
            raise CheckpointError(message, "write it once")
        place = f"{where}.{known}"
        if known != name:
            reader.correct(name, place)

        member_present = present.get(known) if isinstance(present, dict) else None
        member_rules = child_rules(reader.schema, rules, known)
        found[known] = _read(member, member_rules, member_present, place, reader)

    return found


def _read_text(text: str, rules: Schema, reader: _EditReader) -> Any:
    """Return the value that the rules want and a text is; else the text itself."""
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
        reader.correct(text, f"an object with {', '.join(value)}")

    if "boolean" in wanted:
        value = _BOOLEANS.get(text.lower(), value)
    if _TYPES.get(type(value)) in wanted:
        return value
    if "type" in rules:
        return text  # the check of the whole document says what is wrong
    raise _wrong_type(text, wanted, reader.edit)


def _list_types(rules: Schema) -> Sequence[str]:
    """Return the types that a schema states, else those of its examples."""
    stated: str | Sequence[str] | None = rules.get("type")
    if isinstance(stated, str):
        return [stated]
    return stated or [_TYPES[type(example)] for example in rules.get("examples", ())]


def _read_choice(text: str, choices: Sequence[str], reader: _EditReader) -> str:
    """Return the choice that a text means, or the text itself if it is one or means none."""
    if text in choices:
        return text
    choice = names.find_choice(text, choices)
    if not choice:
        return text
    reader.correct(text, choice)
    return choice


def _scan(text: str) -> Any:
    """Return the token value of a text, None for null, and the text itself if it is not JSON."""
    try:
        if jsontext.load(text) is None:
            return None
        return jsontext.scan_tokens(text)
    except jsontext.JsonTextError:
        return text


def _wrong_type(text: str, wanted: Sequence[str], edit: Edit) -> EditError:
    """Return the refusal of a text where only a list or a boolean can be."""
    path = path_text(edit.path)
    if wanted == ["array"]:
        message = f"{quote(edit.word)}: {path} is a list"
        return EditError(edit.word, message, "add an item to it", typed_edit(f"--{path}+=", text))
    message = f"{quote(edit.word)}: {quote(text)} is neither true nor false"
    return EditError(edit.word, message, "write it as", f"--{path}=true", ", or =false")


def resolve(schema: Schema, rules: Any) -> Schema:
    """Return rules with their references followed; of alternatives the first that has a shape."""
    for _ in range(10):
        if not isinstance(rules, Mapping):
            return {}
        if str(rules.get("$ref", "")).startswith("#/$defs/"):
            rules = schema.get("$defs", {}).get(rules["$ref"].removeprefix("#/$defs/"))
        elif "anyOf" in rules or "oneOf" in rules:
            rules = _find_shape(schema, rules.get("anyOf") or rules["oneOf"])
        else:
            return rules

    return {}


def _find_shape(schema: Schema, alternatives: Iterable[Any]) -> Schema:
    """Return the first alternative that describes an object, a list or a choice, {} for none."""
    for alternative in alternatives:
        rules = resolve(schema, alternative)
        if "properties" in rules or "items" in rules or "enum" in rules:
            return rules
    return {}


def child_rules(schema: Schema, rules: Schema, name: str) -> Schema:
    """Return the rules of a member of an object, or of a list's items; {} for unknown ones."""
    member = rules.get("properties", {}).get(name)
    return resolve(schema, member or rules.get("items") or rules.get("additionalProperties"))
