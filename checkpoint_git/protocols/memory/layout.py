"""Names of an initiative checkpoint, and the folders and commands that belong to it.

It touches no file.
"""

import hashlib
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Blank, advise, command
from checkpoint_git.core.terminal_text import escape_controls, shorten

ENTITY = "initiative-checkpoint"
ENTITY_TYPE = "checkpoint"
STATUS_FILE = "WORKFLOW-STATUS.yaml"
SERVER_PACKAGE = "@modelcontextprotocol/server-memory"
SERVER_VERSION = "2026.8.31"  # that everything here was tried with
FILE_VARIABLE = "MEMORY_FILE_PATH"
SERVER_FILE = "server-memory/dist/index.js"
MARK = re.compile(r"[\w.-]{1,40}-[0-9a-f]{8}", re.ASCII)  # of a repository
_LONGEST_NAME = 200
_COMMAND_HINT = advise(
    "for example", "git", "config", "checkpoint.memoryCommand", "node /path/to/index.js"
)


def check_entity_name(name: str) -> str:
    if name.strip() and len(name) <= _LONGEST_NAME and name.isprintable():
        return name
    shown = escape_controls(shorten(name, 60))
    raise CheckpointError(
        f'"{shown}" cannot be the name of an entity',
        command("git", "config", "checkpoint.memoryEntity", Blank("name", "NAME")),
    )


class Home(NamedTuple):
    """The checkpoint that the verbs work on.

    name: "" for the repository's own. marks: what this repository is called in a graph, the first
    one is written; () outside git, and where a name was given.
    """

    name: str
    marks: tuple[str, ...] = ()

    @property
    def own_names(self) -> list[str]:
        return [f"{ENTITY}-{mark}" for mark in self.marks]


def mark_repository(remote: str, folder: str) -> tuple[str, ...]:
    """Return the names of a repository in a graph: by its remote's address, and by its folder.

    All clones have the address in common. remote: "" for none. folder: its git directory.
    """
    places = []
    address = re.sub(r"^(\w[\w+.-]*://)?([^/@]*@)?", "", remote.strip()).replace(":", "/")
    address = address.rstrip("/").removesuffix(".git")
    if address and not address.startswith("."):
        places.append(address)

    if os.path.basename(folder) == ".git":
        folder = os.path.dirname(folder)
    places.append(folder)

    marks = []
    for place in places:
        slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", os.path.basename(place))[:40].strip("-.")
        digest = hashlib.sha256(os.fsencode(place)).hexdigest()
        marks.append(f"{slug or 'repository'}-{digest[:8]}")

    return tuple(marks)


class Server(NamedTuple):
    """A server to start.

    words: its argv. env: what is added to the environment. graph: its file, "" if unknown.
    """

    words: tuple[str, ...]
    env: Mapping[str, str]
    graph: str


def read_command(command: str, graph: str, env: Mapping[str, str]) -> Server:
    """Return the server that a setting names, which may begin with NAME=value.

    command: the setting. graph: the one of the graph's file, or "". Raises CheckpointError.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        message = f"checkpoint.memoryCommand cannot be split into words: {error}"
        raise CheckpointError(message, _COMMAND_HINT) from None

    added: dict[str, str] = {}
    while words:
        name, equals, value = words[0].partition("=")
        if not (equals and name.isidentifier() and name.isascii()):
            break
        added[name] = value
        words.pop(0)

    if not words:
        raise CheckpointError("checkpoint.memoryCommand names no program", _COMMAND_HINT)
    path = check_graph_path(graph or added.get(FILE_VARIABLE, "") or env.get(FILE_VARIABLE, ""))
    if path:
        added[FILE_VARIABLE] = path
    else:
        path = find_default_graph(words)

    return Server(tuple(words), added, path)


def find_default_graph(words: Sequence[str]) -> str:
    """Return the reference server's default graph file: beside its program. "" is unknown."""
    for word in words:
        if word.endswith(SERVER_FILE) and os.path.isabs(word):
            return os.path.join(os.path.dirname(word), "memory.jsonl")
    return ""


def check_graph_path(path: str) -> str:
    """Return the path itself, normalised; "" for none.

    Raises CheckpointError if it is not absolute.
    """
    if not path:
        return ""
    if os.path.isabs(path):
        return os.path.normpath(path)
    message = f"the graph's file is a relative path: {escape_controls(shorten(path, 200))}"
    hint = "give an absolute path: a server resolves a relative one in its own folder"
    raise CheckpointError(message, hint)


def cache_folder(env: Mapping[str, str]) -> str:
    return os.path.join(_base(env, "XDG_CACHE_HOME", ".cache"), "checkpoint-git")


def data_folder(env: Mapping[str, str]) -> str:
    return os.path.join(_base(env, "XDG_DATA_HOME", ".local/share"), "checkpoint-git")


def _base(env: Mapping[str, str], variable: str, below_home: str) -> str:
    named = env.get(variable, "")
    if os.path.isabs(named):
        return named
    home = env.get("HOME") or os.path.expanduser("~")
    return os.path.join(home, below_home)


def server_script(folder: str) -> str:
    return os.path.join(folder, "node_modules", *SERVER_PACKAGE.split("/"), "dist", "index.js")
