"""What is wrong with the workflow and the restore points beside the checkpoints, as the doctor tells it. Pure."""

from checkpoint_git.core.finding import Finding
from checkpoint_git.tools.doctor.context import World


def find_workflow_trouble(world: World) -> list[Finding]:
    """Everything that speaks against resuming the workflow, as `checkpoint workflow validate` finds it."""
    return list(world.workflow)


def find_point_trouble(world: World) -> list[Finding]:
    """Restore points that are damaged, have expired, or are not as their log tells.

    What every byte was read for is said by the other check.
    """
    said = {(finding.code, finding.path) for finding in world.contents}
    return [finding for finding in world.points if (finding.code, finding.path) not in said]


def find_content_trouble(world: World) -> list[Finding]:
    """Restore points that do not hold what was kept."""
    return list(world.contents)
