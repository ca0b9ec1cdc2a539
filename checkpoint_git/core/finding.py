"""A Finding: one thing that is true about the user's data and wants attention."""

from typing import Literal, NamedTuple, get_args

from checkpoint_git.core.hint import AnyHint

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = get_args(Level)  # the worst first


class Finding(NamedTuple):
    """code: stable and searchable, "room/what" ("skill/next-actions-empty"). path: the file,
    relative to the repository or to the directory that holds .checkpoints, with "/" between its
    parts. where: a JSON Pointer (RFC 6901), "" for the whole document. line and column count from
    1; 0 means unknown. hint: what to do. cause: what it has in common with others of its code, as
    words that a number goes before: "files moved: a/ -> b/".
    """

    code: str
    level: Level
    message: str
    path: str = ""
    where: str = ""
    line: int = 0
    column: int = 0
    hint: AnyHint = ""
    cause: str = ""

    @property
    def place(self) -> str:
        """`path:line:column`, as far as they are known."""
        return ":".join(
            [self.path, *(str(number) for number in (self.line, self.column) if number)]
        )


def has_errors(findings: list[Finding]) -> bool:
    return any(finding.level == "error" for finding in findings)


def make_error(code: str, message: str, where: str = "", hint: AnyHint = "") -> Finding:
    return Finding(code, "error", message, where=where, hint=hint)


def make_warning(code: str, message: str, where: str = "", hint: AnyHint = "") -> Finding:
    return Finding(code, "warning", message, where=where, hint=hint)
