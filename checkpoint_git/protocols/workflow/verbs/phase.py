"""`checkpoint workflow status|validate|approve|save|advance|archive|task|recover`: the phases and their tasks."""

import argparse
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import has_errors
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Table
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.workflow import layout, store
from checkpoint_git.protocols.workflow.changes import Advanced, Changed, Recovered, Writer
from checkpoint_git.protocols.workflow.state import (
    find_plan,
    find_recovery,
    find_state,
    find_trouble,
    load_state,
    read_approvals,
)
from checkpoint_git.protocols.write import say_waiting

_SHOWN_TASKS = 50
_TASK_VERBS = ("add", "start", "done", "fail")
_VERDICTS = {"orphan": "orphaned, one attempt counted", "done": "finished before the crash", "failed": "failed"}


def open_writer(invocation: Invocation) -> Writer:
    return Writer(store.open_place(invocation.cwd), invocation.now, say_waiting(invocation.stderr))


def status(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    place = store.find_workflow_place(invocation.cwd)
    if place is None or not store.has_state(place):
        line = Line("there is no workflow here: checkpoint workflow start ID begins one", "dim")
        return Outcome({"workflow_id": None}, [line])
    state = load_state(place, invocation.now)
    findings = [finding for document in state.documents for finding in document.findings]
    data = {**state.data(), "tasks": state.tasks}
    if has_errors(findings):
        return Outcome(data, [], findings)
    plan = find_plan(state, read_approvals(place, args.approvals, invocation.env), find_recovery(state))
    data["action"], data["reason"] = plan.action, plan.reason
    value = state.value
    lines: list[Block] = [
        Line(f"workflow {state.workflow_id}: {value['current_phase']} ({value['phase_status']})", "strong"),
        Line(f"Last activity: {state.last_activity}"),
        Line(f"Completed: {', '.join(state.completed) or 'none'}"),
        Line(f"Approved: {', '.join(data['approved']) or 'none'}"),
    ]
    tasks = [row for row in state.tasks if isinstance(row, dict)]
    if tasks:
        rows = [
            (str(task.get("id")), str(task.get("status")), str(task.get("attempts", 0)), str(task.get("output") or ""))
            for task in tasks[:_SHOWN_TASKS]
        ]
        lines.append(Table(("task", "status", "attempts", "output"), [(*row[:3], shorten(row[3], 80)) for row in rows]))
    if len(tasks) > _SHOWN_TASKS:
        lines.append(Line(f"... and {len(tasks) - _SHOWN_TASKS} more tasks", "dim"))
    lines.append(Line(f"next: {plan.action}{f' {plan.agent}' if plan.agent else ''}: {plan.reason}"))
    return Outcome(data, lines, findings)


def validate(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    state = find_state(invocation.cwd, invocation.now)
    findings = find_trouble(state, invocation.now)
    errors = sum(finding.level == "error" for finding in findings)
    result = f"{errors} error{'' if errors == 1 else 's'}" if errors else "in order"
    line = Line(f"workflow {state.workflow_id or '?'}: {result}", "bad" if errors else "good")
    return Outcome({**state.data(), "valid": not errors}, [line], findings)


# phases


def approve(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    phase = layout.check_phase(args.words[0])
    return _describe(open_writer(invocation).approve(phase), [Line(f"{phase} is approved", "good")])


def save(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    return _describe(open_writer(invocation).save(args.note or ""), [])


def _describe(changed: Changed, lines: list[Block]) -> Outcome:
    data = {**changed.state.data(), "saved": changed.saved}
    if changed.refused:
        return Outcome(data, [], changed.refused, 1)
    return Outcome(data, [*lines, saved_line(changed)])


def saved_line(changed: Changed) -> Block:
    return Line(f"checkpoint saved: {', '.join(changed.saved)}", "good")


def advance(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    writer = open_writer(invocation)
    approvals = read_approvals(writer.place, args.approvals, invocation.env)
    advanced = writer.advance(approvals, args.output, approved=args.yes, force=args.force)
    outcome = _describe(advanced.changed, [])
    if advanced.changed.refused:
        return outcome
    data = {**outcome.data, "following": advanced.following or None, "archive": advanced.archive}
    return Outcome(data, advanced_lines(advanced))


def advanced_lines(advanced: Advanced) -> list[Block]:
    name = advanced.changed.state.workflow_id
    first = Line(f"workflow {name} is complete", "good")
    if advanced.following:
        first = Line(f"workflow {name}: {advanced.following} (pending)", "strong")
    lines: list[Block] = [first, saved_line(advanced.changed)]
    return [*lines, Line(f"archived to {advanced.archive}")] if advanced.archive else lines


def archive(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    state, target = open_writer(invocation).archive()
    return Outcome({**state.data(), "archive": target}, [Line(f"archived to {target}", "good")])


# tasks


def task(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    verb, names = args.words[0], args.words[1:]
    if verb not in _TASK_VERBS:
        raise CheckpointError(f"workflow task {verb!r} is unknown", f"there are: {', '.join(_TASK_VERBS)}")
    if verb != "add" and len(names) > 1:
        raise CheckpointError(f"workflow task {verb} takes one ID", "name the tasks one after the other")
    for name in names:
        layout.check_task_id(name)
    changed = open_writer(invocation).change_task(verb, names, args.output, args.error or "")
    rows = [row for row in changed.state.tasks if isinstance(row, dict) and str(row.get("id")) in names]
    lines: list[Block] = []
    for row in rows:
        attempts = row.get("attempts")
        count = f" ({attempts} of {row.get('max_attempts', 3)} attempts came to nothing)" if attempts else ""
        lines.append(Line(f"{row.get('id')}: {row.get('status')}{count}"))
    outcome = _describe(changed, lines)
    shown = {} if changed.refused else {"tasks": rows if verb == "add" else rows[:1]}
    return outcome._replace(data={**outcome.data, **shown})


def recover(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    recovered = open_writer(invocation).recover()
    data = {**recovered.changed.state.data(), **recovery_data(recovered)}
    if recovered.changed.refused:
        return Outcome(data, [], recovered.changed.refused, 1)
    return Outcome(data, recovery_lines(recovered) or [Line("no task was running: nothing to recover", "dim")])


def recovery_data(recovered: Recovered) -> dict[str, Any]:
    fields = ("id", "verdict", "status", "attempts", "reason")
    return {
        "recovered": [{field: getattr(step, field) for field in fields} for step in recovered.steps],
        "kept_aside": [{"path": old, "now": new} for old, new in recovered.kept_aside],
        "saved": recovered.changed.saved,
    }


def recovery_lines(recovered: Recovered) -> list[Block]:
    lines: list[Block] = [
        Line(f"{step.id}: {_VERDICTS[step.verdict]}; now {step.status} ({step.reason})", "warn")
        for step in recovered.steps
    ]
    lines += [Line(f"kept aside: {new}") for _, new in recovered.kept_aside]
    return [*lines, saved_line(recovered.changed)] if recovered.changed.saved else lines
