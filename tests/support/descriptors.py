"""Whether what was opened was closed again."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def closing_all() -> Iterator[None]:
    """Fail if the block leaves a file open."""
    before = _find_open()
    yield
    assert _find_open() <= before, "a file is still open"


def _find_open() -> set[int]:
    found = set()
    for descriptor in range(256):  # the lowest free one is always given
        with suppress(OSError):
            os.fstat(descriptor)
            found.add(descriptor)
    return found
