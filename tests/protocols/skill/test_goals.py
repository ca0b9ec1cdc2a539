"""Which pull requests finish an action, as values."""

from typing import Any

from checkpoint_git.protocols.skill import goals
from tests.support.growth import assert_linear

MERGES = {
    "Merge #12": ["#12"],
    "merge #12.": ["#12"],
    "  Merge PR #12! ": ["#12"],
    "Merge PR 12": ["#12"],
    "Merge pull request #12": ["#12"],
    "Merge !12": ["!12"],
    "Merge MR !12": ["!12"],
    "Land #12": ["#12"],
    "Ship #12": ["#12"],
    "Squash-merge #12": ["#12"],
    "Squash and merge #12": ["#12"],
    "Review and merge #12": ["#12"],
    "Get #12 merged": ["#12"],
    "Get PR #12 and #13 merged": ["#12", "#13"],
    "Merge #12 and #13": ["#12", "#13"],
    "Merge #12, #13, and #14": ["#12", "#13", "#14"],
    "Merge PRs #12, #13": ["#12", "#13"],
    "Merge PRs 12 and 13": ["#12", "#13"],
    "Merge #12/13": ["#12", "#13"],
    "Merge #12-#14": ["#12", "#13", "#14"],
    "Merge #12 #12": ["#12"],
    "Merge acme/app#12": ["acme/app#12"],
    "Merge https://github.com/acme/app/pull/12": ["acme/app#12"],
}
OTHERS = [
    "Finish ABC-12", "Merge ABC-12", "Ship ABC-12", "Merge #12 and ABC-3", "Merge", "Merge it", "#12", "Merge #0x12",
    "Merge #12, then deploy", "Merge #12 once green", "Merge the PR #12", "Merge #12 or #13", "Do not merge #12",
    "Merge #12?", "Review #12", "Review or merge #12", "Rebase and merge #12", "Merge #12 into release", "Unmerge #12",
    "Merge 12", "Merge step #2", "Get #12 reviewed", "Get #12", "After #12: deploy", "Deploy #12", "Revert #12",
    "[x] Merge #12", "Merge #12\nMerge the rest", "Close #12", "Fix #12", "Finish #12", "merge C#12", "Merge \0 #12",
    "Merge #12 \0", "", "Merge " + "#12 " * 500,
]  # fmt: skip


def test_a_text_that_is_only_a_verb_of_merging_and_pull_requests_is_a_merge() -> None:
    assert {text: goals.find_merging(text) for text in MERGES} == MERGES
    assert [text for text in OTHERS if goals.find_merging(text)] == []


def test_an_action_that_is_only_a_merge_is_stored_with_what_finishes_it() -> None:
    assert goals.with_goals("Merge #12 and #13") == {
        "text": "Merge #12 and #13",
        "done_when_merged": ["#12", "#13"],
    }
    assert goals.with_goals("Finish ABC-12") == "Finish ABC-12"


def test_goals_are_what_is_stated_or_what_a_plain_text_merges() -> None:
    rows: list[tuple[Any, list[str]]] = [
        ("Merge #12", ["#12"]),
        ({"text": "x", "done_when_merged": ["#12"]}, ["#12"]),
        (
            {"text": "x", "done_when_merged": ["PR 12", "https://github.com/acme/app/pull/3"]},
            ["#12", "acme/app#3"],
        ),
        # an object says itself what finishes it
        ({"text": "Merge #12"}, []),
        ({"text": "Merge #12", "done_when": "make check"}, []),
        # whatever breaks the schema or names nothing finishes nothing
        ({"text": "x", "done_when_merged": []}, []),
        ({"text": "x", "done_when_merged": ["#12", "soon"]}, []),
        ({"text": "x", "done_when_merged": ["#12", 13]}, []),
        ({"text": "x", "done_when_merged": "#12"}, []),
        ({"text": "x", "done_when_merged": None}, []),
        (None, []),
        (12, []),
        (["Merge #12"], []),
    ]
    assert [(action, goals.find_goals(action)) for action, _ in rows] == rows


def test_texts_of_any_length_take_linear_time() -> None:
    for piece in ("#1 ", "Merge #1, ", "PR 1 and ", "Merge ", "#1-#9 ", "get #1 "):
        assert_linear(lambda size, piece=piece: goals.find_merging(piece * size), 500)  # type: ignore[misc]
        assert_linear(lambda size, piece=piece: goals.find_named(piece * size), 500)  # type: ignore[misc]
