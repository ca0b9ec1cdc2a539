"""`checkpoint workflow task` and `recover`: each task's status, and what became of those whose session is gone."""

import argparse
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.protocols.workflow import changes, layout, store
from checkpoint_git.protocols.workflow.recovery import Step
from checkpoint_git.protocols.workflow.state import (
    Changed,
    Value,
    apply_change,
    change_state,
    find_fault,
    find_recovery,
    load_state,
    saved_line,
    state_data,
)
from checkpoint_git.protocols.write import say_waiting

_VERBS = ("add", "start", "done", "fail")


class Recovered(NamedTuple):
    """What recovery did. kept_aside: (old path, new path) of outputs that are not trusted."""

    changed: Changed
    steps: list[Step]
    kept_aside: list[tuple[str, str]]


def task(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """`task add|start|done|fail ID`: exit code 1 where the task cannot become that."""
    verb, ids = args.words[0], args.words[1:]
    if verb not in _VERBS:
        raise CheckpointError(f"workflow task {verb!r} is unknown", f"there are: {', '.join(_VERBS)}")
    if verb != "add" and len(ids) > 1:
        raise CheckpointError(f"workflow task {verb} takes one ID", "name the tasks one after the other")
    for name in ids:
        layout.check_task_id(name)
    place = find_place(invocation.cwd)
    changed = change_task(place, verb, ids, invocation.now, args.output, args.error, say_waiting(invocation.stderr))
    return _task_outcome(verb, ids, changed)


def find_place(cwd: str) -> Place:
    """Where the workflow around a folder lies. Raises CheckpointError where there is none."""
    place = store.find_workflow_place(cwd)
    if place is None or not store.has_state(place):
        message = f"there is no workflow here: no {layout.DIRECTORY}/phase.json in {cwd} or above it"
        raise CheckpointError(message, "checkpoint workflow start ID begins one")
    return place


def change_task(
    place: Place,
    verb: str,
    ids: list[str],
    now: int,
    output: str | None = None,
    error: str | None = None,
    on_wait: store.Tell = lambda: None,
) -> Changed:
    """Changes one task, or adds several. An output of a task that is done has to be there."""

    def change(phase: Value, execution: Value, now: int) -> Finding | None:
        if verb in ("start", "done", "fail"):
            changes.begin_phase(phase)
        if verb == "start" and output is not None:  # it need not be there yet
            trouble = find_output_trouble(place, output)
            if trouble is not None and trouble.code == "workflow/output-outside":
                return trouble
        if verb == "done":
            named = output if output is not None else (changes.find_task(execution, ids[0]) or {}).get("output")
            trouble = find_output_trouble(place, named)
            if trouble is not None:
                return trouble
        return _CHANGES[verb](execution, ids, output, error or "", now)

    return change_state(place, now, change, on_wait)


_CHANGES: dict[str, Callable[[Value, list[str], str | None, str, int], Finding | None]] = {
    "add": lambda value, ids, output, error, now: changes.add_tasks(value, ids),
    "start": lambda value, ids, output, error, now: changes.start_task(value, ids[0], output, now),
    "done": lambda value, ids, output, error, now: changes.finish_task(value, ids[0], output, now),
    "fail": lambda value, ids, output, error, now: changes.fail_task(value, ids[0], error, now),
}


def find_output_trouble(place: Place, path: Any) -> Finding | None:
    """Why a task's output cannot be noted as its result."""
    if not isinstance(path, str):
        return None
    hint = "write it first, or name another one with --output"
    try:
        found = store.read_output(place, path)
    except ValueError as error:
        hint = "name a file of the project with --output"
        return Finding("workflow/output-outside", "error", f"{path}: {error}", where="/tasks", hint=hint)
    if found is None:
        message = f"the task's output {path} is not there"
        return Finding("workflow/output-missing", "error", message, where="/tasks", hint=hint)
    why = find_fault(path, found[0])
    if why:
        message = f"the task's output {path} cannot be read: {why}"
        return Finding("workflow/output-invalid", "error", message, where="/tasks", hint=hint)
    return None


def _task_outcome(verb: str, ids: list[str], changed: Changed) -> Outcome:
    data = {**state_data(changed.state), "saved": changed.saved}
    if changed.refused:
        return Outcome(data, [], changed.refused, 1)
    rows = [row for row in changed.state.tasks if isinstance(row, dict) and str(row.get("id")) in ids]
    lines: list[Block] = [Line(f"{row.get('id')}: {row.get('status')}{_attempts(row)}") for row in rows]
    shown = rows[:1] if verb != "add" else rows
    return Outcome({**data, "tasks": shown}, [*lines, saved_line(changed.saved)])


def _attempts(row: dict[str, Any]) -> str:
    attempts = row.get("attempts")
    return f" ({attempts} of {row.get('max_attempts', 3)} attempts came to nothing)" if attempts else ""


# recovery


def recover(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """`recover`: the running tasks, judged by their outputs."""
    place = find_place(invocation.cwd)
    recovered = recover_tasks(place, invocation.now, say_waiting(invocation.stderr))
    data = {**state_data(recovered.changed.state), **recovery_data(recovered)}
    if recovered.changed.refused:
        return Outcome(data, [], recovered.changed.refused, 1)
    blocks = recovery_lines(recovered) or [Line("no task was running: nothing to recover", "dim")]
    return Outcome(data, blocks)


def recover_tasks(place: Place, now: int, on_wait: store.Tell = lambda: None) -> Recovered:
    """Settles every running task under the lock; nothing is written where none is running."""
    with store.writing(place, on_wait):
        state = load_state(place, now)
        steps = find_recovery(state)
        if not steps:
            return Recovered(Changed(state, [], []), [], [])
        aside = _find_movable(place, [step.keep_aside for step in steps if step.keep_aside])

        def change(phase: Value, execution: Value, now: int) -> None:
            changes.apply_recovery(execution, steps)

        changed = apply_change(state, now, change)
        if changed.refused:
            return Recovered(changed, steps, [])
        # after the state: a kill in between leaves a file that is older than the next attempt, and so aside then
        kept = [(path, store.keep_aside(place, path, write_instant(now))) for path in aside]
    return Recovered(changed, steps, kept)


def _find_movable(place: Place, paths: list[str]) -> list[str]:
    """Of outputs that are not trusted, those to move away: not what git has just so, which no session left behind."""
    movable = [path for path in dict.fromkeys(paths) if store.is_movable(place, path)]
    if place.work_tree is None or not movable:
        return movable
    from checkpoint_git.git.run import clean_env
    from checkpoint_git.git.worktree import read_as_committed

    names = {path: relative_path(os.path.normpath(os.path.join(place.root, path)), place.top) for path in movable}
    kept = read_as_committed(place.top, list(names.values()), clean_env(os.environ))
    return [path for path, name in names.items() if name not in kept]


def recovery_data(recovered: Recovered) -> dict[str, Any]:
    """What recovery did, for programs."""
    return {
        "recovered": [
            {
                "id": step.id,
                "verdict": step.verdict,
                "status": step.status,
                "attempts": step.attempts,
                "reason": step.reason,
            }
            for step in recovered.steps
        ],
        "kept_aside": [{"path": old, "now": new} for old, new in recovered.kept_aside],
        "saved": recovered.changed.saved,
    }


def recovery_lines(recovered: Recovered) -> list[Block]:
    """The same for a person."""
    lines: list[Block] = [
        Line(f"{step.id}: {_VERDICTS[step.verdict]}; now {step.status} ({step.reason})", "warn")
        for step in recovered.steps
    ]
    lines += [Line(f"kept aside: {new}") for _, new in recovered.kept_aside]
    return [*lines, saved_line(recovered.changed.saved)] if recovered.changed.saved else lines


_VERDICTS = {"orphan": "orphaned, one attempt counted", "done": "finished before the crash", "failed": "failed"}
