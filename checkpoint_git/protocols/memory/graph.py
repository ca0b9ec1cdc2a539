"""Find the graph that the verbs work on, and open it; ask and make a backup before a deletion."""

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_stamp
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Blank, advise, command, join_hints
from checkpoint_git.core.outcome import Invocation
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.backup import Copy, write_backup
from checkpoint_git.disk.discover import find_common_dir, find_repository, shared_path
from checkpoint_git.disk.replace import remove_quietly
from checkpoint_git.git.repository import read_all_settings
from checkpoint_git.git.run import run_git
from checkpoint_git.git.settings import (
    MEMORY_COMMAND,
    MEMORY_ENTITY,
    MEMORY_FILE,
    MEMORY_TIMEOUT,
    SETTINGS,
    find_setting,
)
from checkpoint_git.protocols.memory import layout
from checkpoint_git.protocols.memory.entity import Entity, read_entity
from checkpoint_git.protocols.memory.graph_file import check_graph_file, graph_lock
from checkpoint_git.protocols.memory.state import read_state, write_state
from checkpoint_git.protocols.memory.store import Keep
from checkpoint_git.protocols.memory.summary import NOTE
from checkpoint_git.protocols.memory.transports import Transport, UnavailableError, entity_json

_LONGEST = 600
# in the git directory: where that was, and what the repository was called there
_HOME = "checkpoint/memory-home"
_KEPT_MARKS = 8
SETUP = join_hints(
    command("checkpoint", "memory", "setup", more=" installs one and asks first"),
    advise("or", "git", "config", "checkpoint.memoryCommand", Blank("command", "COMMAND")),
)


class GraphSettings(NamedTuple):
    """The settings of git's configuration, "" where unset.

    timeout: seconds, to start and for each answer.
    """

    command: str
    file: str
    home: layout.Home
    timeout: float


def read_settings(cwd: str, entity: str | None = None) -> GraphSettings:
    """Return the settings of a repository. entity: the checkpoint's name, None for the setting."""
    found = read_all_settings(cwd, os.environ)
    name = entity
    if name is None:
        name = find_setting(found, MEMORY_ENTITY) or None

    if name is None:
        home = find_home(cwd)
    else:
        home = layout.Home(layout.check_entity_name(name))

    command = find_setting(found, MEMORY_COMMAND).strip()
    return GraphSettings(command, find_setting(found, MEMORY_FILE), home, _read_timeout(found))


def _read_timeout(found: Mapping[str, str]) -> float:
    """Return the seconds to wait for an answer. Raises CheckpointError."""
    # node itself starts in 1 s, a cold `npx -y` in 13 s
    default = SETTINGS[MEMORY_TIMEOUT].default
    text = find_setting(found, MEMORY_TIMEOUT).strip() or default
    try:
        timeout = float(text)
    except ValueError:
        timeout = 0.0

    if 1 <= timeout <= _LONGEST:
        return timeout
    shown = escape_controls(shorten(text, 40))
    message = f'invalid {MEMORY_TIMEOUT} "{shown}": expected 1 to {_LONGEST} seconds'
    raise CheckpointError(message, command("git", "config", MEMORY_TIMEOUT, default))


def find_home(cwd: str) -> layout.Home:
    """Return the home of a repository, with the marks of folders that it was in before."""
    repository = find_repository(cwd)
    if repository is None:
        return layout.Home("")

    printed = run_git(["config", "remote.origin.url"], cwd, check=False).out
    folder = find_common_dir(repository[1])
    *remote_marks, mark = layout.mark_repository(printed.decode("utf-8", "replace"), folder)

    path = os.path.join(folder, _HOME)
    known = read_state(path)
    folder_marks = [mark, *_read_former_marks(known, folder, mark)][:_KEPT_MARKS]
    value = {"folder": folder, "marks": folder_marks}
    if known != value:
        write_state(path, value)
    return layout.Home("", (*remote_marks, *folder_marks))


def _read_former_marks(known: Any, folder: str, mark: str) -> list[str]:
    """Return the marks by the folders that a repository was in before.

    known: the value of its note. mark: the one by its present folder.
    """
    match known:
        case {"folder": str(before), "marks": [*noted]}:
            # a repository that was moved is the same one; if its folder is still there, this is a
            # copy
            if before != folder and os.path.lexists(before):
                return []
            texts = [text for text in noted if isinstance(text, str)]
            return [text for text in texts if text != mark and layout.MARK.fullmatch(text)]
    return []


def find_graph(settings: GraphSettings, env: Mapping[str, str]) -> str:
    if settings.command:
        return layout.read_command(settings.command, settings.file, env).graph
    return layout.check_graph_path(settings.file or env.get(layout.FILE_VARIABLE, ""))


@contextmanager
def open_graph(settings: GraphSettings, cwd: str, env: Mapping[str, str]) -> Iterator[Transport]:
    """Start the configured server for the length of a `with` block.

    Raises UnavailableError if none answers.
    """
    from checkpoint_git.protocols.memory.transports.stdio import open_server

    if not settings.command:
        raise UnavailableError("no memory server is configured", SETUP)
    server = layout.read_command(settings.command, settings.file, env)
    if server.graph:
        check_graph_file(server.graph)
    lock = graph_lock(server.graph or settings.command, layout.cache_folder(env))
    with open_server(server.words, server.env, cwd, lock, settings.timeout) as transport:
        yield transport


@contextmanager
def open_checkpoint(
    args: argparse.Namespace, invocation: Invocation
) -> Iterator[tuple[Transport, layout.Home]]:
    settings = read_settings(invocation.cwd, args.entity)
    with open_graph(settings, invocation.cwd, invocation.env) as transport:
        yield transport, settings.home


def make_keep(invocation: Invocation) -> Keep:
    return partial(keep_copy, cwd=invocation.cwd, env=invocation.env, now=invocation.now)


def remember(cwd: str, entity: Entity | None) -> None:
    """Record what was read last, for `status` and `prime`, which start no server.

    entity: None if there is no checkpoint.
    """
    path = shared_path(cwd, NOTE)
    fields = read_entity(entity).fields if entity else {}
    if entity is None or not fields:
        remove_quietly(path)
        return

    note = {"entity": entity.name}
    for key in ("initiative", "milestone", "phase", "next_action", "timestamp"):
        if key in fields:
            note[key] = fields[key][:500]

    write_state(path, note)


def keep_copy(entity: Entity, cwd: str, env: Mapping[str, str], now: int) -> str:
    value = {
        "type": "entity",
        **entity_json(entity),
        "relations": [dict(relation) for relation in entity.relations],
    }
    repository = find_repository(cwd)
    above = repository[1] if repository else layout.data_folder(env)
    copy = Copy("memory-checkpoint.json", json.dumps(value, indent=2).encode() + b"\n")
    return write_backup(above, write_stamp(now), [copy])


def find_copy(copy: str, name: str, *, is_fresh: bool = False) -> list[Finding]:
    """Return the finding that names a backup and how to restore it, [] if there is none.

    copy: its folder, "" for none. is_fresh: the checkpoint was started over.
    """
    if not copy:
        return []
    message = "a copy of the replaced checkpoint was kept"
    if is_fresh:
        message += ", and a new one was started"
    file = f"{copy}/memory-checkpoint.json"
    hint = advise("to restore it", "checkpoint", "memory", "save", "--yes", "--fields", file)
    return [Finding("memory/backup", "warning", message, name, hint=hint)]


def is_confirmed(question: str, invocation: Invocation, *, yes: bool) -> bool:
    if yes:
        return True
    if not invocation.interactive:
        raise CheckpointError(f"this needs a confirmation: {question}", "confirm with --yes")
    return invocation.ask(f"{question} [y/N]").strip().lower() in ("y", "yes")
