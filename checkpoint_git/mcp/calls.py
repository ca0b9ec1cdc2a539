"""A tool call run as the command line would run it, and its answer cut to what an agent can
read.
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
    (_ENDLESS, _ENDLESS), (20_000, 1_000), (10_000, 500), (4_000, 200), (4_000, 80), (2_000, 40), (1_000, 20),
    (200, 10), (40, 3),
)  # fmt: skip


class World(NamedTuple):
    cwd: str
    owner: str  # the only checkpoint that may be written, "" if each call names its own

    @property
    def invocation(self) -> Invocation:
        # For a verb: nobody to ask, and streams that lead nowhere
        env = {**os.environ, OWNER: self.owner}
        return Invocation(
            self.cwd, env, int(time.time()), io.StringIO(""), io.StringIO(), io.StringIO(), False
        )


class VerbReply(NamedTuple):
    document: dict[str, Any]  # what --json prints
    failed: bool = False  # nothing was done, and the document says why


class ToolResult(NamedTuple):
    value: dict[str, Any]
    text: str  # the value as JSON, with everything escaped that a reader cannot see
    failed: bool = False


# Calls run in threads and write to no stream of the process. Whatever goes wrong is an answer.
def run_verb(verb: str, options: Mapping[str, Any], operands: list[str], world: World) -> VerbReply:
    """`checkpoint VERB --options -- OPERANDS`; an option of None is left out. Raises
    CheckpointError as it does.
    """
    module = load_verb(verb)
    words = ["--json"]
    for name, value in options.items():
        if value is True:
            words.append(name)
        elif value is not None and value is not False:
            words += [f"{name}={item}" for item in (value if isinstance(value, list) else [value])]

    words += ["--", *operands] if operands else []
    args = parse(CommandLine(f"checkpoint {verb}", verb, words), module, ("text", "json"))
    if hasattr(module, "make_document"):  # it answers with a document of its own
        document = module.make_document(args, world.invocation)
        return VerbReply(document, document["success"] is False)

    return _make_reply(verb, module.run(args, world.invocation))


def run_update(asked: Mapping[str, Any], world: World) -> VerbReply:
    return _make_reply(
        "update", load_verb("update").run_values(asked["name"], asked, world.invocation)
    )


def _make_reply(verb: str, outcome: Any) -> VerbReply:
    document = make_document(verb, outcome)
    return VerbReply(document, document.get("written") is False)


def answer(name: str, verb: str, run: Callable[[], VerbReply]) -> ToolResult:
    try:
        reply = run()
        return fit(reply.document, failed=reply.failed)
    except CheckpointError as error:
        return fail(verb, error)
    except OSError as error:
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return fail(
            verb, CheckpointError(f"{where}{error.strerror or error}", "fix that and try again")
        )
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
    size = len(json.dumps(asked))
    if size > LONGEST_ARGUMENTS:
        message = f"{name}: the arguments are {size} characters long, more than {LONGEST_ARGUMENTS}"
        return fail(
            verb, CheckpointError(message, "a checkpoint is to be read again: keep texts short")
        )

    compiled = Schema(lambda: {**schema, "additionalProperties": False})
    if is_surely_valid(compiled, asked):
        return None
    takes = [
        f"{each} (needed)" if each in schema.get("required", ()) else each
        for each in schema["properties"]
    ]
    hint = f"it takes {', '.join(takes)}" if takes else "it takes no arguments"
    wrong = [(shorten(each.message, 300), each.where) for each in explain(compiled, asked)]
    if not wrong:
        return None
    found = [
        Finding("mcp/arguments", "error", message, where=where, hint=hint)
        for message, where in wrong
    ]
    return fail(verb, CheckpointError(f"{name}: invalid arguments: {wrong[0][0]}", hint), found)


def fit(document: dict[str, Any], limit: int = LIMIT, *, failed: bool = False) -> ToolResult:
    """The document, cut where it is longer than `limit` characters; then its member `truncated`
    says where.
    """
    for longest, most in _CUTS:
        places: list[str] = []
        value: dict[str, Any] = {}
        for key, each in document.items():
            value[_cut_text(key, _LONGEST_KEY, "", [])] = _cut(
                each, longest, most, join_pointer("", key), 1, places
            )
        if places:
            value["truncated"] = {"limit": limit, "count": len(places), "places": places[:_PLACES]}
        text = write(value)
        if len(text) <= limit:
            return ToolResult(value, text, failed)

    message = f"the answer is longer than {limit} characters, however it is cut"
    raise CheckpointError(message, "ask for less: one checkpoint, or a part of the files")


def write(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    for letter in set(text):
        if escape_controls(letter) != letter:
            text = text.replace(letter, json.dumps(letter)[1:-1])
    return text


def _cut(value: Any, longest: int, most: int, where: str, depth: int, places: list[str]) -> Any:
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
        members = [
            (_cut_text(key, _LONGEST_KEY, "", []), item) for key, item in list(value.items())[:most]
        ]
        return {
            key: _cut(item, longest, most, join_pointer(where, key), depth + 1, places)
            for key, item in members
        }

    return [
        _cut(item, longest, most, f"{where}/{at}", depth + 1, places)
        for at, item in enumerate(value[:most])
    ]


def _cut_text(text: str, longest: int, where: str, places: list[str]) -> str:
    text = hide_tokens(text)
    if len(text) > longest:
        places.append(where)
        text = f"{text[:longest]}... ({len(text)} characters)"
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate: no UTF-8 spells it
        text = "".join(
            f"\\u{ord(letter):04x}" if "\ud800" <= letter <= "\udfff" else letter for letter in text
        )
    return text
