"""One client's session: tools, resources, prompts and completion, answered in threads."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import find_place
from checkpoint_git.mcp.calls import LIMIT, Answer, Reply, World, answer, check_arguments, fail
from checkpoint_git.mcp.notices import MIME_TYPE, SCHEME, Context, Notices, find_named, find_uri, take_snapshot, unknown
from checkpoint_git.mcp.tools import Tool, choose_tools, show_checkpoint
from checkpoint_git.protocols.contract import skill_layout

READ_TIMEOUT = 120.0  # seconds
ASK_TIMEOUT = 600.0  # seconds that the user has to answer
ROOTS_TIMEOUT = 5.0  # seconds
_THREADS = 8
_MOST_ALIVE = 64  # threads, with those whose answer nobody waits for any more
_PAGE = 500  # resources in one answer
_MOST_COMPLETED = 100  # what the protocol allows
_PROMPT = "resume-work"
_PROMPT_TEXT = "Read the checkpoints, report the state of work, then continue or ask."
_CONSENT = "consent"
_AGREE = "agree"
_FORM = {
    "type": "object",
    "properties": {
        _AGREE: {"type": "boolean", "title": "Go back", "description": "The files in its scope are replaced."}
    },
    "required": [_AGREE],
}


class Wish(NamedTuple):
    cwd: str
    project: str  # a folder, "" for the one it was started in
    owner: str  # see World
    read_only: bool


class Agent:
    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self._world = World(wish.project or wish.cwd, wish.owner)
        self._tools = choose_tools(read_only=wish.read_only)
        self._readers = anyio.CapacityLimiter(_THREADS)
        self._alive = 0
        self._count = threading.Lock()
        self._asking: anyio.Event | None = None  # while the client is asked for its roots
        self.writer = anyio.CapacityLimiter(1)  # held while something is written
        self.notices = Notices()

    @property
    def folder(self) -> str:
        return self._world.cwd

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tools = []
        for tool in self._tools.values():
            hints = types.ToolAnnotations(
                title=tool.title,
                read_only_hint=not tool.writes,
                destructive_hint=tool.destructive,
                idempotent_hint=tool.again or not tool.writes,
                open_world_hint=False,
            )
            about: dict[str, Any] = {"name": tool.name, "title": tool.title, "description": tool.description}
            tools.append(types.Tool(**about, input_schema=tool.input_schema, annotations=hints))
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """What goes wrong with a tool is in its answer; an unknown tool is an error of the protocol."""
        tool = self._tools.get(params.name)
        if tool is None:
            raise unknown("tool", params.name)
        asked = params.arguments or {}
        found = check_arguments(tool.name, tool.verb, tool.input_schema, asked)
        if found is None and tool.destructive and asked.get("confirm") is not None:
            consent = await ask_consent(tool, ctx, params)
            if isinstance(consent, types.InputRequiredResult):
                return consent
            found = consent
        if found is None:
            run = partial(tool.run, asked, await self._find_world())
            work = partial(answer, tool.name, tool.verb, run)
            if tool.writes:  # it is finished, in turn, whatever happens meanwhile
                found = await anyio.to_thread.run_sync(work, limiter=self.writer)
            else:
                found = await self._read(tool.verb, work)
        content = types.TextContent(text=found.text)
        return types.CallToolResult(content=[content], structured_content=found.value, is_error=found.failed)

    async def _read(self, verb: str, work: Callable[[], Answer]) -> Answer:
        """Work that only reads is given up when it takes too long or is cancelled."""
        if self._alive >= _MOST_ALIVE:
            return fail(verb, CheckpointError("too many calls that were given up still run", "try again in a moment"))

        def run() -> Answer:
            with self._count:
                self._alive += 1
            try:
                return work()
            finally:
                with self._count:
                    self._alive -= 1

        with anyio.move_on_after(READ_TIMEOUT):
            return await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=self._readers)
        message = f"{verb} took longer than {READ_TIMEOUT:g} seconds and was given up"
        return fail(verb, CheckpointError(message, "ask for less, or run the command line"))

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The checkpoints, a page at a time; the cursor is the last skill of the page before."""
        found = await self._list_skills()
        cursor = (params.cursor if params else None) or ""
        left = [skill for skill in found if skill > cursor]
        page = [
            types.Resource(
                uri=find_uri(skill),
                name=skill,
                title=f"Checkpoint of {skill}",
                description=f"State of {skill}: phase, step, progress, decisions, next actions, blockers.",
                mime_type=MIME_TYPE,
                size=found[skill],
            )
            for skill in left[:_PAGE]
        ]
        return types.ListResourcesResult(resources=page, next_cursor=left[_PAGE - 1] if len(left) > _PAGE else None)

    async def _list_skills(self) -> dict[str, int]:
        """The skills that have a checkpoint, sorted, and the sizes of their files."""
        world = await self._find_world()
        found = await anyio.to_thread.run_sync(take_snapshot, world.cwd, abandon_on_cancel=True)
        return {skill: found[skill][0] for skill in sorted(found)}

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=SCHEME + "{skill}",
            name="checkpoint",
            title="A skill's checkpoint",
            description="The public part of a skill's checkpoint; your own skill's whole.",
            mime_type=MIME_TYPE,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """A checkpoint as JSON: its public part, or all of it for the skill that the server works for."""
        run = partial(_read_checkpoint, find_named(params.uri), await self._find_world())
        verb = "resources/read"
        found = await self._read(verb, partial(answer, verb, verb, run, 2 * LIMIT))
        if found.failed:
            raise MCPError(types.INVALID_PARAMS, found.value["error"]["message"], {"uri": params.uri, **found.value})
        content = types.TextResourceContents(uri=params.uri, mime_type=MIME_TYPE, text=found.text)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        skill = types.PromptArgument(name="skill", description="which one (default: the most urgent)")
        title = "Take up work where it stopped"
        prompt = types.Prompt(name=_PROMPT, title=title, description=_PROMPT_TEXT, arguments=[skill])
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != _PROMPT:
            raise unknown("prompt", params.name)
        skill = (params.arguments or {}).get("skill", "")
        is_skill = not skill_layout().find_name_trouble(skill)
        which = f'the skill "{skill}"' if is_skill else "the skill that checkpoint_next names"
        text = (
            f"Take up the work of {which}. Call checkpoint_resume for it, and summarize its state in a few lines. "
            "If its decision is ask, put its question with its answers to me and wait. If it is continue, first ask me "
            "what ask_first holds, then start with next_action. Look at the findings before you rely on a file they "
            "name. Call checkpoint_update after each step, and checkpoint_done when the action is finished."
        )
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=_PROMPT_TEXT, messages=[message])

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """The skills that begin as the argument does; all arguments of templates and prompts are skills."""
        fitting = [skill for skill in await self._list_skills() if skill.startswith(params.argument.value)]
        values, has_more = fitting[:_MOST_COMPLETED], len(fitting) > _MOST_COMPLETED
        return types.CompleteResult(completion=types.Completion(values=values, total=len(fitting), has_more=has_more))

    async def take_session(self, ctx: Context, params: types.NotificationParams) -> None:
        """The client is ready, or its roots changed: where our own folder has no checkpoints, ask for its roots."""
        self.notices.session = ctx.session
        capabilities = ctx.session.client_capabilities
        if self._wish.project or capabilities is None or capabilities.roots is None or _has_place(self._wish.cwd):
            return
        asking = self._asking = anyio.Event()
        try:
            with anyio.move_on_after(ROOTS_TIMEOUT):
                found = await ctx.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
                folders = [folder for root in found.roots if (folder := _find_folder(str(root.uri)))]
                fitting = [folder for folder in folders if _has_place(folder)]
                self._world = self._world._replace(cwd=(fitting or folders or [self._wish.cwd])[0])
        except MCPError:  # it cannot say
            return
        finally:
            asking.set()

    async def _find_world(self) -> World:
        if self._asking is not None:
            await self._asking.wait()
        return self._world


async def ask_consent(
    tool: Tool, ctx: Context, params: types.CallToolRequestParams
) -> types.InputRequiredResult | Answer | None:
    """None for yes, or where there is nobody to ask; else what the client has to ask, or why nothing is done.

    Older clients are asked while the call waits; newer ones are told what to ask, and call again with the answer.
    """
    capabilities = ctx.session.client_capabilities
    can_ask = capabilities.elicitation if capabilities is not None else None
    if can_ask is None or (can_ask.form is None and can_ask.url is not None):
        return None
    point = escape_controls(shorten(str((params.arguments or {}).get("checkpoint_id")), 100))
    text = f"Put the files back as restore point {point} holds them? What is there now is kept in a new point."
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        given = (params.input_responses or {}).get(_CONSENT)
        if given is not None:
            return _judge(tool, given)
        question = types.ElicitRequest(params=types.ElicitRequestFormParams(message=text, requested_schema=_FORM))
        return types.InputRequiredResult(input_requests={_CONSENT: question})
    try:
        with anyio.fail_after(ASK_TIMEOUT):
            return _judge(tool, await ctx.session.elicit_form(text, _FORM, ctx.request_id))
    except (MCPError, TimeoutError) as error:
        return _judge(tool, error)


def _judge(tool: Tool, given: object) -> Answer | None:
    agrees = isinstance(given, types.ElicitResult) and given.action == "accept" and (given.content or {}).get(_AGREE)
    if agrees is True:
        return None
    why = "the user could not be asked" if isinstance(given, Exception) else "the user did not agree"
    return fail(tool.verb, CheckpointError(f"{why}, so nothing was changed", "continue without it, or ask the user"))


def _read_checkpoint(skill: str, world: World) -> Reply:
    document = show_checkpoint({"skill": skill}, world).document
    if skill in document["checkpoints"]:
        return Reply(document["checkpoints"][skill])
    found = [Finding(**finding) for finding in document["findings"]]
    raise CheckpointError(f"{found[0].path}: {found[0].message}", found[0].hint)


def _has_place(folder: str) -> bool:
    with suppress(CheckpointError):
        return bool(find_place(folder))
    return False


def _find_folder(uri: str) -> str:
    parts = urlsplit(uri)
    folder = unquote(parts.path)
    is_here = parts.scheme == "file" and parts.netloc in ("", "localhost")
    return folder if is_here and "\0" not in folder and os.path.isdir(folder) else ""
