"""How each client is told to start the server: the file, and what stands in it. Pure; nothing is written."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

SERVER = "checkpoint"


class Client(NamedTuple):
    """file: where the snippet belongs. project: the words for the project's folder, () where it starts us there."""

    file: str
    language: str
    project: tuple[str, ...]
    make: Callable[[list[str]], dict[str, Any]]


def _servers(words: list[str]) -> dict[str, Any]:
    return {"mcpServers": {SERVER: {"command": "checkpoint", "args": words}}}


def _typed_servers(words: list[str]) -> dict[str, Any]:
    return {"mcpServers": {SERVER: {"type": "stdio", "command": "checkpoint", "args": words}}}


def _vscode_servers(words: list[str]) -> dict[str, Any]:
    return {"servers": {SERVER: {"type": "stdio", "command": "checkpoint", "args": words}}}


def _codex_servers(words: list[str]) -> dict[str, Any]:
    return {"mcp_servers": {SERVER: {"command": "checkpoint", "args": words}}}


_WORKSPACE = ("--project", "${workspaceFolder}")
CLIENTS = {
    "claude": Client(".mcp.json", "json", (), _typed_servers),
    "codex": Client(".codex/config.toml", "toml", (), _codex_servers),
    "cursor": Client(".cursor/mcp.json", "json", _WORKSPACE, _typed_servers),
    "gemini": Client(".gemini/settings.json", "json", (), _servers),
    "vscode": Client(".vscode/mcp.json", "json", _WORKSPACE, _vscode_servers),
}


def find_config(name: str, options: list[str]) -> dict[str, Any]:
    """What a client's file has to hold, as a value. options: more words for `checkpoint mcp`."""
    client = CLIENTS[name]
    project = () if "--project" in options else client.project
    return client.make(["mcp", *project, *options])


def write_config(name: str, options: list[str]) -> str:
    """The same as the file's text."""
    config = find_config(name, options)
    if CLIENTS[name].language == "json":
        return json.dumps(config, indent=2) + "\n"
    ((table, servers),) = config.items()
    lines = [f"{key} = {json.dumps(value)}" for key, value in servers[SERVER].items()]
    return "\n".join([f"[{table}.{SERVER}]", *lines]) + "\n"
