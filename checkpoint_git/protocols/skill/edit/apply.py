"""What an edit changes in a checkpoint's value, and what follows from it. Pure.

Values are token values (jsontext): whatever is not touched stays what it was.
"""

from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import (
    advise,
)
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
    """Changes a value in place; where it wrote. Raises CheckpointError if the path leads
    nowhere.
    """
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
        inner = (
            quote_step(lists[0])
            if lists
            else "proposed_resolution"
            if edit.field == "blockers"
            else "notes"
        )
        line = typed_edit(
            f"--{path}.{inner}{'+' * (bool(lists) or edit.field not in TEXTS)}=", edit.value
        )
        raise EditError(
            edit.word, message, f"name {'the list' if lists else 'a field'} in it", line
        )

    present.append(edit.value)
    return f"{where}/{key}/{len(present) - 1}"


def _remove(container: Any, key: Any, edit: Edit) -> None:
    """Remove an item of a list, or a member of an object; without a value what the path itself
    names.
    """
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
    index = int(wanted) if is_index(str(wanted), items) else find_near_item(str(wanted), items)
    advice = "name an item by its whole text or by its id"
    line = ""
    if index is not None:
        called = (*ids_of(items[index]), *inner_names(items[index]))
        name = next((name for name in called if find_index(items, name) == index), "")
        line = f"--{path}.{index}-="
        if name and name.isprintable():
            line = typed_edit(f"--{path}-=", name)
        advice = "did you mean this"
    elif not isinstance(present, list | dict):
        advice = "it is not a list; replace it"
        line = f"--{path}=..."

    return EditError(
        edit.word, f"{quote(edit.word)}: {path} has no item {quote(wanted)}", advice, line
    )


def _find_member(container: Any, edit: Edit, at: int) -> Any:
    """The key or index that a step of the path means in a container; a key may be new, an index may
    not.
    """
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
    """Return the index that a step of the path means in a list. Raises EditError where it means
    none.
    """
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
    """Return the refusal of an item that a step of the path does not find, with the one that is
    meant.
    """
    from difflib import get_close_matches

    step = edit.path[at]
    before = path_text(edit.path[:at])
    message = f"{quote(edit.word)}: {before} has no item {quote(step.name)}"
    more = f"; add one with --{before}+:json=..."

    ids = {names.spell(name): name for item in items for name in ids_of(item)[:1]}
    near = get_close_matches(names.spell(step.name), ids, 1, 0.6)
    is_replaced = edit.action == "replace" and len(edit.path) == 2
    if before == "progress_table" and step.bracketed and is_replaced and not near:
        return EditError(
            edit.word, message, "to add it, write an object", _write_row(step.name, edit)
        )

    if not near and not (step.bracketed and is_index(step.name, items)):
        hint = f"name an item by number or by id: {before}.0, {before}[id]"
        return EditError(edit.word, message, hint, "", more)

    meant = PathStep(ids[near[0]], bracketed=True) if near else PathStep(step.name)
    path = path_text((*edit.path[:at], meant, *edit.path[at + 1 :]))
    line = typed_edit(f"--{path}{SIGNS[edit.action]}=", edit.value)
    if is_replaced and isinstance(edit.value, str) and edit.field in TEXTS:
        line = f"--{path}{name_text(edit.field, edit.value)}"
    return EditError(edit.word, message, "did you mean this", line, more)


def _write_row(row: str, edit: Edit) -> str:
    """Return the edit that adds a row to the progress table, with the status that an edit gives
    it.
    """
    status = names.find_choice(str(edit.value), ROW_STATUSES) or "not_started"
    return f"--progress_table+:json={dump({'id': row, 'label': row, 'status': status})}"


def name_text(field: str, text: str) -> str:
    """The end of an edit that puts a text into an item of a list of objects: a status's word, or
    what it says.
    """
    status = names.find_choice(text, ROW_STATUSES) if field == "progress_table" else ""
    return f".status={status}" if status else f".{TEXTS[field]}={text}"


def apply_edits(value: dict[str, Any], edits: list[Edit], *, is_new: bool) -> list[str]:
    """Apply all edits in turn, and what follows from them; return where each wrote. is_new: the
    value comes from scaffold. The version becomes 1.1 only when a field that 1.1 added is written
    and no edit sets the version itself.
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
    """Return a place in next_actions as it is after the item at an index was removed. removed: None
    for no item.
    """
    head, _, index = where.rpartition("/")
    if removed is None or head != "/next_actions" or not index.isdecimal() or int(index) < removed:
        return where
    return f"{head}/{int(index) - 1}"


def add_goals(edit: Edit) -> Edit:
    """Return an edit that appends a next action with done_when_merged, where its text is nothing
    but a merge.
    """
    is_new_action = edit.field == "next_actions" and len(edit.path) == 1 and edit.action == "append"
    return (
        edit._replace(value=with_goals(edit.value))
        if is_new_action and isinstance(edit.value, str)
        else edit
    )
