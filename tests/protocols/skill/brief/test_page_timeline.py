import pytest

from checkpoint_git.core.clock import DAY, HOUR
from checkpoint_git.git.history.steps import Commit
from checkpoint_git.protocols.skill.brief.history import Entry
from checkpoint_git.protocols.skill.brief.life import Event
from checkpoint_git.protocols.skill.brief.page_timeline import Kind, Lives, Mark, draw_lanes, find_ticks, list_changes
from tests.support.rows import rows


def mark(at: int, text: str, *kinds: Kind) -> Mark:
    return Mark(at, frozenset(kinds), text)


def test_marks_are_at_their_share_of_the_time_and_near_ones_are_one_that_shows_both() -> None:
    marks = [mark(0, "first", "other"), mark(50 * DAY, "one", "progress"), mark(50 * DAY + 60, "two", "blocker"),
             mark(100 * DAY, "last", "decision", "other")]  # fmt: skip
    drawn = draw_lanes({"build": marks})
    (lane,) = drawn["lanes"]
    assert [one["x"] for one in lane["marks"]] == ["1.50%", "50.00%", "98.50%"]
    assert [one["kinds"] for one in lane["marks"]] == [["other"], ["blocker", "progress"], ["decision"]]
    assert lane["marks"][1]["text"] == "one\ntwo"
    assert drawn["used"] == ["blocker", "progress", "decision", "other"]


@pytest.mark.parametrize(
    ("start", "span", "labels"),
    [
        (9 * DAY + 1_000, DAY, ["01-10 06:00", "01-10 12:00", "01-10 18:00", "01-11 00:00"]),
        (9 * DAY + 5, 4 * DAY, ["1970-01-11", "1970-01-12", "1970-01-13", "1970-01-14"]),
        (10 * DAY, 30 * DAY, ["1970-01-12", "1970-01-19", "1970-01-26", "1970-02-02", "1970-02-09"]),
    ],
)
def test_ticks_are_whole_hours_days_and_mondays(start: int, span: int, labels: list[str]) -> None:
    assert [label for _, label in find_ticks(start, start + span)] == labels


@rows("span", [0, 1, HOUR, 20 * DAY, 400 * DAY, 60_000 * DAY])
def test_there_are_never_many_ticks(span: int) -> None:
    assert len(find_ticks(5_000, 5_000 + span)) <= 6


def test_no_time_at_all_is_no_trouble() -> None:
    assert draw_lanes({})["lanes"] == []
    assert draw_lanes({"build": [mark(9 * DAY, "x", "other")]})["lanes"][0]["marks"][0]["x"] == "98.50%"


def test_changes_are_of_everybody_newest_first_and_older_ones_apart() -> None:
    def entry(at: int, who: str) -> Entry:
        return Entry(
            "p", Commit(f"{at:040}", (), at, at, who, "x"), [Event("decided", "a", "A"), Event("queued", "b", "B")]
        )

    lives = Lives({"build": [entry(9, "Ada"), entry(3, "Ada")], "audit": [entry(8, "Ben"), entry(7, "Ada")]})
    section = list_changes(lives, 5, "")
    assert section
    assert section.values["people"] == [("Ada", "2 commits: build, audit"), ("Ben", "1 commit: audit")]
    assert [row.at for row in section.values["recent"]] == [9, 8, 7]
    assert [row.what for row in section.values["older"]] == ["decided: A\nqueued: B"]
