"""`checkpoint memory`: the state of an initiative, kept in the graph of a memory server across
sessions.
"""

import argparse
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from checkpoint_git.core import jsontext
from checkpoint_git.core.clock import age_text, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, command
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.placeholder import check_filled
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.history.steps import read_branch
from checkpoint_git.git.objects import diff_parents, find_commit
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.contract import open_exchange
from checkpoint_git.protocols.memory import graph, rules, store
from checkpoint_git.protocols.memory.entity import (
    KEYS,
    OWNER,
    Entity,
    Reading,
    join_files,
    read_entity,
    read_stamp,
)
from checkpoint_git.protocols.memory.layout import Home
from checkpoint_git.protocols.memory.save_log import clear_log
from checkpoint_git.protocols.memory.server import doctor, nothing_changed, repair_graph, setup
from checkpoint_git.protocols.memory.sync import find_newer, sync
from checkpoint_git.protocols.memory.transports import (
    GraphError,
    Transport,
    UnavailableError,
    read_entities,
)
from checkpoint_git.protocols.memory.triggers import TriggerRequest

HELP = """\
keep an initiative's state in the graph of a memory server, and resume it in another session

examples:
  checkpoint memory setup
  checkpoint memory save --initiative login-2026 --milestone M1 --phase design --next-action "Write the tests"
  checkpoint memory load

If no server answers, all verbs except doctor and setup warn and exit with 0 (with --strict: 2).

exit 1: the checkpoint is corrupted, or doctor found something
"""
SUB_HELP = {
    "save": """\
save a checkpoint, or the fields that changed

The fields that you do not set keep their values. --on names the occasion; some occasions need
fields: milestone: --summary and --next-milestone or --next-action; session-end: --summary and
--next-action.

examples:
  checkpoint memory save --initiative login-2026 --milestone M1 --phase design --next-action "Write the tests"
  checkpoint memory save --on milestone --summary "All of M1 is done" --next-milestone M2
""",
    "load": """\
show what the last session worked on, and how to continue

examples:
  checkpoint memory load
  checkpoint memory load --continue

exit 1: the checkpoint is corrupted
""",
    "update KEY=VALUE...": """\
change fields of the existing checkpoint; KEY= removes one

examples:
  checkpoint memory update phase=validation --last-action "Ran the validators"

exit 1: the checkpoint is corrupted
""",
    "clear": """\
delete the checkpoint after asking; keeps a copy

examples:
  checkpoint memory clear --yes
""",
    "archive": """\
save the fields that you pass, then clear

examples:
  checkpoint memory archive --summary "All of it is merged" --yes
""",
    "sync [FILE]": """\
synchronize the checkpoint with WORKFLOW-STATUS.yaml; the file wins if they differ

examples:
  checkpoint memory sync --dry-run
  checkpoint memory sync docs/WORKFLOW-STATUS.yaml --to-document
""",
    "doctor": """\
check the server (answers, can write) and the checkpoint

examples:
  checkpoint memory doctor
  checkpoint memory doctor --fix

exit 1: it found something
""",
    "setup": """\
install and configure the reference server after asking

examples:
  checkpoint memory setup
  checkpoint memory setup --global --yes
""",
}

_SAVING = ("save", "update", "archive")
# option -> the sub-verbs that take it
TAKERS = {
    "initiative": _SAVING,
    "milestone": _SAVING,
    "phase": _SAVING,
    "last_action": _SAVING,
    "next_action": _SAVING,
    "context_files": _SAVING,
    "session_duration": _SAVING,
    "files_modified": _SAVING,
    "set": _SAVING,
    "fields": _SAVING,
    "on": ("save",),
    "next_milestone": ("save",),
    "next_phase": ("save",),
    "interrupted": ("save",),
    "commit": ("save",),
    "from_skill": ("save",),
    "to_skill": ("load",),
    "resume": ("load",),
    "fresh": ("load",),
    "details": ("load",),
    "to_document": ("sync",),
    "dry_run": ("sync",),
    "fix": ("doctor",),
    "file": ("setup",),
    "everywhere": ("setup",),
    "yes": ("save", "load", "update", "clear", "archive", "sync", "doctor", "setup"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("action", metavar="VERB", choices=list(VERBS), help="one of the above")
    add("words", metavar="WORD", nargs="*", help="update: KEY=VALUE; sync: the file")
    add("--initiative", metavar="TEXT", help="field initiative")
    add("--milestone", metavar="TEXT", help="field milestone")
    add("--phase", metavar="TEXT", help="field phase")
    add("--last-action", "--summary", metavar="TEXT", help="field last_action")
    add("--next-action", metavar="TEXT", help="field next_action")
    add("--context-files", metavar="TEXT", help="field context_files")
    add("--session-duration", "--duration", metavar="TEXT", help="field session_duration")
    add("--files-modified", metavar="TEXT", help="field files_modified")
    add("--set", metavar="KEY=VALUE", action="append", help="any field")
    add("--fields", metavar="FILE", help="a JSON object of fields; - is standard input")
    add(
        "--on",
        choices=("milestone", "phase", "commit", "idle", "session-end", "manual"),
        help="the occasion (default: manual)",
    )
    add("--next-milestone", metavar="MILESTONE", help="the next action is to begin it")
    add("--next-phase", metavar="PHASE", help="the next action is to begin it")
    add("--interrupted", metavar="TEXT", help="with --on idle: the action that was interrupted")
    add("--commit", metavar="COMMIT", help="with --on commit: the commit (default: HEAD)")
    add("--from-skill", metavar="NAME", help="take the fields from this skill's checkpoint")
    add("--to-skill", metavar="NAME", help="write the fields into this skill's checkpoint")
    add(
        "--continue",
        dest="resume",
        action="store_true",
        help="continue, and record when and on which commit",
    )
    add("--fresh", action="store_true", help="clear the checkpoint after asking, and start over")
    add("--details", action="store_true", help="show all fields")
    add("--to-document", action="store_true", help="the checkpoint wins if they differ")
    add("--dry-run", action="store_true", help="show what would change, and change nothing")
    add(
        "--fix",
        action="store_true",
        help="move a broken graph aside and keep its readable lines, after asking",
    )
    add("--file", metavar="PATH", help="absolute path of the graph's file")
    add(
        "--global",
        dest="everywhere",
        action="store_true",
        help="configure it for all your repositories",
    )
    add("--yes", action="store_true", help="do not ask")
    add(
        "--entity",
        metavar="ENTITY",
        help="the checkpoint's name (default: checkpoint.memoryEntity)",
    )
    add("--strict", action="store_true", help="exit with 2 if no server answers")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    act, most = VERBS[args.action]
    if len(args.words) > most:
        shown = escape_controls(shorten(" ".join(args.words[most:]), 60))
        hint = command("checkpoint", "memory", "--help", more=" shows what each verb takes")
        raise CheckpointError(f"memory {args.action} does not take these words: {shown}", hint)

    fields = [word.partition("=")[2] for word in (*args.words, *(args.set or ()))]
    check_filled([*vars(args).values(), *fields])
    try:
        outcome = act(args, invocation)
    except UnavailableError as error:
        if args.strict:
            raise
        finding = Finding("memory/unavailable", "warning", error.message, hint=error.hint)
        outcome = Outcome({"available": False, "saved": False}, (), [finding], 0)

    return outcome._replace(data={"action": args.action, "available": True, **outcome.data})


def _save(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    trigger, given = args.on or "manual", dict[str, str]()
    if args.from_skill:
        fields = open_exchange().read_fields(invocation.cwd, args.from_skill, invocation.now)
        given.update(
            (key, join_files(value) if isinstance(value, list) else value)
            for key, value in fields.items()
        )

    if args.commit and trigger != "commit":
        raise CheckpointError(
            "--commit goes with --on commit",
            command("checkpoint", "memory", "save", "--on", "commit"),
        )

    if trigger == "idle" and (position := _find_position(invocation.cwd)):
        given["stopped_on"] = position
    given.update(_read_given(args, invocation))
    follows = (args.next_milestone or "", args.next_phase or "", args.interrupted or "")

    def read_request() -> TriggerRequest:
        # of saves that wait for one another the last one writes what is the newest commit by then
        found = (
            read_commit_fields(invocation.cwd, args.commit or "HEAD") if trigger == "commit" else {}
        )
        return TriggerRequest(trigger, {**found, **given}, *follows)

    keep = graph.make_keep(invocation)
    with graph.open_checkpoint(args, invocation) as (transport, home):
        write = partial(store.save_checkpoint, transport, home, read_request, invocation.now, keep)
        saved = _confirm(lambda is_sure: write(replace=is_sure), args, invocation)

    clear_log(invocation.cwd)
    outcome = _describe_saved(saved, args, invocation)
    return outcome._replace(data={**outcome.data, "trigger": trigger})


def _confirm(
    write: Callable[[bool], store.Saved], args: argparse.Namespace, invocation: Invocation
) -> store.Saved:
    try:
        return write(args.yes)
    except store.OtherInitiativeError as error:
        if graph.is_confirmed(error.question, invocation, yes=False):
            return write(True)
        raise


def _update(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    pairs = dict(_split(word) for word in args.words)
    given: dict[str, str | None] = {
        key: value if value.strip() else None for key, value in pairs.items()
    }
    given.update(_read_given(args, invocation))
    if not given:
        raise CheckpointError(
            "update needs something to change",
            command("checkpoint", "memory", "update", "phase=review"),
        )

    if {"initiative", "timestamp"}.intersection(
        key for key, value in given.items() if value is None
    ):
        raise CheckpointError(
            "initiative and timestamp cannot be removed", "give them another value"
        )

    keep = graph.make_keep(invocation)
    with graph.open_checkpoint(args, invocation) as (transport, home):
        write = partial(store.update_checkpoint, transport, home, given, invocation.now, keep)
        saved = _confirm(lambda is_sure: write(rename=is_sure), args, invocation)

    return _describe_saved(saved, args, invocation)


def read_commit_fields(cwd: str, commit: str) -> dict[str, str]:
    commit_id = find_commit(cwd, commit)
    if not commit_id:
        shown = escape_controls(shorten(commit, 60))
        raise CheckpointError(
            f'no commit "{shown}" in this repository', "make a commit first, or name one: --commit"
        )

    subject = (
        run_git(["show", "-s", "--format=%s", commit_id], cwd)
        .out.decode("utf-8", "replace")
        .strip()
    )
    changed = dict.fromkeys(change.path for change in diff_parents(cwd, [commit_id]))
    paths = [os.fsencode(path).decode("utf-8", "replace") for path in changed]
    fields = {
        "last_commit": commit_id,
        "last_action": f"Committed {commit_id[:12]}: {shorten(subject, 200) or 'no subject'}",
        "files_modified": str(len(paths)),
    }
    return {**fields, "files_changed": join_files(paths[:100])} if paths else fields


def _read_given(args: argparse.Namespace, invocation: Invocation) -> dict[str, str]:
    given = _read_file(args.fields, invocation) if args.fields else {}
    given.update(_split(word) for word in args.set or [])
    given.update((name, value) for name in KEYS if (value := getattr(args, name, None)) is not None)
    return given


def _split(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals:
        raise CheckpointError(
            f'"{escape_controls(shorten(word, 60))}" is not KEY=VALUE', "write it as phase=review"
        )
    return key.strip(), value


def _read_file(path: str, invocation: Invocation) -> dict[str, str]:
    shown, hint = (
        f"--fields {escape_controls(shorten(path, 200))}",
        'a JSON object of texts: {"phase": "review"}',
    )
    try:
        if path == "-":
            text = invocation.stdin.read(8 * store.MAX_VALUE)
        else:
            with open(os.path.join(invocation.cwd, path), encoding="utf-8") as stream:
                text = stream.read(8 * store.MAX_VALUE)
        value = jsontext.load(text)
        # a copy that was kept
        if isinstance(value, dict) and isinstance(value.get("observations"), list):
            (entity,) = read_entities([value])
            fields = read_entity(entity).fields
            value = {key: fields[key] for key in fields if key not in ("timestamp", OWNER)}
    except jsontext.JsonTextError as error:
        raise CheckpointError(
            f"{shown}:{error.line}: {escape_controls(error.message)}", hint
        ) from None
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or escape_controls(str(error))
        raise CheckpointError(f"{shown} could not be read: {why}", hint) from None

    odd = (
        [key for key, item in value.items() if not isinstance(item, str)]
        if isinstance(value, dict)
        else [""]
    )
    if odd:
        what = (
            f"/{escape_controls(shorten(odd[0], 60))} is not a text"
            if odd[0]
            else "it is not an object of texts"
        )
        raise CheckpointError(f"{shown}: {what}", hint)

    check_filled(value)
    return dict(value)


def _describe_saved(
    saved: store.Saved, args: argparse.Namespace, invocation: Invocation
) -> Outcome:
    name, fields = saved.entity.name, saved.fields
    graph.remember(invocation.cwd, saved.entity)
    data = {
        "saved": True,
        "entity": name,
        "created": saved.created,
        "fields": fields,
        "changed": sorted(saved.changed),
        "copy": saved.copy or None,
    }
    what = "created" if saved.created else "started over" if saved.fresh else "updated"
    lines: list[Block] = [Line(f"{name}: {what}", "good")]
    lines += [
        Line(f"  {key}: {shorten(fields[key], 100)}") for key in saved.changed if key in fields
    ]
    more = ", and a new one was started" if saved.fresh else ""
    findings = graph.find_copy(saved.copy, name, more)
    instant = read_stamp(saved.changed.get("timestamp")) or (0, "")
    return Outcome(data, lines, [*findings, *rules.check(saved.entity, instant[0])], 0)


_WIDTH = 200  # characters of a value in the summary
_CHOICES = {"r": "resume", "f": "fresh", "d": "details"}
# answer, label, command
_WAYS = (
    ("resume", "Resume where I left off", command("checkpoint", "memory", "load", "--continue")),
    ("fresh", "Start fresh", command("checkpoint", "memory", "load", "--fresh")),
    ("details", "Show details", command("checkpoint", "memory", "load", "--details")),
)


def _load(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    _check_ways(args)
    if args.fresh:
        return _clear(args, invocation)
    with graph.open_checkpoint(args, invocation) as (transport, home):
        entity = store.load_entity(transport, store.find_name(transport, home))
        graph.remember(invocation.cwd, entity)
        if entity is None:
            return _nothing(args, transport, home)
        reading = read_entity(entity)
        findings = list(rules.check(entity, invocation.now))
        # an outdated checkpoint is not the recommended start
        is_outdated = any(finding.code == "memory/outdated" for finding in findings)
        data = _describe_loaded(entity, reading)
        if reading.state in ("corrupted", "foreign"):
            return Outcome(data, _list_details(entity, reading)[1:], findings)

        findings += find_newer(invocation.cwd, entity.name, reading.fields)
        advised = "fresh" if is_outdated else "resume"
        data["options"] = _list_options(advised)
        lines = _summarize(reading, invocation.now)
        choice = "resume" if args.resume else ""
        if args.details:
            lines += _list_details(entity, reading)
        elif not args.resume and not args.to_skill:
            lines += _list_ways(advised)
            if invocation.interactive:
                choice = _ask_way(invocation, lines)
                lines = _list_details(entity, reading) if choice == "details" else []
        if choice == "resume":
            saved = _note_resumption(transport, home, invocation)
            findings += graph.find_copy(saved.copy, entity.name)
            data |= {"fields": saved.fields, "resumed": True, "options": []}
            next_action = saved.fields.get("next_action", "no next action is recorded")
            lines.append(Line(f"resumed; next: {shorten(next_action, _WIDTH)}", "good"))

    if args.to_skill:
        return _hand_over(args.to_skill, Outcome(data, lines, findings, 0), invocation)
    if choice == "fresh":
        args.yes = True
        return _clear(args, invocation)

    return Outcome(data, lines, findings, 0)


def _check_ways(args: argparse.Namespace) -> None:
    if [args.resume, args.fresh, args.details].count(True) > 1:
        raise CheckpointError("--continue, --fresh and --details cannot be combined", "choose one")


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
    for way, label, usage in _WAYS:
        is_advised = way == advised
        options.append(
            {
                "id": way,
                "label": label,
                "recommended": is_advised,
                "command": usage,
            }
        )

    return options


def _list_ways(advised: str) -> list[Block]:
    """Return the question with its answers. advised: the recommended one."""
    lines: list[Block] = [Line("Resume from checkpoint?")]
    for way, label, usage in _WAYS:
        if way == advised:
            lines.append(Line(f"  {label + ' (recommended)':40}{usage}"))
        else:
            lines.append(Line(f"  {label:40}{usage}", "dim"))
    return lines


def _ask_way(invocation: Invocation, lines: list[Block]) -> str:
    question = "[r]esume, start [f]resh, show [d]etails, anything else: nothing?"
    letter = invocation.ask(question, lines).strip().lower()[:1]
    return _CHOICES.get(letter, "nothing")


def _note_resumption(transport: Transport, home: Home, invocation: Invocation) -> store.Saved:
    """Note in the checkpoint that work continues, and where."""
    position = _find_position(invocation.cwd) or "no commit"
    noted = {"resumed_at": write_instant(invocation.now), "resumed_on": position}
    keep = graph.make_keep(invocation)
    return store.update_checkpoint(transport, home, noted, invocation.now, keep)


def _nothing(args: argparse.Namespace, transport: Transport, home: Home) -> Outcome:
    data = {
        "entity": store.find_name(transport, home),
        "exists": False,
        "fields": {},
        "options": [],
    }
    others: list[Entity] = []
    findings: list[Finding] = []
    try:
        others += [
            each
            for each in transport.read_graph()
            if read_entity(each).state in ("good", "interrupted")
        ]
    except (
        GraphError,
        UnavailableError,
    ) as error:  # others' entities are broken; a large graph takes long to list
        warning = Finding("memory/graph-broken", "warning", error.message, hint=error.hint)
        findings += [warning] if isinstance(error, GraphError) else []

    shown = ", ".join(
        f"{entity.name} ({read_entity(entity).fields['initiative']})" for entity in others[:5]
    )
    if others:
        message = f"the graph has checkpoints of other repositories: {escape_controls(shorten(shown, 400))}"
        hint = advise(
            "to use one of them here", "git", "config", "checkpoint.memoryEntity", others[0].name
        )
        findings.append(Finding("memory/others", "note", message, hint=hint))

    return Outcome(data, [Line("no checkpoint: nothing to resume", "dim")], findings)


def _summarize(reading: Reading, now: int) -> list[Block]:
    fields = {key: shorten(value, _WIDTH) for key, value in reading.fields.items()}
    at = f"{fields['milestone']} of " if fields.get("milestone") else ""
    instant = read_stamp(reading.fields.get("timestamp"))
    age = f" ({age_text(now - instant[0])} ago)" if instant and now - instant[0] >= 60 else ""
    lines: list[Block] = [
        Line(f"Last session you were working on {at}{fields['initiative']}{age}", "strong")
    ]
    shown = {
        "Phase": "phase",
        "Last": "last_action",
        "Interrupted": "interrupted_action",
        "Next": "next_action",
    }
    lines += [
        Line(f"  {title + ':':13}{fields[key]}") for title, key in shown.items() if fields.get(key)
    ]
    if fields.get("context_files"):
        lines.append(Line(f"  {'Files:':13}{fields['context_files']}", "dim"))
    return lines


def _list_details(entity: Entity, reading: Reading) -> list[Block]:
    order = [*KEYS, *(key for key in reading.fields if key not in KEYS)]
    lines: list[Block] = [Line("")]
    lines += [Line(f"  {key}: {reading.fields[key]}") for key in order if key in reading.fields]
    lines += [Line(f"  {text}", "dim") for text in reading.loose]
    for edge in entity.relations:
        lines.append(
            Line(
                f"  relation: {edge.get('from')} {edge.get('relationType')} {edge.get('to')}", "dim"
            )
        )
    return lines


def _find_position(cwd: str) -> str | None:
    commit = run_git(["rev-parse", "--short=12", "HEAD"], cwd, check=False)
    return (
        None if commit.code else f"{read_branch(cwd) or 'no branch'} {commit.out.decode().strip()}"
    )


def _hand_over(skill: str, outcome: Outcome, invocation: Invocation) -> Outcome:
    fields = outcome.data["fields"]
    path, refused, arisen = open_exchange().write_fields(
        invocation.cwd, skill, fields, invocation.now, invocation.env
    )
    data = {**outcome.data, "skill": skill, "written": not refused}
    if refused:
        line = Line(f"{skill}: nothing was written", "bad")
        return Outcome(data, [line], [*outcome.findings, *refused], 1)
    line = Line(f"{skill}: written into {path}", "good")
    return Outcome(data, [*outcome.blocks, line], [*outcome.findings, *arisen], 0)


def _clear(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    try:
        return _delete(args, invocation)
    except GraphError:
        repaired = repair_graph(args, invocation)
        if repaired is None:
            raise
        if "aside" not in repaired.data:
            return repaired
        args.yes = True
        cleared = _delete(args, invocation)
        return cleared._replace(
            data=repaired.data | cleared.data, findings=[*repaired.findings, *cleared.findings]
        )


def _delete(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    keep = graph.make_keep(invocation)
    final = (
        TriggerRequest("manual", _read_given(args, invocation))
        if args.action == "archive"
        else None
    )
    with graph.open_checkpoint(args, invocation) as (transport, home):
        name = store.find_name(transport, home)
        entity = store.load_entity(transport, name)
        if entity is None:
            return _nothing(args, transport, home)
        store.check_ours(entity)
        reading = read_entity(entity)
        initiative = shorten(reading.fields.get("initiative", "no initiative"), 80)
        question = f"delete the checkpoint {name} ({initiative}) from the graph?"
        if not graph.is_confirmed(question, invocation, yes=args.yes):
            return nothing_changed(name)
        if final is not None and reading.state != "corrupted":
            write = partial(
                store.save_checkpoint, transport, home, lambda: final, invocation.now, keep
            )
            entity = _confirm(lambda is_sure: write(replace=is_sure), args, invocation).entity
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


# verb -> (what it does, how many words may follow it)
VERBS = {
    "save": (_save, 0),
    "load": (_load, 0),
    "update": (_update, 1_000),
    "clear": (_clear, 0),
    "archive": (_delete, 0),
    "sync": (sync, 1),
    "doctor": (doctor, 0),
    "setup": (setup, 0),
}
