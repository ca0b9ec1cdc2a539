"""The log of operations: one line an operation, failures too, each bound to the one before by its hash."""

import errno
import json
import os
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


def append_record(workspace: Workspace, operation: str, outcome: str, point: str, details: Mapping[str, Any]) -> None:
    """outcome: "success" or "failure". The line is on the disk before this returns. Raises CheckpointError."""
    check_writable(workspace.root)
    path = os.path.join(workspace.root, AUDIT_LOG)
    body = {"at": write_instant(workspace.now), "operation": operation, "outcome": outcome, "checkpoint_id": point}
    with hold_lock(f"{path}.lock"), reporting(path):
        _append(path, {**body, "details": dict(details)})


def check_writable(root: str) -> None:
    """Before anything is done that could then not be noted. Raises CheckpointError."""
    path = os.path.join(root, AUDIT_LOG)
    folder = os.path.dirname(path)
    check_way(folder, root)
    make_folder(folder)
    with reporting(path):
        # O_NONBLOCK: a FIFO in its place is an error, and is not waited for
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        os.close(os.open(path, flags, 0o600))


def _append(path: str, body: dict[str, Any]) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, 2 * _MAX_LINE, max(0, size - 2 * _MAX_LINE))
        # after the last whole line: a damaged log is continued, and its break stays to be seen
        whole = (value for line in reversed(tail.split(b"\n")) if (value := parse_record(line)))
        last: dict[str, Any] = next(whole, {"number": 0, "hash": _START})
        body = {**body, "number": last["number"] + 1, "previous": last["hash"]}
        if len(_canonical(body)) > _MAX_LINE - 200:
            body["details"] = {key: one for key, one in body["details"].items() if len(str(one)) < _MAX_LINE // 64}
            body["details"]["shortened"] = True
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


def _canonical(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def parse_record(line: bytes) -> dict[str, Any] | None:
    try:
        value = load(decode(line))
    except JsonTextError:
        return None
    if not isinstance(value, dict) or type(value.get("number")) is not int or value["number"] > _LAST:
        return None
    body = {key: member for key, member in value.items() if key != "hash"}
    return value if value.get("hash") == sha256(_canonical(body)).hexdigest() else None


def read_records(root: str) -> list[tuple[int, bytes]]:
    path = os.path.join(root, AUDIT_LOG)
    try:
        return list(enumerate(read_plain(path, _MAX_LOG).splitlines(), 1))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}", "check its owner and permissions") from None


def find_breaks(lines: Iterable[tuple[int, bytes]]) -> list[Finding]:
    """Where the chain is broken: a line that was changed, one that is missing, or lines that changed places."""
    # that the newest lines were cut off the log alone cannot show: compare the last hash with one kept elsewhere
    troubles = list[tuple[str, str, int]]()
    expected, previous = 1, _START
    for number, line in lines:
        value = parse_record(line)
        if value is None:
            troubles.append(("restore/audit-edited", "this line was changed, or a crash cut it off", number))
            continue
        if value["number"] != expected or value.get("previous") != previous:
            what = f"record {value['number']} does not follow the one before it: lines are missing or changed places"
            troubles.append(("restore/audit-order", what, number))
        expected, previous = value["number"] + 1, value["hash"]
    hint = "compare with a copy of the log; what happened in between is not proven"
    return [Finding(code, "error", text, AUDIT_LOG, line=at, column=1, hint=hint) for code, text, at in troubles]
