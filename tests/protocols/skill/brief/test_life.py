from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.protocols.skill.brief.life import (
    KINDS,
    History,
    LifeEvent,
    find_events,
    find_own_events,
    fold_rotation,
    is_wanted,
    read_history,
)
from tests.support.samples import checkpoint


def tell(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [
        (event.kind, event.subject, event.before, event.after)
        for event in find_events(before, after)
    ]


def test_a_row_that_advances_is_told_by_its_id_with_what_it_was() -> None:
    rows = [dict(row) for row in checkpoint()["progress_table"]]
    rows[2]["status"] = "complete"
    assert tell(checkpoint(), checkpoint(progress_table=rows)) == [
        ("completed", "sprint-2", "in_progress", "complete"),
    ]


def test_rows_that_come_and_go_are_told() -> None:
    first, second = (
        {"id": "a", "label": "A", "status": "not_started"},
        {"id": "b", "label": "B", "status": "failed"},
    )
    assert tell(checkpoint(progress_table=[first]), checkpoint(progress_table=[second])) == [
        ("row", "b", "new", "failed"),
        ("row_gone", "a", "not_started", ""),
    ]


def test_decisions_made_and_taken_out_are_told() -> None:
    before = checkpoint(context_primer={"key_decisions": ["SQLite", "Tabs"]})
    after = checkpoint(context_primer={"key_decisions": ["SQLite", "Spaces"]})
    assert tell(before, after) == [("decided", "Spaces", "", ""), ("withdrawn", "Tabs", "", "")]


def test_a_blocker_opens_and_closes_by_its_id() -> None:
    blocker = {"id": "b1", "description": "Which host?"}
    events = find_events(checkpoint(), checkpoint(blockers=[blocker]))
    assert [(event.kind, event.text) for event in events] == [("opened", "Which host?")]
    assert tell(
        checkpoint(blockers=[blocker]), checkpoint(blockers=[{**blocker, "resolved": True}])
    ) == [("closed", "b1", "", "")]


def test_a_done_action_is_not_told_as_taken_off_the_list() -> None:
    after = checkpoint(
        next_actions=["Plan"],
        recently_done=[{"text": "Write the notes API", "at": "2026-03-02T10:00:00Z"}],
    )
    assert [(event.kind, event.text) for event in find_events(checkpoint(), after)] == [
        ("done", "Write the notes API"),
        ("dropped", "Run the evaluator"),
        ("queued", "Plan"),
    ]


def test_fields_tickets_and_handoffs_are_told_in_one_order() -> None:
    after = checkpoint(
        status="complete",
        phase="release",
        pm_refs=[{"id": "AB-1", "role": "source"}],
        handoffs=["to ops"],
    )
    assert [event.kind for event in find_events(checkpoint(), after)] == [
        "status",
        "phase",
        "ticket",
        "handed_over",
    ]


def test_private_state_and_the_summary_are_no_events() -> None:
    assert (
        find_events(checkpoint(), checkpoint(skill_state={"secret": 1}, progress_summary="other"))
        == []
    )


def test_of_a_merge_only_what_no_parent_had_is_its_own() -> None:
    ours = checkpoint(context_primer={"key_decisions": ["A", "B"]}, step="ours")
    theirs = checkpoint(context_primer={"key_decisions": ["A", "C"]}, step="theirs")
    result = checkpoint(context_primer={"key_decisions": ["A", "B", "C", "D"]}, step="merged")
    assert [
        (event.kind, event.text, event.after) for event in find_own_events([ours, theirs], result)
    ] == [
        ("step", "", "merged"),
        ("decided", "D", ""),
    ]


def test_a_clean_merge_has_no_events_of_its_own() -> None:
    rows = [
        {"id": "a", "label": "A", "status": "complete"},
        {"id": "b", "label": "B", "status": "not_started"},
    ]
    ours = checkpoint(progress_table=[rows[0], rows[1]])
    theirs = checkpoint(
        progress_table=[{**rows[0], "status": "in_progress"}, {**rows[1], "status": "complete"}]
    )
    result = checkpoint(progress_table=[rows[0], {**rows[1], "status": "complete"}])
    assert find_own_events([ours, theirs], result) == []


def test_a_rotation_is_one_event_and_hides_what_moved() -> None:
    events = [LifeEvent("withdrawn", text, text) for text in ("old one", "gone for good")]
    past = [
        History(
            "history/build.x.json",
            {"/context_primer/key_decisions": ["old one"], "/superseded": [1, 2]},
        )
    ]
    folded = fold_rotation(events, past, is_gone=False)
    assert [(event.kind, event.text) for event in folded] == [
        ("withdrawn", "gone for good"),
        ("rotated", "3 entries"),
    ]


def test_an_archived_checkpoint_is_not_told_as_deleted() -> None:
    folded = fold_rotation(
        [LifeEvent("deleted", "", "x")], [History("history/build.x.json", {})], is_gone=True
    )
    assert [event.kind for event in folded] == ["archived"]


def test_a_history_file_of_another_skill_is_left_aside() -> None:
    document = {"skill": "build", "entries": [{"where": "/superseded", "items": [1]}]}
    assert read_history("p", document, "build") == History("p", {"/superseded": [1]})
    assert read_history("p", document, "deploy") is None
    assert read_history("p", {"skill": "build"}, "build") is None
    assert read_history("p", [1], "build") is None


def test_filters_take_rows_by_id_and_decisions_with_blockers() -> None:
    row, decided, step = (
        LifeEvent("row", "r1", ""),
        LifeEvent("decided", "x", "x"),
        LifeEvent("step", "step", ""),
    )
    assert [is_wanted(each, ["r1"], False) for each in (row, decided, step)] == [True, False, False]
    assert [is_wanted(each, [], True) for each in (row, decided, step)] == [True, True, False]
    assert [is_wanted(each, ["r2"], False) for each in (row, decided, step)] == [
        False,
        False,
        False,
    ]
    assert all(is_wanted(each, None, False) for each in (row, decided, step))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("id", "status", "text", "items")), inner)
    ),
    max_leaves=8,
)
KEYS = (
    "status",
    "progress_table",
    "blockers",
    "next_actions",
    "recently_done",
    "context_primer",
    "pm_refs",
    "handoffs",
)
ANYTHING = st.dictionaries(st.sampled_from(KEYS), JSON)


@given(ANYTHING, ANYTHING)
def test_whatever_the_versions_hold_they_can_be_compared(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert all(event.kind in KINDS for event in find_events(before, after))
    assert find_events(after, after) == []


@given(ANYTHING, ANYTHING)
def test_a_merge_that_took_one_side_whole_decided_nothing(
    ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    assert find_own_events([ours, theirs], theirs) == []
