"""Where everything stands: one state a checkpoint, decisions first. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import read_instant
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.next_action import NextAction, plan_queue, sort_actions
from checkpoint_git.protocols.skill.progress import (
    UNREADABLE,
    count_rows,
    describe_budget,
    find_age,
    is_stale,
    is_unstarted,
    text_field,
)
from checkpoint_git.protocols.skill.tickets import Ticket, find_threads, read_tickets
from checkpoint_git.protocols.skill.views import (
    action_done_when,
    action_text,
    open_blockers,
    read_list,
    read_objects,
    waits_on_user,
)


class State(NamedTuple):
    """One checkpoint, as far as it can be read.

    status: "unreadable" where it is no JSON object, else what it says, "?" where it says nothing. age: seconds since
    updated_at, None where that is no instant. budget: by how much it is over, else "". tickets: a line, "". actions:
    (text, done_when). blockers: the open ones.
    """

    skill: str
    path: str
    project: str
    phase: str
    step: str
    status: str
    summary: str
    updated_at: str
    age: int | None
    stale: bool
    unstarted: bool
    budget: str
    complete_rows: int
    rows: list[dict[str, Any]]
    tickets: str
    actions: list[tuple[str, str | None]]
    blockers: list[dict[str, Any]]

    @property
    def over_budget(self) -> bool:
        """Whether more was spent than was meant to be."""
        return bool(self.budget)


class Decision(NamedTuple):
    """A blocker that needs a decision of the user's, and whose it is."""

    skill: str
    blocker: dict[str, Any]


def find_states(documents: Iterable[Document], now: int) -> list[State]:
    """The states of all documents, what matters most first; those with nothing to do last, the newest of them first.

    No document is held longer than it is looked at.
    """
    states, actions, tickets = list[State](), list[NextAction](), dict[str, list[Ticket]]()
    for document in documents:
        states.append(find_state(document, now))
        actions += plan_queue([document]).actions
        tickets[document.skill] = read_tickets(document.value or {})
    order = {action.skill: at for at, action in enumerate(sort_actions(actions))}
    threads = {skill: thread.text for skill, thread in find_threads(tickets).items()}
    states = [state._replace(tickets=threads[state.skill]) if state.skill in threads else state for state in states]
    newest = sorted(states, key=lambda state: read_instant(state.updated_at) or (0, ""), reverse=True)
    return sorted(newest, key=lambda state: order.get(state.skill, len(order)))


def find_state(document: Document, now: int, tickets: str = "") -> State:
    """One document's state. tickets: its line, which other documents have a part in."""
    value = document.value or {}
    complete, _ = count_rows(value)
    return State(
        skill=document.skill,
        path=document.path,
        project=text_field(value, "project"),
        phase=text_field(value, "phase"),
        step=text_field(value, "step"),
        status=UNREADABLE if document.value is None else text_field(value, "status") or "?",
        summary=text_field(value, "progress_summary"),
        updated_at=text_field(value, "updated_at"),
        age=find_age(value, now),
        stale=is_stale(value, now),
        unstarted=is_unstarted(value),
        budget=describe_budget(value),
        complete_rows=complete,
        rows=read_objects(value, "progress_table"),
        tickets=tickets,
        actions=[(action_text(action), action_done_when(action)) for action in read_list(value, "next_actions")],
        blockers=open_blockers(value),
    )


def find_decisions(states: Sequence[State]) -> list[Decision]:
    """Everything that waits on the user, in the order of the states."""
    return [Decision(state.skill, blocker) for state in states for blocker in state.blockers if waits_on_user(blocker)]
