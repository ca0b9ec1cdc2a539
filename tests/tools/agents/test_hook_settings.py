"""Hooks go into an agent's settings and come out again, and every other byte stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.tools.agents.hook_settings import (
    Unfit,
    add_hooks,
    is_reversible,
    remove_hooks,
    write_command,
    write_recipe,
)
from checkpoint_git.tools.agents.table import TABLE, AgentName, Hooks, Moment
from tests.support.rows import rows

EVERY: tuple[Moment, ...] = ("prime", "stop", "precompact", "guard")
WITH_HOOKS: dict[AgentName, Hooks] = {
    name: agent.hooks for name, agent in TABLE.items() if agent.hooks
}
CLAUDE = WITH_HOOKS["claude"]


def add(
    data: bytes | None, agent: AgentName = "claude", moments: tuple[Moment, ...] = EVERY
) -> bytes:
    """The file with hooks; there must be something to add."""
    edited = add_hooks(data, WITH_HOOKS[agent], agent, moments, 1)
    assert edited.data is not None
    return edited.data


def remove(data: bytes, agent: AgentName = "claude") -> bytes | None:
    """The file without them; there must be something to take away."""
    edited = remove_hooks(data, WITH_HOOKS[agent])
    assert edited is not None
    return edited.data


STRANGE = b"""\
{
  "hooks": {
    "SessionStart": [
      {
        "hooks": [
          {"type": "command", "command": "a"},
          {"type": "prompt", "prompt": "b"}
        ]
      },
      "strange", null, {"hooks": "strange"}
    ]
  }
}
"""
SETTINGS = [
    b"{}",
    b"{}\n",
    b"{ }",
    b"{\n}\n",
    b'{"a":1}',
    b'{"a": 1.50, "b": "\\u00e9"}\n',
    b'{\n  "hooks": {}\n}\n',
    b'{\n  "hooks": {\n  }\n}\n',
    b'{\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}\n',
    b'{\n  "hooks": {\n    "Stop": [ ],\n    "PreToolUse": [\n\n    ]\n  },\n  "z": [1,2,\n3]\n}',
    b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "notify.sh"}]}]}}',
    b'{\r\n  "hooks": {\r\n    "Stop": [{"matcher": "", "hooks": []}]\r\n  },\r\n  "model": "x"\r\n}\r\n',
    b'\xef\xbb\xbf{\n    "permissions": {"allow": ["Bash(ls:*)"]}\n}\n',
    STRANGE,
    b'{"version": 1, "hooks": {"stop": [{"command": "./audit.sh", "loop_limit": 3}]}}',
]


@rows("agent", WITH_HOOKS)
@rows("before", SETTINGS)
def test_what_was_put_in_comes_out_to_the_byte(before: bytes, agent: AgentName) -> None:
    after = add(before, agent)
    assert after != before
    assert remove(after, agent) == before
    assert is_reversible(before, after, WITH_HOOKS[agent])


@rows("agent", WITH_HOOKS)
def test_a_file_of_our_own_leaves_nothing(agent: AgentName) -> None:
    after = add(None, agent)
    assert after.endswith(b"}\n")
    assert remove(after, agent) is None
    assert remove(after.replace(b'"hooks": {', b'"mine": 1, "hooks": {'), agent) is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=5), part, max_size=3)
    ),
    max_leaves=6,
)
ENTRIES = st.lists(JSON | st.fixed_dictionaries({"hooks": st.lists(JSON, max_size=2)}), max_size=3)
EVENTS = st.dictionaries(st.sampled_from(["Stop", "SessionStart", "PreToolUse", "Other"]), ENTRIES)
DOCUMENTS = st.dictionaries(st.sampled_from(["a", "model", "z"]), JSON) | st.builds(
    lambda more, events: {**more, "hooks": events},
    st.dictionaries(st.sampled_from(["a", "z"]), JSON),
    EVENTS,
)


@given(DOCUMENTS, st.sampled_from([None, 0, 2, 4, "\t"]), st.booleans())
def test_any_settings_come_back_to_the_byte(
    value: dict[str, Any], indent: Any, ended: bool
) -> None:
    before = (json.dumps(value, indent=indent) + "\n" * ended).encode()
    after = add(before)
    assert remove(after) == before
    assert add_hooks(after, CLAUDE, "claude", EVERY, 0).data == after


def test_the_hooks_of_others_keep_their_order_and_come_first() -> None:
    before = (
        b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "one"}]}, {"hooks": []}]}}'
    )
    groups = json.loads(add(before))["hooks"]["Stop"]
    assert [len(group["hooks"]) for group in groups] == [1, 0, 1]
    assert groups[0]["hooks"][0]["command"] == "one"


def test_what_others_add_later_stays() -> None:
    value = json.loads(add(b"{}"))
    value["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "later"})
    value["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "last"}]})
    left = json.loads(remove(json.dumps(value).encode()) or b"")
    assert left == {
        "hooks": {
            "Stop": [
                {"hooks": [{"type": "command", "command": name}]} for name in ("later", "last")
            ]
        }
    }


def test_a_second_time_changes_nothing_and_a_guard_can_come_later() -> None:
    once = add(b"{}", moments=EVERY[:3])
    assert add_hooks(once, CLAUDE, "claude", EVERY[:3], 0).added == ()
    later = add_hooks(once, CLAUDE, "claude", EVERY, 0)
    assert later.added == ("PreToolUse",)
    assert remove(later.data or b"") == b"{}"


def test_a_command_of_an_older_version_is_renewed_in_its_place() -> None:
    old = add(b'{\n  "hooks": {\n    "Stop": [ ]\n  }\n}\n').replace(
        b"session stop", b"session halt"
    )
    edited = add_hooks(old, CLAUDE, "claude", EVERY, 0)
    assert (edited.added, edited.updated) == ((), ("Stop",))
    assert remove(edited.data or b"") == b'{\n  "hooks": {\n    "Stop": [ ]\n  }\n}\n'


@pytest.mark.parametrize("agent", WITH_HOOKS)
def test_the_guard_of_the_former_version_is_renewed_whether_it_is_asked_for_again_or_not(
    agent: AgentName,
) -> None:
    now = add(b"{}", agent)
    former = now.replace(b"restore-point guard ", b"restore-point guard --auto ")
    assert former != now
    for moments in (EVERY, EVERY[:3]):
        edited = add_hooks(former, WITH_HOOKS[agent], agent, moments, 0)
        assert (edited.data, len(edited.updated)) == (now, 1)
    assert remove(former, agent) == b"{}"


def test_a_hook_that_somebody_wrote_by_hand_is_enough_and_stays() -> None:
    by_hand = b'{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "checkpoint prime"}]}]}}'
    after = add(by_hand)
    assert (
        json.loads(after)["hooks"]["SessionStart"] == json.loads(by_hand)["hooks"]["SessionStart"]
    )
    assert remove(after) == by_hand


@rows(
    ("data", "why"),
    [
        (b'{\n  // mine\n  "a": 1\n}', "not plain JSON"),
        (b'{"a": 1,}', "not plain JSON"),
        (b'{"a": 1, "a": 2}', "not plain JSON"),
        (b"", "not plain JSON"),
        (b"[]", "hooks are not an object"),
        (b'{"hooks": []}', "hooks are not an object"),
        (b'{"hooks": {"Stop": {}}}', "hooks for Stop are not a list"),
        (b"\xff\xfe", "UTF-8"),
        (b'{"hooks": {' + b" " * 99 + b"}}", "white space"),
    ],
)
def test_what_cannot_be_edited_without_harm_is_left_alone(data: bytes, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        add(data)


def test_settings_without_hooks_of_ours_are_nobodys_business() -> None:
    assert remove_hooks(SETTINGS[10], CLAUDE) is None
    assert remove_hooks(b'{"note": "checkpoint-git"}', CLAUDE) is None
    assert remove_hooks(b"not json", CLAUDE) is None


# The shapes below are read from each agent's own documentation: groups of {"matcher"?, "hooks":
# [{"type": "command", "command", "timeout"?}]} for three of them, and {"version": 1, "hooks":
# {event: [{"command", "timeout"?, ...}]}}.

DOCUMENTED_EVENTS = {
    "claude": {"SessionStart", "Stop", "PreCompact", "PreToolUse"},
    "codex": {"SessionStart", "Stop", "PreCompact", "PreToolUse"},
    "gemini": {"SessionStart", "AfterAgent", "PreCompress", "BeforeTool"},
    "cursor": {"sessionStart", "stop", "preCompact", "preToolUse"},
}


def check_handler(hook: dict[str, Any], *, needs_type: bool) -> None:
    """A hook as documented: a command, a positive timeout, no member that nobody knows."""
    allowed = {"type", "command", "timeout"} if needs_type else {"command", "timeout", "failClosed"}
    assert set(hook) <= allowed
    assert hook["command"]
    assert hook["timeout"] > 0
    assert hook.get("type", "command") == "command"


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_grouped_hooks_have_the_documented_shape(agent: AgentName) -> None:
    value = json.loads(add(None, agent))
    assert set(value) == {"hooks"}
    assert set(value["hooks"]) == DOCUMENTED_EVENTS[agent]
    for groups in value["hooks"].values():
        for group in groups:
            assert set(group) <= {"matcher", "hooks"}
            for hook in group["hooks"]:
                assert "type" in hook
                check_handler(hook, needs_type=True)


def test_flat_hooks_have_the_documented_shape() -> None:
    value = json.loads(add(None, "cursor"))
    assert value["version"] == 1
    assert set(value["hooks"]) == DOCUMENTED_EVENTS["cursor"]
    for hooks in value["hooks"].values():
        for hook in hooks:
            check_handler(hook, needs_type=False)


def test_a_timeout_is_counted_as_the_agent_counts() -> None:
    assert json.loads(add(None, "claude"))["hooks"]["SessionStart"][0]["hooks"][0]["timeout"] == 10
    assert (
        json.loads(add(None, "gemini"))["hooks"]["SessionStart"][0]["hooks"][0]["timeout"] == 10_000
    )


def test_no_command_holds_a_path_of_one_machine() -> None:
    commands = [write_command(moment, agent) for moment in EVERY for agent in WITH_HOOKS]
    known = ("/dev/null", "/__main__.py")  # below the folder that this clone's configuration names
    for part in known:
        commands = [command.replace(part, "") for command in commands]
    assert [command for command in commands if "/" in command] == []


def test_the_recipe_is_json_to_paste() -> None:
    value = json.loads(write_recipe(CLAUDE, "claude", EVERY))
    assert set(value["hooks"]) == DOCUMENTED_EVENTS["claude"]
