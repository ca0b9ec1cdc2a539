"""All checkpoints of a project, first what matters most, each with the ticket that stands for it.
Pure.
"""

from collections.abc import Sequence

from checkpoint_git.core.clock import read_instant
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.brief.brief import Brief, make_briefs
from checkpoint_git.protocols.skill.brief.next_action import find_next, sort_actions
from checkpoint_git.protocols.skill.brief.tickets import find_threads, read_tickets
from checkpoint_git.protocols.skill.drift.merged_work import NOTHING, Work


def list_briefs(documents: Sequence[Document], now: int, work: Work = NOTHING) -> list[Brief]:
    """Return the briefs of documents in order. work: what the history says; now: seconds since
    1970.
    """
    threads = find_threads(
        {document.skill: read_tickets(document.value or {}) for document in documents}
    )
    briefs = make_briefs(documents, now, work)
    titled = [
        brief._replace(tickets=threads[brief.skill].text) if brief.skill in threads else brief
        for brief in briefs
    ]
    return sort_briefs(titled)


def sort_briefs(briefs: Sequence[Brief]) -> list[Brief]:
    """Return briefs in the order of the queue; those without an action are last, the newest of them
    first.
    """
    actions = [action for brief in briefs if (action := find_next(brief))]
    order = {action.skill: index for index, action in enumerate(sort_actions(actions))}
    newest = sorted(
        briefs, key=lambda brief: read_instant(brief.updated_at) or (0, ""), reverse=True
    )
    return sorted(newest, key=lambda brief: order.get(brief.skill, len(order)))
