"""`checkpoint memory load`: show what the last session worked on, and continue."""

import argparse
from typing import Any, NamedTuple

from checkpoint_git.core.clock import age_text, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Hint, command
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.contract import open_exchange
from checkpoint_git.protocols.limits import read_stale_days
from checkpoint_git.protocols.memory import graph, rules, store
from checkpoint_git.protocols.memory.clear import clear, report_missing
from checkpoint_git.protocols.memory.entity import KEYS, Entity, Reading, read_entity, read_stamp
from checkpoint_git.protocols.memory.layout import Home
from checkpoint_git.protocols.memory.save import find_position
from checkpoint_git.protocols.memory.sync import find_newer
from checkpoint_git.protocols.memory.transports import Transport

_WIDTH = 200  # characters of a value in the summary


class LoadChoice(NamedTuple):
    """One way to continue. letter: answers the question with it. usage: the command that does."""

    name: str
    letter: str
    label: str
    usage: Hint


_CHOICES = (
    LoadChoice(
        "resume",
        "r",
        "Resume where I left off",
        command("checkpoint", "memory", "load", "--continue"),
    ),
    LoadChoice("fresh", "f", "Start fresh", command("checkpoint", "memory", "load", "--fresh")),
    LoadChoice(
        "details", "d", "Show details", command("checkpoint", "memory", "load", "--details")
    ),
)
_SUMMARY = {
    "Phase": "phase",
    "Last": "last_action",
    "Interrupted": "interrupted_action",
    "Next": "next_action",
}


def load(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    if [args.resume, args.fresh, args.details].count(True) > 1:
        raise CheckpointError("--continue, --fresh and --details cannot be combined", "choose one")
    if args.fresh:
        return clear(args, invocation)

    with graph.open_checkpoint(args, invocation) as (transport, home):
        entity = store.load_entity(transport, store.find_name(transport, home))
        graph.remember(invocation.cwd, entity)
        if entity is None:
            return report_missing(transport, home)

        reading = read_entity(entity)
        if reading.state in ("corrupted", "foreign"):
            stale_days = read_stale_days(invocation.cwd, invocation.env)
            findings = rules.check(entity, invocation.now, stale_days)
            data = _describe_loaded(entity, reading)
            return Outcome(data, _list_fields(entity, reading), findings)

        choice, outcome = _show_choices(entity, reading, args, invocation)
        if choice == "resume":
            outcome = _resume(transport, home, outcome, invocation)

    if args.to_skill:
        return _hand_over(args.to_skill, outcome, invocation)
    if choice == "fresh":
        args.yes = True
        return clear(args, invocation)
    return outcome


def _show_choices(
    entity: Entity, reading: Reading, args: argparse.Namespace, invocation: Invocation
) -> tuple[str, Outcome]:
    """Return the name of the choice, "" or "nothing" for none, and what is to be shown.

    On a terminal the user is asked, and has read the summary then.
    """
    stale_days = read_stale_days(invocation.cwd, invocation.env)
    findings = rules.check(entity, invocation.now, stale_days)
    # an outdated checkpoint is not the recommended start
    is_outdated = any(finding.code == "memory/outdated" for finding in findings)
    advised = "fresh" if is_outdated else "resume"
    findings += find_newer(invocation.cwd, entity.name, reading.fields)
    data = _describe_loaded(entity, reading)
    data["options"] = _list_options(advised)

    lines = _summarize(reading, invocation.now)
    details = [Line(""), *_list_fields(entity, reading)]
    choice = "resume" if args.resume else ""
    if args.details:
        lines += details
    elif not args.resume and not args.to_skill:
        lines += _list_choices(advised)
        if invocation.interactive:
            choice = _ask_choice(invocation, lines)
            lines = details if choice == "details" else []

    return choice, Outcome(data, lines, findings, 0)


def _describe_loaded(entity: Entity, reading: Reading) -> dict[str, Any]:
    return {
        "entity": entity.name,
        "exists": True,
        "state": reading.state,
        "fields": reading.fields,
        "notes": reading.loose,
        "relations": [dict(relation) for relation in entity.relations],
        "options": [],
    }


def _list_options(advised: str) -> list[dict[str, Any]]:
    options = []
    for choice in _CHOICES:
        options.append(
            {
                "id": choice.name,
                "label": choice.label,
                "recommended": choice.name == advised,
                "command": choice.usage,
            }
        )

    return options


def _list_choices(advised: str) -> list[Block]:
    """Return the question with its answers. advised: the recommended one."""
    lines: list[Block] = [Line("Resume from checkpoint?")]
    for choice in _CHOICES:
        if choice.name == advised:
            lines.append(Line(f"  {choice.label + ' (recommended)':40}{choice.usage}"))
        else:
            lines.append(Line(f"  {choice.label:40}{choice.usage}", "dim"))
    return lines


def _ask_choice(invocation: Invocation, lines: list[Block]) -> str:
    question = "[r]esume, start [f]resh, show [d]etails, anything else: nothing?"
    letter = invocation.ask(question, lines).strip().lower()[:1]
    for choice in _CHOICES:
        if choice.letter == letter:
            return choice.name
    return "nothing"


def _resume(transport: Transport, home: Home, outcome: Outcome, invocation: Invocation) -> Outcome:
    """Record in the checkpoint that work continues, and where. Return the outcome of that."""
    position = find_position(invocation.cwd) or "no commit"
    noted = {"resumed_at": write_instant(invocation.now), "resumed_on": position}
    keep = graph.make_keep(invocation)
    saved = store.update_checkpoint(transport, home, noted, invocation.now, keep)

    data = {**outcome.data, "fields": saved.fields, "resumed": True, "options": []}
    findings = [*outcome.findings, *graph.find_copy(saved.copy, outcome.data["entity"])]
    next_action = saved.fields.get("next_action", "no next action is recorded")
    line = Line(f"resumed; next: {shorten(next_action, _WIDTH)}", "good")
    return Outcome(data, [*outcome.blocks, line], findings, 0)


def _summarize(reading: Reading, now: int) -> list[Block]:
    fields = {key: shorten(value, _WIDTH) for key, value in reading.fields.items()}
    work = fields["initiative"]
    if fields.get("milestone"):
        work = f"{fields['milestone']} of {work}"

    head = f"Last session you were working on {work}"
    instant = read_stamp(reading.fields.get("timestamp"))
    if instant and now - instant[0] >= 60:
        head += f" ({age_text(now - instant[0])} ago)"

    lines: list[Block] = [Line(head, "strong")]
    for title, key in _SUMMARY.items():
        if fields.get(key):
            lines.append(Line(f"  {title + ':':13}{fields[key]}"))
    if fields.get("context_files"):
        lines.append(Line(f"  {'Files:':13}{fields['context_files']}", "dim"))
    return lines


def _list_fields(entity: Entity, reading: Reading) -> list[Block]:
    """Return all that the checkpoint holds: fields, loose observations, relations."""
    known = [key for key in KEYS if key in reading.fields]
    others = [key for key in reading.fields if key not in KEYS]
    lines: list[Block] = [Line(f"  {key}: {reading.fields[key]}") for key in [*known, *others]]
    lines += [Line(f"  {text}", "dim") for text in reading.loose]
    for edge in entity.relations:
        relation = f"{edge.get('from')} {edge.get('relationType')} {edge.get('to')}"
        lines.append(Line(f"  relation: {relation}", "dim"))
    return lines


def _hand_over(skill: str, outcome: Outcome, invocation: Invocation) -> Outcome:
    """Write the fields into a skill's checkpoint."""
    path, refused, arisen = open_exchange().write_fields(
        invocation.cwd, skill, outcome.data["fields"], invocation.now, invocation.env
    )
    data = {**outcome.data, "skill": skill, "written": not refused}
    if refused:
        line = Line(f"{skill}: nothing was written", "bad")
        return Outcome(data, [line], [*outcome.findings, *refused], 1)

    line = Line(f"{skill}: written into {path}", "good")
    return Outcome(data, [*outcome.blocks, line], [*outcome.findings, *arisen], 0)
