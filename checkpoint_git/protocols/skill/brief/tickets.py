"""Which ticket stands for a checkpoint, and which other one it leads back to. Pure."""

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


class Ticket(NamedTuple):
    """One entry of pm_refs. seen: when the skill first saw it, else when its checkpoint was last
    written.
    """

    provider: str
    id: str
    role: str
    seen: Instant


class Thread(NamedTuple):
    """leading: the ticket that stands for the checkpoint. leads_to: the id it goes back to, "".
    others: by role.
    """

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
    """The tickets of a checkpoint, each once, its state last: sessions append what earlier ones had
    already.
    """
    written = read_instant(value.get("updated_at")) or (0, "")
    tickets: dict[tuple[str, str], Ticket] = {}
    for ref in views.read_objects(value, "pm_refs"):
        name = ref.get("id")
        if isinstance(name, str | int) and not isinstance(name, bool) and str(name).strip():
            seen = read_instant(ref.get("first_seen_at")) or written
            ticket = Ticket(
                views.text_field(ref, "provider"), str(name), views.text_field(ref, "role"), seen
            )
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


def _find_target(
    leading: Ticket, others: list[Ticket], skill: str, by_role: dict[str, list[_Seen]]
) -> str:
    """What the leading ticket goes back to: by the skill's own word, else the sibling's ticket seen
    last before it.
    """
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
