"""The steps that set agents up and take that back: from the files as they are to those that are missing. Pure."""

import os
from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.managed_block import MARKDOWN, find_block, put_block, take_block
from checkpoint_git.tools.agents.hook_settings import (
    Unfit,
    add_hooks,
    is_reversible,
    read_folders,
    remove_hooks,
    write_recipe,
)
from checkpoint_git.tools.agents.stamped import read_stamped, render_stamped
from checkpoint_git.tools.agents.table import SHARED, SIGNS, TABLE, AgentName, Hooks, Moment, TextKind
from checkpoint_git.tools.agents.texts import NOTES, TEXTS
from checkpoint_git.tools.setup.steps import RemoveFile, Step, WriteFile, removal_step, write_step

_TRACKED = "commit it, and the others get it too"
_TO_RENEW = "delete it to have ours again"
_YOURS = "was changed since init wrote it, so it is yours; delete it by hand"
_EVERY: tuple[Moment, ...] = ("prime", "stop", "precompact")


class AgentFile(NamedTuple):
    """A file as it was read. path: absolute. data: None where there is none. blocked: why it must not be written, "".

    missing_folders: how many of the folders above it are not there.
    """

    path: str
    data: bytes | None
    blocked: str = ""
    missing_folders: int = 0


Files = Mapping[str, AgentFile]  # by the path in the work tree


def list_paths() -> list[str]:
    """Every file that any agent's set-up may touch."""
    paths = list[str]()
    for agent in TABLE.values():
        paths += [path for _, path in agent.files]
        paths += [agent.notes] if agent.notes else []
        paths += [agent.hooks.path] if agent.hooks else []
    return list(dict.fromkeys(paths))


def find_agents(present: Callable[[str], bool]) -> list[AgentName]:
    """The agents that a repository shows signs of. present: whether a path is there."""
    return list(dict.fromkeys(name for name, sign in SIGNS if present(sign)))


def plan_agents(names: Sequence[AgentName], files: Files, *, guard: bool) -> list[Step]:
    """Every step for these agents, one that is made already as a "keep". guard: with the hook before each tool call."""
    moments: tuple[Moment, ...] = (*_EVERY, "guard") if guard else _EVERY
    planned = {path for name in names for _, path in TABLE[name].files}
    steps = dict[str, Step]()
    for name in names:
        agent = TABLE[name]
        for kind, own in agent.files:
            path = _find_shared(own, files, planned) if agent.shares else own
            steps.setdefault(path, _plan_file(kind, path, files[path]))
        if agent.notes:
            steps.setdefault(agent.notes, _plan_notes(agent.notes, files[agent.notes]))
        if agent.hooks:
            steps[agent.hooks.path] = _plan_hooks(agent.hooks, name, moments, files[agent.hooks.path])
    return list(steps.values())


def _find_shared(path: str, files: Files, planned: Container[str]) -> str:
    """The shared copy of a skill where there is one or will be, and none at the agent's own place; else the path."""
    shared = f"{SHARED}/{path.partition('/')[2]}"
    file = files.get(shared)
    if file is None or file.blocked or files[path].data is not None:
        return path
    serves = shared in planned if file.data is None else read_stamped(file.data).state != "foreign"
    return shared if serves else path


def plan_agents_removal(files: Files) -> list[Step]:
    """Every step that takes away what any init wrote for any agent; [] where nothing is ours."""
    steps = dict[str, Step]()
    for agent in TABLE.values():
        for _, path in agent.files:
            steps.update(_remove_file(path, files[path]))
        if agent.notes:
            steps.update(_remove_notes(agent.notes, files[agent.notes]))
        if agent.hooks:
            steps.update(_remove_hooks(agent.hooks, files[agent.hooks.path]))
    return list(steps.values())


# files of our own


def _plan_file(kind: TextKind, path: str, file: AgentFile) -> Step:
    if file.blocked:
        return Step("skip", path, file.blocked)
    if file.data is None:
        data = render_stamped(path, TEXTS[kind], file.missing_folders)
        return Step("add", path, _TRACKED, WriteFile(file.path, data))
    found = read_stamped(file.data)
    if found.state == "foreign":
        return Step("skip", path, "somebody else's file has that name")
    if found.state == "changed":
        return Step("skip", path, f"it was changed since init wrote it; {_TO_RENEW}")
    if found.text == TEXTS[kind].encode():
        return Step("keep", path)
    return Step("update", path, _TRACKED, WriteFile(file.path, render_stamped(path, TEXTS[kind], found.folders)))


def _remove_file(path: str, file: AgentFile) -> dict[str, Step]:
    if file.data is None:
        return {}
    found = read_stamped(file.data)
    if found.state == "foreign":
        return {}
    if found.state == "changed":
        return {path: Step("keep", path, f"it {_YOURS}")}
    if file.blocked:
        return {path: Step("skip", path, f"{file.blocked}; delete it by hand")}
    return {path: Step("remove", path, "", RemoveFile(file.path, found.folders))}


# a block in an agent's standing notes


def _plan_notes(path: str, file: AgentFile) -> Step:
    body = render_stamped(path, NOTES, 0)
    if file.blocked:
        return Step(
            "advise", path, f"{file.blocked}; add to it what `checkpoint init --agent` would: {_one_line(NOTES)}"
        )
    try:
        block = find_block(file.data or b"")
        if block and block.body != body and read_stamped(block.body).state == "changed":
            return Step("skip", path, f"our block was changed since init wrote it; {_TO_RENEW}")
        after = put_block(file.data, body, comment=MARKDOWN)
    except CheckpointError as error:
        return Step("skip", path, f"{error.message}: {error.hint}")
    text = _TRACKED if file.data is None else f"a block at its end; {_TRACKED}"
    return write_step(path, file.path, file.data, after, text)


def _remove_notes(path: str, file: AgentFile) -> dict[str, Step]:
    try:
        block = find_block(file.data or b"")
    except CheckpointError as error:
        return {path: Step("skip", path, f"{error.message}: {error.hint}")}
    if block is None or file.data is None:
        return {}
    if read_stamped(block.body).state == "changed":
        return {path: Step("keep", path, f"our block {_YOURS}")}
    if file.blocked:
        return {path: Step("skip", path, f"{file.blocked}; take out our block by hand")}
    return {path: removal_step(path, file.path, take_block(file.data), rest="our block; the rest stays")}


# hooks in an agent's settings


def _plan_hooks(hooks: Hooks, name: AgentName, moments: Sequence[Moment], file: AgentFile) -> Step:
    recipe = f"add by hand: {write_recipe(hooks, name, moments)}"
    if file.blocked:
        return Step("advise", hooks.path, f"{file.blocked}; {recipe}")
    try:
        edited = add_hooks(file.data, hooks, name, moments, file.missing_folders)
    except Unfit as why:
        return Step("advise", hooks.path, f"{why}, so it is left alone; {recipe}")
    assert edited.data is not None
    if not edited.added and not edited.updated:
        return Step("keep", hooks.path)
    if not edited.updated and not _has_ours(file, hooks) and not is_reversible(file.data, edited.data, hooks):
        return Step("advise", hooks.path, f"it is written in a way that could not be restored; {recipe}")
    told = f"hooks for {', '.join((*edited.added, *edited.updated))}; {_TRACKED}"
    return Step("add" if file.data is None else "update", hooks.path, told, WriteFile(file.path, edited.data))


def _has_ours(file: AgentFile, hooks: Hooks) -> bool:
    return file.data is not None and remove_hooks(file.data, hooks) is not None


def _remove_hooks(hooks: Hooks, file: AgentFile) -> dict[str, Step]:
    if file.data is None:
        return {}
    try:
        edited = remove_hooks(file.data, hooks)
    except Unfit as why:
        ours = b"' checkpoint-git" in file.data
        told = f"{why}; take out the hooks that end in checkpoint-git by hand"
        return {hooks.path: Step("skip", hooks.path, told)} if ours else {}
    if edited is None:
        return {}
    if file.blocked:
        told = f"{file.blocked}; take out the hooks that end in checkpoint-git by hand"
        return {hooks.path: Step("skip", hooks.path, told)}
    if edited.data is None:
        return {hooks.path: Step("remove", hooks.path, "", RemoveFile(file.path, read_folders(file.data)))}
    return {hooks.path: Step("remove", hooks.path, "our hooks; the rest stays", WriteFile(file.path, edited.data))}


def _one_line(text: str) -> str:
    return " / ".join(line for line in text.splitlines() if line)


def count_missing_folders(path: str, is_folder: Callable[[str], bool]) -> int:
    """How many folders above a file are not there. is_folder: whether a path is one."""
    count, folder = 0, os.path.dirname(path)
    while folder and not is_folder(folder):
        count, folder = count + 1, os.path.dirname(folder)
    return count
