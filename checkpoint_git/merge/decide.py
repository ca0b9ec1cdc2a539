"""Conflicts decided one by one: a merge with some of its choices made, the rest still marked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from checkpoint_git.core.jsonwrite import Built, Choice, Entry
from checkpoint_git.merge.document import Merged, write_result

if TYPE_CHECKING:
    from checkpoint_git.core.jsonwrite import Result


def decide(merged: Merged, decisions: Mapping[str, int], marker_size: int = 7) -> Merged:
    """The merge with the conflicts at these places decided; the others stay.

    decisions: the `where` of a conflict of `merged.conflicts`, and OURS, BASE or THEIRS. A side that has nothing at
    the place leaves nothing there. Raises ValueError where the decided side has nothing and the place is the document.
    """
    result = _decided(merged.result, decisions)
    if result is None:
        raise ValueError("the chosen side has no document")
    return write_result(merged.merging, result, marker_size)


def _decided(result: Result, decisions: Mapping[str, int]) -> Result | None:
    if isinstance(result, Choice):
        if result.where not in decisions:
            return result
        chosen: Result | None = result.sides[decisions[result.where]]
        return chosen
    if not isinstance(result, Built):
        return result
    decided = [(entry, _decided(entry.result, decisions)) for entry in result.entries]
    entries = [Entry(entry.key, part, entry.source) for entry, part in decided if part is not None]
    return Built(result.anchor, entries, result.like)
