"""What the checks reason about: documents as they were read. Values, and the plainest question
about them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.core.hint import advise, join_hints


class Document(NamedTuple):
    """path: relative, with "/" between its parts. skill: from the file's name. value: the decoded
    object, None where the file is unreadable, not JSON or not an object; it may break the schema,
    so read it with care. text: of the file, None if it could not be read. size: bytes. findings:
    with path, line and column.
    """

    path: str
    skill: str
    value: dict[str, Any] | None
    text: str | None
    size: int
    findings: list[Finding]

    @property
    def is_valid(self) -> bool:
        return not has_errors(self.findings)


def find_broken(documents: Sequence[Document]) -> list[Finding]:
    found = []
    for document in documents:
        errors = [finding for finding in document.findings if finding.level == "error"]
        if errors:
            first = errors[0]
            if len(errors) > 1:
                others = advise(f"{len(errors) - 1} more in this file", "checkpoint", "validate")
                first = first._replace(hint=join_hints(first.hint, others))
            found.append(first)
    return found


def read_list(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def read_objects(value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    return [item for item in read_list(value, key) if isinstance(item, dict)]
