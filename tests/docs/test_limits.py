"""docs/limits.md has the numbers that the code has, and the site's page of limits has every one."""

import re

import pytest

from docs import reference
from docs.reference import list_limits, read_limits, write_number
from tests.architecture.imports import ROOT

PAGE = (ROOT / "docs/limits.md").read_text()
SHOWN = re.findall(r"`([\w.]+)\.(\w+)` ([\d,.]*\d)", PAGE)
SHOWN_LIMIT = re.compile(r"`[a-z_]+(?:\.[a-z_]+)*\.[A-Z_]+`")


def test_a_limit_on_the_page_and_in_the_reference_has_the_number_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = read_limits()
    numbers = {f"{module}.{name}": write_number(limits[module][name]) for module, name, _ in SHOWN}
    assert len(SHOWN) > 30
    assert {f"{module}.{name}": number for module, name, number in SHOWN} == numbers

    monkeypatch.setattr(reference, "read_limits", lambda: limits)
    page = "\n".join(list_limits())
    assert sum(len(names) for names in limits.values()) > 150
    assert {"_LONGEST_REASON", "_LONGEST_BRANCH"} <= limits["git.remotes"].keys()
    assert all(f"`{name}` {write_number(value)}" in page for names in limits.values() for name, value in names.items())


def test_no_other_page_repeats_the_limits() -> None:
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "generated"]
    shown = {page.name for page in pages if len(SHOWN_LIMIT.findall(page.read_text())) > 2}
    assert shown == {"limits.md"}
