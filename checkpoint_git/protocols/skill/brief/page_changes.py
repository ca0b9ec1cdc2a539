"""List the changes on a report's page: who changed what since an instant, and what before."""

from collections.abc import Sequence
from typing import NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.page import Section
from checkpoint_git.core.terminal_text import join_some, plural, shorten
from checkpoint_git.protocols.skill.brief.history import LifeEntry
from checkpoint_git.protocols.skill.brief.life import LOOKS, LifeEvent, describe_event
from checkpoint_git.protocols.skill.brief.page_lives import Lives

TEMPLATE = "protocols/skill/brief/page.html"
_MOST_ROWS = 200
_MOST_NAMES = 8  # checkpoints of one person


class ChangeRow(NamedTuple):
    """Hold one commit in the table of changes. at: seconds since 1970."""

    at: int
    skill: str
    what: str
    who: str
    commit: str


def list_changes(lives: Lives, since: int, address: str) -> Section | None:
    """Return what changed since an instant and by whom, then what changed before.

    address: of a commit without its id.
    """
    rows = list[ChangeRow]()
    for skill, entries in lives.by_skill.items():
        rows += [_make_row(skill, entry) for entry in entries]
    if not rows:
        return None

    rows.sort(key=lambda row: row.at, reverse=True)
    shown = rows[:_MOST_ROWS]
    values = {
        "people": _list_people([row for row in rows if row.at >= since]),
        "recent": [row for row in shown if row.at >= since],
        "older": [row for row in shown if row.at < since],
        "left": len(rows) - len(shown),
        "address": address,
    }
    return Section(TEMPLATE, "changes", f"Changes since {write_instant(since)[:10]}", values)


def _list_people(rows: Sequence[ChangeRow]) -> list[tuple[str, str]]:
    """Return each author with the number of commits and the checkpoints that they changed."""
    people = list[tuple[str, str]]()
    for who in dict.fromkeys(row.who for row in rows):
        of_author = [row for row in rows if row.who == who]
        names = join_some(list(dict.fromkeys(row.skill for row in of_author)), _MOST_NAMES)
        commits = len({row.commit for row in of_author})
        people.append((who or "not committed", f"{plural(commits, 'commit')}: {names}"))
    return people


def _make_row(skill: str, entry: LifeEntry) -> ChangeRow:
    """Return the row of an entry, without instant and author where it is not committed."""
    what = "\n".join(describe_events(entry.events, 6, 240))
    if entry.commit is None:
        return ChangeRow(0, shorten(skill, 100), what, "", "")
    return ChangeRow(
        at=entry.commit.at,
        skill=shorten(skill, 100),
        what=what,
        who=shorten(entry.commit.author, 60),
        commit=entry.commit.id,
    )


def describe_events(events: Sequence[LifeEvent], most: int, letters: int) -> list[str]:
    """Return a line for each event, `most` at most and with `letters` of its text."""
    lines = list[str]()
    for event in events[:most]:
        name, _, _ = LOOKS[event.kind]
        lines.append(f"{name}: {shorten(describe_event(event), letters)}")
    if len(events) > most:
        lines.append(f"and {len(events) - most} more")
    return lines
