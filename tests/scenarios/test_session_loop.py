"""Sessions of each agent on one checkpoint, with its hooks, an MCP server and kills: no word is
lost.
"""

import json
import random
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable

import pytest

from checkpoint_git.tools.agents.table import TABLE, AgentName, Moment
from tests.scenarios.test_init_agent import find_command, run_hook
from tests.support.agents import Pipe, call
from tests.support.command import BIN, run_here
from tests.support.repos import GitRepo

WITH_HOOKS = [name for name, agent in TABLE.items() if agent.hooks]
# three sessions of one agent in every run, ten of each in deep ones
# what differs from agent to agent shows in a few sessions; many are for one of them
SAMPLED = [
    (WITH_HOOKS[0], 3),
    pytest.param(WITH_HOOKS[0], 10, marks=pytest.mark.deep),
    *(pytest.param(name, 4, marks=pytest.mark.deep) for name in WITH_HOOKS[1:]),
]
AT_THE_END: tuple[Moment, ...] = ("stop", "precompact", "end")


class Session:
    """One session of an agent with hooks: what it is told at its start, and its hooks at the
    end.
    """

    def __init__(self, repo: GitRepo, agent: AgentName, name: str) -> None:
        self._repo, self._agent = repo, agent
        self._name = {"session_id": name, "sessionId": name, "conversation_id": name}

    def start(self) -> str:
        stdin = json.dumps({**self._name, "source": "startup"}).encode()
        return run_hook(
            self._repo, find_command(self._repo, self._agent, "prime"), stdin
        ).stdout.decode()

    def end(self) -> None:
        for moment in AT_THE_END:
            if moment in (TABLE[self._agent].hooks or ()).events:  # type: ignore[union-attr]
                command = find_command(self._repo, self._agent, moment)
                done = run_hook(self._repo, command, json.dumps(self._name).encode())
                assert (done.returncode, done.stderr) == (0, b"")


OPENCODE = """
import { createInterface } from "node:readline"
import { CheckpointGit } from "./plugin.mjs"
const [id] = process.argv.slice(2)
const said = []
const client = { session: { prompt: async (request) => { said.push(request) } } }
const hooks = await CheckpointGit({ client, directory: process.cwd() })
const event = (type, properties) => hooks.event({ event: { type, properties } })
const system = { system: [] }
await event("session.created", { info: { id } })
await hooks["experimental.chat.system.transform"]({ sessionID: id }, system)
console.log(JSON.stringify(system.system))
for await (const _ of createInterface({ input: process.stdin })) break
const context = []
await event("session.idle", { sessionID: id })
await hooks["experimental.session.compacting"]({ sessionID: id }, { context })
await event("session.deleted", { info: { id } })
console.log(JSON.stringify([said.length, context]))
"""


class OpenCodeSession:
    """The same in OpenCode, whose plugin lives as long as the session."""

    def __init__(self, repo: GitRepo, name: str) -> None:
        words = ["node", ".git/drive.mjs", name]
        plugin = repo.path / ".opencode/plugins/checkpoint-git.js"
        # as OpenCode's own runtime reads a .js
        (repo.path / ".git/plugin.mjs").write_bytes(plugin.read_bytes())
        (repo.path / ".git/drive.mjs").write_text(OPENCODE)
        self._process = subprocess.Popen(
            words,
            cwd=repo.path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start(self) -> str:
        assert self._process.stdout
        return "".join(json.loads(self._process.stdout.readline()))

    def end(self) -> None:
        out, err = self._process.communicate("end\n", timeout=60)
        assert (self._process.returncode, err, len(json.loads(out))) == (0, "", 2)


@pytest.mark.parametrize(("agent", "sessions"), SAMPLED)
def test_sessions_with_kills_lose_no_word(repo: GitRepo, agent: AgentName, sessions: int) -> None:
    lose_no_word(repo, agent, sessions, lambda name: Session(repo, agent, name))


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("node") is None, reason="OpenCode's plugins are JavaScript")
def test_ten_sessions_of_opencode_lose_no_word(repo: GitRepo) -> None:
    lose_no_word(repo, "opencode", 10, lambda name: OpenCodeSession(repo, name))


def lose_no_word(
    repo: GitRepo, agent: AgentName, sessions: int, make: Callable[[str], Session | OpenCodeSession]
) -> None:
    file = ".checkpoints/build.checkpoint.json"
    assert run_here("init", "--agent", agent, cwd=repo.path).returncode == 0
    words = ["update", "build", "--status=in_progress", "--step=one", "--next_actions+=Begin"]
    assert run_here(*words, cwd=repo.path).returncode == 0
    repo.commit("begin")

    written = ["Begin"]
    for number in range(sessions):
        session = make(f"s-{number}")
        told = session.start()
        assert written[-1] in told, "the session begins where the last one stopped"

        pipe = Pipe(repo.path, "--skill", "build")
        pipe.greet()
        pipe.say(call(1, "checkpoint_resume", skill="build"))
        assert pipe.hear_answer(1)["result"]["structuredContent"]["decision"] == "continue"
        decision, action = f"Decision {number} of {agent}", f"Action {number} of {agent}"
        pipe.say(call(2, "checkpoint_note", skill="build", text=decision))
        assert not pipe.hear_answer(2)["result"]["isError"]
        pipe.say(call(3, "checkpoint_done", skill="build", next_action=action))
        assert not pipe.hear_answer(3)["result"]["isError"]
        written += [decision, action]
        repo.write("work.py", f"{number}\n")

        killed = subprocess.Popen(
            [BIN / "checkpoint", "note", "build", f"cut off {number}"], cwd=repo.path
        )
        pipe.say(call(4, "checkpoint_note", skill="build", text=f"perhaps {number}"))
        time.sleep(random.random() * 0.1)  # noqa: S311 (no secret)
        killed.kill()
        pipe.process.kill()
        killed.wait()
        pipe.end()

        session.end()
        text = repo.read(file) + "".join(
            path.read_text() for path in (repo.path / ".checkpoints/history").glob("*")
        )
        assert [word for word in written if json.dumps(word) not in text] == []
        assert run_here("validate", cwd=repo.path).returncode == 0
        repo.commit(f"session {number}")
    assert repo.git("status", "--porcelain") == ""


def test_a_secret_in_a_checkpoint_stops_the_commit_with_the_line_that_removes_it(
    repo: GitRepo,
) -> None:
    token = f"{'gh'}p_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA2bC4"
    assert run_here("init", cwd=repo.path).returncode == 0
    run_here("update", "build", "--step=one", "--next_actions+=Begin", cwd=repo.path)
    path = repo.path / ".checkpoints/build.checkpoint.json"
    value = json.loads(path.read_text())
    value["next_actions"].append(f"use {token}")
    path.write_text(json.dumps(value))
    repo.git("add", "-A")
    done = repo.run("git", "commit", "-m", "x")
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 1
    assert token not in said
    assert "content/secret" in said
    hints = json.loads(run_here("validate", "--json", cwd=repo.path).stdout)["findings"]
    (line,) = [each["hint"] for each in hints if each["code"] == "content/secret"]
    fixed = repo.run("sh", "-c", f"PATH={shlex.quote(str(BIN))}:$PATH; {line}")
    assert (fixed.returncode, token.encode() in fixed.stdout + fixed.stderr) == (0, False)
    assert token not in path.read_text()
    repo.git("add", "-A")
    assert repo.exit_code("commit", "-qm", "x") == 0
