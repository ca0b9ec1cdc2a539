"""A tool call run as the command line would run it: words, the verb's own code, and the document of --json.

It knows neither the protocol nor which tools there are, decides nothing itself, and writes to no stream of the process.
"""

import io
import os
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from checkpoint_git.cli.parser import Request, parse
from checkpoint_git.cli.render.json import make_document
from checkpoint_git.cli.verbs import VERBS
from checkpoint_git.core.outcome import Invocation

OWNER = "CHECKPOINT_SKILL"


class World(NamedTuple):
    """Where and as whom a tool works. owner: the skill that alone may be written, "" where each call names its own."""

    cwd: str
    owner: str

    @property
    def invocation(self) -> Invocation:
        """The world as a verb may see it: nobody to ask, and streams that lead nowhere."""
        env: Mapping[str, str] = {**os.environ, OWNER: self.owner}
        nothing = io.StringIO("")
        return Invocation(self.cwd, env, int(time.time()), nothing, io.StringIO(), io.StringIO(), False)


class Reply(NamedTuple):
    """document: what --json prints. failed: nothing was done, and the document says why."""

    document: dict[str, Any]
    failed: bool = False


def run_verb(verb: str, options: Mapping[str, Any], operands: list[str], world: World) -> Reply:
    """`checkpoint VERB --options -- OPERANDS`. options: True for a flag, a text, or a list of texts; None is left out.

    Raises CheckpointError as the verb does.
    """
    module = import_module(VERBS[verb][0])
    words = [*(word for name, value in options.items() for word in _option(name, value)), "--json"]
    words += ["--", *operands] if operands else []
    args = parse(Request(f"checkpoint {verb}", verb, words), module, ("text", "json"), "")
    return Reply(make_document(verb, module.run(args, world.invocation)))


def _option(name: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    return [f"{name}={item}" for item in (value if isinstance(value, list) else [value])]


def run_writing(verb: str, options: Mapping[str, Any], operands: list[str], world: World) -> Reply:
    """The same for a verb that writes: failed where it says that nothing was written."""
    reply = run_verb(verb, options, operands, world)
    return reply._replace(failed=_is_refused(reply.document))


def run_update(skill: str, replace: Mapping[str, Any] | None, append: Mapping[str, Any] | None, world: World) -> Reply:
    """`checkpoint update SKILL` with values of JSON in place of words."""
    module = import_module(VERBS["update"][0])
    document = make_document("update", module.run_values(skill, replace, append, world.invocation))
    return Reply(document, _is_refused(document))


def _is_refused(document: dict[str, Any]) -> bool:
    return document.get("written") is False
