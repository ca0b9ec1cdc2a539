"""Mutated inputs for what writes: merges, edits of JSON and YAML, blocks in others' files,
arguments of tools.
"""

import base64
import json
import random
import subprocess
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from jsonschema import Draft202012Validator

from benchmarks.oracles import differs, load_json, oracle_json, oracle_yaml
from checkpoint_git.core import jsontext, jsonwrite, managed_block, yamledit, yamltext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.mcp.calls import check_arguments, fit
from checkpoint_git.mcp.tools import choose_tools
from checkpoint_git.merge.file import merge_file
from checkpoint_git.protocols.merge_schema import load_merge_schema
from conformance.__main__ import GAVE_UP, HERE
from tests.merge.choosing import OURS, THEIRS, keep_side
from tests.support.samples import checkpoint_text

_PATH = ".checkpoints/build.checkpoint.json"
_SECONDS = 300  # for a batch of merges


def read_rewrite(data: bytes, luck: random.Random) -> str:
    """Give a document another one's value: the text holds exactly that, and every byte where
    nothing changed.
    """
    if oracle_json(data) is ...:
        return ""
    text = jsontext.decode(data).removeprefix(jsontext.BYTE_ORDER_MARK)
    root = jsontext.parse(text)
    if jsonwrite.rewrite(root, root.value) != text:
        return "an unchanged document is written otherwise"
    wanted = (
        jsontext.scan_tokens(checkpoint_text(step="other"))
        if luck.random() < 0.5
        else _change(root.value, luck)
    )
    return differs(
        "rewrite", load_json(jsonwrite.rewrite(root, wanted).encode()), _plain_tokens(wanted)
    )


def _change(value: Any, luck: random.Random) -> Any:
    """Return a value with one member or item left out, doubled or replaced, somewhere in it."""
    if isinstance(value, dict) and value:
        key = luck.choice(list(value))
        if luck.random() < 0.3:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: _change(value[key], luck)}
    if isinstance(value, list) and value:
        index = luck.randrange(len(value))
        if luck.random() < 0.3:
            return [*value[:index], *value[index + 1 :]]
        if luck.random() < 0.3:
            return [*value, value[index]]
        return [*value[:index], _change(value[index], luck), *value[index + 1 :]]
    return luck.choice(("text", b"-1.50", None, [], {}, {"a": [b"1"]}))


def _plain_tokens(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain_tokens(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain_tokens(item) for item in value]
    return load_json(value) if isinstance(value, bytes) else value


def read_lines(data: bytes, luck: random.Random) -> str:
    """Merge JSON Lines: what merges cleanly is JSON Lines again, the same both ways."""
    base = b'{"type":"entity","name":"checkpoint","observations":["phase:a"]}\n{"name":"b"}\n'
    ours = base + b'{"name":"c"}\n'
    try:
        merged = merge_file(base, ours, data, {}, path="graph.jsonl")
        swapped = merge_file(base, data, ours, {}, path="graph.jsonl")
    except jsontext.JsonTextError:
        return ""
    if merged.conflicts or swapped.conflicts:
        return ""
    values = [
        [oracle_json(line) for line in one.data.split(b"\n") if line.strip()]
        for one in (merged, swapped)
    ]
    if ... in values[0]:
        return "a line of the result is not JSON"
    return "" if values[0] == values[1] else "the two ways differ"


def read_markers(data: bytes, luck: random.Random) -> str:
    """Merge with conflicts: each side of the marked text is JSON, and one that its version could
    have given.
    """
    base = checkpoint_text().encode()
    ours = checkpoint_text(step="ours", phase="ours", status="complete").encode()
    try:
        merged = merge_file(base, ours, data, load_merge_schema(_PATH))
    except jsontext.JsonTextError:
        return ""
    if not merged.conflicts:
        return ""
    for side in (OURS, THEIRS):
        if oracle_json(keep_side(merged.text, side).encode("utf-8", "surrogatepass")) is ...:
            return f"side {side} of a conflict is not JSON"
    return ""


def read_yaml_edit(data: bytes, luck: random.Random) -> str:
    """Set values in a YAML text: PyYAML reads them, and every other value as it was."""
    path, value = luck.choice((
        (("active", "phase"), "two: 2"),
        (("resume", "context_files"), ["a b.py", "#c"]),
        (("sessions", 0, "completed"), "yes"),
        (("resume", "next_action"), "line\nline"),
    ))  # fmt: skip
    try:
        text = yamltext.decode(data)
        before = None if yamledit.is_blank(text) else yamltext.load(text)
        after = yamledit.set_values(text, {path: value})
    except (yamltext.YamlTextError, CheckpointError):
        return ""
    found = oracle_yaml(after)
    if found is ...:
        return "PyYAML refuses the edited text"
    return differs("edit", found, _put(before, path, value)) if isinstance(before, dict) else ""


def _put(tree: Any, path: Sequence[str | int], value: Any) -> Any:
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        items = list(tree) if isinstance(tree, list) else []
        items = items or [None]
        return [_put(items[0], rest, value), *items[1:]]
    members = tree if isinstance(tree, dict) else {}
    return {**members, head: _put(members.get(head), rest, value)}


def read_block(data: bytes, luck: random.Random) -> str:
    """Put a block into a file and take it out: every byte is as it was."""
    if managed_block.is_damaged(data):
        return ""
    rest = managed_block.remove_block(data)
    if managed_block.has_block(rest):
        return "a removed block is still there"
    body = luck.choice((b"ours\n", b"a\nb\n"))
    written = managed_block.put_block(rest, body)
    block = managed_block.find_block(written)
    if block is None or block.body != body:
        return "the block does not hold what was put into it"
    return (
        ""
        if managed_block.take_block(written) == rest
        else "taking the block out changes other bytes"
    )


_TOOLS = choose_tools(read_only=False)


def read_arguments(data: bytes, luck: random.Random) -> str:
    """Check the arguments of a tool call as jsonschema does, and cut an answer to its length."""
    asked = oracle_json(data)
    if not isinstance(asked, dict):
        return ""
    name = luck.choice(sorted(_TOOLS))
    schema = _TOOLS[name].input_schema
    is_refused = check_arguments(name, name, schema, asked) is not None
    is_valid = Draft202012Validator({**schema, "additionalProperties": False}).is_valid(asked)
    if is_refused == is_valid and len(data) < 10_000:
        return f"{name} {'refuses' if is_refused else 'accepts'} what jsonschema does not"
    cut = fit({"asked": asked}, 3_000)
    return "" if len(cut.text) <= 3_000 and json.loads(cut.text) else "an answer that is too long"


def compare_merges(merges: Sequence[tuple[bytes, bytes, bytes]]) -> list[str]:
    """Return what the second implementation answers otherwise, "" for nothing. merges: base, ours,
    theirs.
    """
    vectors = []
    for number, versions in enumerate(merges):
        encoded = [{"base64": base64.b64encode(data).decode()} for data in versions]
        vectors.append(
            {"id": str(number), "base": encoded[0], "ours": encoded[1], "theirs": encoded[2]}
        )
    words = ["node", str(HERE / "reference/vectors.js")]
    done = subprocess.run(
        words,
        input=json.dumps(vectors).encode(),
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    found = [_compare(versions, answer) for versions, answer in zip(merges, answers, strict=False)]
    if len(answers) < len(merges):  # it died of the next one
        found.append(
            f"the second implementation ended: {done.stderr.decode(errors='replace')[-300:]}"
        )
        found += compare_merges(merges[len(found) :]) if len(found) < len(merges) else []
    return found


def _compare(versions: tuple[bytes, bytes, bytes], answer: dict[str, Any]) -> str:
    base, ours, theirs = versions
    try:
        merged = merge_file(base, ours, theirs, {})
        code, text = len(merged.conflicts), merged.data
    except jsontext.JsonTextError:
        code, text = GAVE_UP, ours
    other = base64.b64decode(answer["data"])
    if (code == 0) != (answer["code"] == 0) or (code == GAVE_UP) != (answer["code"] == GAVE_UP):
        return f"{code} conflicts, and of the second implementation {answer['code']}"
    if code == 0 and _load_exact(text) != _load_exact(other):
        return f"another result: {text[:150]!r} and {other[:150]!r}"
    return ""


def _load_exact(data: bytes) -> Any:
    return json.loads(data.decode("utf-8-sig"), parse_float=Decimal)
