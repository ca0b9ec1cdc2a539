"""The doctor's check of a workflow."""

from collections.abc import Iterable

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.check import Context, check
from checkpoint_git.protocols.workflow.summary import is_present


@check("workflow", "error", remedy="`checkpoint workflow resume`")
def find_workflow_trouble(context: Context) -> Iterable[Finding]:
    """Everything that `checkpoint workflow validate` reports.

    ([list](workflow.md#findings))
    """
    if context.skill or not is_present(context.place):
        return []
    from checkpoint_git.protocols.limits import read_stale_days
    from checkpoint_git.protocols.workflow import state, store

    place = store.plan_workflow_place(context.place.root)
    lost = state.find_archived_work(place, context.now)
    if lost:
        return [lost]
    loaded = state.load_state(place, context.now)
    if not loaded.documents:
        return []
    stale_days = read_stale_days(context.place.root, context.env)
    return state.find_trouble(loaded, context.now, stale_days)
