"""The numbers in our pages, taken from figures.json, which the benchmarks write.

A page marks a number with a comment before it: `<!-- driver: checkpoint driver, ratio -->1.14`.
`python -m benchmarks.figures` writes the numbers anew, each with as many decimals as it has; a test
compares them.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import KEPT

ROOT = Path(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_MARK = re.compile(r"(<!-- ([a-z-]+): ([^>]+?), ([a-z]+) -->)([0-9][0-9.,-]*[0-9]|[0-9])")


def list_pages() -> list[Path]:
    docs = ROOT / "docs"
    return [
        ROOT / "README.md",
        *sorted(docs.glob("*.md")),
        *sorted((docs / "internals").glob("*.md")),
    ]


def read_kept() -> dict[str, Any]:
    with open(KEPT, encoding="utf-8") as stream:
        found: dict[str, Any] = json.load(stream)
    return found


def write_number(kept: dict[str, Any], key: str, row: str, kind: str, shown: str) -> str:
    """What a figure is called on a page, with the decimals that it has there. Raises KeyError for
    an unknown one.
    """
    if kind == "date":
        return str(kept[key]["date"])
    figure = kept[key]["rows"][row]
    value = figure["ms"] / 1000 if kind == "seconds" else figure[kind]
    return f"{value:,.{len(shown.partition('.')[2])}f}"


def find_figures(text: str) -> Iterator[tuple[str, str, str, str]]:
    """(key, row, kind, the number as it is shown) of each mark."""
    for _, *found in _MARK.findall(text):
        yield (found[0], found[1], found[2], found[3])


def renew(text: str, kept: dict[str, Any]) -> str:
    return _MARK.sub(
        lambda found: found[1] + write_number(kept, found[2], found[3], found[4], found[5]), text
    )


def main() -> None:
    """Write the numbers anew in every page."""
    kept = read_kept()
    for page in list_pages():
        before = page.read_text("utf-8")
        after = renew(before, kept)
        if after != before:
            page.write_text(after, "utf-8")
            print(f"renewed: {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
