"""`checkpoint mcp`: serve agents over standard input and output, or show how a client is told to start it."""

import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any, NamedTuple

from checkpoint_git.cli.render.json import SCHEMA_VERSION, write
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.protocols.contract import skill_layout

_SERVER = "checkpoint"
_OWNER = "CHECKPOINT_SKILL"


class Client(NamedTuple):
    file: str  # where the snippet belongs
    table: str = "mcpServers"  # the member that it is in
    project: Sequence[str] = ()  # the words for the project's folder, () where the client starts us there
    has_type: bool = True  # whether "type" is named

    @property
    def language(self) -> str:
        return self.file.rpartition(".")[2]


_FOLDER = ("--project", "${workspaceFolder}")
CLIENTS = {
    "claude": Client(".mcp.json"),
    "codex": Client(".codex/config.toml", "mcp_servers", has_type=False),
    "cursor": Client(".cursor/mcp.json", project=_FOLDER),
    "gemini": Client(".gemini/settings.json", has_type=False),
    "vscode": Client(".vscode/mcp.json", "servers", _FOLDER),
}


def find_config(name: str, options: list[str]) -> dict[str, Any]:
    client = CLIENTS[name]
    project = () if "--project" in options else client.project
    server = {"command": "checkpoint", "args": ["mcp", *project, *options]}
    return {client.table: {_SERVER: {"type": "stdio", **server} if client.has_type else server}}


def write_config(name: str, options: list[str]) -> str:
    config = find_config(name, options)
    if CLIENTS[name].language == "json":
        return json.dumps(config, indent=2) + "\n"
    ((table, servers),) = config.items()
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in servers[_SERVER].items()]
    return f"[{table}.{_SERVER}]\n{''.join(lines)}"


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--project", metavar="DIR", help="where to work (default: the current folder)")
    add("--skill", metavar="NAME", help="show this checkpoint in full, and write no other")
    add("--read-only", action="store_true", help="without the tools that write")
    add("--tools", choices=("all", "minimal"), default="all", help="minimal: only the six for everyday work")
    add("--print-config", metavar="CLIENT", choices=list(CLIENTS), help=f"print settings for {', '.join(CLIENTS)}")


def answer(args: Namespace, invocation: Invocation) -> Answer:
    # Serving ends when the client goes
    if args.skill is not None:
        skill_layout().check_skill_name(args.skill)
    if args.print_config is not None:
        return _print_config(args, invocation.cwd)
    owner = invocation.env.get(_OWNER, "")
    if args.skill is not None and owner and args.skill != owner:
        message = f"--skill says {args.skill}, and {_OWNER} says {escape_controls(owner)}"
        raise CheckpointError(message, "leave one of the two out")
    owner = args.skill or owner
    if owner:
        skill_layout().check_skill_name(owner)
    project = _find_project(args.project, invocation.cwd)
    from checkpoint_git.mcp import server  # without the SDK the command line says how to install it

    if invocation.stdin.isatty():
        invocation.stderr.write("checkpoint: waiting for a client on standard input; Ctrl-D ends this\n")
        invocation.stderr.flush()
    wish = server.Wish(project or invocation.cwd, owner, args.read_only, args.tools == "minimal")
    code = server.serve(wish, invocation.stderr)
    invocation.stderr.flush()
    os._exit(code)  # a thread may still read what nobody wants any more; nothing is being written


def _find_project(wished: str | None, cwd: str) -> str:
    if wished is None:
        return ""
    folder = os.path.abspath(os.path.join(cwd, wished))
    if not os.path.isdir(folder):
        raise CheckpointError(f"--project {escape_controls(wished)}: no such directory", "name one that exists")
    return folder


def _print_config(args: Namespace, cwd: str) -> Answer:
    name, client = args.print_config, CLIENTS[args.print_config]
    options = ["--project", _find_project(args.project, cwd)] if args.project is not None else []
    options += ["--skill", args.skill] if args.skill is not None else []
    options += ["--read-only"] if args.read_only else []
    options += ["--tools", "minimal"] if args.tools == "minimal" else []
    if args.format == "json":
        data = {"client": name, "file": client.file, "language": client.language}
        data |= {"config": find_config(name, options), "text": write_config(name, options)}
        return Answer([write({"schema_version": SCHEMA_VERSION, "command": "mcp", **data})], 0)
    return Answer([write_config(name, options)], 0, f"this belongs into {client.file} in the project's root")
