"""The script that checks the laws at length: it passes for the merge as it is, and notices a broken
one.
"""

from benchmarks.laws import LAWS, MERGES, Work, describe, make_history, run_chunk


def test_the_laws_hold_for_the_merge() -> None:
    counts = run_chunk(Work(3, range(150), "well"))
    assert counts.violation is None
    assert counts.histories == 150
    assert 0 < counts.conflicted < 150


def test_a_broken_merge_is_noticed_and_shown_small() -> None:
    violation = run_chunk(Work(3, range(150), "badly")).violation
    assert violation is not None
    assert violation.law in LAWS
    said = describe(violation, 3, MERGES["badly"])
    assert said.startswith(f"BROKEN: {violation.law}")
    assert sum(said.count(f"'{side}") for side in "bsot") <= 6


def test_a_history_is_made_from_its_seed_and_number_alone() -> None:
    assert make_history(1, 7) == make_history(1, 7)
    assert make_history(1, 7) != make_history(2, 7)
