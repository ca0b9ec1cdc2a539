"""Our own merge on the vectors, in this process: `python -m conformance.ours [PROFILE]` prints the first that it fails.

A profile that is named is tried before the others.
"""

import json
import sys
from collections.abc import Iterator

from checkpoint_git.core.jsontext import JsonTextError, scan_tokens
from checkpoint_git.merge.file import merge_file
from checkpoint_git.merge.lint import lint_schema
from conformance.__main__ import GAVE_UP, read_profiles, read_vectors
from conformance.judge import Answer, Vector, both_ways, data_of, judge

_HARMLESS = ("schema/dead-reference", "schema/foreign-reference")  # what is behind it merges by its structure


def answer(vector: Vector) -> Answer:
    """Return what `checkpoint merge-file --schema` would answer."""
    base, ours, theirs = [data_of(vector[name]) for name in ("base", "ours", "theirs")]
    schema = vector.get("schema", {})
    if any(finding.code not in _HARMLESS for finding in lint_schema(schema)):
        return Answer(GAVE_UP, ours)
    try:
        result = merge_file(base, ours, theirs, scan_tokens(json.dumps(schema)))
    except JsonTextError:
        return Answer(GAVE_UP, ours)
    return Answer(min(len(result.conflicts), 127), result.data)


def find_faults(profile: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each vector that our merge answers otherwise, either way, and what is wrong."""
    for vector in both_ways(read_vectors(profile)):
        try:
            fault = judge(vector, answer(vector))
        except Exception as error:  # a merge that was changed on purpose may do anything
            fault = f"{type(error).__name__}: {error}"
        if fault:
            yield vector["id"], fault


def main() -> int:
    """Print the first fault, if there is one."""
    first = sys.argv[1:]
    for profile in [*first, *(name for name in read_profiles() if name not in first)]:
        for name, fault in find_faults(profile):
            print(f"{name}: {fault}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
