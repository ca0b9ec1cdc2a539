"""The language of update's arguments."""

from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import to_tokens
from checkpoint_git.protocols.skill.edits import Edit, Step, apply_edit, parse_edits
from tests.support.samples import checkpoint


def parse(word: str) -> Edit:
    return parse_edits([word])[0]


def apply(word: str, **changes: Any) -> dict[str, Any]:
    value: dict[str, Any] = to_tokens(checkpoint(**changes))
    apply_edit(value, parse(word))
    return value


def refuse(word: str, **changes: Any) -> CheckpointError:
    with pytest.raises(CheckpointError) as caught:
        apply(word, **changes)
    return caught.value


@pytest.mark.parametrize(
    ("word", "path", "action", "value"),
    [
        ("--step=sprint-3", ["step"], "replace", "sprint-3"),
        ("--step=", ["step"], "replace", ""),
        ("--step=a=b+=c", ["step"], "replace", "a=b+=c"),
        ("--a.b.c=x", ["a", "b", "c"], "replace", "x"),
        ("--a+=x", ["a"], "append", "x"),
        ("--a:json=[1, 2.50]", ["a"], "replace", [b"1", b"2.50"]),
        ("--a:json=null", ["a"], "replace", None),
        ('--a+:json={"n": 1e400}', ["a"], "append", {"n": b"1e400"}),
        ("--a:json+=7", ["a"], "append", b"7"),
        ("--rows.0.c=x", ["rows", "0", "c"], "replace", "x"),
    ],
)
def test_an_edit_is_a_path_an_operator_and_a_value(word: str, path: list[str], action: str, value: Any) -> None:
    edit = parse(word)
    assert ([step.name for step in edit.path], edit.action, edit.value) == (path, action, value)


def test_brackets_hold_any_name() -> None:
    assert parse("--rows[v1.5=x+:y].c=z").path == (Step("rows"), Step("v1.5=x+:y", bracketed=True), Step("c"))


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("--a++=x", "--a+="),
        ("--a:jsn=1", "--a:json="),
        ("--a:=1", "--a:json="),
        ("--a+:jsno=1", "--a+:json="),
        ("--a:json:json=1", "--a:json="),
        ("step=x", "--step=x"),
        ("--step", "=VALUE"),
        ("-s=x", "two dashes"),
        ("--=x", "a path is"),
        ("--a..b=x", "a path is"),
        ("--.a=x", "a path is"),
        ("--a.=x", "a path is"),
        ("--a[b=x", "=VALUE"),
        ("--a]b=x", "a path is"),
        ("--[a]=x", "a path is"),
        ("--a[]=x", "a path is"),
        ("--a[b]c=x", "a path is"),
        ("--a:json={x}", "quote it"),
        ("--a:json=", "quote it"),
        ('--a:json={"k": 1, "k": 2}', "quote it"),
        ("--a:json=NaN", "quote it"),
        ("--field=status=complete", "--status=complete"),
        ("--a=\udcff", "UTF-8"),
        ("--" + ".".join("a" * 30) + "=x", "a path is"),
    ],
)
def test_what_is_left_over_in_a_key_is_refused_with_a_suggestion(word: str, hint: str) -> None:
    error = refuse(word)
    assert hint in error.hint
    assert f"{error.message}{error.hint}".isprintable()


def test_replace_sets_a_field_and_makes_the_objects_above_it() -> None:
    value = apply("--skill_state.scores.sprint-1=8.2")
    assert value["skill_state"] == {"iteration": b"1", "scores": {"sprint-1": "8.2"}}


def test_append_adds_to_a_list_and_starts_a_missing_one() -> None:
    assert apply("--next_actions+=Ship")["next_actions"][-1] == "Ship"
    assert apply("--depends_on+=plan")["depends_on"] == ["plan"]


def test_append_adds_one_item_even_when_it_is_a_list() -> None:
    assert apply("--skill_state.x+:json=[1]")["skill_state"]["x"] == [[b"1"]]


def test_items_are_reached_by_number_and_by_id() -> None:
    assert apply("--progress_table.2.status=complete")["progress_table"][2]["status"] == "complete"
    assert apply("--progress_table[sprint-2].status=complete")["progress_table"][2]["status"] == "complete"
    assert apply("--next_actions.0=Write it all")["next_actions"][0] == "Write it all"
    assert apply("--prs[7].x=y", prs=[{"number": 7}])["prs"] == [{"number": b"7", "x": "y"}]


def test_a_bracketed_name_in_an_object_is_a_key_letter_by_letter() -> None:
    assert apply("--skill_state[merged_prs+]:json=[]")["skill_state"]["merged_prs+"] == []


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("--progress_table.sprint-2.status=complete", "--progress_table[sprint-2].status"),
        ("--progress_table[sprint-9].status=complete", "--progress_table+:json"),
        ("--progress_table.9.status=complete", "--progress_table+="),
        ("--progress_table.99999999999999999999.status=x", "--progress_table+="),
        ("--progress_table.00000000000007.status=x", "--progress_table+="),
        ("--progress_table.-1.status=x", "name an item"),
        ("--status.x=y", "set status itself"),
        ("--status+=y", "replace it"),
        ("--skill_state.iteration.x=y", "set skill_state.iteration itself"),
        ("--skill_state+=y", "replace it"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_with_the_way_to_go(word: str, hint: str) -> None:
    assert hint in refuse(word).hint
