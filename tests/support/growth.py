"""Whether work grows with its input as it should: hostile input is long, and quadratic work on it never ends."""

import gc
import time
from collections.abc import Callable

FACTOR = 8
_LIMIT = 3 * FACTOR  # quadratic work would take FACTOR times FACTOR
_LEAST = 0.002  # seconds: less than that is noise


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Eight times the input takes less than 24 times the processor time; choose a size that takes some milliseconds."""
    small = min(_measure(work, size) for _ in range(3))
    large = min(_measure(work, size * FACTOR) for _ in range(2))
    assert large < _LIMIT * max(small, _LEAST), f"{size}: {small:.4f} s, {FACTOR * size}: {large:.4f} s"


def _measure(work: Callable[[int], object], size: int) -> float:
    gc.collect()
    gc.disable()  # how often it runs depends on what the tests before left behind
    try:
        began = time.process_time()
        work(size)
        return time.process_time() - began
    finally:
        gc.enable()
