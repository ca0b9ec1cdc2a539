"""Ten sessions of each agent on one checkpoint, with its hooks, an MCP server and kills: no word is lost."""

import json
import random
import subprocess
import time

import pytest

from checkpoint_git.tools.agents.table import TABLE, AgentName, Moment
from tests.scenarios.test_init_agent import find_command, run_hook
from tests.support.agents import Pipe, call
from tests.support.command import BIN, run_here
from tests.support.repos import GitRepo

WITH_HOOKS = [name for name, agent in TABLE.items() if agent.hooks]
AT_THE_END: tuple[Moment, ...] = ("stop", "precompact", "end")


@pytest.mark.parametrize("agent", WITH_HOOKS)
def test_ten_sessions_with_kills_lose_no_word(repo: GitRepo, agent: AgentName) -> None:
    file = ".checkpoints/build.checkpoint.json"
    assert run_here("init", "--agent", agent, cwd=repo.path).returncode == 0
    words = ["update", "build", "--status=in_progress", "--step=one", "--next_actions+=Begin"]
    assert run_here(*words, cwd=repo.path).returncode == 0
    repo.commit("begin")
    written = ["Begin"]
    for number in range(10):
        name = {"session_id": f"s-{number}", "sessionId": f"s-{number}", "conversation_id": f"s-{number}"}
        start = json.dumps({**name, "source": "startup"}).encode()
        told = run_hook(repo, find_command(repo, agent, "prime"), start).stdout.decode()
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
        killed = subprocess.Popen([BIN / "checkpoint", "note", "build", f"cut off {number}"], cwd=repo.path)
        pipe.say(call(4, "checkpoint_note", skill="build", text=f"perhaps {number}"))
        time.sleep(random.random() * 0.1)  # noqa: S311 (no secret)
        killed.kill()
        pipe.process.kill()
        killed.wait()
        pipe.end()
        for moment in AT_THE_END:
            if moment in (TABLE[agent].hooks or ()).events:  # type: ignore[union-attr]
                done = run_hook(repo, find_command(repo, agent, moment), json.dumps(name).encode())
                assert (done.returncode, done.stderr) == (0, b"")
        text = repo.read(file) + "".join(path.read_text() for path in (repo.path / ".checkpoints/history").glob("*"))
        assert [word for word in written if json.dumps(word) not in text] == []
        assert run_here("validate", cwd=repo.path).returncode == 0
        repo.commit(f"session {number}")
    assert repo.git("status", "--porcelain") == ""


def test_a_secret_in_a_checkpoint_stops_the_commit_with_the_line_that_removes_it(repo: GitRepo) -> None:
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
    fixed = repo.run("sh", "-c", f"PATH={BIN}:$PATH; {line}")
    assert (fixed.returncode, token.encode() in fixed.stdout + fixed.stderr) == (0, False)
    assert token not in path.read_text()
    repo.git("add", "-A")
    assert repo.exit_code("commit", "-qm", "x") == 0
