"""Find what to do next in a workflow, and what recovery does to its tasks. Nothing is written."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.process import (
    is_running,
    is_session_running,
    read_ancestors,
    read_session_process,
)
from checkpoint_git.git.settings import WORKFLOW_APPROVALS, find_setting
from checkpoint_git.protocols.workflow import progress, rules, store, tasks
from checkpoint_git.protocols.workflow.layout import parse_approvals
from checkpoint_git.protocols.workflow.results import find_drafts, find_output, find_results
from checkpoint_git.protocols.workflow.state import (
    State,
    find_trouble,
    load_state,
    missing_workflow,
)
from checkpoint_git.protocols.workflow.tasks import OutputFile, TaskStep, plan_step, task_name
from checkpoint_git.protocols.workflow.transitions import Facts, WorkflowPlan, plan_resume

Task = Mapping[str, Any]  # a row of execution.json


class StateQuestion(NamedTuple):
    """A question to the user. The answers are "resume", "fresh" or "stop"."""

    kind: str
    text: str
    on_yes: str
    on_no: str
    by_default: str  # for an empty line


class Prospect(NamedTuple):
    """A workflow, and how it can be continued."""

    state: State
    findings: list[Finding]
    question: StateQuestion
    plan: WorkflowPlan | None  # None if the state is corrupt


def look_ahead(
    place: Place,
    approvals: tuple[str, ...],
    now: int,
    stale_days: int,
    session: str | None = None,
) -> Prospect:
    """Return how a workflow can be continued. Raises CheckpointError if there is none.

    stale_days: after which a workflow counts as old.
    """
    state = load_state(place, now)
    if not state.documents:  # another process archived it a moment ago
        raise missing_workflow(state)
    findings = find_trouble(state, now, stale_days)
    # the plan asks about tasks that are behind
    if has_errors([finding for finding in findings if finding.code != rules.BEHIND]):
        text = "State appears corrupted. Start fresh? [y/N]"
        question = StateQuestion("corrupt", text, on_yes="fresh", on_no="stop", by_default="stop")
        return Prospect(state, findings, question, None)

    age = rules.find_age(state.value, now)
    if age >= stale_days * DAY:
        text = f"The workflow was started {age // DAY} days ago. "
        text += "Archive it and start fresh? [y/N]"
        on_yes = "fresh"
        on_no = "resume"
        question = StateQuestion("stale", text, on_yes, on_no, by_default="resume")
    else:
        text = f"Resume workflow from {state.value.get('current_phase')}? [Y/n]"
        on_yes = "resume"
        on_no = "fresh"
        question = StateQuestion("resume", text, on_yes, on_no, by_default="resume")

    plan = find_plan(state, approvals, find_recovery(state, now, session))
    return Prospect(state, findings, question, plan)


def read_approvals(place: Place, wished: str | None, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the phases that need an approval.

    As wished, else as checkpoint.workflowApprovals names them, else the usual two.
    """
    if wished is not None:
        return parse_approvals(wished)

    found: Mapping[str, str] = {}
    if place.work_tree:
        from checkpoint_git.git.repository import read_all_settings

        found = read_all_settings(place.root, env)

    return parse_approvals(find_setting(found, WORKFLOW_APPROVALS))


def find_plan(
    state: State, approvals: tuple[str, ...], steps: Sequence[TaskStep] = ()
) -> WorkflowPlan:
    """Return what to do next. steps: of a recovery that is not written yet."""
    place = state.place
    value = state.value
    phase = value["current_phase"]
    rows = [dict(task) for task in state.tasks if isinstance(task, dict)]

    for step in steps:
        rows[step.row]["status"] = step.status

    results = find_results(place, value, rows, phase)
    facts = Facts(
        output=find_output(place, value, phase),
        drafts=tuple(draft.path for draft in find_drafts(place, value, phase)),
        tasks=rows,
        waits=phase in approvals and not progress.is_approved(phase, value, results),
        behind=progress.find_behind(value, {"tasks": rows}),
    )
    return plan_resume(value, facts)


def find_recovery(state: State, now: int, session: str | None = None) -> list[TaskStep]:
    """Return what recovery does to each running task whose session is gone.

    session: who asks; None: all running tasks count.
    """
    steps = []
    for row, task in enumerate(state.tasks):
        if not isinstance(task, dict) or not tasks.is_running(task):
            continue
        if session is None or not _is_under_way(task, session):
            steps.append(plan_step(row, task, _read_task_output(state.place, task), now))
    return steps


def _read_task_output(place: Place, task: Task) -> OutputFile:
    """Return the output of a task; one that is as old as its commit was not written by it."""
    path = task.get("output")
    if not isinstance(path, str) or not path:
        return OutputFile()
    output = store.read_output(place, path)
    if place.work_tree and output.digest and "digest" not in task:  # a clone gave it a new time
        started = tasks.earliest_start(task)
        if store.find_committed_before(place, [output.path], started):
            return output._replace(written=0)
    return output


def _is_under_way(task: Task, session: str) -> bool:
    """Return whether a session still runs a task. session: who asks."""
    task_session = str(task.get("session") or "")
    is_own = bool(session) and task_session == session
    process = task.get("process")
    if not isinstance(process, str):
        return is_own
    if not is_running(process):
        return False
    # another session in the same process, or from the same terminal, comes after it, unless both
    # run there
    is_shared = process in (read_session_process(""), *read_ancestors())
    return is_own or not is_shared or is_session_running(task_session)


def find_busy(state: State, session: str) -> list[str]:
    """Return the tasks that another session runs now."""
    busy = []
    for task in state.task_rows:
        is_own = task.get("session") == session
        if tasks.is_running(task) and not is_own and _is_under_way(task, session):
            busy.append(task_name(task))
    return busy
