"""Packages of Node.js that tests drive, installed once for all test runs of this user."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

# Asked before any test gets an empty home.
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "checkpoint-git-tests"
_IS_NEEDED = os.environ.get("NEED_MEMORY_SERVER") == "1"


def install_packages(folder: str, found: str, *packages: str) -> Path:
    """A folder of the cache with these packages (name@version); installed where the path `found`
    below it is missing. Skips, saying why, where that cannot be.
    """
    cache = _CACHE / folder
    if not (shutil.which("node") and shutil.which("npm")):
        _give_up("node or npm is not on PATH")
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / found).is_file():
            words = [
                "npm",
                "install",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--prefix",
                str(cache),
            ]
            try:
                done = subprocess.run(
                    [*words, *packages], capture_output=True, text=True, timeout=300
                )
            except subprocess.TimeoutExpired:
                _give_up(f"npm could not install {packages[0]} in five minutes")
            if done.returncode:
                _give_up(f"npm could not install {packages[0]}: {done.stderr[-300:]}")
    return cache


def _give_up(reason: str) -> NoReturn:
    if _IS_NEEDED:
        pytest.fail(reason)
    pytest.skip(reason)
