from typing import Any

import pytest

from checkpoint_git.checks.resume import QUESTION, find_context, is_covered, plan_resume, quote_word
from checkpoint_git.core.clock import DAY
from tests.checks.documents import NOW, broken, decision, document
from tests.support.samples import checkpoint


def test_fresh_work_in_progress_goes_on() -> None:
    plan = plan_resume(document(), "build", NOW)
    assert (plan.decision, plan.reasons, plan.question) == ("continue", (), "")


def test_the_orientation_is_the_protocols_five_lines() -> None:
    assert plan_resume(document(), "build", NOW).orientation == (
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
    plan = plan_resume(document(**changes), "build", now)
    assert (plan.decision, plan.reasons, plan.question) == ("ask", reasons, QUESTION)
    assert [answer.name for answer in plan.answers] == ["continue", "restart", "show"]


def test_complete_work_is_told_as_such_and_offers_what_is_next() -> None:
    plan = plan_resume(document(status="complete"), "build", NOW + 90 * DAY)
    assert plan.decision == "complete"
    assert plan.why == "complete, with work still queued"
    done = plan_resume(document(status="complete", next_actions=[]), "build", NOW)
    assert [answer.name for answer in done.answers] == ["restart", "elsewhere"]


def test_a_missing_checkpoint_is_a_fresh_start() -> None:
    plan = plan_resume(None, "build", NOW)
    assert (plan.decision, plan.reasons, plan.orientation) == ("start_fresh", ("missing",), ())


@pytest.mark.parametrize("data", [b"null", b"[]", b"{", b"\xff", b'{"a": 1, "a": 2}', b"<<<<<<< ours\n"])
def test_a_corrupt_checkpoint_is_a_fresh_start_that_says_why(data: bytes) -> None:
    plan = plan_resume(broken(data=data), "bad", NOW)
    assert (plan.decision, plan.reasons) == ("start_fresh", ("corrupt",))
    assert broken(data=data).findings[0].message in plan.why
    assert plan.answers[0].command.startswith("checkpoint reset bad")


@pytest.mark.parametrize("version", ["2.0", 1.0, None, ...])
def test_an_incompatible_version_is_a_fresh_start_that_says_why(version: Any) -> None:
    plan = plan_resume(document(protocol_version=version), "build", NOW)
    assert (plan.decision, plan.reasons) == ("start_fresh", ("incompatible",))
    assert "1.0 and 1.1" in plan.why


def test_an_answer_quotes_what_the_shell_would_read() -> None:
    assert quote_word("oc-app_1.x") == "oc-app_1.x"
    assert quote_word("two words; $(x)") == "'two words; $(x)'"


def test_the_context_is_what_a_session_reads_first() -> None:
    context = find_context(checkpoint(blockers=[decision(), decision(id="b2", needs="code_fix")]))
    assert context.key_decisions == ["SQLite for storage", "Passkeys only"]
    assert context.generated_files == ["docs/plan.md"]
    assert context.user_preferences == ["Short answers"]
    assert [blocker["id"] for blocker in context.decisions] == ["b1"]
    assert [blocker["id"] for blocker in context.blockers] == ["b1", "b2"]
    assert context.actions == [("Write the notes API", None), ("Run the evaluator", "make eval")]


@pytest.mark.parametrize("primer", [None, [], "x", {"key_decisions": "x"}, {"generated_files": [1, {"path": "a"}]}])
def test_a_context_of_the_wrong_type_does_no_harm(primer: Any) -> None:
    context = find_context(checkpoint(context_primer=primer))
    assert context.key_decisions == []
    assert context.generated_files in ([], ["a"])


@pytest.mark.parametrize(
    ("path", "name", "covered"),
    [
        ("src/a.ts", "src/a.ts", True),
        ("src/x/a.ts", "src", True),
        ("src/x/a.ts", "src/", True),
        ("srcs/a.ts", "src", False),
        ("src/a.ts", "src/*.ts", True),
        ("src/x/a.ts", "src/*.ts", False),
        ("src/x/a.ts", "src/**/*.ts", True),
        ("src/a.ts", "src/b.ts", False),
    ],
)
def test_a_listed_name_stands_for_a_file_a_folder_or_a_pattern(path: str, name: str, covered: bool) -> None:
    assert is_covered(path, name) == covered
