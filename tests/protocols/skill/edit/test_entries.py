"""Notes, questions, answers and blockers as changes of a checkpoint's value, and why one is
refused.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.skill.edit import entries
from checkpoint_git.protocols.skill.edit.entries import MadeEntry
from tests.support.documents import NOW, decision
from tests.support.rows import rows
from tests.support.samples import checkpoint

REGION = decision(options=["eu-west", "us-east", "1) neither"])
KEY = {"id": "b2", "description": "No key", "needs": "external_dep"}


def value_of(**changes: Any) -> dict[str, Any]:
    value: dict[str, Any] = jsontext.scan_tokens(json.dumps(checkpoint(**changes)))
    return value


def done(result: MadeEntry | Finding) -> MadeEntry:
    assert isinstance(result, MadeEntry), result
    return result


def refused(result: MadeEntry | Finding | int) -> tuple[str, str]:
    assert isinstance(result, Finding), result
    return result.code, result.message


def test_a_note_goes_behind_the_others_also_where_there_are_none() -> None:
    value = value_of()
    assert entries.note(value, "Use it") == MadeEntry("noted: Use it", ("context_primer",))
    assert value["context_primer"]["key_decisions"] == [
        "SQLite for storage",
        "Passkeys only",
        "Use it",
    ]
    value = value_of(context_primer=...)
    entries.note(value, "Use it")
    assert value["context_primer"] == {"key_decisions": ["Use it"]}


Write = Callable[[dict[str, Any], str], object]
WRITES: list[Write] = [
    lambda value, text: entries.note(value, text),
    lambda value, text: entries.ask(value, text),
    lambda value, text: entries.ask(value, "Which?", [text]),
    lambda value, text: entries.block(value, text),
    lambda value, text: entries.decide(value, NOW, text),
    lambda value, text: entries.drop(value, NOW, text),
]


@rows("text", ["", "  ", "\n", "\ud800"])
@rows("write", WRITES)
def test_an_empty_or_broken_text_is_refused_everywhere(text: str, write: Write) -> None:
    value = value_of(blockers=[decision()])
    with pytest.raises(CheckpointError):
        write(value, text)
    assert value == value_of(blockers=[decision()])


@rows("primer", ["a text", [], {"key_decisions": "a text"}])
def test_a_field_of_another_shape_is_not_written_over(primer: Any) -> None:
    value = value_of(context_primer=primer)
    with pytest.raises(CheckpointError, match="is not a list"):
        entries.note(value, "Use it")
    assert value == value_of(context_primer=primer)


def test_a_blocker_has_what_was_said_of_it_and_a_name_of_its_text() -> None:
    value = value_of()
    entry = entries.block(value, "No key", "vendor", "sprint-2")
    assert value["blockers"] == [
        {"id": entry.id, "description": "No key", "blocking": "sprint-2", "needs": "external_dep"}
    ]
    assert entry.fields == ("blockers",)
    assert [(each.typed, each.meant) for each in entry.understood] == [("vendor", "external_dep")]
    # on another branch it gets the same name
    assert entries.block(value_of(), "No key").id == entry.id
    assert entries.block(value_of(), "No door").id != entry.id
    assert entries.block(value_of(), "No key", "code_fix").understood == ()


def test_the_same_text_twice_gets_two_names() -> None:
    value = value_of()
    names = [entries.block(value, "No key").id for _ in range(3)]
    assert len(set(names)) == 3
    assert all(name.startswith(names[0]) for name in names)


def test_a_need_that_nobody_knows_is_refused() -> None:
    value = value_of()
    with pytest.raises(CheckpointError, match="invalid need"):
        entries.block(value, "No key", "luck")
    assert value["blockers"] == []


def test_a_question_waits_on_the_user_and_keeps_its_options() -> None:
    value = value_of()
    entry = entries.ask(value, "Which region?", ["eu", "us"], "sprint-2")
    (blocker,) = value["blockers"]
    assert blocker["needs"] == "user_decision"
    assert (blocker["options"], blocker["blocking"]) == (["eu", "us"], "sprint-2")
    assert entry.line == f"{entry.id} waits on an answer: Which region?"
    assert "options" not in value_of() | {"blockers": []}


@rows(
    ("answer", "meant"),
    [
        ("eu-west", "eu-west"),
        ("EU-West", "eu-west"),
        ("a", "eu-west"),
        ("B", "us-east"),
        ("(b)", "us-east"),
        ("2", "us-east"),
        ("2.", "us-east"),
        ("1", "1"),  # the first option, or the one that begins with 1
        ("3", "1) neither"),
        ("4", "4"),
        ("0", "0"),
        ("d", "d"),
        ("e", "eu-west"),
        ("2026", "2026"),
        ("ap-south", "ap-south"),
    ],
)
def test_an_answer_may_be_an_options_place_or_beginning(answer: str, meant: str) -> None:
    value = value_of(blockers=[REGION])
    entry = done(entries.decide(value, NOW, answer))
    assert value["context_primer"]["key_decisions"][-1] == f"Which region? {meant} (2026-03-02)"
    assert bool(entry.understood) == (answer != meant)
    assert ("the options were" in entry.line) == (meant not in REGION["options"])


def test_an_answer_closes_its_question_and_no_other() -> None:
    value = value_of(blockers=[decision(id="b1"), decision(id="b3", description="When")])
    entry = done(entries.decide(value, NOW, "Monday", "b3"))
    assert entry.fields == ("context_primer", "blockers")
    assert entry.id == "b3"
    assert value["context_primer"]["key_decisions"][-1] == "When: Monday (2026-03-02)"
    first, second = value["blockers"]
    assert "resolved" not in first
    assert (second["resolved"], second["resolved_at"]) == (True, "2026-03-02T12:00:00Z")


@rows(
    ("blockers", "answer", "name", "reason"),
    [
        ([], "eu", None, "no question is open"),
        ([KEY], "eu", None, "no question is open"),
        ([decision(), decision(id="b3")], "eu", None, "2 questions are open: say which"),
        ([decision()], "eu", "b9", '1 question is open: none has the id "b9"'),
        ([decision(), decision()], "eu", "b1", '2 open questions have the id "b1"'),
        ([decision()], "b1", None, '"b1" is the question: the answer is missing'),
        ([decision(resolved=True)], "eu", None, "no question is open"),
    ],
)
def test_an_answer_that_fits_no_single_question_is_refused(
    blockers: list[Any], answer: str, name: str | None, reason: str
) -> None:
    value = value_of(blockers=blockers)
    assert refused(entries.decide(value, NOW, answer, name)) == ("entry/question", reason)
    assert value == value_of(blockers=blockers)


@rows("name", ["b2", "B2", "blockers.1", "No key", "no-key"])
def test_a_blocker_is_named_by_its_id_its_place_or_its_text(name: str) -> None:
    value = value_of(blockers=[decision(), KEY, {"id": "b4", "description": "No door"}])
    assert done(entries.unblock(value, NOW, name)).id == "b2"
    assert [blocker.get("resolved", False) for blocker in value["blockers"]] == [False, True, False]


@rows(
    ("blockers", "name", "code", "reason"),
    [
        ([decision()], "b1", "entry/question", '"b1" waits on an answer'),
        ([decision()], None, "entry/blocker", "no blocker is open"),
        ([KEY, {**KEY, "id": "b4"}], None, "entry/blocker", "2 blockers are open: say which"),
        ([KEY], "b9", "entry/blocker", '1 blocker is open: none has the id "b9"'),
    ],
)
def test_only_a_blocker_that_needs_no_answer_is_unblocked(
    blockers: list[Any], name: str | None, code: str, reason: str
) -> None:
    assert refused(entries.unblock(value_of(blockers=blockers), NOW, name)) == (code, reason)


@rows(
    ("changes", "status"),
    [
        ({"status": "blocked", "blockers": [KEY]}, "in_progress"),
        ({"status": "blocked", "blockers": [KEY, decision()]}, "blocked"),
        ({"status": "blocked", "blockers": [KEY], "next_actions": []}, "blocked"),
        ({"status": "failed", "blockers": [KEY]}, "failed"),
    ],
)
def test_the_work_goes_on_where_nothing_else_blocks_it(
    changes: dict[str, Any], status: str
) -> None:
    value = value_of(**changes)
    entry = done(entries.unblock(value, NOW, "b2"))
    assert value["status"] == status
    assert ("in_progress again" in entry.line) == (status == "in_progress")


@rows(
    ("words", "answer", "name"),
    [
        (["eu"], "eu", None),
        (["b1", "eu", "west"], "eu west", "b1"),
        (["b1:", "eu"], "eu", "b1"),
        (["x9", "eu"], "eu", "x9"),  # looks like an id, which will be refused
        (["eu", "west"], "eu west", ""),
        (["in", "the", "west"], "in the west", ""),
        (["x9", "is", "it"], "x9 is it", ""),
        (["=", "x"], "x", "="),
    ],
)
def test_the_words_of_an_answer_may_begin_with_the_question(
    words: list[str], answer: str, name: str | None
) -> None:
    assert entries.split_answer(value_of(blockers=[decision()]), words) == (answer, name)


ACTIONS = ["Write the notes API", {"text": "Run the evaluator", "id": "eval"}, "Write the docs"]


@rows(
    ("action", "place"),
    [
        (None, 0),
        ("1", 0),
        ("#2", 1),
        ("next_actions.1", 1),
        ("[3]", 2),
        ("eval", 1),
        ("EVALUATOR", 1),
        ("Write the docs", 2),
        ("notes", 0),
    ],
)
def test_an_action_is_found_by_its_number_its_id_or_a_part_of_its_text(
    action: str | None, place: int
) -> None:
    assert entries.find_action(value_of(next_actions=ACTIONS), action, "done") == place


@rows(
    ("action", "reason"),
    [
        ("Write", '2 actions have "Write" in it'),
        ("7", 'no action has "7" in it'),
        ("fly", 'no action has "fly" in it'),
    ],
)
def test_an_action_that_is_not_clear_is_refused(action: str, reason: str) -> None:
    value = value_of(next_actions=ACTIONS)
    assert refused(entries.find_action(value, action, "done")) == ("entry/which-action", reason)


def test_a_dropped_action_leaves_its_reason() -> None:
    value = value_of()
    entry = done(entries.drop(value, NOW, "no need", "notes"))
    assert [each if isinstance(each, str) else each["text"] for each in value["next_actions"]] == [
        "Run the evaluator"
    ]
    assert (
        value["context_primer"]["key_decisions"][-1]
        == "Dropped: Write the notes API: no need (2026-03-02)"
    )
    assert entry == MadeEntry("dropped: Write the notes API", ("next_actions", "context_primer"))


def test_the_last_action_is_dropped_with_what_comes_instead() -> None:
    value = value_of(next_actions=["One"])
    refusal = entries.drop(value, NOW, "no need", "One")
    assert isinstance(refusal, Finding)
    assert value == value_of(next_actions=["One"])
    entry = done(entries.drop(value, NOW, "no need", "One", next_action="Two after #12 merges"))
    assert [each if isinstance(each, str) else each["text"] for each in value["next_actions"]] == [
        "Two after #12 merges"
    ]
    assert value["status"] == "in_progress"
    entry = done(entries.drop(value, NOW, "no need", complete=True))
    assert (value["next_actions"], value["status"]) == ([], "complete")
    assert entry.line.endswith("; the status is complete")
