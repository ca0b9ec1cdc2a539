"""Which known field an unknown one was probably meant to be."""

from checkpoint_git.protocols.skill.names import (
    KNOWN,
    find_choice,
    find_meaning,
    find_near_miss,
    find_sibling,
    is_misplaced_operator,
)
from tests.support.growth import assert_linear
from tests.support.rows import rows


@rows(
    ("key", "meant"),
    [
        ("nextActions", "next_actions"),
        ("next-actions", "next_actions"),
        ("next actions", "next_actions"),
        ("next.action", "next_actions"),
        ("Status", "status"),
        ("blocker", "blockers"),
        ("handofs", "handoffs"),
        ("contxet_primer", "context_primer"),
        ("progres_tabel", "progress_table"),
        ("stap", None),  # a short word is one letter away from too many
        ("statue_of_liberty", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_a_misspelt_name_is_recognized(key: str, meant: str | None) -> None:
    assert find_near_miss(key, KNOWN[""]) == meant


def test_swapped_letters_count_in_short_names_too() -> None:
    assert find_near_miss("stpe", KNOWN[""]) == "step"
    assert find_near_miss("lable", KNOWN["progress_table"]) == "label"


@rows(
    ("name", "parent", "meant"),
    [
        ("decision", "", "context_primer.key_decisions"),
        ("key-decisions", "", "context_primer.key_decisions"),
        ("Files", "", "context_primer.generated_files"),
        ("summary", "", "progress_summary"),
        ("next", "", "next_actions"),
        ("total_usd", "", "cost.total_usd"),
        ("merged_prs", "", "skill_state.merged_prs"),
        ("title", "progress_table", "label"),
        ("progress", "", ""),  # of two fields
        ("version", "", ""),
        ("mood", "", ""),
    ],
)
def test_a_word_means_a_field_where_it_means_one_alone(name: str, parent: str, meant: str) -> None:
    assert find_meaning(name, parent) == meant


@rows(
    ("text", "choice"),
    [
        ("done", "complete"),
        ("In-Progress", "in_progress"),
        ("todo", "not_started"),
        ("skip", "skipped"),
        ("x", ""),
    ],
)
def test_a_synonym_of_a_choice_is_taken_for_it(text: str, choice: str) -> None:
    assert find_choice(text, ["not_started", "in_progress", "complete", "skipped"]) == choice


@rows("key", ["merged_prs+", "a:json", "a+:json", "--step", "a=b"])
def test_a_part_of_an_update_is_an_operator(key: str) -> None:
    assert is_misplaced_operator(key)


@rows("key", ["step", "a-b", "c++x", "json", "field"])
def test_an_ordinary_key_is_none(key: str) -> None:
    assert not is_misplaced_operator(key)


@rows(
    ("name", "there", "meant"),
    [
        ("builds", "build", "build"),
        ("oc-app-architekt", "oc-app-architect", "oc-app-architect"),
        ("app_builder", "app-builder", "app-builder"),
        ("retires", "retries", "retries"),
        ("run-2", "run-1", ""),
        ("claude-4", "claude-3.5", ""),
        ("api-tests", "web-tests", ""),
    ],
)
def test_a_new_name_may_be_a_slip_of_one_that_is_there(name: str, there: str, meant: str) -> None:
    assert find_sibling(name, ["zebra", there]) == meant


def test_many_names_are_looked_at_in_linear_time() -> None:
    assert_linear(
        lambda size: [find_near_miss(f"handof{size}x{at}", KNOWN[""]) for at in range(size)], 200
    )
