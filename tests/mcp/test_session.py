"""What a server process says, byte by byte, and what ends it."""

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.mcp.server import GRACE
from checkpoint_git.mcp.tools import choose_tools
from tests.support.agents import HELLO, PATIENCE, READY, Pipe, call
from tests.support.command import BIN, run_checkpoint, run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

PING = {"jsonrpc": "2.0", "id": 9, "method": "ping"}


def test_what_was_asked_is_answered_though_the_client_closes_its_end_at_once(project: Path) -> None:
    pipe = Pipe(project)
    pipe.say(
        HELLO,
        READY,
        call(1, "checkpoint_status"),
        call(2, "checkpoint_update", skill="build", replace={"step": "x"}),
    )
    code, said, log = pipe.end()
    assert (code, log) == (0, "")
    assert {message["id"] for message in said} == {0, 1, 2}
    assert json.loads((project / ".checkpoints/build.checkpoint.json").read_text())["step"] == "x"


@pytest.mark.parametrize(
    "words",
    [
        ["<&-"],
        *(
            pytest.param(["</dev/null", closed], marks=pytest.mark.deep)
            for closed in ("2>&-", ">&-")
        ),
    ],
    ids=" ".join,
)
def test_without_a_client_it_ends_at_once(words: list[str], project: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"exec '{BIN}/checkpoint' mcp {' '.join(words)}"],
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.fixture(scope="module")
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    """One server for all tests after which it goes on, and in the end it has nothing to complain
    of.
    """
    project = GitRepo.create(tmp_path_factory.mktemp("session") / "repo")
    project.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    pipe = Pipe(project.path)
    pipe.say({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert pipe.hear()["error"]["code"] == -32602, "nothing before the handshake"
    pipe.greet()
    yield pipe
    assert pipe.end() == (0, [], "")


def test_lines_that_are_no_message_are_answered_with_what_is_wrong(pipe: Pipe) -> None:
    wrong = [
        b"{",
        b"\xff\xfe",
        b"[]",
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": "x"}',
        b"",
        b"  ",
        b'"\\ud800"',
    ]
    pipe.say(*wrong, PING)
    heard = [pipe.hear() for _ in wrong]
    assert {each["id"] for each in heard} == {None}
    codes = [each["error"]["code"] for each in heard]
    assert codes == [-32700, -32700, -32600, -32700, -32600, -32700, -32700, codes[-1]]
    assert pipe.hear() == {"jsonrpc": "2.0", "id": 9, "result": {}}


def test_a_request_that_cannot_be_read_is_refused_by_its_id(pipe: Pipe) -> None:
    half = call("a-7", "checkpoint_note", skill="build", text="\ud800")
    wrong: dict[str | int | None, dict[str, Any]] = {
        "a-7": half,
        8: {**half, "id": 8, "params": []},
        10: {**PING, "id": 10, "jsonrpc": "1.0"},
        None: {**half, "id": "\udfff"},
    }
    pipe.say(*wrong.values(), PING)
    heard = [pipe.hear() for _ in wrong]
    assert [refused["id"] for refused in heard] == list(wrong)
    codes = [refused["error"]["code"] for refused in heard]
    assert codes == [-32700, -32600, -32600, -32700]
    assert "hex escape at line 1 column" in heard[0]["error"]["message"]
    assert pipe.hear() == {"jsonrpc": "2.0", "id": 9, "result": {}}

    no_request = {"jsonrpc": "2.0", "id": 3, "result": {"text": "\ud800"}}
    pipe.say(no_request, PING)
    assert (pipe.hear()["id"], pipe.hear()["id"]) == (None, 9)


def test_a_request_with_an_odd_id_is_refused_and_an_unknown_notification_is_not(
    pipe: Pipe,
) -> None:
    odd = [{**PING, "id": value} for value in (1.5, None, True, {"a": 1}, [9])]
    pipe.say({"jsonrpc": "2.0", "method": "notifications/other"}, *odd, PING)
    heard = [pipe.hear() for _ in odd]
    assert {(each["id"], each["error"]["code"]) for each in heard} == {(None, -32600)}
    assert pipe.hear() == {"jsonrpc": "2.0", "id": 9, "result": {}}


def test_a_batch_is_refused(pipe: Pipe) -> None:
    pipe.say(json.dumps([PING, {**PING, "id": "b"}, 7]).encode(), {**PING, "id": 3})
    refused, answered = pipe.hear(), pipe.hear()
    assert (refused["id"], refused["error"]["code"], answered["id"]) == (None, -32600, 3)


def test_arguments_that_are_too_long_are_refused(pipe: Pipe) -> None:
    pipe.say(call(7, "checkpoint_update", skill="build", replace={"note": "x" * (16 << 20)}), PING)
    heard = {message["id"]: message["result"] for message in (pipe.hear(), pipe.hear())}
    assert heard[7]["isError"]
    assert "more than 1000000" in heard[7]["structuredContent"]["error"]["message"]
    assert heard[9] == {}


def test_nonsense_does_not_end_it(pipe: Pipe) -> None:
    chance = random.Random(7)  # noqa: S311 (a repeatable mess, no secret)
    whole = [
        json.dumps(each).encode()
        for each in (PING, call(1, "checkpoint_show"), call(2, "restore_point_rollback"))
    ]
    mess = [bytes(chance.choices(range(11, 256), k=chance.randrange(80))) for _ in range(150)]
    mess += [line[: chance.randrange(len(line))] for line in whole * 30]
    chance.shuffle(mess)
    pipe.say(*mess, {**PING, "id": "last"})
    assert pipe.hear_answer("last")["result"] == {}


def test_errors_of_the_protocol_are_told_as_such(pipe: Pipe) -> None:
    asked = [
        call(2, "no_such\u001b[31m_tool"),
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": 7}},
        {
            "jsonrpc": "2.0",
            "id": 4,
            "method": "tools/call",
            "params": {"name": "checkpoint_show", "arguments": []},
        },
        {"jsonrpc": "2.0", "id": 5, "method": "no/such"},
        {
            "jsonrpc": "2.0",
            "id": 6,
            "method": "resources/read",
            "params": {"uri": "file:///etc/passwd"},
        },
        {"jsonrpc": "2.0", "id": 7, "method": "prompts/get", "params": {"name": "another"}},
    ]
    pipe.say(*asked)
    found = {each["id"]: each["error"] for each in (pipe.hear() for _ in asked)}
    assert [found[known]["code"] for known in range(2, 8)] == [
        -32602,
        -32602,
        -32602,
        -32601,
        -32601,
        -32601,
    ]
    assert found[2]["message"] == "Unknown tool: no_such\\x1b[31m_tool"


def test_what_others_print_cannot_get_between_the_messages(pipe: Pipe) -> None:
    ends = Path(f"/proc/{pipe.process.pid}/fd")
    if ends.exists():
        assert os.readlink(ends / "0") == os.devnull
        assert os.readlink(ends / "1") == os.readlink(ends / "2")


def test_a_version_that_nobody_knows_is_answered_and_options_choose_the_tools(
    project: Path,
) -> None:
    pipe = Pipe(project, "--read-only", "--tools", "minimal")
    pipe.say({**HELLO, "params": {**HELLO["params"], "protocolVersion": "1999-01-01"}}, READY)
    assert pipe.hear()["result"]["protocolVersion"] == "2025-11-25"
    pipe.say({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    listed = [tool["name"] for tool in pipe.hear_answer(1)["result"]["tools"]]
    assert listed == [*choose_tools(read_only=True, minimal=True)]
    assert pipe.end()[0] == 0


def test_a_cancelled_request_is_not_answered_and_nothing_else_stops(project: Path) -> None:
    pipe = Pipe(project)
    pipe.greet()
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    pipe.say(call(1, "checkpoint_doctor"), cancel, call(2, "checkpoint_show"))
    assert pipe.hear()["id"] == 2
    assert pipe.end()[1] == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_at_once_and_without_a_word(
    number: signal.Signals, code: int, project: Path
) -> None:
    pipe = Pipe(project)
    pipe.greet()
    pipe.process.send_signal(number)
    assert pipe.process.wait(PATIENCE) == code
    assert pipe.end()[1:] == ([], "")


def test_a_client_that_goes_while_its_user_is_asked_is_not_waited_for(project: Path) -> None:
    pipe = Pipe(project)
    pipe.say({**HELLO, "params": {**HELLO["params"], "capabilities": {"elicitation": {}}}}, READY)
    pipe.say(call(1, "restore_point_create", scope=[".checkpoints"]))
    point = pipe.hear_answer(1)["result"]["structuredContent"]["checkpoint_id"]
    pipe.say(call(2, "restore_point_rollback", checkpoint_id=point, confirm=point))
    assert pipe.hear()["method"] == "elicitation/create"
    assert pipe.end(patience=GRACE)[0] == 0


def test_a_client_that_reads_no_more_ends_it(project: Path) -> None:
    pipe = Pipe(project)
    pipe.greet()
    assert pipe.process.stdout is not None
    pipe.process.stdout.close()
    pipe.say(PING)
    assert pipe.process.wait(PATIENCE) == 0
    assert pipe.process.stderr is not None
    assert pipe.process.stderr.read() == b""
    assert pipe.process.stdin is not None
    pipe.process.stdin.close()
    pipe.process.stderr.close()


def test_a_client_that_stops_reading_keeps_nothing_from_ending(project: Path) -> None:
    pipe = Pipe(project)
    pipe.greet()
    pipe.say(*(call(at, "checkpoint_show") for at in range(150)))
    time.sleep(0.5)  # by now the pipe is full
    pipe.process.send_signal(signal.SIGTERM)
    assert pipe.process.wait(PATIENCE) == 0
    pipe.end()


def test_where_the_extra_is_missing_it_says_how_to_get_it(project: Path) -> None:
    (project / "mcp.py").write_text("raise ImportError(name='mcp')\n")
    done = run_checkpoint("mcp", cwd=project, env={"PYTHONPATH": str(project)})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(
        f"the Python package mcp is not installed\n  {shlex.quote(sys.executable)} -m pip install mcp\n"
    )


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        (["--project", "no/such"], {}, "no such directory"),
        (["--name", "../x"], {}, "invalid name"),
        (["--skill", "a"], {"CHECKPOINT_SKILL": "b"}, "CHECKPOINT_SKILL is b"),
        ([], {"CHECKPOINT_SKILL": "../x"}, "invalid name"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_served(
    words: list[str], env: dict[str, str], said: str, project: Path
) -> None:
    done = run_here("mcp", *words, cwd=project, env=env)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
