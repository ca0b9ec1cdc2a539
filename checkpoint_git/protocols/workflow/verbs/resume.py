"""`checkpoint workflow start` and `resume`: take a workflow up again, or archive it and begin afresh; asks first."""

import argparse
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.workflow import layout, store
from checkpoint_git.protocols.workflow.integrity import stale_days
from checkpoint_git.protocols.workflow.resume import Plan, is_finished, is_stale
from checkpoint_git.protocols.workflow.state import (
    Changed,
    State,
    archive_workflow,
    begin_workflow,
    completed_phases,
    find_plan,
    find_recovery,
    find_trouble,
    last_activity,
    load_state,
    parse_approvals,
    read_approvals,
    saved_line,
    state_data,
    workflow_id,
)
from checkpoint_git.protocols.workflow.verbs.phase import Advanced, advance_phase, advanced_lines
from checkpoint_git.protocols.workflow.verbs.tasks import (
    Recovered,
    find_place,
    recover_tasks,
    recovery_data,
    recovery_lines,
)
from checkpoint_git.protocols.write import say_waiting

_CAUTION = "proceed with caution"
_STOPPING = ("ask", "ask_approval")


class Question(NamedTuple):
    """What has to be answered before anything is done. on_yes: "resume", "fresh" or "stop"; on_no likewise.

    by_default: what an empty line means.
    """

    kind: str
    text: str
    on_yes: str
    on_no: str
    by_default: str


def start(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """`start ID`: where a workflow is unfinished, the question of `resume` comes first."""
    name = args.words[0]
    layout.check_workflow_id(name)
    parse_approvals(args.approvals or "none")  # a wrong one is told even where nobody is asked
    place = store.plan_workflow_place(invocation.cwd)
    if not is_unfinished(load_state(place, invocation.now)):
        changed, target = begin_afresh(place, name, invocation.now, say_waiting(invocation.stderr), unasked=True)
        if changed is not None:
            return _tell_started(changed, target, [])
    return take_up(place, args, invocation, name)


def is_unfinished(state: State) -> bool:
    """Whether a workflow is there that is not complete: somebody is to be asked before it is archived."""
    return state.phase is not None and not is_over(state)


def is_over(state: State) -> bool:
    """Whether the workflow is complete, so that a new one may begin without a question."""
    return bool(state.phase and state.phase.is_valid and is_finished(state.value))


def resume(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """`resume`: exit code 1 where somebody has to be asked first."""
    return take_up(find_place(invocation.cwd), args, invocation, "")


def take_up(place: Place, args: argparse.Namespace, invocation: Invocation, fresh_name: str) -> Outcome:
    """Shows what is there, asks or obeys a flag, and goes on. fresh_name: of the workflow that a fresh start begins."""
    if args.yes and args.fresh:
        raise CheckpointError("--yes and --fresh contradict each other", "--yes goes on, --fresh starts again")
    approvals = read_approvals(place, args.approvals, invocation.env)
    state, findings, question, plan = look_ahead(place, approvals, invocation.now)
    if is_over(state) and question.kind != "corrupt" and not args.fresh:  # nothing to ask: it only has to be archived
        return _go_on(state, invocation, approvals, [], findings, question._replace(kind="resume"))
    lines = describe_state(state, question)
    answers = _list_answers(question, fresh_name)
    answer = _find_answer(args, invocation, question, lines, findings)
    if invocation.interactive and not (args.yes or args.fresh):
        lines = []  # they were shown with the question
    if answer == "fresh":
        return _start_afresh(place, fresh_name, invocation, lines)
    if answer == "resume":
        return _go_on(state, invocation, approvals, lines, findings, question)
    return _stop(state, plan, lines, findings, question, answers)


class Prospect(NamedTuple):
    """What a workflow looks like to somebody who takes it up. plan: None where the state is corrupt."""

    state: State
    findings: list[Finding]
    question: Question
    plan: Plan | None


def look_ahead(place: Place, approvals: tuple[str, ...], now: int) -> Prospect:
    """The state, what speaks against it, what to ask, and what would come next once tasks are recovered.

    Nothing is written.
    """
    state = load_state(place, now)
    if state.phase is None:  # another process archived it a moment ago
        raise CheckpointError(f"there is no workflow in {place.directory}", "checkpoint workflow start ID begins one")
    findings = find_trouble(state, now)
    question = find_question(state, findings, now)
    plan = None if question.kind == "corrupt" else find_plan(state, approvals, find_recovery(state))
    return Prospect(state, findings, question, plan)


def find_question(state: State, findings: list[Finding], now: int) -> Question:
    """What to ask about this state."""
    if any(finding.level == "error" for finding in findings):
        return Question("corrupt", "State appears corrupted. Start fresh? [y/N]", "fresh", "stop", "stop")
    if is_stale(state.value, now):
        days = stale_days(state.value, now)
        text = f"The workflow was started {days} days ago. Archive it and start fresh? [y/N]"
        return Question("stale", text, "fresh", "resume", "resume")
    text = f"Resume workflow from {state.value.get('current_phase')}? [Y/n]"
    return Question("resume", text, "resume", "fresh", "resume")


def describe_state(state: State, question: Question) -> list[Block]:
    """What a person must know before the question."""
    name = workflow_id(state) or "?"
    lines: list[Block] = [Line(f"Detected interrupted workflow: {name}", "strong")]
    if question.kind == "corrupt":
        return lines
    lines += [
        Line(f"Resuming workflow {name} from {state.value['current_phase']} phase"),
        Line(f"Last activity: {last_activity(state)}"),
        Line(f"Completed: {', '.join(completed_phases(state)) or 'none'}"),
    ]
    return lines


def _find_answer(
    args: argparse.Namespace, invocation: Invocation, question: Question, lines: list[Block], findings: list[Finding]
) -> str:
    """What to do: "resume", "fresh" or "stop"; "" where nobody can be asked."""
    if args.fresh:
        return "fresh"
    if args.yes:
        return "resume" if question.kind != "corrupt" else "stop"
    if not invocation.interactive:
        return ""
    for line in lines:
        if isinstance(line, Line):
            _say(invocation, line.text)
    for finding in findings:
        if finding.level != "note":
            _say(invocation, f"  {finding.path}:{finding.line}: {finding.message}")
    return _ask(invocation, question)


def _ask(invocation: Invocation, question: Question) -> str:
    while True:
        invocation.stderr.write(f"{escape_controls(question.text)} ")
        invocation.stderr.flush()
        answer = invocation.stdin.readline()
        if not answer:
            _say(invocation, "")
            return "stop"
        word = answer.strip().lower()
        if word in _ANSWERS:
            return {"": question.by_default, "y": question.on_yes, "n": question.on_no}[word[:1]]
        _say(invocation, "please answer y or n")


_ANSWERS = ("", "y", "yes", "n", "no")


def _say(invocation: Invocation, text: str) -> None:
    invocation.stderr.write(f"{escape_controls(text)}\n")


# what follows


def _list_answers(question: Question, fresh_name: str) -> dict[str, str]:
    """What can be answered, and the command that says so."""
    begin = "resume"
    if fresh_name:
        from shlex import quote

        begin = f"start {quote(fresh_name)}"
    answers = {"resume": "checkpoint workflow resume --yes", "fresh": f"checkpoint workflow {begin} --fresh"}
    return {what: command for what, command in answers.items() if what != "resume" or question.kind != "corrupt"}


def _stop(
    state: State,
    plan: Plan | None,
    lines: list[Block],
    findings: list[Finding],
    question: Question,
    answers: dict[str, str],
) -> Outcome:
    """Nothing was decided: the question, its answers, and what would come next."""
    data = {
        **state_data(state),
        "question": question.text,
        "answers": answers,
        "decision": None,
        "corrupt": question.kind == "corrupt",
        "stale": question.kind == "stale",
    }
    if plan is not None:
        data.update(plan_data(plan))
    told = [Line(question.text, "warn"), *(Line(f"  {what}: {command}") for what, command in answers.items())]
    return Outcome(data, [*lines, *told], findings, 1)


def _go_on(
    state: State,
    invocation: Invocation,
    approvals: tuple[str, ...],
    lines: list[Block],
    findings: list[Finding],
    question: Question,
) -> Outcome:
    recovered: Recovered | None = None
    if state.value["current_phase"] == "IMPLEMENTATION" and state.value["phase_status"] != "failed":
        recovered = recover_tasks(state.place, invocation.now, say_waiting(invocation.stderr))
        if recovered.changed.refused:
            return Outcome(state_data(state), lines, recovered.changed.refused, 1)
        state, lines = recovered.changed.state, [*lines, *recovery_lines(recovered)]
    if question.kind == "stale":
        lines = [*lines, Line(_CAUTION, "warn")]
    plan = find_plan(state, approvals)
    advanced: Advanced | None = None
    if plan.action == "complete":
        advanced = advance_phase(state.place, invocation.now, approvals, on_wait=say_waiting(invocation.stderr))
        if advanced.changed.refused:
            return Outcome(state_data(state), lines, advanced.changed.refused, 1)
    data: dict[str, Any] = {
        **state_data(state),
        "decision": "resume",
        "corrupt": False,
        "stale": question.kind == "stale",
        **({"caution": _CAUTION} if question.kind == "stale" else {}),
        **plan_data(plan),
        **(recovery_data(recovered) if recovered else {}),
        **({"archive": advanced.archive} if advanced else {}),
    }
    told = [*lines, *plan_lines(plan, state.value["current_phase"]), *(advanced_lines(advanced) if advanced else [])]
    return Outcome(data, told, findings, 1 if plan.action in _STOPPING else 0)


def plan_data(plan: Plan) -> dict[str, Any]:
    """What to do next, for programs."""
    return {
        "action": plan.action,
        "reason": plan.reason,
        "agent": plan.agent or None,
        "options": list(plan.options),
        "tasks": list(plan.tasks),
    }


def plan_lines(plan: Plan, phase: object) -> list[Block]:
    """The same for a person."""
    lines: list[Block] = [
        Line(f"{_ACTIONS[plan.action].format(agent=plan.agent, phase=phase)}: {plan.reason}", "strong")
    ]
    lines += [Line(f"  {path}") for path in plan.options]
    return lines + [Line(f"  {name}") for name in plan.tasks[:20]]


_ACTIONS = {
    "advance": "advance (checkpoint workflow advance)",
    "spawn": "spawn {agent}",
    "ask_approval": "ask for approval (checkpoint workflow approve {phase})",
    "continue_tasks": "continue the tasks ({agent})",
    "complete": "complete",
    "ask": "ask the user",
}


def _start_afresh(place: Place, name: str, invocation: Invocation, lines: list[Block]) -> Outcome:
    """Archives what is there, if anything, and begins. name: "" for that of the archived workflow."""
    changed, target = begin_afresh(place, name, invocation.now, say_waiting(invocation.stderr))
    if changed is None:
        told = Line("its name cannot be read: checkpoint workflow start ID begins a new one", "warn")
        unnamed: dict[str, Any] = {"workflow_id": None, "decision": "fresh", "archive": target, "saved": []}
        return Outcome(unnamed, [*lines, Line(f"archived to {target}"), told])
    return _tell_started(changed, target, lines)


def _tell_started(changed: Changed, target: str | None, lines: list[Block]) -> Outcome:
    """A workflow that began. target: the archive of what was there before."""
    name = workflow_id(changed.state)
    data = {**state_data(changed.state), "decision": "fresh", "archive": target, "saved": changed.saved}
    plan = Plan("spawn", "a fresh start", "PM")
    blocks = [*lines, *([Line(f"archived to {target}")] if target else [])]
    started = Line(f"workflow {name} started: {changed.state.value.get('current_phase')}", "strong")
    return Outcome({**data, **plan_data(plan)}, [*blocks, started, *plan_lines(plan, ""), saved_line(changed.saved)])


def begin_afresh(
    place: Place, name: str, now: int, on_wait: store.Tell = lambda: None, *, unasked: bool = False
) -> tuple[Changed | None, str | None]:
    """(the new workflow, the archive of what was there before, None without it).

    name: "" for that of the archived workflow; where that cannot be read, nothing is begun. unasked: nothing is done
    where a workflow is unfinished, such as one that another process began a moment ago.
    """
    with store.writing(place, on_wait):
        state = load_state(place, now)
        if unasked and is_unfinished(state):
            return None, None
        name = name or workflow_id(state)
        target = archive_workflow(state, now)
        return (begin_workflow(place, name, now) if name else None), target
