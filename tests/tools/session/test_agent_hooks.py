import io
import os
import subprocess
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.tools.session.agent_hooks import HookInput, find_hook_input, read_hook_input
from tests.support.rows import rows

CLAUDE_START = {
    "session_id": "0f3c-aa",
    "transcript_path": "/home/ada/.claude/projects/x.jsonl",
    "cwd": "/srv/tidepool",
    "hook_event_name": "SessionStart",
    "source": "compact",
    "model": "some-model",
}
GEMINI_STOP = {
    "session_id": "g1",
    "hook_event_name": "AfterAgent",
    "prompt": "go",
    "prompt_response": "done",
    "stop_hook_active": True,
}
CURSOR_STOP = {
    "conversation_id": "c/../1",
    "generation_id": "g",
    "status": "aborted",
    "loop_count": 2,
}


@rows(
    ("value", "found"),
    [
        (CLAUDE_START, HookInput("0f3c-aa", "compact")),
        (GEMINI_STOP, HookInput("g1", "", active=True)),
        (CURSOR_STOP, HookInput("c1", "", active=True, ended=True)),
        ({"session_id": "x" * 999, "trigger": "auto"}, HookInput("x" * 64, "auto")),
        (
            {"session_id": 7, "source": [], "stop_hook_active": "yes", "loop_count": True},
            HookInput(),
        ),
        ([], HookInput()),
        (None, HookInput()),
    ],
)
def test_the_words_of_different_agents_are_understood(value: Any, found: HookInput) -> None:
    assert find_hook_input(value) == found


KEYS = st.sampled_from(["session_id", "conversation_id", "source", "loop_count", "status"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text()


@given(st.recursive(LEAVES, lambda part: st.lists(part) | st.dictionaries(KEYS, part)))
def test_any_json_gives_an_answer_whose_name_is_no_path(value: Any) -> None:
    found = find_hook_input(value)
    assert found.session
    assert found.session.replace("-", "").isalnum() or set(found.session) == {"-"}


@rows("text", ["", "  \n", "{", "not json", "[" * 5000, '{"a": 1, "a": 2}', "\ufeff{}", "NaN"])
def test_nonsense_is_an_empty_answer(text: str) -> None:
    assert read_hook_input(io.StringIO(text)) == HookInput()


def test_a_session_without_a_name_or_a_source_begins_afresh() -> None:
    assert HookInput().is_new
    assert HookInput("a", "startup").is_new
    assert not HookInput("a").is_new
    assert not HookInput("default", "compact").is_new


READ = """
import sys
from checkpoint_git.tools.session.agent_hooks import read_hook_input
print(read_hook_input(sys.stdin).session)
"""


def test_what_is_too_long_is_taken_and_not_believed() -> None:
    text = b'{"session_id": "long", "text": "' + b"x" * (9 << 20) + b'"}'
    done = subprocess.run([sys.executable, "-c", READ], input=text, capture_output=True, timeout=60)
    assert done.stdout == b"default\n"


def test_a_pipe_that_nobody_writes_to_is_left_after_a_while() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "wb"):
        done = subprocess.run(
            [sys.executable, "-c", READ], stdin=reading, capture_output=True, timeout=60
        )
    assert done.stdout == b"default\n"
