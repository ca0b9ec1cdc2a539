from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.tools.sync.backoff import find_pause


@given(st.integers(1, 10_000), st.floats(0, 600), st.floats(0, 1))
def test_a_pause_is_never_long(lost: int, took: float, luck: float) -> None:
    assert 0 <= find_pause(lost, took, luck) <= 40


@given(st.integers(1, 50), st.floats(0, 60), st.floats(0, 1))
def test_who_lost_more_often_waits_no_shorter(lost: int, took: float, luck: float) -> None:
    assert find_pause(lost, took, luck) <= find_pause(lost + 1, took, luck)


def test_luck_spreads_those_who_lost_together() -> None:
    assert find_pause(3, 0.2, 0.1) < find_pause(3, 0.2, 0.9)
