"""Nothing that we write installs our bare name from an index: whoever takes that name first would
run there.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.imports import ROOT
from tests.support.rows import rows

_INSTALLER = r"\b(?:pip3?|pipx|uvx|uv(?: tool| pip)?)\b[^\n|;&]*"
_OUR_NAME = (
    r"""(?<![\w./@-])["']?checkpoint-git(?:\[[\w,]+\])?(?:[=<>~!]=?[\w.$@]+)?["']?(?![\w/.@-])"""
)
_PINNED = r"checkpoint-git(?:\[[\w,]+\])?=="  # only an index knows versions
_BARE = re.compile(f"{_INSTALLER}{_OUR_NAME}|{_PINNED}")
# What acts on an environment of that name, and a list that its text says to make once the name is
# ours
_FINE = re.compile(r"uninstall|pipx (?:upgrade|inject)|uv pip compile")
_OURS = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "action.yml",
    "docs",
    "hooks",
    "plugins",
    ".github",
)


def find_bare_installs(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if _BARE.search(line)]
    return [line for line in lines if not _FINE.search(line)]


@rows(
    ("line", "is_bare"),
    [
        ("pip install checkpoint-git", True),
        ("    - (cd / && python3 -I -m pip install --quiet checkpoint-git==0.1.0)", True),
        ("uv tool install 'checkpoint-git[mcp]'", True),
        ("uvx checkpoint-git mcp", True),
        ("pipx run checkpoint-git status", True),
        ('install "checkpoint-git==$VERSION"', True),
        ('install() { "$bin/python" -m pip install "$@"; }; install "$ACTION"', False),
        ("uv tool install '/path/to/this/clone[mcp]'", False),
        ("uvx --from 'git+https://forge.example/o/checkpoint-git@a1b2' checkpoint status", False),
        ("uv tool uninstall checkpoint-git", False),
        ("pip install git+ADDRESS-OF-THIS-REPOSITORY", False),
    ],
)
def test_a_bare_install_is_seen(line: str, is_bare: bool) -> None:
    assert bool(find_bare_installs(line)) is is_bare


def list_texts() -> Iterator[Path]:
    for name in _OURS:
        path = ROOT / name
        yield from (
            [path] if path.is_file() else (found for found in path.rglob("*") if found.is_file())
        )
    yield from (ROOT / "checkpoint_git").rglob("*")


def test_nothing_that_we_write_installs_a_bare_name() -> None:
    faults = list[str]()
    read = 0
    for path in list_texts():
        if path.suffix in {".pyc", ".png", ".so"} or not path.is_file():
            continue
        if "_build" in path.parts:  # the site, which is made from what is read here
            continue
        read += 1
        faults += [
            f"{path.relative_to(ROOT)}: {line.strip()}"
            for line in find_bare_installs(path.read_text("utf-8"))
        ]
    assert read > 100
    assert faults == []


def test_a_list_of_hashes_is_made_only_once_the_name_is_ours() -> None:
    for path in list_texts():
        if path.suffix not in {".md", ".yml"}:
            continue
        text = path.read_text("utf-8")
        for place in re.finditer("uv pip compile", text):
            assert (
                "Once checkpoint-git is on PyPI"
                in text[max(0, place.start() - 400) : place.start()]
            ), path
