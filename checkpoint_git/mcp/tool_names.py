"""Write hints for an agent, with calls of tools in place of commands that do the same."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from checkpoint_git.cli.verbs import SHORT_VERBS, load_verb
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import (
    AnyHint,
    Argument,
    Argv,
    Hint,
    Output,
    Word,
    write_hint,
    write_plain,
    write_shell,
)
from checkpoint_git.core.schema import Schema, is_surely_valid
from checkpoint_git.mcp.tools import Tool


def name_tools(value: Any, tools: Mapping[str, Tool]) -> Any:
    """Return an answer's document, or a part of it, with its hints as texts that name tools.

    What is a text already may be untrusted, and stays as it was written.
    """
    if isinstance(value, Hint):
        return write_calls(value, tools)
    if isinstance(value, Mapping):
        return {name: name_tools(member, tools) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [name_tools(item, tools) for item in value]
    return value


def write_calls(hint: AnyHint, tools: Mapping[str, Tool]) -> str:
    """Return a hint as text, with the calls of tools in place of commands.

    A command that no tool can replace is for a terminal.
    """

    def write(commands: Sequence[Argv]) -> str:
        typed = write_shell(commands)
        if not any(argv[0] == "checkpoint" for argv in commands):
            return typed
        if len(commands) == 1:
            call = _find_call_of(commands[0], tools)
            if call is not None:
                return call
        return f"{typed} (in a terminal)"

    return write_hint(hint, write)


def _find_call_of(argv: Argv, tools: Mapping[str, Tool]) -> str | None:
    words = write_plain(argv)[1:]
    if not words or any(_has_output(word) for word in argv):
        return None
    return find_call([SHORT_VERBS.get(words[0], words[0]), *words[1:]], tools)


def _has_output(word: Argument) -> bool:
    """Whether a shell would fill in what another command prints."""
    return isinstance(word, Word) and any(isinstance(part, Output) for part in word.parts)


def find_call(words: list[str], tools: Mapping[str, Tool]) -> str | None:
    """Return the call that does the same as a command line, such as
    `checkpoint_done {"name": "build"}`; None if no tool does.
    """
    if words[0] == "release":
        words = ["claim", *words[1:], "--release"]
    for tool in tools.values():
        start = tool.call.split()
        if words[: len(start)] != start:
            continue
        asked = _read_words(tool, words[len(start) :])
        schema = Schema(partial(dict, tool.input_schema, additionalProperties=False))
        if asked is None or not is_surely_valid(schema, asked):
            continue
        if not asked:
            return tool.name
        return f"{tool.name} {json.dumps(asked, ensure_ascii=False)}"
    return None


def _read_words(tool: Tool, words: list[str]) -> dict[str, Any] | None:
    """Return the words of a command line as the arguments of a tool; None if it does not take
    them.
    """
    if tool.call == "update" and words:
        with suppress(CheckpointError):
            return cast(dict[str, Any], load_verb("update").read_values(words))
        return None

    names = {tool.option_of(name): name for name in tool.takes if name not in tool.operands}
    asked = dict[str, Any]()
    operands = list[str]()
    remaining = iter(words)
    for word in remaining:
        if not word.startswith("-"):
            operands.append(word)
            continue
        option, equals, value = word.partition("=")
        name = names.get(option)
        if name is None:
            return None
        kind = tool.takes[name]["type"]
        if kind == "boolean":
            asked[name] = True
            continue

        if not equals:
            value = next(remaining, "")
        if kind == "array":
            asked.setdefault(name, []).append(value)
        elif kind == "integer" and value.isdecimal():
            asked[name] = int(value)
        else:
            asked[name] = value

    placed = _place_operands(tool, operands)
    if placed is None:
        return None
    return placed | asked


def _place_operands(tool: Tool, operands: list[str]) -> dict[str, Any] | None:
    """Return the operands of a command line by the names of a tool's arguments.

    If there are too few, arguments that are not needed are left out, the last ones first. None if
    there are too many, or if a needed one is missing.
    """
    wanted = [name for name in tool.operands if name in tool.takes]
    optional = [name for name in wanted if name not in tool.needs]
    while optional and len(operands) < len(wanted):
        wanted.remove(optional.pop())

    placed = dict[str, Any]()
    remaining = list(operands)
    for name in wanted:
        if tool.takes[name]["type"] == "array":
            placed[name] = remaining
            remaining = []
        elif remaining:
            placed[name] = remaining.pop(0)
        else:
            return None

    return None if remaining else placed
