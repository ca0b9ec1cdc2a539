"""The tools that an agent is offered, as tools.json describes them, and which verb each one runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.mcp.calls import Reply, World, run_update, run_verb
from checkpoint_git.protocols.contract import load_document, skill_layout
from checkpoint_git.protocols.registry import KINDS

Arguments = Mapping[str, Any]


class Tool(NamedTuple):
    """call: the verb's first words. operands: arguments without a name. options: what the command line renames."""

    name: str
    description: str
    takes: Mapping[str, Any]  # argument -> its JSON Schema
    call: str
    needs: Sequence[str] = ()  # the required ones
    operands: Sequence[str] = ("skill",)
    options: Mapping[str, str] = {}
    writes: bool = False  # it changes files
    destructive: bool = False  # it can replace what was there
    minimal: bool = False  # it is offered with --tools minimal too

    @property
    def verb(self) -> str:
        return self.call.partition(" ")[0]

    @property
    def input_schema(self) -> dict[str, Any]:
        shape = {"type": "object", "properties": self.takes}
        return {**shape, "required": list(self.needs)} if self.needs else shape

    def run(self, asked: Arguments, world: World) -> Reply:
        if self.name in _OWN:
            return _OWN[self.name](asked, world)
        named = {name: asked.get(name) for name in self.takes if name not in self.operands}
        options = {self.options.get(name, f"--{name.replace('_', '-')}"): value for name, value in named.items()}
        values = [asked[name] for name in self.operands if asked.get(name) is not None]
        operands = [word for each in values for word in (each if isinstance(each, list) else [each])]
        return run_verb(self.verb, options, [*self.call.split()[1:], *operands], world)


def _show(asked: Arguments, world: World) -> Reply:
    """`show`: whole for one's own skill, else the public part; failed where the requested one is unreadable."""
    skill = asked.get("skill")
    is_own = bool(world.owner) and skill == world.owner
    reply = run_verb("show", {"--public": not is_own}, [] if skill is None else [skill], world)
    return reply._replace(failed=skill is not None and skill not in reply.document["checkpoints"])


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


# what is more than one call of a verb
_OWN: dict[str, Callable[[Arguments, World], Reply]] = {
    "checkpoint_show": _show,
    "checkpoint_claim": lambda asked, world: run_verb(
        "release" if asked.get("release") else "claim", {"--for": asked.get("for")}, [asked["skill"]], world
    ),
    "checkpoint_refs": lambda asked, world: run_verb("show", {"--tickets": asked.get("role", "all")}, [], world),
    "checkpoint_update": run_update,
    "restore_point_rollback": _roll_back,
}


TOOLS = tuple(Tool(**row) for row in load_document(__file__, "tools.json"))


def choose_tools(*, read_only: bool, minimal: bool = False) -> dict[str, Tool]:
    chosen = [tool for tool in TOOLS if tool.minimal or not minimal]
    return {tool.name: tool for tool in chosen if not (read_only and tool.writes)}
