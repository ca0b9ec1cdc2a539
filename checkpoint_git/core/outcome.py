"""Hold what goes into a command and what comes out of one.

The command line makes these values, and the report renders them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TextIO

from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.core.hint import AnyHint, Argv, steps_of
from checkpoint_git.core.terminal_text import escape_controls

Style = Literal["", "strong", "good", "warn", "bad", "dim"]
Glyph = Literal[
    "", "complete", "in_progress", "not_started", "blocked", "failed", "decision", "stale"
]

SESSIONS = ("CHECKPOINT_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID", "CODEX_THREAD_ID")


class Invocation(NamedTuple):
    """Hold the world as a command may see it.

    now: seconds since 1970, UTC. interactive: a user can be asked.
    """

    cwd: str
    env: Mapping[str, str]
    now: int
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    interactive: bool

    @property
    def session(self) -> str:
        """Return the agent's session as its environment names it, else ""."""
        for key in SESSIONS:
            name = self.env.get(key)
            if name:
                return name
        return ""

    @property
    def height(self) -> int:
        """Return the lines of the terminal that is written to, 0 if that is unknown.

        Another stream has 0 too.
        """
        if not self.stdout.isatty():
            return 0
        wished = self.env.get("LINES", "")
        if wished.isascii() and wished.isdigit() and len(wished) < 6 and int(wished) > 0:
            return int(wished)
        import os

        try:
            return os.get_terminal_size(self.stdout.fileno()).lines
        except (OSError, ValueError):
            return 0

    def ask(self, question: str, lines: "Iterable[Block]" = ()) -> str:
        """Return the line that the user answers, "" at the end of input. lines: shown first."""
        for line in lines:
            if isinstance(line, Line):
                self.stderr.write(f"{escape_controls(line.text)}\n")
        self.stderr.write(f"{escape_controls(question)} ")
        self.stderr.flush()
        return self.stdin.readline()


class Line(NamedTuple):
    """Hold one line for a person, or one cell of a table.

    text: it may come from a checkpoint; the report escapes it. glyph: a sign in front, on
    terminals only. It never carries the meaning alone: the text says the same. hang: the blanks in
    front of the later lines, when a terminal wraps it; 0: two more than the first has; -1: source,
    never wrapped. hint: what to do, after the text, or alone if that is "".
    """

    text: str
    style: Style = ""
    glyph: Glyph = ""
    hang: int = 0
    hint: AnyHint = ""

    @property
    def whole(self) -> str:
        """Return the text with its hint behind it."""
        if not self.hint:
            return self.text
        if not self.text.strip() or self.text.endswith(" "):
            return f"{self.text}{self.hint}"
        first = steps_of(self.hint)[0]
        sign = "; "
        if first.commands and not first.text:
            sign = ": "
        return f"{self.text}{sign}{self.hint}"


class Table(NamedTuple):
    """Hold columns for a person; the report fits them to the width.

    rows: each has one cell a header. firm: the columns that are never made narrower. has_tail: the
    last column may be below its row.
    """

    headers: tuple[str, ...]
    rows: Sequence[tuple[str | Line, ...]]
    firm: tuple[int, ...] = ()
    has_tail: bool = False


Block = Line | Table


class Cause(NamedTuple):
    """Name what several findings have in common.

    finding: speaks for all of them, without their files. files: as shown.
    """

    finding: Finding
    number: int
    files: tuple[str, ...] = ()


class Digest(NamedTuple):
    """Gather the findings for a person.

    entries: each with how many it stands for. command: shows every finding. causes: stand for the
    entries, where a screen is too small for these. offer: what fixes several of them at once.
    """

    entries: Sequence[tuple[Finding, int]]
    command: Argv
    causes: Sequence[Cause] = ()
    offer: Line = Line("")


class Outcome(NamedTuple):
    """Hold what a command found out or did.

    data: the JSON document of --json, to which the report adds schema_version, command and
    findings. blocks: the same for a person, before the findings; summary: what is after them.
    exit_code: None means 1 when a finding is an error, else 0. digest: as text, in place of the
    findings.
    """

    data: dict[str, Any]
    blocks: Sequence[Block] = ()
    findings: Sequence[Finding] = ()
    exit_code: int | None = None
    summary: Sequence[Block] = ()
    digest: Digest | None = None

    @property
    def code(self) -> int:
        if self.exit_code is not None:
            return self.exit_code
        return int(has_errors(list(self.findings)))


class Answer(NamedTuple):
    """text: for stdout, in pieces. warning: a line for stderr."""

    text: Iterable[str]
    code: int
    warning: str = ""
