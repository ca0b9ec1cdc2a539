"""Deciding conflicts leaves exactly what choosing by hand in the marked text leaves."""

import json

from hypothesis import given

from checkpoint_git.merge.conflicts import decide
from tests.merge.choosing import BASE, OURS, THEIRS, keep_side
from tests.merge.operations import Operation
from tests.merge.test_laws import many, merged_of, ours_history, sides, theirs_history


@given(ours=ours_history, theirs=theirs_history)
@many
def test_deciding_every_conflict_is_choosing_a_side_in_the_text(
    ours: list[Operation], theirs: list[Operation]
) -> None:
    merged = merged_of(*sides(ours, theirs))
    for side in (OURS, THEIRS):
        decided = merged
        while decided.conflicts:
            decided = decide(decided, {conflict.where: side for conflict in decided.conflicts})
        assert json.loads(decided.text) == json.loads(keep_side(merged.text, side))


@given(ours=ours_history, theirs=theirs_history)
@many
def test_one_decision_leaves_the_other_conflicts_as_they_were(
    ours: list[Operation], theirs: list[Operation]
) -> None:
    merged = merged_of(*sides(ours, theirs))
    for conflict in merged.conflicts:
        decided = decide(merged, {conflict.where: BASE})
        assert len(decided.conflicts) >= len(merged.conflicts) - 1
        assert conflict.where not in [left.where for left in decided.conflicts if left is conflict]
