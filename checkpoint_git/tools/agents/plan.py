"""Plan the steps that set agents up and undo that: their files are read here, and nothing is
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


def check_agents(words: Sequence[str], extra_moments: Sequence[Moment] = ()) -> list[str]:
    """Return the agents that the words of --agent name, without repetition. Raises CheckpointError
    for an unknown agent, and for extra moments without an agent.
    """
    names = [name for word in words for name in word.split(",") if name]
    hint = f"there are: {', '.join(CHOICES)}"
    for name in names:
        if name not in CHOICES:
            raise CheckpointError(f"--agent {shorten(name, 60)}: unknown agent", hint)
    if words and not names:
        raise CheckpointError("--agent : unknown agent", hint)
    if extra_moments and not names:
        raise CheckpointError("--agent-guard and --agent-points go with --agent", hint)
    return list(dict.fromkeys(names))


def read_agent_steps(
    place: Place, wanted: Sequence[str], env: Mapping[str, str], extra_moments: Sequence[Moment]
) -> list[SetupStep]:
    """Return the steps for the agents that are wanted.

    AUTO stands for those of which there are signs, also at the top of the repository.
    extra_moments: beyond the usual ones. Raises CheckpointError for an unknown command's name.
    """
    named = [name for name in AGENTS if name in wanted]
    if AUTO in wanted:
        folders = {place.root, place.top}
        found = find_agents(
            lambda sign: any(os.path.lexists(os.path.join(folder, sign)) for folder in folders)
        )
        named = [name for name in AGENTS if name in wanted or name in found]
    if not named:
        text = f"none found; name one with --agent: {', '.join(AGENTS)}"
        return [SetupStep("skip", "agents", text)]

    settings = read_all_settings(place.root, clean_env(env))
    command = find_setting(settings, AGENT_COMMAND).strip() or COMMANDS[0]
    if command not in COMMANDS:
        expected = f"expected: {' or '.join(COMMANDS)}"
        raise CheckpointError(f"{AGENT_COMMAND} is {quote_word(command)}", expected)

    files = {path: _read_file(place.root, path) for path in list_paths()}
    steps = plan_agents(named, files, extra_moments, command)
    return [_label(step, place.root, place.top) for step in steps]


def read_agent_removal(folders: Sequence[str], top: str) -> list[SetupStep]:
    """Return the steps that remove our files, blocks and hooks from folders."""
    steps = []
    for folder in folders:
        files = {path: _read_file(folder, path) for path in list_paths()}
        steps += [_label(step, folder, top) for step in plan_agents_removal(files)]
    return steps


def _label(step: SetupStep, folder: str, top: str) -> SetupStep:
    return step._replace(what=relative_path(os.path.join(folder, step.what), top))


def list_paths() -> list[str]:
    """Return the paths of all files in which something of ours may be, for every agent."""
    paths: list[str] = []
    for agent in TABLE.values():
        paths += _list_own_paths(agent)
        if agent.notes:
            paths.append(agent.notes)
        if agent.hooks:
            paths.append(agent.hooks.path)
    return list(dict.fromkeys(paths))


def _list_own_paths(agent: Agent) -> list[str]:
    """Return the paths of an agent's files that are ours as a whole, with every command's name."""
    paths = []
    for _, path in _list_files(agent, agent.moment_files):
        paths += [rename_command(path, command) for command in COMMANDS]
    return paths


def _list_files(agent: Agent, moments: Iterable[Moment]) -> list[tuple[str, str]]:
    files = [*agent.files]
    for moment in moments:
        files += agent.moment_files.get(moment, ())
    return files


def find_agents(present: Callable[[str], bool]) -> list[AgentName]:
    return list(dict.fromkeys(name for name, sign in SIGNS if present(sign)))


def _read_file(top: str, relative: str) -> FileState:
    """Read a file; what is behind a link, or what its owner made unwritable, is blocked."""
    path = os.path.join(top, relative)
    link = find_link(relative, top)
    if link:
        return FileState(path, None, f"{link} is a symbolic link")

    folder = os.path.dirname(relative)
    missing = 0
    while folder and not os.path.isdir(os.path.join(top, folder)):
        folder = os.path.dirname(folder)
        missing += 1
    locked = ""
    if _is_read_only(os.path.join(top, folder)):
        locked = f"{folder or 'the folder'} is read-only"

    content = read_content(path, top)
    if isinstance(content, FileNotFoundError):
        return FileState(path, None, locked, missing)
    if isinstance(content, OSError):
        return FileState(path, None, f"it cannot be read: {content.strerror}")
    if not os.stat(path).st_mode & 0o222:
        locked = "it is read-only"
    return FileState(path, content, locked)


def _is_read_only(folder: str) -> bool:
    # root may write anywhere, so its mode counts too
    return not os.access(folder, os.W_OK) or not os.stat(folder).st_mode & 0o222


def plan_agents(
    names: Sequence[AgentName],
    files: Files,
    extra_moments: Sequence[Moment] = (),
    command: str = COMMANDS[0],
) -> list[SetupStep]:
    """Return the steps that set agents up; for a file that is as it should be, a "keep".

    extra_moments: beyond the usual ones. command: of COMMANDS.
    """
    moments = (*_EVERY, *extra_moments)
    planned = {path for name in names for _, path in TABLE[name].files}
    steps = dict[str, SetupStep]()
    for name in names:
        agent = TABLE[name]
        for kind, own_path in _list_files(agent, moments):
            path = own_path
            if agent.shares:
                path = _find_shared(own_path, files, planned)
            path = rename_command(path, command)
            file = files[path]
            former, removal = _plan_former(own_path, files, command)
            if removal and isinstance(removal.change, RemoveFile):
                # the folders that were made for the former file stay
                file = file._replace(missing_folders=removal.change.folders)
            steps.setdefault(path, _plan_file(rename_command(TEXTS[kind], command), path, file))
            if removal:
                steps.setdefault(former, removal)

        if agent.notes:
            notes = rename_command(NOTES, command)
            steps.setdefault(agent.notes, _plan_notes(notes, agent.notes, files[agent.notes]))
        if agent.hooks:
            hooks_path = agent.hooks.path
            steps[hooks_path] = _plan_hooks(agent.hooks, name, moments, files[hooks_path])

    return list(steps.values())


def _plan_former(path: str, files: Files, command: str) -> tuple[str, SetupStep | None]:
    """Return a file by the other name of the command, and the step that removes it, if any."""
    other_command = COMMANDS[1] if command == COMMANDS[0] else COMMANDS[0]
    former = rename_command(path, other_command)
    if former == rename_command(path, command):
        return former, None
    return former, _plan_file_removal(former, files[former])


def _find_shared(path: str, files: Files, planned: Container[str]) -> str:
    """Return the shared copy of a skill if it exists or will, and the agent has no other; the path
    otherwise.
    """
    shared = f"{SHARED}/{path.partition('/')[2]}"
    file = files.get(shared)
    if file is None or file.blocked or files[path].data is not None:
        return path
    if file.data is None:
        return shared if shared in planned else path
    if read_stamped(file.data).state == "foreign":
        return path
    return shared


def plan_agents_removal(files: Files) -> list[SetupStep]:
    steps = dict[str, SetupStep | None]()
    for agent in TABLE.values():
        for path in _list_own_paths(agent):
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
        after = render_stamped(path, text, file.missing_folders)
        return write_step(path, file.path, None, after, _TRACKED)

    found = read_stamped(file.data)
    if found.state == "foreign":
        return SetupStep("skip", path, "another file has that name")
    if found.state == "changed":
        return SetupStep("skip", path, f"it was changed since init wrote it; {_RENEW}")
    if found.text == text.encode():  # maybe with other line ends
        return SetupStep("keep", path)
    after = render_stamped(path, text, found.folders)
    return write_step(path, file.path, file.data, after, _TRACKED)


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
            f"{file.blocked}; add our block by hand: {text}",
        )

    try:
        block = find_block(file.data or b"")
        if block and block.body != body and read_stamped(block.body).state == "changed":
            return SetupStep("skip", path, f"our block was changed since init wrote it; {_RENEW}")
        after = put_block(file.data, body, comment=MARKDOWN)
    except CheckpointError as error:
        return SetupStep("skip", path, error.message, hint=error.hint)

    text = _TRACKED if file.data is None else f"a block at its end; {_TRACKED}"
    return write_step(path, file.path, file.data, after, text)


def _plan_notes_removal(path: str, file: FileState) -> SetupStep | None:
    data = file.data or b""
    try:
        block = find_block(data)
    except CheckpointError as error:
        return SetupStep("skip", path, error.message, hint=error.hint)

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
    is_new = not edited.updated and not has_ours
    if is_new and not hook_settings.is_reversible(file.data, edited.data, hooks):
        reason = "it is written in a way that could not be restored"
        return SetupStep("advise", hooks.path, f"{reason}; {recipe}")

    text = f"hooks for {', '.join((*edited.added, *edited.updated))}; {_TRACKED}"
    return write_step(hooks.path, file.path, file.data, edited.data, text)


def _plan_hooks_removal(hooks: Hooks, file: FileState) -> SetupStep | None:
    if file.data is None:
        return None
    by_hand = "remove the hooks that end in checkpoint-git by hand"
    try:
        edited = hook_settings.remove_hooks(file.data, hooks)
    except hook_settings.Unfit as reason:
        if b"' checkpoint-git" not in file.data:
            return None
        return SetupStep("skip", hooks.path, f"{reason}; {by_hand}")

    if edited is None:
        return None
    if file.blocked:
        return SetupStep("skip", hooks.path, f"{file.blocked}; {by_hand}")
    return removal_step(hooks.path, file.path, edited.data, folders=edited.folders)
