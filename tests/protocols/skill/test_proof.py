"""What the history proves of a next action, by values."""

import pytest

from checkpoint_git.git.history.claims import CLOSES_RULE, MERGE_RULE, SQUASH_RULE, TICKET_RULE
from checkpoint_git.git.history.evidence import Evidence
from checkpoint_git.protocols.skill.proof import judge_action
from tests.support.rows import rows


def find_proof(text: str, subject: str, rule: str, reference: str = "#64") -> bool:
    proof = judge_action(text, {reference: Evidence("a" * 40, 0, subject, rule)})
    return proof is not None and proof.sure


@rows("text", ["Implement #64 (retries)", "Fix #64: a crash", "Start #64", "Resolve #64"])
@rows(
    ("subject", "rule"),
    [
        ("Add retries (#64)", SQUASH_RULE),
        ("Merge pull request #64 from ada/retries", MERGE_RULE),
        ("#64: add retries", TICKET_RULE),
        ("Add retries", CLOSES_RULE),
    ],
)
def test_work_on_a_number_is_done_once_that_number_is_merged_or_closed(text: str, subject: str, rule: str) -> None:
    assert find_proof(text, subject, rule)


@rows(
    ("subject", "rule", "reference"),
    [
        ("Merged PR 64: retries", MERGE_RULE, "#64"),
        ("Merged in ada/retries (pull request #64)", MERGE_RULE, "#64"),
        ("Merge pull request #64 in ACME/app from retries to main", MERGE_RULE, "#64"),
        ("Pull request #64: retries", MERGE_RULE, "#64"),
        ("Add retries (#6)", SQUASH_RULE, "#6"),
    ],
)
def test_a_number_that_issues_do_not_share_or_that_may_count_a_list_proves_no_work(
    subject: str, rule: str, reference: str
) -> None:
    assert not find_proof(f"Implement {reference}", subject, rule, reference)
    assert find_proof(f"Merge {reference}", subject, rule, reference)


def test_to_close_a_pull_request_is_not_done_by_its_merge() -> None:
    assert not find_proof("Close PR #64", "Add retries (#64)", SQUASH_RULE)
    assert not find_proof("Close #64", "Merge pull request #64 from ada/retries", MERGE_RULE)
    assert find_proof("Close #64", "Add retries", CLOSES_RULE)


def test_what_is_done_by_its_name_needs_no_doubt_where_its_number_is_merged() -> None:
    text = "Finish PR #64 only after its checks pass"
    assert find_proof(text, "Add retries (#64)", SQUASH_RULE)


@pytest.mark.parametrize("text", ["Implement #64 and deploy it", "Start #64, then write the docs", "Reopen #64"])
def test_what_is_left_beside_it_is_left(text: str) -> None:
    assert not find_proof(text, "Add retries (#64)", SQUASH_RULE)
