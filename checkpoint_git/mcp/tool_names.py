"""Hints for an agent: where one names a command, the call of the tool that does the same, if there
is one.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from checkpoint_git.cli.verbs import SHORT_VERBS, load_verb
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import (
    AnyHint,
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
    """Return an answer's document, or a part of it, with its hints as texts that name tools in
    place of commands.

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
    """Return a hint as text, with the calls of tools in place of commands, if there are tools that
    do the same.
    """

    def write(commands: Sequence[Argv]) -> str:
        typed = write_shell(commands)
        if not any(argv[0] == "checkpoint" for argv in commands):
            return typed
        call = _find_call_of(commands[0], tools) if len(commands) == 1 else None
        return f"{typed} (in a terminal)" if call is None else call

    return write_hint(hint, write)


def _find_call_of(argv: Argv, tools: Mapping[str, Tool]) -> str | None:
    outputs = [
        part
        for word in argv
        if isinstance(word, Word)
        for part in word.parts
        if isinstance(part, Output)
    ]
    words = write_plain(argv)[1:]
    if outputs or not words:
        return None
    return find_call([SHORT_VERBS.get(words[0], words[0]), *words[1:]], tools)


def find_call(words: list[str], tools: Mapping[str, Tool]) -> str | None:
    """`checkpoint_done {"name": "build"}` for the words of a command line; None if no tool does the
    same.
    """
    words = ["claim", *words[1:], "--release"] if words[0] == "release" else words
    for tool in tools.values():
        start = tool.call.split()
        asked = _read_words(tool, words[len(start) :]) if words[: len(start)] == start else None
        schema = Schema(partial(dict, tool.input_schema, additionalProperties=False))
        if asked is not None and is_surely_valid(schema, asked):
            return f"{tool.name} {json.dumps(asked, ensure_ascii=False)}" if asked else tool.name
    return None


def _read_words(tool: Tool, words: list[str]) -> dict[str, Any] | None:
    if tool.call == "update" and words:
        with suppress(CheckpointError):
            return cast(dict[str, Any], load_verb("update").read_values(words))
        return None

    asked, operands, left = dict[str, Any](), list[str](), iter(words)
    names = {tool.options.get(name, f"--{name.replace('_', '-')}"): name for name in tool.takes}
    for word in left:
        option, has_value, value = word.partition("=")
        name = names.get(option, "")
        if not word.startswith("-"):
            operands.append(word)
        elif not name or name in tool.operands:
            return None
        elif tool.takes[name]["type"] == "boolean":
            asked[name] = True
        else:
            value, kind = value if has_value else next(left, ""), tool.takes[name]["type"]
            asked[name] = [*asked.get(name, ()), value] if kind == "array" else value
            if kind == "integer" and value.isdecimal():
                asked[name] = int(value)

    return _place_operands(tool, operands, asked)


def _place_operands(
    tool: Tool, operands: list[str], asked: dict[str, Any]
) -> dict[str, Any] | None:
    # what need not be named is left out first
    wanted, placed = [name for name in tool.operands if name in tool.takes], dict[str, Any]()
    for name in reversed([name for name in wanted if name not in tool.needs]):
        if len(operands) < len(wanted):
            wanted.remove(name)
    for name in wanted:
        is_list = tool.takes[name]["type"] == "array"
        placed[name], operands = (
            (operands, []) if is_list else (operands[0] if operands else None, operands[1:])
        )
    return None if operands or None in placed.values() else placed | asked
