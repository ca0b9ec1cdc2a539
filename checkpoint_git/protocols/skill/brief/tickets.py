"""Find which ticket stands for a checkpoint, and which other one it leads back to. Pure."""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

from checkpoint_git.core.clock import read_instant
from checkpoint_git.protocols.skill import views

# which ticket stands for a checkpoint: the first of these roles that it has, and of those the one
# added last; an incident first, since it is what somebody has to know
_LEADING_ROLES = ("incident", "deploy", "source", "linked", "child")
# what a ticket leads back to: a deployment to what was built, an incident to what was deployed
_LEADS_TO = {"deploy": ("source",), "incident": ("deploy", "source")}
_OWN_HINTS = ("source", "linked", "deploy")

Instant = tuple[int, str]
_Seen = tuple[Instant, int, str, str]  # when, whose turn it is among equals, whose it is, its id


class Ticket(NamedTuple):
    """Hold one entry of pm_refs.

    seen: when the skill first saw it, else when its checkpoint was last written.
    """

    provider: str
    id: str
    role: str
    seen: Instant


class Thread(NamedTuple):
    """Hold how a checkpoint's tickets hang together.

    leading: the ticket that stands for the checkpoint. leads_to: the id it goes back to, "" for
    none. children, others: how many there are besides.
    """

    leading: Ticket
    leads_to: str
    children: int
    others: int

    @property
    def text(self) -> str:
        """Return one line, such as: PLAT-4471 (source) + 3 children."""
        first = self.leading.id
        if self.leading.role:
            first += f" ({self.leading.role})"
        if self.leads_to:
            first += f" -> {self.leads_to}"

        parts = [first]
        if self.children == 1:
            parts.append("1 child")
        elif self.children:
            parts.append(f"{self.children} children")
        if self.others:
            parts.append(f"{self.others} more")
        return " + ".join(parts)


def find_threads(tickets: Mapping[str, list[Ticket]]) -> dict[str, Thread]:
    """Return the thread of each skill that has tickets. tickets: by skill, see read_tickets."""
    by_role: dict[str, list[_Seen]] = {}
    for skill, tickets_of_skill in tickets.items():
        for ticket in tickets_of_skill:
            of_role = by_role.setdefault(ticket.role, [])
            of_role.append((ticket.seen, -len(of_role), skill, ticket.id))

    for of_role in by_role.values():
        of_role.sort()

    return {
        skill: _find_thread(skill, tickets_of_skill, by_role)
        for skill, tickets_of_skill in tickets.items()
        if tickets_of_skill
    }


def read_tickets(value: dict[str, Any]) -> list[Ticket]:
    """Return the tickets of a checkpoint, each once, as its last entry has it.

    Sessions append tickets that earlier ones had already.
    """
    written = read_instant(value.get("updated_at")) or (0, "")
    tickets: dict[tuple[str, str], Ticket] = {}
    for ref in views.read_objects(value, "pm_refs"):
        name = ref.get("id")
        if not isinstance(name, str | int) or isinstance(name, bool) or not str(name).strip():
            continue
        ticket = Ticket(
            provider=views.text_field(ref, "provider"),
            id=str(name),
            role=views.text_field(ref, "role"),
            seen=read_instant(ref.get("first_seen_at")) or written,
        )
        key = (ticket.provider, ticket.id)
        tickets.pop(key, None)  # the last entry has its place too
        tickets[key] = ticket

    return list(tickets.values())


def _find_thread(skill: str, tickets: list[Ticket], by_role: dict[str, list[_Seen]]) -> Thread:
    """Return the thread of a skill. tickets: its own, at least one. by_role: those of all."""
    leading = _find_leading(tickets)
    others = [ticket for ticket in tickets if ticket.id != leading.id]
    target = _find_target(leading, others, skill, by_role)
    children = sum(ticket.role == "child" for ticket in others)
    rest = len(others) - children - any(ticket.id == target for ticket in others)
    return Thread(leading, target, children, rest)


def _find_leading(tickets: list[Ticket]) -> Ticket:
    """Return the ticket that stands for a checkpoint: see _LEADING_ROLES, else the last one."""
    for role in _LEADING_ROLES:
        for ticket in reversed(tickets):
            if ticket.role == role:
                return ticket
    return tickets[-1]


def _find_target(
    leading: Ticket, others: list[Ticket], skill: str, by_role: dict[str, list[_Seen]]
) -> str:
    """Return the id that the leading ticket goes back to, "" for none.

    It is what the skill's own tickets say, else the sibling's ticket that was seen last before it.
    """
    wanted = _LEADS_TO.get(leading.role, ())
    if not wanted:
        return ""
    of_skill = [ticket for ticket in others if ticket.role in _OWN_HINTS]
    if of_skill:
        return of_skill[-1].id

    for role in wanted:
        of_role = by_role.get(role, [])
        later = bisect_right(of_role, leading.seen, key=lambda seen: seen[0])
        # those seen before it, the last first, then the later ones
        for index in chain(range(later - 1, -1, -1), range(len(of_role) - 1, later - 1, -1)):
            _, _, owner, name = of_role[index]
            if owner != skill and name != leading.id:
                return name

    return ""
