"""What sentences of checkpoints ask for: the line between "land it" and "it is mentioned"."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.references import find_references
from checkpoint_git.protocols.skill.requests import Use, find_shipped, find_uses, is_resolved_by, read_request

SENTENCES = json.loads(Path(__file__).with_name("requests.json").read_text("utf-8"))
# Kinds of sentences that people wrote elsewhere, in our words. The engine is tuned on one half; the other only judges.
LABELLED = json.loads(Path(__file__).with_name("request_labels.json").read_text("utf-8"))

EVIDENCE = {reference: f"proof of {reference}" for reference in ("#12", "#13", "!12", "ABC-12", "acme/app#12")}


@pytest.mark.parametrize(
    "text",
    [
        "Merge #12",
        "merge PR #12",
        "Merge PR 12 into main",
        "Please merge pull request #12.",
        "TODO: land #12",
        "1. Review #12",
        "- finish #12",
        "- [ ] Merge #12",
        "[ ] Review PR #12",
        "Finish ABC-12",
        "Open a PR for ABC-12",
        "Open PR #12",
        "Review https://github.com/acme/app/pull/12",
        "Review the open PR #12 (feat: search)",
        "Get #12 merged",
        "Get PR #12 reviewed and merged",
        "Squash-merge #12 once CI is green",
        "Ship #12 today!",
        "Complete the review of #12",
        "Address review comments on PR #12",
        "Resume v1.4 PR 1 (ABC-12)",
        "Work on ABC-12",
        "Implement ABC-12",
        "Merge #12 and #13",
        "Merge #12, #13",
        "Rebase and merge #12",
        "Merge `#12`",
        "Add retries to the client (#12)",
        "Implement search and sorting (ABC-12)",
        "The owner merges #12 when the checks are green",
        "Drive #12 to green",
        "Merge #12 or close it",
        "Finish PR #12: repair the parser, rename the flag",
        "Finish the review and CI on PR #12",
        "Merge #12 — JSON output, after #13 lands",
        "Validate and merge #12",
        "Merge PR #12; unblocks the remaining tests",
        "Merge PR #12 (release was cut from the branch)",
        "Code review PR #12",
        "User decision: merge PR #12 or hold for review",
        "Watch PR #12 until it merges or needs me",
        "Watch PR #12 and take CI to green",
        "Review PR #12, decide merge vs changes",
        "Check PR #12 CI/CD status",
        "Review search PRs (#12, #13)",
        "Land PR #12 - open, behind main, needs rebase",
        "Monitor PR #12 for a re-review",
        "Fix PR #12 test failures",
        "Review PR #12; do not merge or deploy it",
        "Merge PR #12 if every check holds; otherwise stop and report the blocker",
    ],
)
def test_an_action_that_asks_to_land_something_is_shipped_once_that_is_merged(text: str) -> None:
    assert find_shipped(text, EVIDENCE), find_uses(text)


@pytest.mark.parametrize(
    "text",
    [
        "Follow up on #12",
        "Review the fallout of #12",
        "Review #12's fallout",
        "Fix the regression from #12",
        "Fix #12 regression",
        "after #12 merges do the docs",
        "Once PR #12 is merged, hand off to the user",
        "Write release notes for #12",
        "Revert #12",
        "Backport #12 to 1.x",
        "Cut the branch from main (includes #12 and #13)",
        "Deploy #12",
        "Ship #12 to production",
        "Do not merge #12",
        "Don't merge #12 yet",
        "Never merge #12",
        "Rebase onto #12",
        "Document the search API (#12)",
        "Add tests for search (follow-up to #12)",
        "Add docs for search (#12)",
        "PR 12: write the parser",
        "Read #12",
        "Continue from #12",
        "Test #12 on Windows",
        "Finish the rest of ABC-12",
        "step #12",
        "Verify the fix (#12)",
        "User merged #12 by mistake",
        "Drive #12 to production",
        "",
    ],
)
def test_an_action_that_only_mentions_merged_work_is_not_shipped(text: str) -> None:
    assert find_shipped(text, EVIDENCE) is None
    assert not {Use("#12", "asked"), Use("ABC-12", "asked")} & {*find_uses(text)}


@pytest.mark.parametrize(
    "text",
    [
        "Merge #12, then deploy",
        "Merge #12 and deploy to staging",
        "Write the docs, then merge #12",
        "Merge #12. Tell the team.",
        "Merge #12; tag 1.2",
        "Merge #12 and #99",
        "Review #12 and write the report",
        "Update the changelog and merge #12",
        "The owner merges #12, then tests it on a phone",
        "Merge #12 or close it and tell the team",
        "Finish PR #12: repair the parser, tag 1.2",
        "Merge #12 — DEPLOY, after #13 lands",
        "Land #12 timeline data model",
        "Merge #12 additions (the gate, the markers)",
        "Monitor PR #12 for any fix",
        "Review PR #12 diff, decide merge vs changes, hardware-validate the timing",
        "Review PR #12 while tracking the evidence for ABC-13",
        "Merge PR #12 after review, then keep the gates as they are",
    ],
)
def test_an_action_that_asks_for_more_is_not_shipped_as_a_whole(text: str) -> None:
    assert Use("#12", "asked") in find_uses(text)
    assert find_shipped(text, EVIDENCE) is None


@pytest.mark.parametrize(
    "text",
    [
        "After #12 lands, deploy",
        "Wait for #12, then deploy",
        "Once #12 is in: tag it",
        "blocked by #12",
        "Waiting on PR #12 for the cache",
        "waiting on #12 merge + Engineer rebase",
    ],
)
def test_an_action_that_waits_for_merged_work_says_so(text: str) -> None:
    assert [(use.reference, use.role) for use in find_uses(text)] == [("#12", "waits")]


def test_a_heading_is_told_from_a_plans_step() -> None:
    assert [use.role for use in find_uses("ABC-12: write the parser")] == ["about"]
    assert [use.role for use in find_uses("[ABC-12] write the parser")] == ["about"]
    assert [use.role for use in find_uses("[x] Merge #12")] == ["mentioned"]
    assert find_uses("PR 2: write the parser") == []
    assert [use.reference for use in find_uses("PR 2 (ABC-12): write the parser")] == ["ABC-12"]


@pytest.mark.parametrize(
    "text",
    [
        "Merge #12",
        "Fixed by #12",
        "resolved in PR #12",
        "Wait for #12",
        "#12 fixes this",
        "Lands with #12",
        "Once #12 is merged, retry",
    ],
)
def test_a_resolution_that_rests_on_something_names_it(text: str) -> None:
    assert is_resolved_by(text, "#12")


@pytest.mark.parametrize("text", ["Do as in #12", "Revert #12", "Not the fix from #12", "Ask about #12"])
def test_a_resolution_that_only_mentions_something_does_not_rest_on_it(text: str) -> None:
    assert not is_resolved_by(text, "#12")


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence["text"][:40])
def test_a_sentence_as_people_write_it_is_read(sentence: dict[str, Any]) -> None:
    merged = dict.fromkeys(find_references(sentence["text"]), "a merge")
    assert bool(find_shipped(sentence["text"], merged)) is sentence["shipped"], read_request(sentence["text"])


def is_shipped(text: str) -> bool:
    return find_shipped(text, dict.fromkeys(find_references(text), "a merge")) is not None


@pytest.mark.parametrize("half", ["tune", "report"])
def test_what_is_skipped_is_done_and_most_of_what_is_done_is_skipped(half: str) -> None:
    rows = [row for row in LABELLED if row["half"] == half and row["label"] != "unsure"]
    done = {row["text"] for row in rows if row["label"] == "done"}
    skipped = {row["text"] for row in rows if is_shipped(row["text"])}
    assert len(rows) > 150
    assert len(skipped & done) >= 0.98 * len(skipped), skipped - done
    assert len(skipped & done) >= 0.90 * len(done), done - skipped


WRAPS = ["**{}**", "- {}", "1. {}", "- [ ] {}", "* {}.", "TODO: {}", "Next: {}", "  {}  ", "Please {}"]


@pytest.mark.parametrize("row", [row for row in SENTENCES if row["shipped"]], ids=lambda row: row["text"][:40])
def test_markdown_around_a_request_does_not_change_the_answer(row: dict[str, Any]) -> None:
    assert [wrap for wrap in WRAPS if not is_shipped(wrap.format(row["text"].rstrip(".")))] == []


@pytest.mark.parametrize("row", LABELLED, ids=lambda row: row["text"][:40])
def test_other_numbers_do_not_change_the_answer(row: dict[str, Any]) -> None:
    renumbered = re.sub(r"(?<=#)\d{3}(?!\d)", lambda number: f"{int(number[0]) + 4000}", row["text"])
    assert is_shipped(renumbered) is is_shipped(row["text"])


@pytest.mark.parametrize(
    "text",
    [
        "Merge #12\u2013#15",
        "Merge #12-#15",
        "Merge PRs #12\u201315",
        "Land #12 (then tag)",
        "Merge #12 before starting the import",
        "Merge #12, after that deploy",
        "Merge PR #12 auf keinen Fall",
        "Decide on PR #12 vs #13",
        "Monitor PR #12 - rebase PR #13 once it lands",
        "Watch PR #12 for a lasting fix - revisit only then",
        "Complete PR #12 monitoring",
        "Finish #12 testing on a phone",
        "Resume ABC-12 (parser phase 2)",
        "Merge #12. PR of the core #13",
        "Wait for PR #12 or replicate it from #13",
        "Get PR #12's follow-on merged",
        "Review #12 to see what it covers",
        "Merge PR #12. Otherwise useful: export the figures",
    ],
)
def test_a_request_for_more_than_its_references_remains(text: str) -> None:
    assert not is_shipped(text)


def test_an_action_is_not_shipped_while_one_of_its_references_is_open() -> None:
    assert find_shipped("Merge #12 and #99", EVIDENCE) is None
    assert find_shipped("merge #12, then #99", EVIDENCE) is None
    assert find_shipped("Merge #12 once #99 is green", EVIDENCE) == "proof of #12"


@pytest.mark.parametrize(
    "piece",
    [
        "merge #1 ",
        "#1, ",
        "(",
        "merge the ",
        "a/",
        "once ",
        "1. ",
        "and ",
        "(#1) ",
        "[a](",
        "review/",
        "->",
        "#1-",
        "to ",
    ],
)
def test_a_hostile_action_is_read_in_bounded_time(piece: str) -> None:
    started = time.process_time()
    read_request("#1 " + piece * (300_000 // len(piece)))
    read_request(("#1 " + piece * 4_000)[:4_000])
    assert time.process_time() - started < 10


@pytest.mark.parametrize("text", ["#12", "PR #12", "#12: write the parser"])
def test_a_reference_alone_is_reported_and_never_skipped(text: str) -> None:
    assert [use.role for use in find_uses(text)] == ["about"]
    assert find_shipped(text, {"#12": "merged"}) is None


@pytest.mark.parametrize(
    "text",
    [
        "#12 needs a follow-up test",
        "#12 broke the build",
        "Write docs for #12",
        "Ping ops about #12",
        "Merge #12 and slack the team",
        "Merge #12 timeline into the roadmap",
        "Merge #12 slack the team",
    ],
)
def test_what_comes_after_a_pull_request_is_not_about_landing_it(text: str) -> None:
    assert [use.role for use in find_uses(text)] == ["mentioned"]


WORDS = "Merge #12 ABC-14 ( ) [ ] 's : ; . , — → main then and to after before not get the user CI finish `x` is 合并"


@given(st.lists(st.sampled_from(WORDS.split()), max_size=12))
def test_whatever_words_stand_together_something_is_answered(words: list[str]) -> None:
    request = read_request(" ".join(words))
    assert {*request.asked, *request.waits, *request.about} <= {"#12", "ABC-14"}


@pytest.mark.parametrize("text", ["- revisar #12 \x01", "\x01 #12 \u201c changes while", "\x02 merge #12 \x01\x01"])
def test_control_characters_of_a_text_are_not_taken_for_marks(text: str) -> None:
    assert all(use.reference == "#12" for use in find_uses(text))
