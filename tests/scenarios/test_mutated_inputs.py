"""A few mutated inputs for each reader; `python -m benchmarks.mutations` tries 100,000."""

from benchmarks.mutations import READERS, try_reader
from tests.support.rows import rows


@rows("name", READERS)
def test_a_mutated_input_is_read_as_others_read_it_or_refused(name: str) -> None:
    tried = (try_reader(name, number, seed=0) for number in range(40))
    troubles = [f"{wrong}: {data[:100]!r}" for wrong, data, _ in tried if wrong]
    assert not troubles, troubles[0]
