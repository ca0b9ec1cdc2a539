"""Write and read the log of operations.

It has a line for each operation, failures too, bound to the line before by its hash.
"""

import errno
import json
import os
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import JsonTextError, decode, load
from checkpoint_git.disk.atomic import make_folder, reporting, sync_folder
from checkpoint_git.disk.discover import check_way
from checkpoint_git.disk.lock import hold_lock
from checkpoint_git.disk.read import read_plain
from checkpoint_git.protocols.restore.layout import AUDIT_LOG, Workspace

_START = "0" * 64  # what the first line is bound to
_MAX_LINE = 1 << 16
_MAX_LOG = 64 << 20
_LAST = 10**15  # number of a record
_FLAGS = os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


def append_record(
    workspace: Workspace,
    operation: str,
    outcome: str,
    point: str,
    details: Mapping[str, Any],
) -> None:
    """Append a record; it is on the disk before this returns. Raises CheckpointError.

    outcome: "success" or "failure".
    """
    check_writable(workspace.root)
    path = os.path.join(workspace.root, AUDIT_LOG)
    body = {
        "at": write_instant(workspace.now),
        "operation": operation,
        "outcome": outcome,
        "checkpoint_id": point,
        "details": dict(details),
    }

    with hold_lock(f"{path}.lock"), reporting(path):
        _append(path, body)


def check_writable(root: str) -> None:
    """Raise CheckpointError if a record could not be written: call it before anything is done."""
    path = os.path.join(root, AUDIT_LOG)
    folder = os.path.dirname(path)
    check_way(folder, root)
    make_folder(folder)
    with reporting(path):
        # O_NONBLOCK: a FIFO in its place is an error, and is not waited for
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | _FLAGS, 0o600))


def _append(path: str, body: dict[str, Any]) -> None:
    """Append a record to a log that is locked. body: without number and hashes."""
    descriptor = os.open(path, os.O_RDWR | _FLAGS, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, 2 * _MAX_LINE, max(0, size - 2 * _MAX_LINE))
        last = _find_last(tail)
        body = {**body, "number": last["number"] + 1, "previous": last["hash"]}
        if len(_canonical(body)) > _MAX_LINE - 200:
            body["details"] = _shorten(body["details"])
        line = _canonical({**body, "hash": sha256(_canonical(body)).hexdigest()}) + b"\n"
        if tail and not tail.endswith(b"\n"):
            line = b"\n" + line
        if os.write(descriptor, line) != len(line):
            os.ftruncate(descriptor, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

    if not size:
        sync_folder(os.path.dirname(path))


def _find_last(tail: bytes) -> dict[str, Any]:
    """Return the last whole record: a damaged log is continued, and its break stays visible."""
    for line in reversed(tail.split(b"\n")):
        record = parse_record(line)
        if record:
            return record
    return {"number": 0, "hash": _START}


def _shorten(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return details without their long members."""
    short = {key: value for key, value in details.items() if len(str(value)) < _MAX_LINE // 64}
    return {**short, "shortened": True}


def _canonical(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def parse_record(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, None if it is damaged or was changed."""
    if line.startswith(BOM_UTF8):  # a reader of JSON would pass over it
        return None

    try:
        value = load(decode(line))
    except JsonTextError:
        return None

    if not isinstance(value, dict):
        return None
    number = value.get("number")
    if type(number) is not int or number > _LAST:
        return None
    body = {key: member for key, member in value.items() if key != "hash"}
    if value.get("hash") != sha256(_canonical(body)).hexdigest():
        return None
    return value


def read_records(root: str) -> list[tuple[int, bytes]]:
    """Return (number, content) of each line of the log. Raises CheckpointError."""
    path = os.path.join(root, AUDIT_LOG)
    try:
        return list(enumerate(read_plain(path, _MAX_LOG).splitlines(), 1))
    except FileNotFoundError:
        return []
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise CheckpointError(message, "check its owner and permissions") from None


def find_breaks(lines: Iterable[tuple[int, bytes]]) -> list[Finding]:
    """Return where the chain is broken: lines that were changed, removed, or changed places.

    The log alone cannot show that its newest lines were cut off: compare the last hash with one
    that is kept elsewhere.
    """
    findings = []
    expected = 1
    previous = _START

    for number, line in lines:
        record = parse_record(line)
        if record is None:
            message = "this line was changed, or a crash cut it off"
            findings.append(_break("restore/audit-edited", message, number))
            continue
        if record["number"] != expected or record.get("previous") != previous:
            message = f"record {record['number']} does not follow the one before it: "
            message += "lines are missing or changed places"
            findings.append(_break("restore/audit-order", message, number))
        expected = record["number"] + 1
        previous = record["hash"]

    return findings


def _break(code: str, message: str, line: int) -> Finding:
    hint = "compare with a copy of the log; nothing proves what happened in between"
    return Finding(code, "error", message, AUDIT_LOG, line=line, column=1, hint=hint)
