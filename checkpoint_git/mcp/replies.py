"""What a call comes to: an answer that can be sent, whatever happened. It knows neither the wire nor the SDK.

It runs in a thread: cutting an answer of many megabytes takes a moment too.
"""

import json
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git.cli.render.json import make_error
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.schema import Schema, explain, is_surely_valid
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.mcp.calls import World
from checkpoint_git.mcp.fit import LIMIT, Fitted, fit
from checkpoint_git.mcp.tools import Tool, show_checkpoint

LONGEST_ARGUMENTS = 1_000_000  # characters of JSON
_READING = "resources/read"
_BUG_HINT = "please report it with what was asked"


class Prepared(NamedTuple):
    """An answer that can be sent. failed: nothing was done, and it says why."""

    fitted: Fitted
    failed: bool = False


def run_tool(tool: Tool, asked: Mapping[str, Any], world: World) -> Prepared:
    """Runs a tool; whatever leaves it is an answer."""
    try:
        reply = tool.run(asked, world)
        return Prepared(fit(reply.document), reply.failed)
    except CheckpointError as error:
        return make_failure(tool.verb, error)
    except OSError as error:
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return make_failure(tool.verb, CheckpointError(f"{where}{error.strerror or error}", "mend that and try again"))
    except Exception as error:
        text = f"a bug in this tool: {type(error).__name__}: {shorten(str(error), 200)}"
        logging.getLogger(__name__).error("%s: %s", tool.name, text)
        return make_failure(tool.verb, CheckpointError(text, _BUG_HINT))


def check_arguments(tool: Tool, asked: Mapping[str, Any]) -> Prepared | None:
    """What is wrong with the arguments, None where nothing is."""
    size = len(json.dumps(asked))
    if size > LONGEST_ARGUMENTS:
        message = f"{tool.name}: the arguments are {size} characters long, more than {LONGEST_ARGUMENTS}"
        return make_failure(tool.verb, CheckpointError(message, "a checkpoint is to be read again: keep texts short"))
    schema = Schema(lambda: tool.input_schema)
    if is_surely_valid(schema, asked):
        return None
    hint = _find_hint(tool)
    found = [
        Finding("mcp/arguments", "error", shorten(each.message, 300), where=each.where, hint=hint)
        for each in explain(schema, asked)
    ]
    if not found:
        return None
    error = CheckpointError(f"{tool.name}: the arguments do not fit: {found[0].message}", hint)
    return make_failure(tool.verb, error, found)


def _find_hint(tool: Tool) -> str:
    takes = [f"{name} (needed)" if name in tool.needs else name for name in tool.takes]
    return f"it takes {', '.join(takes)}" if takes else "it takes no arguments"


def read_checkpoint(skill: str, world: World) -> Prepared:
    """A checkpoint as a resource: the part of it that may be shown."""
    try:
        document = show_checkpoint({"skill": skill}, world).document
        if skill in document["checkpoints"]:
            return Prepared(fit(document["checkpoints"][skill], 2 * LIMIT))
    except CheckpointError as error:
        return make_failure(_READING, error)
    found = [Finding(**finding) for finding in document["findings"]]
    return make_failure(_READING, CheckpointError(f"{found[0].path}: {found[0].message}", found[0].hint), found)


def make_failure(verb: str, error: CheckpointError, findings: list[Finding] | None = None) -> Prepared:
    """The document of --json for what could not run, with the findings that say more."""
    document = make_error(verb, shorten(error.message, 2_000), shorten(error.hint, 2_000))
    if findings:
        document["findings"] = [finding._asdict() for finding in findings[:100]]
    return Prepared(fit(document), failed=True)
