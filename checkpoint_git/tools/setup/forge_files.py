"""The forge's part of init and uninstall: which of its files are there, and the steps that write or remove them."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import get_args

from checkpoint_git import __version__
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.attributes import FILE as ATTRIBUTES
from checkpoint_git.git.refs import read_default_branch
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.tools.setup.forge_templates import (
    Forge,
    ForgeFile,
    forge_files,
    forge_paths,
    is_plain_branch,
    is_unedited,
)
from checkpoint_git.tools.setup.steps import RemoveFile, RemoveFolder, Step, write_step
from checkpoint_git.tools.setup.survey import read_file

FORGES: tuple[Forge, ...] = get_args(Forge)
_TRACKED = "commit it: the forge reads it from there"


def plan_forges(work_tree: str, wanted: Sequence[str], env: Mapping[str, str]) -> list[Step]:
    """The files of the wanted forges, and what an earlier init wrote for others renewed. wanted: of FORGES."""
    asked = [forge for forge in FORGES if forge in wanted]
    there = [forge for forge in FORGES if forge not in asked and _is_there(work_tree, forge)]
    if not asked and not there:
        return []
    base = _read_base(work_tree, clean_env(env))
    if not is_plain_branch(base):
        shown = escape_controls(shorten(base, 100))
        hint = "give it a name of plain letters, or write the jobs yourself: docs/forges.md"
        raise CheckpointError(f"--ci: the default branch {shown} cannot stand in a forge's list of branches", hint)
    steps = [_plan_file(work_tree, file) for forge in asked for file in forge_files(forge, base, __version__)]
    renewed = [_plan_file(work_tree, file) for forge in there for file in forge_files(forge, base, __version__)]
    return steps + [step for step in renewed if step.deed == "update"]


def plan_forges_removal(work_tree: str) -> list[Step]:
    """The steps that take away what init wrote and nobody has edited, with folders that held nothing else."""
    paths = [path for forge in FORGES for path in forge_paths(forge)]
    ours = [path for path in paths if is_unedited(read_file(os.path.join(work_tree, path)).data or b"")]
    steps = [Step("remove", path, "", RemoveFile(os.path.join(work_tree, path))) for path in ours]
    return steps + [
        Step("remove", folder, "", RemoveFolder(os.path.join(work_tree, folder)))
        for folder in _emptied_folders(work_tree, ours)
    ]


def find_forge(work_tree: str, env: Mapping[str, str]) -> Forge | None:
    """The forge that this clone seems to come from, while it has none of our files; None where that is not known."""
    if any(_is_there(work_tree, forge) for forge in FORGES):
        return None
    words = ["config", "--null", "--get-regexp", r"^remote\..*\.url$"]
    urls = run_git(words, work_tree, env=clean_env(env), check=False).out.decode("utf-8", "replace")
    return next((forge for forge in FORGES if re.search(rf"[@/.]{forge}\.[a-z]+[:/]", urls)), None)


def _is_there(work_tree: str, forge: Forge) -> bool:
    states = (read_file(os.path.join(work_tree, path)).data for path in forge_paths(forge))
    return any(is_unedited(data) for data in states if data)


def _plan_file(work_tree: str, file: ForgeFile) -> Step:
    path = os.path.join(work_tree, *file.path.split("/"))
    found = read_file(path)
    if found.blocked or _leads_elsewhere(work_tree, path):
        return Step("skip", file.path, f"{found.blocked or 'its folder is a symbolic link'}; {file.instead}")
    if found.data is None or found.data == file.data or is_unedited(found.data):
        return write_step(file.path, path, found.data, file.data, _TRACKED)
    if file.include and file.include.encode() in found.data:
        return Step("keep", file.path)
    return Step("skip", file.path, file.instead)


def _leads_elsewhere(work_tree: str, path: str) -> bool:
    """Whether a folder on the way is a symbolic link: what is written would land somewhere else."""
    folder = os.path.dirname(path)
    meant = os.path.join(os.path.realpath(work_tree), os.path.relpath(folder, work_tree))
    return os.path.realpath(folder) != os.path.normpath(meant)


def _read_base(work_tree: str, env: Mapping[str, str]) -> str:
    default = read_default_branch(work_tree, ATTRIBUTES, env)
    if default:
        return default.name.removeprefix("origin/")
    head = run_git(["symbolic-ref", "--short", "-q", "HEAD"], work_tree, env=env, check=False).out
    return os.fsdecode(head).rstrip("\n") or "main"


def _emptied_folders(work_tree: str, removed: Sequence[str]) -> list[str]:
    """Folders that hold nothing but files to be removed, the innermost first."""
    gone = set(removed)
    folders = []
    for path in removed:
        folder = os.path.dirname(path)
        while folder and folder not in gone:
            names = os.listdir(os.path.join(work_tree, folder))
            if any(f"{folder}/{name}" not in gone for name in names):
                break
            gone.add(folder)
            folders.append(folder)
            folder = os.path.dirname(folder)
    return folders
