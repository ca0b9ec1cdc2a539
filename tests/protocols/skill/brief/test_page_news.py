"""The first line of a report: changes, people, decisions, and blockers that have been open for
long.
"""

import json

from checkpoint_git.core.clock import DAY
from checkpoint_git.git.history.steps import Commit
from checkpoint_git.protocols.skill.brief.brief import Brief
from checkpoint_git.protocols.skill.brief.history import LifeEntry
from checkpoint_git.protocols.skill.brief.life import LifeEvent
from checkpoint_git.protocols.skill.brief.overview import list_briefs
from checkpoint_git.protocols.skill.brief.page_lives import Lives
from checkpoint_git.protocols.skill.brief.page_news import describe_news
from checkpoint_git.protocols.skill.store import check_files
from tests.support.documents import LIMITS
from tests.support.samples import checkpoint
from tests.support.verbs import NOON, seconds

NOW = seconds(NOON)


def entry(days_ago: float, who: str, *events: LifeEvent) -> LifeEntry:
    at = NOW - int(days_ago * DAY)
    return LifeEntry("p", Commit(f"{at:040}", (), at, at, who, "x"), list(events))


def read_states() -> list[Brief]:
    """One checkpoint with two open blockers."""
    blockers = [
        {"id": name, "description": "waits", "needs": "user_decision"} for name in ("old", "new")
    ]
    text = json.dumps(checkpoint(status="blocked", blockers=blockers)).encode()
    return list_briefs(
        check_files([(".checkpoints/build.checkpoint.json", text)], NOW), NOW, LIMITS
    )


def news(*entries: LifeEntry) -> str:
    return describe_news(
        Lives({"build": entries}), read_states(), NOW - DAY, "yesterday", NOW, LIMITS
    )


def test_the_news_count_commits_people_and_decisions_since_then() -> None:
    assert (
        news(
            entry(0.1, "Ada", LifeEvent("decided", "a", "A"), LifeEvent("decided", "b", "B")),
            entry(0.2, "Ben", LifeEvent("queued", "c", "C")),
            entry(0.3, "Ada"),
            entry(2, "Eve", LifeEvent("decided", "d", "D")),
        )
        == "since yesterday: 3 changes by 2 people, 2 new decisions"
    )
    assert news(entry(0.1, "Ada")) == "since yesterday: 1 change by 1 person"
    assert news(entry(2, "Ada")) == "since yesterday: no changes"


def test_one_commit_of_two_checkpoints_is_one_change() -> None:
    lives = Lives({"build": [entry(0.1, "Ada")], "audit": [entry(0.1, "Ada")]})
    assert (
        describe_news(lives, [], NOW - DAY, "yesterday", NOW, LIMITS)
        == "since yesterday: 1 change by 1 person"
    )


def test_a_blocker_is_old_from_when_it_was_opened_last() -> None:
    opened = LifeEvent("opened", "old", "waits")
    gone = LifeEvent("opened", "answered", "waited")
    assert (
        news(entry(4, "Ada", opened, gone))
        == "since yesterday: no changes, 1 blocker older than 3 days"
    )
    assert news(entry(2, "Ada", opened), entry(9, "Ada", opened)) == "since yesterday: no changes"


def test_without_history_there_are_no_news() -> None:
    assert news() == ""
    assert news(LifeEntry("p", None, [LifeEvent("decided", "a", "A")])) == ""
