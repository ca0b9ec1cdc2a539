"""Merges of documents that a test writes as texts."""

from typing import Any

from checkpoint_git.merge.file import Merged, merge_file
from checkpoint_git.merge.places import AUTO
from checkpoint_git.tools.merges.judge import Judged, judge_merge

# verdicts by which nothing of either parent went missing
TAKEN = (
    "first",
    "second",
    "combined",
    "limited",
    "moved",
)


def merge_texts(
    base: str | None,
    ours: str,
    theirs: str,
    schema: dict[str, Any] | None = None,
    narrative: str = AUTO,
    marker_size: int = 7,
    inner: bool = False,
) -> Merged:
    """merge_file for texts."""
    data = None if base is None else base.encode()
    options: dict[str, Any] = {"narrative": narrative, "marker_size": marker_size, "inner": inner}
    return merge_file(data, ours.encode(), theirs.encode(), schema or {}, **options)


def judge_texts(
    base: str | None,
    first: str | None,
    second: str | None,
    result: str | None,
    schema: dict[str, Any],
    narrative: str = AUTO,
) -> Judged:
    """judge_merge for texts."""
    versions = [None if text is None else text.encode() for text in (base, first, second, result)]
    return judge_merge(versions[0], versions[1], versions[2], versions[3], schema, narrative)
