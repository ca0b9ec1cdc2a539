"""Where everything stands: one state a checkpoint, decisions first. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.hint import Hint, command
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import views
from checkpoint_git.protocols.skill.brief import next_action
from checkpoint_git.protocols.skill.drift.merged_work import NOTHING, Facts, Work, find_text_facts

# which ticket stands for a checkpoint: the first of these roles that it has, and of those the one added last;
# an incident first, since it is what somebody has to know
_LEADING_ROLES = ("incident", "deploy", "source", "linked", "child")
# what a ticket leads back to: a deployment to what was built, an incident to what was deployed
_LEADS_TO = {"deploy": ("source",), "incident": ("deploy", "source")}
_OWN_HINTS = ("source", "linked", "deploy")

Instant = tuple[int, str]


class State(NamedTuple):
    """One checkpoint, as far as it can be read. status: "unreadable" where it is no JSON object, else what it says, "?"
    where it says nothing. age: seconds since updated_at, None where that is no instant. budget: by how much it is over,
    else "". tickets: a line, "". actions: without those that merges finished: these are in shipped. blockers: the open
    ones. answers: what settles each. proposals: what is true of the references in each one's proposal. superseded: what
    merges set aside of the head.
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
    actions: list[next_action.Action]
    shipped: list[next_action.Action]
    blockers: list[dict[str, Any]]
    answers: list[Hint]
    proposals: list[Facts]
    superseded: list[str]


class Decision(NamedTuple):
    skill: str
    blocker: dict[str, Any]
    answer_with: Hint
    proposal: Facts = ()


class Ticket(NamedTuple):
    """One entry of pm_refs. seen: when the skill first saw it, else when its checkpoint was last written."""

    provider: str
    id: str
    role: str
    seen: Instant


class Thread(NamedTuple):
    """leading: the ticket that stands for the checkpoint. leads_to: the id it goes back to, "". others: by role."""

    leading: Ticket
    leads_to: str
    children: int
    others: int

    @property
    def text(self) -> str:
        """One line, such as: PLAT-4471 (source) + 3 children."""
        role = f" ({self.leading.role})" if self.leading.role else ""
        words = [f"{self.leading.id}{role}{f' -> {self.leads_to}' if self.leads_to else ''}"]
        if self.children:
            words.append(f"{self.children} {'child' if self.children == 1 else 'children'}")
        if self.others:
            words.append(f"{self.others} more")
        return " + ".join(words)


def find_states(documents: Iterable[Document], now: int, work: Work = NOTHING) -> list[State]:
    """What matters most first; those with nothing to do last, newest first. No document is held for long."""
    states, actions, tickets = list[State](), list[next_action.NextAction](), dict[str, list[Ticket]]()
    for document in documents:
        states.append(find_state(document, now, "", work))
        actions += next_action.plan_queue([document], work).actions
        tickets[document.skill] = read_tickets(document.value or {})
    order = {action.skill: at for at, action in enumerate(next_action.sort_actions(actions))}
    threads = {skill: thread.text for skill, thread in find_threads(tickets).items()}
    states = [state._replace(tickets=threads[state.skill]) if state.skill in threads else state for state in states]
    newest = sorted(states, key=lambda state: read_instant(state.updated_at) or (0, ""), reverse=True)
    return sorted(newest, key=lambda state: order.get(state.skill, len(order)))


def find_state(document: Document, now: int, tickets: str = "", work: Work = NOTHING) -> State:
    """One document's state. tickets: its line, which other documents have a part in."""
    value = document.value or {}
    known = work.get(document.path, {})
    actions, shipped = next_action.split_actions(document, known)
    complete, _ = views.count_rows(value)
    blockers = views.open_blockers(value)
    return State(
        skill=document.skill,
        path=document.path,
        project=views.text_field(value, "project"),
        phase=views.text_field(value, "phase"),
        step=views.text_field(value, "step"),
        status=views.UNREADABLE if document.value is None else views.text_field(value, "status") or "?",
        summary=views.text_field(value, "progress_summary"),
        updated_at=views.text_field(value, "updated_at"),
        age=views.find_age(value, now),
        stale=views.is_stale(value, now),
        unstarted=views.is_unstarted(value),
        budget=views.describe_budget(value),
        complete_rows=complete,
        rows=views.read_objects(value, "progress_table"),
        tickets=tickets,
        actions=actions,
        shipped=shipped,
        blockers=blockers,
        answers=[command(*argv) for _, argv in views.find_answers(document.skill, value)],
        proposals=[find_text_facts(views.text_field(blocker, "proposed_resolution"), known) for blocker in blockers],
        superseded=views.describe_superseded(value),
    )


def find_decisions(states: Sequence[State]) -> list[Decision]:
    every = [(one, each) for one in states for each in zip(one.blockers, one.answers, one.proposals, strict=True)]
    return [Decision(state.skill, *each) for state, each in every if views.waits_on_user(each[0])]


def find_threads(tickets: Mapping[str, list[Ticket]]) -> dict[str, Thread]:
    by_role: dict[str, list[_Seen]] = {}
    for skill, own in tickets.items():
        for ticket in own:
            found = by_role.setdefault(ticket.role, [])
            found.append((ticket.seen, -len(found), skill, ticket.id))
    for found in by_role.values():
        found.sort()
    return {skill: _find_thread(skill, own, by_role) for skill, own in tickets.items() if own}


_Seen = tuple[Instant, int, str, str]  # when, whose turn it is among equals, whose it is, its id


def read_tickets(value: dict[str, Any]) -> list[Ticket]:
    """The tickets of a checkpoint, each once, where it stands last: sessions append what earlier ones had already."""
    written = read_instant(value.get("updated_at")) or (0, "")
    tickets: dict[tuple[str, str], Ticket] = {}
    for ref in views.read_objects(value, "pm_refs"):
        name = ref.get("id")
        if isinstance(name, str | int) and not isinstance(name, bool) and str(name).strip():
            seen = read_instant(ref.get("first_seen_at")) or written
            ticket = Ticket(views.text_field(ref, "provider"), str(name), views.text_field(ref, "role"), seen)
            tickets.pop(ticket[:2], None)
            tickets[ticket[:2]] = ticket
    return list(tickets.values())


def _find_thread(skill: str, own: list[Ticket], by_role: dict[str, list[_Seen]]) -> Thread:
    newest = (ticket for role in _LEADING_ROLES for ticket in reversed(own) if ticket.role == role)
    leading = next(newest, own[-1])
    others = [ticket for ticket in own if ticket.id != leading.id]
    target = _find_target(leading, others, skill, by_role)
    children = sum(ticket.role == "child" for ticket in others)
    rest = len(others) - children - any(ticket.id == target for ticket in others)
    return Thread(leading, target, children, rest)


def _find_target(leading: Ticket, others: list[Ticket], skill: str, by_role: dict[str, list[_Seen]]) -> str:
    """What the leading ticket goes back to: by the skill's own word, else the sibling's ticket seen last before it."""
    wanted = _LEADS_TO.get(leading.role, ())
    if not wanted:
        return ""
    said = [ticket for ticket in others if ticket.role in _OWN_HINTS]
    if said:
        return said[-1].id
    for role in wanted:
        of_role = by_role.get(role, [])
        later = bisect_right(of_role, leading.seen, key=lambda seen: seen[0])
        for at in chain(range(later - 1, -1, -1), range(len(of_role) - 1, later - 1, -1)):
            _, _, owner, name = of_role[at]
            if owner != skill and name != leading.id:
                return name
    return ""
