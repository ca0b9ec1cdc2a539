"""The table of coding agents: where each keeps its skills, commands, notes and hooks; the texts in
these files, and the stamp by which an unedited one is recognized.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from checkpoint_git.disk.read import read_own
from checkpoint_git.tools.setup.hook_files import find_bundled

AgentName = Literal["claude", "codex", "gemini", "cursor", "copilot", "opencode", "generic"]
# when one of our commands runs
Moment = Literal["prime", "stop", "precompact", "end", "guard", "point", "point_end"]

# the first is free everywhere: Claude Code has a /checkpoint of its own
COMMANDS = (
    "checkpoints",
    "checkpoint",
)
SKILL_FILES = ("SKILL.md", "references/writing.md", "references/systems.md")
AGENTS: tuple[AgentName, ...] = get_args(AgentName)


class Hooks(NamedTuple):
    """The settings file in which an agent has its hooks.

    events: the agent's name for each moment. matcher: for every tool, "" if none is needed.
    grouped: an event's hooks are in groups, {"matcher": ..., "hooks": [...]}; otherwise one by
    one.
    second: the agent's number for one second of a timeout.
    skeleton: other members of a new file. extra: other members of the guard. entry: other members
    of every hook that is not in a group. script, timeout: the names of a hook's members.
    """

    path: str
    events: Mapping[Moment, str]
    matcher: str = "*"
    grouped: bool = True
    second: int = 1
    skeleton: Mapping[str, Any] = {}
    extra: Mapping[str, Any] = {}
    script: str = "command"
    timeout: str = "timeout"
    entry: Mapping[str, Any] = {}


class Agent(NamedTuple):
    """signs: paths that show that a repository is worked on with the agent.
    skill: the folder of the skill that teaches the protocol.
    files: our own, each the name of its text in TEXTS and its path. moment_files: those for
    moments that are only written if they are wanted.
    notes: the file of standing notes that gets a block of ours.
    shares: it reads the skills of SHARED too; some agents complain about two skills of one name.
    """

    signs: tuple[str, ...]
    skill: str
    files: tuple[tuple[str, str], ...] = ()
    notes: str = ""
    hooks: Hooks | None = None
    moment_files: Mapping[Moment, Sequence[tuple[str, str]]] = {}
    shares: bool = False


# the folder that agents agreed upon for skills; some have another one too
SHARED = ".agents"

_ROWS: dict[AgentName, Agent] = {
    "claude": Agent(
        signs=(".claude", "CLAUDE.md"),
        skill=".claude/skills/checkpoint-git",
        files=(("command", ".claude/commands/checkpoints.md"),),
        hooks=Hooks(
            path=".claude/settings.json",
            events={
                "prime": "SessionStart",
                "stop": "Stop",
                "precompact": "PreCompact",
                "end": "SessionEnd",
                "guard": "PreToolUse",
                "point": "PreToolUse",
                "point_end": "Stop",
            },
        ),
    ),
    "codex": Agent(
        signs=(".codex",),
        skill=".agents/skills/checkpoint-git",
        files=(("command-skill", ".agents/skills/checkpoints/SKILL.md"),),
        notes="AGENTS.md",
        hooks=Hooks(
            path=".codex/hooks.json",
            events={
                "prime": "SessionStart",
                "stop": "Stop",
                "precompact": "PreCompact",
                "guard": "PreToolUse",
                "point": "PreToolUse",
                "point_end": "Stop",
            },
        ),
    ),
    "gemini": Agent(
        signs=(".gemini", ".geminiignore", "GEMINI.md"),
        skill=".gemini/skills/checkpoint-git",
        files=(("toml", ".gemini/commands/checkpoints.toml"),),
        notes="GEMINI.md",
        hooks=Hooks(
            path=".gemini/settings.json",
            events={
                "prime": "SessionStart",
                "stop": "AfterAgent",
                "precompact": "PreCompress",
                "end": "SessionEnd",
                "guard": "BeforeTool",
                "point": "BeforeTool",
                "point_end": "AfterAgent",
            },
            matcher=".*",
            second=1000,
        ),
        shares=True,
    ),
    "cursor": Agent(
        signs=(".cursor", ".cursorignore", ".cursorrules"),
        skill=".cursor/skills/checkpoint-git",
        files=(
            ("rule", ".cursor/rules/checkpoint-git.mdc"),
            ("prompt", ".cursor/commands/checkpoints.md"),
        ),
        hooks=Hooks(
            path=".cursor/hooks.json",
            events={
                "prime": "sessionStart",
                "stop": "stop",
                "precompact": "preCompact",
                "end": "sessionEnd",
                "guard": "preToolUse",
                "point": "preToolUse",
                "point_end": "stop",
            },
            matcher="",
            grouped=False,
            skeleton={"version": 1},
            extra={"failClosed": True},
        ),
        shares=True,
    ),
    "copilot": Agent(
        signs=(".github/copilot-instructions.md", ".github/hooks", ".github/skills"),
        skill=".github/skills/checkpoint-git",
        files=(("command-skill", ".github/skills/checkpoints/SKILL.md"),),
        notes="AGENTS.md",
        hooks=Hooks(
            path=".github/hooks/checkpoint-git.json",
            events={
                "prime": "sessionStart",
                "stop": "agentStop",
                "precompact": "preCompact",
                "end": "sessionEnd",
                "guard": "PreToolUse",
                "point": "PreToolUse",
                "point_end": "agentStop",
            },
            grouped=False,
            skeleton={"version": 1},
            script="bash",
            timeout="timeoutSec",
            entry={"type": "command"},
        ),
        shares=True,
    ),
    "opencode": Agent(
        signs=(".opencode", "opencode.json", "opencode.jsonc"),
        skill=".opencode/skills/checkpoint-git",
        files=(
            ("command", ".opencode/commands/checkpoints.md"),
            ("opencode.js", ".opencode/plugins/checkpoint-git.js"),
        ),
        moment_files={
            "guard": (("opencode-guard.js", ".opencode/plugins/checkpoint-git-guard.js"),),
            "point": (("opencode-points.js", ".opencode/plugins/checkpoint-git-points.js"),),
        },
        notes="AGENTS.md",
        shares=True,
    ),
    "generic": Agent(
        signs=("AGENTS.md", ".agents"),
        skill=".agents/skills/checkpoint-git",
        files=(("command-skill", ".agents/skills/checkpoints/SKILL.md"),),
        notes="AGENTS.md",
    ),
}


def _add_skill(agent: Agent) -> Agent:
    skill = [(name, f"{agent.skill}/{name}") for name in SKILL_FILES]
    return agent._replace(files=(*skill, *agent.files))


TABLE = {name: _add_skill(agent) for name, agent in _ROWS.items()}
SIGNS = tuple((name, sign) for name, agent in TABLE.items() for sign in agent.signs)


State = Literal["ours", "changed", "foreign"]

_STAMP = re.compile(
    rb"(?:<!--|#|//) checkpoint-git ([0-9a-f]{16})((?: [a-z]+=[0-9]+)*)(?: -->)?\r?\n?\Z"
)
_NEWLINES = re.compile(rb"\r\n?")


def _front(**members: str | bool) -> str:
    lines = (f"{name.replace('_', '-')}: {json.dumps(value)}\n" for name, value in members.items())
    return f"---\n{''.join(lines)}---\n\n"


_ABOUT = "Checkpoints of this project: status, next, save, doctor, show, list, reset"
_SKILLS = os.path.join(find_bundled("skills", "plugins/checkpoint-git/skills"), "")
_COMMAND = read_own(_SKILLS, "checkpoints/SKILL.md")
_BODY = _COMMAND.partition("---\n\n")[2]
_HINT = "[status|next|save|doctor|show|list|reset] [NAME]"
NOTES = read_own(__file__, "notes.md")
_COMMAND_FRONT = _front(description=_ABOUT, argument_hint=_HINT)
_RULE_FRONT = _front(description="Where the state of long work is kept", alwaysApply=True)
_PROMPT = f'"""\n{_BODY}\nWhat they typed: {{{{args}}}}\n"""'
TEXTS: dict[str, str] = {
    **{path: read_own(_SKILLS, f"checkpoint-git/{path}") for path in SKILL_FILES},
    "command": f"{_COMMAND_FRONT}{_BODY}\nWhat they typed: $ARGUMENTS\n",
    "command-skill": _COMMAND,
    "prompt": _BODY,
    "toml": f'description = "{_ABOUT}"\nprompt = {_PROMPT}\n',
    "opencode.js": read_own(__file__, "opencode.js"),
    "opencode-guard.js": read_own(__file__, "opencode-guard.js"),
    "opencode-points.js": read_own(__file__, "opencode-points.js"),
    "rule": f"{_RULE_FRONT}{NOTES}",
}


def rename_command(text: str, command: str) -> str:
    """Return a text or a path with another name of COMMANDS."""
    renamed = text.replace(f"name: {COMMANDS[0]}\n", f"name: {command}\n")
    return renamed.replace(f"/{COMMANDS[0]}", f"/{command}")


class Stamped(NamedTuple):
    """A file in its parts. text: without the stamp, with plain line ends. folders: how many were
    made for the file.
    """

    state: State
    text: bytes
    folders: int = 0


def render_stamped(path: str, text: str, folders: int) -> bytes:
    """Return a file of ours with its stamp: a comment as the last line, in the file's language."""
    body = text.encode()
    words = f"checkpoint-git {_checksum(body)} folders={folders}"
    sign = {".toml": "#", ".yml": "#", ".js": "//"}.get(os.path.splitext(path)[1])
    stamp = f"{sign} {words}" if sign else f"<!-- {words} -->"
    return body + f"{stamp}\n".encode()


def read_stamped(data: bytes) -> Stamped:
    """Return a file in its parts. The stamp has a checksum: a file that the user changed is
    theirs. A clone may have given the file other line ends.
    """
    found = _STAMP.search(data)
    if found is None:
        return Stamped("foreign", data)
    text = _NEWLINES.sub(b"\n", data[: found.start()])
    notes = dict(word.split("=") for word in found[2].decode().split())
    folders = int(notes.get("folders", "0"))
    if _checksum(text).encode() == found[1]:
        return Stamped("ours", text, folders)
    return Stamped("changed", text, folders)


def _checksum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]
