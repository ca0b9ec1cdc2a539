"""Subscriptions: which checkpoints a client wants to hear of, and a look at the folder every second."""

import os
from collections.abc import Callable
from urllib.parse import quote, unquote

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.contract import skill_layout

Context = ServerRequestContext[object, object]
Snapshot = dict[str, tuple[int, int, int]]  # skill -> size, mtime and inode: another write changes one of them

SCHEME = "checkpoint://"
MIME_TYPE = "application/json"
MOST_CHECKPOINTS = 10_000
WATCH_EVERY = 1.0  # seconds
_REST = 20  # times as long as a look took, where that is more: a folder may hold thousands
_MOST_SUBSCRIPTIONS = 1_000


class Notices:
    """Both ways of subscribing that the protocol knows."""

    def __init__(self) -> None:
        self.session: ServerSession | None = None  # of a client of the older way that said it is ready
        self._subscribed: dict[str, str] = {}  # URI as the client spells it -> skill
        self._bus = InMemorySubscriptionBus()
        # the handler of the newer way
        self.listen = ListenHandler(self._bus, max_subscriptions=16, max_buffered_events=256)

    async def greet(self, ctx: Context, params: types.NotificationParams) -> None:
        self.session = ctx.session

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        skill = find_named(params.uri)
        if len(self._subscribed) >= _MOST_SUBSCRIPTIONS and params.uri not in self._subscribed:
            raise MCPError(types.INVALID_PARAMS, f"more than {_MOST_SUBSCRIPTIONS} subscriptions")
        self._subscribed[params.uri] = skill
        self.session = ctx.session
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        find_named(params.uri)
        self._subscribed.pop(params.uri, None)
        return types.EmptyResult()

    async def watch(self, find_folder: Callable[[], str]) -> None:
        """Poll the folder and report what changed, whoever changed it."""
        before: Snapshot | None = None
        while True:
            begun = anyio.current_time()
            after = await anyio.to_thread.run_sync(take_snapshot, find_folder(), abandon_on_cancel=True)
            for skill in [] if before is None else find_changed(before, after):
                await self._bus.publish(ResourceUpdated(find_uri(skill)))
                for uri in [uri for uri, wanted in self._subscribed.items() if wanted == skill]:
                    if self.session is not None:
                        await self.session.send_resource_updated(uri)
            if before is not None and before.keys() != after.keys():
                await self._bus.publish(ResourcesListChanged())
                if self.session is not None:
                    await self.session.send_resource_list_changed()
            before = after
            await anyio.sleep(max(WATCH_EVERY, _REST * (anyio.current_time() - begun)))


def find_uri(skill: str) -> str:
    return SCHEME + quote(skill, safe="")


def find_named(uri: str) -> str:
    name = unquote(uri.removeprefix(SCHEME).rstrip("/")) if uri.startswith(SCHEME) else ""
    if not name or skill_layout().find_name_trouble(name):
        raise unknown("resource", uri)
    return name


def unknown(what: str, name: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"Unknown {what}: {escape_controls(shorten(name, 100))}")


def take_snapshot(cwd: str) -> Snapshot:
    """By skill; {} where there is no folder, or it cannot be read. No checkpoint is opened."""
    try:
        place = find_place(cwd)
        entries = sorted(os.scandir(place.directory), key=lambda entry: entry.name)
    except (CheckpointError, OSError):
        return {}
    found: Snapshot = {}
    layout = skill_layout()
    for entry in entries:
        skill = layout.find_skill(entry.name)
        if not skill or layout.find_name_trouble(skill) or len(found) >= MOST_CHECKPOINTS:
            continue
        try:
            state = entry.stat()
        except OSError:  # removed meanwhile
            continue
        found[skill] = (state.st_size, state.st_mtime_ns, state.st_ino)
    return found


def find_changed(before: Snapshot, after: Snapshot) -> list[str]:
    return [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
