"""The parts of a page that go into detail: skills, what is in the way, drift, tickets, other protocols. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.state import State
from checkpoint_git.protocols.skill.views import action_text, read_list, waits_on_user
from checkpoint_git.tools.report.blocks import Bar, Block, Cell, Fold, Grid, Item, Items, Prose, Section, Text
from checkpoint_git.tools.report.facts import Facts
from checkpoint_git.tools.report.pieces import (
    MOST_BLOCKERS,
    MOST_SKILLS,
    TONES,
    count_of,
    make_badges,
    make_blocker_item,
    make_label,
    words_of,
)

_MOST_ROWS = 60
_MOST_ACTIONS = 12
_MOST_DECISIONS = 12
_MOST_FINDINGS = 120
_MOST_TICKETS = 120
_MOST_POINTS = 20
_FEW = 4  # of what is shown unfolded
_FEW_FINDINGS = 8  # that need no grouping
_LARGE = 1 << 20  # bytes of a checkpoint that is worth a word


def tell_skills(facts: Facts) -> Section | None:
    if not facts.states:
        return None
    documents = {document.path: document for document in facts.documents}
    shown = facts.states[:MOST_SKILLS]
    is_open = len(shown) <= _FEW
    folds: list[Block] = [_skill(at, one, documents[one.path], facts, is_open) for at, one in enumerate(shown)]
    more = len(facts.states) - len(shown)
    rest: list[Block] = (
        [Prose(f"and {count_of(more, 'more checkpoint')}, which this page leaves out", "dim")] if more else []
    )
    return Section("skills", "Skill by skill", [*folds, *rest])


def _skill(at: int, state: State, document: Document, facts: Facts, is_open: bool) -> Fold:
    value = document.value or {}
    blocks: list[Block] = [Prose(shorten(state.summary, 2_000))] if state.summary else []
    if document.size > _LARGE:
        size = f"{document.size / (1 << 20):.1f} MB"
        blocks.insert(0, Prose(f"This checkpoint is large ({size}); what is shown of it is cut.", "warn"))
    if document.value is None:
        blocks += [Prose(finding.message, "bad") for finding in document.findings[:3]]
    blocks += _rows(state)
    blocks += _lists(state, value)
    badges = list(make_badges(state))
    if state.rows:
        badges.append(Text(f"{state.complete_rows} of {len(state.rows)} rows", is_badge=True))
    title = shorten(state.skill, 100)
    return Fold(
        f"skill-{at + 1}", title, badges, blocks or [Prose("It says nothing more.", "dim")], is_open, is_heading=True
    )


def _rows(state: State) -> Iterator[Block]:
    if not state.rows:
        return
    shown = state.rows[:_MOST_ROWS]
    rows: list[list[Cell]] = [
        [
            shorten(words_of(row.get("label")) or words_of(row.get("id")), 200) or "(no name)",
            _row_status(row),
            shorten(words_of(row.get("id")), 80),
        ]
        for row in shown
    ]
    yield Grid("Progress", ("Row", "Status", "Id"), rows, len(state.rows) - len(shown))


def _row_status(row: dict[str, Any]) -> Text:
    status = words_of(row.get("status")) or "?"
    return Text(shorten(status.replace("_", " "), 40), TONES.get(status, ""), is_badge=True)


def _lists(state: State, value: dict[str, Any]) -> Iterator[Block]:
    if state.blockers:
        items = [make_blocker_item("", one, state.rows) for one in state.blockers[:MOST_BLOCKERS]]
        yield Items("In the way", items, more=len(state.blockers) - len(items))
    if state.actions:
        actions = [
            Item(shorten(text, 600), None, [Text(f"done when: {shorten(when, 300)}", is_code=True)] if when else [])
            for text, when in state.actions[:_MOST_ACTIONS]
        ]
        yield Items("Next actions", actions, is_ordered=True, more=len(state.actions) - len(actions))
    primer = value.get("context_primer")
    decisions = [action_text(one) for one in read_list(primer, "key_decisions")] if isinstance(primer, dict) else []
    told = [text for text in decisions if text.strip()]
    if told:
        newest = told[-_MOST_DECISIONS:]
        yield Items("Decided", [Item(shorten(text, 500)) for text in newest], more=len(told) - len(newest))


def tell_blockers(facts: Facts) -> Section | None:
    """Those that are no decisions of the reader's, which stand at the top."""
    found = [(state, one) for state in facts.states for one in state.blockers if not waits_on_user(one)]
    if not found:
        return None
    items = [make_blocker_item(state.skill, one, state.rows) for state, one in found[:MOST_BLOCKERS]]
    return Section(
        "blockers", "In the way", [Items("", items, more=len(found) - len(items))], count_of(len(found), "blocker")
    )


def tell_drift(facts: Facts) -> Section:
    findings = facts.broken if facts.drift is None else facts.drift
    note = "as the doctor finds it" if facts.drift is not None else "the doctor was not asked; broken files only"
    if not findings:
        said = "Nothing differs: history, files and installation agree with the checkpoints."
        text = said if facts.drift is not None else "No checkpoint is broken."
        return Section("drift", "Drift", [Prose(text, "good")], note)
    levels = ("error", "warning", "note")
    ordered = sorted(findings, key=lambda one: levels.index(one.level))
    shown = ordered[:_MOST_FINDINGS]
    more = len(findings) - len(shown)
    counts = [count_of(sum(one.level == level for one in findings), level) for level in levels]
    told = ", ".join(text for text in counts if not text.startswith("0 "))
    flat = Items("", [_finding_item(one) for one in shown], more=more)
    blocks = _group_findings(shown, more) if len(shown) > _FEW_FINDINGS else [flat]
    return Section("drift", "Drift", blocks, f"{told}, {note}")


def _group_findings(findings: Sequence[Finding], more: int) -> list[Block]:
    """A fold for each code, in the order in which they come; what is cut off is told last."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.code, []).append(finding)
    folds: list[Block] = []
    for code, members in groups.items():
        badge = Text(f"{len(members)} x {members[0].level}", TONES.get(members[0].level, ""), is_badge=True)
        folds.append(Fold("", code, [badge], [Items("", [_finding_item(one) for one in members])]))
    return [*folds, *([Prose(f"and {more} more: checkpoint doctor", "dim")] if more else [])]


def _finding_item(finding: Finding) -> Item:
    place = ":".join([finding.path, *([str(finding.line)] if finding.path and finding.line else [])])
    label = Text(finding.level, TONES.get(finding.level, ""), is_badge=True)
    notes = [
        Text(shorten(place, 300), is_code=True),
        Text(shorten(finding.hint, 500)),
        Text(finding.code, is_code=True),
    ]
    return Item(shorten(finding.message, 800), label, [note for note in notes if note.text])


def tell_tickets(facts: Facts) -> Section | None:
    if not facts.refs:
        return None
    threads: list[Item] = [
        Item(shorten(state.tickets, 300), make_label(state.skill)) for state in facts.states if state.tickets
    ][:MOST_SKILLS]
    shown = facts.refs[:_MOST_TICKETS]
    rows: list[list[Cell]] = [
        [
            Text(shorten(words_of(ref.get("id")), 120), link=words_of(ref.get("url"))),
            shorten(words_of(ref.get("skill")), 100),
            shorten(words_of(ref.get("role")), 40),
            shorten(words_of(ref.get("provider")), 60),
            shorten(words_of(ref.get("first_seen_at"))[:10], 10),
        ]
        for ref in shown
    ]
    headers = ("Ticket", "Skill", "Role", "Provider", "First seen")
    grid = _without_empty(Grid("All tickets", headers, rows, len(facts.refs) - len(shown)))
    return Section("tickets", "Tickets", [Items("The thread across skills", threads), grid])


def _without_empty(grid: Grid) -> Grid:
    """The table without columns in which nothing stands."""
    kept = [at for at in range(len(grid.headers)) if not at or any(row[at] for row in grid.rows)]
    rows = [[row[at] for at in kept] for row in grid.rows]
    return grid._replace(headers=[grid.headers[at] for at in kept], rows=rows)


# the other protocols, in brief


def tell_others(facts: Facts) -> Section | None:
    blocks = [*_workflow(facts.workflow), *_runs(facts), *_points(facts)]
    return Section("beside", "Beside the checkpoints", blocks) if blocks else None


def _workflow(data: dict[str, Any] | None) -> Iterable[Block]:
    if data is None:
        return
    if not data.get("valid"):
        yield Prose("The workflow's state appears corrupted: checkpoint workflow resume tells more.", "bad")
        return
    tasks = data.get("tasks") or {}
    rows: list[list[Cell]] = [
        [
            shorten(words_of(data.get("workflow_id") or data.get("id")) or "workflow", 100),
            shorten(words_of(data.get("current_phase")), 60),
            shorten(words_of(data.get("phase_status")).replace("_", " "), 40),
            Bar(int(tasks.get("complete", 0)), int(tasks.get("total", 0)), "tasks complete")
            if tasks.get("total")
            else "",
        ]
    ]
    yield Grid("Workflow", ("Workflow", "Phase", "Status", "Tasks"), rows)


def _runs(facts: Facts) -> Iterable[Block]:
    if facts.runs:
        shown = facts.runs[:_MOST_POINTS]
        rows: list[list[Cell]] = [
            [
                shorten(run.ticket_id, 80),
                shorten(run.run_id, 40),
                shorten(", ".join(run.phases), 200),
                str(run.attempts),
            ]
            for run in shown
        ]
        more = len(facts.runs) - len(shown)
        yield Grid("Pipeline runs", ("Ticket", "Run", "Phases with a record", "Records"), rows, more)


def _points(facts: Facts) -> Iterable[Block]:
    if facts.points:
        newest = list(reversed(facts.points))[:_MOST_POINTS]
        rows: list[list[Cell]] = [
            [
                Text(shorten(one.manifest.id, 80), is_code=True),
                Text(one.state, TONES.get(one.state, ""), is_badge=True),
                shorten(words_of(one.manifest.value.get("reason")), 200),
                shorten(words_of(one.manifest.value.get("created_at"))[:16].replace("T", " "), 20),
            ]
            for one in newest
        ]
        yield Grid("Restore points", ("Point", "State", "Why", "Made"), rows, len(facts.points) - len(newest))
