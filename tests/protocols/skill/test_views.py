"""Readers of a checkpoint's parts bear any value."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.protocols.document import Document, find_broken
from checkpoint_git.protocols.skill import views
from checkpoint_git.protocols.skill.brief.brief import make_brief
from checkpoint_git.protocols.skill.brief.next_action import plan_queue
from checkpoint_git.protocols.skill.brief.resume_plan import plan_resume
from checkpoint_git.protocols.skill.views import (
    count_rows,
    describe_budget,
    find_age,
    find_gate,
    is_stale,
    is_unstarted,
    outline,
)
from tests.support.documents import LIMITS, NOW, broken, decision, document, work_of
from tests.support.samples import checkpoint

ODD: list[Any] = [None, 0, 1.5, True, "", "x", [], {}, [[]], [None], {"a": 1}]


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_value_has_no_parts(odd: Any) -> None:
    value = {"blockers": odd, "next_actions": odd}
    assert views.open_blockers(value) == ([odd[0]] if odd == [{"a": 1}] else [])
    assert views.read_list(value, "next_actions") == (odd if isinstance(odd, list) else [])
    assert views.read_objects(value, "next_actions") == []
    assert views.action_done_when(odd) is None
    assert views.action_text(odd) == (odd if isinstance(odd, str) else "")
    assert not views.is_reviewed(odd)


def test_the_public_part_has_no_private_state_and_no_field_of_ones_own() -> None:
    public = views.public_view(checkpoint(my_own=1, superseded=[], recently_done=[]))
    assert list(public) == [key for key in checkpoint() if key != "skill_state"]


@pytest.mark.parametrize(
    ("fields", "is_open"),
    [
        ({}, True),
        ({"resolved": False}, True),
        ({"resolved": "yes"}, True),
        ({"resolved": True}, False),
        ({"resolved_at": "2026-03-02T12:00:00Z"}, False),
        ({"resolved_at": ""}, True),
    ],
)
def test_a_blocker_is_open_until_it_is_resolved(fields: dict[str, Any], is_open: bool) -> None:
    blocker = {"id": "b", "description": "x", "needs": "user_decision", **fields}
    assert views.is_open(blocker) is is_open
    assert views.waits_on_user(blocker) is is_open
    assert views.open_blockers({"blockers": [1, blocker]}) == ([blocker] if is_open else [])
    assert not views.waits_on_user({**blocker, "needs": "code_fix"})


def test_an_action_is_a_text_or_an_object() -> None:
    assert views.action_text({"text": "go", "done_when": "make"}) == views.action_text("go") == "go"
    assert views.action_done_when({"text": "go", "done_when": "make"}) == "make"
    assert views.action_done_when({"text": "go", "done_when": "  "}) is None


def test_a_superseded_narrative_is_reviewed_when_it_is_marked_so() -> None:
    assert views.is_reviewed({"reviewed": True})
    assert views.is_reviewed({"reviewed_at": "2026-03-02T12:00:00Z"})
    assert not views.is_reviewed({"reviewed": "no"})


# progress


WRITTEN = (read_instant("2026-03-02T09:30:00Z") or (0, ""))[0]


@pytest.mark.parametrize(
    ("field", "text", "at_gate"),
    [
        ("step", "sprint-2-review", True),
        ("step", "awaiting-approval", True),
        ("step", "sign-off", True),
        ("step", "waiting for sign_off", True),
        ("phase", "gate", True),
        ("phase", "Quality Gate 2", True),
        ("step", "spec-approved", False),
        ("step", "gate-passed", False),
        ("step", "review-merged", False),
        ("step", "navigate", False),
        ("step", "sign-in", False),
        ("phase", "build-loop", False),
    ],
)
def test_a_phase_or_step_is_at_a_gate_when_it_names_one_that_is_ahead(
    field: str, text: str, at_gate: bool
) -> None:
    assert find_gate(checkpoint(**{field: text})) == (text if at_gate else "")


def test_a_step_that_says_its_gate_is_over_speaks_for_its_phase() -> None:
    assert find_gate(checkpoint(phase="gate", step="gate-passed")) == ""
    assert find_gate(checkpoint(phase="gate", step="tests-done")) == "gate"


def test_rows_are_counted_whatever_else_is_in_the_table() -> None:
    assert count_rows(checkpoint()) == (2, 3)
    assert count_rows(checkpoint(progress_table=["x", None, {"status": "complete"}])) == (1, 1)
    assert count_rows(checkpoint(progress_table={"status": "complete"})) == (0, 0)


def test_work_is_unstarted_when_there_are_rows_and_none_was_begun() -> None:
    assert is_unstarted(checkpoint(progress_table=[{"status": "not_started"}]))
    assert not is_unstarted(
        checkpoint(progress_table=[{"status": "not_started"}, {"status": "in_progress"}])
    )
    assert not is_unstarted(checkpoint(progress_table=[]))


@pytest.mark.parametrize(
    ("status", "age", "stale"),
    [
        ("in_progress", 7 * DAY, False),
        ("in_progress", 7 * DAY + 1, True),
        ("blocked", 30 * DAY, False),
        ("complete", 30 * DAY, False),
    ],
)
def test_only_work_in_progress_goes_stale_and_after_more_than_seven_days(
    status: str, age: int, stale: bool
) -> None:
    assert is_stale(checkpoint(status=status), WRITTEN + age, 7) == stale


def test_an_age_needs_an_instant() -> None:
    assert find_age(checkpoint(), WRITTEN + 5) == 5
    assert find_age(checkpoint(updated_at="2026-13-45"), WRITTEN) is None
    assert find_age(checkpoint(updated_at="2026-03-02T10:30:00+01:00"), WRITTEN) == 0


@pytest.mark.parametrize(
    ("cost", "over"),
    [
        ({"total_usd": 2.5, "budget_usd": 2}, True),
        ({"total_usd": 2, "budget_usd": 2}, False),
        ({"total_usd": "9", "budget_usd": 2}, False),
        ({"total_usd": True, "budget_usd": 0}, False),
        ({"total_usd": 9}, False),
        ([9, 2], False),
        (..., False),
    ],
)
def test_over_budget_is_a_total_above_its_budget(cost: Any, over: bool) -> None:
    assert bool(describe_budget(checkpoint(cost=cost))) == over


@pytest.mark.parametrize(
    ("total", "told"),
    [(12.5, "12.5"), (9, "9"), (10**400, "10000000000000000..."), (float("inf"), "inf")],
)
def test_by_how_much_the_budget_was_exceeded_is_told(total: float, told: str) -> None:
    assert (
        describe_budget(checkpoint(cost={"total_usd": total, "budget_usd": 1}))
        == f"over budget ({told} of 1 USD)"
    )


# what is kept of a document where there are thousands

STATUSES: st.SearchStrategy[Any] = st.sampled_from(
    ["complete", "in_progress", "not_started", "failed", "skipped", "blocked", "odd", 7, None, []]
)
ROWS = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"label": st.text(max_size=3)}, optional={"status": STATUSES, "id": st.text(max_size=2)}
        ),
        st.sampled_from(["x", None]),
    ),
    max_size=4,
)
DOCUMENTS = st.builds(
    document,
    skill=st.sampled_from(["build", "deploy"]),
    status=STATUSES,
    phase=st.sampled_from(["build-loop", "gate", 3]),
    updated_at=st.sampled_from(["2026-03-02T09:30:00Z", "2026-01-01T00:00:00Z", "soon"]),
    progress_table=st.one_of(ROWS, st.just({"status": "failed"})),
    next_actions=st.lists(st.sampled_from(["Merge #12", {"text": "Test", "done_when": "make"}, 3]), max_size=3),
    blockers=st.lists(st.sampled_from([decision(), decision(resolved=True), decision(needs="time"), "x"]), max_size=2),
    cost=st.sampled_from([{"total_usd": 3, "budget_usd": 2}, None]),
    pm_refs=st.lists(st.sampled_from([{"id": "T-1", "role": "source"}, {"id": "T-2", "role": "deploy"}]), max_size=2),
)  # fmt: skip


@given(DOCUMENTS)
def test_the_outline_of_a_document_answers_what_is_asked_of_all_documents_as_the_whole_does(
    whole: Document,
) -> None:
    kept = outline(whole)
    assert kept.text is None
    assert (kept.path, kept.skill, kept.size, kept.is_valid) == (
        whole.path,
        whole.skill,
        whole.size,
        whole.is_valid,
    )
    assert find_broken([kept]) == find_broken([whole])
    for work in ({}, work_of(whole.skill, "#12")):
        known = work.get(whole.path)
        brief, full = make_brief(kept, NOW, LIMITS, known), make_brief(whole, NOW, LIMITS, known)
        assert brief._replace(rows=[]) == full._replace(rows=[])
        assert [row.get("status") for row in brief.rows] == [row.get("status") for row in full.rows]
        assert plan_queue([brief]) == plan_queue([full])
        assert plan_resume(kept, brief) == plan_resume(whole, full)


def test_the_outline_of_an_unreadable_file_keeps_why_it_is() -> None:
    assert outline(broken(data=b"{")).findings == broken(data=b"{").findings
    assert find_broken([outline(broken(data=b"{"))]) == find_broken([broken(data=b"{")])


def test_the_outline_of_a_large_document_is_small() -> None:
    whole = document(
        context_primer={"key_decisions": ["x" * 99] * 99}, skill_state={"runs": ["y" * 99] * 99}
    )
    assert len(repr(outline(whole))) < len(repr(whole)) / 8
