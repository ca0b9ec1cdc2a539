"""What the handlers share: threads to work in, and errors of the protocol."""

import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.mcp import watch
from checkpoint_git.mcp.replies import Prepared, make_failure

READ_TIMEOUT = 120.0  # seconds
_THREADS = 8
_MOST_ALIVE = 64  # threads, with those whose answer nobody waits for any more

Context = ServerRequestContext[Any, Any]
Work = Callable[[], Prepared]


class Workers:
    """Threads: what reads is given up when it takes too long or is cancelled; what writes is finished, in turn."""

    def __init__(self) -> None:
        self._readers = anyio.CapacityLimiter(_THREADS)
        self._writer = anyio.CapacityLimiter(1)
        self._alive = 0
        self._count = threading.Lock()

    async def write(self, work: Work) -> Prepared:
        """Does work that changes something, whatever happens meanwhile."""
        return await anyio.to_thread.run_sync(work, limiter=self._writer)

    async def read(self, verb: str, work: Work) -> Prepared:
        """Does work that only reads."""
        if self._alive >= _MOST_ALIVE:
            error = CheckpointError("too many calls that were given up still run", "try again in a moment")
            return make_failure(verb, error)
        with anyio.move_on_after(READ_TIMEOUT):
            return await anyio.to_thread.run_sync(self._counted, work, abandon_on_cancel=True, limiter=self._readers)
        message = f"{verb} took longer than {READ_TIMEOUT:g} seconds and was given up"
        return make_failure(verb, CheckpointError(message, "ask for less, or run the command line"))

    def _counted(self, work: Work) -> Prepared:
        with self._count:
            self._alive += 1
        try:
            return work()
        finally:
            with self._count:
                self._alive -= 1


def unknown(what: str, name: str) -> MCPError:
    """The error for a tool, resource or prompt that there is none of."""
    return MCPError(types.INVALID_PARAMS, f"Unknown {what}: {escape_controls(shorten(name, 100))}")


def find_named(uri: str) -> str:
    """The skill that a URI names. Raises MCPError."""
    skill = watch.find_skill(uri)
    if not skill:
        raise unknown("resource", uri)
    return skill
