"""What init and uninstall do for coding agents: the files are read here, and the steps planned in repo/setup/agents."""

import os
import stat
from collections.abc import Mapping, Sequence
from typing import get_args

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.tools.agents.plan import (
    AgentFile,
    count_missing_folders,
    find_agents,
    list_paths,
    plan_agents,
    plan_agents_removal,
)
from checkpoint_git.tools.agents.table import SIGNS, AgentName
from checkpoint_git.tools.setup.steps import Step

AUTO = "auto"
_HIDDEN = "git tracks it, but it is not checked out"
CHOICES = (AUTO, *get_args(AgentName))


def check_agents(words: Sequence[str], *, guard: bool = False) -> list[str]:
    """The agents named in words, which may hold several with commas between them. Raises CheckpointError."""
    names = [name for word in words for name in word.split(",") if name]
    unknown = [name for name in names if name not in CHOICES]
    hint = f"there are: {', '.join(CHOICES)}"
    if unknown or (words and not names):
        raise CheckpointError(f"--agent {shorten(unknown[0], 60) if unknown else ''}: there is no such agent", hint)
    if guard and not names:
        raise CheckpointError("--agent-guard goes with --agent", hint)
    return list(dict.fromkeys(names))


def read_agent_steps(place: Place, wanted: Sequence[str], env: Mapping[str, str], *, guard: bool) -> list[Step]:
    """The steps for the agents that are wanted, beside the checkpoints. guard: with the restore-point guard as a hook.

    Signs count at the top of the repository too.
    """
    folders = {place.root, place.top}
    found = find_agents(lambda sign: any(os.path.lexists(os.path.join(folder, sign)) for folder in folders))
    found = found if AUTO in wanted else []
    named = [name for name in get_args(AgentName) if name in wanted or name in found]
    if not named:
        looked_for = ", ".join(dict.fromkeys(sign for _, sign in SIGNS))
        return [Step("skip", "agents", f"no sign of any ({looked_for}); name one: checkpoint init --agent NAME")]
    files = _read_files(place.root)
    hidden = {path: files[path]._replace(blocked=_HIDDEN) for path in _read_hidden(place.root, env) if path in files}
    return _label(plan_agents(named, {**files, **hidden}, guard=guard), place.root, place.top)


def read_agent_removal(folders: Sequence[str], top: str) -> list[Step]:
    """The steps that take away what init wrote for agents in any of the folders. top: what names are relative to."""
    return [step for folder in folders for step in _label(plan_agents_removal(_read_files(folder)), folder, top)]


def _label(steps: Sequence[Step], folder: str, top: str) -> list[Step]:
    return [step._replace(what=relative_path(os.path.join(folder, step.what), top)) for step in steps]


def _read_hidden(folder: str, env: Mapping[str, str]) -> list[str]:
    """The files that git tracks and a sparse checkout leaves out; [] outside git."""
    listed = run_git(["ls-files", "-t", "-z", "--", *list_paths()], folder, env=clean_env(env), check=False)
    return [os.fsdecode(field[2:]) for field in listed.out.split(b"\0") if field.startswith(b"S ")]


def _read_files(top: str) -> dict[str, AgentFile]:
    return {path: _read_file(top, path) for path in list_paths()}


def _read_file(top: str, relative: str) -> AgentFile:
    """A file of the work tree; nothing behind a link, and nothing that its owner made unwritable, is to be changed."""
    path = os.path.join(top, relative)
    link = _find_link(top, relative)
    if link:
        return AgentFile(path, None, f"{link} is a symbolic link")
    missing = count_missing_folders(relative, lambda folder: os.path.isdir(os.path.join(top, folder)))
    folder = "/".join(relative.split("/")[: -1 - missing])
    locked = f"{folder or 'the folder'} is read-only" if _is_read_only(os.path.join(top, folder)) else ""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            return AgentFile(path, None, "it is no file")
        with open(path, "rb") as stream:
            data = stream.read()
    except FileNotFoundError:
        return AgentFile(path, None, locked, missing)
    except OSError as error:
        return AgentFile(path, None, f"it cannot be read: {error.strerror}")
    return AgentFile(path, data, locked if status.st_mode & 0o222 else "it is read-only")


def _is_read_only(folder: str) -> bool:
    """Whether a folder takes no new file; root asks its owner's mode too, as it does of a file."""
    return not (os.access(folder, os.W_OK) and os.stat(folder).st_mode & 0o222)


def _find_link(top: str, relative: str) -> str:
    """The first part of the path that is a symbolic link, "" for none."""
    parts = relative.split("/")
    above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    return next((part for part in above if os.path.islink(os.path.join(top, part))), "")
