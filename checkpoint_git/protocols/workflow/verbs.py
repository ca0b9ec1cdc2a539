"""`checkpoint workflow`: save the phases and tasks of a workflow, and resume them."""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.core.hint import Blank, Hint, advise, command, describe_hint
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Table
from checkpoint_git.core.placeholder import check_filled
from checkpoint_git.core.terminal_text import escape_controls, plural, shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.workflow import layout, store, tasks
from checkpoint_git.protocols.workflow.changes import ChangedWorkflow, WorkflowWriter
from checkpoint_git.protocols.workflow.state import (
    Prospect,
    State,
    find_archived_work,
    find_busy,
    find_plan,
    find_recovery,
    find_trouble,
    load_state,
    look_ahead,
    read_approvals,
)
from checkpoint_git.protocols.workflow.transitions import WorkflowPlan
from checkpoint_git.protocols.write import say_waiting

HELP = """\
save the phases and tasks of a workflow, and resume them after an interruption

examples:
  checkpoint workflow start login-2026
  checkpoint workflow resume --json               first call of a session
  checkpoint workflow task start task-001
  checkpoint workflow advance

exit 1: it asks, or something blocks it
"""
SUB_HELP = {
    "start ID": """\
begin a workflow

It writes memory/state/phase.json and execution.json. If there is a workflow already, it asks
whether to resume it.

examples:
  checkpoint workflow start login-2026
  checkpoint workflow start login-2026 --approvals ARCHITECTURE,VERIFICATION

exit 1: there is a workflow already, and it asks what to do with it
""",
    "status": """\
show its phase, its tasks and the next step

examples:
  checkpoint workflow status
  checkpoint workflow status --json

exit 1: the state is damaged
""",
    "resume": """\
show the next step and why; continue with --yes

Tasks whose session has ended are settled first. On a terminal it asks; otherwise it lists the
choices.

examples:
  checkpoint workflow resume --json               first call of a session
  checkpoint workflow resume --yes
  checkpoint workflow resume --fresh              archive it, and start over

exit 1: it asks, or something blocks it
""",
    "advance": """\
complete the current phase and enter the next one

examples:
  checkpoint workflow advance --output memory/reports/plan.json
  checkpoint workflow advance --yes               the user approved this phase
  checkpoint workflow advance --approvals none    no phase waits for the user

exit 1: the phase has no result, or waits for approval
""",
    "approve PHASE": """\
record that the user approved a phase

examples:
  checkpoint workflow approve REQUIREMENTS
  checkpoint workflow approve REQUIREMENTS --output memory/reports/plan.json

exit 1: the phase cannot be approved now
""",
    "reject": """\
record that the user rejected the current phase

examples:
  checkpoint workflow reject --note "The plan has no tests"

exit 1: the phase cannot be rejected now
""",
    "back PHASE": """\
return to an earlier phase; its result and the later ones become pending again

examples:
  checkpoint workflow back ARCHITECTURE --note "The interface changed"

exit 1: the phase is not an earlier one
""",
    "fail": """\
record that the current phase failed; `save` retries it

examples:
  checkpoint workflow fail --error "The build server is down"

exit 1: the phase cannot fail now
""",
    "save": """\
save before an expensive step; begins a phase that is pending or failed

examples:
  checkpoint workflow save
  checkpoint workflow save --note "before the architects"

exit 1: the state is damaged
""",
    "task VERB ID": """\
change the tasks of the implementation: add, start, done, fail, retry, block

  task add ID...       add tasks
  task start ID        start a task; a missing one is added
  task done ID         it is done; --output names the file it produced
  task fail ID         it failed: one of its attempts is used; --error says why
  task retry ID        give it new attempts
  task block ID        it cannot continue; --error says why

examples:
  checkpoint workflow task start task-001 --output memory/reports/task-001.json
  checkpoint workflow task done task-001
  checkpoint workflow task fail task-002 --error "Two tests fail"

exit 1: the task cannot change like that
""",
    "recover": """\
settle tasks whose session has ended

examples:
  checkpoint workflow recover

exit 1: the state is damaged
""",
    "validate": """\
check that everything the state refers to exists

examples:
  checkpoint workflow validate
  checkpoint workflow validate --json

exit 1: errors
""",
    "archive": """\
move the state to memory/state/.archive (keeps the newest five)

examples:
  checkpoint workflow archive
""",
}


# option -> the sub-verbs that take it
TAKERS = {
    "yes": ("start", "resume", "advance"),
    "fresh": ("start", "resume"),
    "approvals": ("start", "resume", "advance", "status"),
    "note": ("save", "reject", "back"),
    "output": ("advance", "approve", "task"),
    "error": ("task", "fail"),
    "force": ("advance",),
}
# what the next step is -> how it is shown
_ACTIONS = {
    "advance": "advance",
    "spawn": "spawn {agent}",
    "ask_approval": "ask for approval",
    "continue_tasks": "continue the tasks ({agent})",
    "complete": "complete",
    "ask": "ask the user",
}
_SHOWN_TASKS = 50
_ENTRIES = ("start", "status", "resume", "validate")
_TASK_VERBS = ("add", *tasks.CHANGES)
_VERDICTS = {
    "orphan": "orphaned, one attempt counted",
    "done": "finished before the crash",
    "failed": "ended",
}
_CAUTION = "proceed with caution"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="VERB", choices=list(VERBS), help="one of the above")
    parser.add_argument(
        "words", metavar="WORD", nargs="*", help="an id, a phase, or the verb of a task"
    )
    add = parser.add_argument
    add("--yes", action="store_true", help="do not ask: continue, or record the user's approval")
    add("--fresh", action="store_true", help="archive the current workflow and start over")
    add(
        "--approvals",
        metavar="PHASES",
        help="the phases that need approval, comma-separated, or none",
    )
    add("--note", metavar="TEXT", help="a note for the next session, or the reason")
    add("--output", metavar="PATH", help="the file that a phase or task produced")
    add("--error", metavar="TEXT", help="why it failed or is blocked")
    add("--force", action="store_true", help="advance even if the phase has no result")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Do what VERB says, unless a merge put open tasks into an archive."""
    verb = VERBS[args.action]
    _check_words(args, verb)
    if args.action in _ENTRIES and not args.fresh:
        lost = _find_lost_work(invocation)
        if lost:
            return Outcome({"workflow_id": None}, [], [lost])
    return verb.act(args, invocation)


def _find_lost_work(invocation: Invocation) -> Finding | None:
    place = store.find_workflow_place(invocation.cwd)
    if place is None:
        return None
    return find_archived_work(place, invocation.now)


def _check_words(args: argparse.Namespace, verb: "WorkflowVerb") -> None:
    """Raise CheckpointError for too many words or too few, for a placeholder, or for bytes that
    are not UTF-8.
    """
    usage = verb.words or "no words"
    if len(args.words) < verb.least:
        message = f"workflow {args.action} needs {usage}"
        raise CheckpointError(message, _show_usage(args.action, verb))
    if len(args.words) > verb.most:
        message = f"workflow {args.action} takes {usage}"
        raise CheckpointError(message, _show_usage(args.action, verb))

    check_filled(vars(args))
    for text in (*args.words, args.output or "", args.note or "", args.error or ""):
        try:
            text.encode()
        except UnicodeEncodeError:
            shown = escape_controls(shorten(text, 60))
            message = f'"{shown}" is not UTF-8 text'
            raise CheckpointError(message, "give it in UTF-8") from None


def _show_usage(action: str, verb: "WorkflowVerb") -> Hint:
    words = [Blank(word, word) for word in verb.words.split()]
    return advise("write it as", "checkpoint", "workflow", action, *words)


def _open_writer(invocation: Invocation, place: Place | None = None) -> WorkflowWriter:
    place = place or store.open_place(invocation.cwd)
    on_wait = say_waiting(invocation.stderr)
    return WorkflowWriter(place, invocation.now, on_wait, invocation.session)


def _report(changed: ChangedWorkflow, lines: list[Block], **members: Any) -> Outcome:
    """Return the outcome of a change. members: of the JSON, if nothing was refused."""
    data = {**changed.state.data(), "saved": list(changed.saved)}
    if changed.refused:
        return Outcome(data, [], changed.refused, 1)
    return Outcome({**data, **members}, [*lines, _saved_line(changed)])


def _saved_line(changed: ChangedWorkflow) -> Block:
    return Line(f"checkpoint saved: {', '.join(changed.saved)}", "good")


def _past_lines(state: State) -> list[Block]:
    completed = ", ".join(state.completed) or "none"
    texts = [
        f"Last activity: {state.last_activity or 'unknown'}",
        f"Completed: {completed}",
        *state.notes,
    ]
    return [Line(text) for text in texts]


def _status(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    place = store.find_workflow_place(invocation.cwd)
    if place is None or not store.has_state(place):
        line = Line("no workflow found", "dim", hint=store.START_HINT)
        return Outcome({"workflow_id": None}, [line])

    state = load_state(place, invocation.now)
    findings = [finding for document in state.documents for finding in document.findings]
    data = {**state.data(), "tasks": state.tasks}
    trouble = findings
    if state.phase is None or state.execution is None:
        trouble = find_trouble(state, invocation.now)
    if has_errors(trouble):
        return Outcome(data, [], trouble)

    approvals = read_approvals(place, args.approvals, invocation.env)
    plan = find_plan(state, approvals, find_recovery(state, invocation.now))
    data = {**_plan_data(plan), **data}
    head = f"workflow {state.workflow_id}: {data['phase']} ({data['phase_status']})"
    approved = ", ".join(data["approved"]) or "none"
    lines: list[Block] = [
        Line(head, "strong"),
        *_past_lines(state),
        Line(f"Approved: {approved}"),
        *_list_tasks(state),
    ]
    action = f"{plan.action} {plan.agent}".rstrip()
    lines.append(Line(f"next: {action}: {plan.reason}", hint=plan.hint))
    return Outcome(data, lines, findings)


def _list_tasks(state: State) -> list[Block]:
    """Return a table of the tasks, if there are any."""
    tasks = state.task_rows
    if not tasks:
        return []
    fields = ["id", "status", "attempts", "output"]
    if any(task.get("error") for task in tasks):
        fields.append("error")

    rows = []
    for task in tasks[:_SHOWN_TASKS]:
        # agents write null where they know nothing
        known = {field: task[field] for field in fields if task.get(field) is not None}
        rows.append(tuple(shorten(str(known.get(field, "")), 200) for field in fields))

    blocks: list[Block] = [Table(("task", *fields[1:]), rows)]
    if len(tasks) > _SHOWN_TASKS:
        blocks.append(Line(f"... and {len(tasks) - _SHOWN_TASKS} more tasks", "dim"))
    return blocks


def _validate(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    state = load_state(store.open_place(invocation.cwd), invocation.now)
    findings = find_trouble(state, invocation.now)
    errors = [finding for finding in findings if finding.level == "error"]
    name = state.workflow_id or "?"
    if errors:
        line = Line(f"workflow {name}: {plural(len(errors), 'error')}", "bad")
    else:
        line = Line(f"workflow {name}: in order", "good")
    return Outcome({**state.data(), "valid": not errors}, [line], findings)


def _approve(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    phase = layout.check_phase(args.words[0])
    changed = _open_writer(invocation).approve(phase, args.output)
    return _report(changed, [Line(f"{phase} is approved", "good")])


def _save(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    return _report(_open_writer(invocation).save(args.note or ""), [])


def _fail(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    changed = _open_writer(invocation).fail(args.error or "")
    return _report(changed, [Line(f"{changed.state.value.get('current_phase')} failed", "warn")])


def _step_back(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    phase = ""
    if args.words:
        phase = layout.check_phase(args.words[0])
    changed = _open_writer(invocation).step_back(phase, args.note or "")
    current = changed.state.value.get("current_phase")
    text = f"workflow {changed.state.workflow_id}: {current} is to be done again"
    return _report(changed, [Line(text, "strong")])


def _advance(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    writer = _open_writer(invocation)
    approvals = read_approvals(writer.place, args.approvals, invocation.env)
    changed = writer.advance(approvals, args.output, approved=args.yes, force=args.force)
    outcome = _report(changed, [], following=changed.following or None, archive=changed.archive)
    if changed.refused:
        return outcome
    return outcome._replace(blocks=_advanced_lines(changed))


def _advanced_lines(changed: ChangedWorkflow) -> list[Block]:
    name = changed.state.workflow_id
    if changed.following:
        first = Line(f"workflow {name}: {changed.following} (pending)", "strong")
    else:
        first = Line(f"workflow {name} is complete", "good")
    return [first, _saved_line(changed), *_archive_lines(changed)]


def _archive_lines(changed: ChangedWorkflow) -> list[Block]:
    if not changed.archive:
        return []
    return [Line(f"archived to {changed.archive}")]


def _archive(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    changed = _open_writer(invocation).archive()
    return Outcome({**changed.state.data(), "archive": changed.archive}, _archive_lines(changed))


def _task(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    verb = args.words[0]
    names = args.words[1:]
    if verb not in _TASK_VERBS:
        hint = f"there are: {', '.join(_TASK_VERBS)}"
        raise CheckpointError(f"workflow task {verb!r} is unknown", hint)

    if verb != "add" and len(names) > 1:
        hint = "name the tasks one after the other"
        raise CheckpointError(f"workflow task {verb} takes one ID", hint)

    writer = _open_writer(invocation)
    changed = writer.change_task(verb, names, args.output, args.error or "")
    rows = [row for row in changed.state.task_rows if str(row.get("id")) in names]
    lines: list[Block] = [Line(_describe_task(row)) for row in rows]
    return _report(changed, lines, tasks=rows if verb == "add" else rows[:1])


def _describe_task(row: dict[str, Any]) -> str:
    text = f"{row.get('id')}: {row.get('status')}"
    attempts = row.get("attempts")
    if not attempts:
        return text
    return f"{text} ({attempts} of {row.get('max_attempts', 3)} attempts failed)"


def _recover(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    changed = _open_writer(invocation).recover()
    data = {**changed.state.data(), **_recovery_data(changed)}
    if changed.refused:
        return Outcome(data, [], changed.refused, 1)
    nothing = Line("no task was running: nothing to recover", "dim")
    return Outcome(data, _recovery_lines(changed) or [nothing])


def _recovery_data(changed: ChangedWorkflow) -> dict[str, Any]:
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


def _recovery_lines(changed: ChangedWorkflow) -> list[Block]:
    lines: list[Block] = []
    for step in changed.steps:
        verdict = _VERDICTS[step.verdict]
        text = f"{step.id}: {verdict}; now {step.status} ({step.reason})"
        lines.append(Line(text, "warn"))
    if changed.saved:
        lines.append(_saved_line(changed))
    return lines


def _start(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    name = args.words[0]
    layout.check_id(name, "login-2026")
    # an invalid one is an error even where it is not needed
    layout.parse_approvals(args.approvals or "none")
    writer = _open_writer(invocation, store.plan_workflow_place(invocation.cwd))
    changed = writer.start(name, unasked=True)
    if changed is None:  # there is an unfinished workflow
        return _take_up(writer, args, invocation, name)
    return _describe_start(changed, [])


def _resume(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    return _take_up(_open_writer(invocation), args, invocation, "")


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
    prospect = look_ahead(writer.place, approvals, invocation.now, writer.session)
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
        lines += _past_lines(state)
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
        data |= _plan_data(plan)
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
        recovery = _recovery_data(recovered)
        shown += _recovery_lines(recovered)

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
        last = _advanced_lines(advanced)

    data: dict[str, Any] = {
        **state.data(),
        "decision": "resume",
        "corrupt": False,
        "stale": is_stale,
    }
    if is_stale:
        data["caution"] = _CAUTION
    data |= {**_plan_data(plan), "left_alone": busy, **recovery}
    shown += [*_plan_lines(plan), *last]
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
    lines = [*lines, *_archive_lines(changed)]
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
    blocks = [*lines, started, *_plan_lines(plan), _saved_line(changed)]
    return Outcome({**state.data(), **data, **_plan_data(plan)}, blocks)


def _plan_data(plan: WorkflowPlan) -> dict[str, Any]:
    return {
        "action": plan.action,
        "reason": plan.reason,
        "agent": plan.agent or None,
        "options": list(plan.options),
        "tasks": list(plan.tasks),
        **describe_hint(plan.hint),
    }


def _plan_lines(plan: WorkflowPlan) -> list[Block]:
    action = _ACTIONS[plan.action].format(agent=plan.agent)
    lines: list[Block] = [Line(f"{action}: {plan.reason}", "strong", hint=plan.hint)]
    lines += [Line(f"  {text}") for text in (*plan.options, *plan.tasks[:20])]
    return lines


class WorkflowVerb(NamedTuple):
    """A sub-verb.

    least, most: how many words follow. words: what the usage calls them.
    """

    act: Callable[[argparse.Namespace, Invocation], Outcome]
    least: int = 0
    most: int = 0
    words: str = ""


VERBS = {
    "start": WorkflowVerb(_start, 1, 1, "ID"),
    "status": WorkflowVerb(_status),
    "resume": WorkflowVerb(_resume),
    "advance": WorkflowVerb(_advance),
    "approve": WorkflowVerb(_approve, 1, 1, "PHASE"),
    "reject": WorkflowVerb(_step_back),
    "back": WorkflowVerb(_step_back, 1, 1, "PHASE"),
    "fail": WorkflowVerb(_fail),
    "save": WorkflowVerb(_save),
    "task": WorkflowVerb(_task, 2, 1_000, "|".join(_TASK_VERBS) + " ID"),
    "recover": WorkflowVerb(_recover),
    "validate": WorkflowVerb(_validate),
    "archive": WorkflowVerb(_archive),
}
