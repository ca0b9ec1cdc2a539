"""How long to wait after a lost race. Pure: luck is an argument."""

_LONGEST = 40.0  # seconds
_SHORTEST_TURN = 0.05
_GROWTH, _MOST_GROWN = 3, 6


def find_pause(lost: int, took: float, luck: float) -> float:
    """Seconds to wait before the next attempt.

    lost: races lost in a row. took: seconds that the last attempt took, which is what the others take too: it is long
    where the machine or the remote is busy. luck: between 0 and 1.
    """
    turns = float(_GROWTH) ** min(lost, _MOST_GROWN)
    return min(max(took, _SHORTEST_TURN) * turns, _LONGEST) * luck
