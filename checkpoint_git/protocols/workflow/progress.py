"""Find how far a workflow is: what its two files say is finished, approved or left open. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from checkpoint_git.core.clock import read_loose_instant
from checkpoint_git.core.hint import AnyHint, Blank, advise, command, join_hints
from checkpoint_git.protocols.document import read_objects
from checkpoint_git.protocols.workflow.layout import LAST, PHASES, TABLE
from checkpoint_git.protocols.workflow.tasks import OutputFile, is_open, task_name

_SHOWN = 5
NOT_REDONE = "no task was completed since it was sent back"
REDO_HINT = join_hints(
    advise("to do one again", "checkpoint", "workflow", "task", "retry", Blank("the task", "ID")),
    advise("to add one", "checkpoint", "workflow", "task", "add", Blank("the task", "ID")),
    advise("if nothing is to be done again", "checkpoint", "workflow", "advance", "--force"),
)
BEHIND_HINT = command("checkpoint", "workflow", "back", "IMPLEMENTATION")


def is_finished(state: Mapping[str, Any]) -> bool:
    """Return whether the last phase is complete."""
    # Agents that go to the next phase and leave "complete" as the status have not done that phase.
    # A resume that looks for in_progress alone would read a crash between two phases as a fresh
    # start, and overwrite the state.
    is_complete = state.get("current_phase") == LAST and state.get("phase_status") == "complete"
    return is_complete and LAST in phases_in(state, "completed_phases")


def phases_in(state: Mapping[str, Any], key: str) -> list[str]:
    """Return the phases that the rows of a list name, such as completed_phases."""
    return [str(row.get("phase")) for row in read_objects(state, key)]


def find_row(state: Mapping[str, Any], key: str, phase: str) -> dict[str, Any] | None:
    """Return the first row of a list that names a phase."""
    return next((row for row in read_objects(state, key) if row.get("phase") == phase), None)


def is_approved(phase: str, state: Mapping[str, Any], results: Mapping[str, str]) -> bool:
    """Return whether the user approved what is there now.

    results: path -> digest, as find_results returns them.
    """
    row = find_row(state, "user_checkpoints", phase)
    if row is None:
        return False
    approved = row.get("results")
    if not isinstance(approved, dict):
        return True  # agents write down that it was approved, and not what
    if not results or approved.keys() & results.keys():
        return all(approved.get(path) == digest for path, digest in results.items())

    # the drafts were approved, and the result was made from them since
    outputs = TABLE[phase].outputs
    drafts = TABLE[phase].drafts
    if not drafts or not approved:
        return False
    return all(path.startswith(drafts) and path not in outputs for path in approved)


def find_behind(state: Mapping[str, Any], execution: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of tasks that are open although IMPLEMENTATION is over.

    Those that were left open knowingly do not count.
    """
    row = find_row(state, "completed_phases", "IMPLEMENTATION")
    if row is None and state.get("current_phase") not in ("VERIFICATION", LAST):
        return ()
    left_open: Any = None
    if row is not None:
        left_open = row.get("left_open")
    if not isinstance(left_open, list):
        left_open = []
    open_tasks = [task_name(task) for task in read_objects(execution, "tasks") if is_open(task)]
    return tuple(name for name in open_tasks if name not in left_open)


def explain_behind(tasks: Sequence[str]) -> str:
    """Return a sentence about tasks that are open although IMPLEMENTATION is over."""
    shown = ", ".join(tasks[:_SHOWN])
    if len(tasks) > _SHOWN:
        shown += f" and {len(tasks) - _SHOWN} more"
    are = "task is" if len(tasks) == 1 else "tasks are"
    return f"IMPLEMENTATION is finished, but {len(tasks)} {are} open: {shown}"


def is_sent_back(state: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether no task was completed since the workflow went back to them, or further."""
    rows = read_objects(state, "went_back")
    if not rows or rows[-1].get("to") not in PHASES[:3]:
        return False
    since = read_loose_instant(rows[-1].get("at"))
    if since is None:
        return False
    ends = [read_loose_instant(task.get("completed_at")) or (0, "") for task in tasks]
    return all(end < since for end in ends)


def explain_missing(phase: str, output: OutputFile) -> str:
    """Return why a phase has no result."""
    if output.state == "missing":
        places = TABLE[phase].outputs
        if phase == "ARCHITECTURE":
            places = places[:1]
        return f"missing: {', '.join(places)}"

    if output.state == "older":
        return f"{output.path} is unchanged since before this workflow, or was rejected"

    return f"{output.path} is not a result: {output.why}"


def find_missing_hint(output: OutputFile) -> AnyHint:
    """Return what to do about a result that does not count, "" if its phase has to make it."""
    if output.state != "older":
        return ""
    words = ("checkpoint", "workflow", "advance", "--output", output.path)
    return advise("if it is this workflow's result", *words)
