"""Run a tool call as the command line would, and cut its answer to what an agent can read.

Calls run in threads, and write to no stream of the process. Whatever goes wrong is an answer.
"""

import io
import json
import logging
import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from checkpoint_git.cli.parser import CommandLine, parse
from checkpoint_git.cli.render.json import make_document, make_error
from checkpoint_git.cli.verbs import load_verb
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.outcome import Invocation
from checkpoint_git.core.redact import hide_tokens
from checkpoint_git.core.schema import Schema, explain, is_surely_valid
from checkpoint_git.core.terminal_text import escape_controls, shorten

OWNER = "CHECKPOINT_SKILL"
LONGEST_ARGUMENTS = 1_000_000  # characters of JSON
LIMIT = 100_000  # characters of an answer; what agents take at once is not much more
DEPTH = 60  # levels; some parsers give up at 128
_LONGEST_KEY = 200  # characters
_LONGEST_NUMBER = 900  # bits
_PLACES = 20  # pointers that are named where something was cut
_ENDLESS = 1 << 62
# what is tried in turn: (characters of a text, members of a list or object)
_CUTS = (
    (_ENDLESS, _ENDLESS), (20_000, 1_000), (10_000, 500), (4_000, 200), (4_000, 80), (2_000, 40),
    (1_000, 20), (200, 10), (40, 3),
)  # fmt: skip


class World(NamedTuple):
    cwd: str
    owner: str  # the only checkpoint that may be written, "" if each call names one

    @property
    def invocation(self) -> Invocation:
        """Return what a verb gets: nobody to ask, and streams that lead nowhere."""
        return Invocation(
            cwd=self.cwd,
            env={**os.environ, OWNER: self.owner},
            now=int(time.time()),
            stdin=io.StringIO(""),
            stdout=io.StringIO(),
            stderr=io.StringIO(),
            interactive=False,
        )


class VerbReply(NamedTuple):
    document: dict[str, Any]  # what --json prints
    failed: bool = False  # nothing was done, and the document says why


class ToolResult(NamedTuple):
    value: dict[str, Any]
    text: str  # the value as JSON, with everything escaped that a reader cannot see
    failed: bool = False


def run_verb(verb: str, options: Mapping[str, Any], operands: list[str], world: World) -> VerbReply:
    """Run `checkpoint VERB --options -- OPERANDS`. Raises CheckpointError as that does.

    options: None and False for one that is left out, True for one without a value, a list for one
    that is repeated.
    """
    module = load_verb(verb)
    words = ["--json"]
    for name, value in options.items():
        if value is True:
            words.append(name)
        elif isinstance(value, list):
            words += [f"{name}={item}" for item in value]
        elif value is not None and value is not False:
            words.append(f"{name}={value}")

    if operands:
        words += ["--", *operands]
    args = parse(CommandLine(f"checkpoint {verb}", verb, words), module, ("text", "json"))
    if hasattr(module, "make_document"):  # its JSON is not that of an Outcome
        document = module.make_document(args, world.invocation)
        return VerbReply(document, document["success"] is False)

    return _make_reply(verb, module.run(args, world.invocation))


def run_update(asked: Mapping[str, Any], world: World) -> VerbReply:
    outcome = load_verb("update").run_values(asked["name"], asked, world.invocation)
    return _make_reply("update", outcome)


def _make_reply(verb: str, outcome: Any) -> VerbReply:
    document = make_document(verb, outcome)
    return VerbReply(document, document.get("written") is False)


def answer(name: str, verb: str, run: Callable[[], VerbReply]) -> ToolResult:
    """Return what a call replies, or why it failed. name: of the tool."""
    try:
        reply = run()
        return fit(reply.document, failed=reply.failed)
    except CheckpointError as error:
        return fail(verb, error)
    except OSError as error:
        message = str(error.strerror or error)
        if isinstance(error.filename, str):
            message = f"{error.filename}: {message}"
        return fail(verb, CheckpointError(message, "fix that and try again"))
    except Exception as error:
        text = f"a bug in this tool: {type(error).__name__}: {shorten(str(error), 200)}"
        logging.getLogger(__name__).error("%s: %s", name, text)
        return fail(verb, CheckpointError(text, "please report it with what was asked"))


def fail(verb: str, error: CheckpointError, findings: list[Finding] | None = None) -> ToolResult:
    document = make_error(verb, shorten(error.message, 2_000), shorten(str(error.hint), 2_000))
    if findings:
        document["findings"] = [finding._asdict() for finding in findings[:100]]
    return fit(document, failed=True)


def check_arguments(
    name: str, verb: str, schema: dict[str, Any], asked: Mapping[str, Any]
) -> ToolResult | None:
    """Return the answer to a call whose arguments do not fit the schema, None if they do."""
    size = len(json.dumps(asked))
    if size > LONGEST_ARGUMENTS:
        message = f"{name}: the arguments are {size} characters long, more than {LONGEST_ARGUMENTS}"
        hint = "a checkpoint is to be read again: keep texts short"
        return fail(verb, CheckpointError(message, hint))

    compiled = Schema(lambda: {**schema, "additionalProperties": False})
    if is_surely_valid(compiled, asked):
        return None
    hint = _list_arguments(schema)
    findings = [
        Finding(
            "mcp/arguments",
            "error",
            shorten(mismatch.message, 300),
            where=mismatch.where,
            hint=hint,
        )
        for mismatch in explain(compiled, asked)
    ]
    if not findings:
        return None
    message = f"{name}: invalid arguments: {findings[0].message}"
    return fail(verb, CheckpointError(message, hint), findings)


def _list_arguments(schema: dict[str, Any]) -> str:
    names = list[str]()
    for name in schema["properties"]:
        if name in schema.get("required", ()):
            names.append(f"{name} (needed)")
        else:
            names.append(name)
    if not names:
        return "it takes no arguments"
    return f"it takes {', '.join(names)}"


def fit(document: dict[str, Any], limit: int = LIMIT, *, failed: bool = False) -> ToolResult:
    """Return the document, cut if it is longer than `limit` characters.

    Then its member `truncated` names the places. Raises CheckpointError if no cut is enough.
    """
    for longest, most in _CUTS:
        places: list[str] = []
        value: dict[str, Any] = {}
        for key, member in document.items():
            shown = _cut_text(key, _LONGEST_KEY, "", [])
            value[shown] = _cut(member, longest, most, join_pointer("", key), 1, places)
        if places:
            value["truncated"] = {"limit": limit, "count": len(places), "places": places[:_PLACES]}
        text = write(value)
        if len(text) <= limit:
            return ToolResult(value, text, failed)

    message = f"the answer is longer than {limit} characters, however it is cut"
    raise CheckpointError(message, "ask for less: one checkpoint, or a part of the files")


def write(value: Any) -> str:
    """Return a value as JSON, with everything escaped that a reader cannot see."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    for letter in set(text):
        if escape_controls(letter) != letter:
            text = text.replace(letter, json.dumps(letter)[1:-1])
    return text


def _cut(value: Any, longest: int, most: int, where: str, depth: int, places: list[str]) -> Any:
    """Return a value with shorter texts, lists and objects, and None for a number that not every
    parser can read. The pointers of what was cut are added to places.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _cut_text(value, longest, where, places)
    if isinstance(value, int):
        return value if value.bit_length() < _LONGEST_NUMBER else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= DEPTH:
        places.append(where)
        return None

    if len(value) > most:
        places.append(where)
    if isinstance(value, dict):
        members = dict[str, Any]()
        for key, member in list(value.items())[:most]:
            shown = _cut_text(key, _LONGEST_KEY, "", [])
            pointer = join_pointer(where, shown)
            members[shown] = _cut(member, longest, most, pointer, depth + 1, places)
        return members

    return [
        _cut(item, longest, most, f"{where}/{index}", depth + 1, places)
        for index, item in enumerate(value[:most])
    ]


def _cut_text(text: str, longest: int, where: str, places: list[str]) -> str:
    text = hide_tokens(text)
    if len(text) > longest:
        places.append(where)
        text = f"{text[:longest]}... ({len(text)} characters)"
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate: no UTF-8 spells it
        return text.encode("utf-8", "backslashreplace").decode()
    return text
