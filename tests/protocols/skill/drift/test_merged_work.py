"""Which next actions are finished by merges, and what is said of references, as values."""

from typing import Any

from checkpoint_git.core.clock import DAY, HOUR
from checkpoint_git.git.history.reference_facts import Fact
from checkpoint_git.protocols.skill.drift import merged_work
from tests.support.growth import assert_linear

NOW = 1_000 * DAY

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


def known(**states: str) -> dict[str, Fact]:
    """Facts by reference; n12 stands for #12."""
    found = {}
    for name, state in states.items():
        reference = f"#{name[1:]}" if name.startswith("n") else name.replace("_", "-")
        found[reference] = Fact(reference, state, NOW - 3 * DAY, "abc1234" * 6, "a rule")  # type: ignore[arg-type]
    return found


def test_a_text_that_is_only_a_verb_of_merging_and_pull_requests_is_a_merge() -> None:
    assert {text: merged_work.find_merging(text) for text in MERGES} == MERGES
    assert [text for text in OTHERS if merged_work.find_merging(text)] == []


def test_an_action_that_is_only_a_merge_is_stored_with_what_finishes_it() -> None:
    assert merged_work.with_goals("Merge #12 and #13") == {
        "text": "Merge #12 and #13",
        "done_when_merged": ["#12", "#13"],
    }
    assert merged_work.with_goals("Finish ABC-12") == "Finish ABC-12"


def test_goals_are_what_is_stated_or_what_a_plain_text_merges() -> None:
    rows: list[tuple[Any, list[str]]] = [
        ("Merge #12", ["#12"]),
        ({"text": "x", "done_when_merged": ["#12"]}, ["#12"]),
        ({"text": "x", "done_when_merged": ["PR 12", "https://github.com/acme/app/pull/3"]}, ["#12", "acme/app#3"]),
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
    assert [(action, merged_work.find_goals(action)) for action, _ in rows] == rows


def test_an_action_is_finished_once_all_are_merged_for_sure_and_nothing_else() -> None:
    both = {"text": "x", "done_when_merged": ["#12", "#13"]}
    assert merged_work.is_finished(both, known(n12="merged", n13="merged"))
    for state in ("reverted", "lost", "closed", "named"):
        assert not merged_work.is_finished(both, known(n12="merged", n13=state)), state
        assert not merged_work.is_finished("Merge #12", known(n12=state)), state
    assert not merged_work.is_finished(both, known(n12="merged"))
    assert not merged_work.is_finished("Finish ABC-12", known(ABC_12="closed"))
    assert not merged_work.is_finished({"text": "x", "done_when_merged": []}, known(n12="merged"))
    unsure = {"#12": known(n12="merged")["#12"]._replace(sure=False)}
    assert not merged_work.is_finished("Merge #12", unsure)


def test_the_sentence_is_true_of_each_state() -> None:
    facts = known(n1="merged", n2="reverted", n3="lost", n4="closed", n5="named")
    said = [merged_work.describe_fact(fact, NOW) for fact in facts.values()]
    assert said == [
        "#1 was merged 3 days ago (abc1234)",
        "#2 was reverted 3 days ago (abc1234)",
        "#3 was merged 3 days ago (abc1234), but its changes are not in HEAD",
        "#4 was closed 3 days ago (abc1234)",
        "#5 is named by 1 commit, abc1234",
    ]
    assert merged_work.describe_fact(facts["#5"]._replace(commits=3), NOW) == "#5 is named by 3 commits, last abc1234"


def test_the_time_is_an_age_or_the_day_where_a_clock_is_wrong() -> None:
    (fact,) = known(n1="merged").values()
    rows = {NOW - DAY: "1 day ago", NOW - 2 * HOUR: "2 hours ago", NOW - 60: "1 minute ago", NOW: "just now"}
    rows |= {0: "1000 days ago", NOW + 1: "on 1972-09-27", 4_080_000_000: "on 2099-04-16", 10**15: "on 9999-12-31"}
    said = {at: merged_work.describe_fact(fact._replace(at=at), NOW) for at in rows}
    assert said == {at: f"#1 was merged {when} (abc1234)" for at, when in rows.items()}
    assert "on 1972-09-24" in merged_work.describe_fact(fact, None)


def test_of_many_facts_the_rest_is_counted() -> None:
    facts = list(known(**{f"n{number}": "merged" for number in range(1, 8)}).values())
    assert merged_work.describe_facts(facts, NOW)[4:] == ["and 3 more references"]


def test_json_has_the_five_members_of_a_reference() -> None:
    (data,) = merged_work.facts_data(known(n1="merged").values())
    assert data == {
        "reference": "#1",
        "state": "merged",
        "at": "1972-09-24T00:00:00Z",
        "commit": "abc1234" * 6,
        "rule": "a rule",
    }


def test_a_checkpoint_began_when_it_was_created_else_when_it_was_written() -> None:
    created, updated = {"created_at": "1970-01-01T00:00:01Z"}, {"updated_at": "1970-01-01T00:00:02Z"}
    assert merged_work.find_start({**created, **updated}) == 1
    assert merged_work.find_start({"created_at": "soon", **updated}) == 2
    assert merged_work.find_start({"created_at": 7}) is None


def test_texts_of_any_length_take_linear_time() -> None:
    for piece in ("#1 ", "Merge #1, ", "PR 1 and ", "Merge ", "#1-#9 ", "get #1 "):
        assert_linear(lambda size, piece=piece: merged_work.find_merging(piece * size), 500)  # type: ignore[misc]
        assert_linear(lambda size, piece=piece: merged_work.find_named(piece * size), 500)  # type: ignore[misc]
