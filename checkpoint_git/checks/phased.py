"""What is wrong with the workflow beside the checkpoints, as far as the doctor tells it. Pure."""

from checkpoint_git.checks.world import World
from checkpoint_git.core.finding import Finding


def find_workflow_trouble(world: World) -> list[Finding]:
    """Everything that speaks against resuming the workflow, as `checkpoint workflow validate` finds it."""
    return list(world.workflow)
