"""Initiative checkpoints in the real memory server, beside other clients' entities."""

import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git import MemoryCheckpoint
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.memory.entity import Entity
from checkpoint_git.protocols.memory.graph_file import graph_lock
from checkpoint_git.protocols.memory.transports import UnavailableError
from checkpoint_git.protocols.memory.transports.stdio import open_server
from tests.support.command import BIN, run_checkpoint, run_here
from tests.support.memory import (
    configure,
    entity_line,
    find_script,
    others_are_whole,
    put_graph,
    read_observations,
    start_server,
    write_server,
)
from tests.support.repos import GitRepo

pytestmark = pytest.mark.deep  # needs Node.js and packages of its registry

START = ("save", "--initiative", "login-2026", "--milestone", "M1", "--phase", "design")


@pytest.fixture
def script() -> str:
    return find_script()


@pytest.fixture
def graph(repo: GitRepo, script: str, tmp_path: Path) -> Path:
    """A graph that others use, configured in the repository."""
    path = put_graph(tmp_path / "graph.jsonl")
    configure(repo, f"node {script}", path)
    return path


def memory(repo: GitRepo, *words: str, code: int = 0, stdin: bytes = b"") -> dict[str, Any]:
    """`checkpoint memory WORDS --json`, which must end with this code; its answer."""
    done = run_here("memory", *words, "--json", cwd=repo.path, stdin=stdin)
    assert done.returncode == code, done.stdout + done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_a_checkpoint_is_made_changed_loaded_and_archived_beside_others(
    repo: GitRepo, graph: Path
) -> None:
    assert memory(repo, "load")["exists"] is False
    assert memory(repo, *START)["created"] is True
    memory(repo, "save", "--on", "milestone", "--summary", "Did: all", "--next-milestone", "M2")
    fields = memory(repo, "load", "--continue")["fields"]
    assert (fields["last_action"], fields["next_action"], fields["phase"]) == (
        "Did: all",
        "Begin M2",
        "complete",
    )
    assert fields["resumed_at"]
    gone = memory(repo, "archive", "--yes", "--summary", "The end")
    assert gone["final"]["last_action"] == "The end"
    assert "last_action:The end" in (Path(gone["copy"]) / "memory-checkpoint.json").read_text()
    assert memory(repo, "load")["exists"] is False
    assert others_are_whole(graph)


def test_a_field_that_goes_from_a_to_b_to_a_is_a(script: str, tmp_path: Path) -> None:
    graph = put_graph(tmp_path / "graph.jsonl")
    with start_server(script, graph) as transport:
        checkpoint = MemoryCheckpoint(transport, path=tmp_path)
        checkpoint.save(initiative="i", phase="A")
        for phase in ("B", "A", "B", "A"):
            assert checkpoint.update(phase=phase)["phase"] == phase
            assert [text for text in read_observations(graph) if text.startswith("phase:")] == [
                f"phase:{phase}"
            ]
    assert others_are_whole(graph)


def test_colons_line_ends_and_a_megabyte_come_back_as_they_were(
    script: str, tmp_path: Path
) -> None:
    graph = put_graph(tmp_path / "graph.jsonl")
    values = {
        "last_action": "a: b:c\nd\te é 🎉",
        "next_action": "x:" * 500_000,
        "note": "key:value",
    }
    with start_server(script, graph) as transport:
        checkpoint = MemoryCheckpoint(transport, path=tmp_path)
        checkpoint.save(initiative="i", **values)
        fields = checkpoint.load() or {}
    assert {key: fields[key] for key in values} == values


def test_a_save_on_an_entity_that_another_client_made_is_not_lost(
    script: str, tmp_path: Path
) -> None:
    graph = put_graph(
        tmp_path / "graph.jsonl",
        entity_line("initiative:i", "phase:a", "timestamp:2026-01-01T00:00:00Z"),
    )
    with start_server(script, graph) as transport:
        assert (
            transport.create_entities([Entity("initiative-checkpoint", "checkpoint", ("phase:b",))])
            == []
        )
        assert MemoryCheckpoint(transport, path=tmp_path).save(phase="b")["phase"] == "b"


def test_twenty_saves_at_once_are_all_there(script: str, tmp_path: Path) -> None:
    graph = put_graph(
        tmp_path / "graph.jsonl", entity_line("initiative:i", "timestamp:2026-01-01T00:00:00Z")
    )

    def save(number: int) -> bool:
        try:
            with start_server(script, graph) as transport:
                MemoryCheckpoint(transport, path=tmp_path).update(**{f"worker_{number}": "done"})
        except CheckpointError:
            return False
        return True

    with ThreadPoolExecutor(20) as pool:  # twenty servers on one file
        acknowledged = list(pool.map(save, range(20)))
    there = read_observations(graph)
    assert [
        at
        for at, is_saved in enumerate(acknowledged)
        if is_saved and f"worker_{at}:done" not in there
    ] == []
    assert acknowledged.count(True) >= 15, acknowledged
    assert others_are_whole(graph)


def test_two_servers_on_one_file_lose_nothing_that_was_acknowledged(
    script: str, tmp_path: Path
) -> None:
    graph = put_graph(tmp_path / "graph.jsonl")
    with start_server(script, graph) as one, start_server(script, graph) as other:
        ours, theirs = (
            MemoryCheckpoint(one, "ours", tmp_path),
            MemoryCheckpoint(other, "theirs", tmp_path),
        )

        def work(checkpoint: MemoryCheckpoint) -> None:
            checkpoint.save(initiative="i", phase="0")
            for number in range(1, 6):
                checkpoint.update(phase=str(number))

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, (ours, theirs)))
        assert (ours.load() or {})["phase"] == (theirs.load() or {})["phase"] == "5"
    assert others_are_whole(graph)


KILLED = """\
    import os, signal, sys
    from pathlib import Path
    from checkpoint_git import MemoryCheckpoint
    from tests.support.memory import start_server

    script, graph = sys.argv[1], Path(sys.argv[2])
    with start_server(script, graph) as transport:
        calls = iter((transport._delete_observations, lambda *words: os.kill(os.getpid(), signal.SIGKILL)))
        transport._delete_observations = lambda *words: next(calls)(*words)
        MemoryCheckpoint(transport, now=1_800_000_000).update(phase="B")
"""


def test_an_update_killed_between_its_calls_is_understood_and_mended(
    repo: GitRepo, graph: Path, script: str
) -> None:
    put_graph(graph, entity_line("initiative:i", "phase:A", "timestamp:2026-11-20T00:00:00Z"))
    words = [sys.executable, "-c", textwrap.dedent(KILLED), script, str(graph)]
    done = subprocess.run(words, cwd=Path(__file__).parents[2], capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert {"phase:A", "phase:B"} <= set(read_observations(graph))
    answer = memory(repo, "load")
    assert (answer["state"], answer["fields"]["phase"]) == ("interrupted", "B")
    assert "memory/interrupted" in {finding["code"] for finding in answer["findings"]}
    memory(repo, "update", "phase=A")
    left = read_observations(graph)
    assert [text for text in left if text.startswith(("phase:", "initiative:"))] == [
        "initiative:i",
        "phase:A",
    ]
    assert sum(text.startswith("timestamp:") for text in left) == 1
    assert others_are_whole(graph)


def test_a_truncated_line_is_told_and_the_file_moved_aside_with_every_good_line_kept(
    repo: GitRepo, graph: Path
) -> None:
    broken = graph.read_text() + '\n{"type":"entity","name":"half'
    graph.write_text(broken)
    refused = memory(repo, "load", code=2)
    assert "doctor" in json.dumps(refused)
    assert memory(repo, "doctor", code=1)["findings"][0]["code"] == "memory/graph-broken"
    assert memory(repo, "clear", code=2)["error"]["hint"] == "confirm with --yes"
    assert graph.read_text() == broken
    mended = memory(repo, "clear", "--yes")
    assert Path(mended["aside"]).read_text() == broken
    assert others_are_whole(graph)
    assert memory(repo, *START)["created"] is True


def test_another_clients_broken_entity_is_a_warning_where_there_is_no_checkpoint(
    repo: GitRepo, graph: Path
) -> None:
    with graph.open("a") as stream:
        stream.write('\n{"type":"entity","name":"x","entityType":"y","observations":[1,null]}')
    answer = memory(repo, "load")
    assert (answer["exists"], [one["code"] for one in answer["findings"]]) == (
        False,
        ["memory/graph-broken"],
    )
    assert memory(repo, "doctor", "--fix", "--yes")["findings"]
    assert [one["code"] for one in memory(repo, "load")["findings"]] == ["memory/others"]


def test_a_corrupted_checkpoint_is_copied_and_begun_afresh(repo: GitRepo, graph: Path) -> None:
    put_graph(graph, entity_line("phase:a", "phase:b", "a remark"))
    assert {finding["code"] for finding in memory(repo, "load", code=1)["findings"]} >= {
        "memory/no-initiative"
    }
    saved = memory(repo, *START)
    assert "a remark" in (Path(saved["copy"]) / "memory-checkpoint.json").read_text()
    assert not {"phase:a", "phase:b", "a remark"} & set(read_observations(graph))
    assert others_are_whole(graph)


def test_an_entity_of_another_type_is_left_alone(repo: GitRepo, graph: Path) -> None:
    before = graph.read_bytes()
    for words in (("save", "--initiative", "i"), ("clear", "--yes"), ("update", "phase=x")):
        memory(repo, *words, "--entity", "Ada", code=2)
    assert graph.read_bytes() == before


def test_the_doctor_proves_a_server_and_leaves_nothing_behind(repo: GitRepo, graph: Path) -> None:
    before = set(graph.read_text().splitlines())
    answer = memory(repo, "doctor")
    assert (answer["proved"], answer["entities"], answer["findings"]) == (True, 2, [])
    assert set(graph.read_text().splitlines()) == before


def test_a_server_that_is_away_warns_and_is_an_error_only_when_asked(repo: GitRepo) -> None:
    configure(repo, "/nowhere/server")
    for words in (
        START,
        ("load",),
        ("update", "phase=x"),
        ("clear", "--yes"),
        ("archive", "--yes"),
    ):
        answer = memory(repo, *words)
        assert (answer["available"], answer["findings"][0]["code"]) == (False, "memory/unavailable")
        memory(repo, *words, "--strict", code=2)
    assert run_checkpoint("memory", "load", "--strict", cwd=repo.path).returncode == 2


MISBEHAVING = {
    "dies at once": "print('no disk', file=sys.stderr); sys.exit(3)",
    "says nothing it should": "print('hello'); time.sleep(1)",
    "speaks another version": (
        "for line in sys.stdin:\n"
        "    found = json.loads(line)\n"
        "    who = {'name': 'x', 'version': '1'}\n"
        "    info = {'protocolVersion': '1999-01-01', 'capabilities': {}, 'serverInfo': who}\n"
        "    if 'id' in found: print(json.dumps({'jsonrpc': '2.0', 'id': found['id'], 'result': info}), flush=True)"
    ),
}


@pytest.mark.parametrize("how", sorted(MISBEHAVING))
def test_a_server_that_misbehaves_is_a_warning(repo: GitRepo, tmp_path: Path, how: str) -> None:
    configure(repo, write_server(tmp_path / "server.py", MISBEHAVING[how]))
    answer = memory(repo, "load")
    assert answer["findings"][0]["code"] == "memory/unavailable"


def test_what_a_server_said_before_it_ended_is_its_error_and_not_its_last_line(
    repo: GitRepo, tmp_path: Path
) -> None:
    trace = (
        "Error: Cannot find module 'zod'\\n  code: 'MODULE_NOT_FOUND'\\n}\\n\\nNode.js v22.1.0\\n"
    )
    configure(repo, write_server(tmp_path / "server.py", f'sys.stderr.write("{trace}")'))
    assert (
        "it printed: Error: Cannot find module 'zod'"
        in memory(repo, "load")["findings"][0]["message"]
    )


def test_a_server_that_dies_in_the_middle_is_a_warning(
    script: str, repo: GitRepo, tmp_path: Path
) -> None:
    graph = put_graph(tmp_path / "graph.jsonl")
    dying = f"""
import subprocess, threading
server = subprocess.Popen(["node", {script!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def forward():
    for line in server.stdout:
        sys.stdout.buffer.write(line); sys.stdout.buffer.flush()
threading.Thread(target=forward, daemon=True).start()
for line in sys.stdin.buffer:
    if b"create_entities" in line:
        server.kill(); os._exit(9)
    server.stdin.write(line); server.stdin.flush()
"""
    configure(repo, write_server(tmp_path / "server.py", dying), graph)
    answer = memory(repo, *START)
    assert (answer["saved"], answer["findings"][0]["code"]) == (False, "memory/unavailable")
    assert others_are_whole(graph)


def test_without_the_sdk_a_warning_says_what_to_install(repo: GitRepo, graph: Path) -> None:
    program = (
        "import sys; sys.modules['mcp'] = None; from checkpoint_git.cli.app import main;"
        " sys.exit(main(sys.argv[1:]))"
    )
    done = repo.run(sys.executable, "-c", program, "memory", "load")
    assert done.returncode == 0
    assert f"{shlex.quote(sys.executable)} -m pip install mcp".encode() in done.stdout


def test_a_server_that_hangs_is_given_up(tmp_path: Path) -> None:
    words = shlex.split(write_server(tmp_path / "server.py", "time.sleep(600)"))
    lock = graph_lock(str(tmp_path), str(tmp_path))
    with (
        pytest.raises(UnavailableError, match="did not answer in time"),
        open_server(words, os.environ, str(tmp_path), lock, timeout=0.5),
    ):
        pass


def test_how_long_a_server_may_take_is_a_setting(repo: GitRepo, tmp_path: Path) -> None:
    told = "x" * 500
    configure(
        repo,
        write_server(tmp_path / "server.py", f"print({told!r}, file=sys.stderr); time.sleep(600)"),
    )
    repo.git("config", "checkpoint.memoryTimeout", "1")
    (finding,) = memory(repo, "load")["findings"]
    assert finding["code"] == "memory/unavailable"
    assert "it did not answer in time; it printed: xxx" in finding["message"]
    assert len(finding["message"]) < 400
    assert "checkpoint.memoryTimeout" in finding["hint"]


@pytest.mark.parametrize(
    "command", ["no-such-program --api-key s3cret", "TOKEN=s3cret false --url=http://u:s3cret@h"]
)
def test_a_server_that_does_not_start_is_named_without_its_words(
    repo: GitRepo, graph: Path, command: str
) -> None:
    configure(repo, command, graph)
    for verb, code in (("load", 0), ("doctor", 1)):
        said = json.dumps(memory(repo, verb, code=code)["findings"])
        assert command.removeprefix("TOKEN=s3cret ").split()[0] in said
        assert "s3cret" not in said


def test_a_graph_is_not_repaired_while_a_server_may_write_to_it(
    repo: GitRepo, graph: Path, script: str
) -> None:
    broken = graph.read_text() + '\n{"type":"entity","name":"half'
    with start_server(script, graph):
        graph.write_text(broken)
        for words in (
            ("doctor", "--fix", "--yes"),
            ("clear", "--yes"),
            ("load", "--fresh", "--yes"),
        ):
            error = memory(repo, *words, code=2)["error"]
            assert "is running (process " in error["message"], words
            assert "checkpoint memory doctor --fix" in error["hint"]
        assert graph.read_text() == broken
    assert memory(repo, "doctor", "--fix", "--yes")["kept"] == 3


def test_setup_installs_the_version_that_everything_was_tried_with(
    repo: GitRepo, script: str, tmp_path: Path
) -> None:
    modules = script.partition("/node_modules/")[0] + "/node_modules"
    npm = tmp_path / "bin/npm"  # without the network: what npm would bring is here already
    npm.parent.mkdir()
    npm.write_text(f'#!/bin/sh\necho "$*" > "{tmp_path}/asked"\nln -s "{modules}" node_modules\n')
    npm.chmod(0o755)
    graph = tmp_path / "new/graph.jsonl"
    path = f"{npm.parent}:{os.environ['PATH']}"
    words = ("memory", "setup", "--yes", "--file", str(graph), "--json")
    done = run_checkpoint(
        *words, cwd=repo.path, env={"PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    )
    assert json.loads(done.stdout)["proved"], done.stdout + done.stderr
    asked = (tmp_path / "asked").read_text().split()
    assert asked[-1] == "@modelcontextprotocol/server-memory@2026.8.31"
    assert "--ignore-scripts" in asked
    assert repo.git("config", "checkpoint.memoryFile") == str(graph)


def test_a_server_gets_a_small_environment_and_what_its_setting_names(
    repo: GitRepo, tmp_path: Path
) -> None:
    repo.git("config", "checkpoint.memoryCommand", f"SHOWN=1 sh -c 'env > {tmp_path}/env'")
    env = {
        "API_TOKEN": "s3cret",
        "GIT_DIR": str(repo.path / ".git"),
        "PYTHONSTARTUP": "/x",
        "NODE_OPTIONS": "--x",
    }
    run_checkpoint("memory", "load", cwd=repo.path, env=env)
    got = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    own = {"SHOWN", "PWD", "OLDPWD", "SHLVL", "_"}  # its setting's and the shell's
    assert "SHOWN" in got
    assert got - own <= {"PATH", "HOME", "LOGNAME", "SHELL", "TERM", "USER"}


def test_a_relative_graph_is_refused(repo: GitRepo, graph: Path) -> None:
    repo.git("config", "checkpoint.memoryFile", "graph.jsonl")
    assert "relative path" in json.dumps(memory(repo, "load", code=2))


def test_a_value_longer_than_a_command_line_comes_from_standard_input(
    repo: GitRepo, graph: Path
) -> None:
    fields = json.dumps({"initiative": "i", "last_action": "y" * 1_000_000}).encode()
    memory(repo, "save", "--fields", "-", stdin=fields)
    assert f"last_action:{'y' * 1_000_000}" in read_observations(graph)


def test_a_commit_saves_a_checkpoint_in_the_background_where_that_is_asked_for(
    repo: GitRepo, graph: Path
) -> None:
    run_checkpoint("init", cwd=repo.path)
    memory(repo, *START)
    repo.commit("not yet")
    repo.git("config", "checkpoint.memoryOnCommit", "true")
    repo.write("a b.txt", "x")
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    repo.git("add", "-A")
    assert repo.run("git", "commit", "-q", "-m", "Add: a file", env=env).returncode == 0
    commit_id = repo.git("rev-parse", "HEAD")
    deadline = time.monotonic() + 60
    while (
        f"last_commit:{commit_id}" not in read_observations(graph) and time.monotonic() < deadline
    ):
        time.sleep(0.2)
    there = read_observations(graph)
    assert f"last_commit:{commit_id}" in there
    assert f"last_action:Committed {commit_id[:12]}: Add: a file" in there
    assert "files_changed:a b.txt" in there


def wait_for(what: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not what() and time.monotonic() < deadline:
        time.sleep(0.2)
    return what()


def test_a_session_that_goes_idle_saves_where_it_was_interrupted(
    repo: GitRepo, graph: Path
) -> None:
    repo.git("config", "checkpoint.memoryOnIdle", "true")

    def tell(event: str) -> None:
        told = json.dumps({"session_id": "s1", "cwd": str(repo.path)}).encode()
        assert (
            run_checkpoint(
                "session", event, "--format=claude", cwd=repo.path, stdin=told
            ).returncode
            == 0
        )

    memory(repo, *START, "--next-action", "Write the tests")
    tell("start")
    tell("stop")
    # nothing was done since the last save
    assert not (repo.path / ".git/checkpoint/memory-save.log").exists()
    time.sleep(1.1)  # a commit's time is in whole seconds
    repo.write("new.py", "x\n")
    repo.commit()
    tell("stop")
    assert wait_for(lambda: "interrupted_action:Write the tests" in read_observations(graph))
    assert f"stopped_on:main {repo.git('rev-parse', '--short=12', 'HEAD')}" in read_observations(
        graph
    )
    assert wait_for(lambda: not (repo.path / ".git/checkpoint/memory-save.log").exists())


def test_a_save_in_the_background_that_failed_is_shown_until_the_printed_command_saves(
    repo: GitRepo, graph: Path
) -> None:
    memory(repo, *START)
    run_checkpoint("init", cwd=repo.path)
    command = repo.git("config", "checkpoint.memoryCommand")
    repo.git("config", "checkpoint.memoryOnCommit", "true")
    repo.git("config", "checkpoint.memoryCommand", "node /nonexistent.js")
    repo.commit("change")
    assert wait_for(
        lambda: "a save in the background failed" in run_checkpoint("status", cwd=repo.path).stdout
    )
    repo.git("config", "checkpoint.memoryCommand", command)
    (told,) = [
        each for each in memory(repo, "doctor")["findings"] if each["code"] == "memory/on-commit"
    ]
    assert "could not be started" in told["message"]
    memory(repo, *told["hint"].partition("checkpoint memory ")[2].split())
    assert memory(repo, "doctor")["findings"] == []
    assert "failed" not in run_checkpoint("status", cwd=repo.path).stdout


def test_a_save_in_the_background_that_was_killed_is_shown(
    repo: GitRepo, graph: Path, tmp_path: Path
) -> None:
    memory(repo, *START)
    run_checkpoint("init", cwd=repo.path)
    repo.git("config", "checkpoint.memoryOnCommit", "true")
    repo.git(
        "config", "checkpoint.memoryCommand", write_server(tmp_path / "server.py", "time.sleep(60)")
    )
    repo.commit("change")
    log = repo.path / ".git/checkpoint/memory-save.log"
    process, occasion = log.read_text().split()
    assert occasion == "commit"
    assert "failed" not in run_checkpoint("status", cwd=repo.path).stdout  # it goes on
    os.killpg(int(process), signal.SIGKILL)
    assert wait_for(
        lambda: "a save in the background failed" in run_checkpoint("status", cwd=repo.path).stdout
    )


def test_a_server_that_hangs_holds_up_no_commit(repo: GitRepo, tmp_path: Path) -> None:
    run_checkpoint("init", cwd=repo.path)
    configure(
        repo,
        write_server(
            tmp_path / "server.py",
            f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)",
        ),
    )
    repo.git("config", "checkpoint.memoryOnCommit", "true")
    repo.commit("change")
    assert repo.git("log", "-1", "--format=%s") == "change"
    deadline = time.monotonic() + 60
    while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_status_file_and_checkpoint_come_together(repo: GitRepo, graph: Path) -> None:
    memory(repo, *START, "--next-action", "Ours")
    repo.write("WORKFLOW-STATUS.yaml", "active: # now\n  milestone: M2\nother: 1\n")
    answer = memory(repo, "sync")
    assert [finding["code"] for finding in answer["findings"]] == [
        "memory/sync-differs",
        "memory/backup",
    ]
    assert "M1" in answer["findings"][0]["message"]
    assert "M2" in answer["findings"][0]["message"]
    assert "milestone:M2" in read_observations(graph)
    text = repo.read("WORKFLOW-STATUS.yaml")
    assert text.startswith("active: # now\n  milestone: M2\n")
    assert "other: 1\n" in text
    assert "next_action: Ours\n" in text
    memory(repo, "update", "milestone=M3")
    memory(repo, "sync", "--to-document")
    assert "  milestone: M3\n" in repo.read("WORKFLOW-STATUS.yaml")
    assert memory(repo, "sync")["differences"] == []
