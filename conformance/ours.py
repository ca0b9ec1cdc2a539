"""Our own merge on the vectors, in this process: `python -m conformance.ours [PROFILE]` prints the
first that it fails.

A profile that is named is tried before the others.
"""

import json
import sys
from collections.abc import Iterator

from checkpoint_git.core.jsontext import JsonTextError, scan_tokens
from checkpoint_git.core.user_schema import make_judge
from checkpoint_git.merge.file import merge_file
from checkpoint_git.merge.lint import lint_schema
from conformance.__main__ import GAVE_UP, read_profiles, read_vectors
from conformance.judge import Answer, Vector, both_ways, data_of, judge

# what is behind it merges by its structure
_HARMLESS = (
    "schema/dead-reference",
    "schema/foreign-reference",
)


def answer(vector: Vector) -> Answer:
    """Return what `checkpoint merge-file --schema` would answer."""
    return _merge(vector, is_refused(vector))


def is_refused(vector: Vector) -> bool:
    """Whether the vector's schema has a mistake, so that nothing is merged."""
    return any(finding.code not in _HARMLESS for finding in lint_schema(vector.get("schema", {})))


def _merge(vector: Vector, refused: bool) -> Answer:
    base, ours, theirs = [data_of(vector[name]) for name in ("base", "ours", "theirs")]
    if refused:
        return Answer(GAVE_UP, ours)
    try:
        schema = vector.get("schema", {})
        tokens = scan_tokens(json.dumps(schema))
        result = merge_file(
            base, ours, theirs, tokens, judge=make_judge(tokens) if schema else None
        )
    except JsonTextError:
        return Answer(GAVE_UP, ours)
    return Answer(min(len(result.conflicts), 127), result.data)


def find_faults(profile: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each vector that our merge answers otherwise, either way, and what is
    wrong.
    """
    for vector in read_vectors(profile):
        for name, fault in _find_faults_of(vector):
            if fault:
                yield name, fault


def _find_faults_of(vector: Vector) -> Iterator[tuple[str, str]]:
    # a merge that was changed on purpose may do anything
    try:
        refused = is_refused(vector)  # both ways have one schema, and to check it takes longest
    except Exception as error:
        yield vector["id"], f"{type(error).__name__}: {error}"
        return

    for way in both_ways([vector]):
        try:
            yield way["id"], judge(way, _merge(way, refused))
        except Exception as error:
            yield way["id"], f"{type(error).__name__}: {error}"


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
