"""Start a memory server and call its tools over its standard streams, with the MCP SDK.

No other module knows the SDK.
"""

import errno
import json
import logging
import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from checkpoint_git.core.hint import Blank, advise, command, join_hints
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.atomic import write_error
from checkpoint_git.disk.installation import find_missing
from checkpoint_git.protocols.memory import transports
from checkpoint_git.protocols.memory.entity import Entity, Steps
from checkpoint_git.protocols.memory.transports import GraphError, UnavailableError

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

_SHOWN = 300  # characters of a server's answer in a message
_SHOWN_STDERR = 120  # and of the last line of its standard error
_LATE = "it did not answer in time"
_TIMEOUT = ("git", "config", "checkpoint.memoryTimeout", Blank("seconds", "SECONDS"))
_LATE_HINT = join_hints(
    advise("wait longer", *_TIMEOUT),
    advise("see also", "checkpoint", "memory", "doctor"),
)
_SERVER_HINT = join_hints(
    command("checkpoint", "memory", "doctor", more=" shows more"),
    command("checkpoint", "memory", "setup", more=" installs a server"),
)

Caller = Callable[[str, dict[str, Any]], Any]
Lock = Callable[[], AbstractContextManager[None]]


class StdioTransport:
    """A graph behind a running server (see transports.Transport).

    call: runs one tool and returns its structured answer. server: the name and version that the
    server gave.
    """

    def __init__(self, call: Caller, server: str, tools: Sequence[str], lock: Lock) -> None:
        self._call = call
        self.exclusive = lock
        self.server = server
        self.tools = tuple(tools)

    def read_graph(self) -> list[Entity]:
        return transports.read_entities(_list(self._call("read_graph", {}), "entities"))

    def open_nodes(self, names: Sequence[str]) -> list[Entity]:
        answer = self._call("open_nodes", {"names": list(names)})
        return transports.read_entities(_list(answer, "entities"), _list(answer, "relations"))

    def create_entities(self, entities: Sequence[Entity]) -> list[str]:
        values = [transports.entity_json(entity) for entity in entities]
        answer = self._call("create_entities", {"entities": values})
        return [entity.name for entity in transports.read_entities(_list(answer, "entities"))]

    def change_observations(self, name: str, steps: Steps) -> None:
        self._delete_observations(name, steps.leftovers)
        if steps.add:
            added = {"entityName": name, "contents": list(steps.add)}
            self._call("add_observations", {"observations": [added]})
        self._delete_observations(name, steps.delete)

    def _delete_observations(self, name: str, contents: Sequence[str]) -> None:
        if contents:
            deleted = {"entityName": name, "observations": list(contents)}
            self._call("delete_observations", {"deletions": [deleted]})

    def delete_entities(self, names: Sequence[str]) -> None:
        self._call("delete_entities", {"entityNames": list(names)})


def _list(answer: Any, key: str) -> list[Any]:
    """Return a list in an answer, [] if there is none."""
    if isinstance(answer, dict) and isinstance(answer.get(key), list):
        return list(answer[key])
    return []


# The SDK is an extra and takes over a second to import, so it is imported inside functions only.
# Every call is bounded in time; a server that is away, hangs or dies is an UnavailableError.
@contextmanager
def open_server(
    words: Sequence[str], env: Mapping[str, str], cwd: str, lock: Lock, timeout: float
) -> Iterator[StdioTransport]:
    """Run a server during a `with` block. Raises UnavailableError.

    env: besides PATH, HOME and such. timeout: seconds, to start and for each call.
    """
    try:
        # its absence has a message of its own
        from anyio.from_thread import start_blocking_portal
        from mcp.client.session import ClientSession  # noqa: F401
    except ImportError as error:
        missing = find_missing(error, ["memory"])
        if missing is None:
            raise UnavailableError(str(error), "") from None
        raise UnavailableError(str(missing), missing.hint) from None

    logging.getLogger("mcp").addHandler(logging.NullHandler())
    logging.getLogger("mcp").propagate = False
    with (
        tempfile.TemporaryFile("w+", errors="replace") as stderr,
        start_blocking_portal() as portal,
    ):
        session_manager = portal.wrap_async_context_manager(
            _open_session(words, env, cwd, stderr, timeout)
        )
        with _as_unavailable("started", words, stderr):
            session, server, tools = session_manager.__enter__()

        def call(tool: str, arguments: dict[str, Any]) -> Any:
            with _as_unavailable("asked", words, stderr):
                return portal.call(_call_tool, session, tool, arguments, timeout)

        try:
            yield StdioTransport(call, server, tools, lock)
        finally:
            # A server that dies while it is stopped is not the caller's trouble: every write was
            # read back before.
            with suppress(Exception):
                session_manager.__exit__(None, None, None)


@asynccontextmanager
async def _open_session(
    words: Sequence[str], env: Mapping[str, str], cwd: str, stderr: IO[str], timeout: float
) -> "AsyncIterator[tuple[ClientSession, str, list[str]]]":
    import anyio
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    program = StdioServerParameters(command=words[0], args=list(words[1:]), env=dict(env), cwd=cwd)
    errors: Any = stderr  # the SDK declares a TextIO, and takes any text file
    async with stdio_client(program, errors) as streams, ClientSession(*streams) as session:
        with anyio.fail_after(timeout):
            found = await session.initialize()
            tools = await session.list_tools()
        server = f"{found.server_info.name} {found.server_info.version}"
        yield session, server, [tool.name for tool in tools.tools]


async def _call_tool(
    session: "ClientSession", tool: str, arguments: dict[str, Any], timeout: float
) -> Any:
    import anyio

    with anyio.fail_after(timeout):
        result = await session.call_tool(tool, arguments)
    texts = [str(getattr(part, "text", "")) for part in result.content]
    if result.is_error:
        raise _refusal(tool, _shown(" ".join(texts)))

    if result.structured_content is not None:
        return result.structured_content
    if not texts:
        return {}
    try:
        answer = json.loads(texts[0])
    except ValueError:
        return {}
    return {"entities": answer} if isinstance(answer, list) else answer


def _refusal(tool: str, answer: str) -> GraphError:
    message = f"the server refused {tool}: {answer}"
    found = re.search(r"\b(E[A-Z]+): ", answer)  # as node names what a system call says
    if found:
        number = getattr(errno, found[1], 0)
        if number:
            return GraphError(message, write_error("", OSError(number, os.strerror(number))).hint)
    return GraphError(message, transports.BROKEN_HINT)


@contextmanager
def _as_unavailable(done: str, words: Sequence[str], stderr: IO[str]) -> Iterator[None]:
    try:
        yield
    except (GraphError, UnavailableError):
        raise
    except Exception as error:
        program = _shown(words[0])
        if len(words) > 1:  # they may hold secrets
            program += " ..."
        reason = _explain(error)
        message = f"the memory server could not be {done} ({program}): {reason}"
        printed = _read_printed(stderr)
        if printed:
            message += f"; it printed: {printed}"
        hint = _LATE_HINT if reason == _LATE else _SERVER_HINT
        raise UnavailableError(message, hint) from None


def _explain(error: Exception) -> str:
    """Return why a call failed, by the first exception of a group."""
    cause: BaseException = error
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    if isinstance(cause, TimeoutError):
        return _LATE

    text = str(cause)
    if isinstance(cause, OSError) and cause.strerror:
        text = cause.strerror
    return _shown(text) or type(cause).__name__


def _read_printed(stderr: IO[str]) -> str:
    """Return the line of a server's standard error that says most, "" if it printed nothing."""
    stderr.flush()
    stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, stderr.tell() - 4096))
    lines = [line for line in stderr.read().splitlines() if line.strip()]
    if not lines:
        return ""
    # node's last line is its version
    line = next((line for line in lines if "Error: " in line), lines[-1])
    return escape_controls(shorten(line.strip(), _SHOWN_STDERR))


def _shown(text: str) -> str:
    return escape_controls(shorten(text.strip(), _SHOWN))
