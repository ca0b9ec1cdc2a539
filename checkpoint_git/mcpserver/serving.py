"""The server: what the SDK asks is answered by the tables of tools and resources. It decides nothing of its own.

Work runs in threads, off the loop: what reads is given up when it takes too long or nobody wants it any more, what
writes is finished. The SDK takes a second to import: this module is imported when a server starts, never before.
"""

import gc
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TextIO
from urllib.parse import unquote, urlsplit

import anyio
import anyio.abc
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from checkpoint_git import __version__
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.safetext import escape_controls, shorten
from checkpoint_git.core.schema import Schema, explain, is_surely_valid
from checkpoint_git.disk.discover import find_place
from checkpoint_git.mcpserver import prompts, watching
from checkpoint_git.mcpserver.calls import Reply, World
from checkpoint_git.mcpserver.fitting import LIMIT, Fitted, fit
from checkpoint_git.mcpserver.stdio import ClientGoneError, Incoming, take_streams
from checkpoint_git.mcpserver.tools import Tool, choose_tools, needs_consent, show_checkpoint
from checkpoint_git.report.json import make_error

READ_TIMEOUT = 120.0  # seconds
LONGEST_ARGUMENTS = 1_000_000  # characters of JSON
ASK_TIMEOUT = 600.0  # seconds that a person has to answer
ROOTS_TIMEOUT = 5.0
WATCH_EVERY = 1.0
_THREADS = 8
_MOST_SUBSCRIPTIONS = 1_000
_PAGE = 500  # resources in one answer
_ALLOCATIONS = 10_000  # between two runs of the garbage collector
_BUG_HINT = "please report it with what was asked"

Context = ServerRequestContext[Any, Any]


class Wish(NamedTuple):
    """How a server is to be. project: a folder, "" for the one it was started in. owner: see World."""

    cwd: str
    project: str
    owner: str
    read_only: bool


class Agent:
    """One client's session: where it works, what it subscribed to, and the handlers that answer it."""

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self._world = World(wish.project or wish.cwd, wish.owner)
        self._tools = choose_tools(read_only=wish.read_only)
        self._readers = anyio.CapacityLimiter(_THREADS)
        self._writer = anyio.CapacityLimiter(1)
        self._asking: anyio.Event | None = None  # while the client is asked for its roots
        self._session: ServerSession | None = None  # of a client that said it is ready
        self._subscribed: dict[str, str] = {}  # skill -> URI as the client spells it
        self._bus = InMemorySubscriptionBus()
        self.listener = ListenHandler(self._bus, max_subscriptions=16, max_buffered_events=256)

    # tools

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """All tools that are offered."""
        return types.ListToolsResult(tools=[_describe(tool) for tool in self._tools.values()])

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Runs a tool. What goes wrong with it is told in its answer; an unknown tool is an error of the protocol."""
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {_shown(params.name)}")
        asked = params.arguments or {}
        reply = check_arguments(tool, asked)
        if reply is None and needs_consent(tool, asked):
            told = await _ask_consent(tool, ctx, params)
            if isinstance(told, types.InputRequiredResult):
                return told
            reply = told
        if reply is None:
            reply = await self._run(tool, asked)
        return _tell(tool, reply)

    async def _run(self, tool: Tool, asked: Mapping[str, Any]) -> Reply:
        world = await self._find_world()
        work = partial(run_guarded, tool, asked, world)
        if tool.writes:
            return await anyio.to_thread.run_sync(work, limiter=self._writer)
        return await self._read(tool.verb, work)

    async def _read(self, name: str, work: Callable[[], Reply]) -> Reply:
        with anyio.move_on_after(READ_TIMEOUT):
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._readers)
        message = f"{name} took longer than {READ_TIMEOUT:g} seconds and was given up"
        return _failure(name, CheckpointError(message, "ask for less, or run the command line"))

    # resources

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The checkpoints, a page at a time; the cursor is the last skill of the page before."""
        world = await self._find_world()
        found = await anyio.to_thread.run_sync(watching.take_snapshot, world.cwd, limiter=self._readers)
        cursor = params.cursor if params is not None and params.cursor is not None else ""
        left = [skill for skill in found if skill > cursor]
        page = [_describe_resource(skill, found[skill][0]) for skill in left[:_PAGE]]
        return types.ListResourcesResult(resources=page, next_cursor=left[_PAGE - 1] if len(left) > _PAGE else None)

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """The one template."""
        template = types.ResourceTemplate(
            uri_template=watching.SCHEME + "{skill}",
            name="checkpoint",
            title="A skill's checkpoint",
            description="The public part of a skill's checkpoint; your own skill's whole.",
            mime_type=watching.MIME_TYPE,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """A checkpoint as JSON: its public part, or all of it for the skill that the server works for."""
        world = await self._find_world()
        skill = _find_named(params.uri)
        reply = await self._read("resources/read", partial(_read_checkpoint, skill, world))
        if reply.failed:
            error = reply.document["error"]
            raise MCPError(types.INVALID_PARAMS, _shown(error["message"], 500), {"uri": params.uri, **error})
        text = _fit(reply.document).text
        content = types.TextResourceContents(uri=params.uri, mime_type=watching.MIME_TYPE, text=text)
        return types.ReadResourceResult(contents=[content])

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """From now on the client is told when this checkpoint changes."""
        skill = _find_named(params.uri)
        if len(self._subscribed) >= _MOST_SUBSCRIPTIONS and skill not in self._subscribed:
            raise MCPError(types.INVALID_PARAMS, f"more than {_MOST_SUBSCRIPTIONS} subscriptions")
        self._subscribed[skill] = params.uri
        self._session = ctx.session
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """And now it is not any more."""
        self._subscribed.pop(_find_named(params.uri), None)
        return types.EmptyResult()

    async def watch(self) -> None:
        """Looks at the folder again and again, and tells what changed on the disk, whoever changed it."""
        before: watching.Snapshot | None = None
        while True:
            after = await anyio.to_thread.run_sync(watching.take_snapshot, self._world.cwd, abandon_on_cancel=True)
            change = watching.find_change(after if before is None else before, after)
            before = after
            await self._tell_change(change)
            await anyio.sleep(WATCH_EVERY)

    async def _tell_change(self, change: watching.Change) -> None:
        for skill in change.skills:
            await self._bus.publish(ResourceUpdated(watching.find_uri(skill)))
            if self._session is not None and skill in self._subscribed:
                await self._session.send_resource_updated(self._subscribed[skill])
        if change.listed:
            await self._bus.publish(ResourcesListChanged())
            if self._session is not None:
                await self._session.send_resource_list_changed()

    # prompts

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """The one prompt."""
        skill = types.PromptArgument(name="skill", description="which one; the most urgent where left out")
        prompt = types.Prompt(
            name=prompts.NAME, title=prompts.TITLE, description=prompts.DESCRIPTION, arguments=[skill]
        )
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Its text."""
        if params.name != prompts.NAME:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {_shown(params.name)}")
        text = prompts.write_prompt((params.arguments or {}).get("skill", ""))
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompts.DESCRIPTION, messages=[message])

    # where to work

    async def take_session(self, ctx: Context, params: types.NotificationParams) -> None:
        """The client is ready, or its roots changed: where the folder we were started in has nothing, ask for them."""
        self._session = ctx.session
        capabilities = ctx.session.client_capabilities
        if self._wish.project or capabilities is None or capabilities.roots is None or _has_place(self._wish.cwd):
            return
        self._asking = anyio.Event()
        try:
            with anyio.move_on_after(ROOTS_TIMEOUT):
                found = await ctx.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
                folders = [folder for root in found.roots if (folder := _find_folder(str(root.uri)))]
                fitting = [folder for folder in folders if _has_place(folder)]
                self._world = self._world._replace(cwd=(fitting or folders or [self._wish.cwd])[0])
        except MCPError:  # it cannot say
            return
        finally:
            self._asking.set()

    async def _find_world(self) -> World:
        if self._asking is not None:
            await self._asking.wait()
        return self._world


# what a call comes to


def run_guarded(tool: Tool, asked: Mapping[str, Any], world: World) -> Reply:
    """Runs a tool; whatever leaves it is a reply."""
    try:
        return tool.run(asked, world)
    except CheckpointError as error:
        return _failure(tool.verb, error)
    except OSError as error:
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return _failure(tool.verb, CheckpointError(f"{where}{error.strerror or error}", "mend that and try again"))
    except Exception as error:
        text = f"a bug in this tool: {type(error).__name__}: {shorten(str(error), 200)}"
        logging.getLogger(__name__).error("%s: %s", tool.name, text)
        return _failure(tool.verb, CheckpointError(text, _BUG_HINT))


def check_arguments(tool: Tool, asked: Mapping[str, Any]) -> Reply | None:
    """What is wrong with the arguments, None where nothing is."""
    size = len(json.dumps(asked))
    if size > LONGEST_ARGUMENTS:
        message = f"{tool.name}: the arguments are {size} characters long, more than {LONGEST_ARGUMENTS}"
        return _failure(tool.verb, CheckpointError(message, "a checkpoint is to be read again: keep texts short"))
    schema = Schema(lambda: tool.input_schema)
    if is_surely_valid(schema, asked):
        return None
    found = [
        Finding("mcp/arguments", "error", shorten(each.message, 300), where=each.where, hint=_find_hint(tool))
        for each in explain(schema, asked)
    ]
    if not found:
        return None
    error = CheckpointError(f"{tool.name}: the arguments do not fit: {found[0].message}", found[0].hint)
    reply = _failure(tool.verb, error)
    return reply._replace(document={**reply.document, "findings": [finding._asdict() for finding in found]})


def _find_hint(tool: Tool) -> str:
    takes = [f"{name} (needed)" if name in tool.needs else name for name in tool.takes]
    return f"it takes {', '.join(takes)}" if takes else "it takes no arguments"


def _failure(command: str, error: CheckpointError) -> Reply:
    return Reply(make_error(command, error.message, error.hint), failed=True)


def _read_checkpoint(skill: str, world: World) -> Reply:
    try:
        document = show_checkpoint({"skill": skill}, world).document
    except CheckpointError as error:
        return _failure("resources/read", error)
    if skill in document["checkpoints"]:
        return Reply(document["checkpoints"][skill])
    found = document["findings"][0]
    reply = _failure("resources/read", CheckpointError(f"{found['path']}: {found['message']}", found["hint"]))
    return reply._replace(document={"error": {**reply.document["error"], "findings": document["findings"]}})


def _tell(tool: Tool, reply: Reply) -> types.CallToolResult:
    try:
        fitted = fit(reply.document)
    except CheckpointError as error:
        reply = _failure(tool.verb, error)
        fitted = fit(reply.document)
    return types.CallToolResult(
        content=[types.TextContent(text=fitted.text)], structured_content=fitted.value, is_error=reply.failed
    )


def _fit(document: dict[str, Any]) -> Fitted:
    try:
        return fit(document, 2 * LIMIT)
    except CheckpointError as error:
        raise MCPError(types.INTERNAL_ERROR, error.message, {"hint": error.hint}) from None


def _describe(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(
        title=tool.title,
        read_only_hint=not tool.writes,
        destructive_hint=tool.destructive,
        idempotent_hint=tool.again or not tool.writes,
        open_world_hint=False,
    )
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=hints,
    )


def _describe_resource(skill: str, size: int) -> types.Resource:
    return types.Resource(
        uri=watching.find_uri(skill),
        name=skill,
        title=f"Checkpoint of {skill}",
        description=f"Where {skill} stands: phase, step, progress, decisions, next actions, blockers.",
        mime_type=watching.MIME_TYPE,
        size=size,
    )


def _find_named(uri: str) -> str:
    skill = watching.find_skill(uri)
    if not skill:
        raise MCPError(types.INVALID_PARAMS, f"Unknown resource: {_shown(uri)}", {"uri": shorten(uri, 200)})
    return skill


def _shown(text: str, limit: int = 100) -> str:
    return escape_controls(shorten(text, limit))


# asking a person

_CONSENT = "consent"
_AGREE = "agree"


async def _ask_consent(
    tool: Tool, ctx: Context, params: types.CallToolRequestParams
) -> types.InputRequiredResult | Reply | None:
    """Asks the person at the client, where the client can: None for yes, or nobody to ask; else why nothing is done."""
    capabilities = ctx.session.client_capabilities
    can_ask = capabilities.elicitation if capabilities is not None else None
    if can_ask is None or (can_ask.form is None and can_ask.url is not None):
        return None
    point = _shown(str((params.arguments or {}).get("checkpoint_id")))
    text = f"Put the files back as restore point {point} holds them? What stands there now is kept in a new point."
    agree = {"type": "boolean", "title": "Go back", "description": "The files in its scope are replaced."}
    form = {"type": "object", "properties": {_AGREE: agree}, "required": [_AGREE]}
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        given = (params.input_responses or {}).get(_CONSENT)
        if given is None:
            question = types.ElicitRequest(params=types.ElicitRequestFormParams(message=text, requested_schema=form))
            return types.InputRequiredResult(input_requests={_CONSENT: question})
        return _judge_consent(tool, given)
    try:
        with anyio.fail_after(ASK_TIMEOUT):
            answer = await ctx.session.elicit_form(text, form, ctx.request_id)
    except (MCPError, TimeoutError):
        return _refused(tool, "the user could not be asked")
    return _judge_consent(tool, answer)


def _judge_consent(tool: Tool, answer: object) -> Reply | None:
    if (
        isinstance(answer, types.ElicitResult)
        and answer.action == "accept"
        and (answer.content or {}).get(_AGREE) is True
    ):
        return None
    return _refused(tool, "the user did not agree")


def _refused(tool: Tool, why: str) -> Reply:
    return _failure(
        tool.verb, CheckpointError(f"{why}, so nothing was changed", "go on without it, or ask what they want")
    )


# folders


def _has_place(folder: str) -> bool:
    try:
        find_place(folder)
    except CheckpointError:
        return False
    return True


def _find_folder(uri: str) -> str:
    """The folder of a file:// URI, "" for anything else."""
    parts = urlsplit(uri)
    folder = unquote(parts.path)
    is_here = parts.scheme == "file" and parts.netloc in ("", "localhost")
    return folder if is_here and "\0" not in folder and os.path.isdir(folder) else ""


# running


def make_server(agent: Agent) -> Server[Any]:
    """The SDK's server with all handlers."""
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
        on_subscribe_resource=agent.subscribe,
        on_unsubscribe_resource=agent.unsubscribe,
        on_subscriptions_listen=agent.listener,
        on_list_prompts=agent.list_prompts,
        on_get_prompt=agent.get_prompt,
    )
    server.middleware = []  # the SDK's own would look for a tracing service
    server.add_notification_handler("notifications/initialized", types.NotificationParams, agent.take_session)
    server.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, agent.take_session)
    return server


def serve(wish: Wish, stderr: TextIO) -> int:
    """Serves one client until it goes; the exit code: 0, or 130 for an interrupt."""
    _log_to(stderr)
    gc.freeze()  # what the imports made stays
    gc.set_threshold(_ALLOCATIONS)  # the command line hardly ever collects, because it lives so short
    return anyio.run(_serve, wish)


async def _serve(wish: Wish) -> int:
    wire, agent = take_streams(), Agent(wish)
    server = make_server(agent)
    options = server.create_initialization_options(NotificationOptions(resources_changed=True))
    incoming, inbox = anyio.create_memory_object_stream[Incoming](0)
    outbox, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    caught: list[int] = []

    async def write(scope: anyio.CancelScope) -> None:
        try:
            await wire.send(outgoing)
        except ClientGoneError:
            scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_wait_for_signal, tasks.cancel_scope, caught)
        tasks.start_soon(agent.watch)
        tasks.start_soon(write, tasks.cancel_scope)
        tasks.start_soon(_receive, wire, incoming, agent, tasks.cancel_scope)
        await server.run(inbox, outbox, options)
        tasks.cancel_scope.cancel()
    return 130 if signal.SIGINT in caught else 0


async def _receive(wire: Any, incoming: Any, agent: Agent, scope: anyio.CancelScope) -> None:
    try:
        await wire.receive(incoming)
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
