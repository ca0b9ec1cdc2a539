from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.protocols.skill.tickets import Ticket, find_threads, read_tickets
from tests.support.documents import document


def ref(name: str, role: str, **more: Any) -> dict[str, Any]:
    return {"provider": "linear", "id": name, "role": role, **more}


def lines(**skills: list[dict[str, Any]]) -> dict[str, str]:
    tickets = {skill: read_tickets(document(skill, pm_refs=refs).value or {}) for skill, refs in skills.items()}
    return {skill: thread.text for skill, thread in find_threads(tickets).items()}


def test_the_thread_goes_from_skill_to_skill() -> None:
    children = [ref(f"PLAT-447{number}", "child") for number in (2, 3, 4)]
    assert lines(
        architect=[ref("PLAT-4471", "source"), *children],
        git=[ref("PLAT-4471", "linked")],
        deploy=[ref("PLAT-4485", "deploy")],
        monitor=[ref("PLAT-4503", "incident")],
        audit=[],
    ) == {
        "architect": "PLAT-4471 (source) + 3 children",
        "git": "PLAT-4471 (linked)",
        "deploy": "PLAT-4485 (deploy) -> PLAT-4471",
        "monitor": "PLAT-4503 (incident) -> PLAT-4485",
    }


def test_what_a_skill_says_itself_counts_more_than_what_its_siblings_have() -> None:
    said = lines(architect=[ref("A-1", "source")], deploy=[ref("A-9", "deploy"), ref("A-2", "linked")])
    assert said["deploy"] == "A-9 (deploy) -> A-2"


def test_of_several_sources_the_last_one_seen_before_is_meant() -> None:
    sources = [
        ref("A-1", "source", first_seen_at="2026-01-01T00:00:00Z"),
        ref("A-2", "source", first_seen_at="2026-02-01T00:00:00Z"),
        ref("A-3", "source", first_seen_at="2026-03-01T00:00:00Z"),
    ]
    said = lines(architect=sources, deploy=[ref("A-9", "deploy", first_seen_at="2026-02-15T00:00:00Z")])
    assert said == {"architect": "A-3 (source) + 2 more", "deploy": "A-9 (deploy) -> A-2"}


def test_an_entry_of_several_sessions_counts_once() -> None:
    refs = [ref("A-1", "source"), ref("A-2", "child"), ref("A-1", "source"), ref("A-2", "child")]
    assert lines(architect=refs) == {"architect": "A-1 (source) + 1 child"}


def test_entries_without_a_role_or_an_id_do_no_harm() -> None:
    assert lines(a=[{"provider": "jira", "id": "X-1"}, {"provider": "jira"}, {"id": None}, {"id": " "}]) == {"a": "X-1"}
    assert lines(a=[{"provider": "github-issues", "id": 12, "role": "source"}]) == {"a": "12 (source)"}
    assert lines(a=[{"provider": "jira"}]) == {}


TICKETS = st.builds(
    Ticket, st.just(""), st.sampled_from("abc"), st.sampled_from(["source", "deploy", "incident"]),
    st.tuples(st.integers(0, 3), st.just("")),
)  # fmt: skip


@given(st.lists(st.lists(TICKETS, max_size=3, unique_by=lambda ticket: ticket.id), min_size=1, max_size=5))
def test_a_deployment_leads_to_the_last_source_of_another_skill_before_it(lists: list[list[Ticket]]) -> None:
    skills = {f"skill-{at}": own for at, own in enumerate(lists)}
    for skill, thread in find_threads(skills).items():
        if thread.leading.role == "deploy" and len(skills[skill]) == 1:
            others = [one for name, found in skills.items() if name != skill for one in found]
            sources = [one for one in others if one.role == "source" and one.id != thread.leading.id]
            earlier = [one for one in sources if one.seen <= thread.leading.seen] or sources
            assert thread.leads_to == (max(earlier, key=lambda one: one.seen).id if earlier else "")
