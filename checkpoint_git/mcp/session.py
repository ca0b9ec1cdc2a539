"""Answer the calls of one client, each in a thread."""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import commands_of
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.mcp.calls import (
    ToolResult,
    VerbReply,
    World,
    answer,
    check_arguments,
    fail,
    fit,
)
from checkpoint_git.mcp.tool_names import name_tools, write_calls
from checkpoint_git.mcp.tools import TOOLS, Tool, use_name

READ_TIMEOUT = 120.0  # seconds
ASK_TIMEOUT = 600.0  # seconds that the user has to answer
_THREADS = 8
_MOST_ALIVE = 64  # threads, including those whose answer nobody waits for any more
_ANSWER, _AGREE = "answer", "agree"  # the names of what is asked for
NOBODY = object()
_YES = {
    "type": "boolean",
    "title": "Go back",
    "description": "The files in its scope are replaced.",
}
# a call may need one that this client is not offered
_BY_NAME = {tool.name: tool for tool in TOOLS}

Context = ServerRequestContext[object, object]
Params = types.CallToolRequestParams
Result = ToolResult | types.InputRequiredResult  # that of a call which may have to ask the user


class McpSession:
    def __init__(self, world: World, tools: Mapping[str, Tool]) -> None:
        self._world = world
        self.tools = tools
        self._readers = anyio.CapacityLimiter(_THREADS)
        self._alive = 0
        self._count = threading.Lock()
        self.writer = anyio.CapacityLimiter(1)  # held while something is written

    async def list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = []
        for tool in self.tools.values():
            hints = types.ToolAnnotations(open_world_hint=False)
            if tool.writes:
                hints.destructive_hint = tool.destructive
            else:
                hints.read_only_hint = True
            about: dict[str, Any] = {"name": tool.name, "description": tool.description}
            tools.append(types.Tool(**about, input_schema=tool.input_schema, annotations=hints))
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, ctx: Context, params: Params
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Return the answer of a tool, which also says what went wrong with it.

        Raises MCPError for an unknown tool.
        """
        tool = self.tools.get(params.name)
        if tool is None:
            name = escape_controls(shorten(params.name, 100))
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")

        asked = params.arguments or {}
        if "name" in tool.takes:
            asked = use_name(asked)
        result: Result | None = check_arguments(tool.name, tool.verb, tool.input_schema, asked)
        if result is None:
            result = await self._ask_and_run(tool, asked, ctx, params)
        if isinstance(result, types.InputRequiredResult):
            return result

        content = types.TextContent(text=result.text)
        return types.CallToolResult(
            content=[content], structured_content=result.value, is_error=result.failed
        )

    async def _ask_and_run(
        self, tool: Tool, asked: dict[str, Any], ctx: Context, params: Params
    ) -> Result:
        """Run a tool. If its call leaves something to the user, ask them first."""
        if tool.name == "restore_point_rollback" and asked.get("confirm") is not None:
            return await self._roll_back(tool, asked, ctx, params)
        if tool.name == "checkpoint_ask":
            return await self._ask(tool, asked, ctx, params)
        if tool.name == "checkpoint_decide" and not asked["answer"].strip():
            return await self._decide(tool, asked, ctx, params)
        return await self._run(tool, asked)

    async def _roll_back(
        self, tool: Tool, asked: dict[str, Any], ctx: Context, params: Params
    ) -> Result:
        question = f"Restore the files from restore point {asked['checkpoint_id']}?"
        text = f"{question} The current state is saved first."
        consent = await ask_user(ctx, params, text, _AGREE, _YES)
        if isinstance(consent, types.InputRequiredResult):
            return consent
        if consent is True or consent is NOBODY:
            return await self._run(tool, asked)
        message = "the user did not agree, so nothing was changed"
        hint = "continue without it, or ask the user"
        return fail(tool.verb, CheckpointError(message, hint))

    async def _ask(self, tool: Tool, asked: dict[str, Any], ctx: Context, params: Params) -> Result:
        """Record a question, and ask the user.

        It is recorded first, so that it waits for its answer if the client or the user goes away.
        """
        if params.input_responses and params.request_state:  # recorded by the client's first call
            recorded = fit({"id": params.request_state, "skill": asked["name"]})
        else:
            recorded = await self._run(tool, asked)
            if recorded.failed:
                return recorded

        field = make_choice(asked.get("options", ()))
        name = recorded.value["id"]
        answer = await ask_user(ctx, params, asked["question"], _ANSWER, field, name)
        if isinstance(answer, types.InputRequiredResult):
            return answer
        if not isinstance(answer, str) or not answer.strip():
            return recorded
        return await self._record_answer(asked["name"], name, answer)

    async def _decide(
        self, tool: Tool, asked: dict[str, Any], ctx: Context, params: Params
    ) -> Result:
        """Ask the user for a decision that waits already, with its options."""
        wanted = params.request_state if params.input_responses else asked.get("id")
        status = await self._run(_BY_NAME["checkpoint_status"], {"name": asked["name"]})
        if status.failed:
            return status

        waiting = [
            blocker
            for blocker in status.value.get("decisions", ())
            if wanted in (None, blocker.get("id"))
        ]
        if len(waiting) != 1:
            names = ", ".join(str(blocker.get("id")) for blocker in waiting) or "none"
            message = f"one decision can be put to the user at a time; waiting: {names}"
            return fail(tool.verb, CheckpointError(message, "give the id of one that waits"))

        (decision,) = waiting
        question = str(decision.get("description", ""))
        name = str(decision.get("id", ""))
        options = decision.get("options")
        field = make_choice(options if isinstance(options, list) else ())
        answer = await ask_user(ctx, params, question, _ANSWER, field, name)
        if isinstance(answer, types.InputRequiredResult):
            return answer
        if isinstance(answer, str) and answer.strip():
            return await self._record_answer(asked["name"], name, answer)

        hint = f"ask them yourself, and call again with the answer: {question}"
        if "enum" in field:
            hint += f" ({', '.join(field['enum'])})"
        message = "the user gave no answer, so nothing was written"
        return fail(tool.verb, CheckpointError(message, hint))

    async def _record_answer(self, name: str, question: str, answer: str) -> ToolResult:
        asked = {"name": name, "id": question or None, "answer": answer}
        decided = await self._run(_BY_NAME["checkpoint_decide"], asked)
        if decided.failed:
            return decided
        return fit({**decided.value, "decided": answer})

    async def _run(self, tool: Tool, asked: dict[str, Any]) -> ToolResult:
        work = partial(answer, tool.name, tool.verb, partial(self._run_named, tool, asked))
        if tool.writes:  # it is finished, in turn, whatever happens meanwhile
            return await anyio.to_thread.run_sync(work, limiter=self.writer)
        return await self._read(tool.verb, work)

    def _run_named(self, tool: Tool, asked: dict[str, Any]) -> VerbReply:
        try:
            reply = tool.run(asked, self._world)
        except CheckpointError as error:
            # the arguments, in place of the command's usage and help page
            if any(argv[-1] == "--help" for argv in commands_of(error.hint)):
                hint = f"{tool.name} takes {', '.join(tool.takes)}"
            else:
                hint = write_calls(error.hint, self.tools)
            raise CheckpointError(error.message, hint) from error
        return reply._replace(document=name_tools(reply.document, self.tools))

    async def _read(self, verb: str, work: Callable[[], ToolResult]) -> ToolResult:
        """Do work that only reads. It is given up when it takes too long or is cancelled."""
        if self._alive >= _MOST_ALIVE:
            message = "too many calls that were given up still run"
            return fail(verb, CheckpointError(message, "try again in a moment"))

        def run() -> ToolResult:
            with self._count:
                self._alive += 1
            try:
                return work()
            finally:
                with self._count:
                    self._alive -= 1

        with anyio.move_on_after(READ_TIMEOUT):
            return await anyio.to_thread.run_sync(
                run, abandon_on_cancel=True, limiter=self._readers
            )

        message = f"{verb} took longer than {READ_TIMEOUT:g} seconds and was given up"
        return fail(verb, CheckpointError(message, "ask for less, or run the command line"))


def make_choice(options: Sequence[object]) -> dict[str, Any]:
    """Return the JSON Schema of an answer: one of the options, which clients show as buttons.

    Without an option it is any text.
    """
    texts = [option for option in options if isinstance(option, str)]
    shown = list(dict.fromkeys(escape_controls(shorten(text, 200)) for text in texts))
    if not shown:
        return {"type": "string"}
    return {"type": "string", "enum": shown}


async def ask_user(
    ctx: Context,
    params: Params,
    text: str,
    name: str,
    field: Mapping[str, Any],
    state: str = "",
) -> object:
    """Return what the user enters; None for a no; NOBODY if they cannot be asked.

    Older clients are asked while the call waits. Newer ones get the question, the
    InputRequiredResult that is returned, and call again with the answer.
    field: the JSON Schema of what is asked for. state: comes back with the answer.
    """
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return NOBODY
    if capabilities.elicitation.form is None and capabilities.elicitation.url is not None:
        return NOBODY

    form = {"type": "object", "properties": {name: field}, "required": [name]}
    text = escape_controls(shorten(text, 2_000))
    given: object = (params.input_responses or {}).get(name)
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        try:
            with anyio.fail_after(ASK_TIMEOUT):
                given = await ctx.session.elicit_form(text, form, ctx.request_id)
        except (MCPError, TimeoutError):
            return None
    elif given is None:
        question = types.ElicitRequest(
            params=types.ElicitRequestFormParams(message=text, requested_schema=form)
        )
        return types.InputRequiredResult(
            input_requests={name: question}, request_state=state or None
        )

    if isinstance(given, types.ElicitResult) and given.action == "accept":
        return (given.content or {}).get(name)
    return None
