"""What `checkpoint status` shows of checkpoints, as blocks and as data."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import encode_hint
from checkpoint_git.core.outcome import Line, Table
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.contract import StatusQuestion
from checkpoint_git.protocols.skill.brief.status import (
    StatusResult,
    state_data,
    status,
    summarize_status,
)
from checkpoint_git.protocols.skill.views import UNREADABLE
from tests.support.documents import LIMITS, NOW, decision
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

OLD = {"created_at": "2026-02-20T11:00:00Z", "updated_at": "2026-02-20T12:00:00Z"}
KEY = {"id": "b2", "description": "No key", "needs": "external_dep"}


def write(root: Path, **skills: dict[str, Any]) -> None:
    folder = root / ".checkpoints"
    folder.mkdir(exist_ok=True)
    for skill, changes in skills.items():
        (folder / f"{skill}.checkpoint.json").write_text(checkpoint_text(skill=skill, **changes))


def lines_of(root: Path, **asked: Any) -> list[str]:
    """What is shown, a line a text; a table's rows joined."""
    (root / ".checkpoints").mkdir(exist_ok=True)
    summary = summarize_status(
        StatusQuestion(find_place(str(root)), NOW, {}, "status", **{"form": "text", **asked})
    )
    found: list[str] = []
    for block in [*summary.lead, *summary.blocks]:
        if isinstance(block, Table):
            found += [
                " | ".join(cell if isinstance(cell, str) else cell.text for cell in row)
                for row in block.rows
            ]
        else:
            assert isinstance(block, Line)
            found.append(block.whole)
    return found


def data_of(root: Path, **asked: Any) -> dict[str, Any]:
    question = StatusQuestion(find_place(str(root)), NOW, {}, "status", **{"form": "json", **asked})
    data: dict[str, Any] = json.loads(
        json.dumps(summarize_status(question).data, default=encode_hint)
    )
    return data


def test_decisions_lead_and_are_not_shown_twice(tmp_path: Path) -> None:
    write(tmp_path, build={"blockers": [decision(), KEY]}, ship={})
    lines = lines_of(tmp_path)
    assert lines[0] == "1 decision waiting on you"
    assert lines[1] == "  build: Which region?"
    assert lines[2].strip().startswith("checkpoint decide build")
    assert sum("Which region?" in line for line in lines) == 1
    assert "  blocker b2: No key [needs external_dep]" in lines
    assert lines_of(tmp_path, short=True)[0].startswith("build | ")


def test_a_table_row_says_where_a_skill_is(tmp_path: Path) -> None:
    write(tmp_path, build={}, ship={"progress_table": [], **OLD})
    assert lines_of(tmp_path, short=True) == [
        "build | build-loop | sprint-2 | in_progress | 2h | 2/3",
        "ship | build-loop | sprint-2 | in_progress | stale (10d) | ",
    ]
    write(tmp_path, ship={"pm_refs": [{"provider": "jira", "id": "X-1", "role": "source"}]})
    assert lines_of(tmp_path, short=True)[1].endswith(" | 2/3 | PM: X-1 (source)")


@rows(
    ("actions", "state", "lines"),
    [
        (["a"], "in_progress", ["  1 next: a"]),
        (["a", "b", "c"], "in_progress", ["  1 next: a", "  2 then: b", "  3 then: c"]),
        (
            ["a", "b", "c", "d"],
            "in_progress",
            ["  1 next: a", "  2 then: b", "  3 then: c", "  and 1 more: checkpoint status build"],
        ),
        (["a", "b"], "complete", ["  1 next: a", "  and 1 more: checkpoint status build"]),
        (["x" * 161], "in_progress", [f"  1 next: {'x' * 157}..."]),
    ],
)
def test_of_all_skills_the_first_actions_are_shown(
    tmp_path: Path, actions: list[str], state: str, lines: list[str]
) -> None:
    write(tmp_path, build={"next_actions": actions, "status": state})
    assert [line for line in lines_of(tmp_path) if line.startswith("  ")] == lines


def test_one_skill_is_shown_whole(tmp_path: Path) -> None:
    actions = ["a", "b", "c", {"text": "d", "done_when": "green"}, "x" * 300]
    write(tmp_path, build={"next_actions": actions}, ship={})
    lines = lines_of(tmp_path, skill="build")
    assert [line for line in lines if " then: " in line] == [
        "  2 then: b",
        "  3 then: c",
        "  4 then: d",
        f"  5 then: {'x' * 300}",
    ]
    assert "        done when: green" in lines
    assert "plan | Plan | complete" in lines
    assert "  Sprint 1 is done; sprint 2 has its contract." in lines
    assert not any("ship" in line for line in lines)


def test_brief_is_the_first_skill_and_its_next_action(tmp_path: Path) -> None:
    write(
        tmp_path,
        build={"status": "blocked", "blockers": [decision()]},
        ship={"next_actions": ["a", "b"]},
    )
    lines = lines_of(tmp_path, brief=True)
    assert lines[-2:] == [
        "build: blocked, build-loop, sprint-2, 2h",
        "  1 next: Write the notes API",
    ]
    assert [row["skill"] for row in data_of(tmp_path, brief=True)["skills"]] == ["build"]
    assert [row["skill"] for row in data_of(tmp_path)["skills"]] == ["build", "ship"]


def test_what_a_merge_set_aside_is_shown_until_it_is_reviewed(tmp_path: Path) -> None:
    aside = [
        {
            "updated_at": "2026-03-01T09:00:00Z",
            "step": "sprint-1",
            "progress_summary": "Another story.",
        }
    ]
    write(tmp_path, build={"superseded": aside})
    lines = lines_of(tmp_path)
    assert any(line.startswith("  the other side of a merge: ") for line in lines)
    assert "    once it is reviewed: checkpoint rotate build" in lines


def test_an_empty_folder_says_how_to_start(tmp_path: Path) -> None:
    assert lines_of(tmp_path)[-1].endswith("start one: checkpoint update build")
    assert lines_of(tmp_path, merged=True) == ["no next action and no blocker names merged work"]


def test_a_skill_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, build={})
    place = find_place(str(tmp_path))
    for skill in ("ship", "../build"):
        with pytest.raises(CheckpointError):
            status(place, NOW, LIMITS, skill)
    assert [state.skill for state in status(place, NOW, LIMITS, "build").states] == ["build"]


def test_a_broken_file_is_a_state_and_a_finding_where_it_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, build={})
    (tmp_path / ".checkpoints/bad.checkpoint.json").write_text("{")
    place = find_place(str(tmp_path))
    result = status(place, NOW, LIMITS)
    assert isinstance(result, StatusResult)
    assert [state.status for state in result.states] == ["in_progress", UNREADABLE]
    assert len(result.findings) == 1
    assert status(place, NOW, LIMITS, "build").findings == []
    assert lines_of(tmp_path)[-1] == ""
    assert state_data(result.states[1])["age_seconds"] is None


def test_data_has_what_programs_read(tmp_path: Path) -> None:
    write(tmp_path, build={"cost": {"total_usd": 3, "budget_usd": 2}, "blockers": [decision()]})
    data = data_of(tmp_path)
    (row,) = data["skills"]
    assert (row["age_seconds"], row["stale"], row["over_budget"]) == (9_000, False, True)
    assert row["progress"] == {"complete": 2, "total": 3}
    assert [action["text"] for action in row["next_actions"]] == [
        "Write the notes API",
        "Run the evaluator",
    ]
    assert row["blockers"] == [decision()]
    (asked,) = data["decisions"]
    assert (asked["skill"], asked["id"]) == ("build", "b1")
    assert asked["answer_with"].startswith("checkpoint decide build")
    assert data_of(tmp_path, form="text") == {}
