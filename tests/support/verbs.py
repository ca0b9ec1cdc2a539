"""A verb run in this process as the command line runs it: its own parser, a made-up world around
it.
"""

import argparse
import io
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from checkpoint_git.cli.parser import CommandLine, parse
from checkpoint_git.cli.verbs import VERBS
from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.outcome import Invocation, Line, Outcome, Table
from tests.support.repos import name_bare

NOON = "2026-03-02T12:00:00Z"


def seconds(instant: str) -> int:
    """An instant's text as seconds since 1970."""
    found = read_instant(instant)
    assert found is not None
    return found[0]


class Ran(NamedTuple):
    """What a verb returned, and what it said on stderr meanwhile."""

    outcome: Outcome
    stderr: str

    @property
    def codes(self) -> list[str]:
        """The findings' codes."""
        return [finding.code for finding in self.outcome.findings]

    @property
    def text(self) -> str:
        """The blocks for a person as plain text."""
        return "\n".join(line for block in self.outcome.blocks for line in lines_of(block))


def lines_of(block: Line | Table) -> list[str]:
    """A block as plain lines."""
    if isinstance(block, Line):
        return [block.whole]
    return [
        " | ".join(cell if isinstance(cell, str) else cell.text for cell in row)
        for row in block.rows
    ]


def run_verb(
    verb: ModuleType,
    *words: str,
    cwd: Path,
    now: str = NOON,
    env: dict[str, str] | None = None,
    answer: str | None = None,
) -> Ran:
    """Runs `checkpoint VERB WORDS`. answer: what a person at the terminal types; None: there is
    nobody.
    """
    if getattr(verb, "RAW", False):
        args = argparse.Namespace(skill=words[0], words=list(words[1:]))
    else:
        name = next(name for name, row in VERBS.items() if row.module == verb.__name__)
        args = parse(CommandLine(f"checkpoint {name}", name, list(words)), verb, ("text", "json"))
        del args.format  # a caller in Python has none
    stderr = io.StringIO()
    invocation = Invocation(
        cwd=str(cwd),
        env={**name_bare(cwd), **(env or {})},
        now=seconds(now),
        stdin=io.StringIO(answer or ""),
        stdout=io.StringIO(),
        stderr=stderr,
        interactive=answer is not None,
    )
    return Ran(verb.run(args, invocation), stderr.getvalue())
