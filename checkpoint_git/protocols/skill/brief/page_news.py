"""Write the first line of a report's page: what is new, and what has waited too long."""

from collections.abc import Sequence

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.terminal_text import plural
from checkpoint_git.protocols.limits import Limits
from checkpoint_git.protocols.skill.brief.brief import Brief
from checkpoint_git.protocols.skill.brief.history import LifeEntry
from checkpoint_git.protocols.skill.brief.page_lives import Lives, find_opened, name_blocker


def describe_news(
    lives: Lives, states: Sequence[Brief], since: int, named: str, now: int, limits: Limits
) -> str:
    """Return what changed since an instant in one sentence, "" if no history is known.

    named: the instant in words. now, since: seconds since 1970.
    """
    entries = [entry for found in lives.by_skill.values() for entry in found]
    if not any(entry.commit for entry in entries):
        return ""

    recent = [entry for entry in entries if entry.commit and entry.commit.at >= since]
    commits = {entry.commit.id: entry.commit.author for entry in recent if entry.commit}
    changes = "no changes"
    if commits:
        people = _count_people(set(commits.values()))
        changes = f"{plural(len(commits), 'change')} by {people}"

    parts = [f"since {named}: {changes}"]

    decided = sum(event.kind == "decided" for entry in recent for event in entry.events)
    if decided:
        parts.append(plural(decided, "new decision"))

    waiting = 0
    for state in states:
        entries_of_skill = lives.by_skill.get(state.skill, ())
        waiting += _count_old_blockers(state, entries_of_skill, now, limits.blocked)
    if waiting:
        parts.append(f"{plural(waiting, 'blocker')} older than {limits.blocked} days")
    return ", ".join(parts)


def _count_people(names: set[str]) -> str:
    if len(names) == 1:
        return "1 person"
    return f"{len(names)} people"


def _count_old_blockers(state: Brief, entries: Sequence[LifeEntry], now: int, days: int) -> int:
    """Return how many open blockers history saw being opened more than so many days ago.

    entries: of this checkpoint.
    """
    opened = find_opened(entries)
    old = 0
    for blocker in state.blockers:
        commit = opened.get(name_blocker(blocker.value))
        if commit and now - commit.at > days * DAY:
            old += 1
    return old
