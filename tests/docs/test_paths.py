"""The pages for those who work on the code name files and folders that exist."""

import re

import pytest

from tests.architecture.imports import ROOT

PAGES = ("docs/internals/architecture.md", "CONTRIBUTING.md")
PATH = re.compile(
    r"(?<![\w/.-])((?:checkpoint_git|tests|docs|hooks|benchmarks|\.ci)/[\w./-]*|tools/[\w./-]+)"
)
LAYER = re.compile(r"^  (\S.*?)  +\d  ", re.MULTILINE)
PAGES_MADE = ("docs/_build/",)


def find_paths(text: str) -> list[str]:
    """Every path below the checkout that a page names, wherever it stands."""
    return [path.rstrip(".") for path in PATH.findall(text) if not path.startswith(PAGES_MADE)]


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_is_named_exists(page: str) -> None:
    paths = find_paths((ROOT / page).read_text("utf-8"))
    assert len(paths) > 15
    missing = [
        path
        for path in paths
        if not (ROOT / path).exists() and not (ROOT / "checkpoint_git" / path).exists()
    ]
    assert missing == []


def test_the_map_shows_every_package_and_only_those() -> None:
    text = (ROOT / "docs/internals/architecture.md").read_text("utf-8")
    shown = {name.strip("/") for row in LAYER.findall(text) for name in row.split(", ")}
    packages = {file.parent.name for file in (ROOT / "checkpoint_git").glob("*/__init__.py")}
    assert shown == packages
