"""What each agent gets: where it keeps its skills, commands, notes and hooks, the texts in them, and our stamp."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

AgentName = Literal["claude", "codex", "gemini", "cursor", "generic"]
Moment = Literal["prime", "stop", "precompact", "guard"]  # when one of our commands runs
TextKind = Literal["skill", "command", "prompt", "toml", "rule", "command-skill"]

AGENTS: tuple[AgentName, ...] = get_args(AgentName)


class Hooks(NamedTuple):
    path: str
    events: Mapping[Moment, str]  # the agent's name for each moment
    matcher: str = "*"  # every tool, "" where none is needed
    grouped: bool = True  # an event's hooks are in groups, {"matcher": ..., "hooks": [...]}; else one by one
    second: int = 1  # how the agent counts one second of a timeout
    skeleton: Mapping[str, Any] = {}  # what a new file holds besides
    extra: Mapping[str, Any] = {}  # more members of the guard


class Agent(NamedTuple):
    signs: tuple[str, ...]  # paths that show that a repository is worked on with it
    files: tuple[tuple[TextKind, str], ...] = ()  # files of our own
    notes: str = ""  # the file of standing notes that gets a block of ours
    hooks: Hooks | None = None
    shares: bool = False  # it reads the skills of SHARED too; some agents complain of a second skill of one name


SHARED = ".agents"  # the folder that agents agreed upon for skills; some have one of their own besides


def _read_table() -> dict[AgentName, Agent]:
    with open(os.path.join(os.path.dirname(__file__), "table.json"), encoding="utf-8") as stream:
        rows = json.load(stream)
    for row in rows.values():
        row["signs"], row["files"] = tuple(row["signs"]), tuple(map(tuple, row.get("files", ())))
        row["hooks"] = Hooks(**row["hooks"]) if "hooks" in row else None
    return {name: Agent(**row) for name, row in rows.items()}


TABLE = _read_table()
SIGNS = tuple((name, sign) for name, agent in TABLE.items() for sign in agent.signs)


State = Literal["ours", "changed", "foreign"]

_ABOUT = (
    "Keep the state of long work in .checkpoints so that the next session can go on: when to write a checkpoint, what "
    "to write, how to resume, and what may be read of other skills' checkpoints. Use it when work spans sessions, when "
    "you start in a repository with a .checkpoints folder, before the context is compacted, and before you stop."
)
_COMMAND_ABOUT = "Checkpoints of this project: status, next, doctor, show, list, reset"
_STAMP = re.compile(rb"(?:<!--|#) checkpoint-git ([0-9a-f]{16})((?: [a-z]+=[0-9]+)*)(?: -->)?\r?\n?\Z")
_NEWLINES = re.compile(rb"\r\n?")


def _load(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "templates", name), encoding="utf-8") as stream:
        return stream.read()


def _front(**members: str | bool) -> str:
    lines = (f"{name.replace('_', '-')}: {json.dumps(value)}\n" for name, value in members.items())
    return f"---\n{''.join(lines)}---\n\n"


NOTES = _load("notes.md")
_COMMAND = _load("command.md")
_HINT = "[status|next|doctor|show|list|reset] [SKILL]"
_SKILL_ABOUT = f"{_COMMAND_ABOUT}. Use it when the user says /checkpoint."
TEXTS: dict[TextKind, str] = {
    "skill": _front(name="checkpoint-protocol", description=_ABOUT) + _load("protocol.md"),
    "command": f"{_front(description=_COMMAND_ABOUT, argument_hint=_HINT)}{_COMMAND}\nWhat they typed: $ARGUMENTS\n",
    "command-skill": _front(name="checkpoint", description=_SKILL_ABOUT) + _COMMAND,
    "prompt": _COMMAND,
    "toml": f'description = "{_COMMAND_ABOUT}"\nprompt = """\n{_COMMAND}\nWhat they typed: {{{{args}}}}\n"""\n',
    "rule": _front(description="Where the state of long work is kept", alwaysApply=True) + NOTES,
}


class Stamped(NamedTuple):
    """A file taken apart. text: without the stamp, with plain line ends. folders: how many were made for it."""

    state: State
    text: bytes
    folders: int = 0


def render_stamped(path: str, text: str, folders: int) -> bytes:
    body = text.encode()
    words = f"checkpoint-git {_checksum(body)} folders={folders}"
    return body + (f"# {words}\n" if path.endswith(".toml") else f"<!-- {words} -->\n").encode()


# The stamp is the last line and holds a checksum: a file that the user changed is theirs.
def read_stamped(data: bytes) -> Stamped:
    # A clone may have given the file other line ends
    found = _STAMP.search(data)
    if found is None:
        return Stamped("foreign", data)
    text = _NEWLINES.sub(b"\n", data[: found.start()])
    notes = dict(word.split("=") for word in found[2].decode().split())
    state: State = "ours" if _checksum(text).encode() == found[1] else "changed"
    return Stamped(state, text, int(notes.get("folders", "0")))


def _checksum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]
