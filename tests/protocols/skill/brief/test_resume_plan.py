from typing import Any

import pytest

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.brief.brief import Action, make_brief
from checkpoint_git.protocols.skill.brief.resume_plan import (
    QUESTION,
    ResumePlan,
    find_background,
    find_contradictions,
    plan_missing,
    plan_resume,
)
from checkpoint_git.protocols.skill.drift.merged_work import Known
from tests.support.documents import LIMITS, NOW, broken, decision, document, facts_of
from tests.support.samples import checkpoint_text


def plan_of(asked: Document, now: int = NOW, known: Known | None = None) -> ResumePlan:
    return plan_resume(asked, make_brief(asked, now, LIMITS, known))


def contradictions_of(asked: Document) -> list[Finding]:
    return find_contradictions(asked, make_brief(asked, NOW, LIMITS))


def test_fresh_work_in_progress_goes_on() -> None:
    plan = plan_of(document())
    assert (plan.decision, plan.reasons, plan.question) == ("continue", (), "")


def test_the_orientation_is_the_protocols_five_lines() -> None:
    assert plan_of(document()).orientation == (
        "RESUMING: build on tidepool",
        "Last session: 2026-03-02T09:30:00Z (2h ago)",
        "Status: in_progress — Sprint 1 is done; sprint 2 has its contract.",
        "Progress: 2/3 phases complete",
        "Next: Write the notes API",
    )


@pytest.mark.parametrize(
    ("changes", "now", "reasons"),
    [
        ({"status": "blocked", "blockers": [decision()]}, NOW, ("blocked",)),
        ({"status": "failed"}, NOW, ("failed",)),
        ({}, NOW + 8 * DAY, ("stale",)),
        ({"project": ""}, NOW, ("invalid",)),
        ({"status": "blocked", "progress_summary": 7}, NOW, ("invalid", "blocked")),
    ],
)
def test_blocked_failed_stale_or_invalid_work_is_asked_about(
    changes: dict[str, Any], now: int, reasons: tuple[str, ...]
) -> None:
    plan = plan_of(document(**changes), now)
    assert (plan.decision, plan.reasons, plan.question) == ("ask", reasons, QUESTION)
    assert [answer.name for answer in plan.answers] == ["continue", "restart", "show"]


def test_complete_work_is_told_as_such_and_offers_what_is_next() -> None:
    plan = plan_of(document(status="complete"), NOW + 90 * DAY)
    assert plan.decision == "complete"
    assert plan.why == "complete, with work still queued"
    done = plan_of(document(status="complete", next_actions=[]), NOW)
    assert [answer.name for answer in done.answers] == ["restart", "elsewhere"]


def test_a_missing_checkpoint_is_a_fresh_start() -> None:
    plan = plan_missing("build")
    assert (plan.decision, plan.reasons, plan.orientation) == ("start_fresh", ("missing",), ())


@pytest.mark.parametrize(
    "data", [b"null", b"[]", b"{", b"\xff", b'{"a": 1, "a": 2}', b"<<<<<<< ours\n"]
)
def test_a_corrupt_checkpoint_is_a_fresh_start_that_says_why(data: bytes) -> None:
    plan = plan_of(broken(data=data), NOW)
    assert (plan.decision, plan.reasons) == ("start_fresh", ("corrupt",))
    assert broken(data=data).findings[0].message in plan.why
    assert str(plan.answers[0].command).startswith("checkpoint reset bad")


@pytest.mark.parametrize("version", ["2.0", 1.0, None, ...])
def test_an_incompatible_version_is_a_fresh_start_that_says_why(version: Any) -> None:
    plan = plan_of(document(protocol_version=version), NOW)
    assert (plan.decision, plan.reasons) == ("start_fresh", ("incompatible",))
    assert "1.0 and 1.1" in plan.why


def test_the_context_is_what_a_session_reads_first() -> None:
    asking = document(blockers=[decision(), decision(id="b2", needs="code_fix")])
    context, brief = find_background(asking), make_brief(asking, NOW, LIMITS)
    assert context.primer["key_decisions"] == ["SQLite for storage", "Passkeys only"]
    assert context.primer["generated_files"] == ["docs/plan.md"]
    assert context.primer["user_preferences"] == ["Short answers"]
    assert [blocker.value["id"] for blocker in brief.decisions] == ["b1"]
    assert [blocker.value["id"] for blocker in brief.blockers] == ["b1", "b2"]
    assert brief.actions == [
        Action(0, "Write the notes API", None),
        Action(1, "Run the evaluator", "make eval"),
    ]


def test_actions_that_have_shipped_are_passed_over() -> None:
    merged = facts_of("#1")
    asking = document(
        next_actions=["Merge #1", {"text": "Run the evaluator", "done_when": "make eval"}]
    )
    plan = plan_of(asking, NOW, merged)
    assert plan.orientation[-1] == "Next: Run the evaluator"
    assert make_brief(asking, NOW, LIMITS, merged).actions == [
        Action(1, "Run the evaluator", "make eval")
    ]
    done = plan_of(document(status="complete", next_actions=["Merge #1"]), NOW, merged)
    assert done.why == "all of it is complete"
    live = document(next_actions=["After #1: deploy"])
    assert plan_of(live, NOW, merged).orientation[-1] == "Next: After #1: deploy"
    assert make_brief(live, NOW, LIMITS, merged).actions == [
        Action(0, "After #1: deploy", None, tuple(merged.values()))
    ]


# contradictions

DONE = {"id": "sprint-1", "label": "Sprint 1", "status": "complete"}
OPEN = {"id": "sprint-2", "label": "Sprint 2", "status": "in_progress"}
SKIPPED = {"id": "sprint-3", "label": "Sprint 3", "status": "skipped"}


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, []),
        ({"step": "sprint-2-eval-round-1"}, []),
        ({"status": "complete", "progress_table": [DONE, OPEN]}, ["resume/open-rows"]),
        ({"status": "complete", "progress_table": [DONE, SKIPPED]}, []),
        ({"progress_table": [DONE, SKIPPED]}, ["resume/no-open-row"]),
        ({"progress_table": []}, []),
        ({"step": "sprint-1", "progress_table": [DONE, OPEN]}, ["resume/step-is-over"]),
        (
            {"step": "sprint-1", "status": "blocked", "progress_table": [DONE, OPEN]},
            ["skill/blocked-by-nothing"],
        ),
        (
            {"status": "complete", "blockers": [decision()]},
            ["skill/complete-but-undecided", "resume/open-rows"],
        ),
        ({"status": "failed", "progress_table": "x"}, []),
        ({"progress_table": [{"id": "sprint-2", "status": ["x"]}]}, []),
        (
            {"progress_table": [None, {"id": ["x"], "status": "complete"}], "step": ["x"]},
            ["resume/no-open-row"],
        ),
    ],
)
def test_status_step_and_rows_that_contradict_one_another_are_told(
    changes: dict[str, Any], codes: list[str]
) -> None:
    findings = contradictions_of(document(**changes))
    assert [finding.code for finding in findings] == codes
    assert all(finding.path and finding.where for finding in findings)


def test_open_rows_of_complete_work_are_named_as_far_as_there_is_room() -> None:
    rows = [{"id": f"r{number}", "label": "R", "status": "not_started"} for number in range(6)]
    (finding,) = contradictions_of(document(status="complete", progress_table=[DONE, *rows]))
    assert (
        finding.message
        == "the status is complete, and 6 of 7 rows are not: r0, r1, r2, r3 and 2 more"
    )


@pytest.mark.parametrize(
    "primer", [None, [], "x", {"key_decisions": "x"}, {"generated_files": [1, {"path": "a"}]}]
)
def test_a_context_of_the_wrong_type_does_no_harm(primer: Any) -> None:
    context = find_background(document(context_primer=primer))
    assert context.primer["key_decisions"] == []
    assert context.primer["generated_files"] in ([], ["a"])


def test_conflict_markers_are_a_merge_to_resolve_and_no_fresh_start() -> None:
    text = (
        checkpoint_text().replace('  "step"', '<<<<<<< HEAD\n  "step"').encode()
        + b">>>>>>> theirs\n"
    )
    plan = plan_of(broken(data=text), NOW)
    assert (plan.decision, plan.reasons) == ("ask", ("conflict",))
    assert [str(answer.command) for answer in plan.answers] == [
        "checkpoint resolve .checkpoints/bad.checkpoint.json"
    ]
