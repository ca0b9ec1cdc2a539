"""What the doctor checks of a workflow."""

import os
from collections.abc import Iterable

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.check import Context, check


@check("workflow", "error", remedy="`checkpoint workflow resume`")
def find_workflow_trouble(context: Context) -> Iterable[Finding]:
    """Everything that `checkpoint workflow validate` reports.

    ([list](workflow.md#findings))
    """
    root = context.place.root
    if context.skill or not os.path.lexists(os.path.join(root, "memory/state/phase.json")):
        return []
    from checkpoint_git.protocols.workflow.state import find_state, find_trouble

    return find_trouble(find_state(root, context.now), context.now)
