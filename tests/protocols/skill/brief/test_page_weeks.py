from checkpoint_git.core.clock import DAY
from checkpoint_git.git.history.steps import Commit
from checkpoint_git.protocols.skill.brief.history import LifeEntry
from checkpoint_git.protocols.skill.brief.life import LifeEvent
from checkpoint_git.protocols.skill.brief.page_lives import Lives
from checkpoint_git.protocols.skill.brief.page_weeks import find_weeks
from tests.support.verbs import seconds

NOW = seconds("2026-11-28T12:00:00Z")  # a Saturday


def entry(at: int, *events: LifeEvent) -> LifeEntry:
    return LifeEntry("p", Commit(f"{at:040}", (), at, at, "Ada", "x"), list(events))


def test_a_week_counts_its_steps_once_and_names_what_became_complete() -> None:
    api = [
        entry(
            NOW,
            LifeEvent("completed", "tests", "Tests"),
            LifeEvent("done", "tests", "tests"),
            LifeEvent("queued", "x", "x"),
        ),
        entry(
            NOW - 5 * DAY,
            LifeEvent("completed", "model", "Model"),
            LifeEvent("status", "status", "", "a", "complete"),
        ),
        entry(
            NOW - 20 * DAY,
            LifeEvent("done", "plan", "Plan"),
            LifeEvent("status", "status", "", "a", "blocked"),
        ),
    ]
    lives = Lives({"api": api, "docs": [entry(NOW - 6 * DAY, LifeEvent("done", "tests", "Tests"))]})
    assert [(week.name, week.text) for week in find_weeks(lives, NOW)] == [
        ("23 Nov 2026", "api complete; 2 steps finished in api"),
        ("16 Nov 2026", "1 step finished in docs"),
        ("9 Nov 2026", "nothing finished"),
        ("2 Nov 2026", "1 step finished in api"),
    ]


def test_there_is_a_year_of_weeks_at_most_and_this_one_at_least() -> None:
    assert len(find_weeks(Lives({"api": [entry(0, LifeEvent("done", "a", "A"))]}), NOW)) == 53
    assert len(find_weeks(Lives({}), NOW)) == 1
    assert (
        len(find_weeks(Lives({"api": [entry(NOW + 99 * DAY, LifeEvent("done", "a", "A"))]}), NOW))
        == 1
    )
