"""`checkpoint workflow status|advance|approve|save|validate|archive`: the phases of a workflow."""

import argparse
from typing import Any, NamedTuple

from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Table
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.workflow import changes, store
from checkpoint_git.protocols.workflow.phases import PHASES
from checkpoint_git.protocols.workflow.resume import is_finished, needs_approval, tell_missing
from checkpoint_git.protocols.workflow.state import (
    Changed,
    State,
    Value,
    apply_change,
    archive_workflow,
    change_state,
    check_phase,
    completed_phases,
    find_beginning,
    find_output,
    find_plan,
    find_recovery,
    find_state,
    find_trouble,
    last_activity,
    load_state,
    read_approvals,
    saved_line,
    state_data,
    workflow_id,
)
from checkpoint_git.protocols.workflow.verbs.tasks import find_output_trouble, find_place
from checkpoint_git.protocols.write import say_waiting

_SHOWN_TASKS = 50


class Advanced(NamedTuple):
    """What became of an advance. following: the phase that comes now, "" after the last. archive: where to, or None."""

    changed: Changed
    following: str
    archive: str | None


# status


def status(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """`status`: exit code 1 where a file is broken; no workflow is an answer too."""
    place = store.find_workflow_place(invocation.cwd)
    if place is None or not store.has_state(place):
        line = Line("there is no workflow here: checkpoint workflow start ID begins one", "dim")
        return Outcome({"workflow_id": None}, [line])
    state = load_state(place, invocation.now)
    findings = [finding for document in state.documents for finding in document.findings]
    data = {**state_data(state), "tasks": state.tasks}
    if has_errors(findings):
        return Outcome(data, [], findings)
    plan = find_plan(state, read_approvals(place, args.approvals, invocation.env), find_recovery(state))
    data["action"], data["reason"] = plan.action, plan.reason
    value = state.value
    lines: list[Block] = [
        Line(f"workflow {workflow_id(state)}: {value['current_phase']} ({value['phase_status']})", "strong"),
        Line(f"Last activity: {last_activity(state)}"),
        Line(f"Completed: {', '.join(completed_phases(state)) or 'none'}"),
        Line(f"Approved: {', '.join(data['approved']) or 'none'}"),
        *_task_table(state.tasks),
        Line(f"next: {plan.action}{f' {plan.agent}' if plan.agent else ''}: {plan.reason}"),
    ]
    return Outcome(data, lines, findings)


def _task_table(tasks: list[Any]) -> list[Block]:
    rows = [
        (
            str(row.get("id")),
            str(row.get("status")),
            str(row.get("attempts", 0)),
            shorten(str(row.get("output") or ""), 80),
        )
        for row in tasks
        if isinstance(row, dict)
    ]
    more = [Line(f"... and {len(rows) - _SHOWN_TASKS} more tasks", "dim")] if len(rows) > _SHOWN_TASKS else []
    return [Table(("task", "status", "attempts", "output"), rows[:_SHOWN_TASKS]), *more] if rows else []


# validate


def validate(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """`validate`: exit code 1 on errors."""
    state = find_state(invocation.cwd, invocation.now)
    findings = find_trouble(state, invocation.now)
    errors = sum(finding.level == "error" for finding in findings)
    told = f"{errors} error{'' if errors == 1 else 's'}" if errors else "in order"
    line = Line(f"workflow {workflow_id(state) or '?'}: {told}", "bad" if errors else "good")
    return Outcome({**state_data(state), "valid": not errors}, [line], findings)


# approve and save


def approve(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """`approve PHASE`: exit code 1 for a phase that was not begun."""
    phase = check_phase(args.words[0])
    changed = approve_phase(find_place(invocation.cwd), phase, invocation.now, say_waiting(invocation.stderr))
    return outcome_of(changed, [Line(f"{phase} is approved", "good")])


def approve_phase(place: Place, phase: str, now: int, on_wait: store.Tell = lambda: None) -> Changed:
    """Notes the user's approval of a phase, which has to be begun."""

    def change(value: Value, execution: Value, now: int) -> Finding | None:
        return changes.approve_phase(value, phase, now)

    return change_state(place, now, change, on_wait)


def save(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """`save [--note TEXT]`."""
    changed = save_state(find_place(invocation.cwd), args.note or "", invocation.now, say_waiting(invocation.stderr))
    return outcome_of(changed, [])


def save_state(place: Place, note: str, now: int, on_wait: store.Tell = lambda: None) -> Changed:
    """Stamps the state, with a note; a phase that is pending or failed is in progress then."""

    def change(value: Value, execution: Value, now: int) -> None:
        changes.note_save(value, note, now)

    return change_state(place, now, change, on_wait)


def outcome_of(changed: Changed, lines: list[Block]) -> Outcome:
    """The answer of a verb that writes."""
    data = {**state_data(changed.state), "saved": changed.saved}
    if changed.refused:
        return Outcome(data, [], changed.refused, 1)
    return Outcome(data, [*lines, saved_line(changed.saved)])


# advance


def advance(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """`advance`: exit code 1 where the phase is not approved or its result is not there."""
    place = find_place(invocation.cwd)
    approvals = read_approvals(place, args.approvals, invocation.env)
    advanced = advance_phase(
        place, invocation.now, approvals, args.output, approved=args.yes, force=args.force,
        on_wait=say_waiting(invocation.stderr),
    )  # fmt: skip
    if advanced.changed.refused:
        return outcome_of(advanced.changed, [])
    data = {
        **state_data(advanced.changed.state),
        "saved": advanced.changed.saved,
        "following": advanced.following or None,
        "archive": advanced.archive,
    }
    return Outcome(data, advanced_lines(advanced))


def advanced_lines(advanced: Advanced) -> list[Block]:
    """What an advance did, for a person."""
    name = workflow_id(advanced.changed.state)
    if advanced.following:
        return [Line(f"workflow {name}: {advanced.following} (pending)", "strong"), saved_line(advanced.changed.saved)]
    lines: list[Block] = [Line(f"workflow {name} is complete", "good"), saved_line(advanced.changed.saved)]
    return [*lines, Line(f"archived to {advanced.archive}")] if advanced.archive else lines


def advance_phase(
    place: Place,
    now: int,
    approvals: tuple[str, ...],
    output: str | None = None,
    *,
    approved: bool = False,
    force: bool = False,
    on_wait: store.Tell = lambda: None,
) -> Advanced:
    """Completes the current phase. approved: the user says so now. force: the result need not be there.

    After the last phase the state is archived.
    """
    following = ""
    with store.writing(place, on_wait):
        state = load_state(place, now)

        def change(value: Value, execution: Value, now: int) -> Finding | None:
            nonlocal following
            phase = str(value["current_phase"])
            if needs_approval(phase, value, approvals):
                if not approved:
                    return _not_approved(phase)
                changes.approve_phase(value, phase, now)
            if is_finished(value):
                return None
            named, trouble = _find_result(place, value, execution, output)
            if trouble is not None and not force:
                return trouble
            following = changes.finish_phase(value, named, now)
            return None

        changed = apply_change(state, now, change)
        archive = None
        if not changed.refused and not following:
            archive = archive_workflow(changed.state, now)
    return Advanced(changed, following, archive)


def _not_approved(phase: str) -> Finding:
    hint = f"ask the user, then: checkpoint workflow approve {phase} (or advance --yes)"
    return Finding("workflow/not-approved", "error", f"{phase} waits for approval", where="/current_phase", hint=hint)


def _find_result(place: Place, value: Value, execution: Value, wished: str | None) -> tuple[str, Finding | None]:
    """(the current phase's output, why it is no result)."""
    phase = str(value["current_phase"])
    hint = "checkpoint workflow advance --force goes on without it"
    if phase == PHASES[2] and wished is None:
        why = _find_open(phase, value, execution)
        finding = Finding("workflow/tasks-open", "error", why, where="/tasks", hint=hint)
        return "memory/state/execution.json", finding if why else None
    if wished is not None:
        return wished, find_output_trouble(place, wished)
    found = find_output(place, phase, find_beginning(value))
    if found.condition == "valid":
        return found.path, None
    message = f"{phase}: {tell_missing(phase, found)}"
    return "", Finding("workflow/output-missing", "error", message, where="/current_phase", hint=hint)


def _find_open(phase: str, value: Value, execution: Value) -> str:
    """Why the tasks do not say that the implementation is done, "" where they do."""
    tasks = [row for row in execution["tasks"] if isinstance(row, dict)]
    rest = [row for row in tasks if row.get("status") != "complete"]
    noted = any(isinstance(row, dict) and row.get("phase") == phase for row in value.get("completed_phases") or ())
    if not tasks and not noted:
        return "no tasks are written down, so none is complete"
    return f"{len(rest)} of {len(execution['tasks'])} tasks are not complete" if rest else ""


# archive


def archive(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """`archive`."""
    state, target = archive_state(find_place(invocation.cwd), invocation.now, say_waiting(invocation.stderr))
    return Outcome({**state_data(state), "archive": target}, [Line(f"archived to {target}", "good")])


def archive_state(place: Place, now: int, on_wait: store.Tell = lambda: None) -> tuple[State, str | None]:
    """(the state as it was, the archive that it was moved to; None where there was nothing to move)."""
    with store.writing(place, on_wait):
        state = load_state(place, now)
        return state, archive_workflow(state, now)
