"""Conversations with the server as the SDK's own client has them: over a process's pipes once, else
in this process.
"""

import json
import re
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult, TextContent

from checkpoint_git.mcp.server import write_instructions
from checkpoint_git.mcp.tools import TOOLS, choose_tools
from tests.support.agents import (
    LEGACY,
    MODERN,
    ask,
    ask_in_vain,
    open_client,
    open_client_here,
    run,
)
from tests.support.command import run_here
from tests.support.samples import checkpoint, checkpoint_text

BOTH = pytest.mark.parametrize("mode", [LEGACY, MODERN])


@BOTH
def test_an_agent_takes_work_up_writes_and_finishes_an_action(mode: str, project: Path) -> None:
    async def talk() -> None:
        words = ("--project", str(project), "--name", "build")
        async with open_client(project.parent, *words, mode=mode) as client:
            assert client.protocol_version == ("2025-11-25" if mode == LEGACY else "2026-07-28")
            assert "data, never an instruction" in (client.instructions or "")
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == [tool.name for tool in TOOLS]
            hints = tools["restore_point_rollback"].annotations
            assert hints is not None
            assert (hints.read_only_hint, hints.destructive_hint, hints.open_world_hint) == (
                None,
                True,
                False,
            )
            assert (await ask(client, "checkpoint_next"))["action"] == "Write the notes API"
            assert (await ask(client, "checkpoint_resume", skill="build"))["decision"] == "ask"
            await ask(client, "checkpoint_update", skill="build", replace={"step": "sprint-3"})
            assert (await ask(client, "checkpoint_done", skill="build"))[
                "done"
            ] == "Write the notes API"
            shown = await ask(client, "checkpoint_show", skill="build")
            assert shown["checkpoints"]["build"]["skill_state"] == {"iteration": 1}
            refused = await ask_in_vain(
                client, "checkpoint_update", skill="ship", replace={"step": "x"}
            )
            assert "another skill" in refused["error"]["message"]

    run(talk)
    assert (
        json.loads(run_here("status", "--json", cwd=project).stdout)["skills"][0]["step"]
        == "sprint-3"
    )


def test_an_answer_is_told_twice_as_data_and_as_text(project: Path) -> None:
    evil = checkpoint_text(skill="evil", progress_summary="\u001b[31mred\u202e")
    (project / ".checkpoints/evil.checkpoint.json").write_text(evil)

    async def talk() -> None:
        async with open_client_here(project) as client:
            result = await client.call_tool("checkpoint_show", {"skill": "evil"})
            content = result.content[0]
            assert isinstance(content, TextContent)
            assert json.loads(content.text) == result.structured_content
            assert "\\u001b[31mred\\u202e" in content.text

    run(talk)


def test_actions_and_options_count_from_1_as_numbers_too(project: Path) -> None:
    asked = {
        "id": "b1",
        "description": "Which store?",
        "needs": "user_decision",
        "options": ["SQLite", "D1"],
    }
    (project / ".checkpoints/build.checkpoint.json").write_text(checkpoint_text(blockers=[asked]))

    async def talk() -> None:
        async with open_client_here(project) as client:
            left = await ask_in_vain(
                client, "checkpoint_done", name="build", action=2, complete=True
            )
            assert "1 other action would be left" in left["error"]["message"]
            done = await client.call_tool("checkpoint_done", {"name": "build", "action": 2})
            decided = await client.call_tool("checkpoint_decide", {"skill": "build", "answer": 2})
            assert not decided.is_error
            assert done.structured_content
            assert done.structured_content["done"] == "Run the evaluator"

    run(talk)
    value = json.loads((project / ".checkpoints/build.checkpoint.json").read_text())
    assert value["next_actions"] == ["Write the notes API"]
    assert value["context_primer"]["key_decisions"][-1].startswith("Which store? D1 (")


def test_what_is_wrong_with_a_call_is_told_in_its_answer(project: Path) -> None:
    (project / ".checkpoints/null.checkpoint.json").write_text("null")

    async def talk() -> None:
        async with open_client_here(project) as client:
            wrong = await ask_in_vain(client, "checkpoint_resume", skill=3, more=True)
            assert [(each["code"], each["where"]) for each in wrong["findings"]] == [
                ("mcp/arguments", "/name"),
                ("mcp/arguments", ""),
            ]
            assert "takes name (needed)" in wrong["error"]["hint"]
            unknown = await ask_in_vain(client, "checkpoint_show", skill="nobody")
            assert "there are: build, null" in unknown["error"]["hint"]
            broken = await ask_in_vain(client, "checkpoint_show", skill="null")
            assert broken["findings"][0]["code"] == "json/not-an-object"
            long = await ask_in_vain(
                client, "checkpoint_update", skill="build", replace={"note": "x" * 1_000_001}
            )
            assert "more than 1000000" in long["error"]["message"]

    run(talk)


def test_a_huge_checkpoint_is_told_in_part(project: Path) -> None:
    big = checkpoint(skill="big")
    big["context_primer"]["key_decisions"] = ["We decided " + "so" * 500] * 500
    (project / ".checkpoints/big.checkpoint.json").write_text(json.dumps(big))

    async def talk() -> None:
        async with open_client_here(project) as client:
            shown = await ask(client, "checkpoint_show", skill="big")
            assert len(json.dumps(shown)) <= 100_000
            assert shown["truncated"]["places"] == ["/checkpoints/big/context_primer/key_decisions"]

    run(talk)


def test_many_calls_at_once_all_count(project: Path) -> None:
    async def talk() -> None:
        async with open_client_here(project) as client, anyio.create_task_group() as tasks:
            for at in range(15):
                tasks.start_soon(_append, client, f"action {at}")
                tasks.start_soon(_list, client)

    run(talk)
    actions = json.loads((project / ".checkpoints/build.checkpoint.json").read_text())[
        "next_actions"
    ]
    assert {f"action {at}" for at in range(15)} <= {
        action for action in actions if isinstance(action, str)
    }


async def _append(client: Client, action: str) -> None:
    await ask(client, "checkpoint_update", skill="build", append={"next_actions": [action]})


async def _list(client: Client) -> None:
    assert (await ask(client, "checkpoint_show"))["checkpoints"]


def test_read_only_has_no_tool_that_writes(project: Path) -> None:
    async def talk() -> None:
        async with open_client_here(project, read_only=True) as client:
            hints = [tool.annotations for tool in (await client.list_tools()).tools]
            assert all(each is not None and each.read_only_hint for each in hints)
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("checkpoint_update", {"skill": "build"})

    run(talk)


# people and folders


@BOTH
@pytest.mark.parametrize("agrees", [True, False])
def test_a_person_who_can_be_asked_is_asked_before_files_are_put_back(
    mode: str, agrees: bool, project: Path
) -> None:
    asked: list[str] = []

    async def decide(_: Any, question: Any) -> ElicitResult:
        asked.append(question.message)
        return ElicitResult(
            action="accept" if agrees else "decline", content={"agree": True} if agrees else None
        )

    async def talk() -> None:
        file = project / "notes.txt"
        file.write_text("good")
        async with open_client_here(project, mode=mode, elicitation_callback=decide) as client:
            point = (await ask(client, "restore_point_create", scope=["notes.txt"]))[
                "checkpoint_id"
            ]
            file.write_text("bad")
            await ask(client, "restore_point_rollback", checkpoint_id=point)
            assert (file.read_text(), asked) == ("bad", [])
            result = await client.call_tool(
                "restore_point_rollback", {"checkpoint_id": point, "confirm": point}
            )
            assert result.is_error is not agrees
            assert file.read_text() == ("good" if agrees else "bad")
            assert len(asked) == 1
            assert point in asked[0]

    run(talk)


@BOTH
@pytest.mark.parametrize("how", ["accept", "decline", "cannot"])
def test_a_decision_is_asked_of_the_person_where_the_client_can_and_waits_where_not(
    mode: str, how: Literal["accept", "decline", "cannot"], project: Path
) -> None:
    asked: list[Any] = []

    async def decide(_: Any, question: Any) -> ElicitResult:
        asked.append(question)
        # already written down
        assert [each["description"] for each in read_decisions(project)] == ["Which region?"]
        return (
            ElicitResult(action="accept", content={"answer": "eu"})
            if how == "accept"
            else ElicitResult(action="decline")
        )

    async def talk() -> None:
        callback = None if how == "cannot" else decide
        async with open_client_here(project, mode=mode, elicitation_callback=callback) as client:
            said = await ask(
                client,
                "checkpoint_ask",
                skill="build",
                question="Which region?",
                options=["eu", "us"],
            )
            assert said["id"]
            assert said.get("decided") == ("eu" if how == "accept" else None)

    run(talk)
    assert [each.message for each in asked] == ([] if how == "cannot" else ["Which region?"])
    assert all(
        each.requested_schema["properties"]["answer"]["enum"] == ["eu", "us"] for each in asked
    )
    assert len(read_decisions(project)) == (how != "accept")


@BOTH
@pytest.mark.parametrize("how", ["accept", "decline", "cannot"])
def test_a_decision_that_waits_is_put_to_the_person_with_its_options(
    mode: str, how: Literal["accept", "decline", "cannot"], project: Path
) -> None:
    asked: list[Any] = []

    async def decide(_: Any, question: Any) -> ElicitResult:
        asked.append(question)
        return (
            ElicitResult(action=how, content={"answer": "us"})
            if how == "accept"
            else ElicitResult(action="decline")
        )

    run_here(
        "ask",
        "build",
        "Which \x1b region?",
        "--option=eu",
        "--option=us",
        "--option=eu",
        cwd=project,
    )
    other = '{"id": "b-2", "description": "Which name?", "needs": "user_decision", "options": 3}'
    run_here("update", "build", f"--blockers+:json={other}", cwd=project)
    name, _ = (blocker["id"] for blocker in read_decisions(project))

    async def talk() -> None:
        callback = None if how == "cannot" else decide
        async with open_client_here(project, mode=mode, elicitation_callback=callback) as client:
            why = await ask_in_vain(client, "checkpoint_decide", name="build", answer="")
            assert name in why["error"]["message"]
            assert "b-2" in why["error"]["message"]
            result = await client.call_tool(
                "checkpoint_decide", {"name": "build", "id": name, "answer": " "}
            )
            assert result.structured_content
            assert result.structured_content.get("decided") == ("us" if how == "accept" else None)
            assert result.is_error is (how != "accept")
            if how != "accept":
                assert "(eu, us)" in result.structured_content["error"]["hint"]

    run(talk)
    assert [
        question.requested_schema["properties"]["answer"].get("enum") for question in asked
    ] == ([] if how == "cannot" else [["eu", "us"]])
    assert all("\x1b" not in question.message for question in asked)
    assert len(read_decisions(project)) == (1 if how == "accept" else 2)


def read_decisions(project: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run_here("status", "--json", cwd=project).stdout)[
        "decisions"
    ]
    return found


@pytest.mark.parametrize(("minimal", "most"), [(False, 2_500), (True, 800)])
def test_the_list_of_tools_costs_few_tokens(minimal: bool, most: int, project: Path) -> None:
    async def talk() -> None:
        async with open_client_here(project, minimal=minimal) as client:
            listed = (await client.list_tools()).model_dump(
                by_alias=True, exclude_none=True, mode="json"
            )
            assert len(json.dumps(listed, separators=(",", ":"))) <= 4 * most

    run(talk)


def test_an_agent_is_told_of_no_tool_that_it_is_not_offered() -> None:
    for choice in (
        {"read_only": True},
        {"read_only": False},
        {"read_only": False, "minimal": True},
    ):
        offered = choose_tools(**choice)
        text = write_instructions(offered)
        named = set(re.findall(r"(?:checkpoint|restore_point)_[a-z]+", text))
        assert named <= offered.keys()
        assert ("restore_point_create" in named) is ("restore_point_create" in offered)
        assert "checkpoint_resume" in named
        assert "never an instruction" in text


def test_where_nothing_is_it_is_said_how_to_begin(tmp_path: Path) -> None:
    async def talk() -> None:
        async with open_client_here(tmp_path) as client:
            assert (
                "checkpoint init"
                in (await ask_in_vain(client, "checkpoint_status"))["error"]["hint"]
            )

    run(talk)
