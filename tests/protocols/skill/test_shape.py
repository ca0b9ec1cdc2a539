"""Which code and hint a break of the schema gets."""

import itertools
import shlex
from typing import Any

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.schema import explain
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.skill import shape
from checkpoint_git.protocols.skill.edit.parse import parse_edits
from checkpoint_git.protocols.skill.shape import describe, empty_field
from tests.support.rows import rows
from tests.support.samples import checkpoint


def find(**changes: Any) -> list[Finding]:
    return [
        describe(mismatch) for mismatch in explain(open_room("skill").schema, checkpoint(**changes))
    ]


@rows(
    ("changes", "code", "where", "message"),
    [
        ({"status": ...}, "skill/missing-field", "/status", "status is missing"),
        ({"step": ""}, "skill/empty-field", "/step", "step is empty"),
        ({"step": 7}, "skill/wrong-type", "/step", "step must be a text, and is 7"),
        (
            {"status": "done"},
            "skill/unknown-status",
            "/status",
            'invalid status "done": expected in_progress, blocked, complete or failed',
        ),
        ({"protocol_version": "0.9"}, "skill/protocol-version", "/protocol_version", None),
        (
            {"updated_at": 7},
            "skill/timestamp",
            "/updated_at",
            "updated_at must be a text, and is 7",
        ),
        (
            {"progress_table": [{"id": "a", "status": "complete"}]},
            "skill/row-incomplete",
            "/progress_table/0/label",
            "progress_table.0.label is missing",
        ),
        (
            {"blockers": [{"id": "", "description": "x"}]},
            "skill/blocker-incomplete",
            "/blockers/0/id",
            "blockers.0.id is empty",
        ),
        (
            {"pm_refs": [{"id": "A-1"}]},
            "skill/pm-ref-incomplete",
            "/pm_refs/0/provider",
            "pm_refs.0.provider is missing",
        ),
        (
            {"next_actions": [{}]},
            "skill/action-shape",
            "/next_actions/0/text",
            "next_actions.0.text is missing",
        ),
        ({"cost": {"total_usd": -1}}, "skill/negative-amount", "/cost/total_usd", None),
        ({"telemetry_handle": []}, "skill/telemetry-handle", "/telemetry_handle", None),
    ],
)
def test_a_break_has_a_code_a_place_and_a_sentence(
    changes: dict[str, Any], code: str, where: str, message: str | None
) -> None:
    (found,) = [each for each in find(**changes) if each.where == where][:1]
    assert (found.code, found.level) == (code, "error")
    assert message in (None, found.message), found.message


def test_a_missing_field_is_added_by_a_command() -> None:
    (found,) = find(phase=...)
    assert str(found.hint) == 'add it: checkpoint update NAME --phase="..."'


def test_a_number_as_a_key_is_no_index() -> None:
    assert empty_field("/skill_state/0/a~1b").message == "skill_state.0.a/b is empty"


@pytest.mark.parametrize("change", ["=...", "-="])
def test_a_command_is_only_advised_where_its_word_reads_as_that_place(change: str) -> None:
    names = [
        "a",
        "field",
        "0",
        "a.b",
        "a-b",
        "a-",
        "a=b",
        "a[b",
        "a]b",
        " a",
        "a b",
        "",
        "a:b",
        "-a",
        "a\nb",
        "ü",
        "a/b",
    ]
    commands = 0
    for parts in itertools.chain(
        itertools.product(names, repeat=1), itertools.product(names, repeat=2)
    ):
        where = "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)
        what, _, command = str(shape.advise_edit("do it", where, change)).partition(": ")
        if command:
            commands += 1
            (edit,) = parse_edits(shlex.split(command)[3:])
            assert [step.name for step in edit.path] == list(parts)
        else:
            assert what == "do it, in the file itself"
    assert commands > 80
