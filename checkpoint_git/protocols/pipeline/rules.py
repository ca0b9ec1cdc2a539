"""Check what a pipeline record means, beyond its shape, and name what is wrong with both."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.finding import Finding, make_error, make_warning
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.schema import Mismatch, Schema, load_schema
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.core.yamlblock import MAX_KEY, key_text
from checkpoint_git.protocols.contract import load_document
from checkpoint_git.protocols.mismatch import explain_mismatch, quote, quote_where
from checkpoint_git.protocols.pipeline import layout

SCHEMA_VERSION = "1.0.0"
# the fields of a payload that hold commits
COMMIT_FIELDS = ("commit_sha", "last_clean_sha", "head_sha", "last_review_sha")
CLOCK_TOLERANCE = 60  # seconds
MISPLACED = "pipeline/misplaced"
_LARGEST = 10**15  # of whole numbers
_FIRST_SECOND = -62_135_596_800  # of the year 1
_LAST_SECOND = 253_402_300_799  # of the year 9999


@cache
def schema_for(phase: str) -> Schema:
    """Return the schema with the payload of one phase, so that findings are about that phase.

    phase: "" for any payload.
    """
    document: dict[str, Any] = load_document(__file__, "schema.json")
    payload = {"type": "object"}
    if phase in layout.READ_PHASES:
        payload = {"$ref": f"#/$defs/{phase}"}
    properties = {**document["properties"], "phase_payload": payload}
    return load_schema(json.dumps({**document, "properties": properties}))


def describe(mismatch: Mismatch) -> Finding:
    name = quote_where(mismatch.where)
    hint = ""
    message = explain_mismatch(mismatch)
    code = _CODES.get(mismatch.keyword, "pipeline/shape")
    if mismatch.keyword == "additionalProperties":
        usual = "Additional properties are not allowed"
        message = message.replace(usual, "not part of the format")
    elif mismatch.keyword == "type" and mismatch.expected == "string":
        hint = "write it in quotes"
    elif mismatch.keyword == "pattern":
        code, what, hint = _PATTERNS.get(mismatch.where.rpartition("/")[2], _PATTERNS["commit"])
        message = f"{name} is {quote(mismatch.value)}, which is not {what}"

    if (name, mismatch.keyword) == ("phase", "enum"):
        code = "pipeline/unknown-phase"
    return make_error(code, message.replace(name, name.replace(".", "/"), 1), mismatch.where, hint)


# keyword of the schema -> finding code
_CODES = {
    "required": "pipeline/missing-field",
    "additionalProperties": "pipeline/unknown-field",
    "type": "pipeline/wrong-type",
    "minimum": "pipeline/too-small",
    "minLength": "pipeline/empty-field",
    "maxLength": "pipeline/too-long",
}
# pattern of the schema -> finding code, what is expected, hint
_PATTERNS = {
    "commit": (
        "pipeline/commit-format",
        "a commit id",
        "7 to 40 or 64 lower-case hexadecimal digits; in YAML in quotes",
    ),
    "run_id": ("pipeline/run-id", "a UUID in its usual form", ""),
    "pr_url": ("pipeline/pr-url", "a full address", "https://HOST/..."),
}


# Values may break the schema: every check looks before it reads, and leaves to the schema what the
# schema says.
def check(value: dict[str, Any], *, skill: str, size: int, now: int) -> list[Finding]:
    """Return what is wrong with a record's value, as far as the schema does not say so.

    skill: the last three parts of the record's path, unknown folders left empty. now: seconds
    since 1970.
    """
    payload = value.get("phase_payload")
    if not isinstance(payload, dict):
        payload = {}
    found = [
        *_check_identity(value),
        *_check_times(value, payload, now),
        *_check_paths("/artifact_paths", value.get("artifact_paths")),
        *_check_paths("/phase_payload/files_changed", payload.get("files_changed")),
        *_check_repositories(value),
        *_check_payload(value, payload),
    ]
    name = layout.parse_path(skill)
    if name is not None:
        found += _check_name(value, name)
    return found


def _check_identity(value: dict[str, Any]) -> Iterator[Finding]:
    version = value.get("schema_version")
    if isinstance(version, str) and version and version != SCHEMA_VERSION:
        message = f"schema_version is {quote(version)}; this tool knows {SCHEMA_VERSION}"
        hint = "a newer checkpoint-git may know it"
        yield make_warning("pipeline/schema-version", message, "/schema_version", hint)

    ticket = value.get("ticket_id")
    if isinstance(ticket, str) and ticket:
        trouble = layout.find_ticket_trouble(ticket)
        if trouble:
            message = f"ticket_id is {quote(ticket)}: {trouble}"
            yield make_error("pipeline/ticket-id", message, "/ticket_id")


def _check_times(value: dict[str, Any], payload: dict[str, Any], now: int) -> Iterator[Finding]:
    times = {
        "/timestamp_utc": value.get("timestamp_utc"),
        "/phase_payload/label_applied_at": payload.get("label_applied_at"),
    }
    for where, text in times.items():
        if not isinstance(text, str):
            continue
        instant = read_timestamp(text)
        if instant is None:
            message = f"{where[1:]} is {quote(text)}: invalid timestamp, or one without an offset"
            hint = "write it with its offset: 2026-03-31T14:00:00Z"
            yield make_error("pipeline/timestamp", message, where, hint)
        elif instant[0] > now + CLOCK_TOLERANCE:
            message = f"{where[1:]} is {quote(text)}, which is in the future"
            hint = "look at the clock of the machine that wrote it"
            yield make_warning("pipeline/future", message, where, hint)


def _check_paths(member: str, paths: Any) -> Iterator[Finding]:
    """Yield what is wrong with the paths in a member of a record, if it is a list."""
    if not isinstance(paths, list):
        return
    for index, path in enumerate(paths):
        if not isinstance(path, str) or not path:
            continue
        where = f"{member}/{index}"
        trouble = find_path_trouble(path)
        if trouble:
            message = f"{where[1:]} is {quote(path)}: {trouble}"
            hint = "write it relative to the repository's root, with / between its parts"
            yield make_error("pipeline/path", message, where, hint)
        elif path != "/".join(part for part in path.split("/") if part not in ("", ".")):
            message = f"{where[1:]} is {quote(path)}, which can be written shorter"
            yield make_warning("pipeline/path-not-normal", message, where)


def find_path_trouble(path: str) -> str:
    if path.startswith("/"):
        return "it is absolute"
    if "\\" in path:
        return "it contains a backslash"
    if len(path) > 1 and path[1] == ":" and path[0].isalpha():
        return "it begins with a drive letter"
    if ".." in path.split("/"):
        return "it contains .."
    if not path.strip() or not path.strip("./"):
        return "it names no file"
    if escape_controls(path, keep="\u200b\u200e\u200f") != path:
        return "it contains control characters"
    return ""


def _check_repositories(value: dict[str, Any]) -> Iterator[Finding]:
    commits = value.get("repo_commit_map")
    if not isinstance(commits, dict):
        return
    for name in commits:
        if not name.strip() or len(key_text(name)) > MAX_KEY or not name.isprintable():
            message = f"{quote(name)} cannot be the name of a repository"
            where = join_pointer("/repo_commit_map", name)
            yield make_error("pipeline/repository-name", message, where)


def find_payload_phase(value: dict[str, Any]) -> str:
    """Return the phase whose payload a record has, "" if that is unknown or contradictory."""
    phase = value.get("phase")
    if not isinstance(phase, str) or phase not in layout.READ_PHASES:
        return ""
    payload = value.get("phase_payload")
    if isinstance(payload, dict) and payload.get("phase", phase) != phase:
        return ""
    return phase


def _check_payload(value: dict[str, Any], payload: dict[str, Any]) -> Iterator[Finding]:
    phase = value.get("phase")
    claimed = payload.get("phase", phase)
    if isinstance(phase, str) and claimed != phase:
        payload_phase = f"phase_payload/phase is {quote(claimed)}"
        message = f"{payload_phase}, but the record's phase is {quote(phase)}"
        hint = "both name the same phase; a payload that is being written may leave it out"
        yield make_error("pipeline/payload-phase", message, "/phase_payload/phase", hint)

    numbers = {"/attempt_number": value.get("attempt_number")}
    for key, member in payload.items():
        numbers[join_pointer("/phase_payload", key)] = member

    for where, number in numbers.items():
        name = escape_controls(where[1:])
        # JSON Schema takes YAML's 1.0 for a whole number; readers of records do not
        if isinstance(number, float) and number.is_integer():
            message = f"{name} is {number} and must be a whole number"
            yield make_error("pipeline/wrong-type", message, where)
        elif isinstance(number, int) and number > _LARGEST:
            yield make_error("pipeline/too-long", f"{name} is larger than {_LARGEST}", where)


def _check_name(value: dict[str, Any], name: layout.RecordName) -> Iterator[Finding]:
    wanted = {
        "ticket_id": name.ticket_id,
        "run_id": name.run_id,
        "phase": name.phase,
        "attempt_number": name.attempt,
    }
    for field, named in wanted.items():
        if named and field in value and value[field] != named:
            message = f"{field} is {quote(value[field])}, but the file's path has {quote(named)}"
            hint = "restore the file: records are never renamed or edited"
            yield make_error(MISPLACED, message, f"/{field}", hint)


def read_timestamp(text: str) -> tuple[int, str] | None:
    """Return an instant with an offset as (seconds since 1970, decimals), None for another text.

    A blank may take the place of the T.
    """
    if text[10:11] == " ":
        text = f"{text[:10]}T{text[11:]}"
    return read_instant(text)


def to_utc(text: str) -> str | None:
    """Return an instant in UTC, as RFC 3339 writes it.

    None for another text, and outside the years 1 to 9999.
    """
    instant = read_timestamp(text)
    if instant is None or not _FIRST_SECOND <= instant[0] <= _LAST_SECOND:
        return None
    seconds, decimals = instant
    written = write_instant(seconds)
    if decimals:
        written = f"{written[:-1]}.{decimals}Z"
    return written
