"""Whether what was opened was closed again."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def closing_all() -> Iterator[None]:
    """Fail if the block leaves a file open."""
    before = _find_lowest_free()
    yield
    assert _find_lowest_free() == before, "a file is still open"


def _find_lowest_free() -> int:
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor
