"""Find where a workflow goes from where it is, by two tables that docs/workflow.md shows too.

TRANSITIONS says what `resume` advises: the first row that holds applies. MOVES says what each verb
does to the status of the current phase.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.hint import AnyHint, Blank, advise, command, join_hints
from checkpoint_git.core.terminal_text import plural
from checkpoint_git.protocols.workflow.layout import LAST, PHASES, TABLE, Phase, next_phase
from checkpoint_git.protocols.workflow.progress import (
    BEHIND_HINT,
    NOT_REDONE,
    REDO_HINT,
    explain_behind,
    explain_missing,
    find_missing_hint,
    is_finished,
    is_sent_back,
    phases_in,
)
from checkpoint_git.protocols.workflow.tasks import UNFINISHED, OutputFile, read_status, task_name

Action = Literal["advance", "spawn", "ask_approval", "continue_tasks", "complete", "ask"]
_SHOWN = 5


class WorkflowPlan(NamedTuple):
    """The next step of a workflow."""

    action: Action
    reason: str
    agent: str = ""  # whom to start, for "spawn" and "continue_tasks"; "" for nobody
    options: tuple[str, ...] = ()  # what the user chooses from: paths relative to the project
    tasks: tuple[str, ...] = ()  # the ids of tasks to continue with, in order
    hint: AnyHint = ""  # the commands that help, such as to answer "ask"


class Facts(NamedTuple):
    """The facts that the table asks about."""

    output: OutputFile  # the current phase's result
    drafts: tuple[str, ...] = ()  # of ARCHITECTURE, relative paths
    tasks: Sequence[Mapping[str, Any]] = ()  # the rows of execution.json, recovery done
    waits: bool = False  # for the user's approval
    behind: tuple[str, ...] = ()  # the tasks that are open in a phase after theirs


class Situation(NamedTuple):
    """A workflow's state, with the facts about it."""

    state: Mapping[str, Any]
    facts: Facts

    @property
    def phase(self) -> str:
        return str(self.state["current_phase"])

    @property
    def status(self) -> str:
        return str(self.state["phase_status"])

    @property
    def output(self) -> OutputFile:
        return self.facts.output

    @property
    def row(self) -> Phase:
        return TABLE[self.phase]

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Return the ids of tasks that can be continued."""
        tasks = self.facts.tasks
        return tuple(task_name(task) for task in tasks if _status(task) in UNFINISHED)

    @property
    def incomplete(self) -> list[Mapping[str, Any]]:
        return [task for task in self.facts.tasks if _status(task) != "complete"]


def _status(task: Mapping[str, Any]) -> str:
    return read_status(task.get("status"))


class Advice(NamedTuple):
    """A plan without its action."""

    reason: str
    agent: str = ""
    options: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    hint: AnyHint = ""


class Transition(NamedTuple):
    """A row of the table: in some phases, if something holds, an action leads to a state."""

    phases: tuple[str, ...]
    when: str  # what holds, in words
    holds: Callable[[Situation], bool]
    action: Action
    advise: Callable[[Situation], Advice]
    following: str  # the state after the action
    needs_approval: bool = False  # a phase that waits for approval: "ask_approval" instead


SAME = "the same phase"
NEXT = "the next phase, pending"
OVER = "complete, and archived"


def _has_tasks_behind(situation: Situation) -> bool:
    return bool(situation.facts.behind)


def _advise_behind(situation: Situation) -> Advice:
    behind = situation.facts.behind
    return Advice(explain_behind(behind), tasks=behind, hint=BEHIND_HINT)


def _is_finished(situation: Situation) -> bool:
    return is_finished(situation.state)


def _advise_nothing(situation: Situation) -> Advice:
    return Advice(f"{LAST} is complete: nothing is left to do")


def _has_failed(situation: Situation) -> bool:
    return situation.status == "failed"


def _advise_retry(situation: Situation) -> Advice:
    hint = advise("to try it again", "checkpoint", "workflow", "save")
    index = PHASES.index(situation.phase)
    if index > 0:
        back = ("checkpoint", "workflow", "back", PHASES[index - 1])
        hint = join_hints(hint, advise("or to go back", *back))
    return Advice(f"{situation.phase} failed", hint=hint)


def _is_between_phases(situation: Situation) -> bool:
    is_recorded = situation.phase in phases_in(situation.state, "completed_phases")
    return situation.status == "complete" and is_recorded


def _advise_next_phase(situation: Situation) -> Advice:
    phase = situation.phase
    return Advice(f"{phase} is complete, and {next_phase(phase)} was not begun")


def _has_no_tasks(situation: Situation) -> bool:
    return not situation.facts.tasks


def _advise_first_tasks(situation: Situation) -> Advice:
    return Advice("no tasks are recorded yet", situation.row.agent)


def _has_unfinished_tasks(situation: Situation) -> bool:
    return bool(situation.unfinished)


def _advise_unfinished(situation: Situation) -> Advice:
    count = len(situation.facts.tasks)
    done = count - len(situation.incomplete)
    reason = f"{done} of {count} tasks are complete"
    return Advice(reason, situation.row.agent, tasks=situation.unfinished)


def _has_stuck_tasks(situation: Situation) -> bool:
    return bool(situation.incomplete)


def _advise_stuck(situation: Situation) -> Advice:
    incomplete = situation.incomplete
    shown = ", ".join(_describe_task(task) for task in incomplete[:_SHOWN])
    reason = f"no task can continue on its own: {shown}"
    retry = ("checkpoint", "workflow", "task", "retry", Blank("the task", "ID"))
    names = tuple(task_name(task) for task in incomplete)
    return Advice(reason, tasks=names, hint=advise("to try one again", *retry))


def _describe_task(task: Mapping[str, Any]) -> str:
    texts = [str(task[key]) for key in ("status", "error") if task.get(key)]
    return f"{task_name(task)} ({': '.join(texts)})"


def _is_not_redone(situation: Situation) -> bool:
    return is_sent_back(situation.state, situation.facts.tasks)


def _advise_redoing(situation: Situation) -> Advice:
    return Advice(NOT_REDONE, hint=REDO_HINT)


def _always(situation: Situation) -> bool:
    return True


def _advise_tasks_done(situation: Situation) -> Advice:
    return Advice(f"all {len(situation.facts.tasks)} tasks are complete")


def _has_failed_result(situation: Situation) -> bool:
    return situation.output.state == "failed"


def _advise_failed_result(situation: Situation) -> Advice:
    is_after = situation.phase in ("VERIFICATION", LAST)
    back = "IMPLEMENTATION" if is_after else situation.phase
    result = f"{situation.output.path} {situation.output.why}"
    hint = advise("write it again, or go back", "checkpoint", "workflow", "back", back)
    return Advice(result, hint=hint)


def _has_result(situation: Situation) -> bool:
    return situation.output.state == "good"


def _advise_result(situation: Situation) -> Advice:
    return Advice(f"{situation.output.path} exists and is valid")


def _advise_last_result(situation: Situation) -> Advice:
    return Advice(f"{situation.output.path} exists")


def _advise_agent(situation: Situation) -> Advice:
    reason = explain_missing(situation.phase, situation.output)
    return Advice(reason, situation.row.agent, hint=find_missing_hint(situation.output))


def _has_no_drafts(situation: Situation) -> bool:
    return not situation.facts.drafts


def _advise_drafter(situation: Situation) -> Advice:
    missing = explain_missing(situation.phase, situation.output)
    reason = f"{missing}, and no designs in {situation.row.drafts}"
    return Advice(reason, situation.row.drafter, hint=find_missing_hint(situation.output))


def _has_waiting_drafts(situation: Situation) -> bool:
    return situation.facts.waits


def _advise_presenting(situation: Situation) -> Advice:
    reason = f"{_count_drafts(situation)} and no final one: present them again; "
    reason += "the architects are not run again"
    return Advice(reason, options=situation.facts.drafts)


def _advise_joining(situation: Situation) -> Advice:
    missing = explain_missing(situation.phase, situation.output)
    reason = f"{_count_drafts(situation)}; {missing}"
    return Advice(
        reason,
        situation.row.agent,
        options=situation.facts.drafts,
        hint=find_missing_hint(situation.output),
    )


def _count_drafts(situation: Situation) -> str:
    return f"{plural(len(situation.facts.drafts), 'design')} in {situation.row.drafts}"


_TASKS = ("IMPLEMENTATION",)
_DESIGN = ("ARCHITECTURE",)
_RESULTS = tuple(phase for phase in PHASES if phase not in _TASKS)
_BEFORE_LAST = tuple(phase for phase in _RESULTS if phase != LAST)

# The first row that holds applies.
TRANSITIONS = (
    Transition(
        PHASES,
        "tasks are open although IMPLEMENTATION is over",
        _has_tasks_behind,
        "ask",
        _advise_behind,
        SAME,
    ),
    Transition((LAST,), "it is complete", _is_finished, "complete", _advise_nothing, OVER),
    Transition(PHASES, "it failed", _has_failed, "ask", _advise_retry, SAME),
    Transition(
        PHASES,
        "it is complete, and the next one was not begun",
        _is_between_phases,
        "advance",
        _advise_next_phase,
        NEXT,
        needs_approval=True,
    ),
    Transition(_TASKS, "no tasks", _has_no_tasks, "continue_tasks", _advise_first_tasks, SAME),
    Transition(
        _TASKS,
        "unfinished tasks, after recovery",
        _has_unfinished_tasks,
        "continue_tasks",
        _advise_unfinished,
        SAME,
    ),
    Transition(
        _TASKS,
        "only complete tasks, and some that failed, are blocked, or have another status",
        _has_stuck_tasks,
        "ask",
        _advise_stuck,
        SAME,
    ),
    Transition(
        _TASKS,
        "all tasks were complete before `back` or `reject`",
        _is_not_redone,
        "ask",
        _advise_redoing,
        SAME,
    ),
    Transition(
        _TASKS,
        "all tasks are complete",
        _always,
        "advance",
        _advise_tasks_done,
        NEXT,
        needs_approval=True,
    ),
    Transition(
        _RESULTS,
        "a result that reports failure",
        _has_failed_result,
        "ask",
        _advise_failed_result,
        SAME,
    ),
    Transition(
        _BEFORE_LAST,
        "a valid result",
        _has_result,
        "advance",
        _advise_result,
        NEXT,
        needs_approval=True,
    ),
    Transition(
        (LAST,),
        "a valid result",
        _has_result,
        "complete",
        _advise_last_result,
        OVER,
        needs_approval=True,
    ),
    Transition(_DESIGN, "no designs", _has_no_drafts, "spawn", _advise_drafter, SAME),
    Transition(
        _DESIGN,
        "designs that wait for approval",
        _has_waiting_drafts,
        "ask_approval",
        _advise_presenting,
        SAME,
    ),
    Transition(_DESIGN, "designs", _always, "spawn", _advise_joining, SAME),
    Transition(_RESULTS, "no valid result", _always, "spawn", _advise_agent, SAME),
)


def plan_resume(state: Mapping[str, Any], facts: Facts) -> WorkflowPlan:
    """Return what to do next. state: of phase.json."""
    situation = Situation(state, facts)
    transition = find_transition(situation)
    advice = transition.advise(situation)
    action = transition.action
    if transition.needs_approval and facts.waits:
        # A phase that waited for its approval is presented again; its result is not made again.
        action = "ask_approval"
        reason = f"{advice.reason}, but {situation.phase} waits for approval"
        options = (facts.output.path,) if facts.output.path else ()
        advice = Advice(reason, options=options)

    hint = _find_command(action, situation.phase) or advice.hint
    return WorkflowPlan(action, *advice._replace(hint=hint))


def _find_command(action: Action, phase: str) -> AnyHint:
    """Return the command that an action is, "" if it is not one command."""
    if action == "advance":
        return command("checkpoint", "workflow", "advance")
    if action == "ask_approval":
        return command("checkpoint", "workflow", "approve", phase)
    return ""


def find_transition(situation: Situation) -> Transition:
    """Return the first row of TRANSITIONS that holds."""
    for transition in TRANSITIONS:
        if situation.phase in transition.phases and transition.holds(situation):
            return transition
    raise AssertionError("the last row of each phase always matches")


class TransitionMove(NamedTuple):
    """A change that a verb makes to the status of the current phase."""

    before: tuple[str, ...]  # statuses that it changes, () for all; others stay
    must_hold: str
    after: str
    where: str = SAME


_ANY: tuple[str, ...] = ()
MOVES = {
    "start": TransitionMove(_ANY, "no unfinished workflow", "in_progress", PHASES[0]),
    "save": TransitionMove(("pending", "failed"), "", "in_progress"),
    "task": TransitionMove(("pending",), "the task can change like that", "in_progress"),
    "fail": TransitionMove(_ANY, "", "failed"),
    "back": TransitionMove(_ANY, "the phase was begun", "in_progress", "that phase"),
    "reject": TransitionMove(_ANY, "it has a result", "in_progress"),
    "advance": TransitionMove(
        _ANY, "a valid result, approved if it must be", "pending", "the next phase"
    ),
    "advance, after the last phase": TransitionMove(
        _ANY,
        "a valid result, approved if it must be",
        "complete",
        "archived",
    ),
}


def move(state: dict[str, Any], verb: str, phase: str = "") -> None:
    """Change the status of the current phase as a verb does it. phase: the new current one."""
    row = MOVES[verb]
    if phase:
        state["current_phase"] = phase
    if not row.before or state.get("phase_status") in row.before:
        state["phase_status"] = row.after
