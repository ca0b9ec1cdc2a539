"""`checkpoint memory clear` and `archive`: delete the checkpoint, of which a copy is kept."""

import argparse

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.memory import graph, store
from checkpoint_git.protocols.memory.entity import Entity, Reading, read_entity
from checkpoint_git.protocols.memory.layout import Home
from checkpoint_git.protocols.memory.save import confirm, read_given
from checkpoint_git.protocols.memory.server import nothing_changed, repair_graph
from checkpoint_git.protocols.memory.store import Keep
from checkpoint_git.protocols.memory.transports import GraphError, Transport, UnavailableError
from checkpoint_git.protocols.memory.triggers import TriggerRequest


def clear(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Delete the checkpoint; a graph that no server can read is repaired first."""
    try:
        return delete(args, invocation)
    except GraphError:
        repaired = repair_graph(args, invocation)
        if repaired is None:
            raise

    if "aside" not in repaired.data:  # the answer was no
        return repaired
    args.yes = True
    cleared = delete(args, invocation)
    findings = [*repaired.findings, *cleared.findings]
    return cleared._replace(data=repaired.data | cleared.data, findings=findings)


def delete(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Delete the checkpoint, unless it is gone or the answer is no.

    `archive` saves the given fields before.
    """
    keep = graph.make_keep(invocation)
    final = None
    if args.action == "archive":
        final = TriggerRequest("manual", read_given(args, invocation))

    with graph.open_checkpoint(args, invocation) as (transport, home):
        name = store.find_name(transport, home)
        entity = store.load_entity(transport, name)
        if entity is None:
            return report_missing(transport, home)
        store.check_ours(entity)

        reading = read_entity(entity)
        if not graph.is_confirmed(_ask_deletion(name, reading), invocation, yes=args.yes):
            return nothing_changed(name)

        if final is not None and reading.state != "corrupted":
            entity = _save_final(transport, home, final, keep, args, invocation)
        with transport.exclusive():
            entity = store.load_entity(transport, name) or entity
            copy = keep(entity)
            store.remove_entity(transport, name)

    graph.remember(invocation.cwd, None)
    data = {"entity": name, "deleted": True, "copy": copy, "final": read_entity(entity).fields}
    lines: list[Block] = [
        Line(f"{name}: deleted", "good"),
        Line(f"  a copy is kept in {copy}", "dim"),
    ]
    return Outcome(data, lines)


def _ask_deletion(name: str, reading: Reading) -> str:
    initiative = shorten(reading.fields.get("initiative", "no initiative"), 80)
    return f"delete the checkpoint {name} ({initiative}) from the graph?"


def _save_final(
    transport: Transport,
    home: Home,
    final: TriggerRequest,
    keep: Keep,
    args: argparse.Namespace,
    invocation: Invocation,
) -> Entity:
    def write(is_sure: bool) -> store.Saved:
        now = invocation.now
        return store.save_checkpoint(transport, home, lambda: final, now, keep, replace=is_sure)

    return confirm(write, args, invocation).entity


def report_missing(transport: Transport, home: Home) -> Outcome:
    """Report that there is no checkpoint, and name those of other repositories in the graph."""
    data = {
        "entity": store.find_name(transport, home),
        "exists": False,
        "fields": {},
        "options": [],
    }
    others: list[Entity] = []
    findings: list[Finding] = []
    try:
        for entity in transport.read_graph():
            if read_entity(entity).state in ("good", "interrupted"):
                others.append(entity)
    except GraphError as error:  # entities of others are broken
        findings.append(Finding("memory/graph-broken", "warning", error.message, hint=error.hint))
    except UnavailableError:  # a large graph takes long to list
        pass

    if others:
        findings.append(_list_others(others))
    line = Line("no checkpoint: nothing to resume", "dim")
    return Outcome(data, [line], findings)


def _list_others(others: list[Entity]) -> Finding:
    named = []
    for entity in others[:5]:
        initiative = read_entity(entity).fields["initiative"]
        named.append(f"{entity.name} ({initiative})")

    shown = escape_controls(shorten(", ".join(named), 400))
    message = f"the graph has checkpoints of other repositories: {shown}"
    words = ("git", "config", "checkpoint.memoryEntity", others[0].name)
    hint = advise("to use one of them here", *words)
    return Finding("memory/others", "note", message, hint=hint)
