"""A page about a project from its facts: what stands where, and how much of it there is room for. Pure."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from checkpoint_git.checks.facts import Document
from checkpoint_git.checks.life import Event
from checkpoint_git.checks.next_action import NextAction
from checkpoint_git.checks.progress import UNREADABLE
from checkpoint_git.checks.status import State
from checkpoint_git.commands.life import LOOKS, Entry, tell_event
from checkpoint_git.commands.report.gathering import MOST_STEPS, Facts
from checkpoint_git.core.clock import DAY, age_text, write_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.page import (
    Bar,
    Block,
    Board,
    Card,
    Cell,
    Column,
    Fold,
    Grid,
    Item,
    Items,
    Kind,
    Lane,
    Mark,
    Page,
    Prose,
    Section,
    Text,
    Timeline,
    Tone,
)
from checkpoint_git.core.safetext import shorten
from checkpoint_git.protocols.skill.views import action_text, read_list, waits_on_user

MOST_SKILLS = 60  # told in full
_MOST_ROWS = 60
_MOST_ACTIONS = 12
_MOST_DECISIONS = 12
_MOST_BLOCKERS = 20
_MOST_FINDINGS = 120
_MOST_TICKETS = 120
_MOST_LANES = 24
_MOST_EVENTS = 200
_MOST_POINTS = 20
_FEW = 4  # of what is shown unfolded
_LARGE = 1 << 20  # bytes of a checkpoint that is worth a word

_TONES: dict[str, Tone] = {
    "complete": "good", "in_progress": "info", "blocked": "warn", "failed": "bad", UNREADABLE: "bad", "error": "bad",
    "warning": "warn", "damaged": "bad", "active": "good",
}  # fmt: skip
_COLUMNS: tuple[tuple[str, Tone, Callable[[State], bool]], ...] = (
    ("Waits on you", "bad", lambda state: any(map(waits_on_user, state.blockers))),
    ("Failed or broken", "bad", lambda state: state.status in ("failed", UNREADABLE)),
    ("Blocked", "warn", lambda state: state.status == "blocked"),
    ("Complete", "good", lambda state: state.status == "complete"),
    ("Not started", "", lambda state: state.unstarted),
    ("In progress", "info", lambda state: state.status == "in_progress"),
    ("Something else", "", lambda state: True),
)  # the first that fits takes a state
_ORDER = ("Waits on you", "Failed or broken", "Blocked", "In progress", "Not started", "Something else", "Complete")
_MARKS: dict[str, Kind] = {
    "completed": "progress", "done": "progress", "mended": "progress", "decided": "decision", "closed": "decision",
    "opened": "blocker", "broken": "broken", "deleted": "broken",
}  # fmt: skip
_IMPORTANT: tuple[Kind, ...] = ("broken", "blocker", "progress", "decision", "other")


def make_page(facts: Facts) -> Page:
    """The page. It is as long as it may be, however much there is to tell."""
    sections = [make(facts) for make in _SECTIONS]
    return Page(
        title=f"{_find_project(facts)}: where the work stands",
        facts=_head_facts(facts),
        chips=list(_chips(facts)),
        sections=[section for section in sections if section is not None],
        notes=list(_notes(facts)),
    )


def _find_project(facts: Facts) -> str:
    names = [state.project for state in facts.states if state.project.strip()]
    common = max(dict.fromkeys(names), key=names.count) if names else os.path.basename(facts.place.root)
    return shorten(common or "This project", 60)


def _head_facts(facts: Facts) -> list[str]:
    at = write_instant(facts.now)
    branch = f"branch {shorten(facts.branch, 80)}" if facts.branch else ""
    return [f"made {at[:10]} at {at[11:16]} UTC", branch, _count(len(facts.states), "checkpoint")]


def _chips(facts: Facts) -> Iterator[Text]:
    waiting = len(facts.decisions)
    yield Text(f"{_count(waiting, 'decision')} waiting on you", "bad" if waiting else "good", is_badge=True)
    tones = {title: tone for title, tone, _ in _COLUMNS}
    for title, tone in ((title, tones[title]) for title in _ORDER[1:]):
        count = sum(_find_column(state) == title for state in facts.states)
        if count:
            yield Text(f"{count} {title.lower()}", tone, is_badge=True)
    stale = sum(state.stale for state in facts.states)
    if stale:
        yield Text(f"{stale} stale", "warn", is_badge=True)
    if facts.drift:
        worst: Tone = "bad" if any(one.level == "error" for one in facts.drift) else "warn"
        yield Text(f"{_count(len(facts.drift), 'finding')} of the doctor", worst, is_badge=True)


def _notes(facts: Facts) -> Iterator[str]:
    yield (
        "Made by checkpoint report from the checkpoints and the history of this repository. It loads nothing, and what "
        "stands in a checkpoint is shown as text."
    )
    yield (
        "What looks like a password, a token or a key is replaced by [redacted]; read the page before you share it all "
        "the same. Private state (skill_state) is left out."
    )
    yield from facts.trouble


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


# the sections


def _decisions(facts: Facts) -> Section | None:
    if not facts.decisions:
        return None
    rows = {state.skill: state.rows for state in facts.states}
    items = [_blocker_item(one.skill, one.blocker, rows[one.skill]) for one in facts.decisions[:_MOST_BLOCKERS]]
    block = Items("", items, more=len(facts.decisions) - len(items))
    return Section("decisions", "Decisions waiting on you", [block], _count(len(facts.decisions), "decision"), "bad")


def _next(facts: Facts) -> Section:
    actions, skipped = facts.queue
    if not actions:
        return Section("next", "Next", [Prose("Nothing is left to do: no checkpoint has an action left.", "good")])
    first, others = actions[0], actions[1 : 1 + _MOST_ACTIONS]
    above = first.rank == "decision"
    told = Item("Decide what stands above", _label(first.skill), [Text(f"Then: {first.then}")] if first.then else [])
    blocks: list[Block] = [Items("", [told if above else _action_item(first)])]
    if others:
        rest = Items("", [_action_item(one) for one in others], is_ordered=True, more=len(actions) - 1 - len(others))
        title = f"After that: {_count(len(actions) - 1, 'skill')}"
        blocks.append(Fold("queue", title, [], [rest]))
    if skipped:
        items = [Item(one.action, _label(one.skill), [Text(one.evidence)]) for one in skipped[:_MOST_ACTIONS]]
        title = f"Passed over: {_count(len(skipped), 'action')} that the history shows as shipped"
        blocks.append(Fold("shipped", title, [], [Items("", items, more=len(skipped) - len(items))]))
    return Section("next", "Next", blocks, "the one action that matters most now", "info")


def _action_item(action: NextAction) -> Item:
    notes = [Text(f"Why: {action.reason}", "warn" if action.stale else "")]
    notes += [Text(f"What it proposes is merged: {action.evidence}", "good")] if action.evidence else []
    notes += [Text(f"Then: {action.then}")] if action.then else []
    notes += [Text(f"done when: {action.done_when}", is_code=True)] if action.done_when else []
    return Item(action.action, _label(action.skill), notes)


def _label(skill: str, tone: Tone = "info") -> Text:
    return Text(skill, tone, is_badge=True)


def _board(facts: Facts) -> Section:
    if not facts.states:
        prose = Prose("There are no checkpoints yet: checkpoint update SKILL starts one.", "dim")
        return Section("board", "Board", [prose])
    cards: dict[str, list[Card]] = {}
    for at, state in enumerate(facts.states[: 2 * MOST_SKILLS]):
        cards.setdefault(_find_column(state), []).append(_card(at, state))
    tones = {title: tone for title, tone, _ in _COLUMNS}
    columns = [Column(title, tones[title], cards[title]) for title in _ORDER if title in cards]
    more = len(facts.states) - 2 * MOST_SKILLS
    rest = [Prose(f"and {_count(more, 'more checkpoint')}: checkpoint status lists them", "dim")] if more > 0 else []
    return Section("board", "Board", [Board(columns), *rest])


def _find_column(state: State) -> str:
    return next(title for title, _, fits in _COLUMNS if fits(state))


def _card(at: int, state: State) -> Card:
    where = " / ".join(filter(None, (shorten(state.phase, 60), shorten(state.step, 60))))
    first = state.actions[0][0] if state.actions else ""
    lead = _first_blocker(state) or (f"Next: {first}" if first else "")
    return Card(
        title=shorten(state.skill, 100),
        link=f"#skill-{at + 1}" if at < MOST_SKILLS else "",
        badges=list(_badges(state)),
        facts=[where, _age(state), shorten(state.tickets, 120)],
        bar=Bar(state.complete_rows, len(state.rows), "rows complete") if state.rows else None,
        text=shorten(lead, 220),
    )


def _first_blocker(state: State) -> str:
    """What stands in the way first, a question for the reader before all else."""
    waiting = [one for one in state.blockers if waits_on_user(one)]
    if not (waiting or state.blockers):
        return ""
    one = (waiting or state.blockers)[0]
    text = _words(one.get("description")) or _words(one.get("id")) or "(no description)"
    return f"{'Decide' if waiting else 'In the way'}: {text}"


def _badges(state: State) -> Iterator[Text]:
    yield Text(shorten(state.status.replace("_", " "), 40), _TONES.get(state.status, ""), is_badge=True)
    if state.stale and state.age is not None:
        yield Text(f"stale, {state.age // DAY} days", "warn", is_badge=True)
    if state.budget:
        yield Text(state.budget, "bad", is_badge=True)


def _age(state: State) -> str:
    if state.age is None:
        return ""
    told = age_text(state.age)
    return "written just now" if told == "now" else f"written {told} ago" if state.age > 0 else f"dated {told}"


def _skills(facts: Facts) -> Section | None:
    if not facts.states:
        return None
    documents = {document.path: document for document in facts.documents}
    shown = facts.states[:MOST_SKILLS]
    is_open = len(shown) <= _FEW
    folds: list[Block] = [_skill(at, one, documents[one.path], facts, is_open) for at, one in enumerate(shown)]
    more = len(facts.states) - len(shown)
    rest: list[Block] = (
        [Prose(f"and {_count(more, 'more checkpoint')}, which this page leaves out", "dim")] if more else []
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
    badges = list(_badges(state))
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
            shorten(_words(row.get("label")) or _words(row.get("id")), 200),
            _row_status(row),
            shorten(_words(row.get("id")), 80),
        ]
        for row in shown
    ]
    yield Grid("Progress", ("Row", "Status", "Id"), rows, len(state.rows) - len(shown))


def _row_status(row: dict[str, Any]) -> Text:
    status = _words(row.get("status")) or "?"
    return Text(shorten(status.replace("_", " "), 40), _TONES.get(status, ""), is_badge=True)


def _words(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)[:200]


def _lists(state: State, value: dict[str, Any]) -> Iterator[Block]:
    if state.blockers:
        items = [_blocker_item("", one, state.rows) for one in state.blockers[:_MOST_BLOCKERS]]
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


def _blocker_item(skill: str, blocker: dict[str, Any], rows: Sequence[dict[str, Any]]) -> Item:
    labels = {row["id"]: _words(row.get("label")) for row in rows if isinstance(row.get("id"), str)}
    blocking = _words(blocker.get("blocking"))
    needs = _words(blocker.get("needs")).replace("_", " ")
    notes = [Text(f"Blocks: {shorten(labels.get(blocking) or blocking, 200)}")] if blocking else []
    proposed = _words(blocker.get("proposed_resolution"))
    notes += [Text(f"Proposed: {shorten(proposed, 600)}")] if proposed else []
    notes += [Text(f"Needs: {shorten(needs, 60)}")] if needs and not waits_on_user(blocker) else []
    text = _words(blocker.get("description")) or _words(blocker.get("id")) or "(no description)"
    label = _label(skill) if skill else Text(shorten(_words(blocker.get("id")) or "?", 60), "warn", is_badge=True)
    return Item(shorten(text, 800), label, notes)


def _blockers(facts: Facts) -> Section | None:
    """Those that are no decisions of the reader's, which stand at the top."""
    found = [(state, one) for state in facts.states for one in state.blockers if not waits_on_user(one)]
    if not found:
        return None
    items = [_blocker_item(state.skill, one, state.rows) for state, one in found[:_MOST_BLOCKERS]]
    return Section(
        "blockers", "In the way", [Items("", items, more=len(found) - len(items))], _count(len(found), "blocker")
    )


def _drift(facts: Facts) -> Section:
    findings = facts.broken if facts.drift is None else facts.drift
    note = "as the doctor finds it" if facts.drift is not None else "the doctor was not asked; broken files only"
    if not findings:
        said = "Nothing differs: history, files and installation agree with the checkpoints."
        text = said if facts.drift is not None else "No checkpoint is broken."
        return Section("drift", "Drift", [Prose(text, "good")], note)
    levels = ("error", "warning", "note")
    ordered = sorted(findings, key=lambda one: levels.index(one.level))
    items = [_finding_item(one) for one in ordered[:_MOST_FINDINGS]]
    counts = [_count(sum(one.level == level for one in findings), level) for level in levels]
    told = ", ".join(text for text in counts if not text.startswith("0 "))
    return Section("drift", "Drift", [Items("", items, more=len(findings) - len(items))], f"{told}, {note}")


def _finding_item(finding: Finding) -> Item:
    place = ":".join([finding.path, *([str(finding.line)] if finding.path and finding.line else [])])
    label = Text(finding.level, _TONES.get(finding.level, ""), is_badge=True)
    notes = [
        Text(shorten(place, 300), is_code=True),
        Text(shorten(finding.hint, 500)),
        Text(finding.code, is_code=True),
    ]
    return Item(shorten(finding.message, 800), label, [note for note in notes if note.text])


def _tickets(facts: Facts) -> Section | None:
    if not facts.refs:
        return None
    threads: list[Item] = [
        Item(shorten(state.tickets, 300), _label(state.skill)) for state in facts.states if state.tickets
    ][:MOST_SKILLS]
    shown = facts.refs[:_MOST_TICKETS]
    rows: list[list[Cell]] = [
        [
            Text(shorten(_words(ref.get("id")), 120), link=_words(ref.get("url"))),
            shorten(_words(ref.get("skill")), 100),
            shorten(_words(ref.get("role")), 40),
            shorten(_words(ref.get("provider")), 60),
            shorten(_words(ref.get("first_seen_at"))[:10], 10),
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


# what happened when


def _timeline(facts: Facts) -> Section | None:
    lives = {skill: entries for skill, entries in facts.lives.by_skill.items() if entries}
    if not lives:
        return None
    order = [state.skill for state in facts.states if state.skill in lives]
    lanes = [Lane(skill, [_mark(entry) for entry in lives[skill]]) for skill in order[:_MOST_LANES]]
    newest = sorted(
        ((skill, entry) for skill in order for entry in lives[skill]), key=lambda pair: _when(pair[1]), reverse=True
    )
    words = (
        f"{_count(len(newest), 'commit')} of {_count(len(lives), 'skill')}; the table below tells the same in words."
    )
    more = f"; {len(order) - len(lanes)} skills more are in the table alone" if len(order) > len(lanes) else ""
    shown = newest[:_MOST_EVENTS]
    rows = [_event_row(skill, entry) for skill, entry in shown]
    headers = ("When", "Skill", "What happened", "Who", "Commit")
    table = Grid("What happened, the newest first", headers, rows, len(newest) - len(shown))
    blocks: list[Block] = [Timeline("Timeline", words, lanes), Fold("events", "The timeline as a table", [], [table])]
    notes = [f"the newest {MOST_STEPS} commits at most"] if facts.lives.is_cut else []
    notes += ["this clone is shallow: older commits are not in it"] if facts.lives.is_shallow else []
    return Section("timeline", "Timeline", blocks, "; ".join(["from the history", *notes]) + more)


def _when(entry: Entry) -> int:
    return entry.commit.at if entry.commit else 0


def _mark(entry: Entry) -> Mark:
    kinds = {_MARKS.get(event.kind, "other") for event in entry.events}
    kind = next(one for one in _IMPORTANT if one in kinds)
    at = write_instant(_when(entry))
    return Mark(_when(entry), kind, f"{at[:10]} {at[11:16]}: {_tell_events(entry.events, 3)}")


def _tell_events(events: Sequence[Event], most: int) -> str:
    told = [f"{LOOKS[event.kind][0]}: {shorten(tell_event(event), 160)}" for event in events[:most]]
    more = len(events) - most
    return "; ".join([*told, f"and {more} more"] if more > 0 else told)


def _event_row(skill: str, entry: Entry) -> list[Cell]:
    commit = entry.commit
    at = write_instant(_when(entry))
    told = "\n".join(f"{LOOKS[event.kind][0]}: {shorten(tell_event(event), 240)}" for event in entry.events[:6])
    more = len(entry.events) - 6
    author, name = (shorten(commit.author, 60), commit.id[:9]) if commit else ("", "")
    return [f"{at[:10]} {at[11:16]}", shorten(skill, 100), told + (f"\nand {more} more" if more > 0 else ""), author,
            Text(name, is_code=True)]  # fmt: skip


# the other protocols, in brief


def _others(facts: Facts) -> Section | None:
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
            shorten(_words(data.get("workflow_id") or data.get("id")) or "workflow", 100),
            shorten(_words(data.get("current_phase")), 60),
            shorten(_words(data.get("phase_status")).replace("_", " "), 40),
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
                Text(one.state, _TONES.get(one.state, ""), is_badge=True),
                shorten(_words(one.manifest.value.get("reason")), 200),
                shorten(_words(one.manifest.value.get("created_at"))[:16].replace("T", " "), 20),
            ]
            for one in newest
        ]
        yield Grid("Restore points", ("Point", "State", "Why", "Made"), rows, len(facts.points) - len(newest))


_SECTIONS: tuple[Callable[[Facts], Section | None], ...] = (
    _decisions,
    _next,
    _board,
    _timeline,
    _blockers,
    _drift,
    _skills,
    _tickets,
    _others,
)
