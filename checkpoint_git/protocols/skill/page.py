"""The part of a report's page that is about checkpoints, and how much of each thing there is room for."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core import html as h
from checkpoint_git.core.clock import DAY, age_text
from checkpoint_git.core.html import Markup, PageParts, Section, Tone
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import Question, Summary
from checkpoint_git.protocols.document import Document, find_broken
from checkpoint_git.protocols.skill import store, views
from checkpoint_git.protocols.skill.next_action import NextAction, Queue, plan_queue
from checkpoint_git.protocols.skill.page_timeline import Lives, draw_timeline, read_lives
from checkpoint_git.protocols.skill.shipped_actions import read_shipped
from checkpoint_git.protocols.skill.state import Decision, State, find_decisions, find_state, find_states
from checkpoint_git.protocols.skill.verbs.refs import find_refs

_MOST_SKILLS = 60  # shown in full
_MOST_BLOCKERS = 20
_MOST_ROWS = 60
_MOST_ACTIONS = 12
_MOST_TICKETS = 120
_FEW = 4  # skills that are shown unfolded
_LARGE = 1 << 20  # bytes of a checkpoint that is worth a word
_FEW_COLUMNS, _HIGH = 3, 4  # with fewer columns, or more cards in one, cards are beside each other
TONES: dict[str, Tone] = {
    "complete": "good", "in_progress": "info", "blocked": "warn", "failed": "bad", views.UNREADABLE: "bad",
}  # fmt: skip
# the first that fits takes a state
_COLUMNS: tuple[tuple[str, Tone, Callable[[State], bool]], ...] = (
    ("Waits on you", "bad", lambda state: any(map(views.waits_on_user, state.blockers))),
    ("Failed", "bad", lambda state: state.status in ("failed", views.UNREADABLE)),
    ("Blocked", "warn", lambda state: state.status == "blocked"),
    ("Complete", "good", lambda state: state.status == "complete"),
    ("Not started", "", lambda state: state.unstarted),
    ("In progress", "info", lambda state: state.status == "in_progress"),
    ("Something else", "", lambda state: True),
)
_TONE_OF = {title: tone for title, tone, _ in _COLUMNS}
_ORDER = ("Waits on you", "Failed", "Blocked", "In progress", "Not started", "Something else", "Complete")


class PageFacts(NamedTuple):
    """What the page shows: documents and their states in the order of what matters, the queue, the history."""

    documents: Sequence[Document]
    states: Sequence[State]
    queue: Queue
    lives: Lives

    @property
    def decisions(self) -> list[Decision]:
        return find_decisions(self.states)


def summarize_for_page(question: Question) -> Summary:
    place, now = question.place, question.now
    documents = _read_checkpoints(place, now)
    shipped = read_shipped(place, documents)
    queue = plan_queue(documents, shipped.find_action, shipped.find_proposal, now)
    states = find_states(documents, now, shipped.find_action, shipped.find_proposal)
    if len(documents) > _MOST_SKILLS:
        shown = {state.path for state in states[:_MOST_SKILLS]}
        whole = {one.path: one for one in store.check_files(store.read_files(place, only=shown), now)}
        documents = [whole.get(one.path, one) for one in documents]
        states = [
            find_state(whole[one.path], now, one.tickets, shipped.find_action, shipped.find_proposal)
            if one.path in whole
            else one
            for one in states
        ]
    facts = PageFacts(documents, states, queue, read_lives(place, [document.skill for document in documents]))
    data = {"skills": len(states), "decisions": len(facts.decisions)}
    return Summary(data, [*find_broken(documents), *shipped.findings], page=make_parts(facts))


def _read_checkpoints(place: Place, now: int) -> list[Document]:
    """Of many, whole are only those of which a page shows more than an outline."""
    documents = list[Document]()
    for document in store.iterate_documents(place, now):
        is_whole = len(documents) < _MOST_SKILLS or views.open_blockers(document.value or {})  # blockers name rows
        documents.append(document if is_whole else views.outline(document))
    return documents


def make_parts(facts: PageFacts) -> PageParts:
    names = [state.project for state in facts.states if state.project.strip()]
    waiting, counts = len(facts.decisions), Counter(map(_find_column, facts.states))
    chips = [h.badge(f"{h.count_of(waiting, 'decision')} waiting on you", "bad" if waiting else "good")]
    chips += [h.badge(f"{counts[title]} {title.lower()}", _TONE_OF[title]) for title in _ORDER[1:] if counts[title]]
    stale = sum(state.stale for state in facts.states)
    if stale:
        chips.append(h.badge(f"{stale} stale", "warn"))
    decisions, blockers = _blockers(facts, waiting=True), _blockers(facts, waiting=False)
    timeline = draw_timeline(facts.lives, facts.states)
    sections = (decisions, _next(facts), _board(facts), timeline, blockers)
    return PageParts(
        title=shorten(max(dict.fromkeys(names), key=names.count), 60) if names else "",
        facts=[h.count_of(len(facts.states), "checkpoint")],
        chips=chips,
        sections=[section for section in sections if section],
        details=[section for section in (_skills(facts), _tickets(facts)) if section],
        notes=[facts.lives.trouble] if facts.lives.trouble else [],
    )


def _blockers(facts: PageFacts, *, waiting: bool) -> Section | None:
    """The decisions that wait on the reader, which are at the top of the page, or all other blockers."""
    every = [
        (state, *each)
        for state in facts.states
        for each in zip(state.blockers, state.answers, state.merged, strict=True)
    ]
    found = [each for each in every if views.waits_on_user(each[1]) == waiting]
    if not found:
        return None
    shown = [_blocker(*each, named=True) for each in found[:_MOST_BLOCKERS]]
    block = h.items(shown, more=len(found) - len(shown))
    if waiting:
        return Section("decisions", "Decisions waiting on you", [block], h.count_of(len(found), "decision"), "bad")
    return Section("blockers", "Blockers", [block], h.count_of(len(found), "blocker"))


def _blocker(state: State, blocker: dict[str, Any], answer: str, merged: str, *, named: bool) -> Markup:
    labels = {row["id"]: _words(row.get("label")) for row in state.rows if isinstance(row.get("id"), str)}
    texts = {key: _words(blocker.get(key)) for key in ("id", "description", "blocking", "proposed_resolution", "needs")}
    notes: list[Markup | str] = []
    if texts["blocking"]:
        notes.append(f"Blocks: {shorten(labels.get(texts['blocking']) or texts['blocking'], 200)}")
    if texts["proposed_resolution"]:
        notes.append(f"Proposed: {shorten(texts['proposed_resolution'], 600)}")
    if merged:
        notes.append(h.toned(f"What it proposes is merged: {merged}", "good"))
    if texts["needs"] and not views.waits_on_user(blocker):
        notes.append(f"Needs: {shorten(texts['needs'].replace('_', ' '), 60)}")
    notes.append(h.code(answer))
    text = texts["description"] or texts["id"] or "(no description)"
    label = h.badge(state.skill, "info") if named else h.badge(shorten(texts["id"] or "?", 60), "warn")
    return h.item(shorten(text, 800), label, notes)


def _words(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)[:200]


def _next(facts: PageFacts) -> Section:
    actions, skipped = facts.queue
    if not actions:
        unread = sum(document.value is None for document in facts.documents)
        if unread:
            words = f"What comes next is unknown: {h.count_of(unread, 'checkpoint')} cannot be read."
            return Section("next", "Next", [h.prose(words, "bad")])
        words = "no checkpoint has an action left." if facts.states else "no checkpoints yet."
        return Section("next", "Next", [h.prose(f"Nothing is left to do: {words}", "good" if facts.states else "dim")])
    first, others = actions[0], actions[1 : 1 + _MOST_ACTIONS]
    lead = _action(first)
    if first.rank == "decision":
        then = [f"Then: {first.shown_then}"] if first.then else []
        lead = h.item("Answer the decision above", h.badge(first.skill, "info"), then)
    parts = [h.items([lead])]
    if others:
        rest = h.items([_action(one) for one in others], is_ordered=True, more=len(actions) - 1 - len(others))
        parts.append(h.fold(f"After that: {h.count_of(len(actions) - 1, 'skill')}", [rest], anchor="queue"))
    if skipped:
        shown = [h.item(one.action, h.badge(one.skill, "info"), [one.evidence]) for one in skipped[:_MOST_ACTIONS]]
        title = f"Passed over: {h.count_of(len(skipped), 'action')} that the history shows as merged"
        parts.append(h.fold(title, [h.items(shown, more=len(skipped) - len(shown))], anchor="shipped"))
    return Section("next", "Next", parts, "the most important action", "info")


def _action(action: NextAction) -> Markup:
    notes: list[Markup | str] = [h.toned(f"Why: {action.reason}", "warn" if action.stale else "")]
    notes += [h.toned(f"What it proposes is merged: {action.evidence}", "good")] if action.evidence else []
    notes += [f"Then: {action.shown_then}"] if action.then else []
    notes += [h.code(f"done when: {action.done_when}")] if action.done_when else []
    return h.item(action.shown, h.badge(action.skill, "info"), notes)


def _board(facts: PageFacts) -> Section:
    if not facts.states:
        start = 'checkpoint update build --phase=plan --next_actions+="Say what comes first"'
        text = f"No checkpoints yet. A first one, of a skill named build: {start}"
        return Section("board", "Board", [h.prose(text, "dim")])
    cards: dict[str, list[Markup]] = {}
    troubles = {one.path: one.findings[0].message for one in facts.documents if one.value is None and one.findings}
    for at, state in enumerate(facts.states[: 2 * _MOST_SKILLS]):
        cards.setdefault(_find_column(state), []).append(_card(at, state, troubles.get(state.path, "")))
    columns = [
        h.html(
            '<div{}><h3>{}<span class="count"> {}</span></h3><ul role="list">{}</ul></div>',
            h.classes("column", _TONE_OF[title]), title, len(cards[title]), cards[title],
        )
        for title in _ORDER
        if title in cards
    ]  # fmt: skip
    in_rows = len(columns) < _FEW_COLUMNS or max(map(len, cards.values())) > _HIGH
    parts = [h.html("<div{}>{}</div>", h.classes("board", "rows" if in_rows else ""), columns)]
    more = len(facts.states) - 2 * _MOST_SKILLS
    if more > 0:
        parts.append(h.prose(f"and {h.count_of(more, 'more checkpoint')}: checkpoint status lists them", "dim"))
    return Section("board", "Board", parts)


def _find_column(state: State) -> str:
    return next(title for title, _, fits in _COLUMNS if fits(state))


def _card(at: int, state: State, trouble: str) -> Markup:
    badges = _badges(state)[_find_column(state) == "Not started" :]  # its status would say the contrary
    age = ""
    if state.age is not None:
        said = age_text(state.age)
        age = "written just now" if said == "now" else f"written {said} ago" if state.age > 0 else f"dated {said}"
    where = " / ".join(filter(None, (shorten(state.phase, 60), shorten(state.step, 60))))
    facts = [h.html("<span>{}</span>", text) for text in (where, age, shorten(state.tickets, 120)) if text]
    lead = trouble
    if state.blockers and not lead:
        waiting = [one for one in state.blockers if views.waits_on_user(one)]
        one = (waiting or state.blockers)[0]
        text = _words(one.get("description")) or _words(one.get("id")) or "(no description)"
        lead = f"{'Decide' if waiting else 'Blocker'}: {text}"
    elif state.actions and not lead:
        lead = f"Next: {state.actions[0].shown}"
    parts = [h.html("<h4>{}</h4>", h.link(shorten(state.skill, 100), f"#skill-{at + 1}" if at < _MOST_SKILLS else ""))]
    if badges:
        parts.append(h.html('<p class="badges">{}</p>', [h.html("{} ", each) for each in badges]))
    if facts:
        parts.append(h.html('<p class="facts">{}</p>', facts))
    if state.rows:
        parts.append(h.bar(state.complete_rows, len(state.rows), "rows complete"))
    if lead:
        parts.append(h.html('<p class="lead">{}</p>', shorten(lead, 220)))
    return h.html('<li class="card">{}</li>', parts)


def _badges(state: State) -> list[Markup]:
    found = [h.badge(shorten(state.status.replace("_", " "), 40), TONES.get(state.status, ""))]
    if state.stale and state.age is not None:
        found.append(h.badge(f"stale, {state.age // DAY} days", "warn"))
    if state.budget:
        found.append(h.badge(state.budget, "bad"))
    return found


def _skills(facts: PageFacts) -> Section | None:
    if not facts.states:
        return None
    documents = {document.path: document for document in facts.documents}
    shown, parts = facts.states[:_MOST_SKILLS], list[Markup]()
    for number, state in enumerate(shown, 1):
        content = list(_skill(state, documents[state.path])) or [h.prose("It says nothing more.", "dim")]
        badges = _badges(state)
        if state.rows:
            badges.append(h.badge(f"{state.complete_rows} of {len(state.rows)} rows"))
        name, is_open = shorten(state.skill, 100), len(shown) <= _FEW
        parts.append(h.fold(name, content, badges, anchor=f"skill-{number}", level=3, is_open=is_open))
    more = len(facts.states) - len(shown)
    if more:
        parts.append(h.prose(f"and {h.count_of(more, 'more checkpoint')}, which this page leaves out", "dim"))
    return Section("skills", "Skill by skill", parts)


def _skill(state: State, document: Document) -> Iterator[Markup]:
    if document.size > _LARGE:
        size = f"{document.size / (1 << 20):.1f} MB"
        yield h.prose(f"This checkpoint is large ({size}); what is shown of it is cut.", "warn")
    if state.summary:
        yield h.prose(shorten(state.summary, 2_000))
    for finding in document.findings[:3] if document.value is None else ():
        yield h.prose(finding.message, "bad")
    if state.rows:
        rows = [_row(row) for row in state.rows[:_MOST_ROWS]]
        yield h.grid("Progress", ("Row", "Status", "Id"), rows, len(state.rows) - len(rows))
    if state.blockers:
        each = zip(state.blockers[:_MOST_BLOCKERS], state.answers, state.merged, strict=False)
        shown = [_blocker(state, *one, named=False) for one in each]
        yield h.items(shown, title="Blockers", more=len(state.blockers) - len(shown))
    if state.actions:
        shown = [
            h.item(
                action._replace(text=shorten(action.text, 600)).shown,
                notes=[h.code(f"done when: {shorten(action.done_when, 300)}")] if action.done_when else [],
            )
            for action in state.actions[:_MOST_ACTIONS]
        ]
        yield h.items(shown, title="Next actions", is_ordered=True, more=len(state.actions) - len(shown))
    if state.shipped:
        shown = [h.item(shorten(text, 600), notes=[evidence]) for text, evidence in state.shipped[:_MOST_ACTIONS]]
        yield h.items(shown, title="Merged already", more=len(state.shipped) - len(shown))
    decisions = map(views.action_text, views.read_primer(document.value or {}, "key_decisions"))
    decided = [text for text in decisions if text.strip()]
    if decided:
        shown = [h.item(shorten(text, 500)) for text in decided[-_MOST_ACTIONS:]]
        yield h.items(shown, title="Decided", more=len(decided) - len(shown))


def _row(row: dict[str, Any]) -> list[str]:
    name, status = _words(row.get("label")) or _words(row.get("id")), _words(row.get("status")) or "?"
    sign = h.badge(shorten(status.replace("_", " "), 40), TONES.get(status, ""))
    return [shorten(name, 200) or "(no name)", sign, shorten(_words(row.get("id")), 80)]


def _tickets(facts: PageFacts) -> Section | None:
    refs = find_refs(facts.documents)
    if not refs:
        return None
    threads = [h.item(shorten(one.tickets, 300), h.badge(one.skill, "info")) for one in facts.states if one.tickets]
    rows: list[list[str]] = [
        [
            h.link(shorten(_words(ref.get("id")), 120), _words(ref.get("url"))),
            shorten(_words(ref.get("skill")), 100),
            shorten(_words(ref.get("role")), 40),
            shorten(_words(ref.get("provider")), 60),
            shorten(_words(ref.get("first_seen_at"))[:10], 10),
        ]
        for ref in refs[:_MOST_TICKETS]
    ]
    headers = ("Ticket", "Skill", "Role", "Provider", "First seen")
    thread = h.items(threads[:_MOST_SKILLS], title="The thread across skills", level=3)
    return Section("tickets", "Tickets", [thread, h.grid("All tickets", headers, rows, len(refs) - len(rows))])
