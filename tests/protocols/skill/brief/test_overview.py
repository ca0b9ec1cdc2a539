from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.protocols.document import find_broken
from checkpoint_git.protocols.skill.brief.brief import Action, find_decisions
from checkpoint_git.protocols.skill.brief.overview import list_briefs
from checkpoint_git.protocols.skill.brief.since import find_changes
from checkpoint_git.protocols.skill.brief.tickets import Ticket, find_threads, read_tickets
from checkpoint_git.protocols.skill.views import UNREADABLE
from tests.support.documents import LIMITS, NOW, broken, decision, document, seconds, work_of


def test_states_go_by_what_matters_most_and_the_rest_by_age() -> None:
    documents = [
        document("finished", status="complete", next_actions=[], updated_at="2026-03-02T08:00:00Z"),
        document("earlier", status="complete", next_actions=[], updated_at="2026-03-02T07:00:00Z"),
        document("working"),
        document("waiting", status="blocked", blockers=[decision()]),
        broken("bad"),
    ]
    assert [state.skill for state in list_briefs(documents, NOW, LIMITS)] == [
        "waiting",
        "working",
        "finished",
        "earlier",
        "bad",
    ]


def test_a_state_says_what_the_checkpoint_says() -> None:
    (state,) = list_briefs(
        [document(pm_refs=[{"provider": "jira", "id": "X-1", "role": "source"}])], NOW, LIMITS
    )
    assert (state.status, state.phase, state.step) == ("in_progress", "build-loop", "sprint-2")
    assert (state.complete_rows, len(state.rows)) == (2, 3)
    assert state.age == seconds("2026-03-02T12:00:00Z") - seconds("2026-03-02T09:30:00Z")
    assert state.actions == [
        Action(0, "Write the notes API", None),
        Action(1, "Run the evaluator", "make eval"),
    ]
    assert state.tickets == "X-1 (source)"
    assert not state.stale


def test_a_file_that_cannot_be_read_is_a_state_of_its_own() -> None:
    (state,) = list_briefs([broken()], NOW, LIMITS)
    assert state.status == UNREADABLE
    assert state.age is None


def test_decisions_are_found_in_all_files_and_at_every_status() -> None:
    documents = [
        document("a", status="complete", blockers=[decision()]),
        document(
            "b", blockers=[decision(id="b1"), decision(id="b2", resolved_at="2026-03-01T00:00:00Z")]
        ),
        document("c", blockers=[decision(needs="code_fix")]),
    ]
    found = find_decisions(list_briefs(documents, NOW, LIMITS))
    assert sorted((each.skill, each.blocker["id"]) for each in found) == [("a", "b1"), ("b", "b1")]


def test_each_broken_file_is_named_once_with_how_much_more_there_is() -> None:
    worse = document("worse", status="nearly", phase="", blockers=[{"id": ""}])
    first, second = find_broken([document(), broken(), worse])
    assert (first.path, first.line, first.column) == (".checkpoints/bad.checkpoint.json", 1, 1)
    assert second.path == ".checkpoints/worse.checkpoint.json"
    errors = sum(finding.level == "error" for finding in worse.findings)
    assert f"{errors - 1} more in this file" in str(second.hint)


def test_changes_are_what_was_written_since_and_what_was_done_since() -> None:
    done = [
        {"text": "Third", "at": "2026-03-02T09:00:00Z"},
        {"text": "Second", "at": "2026-03-01T00:00:00Z"},
        {"text": "First", "at": "2026-02-01T00:00:00Z"},
        {"text": "Undated"},
        "odd",
    ]
    documents = [
        document("old", updated_at="2026-03-01T08:30:00Z"),
        document("new", recently_done=done),
    ]
    (change,) = find_changes(
        documents, list_briefs(documents, NOW, LIMITS), seconds("2026-03-01T12:00:00Z"), {}
    )
    assert change.state.skill == "new"
    assert change.done == ["Third"]


def test_the_instant_itself_counts_as_since() -> None:
    documents = [document()]
    assert find_changes(
        documents, list_briefs(documents, NOW, LIMITS), seconds("2026-03-02T09:30:00Z"), {}
    )


# tickets


def ref(name: str, role: str, **more: Any) -> dict[str, Any]:
    return {"provider": "linear", "id": name, "role": role, **more}


def lines(**skills: list[dict[str, Any]]) -> dict[str, str]:
    tickets = {
        skill: read_tickets(document(skill, pm_refs=refs).value or {})
        for skill, refs in skills.items()
    }
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


def test_an_incident_stands_before_the_deployment_that_it_is_about() -> None:
    refs = [ref("PLAT-4485", "deploy"), ref("PLAT-4503", "incident")]

    assert lines(monitor=refs) == {"monitor": "PLAT-4503 (incident) -> PLAT-4485"}


def test_what_a_skill_says_itself_counts_more_than_what_its_siblings_have() -> None:
    said = lines(
        architect=[ref("A-1", "source")], deploy=[ref("A-9", "deploy"), ref("A-2", "linked")]
    )
    assert said["deploy"] == "A-9 (deploy) -> A-2"


def test_of_several_sources_the_last_one_seen_before_is_meant() -> None:
    sources = [
        ref("A-1", "source", first_seen_at="2026-01-01T00:00:00Z"),
        ref("A-2", "source", first_seen_at="2026-02-01T00:00:00Z"),
        ref("A-3", "source", first_seen_at="2026-03-01T00:00:00Z"),
    ]
    said = lines(
        architect=sources, deploy=[ref("A-9", "deploy", first_seen_at="2026-02-15T00:00:00Z")]
    )
    assert said == {"architect": "A-3 (source) + 2 more", "deploy": "A-9 (deploy) -> A-2"}


def test_an_entry_of_several_sessions_counts_once() -> None:
    refs = [ref("A-1", "source"), ref("A-2", "child"), ref("A-1", "source"), ref("A-2", "child")]
    assert lines(architect=refs) == {"architect": "A-1 (source) + 1 child"}


def test_entries_without_a_role_or_an_id_do_no_harm() -> None:
    assert lines(
        a=[{"provider": "jira", "id": "X-1"}, {"provider": "jira"}, {"id": None}, {"id": " "}]
    ) == {"a": "X-1"}
    assert lines(a=[{"provider": "github-issues", "id": 12, "role": "source"}]) == {
        "a": "12 (source)"
    }
    assert lines(a=[{"provider": "jira"}]) == {}


TICKETS = st.builds(
    Ticket, st.just(""), st.sampled_from("abc"), st.sampled_from(["source", "deploy", "incident"]),
    st.tuples(st.integers(0, 3), st.just("")),
)  # fmt: skip


@given(
    st.lists(
        st.lists(TICKETS, max_size=3, unique_by=lambda ticket: ticket.id), min_size=1, max_size=5
    )
)
def test_a_deployment_leads_to_the_last_source_of_another_skill_before_it(
    lists: list[list[Ticket]],
) -> None:
    skills = {f"skill-{at}": own for at, own in enumerate(lists)}
    for skill, thread in find_threads(skills).items():
        if thread.leading.role == "deploy" and len(skills[skill]) == 1:
            others = [one for name, found in skills.items() if name != skill for one in found]
            sources = [
                one for one in others if one.role == "source" and one.id != thread.leading.id
            ]
            earlier = [one for one in sources if one.seen <= thread.leading.seen] or sources
            assert thread.leads_to == (max(earlier, key=lambda one: one.seen).id if earlier else "")


def test_what_is_merged_is_no_next_action_of_a_state_and_does_not_rank_it() -> None:
    merged = {**work_of("finished", "#1"), **work_of("working", "#1")}
    documents = [
        document(
            "finished",
            status="complete",
            next_actions=["Merge #1"],
            updated_at="2026-03-02T11:00:00Z",
        ),
        document(
            "working",
            next_actions=["Merge #1", {"text": "Write the docs", "done_when": "make docs"}],
        ),
    ]
    working, finished = list_briefs(documents, NOW, LIMITS, merged)
    assert (working.skill, working.actions) == (
        "working",
        [Action(1, "Write the docs", "make docs")],
    )
    assert (finished.actions, [action.text for action in finished.shipped]) == ([], ["Merge #1"])
