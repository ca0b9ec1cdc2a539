"""What the writing verbs do to a checkpoint's value: edits as they are typed, start, stamp, finish an action. Pure.

Values are token values (jsontext): numbers are bytes, and whatever is not touched stays what it was. Edits are typed as
--a.b=text, --a.b+=text, --a.b-=text, --a.b:json=..., --rows[id].c=text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import (
    UNFILLED,
    AnyHint,
    Argument,
    Argv,
    Blank,
    advise,
    join_hints,
    split_blanks,
    write_plain,
)
from checkpoint_git.core.placeholder import check_filled
from checkpoint_git.protocols.mismatch import OWN, quote
from checkpoint_git.protocols.skill import names
from checkpoint_git.protocols.skill.goals import FIELD, with_goals
from checkpoint_git.protocols.skill.views import find_done_actions, read_list, read_objects

KEPT_DONE = 10
ROW_STATUSES = ("not_started", "in_progress", "complete", "blocked", "failed", "skipped", "deferred")
# where a text belongs in the objects of a list
TEXTS = {"progress_table": "label", "blockers": "description", "pm_refs": "id", "eval_scores": "rubric"}
FIRST_ACTION = (
    "Say what this work is: set project, phase, step and progress_summary, and list its steps in progress_table"
)
FIRST_STEP = "start"
SCHEMA_FILE = "schemas/skill.schema.json"  # below .checkpoints, where a project keeps the schema for its editors

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
ID_NAMES = ("id", "number", "name")
_TEXT_NAMES = (*ID_NAMES, "text", "path", "title", "rubric", "label", "description")
_MAX_STEPS = 20
_LONGEST_INDEX = 10  # digits


class Step(NamedTuple):
    """One step of a path. bracketed: written as [name]: an item by its id, or a key taken letter by letter."""

    name: str
    bracketed: bool = False


class Edit(NamedTuple):
    """One change. value: a token value. word: as it was typed, for messages."""

    path: tuple[Step, ...]
    action: Action
    value: Any
    word: str

    @property
    def field(self) -> str:
        return self.path[0].name


class EditError(CheckpointError):
    """An edit that cannot be made.

    meant: the edit in its place, "" where none is known. more: the end of the hint. at, count: the words that it
    replaces. start: "--step=" where all that is missing is the sign before a value.
    """

    def __init__(self, word: str, message: str, advice: str, meant: str = "", more: str = "") -> None:
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
        path, value, group = path_text(edit.path), untoken(edit.value), asked.setdefault(edit.action, {})
        group[path] = value if edit.action == "replace" else [*group.get(path, ()), value]
    return asked if edits else {**asked, "replace": {}}


def untoken(value: Any) -> Any:
    """A number with more digits than Python reads is a text."""
    import json  # the command line brings text, which needs none of it

    from checkpoint_git.core import jsonwrite

    return json.loads(jsonwrite.render(value), parse_int=lambda token: int(token) if len(token) < 4_000 else token)


def dump(value: Any) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def parse_edits(words: list[str]) -> list[Edit]:
    """Return the edits that command line words ask for. Raises CheckpointError, naming the word and what was meant."""
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
        hint = f"did you mean --{_shown(stem)}{meant}=...? There are =, +=, -=, :json= and +:json="
        raise CheckpointError(f"{quote(operator)} after {quote(stem)} is not an operator", hint)
    path = _parse_path(stem, word)
    if path in ((Step("field"),), (Step("set"),)):
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


def _not_an_edit(word: str, at: int, before: list[str], after: list[str]) -> CheckpointError:
    """With the edit that is meant: its dashes are missing or others, or its value is what follows. at: of the =."""
    has_dashes = word.startswith("--")
    if before and before[0].endswith("=") and not has_dashes:
        tail = ", with no space around ="
        error = EditError(word, f"{quote(word)} is not an edit", "write it as", before[0] + word, tail)
        error.at, error.count = -1, 2
        return error
    taken = [*takewhile(lambda each: not each.startswith("-") and "=" not in each[1:], after)] if at < 0 else []
    if at < 0 and has_dashes and after and not after[0].startswith("-"):
        taken = taken or [after[0]]  # a value may hold a =
    stem, value = (word, " ".join(taken).lstrip("= ")) if at < 0 else (word[:at], word[at + 1 :])
    stem = stem.lstrip(_DASHES)
    end = _find_outside_brackets(stem, _OPERATOR_LETTERS)
    name, operator = (stem, "") if end < 0 else (stem[:end], stem[end:])
    if at < 0 and operator not in _OPERATORS:  # --step:value
        value = operator[1:] or value
    if operator not in _OPERATORS or not operator:
        operator = "+" if names.find_meaning(name) in names.LISTS else ""
    line = typed_edit(f"--{name}{operator}=", value, "VALUE")
    if has_dashes:
        tail = ", with no space around ="
        error = EditError(word, f"{quote(word)} has no value", "write it as", line, tail)
        error.count += len(taken)
        if len(taken) == 1 and not taken[0].startswith("=") and operator in _OPERATORS:
            error.start = f"--{name}{operator}="
        return error
    error = EditError(word, f"{quote(word)} is not an edit", "an edit begins with two dashes", line)
    error.count += len(taken)
    return error


def typed_edit(start: str, value: Any, unknown: str = "...") -> str:
    """Return an edit as a word. unknown: in place of a text that is empty or cannot be printed."""
    if not isinstance(value, str):
        return f"{start[:-1]}:json={dump(untoken(value))}"
    return f"{start}{value}" if value and value.isprintable() else f"{start}{unknown}"


Lists = Mapping[str, Iterable[Any]]


def make_edits(replace: Mapping[str, Any] | None, append: Lists | None, remove: Lists | None = None) -> list[Edit]:
    """The edits of callers without a command line: dotted path -> new value, path of a list -> items to add or remove.
    A single text is one item. Raises CheckpointError for values that cannot be JSON.
    """
    if not all(isinstance(fields, Mapping | None) for fields in (replace, append, remove)):
        raise CheckpointError("replace, append and remove map paths to values", 'write {"step": "..."}')
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
        raise CheckpointError(f"the value cannot be JSON: {error}", "give texts, numbers, lists and mappings") from None


def make_edit(path: str, action: Action, value: Any) -> Edit:
    check_text(path)
    if _find_outside_brackets(path, _OPERATOR_LETTERS + "=") >= 0:
        raise CheckpointError(f"{quote(path)} is not a path", "give the path alone, such as progress_table.0.status")
    return Edit(_parse_path(path, path), action, value, path)


def check_text(word: object) -> None:
    if not isinstance(word, str):
        raise CheckpointError(f"{word!r} is not a text", "give a str")
    try:
        word.encode()
    except UnicodeEncodeError:
        raise CheckpointError(f"{quote(word)} is not UTF-8 text", "give the value in UTF-8") from None


def _shown(word: str) -> str:
    return quote(word)[1:-1]


def _find_outside_brackets(text: str, wanted: str) -> int:
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]" and depth > 0)
        if depth == 0 and letter in wanted:
            return at
    return -1


def _parse_path(text: str, word: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    rest = text
    while rest or not steps:
        step, rest = _take_step(rest, is_first=not steps)
        if step is None or not step.name or len(steps) == _MAX_STEPS:
            hint = "a path is a.b, rows.0.status or rows.id.status"
            raise CheckpointError(f"{quote(word)}: {quote(text)} is not a path", hint)
        steps.append(step)
    return tuple(steps)


def _take_step(text: str, *, is_first: bool) -> tuple[Step | None, str]:
    if text.startswith("[") and not is_first:
        name, bracket, rest = text[1:].partition("]")
        return (Step(name, bracketed=True) if bracket else None), rest
    if not is_first and not text.startswith("."):
        return None, text
    text = text if is_first else text[1:]
    end = next((at for at, letter in enumerate(text) if letter in ".["), len(text))
    name = text[:end]
    return (Step(name) if name == name.strip() and "]" not in name else None), text[end:]


def apply_edit(value: dict[str, Any], edit: Edit) -> str:
    """Changes a value in place; where it wrote. Raises CheckpointError where the path leads nowhere."""
    container: Any = value
    where = ""
    for at in range(len(edit.path) - 1):
        key = _find_member(container, edit, at)
        where += f"/{key}"
        container = container.setdefault(key, {}) if isinstance(container, dict) else container[key]
    key = _find_member(container, edit, len(edit.path) - 1)
    if edit.action == "replace":
        container[key] = edit.value
        return f"{where}/{key}"
    if edit.action == "remove":
        _remove(container, key, edit)
        return f"{where}/{key}"
    present = container.setdefault(key, []) if isinstance(container, dict) else container[key]
    if not isinstance(present, list):
        path = path_text(edit.path)
        message = f"{quote(edit.word)}: {path} is {quote(plain(present))}, not a list to append to"
        if not isinstance(present, dict):
            raise EditError(edit.word, message, "replace it", typed_edit(f"--{path}=", edit.value))
        lists = [name for name, member in present.items() if isinstance(member, list)]
        inner = _shown(lists[0]) if lists else "proposed_resolution" if edit.field == "blockers" else "notes"
        line = typed_edit(f"--{path}.{inner}{'+' * (bool(lists) or edit.field not in TEXTS)}=", edit.value)
        raise EditError(edit.word, message, f"name {'the list' if lists else 'a field'} in it", line)
    present.append(edit.value)
    return f"{where}/{key}/{len(present) - 1}"


def _remove(container: Any, key: Any, edit: Edit) -> None:
    """Remove an item of a list, or a member of an object; without a value what the path itself names."""
    path = path_text(edit.path)
    wanted = plain(edit.value)
    if isinstance(container, dict) and key not in container:
        message = f"{quote(edit.word)}: {path} does not exist"
        raise CheckpointError(message, advise("see what there is", "checkpoint", "show"))
    if wanted == "":
        del container[key]
        return

    present = container[key]
    if isinstance(present, dict) and isinstance(wanted, str) and wanted in present:
        del present[wanted]
        return
    index = find_index(present, wanted) if isinstance(present, list) else None
    if index is None:
        raise _nothing_to_remove(present, wanted, edit)
    del present[index]


def _nothing_to_remove(present: Any, wanted: Any, edit: Edit) -> EditError:
    """Return the refusal of an item that is not there, with the one that is probably meant."""
    path = path_text(edit.path)
    items = present if isinstance(present, list) else []
    index = int(wanted) if is_index(str(wanted), items) else _find_near(str(wanted), items)
    advice = "name an item by its whole text or by its id"
    line = ""
    if index is not None:
        called = (*ids_of(items[index]), *_inner_names(items[index]))
        name = next((name for name in called if find_index(items, name) == index), "")
        line = f"--{path}.{index}-="
        if name and name.isprintable():
            line = typed_edit(f"--{path}-=", name)
        advice = "did you mean this"
    elif not isinstance(present, list | dict):
        advice = "it is not a list; replace it"
        line = f"--{path}=..."
    return EditError(edit.word, f"{quote(edit.word)}: {path} has no item {quote(wanted)}", advice, line)


def _find_near(wanted: str, items: list[Any]) -> int | None:
    """Return the index of the item with the nearest name, None where none is near."""
    from difflib import get_close_matches

    indexes: dict[str, int] = {}
    for index, item in enumerate(items):
        indexes.update(dict.fromkeys(names_of(item), index))
    near = get_close_matches(wanted, indexes, 1, 0.4)
    return indexes.get(next(iter(near), ""))


def is_index(text: str, items: list[Any]) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < _LONGEST_INDEX and int(text) < len(items)


def find_index(items: list[Any], wanted: Any) -> int | None:
    """Where the first item is that a value names as it is or by its id, or the only one with that text."""
    by_id = [at for at, item in enumerate(items) if str(wanted) in ids_of(item)]
    by_text = [at for at, item in enumerate(items) if str(wanted) in names_of(item)]
    return by_id[0] if by_id else by_text[0] if len(by_text) == 1 else None


def ids_of(item: Any) -> list[str]:
    """What names an item of a list: its ids, or where it is a text or a number, that."""
    inner = [item[name] for name in ID_NAMES if name in item] if isinstance(item, dict) else [item]
    return [str(plain(each)) for each in inner]


def names_of(item: Any) -> list[str]:
    """An item as it is, then what names it in itself."""
    return [str(plain(item)), *_inner_names(item)]


def _inner_names(item: Any) -> list[str]:
    return [str(plain(item[name])) for name in _TEXT_NAMES if name in item] if isinstance(item, dict) else []


def list_entries(value: Any, where: str = "") -> Iterator[tuple[str, list[list[str]]]]:
    """The lists in an object, and what each of their entries says or is named by."""
    for name, member in value.items() if isinstance(value, dict) else ():
        path = f"{where}.{name}".removeprefix(".")
        if isinstance(member, list):
            yield path, [_inner_names(entry) or _list_texts(entry) for entry in member]
        else:
            yield from list_entries(member, path)


def find_removed(before: list[tuple[str, list[list[str]]]], after: Any) -> Iterator[tuple[str, list[str]]]:
    """The lists that lost entries, and what those say. One of which an id or a text is anywhere in after is no loss."""
    there = set(_list_texts(after) if before else ())
    for path, entries in before:
        lost = [each[-1] for each in entries if each and there.isdisjoint(each)]
        yield from [(path, lost)] if lost else []


def _list_texts(value: Any) -> list[str]:
    if isinstance(value, jsontext.CONTAINERS):
        members = value.values() if isinstance(value, dict) else value
        return [text for member in members for text in _list_texts(member)]
    return [plain(value)] if isinstance(value, (str, bytes)) else []


def find_item(items: Any, name: str) -> Any:
    """The item of a list that a step of a path names by its number or id, None where there is none."""
    if not isinstance(items, list):
        return None
    at = int(name) if is_index(name, items) else find_index(items, name)
    return None if at is None else items[at]


def _find_member(container: Any, edit: Edit, at: int) -> Any:
    """The key or index that a step of the path means in a container; a key may be new, an index may not."""
    step, before = edit.path[at], path_text(edit.path[:at])
    if isinstance(container, dict):
        return step.name
    if isinstance(container, list):
        return _find_item(container, edit, at)
    message = f"{quote(edit.word)}: {before} is {quote(plain(container))}, and has no {quote(step.name)} in it"
    line = ""
    if edit.field == "next_actions" and isinstance(container, str) and isinstance(edit.value, str):
        action = {"text": container, step.name: edit.value}
        line = f"--{before}:json={dump(action)}"
    more = "" if line else ", with :json for an object or a list"
    raise EditError(edit.word, message, f"set {before} itself{more}", line)


def _find_item(items: list[Any], edit: Edit, at: int) -> int:
    """Return the index that a step of the path means in a list. Raises EditError where it means none."""
    step = edit.path[at]
    before = path_text(edit.path[:at])
    if not step.bracketed and step.name.isdecimal() and step.name.isascii():
        if is_index(step.name, items):
            return int(step.name)
        message = f"{quote(edit.word)}: {before} has {len(items)} items, counted from 0"
        raise EditError(edit.word, message, "to add one", typed_edit(f"--{before}+=", edit.value))
    index = find_index(items, step.name)
    if index is None:
        raise _no_item(items, edit, at)
    return index


def _no_item(items: list[Any], edit: Edit, at: int) -> EditError:
    """Return the refusal of an item that a step of the path does not find, with the one that is meant."""
    from difflib import get_close_matches

    step = edit.path[at]
    before = path_text(edit.path[:at])
    message = f"{quote(edit.word)}: {before} has no item {quote(step.name)}"
    more = f"; add one with --{before}+:json=..."

    ids = {names.spell(name): name for item in items for name in ids_of(item)[:1]}
    near = get_close_matches(names.spell(step.name), ids, 1, 0.6)
    is_replaced = edit.action == "replace" and len(edit.path) == 2
    if before == "progress_table" and step.bracketed and is_replaced and not near:
        return EditError(edit.word, message, "to add it, write an object", _write_row(step.name, edit))
    if not near and not (step.bracketed and is_index(step.name, items)):
        hint = f"name an item by number or by id: {before}.0, {before}[id]"
        return EditError(edit.word, message, hint, "", more)

    meant = Step(ids[near[0]], bracketed=True) if near else Step(step.name)
    path = path_text((*edit.path[:at], meant, *edit.path[at + 1 :]))
    line = typed_edit(f"--{path}{SIGNS[edit.action]}=", edit.value)
    if is_replaced and isinstance(edit.value, str) and edit.field in TEXTS:
        line = f"--{path}{name_text(edit.field, edit.value)}"
    return EditError(edit.word, message, "did you mean this", line, more)


def _write_row(row: str, edit: Edit) -> str:
    """Return the edit that adds a row to the progress table, with the status that an edit gives it."""
    status = names.find_choice(str(edit.value), ROW_STATUSES) or "not_started"
    return f"--progress_table+:json={dump({'id': row, 'label': row, 'status': status})}"


def name_text(field: str, text: str) -> str:
    """The end of an edit that puts a text into an item of a list of objects: a status's word, or what it says."""
    status = names.find_choice(text, ROW_STATUSES) if field == "progress_table" else ""
    return f".status={status}" if status else f".{TEXTS[field]}={text}"


def plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def path_text(path: tuple[Step, ...]) -> str:
    shown = "".join(f"[{_shown(step.name)}]" if step.bracketed else f".{_shown(step.name)}" for step in path)
    return shown.removeprefix(".")


def scaffold(skill: str, project: str, project_dir: str, now: int) -> dict[str, Any]:
    instant = write_instant(now)
    return {
        "protocol_version": "1.0",
        "skill": skill,
        "project": project,
        "project_dir": project_dir,
        "created_at": instant,
        "updated_at": instant,
        "phase": "start",
        "step": FIRST_STEP,
        "status": "in_progress",
        "progress_summary": "No summary yet.",
        "progress_table": [],
        "context_primer": {"key_decisions": [], "generated_files": [], "user_preferences": []},
        "blockers": [],
        "next_actions": [],
        "skill_state": {},
    }


def apply_edits(value: dict[str, Any], edits: list[Edit], *, is_new: bool) -> list[str]:
    """Apply all edits in turn, and what follows from them; return where each wrote. is_new: the value comes from
    scaffold. The version becomes 1.1 only when a field that 1.1 added is written and no edit sets the version itself.
    """
    previous = value.get("step")
    places = [apply_edit(value, add_goals(edit)) for edit in edits]
    fields = {edit.field for edit in edits}
    has_new_field = fields & names.ADDED_IN_1_1 or ("next_actions" in fields and _has_goals(value))
    if has_new_field and "protocol_version" not in fields:
        _raise_version(value)

    if is_new and value.get("status") == "in_progress" and "next_actions" not in fields:
        value["next_actions"] = [FIRST_ACTION]
    removed = remove_first_action(value)
    places = [_move_place(where, removed) for where in places]
    _follow_step(value, edits, previous, is_new=is_new)
    return places


def _follow_step(value: dict[str, Any], edits: list[Edit], previous: Any, *, is_new: bool) -> None:
    """Keep the rows of progress_table in step with the step and the status that edits set."""
    fields = {edit.field for edit in edits}
    sets_table = any(edit.field == "progress_table" and len(edit.path) == 1 for edit in edits)
    if not sets_table and (is_new or "step" in fields):
        add_step_row(value, previous)
    if "status" in fields:
        complete_step_row(value)


def remove_first_action(value: dict[str, Any]) -> int | None:
    """Remove the placeholder of scaffold where there is a real action; return where it was, None for no change."""
    actions = read_list(value, "next_actions")
    if len(actions) < 2 or FIRST_ACTION not in actions:
        return None
    index = actions.index(FIRST_ACTION)
    del actions[index]
    return index


def _move_place(where: str, removed: int | None) -> str:
    """Return a place in next_actions as it is after the item at an index was removed. removed: None for no item."""
    head, _, index = where.rpartition("/")
    if removed is None or head != "/next_actions" or not index.isdecimal() or int(index) < removed:
        return where
    return f"{head}/{int(index) - 1}"


def add_step_row(value: dict[str, Any], previous: Any) -> None:
    """Add the row of the current step to progress_table, where work is in progress and the rows are steps.

    previous: the step before. A table in which that has no row was planned in other terms, and stays as it is.
    """
    rows, step = value.setdefault("progress_table", []), value.get("step")
    if not isinstance(rows, list) or not isinstance(step, str) or value.get("status") != "in_progress":
        return
    is_missing = bool(step.strip()) and not _has_row(value, step)
    if is_missing and (not rows or _has_row(value, str(previous))):
        rows.append(_step_row(step))
        remove_first_row(value)


def _has_row(value: dict[str, Any], step: str) -> bool:
    """Whether progress_table has a row for a step: sprint-2 is the row of sprint-2-review, too."""
    ids = [str(row.get("id")) for row in read_objects(value, "progress_table")]
    return any(step == name or step.startswith(f"{name}-") for name in ids)


def remove_first_row(value: dict[str, Any]) -> None:
    """Remove the row of scaffold's first step where there is another row."""
    rows = read_list(value, "progress_table")
    if len(rows) > 1 and rows[0] == _step_row(FIRST_STEP):
        del rows[0]


def _step_row(step: str) -> dict[str, Any]:
    return {"id": step, "label": step, "status": "in_progress"}


def complete_step_row(value: dict[str, Any]) -> None:
    """Mark a row that add_step_row made as complete, once the status is."""
    for row in read_list(value, "progress_table") if value.get("status") == "complete" else ():
        if row == _step_row(str(value.get("step"))):
            row["status"] = "complete"


def _has_goals(value: dict[str, Any]) -> bool:
    return any(isinstance(action, dict) and FIELD in action for action in read_list(value, "next_actions"))


def _raise_version(value: dict[str, Any]) -> None:
    if value.get("protocol_version") == "1.0":
        value["protocol_version"] = "1.1"


def add_goals(edit: Edit) -> Edit:
    """Return an edit that appends a next action with done_when_merged, where its text is nothing but a merge."""
    is_new_action = edit.field == "next_actions" and len(edit.path) == 1 and edit.action == "append"
    return edit._replace(value=with_goals(edit.value)) if is_new_action and isinstance(edit.value, str) else edit


def mark_repeated(value: dict[str, Any], places: list[str], now: int) -> None:
    """Give each new next action that was finished before the time at which it was added again.

    places: JSON Pointers of what was written. Without that time an action that recently_done has too counts as done.
    """
    for index in find_done_actions(value):
        if f"/next_actions/{index}" not in places:
            continue
        action = value["next_actions"][index]
        members = action if isinstance(action, dict) else {"text": action}
        value["next_actions"][index] = {**members, "added_at": write_instant(now)}


def describe_goals(action: Any) -> str:
    """Return what a new action with done_when_merged waits for, "" for another."""
    goals = action.get(FIELD) if isinstance(action, dict) else None
    return f"it is skipped once {' and '.join(goals)} {'is' if len(goals) == 1 else 'are'} merged" if goals else ""


def stamp(value: dict[str, Any], now: int) -> bool:
    """Sets updated_at to now, but never back, nor before created_at. Returns whether the clock was behind."""
    latest = write_instant(now)
    behind = False
    for key in ("updated_at", "created_at"):
        instant, best = read_instant(value.get(key)), read_instant(latest)
        if instant and best and instant > best:
            behind = behind or instant[0] > now
            latest = str(value[key])
    value["updated_at"] = latest
    return behind


def check_next(next_action: str | None, complete: bool) -> None:
    """Raises CheckpointError where what comes next says nothing, or the work is said to be over as well."""
    if next_action is None:
        return
    check_text(next_action)
    check_filled(next_action)
    if not next_action.strip():
        raise CheckpointError("--next is empty", "say what comes next, or use --complete")
    if complete:
        raise CheckpointError("--next and --complete cannot be combined", "give --next while work is left")


def find_done_trouble(
    value: dict[str, Any], next_action: str | None, complete: bool, verb: Argv = ("done", OWN)
) -> Finding | None:
    actions = read_list(value, "next_actions")
    if not actions:
        message = "next_actions is empty: there is nothing to mark as done"
        return Finding("done/no-action", "error", message, where="/next_actions")
    if not isinstance(value.get("recently_done", []), list):
        message = "recently_done is not a list, so the action cannot be recorded there"
        return Finding("done/no-record", "error", message, where="/recently_done", hint="fix that field first")
    if len(actions) > 1 or next_action or complete or value.get("status") != "in_progress":
        return None
    message = "this is the last action, and a checkpoint that is in_progress needs a next one"
    hint = join_hints(
        advise("say what comes next", "checkpoint", *verb, "--next", Blank("the next action")),
        advise("or if all is done", "checkpoint", *verb, "--complete"),
    )
    return Finding("done/last-action", "error", message, where="/next_actions/0", hint=hint)


def insert_action(value: dict[str, Any], index: int, text: str) -> None:
    """Put a new action into next_actions; the placeholder of scaffold makes room for it."""
    value["next_actions"].insert(index, with_goals(text))
    if _has_goals(value):
        _raise_version(value)
    remove_first_action(value)


def take_action(value: dict[str, Any], at: int, next_action: str | None, complete: bool) -> Any:
    """Takes an action off the queue. next_action: put first in it."""
    action = value["next_actions"].pop(at)
    if next_action:
        insert_action(value, 0, next_action)
    if complete:
        value["status"] = "complete"
        complete_step_row(value)
    return action


def finish_action(value: dict[str, Any], now: int, next_action: str | None, complete: bool, at: int = 0) -> Any:
    """Moves an action to recently_done, the last ten of which are kept."""
    action = take_action(value, at, next_action, complete)
    entry = {**(action if isinstance(action, dict) else {"text": action}), "at": write_instant(now)}
    value["recently_done"] = [entry, *read_list(value, "recently_done")][:KEPT_DONE]
    if next_action:
        mark_repeated(value, ["/next_actions/0"], now)
    return action
