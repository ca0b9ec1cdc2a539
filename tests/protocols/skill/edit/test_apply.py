"""What update and done do to a checkpoint's value."""

from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import to_tokens
from checkpoint_git.protocols.skill import rules
from checkpoint_git.protocols.skill.edit.actions import (
    describe_goals,
    find_done_trouble,
    finish_action,
    scaffold,
    stamp,
    take_action,
)
from checkpoint_git.protocols.skill.edit.apply import apply_edit, apply_edits, name_text
from checkpoint_git.protocols.skill.edit.parse import Edit, PathStep, make_edits, parse_edits
from tests.support.rows import rows
from tests.support.samples import checkpoint
from tests.support.verbs import NOON, seconds

NOW = seconds(NOON)


def tokens(**fields: Any) -> dict[str, Any]:
    value: dict[str, Any] = to_tokens(checkpoint(**fields))
    return value


# start and stamp


def test_a_new_checkpoint_is_valid_once_an_edit_or_its_first_action_says_what_is_next() -> None:
    value = scaffold("build", "tidepool", NOW)
    apply_edits(value, [], is_new=True)
    found = rules.check(value, skill="build", size=1_000, now=NOW)
    assert [each.code for each in found if each.level == "error"] == []
    assert len(value["next_actions"]) == 1


def test_a_new_checkpoint_that_gets_actions_or_another_status_needs_no_first_action() -> None:
    for word, left in (("--next_actions+=go", ["go"]), ("--status=complete", [])):
        value = scaffold("build", "tidepool", NOW)
        apply_edits(value, parse_edits([word]), is_new=True)
        assert value["next_actions"] == left


@rows(
    ("word", "version"),
    [
        ("--cost.total_usd:json=1", "1.1"),
        ("--handoffs+:json={}", "1.1"),
        ("--step=x", "1.0"),
        ("--my_own=x", "1.0"),
        ("--next_actions+=Merge #12", "1.1"),
        ("--next_actions+=Merge #12, then deploy", "1.0"),
    ],
)
def test_the_version_follows_the_fields_that_are_written(word: str, version: str) -> None:
    value = tokens()
    apply_edits(value, parse_edits([word]), is_new=False)
    assert value["protocol_version"] == version


def test_a_next_action_that_waits_for_a_merge_needs_the_version_that_knows_it() -> None:
    for next_action, version in (("Merge #12", "1.1"), ("Deploy", "1.0")):
        value = tokens()
        value["next_actions"] = ["Write it"]
        take_action(value, 0, next_action, False)
        assert value["protocol_version"] == version


def test_a_version_that_an_edit_sets_stays() -> None:
    value = tokens()
    apply_edits(
        value, parse_edits(["--cost.total_usd:json=1", "--protocol_version=1.0"]), is_new=False
    )
    assert value["protocol_version"] == "1.0"


@rows(
    ("created", "updated", "stamped", "behind"),
    [
        ("2026-03-01T08:00:00Z", "2026-03-02T09:30:00Z", NOON, False),
        ("2026-03-01T08:00:00Z", "2026-03-02T12:00:01Z", "2026-03-02T12:00:01Z", True),
        ("2026-03-04T08:00:00Z", "2026-03-02T09:30:00Z", "2026-03-04T08:00:00Z", True),
        ("2026-03-01T08:00:00Z", "2026-03-02T12:00:00.5Z", "2026-03-02T12:00:00.5Z", False),
        ("nonsense", 7, NOON, False),
    ],
)
def test_a_stamp_never_goes_back(created: str, updated: Any, stamped: str, behind: bool) -> None:
    value = tokens(created_at=created, updated_at=updated)
    assert stamp(value, NOW) is behind
    assert value["updated_at"] == stamped


# done


def test_the_first_action_moves_to_what_was_done_lately() -> None:
    value = tokens(next_actions=[{"text": "a", "done_when": "make"}, "b"], recently_done=["old"])
    assert finish_action(value, NOW, None, complete=False) == {"text": "a", "done_when": "make"}
    assert value["next_actions"] == ["b"]
    assert value["recently_done"] == [{"text": "a", "done_when": "make", "at": NOON}, "old"]


def test_ten_are_kept_and_the_next_one_comes_first() -> None:
    value = tokens(next_actions=["a", "b"], recently_done=[str(at) for at in range(12)])
    finish_action(value, NOW, "new", complete=True)
    assert (value["next_actions"], value["status"]) == (["new", "b"], "complete")
    assert value["recently_done"] == [{"text": "a", "at": NOON}, *(str(at) for at in range(9))]


@rows(
    ("fields", "next_action", "complete", "code"),
    [
        ({"next_actions": []}, None, True, "done/no-action"),
        ({"next_actions": "go"}, None, True, "done/no-action"),
        ({"recently_done": "x"}, None, False, "done/no-record"),
        ({"next_actions": ["a"]}, None, False, "done/last-action"),
        ({"next_actions": ["a"]}, "b", False, None),
        ({"next_actions": ["a"]}, None, True, None),
        ({"next_actions": ["a"], "status": "blocked"}, None, False, None),
        ({"next_actions": ["a", "b"]}, None, False, None),
    ],
)
def test_why_an_action_cannot_be_done(
    fields: dict[str, Any], next_action: str | None, complete: bool, code: str | None
) -> None:
    found = find_done_trouble(tokens(**fields), next_action, complete)
    assert (found.code if found else None) == code


# edits as they are typed


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


@rows(
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
def test_an_edit_is_a_path_an_operator_and_a_value(
    word: str, path: list[str], action: str, value: Any
) -> None:
    edit = parse(word)
    assert ([step.name for step in edit.path], edit.action, edit.value) == (path, action, value)


def test_brackets_hold_any_name() -> None:
    assert parse("--rows[v1.5=x+:y].c=z").path == (
        PathStep("rows"),
        PathStep("v1.5=x+:y", bracketed=True),
        PathStep("c"),
    )


@rows(
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
    assert hint in str(error.hint)
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
    assert (
        apply("--progress_table[sprint-2].status=complete")["progress_table"][2]["status"]
        == "complete"
    )
    assert apply("--next_actions.0=Write it all")["next_actions"][0] == "Write it all"
    assert apply("--prs[7].x=y", prs=[{"number": 7}])["prs"] == [{"number": b"7", "x": "y"}]


def test_a_bracketed_name_in_an_object_is_a_key_letter_by_letter() -> None:
    assert apply("--skill_state[merged_prs+]:json=[]")["skill_state"]["merged_prs+"] == []


@rows(
    ("word", "hint"),
    [
        ("--progress_table[sprint-9].status=complete", "--progress_table+:json"),
        ("--progress_table.9.status=complete", "--progress_table+="),
        ("--progress_table.99999999999999999999.status=x", "--progress_table+="),
        ("--progress_table.00000000000007.status=x", "--progress_table+="),
        ("--progress_table.-1.status=x", "name an item"),
        ("--status.x=y", "set status itself"),
        ("--status+=y", "replace it"),
        ("--skill_state.iteration.x=y", "set skill_state.iteration itself"),
        ("--skill_state+=y", "--skill_state.notes+=y"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_with_the_way_to_go(word: str, hint: str) -> None:
    assert hint in str(refuse(word).hint)


def test_remove_takes_an_item_by_its_text_number_or_id_and_a_member_by_its_name() -> None:
    assert apply("--next_actions-=Run the evaluator")["next_actions"] == ["Write the notes API"]
    assert apply("--progress_table-=plan")["progress_table"][0]["id"] == "sprint-1"
    assert apply("--prs-=7", prs=[{"number": 7}, 8])["prs"] == [b"8"]
    assert apply("--prs-=8", prs=[{"number": 7}, 8])["prs"] == [{"number": b"7"}]
    assert apply("--skill_state-=iteration")["skill_state"] == {}
    assert "blockers" not in apply("--blockers-=")
    assert [row["id"] for row in apply("--progress_table[plan]-=")["progress_table"]] == [
        "sprint-1",
        "sprint-2",
    ]


def test_values_of_json_are_removed_too() -> None:
    value: dict[str, Any] = to_tokens(checkpoint(blockers=[{"id": "b1"}, {"id": "b2"}]))
    for edit in make_edits(
        None, None, {"blockers": [{"id": "b1"}], "next_actions": ["Run the evaluator"]}
    ):
        apply_edit(value, edit)
    assert (value["blockers"], value["next_actions"]) == ([{"id": "b2"}], ["Write the notes API"])
    with pytest.raises(CheckpointError, match="no item"):
        apply_edit(value, make_edits(None, None, {"skill_state": [{"id": "b1"}]})[0])


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("--next_actions-=Run the evaluater", "Run the evaluator"),
        ("--step-=x", "--step="),
        ("--mood-=", "checkpoint show"),
    ],
)
def test_what_is_not_there_cannot_be_removed(word: str, hint: str) -> None:
    assert hint in str(refuse(word).hint)


@rows(
    ("action", "text"),
    [
        ({"text": "a", "done_when_merged": ["#12"]}, "it is skipped once #12 is merged"),
        (
            {"text": "a", "done_when_merged": ["#12", "#13"]},
            "it is skipped once #12 and #13 are merged",
        ),
        ({"text": "a"}, ""),
        ("a", ""),
    ],
)
def test_what_an_action_waits_for_is_described(action: Any, text: str) -> None:
    assert describe_goals(action) == text


@rows(
    ("field", "text", "end"),
    [
        ("progress_table", "done", ".status=complete"),
        ("progress_table", "Login", ".label=Login"),
        ("blockers", "done", ".description=done"),
    ],
)
def test_a_text_is_put_where_an_item_of_a_list_has_its_text(
    field: str, text: str, end: str
) -> None:
    assert name_text(field, text) == end
