"""List all checkpoints of a project by importance, each with the ticket of its work. Pure."""

from collections.abc import Sequence

from checkpoint_git.core.clock import read_instant
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.limits import Limits
from checkpoint_git.protocols.skill.brief.brief import Brief, make_briefs
from checkpoint_git.protocols.skill.brief.next_action import find_next, sort_actions
from checkpoint_git.protocols.skill.brief.tickets import find_threads, read_tickets
from checkpoint_git.protocols.skill.drift.merged_work import NOTHING, Work


def list_briefs(
    documents: Sequence[Document], now: int, limits: Limits, work: Work = NOTHING
) -> list[Brief]:
    """Return the briefs of documents in order. work: from the history; now: seconds since 1970."""
    tickets = {document.skill: read_tickets(document.value or {}) for document in documents}
    threads = find_threads(tickets)
    briefs = []
    for brief in make_briefs(documents, now, limits, work):
        if brief.skill in threads:
            brief = brief._replace(tickets=threads[brief.skill].text)
        briefs.append(brief)
    return sort_briefs(briefs)


def sort_briefs(briefs: Sequence[Brief]) -> list[Brief]:
    """Return briefs in the order of the queue, then those without an action, the newest first."""
    actions = [action for brief in briefs if (action := find_next(brief))]
    order = {action.skill: index for index, action in enumerate(sort_actions(actions))}
    newest = sorted(
        briefs, key=lambda brief: read_instant(brief.updated_at) or (0, ""), reverse=True
    )
    return sorted(newest, key=lambda brief: order.get(brief.skill, len(order)))
