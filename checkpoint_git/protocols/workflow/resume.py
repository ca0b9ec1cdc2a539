"""What to do next in an interrupted workflow: one table by phase over facts that somebody else gathered. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.terminal_text import plural
from checkpoint_git.protocols.workflow.layout import LAST, TABLE, next_phase
from checkpoint_git.protocols.workflow.tasks import OutputFile, task_name

Action = Literal["advance", "spawn", "ask_approval", "continue_tasks", "complete", "ask"]


class Plan(NamedTuple):
    """What to do next. agent: who is to be started, for "spawn" and "continue_tasks"; "" for nobody. options: what the
    user is to choose from, as paths relative to the project. tasks: the ids to go on with, in order.
    """

    action: Action
    reason: str
    agent: str = ""
    options: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()


class Facts(NamedTuple):
    """What the table asks about. output: the current phase's result. drafts: of ARCHITECTURE, relative paths. tasks:
    the rows of execution.json, recovery done. approvals: the phases that need an approval.
    """

    output: OutputFile
    drafts: tuple[str, ...] = ()
    tasks: Sequence[Mapping[str, Any]] = ()
    approvals: Collection[str] = ()


def is_finished(state: Mapping[str, Any]) -> bool:
    # Agents that go to the next phase and leave "complete" as the status have not done that phase. A resume that looks
    # for in_progress alone would read a crash between two phases as a fresh start, and overwrite the state.
    is_complete = state.get("current_phase") == LAST and state.get("phase_status") == "complete"
    return is_complete and LAST in phases_in(state, "completed_phases")


def phases_in(state: Mapping[str, Any], key: str) -> list[str]:
    rows = state.get(key)
    return [str(row.get("phase")) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def needs_approval(phase: str, state: Mapping[str, Any], approvals: Collection[str]) -> bool:
    return phase in approvals and phase not in phases_in(state, "user_checkpoints")


def plan_resume(state: Mapping[str, Any], facts: Facts) -> Plan:
    phase, status = str(state["current_phase"]), state["phase_status"]
    if is_finished(state):
        return Plan("complete", f"{LAST} is complete: nothing is left to do")
    if status == "failed":
        return Plan("ask", f"{phase} failed: try it again, or archive the workflow and start fresh?")
    if status == "complete" and phase in phases_in(state, "completed_phases"):
        plan = Plan("advance", f"{phase} is complete, and {next_phase(phase)} was not begun")
    elif phase == "IMPLEMENTATION":
        plan = _plan_tasks(facts.tasks)
    elif phase == "ARCHITECTURE" and facts.output.state != "good":
        plan = _plan_design(facts, is_approved=not needs_approval(phase, state, facts.approvals))
    elif facts.output.state != "good":
        plan = Plan("spawn", explain_missing(phase, facts.output), TABLE[phase].agent)
    elif phase == LAST:
        plan = Plan("complete", f"{facts.output.path} is there")
    else:
        plan = Plan("advance", f"{facts.output.path} is there and valid")
    if plan.action not in ("advance", "complete") or not needs_approval(phase, state, facts.approvals):
        return plan
    # A phase that waited for its approval is presented again; what it made is not made again.
    options = (facts.output.path,) if facts.output.path else ()
    return Plan("ask_approval", f"{plan.reason}, but {phase} waits for approval", options=options)


def _plan_design(facts: Facts, *, is_approved: bool) -> Plan:
    # ARCHITECTURE without its final design: the designs are made, shown, then joined to one
    row, missing = TABLE["ARCHITECTURE"], explain_missing("ARCHITECTURE", facts.output)
    if not facts.drafts:
        return Plan("spawn", f"{missing}, and no designs in {row.drafts}", row.drafter)
    there = f"{plural(len(facts.drafts), 'design')} in {row.drafts}"
    if is_approved:
        return Plan("spawn", f"{there}; {missing}", row.agent, options=facts.drafts)
    reason = f"{there} and no final one: present them again; the architects are not run again"
    return Plan("ask_approval", reason, options=facts.drafts)


def _plan_tasks(tasks: Sequence[Mapping[str, Any]]) -> Plan:
    agent = TABLE["IMPLEMENTATION"].agent
    if not tasks:
        return Plan("continue_tasks", "no tasks are written down yet", agent)
    open_tasks = tuple(task_name(task) for task in tasks if task.get("status") in ("pending", "running"))
    rest = [task for task in tasks if task.get("status") != "complete"]
    if open_tasks:
        done = len(tasks) - len(rest)
        return Plan("continue_tasks", f"{done} of {len(tasks)} tasks are complete", agent, tasks=open_tasks)
    if not rest:
        return Plan("advance", f"all {len(tasks)} tasks are complete")
    shown = ", ".join(f"{task_name(task)} ({task.get('status')})" for task in rest[:5])
    return Plan("ask", f"no task can go on by itself: {shown}", tasks=tuple(task_name(task) for task in rest))


def explain_missing(phase: str, output: OutputFile) -> str:
    if output.state == "missing":
        return f"missing: {', '.join(TABLE[phase].outputs[: 1 if phase == 'ARCHITECTURE' else None])}"
    if output.state == "older":
        return f"{output.path} is from before this workflow began"
    return f"{output.path} is not valid: {output.why}"
