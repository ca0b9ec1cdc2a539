"""`checkpoint memory doctor`: does the server start, answer and write, are graph and checkpoint sound?"""

import argparse
import os
from collections.abc import Iterator
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.memory import graph as graphs
from checkpoint_git.protocols.memory import rules, store
from checkpoint_git.protocols.memory.commit import read_log
from checkpoint_git.protocols.memory.entity import Entity
from checkpoint_git.protocols.memory.layout import ENTITY_TYPE
from checkpoint_git.protocols.memory.transports.contract import GraphError, Transport, UnavailableError
from checkpoint_git.protocols.memory.transports.jsonl import BROKEN_HINT, read_lines

_PROBE = "checkpoint-git-probe"


def doctor(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 where something keeps checkpoints from being saved or read."""
    settings = graphs.read_settings(invocation.cwd, args.entity)
    if args.fix:
        return _fix(args, settings, invocation)
    data: dict[str, Any] = {"action": "doctor", "entity": settings.entity, "available": False, "proved": False}
    findings = [*graphs.find_offline(args.offline), *_look(args, settings, invocation, data)]
    if settings.on_commit and (said := read_log(invocation.cwd)) and "error" in said:
        message = f"the last save after a commit failed: {shorten(said.splitlines()[0], 200)}"
        findings.append(Finding("memory/on-commit", "warning", message, hint="checkpoint memory save --on commit"))
    return Outcome(data, _lines(data), findings, None if has_errors(findings) else 0)


def _look(
    args: argparse.Namespace, settings: graphs.Settings, invocation: Invocation, data: dict[str, Any]
) -> Iterator[Finding]:
    if not settings.command.strip() and not args.offline:
        hint = "checkpoint memory setup installs a server and configures it, after asking"
        yield Finding("memory/not-configured", "error", "no memory server is configured", hint=hint)
        return
    path = data["graph"] = graphs.find_graph(settings, invocation.env)
    if not path:
        message = "nobody says where the graph's file lies; the server knows"
        hint = "git config checkpoint.memoryFile PATH, from the root, if this client and others are to share one"
        yield Finding("memory/graph-unknown", "note", message, hint=hint)
    elif broken := [at for at, line in enumerate(read_lines(path), 1) if line.value is None]:
        message = f"line {broken[0]} is not JSON ({len(broken)} such lines): no server reads this graph"
        yield Finding("memory/graph-broken", "error", message, path, line=broken[0], hint=BROKEN_HINT)
        return
    try:
        with graphs.open_graph(settings, invocation.cwd, invocation.env, offline=args.offline) as transport:
            data["available"] = True
            yield from _try(transport, settings.entity, invocation.now, data)
    except UnavailableError as error:
        yield Finding("memory/unavailable", "error", error.message, hint=error.hint)
    except GraphError as error:
        yield Finding("memory/graph-broken", "error", error.message, path, hint=error.hint)


def _try(transport: Transport, name: str, now: int, data: dict[str, Any]) -> Iterator[Finding]:
    from checkpoint_git.protocols.memory.transports.stdio import TOOLS

    data["server"] = getattr(transport, "server", "")
    missing = [tool for tool in TOOLS if tool not in getattr(transport, "tools", TOOLS)]
    if missing:
        message = f"the server lacks what a checkpoint needs: {', '.join(missing)}"
        yield Finding("memory/tools-missing", "error", message, hint="see checkpoint.memoryCommand")
        return
    data["entities"] = len(transport.read_graph())
    entity = store.load_entity(transport, name)
    if entity is not None:
        yield from rules.check(entity, now)
    data["exists"] = entity is not None
    yield from _prove(transport, data)


def _prove(transport: Transport, data: dict[str, Any]) -> Iterator[Finding]:
    """Writes an entity, reads it, changes it and deletes it again: what a save does, on a name of its own."""
    name = f"{_PROBE}-{os.urandom(6).hex()}"
    try:
        with transport.exclusive():
            transport.create_entities([Entity(name, ENTITY_TYPE, ("initiative:probe", "phase:a"))])
            store.write_fields(transport, name, {"phase": "b"})
            store.write_fields(transport, name, {"phase": "a"})
            store.remove_entity(transport, name)
        data["proved"] = True
    except (UnavailableError, GraphError):
        raise
    except CheckpointError as error:
        yield Finding("memory/not-proved", "error", f"a trial write failed: {error.message}", hint=error.hint)


def _lines(data: dict[str, Any]) -> list[Block]:
    if not data["available"]:
        return []
    lines: list[Block] = [Line(f"server:  {data.get('server') or 'none, the file directly'}")]
    lines.append(Line(f"graph:   {data.get('graph') or 'known to the server'} ({data.get('entities', 0)} entities)"))
    if data["proved"]:
        lines.append(Line("a trial checkpoint was written, read back, changed and deleted", "good"))
    return lines


def _fix(args: argparse.Namespace, settings: graphs.Settings, invocation: Invocation) -> Outcome:
    from checkpoint_git.protocols.memory.verbs.load import mend_graph

    sound = CheckpointError("there is nothing to fix: the graph's file is not there, unknown or sound", "")
    return mend_graph("doctor", settings, sound, invocation, yes=args.yes)
