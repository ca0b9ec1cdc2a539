"""What goes into a command and what comes out of one: values that cli.py makes and report.py renders."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TextIO

from checkpoint_git.core.finding import Finding

Style = Literal["", "strong", "good", "warn", "bad", "dim"]


class Invocation(NamedTuple):
    """The world as a command may see it: fetched once, in cli.py, and handed down.

    cwd: absolute path. now: seconds since 1970, UTC. interactive: a person sits at a terminal and can be asked.
    """

    cwd: str
    env: Mapping[str, str]
    now: int
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    interactive: bool


class Line(NamedTuple):
    """One line for a person. Text may come from a checkpoint: report.py escapes it."""

    text: str
    style: Style = ""


class Table(NamedTuple):
    """Columns for a person; every row has one cell a header. report.py fits it to the width."""

    headers: tuple[str, ...]
    rows: list[tuple[str, ...]]


Block = Line | Table


class Outcome(NamedTuple):
    """What a command found out.

    data: the JSON document of --json, without schema_version (report.py adds it) and without the findings (report.py
    adds them). blocks: the same for a person. exit_code: None means 1 when a finding is an error, else 0.
    """

    data: dict[str, Any]
    blocks: Sequence[Block] = ()
    findings: Sequence[Finding] = ()
    exit_code: int | None = None
