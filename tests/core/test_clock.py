"""Instants: text to numbers and back, compared exactly."""

import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checkpoint_git.core import clock
from tests.support.rows import rows

NOT_INSTANTS = [
    None, 5, "", "2026-03-31", "2026-13-45T00:00:00Z", "2026-02-29T00:00:00Z", "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00+0200", "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00:00+25:00", "0000-01-01T00:00:00Z", "\uff12026-01-01T00:00:00Z", "2026-01-01T00:00:00Zz",
]  # fmt: skip


@rows("text", NOT_INSTANTS)
def test_what_is_no_rfc_3339_instant_is_none(text: object) -> None:
    assert clock.read_instant(text) is None


def test_offsets_and_decimals_are_compared_exactly() -> None:
    assert clock.read_instant("2026-03-31T12:00:00+02:00") == clock.read_instant(
        "2026-03-31T10:00:00.000Z"
    )
    assert clock.read_instant("2026-03-31T08:30:00-01:30") == clock.read_instant(
        "2026-03-31T10:00:00.000Z"
    )
    early, late = (
        clock.read_instant("2026-03-31T10:00:00.25Z"),
        clock.read_instant("2026-03-31T10:00:00.3Z"),
    )
    assert early is not None
    assert late is not None
    assert early < late


@given(
    st.datetimes(min_value=datetime.datetime(1, 1, 2), max_value=datetime.datetime(9999, 12, 30))
)
def test_writing_and_reading_agree_with_the_calendar(moment: datetime.datetime) -> None:
    moment = moment.replace(microsecond=0)
    seconds = int((moment - datetime.datetime(1970, 1, 1)).total_seconds())
    text = clock.write_instant(seconds)
    assert text == moment.isoformat() + "Z"
    assert clock.read_instant(text) == (seconds, "")


@rows(
    ("seconds", "text"),
    [(0, "now"), (59, "now"), (60, "1m"), (7300, "2h"), (3 * 86400, "3d"), (-7300, "in 2h")],
)
def test_ages_are_said_in_the_largest_unit(seconds: int, text: str) -> None:
    assert clock.age_text(seconds) == text


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["2026-03-31", "2026-02-30", "2024-02-29", "0000-01-01", "2026-3-310"]),
            st.sampled_from(["T", "t", " "]),
            st.sampled_from(["00:", "23:", "24:", "14Z"]),
            st.sampled_from(["00:", "59:", "60:", "00Z", ":00"]),
            st.sampled_from(["00", "60", "61", "7"]),
            st.sampled_from(["Z", "z", ":", "+00:00", ".5Z", ""]),
        ),
        max_size=12,
    )
)
@example([("2026-03-31", "T", "24:", "00:", "00", "Z")])  # the next day, says Python 3.14
def test_a_plain_instant_is_one_as_it_would_be_written(parts: list[tuple[str, ...]]) -> None:
    for text in map("".join, parts):
        plain = (
            clock.read_instant(text) is not None
            and len(text) == 20
            and text[10] == "T"
            and text[-1] == "Z"
        )
        assert clock.is_plain_instant(text) == plain, text


@rows(
    ("seconds", "text"), [(0, "just now"), (59, "just now"), (3_600, "1h ago"), (-172_800, "in 2d")]
)
def test_how_long_ago_reads_as_people_say_it(seconds: int, text: str) -> None:
    assert clock.ago_text(seconds) == text


@pytest.mark.parametrize("text", ["2026-03-31T24:00:00Z", "2026-03-31T24:00"])
def test_no_day_has_an_hour_24_on_any_python(text: str) -> None:
    assert clock.read_instant(text) is clock.read_loose_instant(text) is None
    assert not clock.is_plain_instant(text)


def test_in_the_basic_format_too_hour_24_is_no_hour_and_minute_24_is_one() -> None:
    noon = clock.read_instant("2026-01-01T10:24:30Z")
    assert clock.read_loose_instant("20260101T102430Z") == noon
    assert clock.read_loose_instant("20260101T240000Z") is None
    assert clock.read_loose_instant("2026-01-01 24:00") is None
