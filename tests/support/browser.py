"""A real headless Chromium, for what only a browser can tell about a page."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on PATH: .ci/run installs one where it can"
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
]


class Shown(NamedTuple):
    """dom: the page as the browser has it when all is loaded, as HTML. console: what the page's
    console says.
    """

    dom: str
    console: list[str]


def show(page: Path, *flags: str) -> Shown:
    """Opens a page in a browser of its own and ends it."""
    assert CHROMIUM
    with tempfile.TemporaryDirectory() as profile:
        words = [
            CHROMIUM,
            *FLAGS,
            f"--user-data-dir={profile}",
            "--virtual-time-budget=2000",
            *flags,
            "--dump-dom",
        ]
        done = subprocess.run([*words, f"file://{page}"], capture_output=True, timeout=120)
    said = done.stderr.decode("utf-8", "replace").splitlines()
    return Shown(
        done.stdout.decode("utf-8", "replace"), [line for line in said if "CONSOLE" in line]
    )
