"""A page about a project from its facts: its head, what waits, what comes next, the board. Pure.

How much of each there is room for is decided here and in the other parts, so that no page becomes endless.
"""

import os
from collections.abc import Callable, Iterator

from checkpoint_git.core.clock import age_text, write_instant
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.skill.next_action import NextAction
from checkpoint_git.protocols.skill.progress import UNREADABLE
from checkpoint_git.protocols.skill.state import State
from checkpoint_git.protocols.skill.views import waits_on_user
from checkpoint_git.tools.report import details, timeline
from checkpoint_git.tools.report.blocks import (
    Bar,
    Block,
    Board,
    Card,
    Column,
    Fold,
    Item,
    Items,
    Page,
    Prose,
    Section,
    Text,
    Tone,
)
from checkpoint_git.tools.report.facts import Facts
from checkpoint_git.tools.report.pieces import (
    MOST_BLOCKERS,
    MOST_SKILLS,
    count_of,
    make_badges,
    make_blocker_item,
    make_label,
    words_of,
)

_MOST_ACTIONS = 12
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
    return [f"made {at[:10]} at {at[11:16]} UTC", branch, count_of(len(facts.states), "checkpoint")]


def _chips(facts: Facts) -> Iterator[Text]:
    waiting = len(facts.decisions)
    yield Text(f"{count_of(waiting, 'decision')} waiting on you", "bad" if waiting else "good", is_badge=True)
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
        yield Text(f"{count_of(len(facts.drift), 'finding')} of the doctor", worst, is_badge=True)


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


# the sections


def _decisions(facts: Facts) -> Section | None:
    if not facts.decisions:
        return None
    rows = {state.skill: state.rows for state in facts.states}
    items = [make_blocker_item(one.skill, one.blocker, rows[one.skill]) for one in facts.decisions[:MOST_BLOCKERS]]
    block = Items("", items, more=len(facts.decisions) - len(items))
    return Section("decisions", "Decisions waiting on you", [block], count_of(len(facts.decisions), "decision"), "bad")


def _next(facts: Facts) -> Section:
    actions, skipped = facts.queue
    if not actions:
        words = "no checkpoint has an action left." if facts.states else "there is no checkpoint yet."
        tone: Tone = "good" if facts.states else "dim"
        return Section("next", "Next", [Prose(f"Nothing is left to do: {words}", tone)])
    first, others = actions[0], actions[1 : 1 + _MOST_ACTIONS]
    above = first.rank == "decision"
    told = Item(
        "Decide what stands above", make_label(first.skill), [Text(f"Then: {first.then}")] if first.then else []
    )
    blocks: list[Block] = [Items("", [told if above else _action_item(first)])]
    if others:
        rest = Items("", [_action_item(one) for one in others], is_ordered=True, more=len(actions) - 1 - len(others))
        title = f"After that: {count_of(len(actions) - 1, 'skill')}"
        blocks.append(Fold("queue", title, [], [rest]))
    if skipped:
        items = [Item(one.action, make_label(one.skill), [Text(one.evidence)]) for one in skipped[:_MOST_ACTIONS]]
        title = f"Passed over: {count_of(len(skipped), 'action')} that the history shows as shipped"
        blocks.append(Fold("shipped", title, [], [Items("", items, more=len(skipped) - len(items))]))
    return Section("next", "Next", blocks, "the one action that matters most now", "info")


def _action_item(action: NextAction) -> Item:
    notes = [Text(f"Why: {action.reason}", "warn" if action.stale else "")]
    notes += [Text(f"What it proposes is merged: {action.evidence}", "good")] if action.evidence else []
    notes += [Text(f"Then: {action.then}")] if action.then else []
    notes += [Text(f"done when: {action.done_when}", is_code=True)] if action.done_when else []
    return Item(action.action, make_label(action.skill), notes)


def _board(facts: Facts) -> Section:
    if not facts.states:
        start = 'checkpoint update build --phase=plan --next_actions+="Say what comes first"'
        prose = Prose(f"There are no checkpoints yet. A first one, of a skill named build: {start}", "dim")
        return Section("board", "Board", [prose])
    cards: dict[str, list[Card]] = {}
    troubles = {one.path: one.findings[0].message for one in facts.documents if one.value is None and one.findings}
    for at, state in enumerate(facts.states[: 2 * MOST_SKILLS]):
        cards.setdefault(_find_column(state), []).append(_card(at, state, troubles.get(state.path, "")))
    tones = {title: tone for title, tone, _ in _COLUMNS}
    columns = [Column(title, tones[title], cards[title]) for title in _ORDER if title in cards]
    more = len(facts.states) - 2 * MOST_SKILLS
    rest = [Prose(f"and {count_of(more, 'more checkpoint')}: checkpoint status lists them", "dim")] if more > 0 else []
    return Section("board", "Board", [Board(columns), *rest])


def _find_column(state: State) -> str:
    return next(title for title, _, fits in _COLUMNS if fits(state))


def _card(at: int, state: State, trouble: str) -> Card:
    where = " / ".join(filter(None, (shorten(state.phase, 60), shorten(state.step, 60))))
    first = state.actions[0][0] if state.actions else ""
    lead = trouble or _first_blocker(state) or (f"Next: {first}" if first else "")
    return Card(
        title=shorten(state.skill, 100),
        link=f"#skill-{at + 1}" if at < MOST_SKILLS else "",
        badges=list(make_badges(state))[_find_column(state) == "Not started" :],  # its status would say the contrary
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
    text = words_of(one.get("description")) or words_of(one.get("id")) or "(no description)"
    return f"{'Decide' if waiting else 'In the way'}: {text}"


def _age(state: State) -> str:
    if state.age is None:
        return ""
    told = age_text(state.age)
    return "written just now" if told == "now" else f"written {told} ago" if state.age > 0 else f"dated {told}"


_SECTIONS: tuple[Callable[[Facts], Section | None], ...] = (
    _decisions,
    _next,
    _board,
    timeline.tell_timeline,
    details.tell_blockers,
    details.tell_drift,
    details.tell_skills,
    details.tell_tickets,
    details.tell_others,
)
