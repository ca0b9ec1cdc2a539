"""`checkpoint memory load`, `clear` and `archive`: what the last session left, how to go on, and how it ends."""

import argparse
from functools import partial
from typing import Any

from checkpoint_git.core.clock import age_text, read_instant, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.contract import open_exchange
from checkpoint_git.protocols.memory import graph, rules, store
from checkpoint_git.protocols.memory.entity import KEYS, Entity, Reading, read_entity
from checkpoint_git.protocols.memory.transports import GraphError, Transport
from checkpoint_git.protocols.memory.triggers import Request
from checkpoint_git.protocols.memory.verbs.save import read_given
from checkpoint_git.protocols.memory.verbs.server import nothing_changed, repair_graph

_WIDTH = 200  # characters of a value in the summary
_QUESTION = "Resume from checkpoint?"
_CHOICES = {"r": "resume", "f": "fresh", "d": "details"}
_OPTIONS = (
    ("resume", "Resume where I left off", "checkpoint memory load --continue"),
    ("fresh", "Start fresh", "checkpoint memory load --fresh"),
    ("details", "Show details", "checkpoint memory load --details"),
)


# load


def load(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    if args.resume + args.fresh + args.details > 1:
        raise CheckpointError("--continue, --fresh and --details exclude one another", "choose one")
    if args.fresh:
        return clear(args, invocation)
    settings = graph.read_settings(invocation.cwd, args.entity)
    offline = graph.find_offline(args.offline)
    with graph.open_graph(settings, invocation.cwd, invocation.env, offline=args.offline) as transport:
        entity = store.load_entity(transport, settings.entity)
        if entity is None:
            return _nothing(args, settings.entity)
        reading = read_entity(entity)
        outcome = _describe(entity, reading, invocation.now, details=args.details)
        outcome = outcome._replace(findings=[*offline, *outcome.findings])
        if reading.state in ("corrupted", "foreign"):
            return outcome
        choice = "resume" if args.resume else "" if args.details or args.to_skill else _ask(outcome, invocation)
        if choice and not args.resume:  # the summary was shown with the question
            outcome = outcome._replace(blocks=_details(entity, reading) if choice == "details" else ())
        if choice == "resume":
            outcome = _continue(transport, settings.entity, outcome, invocation)
    if args.to_skill:
        return _hand_over(args.to_skill, outcome, invocation)
    if choice == "fresh":
        args.yes = True
        return clear(args, invocation)
    return outcome


def _nothing(args: argparse.Namespace, name: str) -> Outcome:
    data = {"action": args.action, "available": True, "entity": name, "exists": False, "fields": {}, "options": []}
    return Outcome(data, [Line("no checkpoint: nothing to resume", "dim")], graph.find_offline(args.offline))


def _describe(entity: Entity, reading: Reading, now: int, *, details: bool) -> Outcome:
    findings = rules.check(entity, now)
    is_usable = reading.state in ("good", "interrupted")
    # an outdated checkpoint is not the recommended start
    advised = "fresh" if any(finding.code == "memory/outdated" for finding in findings) else "resume"
    options = [
        {"id": name, "label": label, "recommended": name == advised, "command": command}
        for name, label, command in _OPTIONS
    ]
    data: dict[str, Any] = {
        "action": "load",
        "available": True,
        "entity": entity.name,
        "exists": True,
        "state": reading.state,
        "fields": reading.fields,
        "notes": reading.loose,
        "relations": [dict(relation) for relation in entity.relations],
        "options": options if is_usable else [],
    }
    if not is_usable:
        return Outcome(data, (), findings)
    blocks = _summary(reading, now) + (_details(entity, reading) if details else _offer(options))
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
    for edge in entity.relations:
        lines.append(Line(f"  relation: {edge.get('from')} {edge.get('relationType')} {edge.get('to')}", "dim"))
    return lines


def _ask(outcome: Outcome, invocation: Invocation) -> str:
    """What the user chooses at a terminal: one of _CHOICES or "nothing"; "" where there is no terminal."""
    if not invocation.interactive:
        return ""
    for block in outcome.blocks:
        if isinstance(block, Line):
            invocation.stderr.write(f"{escape_controls(block.text)}\n")
    invocation.stderr.write("[r]esume, start [f]resh, show [d]etails, anything else: nothing? ")
    invocation.stderr.flush()
    return _CHOICES.get(invocation.stdin.readline().strip().lower()[:1], "nothing")


def _continue(transport: Transport, name: str, outcome: Outcome, invocation: Invocation) -> Outcome:
    given = {"resumed_at": write_instant(invocation.now), "resumed_on": _find_position(invocation.cwd)}
    saved = store.update_checkpoint(transport, name, given, invocation.now)
    fields = read_entity(saved.entity).fields
    next_action = shorten(fields.get("next_action", "nothing was noted"), _WIDTH)
    line = Line(f"resumed; go on with: {next_action}", "good")
    data = {**outcome.data, "fields": fields, "resumed": True, "options": []}
    return outcome._replace(data=data, blocks=[*_before_question(outcome), line])


def _before_question(outcome: Outcome) -> list[Block]:
    texts = [block.text if isinstance(block, Line) else "" for block in outcome.blocks]
    return list(outcome.blocks)[: texts.index(_QUESTION) if _QUESTION in texts else None]


def _find_position(cwd: str) -> str | None:
    commit = run_git(["rev-parse", "--short=12", "HEAD"], cwd, check=False)
    if commit.code:
        return None
    branch = run_git(["symbolic-ref", "--short", "--quiet", "HEAD"], cwd, check=False)
    return f"{branch.out.decode('utf-8', 'replace').strip() or 'no branch'} {commit.out.decode().strip()}"


def _hand_over(skill: str, outcome: Outcome, invocation: Invocation) -> Outcome:
    fields = outcome.data["fields"]
    path, refused, arisen = open_exchange().write_fields(invocation.cwd, skill, fields, invocation.now, invocation.env)
    data = {**outcome.data, "skill": skill, "written": not refused}
    if refused:
        line = Line(f"{skill}: nothing was written", "bad")
        return Outcome(data, [line], [*outcome.findings, *refused], 1)
    line = Line(f"{skill}: written into {path}", "good")
    return Outcome(data, [*_before_question(outcome), line], [*outcome.findings, *arisen], 0)


# clear and archive


def clear(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    try:
        return _delete(args, invocation)
    except GraphError as error:
        return repair_graph(args, invocation, error)


def archive(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    return _delete(args, invocation, Request("manual", read_given(args, invocation)))


def _delete(args: argparse.Namespace, invocation: Invocation, final: Request | None = None) -> Outcome:
    settings = graph.read_settings(invocation.cwd, args.entity)
    keep = partial(graph.keep_copy, cwd=invocation.cwd, env=invocation.env, now=invocation.now)
    with graph.open_graph(settings, invocation.cwd, invocation.env, offline=args.offline) as transport:
        entity = store.load_entity(transport, settings.entity)
        if entity is None:
            return _nothing(args, settings.entity)
        store.check_ours(entity)
        reading = read_entity(entity)
        initiative = shorten(reading.fields.get("initiative", "no initiative"), 80)
        question = f"delete the checkpoint {entity.name} ({initiative}) from the graph?"
        if not graph.is_confirmed(question, invocation, yes=args.yes):
            return nothing_changed(args.action, settings.entity)
        if final is not None and reading.state != "corrupted":
            entity = store.save_checkpoint(transport, settings.entity, final, invocation.now, keep).entity
        with transport.exclusive():
            entity = store.load_entity(transport, entity.name) or entity
            copy = keep(entity)
            store.remove_entity(transport, entity.name)
    data = {
        "action": args.action,
        "available": True,
        "entity": entity.name,
        "deleted": True,
        "copy": copy,
        "final": read_entity(entity).fields,
    }
    lines: list[Block] = [Line(f"{entity.name}: deleted", "good"), Line(f"  a copy is kept in {copy}", "dim")]
    return Outcome(data, lines, graph.find_offline(args.offline))
