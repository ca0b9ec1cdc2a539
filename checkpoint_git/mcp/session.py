"""One client's session: what the SDK hands on is answered by the tables of tools and resources. It decides nothing."""

import os
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.shared.exceptions import MCPError

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import find_place
from checkpoint_git.mcp import prompts, watch
from checkpoint_git.mcp.calls import World
from checkpoint_git.mcp.consent import ask_consent
from checkpoint_git.mcp.handlers import Context, Workers, find_named, unknown
from checkpoint_git.mcp.notices import Notices
from checkpoint_git.mcp.replies import Prepared, check_arguments, read_checkpoint, run_tool
from checkpoint_git.mcp.tools import Tool, choose_tools, needs_consent

ROOTS_TIMEOUT = 5.0  # seconds
_PAGE = 500  # resources in one answer
_MOST_COMPLETED = 100  # what the protocol allows


class Wish(NamedTuple):
    """How a server is to be. project: a folder, "" for the one it was started in. owner: see World."""

    cwd: str
    project: str
    owner: str
    read_only: bool


class Agent:
    """Where the session works, and the handlers that answer it. notices: what it is told without asking."""

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self._world = World(wish.project or wish.cwd, wish.owner)
        self._tools = choose_tools(read_only=wish.read_only)
        self._workers = Workers()
        self._asking: anyio.Event | None = None  # while the client is asked for its roots
        self.notices = Notices()

    @property
    def folder(self) -> str:
        """Where it works now."""
        return self._world.cwd

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
            raise unknown("tool", params.name)
        asked = params.arguments or {}
        answer = check_arguments(tool, asked)
        if answer is None and needs_consent(tool, asked):
            told = await ask_consent(tool, ctx, params)
            if isinstance(told, types.InputRequiredResult):
                return told
            answer = told
        if answer is None:
            work = partial(run_tool, tool, asked, await self._find_world())
            answer = await (self._workers.write(work) if tool.writes else self._workers.read(tool.verb, work))
        return _tell(answer)

    # resources

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The checkpoints, a page at a time; the cursor is the last skill of the page before."""
        found = await self._list_skills()
        cursor = params.cursor if params is not None and params.cursor is not None else ""
        left = [skill for skill in found if skill > cursor]
        page = [_describe_resource(skill, found[skill]) for skill in left[:_PAGE]]
        return types.ListResourcesResult(resources=page, next_cursor=left[_PAGE - 1] if len(left) > _PAGE else None)

    async def _list_skills(self) -> dict[str, int]:
        """The skills that have a checkpoint, sorted, and the sizes of its file."""
        world = await self._find_world()
        found = await anyio.to_thread.run_sync(watch.take_snapshot, world.cwd, abandon_on_cancel=True)
        return {skill: found[skill][0] for skill in sorted(found)}

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """The one template."""
        template = types.ResourceTemplate(
            uri_template=watch.SCHEME + "{skill}",
            name="checkpoint",
            title="A skill's checkpoint",
            description="The public part of a skill's checkpoint; your own skill's whole.",
            mime_type=watch.MIME_TYPE,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """A checkpoint as JSON: its public part, or all of it for the skill that the server works for."""
        work = partial(read_checkpoint, find_named(params.uri), await self._find_world())
        answer = await self._workers.read("resources/read", work)
        if answer.failed:
            document = answer.fitted.value
            raise MCPError(types.INVALID_PARAMS, document["error"]["message"], {"uri": params.uri, **document})
        content = types.TextResourceContents(uri=params.uri, mime_type=watch.MIME_TYPE, text=answer.fitted.text)
        return types.ReadResourceResult(contents=[content])

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
            raise unknown("prompt", params.name)
        text = prompts.write_prompt((params.arguments or {}).get("skill", ""))
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompts.DESCRIPTION, messages=[message])

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """The skills that begin as the argument does; all arguments of templates and prompts are skills."""
        found = await self._list_skills()
        fitting = [skill for skill in found if skill.startswith(params.argument.value)]
        shown = fitting[:_MOST_COMPLETED]
        completion = types.Completion(values=shown, total=len(fitting), has_more=len(fitting) > len(shown))
        return types.CompleteResult(completion=completion)

    # where to work

    async def take_session(self, ctx: Context, params: types.NotificationParams) -> None:
        """The client is ready, or its roots changed: where the folder we were started in has nothing, ask for them."""
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


def _tell(answer: Prepared) -> types.CallToolResult:
    content = types.TextContent(text=answer.fitted.text)
    return types.CallToolResult(content=[content], structured_content=answer.fitted.value, is_error=answer.failed)


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
        uri=watch.find_uri(skill),
        name=skill,
        title=f"Checkpoint of {skill}",
        description=f"Where {skill} stands: phase, step, progress, decisions, next actions, blockers.",
        mime_type=watch.MIME_TYPE,
        size=size,
    )


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
