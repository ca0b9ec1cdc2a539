"""A running memory server, spoken to over its standard streams: the one module that knows the SDK.

The SDK is an extra and takes a second to import, so it is imported inside functions only. Everything is bounded in
time; a server that is away, hangs or dies is an UnavailableError.
"""

import json
import logging
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import IO, TYPE_CHECKING, Any

from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.memory.entity import Entity
from checkpoint_git.protocols.memory.transports.contract import GraphError, UnavailableError

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

TOOLS = ("read_graph", "open_nodes", "create_entities", "add_observations", "delete_observations", "delete_entities")
_SAID = 300  # characters of what a server answers that are shown
_LAST = 120  # and of the last line that it said besides
_PATIENCE_HINT = (
    "git config checkpoint.memoryTimeout SECONDS gives it more time, or less; `checkpoint memory doctor` says more"
)
_SDK_HINT = "pip install 'checkpoint-git[memory]'"
_SERVER_HINT = "`checkpoint memory doctor` says more; `checkpoint memory setup` installs a server"

Caller = Callable[[str, dict[str, Any]], Any]
Lock = Callable[[], AbstractContextManager[None]]


class StdioTransport:
    """call: runs one tool and returns its structured answer. server: the name and version that the server gave."""

    def __init__(self, call: Caller, server: str, tools: Sequence[str], lock: Lock) -> None:
        self._call = call
        self._lock = lock
        self.server = server
        self.tools = tuple(tools)

    def read_graph(self) -> list[Entity]:
        """All entities."""
        return [_entity(item) for item in _list(self._call("read_graph", {}), "entities")]

    def open_nodes(self, names: Sequence[str]) -> list[Entity]:
        """Those with these names, with their relations."""
        answer = self._call("open_nodes", {"names": list(names)})
        edges = [edge for edge in _list(answer, "relations") if isinstance(edge, dict)]
        return [
            entity._replace(
                relations=tuple(edge for edge in edges if entity.name in (edge.get("from"), edge.get("to")))
            )
            for entity in map(_entity, _list(answer, "entities"))
        ]

    def create_entities(self, entities: Sequence[Entity]) -> list[str]:
        """Makes those whose names are free."""
        wished = [
            {"name": entity.name, "entityType": entity.entity_type, "observations": list(entity.observations)}
            for entity in entities
        ]
        answer = self._call("create_entities", {"entities": wished})
        return [_entity(item).name for item in _list(answer, "entities")]

    def add_observations(self, name: str, contents: Sequence[str]) -> None:
        """Appends what is new. Raises GraphError where there is no such entity."""
        self._call("add_observations", {"observations": [{"entityName": name, "contents": list(contents)}]})

    def delete_observations(self, name: str, contents: Sequence[str]) -> None:
        """Takes observations away."""
        self._call("delete_observations", {"deletions": [{"entityName": name, "observations": list(contents)}]})

    def delete_entities(self, names: Sequence[str]) -> None:
        """Takes entities and their relations away."""
        self._call("delete_entities", {"entityNames": list(names)})

    def exclusive(self) -> AbstractContextManager[None]:
        """The lock of all our processes that write to this graph."""
        return self._lock()


@contextmanager
def open_server(
    words: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    lock: Lock,
    start_timeout: float,
    call_timeout: float,
) -> Iterator[StdioTransport]:
    """Starts a server for the length of a `with` block. env: its whole environment. Raises UnavailableError.

    start_timeout, call_timeout: seconds, for the start and for each answer.
    """
    try:
        from anyio.from_thread import start_blocking_portal
        from mcp.client.session import ClientSession  # noqa: F401 - imported here so that its absence is told apart
    except ImportError as error:
        raise UnavailableError(f"the Python SDK of the protocol is not there: {error}", _SDK_HINT) from None
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    logging.getLogger("mcp").propagate = False
    with tempfile.TemporaryFile("w+", errors="replace") as said, start_blocking_portal() as portal:
        session_manager = portal.wrap_async_context_manager(_open_session(words, env, cwd, said, start_timeout))
        with _telling("started", words, said):
            session, server, tools = session_manager.__enter__()

        def call(tool: str, arguments: dict[str, Any]) -> Any:
            with _telling("asked", words, said):
                return portal.call(_call_tool, session, tool, arguments, call_timeout)

        failed: BaseException | None = None
        try:
            yield StdioTransport(call, server, tools, lock)
        except BaseException as error:
            failed = error
            raise
        finally:
            _close(session_manager, failed)


def _close(manager: AbstractContextManager[Any], failed: BaseException | None) -> None:
    """Ends the server. What goes wrong then is no trouble of the caller's: everything was read back before."""
    try:
        manager.__exit__(None, None, None)
    except Exception:
        if isinstance(failed, KeyboardInterrupt | SystemExit):
            raise


@asynccontextmanager
async def _open_session(
    words: Sequence[str], env: Mapping[str, str], cwd: str, said: IO[str], timeout: float
) -> "AsyncIterator[tuple[ClientSession, str, list[str]]]":
    import anyio
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    program = StdioServerParameters(command=words[0], args=list(words[1:]), env=dict(env), cwd=cwd)
    async with stdio_client(program, said) as streams, ClientSession(*streams) as session:  # type: ignore[arg-type]  # a text file
        with anyio.fail_after(timeout):
            found = await session.initialize()
            tools = await session.list_tools()
        server = f"{found.server_info.name} {found.server_info.version}"
        yield session, server, [tool.name for tool in tools.tools]


async def _call_tool(session: "ClientSession", tool: str, arguments: dict[str, Any], timeout: float) -> Any:
    import anyio

    with anyio.fail_after(timeout):
        result = await session.call_tool(tool, arguments)
    texts = [str(getattr(part, "text", "")) for part in result.content]
    if result.is_error:
        raise GraphError(f"the server refused {tool}: {_shown(' '.join(texts))}", _GRAPH_HINT)
    if result.structured_content is not None:
        return result.structured_content
    try:
        answer = json.loads(texts[0]) if texts else {}
    except ValueError:
        return {}
    return {"entities": answer} if isinstance(answer, list) else answer


_GRAPH_HINT = "`checkpoint memory doctor` looks at the graph's file; --fix mends it, and keeps the broken one"


@contextmanager
def _telling(what: str, words: Sequence[str], said: IO[str]) -> Iterator[None]:
    """Turns whatever the SDK raises into an UnavailableError that says what the server said last."""
    try:
        yield
    except (GraphError, UnavailableError):
        raise
    except Exception as error:
        reason = _reason(error)
        last = _last_words(said)
        program = _shown(words[0]) + (" ..." if len(words) > 1 else "")  # the words after it may hold secrets
        message = f"the memory server could not be {what} ({program}): {reason}{last}"
        raise UnavailableError(message, _PATIENCE_HINT if reason == _SLOW else _SERVER_HINT) from None


_SLOW = "it did not answer in time"


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return _SLOW
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return _shown(str(error)) or type(error).__name__


def _last_words(said: IO[str]) -> str:
    said.flush()
    said.seek(0, 2)
    said.seek(max(0, said.tell() - 4096))
    lines = [line for line in said.read().splitlines() if line.strip()]
    return f"; it said: {escape_controls(shorten(lines[-1].strip(), _LAST))}" if lines else ""


def _shown(text: str) -> str:
    return escape_controls(shorten(text.strip(), _SAID))


def _list(answer: Any, key: str) -> list[Any]:
    found = answer.get(key) if isinstance(answer, dict) else None
    return found if isinstance(found, list) else []


def _entity(item: Any) -> Entity:
    item = item if isinstance(item, dict) else {}
    texts = item.get("observations")
    observations = tuple(text for text in texts if isinstance(text, str)) if isinstance(texts, list) else ()
    return Entity(str(item.get("name", "")), str(item.get("entityType", "")), observations)
