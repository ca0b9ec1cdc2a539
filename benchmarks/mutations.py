"""Mutated inputs for every reader: no traceback, the answer of an independent reader, no input that
takes a second.

    python -m benchmarks.mutations                     1,000,000 inputs, the readers in turn
    python -m benchmarks.mutations json yaml --inputs 20000 --seed 7

The seeds are the real files of ../shared/corpus, where it is there, and the samples of the tests.
The readers that they are compared with are json, PyYAML, jsonschema and tomllib; "reference" merges
with the second implementation as well, which needs Node.js.
"""

import argparse
import hashlib
import io
import json
import os
import random
import re
import string
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from benchmarks import mutated_edits
from benchmarks.oracles import (
    LOADERS,
    differs,
    load_json,
    oracle_any,
    oracle_json,
    oracle_yaml,
    plain,
    validator,
)
from checkpoint_git.core import jsontext, managed_block, yamltext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.schema import explain, is_surely_valid
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import LONGEST_PATH
from checkpoint_git.git import leases
from checkpoint_git.git.history.claims import CommitMessage, find_claims
from checkpoint_git.merge.file import merge_file
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.memory.graph_file import _read_line, plan_repair
from checkpoint_git.protocols.memory.transports import entity_json, read_entities
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.restore import audit, guard, store
from checkpoint_git.protocols.restore.losses import find_loss
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.protocols.workflow.state import find_trouble, load_state
from checkpoint_git.protocols.workflow.store import open_place
from checkpoint_git.tools.doctor.settings import read_settings_text
from checkpoint_git.tools.session.agent_hooks import find_hook_input, read_hook_input
from tests.support.records import PAYLOADS, RUN, TICKET, record
from tests.support.samples import checkpoint_text
from tests.support.workflows import execution, phase, task, text_of

CORPUS = Path(__file__).parents[2] / "shared/corpus"
NOW = 1_790_000_000
SLOW = 1.0  # seconds
_BATCH = 500  # merges of one process of the second implementation
_PATH = ".checkpoints/build.checkpoint.json"
_POINT = "chk_20260101_000000_aaaaaa"
_TOKENS = (
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"'",
        b":",
        b",",
        b"\\",
        b"\n",
        b"\r",
        b"\0",
        b"\t",
        b" ",
        b"-",
        b"#",
        b"\\u0000",
    ),
    *(
        b"\\ud800",
        b"null",
        b"true",
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"-0",
        b"0.1",
        b"9" * 30,
        b"9" * 5_000,
        b"1e-400",
    ),
    *(
        b"\xff",
        b"\xc3\xa9",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"\xed\xa0\x80",
        b"\x1b[2J",
        b"&a ",
        b"*a",
        b"!!str ",
    ),
    *(
        b"<<: ",
        b"---\n",
        b"? ",
        b"| ",
        b"> ",
        b"%YAML 1.1\n",
        b"2026-02-30",
        b"12:30:45",
        b"0x1F",
        b"1_000",
        b"~",
        b"yes",
    ),
    *(
        b"[" * 30,
        b"[" * 2_000,
        b'{"a":' * 40,
        b"- " * 25,
        b"<<<<<<< ours\n",
        b"=======\n",
        b">>>>>>> theirs\n",
        b"../",
    ),
)


class Reader(NamedTuple):
    """seeds: what is mutated. read: what is wrong with the answer, "" for nothing; it may raise."""

    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[bytes, random.Random], str]


# --- the inputs
# -----------------------------------------------------------------------------------------------------


def mutate(data: bytes, luck: random.Random, others: Sequence[bytes]) -> bytes:
    """Up to four changes of bytes, tokens, lines and, where it is JSON, values."""
    for _ in range(luck.choice((1, 1, 2, 4))):
        at, end = sorted(luck.randrange(len(data) + 1) for _ in range(2))
        match luck.randrange(9):
            case 0:
                data = data[:at] + luck.choice(_TOKENS) + data[at:]
            case 1:
                data = data[:at] + data[min(end, at + 20) :]
            case 2:
                data = data[:at] + bytes((luck.randrange(256),)) + data[at + 1 :]
            case 3:
                data = data[:at] + data[at : at + 200] * luck.choice((2, 3, 40)) + data[at + 200 :]
            case 4:
                lines = data.splitlines(keepends=True)
                luck.shuffle(lines)
                data = b"".join(lines[: luck.choice((3, 30, len(lines)))])
            case 5:
                other = luck.choice(others)
                start = luck.randrange(len(other) + 1)
                data = data[:at] + other[start : start + 100] + data[at:]
            case 6:
                data = data[:at]
            case _:
                data = _mutate_value(data, luck)
    return data[:40_000]


def _mutate_value(data: bytes, luck: random.Random) -> bytes:
    try:
        value = json.loads(data)
        places = list(_places_in(value))
        if not places:
            return data
        holder, key = luck.choice(places)
        if luck.random() < 0.3 and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = _make_junk(luck, luck.choice(places), key)
        return json.dumps(
            value, indent=luck.choice((None, 2)), ensure_ascii=luck.random() < 0.5
        ).encode()
    except (ValueError, RecursionError):
        return data + luck.choice(_TOKENS)


def _places_in(value: Any) -> Any:
    for key, child in list(
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield value, key
        yield from _places_in(child)


def _make_junk(luck: random.Random, place: tuple[Any, Any], key: Any) -> Any:
    text = "".join(
        luck.choices(
            [
                *string.printable,
                "\x1b",
                "\u202e",
                "\ufeff",
                "\u2028",
                "é",
                "\ud800",
                "\udc80",
                "\0",
            ],
            k=luck.randrange(40),
        )
    )
    whole = luck.choice((0, -1, 1, 10**6, 10**20, -(10**30), 2**63))
    rest: tuple[Any, ...] = (
        None,
        True,
        [],
        {},
        [None],
        {text: None},
        float("1e300"),
        0.5,
        [text] * 3,
        {"id": text},
        [[[]]],
        [{}, {}],
    )
    dates = (
        "2026-03-01T08:00:00Z",
        "9999-12-31T23:59:60Z",
        "0001-01-01T00:00:00+23:59",
        "2026-02-29T00:00:00Z",
    )
    return luck.choice((text, text, whole, place[0], key, luck.choice(dates), *rest))


# --- the readers
# ----------------------------------------------------------------------------------------------------


def read_json(data: bytes, luck: random.Random) -> str:
    found, expected = load_json(data), oracle_json(data)
    if wrong := differs("load", found, expected):
        return wrong
    if found is ...:
        return ""
    tree = jsontext.parse(jsontext.decode(data))
    return differs("parse", plain(tree), expected)


def read_yaml(data: bytes, luck: random.Random) -> str:
    try:
        text = yamltext.decode(data)
    except yamltext.YamlTextError:
        return ""
    try:
        found = yamltext.load(text)
    except yamltext.YamlTextError as error:
        is_ours = (
            error.code != "yaml/syntax"
            or "characters" in error.message
            or error.message == "it is empty"
        )
        return "" if is_ours else differs(f"refused ({error.message})", ..., oracle_yaml(text))
    yamltext.find_spans(text)
    other = oracle_yaml(text, LOADERS[1])
    wrong = "" if other is ... else differs("the two parsers of PyYAML", found, other)
    return differs("load", found, oracle_yaml(text)) or wrong


def read_schema(data: bytes, luck: random.Random) -> str:
    value = load_json(data)
    if value is ...:
        return ""
    schema = open_room("skill").schema
    is_valid = validator("skill").is_valid(value)
    if is_surely_valid(schema, value) and not is_valid:
        return "the quick check accepts what jsonschema refuses"
    return "" if is_valid == (explain(schema, value) == []) else "explain and jsonschema disagree"


def read_document(data: bytes, luck: random.Random) -> str:
    document = check_document(_PATH, data, now=NOW)
    if any(escape_controls(each.message) != each.message for each in document.findings):
        return "a message steers a terminal"
    errors = [each for each in document.findings if each.level == "error"]
    is_good = (
        (value := oracle_json(data)) is not ...
        and isinstance(value, dict)
        and validator("skill").is_valid(value)
    )
    return "" if is_good or errors else "no error for what jsonschema refuses"


def read_merge(data: bytes, luck: random.Random) -> str:
    base = ours = _skills()[luck.randrange(len(_skills()))]
    rules = load_merge_schema(_PATH)
    try:
        merged, swapped = merge_file(base, ours, data, rules), merge_file(base, data, ours, rules)
    except jsontext.JsonTextError:
        return (
            ""
            if oracle_json(data) is ... or oracle_json(base) is ...
            else "the driver refuses what json reads"
        )
    if merged.conflicts or swapped.conflicts:
        return ""
    one, other = (oracle_json(each.data) for each in (merged, swapped))
    return "no JSON" if one is ... else differs("both ways", one, other) if one != other else ""


def read_record(data: bytes, luck: random.Random) -> str:
    path = f".claude/checkpoints/{TICKET}/{RUN}/phase_1_implement_a1.yaml"
    found = check_document(path, data, now=NOW)
    errors = [each for each in found.findings if each.level == "error"]
    if any(escape_controls(each.message) != each.message for each in found.findings):
        return "a message steers a terminal"
    try:
        value = oracle_yaml(yamltext.decode(data))
    except yamltext.YamlTextError:
        value = ...
    return "" if errors or isinstance(value, dict) else "no error for what is not a mapping"


def read_workflow(data: bytes, luck: random.Random) -> str:
    root = Path(_scratch()) / "workflow"
    folder = root / "memory/state"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("phase.json", text_of(phase("IMPLEMENTATION"))),
        ("execution.json", text_of(execution(task()))),
    ):
        (folder / name).write_text(text)
    (folder / ("phase.json" if b'"current_phase"' in data else "execution.json")).write_bytes(data)
    find_trouble(load_state(open_place(str(root)), NOW), NOW, 7)
    return ""


def read_claim(data: bytes, luck: random.Random) -> str:
    fields = data.decode("utf-8", "replace").partition("\n")[0].replace("\0", "")
    claim = leases._parse(
        f"{leases.OURS}build", "a" * 40, str(luck.choice((0, NOW, 10**15))), fields
    )
    is_bounded = claim.until <= claim.since + leases.LONGEST and len(claim.holder) <= 1_100
    _ = claim.line, claim.data, claim.ends
    return "" if is_bounded else "a claim without bounds"


def read_commit(data: bytes, luck: random.Random) -> str:
    subject, _, body = data.decode("utf-8", "replace").partition("\n")
    claims = find_claims(
        CommitMessage("a" * 40, ("b" * 40,) * luck.randrange(3), subject, body, NOW)
    )
    return (
        ""
        if all(map(str.isprintable, claims.merged))
        else f"a reference that steers a terminal: {claims.merged}"
    )


def read_manifest(data: bytes, luck: random.Random) -> str:
    value = oracle_any(data)
    if isinstance(value, dict) and luck.random() < 0.9:  # whoever writes one can write its digest
        try:
            data = store.write_text({**value, "id": _POINT, "schema_version": 1, "digest": ""})
            value = json.loads(data)
            data = store.write_text({**value, "digest": store.find_digest(value)})
        except (ValueError, RecursionError):
            pass
    found = store.parse_manifest(_POINT, data)
    store.find_state(found, NOW)
    if not found.trouble:
        store.read_entries(found)
    return ""


def read_log(data: bytes, luck: random.Random) -> str:
    lines = list(enumerate(data.splitlines(), 1))
    troubles, expected, before = audit.find_breaks(lines), 1, "0" * 64
    is_whole = True
    for _, line in lines:
        value = oracle_any(line, strict=True)  # a line of ours names nothing twice
        body = (
            {key: one for key, one in value.items() if key != "hash"}
            if isinstance(value, dict)
            else {}
        )
        text = json.dumps(body, separators=(",", ":"), sort_keys=True).encode()
        is_right = isinstance(value, dict) and value.get("hash") == hashlib.sha256(text).hexdigest()
        is_right = is_right and type(value.get("number")) is int
        is_whole &= is_right and (value["number"], value.get("previous")) == (expected, before)
        if is_right:
            expected, before = value["number"] + 1, value["hash"]
    return (
        ""
        if is_whole == (not troubles)
        else "a broken chain is taken for a whole one, or the other way round"
    )


def read_toml(data: bytes, luck: random.Random) -> str:
    text = data.decode("utf-8", "replace")
    found = read_settings_text(text, ".checkpoints/doctor.toml", lambda code: True)
    try:
        tomllib.loads(text)
        is_toml = True
    except (ValueError, RecursionError):
        is_toml = False
    return "" if is_toml or found.findings else "no finding for what is not TOML"


def read_hook(data: bytes, luck: random.Random) -> str:
    found = read_hook_input(io.StringIO(data.decode("utf-8", "replace")))
    find_hook_input(oracle_any(data))
    return (
        ""
        if re.fullmatch("[A-Za-z0-9-]{1,64}", found.session)
        else f"a session called {found.session!r}"
    )


def read_tool_call(data: bytes, luck: random.Random) -> str:
    value = load_json(data)
    call = guard.read_call(None if value is ... else value, "/work")
    if call:
        find_loss(call.command, call.cwd, "/work")
    written = value.get("tool_input", {}).get("file_path") if call else None
    if not call or not isinstance(written, str) or not written or call.paths:
        return ""
    if len(os.path.normpath(os.path.join("/work", written))) > LONGEST_PATH:
        return ""  # nobody can write it
    return "a file that is written is not seen"


def read_graph(data: bytes, luck: random.Random) -> str:
    lines = [
        _read_line(text)
        for text in data.decode("utf-8", "surrogateescape").split("\n")
        if text.strip()
    ]
    for line in lines:
        value = oracle_any(line.text.encode("utf-8", "surrogatepass"))
        if wrong := differs("line", line.value, value if isinstance(value, dict) else None):
            return wrong
    read_entities([line.value for line in lines], [line.value for line in lines])
    repair = plan_repair(lines)
    again = plan_repair([_read_line(line.text) for line in repair.lines])
    if again.faults or again.lost:
        return f"a repaired graph is broken: {again.faults[:2]}"
    _ = [entity_json(one) for one in read_entities([line.value for line in repair.lines])]
    return ""


# --- the seeds
# ------------------------------------------------------------------------------------------------------


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="mutations-")


def _scratch() -> str:
    return _folder().name


@cache
def _skills() -> Sequence[bytes]:
    files = (
        sorted(path for path in CORPUS.rglob("*.json") if path.stat().st_size < 40_000)
        if CORPUS.is_dir()
        else []
    )
    return [
        checkpoint_text().encode(),
        *(path.read_bytes() for path in files if path.stat().st_size),
    ]


@cache
def _records() -> Sequence[bytes]:
    texts = [yaml.safe_dump(record(name), sort_keys=False).encode() for name in PAYLOADS]
    odd = b"a: &x [1, 2]\nb: *x\nc: !!str 3\nd: |\n  e\n  f\n? g\n: {h: 1.5, i: .inf, j: 0o17, k: 0x1F, l: 1:30}\n"
    return [
        *texts,
        odd,
        b"- [a, {b: c}]\n- 'd''e'\n- \"\\x41\\u00e9\"\n- 2026-03-01\n- ~\n- yes\n- 1_000\n",
    ]


@cache
def _workflows() -> Sequence[bytes]:
    values = (
        phase("IMPLEMENTATION"),
        phase(),
        execution(task(), task("t2", "running", output="src/a.py")),
    )
    return [text_of(value).encode() for value in values]


@cache
def _subjects() -> Sequence[bytes]:
    return (
        b"claimed until 2026-03-02T09:00:00Z by anna@host:/work session s1",
        b"Merge pull request #12 from anna/feature-12\n\nAdd the thing (#12)\n\nCloses #13, fixes PLAT-14",
        b'Revert "feat(scope)!: [PLAT-1] add it (#4) (#5)"\n\nThis reverts commit '
        + b"a" * 40
        + b".",
        b"Merge branch 'PLAT-3-x' into 'main'\n\nSee merge request group/project!99",
        b"chore: bump (GH-3) [skip ci]\n\nCo-authored-by: A <a@example.org>\nRefs: #1, #2 and #3",
    )


@cache
def _manifests() -> Sequence[bytes]:
    entry = {"path": "src/a.txt", "kind": "file", "mode": "0644", "size": 2, "sha256": "a" * 64}
    link = {"path": "src/b", "kind": "link", "mode": "0777", "size": 1, "sha256": "b" * 64}
    part = {
        "kind": "state",
        "name": "state:run",
        "content": "parts/0",
        "size": 2,
        "sha256": "c" * 64,
    }
    part["details"] = {"file": "state.json", "mode": "0644"}
    base = {
        "schema_version": 1,
        "id": _POINT,
        "type": "file_backup",
        "state": "active",
        "reason": "before",
    }
    base |= {
        "created_at": "2026-01-01T00:00:00Z",
        "expires_at": None,
        "history": [],
        "began": 1,
        "hash": "sha256:" + "d" * 64,
    }
    base |= {
        "scope": {"asked": ["src"]},
        "entries": [entry, link],
        "parts": [part],
        "left_out": [],
        "work_tree": "",
    }
    return [store.write_text(base), *_real_manifests()]


def _real_manifests() -> Sequence[bytes]:
    from checkpoint_git.protocols.restore.api import RestorePoints

    root = Path(_scratch()) / "points"
    (root / "src").mkdir(parents=True)
    (root / "src/a.txt").write_text("a\n")
    (root / "state.json").write_text('{"step": 1}\n')
    points = RestorePoints(str(root), now=NOW)
    points.create(["src"], "before")
    points.create([], "state", states={"run": {"step": 1}})
    return [
        path.read_bytes() for path in sorted((root / ".checkpoints").glob("chk_*/manifest.json"))
    ]


@cache
def _logs() -> Sequence[bytes]:
    lines, before = list[bytes](), "0" * 64
    for number in range(1, 6):
        body = {
            "number": number,
            "previous": before,
            "operation": "create",
            "details": {"é": [1, 2.5, None]},
        }
        before = hashlib.sha256(audit._canonical(body)).hexdigest()
        lines.append(audit._canonical({**body, "hash": before}))
    return [b"\n".join(lines) + b"\n"]


@cache
def _settings() -> Sequence[bytes]:
    own = b'[thresholds]\nin_progress_days = 3\nblocked_days = 0x10\n[[suppress]]\ncode = "drift/x"\nreason = "why"\n'
    return [
        own
        + b'path = "*"\nwhere = "/a"\nuntil = 2026-03-01\n[[suppress]]\ncode = "git"\nreason = """a\nb"""\n',
        own,
    ]


@cache
def _hooks() -> Sequence[bytes]:
    calls = (
        {
            "session_id": "a-1",
            "source": "startup",
            "hook_event_name": "SessionStart",
            "cwd": "/work",
        },
        {"conversation_id": "b", "loop_count": 2, "status": "completed", "stop_hook_active": True},
        {
            "tool_name": "Bash",
            "tool_input": {"command": "git status && rm -rf build"},
            "cwd": "/work",
        },
        {
            "tool_name": "Write",
            "tool_input": {"file_path": "src/a.py", "content": "x"},
            "cwd": "/work",
        },
        {"tool_name": "Edit", "tool_input": {"file_path": "../a", "old_string": "a"}},
    )
    return [json.dumps(call).encode() for call in calls]


@cache
def _graphs() -> Sequence[bytes]:
    entity = {
        "type": "entity",
        "name": "checkpoint",
        "entityType": "checkpoint",
        "observations": ["phase:a", "b"],
    }
    edge = {"type": "relation", "from": "checkpoint", "to": "else", "relationType": "of"}
    other = {**entity, "name": "élse", "observations": []}
    return [
        "\n".join(json.dumps(one, ensure_ascii=False) for one in (entity, other, edge)).encode()
    ]


@cache
def _status_files() -> Sequence[bytes]:
    return (
        b"active:\n  initiative: one\n  milestone: 'm: 2'\nsessions:\n- completed: [a, b]\n  date: 2026-03-01\n",
        b'# notes\nresume:\n  next_action: |\n    do it\n  context_files:\n    - a.py\n    - "b c.py"\nactive: {}\n',
    )


@cache
def _blocks() -> Sequence[bytes]:
    lines = b"# above\nx\n"
    whole = managed_block.put_block(lines, b"ours\n")
    return (
        lines,
        whole,
        whole.replace(b"\n", b"\r\n"),
        managed_block.put_block(None, b"ours\n", head=b"#!/bin/sh\n"),
    )


@cache
def _arguments() -> Sequence[bytes]:
    asked = (
        {"name": "build", "fields": {"step": "x"}, "append": {"next_actions": ["y"]}},
        {"name": "build", "index": 0, "next": ["z"], "limit": 3, "since": "2d"},
        {"scope": ["src"], "reason": "before", "id": "latest", "dry_run": True},
    )
    return [json.dumps(one).encode() for one in asked]


READERS = {
    "json": Reader(_skills, read_json),
    "yaml": Reader(_records, read_yaml),
    "schema": Reader(_skills, read_schema),
    "validate": Reader(_skills, read_document),
    "merge": Reader(_skills, read_merge),
    "record": Reader(_records, read_record),
    "workflow": Reader(_workflows, read_workflow),
    "claim": Reader(_subjects, read_claim),
    "commit": Reader(_subjects, read_commit),
    "manifest": Reader(_manifests, read_manifest),
    "audit log": Reader(_logs, read_log),
    "settings": Reader(_settings, read_toml),
    "hook": Reader(_hooks, read_hook),
    "guard": Reader(_hooks, read_tool_call),
    "memory": Reader(_graphs, read_graph),
    "rewrite": Reader(_skills, mutated_edits.read_rewrite),
    "lines": Reader(_graphs, mutated_edits.read_lines),
    "markers": Reader(_skills, mutated_edits.read_markers),
    "yaml edit": Reader(_status_files, mutated_edits.read_yaml_edit),
    "block": Reader(_blocks, mutated_edits.read_block),
    "arguments": Reader(_arguments, mutated_edits.read_arguments),
}


def try_reader(name: str, number: int, seed: int) -> tuple[str, bytes, float]:
    """What is wrong, "" for nothing; the input; the seconds that it took."""
    luck = random.Random(f"{name}/{seed}/{number}")  # noqa: S311 (no secret)
    seeds = READERS[name].seeds()
    data = mutate(luck.choice(seeds), luck, seeds)
    began = time.process_time()
    try:
        wrong = READERS[name].read(data, luck)
    except CheckpointError:
        wrong = ""
    except Exception:
        wrong = traceback.format_exc(limit=-3)
    return wrong, data, time.process_time() - began


def try_all(name: str, count: int, seed: int) -> Iterator[tuple[str, bytes, float]]:
    """Try so many inputs of a reader."""
    return (try_reader(name, number, seed) for number in range(count))


def try_reference(count: int, seed: int) -> Iterator[tuple[str, bytes, float]]:
    """Merge so many mutated documents with the second implementation too; the time is not taken."""
    seeds = _skills()
    for first in range(0, count, _BATCH):
        merges = []
        for number in range(first, min(first + _BATCH, count)):
            luck = random.Random(f"reference/{seed}/{number}")  # noqa: S311 (no secret)
            base = luck.choice(seeds)
            sides = [_mutate_side(base, luck, seeds) for _ in range(2)]
            merges.append((base, sides[0], sides[1]))
        for merge, wrong in zip(merges, mutated_edits.compare_merges(merges), strict=True):
            yield wrong, b"\n".join(merge), 0.0


def _mutate_side(data: bytes, luck: random.Random, others: Sequence[bytes]) -> bytes:
    """Return another version of a document, which is JSON in most cases."""
    if luck.random() < 0.1:
        return mutate(data, luck, others)
    for _ in range(luck.choice((1, 2, 4))):
        data = _mutate_value(data, luck)
    return data


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "readers", nargs="*", help=f"default: all of {', '.join(READERS)}, reference"
    )
    parser.add_argument("--inputs", type=int, default=1_000_000, help="how many, over all readers")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    chosen = args.readers or [*READERS, "reference"]
    each, found, slowest = -(-args.inputs // len(chosen)), Counter[str](), dict[str, float]()
    for name in chosen:
        tried = (
            try_reference(each, args.seed)
            if name == "reference"
            else try_all(name, each, args.seed)
        )
        for number, (wrong, data, seconds) in enumerate(tried):
            slowest[name] = max(slowest.get(name, 0.0), seconds)
            wrong = wrong or (f"it took {seconds:.1f} s" if seconds > SLOW else "")
            if wrong:
                found[name] += 1
                if found[name] <= 5:
                    print(f"{name} {number}: {wrong}\n    {data[:200]!r}")
        print(
            f"{name}: {each} inputs, {found[name]} with trouble, at most {slowest[name]:.3f} s",
            flush=True,
        )
    print(f"{each * len(chosen)} inputs, {found.total()} with trouble")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
