"""A few mutated inputs for each reader; `python -m benchmarks.mutations` tries a million."""

import shutil

import pytest

from benchmarks.mutations import READERS, try_all, try_reference
from tests.support.rows import rows


@rows("name", READERS)
def test_a_mutated_input_is_read_as_others_read_it_or_refused(name: str) -> None:
    troubles = [f"{wrong}: {data[:100]!r}" for wrong, data, _ in try_all(name, 40, seed=0) if wrong]
    assert not troubles, troubles[0]


@pytest.mark.skipif(shutil.which("node") is None, reason="the second implementation needs Node.js")
def test_mutated_documents_merge_as_in_the_second_implementation() -> None:
    troubles = [
        f"{wrong}: {data[:300]!r}" for wrong, data, _ in try_reference(100, seed=0) if wrong
    ]
    assert not troubles, troubles[0]
