"""The server for agents: what its start costs, and a call of it against the same command started
anew.

`python -m benchmarks.agents --nonsense 3000` says so many random lines to it instead, and whether
it survived them.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from typing import IO, Any

from benchmarks.measure import Contender, measure, print_table

CHECKPOINT = os.path.join(os.path.dirname(sys.executable), "checkpoint")
ROUNDS = 11
CALLS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "checkpoint_status": ({}, ["status"]),
    "checkpoint_next": ({}, ["next"]),
    "checkpoint_resume": ({"skill": "build"}, ["resume", "build"]),
    "checkpoint_update": (
        {"skill": "build", "replace": {"step": "one"}},
        ["update", "build", "--step=one"],
    ),
    "checkpoint_validate": ({}, ["validate"]),
}
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


class Server:
    """A server process and its pipes."""

    def __init__(self, folder: str) -> None:
        self.process = subprocess.Popen(
            [CHECKPOINT, "mcp"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.ask("hello", "initialize", _HELLO)
        self.say(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    def say(self, line: bytes) -> None:
        """One line."""
        stdin: IO[bytes] = self.process.stdin  # type: ignore[assignment]  # it is a pipe
        stdin.write(line + b"\n")
        stdin.flush()

    def ask(self, known: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request; other messages are passed over."""
        self.say(
            json.dumps({"jsonrpc": "2.0", "id": known, "method": method, "params": params}).encode()
        )
        stdout: IO[bytes] = self.process.stdout  # type: ignore[assignment]  # it is a pipe
        while (message := json.loads(stdout.readline())).get("id") != known:
            pass
        return dict(message)

    def end(self) -> int:
        """The exit code, once its input is closed."""
        self.process.communicate(timeout=60)
        return self.process.returncode


def main(words: list[str]) -> None:
    """Print the figures, or what became of the nonsense."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run([CHECKPOINT, "init", "-q"], cwd=folder, check=True)
        first = [CHECKPOINT, "update", "build", "--step=one", "--next_actions+=Write the API"]
        subprocess.run(first, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        if words[:1] == ["--nonsense"]:
            print(survive(folder, int(words[1])))
            return
        starts = [Contender("python -c pass", [sys.executable, "-c", "pass"]),
                  Contender("checkpoint status", [CHECKPOINT, "status"]),
                  Contender("checkpoint mcp, until its input ends", [CHECKPOINT, "mcp"])]  # fmt: skip
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        print_table("Starting", measure(starts, folder, ROUNDS))
        print("\n  wall clock of a call, milliseconds (median)     server   command line")
        for name, (asked, command) in CALLS.items():
            print(
                f"  {name:44} {time_call(folder, name, asked):8.1f} {time_command(folder, command):14.1f}"
            )


def time_call(folder: str, tool: str, asked: dict[str, Any]) -> float:
    """Milliseconds that a call of a running server takes."""
    server, taken = Server(folder), list[float]()
    for turn in range(ROUNDS + 2):
        begun = time.perf_counter()
        server.ask(str(turn), "tools/call", {"name": tool, "arguments": asked})
        taken.append(time.perf_counter() - begun)
    server.end()
    return statistics.median(taken[2:]) * 1000


def time_command(folder: str, words: list[str]) -> float:
    """Milliseconds that the command takes from its start."""
    taken = list[float]()
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        subprocess.run(
            [CHECKPOINT, *words, "--json"], cwd=folder, stdout=subprocess.DEVNULL, check=False
        )
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1000


def survive(folder: str, count: int) -> str:
    """What became of a server that was told so many lines of nonsense."""
    server, chance = Server(folder), random.Random(7)  # noqa: S311 (a repeatable mess, no secret)
    sense = json.dumps(
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "checkpoint_show"}}
    ).encode()
    for _ in range(count):
        noise = bytes(chance.choices(range(11, 256), k=chance.randrange(200)))
        server.say(chance.choice([noise, sense[: chance.randrange(len(sense))], sense]))
        server.ask("still", "ping", {})
    return f"{count} lines of nonsense, each followed by a ping that was answered; exit code {server.end()}"


if __name__ == "__main__":
    main(sys.argv[1:])
