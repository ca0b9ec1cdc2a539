"""The steps that set agents up and take that back: their files are read here, and nothing is
written.
"""

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.managed_block import MARKDOWN, find_block, put_block, take_block
from checkpoint_git.core.terminal_text import quote_word, shorten
from checkpoint_git.disk.discover import Place, find_link, relative_path
from checkpoint_git.disk.read import read_content
from checkpoint_git.git.repository import read_all_settings
from checkpoint_git.git.run import clean_env
from checkpoint_git.git.settings import AGENT_COMMAND, find_setting
from checkpoint_git.tools.agents import hook_settings
from checkpoint_git.tools.agents.table import (
    AGENTS,
    COMMANDS,
    NOTES,
    SHARED,
    SIGNS,
    TABLE,
    TEXTS,
    Agent,
    AgentName,
    Hooks,
    Moment,
    read_stamped,
    rename_command,
    render_stamped,
)
from checkpoint_git.tools.setup.steps import RemoveFile, SetupStep, removal_step, write_step
from checkpoint_git.tools.setup.survey import FileState

AUTO = "auto"
CHOICES = (AUTO, *AGENTS)

_TRACKED = "commit it so that others get it too"
_RENEW = "delete it to get ours again"
_CHANGED = "was changed since init wrote it, so it is yours; delete it by hand"
_EVERY: tuple[Moment, ...] = ("prime", "stop", "precompact", "end")

Files = Mapping[str, FileState]  # by the path in the work tree


def check_agents(words: Sequence[str], more: Sequence[Moment] = ()) -> list[str]:
    names = [name for word in words for name in word.split(",") if name]
    unknown = [name for name in names if name not in CHOICES]
    hint = f"there are: {', '.join(CHOICES)}"
    if unknown or (words and not names):
        raise CheckpointError(
            f"--agent {shorten(unknown[0], 60) if unknown else ''}: unknown agent", hint
        )
    if more and not names:
        raise CheckpointError("--agent-guard and --agent-points go with --agent", hint)
    return list(dict.fromkeys(names))


def read_agent_steps(
    place: Place, wanted: Sequence[str], env: Mapping[str, str], more: Sequence[Moment]
) -> list[SetupStep]:
    """For the agents that are wanted; signs at the top of the repository count too. more: hooks
    that were asked for.
    """
    folders = {place.root, place.top}
    found = find_agents(
        lambda sign: any(os.path.lexists(os.path.join(folder, sign)) for folder in folders)
    )
    named = [name for name in AGENTS if name in wanted or (AUTO in wanted and name in found)]
    if not named:
        text = f"none found; name one with --agent: {', '.join(AGENTS)}"
        return [SetupStep("skip", "agents", text)]

    files = {path: _read_file(place.root, path) for path in list_paths()}
    command = (
        find_setting(read_all_settings(place.root, clean_env(env)), AGENT_COMMAND).strip()
        or COMMANDS[0]
    )
    if command not in COMMANDS:
        raise CheckpointError(
            f"{AGENT_COMMAND} is {quote_word(command)}", f"expected: {' or '.join(COMMANDS)}"
        )

    return [
        _label(step, place.root, place.top) for step in plan_agents(named, files, more, command)
    ]


def read_agent_removal(folders: Sequence[str], top: str) -> list[SetupStep]:
    steps = []
    for folder in folders:
        files = {path: _read_file(folder, path) for path in list_paths()}
        steps += [_label(step, folder, top) for step in plan_agents_removal(files)]
    return steps


def _label(step: SetupStep, folder: str, top: str) -> SetupStep:
    return step._replace(what=relative_path(os.path.join(folder, step.what), top))


def list_paths() -> list[str]:
    paths = list[str]()
    for agent in TABLE.values():
        paths += [
            rename_command(path, command)
            for _, path in _list_files(agent, agent.more)
            for command in COMMANDS
        ]
        paths += [agent.notes] if agent.notes else []
        paths += [agent.hooks.path] if agent.hooks else []
    return list(dict.fromkeys(paths))


def _list_files(agent: Agent, moments: Iterable[Moment]) -> list[tuple[str, str]]:
    return [*agent.files, *(file for moment in moments for file in agent.more.get(moment, ()))]


def find_agents(present: Callable[[str], bool]) -> list[AgentName]:
    return list(dict.fromkeys(name for name, sign in SIGNS if present(sign)))


def _read_file(top: str, relative: str) -> FileState:
    # Nothing behind a link, and nothing that its owner made unwritable, is to be changed
    path, parts = os.path.join(top, relative), relative.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    if link := find_link(relative, top):
        return FileState(path, None, f"{link} is a symbolic link")
    missing = sum(not os.path.isdir(os.path.join(top, folder)) for folder in above[:-1])
    folder = "/".join(parts[: -1 - missing])
    full = os.path.join(top, folder)
    # root asks its owner's mode too, as it does of a file
    is_read_only = not (os.access(full, os.W_OK) and os.stat(full).st_mode & 0o222)
    locked = f"{folder or 'the folder'} is read-only" if is_read_only else ""
    content = read_content(path, top)
    if isinstance(content, FileNotFoundError):
        return FileState(path, None, locked, missing)
    if isinstance(content, OSError):
        return FileState(path, None, f"it cannot be read: {content.strerror}")
    return FileState(path, content, locked if os.stat(path).st_mode & 0o222 else "it is read-only")


def plan_agents(
    names: Sequence[AgentName],
    files: Files,
    more: Sequence[Moment] = (),
    command: str = COMMANDS[0],
) -> list[SetupStep]:
    """One that is made already is a "keep". more: than the usual hooks. command: of COMMANDS."""
    moments = (*_EVERY, *more)
    planned = {path for name in names for _, path in TABLE[name].files}
    steps = dict[str, SetupStep]()
    for name in names:
        agent = TABLE[name]
        for kind, own in _list_files(agent, moments):
            path = rename_command(
                _find_shared(own, files, planned) if agent.shares else own, command
            )
            file, former = files[path], rename_command(own, COMMANDS[command == COMMANDS[0]])
            step = (
                _plan_file_removal(former, files[former])
                if former != rename_command(own, command)
                else None
            )
            if step and isinstance(step.change, RemoveFile):
                # the folders that were made for it stay
                file = file._replace(missing_folders=step.change.folders)
            steps.setdefault(path, _plan_file(rename_command(TEXTS[kind], command), path, file))
            if step:
                steps.setdefault(former, step)
        if agent.notes:
            steps.setdefault(
                agent.notes,
                _plan_notes(rename_command(NOTES, command), agent.notes, files[agent.notes]),
            )
        if agent.hooks:
            steps[agent.hooks.path] = _plan_hooks(
                agent.hooks, name, moments, files[agent.hooks.path]
            )

    return list(steps.values())


def _find_shared(path: str, files: Files, planned: Container[str]) -> str:
    # The shared copy of a skill if there is one or will be, and none at the agent's own place; else
    # the path
    shared = f"{SHARED}/{path.partition('/')[2]}"
    file = files.get(shared)
    if file is None or file.blocked or files[path].data is not None:
        return path
    serves = shared in planned if file.data is None else read_stamped(file.data).state != "foreign"
    return shared if serves else path


def plan_agents_removal(files: Files) -> list[SetupStep]:
    steps = dict[str, SetupStep | None]()
    for agent in TABLE.values():
        for path in (
            rename_command(own, command)
            for _, own in _list_files(agent, agent.more)
            for command in COMMANDS
        ):
            steps[path] = _plan_file_removal(path, files[path])
        if agent.notes:
            steps[agent.notes] = _plan_notes_removal(agent.notes, files[agent.notes])
        if agent.hooks:
            steps[agent.hooks.path] = _plan_hooks_removal(agent.hooks, files[agent.hooks.path])

    return [step for step in steps.values() if step]


def _plan_file(text: str, path: str, file: FileState) -> SetupStep:
    if file.blocked:
        return SetupStep("skip", path, file.blocked)
    if file.data is None:
        return write_step(
            path, file.path, None, render_stamped(path, text, file.missing_folders), _TRACKED
        )

    found = read_stamped(file.data)
    if found.state == "foreign":
        return SetupStep("skip", path, "another file has that name")
    if found.state == "changed":
        return SetupStep("skip", path, f"it was changed since init wrote it; {_RENEW}")
    if found.text == text.encode():  # be it with other line ends
        return SetupStep("keep", path)
    return write_step(
        path, file.path, file.data, render_stamped(path, text, found.folders), _TRACKED
    )


def _plan_file_removal(path: str, file: FileState) -> SetupStep | None:
    found = read_stamped(file.data or b"")
    if found.state == "foreign":
        return None
    if found.state == "changed":
        return SetupStep("keep", path, f"it {_CHANGED}")
    if file.blocked:
        return SetupStep("skip", path, f"{file.blocked}; delete it by hand")
    return SetupStep("remove", path, "", RemoveFile(file.path, found.folders))


def _plan_notes(notes: str, path: str, file: FileState) -> SetupStep:
    body = render_stamped(path, notes, 0)
    if file.blocked:
        text = " / ".join(line for line in notes.splitlines() if line)
        return SetupStep(
            "advise",
            path,
            f"{file.blocked}; add to it what `checkpoint init --agent` would: {text}",
        )

    try:
        block = find_block(file.data or b"")
        if block and block.body != body and read_stamped(block.body).state == "changed":
            return SetupStep("skip", path, f"our block was changed since init wrote it; {_RENEW}")
        after = put_block(file.data, body, comment=MARKDOWN)
    except CheckpointError as error:
        return SetupStep("skip", path, f"{error.message}: {error.hint}")

    text = _TRACKED if file.data is None else f"a block at its end; {_TRACKED}"
    return write_step(path, file.path, file.data, after, text)


def _plan_notes_removal(path: str, file: FileState) -> SetupStep | None:
    data = file.data or b""
    try:
        block = find_block(data)
    except CheckpointError as error:
        return SetupStep("skip", path, f"{error.message}: {error.hint}")

    if block is None:
        return None
    if read_stamped(block.body).state == "changed":
        return SetupStep("keep", path, f"our block {_CHANGED}")
    if file.blocked:
        return SetupStep("skip", path, f"{file.blocked}; remove our block by hand")
    return removal_step(path, file.path, take_block(data))


def _plan_hooks(
    hooks: Hooks, name: AgentName, moments: Sequence[Moment], file: FileState
) -> SetupStep:
    recipe = f"add by hand: {hook_settings.write_recipe(hooks, name, moments)}"
    if file.blocked:
        return SetupStep("advise", hooks.path, f"{file.blocked}; {recipe}")
    try:
        edited = hook_settings.add_hooks(file.data, hooks, name, moments, file.missing_folders)
    except hook_settings.Unfit as why:
        return SetupStep("advise", hooks.path, f"{why}, so it is left alone; {recipe}")

    assert edited.data is not None
    if not edited.added and not edited.updated:
        return SetupStep("keep", hooks.path)
    has_ours = file.data is not None and hook_settings.remove_hooks(file.data, hooks) is not None
    if (
        not edited.updated
        and not has_ours
        and not hook_settings.is_reversible(file.data, edited.data, hooks)
    ):
        return SetupStep(
            "advise", hooks.path, f"it is written in a way that could not be restored; {recipe}"
        )

    text = f"hooks for {', '.join((*edited.added, *edited.updated))}; {_TRACKED}"
    return write_step(hooks.path, file.path, file.data, edited.data, text)


def _plan_hooks_removal(hooks: Hooks, file: FileState) -> SetupStep | None:
    if file.data is None:
        return None
    by_hand = "remove the hooks that end in checkpoint-git by hand"
    try:
        edited = hook_settings.remove_hooks(file.data, hooks)
    except hook_settings.Unfit as why:
        return (
            SetupStep("skip", hooks.path, f"{why}; {by_hand}")
            if b"' checkpoint-git" in file.data
            else None
        )

    if edited is None:
        return None
    if file.blocked:
        return SetupStep("skip", hooks.path, f"{file.blocked}; {by_hand}")
    return removal_step(hooks.path, file.path, edited.data, folders=edited.folders)
