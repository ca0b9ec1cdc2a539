"""`checkpoint memory save` and `update`: the fields on the command line become a checkpoint in the graph."""

import argparse
import json
import os
from functools import partial
from typing import Any

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.git.objects import diff_parents
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.contract import open_exchange
from checkpoint_git.protocols.memory import graph, rules, store
from checkpoint_git.protocols.memory.entity import GIVEN_KEYS, join_files, read_entity
from checkpoint_git.protocols.memory.triggers import Request

_SHOWN = 100
_MOST_FILES = 100
_MOST_SUBJECT = 200  # characters


def save(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    trigger = args.on or "manual"
    given = {**_read_sources(args, invocation, trigger), **read_given(args, invocation)}
    request = Request(trigger, given, args.next_milestone or "", args.next_phase or "", args.interrupted or "")
    settings = graph.read_settings(invocation.cwd, args.entity)
    keep = partial(graph.keep_copy, cwd=invocation.cwd, env=invocation.env, now=invocation.now)
    with graph.open_graph(settings, invocation.cwd, invocation.env, offline=args.offline) as transport:
        saved = store.save_checkpoint(transport, settings.entity, request, invocation.now, keep)
    return _describe("save", saved, graph.find_offline(args.offline), trigger)


def _read_sources(args: argparse.Namespace, invocation: Invocation, trigger: str) -> dict[str, str]:
    given: dict[str, str] = {}
    if args.from_skill:
        fields = open_exchange().read_fields(invocation.cwd, args.from_skill, invocation.now)
        given.update((key, join_files(value) if isinstance(value, list) else value) for key, value in fields.items())
    if trigger == "commit":
        given.update(read_commit_fields(invocation.cwd, args.commit or "HEAD"))
    elif args.commit:
        raise CheckpointError("--commit goes with --on commit", "checkpoint memory save --on commit")
    return given


def read_commit_fields(cwd: str, commit: str) -> dict[str, str]:
    named = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"]
    found = run_git(named, cwd, check=False)
    if found.code:
        shown = escape_controls(shorten(commit, 60))
        raise CheckpointError(f'there is no commit "{shown}" here', "make a commit first, or name one: --commit")
    commit_id = found.out.decode().strip()
    subject = run_git(["show", "-s", "--format=%s", commit_id], cwd).out.decode("utf-8", "replace").strip()
    changed = dict.fromkeys(change.path for change in diff_parents(cwd, [commit_id]))
    paths = [os.fsencode(path).decode("utf-8", "replace") for path in changed]
    fields = {
        "last_commit": commit_id,
        "last_action": f"Committed {commit_id[:12]}: {shorten(subject, _MOST_SUBJECT) or 'no subject'}",
        "files_modified": str(len(paths)),
    }
    if paths:
        fields["files_changed"] = join_files(paths[:_MOST_FILES])
    return fields


def update(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    pairs = dict(_split(word) for word in args.words)
    given: dict[str, str | None] = {key: value if value.strip() else None for key, value in pairs.items()}
    given.update(read_given(args, invocation))
    if not given:
        raise CheckpointError("update needs something to change", "checkpoint memory update phase=review")
    if {"initiative", "timestamp"}.intersection(key for key, value in given.items() if value is None):
        raise CheckpointError("a checkpoint keeps its initiative and its timestamp", "give them another value")
    settings = graph.read_settings(invocation.cwd, args.entity)
    with graph.open_graph(settings, invocation.cwd, invocation.env, offline=args.offline) as transport:
        saved = store.update_checkpoint(transport, settings.entity, given, invocation.now)
    return _describe("update", saved, graph.find_offline(args.offline))


# the fields on the command line


def read_given(args: argparse.Namespace, invocation: Invocation) -> dict[str, str]:
    given = _read_file(args.fields, invocation) if args.fields else {}
    given.update(_split(word) for word in args.set or [])
    given.update((name, value) for name in GIVEN_KEYS if (value := getattr(args, name)) is not None)
    return given


def _split(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals:
        raise CheckpointError(f'"{escape_controls(shorten(word, 60))}" is not KEY=VALUE', "write it as phase=review")
    return key.strip(), value


def _read_file(path: str, invocation: Invocation) -> dict[str, str]:
    try:
        if path == "-":
            text = invocation.stdin.read(8 * store.MAX_VALUE)
        else:
            with open(os.path.join(invocation.cwd, path), encoding="utf-8") as stream:
                text = stream.read(8 * store.MAX_VALUE)
        value = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        message = f"--fields {escape_controls(shorten(path, 200))} could not be read: {escape_controls(str(error))}"
        raise CheckpointError(message, 'a JSON object of texts: {"phase": "review"}') from None
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise CheckpointError("--fields is not a JSON object of texts", 'for example {"phase": "review"}')
    return value


# what is shown


def _describe(action: str, saved: store.Saved, findings: list[Finding], trigger: str = "") -> Outcome:
    fields = read_entity(saved.entity).fields
    data: dict[str, Any] = {
        "action": action,
        "available": True,
        "saved": True,
        "entity": saved.entity.name,
        "created": saved.created,
        "fields": fields,
        "changed": sorted(saved.changed),
        "copy": saved.copy or None,
    }
    if trigger:
        data["trigger"] = trigger
    what = "created" if saved.created else "begun afresh" if saved.copy else "updated"
    lines: list[Block] = [Line(f"{saved.entity.name}: {what}", "good")]
    lines += [Line(f"  {key}: {shorten(fields[key], _SHOWN)}") for key in saved.changed if key in fields]
    if saved.copy:
        message = "the checkpoint was corrupted; a backup was made, and a fresh one was begun"
        findings = [Finding("memory/backup", "warning", message, saved.entity.name, hint=saved.copy), *findings]
    instant = read_instant(saved.changed.get("timestamp")) or (0, "")
    return Outcome(data, lines, [*findings, *rules.check(saved.entity, instant[0])], 0)
