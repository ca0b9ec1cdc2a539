"""Lines and JSON members that several verbs of `checkpoint workflow` show."""

from typing import Any

from checkpoint_git.core.hint import describe_hint
from checkpoint_git.core.outcome import Block, Invocation, Line
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.workflow import store
from checkpoint_git.protocols.workflow.changes import ChangedWorkflow, WorkflowWriter
from checkpoint_git.protocols.workflow.state import State
from checkpoint_git.protocols.workflow.transitions import WorkflowPlan
from checkpoint_git.protocols.write import say_waiting

# what the next step is -> how it is shown
_ACTIONS = {
    "advance": "advance",
    "spawn": "spawn {agent}",
    "ask_approval": "ask for approval",
    "continue_tasks": "continue the tasks ({agent})",
    "complete": "complete",
    "ask": "ask the user",
}
_VERDICTS = {
    "orphan": "orphaned, one attempt counted",
    "done": "finished before the crash",
    "failed": "ended",
}


def open_writer(invocation: Invocation, place: Place | None = None) -> WorkflowWriter:
    place = place or store.open_place(invocation.cwd)
    on_wait = say_waiting(invocation.stderr)
    return WorkflowWriter(place, invocation.now, on_wait, invocation.session)


def list_past(state: State) -> list[Block]:
    completed = ", ".join(state.completed) or "none"
    texts = [
        f"Last activity: {state.last_activity or 'unknown'}",
        f"Completed: {completed}",
        *state.notes,
    ]
    return [Line(text) for text in texts]


def list_saved(changed: ChangedWorkflow) -> Block:
    return Line(f"checkpoint saved: {', '.join(changed.saved)}", "good")


def list_advanced(changed: ChangedWorkflow) -> list[Block]:
    name = changed.state.workflow_id
    if changed.following:
        first = Line(f"workflow {name}: {changed.following} (pending)", "strong")
    else:
        first = Line(f"workflow {name} is complete", "good")
    return [first, list_saved(changed), *list_archived(changed)]


def list_archived(changed: ChangedWorkflow) -> list[Block]:
    if not changed.archive:
        return []
    return [Line(f"archived to {changed.archive}")]


def describe_recovery(changed: ChangedWorkflow) -> dict[str, Any]:
    recovered = []
    for step in changed.steps:
        recovered.append(
            {
                "id": step.id,
                "verdict": step.verdict,
                "status": step.status,
                "attempts": step.attempts,
                "reason": step.reason,
            }
        )

    return {"recovered": recovered, "saved": list(changed.saved)}


def list_recovered(changed: ChangedWorkflow) -> list[Block]:
    lines: list[Block] = []
    for step in changed.steps:
        verdict = _VERDICTS[step.verdict]
        text = f"{step.id}: {verdict}; now {step.status} ({step.reason})"
        lines.append(Line(text, "warn"))
    if changed.saved:
        lines.append(list_saved(changed))
    return lines


def describe_plan(plan: WorkflowPlan) -> dict[str, Any]:
    return {
        "action": plan.action,
        "reason": plan.reason,
        "agent": plan.agent or None,
        "options": list(plan.options),
        "tasks": list(plan.tasks),
        **describe_hint(plan.hint),
    }


def list_plan(plan: WorkflowPlan) -> list[Block]:
    action = _ACTIONS[plan.action].format(agent=plan.agent)
    lines: list[Block] = [Line(f"{action}: {plan.reason}", "strong", hint=plan.hint)]
    lines += [Line(f"  {text}") for text in (*plan.options, *plan.tasks[:20])]
    return lines
