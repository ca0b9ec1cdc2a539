"""`checkpoint memory load`, `clear` and `archive`: what the last session left, how to go on, and how it ends."""

import argparse
import os
from collections.abc import Mapping
from typing import Any

from checkpoint_git.core.clock import age_text, read_instant, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.memory import graph as graphs
from checkpoint_git.protocols.memory import rules, store
from checkpoint_git.protocols.memory.entity import Entity, Reading, read_entity
from checkpoint_git.protocols.memory.observations import KEYS
from checkpoint_git.protocols.memory.transports.contract import GraphError, Transport
from checkpoint_git.protocols.memory.transports.jsonl import salvage
from checkpoint_git.protocols.memory.verbs import save as saving

_WIDTH = 200  # characters of a value in the summary
_QUESTION = "Resume from checkpoint?"
OPTIONS = (
    ("resume", "Resume where I left off", "checkpoint memory load --continue"),
    ("fresh", "Start fresh", "checkpoint memory load --fresh"),
    ("details", "Show details", "checkpoint memory load --details"),
)


# load


def load(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb `load`. No checkpoint is no error; a corrupted one is."""
    if args.resume + args.fresh + args.details > 1:
        raise CheckpointError("--continue, --fresh and --details exclude one another", "choose one")
    settings = graphs.read_settings(invocation.cwd, args.entity)
    if args.fresh:
        return _clear("load", settings, args, invocation)
    with graphs.open_graph(settings, invocation.cwd, invocation.env, offline=args.offline) as transport:
        entity = store.load_entity(transport, settings.entity)
        if entity is None:
            return _nothing("load", settings.entity, graphs.find_offline(args.offline))
        outcome = _describe(entity, invocation.now, details=args.details)
        outcome = outcome._replace(findings=[*graphs.find_offline(args.offline), *outcome.findings])
        if read_entity(entity).state in ("corrupted", "foreign"):
            return outcome
        choice = "resume" if args.resume else "" if args.details or args.to_skill else _ask(outcome, invocation)
        if choice and not args.resume:
            outcome = outcome._replace(blocks=_details(entity, read_entity(entity)) if choice == "details" else ())
        if choice == "resume":
            outcome = _continue(transport, settings.entity, outcome, invocation)
    if args.to_skill:
        return _hand_over(args.to_skill, outcome, invocation)
    if choice == "fresh":
        return _clear("load", settings, args, invocation, yes=True)
    return outcome


def _nothing(action: str, name: str, findings: list[Finding]) -> Outcome:
    data = {"action": action, "available": True, "entity": name, "exists": False, "fields": {}, "options": []}
    return Outcome(data, [Line("no checkpoint: no initiative context to take up", "dim")], findings)


def _describe(entity: Entity, now: int, *, details: bool = False) -> Outcome:
    reading = read_entity(entity)
    findings = rules.check(entity, now)
    data: dict[str, Any] = {
        "action": "load",
        "available": True,
        "entity": entity.name,
        "exists": True,
        "state": reading.state,
        "fields": reading.fields,
        "notes": reading.loose,
        "relations": [dict(relation) for relation in entity.relations],
        "options": _options(findings) if reading.state in ("good", "interrupted") else [],
    }
    if reading.state in ("corrupted", "foreign"):
        return Outcome(data, (), findings)
    blocks = _summary(reading, now) + (_details(entity, reading) if details else _offer(data["options"]))
    return Outcome(data, blocks, findings, 0)


def _summary(reading: Reading, now: int) -> list[Block]:
    fields = {key: shorten(value, _WIDTH) for key, value in reading.fields.items()}
    at = f"{fields['milestone']} of " if fields.get("milestone") else ""
    instant = read_instant(reading.fields.get("timestamp"))
    age = f" ({age_text(now - instant[0])} ago)" if instant and now - instant[0] >= 60 else ""
    lines: list[Block] = [Line(f"Last session you were working on {at}{fields['initiative']}{age}", "strong")]
    shown = {"Phase": "phase", "Last": "last_action", "Interrupted": "interrupted_action", "Next": "next_action"}
    lines += [Line(f"  {title + ':':13}{fields[key]}") for title, key in shown.items() if fields.get(key)]
    if fields.get("context_files"):
        lines.append(Line(f"  {'Files:':13}{fields['context_files']}", "dim"))
    return lines


def _options(findings: list[Finding]) -> list[dict[str, Any]]:
    """The three ways to go on; of an outdated checkpoint the fresh start is recommended."""
    advised = "fresh" if any(finding.code == "memory/outdated" for finding in findings) else "resume"
    return [
        {"id": name, "label": label, "recommended": name == advised, "command": command}
        for name, label, command in OPTIONS
    ]


def _offer(options: list[dict[str, Any]]) -> list[Block]:
    lines: list[Block] = [Line(_QUESTION)]
    for option in options:
        title = f"{option['label']} (recommended)" if option["recommended"] else option["label"]
        lines.append(Line(f"  {title:40}{option['command']}", "" if option["recommended"] else "dim"))
    return lines


def _details(entity: Entity, reading: Reading) -> list[Block]:
    order = [*KEYS, *(key for key in reading.fields if key not in KEYS)]
    lines: list[Block] = [Line("")]
    lines += [Line(f"  {key}: {reading.fields[key]}") for key in order if key in reading.fields]
    lines += [Line(f"  {text}", "dim") for text in reading.loose]
    return [*lines, *(Line(f"  relation: {_edge(relation)}", "dim") for relation in entity.relations)]


def _edge(relation: Mapping[str, Any]) -> str:
    return f"{relation.get('from')} {relation.get('relationType')} {relation.get('to')}"


def _ask(outcome: Outcome, invocation: Invocation) -> str:
    """What a person at a terminal chooses: "resume", "fresh", "details" or "nothing"; "" where nobody is asked."""
    if not invocation.interactive:
        return ""
    for block in outcome.blocks:
        if isinstance(block, Line):
            invocation.stderr.write(f"{escape_controls(block.text)}\n")
    invocation.stderr.write("[r]esume, start [f]resh, show [d]etails, anything else: nothing? ")
    invocation.stderr.flush()
    answer = invocation.stdin.readline().strip().lower()[:1]
    return {"r": "resume", "f": "fresh", "d": "details"}.get(answer, "nothing")


def _continue(transport: Transport, name: str, outcome: Outcome, invocation: Invocation) -> Outcome:
    """Notes in the checkpoint that work goes on: when, and on which branch and commit."""
    given: dict[str, str | None] = {
        "resumed_at": write_instant(invocation.now),
        "resumed_on": find_position(invocation.cwd) or None,
    }
    saved = saving.update_checkpoint(transport, name, given, invocation.now)
    fields = read_entity(saved.written.entity).fields
    next_action = shorten(fields.get("next_action", "nothing was noted"), _WIDTH)
    line = Line(f"resumed; go on with: {next_action}", "good")
    data = {**outcome.data, "fields": fields, "resumed": True, "options": []}
    return outcome._replace(data=data, blocks=[*outcome.blocks[: _head(outcome)], line])


def _head(outcome: Outcome) -> int:
    texts = [block.text if isinstance(block, Line) else "" for block in outcome.blocks]
    return texts.index(_QUESTION) if _QUESTION in texts else len(texts)


def find_position(cwd: str) -> str:
    """The branch and the commit that a work tree stands on, "" where there is no commit."""
    commit = run_git(["rev-parse", "--short=12", "HEAD"], cwd, check=False)
    if commit.code:
        return ""
    branch = run_git(["symbolic-ref", "--short", "--quiet", "HEAD"], cwd, check=False)
    name = branch.out.decode("utf-8", "replace").strip() or "no branch"
    return f"{name} {commit.out.decode().strip()}"


def _hand_over(skill: str, outcome: Outcome, invocation: Invocation) -> Outcome:
    from checkpoint_git.protocols.memory.bridge import write_skill

    written = write_skill(invocation.cwd, skill, outcome.data["fields"], invocation.now, invocation.env)
    data = {**outcome.data, "skill": skill, "written": not written.refused}
    if written.refused:
        line = Line(f"{skill}: nothing was written", "bad")
        return Outcome(data, [line], [*outcome.findings, *written.refused], 1)
    line = Line(f"{skill}: written into {written.document.path}", "good")
    return Outcome(data, [*outcome.blocks[: _head(outcome)], line], [*outcome.findings, *written.arisen], 0)


# clear and archive


def clear(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb `clear`."""
    return _clear("clear", graphs.read_settings(invocation.cwd, args.entity), args, invocation)


def archive(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb `archive`: a last checkpoint, then deletion."""
    settings = graphs.read_settings(invocation.cwd, args.entity)
    given = saving.read_given(args, invocation)
    around = saving.Surroundings(invocation.cwd, invocation.env, invocation.now)
    with graphs.open_graph(settings, invocation.cwd, invocation.env, offline=args.offline) as transport:
        entity = store.load_entity(transport, settings.entity)
        if entity is None:
            return _nothing("archive", settings.entity, graphs.find_offline(args.offline))
        _check_ours(entity)
        if not graphs.is_confirmed(_question(entity), invocation, yes=args.yes):
            return _kept("archive", settings.entity)
        if read_entity(entity).state != "corrupted":
            request = saving.Request("manual", given)
            saved = saving.save_checkpoint(transport, settings.entity, request, around)
            entity = saved.written.entity
        copy = _remove(transport, entity, invocation)
    return _gone("archive", entity, copy, graphs.find_offline(args.offline))


def _clear(
    action: str, settings: graphs.Settings, args: argparse.Namespace, invocation: Invocation, *, yes: bool = False
) -> Outcome:
    yes = yes or args.yes
    try:
        with graphs.open_graph(settings, invocation.cwd, invocation.env, offline=args.offline) as transport:
            entity = store.load_entity(transport, settings.entity)
            if entity is None:
                return _nothing(action, settings.entity, graphs.find_offline(args.offline))
            _check_ours(entity)
            if not graphs.is_confirmed(_question(entity), invocation, yes=yes):
                return _kept(action, settings.entity)
            copy = _remove(transport, entity, invocation)
        return _gone(action, entity, copy, graphs.find_offline(args.offline))
    except GraphError as error:
        return mend_graph(action, settings, error, invocation, yes=yes)


def _check_ours(entity: Entity) -> None:
    if read_entity(entity).state == "foreign":
        message = f'the entity "{entity.name}" is another\'s: its type is not checkpoint, so it is not deleted'
        raise CheckpointError(message, "choose another name: git config checkpoint.memoryEntity NAME")


def _question(entity: Entity) -> str:
    initiative = shorten(read_entity(entity).fields.get("initiative", "no initiative"), 80)
    return f"delete the checkpoint {entity.name} ({initiative}) from the graph?"


def _remove(transport: Transport, entity: Entity, invocation: Invocation) -> str:
    with transport.exclusive():
        last = store.load_entity(transport, entity.name) or entity
        copy = graphs.keep_copy(last, invocation.cwd, invocation.env, invocation.now)
        store.remove_entity(transport, entity.name)
    return copy


def _kept(action: str, name: str) -> Outcome:
    data = {"action": action, "available": True, "entity": name, "deleted": False}
    return Outcome(data, [Line("nothing was changed")])


def _gone(action: str, entity: Entity, copy: str, findings: list[Finding]) -> Outcome:
    fields = read_entity(entity).fields
    data = {"action": action, "available": True, "entity": entity.name, "deleted": True, "copy": copy, "final": fields}
    lines: list[Block] = [Line(f"{entity.name}: deleted", "good"), Line(f"  a copy is kept in {copy}", "dim")]
    return Outcome(data, lines, findings)


def mend_graph(
    action: str, settings: graphs.Settings, error: CheckpointError, invocation: Invocation, *, yes: bool
) -> Outcome:
    """Moves a graph's broken file aside, whole, and keeps the lines that can be read. Asks first.

    Raises the error itself where nobody knows the file or the file is sound.
    """
    from checkpoint_git.protocols.memory.layout import cache_folder
    from checkpoint_git.protocols.memory.transports.jsonl import graph_lock, read_lines

    path = graphs.find_graph(settings, invocation.env)
    lines = read_lines(path) if path else []
    lost = sum(line.value is None for line in lines)
    if not lost:
        raise error
    question = f"{path}: {lost} of {len(lines)} lines cannot be read. Move the file aside and keep the other lines?"
    if not graphs.is_confirmed(question, invocation, yes=yes):
        return _kept(action, settings.entity)
    stamp = write_instant(invocation.now).replace("-", "").replace(":", "")
    with graph_lock(path, cache_folder(invocation.env))():
        done = salvage(path, f"{path}.broken-{stamp}-{os.getpid()}")
    data = {"action": action, "available": True, "graph": path, "aside": done.aside, "kept": done.kept}
    message = f"the graph's file could not be read and was moved aside; {done.kept} lines were kept, {done.lost} not"
    finding = Finding("memory/graph-broken", "warning", message, path, hint=f"the whole of it: {done.aside}")
    return Outcome(data, (), [finding], 0)
