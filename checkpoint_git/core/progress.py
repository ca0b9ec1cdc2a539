"""A line on the terminal for a user who waits: what is being done, and how far it is."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from checkpoint_git.core.outcome import Invocation

T = TypeVar("T")
Tell = Callable[[str], None]


@contextmanager
def show_progress(invocation: Invocation) -> Iterator[Tell]:
    """Each text replaces the one before it; at the end the line is cleared. Without a terminal
    nothing is shown.
    """

    def tell(text: str) -> None:
        if invocation.interactive:
            invocation.stderr.write(f"\r\x1b[K{text}")
            invocation.stderr.flush()

    try:
        yield tell
    finally:
        tell("")


def follow(items: Iterable[T], what: str, total: int, invocation: Invocation) -> Iterator[T]:
    """The items as they come, and how far it is meanwhile."""
    with show_progress(invocation) as tell:
        for at, item in enumerate(items):
            tell(f"{what}: {at} of {total}")
            yield item
