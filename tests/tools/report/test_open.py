"""checkpoint report --open: in the user's browser, or the address where none can be started."""

import webbrowser

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.tools.report import verb
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import Ran, run_verb


@pytest.fixture
def project(repo: GitRepo) -> GitRepo:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    return repo


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the addresses that a browser was started with."""
    addresses = list[str]()

    def open_address(address: str) -> bool:
        addresses.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_address)
    return addresses


def report(repo: GitRepo, *words: str, answer: str | None = "") -> Ran:
    return run_verb(verb, "--no-doctor", "--open", *words, cwd=repo.path, answer=answer)


def test_on_a_terminal_a_browser_shows_the_page_that_was_written(
    project: GitRepo, opened: list[str]
) -> None:
    ran = report(project, "-o", "the page #1.html")
    assert opened == [(project.path / "the page #1.html").as_uri()]
    assert "%231.html" in opened[0]
    assert ran.outcome.data["opened"] is True
    assert ran.text.endswith("opened in the browser")


def test_off_a_terminal_no_browser_starts_and_the_address_is_shown(
    project: GitRepo, opened: list[str]
) -> None:
    ran = report(project, answer=None)
    address = (project.path / ".git" / verb.NAME).as_uri()
    assert ran.text.endswith(f"open {address}")
    assert (opened, ran.outcome.data["opened"]) == ([], False)


def test_without_a_browser_the_address_is_shown(
    project: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(address: str) -> bool:
        raise webbrowser.Error("could not locate runnable browser")

    for find in (lambda _: False, fail):
        monkeypatch.setattr(webbrowser, "open", find)
        ran = report(project)
        assert "file://" in ran.text
        assert ran.outcome.data["opened"] is False


def test_a_page_on_stdout_cannot_be_opened(project: GitRepo, opened: list[str]) -> None:
    with pytest.raises(CheckpointError, match="needs a file"):
        report(project, "-o", "-")
    assert opened == []
