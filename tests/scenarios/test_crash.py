"""Commands that die at each of their writes, in turn; `python -m benchmarks.crash` has all of them,
in every way.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmarks.crash import load_package, run_deaths
from benchmarks.crash_git import GIT_WAYS
from benchmarks.crash_verbs import VERBS, WAYS
from checkpoint_git.disk import atomic
from checkpoint_git.disk.replace import write_temporary

# of which calls it dies at every third, fifth, ...; few in a quick run, where a write and a merge
# stand for the others
QUICK = {"update": 5, "resolve": 10}
DEEP = {
    "update": 1,
    "workflow start": 3,
    "memory doctor fix": 3,
    "pipeline write": 2,
    "resolve": 5,
    "init": 15,
    "sync": 11,
    "doctor fix": 4,
    "claim": 3,
    "agent points back": 58,
    "restore first": 9,
}
BY_NAME = {verb.name: verb for verb in VERBS}


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load_package()


CASES = [*QUICK.items(), *(pytest.param(*case, marks=pytest.mark.deep) for case in DEEP.items())]


@pytest.mark.parametrize(("name", "every"), CASES)
def test_whenever_a_command_dies_nothing_is_broken_lost_or_left(
    tmp_path: Path, name: str, every: int
) -> None:
    deaths = list(run_deaths(BY_NAME[name], WAYS, tmp_path / "stage", every))
    assert len(deaths) > 8
    assert [death for death in deaths if death.trouble] == []


@pytest.mark.deep
@pytest.mark.skipif(not shutil.which("strace"), reason="there is no strace to kill git with")
@pytest.mark.parametrize(
    ("name", "every"), [("sync", 17), ("agent points", 9), ("restore gc", 3), ("claim", 11)]
)
def test_whenever_git_dies_nothing_is_broken_lost_or_left(
    tmp_path: Path, name: str, every: int
) -> None:
    deaths = list(run_deaths(BY_NAME[name], GIT_WAYS, tmp_path / "stage", every))
    assert len(deaths) > 3
    assert [death for death in deaths if death.trouble] == []


def test_a_write_that_is_not_flushed_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_unflushed(path: str, data: bytes, like: os.stat_result | None, **how: Any) -> str:
        return write_temporary(path, data, like, **{**how, "sync": False})

    monkeypatch.setattr(atomic, "write_temporary", write_unflushed)
    deaths = list(run_deaths(BY_NAME["update"], ("data",), tmp_path / "stage"))
    assert any("neither old nor new" in death.trouble for death in deaths)
    assert "acknowledged" in deaths[-1].trouble


def test_a_name_that_is_not_flushed_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "sync_folder", lambda folder: None)
    deaths = list(run_deaths(BY_NAME["update"], ("names",), tmp_path / "stage"))
    assert "acknowledged" in deaths[-1].trouble
