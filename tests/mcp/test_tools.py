import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from checkpoint_git.cli.effects import EFFECTS
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import encode_hint
from checkpoint_git.mcp.calls import VerbReply, World
from checkpoint_git.mcp.tools import TOOLS, Tool, choose_tools
from tests.support.command import run_here
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

BY_NAME = {tool.name: tool for tool in TOOLS}


def run(tool: str, project: Path, owner: str = "", **asked: Any) -> VerbReply:
    """A call in this process."""
    return BY_NAME[tool].run(asked, World(str(project), owner))


def read_build(project: Path) -> dict[str, Any]:
    """The sample checkpoint as it lies on the disk."""
    value: dict[str, Any] = json.loads((project / ".checkpoints/build.checkpoint.json").read_text())
    return value


@rows("tool", TOOLS)
def test_a_tool_is_described_as_clients_want_it(tool: Tool) -> None:
    assert re.fullmatch(r"[a-z_]{1,40}", tool.name)
    assert 20 < len(tool.description) < 400
    Draft202012Validator.check_schema(tool.input_schema)
    assert set(tool.needs) <= set(tool.takes)
    assert {*tool.options, *tool.operands} - {"name"} <= set(tool.takes)


@rows("tool", TOOLS)
def test_a_tool_is_said_to_write_if_its_command_writes_more_than_state(tool: Tool) -> None:
    rows_of_verb = [
        effects for name, effects in EFFECTS.items() if f"{name} ".startswith(f"{tool.call} ")
    ]
    written = {word for effects in rows_of_verb for word in effects.writes.split(", ")}
    assert rows_of_verb
    # without --fix
    assert tool.writes == bool(written - {"", "state"}) or tool.name == "checkpoint_doctor"


@rows(
    ("tool", "words", "asked"),
    [
        ("checkpoint_status", ["status"], {}),
        ("checkpoint_status", ["status", "build"], {"skill": "build"}),
        ("checkpoint_status", ["status", "--brief"], {"brief": True}),
        ("checkpoint_status", ["status", "--since=2026-01-01"], {"since": "2026-01-01"}),
        ("checkpoint_next", ["next", "--all"], {"all": True}),
        ("checkpoint_resume", ["resume", "build"], {"skill": "build"}),
        ("checkpoint_log", ["log", "build", "--limit=2"], {"skill": "build", "limit": 2}),
        ("checkpoint_show", ["show", "--public"], {}),
        ("checkpoint_show", ["show", "build", "--public"], {"skill": "build"}),
        ("checkpoint_show", ["show", "--tickets"], {"tickets": True}),
        ("checkpoint_validate", ["validate", "--strict"], {"strict": True}),
        (
            "checkpoint_doctor",
            ["doctor", "build", "--check=drift"],
            {"skill": "build", "checks": ["drift"]},
        ),
        ("restore_point_list", ["restore-point", "list"], {}),
    ],
)
def test_a_tool_answers_what_the_command_line_prints(
    tool: str, words: list[str], asked: dict[str, Any], project: Path
) -> None:
    printed = json.loads(run_here(*words, "--json", cwd=project).stdout)
    for finding in printed["findings"]:
        finding.pop("commands", None)  # an agent calls tools instead
    answered = json.loads(json.dumps(run(tool, project, **asked).document, default=encode_hint))
    assert _without_ages(answered) == _without_ages(printed)


def _without_ages(value: Any) -> Any:
    """A document without what a second changes."""
    if isinstance(value, dict):
        return {key: _without_ages(member) for key, member in value.items() if key != "age_seconds"}
    return [_without_ages(item) for item in value] if isinstance(value, list) else value


def test_a_skill_is_claimed_for_a_time_and_released(project: Path) -> None:
    mine = run("checkpoint_claim", project, skill="build", **{"for": "30m"}).document
    assert (mine["held"], mine["claim"]["name"]) == (True, "build")
    assert run("checkpoint_next", project).document["claims"] == [mine["claim"]]
    assert run("checkpoint_claim", project, skill="build", release=True).document["claim"] is None


@pytest.mark.parametrize("word", ["--public", "-C/", "--", "--json", "../build", ""])
def test_a_skill_is_never_taken_for_an_option_or_a_path(word: str, project: Path) -> None:
    with pytest.raises(CheckpointError):
        run("checkpoint_show", project, skill=word)


def test_no_file_outside_the_repository_is_validated(project: Path, tmp_path: Path) -> None:
    """A message quotes the beginning of what it cannot read."""
    private = tmp_path / "private"
    private.write_text("the-owner-only")
    (project / "link").symlink_to(private)
    for path in (str(private), "link", "../" * 40 + "etc/hosts", "a\0b"):
        with pytest.raises(CheckpointError, match="is not a path inside"):
            run("checkpoint_validate", project, paths=[".checkpoints", path])
    inside = ".checkpoints/build.checkpoint.json"
    assert run("checkpoint_validate", project, paths=[inside]).document["checked"]


def test_skill_state_is_shown_to_its_own_skill_alone(project: Path) -> None:
    def shown(owner: str, skill: str) -> bool:
        return (
            "skill_state"
            in run("checkpoint_show", project, owner, skill=skill).document["checkpoints"][skill]
        )

    (project / ".checkpoints/ship.checkpoint.json").write_text(checkpoint_text(skill="ship"))
    assert shown("build", "build")
    assert not shown("build", "ship")
    assert not shown("", "build")


def test_a_change_is_written_and_told(project: Path) -> None:
    reply = run(
        "checkpoint_update",
        project,
        "build",
        skill="build",
        replace={
            "step": "sprint-3",
            "progress_table[sprint-2].status": "complete",
            "skill_state": {"iteration": 1.50},
        },
        append={"next_actions": ["--complete", {"text": "Ship", "done_when": "make ship"}]},
    )
    assert not reply.failed
    assert reply.document["fields"] == ["step", "progress_table", "skill_state", "next_actions"]
    value = read_build(project)
    assert (value["step"], value["progress_table"][2]["status"]) == ("sprint-3", "complete")
    assert value["next_actions"][2:] == ["--complete", {"text": "Ship", "done_when": "make ship"}]


def test_a_change_that_breaks_a_rule_is_refused_with_code_and_pointer(project: Path) -> None:
    before = read_build(project)
    reply = run("checkpoint_update", project, skill="build", replace={"status": "doing well"})
    assert reply.failed
    assert reply.document["written"] is False
    assert [(each["code"], each["where"]) for each in reply.document["findings"]] == [
        ("skill/unknown-status", "/status")
    ]
    assert read_build(project) == before


@pytest.mark.parametrize("tool", ["checkpoint_update", "checkpoint_done"])
def test_another_skills_checkpoint_is_not_written(tool: str, project: Path) -> None:
    before = read_build(project)
    with pytest.raises(CheckpointError, match="another skill"):
        run(
            tool,
            project,
            "ship",
            skill="build",
            **({"replace": {"step": "x"}} if "update" in tool else {}),
        )
    assert read_build(project) == before


def test_an_update_without_a_change_is_an_error(project: Path) -> None:
    with pytest.raises(CheckpointError, match="nothing to change"):
        run("checkpoint_update", project, skill="build")


def test_a_single_text_is_one_item_and_both_words_name_the_checkpoint(project: Path) -> None:
    run("checkpoint_update", project, skill="build", append={"next_actions": "Ship"})
    run("checkpoint_update", project, name="build", append={"next_actions": "Measure"})
    assert read_build(project)["next_actions"][-2:] == ["Ship", "Measure"]
    run("checkpoint_update", project, name="build", remove={"next_actions": "Ship"})
    assert read_build(project)["next_actions"][-1] == "Measure"
    assert "Ship" not in read_build(project)["next_actions"]


def test_a_row_is_added_by_its_label_and_finished_by_its_id(project: Path) -> None:
    run("checkpoint_row", project, name="build", text="Measure --it", id="m")
    assert read_build(project)["progress_table"][-1] == {
        "id": "m",
        "label": "Measure --it",
        "status": "not_started",
    }
    run("checkpoint_row", project, name="build", text="m", status="complete")
    assert read_build(project)["progress_table"][-1]["status"] == "complete"


def test_the_first_action_is_done_and_its_proof_is_not_run(project: Path) -> None:
    bad = {"text": "Run it", "done_when": f"touch {project}/ran"}
    (project / ".checkpoints/build.checkpoint.json").write_text(checkpoint_text(next_actions=[bad]))
    assert run("checkpoint_done", project, skill="build").failed
    reply = run("checkpoint_done", project, skill="build", next_action="--verify")
    assert (reply.failed, reply.document["done"], reply.document["next"]) == (
        False,
        "Run it",
        "--verify",
    )
    assert not (project / "ran").exists()


def test_a_restore_point_brings_a_file_back_once_it_is_confirmed(project: Path) -> None:
    (project / "notes.txt").write_text("good")
    made = run(
        "restore_point_create", project, scope=["notes.txt"], reason="--type=nonsense"
    ).document
    point = made["checkpoint_id"]
    (project / "notes.txt").write_text("bad")
    planned = run("restore_point_rollback", project, checkpoint_id=point).document
    assert (planned["dry_run"], [each["path"] for each in planned["restored"]]) == (
        True,
        ["notes.txt"],
    )
    with pytest.raises(CheckpointError, match="another restore point"):
        run("restore_point_rollback", project, checkpoint_id=point, confirm="yes")
    assert (project / "notes.txt").read_text() == "bad"
    done = run("restore_point_rollback", project, checkpoint_id=point, confirm=point).document
    assert (project / "notes.txt").read_text() == "good"
    assert run(
        "restore_point_verify", project, checkpoint_id=done["safety_checkpoint_id"]
    ).document["verified"]
    assert (
        run("restore_point_show", project, checkpoint_id=point).document["entries"][0]["path"]
        == "notes.txt"
    )


def test_a_rollback_does_not_write_what_belongs_to_another_skill(project: Path) -> None:
    (project / ".checkpoints/ship.checkpoint.json").write_text(checkpoint_text(skill="ship"))
    point = run("restore_point_create", project, "build", scope=[".checkpoints"]).document[
        "checkpoint_id"
    ]
    for skill in ("build", "ship"):
        (project / f".checkpoints/{skill}.checkpoint.json").write_text("{}")
    for asked in ({}, {"confirm": point}):
        with pytest.raises(CheckpointError, match="this session works as build"):
            run("restore_point_rollback", project, "build", checkpoint_id=point, **asked)
    own = [".checkpoints/build.checkpoint.json"]
    run("restore_point_rollback", project, "build", checkpoint_id=point, confirm=point, scope=own)
    assert read_build(project)["skill"] == "build"
    assert (project / ".checkpoints/ship.checkpoint.json").read_text() == "{}"


def test_a_restore_point_takes_nothing_from_outside(project: Path) -> None:
    with pytest.raises(CheckpointError):
        run("restore_point_create", project, scope=["/etc/passwd"])


@pytest.mark.parametrize(
    ("tool", "asked"),
    [("checkpoint_status", {"since": "--"}), ("checkpoint_doctor", {"checks": ["--"]})],
    ids=["status", "doctor"],
)
def test_two_dashes_are_a_value_like_any_other(
    tool: str, asked: dict[str, Any], project: Path
) -> None:
    with pytest.raises(CheckpointError, match='"--"'):
        run(tool, project, **asked)


def test_an_action_is_not_finished_and_followed_at_once(project: Path) -> None:
    with pytest.raises(CheckpointError, match="--complete"):
        run("checkpoint_done", project, skill="build", next_action="x", complete=True)


def test_a_tool_that_says_it_only_reads_changes_no_file(project: Path) -> None:
    (project / "README.md").write_text("x")
    point = run("restore_point_create", project, scope=["README.md"], reason="a try").document[
        "checkpoint_id"
    ]
    before = read_files(project)
    for tool in choose_tools(read_only=True).values():
        run(
            tool.name,
            project,
            **{name: {"name": "build", "checkpoint_id": point}[name] for name in tool.needs},
        )
    assert read_files(project) == before


def read_files(project: Path) -> dict[Path, bytes]:
    """Return every file of a project with its content, those of its git directory too."""
    return {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}


def test_what_takes_the_place_of_something_is_called_destructive() -> None:
    replacing = {
        "checkpoint_update",
        "checkpoint_resolve",
        "checkpoint_reset",
        "restore_point_rollback",
    }
    assert {tool.name for tool in TOOLS if tool.destructive} == replacing


def test_read_only_offers_no_tool_that_writes() -> None:
    assert [tool.name for tool in choose_tools(read_only=True).values() if tool.writes] == []
    assert {tool.name for tool in TOOLS if tool.writes} == {
        "checkpoint_update",
        "checkpoint_done",
        *(
            f"checkpoint_{verb}"
            for verb in (
                "add",
                "row",
                "note",
                "ask",
                "decide",
                "block",
                "unblock",
                "drop",
                "undo",
                "reset",
                "resolve",
                "claim",
            )
        ),
        "workflow",
        "pipeline",
        "restore_point_create",
        "restore_point_verify",
        "restore_point_rollback",
    }
