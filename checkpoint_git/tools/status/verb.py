"""`checkpoint status`: where everything stands, what waits on you, and what changed since an instant."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from checkpoint_git.core.clock import DAY, age_text, read_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Glyph, Invocation, Line, Outcome, Style, Table
from checkpoint_git.core.terminal_text import escape_controls, quote_word, shorten
from checkpoint_git.disk.discover import Place, find_place, plan_place
from checkpoint_git.protocols.document import Document, find_broken
from checkpoint_git.protocols.pipeline.bases import may_have_records
from checkpoint_git.protocols.skill.layout import check_skill_name
from checkpoint_git.protocols.skill.next_action import describe_blocker
from checkpoint_git.protocols.skill.progress import UNREADABLE, outline
from checkpoint_git.protocols.skill.read import iterate_documents, missing_checkpoint
from checkpoint_git.protocols.skill.state import Decision, State, find_decisions, find_states
from checkpoint_git.protocols.skill.views import waits_on_user

if TYPE_CHECKING:
    from checkpoint_git.protocols.skill.digest import Change

SUMMARY = "show where everything stands: decisions that wait on you, a table, next actions, blockers"
EXAMPLES = """\
  checkpoint status
  checkpoint status build
  checkpoint status --brief                        the most important skill alone
  checkpoint status --since=2026-06-01T00:00:00Z   what changed since: rows, actions, decisions, blockers
  checkpoint status --json"""

_FIRM = (0, 3, 4, 5)  # the columns of the table that are never cut: all but phase and step
_SHOWN_ACTIONS = 3
_SHOWN_LETTERS = 160
_STATUS_LOOKS: dict[str, tuple[Glyph, Style]] = {
    "complete": ("complete", "good"),
    "in_progress": ("in_progress", ""),
    "not_started": ("not_started", "dim"),
    "blocked": ("blocked", "bad"),
    "failed": ("failed", "bad"),
    UNREADABLE: ("failed", "bad"),
}


def add_arguments(parser: ArgumentParser) -> None:
    """[SKILL] [--brief] [--since ISO]."""
    parser.add_argument("skill", metavar="SKILL", nargs="?", help="show this one in full; all where left out")
    parser.add_argument("--brief", action="store_true", help="only the most important skill, its next action, blockers")
    parser.add_argument("--since", metavar="ISO", help="what changed since an instant (2026-06-01T00:00:00Z) or a day")


class StatusResult(NamedTuple):
    """states: what matters most first. decisions: among them. findings: of broken files. changes: since the instant."""

    states: list[State]
    decisions: list[Decision]
    findings: list[Finding]
    changes: "list[Change]"


def status(
    place: Place, now: int, skill: str | None = None, since: int | None = None, *, in_full: bool = True
) -> StatusResult:
    """Where everything stands, or one skill. since: seconds since 1970, None for no changes. in_full: with the ids and
    labels of all rows, not of that one skill's alone; it takes eight times the memory.

    Raises CheckpointError for a skill without a checkpoint.
    """
    broken, documents = list[Finding](), list[Document]()

    def look() -> Iterator[Document]:
        for document in iterate_documents(place, now):
            is_asked = skill is None or document.skill == skill
            if is_asked:
                broken.extend(find_broken([document]))
            if is_asked and since is not None:
                documents.append(document)
            yield document if in_full or document.skill == skill else outline(document)

    states = find_states(look(), now)  # of all: a skill's tickets can lead to another's
    if skill is not None:
        check_skill_name(skill)
        states = [state for state in states if state.skill == skill]
        if not states:
            raise missing_checkpoint(place, skill)
    result = StatusResult(states, find_decisions(states), broken, [])
    if since is None:
        return result
    from checkpoint_git.protocols.skill.since import read_changes

    changes, troubles = read_changes(place, documents, states, since, now)
    return result._replace(changes=changes, findings=[*result.findings, *troubles])


def run(args: Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 when a checkpoint is broken; the others are shown all the same."""
    since = None if args.since is None else read_since(args.since)
    place = find_place(invocation.cwd) if args.skill or since else _find_place(invocation.cwd)
    result = StatusResult([], [], [], [])
    if os.path.isdir(place.directory):
        result = status(place, invocation.now, args.skill, since, in_full=since is not None)
    if since is not None:
        from checkpoint_git.protocols.skill.since import tell_changes

        data, blocks = _since_data(result, args.since), tell_changes(result.changes, len(result.states), args.since)
    elif args.brief:
        result = result._replace(states=result.states[:1])
        data, blocks = _data(result), _brief_blocks(result)
    else:
        form = getattr(args, "format", "")  # what this one does not show of thousands of checkpoints is not made
        data = _data(result) if form not in ("text", "md") else {}
        blocks = _blocks(result, in_full=args.skill is not None) if form != "json" else []
    if not result.states:
        blocks = [Line(f"no checkpoints in {place.directory} yet: checkpoint update SKILL starts one", "dim")]
    if since is None and not args.brief and args.skill is None and may_have_records(place):
        from checkpoint_git.protocols.pipeline.summary import read_runs, runs_data, tell_runs

        runs = read_runs(place, invocation.env)
        data, blocks = {**data, "pipelines": runs_data(runs)}, [*blocks, *tell_runs(runs)]
    findings = result.findings
    if args.skill is None and since is None and _has_workflow(place):
        from checkpoint_git.protocols.workflow.summary import read_glance

        glance = read_glance(place, invocation.now)
        if glance is not None:
            data, blocks = {**data, "workflow": glance.data}, [*glance.blocks, *blocks]
            findings = [*findings, *glance.findings]
    return Outcome(data, [*_banner(result.decisions), *blocks], findings)


def _find_place(cwd: str) -> Place:
    """Where the checkpoints are; where there are none beside a workflow or pipeline records, where they would be."""
    try:
        return find_place(cwd)
    except CheckpointError:
        planned = plan_place(cwd)
        if os.path.lexists(planned.directory) or not (_has_workflow(planned) or may_have_records(planned)):
            raise
        return planned


def _has_workflow(place: Place) -> bool:
    return os.path.lexists(os.path.join(place.root, "memory/state/phase.json"))


def read_since(text: str) -> int:
    """An instant, or a day (from its first second in UTC), as seconds since 1970. Raises CheckpointError."""
    instant = read_instant(text) or read_instant(f"{text}T00:00:00Z")
    if instant is None:
        shown = escape_controls(shorten(text, 60))
        raise CheckpointError(f'--since: "{shown}" is no instant', "write 2026-06-01T00:00:00Z, or a day: 2026-06-01")
    return instant[0]


# for a person


def _banner(decisions: list[Decision]) -> list[Block]:
    if not decisions:
        return []
    text = f"{len(decisions)} decision{'' if len(decisions) == 1 else 's'} waiting on you"
    lines = [Line(f"  {decision.skill}: {describe_blocker(decision.blocker)}", "bad", hang=4) for decision in decisions]
    return [Line(text, "bad", "decision"), *lines, Line("")]


def _blocks(result: StatusResult, *, in_full: bool) -> list[Block]:
    blocks: list[Block] = [_table(result.states)]
    for state in result.states:
        details = _details(state) if in_full else _outline(state)
        blocks += [Line(""), Line(state.skill, "strong"), *details] if details else []
    return [*blocks, *([Line("")] if result.findings else [])]


def _table(states: list[State]) -> Table:
    headers = ["skill", "phase", "step", "status", "age", "progress"]
    rows = [_row(state) for state in states]
    if any(row[-1] for row in rows):
        return Table((*headers, "notes"), rows, _FIRM, has_tail=True)
    return Table(tuple(headers), [row[:-1] for row in rows], _FIRM)


def _row(state: State) -> tuple[str | Line, ...]:
    progress = f"{state.complete_rows}/{len(state.rows)}" if state.rows else ""
    notes = [state.budget] if state.budget else []
    notes += [f"PM: {state.tickets}"] if state.tickets else []
    return state.skill, state.phase, state.step, _status_cell(state), _age_cell(state), progress, "; ".join(notes)


def _status_cell(state: State) -> Line:
    if any(waits_on_user(blocker) for blocker in state.blockers):
        return Line(state.status, "bad", "decision")
    glyph, style = _STATUS_LOOKS.get(state.status, ("", "warn"))
    return Line(state.status, style, "not_started" if state.unstarted else glyph)


def _age_cell(state: State) -> Line:
    if state.age is None:
        return Line("" if state.status == UNREADABLE else "?")
    if state.stale:
        return Line(f"stale ({state.age // DAY}d)", "warn", "stale")
    return Line(age_text(state.age))


def _outline(state: State) -> list[Block]:
    """The first next actions, cut short, and all blockers; of what is complete one action is enough."""
    count = 1 if state.status == "complete" else _SHOWN_ACTIONS
    lines = _action_lines([(shorten(text, _SHOWN_LETTERS), None) for text, _ in state.actions[:count]])
    more = len(state.actions) - count
    if more > 0:
        lines.append(Line(f"  and {more} more: checkpoint status {quote_word(state.skill)}", "dim", hang=4))
    return [*lines, *_blocker_lines(state)]


def _details(state: State) -> list[Block]:
    """Everything but the context: summary, rows, actions with their proofs, blockers."""
    rows = [(str(row.get("id", "")), str(row.get("label", "")), _row_status(row)) for row in state.rows]
    blocks: list[Block] = [Line(f"  {state.summary}", hang=2)] if state.summary else []
    blocks += [Line(""), Table(("row", "label", "status"), rows, (2,)), Line("")] if rows else []
    for line, (_, done_when) in zip(_action_lines(state.actions), state.actions, strict=True):
        blocks += [line, Line(f"        done when: {done_when}", "dim", hang=10)] if done_when else [line]
    return [*blocks, *_blocker_lines(state)]


def _row_status(row: dict[str, Any]) -> Line:
    text = str(row.get("status", "?"))
    glyph, style = _STATUS_LOOKS.get(text, ("", ""))
    return Line(text, style, glyph)


def _action_lines(actions: list[tuple[str, str | None]]) -> list[Line]:
    return [Line(f"  {'then' if at else 'next'}: {text}", hang=8) for at, (text, _) in enumerate(actions)]


def _blocker_lines(state: State) -> list[Line]:
    return [_blocker_line(blocker) for blocker in state.blockers]


def _blocker_line(blocker: dict[str, Any]) -> Line:
    name, needs = blocker.get("id", "?"), blocker.get("needs")
    text = f"  blocker {name}: {describe_blocker(blocker)}{f' [needs {needs}]' if needs else ''}"
    return Line(text, "bad", "decision", 4) if waits_on_user(blocker) else Line(text, "warn", "blocked", 4)


def _brief_blocks(result: StatusResult) -> list[Block]:
    blocks: list[Block] = []
    for state in result.states:
        words = [state.status, *filter(None, (state.phase, state.step)), _age_cell(state).text]
        title = Line(f"{state.skill}: {', '.join(filter(None, words))}", "strong", _status_cell(state).glyph, 2)
        blocks += [title, *_action_lines(state.actions[:1]), *_blocker_lines(state)]
    return blocks


# for a program


def _data(result: StatusResult) -> dict[str, Any]:
    return {
        "decisions": [{"skill": decision.skill, **decision.blocker} for decision in result.decisions],
        "skills": [_state_data(state) for state in result.states],
    }


def _state_data(state: State) -> dict[str, Any]:
    return {
        "skill": state.skill,
        "path": state.path,
        "project": state.project,
        "phase": state.phase,
        "step": state.step,
        "status": state.status,
        "progress_summary": state.summary,
        "updated_at": state.updated_at,
        "age_seconds": state.age,
        "stale": state.stale,
        "over_budget": bool(state.budget),
        "progress": {"complete": state.complete_rows, "total": len(state.rows)},
        "pm": state.tickets,
        "next_actions": [{"text": text, "done_when": done_when} for text, done_when in state.actions],
        "blockers": state.blockers,
    }


def _since_data(result: StatusResult, since: str) -> dict[str, Any]:
    return {
        "since": since,
        "decisions": _data(result)["decisions"],
        "changed": [_change_data(change) for change in result.changes],
        "checkpoints": len(result.states),
    }


def _change_data(change: "Change") -> dict[str, Any]:
    return {
        **_state_data(change.state),
        "done_since": change.done,
        "events": [event._asdict() for event in change.events],
        "compared": change.is_compared,
    }
