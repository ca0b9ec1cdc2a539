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
from checkpoint_git.protocols.skill.brief.brief import Brief, OpenBlocker
from checkpoint_git.protocols.skill.brief.page_changes import TEMPLATE
from checkpoint_git.protocols.skill.brief.page_lives import Lives, find_opened, name_blocker
from checkpoint_git.protocols.skill.drift.merged_work import describe_facts

_MOST_BLOCKERS = 20
_MOST_OPTIONS = 12  # of one decision
_LONGEST_OPTION = 80  # characters of an option that a command holds
_FIELDS = ("id", "description", "blocking", "proposed_resolution", "needs")


class Open(NamedTuple):
    """Hold a blocker that is open, or a decision that waits, as the page shows it.

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
    blockers = _find_open(documents, states, lives, numbered, now)
    decisions = [blocker for blocker in blockers if blocker.is_decision]
    return _make_section("decisions", "Decisions waiting on you", decisions, "bad")


def list_blockers(
    documents: Sequence[Document], states: Sequence[Brief], lives: Lives, numbered: int, now: int
) -> Section | None:
    """Return the open blockers that are not decisions, as list_decisions does."""
    blockers = _find_open(documents, states, lives, numbered, now)
    others = [blocker for blocker in blockers if not blocker.is_decision]
    return _make_section("blockers", "Blockers", others, "warn")


def _make_section(anchor: str, title: str, found: Sequence[Open], tone: Tone) -> Section | None:
    if not found:
        return None

    # those of unknown age come last
    in_order = sorted(found, key=lambda blocker: (not blocker.asked, blocker.asked))
    values = {"found": in_order[:_MOST_BLOCKERS], "left": len(found) - _MOST_BLOCKERS}
    return Section(TEMPLATE, anchor, title, values, tone=tone)


def _find_open(
    documents: Sequence[Document], states: Sequence[Brief], lives: Lives, numbered: int, now: int
) -> Iterator[Open]:
    """Yield all open blockers, decisions too. See list_decisions for what comes in."""
    values = {document.path: document.value or {} for document in documents}
    for number, state in enumerate(states, 1):
        if not state.blockers:
            continue
        opened = find_opened(lives.by_skill.get(state.skill, ()))
        labels = {
            row["id"]: words(row.get("label"))
            for row in state.rows
            if isinstance(row.get("id"), str)
        }
        named = views.name_open_blockers(values.get(state.path, {}))
        for index, open_blocker in enumerate(state.blockers):
            name = ""
            if index < len(named):
                _, name = named[index]
            blocker = _describe_open(state.skill, open_blocker, name, labels, opened, now)
            if number <= numbered:
                blocker = blocker._replace(number=number)
            yield blocker


def _describe_open(
    skill: str,
    blocker: OpenBlocker,
    command_name: str,
    labels: Mapping[str, str],
    opened: Mapping[str, Commit],
    now: int,
) -> Open:
    """Return an open blocker as the page shows it, without the number of details.

    command_name: what commands call it, "" if the checkpoint has no such blocker any more.
    labels: of the rows, by their ids. opened: see find_opened.
    """
    name, text, blocks, proposed, needs = (words(blocker.value.get(key)) for key in _FIELDS)

    options = list[tuple[str, str]]()
    if blocker.waits_on_user:
        needs = ""  # the section says it
        options = _find_options(skill, blocker.value, command_name)

    asked = 0
    who = ""
    commit = opened.get(name_blocker(blocker.value))
    if commit:
        asked = commit.at
        who = shorten(commit.author, 60)

    return Open(
        skill=skill,
        number=0,
        is_decision=blocker.waits_on_user,
        text=text or name or "(no description)",
        blocks=labels.get(blocks) or blocks,
        proposed=proposed,
        notes=describe_facts(blocker.facts, now),
        needs=needs.replace("_", " "),
        asked=asked,
        who=who,
        options=options,
        answer=str(blocker.answer),
    )


def _find_options(skill: str, blocker: dict[str, Any], command_name: str) -> list[tuple[str, str]]:
    """Return the options of a decision, each with the command that chooses it.

    An option that a command line cannot hold has "" instead.
    """
    found = list[tuple[str, str]]()
    for option in views.read_list(blocker, "options")[:_MOST_OPTIONS]:
        if not isinstance(option, str) or not option.strip():
            continue
        line = ""
        if len(option) <= _LONGEST_OPTION and option.isprintable() and command_name:
            line = str(command(*views.answer_command(skill, command_name, blocker, option)))
        found.append((option, line))

    return found
