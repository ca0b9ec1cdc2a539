"""The wire: one JSON message a line over standard input and output, read and written without a thread that may hang.

It knows messages and their ids, and nothing of what they ask. The SDK's own transport waits in a thread for input,
which keeps a process from ending, and says nothing of lines that are no message.
"""

import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

LONGEST_LINE = 16 << 20  # bytes of one message
MOST_PENDING = 200  # requests that are not answered yet; the next line is read when one is
GRACE = 10.0  # seconds that requests have to be answered once the client has closed its end
_CHUNK = 1 << 16  # bytes
_PIECE = 4096  # bytes that a pipe takes without waiting when it takes any
_KEPT = 400  # bytes of either end of a line that is too long
_LISTEN = "subscriptions/listen"  # a request that is answered when the session ends
_ID_FIRST = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,100}")\s*,')
_ID_LAST = re.compile(rb'"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,100}")\s*\}\s*$')

Incoming = SessionMessage | Exception


class ClientGoneError(Exception):
    """Nobody reads what we write any more."""


class Wire:
    """The two ends of a connection.

    source, target: file descriptors, None for one that was closed before we began. Both belong to the wire.
    """

    def __init__(self, source: int | None, target: int | None) -> None:
        self._source = source
        self._target = target
        self._pending: set[str] = set()  # ids of the client's requests that we have not answered
        self._asked: set[str] = set()  # ids of our requests that the client has not answered
        self._turn = anyio.Lock()

    async def receive(self, messages: MemoryObjectSendStream[Incoming]) -> None:
        """Hands every message on, until the client closes its end and has its answers. Closes the stream."""
        async with messages:
            async for line in self._read_lines():
                if line.strip():
                    await self._take(line, messages)
                while len(self._pending) >= MOST_PENDING:
                    await anyio.sleep(0.01)
            with anyio.move_on_after(GRACE):
                while self._pending and not self._asked:  # a client that is gone answers nothing
                    await anyio.sleep(0.01)

    async def send(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Writes every message. Raises ClientGoneError."""
        async with messages:
            async for item in messages:
                message = item.message
                if isinstance(message, JSONRPCRequest):
                    self._asked.add(str(message.id))
                await self._write(message.model_dump_json(by_alias=True, exclude_unset=True).encode())
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    self._pending.discard(str(message.id))

    # reading

    async def _take(self, line: bytes, messages: MemoryObjectSendStream[Incoming]) -> None:
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            await self._refuse(line)
            return
        if isinstance(message, JSONRPCNotification) and _has_id(line):  # one that no request may have
            await self._refuse(line)
            return
        if isinstance(message, JSONRPCRequest) and message.method != _LISTEN:
            self._pending.add(str(message.id))
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._asked.discard(str(message.id))
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._pending.discard(str((message.params or {}).get("requestId")))  # which is not answered any more
        await messages.send(SessionMessage(message))

    async def _refuse(self, line: bytes) -> None:
        """Says what is wrong with a line, to whom it concerns where that can be told."""
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            await self._write_error(None, PARSE_ERROR, "Parse error: the line is not JSON")
            return
        text = "Invalid request: the line is not a JSON-RPC 2.0 message"
        if isinstance(value, list) and value:
            text = "Invalid request: batches are not taken, send one message a line"
        for part in value[:MOST_PENDING] if isinstance(value, list) and value else [value]:
            await self._write_error(_find_id(part), INVALID_REQUEST, text)

    async def _read_lines(self) -> AsyncIterator[bytes]:
        """The lines; one that is too long is refused and passed over. What stands after the last newline counts too."""
        kept, size = list[bytes](), 0
        async for chunk in self._read_chunks():
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                line, size = b"".join([*kept, part]), size + len(part)
                if size <= LONGEST_LINE:
                    yield line
                else:
                    await self._refuse_long(line)
                kept, size = [], 0
            kept, size = [*kept, rest] if rest else kept, size + len(rest)
            if size > LONGEST_LINE:
                line = b"".join(kept)
                kept = [line[:_KEPT], line[-_KEPT:]]
        if kept and size <= LONGEST_LINE:
            yield b"".join(kept)

    async def _refuse_long(self, line: bytes) -> None:
        found = _ID_FIRST.match(line) or _ID_LAST.search(line)
        known = json.loads(found[1]) if found else None
        text = f"Invalid request: the message is longer than {LONGEST_LINE} bytes"
        await self._write_error(known, INVALID_REQUEST, text)

    async def _read_chunks(self) -> AsyncIterator[bytes]:
        if self._source is None:
            return
        while True:
            with suppress(PermissionError):  # a file is always ready, and cannot be waited for
                await anyio.wait_readable(self._source)
            try:
                chunk = os.read(self._source, _CHUNK)
            except OSError:
                return
            if not chunk:
                return
            yield chunk

    # writing

    async def _write_error(self, known: int | str | None, code: int, text: str) -> None:
        error: dict[str, Any] = {"code": code, "message": text}
        await self._write(json.dumps({"jsonrpc": "2.0", "id": known, "error": error}).encode())

    async def _write(self, line: bytes) -> None:
        if self._target is None:
            raise ClientGoneError
        async with self._turn:
            rest = memoryview(line + b"\n")
            try:
                while rest:
                    with suppress(PermissionError):
                        await anyio.wait_writable(self._target)
                    rest = rest[os.write(self._target, rest[:_PIECE]) :]
            except OSError:
                raise ClientGoneError from None


def _find_id(value: Any) -> int | str | None:
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def _has_id(line: bytes) -> bool:
    return b"id" in line and "id" in json.loads(line)


def take_streams() -> Wire:
    """The process's standard input and output, which nothing else gets at any more.

    What a library or a child prints goes to standard error; a child that reads finds nothing.
    """
    source, target = _keep(0), _keep(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2 if _is_open(2) else nothing, 1)
    if nothing > 2:
        os.close(nothing)
    return Wire(source, target)


def _keep(descriptor: int) -> int | None:
    import fcntl

    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError:
        return None


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
