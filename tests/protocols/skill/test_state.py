from checkpoint_git.protocols.document import find_broken
from checkpoint_git.protocols.skill.progress import UNREADABLE
from checkpoint_git.protocols.skill.since import find_changes
from checkpoint_git.protocols.skill.state import find_decisions, find_states
from tests.support.documents import NOW, broken, decision, document, seconds


def test_states_go_by_what_matters_most_and_the_rest_by_age() -> None:
    documents = [
        document("finished", status="complete", next_actions=[], updated_at="2026-03-02T08:00:00Z"),
        document("earlier", status="complete", next_actions=[], updated_at="2026-03-02T07:00:00Z"),
        document("working"),
        document("waiting", status="blocked", blockers=[decision()]),
        broken("bad"),
    ]
    assert [state.skill for state in find_states(documents, NOW)] == [
        "waiting",
        "working",
        "finished",
        "earlier",
        "bad",
    ]


def test_a_state_says_what_the_checkpoint_says() -> None:
    (state,) = find_states([document(pm_refs=[{"provider": "jira", "id": "X-1", "role": "source"}])], NOW)
    assert (state.status, state.phase, state.step) == ("in_progress", "build-loop", "sprint-2")
    assert (state.complete_rows, len(state.rows)) == (2, 3)
    assert state.age == seconds("2026-03-02T12:00:00Z") - seconds("2026-03-02T09:30:00Z")
    assert state.actions == [("Write the notes API", None), ("Run the evaluator", "make eval")]
    assert state.tickets == "X-1 (source)"
    assert not state.stale


def test_a_file_that_cannot_be_read_is_a_state_of_its_own() -> None:
    (state,) = find_states([broken()], NOW)
    assert state.status == UNREADABLE
    assert state.age is None


def test_decisions_are_found_in_all_files_and_at_every_status() -> None:
    documents = [
        document("a", status="complete", blockers=[decision()]),
        document("b", blockers=[decision(id="b1"), decision(id="b2", resolved_at="2026-03-01T00:00:00Z")]),
        document("c", blockers=[decision(needs="code_fix")]),
    ]
    found = find_decisions(find_states(documents, NOW))
    assert sorted((each.skill, each.blocker["id"]) for each in found) == [("a", "b1"), ("b", "b1")]


def test_each_broken_file_is_named_once_with_how_much_more_there_is() -> None:
    worse = document("worse", status="nearly", phase="", blockers=[{"id": ""}])
    first, second = find_broken([document(), broken(), worse])
    assert (first.path, first.line, first.column) == (".checkpoints/bad.checkpoint.json", 1, 1)
    assert second.path == ".checkpoints/worse.checkpoint.json"
    errors = sum(finding.level == "error" for finding in worse.findings)
    assert f"{errors - 1} more in this file" in second.hint


def test_changes_are_what_was_written_since_and_what_was_done_since() -> None:
    done = [
        {"text": "Third", "at": "2026-03-02T09:00:00Z"},
        {"text": "Second", "at": "2026-03-01T00:00:00Z"},
        {"text": "First", "at": "2026-02-01T00:00:00Z"},
        {"text": "Undated"},
        "odd",
    ]
    documents = [document("old", updated_at="2026-03-01T08:30:00Z"), document("new", recently_done=done)]
    (change,) = find_changes(documents, find_states(documents, NOW), seconds("2026-03-01T12:00:00Z"))
    assert change.state.skill == "new"
    assert change.done == ["Third"]


def test_the_instant_itself_counts_as_since() -> None:
    documents = [document()]
    assert find_changes(documents, find_states(documents, NOW), seconds("2026-03-02T09:30:00Z"))
