"""Real checkpoint files, where they lie beside the project: merged in both orientations, nothing
lost, always JSON.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.merge.choosing import OURS, THEIRS, keep_side
from tests.merge.schemas import skill_schema
from tests.merge.test_laws import scalars
from tests.support.merging import merge_texts

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
CASES = sorted([*CORPUS.glob("real-merges/*"), *CORPUS.glob("pairs/*")])
NEEDS_CORPUS = pytest.mark.skipif(not CASES, reason="no corpus of real files beside the checkout")


def read_case(case: Path) -> list[str]:
    return [(case / f"{side}.json").read_bytes().decode() for side in ("base", "ours", "theirs")]


def without_declared(value: dict[str, Any]) -> dict[str, Any]:
    """Without what is declared to follow one side or to add up: instants, the directory, the latest
    run, costs.
    """
    state = value.get("skill_state") or {}
    state = {key: field for key, field in state.items() if key not in ("last_run", "streak")}
    declared = ("updated_at", "created_at", "project_dir", "protocol_version", "cost")
    return {
        key: field for key, field in {**value, "skill_state": state}.items() if key not in declared
    }


@NEEDS_CORPUS
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_a_real_pair_merges_alike_from_both_sides_and_loses_nothing(case: Path) -> None:
    base, ours, theirs = read_case(case)
    schema = skill_schema()
    one, other = (
        merge_texts(base or None, *sides, schema) for sides in ((ours, theirs), (theirs, ours))
    )
    assert len(one.conflicts) == len(other.conflicts)
    kept = [json.loads(keep_side(one.text, side)) for side in (OURS, THEIRS)]
    assert kept == [json.loads(keep_side(other.text, 2 - side)) for side in (OURS, THEIRS)]
    known = scalars(json.loads(base)) if base else set()
    for side in (ours, theirs):
        assert (
            scalars(without_declared(json.loads(side)))
            - known
            - scalars(kept[0])
            - scalars(kept[1])
            == set()
        )


@NEEDS_CORPUS
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_the_newest_policy_asks_nothing_about_the_head(case: Path) -> None:
    base, ours, theirs = read_case(case)
    merged = merge_texts(base or None, ours, theirs, skill_schema(), narrative="newest")
    times = [json.loads(side)["updated_at"] for side in (ours, theirs)]
    head = {"/phase", "/step", "/status", "/progress_summary"}
    assert times[0] == times[1] or not [
        conflict for conflict in merged.conflicts if conflict.where in head
    ]
