"""Apply edits to a checkpoint's value, with the changes that follow from them. Pure.

Values are token values (jsontext), so that the text of whatever is not edited stays the same.
"""

from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill import names
from checkpoint_git.protocols.skill.edit.actions import (
    FIRST_ACTION,
    add_step_row,
    complete_step_row,
    has_goals,
    raise_version,
    remove_first_action,
)
from checkpoint_git.protocols.skill.edit.items import (
    find_index,
    find_near_item,
    ids_of,
    inner_names,
    is_index,
    plain,
)
from checkpoint_git.protocols.skill.edit.parse import (
    SIGNS,
    Edit,
    EditError,
    PathStep,
    dump,
    path_text,
    quote_step,
    typed_edit,
)
from checkpoint_git.protocols.skill.goals import with_goals
from checkpoint_git.protocols.skill.names import TEXTS

ROW_STATUSES = (
    "not_started",
    "in_progress",
    "complete",
    "blocked",
    "failed",
    "skipped",
    "deferred",
)


def apply_edit(value: dict[str, Any], edit: Edit) -> str:
    """Change a value in place, and return the JSON Pointer of what was written.

    Raises CheckpointError if the place does not exist.
    """
    container: Any = value
    where = ""
    for depth in range(len(edit.path) - 1):
        key = _find_member(container, edit, depth)
        where += f"/{key}"
        container = _enter(container, key, {})

    key = _find_member(container, edit, len(edit.path) - 1)
    where += f"/{key}"
    if edit.action == "replace":
        container[key] = edit.value
        return where

    if edit.action == "remove":
        _remove(container, key, edit)
        return where

    present = _enter(container, key, [])
    if not isinstance(present, list):
        raise _not_a_list(present, edit)
    present.append(edit.value)
    return f"{where}/{len(present) - 1}"


def _enter(container: Any, key: Any, default: Any) -> Any:
    """Return a member of an object, the default once it is set, or an item of a list."""
    if isinstance(container, dict):
        return container.setdefault(key, default)
    return container[key]


def _not_a_list(present: Any, edit: Edit) -> EditError:
    """Return the refusal to append to another value, with the edit that probably is right."""
    path = path_text(edit.path)
    message = f"{quote(edit.word)}: {path} is {quote(plain(present))}, not a list to append to"
    if not isinstance(present, dict):
        return EditError(edit.word, message, "replace it", typed_edit(f"--{path}=", edit.value))

    lists = [name for name, member in present.items() if isinstance(member, list)]
    if lists:
        line = typed_edit(f"--{path}.{quote_step(lists[0])}+=", edit.value)
        return EditError(edit.word, message, "name the list in it", line)

    name = "proposed_resolution" if edit.field == "blockers" else "notes"
    operator = "=" if edit.field in TEXTS else "+="
    line = typed_edit(f"--{path}.{name}{operator}", edit.value)
    return EditError(edit.word, message, "name a field in it", line)


def _remove(container: Any, key: Any, edit: Edit) -> None:
    """Remove an item of a list or a member of an object; without a value, the place itself."""
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

    if isinstance(present, list):
        index = find_index(present, wanted)
        if index is not None:
            del present[index]
            return
    raise _nothing_to_remove(present, wanted, edit)


def _nothing_to_remove(present: Any, wanted: Any, edit: Edit) -> EditError:
    """Return the refusal to remove an item that does not exist, with the nearest one."""
    path = path_text(edit.path)
    message = f"{quote(edit.word)}: {path} has no item {quote(wanted)}"
    if not isinstance(present, list | dict):
        advice = "it is not a list; replace it"
        return EditError(edit.word, message, advice, f"--{path}=...")

    line = ""
    if isinstance(present, list):
        line = _name_near_item(present, str(wanted), path)
    if not line:
        advice = "name an item by its whole text or by its id"
        return EditError(edit.word, message, advice)
    return EditError(edit.word, message, "did you mean this", line)


def _name_near_item(items: list[Any], wanted: str, path: str) -> str:
    """Return the edit that removes the item with this number, or the nearest one; "" for none."""
    index: int | None
    if is_index(wanted, items):
        index = int(wanted)
    else:
        index = find_near_item(wanted, items)
    if index is None:
        return ""

    item = items[index]
    for name in (*ids_of(item), *inner_names(item)):
        if find_index(items, name) == index:
            if name.isprintable() and name:
                return typed_edit(f"--{path}-=", name)
            break
    return f"--{path}.{index}-="


def _find_member(container: Any, edit: Edit, depth: int) -> Any:
    """Return the key or index that a step of the path means in a container.

    depth: the index of the step. A key may be new. Raises EditError for an index that is.
    """
    if isinstance(container, dict):
        return edit.path[depth].name
    if isinstance(container, list):
        return _find_item(container, edit, depth)

    name = edit.path[depth].name
    before = path_text(edit.path[:depth])
    problem = f"{before} is {quote(plain(container))}, and has no {quote(name)} in it"
    message = f"{quote(edit.word)}: {problem}"
    if edit.field == "next_actions" and isinstance(container, str) and isinstance(edit.value, str):
        action = {"text": container, name: edit.value}
        line = f"--{before}:json={dump(action)}"
        raise EditError(edit.word, message, f"set {before} itself", line)
    advice = f"set {before} itself, with :json for an object or a list"
    raise EditError(edit.word, message, advice)


def _find_item(items: list[Any], edit: Edit, depth: int) -> int:
    """Return the index that a step of the path means in a list. Raises EditError for none."""
    step = edit.path[depth]
    before = path_text(edit.path[:depth])
    if not step.bracketed and step.name.isdecimal() and step.name.isascii():
        if is_index(step.name, items):
            return int(step.name)
        message = f"{quote(edit.word)}: {before} has {len(items)} items, counted from 0"
        raise EditError(edit.word, message, "to add one", typed_edit(f"--{before}+=", edit.value))

    index = find_index(items, step.name)
    if index is None:
        raise _no_item(items, edit, depth)
    return index


def _no_item(items: list[Any], edit: Edit, depth: int) -> EditError:
    """Return the refusal of a step of the path that finds no item, with the nearest item."""
    from difflib import get_close_matches

    step = edit.path[depth]
    before = path_text(edit.path[:depth])
    message = f"{quote(edit.word)}: {before} has no item {quote(step.name)}"
    ending = f"; add one with --{before}+:json=..."

    ids = {names.spell(name): name for item in items for name in ids_of(item)[:1]}
    near = get_close_matches(names.spell(step.name), ids, 1, 0.6)
    is_replaced = edit.action == "replace" and len(edit.path) == 2
    if before == "progress_table" and step.bracketed and is_replaced and not near:
        row = _write_row(step.name, edit)
        return EditError(edit.word, message, "to add it, write an object", row)

    if near:
        item = PathStep(ids[near[0]], bracketed=True)
    elif step.bracketed and is_index(step.name, items):
        item = PathStep(step.name)
    else:
        advice = f"name an item by number or by id: {before}.0, {before}[id]"
        return EditError(edit.word, message, advice, "", ending)

    path = path_text((*edit.path[:depth], item, *edit.path[depth + 1 :]))
    line = typed_edit(f"--{path}{SIGNS[edit.action]}=", edit.value)
    if is_replaced and isinstance(edit.value, str) and edit.field in TEXTS:
        line = f"--{path}{name_text(edit.field, edit.value)}"
    return EditError(edit.word, message, "did you mean this", line, ending)


def _write_row(row: str, edit: Edit) -> str:
    """Return the edit that adds a row to the progress table with the status of another edit."""
    status = names.find_choice(str(edit.value), ROW_STATUSES) or "not_started"
    return f"--progress_table+:json={dump({'id': row, 'label': row, 'status': status})}"


def name_text(field: str, text: str) -> str:
    """Return the end of an edit that puts a text into an item of a list of objects.

    The text goes to the item's status if it is a status's word, else to its label or description.
    """
    if field == "progress_table":
        status = names.find_choice(text, ROW_STATUSES)
        if status:
            return f".status={status}"
    return f".{TEXTS[field]}={text}"


def apply_edits(value: dict[str, Any], edits: list[Edit], *, is_new: bool) -> list[str]:
    """Apply all edits in turn with the changes that follow, and return where each edit wrote.

    is_new: the value comes from scaffold. The version becomes 1.1 only if a field that 1.1 added
    is written and no edit sets the version itself.
    """
    previous = value.get("step")
    places = [apply_edit(value, add_goals(edit)) for edit in edits]
    fields = {edit.field for edit in edits}
    has_new_field = fields & names.ADDED_IN_1_1 or ("next_actions" in fields and has_goals(value))
    if has_new_field and "protocol_version" not in fields:
        raise_version(value)

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


def _move_place(where: str, removed: int | None) -> str:
    """Return the place that a place in next_actions has once the item at an index was removed.

    removed: None for no item.
    """
    head, _, index = where.rpartition("/")
    if removed is None or head != "/next_actions" or not index.isdecimal() or int(index) < removed:
        return where
    return f"{head}/{int(index) - 1}"


def add_goals(edit: Edit) -> Edit:
    """Return an edit with done_when_merged if it appends a next action that is only a merge."""
    if edit.action != "append" or len(edit.path) != 1 or edit.field != "next_actions":
        return edit
    if not isinstance(edit.value, str):
        return edit
    return edit._replace(value=with_goals(edit.value))
