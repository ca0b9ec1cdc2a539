"""The tools that an agent is offered, as tools.json describes them, and which verb each one runs."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.mcp.calls import Reply, World, run_update, run_verb
from checkpoint_git.protocols.contract import skill_layout
from checkpoint_git.protocols.registry import KINDS
from checkpoint_git.tools.doctor.catalog import describe_codes

Arguments = Mapping[str, Any]
Run = Callable[[Arguments, World], Reply]


class Tool(NamedTuple):
    name: str
    title: str
    description: str
    run: Run
    takes: Mapping[str, Any]  # argument -> its JSON Schema
    needs: Sequence[str] = ()  # the required ones
    writes: bool = False  # it changes files
    destructive: bool = False  # it can replace what was there
    again: bool = False  # a second call with the same arguments changes nothing more

    @property
    def verb(self) -> str:
        return "restore-point" if self.name.startswith("restore_point_") else self.name.removeprefix("checkpoint_")

    @property
    def input_schema(self) -> dict[str, Any]:
        needs = list(self.needs)
        return {"type": "object", "properties": self.takes, "required": needs, "additionalProperties": False}


def _calls(verb: str, *words: str, operand: str = "skill", **options: str) -> Run:
    def run(asked: Arguments, world: World) -> Reply:
        given = {option: asked.get(name) for name, option in options.items()}
        values = [asked[name] for name in operand.split() if asked.get(name) is not None]
        operands = [word for each in values for word in (each if isinstance(each, list) else [each])]
        return run_verb(verb, given, [*words, *operands], world)

    return run


def show_checkpoint(asked: Arguments, world: World) -> Reply:
    """`show`: whole for one's own skill, else the public part; failed where the requested one is unreadable."""
    skill = asked.get("skill")
    is_own = bool(world.owner) and skill == world.owner
    reply = run_verb("show", {"--public": not is_own}, [] if skill is None else [skill], world)
    return reply._replace(failed=skill is not None and skill not in reply.document["checkpoints"])


def _done(asked: Arguments, world: World) -> Reply:
    options = {"--next": asked.get("next_action"), "--complete": asked.get("complete")}
    if all(options.values()):
        raise CheckpointError("next_action and complete exclude one another", "give next_action while work is left")
    return run_verb("done", options, [asked["skill"]], world)


def _roll_back(asked: Arguments, world: World) -> Reply:
    point, confirm = asked["checkpoint_id"], asked.get("confirm")
    if confirm not in (None, point):
        raise CheckpointError("confirm names another restore point, so nothing was changed", f"confirm with {point}")
    scope, words = {"--scope": asked.get("scope")}, ["rollback", point]
    plan = run_verb("restore-point", {**scope, "--dry-run": True}, words, world)
    # no other skill's checkpoint is written, nor its history
    find_skill = skill_layout().find_skill
    for path in [*(each["path"] for each in plan.document["restored"]), *plan.document["removed"]]:
        if world.owner and KINDS[0].folder in path.split("/") and find_skill(path) != world.owner:
            message = f"this would write {path}, and this session works as {world.owner}"
            raise CheckpointError(message, "name the paths that are yours in scope, or let the user roll back")
    return plan if confirm is None else run_verb("restore-point", scope, words, world)


_RUNS: dict[str, Run] = {
    "checkpoint_status": _calls("status", brief="--brief", since="--since"),
    "checkpoint_next": _calls("next", all="--all"),
    "checkpoint_resume": _calls("resume"),
    "checkpoint_list": _calls("list"),
    "checkpoint_show": show_checkpoint,
    "checkpoint_refs": _calls("refs", role="--role"),
    "checkpoint_validate": _calls("validate", strict="--strict", staged="--staged"),
    "checkpoint_doctor": _calls("doctor", checks="--check"),
    "checkpoint_update": run_update,
    "checkpoint_done": _done,
    "checkpoint_note": _calls("note", operand="skill text"),
    "checkpoint_ask": _calls("ask", operand="skill question", options="--option", blocks="--blocks"),
    "checkpoint_decide": _calls("decide", operand="skill id answer"),
    "checkpoint_block": _calls("block", operand="skill text", needs="--needs", blocks="--blocks"),
    "checkpoint_unblock": _calls("unblock", operand="skill id"),
    "checkpoint_drop": _calls("drop", operand="skill action", why="--why", next_action="--next", complete="--complete"),
    "checkpoint_undo": _calls("undo"),
    "restore_point_create": _calls("restore-point", "create", operand="scope", reason="--reason", expiry="--expiry"),
    "restore_point_list": _calls("restore-point", "list"),
    "restore_point_show": _calls("restore-point", "show", operand="checkpoint_id"),
    "restore_point_verify": _calls("restore-point", "verify", operand="checkpoint_id"),
    "restore_point_rollback": _roll_back,
}


def _read_tools() -> tuple[Tool, ...]:
    with open(os.path.join(os.path.dirname(__file__), "tools.json"), encoding="utf-8") as stream:
        rows = json.loads(stream.read().replace("{codes}", describe_codes()))
    return tuple(Tool(run=_RUNS[row["name"]], **row) for row in rows)


TOOLS = _read_tools()


def choose_tools(*, read_only: bool) -> dict[str, Tool]:
    return {tool.name: tool for tool in TOOLS if not (read_only and tool.writes)}
