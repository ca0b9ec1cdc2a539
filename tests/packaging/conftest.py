"""The wheel, built once."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.imports import ROOT


def run(*words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """A program that must succeed; what it printed."""
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the project as git would hand it out."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    made = (
        ".venv*",
        ".*_cache",
        "__pycache__",
        "dist",
        "build",
        "_build",
        "generated",
        ".hypothesis",
    )
    unwanted = shutil.ignore_patterns(".git", *made)
    shutil.copytree(ROOT, source, ignore=unwanted)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source)
    return next(folder.glob("*.whl"))
