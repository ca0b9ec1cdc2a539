"""What a manifest must be beyond its shape before anything in it is used as a path. Pure.

A manifest can come with a stranger's branch: whatever it names is checked here, and again where it is written.
"""

from collections.abc import Iterator
from typing import Any

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.artifact import FOLDER, add_parts, read_part
from checkpoint_git.protocols.restore.entries import combine_hashes, read_entry
from checkpoint_git.protocols.restore.mechanisms.postgresql_url import is_connection

_HINT = "do not use this point: somebody wrote its manifest by hand, or the disk damaged it"
_FORBIDDEN = frozenset(("", ".", "..", ".git", ".audit"))


def check(value: dict[str, Any], *, skill: str, size: int, now: int) -> list[Finding]:
    """Everything beyond shape that is wrong with a manifest whose shape is right. skill: the id its folder says."""
    findings = [*_check_head(value, skill), *_check_paths(value), *_check_parts(value)]
    if not findings and value["hash"] != _find_hash(value):
        findings.append(_finding("restore/manifest-hash", "the hash is not that of the entries", "/hash"))
    return findings


def _check_head(value: dict[str, Any], skill: str) -> Iterator[Finding]:
    if value.get("id") != skill:
        yield _finding("restore/manifest-id", "the manifest is of another restore point", "/id")
    for key in ("created_at", "expires_at"):
        if value.get(key) is not None and read_instant(value[key]) is None:
            yield _finding("restore/manifest-time", f"{key} is no instant", f"/{key}")


def _check_paths(value: dict[str, Any]) -> Iterator[Finding]:
    for at, entry in enumerate(value["entries"]):
        if not is_plain_path(entry["path"]):
            where = join_pointer("/entries", str(at)) + "/path"
            yield _finding("restore/manifest-path", "a path that leads out of the workspace, or into git", where)


def _find_hash(value: dict[str, Any]) -> str:
    entries = combine_hashes(read_entry(entry) for entry in value["entries"])
    return add_parts(entries, [read_part(one) for one in value.get("parts", [])])


def _check_parts(value: dict[str, Any]) -> Iterator[Finding]:
    """The files that parts come from and are kept in, and the details that their mechanisms rely on."""
    for at, part in enumerate(value.get("parts", [])):
        where, details = join_pointer("/parts", str(at)), part["details"]
        paths = [details[key] for key in ("file", "path") if details.get(key) is not None]
        if not all(isinstance(path, str) and is_plain_path(path) for path in paths):
            yield _finding("restore/manifest-path", "a path that leads out of the workspace, or into git", where)
        content = str(part["content"]).split("/")
        if part["content"] and not (len(content) == 2 and content[0] == FOLDER and content[1] not in _FORBIDDEN):
            yield _finding("restore/manifest-path", "a part is kept outside the point's own folder", where)
        if not _DETAILS[part["kind"]].issubset(details) or not _is_whole(part["kind"], details):
            yield _finding("restore/manifest-shape", "the details of a part are not whole", where)


def _is_whole(kind: str, details: dict[str, Any]) -> bool:
    """Whether a database's details are of the shape that its mechanism writes."""
    if kind != "postgresql":
        return kind != "sqlite" or isinstance(details["path"], str)
    tables, held = details["tables"], details["held"]
    if not (tables is None or isinstance(tables, list)) or not isinstance(held, list):
        return False
    rows = [*(tables or ()), *held]
    return is_connection(details["connection"]) and all(
        isinstance(row, list) and len(row) == 3 and all(isinstance(text, str) for text in row) for row in rows
    )


_DETAILS = {
    "state": frozenset(("file", "mode")),
    "sqlite": frozenset(("path", "mode", "logical")),
    "postgresql": frozenset(("tables", "held", "logical", "server_version", "connection")),
}


def is_plain_path(path: str) -> bool:
    """Whether a path stays below the workspace by its text, and out of what belongs to git and to us."""
    if "\0" in path or path.startswith("/"):
        return False
    return not (_FORBIDDEN.intersection(path.split("/")) or path.startswith(f"{layout.FOLDER}/chk_"))


def _finding(code: str, message: str, where: str) -> Finding:
    return Finding(code, "error", message, where=where, hint=_HINT)
