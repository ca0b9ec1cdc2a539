"""The hermetic seal: a test that would read the user's git configuration or ask somebody fails
loudly.
"""

import gc
import itertools
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.support.codes import known_codes, watch_findings
from tests.support.costs import Costs
from tests.support.examples import register_profiles
from tests.support.repos import BARE_MUST_BE_NAMED, GitRepo
from tests.support.samples import checkpoint_text
from tests.support.scratch import work_in_memory
from tests.support.templates import compile_once

register_profiles()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --costs."""
    parser.addoption(
        "--costs",
        action="store_true",
        help="print the ten dearest tests and the CPU seconds in all",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Works in memory where there is room, and measures what the tests cost where somebody asks."""
    work_in_memory()
    if config.getoption("--costs"):
        config.pluginmanager.register(Costs(config), "costs")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects the tests without a search for garbage, and lets later searches be rare and leave
    out what was collected, which stays: they were 6 % of what the tests cost in their processes.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(10_000)  # 700 new objects by default


# what git, we, an agent in whose session the tests run, a forge's job and PostgreSQL's programs
# read
OUTSIDE = ("GIT_", "CHECKPOINT_", "XDG_", "CLAUDE", "CODEX_", "GITHUB_", "PG")

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


@pytest.fixture(scope="session", autouse=True)
def identity() -> Iterator[None]:
    """Whose commits the fixtures of modules make, which run before any test's seal: a newcomer's
    git knows no name.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, value in IDENTITY.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session", autouse=True)
def templates() -> Iterator[None]:
    """The templates of a report are compiled once."""
    with compile_once():
        yield


@pytest.fixture(scope="session")
def reported_codes() -> Iterator[set[str]]:
    """The finding codes that the package reports."""
    with watch_findings() as reported:
        yield reported


@pytest.fixture(autouse=True)
def listed_codes(reported_codes: set[str]) -> Iterator[None]:
    """Every code that a test makes the package report is in the table."""
    yield
    if reported_codes:
        unlisted = sorted(reported_codes - known_codes())
        reported_codes.clear()
        assert not unlisted, f"add rows to checkpoint_git/core/codes.py: {unlisted}"


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New empty folders, one after another: mktemp would look through all that are there each
    time.
    """
    folder = tmp_path_factory.mktemp("homes")

    def make() -> Iterator[Path]:
        for number in itertools.count():
            home = folder / str(number)
            home.mkdir()
            yield home

    return make()


@pytest.fixture(autouse=True)
def hermetic_seal(monkeypatch: pytest.MonkeyPatch, homes: Iterator[Path]) -> None:
    """Every test runs with an empty home, no system git configuration, no editor and nothing
    inherited that is read.
    """
    home = next(homes)
    for name in list(os.environ):
        if name.startswith(OUTSIDE) or name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
            monkeypatch.delenv(name)
    settings = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_EDITOR": "false",
        "GIT_SEQUENCE_EDITOR": "false",
        "GIT_TERMINAL_PROMPT": "0",
        **IDENTITY,
        "LC_ALL": "C.UTF-8",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    if BARE_MUST_BE_NAMED:
        (home / ".config/git").mkdir(parents=True)
        (home / ".config/git/config").write_text("[safe]\n\tbareRepository = explicit\n")


@pytest.fixture
def untried_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the proof of the driver hold, since it costs most of what a look of the doctor does.

    For tests of another subject: tests/tools/doctor/test_driver_trial.py and the tests without this
    fixture show that the proof is made, and what it finds.
    """
    from checkpoint_git.tools.doctor import driver_trial

    monkeypatch.setattr(
        driver_trial, "prove_driver", lambda settings, env: driver_trial.Proof("", "")
    )


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """An empty git repository on branch main."""
    return GitRepo.create(tmp_path / "repo")


@pytest.fixture
def project(repo: GitRepo) -> Path:
    """A repository whose .checkpoints holds the sample checkpoint "build"."""
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    return repo.path


@pytest.fixture
def build(project: Path) -> Path:
    """The path of the sample checkpoint."""
    return project / ".checkpoints/build.checkpoint.json"
