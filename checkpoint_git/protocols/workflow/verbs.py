"""`checkpoint workflow`: save the phases and tasks of a workflow, and resume them."""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.core.hint import Blank, Hint, advise
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Table
from checkpoint_git.core.placeholder import check_filled
from checkpoint_git.core.terminal_text import escape_controls, plural, shorten
from checkpoint_git.protocols.limits import read_stale_days
from checkpoint_git.protocols.workflow import layout, store, tasks
from checkpoint_git.protocols.workflow.changes import ChangedWorkflow
from checkpoint_git.protocols.workflow.output import (
    describe_plan,
    describe_recovery,
    list_advanced,
    list_archived,
    list_past,
    list_recovered,
    list_saved,
    open_writer,
)
from checkpoint_git.protocols.workflow.plan import find_plan, find_recovery, read_approvals
from checkpoint_git.protocols.workflow.resume import resume, start
from checkpoint_git.protocols.workflow.state import (
    State,
    find_archived_work,
    find_trouble,
    load_state,
)

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
_SHOWN_TASKS = 50
_ENTRIES = ("start", "status", "resume", "validate")
_TASK_VERBS = ("add", *tasks.CHANGES)


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


def _report(changed: ChangedWorkflow, lines: list[Block], **members: Any) -> Outcome:
    """Return the outcome of a change. members: of the JSON, if nothing was refused."""
    data = {**changed.state.data(), "saved": list(changed.saved)}
    if changed.refused:
        return Outcome(data, [], changed.refused, 1)
    return Outcome({**data, **members}, [*lines, list_saved(changed)])


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
        stale_days = read_stale_days(place.root, invocation.env)
        trouble = find_trouble(state, invocation.now, stale_days)
    if has_errors(trouble):
        return Outcome(data, [], trouble)

    approvals = read_approvals(place, args.approvals, invocation.env)
    plan = find_plan(state, approvals, find_recovery(state, invocation.now))
    data = {**describe_plan(plan), **data}
    head = f"workflow {state.workflow_id}: {data['phase']} ({data['phase_status']})"
    approved = ", ".join(data["approved"]) or "none"
    lines: list[Block] = [
        Line(head, "strong"),
        *list_past(state),
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
    place = store.open_place(invocation.cwd)
    stale_days = read_stale_days(place.root, invocation.env)
    state = load_state(place, invocation.now)
    findings = find_trouble(state, invocation.now, stale_days)
    errors = [finding for finding in findings if finding.level == "error"]
    name = state.workflow_id or "?"
    if errors:
        line = Line(f"workflow {name}: {plural(len(errors), 'error')}", "bad")
    else:
        line = Line(f"workflow {name}: in order", "good")
    return Outcome({**state.data(), "valid": not errors}, [line], findings)


def _approve(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    phase = layout.check_phase(args.words[0])
    changed = open_writer(invocation).approve(phase, args.output)
    return _report(changed, [Line(f"{phase} is approved", "good")])


def _save(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    return _report(open_writer(invocation).save(args.note or ""), [])


def _fail(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    changed = open_writer(invocation).fail(args.error or "")
    return _report(changed, [Line(f"{changed.state.value.get('current_phase')} failed", "warn")])


def _step_back(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    phase = ""
    if args.words:
        phase = layout.check_phase(args.words[0])
    changed = open_writer(invocation).step_back(phase, args.note or "")
    current = changed.state.value.get("current_phase")
    text = f"workflow {changed.state.workflow_id}: {current} is to be done again"
    return _report(changed, [Line(text, "strong")])


def _advance(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    writer = open_writer(invocation)
    approvals = read_approvals(writer.place, args.approvals, invocation.env)
    changed = writer.advance(approvals, args.output, approved=args.yes, force=args.force)
    outcome = _report(changed, [], following=changed.following or None, archive=changed.archive)
    if changed.refused:
        return outcome
    return outcome._replace(blocks=list_advanced(changed))


def _archive(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    changed = open_writer(invocation).archive()
    return Outcome({**changed.state.data(), "archive": changed.archive}, list_archived(changed))


def _task(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    verb = args.words[0]
    names = args.words[1:]
    if verb not in _TASK_VERBS:
        hint = f"there are: {', '.join(_TASK_VERBS)}"
        raise CheckpointError(f"workflow task {verb!r} is unknown", hint)

    if verb != "add" and len(names) > 1:
        hint = "name one task at a time"
        raise CheckpointError(f"workflow task {verb} takes one ID", hint)

    writer = open_writer(invocation)
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
    changed = open_writer(invocation).recover()
    data = {**changed.state.data(), **describe_recovery(changed)}
    if changed.refused:
        return Outcome(data, [], changed.refused, 1)
    nothing = Line("no task was running: nothing to recover", "dim")
    return Outcome(data, list_recovered(changed) or [nothing])


class WorkflowVerb(NamedTuple):
    """A sub-verb.

    least, most: how many words follow. words: what the usage calls them.
    """

    act: Callable[[argparse.Namespace, Invocation], Outcome]
    least: int = 0
    most: int = 0
    words: str = ""


VERBS = {
    "start": WorkflowVerb(start, 1, 1, "ID"),
    "status": WorkflowVerb(_status),
    "resume": WorkflowVerb(resume),
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
