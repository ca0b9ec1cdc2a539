"""What an edit means: the field that its name is about, and its value as the schema wants it
there.
"""

import json
from typing import Any

import pytest

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.skill.edit.fields import child_rules, resolve, understand
from checkpoint_git.protocols.skill.edit.parse import parse_edits, path_text
from tests.support.rows import rows
from tests.support.samples import checkpoint

SCHEMA = open_room("skill").schema.document
BLOCKERS = [{"id": "b1", "description": "Which region?"}, {"id": "b2", "description": "No key"}]


def meaning(
    *words: str, new_field: bool = False, **changes: Any
) -> tuple[list[Any], list[tuple[str, str]]]:
    """What edits of a sample checkpoint mean, as (path, value), and what was understood
    otherwise.
    """
    value = jsontext.scan_tokens(json.dumps(checkpoint(**changes)))
    edits, taken = understand(
        value, parse_edits(list(words)), SCHEMA, new_field=new_field, skill="build"
    )
    return [(path_text(edit.path), edit.value) for edit in edits], [
        (each.typed, each.meant) for each in taken
    ]


def refusal(*words: str, **changes: Any) -> str:
    """Why edits are refused, with what to do instead."""
    with pytest.raises(CheckpointError) as caught:
        meaning(*words, **changes)
    return f"{caught.value}; {caught.value.hint}"


@rows(
    ("word", "path", "value", "understood"),
    [
        ("--step=s3", "step", "s3", False),
        ("--context_primer.key_decisions+=Use it", "context_primer.key_decisions", "Use it", False),
        ("--key_decisions+=Use it", "context_primer.key_decisions", "Use it", True),
        ("--nextActions+=Go on", "next_actions", "Go on", True),
        ("--progress_table.1.label=Login", "progress_table.1.label", "Login", False),
        ("--progress_table[plan].label=Login", "progress_table[plan].label", "Login", False),
        ("--blockers.b2.description=Gone", "blockers[b2].description", "Gone", False),
        ("--$schema=x", "$schema", "x", False),
    ],
)
def test_a_name_leads_to_the_field_that_it_surely_means(
    word: str, path: str, value: Any, understood: bool
) -> None:
    edits, taken = meaning(word, blockers=BLOCKERS)
    assert edits == [(path, value)]
    assert bool(taken) == understood


@rows(
    ("word", "value"),
    [
        ("--status=done", "complete"),
        ("--status=in_progress", "in_progress"),
        ("--status=odd", "odd"),  # the check of the whole document says what is wrong
        ("--progress_table[plan].status=finished", "complete"),
        ("--blockers[b1].resolved=yes", True),
        ("--blockers[b1].resolved=Off", False),
        ("--skill_state.iteration=2", b"2"),  # a number stays one
        ("--skill_state.iteration=two", "two"),
        ("--progress_summary=7", "7"),  # a text stays one
        (
            '--next_actions+={"text": "Go on", "done_when": "green"}',
            {"text": "Go on", "done_when": "green"},
        ),
        ('--next_actions+={"text": "Go on", "odd": "green"}', '{"text": "Go on", "odd": "green"}'),
        ("--next_actions+={braces}", "{braces}"),
        ("--progress_summary={braces}", "{braces}"),
    ],
)
def test_a_value_is_read_as_its_place_wants_it(word: str, value: Any) -> None:
    edits, _ = meaning(word, blockers=BLOCKERS)
    assert [edit[1] for edit in edits] == [value]


def test_what_was_understood_is_reported_as_it_was_typed() -> None:
    assert meaning("--status=done")[1] == [("done", "complete")]
    assert meaning("--key_decisions+=x")[1] == [("key_decisions", "context_primer.key_decisions")]
    assert meaning("--skill_state.iteration=two")[1] == [("two", "a text, where a number was")]
    assert meaning("--skill_state.iteration=2")[1] == [("2", "a number, as before")]
    near = meaning("--skill_state.iterations=2")[1]
    assert near == [("skill_state.iterations", "a new field beside skill_state.iteration")]


def test_names_in_an_object_are_understood_too() -> None:
    edits, taken = meaning(
        '--blockers+:json={"id": "b3", "Description": "No key", "own": 1}', blockers=[{"own": 2}]
    )
    assert edits == [("blockers", {"id": "b3", "description": "No key", "own": b"1"})]
    assert taken == [("Description", "blockers.description")]


@rows(
    ("words", "reason"),
    [
        (["--steps_done=3"], "unknown field"),
        (["--json=1"], "--json is a separate option"),
        (["--note=hello"], "did you mean this: checkpoint note build hello"),
        (["--step=a", "--step=b"], "step is written twice"),
        (["--progress_table[plan].label=a", "--progress_table:json=[]"], "written twice"),
        (["--blockers[b1].options=one"], "blockers[b1].options is a list; add an item to it"),
        (["--blockers[b1].resolved=perhaps"], '"perhaps" is neither true nor false'),
        (
            ['--blockers+:json={"description": "a", "Description": "b"}'],
            "blockers has description twice",
        ),
        (["--skill_state.iteration:json=1e400"], "is not finite"),
        (["--blockers.0.oddity=1"], "unknown field"),
        (["--oddity-="], "see what there is"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_way_out(words: list[str], reason: str) -> None:
    assert reason in refusal(*words, blockers=BLOCKERS)


def test_a_text_never_takes_the_place_of_what_holds_more() -> None:
    assert "would be lost" in refusal("--skill_state.runs=none", skill_state={"runs": ["a", "b"]})
    assert meaning("--skill_state.runs:json=[]", skill_state={"runs": ["a", "b"]})[0] == [
        ("skill_state.runs", [])
    ]
    assert meaning("--skill_state.runs=[1]", skill_state={"runs": ["a"]})[0] == [
        ("skill_state.runs", [b"1"])
    ]


@rows(
    ("word", "refused"),
    [
        ("--blockers-=", True),
        ("--blockers[b1]-=", False),
        ("--blockers-=b1", False),
        ("--skill_state.iteration-=", False),
        ("--key_decisions-=", True),
        ("--project-=", False),
    ],
)
def test_a_removal_without_a_value_does_not_empty_a_list_unasked(word: str, refused: bool) -> None:
    if refused:
        assert "would remove all of" in refusal(word, blockers=BLOCKERS)
    else:
        meaning(word, blockers=BLOCKERS)


def test_an_empty_or_single_list_may_go() -> None:
    assert meaning("--blockers-=", blockers=[])[0] == [("blockers", "")]
    assert meaning("--blockers-=", blockers=BLOCKERS[:1])[0] == [("blockers", "")]


def test_a_name_of_ones_own_needs_a_word_or_is_there_already() -> None:
    assert "any name is taken with --new-field" in refusal("--steps_done=3")
    assert meaning("--steps_done=3", new_field=True)[0] == [("steps_done", "3")]
    assert meaning("--weather=3", weather="fine")[0] == [("weather", "3")]
    assert meaning("--stepp-=", stepp="x")[0] == [("stepp", "")]


REFERENCES: dict[str, Any] = {
    "$defs": {
        "text": {"type": "string"},
        "chain": {"$ref": "#/$defs/text"},
        "circle": {"$ref": "#/$defs/circle"},
    },
}


@rows(
    ("rules", "resolved"),
    [
        ({"type": "null"}, {"type": "null"}),
        ({"$ref": "#/$defs/chain"}, {"type": "string"}),
        ({"$ref": "#/$defs/missing"}, {}),
        ({"$ref": "#/$defs/circle"}, {}),
        (True, {}),
        (None, {}),
        ({"anyOf": [{"type": "null"}, {"enum": ["a"]}]}, {"enum": ["a"]}),
        ({"oneOf": [{"type": "null"}, {"items": {}}]}, {"items": {}}),
        ({"oneOf": [{"properties": {}}, {"items": {}}]}, {"properties": {}}),
        ({"anyOf": [{"type": "null"}]}, {}),
    ],
)
def test_rules_are_found_behind_references_and_alternatives(rules: Any, resolved: Any) -> None:
    assert resolve(REFERENCES, rules) == resolved


def test_a_child_has_the_rules_of_its_name_of_items_or_of_all_others() -> None:
    rules = {"properties": {"a": {"const": 1}}, "additionalProperties": {"const": 2}}
    assert child_rules({}, rules, "a") == {"const": 1}
    assert child_rules({}, rules, "b") == {"const": 2}
    assert child_rules({}, {"items": {"const": 3}}, "") == {"const": 3}
    assert child_rules({}, {"additionalProperties": False}, "b") == {}
