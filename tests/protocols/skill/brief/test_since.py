"""What happened between two versions of a checkpoint."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.skill.brief.overview import list_briefs
from checkpoint_git.protocols.skill.brief.since import (
    SinceEvent,
    find_changes,
    find_events,
    read_since,
)
from tests.support.documents import LIMITS, NOW, document, seconds
from tests.support.rows import rows
from tests.support.samples import checkpoint

SINCE = seconds("2026-03-02T00:00:00Z")
BLOCKER = {"id": "b1", "description": "Which region?", "needs": "user_decision"}


def events(before: dict[str, Any], **changes: Any) -> list[tuple[str, str]]:
    """What happened from the sample with some fields to the sample with others."""
    return [
        (event.kind, event.text)
        for event in find_events(checkpoint(**before), checkpoint(**changes), SINCE)
    ]


def test_nothing_that_differs_is_nothing_that_happened() -> None:
    assert events({}) == []


def test_the_fields_that_say_where_it_stands_are_told_from_and_to() -> None:
    assert events({}, status="blocked", phase="release", step="tag") == [
        ("status", "in_progress -> blocked"),
        ("phase", "build-loop -> release"),
        ("step", "sprint-2 -> tag"),
    ]


def test_rows_are_followed_by_their_ids() -> None:
    rows = [
        {"id": "sprint-3", "label": "Sprint 3", "status": "not_started"},
        {"id": "sprint-2", "label": "Sprint 2, renamed", "status": "complete"},
        {"id": "plan", "label": "Plan", "status": "in_progress"},
    ]
    assert events({}, progress_table=rows) == [
        ("completed", "Sprint 2, renamed"),
        ("row", "Sprint 3: new -> not_started"),
        ("row", "Plan: complete -> in_progress"),
    ]


def test_actions_are_done_dropped_or_queued() -> None:
    done = [{"text": "Write the notes API", "at": "2026-03-02T09:00:00Z"}]
    assert events({}, next_actions=["Tag it"], recently_done=done) == [
        ("done", "Write the notes API"),
        ("dropped", "Run the evaluator"),
        ("queued", "Tag it"),
    ]


def test_what_was_done_before_is_not_done_again() -> None:
    done = [{"text": "Pick a host", "at": "2026-03-01T09:00:00Z"}]
    assert events({"recently_done": done}, recently_done=done) == []


def test_new_decisions_are_told_and_old_ones_not() -> None:
    assert events({}, context_primer={"key_decisions": ["Passkeys only", "Two regions"]}) == [
        ("decided", "Two regions")
    ]


@pytest.mark.parametrize("after", [[], [{**BLOCKER, "resolved": True}]])
def test_blockers_open_and_close(after: list[dict[str, Any]]) -> None:
    assert events({"blockers": after}, blockers=[BLOCKER]) == [("opened", "Which region?")]
    assert events({"blockers": [BLOCKER]}, blockers=after) == [("closed", "Which region?")]


def test_tickets_and_what_was_handed_over_are_told_once_each() -> None:
    ref = {"provider": "linear", "id": "T-1", "role": "source"}
    handoff = {"to": "deploy", "summary": "Roll it out", "at": "2026-03-02T09:00:00Z"}
    assert events({}, pm_refs=[ref, ref], handoffs=[handoff, "and tell Ada"]) == [
        ("ticket", "T-1 (source)"),
        ("handed_over", "deploy: Roll it out"),
        ("handed_over", "and tell Ada"),
    ]


def test_without_an_older_version_only_what_carries_a_time_is_told() -> None:
    value = checkpoint(
        created_at="2026-03-02T01:00:00Z",
        recently_done=[
            {"text": "New", "at": "2026-03-02T09:00:00Z"},
            {"text": "Old", "at": "2026-03-01T09:00:00Z"},
        ],
        blockers=[{**BLOCKER, "resolved_at": "2026-03-02T09:00:00Z"}, BLOCKER],
        pm_refs=[{"id": "T-1", "first_seen_at": "2026-03-02T09:00:00Z"}, {"id": "T-2"}],
        handoffs=[{"to": "deploy", "at": "2026-03-02T09:00:00Z"}],
    )
    assert find_events(None, value, SINCE) == [
        SinceEvent("started", "tidepool"),
        SinceEvent("done", "New"),
        SinceEvent("closed", "Which region?"),
        SinceEvent("ticket", "T-1"),
        SinceEvent("handed_over", "deploy"),
    ]


def test_a_checkpoint_is_compared_with_its_own_version_of_then() -> None:
    documents = [document("build"), document("deploy")]
    before = {documents[0].path: checkpoint(step="sprint-1")}
    build, deploy = find_changes(documents, list_briefs(documents, NOW, LIMITS), SINCE, before)
    assert (build.is_compared, build.events) == (True, [SinceEvent("step", "sprint-1 -> sprint-2")])
    assert (deploy.is_compared, deploy.events) == (False, [])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "text", "status", "at"]), inner)
    ),
    max_leaves=6,
)
FIELDS = st.dictionaries(
    st.sampled_from(
        [
            "progress_table",
            "next_actions",
            "recently_done",
            "blockers",
            "pm_refs",
            "handoffs",
            "context_primer",
            "step",
        ]
    ),
    JSON,
)


@given(FIELDS, FIELDS)
def test_a_value_that_breaks_the_schema_breaks_no_digest(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert find_events(before, before, SINCE) == []
    assert all(isinstance(event.text, str) for event in find_events(before, after, SINCE))
    assert isinstance(find_events(None, after, SINCE), list)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("12h", 43_200), ("2d", 172_800), ("yesterday", 99_200), ("3w", 1_814_400)],
)
def test_a_time_may_be_so_long_ago(text: str, seconds: int) -> None:
    assert read_since(text, 2_000_000) == 2_000_000 - seconds


@rows("text", ["", "d", "tomorrow", "2", "2 d", "-2d", "\u0662d", "99999d", "2m"])
def test_any_other_text_is_refused_with_what_to_try(text: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        read_since(text, 2_000_000)
    assert "2d" in (str(caught.value.hint) or "")
