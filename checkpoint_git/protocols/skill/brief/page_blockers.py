"""The decisions that wait for the reader of a report's page, and the other blockers that are
open.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.hint import command
from checkpoint_git.core.page import Section, Tone, words
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.git.history.steps import Commit
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import views
from checkpoint_git.protocols.skill.brief.brief import Brief
from checkpoint_git.protocols.skill.brief.page_changes import TEMPLATE
from checkpoint_git.protocols.skill.brief.page_lives import Lives, find_opened, name_blocker
from checkpoint_git.protocols.skill.drift.merged_work import describe_facts

_MOST_BLOCKERS = 20
_MOST_OPTIONS = 12  # of one decision
_LONGEST_OPTION = 80  # characters of an option that a command holds
_FIELDS = ("id", "description", "blocking", "proposed_resolution", "needs")


class Open(NamedTuple):
    """A blocker that is open, or a decision that waits.

    number: of its checkpoint's details, 0 for none. asked: when it was opened, in seconds since
    1970, 0 for unknown, by who. options: of a decision, each with the command that chooses it, ""
    for none. answer: the command that settles it.
    """

    skill: str
    number: int
    is_decision: bool
    text: str
    blocks: str
    proposed: str
    notes: Sequence[str]
    needs: str
    asked: int
    who: str
    options: Sequence[tuple[str, str]]
    answer: str


def list_decisions(
    documents: Sequence[Document], states: Sequence[Brief], lives: Lives, numbered: int, now: int
) -> Section | None:
    """Return the decisions that wait for the reader, the longest first; None for none.

    states: of which the first ones, `numbered`, have details on the page.
    """
    found = [one for one in _find_open(documents, states, lives, numbered, now) if one.is_decision]
    return _make_section("decisions", "Decisions waiting on you", found, "bad")


def list_blockers(
    documents: Sequence[Document], states: Sequence[Brief], lives: Lives, numbered: int, now: int
) -> Section | None:
    """Return the open blockers that are not decisions, as list_decisions does."""
    found = [
        one for one in _find_open(documents, states, lives, numbered, now) if not one.is_decision
    ]
    return _make_section("blockers", "Blockers", found, "warn")


def _make_section(anchor: str, title: str, found: Sequence[Open], tone: Tone) -> Section | None:
    if not found:
        return None
    in_order = sorted(found, key=lambda one: (not one.asked, one.asked))  # unknown ones last
    values = {"found": in_order[:_MOST_BLOCKERS], "left": len(found) - _MOST_BLOCKERS}
    return Section(TEMPLATE, anchor, title, values, tone=tone)


def _find_open(
    documents: Sequence[Document], states: Sequence[Brief], lives: Lives, numbered: int, now: int
) -> Iterator[Open]:
    values = {document.path: document.value or {} for document in documents}
    for number, state in enumerate(states, 1):
        if state.blockers:
            opened = find_opened(lives.by_skill.get(state.skill, ()))
            value = values.get(state.path, {})
            for at in range(len(state.blockers)):
                one = _describe_open(state, at, opened, value, now)
                yield one._replace(number=number if number <= numbered else 0)


def _describe_open(
    state: Brief, at: int, opened: Mapping[str, Commit], value: dict[str, Any], now: int
) -> Open:
    """Return an open blocker as the page shows it.

    at: its place among the state's. opened: see find_opened. value: the checkpoint's.
    """
    blocker = state.blockers[at]
    is_decision = blocker.waits_on_user
    name, text, blocks, proposed, needs = (words(blocker.value.get(key)) for key in _FIELDS)
    labels = {
        row["id"]: words(row.get("label")) for row in state.rows if isinstance(row.get("id"), str)
    }
    commit = opened.get(name_blocker(blocker.value))
    return Open(
        skill=state.skill,
        number=0,
        is_decision=is_decision,
        text=text or name or "(no description)",
        blocks=labels.get(blocks) or blocks,
        proposed=proposed,
        notes=describe_facts(blocker.facts, now),
        needs="" if is_decision else needs.replace("_", " "),
        asked=commit.at if commit else 0,
        who=shorten(commit.author, 60) if commit else "",
        options=_find_options(state, at, value) if is_decision else [],
        answer=str(blocker.answer),
    )


def _find_options(state: Brief, at: int, value: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the options of a decision, each with the command that chooses it.

    An option that a command line cannot hold has "" instead.
    """
    found = list[tuple[str, str]]()
    for option in views.read_list(state.blockers[at].value, "options")[:_MOST_OPTIONS]:
        if isinstance(option, str) and option.strip():
            answers = views.find_answers(state.skill, value, option)
            fits = len(option) <= _LONGEST_OPTION and option.isprintable() and at < len(answers)
            found.append((option, str(command(*answers[at][1])) if fits else ""))
    return found
