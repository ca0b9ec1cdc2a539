"""The part of a report's page that is about checkpoints, and how much there is room for."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from checkpoint_git.core.clock import DAY, write_instant
from checkpoint_git.core.page import PageParts, Section, Tone
from checkpoint_git.core.terminal_text import plural, shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.git.refs import read_commit_address
from checkpoint_git.protocols.contract import StatusQuestion, Summary
from checkpoint_git.protocols.document import Document, find_broken
from checkpoint_git.protocols.limits import Limits, read_limits
from checkpoint_git.protocols.skill import store, views
from checkpoint_git.protocols.skill.brief.brief import Brief, find_decisions, make_brief
from checkpoint_git.protocols.skill.brief.next_action import Queue, plan_queue
from checkpoint_git.protocols.skill.brief.overview import list_briefs
from checkpoint_git.protocols.skill.brief.page_blockers import list_blockers, list_decisions
from checkpoint_git.protocols.skill.brief.page_changes import TEMPLATE, list_changes
from checkpoint_git.protocols.skill.brief.page_lives import Lives, read_lives
from checkpoint_git.protocols.skill.brief.page_news import describe_news
from checkpoint_git.protocols.skill.brief.page_timeline import draw_timeline
from checkpoint_git.protocols.skill.brief.since import read_since
from checkpoint_git.protocols.skill.drift.merged_work import describe_facts, read_work

_MOST_SKILLS = 60  # shown in full
_MOST_ROWS = 60
_MOST_ACTIONS = 12
_FIRST_ACTIONS = 5  # that are shown unfolded
_MOST_TICKETS = 120
_FEW = 4  # skills that are shown unfolded
_RECENT = 7 * DAY  # what changed in this time is shown, where no other is asked for
_FEW_COLUMNS, _HIGH = 3, 4  # with fewer columns, or more cards in one, cards are beside each other
TONES: dict[str, Tone] = {
    "complete": "good",
    "in_progress": "info",
    "blocked": "warn",
    "failed": "bad",
    views.UNREADABLE: "bad",
}
# the first that fits takes a state
_COLUMNS: tuple[tuple[str, Tone, Callable[[Brief], bool]], ...] = (
    ("Waiting on you", "bad", lambda state: bool(state.decisions)),
    ("Failed", "bad", lambda state: state.status in ("failed", views.UNREADABLE)),
    ("Blocked", "warn", lambda state: state.status == "blocked"),
    ("Complete", "good", lambda state: state.status == "complete"),
    ("Not started", "", lambda state: state.unstarted),
    ("In progress", "info", lambda state: state.status == "in_progress"),
    ("Something else", "", lambda state: True),
)
_TONE_OF = {title: tone for title, tone, _ in _COLUMNS}
_BY_AGE = ("Waiting on you", "Failed", "Blocked", "In progress")
_ORDER = (
    "Waiting on you",
    "Failed",
    "Blocked",
    "In progress",
    "Not started",
    "Something else",
    "Complete",
)


class PageFacts(NamedTuple):
    """Hold what the page shows.

    states: in the order of the page. lives: the history. since: what is new since then. address:
    of a commit at the forge, without its id. news: the first line.
    """

    documents: Sequence[Document]
    states: Sequence[Brief]
    queue: Queue
    lives: Lives
    now: int = 0
    since: int = 0
    address: str = ""
    news: str = ""


class Shown(NamedTuple):
    """Hold the details of a checkpoint. number: of its anchor. decided: its key decisions."""

    number: int
    state: Brief
    document: Document
    decided: Sequence[str]


def summarize_for_page(question: StatusQuestion) -> Summary:
    """Return the page's part about checkpoints, and what is wrong with their files."""
    place, now = question.place, question.now
    documents = _read_documents(place, now)
    work, troubles = read_work(place, documents, now)
    limits = read_limits(place, question.env)
    briefs = list_briefs(documents, now, limits, work)
    queue = plan_queue(briefs)
    states = sort_states(briefs)
    if len(documents) > _MOST_SKILLS:
        shown = {state.path for state in states[:_MOST_SKILLS]}
        files = store.check_files(store.read_files(place, only=shown), now)
        whole = {document.path: document for document in files}
        documents = [whole.get(document.path, document) for document in documents]
        for index, state in enumerate(states[:_MOST_SKILLS]):
            if state.path in whole:
                filled = make_brief(whole[state.path], now, limits, work.get(state.path))
                states[index] = filled._replace(tickets=state.tickets)

    since = now - _RECENT
    if question.since is not None:
        since = read_since(question.since, now)

    address = ""
    if place.work_tree:
        address = read_commit_address(place.work_tree)

    lives = read_lives(place, [document.skill for document in documents])
    facts = PageFacts(
        documents=documents,
        states=states,
        queue=queue,
        lives=lives,
        now=now,
        since=since,
        address=address,
        news=_describe_news(question, lives, states, since, limits),
    )
    data = {"skills": len(states), "decisions": len(find_decisions(facts.states))}
    return Summary(data, [*find_broken(documents), *troubles], page=make_parts(facts))


def _read_documents(place: Place, now: int) -> list[Document]:
    """Return all documents; of many, whole are only those of which more than an outline is shown.

    Blockers name rows, so documents with open ones stay whole.
    """
    documents = list[Document]()
    for document in store.iterate_documents(place, now):
        is_whole = len(documents) < _MOST_SKILLS or views.open_blockers(document.value or {})
        if not is_whole:
            document = views.outline(document)
        documents.append(document)

    return documents


def sort_states(states: Sequence[Brief]) -> list[Brief]:
    """Return the states in the order of the page: by what there is to do.

    Of open work the longest unchanged comes first. Of the rest, what the given order has first.
    """

    def find_place(state: Brief) -> tuple[int, int]:
        column = _find_column(state)
        index = _ORDER.index(column)
        if column in _BY_AGE:
            return index, -(state.age or 0)
        return index, 0

    return sorted(states, key=find_place)


def _describe_news(
    question: StatusQuestion, lives: Lives, states: Sequence[Brief], since: int, limits: Limits
) -> str:
    """Return the news since the asked time, else since yesterday."""
    now = question.now
    if question.since is None:
        yesterday = read_since("yesterday", now)
        return describe_news(lives, states, yesterday, "yesterday", now, limits)
    return describe_news(lives, states, since, write_instant(since)[:10], now, limits)


def make_parts(facts: PageFacts) -> PageParts:
    """Return the page's title, its sections in their order, and what belongs beside them."""
    names = [state.project for state in facts.states if state.project.strip()]
    title = ""
    if names:
        most_frequent = max(dict.fromkeys(names), key=names.count)
        title = shorten(most_frequent, 60)

    notes = list[str]()
    if facts.lives.trouble:
        notes.append(facts.lives.trouble)

    sections = (
        list_decisions(facts.documents, facts.states, facts.lives, _MOST_SKILLS, facts.now),
        list_blockers(facts.documents, facts.states, facts.lives, _MOST_SKILLS, facts.now),
        _next(facts),
        _board(facts),
        draw_timeline(facts.lives, facts.states, TONES, _MOST_SKILLS, facts.now),
        list_changes(facts.lives, facts.since, facts.address),
    )
    return PageParts(
        title=title,
        facts=[plural(len(facts.states), "checkpoint")],
        chips=_list_chips(facts),
        sections=[section for section in sections if section],
        details=[section for section in (_skills(facts), _tickets(facts)) if section],
        notes=notes,
        lead=facts.news,
    )


def _list_chips(facts: PageFacts) -> list[tuple[str, Tone]]:
    """Return how many checkpoints are in each column, in short."""
    waiting = len(find_decisions(facts.states))
    counts = Counter(map(_find_column, facts.states))
    tone: Tone = "good"
    if waiting:
        tone = "bad"

    chips: list[tuple[str, Tone]] = [(f"{plural(waiting, 'decision')} waiting on you", tone)]
    for title in _ORDER[1:]:
        if counts[title]:
            chips.append((f"{counts[title]} {title.lower()}", _TONE_OF[title]))

    stale = sum(state.stale for state in facts.states)
    if stale:
        chips.append((f"{stale} stale", "warn"))
    return chips


def _next(facts: PageFacts) -> Section:
    """Return what comes next of each checkpoint, without the decisions: they have a section."""
    actions = [action for action in facts.queue.actions if action.rank != "decision"]
    skipped = facts.queue.skipped
    message = ""
    tone: Tone = ""
    if not actions:
        message, tone = _describe_nothing(facts)

    values = {
        "message": message,
        "tone": tone,
        "first": actions[:_FIRST_ACTIONS],
        "later": actions[_FIRST_ACTIONS:][:_MOST_ACTIONS],
        "left": max(len(actions) - _FIRST_ACTIONS - _MOST_ACTIONS, 0),
        "skipped": skipped[:_MOST_ACTIONS],
        "skipped_left": max(len(skipped) - _MOST_ACTIONS, 0),
        "describe": partial(describe_facts, now=facts.now),
    }
    return Section(TEMPLATE, "next", "Next", values, tone="info")


def _describe_nothing(facts: PageFacts) -> tuple[str, Tone]:
    """Return why there is no next action, and how good that is."""
    unread = sum(document.value is None for document in facts.documents)
    if unread:
        return f"Unknown: {plural(unread, 'checkpoint')} cannot be read.", "bad"
    if facts.queue.actions:
        return "Everything waits on the decisions above.", "warn"
    if facts.states:
        return "Nothing is left to do.", "good"
    return "No checkpoints yet.", "dim"


def _board(facts: PageFacts) -> Section:
    """Return the columns of cards, a card for each of the first checkpoints.

    A card is a state, the number of its details (0 for none), and why it cannot be read.
    """
    cards: dict[str, list[tuple[Brief, int, str]]] = {}
    troubles = dict[str, str]()
    for document in facts.documents:
        if document.value is None and document.findings:
            troubles[document.path] = document.findings[0].message

    for number, state in enumerate(facts.states[: 2 * _MOST_SKILLS], 1):
        anchor = 0
        if number <= _MOST_SKILLS:
            anchor = number
        card = (state, anchor, troubles.get(state.path, ""))
        cards.setdefault(_find_column(state), []).append(card)

    heights = [len(column) for title, column in cards.items() if title != "Complete"]
    values = {
        "columns": [(title, _TONE_OF[title], cards[title]) for title in _ORDER if title in cards],
        "counts": Counter(map(_find_column, facts.states)),
        "in_rows": len(cards) < _FEW_COLUMNS or max(heights, default=0) > _HIGH,
        "left": len(facts.states) - 2 * _MOST_SKILLS,
        "tones": TONES,
    }
    return Section(TEMPLATE, "board", "All work", values)


def _find_column(state: Brief) -> str:
    """Return the title of the column that a state belongs to."""
    return next(title for title, _, fits in _COLUMNS if fits(state))


def _skills(facts: PageFacts) -> Section | None:
    """Return the details of the first checkpoints, the complete ones last; None for none."""
    if not facts.states:
        return None
    documents = {document.path: document for document in facts.documents}
    open_ones = list[Shown]()
    complete = list[Shown]()
    for number, state in enumerate(facts.states[:_MOST_SKILLS], 1):
        document = documents[state.path]
        decided = map(views.action_text, views.read_primer(document.value or {}, "key_decisions"))
        shown = Shown(number, state, document, [text for text in decided if text.strip()])
        if _find_column(state) == "Complete":
            complete.append(shown)
        else:
            open_ones.append(shown)

    values = {
        "shown": open_ones,
        "complete": complete,
        "few": {
            "rows": _MOST_ROWS,
            "actions": _MOST_ACTIONS,
            "tones": TONES,
            "describe": partial(describe_facts, now=facts.now),
        },
        "left": len(facts.states) - len(open_ones) - len(complete),
        "is_open": len(open_ones) <= _FEW,
    }
    return Section(TEMPLATE, "skills", "Checkpoints", values)


def _tickets(facts: PageFacts) -> Section | None:
    """Return the table of tickets, and how those of each checkpoint hang together; None for
    none.
    """
    refs = views.find_refs(facts.documents)
    if not refs:
        return None
    threads = [state for state in facts.states if state.tickets][:_MOST_SKILLS]
    values = {"refs": refs[:_MOST_TICKETS], "left": len(refs) - _MOST_TICKETS, "threads": threads}
    return Section(TEMPLATE, "tickets", "Tickets", values)
