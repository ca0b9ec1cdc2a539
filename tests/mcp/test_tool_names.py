"""Hints as an agent hears them: a call that works where there is a tool, and a word on the terminal
where not.
"""

import json
import re
import shlex
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Hint, advise, chain, command, join_hints
from checkpoint_git.mcp.calls import World
from checkpoint_git.mcp.session import McpSession
from checkpoint_git.mcp.tool_names import name_tools, write_calls
from checkpoint_git.mcp.tools import TOOLS, choose_tools
from tests.scenarios.test_hints import HINTS, WORDS, name, write
from tests.scenarios.test_hints import Hint as Row
from tests.support.repos import GitRepo

ALL = choose_tools(read_only=False)
CALL = re.compile(rf"\b({'|'.join(sorted(ALL, key=len, reverse=True))})((?: \{{.*)?)")
COMMAND = re.compile(r"\bcheckpoint [a-z]")


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("checkpoint update b --a=1", 'checkpoint_update {"name": "b", "replace": {"a": "1"}}'),
        ("checkpoint update b --x+=y", 'checkpoint_update {"name": "b", "append": {"x": ["y"]}}'),
        ("checkpoint update build", 'checkpoint_update {"name": "build", "replace": {}}'),
        (
            "checkpoint update b --new-field --x=1",
            'checkpoint_update {"name": "b", "replace": {"x": "1"}, "new_field": true}',
        ),
        ("checkpoint rp list", "restore_point_list"),
        ('checkpoint done b --next "..."', 'checkpoint_done {"name": "b", "next_action": "..."}'),
        ("checkpoint decide b 'yes, do'", 'checkpoint_decide {"name": "b", "answer": "yes, do"}'),
        ("checkpoint decide b q-1 yes", 'checkpoint_decide {"name": "b", "id": "q-1", "answer": "yes"}'),
        ("checkpoint log build --limit 3", 'checkpoint_log {"name": "build", "limit": 3}'),
        ('checkpoint add b "Say it"', 'checkpoint_add {"name": "b", "text": "Say it"}'),
        ("checkpoint add b x --first", "checkpoint add b x --first (in a terminal)"),
        ("checkpoint release b", 'checkpoint_claim {"name": "b", "release": true}'),
        ("checkpoint show --tickets", 'checkpoint_show {"tickets": true}'),
        ("checkpoint row b x --id y", 'checkpoint_row {"name": "b", "text": "x", "id": "y"}'),
        ("checkpoint resume b --continue", 'checkpoint_resume {"name": "b", "continue": true}'),
        ("checkpoint resolve a/b --take base", "checkpoint resolve a/b --take base (in a terminal)"),
        ("checkpoint -C .. update b --x=1", "checkpoint -C .. update b --x=1 (in a terminal)"),
        ("checkpoint init", "checkpoint init (in a terminal)"),
        ("git config x y && checkpoint doctor", "git config x y && checkpoint doctor (in a terminal)"),
        ("checkpoint reset b && checkpoint update b", "checkpoint reset b && checkpoint update b (in a terminal)"),
        ("checkpoint workflow advance --force", "checkpoint workflow advance --force (in a terminal)"),
        ("checkpoint workflow resume --fresh", 'workflow {"words": ["resume"], "fresh": true}'),
        ("checkpoint workflow resume --yes", 'workflow {"words": ["resume"], "yes": true}'),
        ("git commit -m 'checkpoint next'", "git commit -m 'checkpoint next'"),
    ],
)  # fmt: skip
def test_a_command_becomes_the_call_that_does_the_same(hint: str, expected: str) -> None:
    assert write_calls(typed(hint), ALL) == expected


def test_words_around_a_call_stay_and_prose_is_no_command() -> None:
    hint = join_hints(
        advise("archive it", "checkpoint", "reset", "b", more=" (kept)"), "or checkpoint next"
    )
    assert (
        write_calls(hint, ALL)
        == 'archive it: checkpoint_reset {"name": "b"} (kept); or checkpoint next'
    )


def typed(line: str) -> Hint:
    return chain("", [tuple(shlex.split(part)) for part in line.split(" && ")])


@pytest.mark.parametrize(
    ("tool", "asked", "takes"),
    [
        ("pipeline", {"action": "resume"}, "pipeline takes action, ticket_id, run_id"),
        ("pipeline", {"action": "nonsense"}, "pipeline takes action, ticket_id"),
        ("workflow", {"words": []}, "workflow takes words, output"),
    ],
)
def test_a_wrong_call_is_told_the_arguments_and_no_usage_of_a_command(
    tool: str, asked: dict[str, Any], takes: str, repo: GitRepo
) -> None:
    with pytest.raises(CheckpointError) as raised:
        McpSession(World(str(repo.path), ""), ALL)._run_named(ALL[tool], asked)
    assert str(raised.value.hint).startswith(takes)


def test_only_a_tool_that_is_offered_is_named() -> None:
    assert (
        write_calls(typed("checkpoint next"), choose_tools(read_only=True, minimal=True))
        == "checkpoint next (in a terminal)"
    )
    assert (
        write_calls(typed("checkpoint undo b"), choose_tools(read_only=True))
        == "checkpoint undo b (in a terminal)"
    )


def test_the_document_of_a_pipeline_names_its_tool(repo: GitRepo) -> None:
    asked = {
        "action": "resume",
        "ticket_id": "PROJ-42",
        "run_id": "a1b2c3d4",
        "skip_to": "local_review",
    }
    document = (
        McpSession(World(str(repo.path), ""), ALL)._run_named(ALL["pipeline"], asked).document
    )
    call = {**asked, "skip_to": document["run_from"]}
    tail = f"pipeline {json.dumps(call)} restores the finished phases"
    lead, _, shown = document["hint"].partition("; ")
    assert (lead, _sort(shown)) == (
        f"run {document['run_from']} first and continue from there",
        _sort(tail),
    )


def _sort(shown: str) -> tuple[str, dict[str, str], str]:
    """Return a call's tool, its arguments, and the words after it."""
    tool, _, rest = shown.partition(" ")
    arguments, end = json.JSONDecoder().raw_decode(rest)
    return tool, arguments, rest[end:]


def test_what_others_wrote_stays_as_they_wrote_it() -> None:
    text, ours_next = "checkpoint next", command("checkpoint", "next")
    theirs = {
        "action": text,
        "checkpoints": {"a": {"hint": text}},
        "blockers": [{"description": text}],
    }
    ours = {"findings": [{"message": text, "hint": ours_next}], "answers": {"again": [ours_next]}}
    named = name_tools({**theirs, **ours}, ALL)
    assert {key: named[key] for key in theirs} == theirs
    assert named["findings"] == [{"message": text, "hint": "checkpoint_next"}]
    assert named["answers"] == {"again": ["checkpoint_next"]}


_ANSWERED = [hint for hint in HINTS if hint.answer != WORDS]
_FIRST = {hint.code: hint for hint in reversed(_ANSWERED)}.values()  # the first row of each code
_ROWS = [
    pytest.param(hint, marks=() if hint in _FIRST else pytest.mark.deep, id=name(hint))
    for hint in _ANSWERED
]


@pytest.mark.parametrize("hint", _ROWS)
def test_a_call_that_a_hint_names_settles_its_finding(repo: GitRepo, hint: Row) -> None:
    if isinstance(hint.make, dict):
        write(repo, **hint.make)
    else:
        hint.make(repo)
    found = find(repo, hint.code)
    assert found, "the row brings no such finding"
    call = CALL.search(found[0]["hint"])
    if call is None:
        assert not COMMAND.search(found[0]["hint"]) or " (in a terminal)" in found[0]["hint"]
        return
    text = call[2].replace("...", json.dumps(hint.answer or "")[1:-1]).lstrip() or "{}"
    asked, _ = json.JSONDecoder().raw_decode(text)  # another way to fix it may follow
    if call[1] == "checkpoint_resolve":
        asked["take"] = "ours"
    reply = ALL[call[1]].run(asked, World(str(repo.path), ""))
    assert not reply.failed, reply.document
    assert len(find(repo, hint.code)) < len(found), text


def find(repo: GitRepo, code: str) -> list[dict[str, Any]]:
    """Findings of that code, of whichever tool brings them."""
    for tool, asked in (("checkpoint_validate", {}), ("checkpoint_doctor", {"checks": [code]})):
        try:
            document = name_tools(ALL[tool].run(asked, World(str(repo.path), "")).document, ALL)
        except CheckpointError:  # no check of the doctor
            continue
        if found := [each for each in document["findings"] if each["code"] == code]:
            return found
    return []


def test_every_tool_is_what_some_command_becomes() -> None:
    lines = {
        tool.name: " ".join(
            ["checkpoint", tool.call, *(need for need in tool.needs if need in tool.operands)]
        )
        for tool in TOOLS
    }
    lines["checkpoint_drop"] = "checkpoint drop b --why=x"
    for tool, line in lines.items():
        assert write_calls(typed(line), ALL).startswith(tool), line
