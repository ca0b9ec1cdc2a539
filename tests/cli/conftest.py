import sys

import pytest


@pytest.fixture(autouse=True)
def _program_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is typed, whatever started the tests."""
    monkeypatch.setattr(sys, "argv", ["checkpoint"])
