"""`checkpoint workflow start` and `resume`: take a workflow up again, or archive it and begin afresh; asks first."""

import argparse
from shlex import quote
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.workflow import layout, rules, store
from checkpoint_git.protocols.workflow.changes import Advanced, Changed, Recovered, Writer
from checkpoint_git.protocols.workflow.resume import Plan
from checkpoint_git.protocols.workflow.state import (
    State,
    find_plan,
    find_recovery,
    find_trouble,
    load_state,
    read_approvals,
)
from checkpoint_git.protocols.workflow.verbs.phase import (
    advanced_lines,
    open_writer,
    recovery_data,
    recovery_lines,
    saved_line,
)
from checkpoint_git.protocols.write import say_waiting

_CAUTION = "proceed with caution"
_STOPPING = ("ask", "ask_approval")
_ACTIONS = {
    "advance": "advance (checkpoint workflow advance)",
    "spawn": "spawn {agent}",
    "ask_approval": "ask for approval (checkpoint workflow approve {phase})",
    "continue_tasks": "continue the tasks ({agent})",
    "complete": "complete",
    "ask": "ask the user",
}


def start(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    name = args.words[0]
    layout.check_workflow_id(name)
    layout.parse_approvals(args.approvals or "none")  # an invalid one is an error even where it is not needed
    place = store.plan_workflow_place(invocation.cwd)
    writer = Writer(place, invocation.now, say_waiting(invocation.stderr))
    if not load_state(place, invocation.now).is_unfinished:
        changed, target = writer.start(name, unasked=True)
        if changed is not None:
            return _started(changed, target, [])
    return _take_up(writer, args, invocation, name)


def resume(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    return _take_up(open_writer(invocation), args, invocation, "")


# what there is, and what to ask


class Question(NamedTuple):
    """on_yes, on_no, by_default (an empty line): "resume", "fresh" or "stop"."""

    kind: str
    text: str
    on_yes: str
    on_no: str
    by_default: str


class Prospect(NamedTuple):
    """What a workflow looks like to somebody who takes it up. plan: None where the state is corrupt."""

    state: State
    findings: list[Finding]
    question: Question
    plan: Plan | None


def look_ahead(place: Place, approvals: tuple[str, ...], now: int) -> Prospect:
    """What there is to take up, once tasks are recovered. Nothing is written."""
    state = load_state(place, now)
    if state.phase is None:  # another process archived it a moment ago
        raise CheckpointError(f"there is no workflow in {place.directory}", "checkpoint workflow start ID begins one")
    findings = find_trouble(state, now)
    if has_errors(findings):
        question = Question("corrupt", "State appears corrupted. Start fresh? [y/N]", "fresh", "stop", "stop")
        return Prospect(state, findings, question, None)
    age = rules.find_age(state.value, now)
    if age >= rules.STALE_AFTER:
        text = f"The workflow was started {age // DAY} days ago. Archive it and start fresh? [y/N]"
        question = Question("stale", text, "fresh", "resume", "resume")
    else:
        text = f"Resume workflow from {state.value.get('current_phase')}? [Y/n]"
        question = Question("resume", text, "resume", "fresh", "resume")
    return Prospect(state, findings, question, find_plan(state, approvals, find_recovery(state)))


def _take_up(writer: Writer, args: argparse.Namespace, invocation: Invocation, fresh_name: str) -> Outcome:
    """Shows what is there, asks or obeys a flag, and goes on. fresh_name: of the workflow that a fresh start begins."""
    if args.yes and args.fresh:
        raise CheckpointError("--yes and --fresh contradict each other", "--yes goes on, --fresh starts again")
    approvals = read_approvals(writer.place, args.approvals, invocation.env)
    prospect = look_ahead(writer.place, approvals, invocation.now)
    state, question = prospect.state, prospect.question
    if state.is_over and question.kind != "corrupt" and not args.fresh:  # nothing to ask: it only has to be archived
        prospect = prospect._replace(question=question._replace(kind="resume"))
        return _go_on(writer, prospect, approvals, [])
    lines: list[Block] = [Line(f"Detected interrupted workflow: {state.workflow_id or '?'}", "strong")]
    if question.kind != "corrupt":
        lines += [
            Line(f"Resuming workflow {state.workflow_id} from {state.value['current_phase']} phase"),
            Line(f"Last activity: {state.last_activity}"),
            Line(f"Completed: {', '.join(state.completed) or 'none'}"),
        ]
    if args.fresh:
        answer = "fresh"
    elif args.yes:
        answer = "resume" if question.kind != "corrupt" else "stop"
    elif invocation.interactive:
        answer, lines = _ask(invocation, prospect, lines), []
    else:
        answer = "stop"
    if answer == "fresh":
        return _start_afresh(writer, fresh_name, lines)
    if answer == "resume":
        return _go_on(writer, prospect, approvals, lines)
    return _stop(prospect, lines, fresh_name)


def _ask(invocation: Invocation, prospect: Prospect, lines: list[Block]) -> str:
    """The user's answer at a terminal: "resume", "fresh" or "stop"."""

    def show(text: str, end: str = "\n") -> None:
        invocation.stderr.write(f"{escape_controls(text)}{end}")

    question = prospect.question
    for line in lines:
        if isinstance(line, Line):
            show(line.text)
    for finding in prospect.findings:
        if finding.level != "note":
            show(f"  {finding.path}:{finding.line}: {finding.message}")
    while True:
        show(question.text, " ")
        invocation.stderr.flush()
        answer = invocation.stdin.readline()
        if not answer:
            show("")
            return "stop"
        answer = answer.strip().lower()
        if answer in ("", "y", "yes", "n", "no"):
            return question.by_default if not answer else question.on_yes if answer[0] == "y" else question.on_no
        show("please answer y or n")


# what follows


def _stop(prospect: Prospect, lines: list[Block], fresh_name: str) -> Outcome:
    state, findings, question, plan = prospect
    answers = {} if question.kind == "corrupt" else {"resume": "checkpoint workflow resume --yes"}
    begin = f"start {quote(fresh_name)}" if fresh_name else "resume"
    answers["fresh"] = f"checkpoint workflow {begin} --fresh"
    data = {
        **state.data(),
        "question": question.text,
        "answers": answers,
        "decision": None,
        "corrupt": question.kind == "corrupt",
        "stale": question.kind == "stale",
        **(_plan_data(plan) if plan else {}),
    }
    shown = [Line(question.text, "warn"), *(Line(f"  {what}: {command}") for what, command in answers.items())]
    return Outcome(data, [*lines, *shown], findings, 1)


def _go_on(writer: Writer, prospect: Prospect, approvals: tuple[str, ...], lines: list[Block]) -> Outcome:
    state = prospect.state
    recovered: Recovered | None = None
    if state.value["current_phase"] == "IMPLEMENTATION" and state.value["phase_status"] != "failed":
        recovered = writer.recover()
        if recovered.changed.refused:
            return Outcome(state.data(), lines, recovered.changed.refused, 1)
        state, lines = recovered.changed.state, [*lines, *recovery_lines(recovered)]
    is_stale = prospect.question.kind == "stale"
    if is_stale:
        lines = [*lines, Line(_CAUTION, "warn")]
    plan = find_plan(state, approvals)
    advanced: Advanced | None = None
    if plan.action == "complete":
        advanced = writer.advance(approvals)
        if advanced.changed.refused:
            return Outcome(state.data(), lines, advanced.changed.refused, 1)
    data: dict[str, Any] = {
        **state.data(),
        "decision": "resume",
        "corrupt": False,
        "stale": is_stale,
        **({"caution": _CAUTION} if is_stale else {}),
        **_plan_data(plan),
        **(recovery_data(recovered) if recovered else {}),
        **({"archive": advanced.archive} if advanced else {}),
    }
    shown = [*lines, *_plan_lines(plan, state.value["current_phase"]), *(advanced_lines(advanced) if advanced else [])]
    return Outcome(data, shown, prospect.findings, 1 if plan.action in _STOPPING else 0)


def _start_afresh(writer: Writer, name: str, lines: list[Block]) -> Outcome:
    changed, target = writer.start(name)
    if changed is not None:
        return _started(changed, target, lines)
    unnamed = Line("its name cannot be read: checkpoint workflow start ID begins a new one", "warn")
    data: dict[str, Any] = {"workflow_id": None, "decision": "fresh", "archive": target, "saved": []}
    return Outcome(data, [*lines, Line(f"archived to {target}"), unnamed])


def _started(changed: Changed, target: str | None, lines: list[Block]) -> Outcome:
    state = changed.state
    plan = Plan("spawn", "a fresh start", "PM")
    data = {**state.data(), "decision": "fresh", "archive": target, "saved": changed.saved, **_plan_data(plan)}
    blocks = [*lines, *([Line(f"archived to {target}")] if target else [])]
    started = Line(f"workflow {state.workflow_id} started: {state.value.get('current_phase')}", "strong")
    return Outcome(data, [*blocks, started, *_plan_lines(plan, ""), saved_line(changed)])


def _plan_data(plan: Plan) -> dict[str, Any]:
    return {
        "action": plan.action,
        "reason": plan.reason,
        "agent": plan.agent or None,
        "options": list(plan.options),
        "tasks": list(plan.tasks),
    }


def _plan_lines(plan: Plan, phase: object) -> list[Block]:
    action = _ACTIONS[plan.action].format(agent=plan.agent, phase=phase)
    lines: list[Block] = [Line(f"{action}: {plan.reason}", "strong")]
    return lines + [Line(f"  {text}") for text in (*plan.options, *plan.tasks[:20])]
