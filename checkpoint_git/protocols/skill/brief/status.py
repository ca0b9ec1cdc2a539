"""Summarize checkpoints for `checkpoint status`: decisions, a table, next actions, blockers; or
changes.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from checkpoint_git.core.clock import DAY, age_text
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, command
from checkpoint_git.core.outcome import Block, Glyph, Line, Style, Table
from checkpoint_git.core.terminal_text import plural, shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import StatusQuestion, Summary
from checkpoint_git.protocols.document import Document, find_broken
from checkpoint_git.protocols.limits import Limits, read_limits
from checkpoint_git.protocols.skill.brief.brief import Action, Brief, OpenDecision, find_decisions
from checkpoint_git.protocols.skill.brief.next_action import shipped_data
from checkpoint_git.protocols.skill.brief.overview import list_briefs
from checkpoint_git.protocols.skill.drift.merged_work import FINISHED, describe_facts, read_work
from checkpoint_git.protocols.skill.layout import check_skill_name
from checkpoint_git.protocols.skill.store import iterate_documents, missing_checkpoint
from checkpoint_git.protocols.skill.views import UNREADABLE, describe_blocker, outline

if TYPE_CHECKING:
    from checkpoint_git.protocols.skill.brief.since import ChangedCheckpoint

_FIRM = (0, 3, 4, 5)  # the columns of the table that are never cut: all but phase and step
_SHOWN_ACTIONS = 3
_SHOW_ALL = command("checkpoint", "status", "--all")
_SCREEN_DECISIONS = 3  # that a screen shows, in half of its lines
# lines of a screen: the table's head, the last line with the blank one before it, and the prompt
_AROUND = 4
_ROW = 74  # characters in a row of the smallest usual terminal when words are not split
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
    """Hold the state of all checkpoints, or of one.

    states: the most important first. decisions: of these that wait on the user. findings: of
    broken files. changes: since the instant. sides: path of a checkpoint in conflict -> the states
    of "ours" and "theirs".
    """

    states: list[Brief]
    decisions: list[OpenDecision]
    findings: list[Finding]
    changes: list["ChangedCheckpoint"]
    sides: Mapping[str, Mapping[str, Brief]] = MappingProxyType({})


def status(
    place: Place,
    now: int,
    limits: Limits,
    skill: str | None = None,
    since: int | None = None,
    *,
    in_full: bool = True,
) -> StatusResult:
    """Return the state of all checkpoints, or of one skill's.

    since: seconds since 1970, None for no changes. in_full: with the ids and labels of all rows,
    not only of that skill's, which takes eight times the memory. Raises CheckpointError for a
    skill without a checkpoint.
    """
    broken = list[Finding]()
    documents = list[Document]()
    sides: dict[str, Mapping[str, Brief]] = {}
    for document in iterate_documents(place, now):
        if skill in (None, document.skill):
            broken += find_broken([document])
            if document.value is None:
                # late: few checkpoints are in conflict
                from checkpoint_git.protocols.skill.brief.conflicted import find_sides

                sides[document.path] = find_sides(document, now, limits)
        if in_full or document.skill == skill:
            documents.append(document._replace(text=None))
        else:
            documents.append(outline(document))

    work, troubles = read_work(place, documents, now)
    broken += troubles
    states = list_briefs(
        documents, now, limits, work
    )  # of all: tickets can lead to another skill's
    if skill is not None:
        check_skill_name(skill)
        states = [brief for brief in states if brief.skill == skill]
        if not states:
            raise missing_checkpoint(place, skill)

    result = StatusResult(states, find_decisions(states), broken, [], sides)
    if since is None:
        return result
    from checkpoint_git.protocols.skill.brief.since import read_changes

    documents = [document for document in documents if skill in (None, document.skill)]
    changes, troubles = read_changes(place, documents, states, since, now)
    return result._replace(changes=changes, findings=[*broken, *troubles])


def summarize_status(question: StatusQuestion) -> Summary:
    """Return the answer of `checkpoint status`, with only the parts that its format shows."""
    since = None
    if question.since is not None:
        from checkpoint_git.protocols.skill.brief.since import read_since

        since = read_since(question.since, question.now)

    result = StatusResult([], [], [], [])
    place = question.place
    if os.path.isdir(place.directory):
        limits = read_limits(place, question.env)
        in_full = since is not None
        result = status(place, question.now, limits, question.skill, since, in_full=in_full)

    states = result.states
    if question.merged:
        states = [brief for brief in states if _names_merged(brief)]

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


def _decisions_data(decisions: list[OpenDecision]) -> list[dict[str, Any]]:
    return [
        {"skill": decision.skill, **decision.blocker, "answer_with": decision.answer_with}
        for decision in decisions
    ]


def _summarize_states(
    states: list[Brief], result: StatusResult, question: StatusQuestion
) -> tuple[dict[str, Any], list[Block]]:
    """Return the states as data and as blocks; either is empty if the format does not show it."""
    shown = states
    if question.brief:
        shown = states[:1]
    data: dict[str, Any] = {}
    if question.form not in ("text", "md"):
        data["decisions"] = _decisions_data(result.decisions)
        data["skills"] = [_state_and_sides(brief, result) for brief in shown]

    if question.form == "json":
        return data, []

    if question.brief:
        return data, [block for brief in shown for block in _brief_blocks(brief, question.now)]
    if question.merged:
        blocks = _merged_blocks(shown, question.now)
    else:
        blocks = _blocks(shown, result, question)
    if result.findings:
        blocks.append(Line(""))
    return data, blocks


def _brief_blocks(brief: Brief, now: int) -> Iterator[Block]:
    """Yield the blocks of one checkpoint without a table."""
    words = ", ".join(filter(None, (brief.status, brief.phase, brief.step, _age_cell(brief).text)))
    yield Line(f"{brief.skill}: {words}", "strong", _status_cell(brief).glyph, 2)
    yield from _lines(brief, 1, now)


def _summarize_changes(
    states: list[Brief], result: StatusResult, question: StatusQuestion
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


def _summarize_worktrees(question: StatusQuestion) -> tuple[dict[str, Any], list[Block]]:
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


def _decision_lines(decisions: list[OpenDecision], question: StatusQuestion) -> Iterator[Line]:
    """Yield the decisions that wait, with the commands that answer them.

    On a screen these are only the first ones.
    """
    room = (question.height + 1) // 2 - 2  # without the head and the last line
    yield Line(f"{plural(len(decisions), 'decision')} waiting on you", "bad", "decision")
    for index, decision in enumerate(decisions):
        facts = describe_facts(decision.proposal, question.now)
        described = describe_blocker(decision.blocker, facts)
        lines = [
            Line(f"  {decision.skill}: {described}", "bad", hang=4),
            Line("    ", "dim", hint=decision.answer_with),
        ]
        room -= _count_rows(lines)
        if question.height and index and (room < 0 or index == _SCREEN_DECISIONS):
            hidden = len(decisions) - index
            yield Line(f"  and {hidden} more", "dim", hang=4, hint=_SHOW_ALL)
            return
        yield from lines


def _blocks(states: list[Brief], result: StatusResult, question: StatusQuestion) -> list[Block]:
    """Return the table of checkpoints with the details of each, as many as fit a screen."""
    if question.short:
        return [_make_table(states, result)]

    details = {brief.path: _details(brief, result, question) for brief in states}
    shown = states
    if question.height and question.skill is None:
        room = question.height - _AROUND
        if result.decisions:
            room -= _count_rows([*_decision_lines(result.decisions, question), Line("")])
        shown = _fit(states, details, room)

    blocks: list[Block] = [_make_table(shown, result)]
    for brief in shown:
        lines = details[brief.path]
        if lines:
            blocks += [Line(""), Line(brief.skill, "strong"), *lines]

    hidden = len(states) - len(shown)
    if hidden:
        blocks += [Line(""), Line(f"and {hidden} more", "dim", hint=_SHOW_ALL)]
    return blocks


def _fit(states: list[Brief], details: dict[str, list[Block]], room: int) -> list[Brief]:
    """Return the first checkpoints, at least one, that fit a number of lines with a row each.

    Details for which there is no room are removed in place; those of the first checkpoint have
    precedence over more rows.
    """
    if sum(1 + _count_details(details[brief.path]) for brief in states) <= room:
        return states

    first = _count_details(details[states[0].path])
    shown = states[: max(1, min(room // 2, room - first))]
    room -= len(shown)
    for brief in shown:
        needed = _count_details(details[brief.path])
        if needed > room:
            details[brief.path] = []
        else:
            room -= needed

    return shown


def _count_details(lines: list[Block]) -> int:
    if not lines:
        return 0
    return _count_rows(lines) + 2


def _count_rows(lines: Sequence[Block]) -> int:
    """Return how many rows lines take on a terminal of 80 columns, or a few more.

    Long lines are wrapped there.
    """
    return sum(max(1, -(-len(line.whole) // _ROW)) for line in lines if isinstance(line, Line))


def _make_table(states: list[Brief], result: StatusResult) -> Table:
    """Return a table with a row for each checkpoint, or for each side of one in conflict."""
    headers: tuple[str, ...] = ("name", "phase", "step", "status", "age", "progress", "notes")
    rows = []
    for brief in states:
        sides = result.sides.get(brief.path)
        if sides:
            rows += [_make_row(side, f"{brief.skill} ({name})") for name, side in sides.items()]
        else:
            rows.append(_make_row(brief, brief.skill))
    if any(row[-1] for row in rows):
        return Table(headers, rows, _FIRM, has_tail=True)
    return Table(headers[:-1], [row[:-1] for row in rows], _FIRM)


def _details(brief: Brief, result: StatusResult, question: StatusQuestion) -> list[Block]:
    """Return the details of a checkpoint below the table."""
    if result.sides.get(brief.path):
        return list(_side_lines(result.sides[brief.path]))
    if question.skill is not None:
        lines = _lines(brief, len(brief.actions), question.now, in_full=True)
        return [*_progress_blocks(brief), *lines]
    most = 1 if brief.status == "complete" else _SHOWN_ACTIONS
    return list(_lines(brief, most, question.now, in_short=True))


def _make_row(brief: Brief, label: str) -> tuple[str | Line, ...]:
    progress = f"{brief.complete_rows}/{len(brief.rows)}" if brief.rows else ""
    notes = "; ".join(filter(None, (brief.budget, brief.tickets and f"PM: {brief.tickets}")))
    return (label, brief.phase, brief.step, _status_cell(brief), _age_cell(brief), progress, notes)


def _side_lines(sides: Mapping[str, Brief]) -> Iterator[Line]:
    """Yield the summary and the next action of each side of a checkpoint in conflict."""
    for name, brief in sides.items():
        yield Line(f"  {name}: {shorten(brief.summary, _SHOWN_LETTERS)}", hang=4)
        for action in brief.actions[:1]:
            yield Line(f"    next: {shorten(action.text, _SHOWN_LETTERS)}", hang=10)


def _names_merged(brief: Brief) -> bool:
    """Whether an action or a blocker names merged or closed work."""
    facts = [fact for action in (*brief.actions, *brief.shipped) for fact in action.facts]
    facts += [fact for blocker in brief.blockers for fact in blocker.facts]
    return any(fact.state in FINISHED for fact in facts)


def _merged_blocks(states: list[Brief], now: int) -> list[Block]:
    """Return the actions and blockers that name merged or closed work, each with its command."""
    blocks = list[Block]()
    for brief in states:
        if blocks:
            blocks.append(Line(""))
        blocks.append(Line(brief.skill, "strong"))
        for action in sorted([*brief.actions, *brief.shipped], key=lambda action: action.position):
            if any(fact.state in FINISHED for fact in action.facts):
                number = action.position + 1
                blocks.append(Line(f"  {number}: {shorten(action.text, _SHOWN_LETTERS)}", hang=6))
                blocks += _fact_lines(action, now)
                finish = command("checkpoint", "done", brief.skill, str(number))
                blocks.append(Line("     ", "dim", hint=finish))

        for blocker in brief.blockers:
            if any(fact.state in FINISHED for fact in blocker.facts):
                blocks.append(Line(f"  blocker: {blocker.describe(now)}", hang=4))
                blocks.append(Line("     ", "dim", hint=blocker.answer))

    return blocks


def _status_cell(brief: Brief) -> Line:
    if brief.decisions:
        return Line(brief.status, "bad", "decision")
    glyph, style = _LOOKS.get(brief.status, ("", "warn"))
    if brief.unstarted:
        glyph = "not_started"
    return Line(brief.status, style, glyph)


def _age_cell(brief: Brief) -> Line:
    if brief.age is None and brief.status == UNREADABLE:
        return Line("")
    if brief.age is None:
        return Line("?")
    if brief.stale:
        return Line(f"stale ({brief.age // DAY}d)", "warn", "stale")
    return Line(age_text(brief.age))


def _progress_blocks(brief: Brief) -> list[Block]:
    """Return the summary and the rows of a checkpoint."""
    blocks = list[Block]()
    if brief.summary:
        blocks.append(Line(f"  {brief.summary}", hang=2))

    rows = []
    for row in brief.rows:
        text = str(row.get("status", "?"))
        glyph, style = _LOOKS.get(text, ("", ""))
        rows.append((str(row.get("id", "")), str(row.get("label", "")), Line(text, style, glyph)))
    if rows:
        blocks += [Line(""), Table(("row", "label", "status"), rows, (2,)), Line("")]
    return blocks


def _shipped_lines(brief: Brief, now: int, *, in_full: bool) -> Iterator[Line]:
    """Yield the next actions that merges finished, or only their number."""
    if in_full:
        for action in brief.shipped:
            yield Line(f"  merged: {action.text}", "dim", hang=10)
            yield from _fact_lines(action, now)
    elif brief.shipped:
        count = plural(len(brief.shipped), "action")
        show = command("checkpoint", "status", brief.skill)
        yield Line(f"  {count} skipped as merged", "dim", hang=4, hint=show)


def _lines(
    brief: Brief, most: int, now: int, *, in_short: bool = False, in_full: bool = False
) -> Iterator[Line]:
    """Yield the first next actions with the facts about their references, and all blockers."""
    for index, action in enumerate(brief.actions[:most]):
        text = action.text
        if in_short:
            text = shorten(text, _SHOWN_LETTERS)
        order = "then" if index else "next"
        yield Line(f"  {action.position + 1} {order}: {text}", hang=10)
        yield from _fact_lines(action, now)
        if in_full and action.done_when:
            yield Line(f"        done when: {action.done_when}", "dim", hang=10)

    if in_short and len(brief.actions) > most:
        show = command("checkpoint", "status", brief.skill)
        yield Line(f"  and {len(brief.actions) - most} more", "dim", hint=show)

    yield from _shipped_lines(brief, now, in_full=in_full)
    for text in brief.superseded:
        yield Line(f"  the other side of a merge: {text}", "warn", "stale", 4)
    if brief.superseded:
        rotate = command("checkpoint", "rotate", brief.skill)
        yield Line("    once it is reviewed", "dim", hang=4, hint=rotate)

    for blocker in brief.blockers:
        if blocker.waits_on_user:  # those are at the top
            continue
        text = f"  blocker {blocker.value.get('id', '?')}: {blocker.describe(now)}"
        if blocker.value.get("needs"):
            text += f" [needs {blocker.value['needs']}]"
        yield Line(text, "warn", "blocked")
        yield Line("    ", "dim", hint=blocker.answer)


def _fact_lines(action: Action, now: int) -> Iterator[Line]:
    for text in describe_facts(action.facts, now):
        yield Line(f"        {text}", "dim", hang=10)


def _state_and_sides(brief: Brief, result: StatusResult) -> dict[str, Any]:
    sides = result.sides.get(brief.path)
    if not sides:
        return state_data(brief)
    return {**state_data(brief), "sides": {name: state_data(side) for name, side in sides.items()}}


def state_data(brief: Brief) -> dict[str, Any]:
    """Return the state of a checkpoint as JSON has it."""
    return {
        "skill": brief.skill,
        "path": brief.path,
        "project": brief.project,
        "phase": brief.phase,
        "step": brief.step,
        "status": brief.status,
        "progress_summary": brief.summary,
        "updated_at": brief.updated_at,
        "age_seconds": brief.age,
        "stale": brief.stale,
        "over_budget": bool(brief.budget),
        "progress": brief.progress,
        "pm": brief.tickets,
        "next_actions": [action.data for action in brief.actions],
        "shipped_actions": [
            shipped_data("text", action.text, action.facts) for action in brief.shipped
        ],
        "blockers": [blocker.data for blocker in brief.blockers],
        "superseded": brief.superseded,
    }
