"""What `checkpoint status` shows of checkpoints: decisions that wait, a table, next actions, blockers; or changes."""

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from checkpoint_git.core.clock import DAY, age_text
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, command
from checkpoint_git.core.outcome import Block, Glyph, Line, Style, Table
from checkpoint_git.core.terminal_text import plural, shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import Question, Summary
from checkpoint_git.protocols.document import Document, find_broken
from checkpoint_git.protocols.skill.brief.next_action import Action, shipped_data
from checkpoint_git.protocols.skill.brief.state import Decision, State, find_decisions, find_states
from checkpoint_git.protocols.skill.drift.merged_work import FINISHED, describe_facts, facts_data, read_work
from checkpoint_git.protocols.skill.layout import check_skill_name
from checkpoint_git.protocols.skill.store import iterate_documents, missing_checkpoint
from checkpoint_git.protocols.skill.views import UNREADABLE, describe_blocker, outline, waits_on_user

if TYPE_CHECKING:
    from checkpoint_git.protocols.skill.brief.since import Change

_FIRM = (0, 3, 4, 5)  # the columns of the table that are never cut: all but phase and step
_SHOWN_ACTIONS = 3
_SCREEN_DECISIONS = 3  # that a screen shows, two lines each
_AROUND = 5  # lines of a screen for the table's head, the last line and the prompts
_SHOWN_LETTERS = 160
_LOOKS: dict[str, tuple[Glyph, Style]] = {
    "complete": ("complete", "good"),
    "in_progress": ("in_progress", ""),
    "not_started": ("not_started", "dim"),
    "blocked": ("blocked", "bad"),
    "failed": ("failed", "bad"),
    UNREADABLE: ("failed", "bad"),
}


class StatusResult(NamedTuple):
    """states: what matters most first. decisions: among them. findings: of broken files. changes: since the instant.
    sides: of each checkpoint that a merge left in conflict, by its path, the states of "ours" and "theirs".
    """

    states: list[State]
    decisions: list[Decision]
    findings: list[Finding]
    changes: list["Change"]
    sides: Mapping[str, Mapping[str, State]] = MappingProxyType({})


def status(
    place: Place, now: int, skill: str | None = None, since: int | None = None, *, in_full: bool = True
) -> StatusResult:
    """Where everything stands, or one skill. since: seconds since 1970, None for no changes. in_full: with the ids and
    labels of all rows, not of that one skill's alone; it takes eight times the memory. Raises CheckpointError for a
    skill without a checkpoint.
    """
    broken, documents = list[Finding](), list[Document]()
    sides: dict[str, Mapping[str, State]] = {}
    for document in iterate_documents(place, now):
        if skill in (None, document.skill):
            broken += find_broken([document])
            if document.value is None:
                from checkpoint_git.protocols.skill.brief.conflicted import (
                    find_sides,  # few checkpoints are in conflict
                )

                sides[document.path] = find_sides(document, now)
        documents.append(document._replace(text=None) if in_full or document.skill == skill else outline(document))
    work, troubles = read_work(place, documents, now)
    broken += troubles
    # of all: tickets can lead to another's
    states = find_states(documents, now, work)
    if skill is not None:
        check_skill_name(skill)
        states = [state for state in states if state.skill == skill]
        if not states:
            raise missing_checkpoint(place, skill)
    result = StatusResult(states, find_decisions(states), broken, [], sides)
    if since is None:
        return result
    from checkpoint_git.protocols.skill.brief.since import read_changes

    documents = [document for document in documents if skill in (None, document.skill)]
    changes, troubles = read_changes(place, documents, states, since, now)
    return result._replace(changes=changes, findings=[*broken, *troubles])


def summarize_status(question: Question) -> Summary:
    """Return the answer of `checkpoint status`, of which only what its format shows is made."""
    since = None
    if question.since is not None:
        from checkpoint_git.protocols.skill.brief.since import read_since

        since = read_since(question.since, question.now)
    result = StatusResult([], [], [], [])
    if os.path.isdir(question.place.directory):
        result = status(question.place, question.now, question.skill, since, in_full=since is not None)
    states = result.states
    if question.merged:
        states = [state for state in states if _names_merged(state)]

    if since is None:
        data, blocks = _summarize_states(states, result, question)
    else:
        data, blocks = _summarize_changes(states, result, question)
    if question.merged and not states:
        blocks = [Line("no next action and no blocker names merged work", "dim")]
    elif not states:
        start = advise("start one", "checkpoint", "update", "build")
        blocks = [Line(f"no checkpoints in {question.place.directory} yet", "dim", hint=start)]
    if question.worktrees:
        ahead, ahead_blocks = _summarize_worktrees(question)
        data.update(ahead)
        blocks += ahead_blocks

    lead: list[Block] = []
    if result.decisions and not question.short and not question.merged:
        lead = [*_decision_lines(result.decisions, question), Line("")]
    return Summary(data, result.findings, lead, blocks)


def _decisions_data(decisions: list[Decision]) -> list[dict[str, Any]]:
    return [
        {"skill": decision.skill, **decision.blocker, "answer_with": decision.answer_with} for decision in decisions
    ]


def _summarize_states(
    states: list[State], result: StatusResult, question: Question
) -> tuple[dict[str, Any], list[Block]]:
    """Return where the checkpoints are, as data and as blocks; either is empty where the format lacks it."""
    shown = states[:1] if question.brief else states
    data: dict[str, Any] = {}
    if question.form not in ("text", "md"):
        data["decisions"] = _decisions_data(result.decisions)
        data["skills"] = [_state_and_sides(state, result) for state in shown]
    if question.form == "json":
        return data, []

    if question.brief:
        return data, [block for state in shown for block in _brief_blocks(state, question.now)]
    blocks = _merged_blocks(shown, question.now) if question.merged else _blocks(shown, result, question)
    if result.findings:
        blocks.append(Line(""))
    return data, blocks


def _brief_blocks(state: State, now: int) -> Iterator[Block]:
    """Yield one checkpoint without a table."""
    words = ", ".join(filter(None, (state.status, state.phase, state.step, _age_cell(state).text)))
    yield Line(f"{state.skill}: {words}", "strong", _status_cell(state).glyph, 2)
    yield from _lines(state, 1, now)


def _summarize_changes(
    states: list[State], result: StatusResult, question: Question
) -> tuple[dict[str, Any], list[Block]]:
    """Return what changed since the question's instant, as data and as blocks."""
    from checkpoint_git.protocols.skill.brief.since import describe_changes

    changed = [
        {
            **state_data(change.state),
            "done_since": change.done,
            "events": [event._asdict() for event in change.events],
            "compared": change.is_compared,
        }
        for change in result.changes
    ]
    data = {
        "since": question.since,
        "decisions": _decisions_data(result.decisions),
        "changed": changed,
        "checkpoints": len(states),
    }
    return data, describe_changes(result.changes, len(states), question.since or "")


def _summarize_worktrees(question: Question) -> tuple[dict[str, Any], list[Block]]:
    """Return where other work trees and branches are ahead, as data and as blocks."""
    from checkpoint_git.protocols.skill.brief.worktrees import find_ahead

    ahead, not_compared = find_ahead(question.place, question.now, question.skill)
    data = {"not_compared": not_compared, "worktrees": [version._asdict() for version in ahead]}
    blocks: list[Block] = [Line(""), *(Line(version.line, "warn", hang=2) for version in ahead)]
    if not_compared:
        blocks.append(Line(not_compared, "warn"))
    elif not ahead:
        blocks.append(Line("no other work tree or branch is ahead of this one", "dim"))
    return data, blocks


def _decision_lines(decisions: list[Decision], question: Question) -> Iterator[Line]:
    """Yield the decisions that wait, with the commands that answer them; on a screen only the first ones."""
    shown = decisions[:_SCREEN_DECISIONS] if question.height else decisions
    yield Line(f"{plural(len(decisions), 'decision')} waiting on you", "bad", "decision")
    for decision in shown:
        described = describe_blocker(decision.blocker, describe_facts(decision.proposal, question.now))
        yield Line(f"  {decision.skill}: {described}", "bad", hang=4)
        yield Line("    ", "dim", hint=decision.answer_with)
    if len(shown) < len(decisions):
        yield Line(f"  and {len(decisions) - len(shown)} more: checkpoint status --all", "dim", hang=4)


def _blocks(states: list[State], result: StatusResult, question: Question) -> list[Block]:
    details = {} if question.short else {state.path: _details(state, result, question) for state in states}
    if question.height and question.skill is None and not question.short:
        decisions = 2 * min(len(result.decisions), _SCREEN_DECISIONS) + 3 if result.decisions else 0
        shown = _fit(states, details, question.height - _AROUND - decisions)
    else:
        shown = states
    blocks: list[Block] = [_make_table(shown, result)]
    for state in shown:
        lines = details.get(state.path, [])
        blocks += [Line(""), Line(state.skill, "strong"), *lines] if lines else []
    if len(shown) < len(states):
        blocks += [Line(""), Line(f"and {len(states) - len(shown)} more: checkpoint status --all", "dim")]
    return blocks


def _fit(states: list[State], details: dict[str, list[Block]], room: int) -> list[State]:
    """Return the first checkpoints that fit a number of lines, with a row of the table each; what is left of their
    details is taken out. The most important one is always there.
    """
    if sum(1 + _count_lines(details[state.path]) for state in states) <= room:
        return states

    shown = states[: max(1, room // 2)]
    room -= len(shown)
    for state in shown:
        needed = _count_lines(details[state.path])
        if needed > room and state is not shown[0]:
            details[state.path] = []
        else:
            room -= needed
    return shown


def _count_lines(lines: list[Block]) -> int:
    return len(lines) + 2 if lines else 0


def _make_table(states: list[State], result: StatusResult) -> Table:
    headers: tuple[str, ...] = ("name", "phase", "step", "status", "age", "progress", "notes")
    rows = []
    for state in states:
        sides = result.sides.get(state.path) or {"": state}
        rows += [_make_row(side, f"{state.skill} ({name})" if name else state.skill) for name, side in sides.items()]
    if any(row[-1] for row in rows):
        return Table(headers, rows, _FIRM, has_tail=True)
    return Table(headers[:-1], [row[:-1] for row in rows], _FIRM)


def _details(state: State, result: StatusResult, question: Question) -> list[Block]:
    """Return what is shown of a checkpoint below the table."""
    if result.sides.get(state.path):
        return list(_side_lines(result.sides[state.path]))
    if question.skill is not None:
        return [*_progress_blocks(state), *_lines(state, len(state.actions), question.now, in_full=True)]
    most = 1 if state.status == "complete" else _SHOWN_ACTIONS
    return list(_lines(state, most, question.now, in_short=True))


def _make_row(state: State, label: str) -> tuple[str | Line, ...]:
    progress = f"{state.complete_rows}/{len(state.rows)}" if state.rows else ""
    notes = "; ".join(filter(None, (state.budget, state.tickets and f"PM: {state.tickets}")))
    return (label, state.phase, state.step, _status_cell(state), _age_cell(state), progress, notes)


def _side_lines(sides: Mapping[str, State]) -> Iterator[Line]:
    """Yield what each side of a checkpoint in conflict says of the work, and what is next there."""
    for name, state in sides.items():
        yield Line(f"  {name}: {shorten(state.summary, _SHOWN_LETTERS)}", hang=4)
        for action in state.actions[:1]:
            yield Line(f"    next: {shorten(action.text, _SHOWN_LETTERS)}", hang=10)


def _names_merged(state: State) -> bool:
    listed = [*(action.facts for action in [*state.actions, *state.shipped]), *state.proposals]
    return any(fact.state in FINISHED for facts in listed for fact in facts)


def _merged_blocks(states: list[State], now: int) -> list[Block]:
    """What names merged or closed work, each with the command for it."""
    blocks = list[Block]()
    for state in states:
        blocks += [Line(""), Line(state.skill, "strong")] if blocks else [Line(state.skill, "strong")]
        for action in sorted([*state.actions, *state.shipped], key=lambda action: action.at):
            if any(fact.state in FINISHED for fact in action.facts):
                blocks.append(Line(f"  {action.at + 1}: {shorten(action.text, _SHOWN_LETTERS)}", hang=6))
                blocks += _fact_lines(action, now)
                finish = command("checkpoint", "done", state.skill, str(action.at + 1))
                blocks.append(Line("     ", "dim", hint=finish))
        for blocker, answer, proposal in zip(state.blockers, state.answers, state.proposals, strict=True):
            if any(fact.state in FINISHED for fact in proposal):
                described = describe_blocker(blocker, describe_facts(proposal, now))
                blocks += [Line(f"  blocker: {described}", hang=4), Line("     ", "dim", hint=answer)]
    return blocks


def _status_cell(state: State) -> Line:
    if any(waits_on_user(blocker) for blocker in state.blockers):
        return Line(state.status, "bad", "decision")
    glyph, style = _LOOKS.get(state.status, ("", "warn"))
    return Line(state.status, style, "not_started" if state.unstarted else glyph)


def _age_cell(state: State) -> Line:
    if state.age is None:
        return Line("" if state.status == UNREADABLE else "?")
    if state.stale:
        return Line(f"stale ({state.age // DAY}d)", "warn", "stale")
    return Line(age_text(state.age))


def _progress_blocks(state: State) -> list[Block]:
    rows = []
    for row in state.rows:
        text = str(row.get("status", "?"))
        glyph, style = _LOOKS.get(text, ("", ""))
        rows.append((str(row.get("id", "")), str(row.get("label", "")), Line(text, style, glyph)))
    blocks: list[Block] = [Line(f"  {state.summary}", hang=2)] if state.summary else []
    return blocks + ([Line(""), Table(("row", "label", "status"), rows, (2,)), Line("")] if rows else [])


def _shipped_lines(state: State, now: int, *, in_full: bool) -> Iterator[Line]:
    """Yield the next actions that merges finished; how many there are, if not in full."""
    if in_full:
        for action in state.shipped:
            yield Line(f"  merged: {action.text}", "dim", hang=10)
            yield from _fact_lines(action, now)
    elif state.shipped:
        count = plural(len(state.shipped), "action")
        show = command("checkpoint", "status", state.skill)
        yield Line(f"  {count} skipped as merged", "dim", hang=4, hint=show)


def _lines(state: State, most: int, now: int, *, in_short: bool = False, in_full: bool = False) -> Iterator[Line]:
    """Yield the first next actions with what is true of their references, and all blockers."""
    for at, action in enumerate(state.actions[:most]):
        text = shorten(action.text, _SHOWN_LETTERS) if in_short else action.text
        yield Line(f"  {action.at + 1} {'then' if at else 'next'}: {text}", hang=10)
        yield from _fact_lines(action, now)
        if in_full and action.done_when:
            yield Line(f"        done when: {action.done_when}", "dim", hang=10)
    if in_short and len(state.actions) > most:
        more = command("checkpoint", "status", state.skill)
        yield Line(f"  and {len(state.actions) - most} more", "dim", hint=more)
    yield from _shipped_lines(state, now, in_full=in_full)
    for text in state.superseded:
        yield Line(f"  the other side of a merge: {text}", "warn", "stale", 4)
    if state.superseded:
        yield Line("    once it is reviewed", "dim", hang=4, hint=command("checkpoint", "rotate", state.skill))
    for blocker, answer, proposal in zip(state.blockers, state.answers, state.proposals, strict=True):
        if not waits_on_user(blocker):  # those are at the top
            needs = f" [needs {blocker['needs']}]" if blocker.get("needs") else ""
            described = describe_blocker(blocker, describe_facts(proposal, now))
            text = f"  blocker {blocker.get('id', '?')}: {described}{needs}"
            yield Line(text, "warn", "blocked")
            yield Line("    ", "dim", hint=answer)


def _fact_lines(action: Action, now: int) -> Iterator[Line]:
    for text in describe_facts(action.facts, now):
        yield Line(f"        {text}", "dim", hang=10)


def _state_and_sides(state: State, result: StatusResult) -> dict[str, Any]:
    sides = result.sides.get(state.path)
    if not sides:
        return state_data(state)
    return {**state_data(state), "sides": {name: state_data(side) for name, side in sides.items()}}


def state_data(state: State) -> dict[str, Any]:
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
        "next_actions": [action.data for action in state.actions],
        "shipped_actions": [shipped_data("text", action.text, action.facts) for action in state.shipped],
        "blockers": [
            {**blocker, "references": facts_data(proposal)} if proposal else blocker
            for blocker, proposal in zip(state.blockers, state.proposals, strict=True)
        ],
        "superseded": state.superseded,
    }
