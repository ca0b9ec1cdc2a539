"""How this package was installed, and the command that adds what it lacks beside it."""

import functools
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command
from checkpoint_git.disk.read import read_own
from checkpoint_git.version import __version__

# what is imported: what is installed; no other package's absence is told so
_PACKAGES = {"git": "GitPython", "jinja2": "Jinja2", "yaml": "PyYAML", "mcp_types": "mcp", "anyio": "mcp"}
_PACKAGES |= {name: name for name in ("gitdb", "jsonschema", "mcp")}


def find_missing(error: ImportError) -> CheckpointError | None:
    """What a user is told of an import that failed; None where the module is none that is installed beside us."""
    package = _PACKAGES.get((error.name or "").partition(".")[0])
    if package is None:
        return None
    hint = command("uv", "pip", "install", "--python", sys.executable, package)
    by_pipx = os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json"))
    if is_temporary():
        start = ("pipx", "run", "--spec") if by_pipx else ("uvx", "--from")
        hint = command(*start, _find_source(), "--with", package, "checkpoint-git")
    elif by_pipx:
        hint = command("pipx", "inject", "checkpoint-git", package)
    elif find_spec("pip"):
        hint = command(sys.executable, "-m", "pip", "install", package)
    return CheckpointError(f"the Python package {package} is not installed", hint)


def import_all() -> None:
    """Import what hooks and `git mergetool` need of other packages. Raises ImportError."""
    for name in ("git", "jsonschema", "yaml"):
        importlib.import_module(name)


@functools.cache  # a process that sets up many repositories asks once
def find_start_trouble(python: str, package: str) -> str:
    """Return why `python` cannot start the package by its path, as git's hooks do; "" if it can."""
    words = [python, "-E", "-P", f"{package}/__main__.py", "--can-start"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        return f"{python}: {error.strerror}"
    printed = done.stderr.strip().splitlines() or [f"it exits with {done.returncode}"]
    return printed[-1] if done.returncode else ""


def starts_on_path(env: Mapping[str, str]) -> bool:
    """Whether there is a `checkpoint` on PATH, and it runs."""
    program = shutil.which("checkpoint", path=env.get("PATH", ""))
    if program is None:
        return False
    return subprocess.run([program, "--version"], env=dict(env), capture_output=True, check=False).returncode == 0


def is_temporary() -> bool:
    """Whether this is an environment of uvx or `pipx run`, which lies in a cache and goes with it."""
    parent = os.path.dirname(sys.prefix)
    return any(os.path.exists(os.path.join(folder, "CACHEDIR.TAG")) for folder in (parent, os.path.dirname(parent)))


def find_pinned_source() -> str:
    """Return what a job can install to have this package: an address and commit, our name and version on an index that
    it came from, or "" if it came from neither, such as from a folder.
    """
    folder = os.path.normpath(os.path.join(__file__, "../../..", f"checkpoint_git-{__version__}.dist-info"))
    if not os.path.isdir(folder):
        return ""
    try:
        origin = json.loads(read_own(os.path.join(folder, "METADATA"), "direct_url.json"))
    except OSError:
        return f"checkpoint-git=={__version__}"
    commit = origin.get("vcs_info", {}).get("commit_id", "")
    is_plain = re.fullmatch(r"https://[\w.:/~-]+", origin["url"]) and re.fullmatch("[0-9a-f]{40,64}", commit)
    return f"git+{origin['url']}@{commit}" if is_plain else ""


def _find_source() -> str:
    # what an installer took us from: an address, or our name on an index
    try:
        origin = json.loads(read_own(__file__, "../..", f"checkpoint_git-{__version__}.dist-info", "direct_url.json"))
    except OSError:
        return "checkpoint-git"
    return f"git+{origin['url']}" if "vcs_info" in origin else str(origin["url"])
