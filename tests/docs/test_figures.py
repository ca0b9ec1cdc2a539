"""The numbers in our pages are those that the benchmarks wrote down."""

import re
from pathlib import Path

from benchmarks.figures import find_figures, list_pages, read_kept, renew, write_number
from tests.support.rows import rows

KEPT = read_kept()
MARKED = [
    (page, *figure) for page in list_pages() for figure in find_figures(page.read_text("utf-8"))
]


@rows(("page", "key", "row", "kind", "shown"), MARKED)
def test_a_marked_number_is_the_one_that_was_measured(
    page: Path, key: str, row: str, kind: str, shown: str
) -> None:
    assert write_number(KEPT, key, row, kind, shown) == shown, (
        "python -m benchmarks.figures writes it anew"
    )


def test_every_kept_figure_is_on_a_page() -> None:
    shown = {(key, row) for _, key, row, *_ in MARKED}
    assert {(key, row) for key, group in KEPT.items() for row in group["rows"]} <= shown


def test_no_row_of_the_first_table_of_figures_is_without_a_mark() -> None:
    (page,) = (page for page in list_pages() if page.name == "figures.md")
    table = re.findall(r"^\| .*$", page.read_text("utf-8").partition("## ")[0], re.MULTILINE)[1:]
    assert len(table) > 5
    assert all("<!-- " in row for row in table)


def test_a_number_is_written_with_the_decimals_that_it_has() -> None:
    kept = {"driver": {"date": "2026-01-02", "rows": {"a b": {"ms": 1234.56, "ratio": 2.345}}}}
    text = "<!-- driver: a b, ms -->9 <!-- driver: a b, ratio -->1.0x <!-- driver: a b, seconds -->0.00 s"
    assert [shown for *_, shown in find_figures(text)] == ["9", "1.0", "0.00"]
    assert re.sub("<.*?>", "", renew(text, kept)) == "1,235 2.3x 1.23 s"
