"""The table of agents: where each keeps its skills, commands, notes and hooks, and how it spells a hook. Rows alone."""

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


_CLAUDE_EVENTS: dict[Moment, str] = {
    "prime": "SessionStart",
    "stop": "Stop",
    "precompact": "PreCompact",
    "guard": "PreToolUse",
}

SHARED = ".agents"  # the folder that agents agreed upon for skills; some have one of their own besides
_SHARED_FILES: tuple[tuple[TextKind, str], ...] = (
    ("skill", f"{SHARED}/skills/checkpoint-protocol/SKILL.md"),
    ("command-skill", f"{SHARED}/skills/checkpoint/SKILL.md"),
)

TABLE: dict[AgentName, Agent] = {
    "claude": Agent(
        signs=(".claude", "CLAUDE.md"),
        files=(
            ("skill", ".claude/skills/checkpoint-protocol/SKILL.md"),
            ("command", ".claude/commands/checkpoint.md"),
        ),
        hooks=Hooks(".claude/settings.json", _CLAUDE_EVENTS),
    ),
    "codex": Agent(
        signs=(".codex",),
        files=_SHARED_FILES,
        notes="AGENTS.md",
        hooks=Hooks(".codex/hooks.json", _CLAUDE_EVENTS),
    ),
    "gemini": Agent(
        signs=(".gemini", ".geminiignore", "GEMINI.md"),
        files=(
            ("skill", ".gemini/skills/checkpoint-protocol/SKILL.md"),
            ("toml", ".gemini/commands/checkpoint.toml"),
        ),
        notes="GEMINI.md",
        hooks=Hooks(
            ".gemini/settings.json",
            {"prime": "SessionStart", "stop": "AfterAgent", "precompact": "PreCompress", "guard": "BeforeTool"},
            matcher=".*",
            second=1000,
        ),
        shares=True,
    ),
    "cursor": Agent(
        signs=(".cursor", ".cursorignore", ".cursorrules"),
        files=(
            ("skill", ".cursor/skills/checkpoint-protocol/SKILL.md"),
            ("rule", ".cursor/rules/checkpoint-protocol.mdc"),
            ("prompt", ".cursor/commands/checkpoint.md"),
        ),
        hooks=Hooks(
            ".cursor/hooks.json",
            {"prime": "sessionStart", "stop": "stop", "precompact": "preCompact", "guard": "preToolUse"},
            matcher="",
            grouped=False,
            skeleton={"version": 1},
            extra={"failClosed": True},
        ),
        shares=True,
    ),
    "generic": Agent(signs=("AGENTS.md", SHARED), files=_SHARED_FILES, notes="AGENTS.md"),
}

SIGNS = tuple((name, sign) for name, agent in TABLE.items() for sign in agent.signs)
