"""Telling a client what changed on the disk: who wants to know of which checkpoint, and a look at them every second."""

from collections.abc import Callable

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError

from checkpoint_git.mcp import watch
from checkpoint_git.mcp.handlers import Context, find_named
from checkpoint_git.mcp.watch import Change

WATCH_EVERY = 1.0  # seconds
_REST = 20  # times as long as a look took, where that is more: a folder may hold thousands
_MOST_SUBSCRIPTIONS = 1_000


class Notices:
    """The subscriptions of one session, in both ways that the protocol knows.

    session: of a client of the older way that said it is ready. listen: the handler of the newer way.
    """

    def __init__(self) -> None:
        self.session: ServerSession | None = None
        self._subscribed: dict[str, str] = {}  # URI as the client spells it -> skill
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus, max_subscriptions=16, max_buffered_events=256)

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """From now on the client is told when this checkpoint changes."""
        skill = find_named(params.uri)
        if len(self._subscribed) >= _MOST_SUBSCRIPTIONS and params.uri not in self._subscribed:
            raise MCPError(types.INVALID_PARAMS, f"more than {_MOST_SUBSCRIPTIONS} subscriptions")
        self._subscribed[params.uri] = skill
        self.session = ctx.session
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """And now it is not any more."""
        find_named(params.uri)
        self._subscribed.pop(params.uri, None)
        return types.EmptyResult()

    async def watch(self, find_folder: Callable[[], str]) -> None:
        """Looks at the folder again and again, and tells what changed, whoever changed it."""
        before: watch.Snapshot | None = None
        while True:
            begun = anyio.current_time()
            after = await anyio.to_thread.run_sync(watch.take_snapshot, find_folder(), abandon_on_cancel=True)
            if before is not None:
                await self._tell(watch.find_change(before, after))
            before = after
            await anyio.sleep(max(WATCH_EVERY, _REST * (anyio.current_time() - begun)))

    async def _tell(self, change: Change) -> None:
        for skill in change.skills:
            await self._bus.publish(ResourceUpdated(watch.find_uri(skill)))
            for uri in [uri for uri, wanted in self._subscribed.items() if wanted == skill]:
                if self.session is not None:
                    await self.session.send_resource_updated(uri)
        if change.listed:
            await self._bus.publish(ResourcesListChanged())
            if self.session is not None:
                await self.session.send_resource_list_changed()
