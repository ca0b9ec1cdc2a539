"""`checkpoint memory doctor` and `setup`: check or install a server, and repair its graph."""

import argparse
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

from checkpoint_git.core.clock import write_stamp
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.core.hint import Blank, advise, join_hints
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, plural, shorten
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import find_repository
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.protocols.limits import read_stale_days
from checkpoint_git.protocols.memory import graph, layout, rules, store
from checkpoint_git.protocols.memory.entity import Entity
from checkpoint_git.protocols.memory.graph_file import (
    find_servers,
    graph_lock,
    plan_repair,
    read_lines,
    salvage,
)
from checkpoint_git.protocols.memory.save_log import read_log
from checkpoint_git.protocols.memory.transports import (
    BROKEN_HINT,
    TOOLS,
    GraphError,
    Transport,
    UnavailableError,
)

_INSTALL_TIMEOUT = 300.0  # seconds
_PACKAGE = f"{layout.SERVER_PACKAGE}@{layout.SERVER_VERSION}"


def doctor(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    if args.fix:
        nothing = Line("nothing to fix: the graph's file is missing, unknown or sound", "good")
        return repair_graph(args, invocation) or Outcome({"entity": args.entity}, [nothing])

    settings = graph.read_settings(invocation.cwd, args.entity)
    data: dict[str, Any] = {
        "entity": settings.home.name or layout.ENTITY,
        "available": False,
        "proved": False,
    }
    findings = list(_examine(settings, invocation, data))
    log = read_log(invocation.cwd)
    if log.why:
        why = escape_controls(shorten(log.why.splitlines()[0], 200))
        message = f"the last save in the background failed: {why}"
        hint = advise("save it now", "checkpoint", "memory", "save", "--on", log.occasion)
        findings.append(Finding("memory/on-commit", "warning", message, hint=hint))

    lines: list[Block] = []
    if data["available"]:
        known = data.get("graph") or "known to the server"
        lines.append(Line(f"server:  {data['server']}"))
        lines.append(Line(f"graph:   {known} ({data.get('entities', 0)} entities)"))

    if data["proved"]:
        proof = "a trial checkpoint was written, read back, changed and deleted"
        lines.append(Line(proof, "good"))
    return Outcome(data, lines, findings, None if has_errors(findings) else 0)


def _examine(
    settings: graph.GraphSettings, invocation: Invocation, data: dict[str, Any]
) -> Iterator[Finding]:
    """Yield what is wrong with the server and its graph. data: gets what is known of them."""
    if not settings.command:
        yield Finding(
            "memory/not-configured", "error", "no memory server is configured", hint=graph.SETUP
        )
        return

    path = data["graph"] = graph.find_graph(settings, invocation.env)
    lines = read_lines(path) if path else []
    data["entities"] = sum(line.is_a("entity") for line in lines)
    if not path:
        message = "the path of the graph's file is unknown; only the server knows it"
        file = Blank("an absolute path", "ABSOLUTE-PATH")
        words = ("git", "config", "checkpoint.memoryFile", file)
        hint = advise("to share one between clients", *words)
        yield Finding("memory/graph-unknown", "note", message, hint=hint)

    faults = plan_repair(lines).faults
    if faults:
        line, fault = faults[0]
        count = plural(len(faults), "such line")
        message = f"line {line}: {fault} ({count}): no server can use this graph"
        yield Finding("memory/graph-broken", "error", message, path, line=line, hint=BROKEN_HINT)
        return

    try:
        with graph.open_graph(settings, invocation.cwd, invocation.env) as transport:
            data["available"] = True
            yield from _try(transport, settings.home, invocation, data)
    except UnavailableError as error:
        yield Finding("memory/unavailable", "error", error.message, hint=error.hint)
    except GraphError as error:
        yield Finding("memory/graph-broken", "error", error.message, path, hint=error.hint)


def _try(
    transport: Transport, home: layout.Home, invocation: Invocation, data: dict[str, Any]
) -> Iterator[Finding]:
    """Write a trial checkpoint, and yield what is wrong. data: gets what the server says."""
    data["server"] = getattr(transport, "server", "")
    missing = [tool for tool in TOOLS if tool not in getattr(transport, "tools", TOOLS)]
    if missing:
        message = f"the server lacks what a checkpoint needs: {', '.join(missing)}"
        yield Finding("memory/tools-missing", "error", message, hint=graph.SETUP)
        return

    if not data["graph"]:  # else not asked: a server needs more than 20 seconds to list 50 MB
        data["entities"] = len(transport.read_graph())
    data["entity"] = store.find_name(transport, home)
    entity = store.load_entity(transport, data["entity"])
    graph.remember(invocation.cwd, entity)
    if entity is not None:
        stale_days = read_stale_days(invocation.cwd, invocation.env)
        yield from rules.check(entity, invocation.now, stale_days)
    data["exists"] = entity is not None
    probe = f"checkpoint-git-probe-{os.urandom(6).hex()}"
    try:
        with transport.exclusive():  # what a save does, under a name of its own
            transport.create_entities(
                [Entity(probe, layout.ENTITY_TYPE, ("initiative:probe", "phase:a"))]
            )
            store.write_fields(transport, probe, {"phase": "b"})
            store.write_fields(transport, probe, {"phase": "a"})
            store.remove_entity(transport, probe)
        data["proved"] = True
    except UnavailableError:
        raise
    except CheckpointError as error:
        yield Finding(
            "memory/not-proved", "error", f"a trial write failed: {error.message}", hint=error.hint
        )


def repair_graph(args: argparse.Namespace, invocation: Invocation) -> Outcome | None:
    """Move a broken graph aside and keep its readable lines, after asking.

    Return None if the file is sound. Raises CheckpointError if a server runs: it may have read the
    file already, and write over the repaired one.
    """
    settings = graph.read_settings(invocation.cwd, args.entity)
    path = graph.find_graph(settings, invocation.env)
    lines = read_lines(path) if path else []
    plan = plan_repair(lines)
    if not plan.faults:
        return None
    _check_stopped(path, settings, invocation)

    number, fault = plan.faults[0]
    count = plural(len(plan.faults), "broken line")
    question = f"{path}: {count} of {len(lines)} (line {number}: {fault}). Repair the file?"
    if not graph.is_confirmed(f"{question} A copy of it is kept", invocation, yes=args.yes):
        return nothing_changed(path)

    aside = f"{path}.broken-{write_stamp(invocation.now)}-{os.getpid()}"
    with graph_lock(path, layout.cache_folder(invocation.env))():
        plan = salvage(path, aside)
    kept = len(plan.lines)
    message = f"the graph's file was repaired: {count}, {plan.lost} dropped"
    message += f", {plural(kept, 'line')} kept"
    hint = f"the file as it was: {aside}"
    finding = Finding("memory/graph-broken", "warning", message, path, hint=hint)
    return Outcome({"graph": path, "aside": aside, "kept": kept}, (), [finding], 0)


def _check_stopped(path: str, settings: graph.GraphSettings, invocation: Invocation) -> None:
    command: tuple[str, ...] = ()
    if settings.command:
        command = layout.read_command(settings.command, settings.file, invocation.env).words
    running = find_servers(path, command)
    if not running:
        return

    graph_file = escape_controls(path)
    processes = ", ".join(str(number) for number in running[:5])
    message = f"a memory server that may use {graph_file} is running (process {processes})"
    hint = join_hints(
        "close the agents that use it, or end the process",
        advise("then", "checkpoint", "memory", "doctor", "--fix"),
    )
    raise CheckpointError(message, hint)


def nothing_changed(name: str) -> Outcome:
    return Outcome({"entity": name, "deleted": False}, [Line("nothing was changed")])


def setup(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    if not args.everywhere and find_repository(invocation.cwd) is None:
        raise CheckpointError(
            "this is not a git repository, so settings cannot be stored", "or: --global"
        )

    node = _find_program("node", invocation)
    npm = _find_program("npm", invocation)
    folder = os.path.join(layout.cache_folder(invocation.env), "memory-server")
    usual_path = os.path.join(layout.data_folder(invocation.env), "memory.jsonl")
    path = layout.check_graph_path(args.file or "") or usual_path
    question = f"install {_PACKAGE} with npm into {folder}, and keep the graph in {path}?"
    if not graph.is_confirmed(question, invocation, yes=args.yes):
        return Outcome({"available": False, "installed": False}, [Line("nothing was changed")])

    _install(npm, folder, invocation)
    script = layout.server_script(folder)
    if not os.path.isfile(script):
        raise CheckpointError(f"npm succeeded, but {script} is missing", "look into the folder")

    scope = "--global" if args.everywhere else "--local"
    server = shlex.join([node, script])
    run_git(["config", scope, "checkpoint.memoryCommand", server], invocation.cwd)
    run_git(["config", scope, "checkpoint.memoryFile", path], invocation.cwd)

    args.fix = False
    found = doctor(args, invocation)
    data = {**found.data, "installed": True, "graph": path}
    return found._replace(data=data, blocks=[Line(f"installed: {script}", "good"), *found.blocks])


def _find_program(name: str, invocation: Invocation) -> str:
    found = shutil.which(name, path=invocation.env.get("PATH"))
    if found is None:
        raise CheckpointError(f"{name} was not found", "install Node.js, or put it on PATH")
    return os.path.abspath(found)


def _install(npm: str, folder: str, invocation: Invocation) -> None:
    atomic.make_folder(folder)
    words = [
        npm,
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefix",
        folder,
        _PACKAGE,
    ]
    env = clean_env(invocation.env)
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_INSTALL_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        message = f"npm did not finish within {_INSTALL_TIMEOUT:g} seconds"
        raise CheckpointError(message, "check your network") from None
    except OSError as error:
        message = f"npm could not be started: {error.strerror}"
        raise CheckpointError(message, "check PATH") from None

    if done.returncode:
        reason = f"exit code {done.returncode}"
        for line in done.stderr.decode("utf-8", "replace").splitlines():
            if " error " in f" {line} ":
                reason = line
        shown = escape_controls(shorten(reason, 300))
        message = f"npm could not install the server: {shown}"
        raise CheckpointError(message, "nothing was configured")
