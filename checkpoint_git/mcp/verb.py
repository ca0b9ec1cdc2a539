"""`checkpoint mcp`: serve agents over standard input and output."""

import os
from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import NoReturn

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.mcp.calls import OWNER, World
from checkpoint_git.protocols.contract import skill_layout

HELP = """\
serve agents over the Model Context Protocol: the commands as tools

examples:
  checkpoint mcp                           started by a client; speaks on stdin and stdout
  checkpoint mcp --name build              show this checkpoint in full, and write no other
  checkpoint mcp --read-only               without the tools that write

It needs the Python package `mcp` (the extra `mcp`), and ends when its input is closed.
"""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--project", metavar="DIR", help="where to work (default: the current folder)")
    add("--name", metavar="NAME", help="show this checkpoint in full, and write no other")
    add("--skill", dest="name", help=SUPPRESS)  # its former word
    add("--read-only", action="store_true", help="without the tools that write")
    add(
        "--tools",
        choices=("all", "minimal"),
        default="all",
        help="minimal: only the seven for everyday work",
    )


def answer(args: Namespace, invocation: Invocation) -> NoReturn:
    """Serve until the client goes."""
    owner = invocation.env.get(OWNER, "")
    if args.name is not None:
        if owner and args.name != owner:
            message = f"--name is {args.name}, but {OWNER} is {escape_controls(owner)}"
            raise CheckpointError(message, "leave one of the two out")
        owner = args.name
    if owner or args.name is not None:
        skill_layout().check_skill_name(owner)

    project = os.path.abspath(os.path.join(invocation.cwd, args.project or ""))
    if not os.path.isdir(project):
        message = f"--project {escape_controls(args.project)}: no such directory"
        raise CheckpointError(message, "name one that exists")

    # without the SDK the command line says how to install it
    from checkpoint_git.mcp import server, tools

    if invocation.stdin.isatty():
        waiting = "checkpoint: waiting for a client on standard input; Ctrl-D ends this\n"
        invocation.stderr.write(waiting)

    chosen = tools.choose_tools(read_only=args.read_only, minimal=args.tools == "minimal")
    server.serve(World(project, owner), chosen, invocation.stderr)
    invocation.stderr.flush()
    os._exit(0)  # a thread may still read what nobody wants any more; nothing is being written
