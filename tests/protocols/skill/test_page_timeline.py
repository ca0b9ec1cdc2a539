import re

from checkpoint_git.core.clock import DAY
from checkpoint_git.protocols.skill.page_timeline import Mark, draw_lanes
from tests.core.test_html import read


def test_marks_are_at_their_share_of_the_time_and_near_ones_are_one() -> None:
    marks = [Mark(0, "other", "first"), Mark(50 * DAY, "progress", "one"), Mark(50 * DAY + 60, "blocker", "two"),
             Mark(100 * DAY, "decision", "last")]  # fmt: skip
    reader = read(draw_lanes({"build": marks}, "words"))
    places = [dict(found)["x"] for name, found in reader.elements if name == "svg" and "x" in dict(found)]
    assert places == ["1.50%", "50.00%", "98.50%"]
    shapes = [str(dict(found)["class"]) for name, found in reader.elements if name == "path"]
    assert shapes[:3] == ["mark other", "mark blocker", "mark decision"]
    assert "one\ntwo" in reader.texts
    days = [text for text in reader.texts if re.fullmatch(r"\d{4}-\d\d-\d\d", text)]
    assert (days[0], days[-1]) == ("1970-01-01", "1970-04-11")


def test_a_short_time_is_shown_with_hours_and_no_time_at_all_is_no_trouble() -> None:
    reader = read(draw_lanes({"build": [Mark(9 * DAY, "other", "x")]}, ""))
    days = [text for text in reader.texts if re.fullmatch(r"\d\d-\d\d \d\d:\d\d", text)]
    assert (days[0], days[-1]) == ("01-09 00:00", "01-10 00:00"), "up to the last mark, and not beyond"
    assert read(draw_lanes({}, "")).elements
