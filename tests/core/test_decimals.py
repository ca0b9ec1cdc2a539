"""Sums are exact, whatever their size and spelling."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.decimals import decimal_token, read_decimal
from tests.support.rows import rows


@rows(
    ("token", "value"),
    [
        (b"1.50", (150, 2)),
        (b"-0.5", (-5, 1)),
        (b"1e2", (100, 0)),
        (b"1E-2", (1, 2)),
        (b"2.5e1", (25, 0)),
    ],
)
def test_a_number_is_read_without_rounding(token: bytes, value: tuple[int, int]) -> None:
    assert read_decimal(token) == value


@rows("token", [b"1e400000000", b"9" * 2000, b"1e99999", "1", None, True])
def test_what_is_no_number_or_too_large_to_add_is_refused(token: object) -> None:
    assert read_decimal(token) is None


@given(digits=st.integers(-(10**40), 10**40), scale=st.integers(0, 45))
def test_writing_a_decimal_and_reading_it_loses_nothing(digits: int, scale: int) -> None:
    read = read_decimal(decimal_token(digits, scale))
    assert read is not None
    assert Fraction(read[0], 10 ** read[1]) == Fraction(digits, 10**scale)
