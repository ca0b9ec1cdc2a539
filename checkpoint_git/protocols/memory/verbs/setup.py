"""`checkpoint memory setup`: the reference server installed into a cache folder, configured and proved. Asks first."""

import argparse
import os
import shlex
import subprocess

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import find_repository
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.protocols.memory import graph as graphs
from checkpoint_git.protocols.memory import layout

_TIMEOUT = 300.0  # seconds that the installation may take


def setup(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 where the server that was installed does not prove itself."""
    if not args.everywhere and find_repository(invocation.cwd) is None:
        raise CheckpointError("this is no git repository, so there is no place for the settings", "or: --global")
    node, npm = (_find_program(name, invocation) for name in ("node", "npm"))
    folder = layout.server_folder(invocation.env)
    graph = layout.check_graph_path(args.file or "") or os.path.join(layout.data_folder(invocation.env), "memory.jsonl")
    question = f"install {layout.SERVER_PACKAGE} with npm into {folder}, and keep the graph in {graph}?"
    if not graphs.is_confirmed(question, invocation, yes=args.yes):
        data = {"action": "setup", "available": False, "installed": False}
        return Outcome(data, [Line("nothing was changed")])
    _install(npm, folder, invocation)
    script = layout.server_script(folder)
    if not os.path.isfile(script):
        raise CheckpointError(f"npm ended well, but {script} is not there", "look into the folder")
    atomic.make_folder(os.path.dirname(graph))
    _configure(invocation.cwd, args, shlex.join([node, script]), graph)
    return _prove(args, invocation, script, graph)


def _find_program(name: str, invocation: Invocation) -> str:
    import shutil

    found = shutil.which(name, path=invocation.env.get("PATH"))
    if found is None:
        raise CheckpointError(f"{name} was not found", "install Node.js, or put it on PATH")
    return os.path.abspath(found)


def _install(npm: str, folder: str, invocation: Invocation) -> None:
    """Runs npm; no script of any package is run."""
    atomic.make_folder(folder)
    words = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder, layout.SERVER_PACKAGE]
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=clean_env(invocation.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CheckpointError(f"npm was not done after {_TIMEOUT:g} seconds", "look at your network") from None
    except OSError as error:
        raise CheckpointError(f"npm could not be started: {error.strerror}", "check PATH") from None
    if done.returncode:
        lines = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if " error " in f" {line} "]
        said = escape_controls(shorten(lines[-1] if lines else f"exit code {done.returncode}", 300))
        raise CheckpointError(f"npm could not install the server: {said}", "nothing was configured")


def _configure(cwd: str, args: argparse.Namespace, command: str, graph: str) -> None:
    where = ["--global"] if args.everywhere else ["--local"]
    run_git(["config", *where, "checkpoint.memoryCommand", command], cwd)
    run_git(["config", *where, "checkpoint.memoryFile", graph], cwd)


def _prove(args: argparse.Namespace, invocation: Invocation, script: str, graph: str) -> Outcome:
    from checkpoint_git.protocols.memory.verbs.doctor import doctor

    args.fix = False
    found = doctor(args, invocation)
    lines: list[Block] = [Line(f"installed: {script}", "good"), *found.blocks]
    data = {**found.data, "action": "setup", "installed": True, "graph": graph}
    return found._replace(data=data, blocks=lines)
