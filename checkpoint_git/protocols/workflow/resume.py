"""What to do next in an interrupted workflow: one table by phase over facts that somebody else gathered. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import read_loose_instant
from checkpoint_git.core.terminal_text import plural, quote_path
from checkpoint_git.protocols.document import read_objects
from checkpoint_git.protocols.workflow.layout import LAST, PHASES, TABLE, next_phase
from checkpoint_git.protocols.workflow.tasks import UNFINISHED, OutputFile, is_open, read_status, task_name

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
    the rows of execution.json, recovery done. waits: for the user's approval. behind: the tasks that are open in a
    phase after theirs.
    """

    output: OutputFile
    drafts: tuple[str, ...] = ()
    tasks: Sequence[Mapping[str, Any]] = ()
    waits: bool = False
    behind: tuple[str, ...] = ()


def is_finished(state: Mapping[str, Any]) -> bool:
    # Agents that go to the next phase and leave "complete" as the status have not done that phase. A resume that looks
    # for in_progress alone would read a crash between two phases as a fresh start, and overwrite the state.
    is_complete = state.get("current_phase") == LAST and state.get("phase_status") == "complete"
    return is_complete and LAST in phases_in(state, "completed_phases")


def phases_in(state: Mapping[str, Any], key: str) -> list[str]:
    return [str(row.get("phase")) for row in read_objects(state, key)]


def is_approved(phase: str, state: Mapping[str, Any], results: Mapping[str, str]) -> bool:
    """Whether the user approved what is there now. results: path -> digest, as find_results gives them."""
    row = next((row for row in read_objects(state, "user_checkpoints") if row.get("phase") == phase), None)
    noted = row.get("results") if row else {}
    if row is None or not isinstance(noted, dict):
        return row is not None  # agents write down that it was approved, and not what
    if not results or noted.keys() & results.keys():
        return all(noted.get(path) == digest for path, digest in results.items())
    # the drafts were approved, and the result was made from them since
    outputs, _, drafts, _ = TABLE[phase]
    return bool(drafts and noted) and all(path.startswith(drafts) and path not in outputs for path in noted)


def find_behind(state: Mapping[str, Any], execution: Mapping[str, Any]) -> tuple[str, ...]:
    """The tasks that are open although IMPLEMENTATION is over, by id, except those that were left open knowingly."""
    own = "IMPLEMENTATION"
    row = next((row for row in read_objects(state, "completed_phases") if row.get("phase") == own), None)
    if row is None and state.get("current_phase") not in ("VERIFICATION", LAST):
        return ()
    left = (row or {}).get("left_open")
    known = left if isinstance(left, list) else []
    tasks = read_objects(execution, "tasks")
    return tuple(name for task in tasks if is_open(task) and (name := task_name(task)) not in known)


def is_sent_back(state: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no task was completed since the workflow went back to IMPLEMENTATION, or to a phase before it."""
    row = (read_objects(state, "went_back") or [{}])[-1]
    since = read_loose_instant(row.get("at")) if row.get("to") in PHASES[:3] else None
    return since is not None and all(
        (read_loose_instant(task.get("completed_at")) or (0, "")) < since for task in tasks
    )


def plan_resume(state: Mapping[str, Any], facts: Facts) -> Plan:
    phase, status, output = str(state["current_phase"]), state["phase_status"], facts.output
    if facts.behind:
        return Plan("ask", explain_behind(facts.behind), tasks=facts.behind)
    if is_finished(state):
        return Plan("complete", f"{LAST} is complete: nothing is left to do")
    if status == "failed":
        again = "try it again (checkpoint workflow save), or go back (checkpoint workflow back PHASE)"
        return Plan("ask", f"{phase} failed: {again}")
    if status == "complete" and phase in phases_in(state, "completed_phases"):
        plan = Plan("advance", f"{phase} is complete, and {next_phase(phase)} was not begun")
    elif phase == "IMPLEMENTATION":
        plan = _plan_tasks(facts.tasks, is_sent_back=is_sent_back(state, facts.tasks))
    elif output.state == "failed":
        back = "IMPLEMENTATION" if phase in ("VERIFICATION", LAST) else phase
        plan = Plan("ask", f"{output.path} {output.why}: write it again, or checkpoint workflow back {back}")
    elif phase == "ARCHITECTURE" and output.state != "good":
        plan = _plan_design(facts)
    elif output.state != "good":
        plan = Plan("spawn", explain_missing(phase, output), TABLE[phase].agent)
    elif phase == LAST:
        plan = Plan("complete", f"{output.path} is there")
    else:
        plan = Plan("advance", f"{output.path} is there and valid")
    if plan.action not in ("advance", "complete") or not facts.waits:
        return plan
    # A phase that waited for its approval is presented again; what it made is not made again.
    options = (output.path,) if output.path else ()
    return Plan("ask_approval", f"{plan.reason}, but {phase} waits for approval", options=options)


NOT_REDONE = (
    "no task was completed since it was sent back (checkpoint workflow task retry ID, or task add ID; "
    "if nothing is to be done again: advance --force)"
)


def explain_behind(tasks: Sequence[str]) -> str:
    shown = ", ".join(tasks[:5]) + (f" and {len(tasks) - 5} more" if len(tasks) > 5 else "")
    are = "task is" if len(tasks) == 1 else "tasks are"
    return f"IMPLEMENTATION is finished, but {len(tasks)} {are} open: {shown} (checkpoint workflow back IMPLEMENTATION)"


def _plan_design(facts: Facts) -> Plan:
    # ARCHITECTURE without its final design: the designs are made, shown, then joined to one
    row, missing = TABLE["ARCHITECTURE"], explain_missing("ARCHITECTURE", facts.output)
    if not facts.drafts:
        return Plan("spawn", f"{missing}, and no designs in {row.drafts}", row.drafter)
    there = f"{plural(len(facts.drafts), 'design')} in {row.drafts}"
    if not facts.waits:
        return Plan("spawn", f"{there}; {missing}", row.agent, options=facts.drafts)
    reason = f"{there} and no final one: present them again; the architects are not run again"
    return Plan("ask_approval", reason, options=facts.drafts)


def _plan_tasks(tasks: Sequence[Mapping[str, Any]], *, is_sent_back: bool) -> Plan:
    agent = TABLE["IMPLEMENTATION"].agent
    if not tasks:
        return Plan("continue_tasks", "no tasks are recorded yet", agent)
    open_tasks = tuple(task_name(task) for task in tasks if read_status(task.get("status")) in UNFINISHED)
    rest = [task for task in tasks if read_status(task.get("status")) != "complete"]
    if open_tasks:
        done = len(tasks) - len(rest)
        return Plan("continue_tasks", f"{done} of {len(tasks)} tasks are complete", agent, tasks=open_tasks)
    if not rest and is_sent_back:
        return Plan("ask", NOT_REDONE)
    if not rest:
        return Plan("advance", f"all {len(tasks)} tasks are complete")
    said = [": ".join(str(task[key]) for key in ("status", "error") if task.get(key)) for task in rest[:5]]
    shown = ", ".join(f"{task_name(task)} ({text})" for task, text in zip(rest, said, strict=False))
    reason = f"no task can continue on its own: {shown}; `checkpoint workflow task retry ID` tries one again"
    return Plan("ask", reason, tasks=tuple(task_name(task) for task in rest))


def explain_missing(phase: str, output: OutputFile) -> str:
    if output.state == "missing":
        return f"missing: {', '.join(TABLE[phase].outputs[: 1 if phase == 'ARCHITECTURE' else None])}"
    if output.state == "older":
        own = f"if it is this one's result: checkpoint workflow advance --output {quote_path(output.path)}"
        return f"{output.path} is unchanged since before this workflow, or was rejected ({own})"
    return f"{output.path} is not a result: {output.why}"
