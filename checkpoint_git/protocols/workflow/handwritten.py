"""Bring what agents leave out of the two files or write in another form into its usual form. Pure.

The next verb that writes leaves the usual form in the files; until then it is only read so.
"""

from collections.abc import Mapping
from typing import Any

from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.protocols.document import read_objects
from checkpoint_git.protocols.workflow.layout import EXECUTION, PHASE

# Every writing verb stamps the first and sets the second, so they need no value before.
_SET_BY_WRITES = ("last_updated", "interruption_safe")
_LISTS = ("completed_phases", "user_checkpoints")
_MISSING = [f"/{name}" for name in (*_SET_BY_WRITES, *_LISTS)]


def is_readable(mismatch: Mismatch) -> bool:
    """Return whether complete() corrects a place where a file does not fit its schema."""
    where = mismatch.where
    is_null = mismatch.keyword == "type" and mismatch.value is None
    if where in _MISSING:
        return is_null or mismatch.keyword == "required"
    if where == "/tasks":
        return isinstance(mismatch.value, dict) and _list_tasks(mismatch.value) is not None
    return is_null and where.startswith("/completed_phases/") and where.endswith("/output")


def complete(file: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file's value in its usual form. file: PHASE or EXECUTION; numbers may be tokens."""
    completed = {**value}
    if file == EXECUTION:
        tasks = value.get("tasks")
        if isinstance(tasks, dict):
            listed = _list_tasks(tasks)
            if listed is not None:
                completed["tasks"] = listed

    if file == PHASE:
        for name in _LISTS:
            if value.get(name) is None:
                completed[name] = []
        if any(row.get("output", "") is None for row in read_objects(value, "completed_phases")):
            completed["completed_phases"] = [_drop_null(row) for row in value["completed_phases"]]

    return completed


def _list_tasks(tasks: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return tasks by id as rows, None if one cannot be read without a guess.

    tasks: id -> the task's members, or its status alone.
    """
    listed = []
    for name, task in tasks.items():
        members = {"status": task} if isinstance(task, str) else task
        if not name or not isinstance(members, dict) or members.get("id", name) != name:
            return None
        status = members.get("status")
        if not isinstance(status, str) or not status:
            return None
        listed.append({"id": name, **members})

    return listed


def _drop_null(row: Any) -> Any:
    """Return a row without an output that is null."""
    if not isinstance(row, dict) or row.get("output", "") is not None:
        return row
    return {key: member for key, member in row.items() if key != "output"}


def find_place(value: Mapping[str, Any], where: str) -> str:
    """Return where a place of the completed value is in the file. where: a JSON Pointer."""
    tasks = value.get("tasks")
    parts = where.split("/")
    if not isinstance(tasks, dict) or parts[:2] != ["", "tasks"] or len(parts) < 3:
        return where
    task = join_pointer("/tasks", [*tasks][int(parts[2])])
    return "/".join([task, *parts[3:]])
