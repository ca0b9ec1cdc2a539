"""`checkpoint workflow start` and `resume`: begin a workflow, or continue an unfinished one."""

import argparse
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.protocols.limits import read_stale_days
from checkpoint_git.protocols.workflow import layout, store, tasks
from checkpoint_git.protocols.workflow.changes import ChangedWorkflow, WorkflowWriter
from checkpoint_git.protocols.workflow.output import (
    describe_plan,
    describe_recovery,
    list_advanced,
    list_archived,
    list_past,
    list_plan,
    list_recovered,
    list_saved,
    open_writer,
)
from checkpoint_git.protocols.workflow.plan import (
    Prospect,
    find_busy,
    find_plan,
    look_ahead,
    read_approvals,
)
from checkpoint_git.protocols.workflow.transitions import WorkflowPlan

_CAUTION = "proceed with caution"


def start(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    name = args.words[0]
    layout.check_id(name, "login-2026")
    # an invalid one is an error even where it is not needed
    layout.parse_approvals(args.approvals or "none")
    writer = open_writer(invocation, store.plan_workflow_place(invocation.cwd))
    changed = writer.start(name, unasked=True)
    if changed is None:  # there is an unfinished workflow
        return _take_up(writer, args, invocation, name)
    return _describe_start(changed, [])


def resume(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    return _take_up(open_writer(invocation), args, invocation, "")


def _take_up(
    writer: WorkflowWriter,
    args: argparse.Namespace,
    invocation: Invocation,
    fresh_name: str,
) -> Outcome:
    """Show what is there, ask or obey an option, and continue.

    fresh_name: of the workflow that a fresh start begins.
    """
    if args.yes and args.fresh:
        hint = "--yes continues, --fresh starts over"
        raise CheckpointError("--yes and --fresh contradict each other", hint)

    approvals = read_approvals(writer.place, args.approvals, invocation.env)
    stale_days = read_stale_days(writer.place.root, invocation.env)
    prospect = look_ahead(writer.place, approvals, invocation.now, stale_days, writer.session)
    state = prospect.state
    is_corrupt = prospect.question.kind == "corrupt"
    if state.is_over and not is_corrupt and not args.fresh:  # it only has to be archived
        return _go_on(writer, prospect, approvals, [], is_stale=False)

    lines = _detected_lines(prospect)
    answer = "stop"
    if args.fresh:
        answer = "fresh"
    elif args.yes and not is_corrupt:
        answer = "resume"
    elif not args.yes and invocation.interactive:
        answer = _ask(invocation, prospect, lines)
        lines = []

    if answer == "fresh":
        changed = writer.start(fresh_name)
        assert changed is not None
        return _describe_start(changed, lines)

    if answer == "resume":
        is_stale = prospect.question.kind == "stale"
        return _go_on(writer, prospect, approvals, lines, is_stale=is_stale)

    return _stop(prospect, lines, fresh_name)


def _detected_lines(prospect: Prospect) -> list[Block]:
    state = prospect.state
    detected = f"Detected interrupted workflow: {state.workflow_id or '?'}"
    lines: list[Block] = [Line(detected, "strong")]
    if prospect.question.kind != "corrupt":
        phase = state.value["current_phase"]
        lines.append(Line(f"Resuming workflow {state.workflow_id} from {phase} phase"))
        lines += list_past(state)
    return lines


def _ask(invocation: Invocation, prospect: Prospect, lines: list[Block]) -> str:
    """Return the user's answer: "resume", "fresh" or "stop"."""
    question = prospect.question
    shown = list(lines)
    for finding in prospect.findings:
        if finding.level != "note":
            shown.append(Line(f"  {finding.path}:{finding.line}: {finding.message}"))

    while answer := invocation.ask(question.text, shown):
        answer = answer.strip().lower()
        if not answer:
            return question.by_default
        if answer in ("y", "yes"):
            return question.on_yes
        if answer in ("n", "no"):
            return question.on_no
        shown = [Line("please answer y or n")]

    invocation.stderr.write("\n")
    return "stop"


def _stop(prospect: Prospect, lines: list[Block], fresh_name: str) -> Outcome:
    """Return the question with its answers, because nobody can be asked now."""
    state, findings, question, plan = prospect
    answers = {}
    if question.kind != "corrupt":
        answers["resume"] = command("checkpoint", "workflow", "resume", "--yes")
    if fresh_name:
        answers["fresh"] = command("checkpoint", "workflow", "start", fresh_name, "--fresh")
    else:
        answers["fresh"] = command("checkpoint", "workflow", "resume", "--fresh")

    data = {
        **state.data(),
        "question": question.text,
        "answers": answers,
        "decision": None,
        "corrupt": question.kind == "corrupt",
        "stale": question.kind == "stale",
    }
    if plan:
        data |= describe_plan(plan)
    shown = [Line(question.text, "warn")]
    shown += [Line(f"  {answer}", hint=way) for answer, way in answers.items()]
    return Outcome(data, [*lines, *shown], findings, 1)


def _go_on(
    writer: WorkflowWriter,
    prospect: Prospect,
    approvals: tuple[str, ...],
    lines: list[Block],
    *,
    is_stale: bool,
) -> Outcome:
    """Settle lost tasks, and say what to do next; a completed workflow is archived."""
    state = prospect.state
    shown = list(lines)
    recovery: dict[str, Any] = {}
    is_failed = state.value["phase_status"] == "failed"
    if state.value["current_phase"] == "IMPLEMENTATION" and not is_failed:
        recovered = writer.recover(writer.session)
        if recovered.refused:
            return Outcome(state.data(), lines, recovered.refused, 1)
        state = recovered.state
        recovery = describe_recovery(recovered)
        shown += list_recovered(recovered)

    if is_stale:
        shown.append(Line(_CAUTION, "warn"))

    busy = find_busy(state, writer.session)
    plan = _without_busy(find_plan(state, approvals), busy)
    for name in busy:
        shown.append(Line(f"{name}: left to the session that still runs it", "dim"))
    last: list[Block] = []
    if plan.action == "complete":
        advanced = writer.advance(approvals)
        if advanced.refused:
            return Outcome(state.data(), shown, advanced.refused, 1)
        recovery["archive"] = advanced.archive
        last = list_advanced(advanced)

    data: dict[str, Any] = {
        **state.data(),
        "decision": "resume",
        "corrupt": False,
        "stale": is_stale,
    }
    if is_stale:
        data["caution"] = _CAUTION
    data |= {**describe_plan(plan), "left_alone": busy, **recovery}
    shown += [*list_plan(plan), *last]
    must_ask = plan.action in ("ask", "ask_approval")
    return Outcome(data, shown, prospect.findings, 1 if must_ask else 0)


def _without_busy(plan: WorkflowPlan, busy: list[str]) -> WorkflowPlan:
    """Return a plan without the tasks that other sessions run."""
    free = tuple(name for name in plan.tasks if name not in busy)
    if plan.tasks and not free:
        reason = "every task that is left runs in another session: wait for it"
        return WorkflowPlan("ask", reason, hint=tasks.RECOVER)
    return plan._replace(tasks=free)


def _describe_start(changed: ChangedWorkflow, lines: list[Block]) -> Outcome:
    lines = [*lines, *list_archived(changed)]
    data: dict[str, Any] = {
        "decision": "fresh",
        "archive": changed.archive,
        "saved": list(changed.saved),
    }
    if not changed.saved:
        line = Line("its name cannot be read", "warn", hint=store.START_HINT)
        return Outcome({"workflow_id": None, **data}, [*lines, line])

    state = changed.state
    plan = WorkflowPlan("spawn", "a fresh start", "PM")
    phase = state.value.get("current_phase")
    started = Line(f"workflow {state.workflow_id} started: {phase}", "strong")
    blocks = [*lines, started, *list_plan(plan), list_saved(changed)]
    return Outcome({**state.data(), **data, **describe_plan(plan)}, blocks)
