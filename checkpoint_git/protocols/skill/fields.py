"""What an edit means: the field that its path names, and its value as the schema wants it there. Pure.

Only what is surely meant is taken; another name is refused where the protocol is not open to names of one's own.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Argv, Blank, advise
from checkpoint_git.core.terminal_text import quote_word
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill import changes, names
from checkpoint_git.protocols.skill.changes import Edit, EditError, Step, path_text, typed_edit
from checkpoint_git.protocols.skill.shape import write_item
from checkpoint_git.protocols.skill.views import read_objects

Schema = Mapping[str, Any]
_GLOBAL_OPTIONS = frozenset(["format", "help", "json", "new-field", "no-color", "quiet", "version"])
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_TYPES: dict[type, str] = {bytes: "number", bool: "boolean", list: "array", dict: "object", str: "string"}


class Understood(NamedTuple):
    """What was understood other than it was typed. is_option: typed is a field's name behind two dashes."""

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


class _Reader(NamedTuple):
    edit: Edit
    schema: Schema
    taken: list[Understood]
    new_field: bool
    skill: str
    document: Mapping[str, Any]


def understand(
    value: Mapping[str, Any], edits: Iterable[Edit], schema: Schema, *, new_field: bool = False, skill: str = "NAME"
) -> tuple[list[Edit], list[Understood]]:
    """The edits as they are meant for a document, and what differs from what was typed. new_field: names that nobody
    knows are taken as they are. Raises CheckpointError for what is not understood.
    """
    taken: list[Understood] = []
    meant = [_understand(value, _Reader(edit, schema, taken, new_field, quote_word(skill), value)) for edit in edits]
    for at, edit in enumerate(meant):
        length = len(edit.path)
        if edit.action == "replace" and any(other.path[:length] == edit.path for other in meant[:at]):
            message = f"{quote(edit.word)}: {path_text(edit.path)} is written twice, and the first would be lost"
            raise CheckpointError(message, "say it once")
    return meant, taken


def _understand(value: Any, reader: _Reader) -> Edit:
    path: list[Step] = []
    rules, held, where = resolve(reader.schema, reader.schema), value, ""
    for step in reader.edit.path:
        if isinstance(held, list) or rules.get("type") == "array":
            path.append(_find_id(step, held))
            rules, held = child_rules(reader.schema, rules, ""), changes.find_item(held, step.name)
            continue
        found = _find_name(step.name, where, frozenset(held if isinstance(held, dict) else ()), reader)
        path += [step] if found == (step.name,) else [Step(name) for name in found]
        if isinstance(held, dict) and where not in names.KNOWN and step.name not in held:
            near = "" if reader.edit.action == "remove" else names.find_sibling(step.name, held)
            if near:
                told = f"a new field beside {quote(f'{where}.{near}')[1:-1]}"
                reader.taken.append(Understood(f"{where}.{step.name}", told, is_option=True))
        for name in found:
            rules, where = child_rules(reader.schema, rules, name), f"{where}.{name}".lstrip(".")
            held = held.get(name) if isinstance(held, dict) else None
    edit = reader.edit
    if [step.name for step in path] != [step.name for step in edit.path]:
        reader.taken.append(Understood(path_text(edit.path), path_text(tuple(path)), is_option=True))
    if edit.action == "remove":
        if edit.value == "":
            _check_removal(edit, tuple(path), held, rules)
        return edit._replace(path=tuple(path))
    if _adds_to_list(edit, tuple(path)):
        reader.taken.append(Understood(f"{path_text(edit.path)}=", f"{path_text(tuple(path))}+=", is_option=True))
        edit = edit._replace(action="append")
    rules = child_rules(reader.schema, rules, "") if edit.action == "append" else rules
    kind = _TYPES.get(type(held), "string")
    if isinstance(edit.value, str) and edit.action == "replace" and kind != "string" and ":json=" not in edit.word:
        rules = rules if rules.keys() & {"type", "enum", "examples"} else {"type": kind, "kept": True}
    value = _read(edit.value, rules, held, where, reader)
    if rules.get("kept") and kind in ("array", "object") and isinstance(value, str):
        message = f"{quote(edit.word)}: {path_text(tuple(path))} is not a text, and would be lost"
        raise CheckpointError(message, "name what is in it, add to a list with +=, or replace it with :json=")
    if rules.get("kept"):
        told = f"a text, where a {kind} was" if isinstance(value, str) else f"a {kind}, as before"
        reader.taken.append(Understood(edit.value, told))
    return edit._replace(path=tuple(path), value=value)


def _adds_to_list(edit: Edit, path: tuple[Step, ...]) -> bool:
    """Whether an edit puts one text in place of a known list of texts: that can only mean one more item."""
    texts = names.LISTS.get(path_text(path), ())
    takes_texts = texts is str or (isinstance(texts, tuple) and str in texts)
    is_text = isinstance(edit.value, str) and bool(edit.value.strip()) and ":json=" not in edit.word
    return takes_texts and is_text and edit.action == "replace" and not str(edit.value).startswith("[")


def _find_id(step: Step, items: Any) -> Step:
    """By the item's id, where it is named by its text or behind a dot."""
    is_number = not step.bracketed and step.name.isdecimal()
    at = changes.find_index(items, step.name) if isinstance(items, list) and not is_number else None
    ids = changes.ids_of(items[at]) if at is not None and isinstance(items[at], dict) else []
    return Step(step.name if step.name in ids else ids[0], bracketed=True) if ids else step


def _check_removal(edit: Edit, path: tuple[Step, ...], held: Any, rules: Schema) -> None:
    """Raises CheckpointError where -= without a value may empty more than was meant."""
    name, count = path_text(path), len(held) if isinstance(held, list) else 0
    is_guessed = [step.name for step in path] != [step.name for step in edit.path] and not path[-1].bracketed
    if not held or not (is_guessed or (count > 1 and rules)):
        return
    first = typed_edit(f"--{name}-=", next(iter(changes.ids_of(held[0])), "")) if count else f"--{name}-="
    hint, more = ("remove one", f"; or all: --{name}:json='[]'") if count else ("say that it goes", "")
    raise EditError(edit.word, f"{quote(edit.word)} would remove all of {name} ({count or 1})", hint, first, more)


def _find_name(name: str, where: str, own: frozenset[str], reader: _Reader) -> tuple[str, ...]:
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


def _unknown(name: str, where: str, reader: _Reader) -> CheckpointError:
    edit = reader.edit
    message = f"{quote(edit.word)}: unknown field {quote(name)}{f' in {where}' if where else ''}"
    if name in _GLOBAL_OPTIONS and edit.word.startswith("--"):
        return CheckpointError(message, f"--{name} is an option of its own and takes no value")
    near, own = names.find_nearest(name, where), f"skill_state.{quote(name)[1:-1]}"
    path, full, value = path_text(edit.path), f"{where}.{near}".lstrip("."), edit.value
    is_typed = any(step.name == name for step in edit.path)  # else it is in an object
    if is_typed and name != edit.path[-1].name and full not in names.KNOWN:
        near = ""
    if edit.action == "remove" and not near:
        return CheckpointError(message, advise("see what there is", "checkpoint", "show"))
    operator = changes.SIGNS[edit.action] or "+" * (is_typed and full in names.LISTS)
    if near in changes.TEXTS and isinstance(value, str) and operator == "+":
        value = write_item(near, value)
    advice, flag = "did you mean this", "--new-field" if edit.word.startswith("--") else "new_field"
    more, line = f"; a field of your own is {own}, or any name with {flag}", ""
    if isinstance(value, str) and value.strip() and value.isprintable() and not where and len(edit.path) == 1:
        if name in ("note", "ask", "decide", "block", "unblock", "done", "drop"):
            text: Argv = ("--", value) if value.startswith("-") else (value,)
            if name == "drop":  # what follows a reason of one word could be a part of it
                why: Argv = ("--why", Blank("the reason"))
                text = (*why, *text) if value.startswith("-") else (*text, *why)
            argv: Argv = ("checkpoint", name, reader.skill, *text)
            return CheckpointError(message, advise(advice, *argv, more=more))
        if name in [row.get("id") for row in read_objects(dict(reader.document), "progress_table")]:
            row = f"--progress_table[{name}]{changes.name_text('progress_table', value)}"
            return EditError(edit.word, message, advice, row, more)
    if near and (is_typed or quote_word(name) == name):
        line = typed_edit(f"--{path.replace(name, near, 1) if is_typed else path}{operator}=", value)
        line = line if is_typed else line.replace(name, near, 1)
    elif is_typed:
        advice, more = "to keep it in a field of your own", f"; any name is taken with {flag}"
        line = typed_edit(f"--{own if where else f'skill_state.{path}'}{operator}=", value)
    return EditError(edit.word, message, advice if line else more[2:3].upper() + more[3:], line, more if line else "")


def _read(value: Any, rules: Schema, held: Any, where: str, reader: _Reader) -> Any:
    """A token value as it is meant: texts by type and enum, names in objects."""
    if isinstance(value, str):
        value = _read_text(value, rules, reader)
    if isinstance(value, list):
        inner = child_rules(reader.schema, rules, "")
        return [_read(item, inner, held, where, reader) for item in value]
    if isinstance(value, bytes) and b"e" in value.lower() and abs(float(value)) == float("inf"):
        message = f"{quote(reader.edit.word)}: {quote(value.decode())} is not finite"
        raise CheckpointError(message, "give a smaller number")
    if not isinstance(value, dict):
        return value
    there = held if isinstance(held, list) else [held]
    own = frozenset(name for item in there if isinstance(item, dict) for name in item)
    found: dict[str, Any] = {}
    for name, member in value.items():
        (meant,) = _find_name(name, where, own, reader)
        if meant in found or (meant != name and meant in value):
            raise CheckpointError(f"{quote(reader.edit.word)}: {where} has {meant} twice", "say it once")
        if meant != name:
            reader.taken.append(Understood(name, f"{where}.{meant}"))
        held_member = held.get(meant) if isinstance(held, dict) else None
        found[meant] = _read(member, child_rules(reader.schema, rules, meant), held_member, f"{where}.{meant}", reader)
    return found


def _read_text(text: str, rules: Schema, reader: _Reader) -> Any:
    choices = rules.get("enum", ())
    if choices:
        meant = "" if text in choices else names.find_choice(text, choices)
        if meant:
            reader.taken.append(Understood(text, meant))
        return meant or text
    wanted = rules.get("type") or [_TYPES[type(example)] for example in rules.get("examples", ())]
    is_shape = "object" in wanted and text.startswith("{")
    if not wanted or ("string" in wanted and not is_shape):
        return text
    try:
        value: Any = jsontext.scan_tokens(text) if jsontext.load(text) is not None else None
    except jsontext.JsonTextError:
        value = text
    if is_shape and "string" in wanted:  # an action may be a text or an object
        if not isinstance(value, dict) or not value.keys() <= rules["properties"].keys():
            return text
        reader.taken.append(Understood(text, f"an object with {', '.join(value)}"))
    value = _BOOLEANS.get(text.lower(), value) if "boolean" in wanted else value
    if _TYPES.get(type(value)) in (wanted if isinstance(wanted, list) else [wanted]):
        return value
    if "type" in rules:
        return text  # the check of the whole document says what is wrong
    if wanted == ["array"]:
        path = path_text(reader.edit.path)
        line = typed_edit(f"--{path}+=", text)
        raise EditError(reader.edit.word, f"{quote(reader.edit.word)}: {path} is a list", "add an item to it", line)
    message = f"{quote(reader.edit.word)}: {quote(text)} is neither true nor false"
    raise EditError(reader.edit.word, message, "write it as", f"--{path_text(reader.edit.path)}=true", ", or =false")


def resolve(schema: Schema, rules: Any) -> Schema:
    """Rules with the reference followed that they may consist of; of several alternatives the first that is a shape."""
    for _ in range(10):
        if not isinstance(rules, Mapping):
            return {}
        if str(rules.get("$ref", "")).startswith("#/$defs/"):
            rules = schema.get("$defs", {}).get(rules["$ref"].removeprefix("#/$defs/"))
        elif "anyOf" in rules or "oneOf" in rules:
            options = [resolve(schema, each) for each in rules.get("anyOf") or rules["oneOf"]]
            rules = next((each for each in options if "properties" in each or "items" in each or "enum" in each), {})
        else:
            return rules
    return {}


def child_rules(schema: Schema, rules: Schema, name: str) -> Schema:
    """The rules of a member of an object, or of the items of a list; {} where the schema knows nothing of them."""
    own = rules.get("properties", {}).get(name)
    return resolve(schema, own or rules.get("items") or rules.get("additionalProperties"))
