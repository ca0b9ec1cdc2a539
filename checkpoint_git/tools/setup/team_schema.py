"""A team's schema: a tracked file that .gitattributes names by digest and each clone accepts."""

import os
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote, unquote

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, advise
from checkpoint_git.core.terminal_text import escape_controls, quote_word, shorten
from checkpoint_git.disk.read import read_content
from checkpoint_git.git import attributes, driver_settings
from checkpoint_git.git.repository import Repository

# A pattern as init takes it: one path, no option of a command.
PATTERN = re.compile(r'[^\s!#"\\-](?:[^\t\r\n"\\]*\s)?[^\s"\\./*]*+[./*][^\s"\\]+')
_AGREED = re.compile(rf'{attributes.DRIVER} {attributes.SCHEMA}=([0-9a-f]{{64}}):([^\s"\\]+)')
_MISREAD = re.compile(r'[\s"\\%]')
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LONGEST_SHOWN = 100  # characters of a pattern or path


class Agreement(NamedTuple):
    pattern: str
    digest: str  # SHA-256 of the schema that was agreed on
    path: str  # of the schema, from the top of the work tree


def write_agreement(data: bytes, path: str) -> str:
    """Return a schema as .gitattributes names it. Raises CheckpointError for a path that no line
    can hold.

    The value of an attribute ends at a space: what git would misread is written as in an address,
    "%20".
    """
    if not _is_inside(path):
        message = f"--schema: the path of the schema has control characters: {quote_word(path)}"
        raise CheckpointError(message, "rename the file, or keep it outside the repository")
    written = _MISREAD.sub(lambda found: quote(found[0]), path)
    return f"{attributes.SCHEMA}={sha256(data).hexdigest()}:{written}"


def read_agreements(data: bytes) -> Iterator[Agreement]:
    """Yield the schemas that a .gitattributes names. A branch wrote them: a path that leads out of
    the work tree is left out.
    """
    for pattern, value in attributes.find_others(data).items():
        found = _AGREED.fullmatch(value)
        if found and PATTERN.fullmatch(pattern):
            path = unquote(found[2])
            if _is_inside(path):
                yield Agreement(pattern, found[1], path)


def _is_inside(path: str) -> bool:
    return not (os.path.isabs(path) or ".." in path.split("/") or _CONTROL.search(path))


def find_unaccepted(place: Repository, settings: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding for each schema that the team agreed on and this clone does not use."""
    if place.bare:
        return
    shared = read_content(os.path.join(place.work_tree, attributes.FILE), place.work_tree)
    if not isinstance(shared, bytes):
        return

    drivers: Mapping[str, str] = {}
    private = read_content(os.path.join(place.common_dir, "info", "attributes"), os.sep)
    if isinstance(private, bytes):
        drivers = attributes.find_others(private)
    schemas = driver_settings.find_schemas(settings)
    for agreed in read_agreements(shared):
        copy = schemas.get(drivers.get(agreed.pattern, ""), "")
        accepted = os.path.basename(copy).removesuffix(".json")
        data = read_content(os.path.join(place.work_tree, agreed.path), place.work_tree)
        present = ""
        if isinstance(data, bytes):
            present = sha256(data).hexdigest()
        message = _describe(agreed, accepted, present)
        if message:
            accept = ("checkpoint", "init", agreed.pattern, "--schema", agreed.path)
            hint: AnyHint = advise("read the schema, then accept it", *accept)
            if not present:
                hint = f"restore it, or remove {attributes.SCHEMA} from that line"
            yield Finding("driver/schema", "warning", message, attributes.FILE, hint=hint)


def _describe(agreed: Agreement, accepted: str, present: str) -> str:
    """Return what is wrong, "" for nothing. accepted, present: digests of this clone's copy and of
    the file.
    """
    pattern = escape_controls(shorten(agreed.pattern, _LONGEST_SHOWN))
    path = escape_controls(shorten(agreed.path, _LONGEST_SHOWN))
    used = "the schema that it accepted" if accepted else "their structure"
    if not present:
        return f"{path} is missing: this clone merges {pattern} by {used}"
    if present != agreed.digest:
        changed = "has changed since the team agreed on it"
        return f"{path} {changed}: this clone merges {pattern} by {used}"

    if accepted != agreed.digest:
        unaccepted = "which this clone has not accepted"
        return f"the team merges {pattern} by {path}, {unaccepted}: it merges by {used}"
    return ""
