"""The part of a report's page that is about checkpoints, and how much of each thing there is room for."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from checkpoint_git.core.clock import DAY, write_instant
from checkpoint_git.core.page import PageParts, Section, Tone, words
from checkpoint_git.core.terminal_text import plural, shorten
from checkpoint_git.git.refs import read_commit_address
from checkpoint_git.protocols.contract import Question, Summary
from checkpoint_git.protocols.document import Document, find_broken
from checkpoint_git.protocols.skill import store, views
from checkpoint_git.protocols.skill.brief.brief import Brief, find_decisions, make_brief
from checkpoint_git.protocols.skill.brief.next_action import Queue, plan_queue
from checkpoint_git.protocols.skill.brief.overview import list_briefs
from checkpoint_git.protocols.skill.brief.page_news import describe_news
from checkpoint_git.protocols.skill.brief.page_timeline import TEMPLATE, Lives, draw_timeline, list_changes, read_lives
from checkpoint_git.protocols.skill.brief.since import read_since
from checkpoint_git.protocols.skill.drift.merged_work import Work, describe_facts, read_work

_MOST_SKILLS = 60  # shown in full
_MOST_BLOCKERS = 20
_MOST_ROWS = 60
_MOST_ACTIONS = 12
_MOST_TICKETS = 120
_FEW = 4  # skills that are shown unfolded
_BLOCKER_FIELDS = ("id", "description", "blocking", "proposed_resolution", "needs")
_RECENT = 7 * DAY  # what changed in this time is shown, where no other is asked for
_FEW_COLUMNS, _HIGH = 3, 4  # with fewer columns, or more cards in one, cards are beside each other
TONES: dict[str, Tone] = {
    "complete": "good", "in_progress": "info", "blocked": "warn", "failed": "bad", views.UNREADABLE: "bad",
}  # fmt: skip
# the first that fits takes a state
_COLUMNS: tuple[tuple[str, Tone, Callable[[Brief], bool]], ...] = (
    ("Waiting on you", "bad", lambda brief: bool(brief.decisions)),
    ("Failed", "bad", lambda brief: brief.status in ("failed", views.UNREADABLE)),
    ("Blocked", "warn", lambda brief: brief.status == "blocked"),
    ("Complete", "good", lambda brief: brief.status == "complete"),
    ("Not started", "", lambda brief: brief.unstarted),
    ("In progress", "info", lambda brief: brief.status == "in_progress"),
    ("Something else", "", lambda brief: True),
)
_TONE_OF = {title: tone for title, tone, _ in _COLUMNS}
_ORDER = ("Waiting on you", "Failed", "Blocked", "In progress", "Not started", "Something else", "Complete")


class PageFacts(NamedTuple):
    """What the page shows: documents and their states in the order of what matters, the queue, the history. since:
    what is new since then. address: of a commit at the forge, without its id. news: the first line.
    """

    documents: Sequence[Document]
    states: Sequence[Brief]
    queue: Queue
    lives: Lives
    now: int = 0
    since: int = 0
    address: str = ""
    news: str = ""


def summarize_for_page(question: Question) -> Summary:
    place, now = question.place, question.now
    documents = [  # of many, whole are only those of which a page shows more than an outline; blockers name rows
        document if at < _MOST_SKILLS or views.open_blockers(document.value or {}) else views.outline(document)
        for at, document in enumerate(store.iterate_documents(place, now))
    ]
    work, troubles = read_work(place, documents, now)
    states = list_briefs(documents, now, work)
    queue = plan_queue(states)
    if len(documents) > _MOST_SKILLS:
        shown = {state.path for state in states[:_MOST_SKILLS]}
        whole = {one.path: one for one in store.check_files(store.read_files(place, only=shown), now)}
        documents = [whole.get(one.path, one) for one in documents]
        states = [_fill_in(brief, whole.get(brief.path), now, work) for brief in states]
    since = now - _RECENT if question.since is None else read_since(question.since, now)
    address = read_commit_address(place.work_tree) if place.work_tree else ""
    lives = read_lives(place, [document.skill for document in documents])
    news = _describe_news(question, lives, states, since)
    facts = PageFacts(documents, states, queue, lives, now, since, address, news)
    data = {"skills": len(states), "decisions": len(find_decisions(facts.states))}
    return Summary(data, [*find_broken(documents), *troubles], page=make_parts(facts))


def _fill_in(brief: Brief, document: Document | None, now: int, work: Work) -> Brief:
    """Return a brief of the whole document in place of one that was made of an outline. document: None for neither."""
    if document is None:
        return brief
    return make_brief(document, now, work.get(document.path))._replace(tickets=brief.tickets)


def _describe_news(question: Question, lives: Lives, states: Sequence[Brief], since: int) -> str:
    """Return the news since the asked time, else since yesterday."""
    now = question.now
    if question.since is None:
        return describe_news(lives, states, read_since("yesterday", now), "yesterday", now)
    return describe_news(lives, states, since, write_instant(since)[:10], now)


def make_parts(facts: PageFacts) -> PageParts:
    names = [state.project for state in facts.states if state.project.strip()]
    waiting, counts = len(find_decisions(facts.states)), Counter(map(_find_column, facts.states))
    chips: list[tuple[str, Tone]] = [(f"{plural(waiting, 'decision')} waiting on you", "bad" if waiting else "good")]
    chips += [(f"{counts[title]} {title.lower()}", _TONE_OF[title]) for title in _ORDER[1:] if counts[title]]
    stale = sum(state.stale for state in facts.states)
    chips += [(f"{stale} stale", "warn")] if stale else []
    sections = (
        _blockers(facts, "decisions", "Decisions waiting on you", "bad"),
        _next(facts),
        _board(facts),
        list_changes(facts.lives, facts.since, facts.address),
        draw_timeline(facts.lives, facts.states),
        _blockers(facts, "blockers", "Blockers", ""),
    )
    return PageParts(
        title=shorten(max(dict.fromkeys(names), key=names.count), 60) if names else "",
        facts=[plural(len(facts.states), "checkpoint")],
        chips=chips,
        sections=[section for section in sections if section],
        details=[section for section in (_skills(facts), _tickets(facts)) if section],
        notes=[facts.lives.trouble] if facts.lives.trouble else [],
        lead=facts.news,
    )


def _blockers(facts: PageFacts, anchor: str, title: str, tone: Tone) -> Section | None:
    """The decisions that wait for the reader, which are at the top of the page, or all other blockers."""
    found = []
    for state in facts.states:
        labels = {row["id"]: words(row.get("label")) for row in state.rows if isinstance(row.get("id"), str)}
        for blocker in state.blockers:
            if blocker.waits_on_user == (anchor == "decisions"):
                name, text, blocks, proposed, needs = (words(blocker.value.get(key)) for key in _BLOCKER_FIELDS)
                text = text or name or "(no description)"
                entry = {
                    "skill": state.skill,
                    "text": text,
                    "blocks": labels.get(blocks) or blocks,
                    "proposed": proposed,
                    "notes": describe_facts(blocker.facts, facts.now),
                    "answer": str(blocker.answer),
                    "options": views.read_list(blocker.value, "options"),
                    "needs": "" if anchor == "decisions" else needs.replace("_", " "),
                }
                found.append(entry)
    values = {"found": found[:_MOST_BLOCKERS], "left": len(found) - _MOST_BLOCKERS}
    return Section(TEMPLATE, anchor, title, values, tone=tone) if found else None


def _next(facts: PageFacts) -> Section:
    actions, skipped = facts.queue
    unread = sum(document.value is None for document in facts.documents)
    message, tone = "", ""
    if not actions and unread:
        message, tone = f"Unknown: {plural(unread, 'checkpoint')} cannot be read.", "bad"
    elif not actions:
        message, tone = ("Nothing is left to do.", "good") if facts.states else ("No checkpoints yet.", "dim")
    values = {
        "message": message,
        "tone": tone,
        "actions": actions[: 1 + _MOST_ACTIONS],
        "left": max(len(actions) - 1 - _MOST_ACTIONS, 0),
        "skipped": skipped[:_MOST_ACTIONS],
        "skipped_left": max(len(skipped) - _MOST_ACTIONS, 0),
        "describe": partial(describe_facts, now=facts.now),
    }
    return Section(TEMPLATE, "next", "Next", values, tone="info")


def _board(facts: PageFacts) -> Section:
    cards: dict[str, list[tuple[Brief, int, str]]] = {}
    troubles = {one.path: one.findings[0].message for one in facts.documents if one.value is None and one.findings}
    for number, state in enumerate(facts.states[: 2 * _MOST_SKILLS], 1):
        card = (state, number if number <= _MOST_SKILLS else 0, troubles.get(state.path, ""))
        cards.setdefault(_find_column(state), []).append(card)
    values = {
        "columns": [(title, _TONE_OF[title], cards[title]) for title in _ORDER if title in cards],
        "in_rows": len(cards) < _FEW_COLUMNS or max(map(len, cards.values())) > _HIGH,
        "left": len(facts.states) - 2 * _MOST_SKILLS,
        "tones": TONES,
    }
    return Section(TEMPLATE, "board", "Board", values)


def _find_column(state: Brief) -> str:
    return next(title for title, _, fits in _COLUMNS if fits(state))


def _skills(facts: PageFacts) -> Section | None:
    if not facts.states:
        return None
    documents = {document.path: document for document in facts.documents}
    shown = []
    for state in facts.states[:_MOST_SKILLS]:
        document = documents[state.path]
        decided = map(views.action_text, views.read_primer(document.value or {}, "key_decisions"))
        shown.append((state, document, [text for text in decided if text.strip()]))
    values = {
        "shown": shown,
        "few": {
            "rows": _MOST_ROWS,
            "actions": _MOST_ACTIONS,
            "tones": TONES,
            "describe": partial(describe_facts, now=facts.now),
        },
        "left": len(facts.states) - len(shown),
        "is_open": len(shown) <= _FEW,
    }
    return Section(TEMPLATE, "skills", "Checkpoints", values)


def _tickets(facts: PageFacts) -> Section | None:
    refs = views.find_refs(facts.documents)
    threads = [state for state in facts.states if state.tickets][:_MOST_SKILLS]
    values = {"refs": refs[:_MOST_TICKETS], "left": len(refs) - _MOST_TICKETS, "threads": threads}
    return Section(TEMPLATE, "tickets", "Tickets", values) if refs else None
