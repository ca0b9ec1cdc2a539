"""A server from its first line to its last: the SDK's, our handlers, the wire, signals, and what goes to the log.

The SDK takes half a second to import: this module, and those that begin with the SDK as it does, are imported when a
server starts, and never else.
"""

import gc
import logging
import signal
import sys
from typing import Any, TextIO

import anyio
import anyio.abc
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.shared.message import SessionMessage

from checkpoint_git import __version__
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.mcp import prompts
from checkpoint_git.mcp.session import Agent, Wish
from checkpoint_git.mcp.stdio import ClientGoneError, Incoming, Wire, take_streams

__all__ = ["Wish", "serve"]

_ALLOCATIONS = 10_000  # between two runs of the garbage collector


def serve(wish: Wish, stderr: TextIO) -> int:
    """Serves one client until it goes; the exit code: 0, or 130 for an interrupt."""
    _log_to(stderr)
    gc.freeze()  # what the imports made stays
    gc.set_threshold(_ALLOCATIONS)  # the command line hardly ever collects, because it lives so short
    return anyio.run(_serve, wish)


def _make_server(agent: Agent) -> Server[Any]:
    server: Server[Any] = Server(
        "checkpoint",
        version=__version__,
        title="Checkpoints",
        instructions=prompts.INSTRUCTIONS,
        on_list_tools=agent.list_tools,
        on_call_tool=agent.call_tool,
        on_list_resources=agent.list_resources,
        on_list_resource_templates=agent.list_templates,
        on_read_resource=agent.read_resource,
        on_subscribe_resource=agent.notices.subscribe,
        on_unsubscribe_resource=agent.notices.unsubscribe,
        on_subscriptions_listen=agent.notices.listen,
        on_list_prompts=agent.list_prompts,
        on_get_prompt=agent.get_prompt,
        on_completion=agent.complete,
    )
    server.middleware = []  # the SDK's own would look for a tracing service
    server.add_notification_handler("notifications/initialized", types.NotificationParams, agent.take_session)
    server.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, agent.take_session)
    return server


async def _serve(wish: Wish) -> int:
    wire, agent = take_streams(), Agent(wish)
    server = _make_server(agent)
    options = server.create_initialization_options(NotificationOptions(resources_changed=True))
    incoming, inbox = anyio.create_memory_object_stream[Incoming](0)
    outbox, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    caught: list[int] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_wait_for_signal, tasks.cancel_scope, caught)
        tasks.start_soon(agent.notices.watch, lambda: agent.folder)
        tasks.start_soon(_send, wire, outgoing, tasks.cancel_scope)
        tasks.start_soon(_receive, wire, incoming, tasks.cancel_scope)
        await server.run(inbox, outbox, options)
        tasks.cancel_scope.cancel()
    return 130 if signal.SIGINT in caught else 0


async def _send(wire: Wire, messages: MemoryObjectReceiveStream[SessionMessage], scope: anyio.CancelScope) -> None:
    try:
        await wire.send(messages)
    except ClientGoneError:
        scope.cancel()


async def _receive(wire: Wire, messages: MemoryObjectSendStream[Incoming], scope: anyio.CancelScope) -> None:
    try:
        await wire.receive(messages)
    except ClientGoneError:
        scope.cancel()


async def _wait_for_signal(scope: anyio.CancelScope, caught: list[int]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async for number in signals:
            caught.append(number)
            scope.cancel()


class _OneLine(logging.Formatter):
    """A line a record, without tracebacks, and nothing in it that a terminal obeys."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        text = f"checkpoint mcp: {record.levelname.lower()}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        return escape_controls(shorten(text, 1_000))


def _log_to(stderr: TextIO) -> None:
    handler = logging.StreamHandler(stderr)
    handler.setFormatter(_OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    sys.stdout = stderr  # whatever prints, prints there
