"""What the checks reason about: documents as they were read. Values only."""

from typing import Any, NamedTuple

from checkpoint_git.core.finding import Finding, has_errors


class Document(NamedTuple):
    """One checkpoint file and everything that is wrong with it.

    path: relative, with "/" between its parts. skill: from the file's name. value: the decoded object, None where the
    file is unreadable, not JSON or not an object; a value may still break the schema, so read it with care. text: the
    file's text, None where it could not be read. size: bytes. findings: with path, line and column filled in.
    """

    path: str
    skill: str
    value: dict[str, Any] | None
    text: str | None
    size: int
    findings: list[Finding]

    @property
    def is_valid(self) -> bool:
        """Whether no finding is an error."""
        return not has_errors(self.findings)
