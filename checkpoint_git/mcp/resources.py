"""Checkpoints as resources: their addresses, and which there are."""

import os
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.contract import skill_layout

Context = ServerRequestContext[object, object]

SCHEME = "checkpoint://"
MIME_TYPE = "application/json"
MOST_CHECKPOINTS = 10_000


def find_uri(skill: str) -> str:
    return SCHEME + quote(skill, safe="")


def find_named(uri: str) -> str:
    name = unquote(uri.removeprefix(SCHEME).rstrip("/")) if uri.startswith(SCHEME) else ""
    if not name or skill_layout().find_name_trouble(name):
        raise unknown("resource", uri)
    return name


def unknown(what: str, name: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"Unknown {what}: {escape_controls(shorten(name, 100))}")


def read_sizes(cwd: str) -> dict[str, int]:
    """By skill, sorted; {} where there is no folder, or it cannot be read. No checkpoint is opened."""
    try:
        entries = sorted(os.scandir(find_place(cwd).directory), key=lambda entry: entry.name)
    except (CheckpointError, OSError):
        return {}
    found, layout = dict[str, int](), skill_layout()
    for entry in entries:
        skill = layout.find_skill(entry.name)
        if not skill or layout.find_name_trouble(skill) or len(found) >= MOST_CHECKPOINTS:
            continue
        try:
            found[skill] = entry.stat().st_size
        except OSError:  # removed meanwhile
            continue
    return dict(sorted(found.items()))
