"""A driver that is taken at its word."""

import pytest

from checkpoint_git.tools.doctor import driver_trial
from checkpoint_git.tools.doctor.driver_trial import Proof


@pytest.fixture
def untried_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the proof of the driver hold: it starts 40 processes, which is nine tenths of what a look costs.

    For tests of another subject. That the proof is made, and what it finds, test_driver_trial.py and the tests that
    do without this fixture show.
    """
    monkeypatch.setattr(driver_trial, "prove_driver", lambda settings, env: Proof("", ""))
