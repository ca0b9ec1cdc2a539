from checkpoint_git.core.clock import DAY, HOUR
from checkpoint_git.git.history.steps import Commit
from checkpoint_git.protocols.skill.brief.history import LifeEntry
from checkpoint_git.protocols.skill.brief.life import LifeEvent
from checkpoint_git.protocols.skill.brief.overview import list_briefs
from checkpoint_git.protocols.skill.brief.page_lives import Lives
from checkpoint_git.protocols.skill.brief.page_timeline import (
    Kind,
    Lane,
    Mark,
    draw_lanes,
    draw_timeline,
    find_ticks,
)
from checkpoint_git.protocols.skill.brief.page_weeks import WEEK, Week
from checkpoint_git.protocols.skill.store import check_files
from tests.support.documents import LIMITS
from tests.support.rows import rows
from tests.support.samples import checkpoint_text
from tests.support.verbs import seconds

NOW = seconds("2026-11-28T12:00:00Z")
MAY = seconds("2026-05-28T12:00:00Z")


def mark(at: int, text: str, *kinds: Kind) -> Mark:
    return Mark(at, frozenset(kinds), text)


def test_marks_are_at_their_share_of_the_time_and_near_ones_are_one_that_shows_both() -> None:
    marks = [mark(100 * DAY, "last", "decision", "other"), mark(50 * DAY + 60, "two", "blocker"),
             mark(50 * DAY, "one", "progress"), mark(0, "first", "other")]  # fmt: skip
    drawn = draw_lanes([Lane("build", 1, "good", marks)], [], 100 * DAY)
    (lane,) = drawn["lanes"]
    assert [one["x"] for one in lane["marks"]] == ["1.50%", "50.00%", "98.50%"]
    assert [one["kinds"] for one in lane["marks"]] == [
        ["other"],
        ["blocker", "progress"],
        ["decision"],
    ]
    assert lane["marks"][1]["text"] == "two\none"
    assert (lane["first"], lane["last"]) == ("1.50%", "98.50%")
    assert lane["words"] == "4 changes, 1 Jan 1970 to 11 Apr 1970"
    assert drawn["used"] == ["blocker", "progress", "decision", "other"]


def test_the_span_ends_today_and_what_is_later_is_drawn_there() -> None:
    lanes = [
        Lane(
            "build",
            0,
            "",
            [mark(99_999 * DAY, "clock", "other"), mark(NOW - 90 * DAY, "x", "other")],
        )
    ]
    drawn = draw_lanes(lanes, [], NOW)
    assert drawn["today"] == "98.50%"
    assert [one["x"] for one in drawn["lanes"][0]["marks"]] == ["1.50%", "98.50%"]


@rows(
    ("start", "end", "labels"),
    [
        (MAY, NOW, ["Jun", "Jul", "Aug", "Sep", "Oct", "Nov"]),
        (NOW, NOW + 92 * DAY, ["Dec", "2027", "Feb"]),
        (MAY, MAY + 4 * 365 * DAY, ["Jul", "2027", "Jul", "2028", "Jul", "2029", "Jul", "2030"]),
        (MAY, MAY + 12 * 365 * DAY, [str(year) for year in range(2027, 2039)]),
        (NOW - 30 * DAY, NOW, ["2 Nov", "9 Nov", "16 Nov", "23 Nov"]),
        (NOW - 4 * DAY, NOW, ["25 Nov", "26 Nov", "27 Nov", "28 Nov"]),
        (NOW - DAY, NOW, ["27 Nov 12:00", "27 Nov 18:00", "28 Nov 00:00", "28 Nov 06:00", "28 Nov 12:00"]),
    ],
)  # fmt: skip
def test_ticks_are_whole_hours_days_mondays_and_months(
    start: int, end: int, labels: list[str]
) -> None:
    assert [label for _, label in find_ticks(start, end)] == labels


@rows("span", [0, 1, HOUR, 20 * DAY, 400 * DAY, 60_000 * DAY, 20_000_000 * DAY])
def test_there_are_never_many_ticks(span: int) -> None:
    assert len(find_ticks(5_000, 5_000 + span)) <= 13


def test_no_time_at_all_is_no_trouble() -> None:
    assert draw_lanes([], [], NOW)["lanes"] == []
    drawn = draw_lanes([Lane("build", 0, "", [mark(NOW, "x", "other")])], [], NOW)
    assert drawn["lanes"][0]["marks"][0]["x"] == "98.50%"


def test_a_week_has_a_column_as_high_as_what_it_finished() -> None:
    monday = seconds("2026-11-23T00:00:00Z")
    weeks = [
        Week(monday - ago * WEEK, [], steps, ["api"]) for ago, steps in enumerate((4, 0, 8, 1))
    ]
    lanes = [Lane("build", 0, "", [mark(monday - 3 * WEEK, "x", "progress")])]
    columns = draw_lanes(lanes, weeks, NOW)["columns"]
    assert [column["height"] for column in columns] == [14, 28, 4]
    assert columns[0]["text"] == "Week of 23 Nov 2026: 4 steps finished in api"
    assert draw_lanes(lanes, weeks[:2], NOW)["columns"] == []


def test_lanes_are_in_the_order_of_time_and_the_latest_are_kept() -> None:
    names = [f"s{at:02}" for at in range(70)]
    text = checkpoint_text().encode()
    documents = check_files([(f".checkpoints/{name}.checkpoint.json", text) for name in names], NOW)
    by_skill = {}
    for at, name in enumerate(names):
        commits = [
            Commit(f"{at}{ago}", (), NOW - (100 - at) * HOUR - ago, NOW, "Ada", "x")
            for ago in (0, at * DAY)
        ]
        by_skill[name] = [
            LifeEntry("p", commit, [LifeEvent("step", "step", "", "a", "b")]) for commit in commits
        ]
    section = draw_timeline(Lives(by_skill), list_briefs(documents, NOW, LIMITS), {}, 60, NOW)
    assert section
    assert [lane["skill"] for lane in section.values["lanes"]] == names[10:]
    assert section.note == "since 19 Sep 2026; without 10 more checkpoints"
