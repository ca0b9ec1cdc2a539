"""A driver that is taken at its word."""

import pytest

from checkpoint_git.tools.doctor import driver_trial
from checkpoint_git.tools.doctor.driver_trial import Proof


@pytest.fixture
def untried_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the proof of the driver hold, since it costs most of what a look of the doctor does.

    For tests of another subject: test_driver_trial.py and the tests without this fixture show that the proof is made,
    and what it finds.
    """
    monkeypatch.setattr(driver_trial, "prove_driver", lambda settings, env: Proof("", ""))
