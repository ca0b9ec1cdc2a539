"""Find out how this package was installed, and the command that adds what it lacks beside it."""

import functools
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Blank, Hint, advise, command
from checkpoint_git.disk.read import read_own
from checkpoint_git.version import __version__

_NAME = "checkpoint-git"
# what is imported: what is installed
_PACKAGES = {
    "git": "GitPython",
    "jinja2": "Jinja2",
    "yaml": "PyYAML",
    "mcp_types": "mcp",
    "anyio": "mcp",
}
_PACKAGES |= {name: name for name in ("gitdb", "jsonschema", "mcp")}


def find_missing(error: ImportError, words: Sequence[str] = ()) -> CheckpointError | None:
    """Return the error for an import that failed, None for a module of no package beside this one.

    words: the command line without the program, which the hint starts again.
    """
    package = _PACKAGES.get((error.name or "").partition(".")[0])
    if package is None:
        return None

    by_pipx = os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json"))
    if is_temporary():
        start: tuple[str, ...] = ("uvx", "--from")
        if by_pipx:
            start = ("pipx", "run", "--spec")
        source = find_source()
        if package == "mcp":
            source = _add_extra(source, words)
        hint = command(*start, source, "checkpoint", *words)
    elif by_pipx:
        hint = command("pipx", "inject", _NAME, package)
    elif find_spec("pip"):
        hint = command(sys.executable, "-m", "pip", "install", package)
    else:
        hint = command("uv", "pip", "install", "--python", sys.executable, package)

    return CheckpointError(f"the Python package {package} is not installed", hint)


def import_all() -> None:
    """Import what hooks and `git mergetool` need of other packages. Raises ImportError."""
    for name in ("git", "jsonschema", "yaml"):
        importlib.import_module(name)


@functools.cache  # a process that sets up many repositories asks once
def find_start_trouble(python: str, package: str) -> str:
    """Return why `python` cannot start the package by its path, as hooks do; "" if it can."""
    words = [python, "-E", "-P", f"{package}/__main__.py", "--can-start"]
    try:
        done = subprocess.run(
            words, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError as error:
        return f"{python}: {error.strerror}"
    if done.returncode == 0:
        return ""
    printed = done.stderr.strip().splitlines() or [f"it exits with {done.returncode}"]
    return printed[-1]


def starts_on_path(env: Mapping[str, str]) -> bool:
    """Return whether there is a `checkpoint` on PATH, and it runs."""
    program = shutil.which("checkpoint", path=env.get("PATH", ""))
    if program is None:
        return False
    words = [program, "--version"]
    done = subprocess.run(words, env=dict(env), capture_output=True, check=False)
    return done.returncode == 0


def is_temporary() -> bool:
    """Return whether this is an environment of uvx or `pipx run`.

    It is in a cache, and is deleted with it.
    """
    parent = os.path.dirname(sys.prefix)
    folders = (parent, os.path.dirname(parent))
    return any(os.path.exists(os.path.join(folder, "CACHEDIR.TAG")) for folder in folders)


def find_pinned_source() -> str:
    """Return what a job can install to have this package.

    That is an address and commit, or our name and version on an index that it came from; "" if it
    came from neither, such as from a folder.
    """
    folder = os.path.normpath(
        os.path.join(__file__, "../../..", f"checkpoint_git-{__version__}.dist-info")
    )
    if not os.path.isdir(folder):
        return ""
    try:
        origin = json.loads(read_own(os.path.join(folder, "METADATA"), "direct_url.json"))
    except OSError:
        return f"{_NAME}=={__version__}"

    commit = origin.get("vcs_info", {}).get("commit_id", "")
    if not re.fullmatch(r"https://[\w.:/~-]+", origin["url"]):
        return ""
    if not re.fullmatch("[0-9a-f]{40,64}", commit):
        return ""
    return f"git+{origin['url']}@{commit}"


def find_source() -> str:
    """Return what an installer can take this package from.

    That is an address, a folder, or our name if an index has it. "" if that is not known, such as
    in an environment that was put together by hand.
    """
    checkout = os.path.normpath(os.path.join(__file__, "../../.."))
    if os.path.isfile(os.path.join(checkout, "pyproject.toml")):
        return checkout
    beside = os.path.join(checkout, f"checkpoint_git-{__version__}.dist-info")
    if not os.path.isdir(beside):
        return ""
    try:
        origin = json.loads(read_own(os.path.join(beside, "METADATA"), "direct_url.json"))
    except OSError:
        return _NAME

    address = str(origin["url"])
    if "vcs_info" in origin:
        return f"git+{address}"
    return address


def advise_installation(text: str) -> Hint:
    """Return what to do in words, and the command that installs this package to stay."""
    source = find_source() or Blank("the folder or address of checkpoint-git", "FOLDER-OR-ADDRESS")
    return advise(text, "uv", "tool", "install", source)


def _add_extra(source: str, words: Sequence[str]) -> str:
    """Return a requirement: our name with the extra that the command needs, and its source."""
    extra = "mcp"
    if "memory" in words[:1]:
        extra = "memory"
    name = f"{_NAME}[{extra}]"
    if source == _NAME:
        return name
    return f"{name} @ {source}"
