"""Whether work grows with its input as it should: hostile input is long, and quadratic work on it
never ends.

The quick tests count the lines of the package that run: the same number on any machine. What the
interpreter does within a line, such as a search in a list or a regular expression, only a clock can
see: assert_linear_time is for tests marked `deep`.
"""

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import checkpoint_git

_PACKAGE = str(Path(checkpoint_git.__file__).parent)
_FACTOR = 4
_LIMIT = 8  # times the lines for four times the input; quadratic work takes 16 times

_TIMED_FACTOR = 8
_TIMED_LIMIT = 3 * _TIMED_FACTOR
_LEAST = 0.002  # seconds: less than that is noise


def count_lines(work: Callable[[int], object], size: int) -> int:
    """Return how many lines of the package run."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
        elif not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        work(size)
    finally:
        sys.settrace(former)
    return count


def grows_faster(work: Callable[[int], object], size: int) -> str:
    """Return "" where four times the input take at most eight times the lines; else the figures."""
    small, large = count_lines(work, size // _FACTOR), count_lines(work, size)
    return (
        f"{size // _FACTOR}: {small} lines, {size}: {large} lines" if large > _LIMIT * small else ""
    )


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Four times the input, up to this size, run at most eight times the lines."""
    assert not (figures := grows_faster(work, size)), figures


def assert_linear_time(work: Callable[[int], object], size: int) -> None:
    """Eight times the input takes less than 24 times the processor time; choose a size that takes
    some milliseconds.
    """
    small = min(_measure(work, size) for _ in range(3))
    large = min(_measure(work, size * _TIMED_FACTOR) for _ in range(2))
    assert large < _TIMED_LIMIT * max(small, _LEAST), (
        f"{size}: {small:.4f} s, {_TIMED_FACTOR * size}: {large:.4f} s"
    )


def _measure(work: Callable[[int], object], size: int) -> float:
    gc.collect()
    gc.disable()  # how often it runs depends on what the tests before left behind
    try:
        began = time.process_time()
        work(size)
        return time.process_time() - began
    finally:
        gc.enable()
