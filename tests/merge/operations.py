"""Histories as operations on a checkpoint, so that a merge has an oracle: what each side did is
known.
"""

import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.merge.list_operations import LIST_KINDS, change_list, start_lists
from tests.support.samples import checkpoint

Value = dict[str, Any]


HOSTILE = '"},]\n<<<<<<< ours: /step\n=======\r\u2028\x1b[31m\ud83d\ude00 '.encode(
    "utf-16", "surrogatepass"
).decode("utf-16")


class Operation(NamedTuple):
    """One thing a session does. mark: a text that no other operation has; number: which row, item
    or day.
    """

    kind: str
    number: int
    mark: str


def start() -> Value:
    """A checkpoint that has something in every place that operations touch."""
    return checkpoint(
        progress_table=[
            {"id": f"row-{n}", "label": f"Row {n}", "status": "not_started"} for n in range(5)
        ],
        next_actions=[f"action {n}" for n in range(4)],
        recently_done=[{"text": "long ago", "at": "2026-01-01T00:00:00Z"}],
        blockers=[{"id": f"b{n}", "description": f"blocker {n}"} for n in range(2)],
        context_primer={
            "key_decisions": [f"decision {n}" for n in range(3)],
            "generated_files": ["a.md", "b.md"],
            "user_preferences": [],
        },
        cost={"total_usd": 1.25, "by_phase": {"plan": 1}},
        skill_state={
            "last_run": {"at": "2026-03-01T00:00:00Z", "verdict": "PASS"},
            "streak": {"passes": 3},
            "run_history": [{"at": "2026-03-01T00:00:00Z", "verdict": "PASS"}],
            "merged_prs": [{"number": 1, "title": "first"}],
            "notes": {"free": ["text"], "count": 3},
            "lists": start_lists(),
        },
    )


def _set_row(value: Value, operation: Operation, field: str, content: str) -> None:
    rows = value["progress_table"]
    if rows:
        rows[operation.number % len(rows)][field] = content


def _bump(value: Value, operation: Operation) -> None:
    value["updated_at"] = f"2026-04-{operation.number + 1:02}T00:00:00Z"


def _run(value: Value, operation: Operation) -> None:
    run = {"at": f"2026-04-{operation.number + 1:02}T00:00:00Z", "notes": operation.mark}
    value["skill_state"]["last_run"] = run
    value["skill_state"]["streak"] = {"passes": operation.number}
    value["skill_state"]["run_history"].append(copy.deepcopy(run))


def _advance(value: Value, operation: Operation) -> None:
    _set_row(value, operation, "status", ("in_progress", "complete")[operation.number % 2])


def _label(value: Value, operation: Operation) -> None:
    _set_row(value, operation, "label", operation.mark)


def _pop(value: Value, operation: Operation) -> None:
    if len(_actions(value)) > 1:
        done = value["next_actions"].pop(0)
        value["recently_done"].insert(
            0, {"text": done, "at": f"2026-04-{operation.number + 1:02}T00:00:00Z"}
        )


def _finish(value: Value, operation: Operation) -> None:
    # any of the queue, the last one too where nothing has to be next
    actions = _actions(value)
    if len(actions) > 1 or (actions and value["status"] != "in_progress"):
        done = actions.pop(operation.number % len(actions))
        value["recently_done"].insert(
            0, {"text": done, "at": f"2026-04-{operation.number + 1:02}T00:00:00Z"}
        )


def _actions(value: Value) -> list[Any]:
    actions: list[Any] = value.setdefault("next_actions", [])
    return actions


def _stop(value: Value, operation: Operation) -> None:
    value["status"] = ("complete", "failed", "blocked")[operation.number % 3]
    if operation.number > 5:
        value.pop("next_actions", None)
    elif operation.number > 2:
        value["next_actions"] = []


def _resume(value: Value, operation: Operation) -> None:
    value["status"] = "in_progress"
    if not _actions(value):
        value["next_actions"].append(operation.mark)


def _record(value: Value, operation: Operation) -> None:
    # more than the list holds, some of it late
    for hour in range(operation.number):
        day = f"2026-0{1 + hour % 4}-{operation.number + 1:02}T{hour:02}:00:00Z"
        value["recently_done"].insert(hour % 3, {"text": f"{operation.mark} {hour}", "at": day})


def _sort_keys(value: Value, operation: Operation) -> None:
    names = sorted(value, reverse=operation.number % 2 == 1)
    value.update({name: value.pop(name) for name in names})


def _say_again(value: Value, operation: Operation) -> None:
    if _actions(value):
        value["next_actions"].append(
            value["next_actions"][operation.number % len(value["next_actions"])]
        )


def _drop(items: list[Any], number: int) -> None:
    if items:
        items.pop(number % len(items))


def _move(value: Value, operation: Operation) -> None:
    actions = _actions(value)
    if actions:
        actions.insert(operation.number % len(actions), actions.pop())


def _spend(value: Value, operation: Operation) -> None:
    value["cost"]["total_usd"] = round(value["cost"]["total_usd"] + operation.number / 4, 2)
    phases = value["cost"]["by_phase"]
    phases[operation.mark[:2]] = phases.get(operation.mark[:2], 0) + 1


def _change_list(value: Value, operation: Operation) -> None:
    change_list(value["skill_state"]["lists"], operation.kind, operation.number, operation.mark)


KINDS: dict[str, Callable[[Value, Operation], None]] = {
    **dict.fromkeys(LIST_KINDS, _change_list),
    "bump": _bump,
    "run": _run,
    "advance": _advance,
    "label": _label,
    "pop": _pop,
    "finish": _finish,
    "move": _move,
    "spend": _spend,
    "append action": lambda value, op: _actions(value).append(op.mark),
    "put action first": lambda value, op: _actions(value).insert(0, op.mark),
    "say an action again": _say_again,
    "stop": _stop,
    "resume": _resume,
    "record": _record,
    "sort keys": _sort_keys,
    "quote markers": lambda value, op: value["context_primer"]["user_preferences"].append(
        HOSTILE + op.mark
    ),
    "field of markers": lambda value, op: value["skill_state"].update(
        {f"{op.mark}/~ {HOSTILE}": HOSTILE + op.mark}
    ),
    "rename row": lambda value, op: _set_row(value, op, "id", op.mark),
    "drop a note": lambda value, op: value["skill_state"]["notes"].pop("count", None),
    "decide": lambda value, op: value["context_primer"]["key_decisions"].append(op.mark),
    "drop decision": lambda value, op: _drop(value["context_primer"]["key_decisions"], op.number),
    "generate": lambda value, op: value["context_primer"]["generated_files"].append(op.mark),
    "prefer": lambda value, op: value["context_primer"]["user_preferences"].append(op.mark),
    "add row": lambda value, op: value["progress_table"].insert(
        op.number % 6, {"id": op.mark, "label": op.mark, "status": "not_started"}
    ),
    "drop row": lambda value, op: _drop(value["progress_table"], op.number),
    "block": lambda value, op: value["blockers"].append({"id": op.mark, "description": op.mark}),
    "unblock": lambda value, op: _drop(value["blockers"], op.number),
    "merge a request": lambda value, op: value["skill_state"]["merged_prs"].append(
        {"number": op.mark}
    ),
    "note one request": lambda value, op: value["skill_state"].update(
        {"merged_prs+": {"number": op.mark, "is": "new"}}
    ),
    "step": lambda value, op: value.update(step=op.mark),
    "summarise": lambda value, op: value.update(progress_summary=op.mark),
    "note": lambda value, op: value["skill_state"]["notes"].update({op.mark: op.number}),
    "rewrite a note": lambda value, op: value["skill_state"]["notes"].update(count=op.number),
    "new field": lambda value, op: value.update({f"extra_{op.mark}": {"is": op.mark}}),
}


def apply_operations(value: Value, operations: list[Operation]) -> Value:
    """A copy of the value after a session's operations."""
    changed = copy.deepcopy(value)
    for operation in operations:
        KINDS[operation.kind](changed, operation)
    return changed


def histories(side: str) -> st.SearchStrategy[list[Operation]]:
    """Sessions of one side; no mark is used twice."""
    marks = st.integers(0, 99).map(lambda number: f"{side}{number:02}")
    return st.lists(
        st.builds(Operation, st.sampled_from(sorted(KINDS)), st.integers(0, 8), marks),
        max_size=8,
        unique_by=lambda operation: operation.mark,
    )


def text_of(value: Value, indent: Any = 2) -> str:
    """The value as a file's text."""
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
