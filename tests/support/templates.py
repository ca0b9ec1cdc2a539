"""Jinja templates compiled once in a test process: each report would compile the page again."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partialmethod
from unittest.mock import patch

from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket


class _Compiled(BytecodeCache):
    def __init__(self) -> None:
        self._codes: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._codes:
            bucket.bytecode_from_string(self._codes[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key] = bucket.bytecode_to_string()


@contextmanager
def compile_once() -> Iterator[None]:
    """While it lasts, an environment takes what another one compiled from the same source."""
    initialise = partialmethod(Environment.__init__, bytecode_cache=_Compiled())
    with patch.object(Environment, "__init__", initialise):
        yield
