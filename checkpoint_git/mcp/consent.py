"""Asking the person at the client before anything destructive is done, where the client can ask one.

Older clients are asked while the call waits; newer ones are told what to ask, and call again with the answer.
"""

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.mcp.handlers import Context
from checkpoint_git.mcp.replies import Prepared, make_failure
from checkpoint_git.mcp.tools import Tool

ASK_TIMEOUT = 600.0  # seconds that a person has to answer
_CONSENT = "consent"
_AGREE = "agree"
_FORM = {
    "type": "object",
    "properties": {
        _AGREE: {"type": "boolean", "title": "Go back", "description": "The files in its scope are replaced."}
    },
    "required": [_AGREE],
}


async def ask_consent(
    tool: Tool, ctx: Context, params: types.CallToolRequestParams
) -> types.InputRequiredResult | Prepared | None:
    """None for yes, or where there is nobody to ask; else what the client has to ask, or why nothing is done."""
    capabilities = ctx.session.client_capabilities
    can_ask = capabilities.elicitation if capabilities is not None else None
    if can_ask is None or (can_ask.form is None and can_ask.url is not None):
        return None
    point = escape_controls(shorten(str((params.arguments or {}).get("checkpoint_id")), 100))
    text = f"Put the files back as restore point {point} holds them? What stands there now is kept in a new point."
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        given = (params.input_responses or {}).get(_CONSENT)
        if given is not None:
            return _judge(tool, given)
        question = types.ElicitRequest(params=types.ElicitRequestFormParams(message=text, requested_schema=_FORM))
        return types.InputRequiredResult(input_requests={_CONSENT: question})
    try:
        with anyio.fail_after(ASK_TIMEOUT):
            return _judge(tool, await ctx.session.elicit_form(text, _FORM, ctx.request_id))
    except (MCPError, TimeoutError):
        return _refuse(tool, "the user could not be asked")


def _judge(tool: Tool, answer: object) -> Prepared | None:
    agrees = isinstance(answer, types.ElicitResult) and answer.action == "accept" and (answer.content or {}).get(_AGREE)
    return None if agrees is True else _refuse(tool, "the user did not agree")


def _refuse(tool: Tool, why: str) -> Prepared:
    hint = "go on without it, or ask what they want"
    return make_failure(tool.verb, CheckpointError(f"{why}, so nothing was changed", hint))
