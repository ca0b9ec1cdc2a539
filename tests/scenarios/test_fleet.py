from pathlib import Path

import pytest

from benchmarks.fleet import Fleet, Verdict, run_fleet


@pytest.mark.deep
def test_clones_that_sync_one_skill_at_once_and_are_killed_lose_nothing(tmp_path: Path) -> None:
    tally, verdict = run_fleet(tmp_path, Fleet(clones=5, updates=4, kill_rate=0.4), seed=7)
    assert tally.killed > 0
    assert verdict == Verdict(20, [], verdict.commits, [], [], 0, [])
    assert verdict.commits == 21, "one commit an update, and the one it began with"


@pytest.mark.deep
def test_clones_of_one_machine_take_turns_and_lose_no_race(tmp_path: Path) -> None:
    tally, verdict = run_fleet(tmp_path, Fleet(clones=6, updates=3))
    assert (tally.lost_races, tally.pushes, tally.syncs) == (0, 18, 18)
    assert verdict == Verdict(18, [], 19, [], [], 0, [])
