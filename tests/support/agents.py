"""Agents for the server: the SDK's own client over real pipes, and a bare process to which any
bytes can be said.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from checkpoint_git.mcp.calls import World
from checkpoint_git.mcp.server import make_server
from checkpoint_git.mcp.session import McpSession
from checkpoint_git.mcp.tools import choose_tools
from tests.support.command import BIN

LEGACY, MODERN = "legacy", "auto"  # by the handshake; as the server likes, which is without one
PATIENCE = 30  # seconds after which a test gives up
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@asynccontextmanager
async def open_client(
    project: Path,
    *words: str,
    mode: str = LEGACY,
    env: dict[str, str] | None = None,
    **callbacks: Any,
) -> AsyncIterator[Client]:
    """The SDK's client of a server that works in a folder. callbacks: as Client takes them."""
    program = StdioServerParameters(
        command=str(BIN / "checkpoint"),
        args=["mcp", *words],
        env={**os.environ, **(env or {})},
        cwd=project,
    )
    with tempfile.TemporaryFile("w+") as said:
        async with Client(stdio_client(program, said), mode=mode, **callbacks) as client:
            yield client


@asynccontextmanager
async def open_client_here(
    project: Path,
    *,
    owner: str = "",
    read_only: bool = False,
    minimal: bool = False,
    mode: str = LEGACY,
    **callbacks: Any,
) -> AsyncIterator[Client]:
    """The same client of a server in this process, without pipes."""
    agent = McpSession(
        World(str(project), owner), choose_tools(read_only=read_only, minimal=minimal)
    )
    async with Client(make_server(agent), mode=mode, **callbacks) as client:
        yield client


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Runs a test's conversation, for a while."""

    async def bounded() -> None:
        with anyio.fail_after(PATIENCE):
            await work()

    anyio.run(bounded)


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a call that has to go well."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    document: dict[str, Any] = result.structured_content
    return document


async def ask_in_vain(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a call that has to fail."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    document: dict[str, Any] = result.structured_content
    return document


class Pipe:
    """A server process to which a test says what it likes."""

    def __init__(self, project: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [BIN / "checkpoint", "mcp", *words],
            cwd=project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def say(self, *messages: dict[str, Any] | bytes) -> None:
        """Writes messages, or lines that are none."""
        assert self.process.stdin is not None
        for message in messages:
            self.process.stdin.write(
                (message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n"
            )
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next message."""
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        return message

    def hear_answer(self, known: int | str | None) -> dict[str, Any]:
        """The answer to a request."""
        while (message := self.hear()).get("id", ...) != known:
            pass
        return message

    def greet(self) -> dict[str, Any]:
        """The handshake."""
        self.say(HELLO, READY)
        return self.hear_answer(0)

    def end(self, patience: float = PATIENCE) -> tuple[int, list[dict[str, Any]], str]:
        """Closes our end: the exit code, what was still said, and standard error."""
        said, log = self.process.communicate(timeout=patience)
        return (
            self.process.returncode,
            [json.loads(line) for line in said.splitlines()],
            log.decode(),
        )


def call(known: int | str, tool: str, **arguments: Any) -> dict[str, Any]:
    """A request to run a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": known, "method": "tools/call", "params": params}
