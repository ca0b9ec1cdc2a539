"""init --agent in repositories that have agent files, hooks and CI already; every hook is run as an
agent runs it.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.tools.agents.table import TABLE, TEXTS, AgentName, Moment
from checkpoint_git.tools.session.record import FOLDER
from tests.support.command import BIN, run_here
from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint_text
from tests.support.snapshot import take_snapshot

WITH_HOOKS = [name for name, agent in TABLE.items() if agent.hooks]
# one agent in every run, the others in deep ones
SAMPLED = [WITH_HOOKS[0], *(pytest.param(name, marks=pytest.mark.deep) for name in WITH_HOOKS[1:])]
THEIR_HOOKS = '{"hooks": {"%s": [{"hooks": [{"type": "command", "command": "./theirs.sh"}]}]}}\n'


def _lived_in(repo: GitRepo) -> None:
    """What a repository has where several agents, hooks and CI are at home."""
    repo.write("CLAUDE.md", "# Rules\n")
    repo.write("AGENTS.md", "# Agents\r\n\r\nBe kind.\r\n")
    repo.write("GEMINI.md", "no end of line")
    repo.write(".claude/settings.json", THEIR_HOOKS % "Stop")
    repo.write(".claude/settings.local.json", '{"permissions": {}}')
    repo.write(".claude/commands/review.md", "Review it.\n")
    repo.write(".claude/skills/review/SKILL.md", "---\nname: review\n---\n")
    repo.write(".codex/hooks.json", THEIR_HOOKS % "SessionStart")
    repo.write(".codex/config.toml", 'model = "x"\n')
    repo.write(".gemini/settings.json", '\ufeff{\n\t"mcpServers": {},\n\t"hooks": {}\n}\n')
    repo.write(
        ".cursor/hooks.json", '{"version": 1, "hooks": {"stop": [{"command": "./theirs.sh"}]}}'
    )
    repo.write(".cursor/rules/style.mdc", "---\nalwaysApply: true\n---\n")
    repo.write(".github/workflows/ci.yml", "on: push\n")
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n").chmod(0o755)


def _comments(repo: GitRepo) -> None:
    repo.write(".claude/settings.json", '{\n  // mine\n  "hooks": {},\n}\n')
    repo.write(".gemini/settings.json", "not json at all")
    repo.write(".codex/hooks.json", "[]")


def _links(repo: GitRepo) -> None:
    repo.write("CLAUDE.md", "# Rules\n")
    repo.write("shared/settings.json", "{}")
    (repo.path / "AGENTS.md").symlink_to("CLAUDE.md")
    (repo.path / ".claude").mkdir()
    (repo.path / ".claude/settings.json").symlink_to("../shared/settings.json")
    (repo.path / ".cursor").symlink_to("shared")


def _read_only(repo: GitRepo) -> None:
    repo.write(".claude/settings.json", "{}").chmod(0o444)
    repo.write("AGENTS.md", "# Agents\n").chmod(0o444)


def _same_names(repo: GitRepo) -> None:
    repo.write(".claude/commands/checkpoints.md", "Our own command.\n")
    repo.write(".agents/skills/checkpoints/SKILL.md", "Our own skill.\n")


def _empty_folders(repo: GitRepo) -> None:
    for folder in (".claude/skills", ".cursor/commands", ".gemini"):
        (repo.path / folder).mkdir(parents=True)


FIXTURES: dict[str, Callable[[GitRepo], object]] = {
    "nothing": lambda repo: None,
    "lived in": _lived_in,
    "comments in JSON": _comments,
    "symbolic links": _links,
    "read-only files": _read_only,
    "files of the same names": _same_names,
    "empty folders": _empty_folders,
}


def init(repo: GitRepo, *words: str) -> list[dict[str, Any]]:
    """The steps that init says it made."""
    done = run_here("init", *words, "--json", cwd=repo.path)
    assert done.returncode == 0, done.stderr
    steps: list[dict[str, Any]] = json.loads(done.stdout)["steps"]
    return steps


def find_command(repo: GitRepo, agent: AgentName, moment: Moment) -> str:
    """The command of ours that the agent's settings hold for a moment."""
    hooks = TABLE[agent].hooks
    assert hooks is not None
    entries = json.loads((repo.path / hooks.path).read_text("utf-8-sig"))["hooks"][
        hooks.events[moment]
    ]
    found = [hook for entry in entries for hook in entry.get("hooks", [entry])]
    return next(str(hook[hooks.script]) for hook in found if "checkpoint-git" in hook[hooks.script])


def run_hook(
    repo: GitRepo, command: str, stdin: bytes, **env: str
) -> "subprocess.CompletedProcess[bytes]":
    """The command as an agent runs it: by a shell, in the work tree, JSON on stdin. It is in the
    pipe from the start: on a busy machine this process could come too late with it.
    """
    read, write = os.pipe()
    assert os.write(write, stdin) == len(stdin)
    os.close(write)
    with open(read, "rb") as pipe:
        words = ["sh", "-c", command]
        return subprocess.run(
            words,
            cwd=repo.path,
            stdin=pipe,
            capture_output=True,
            env={**os.environ, **env},
            timeout=60,
        )


@pytest.mark.parametrize("fixture", FIXTURES)
def test_uninstall_leaves_every_byte_as_it_was(repo: GitRepo, fixture: str) -> None:
    FIXTURES[fixture](repo)
    before = take_snapshot(repo.path)
    everybody = [word for name in TABLE for word in ("--agent", name)]
    init(repo, *everybody)
    init(repo, *everybody, "--agent-guard")
    assert take_snapshot(repo.path) != before
    assert run_here("uninstall", cwd=repo.path).returncode == 0
    assert take_snapshot(repo.path) == before


def test_uninstall_takes_what_sessions_left_behind(repo: GitRepo) -> None:
    before = take_snapshot(repo.path)
    init(repo, "--agent=claude")
    run_here("update", "build", "--next_actions+=Merge #7", cwd=repo.path)
    run_here("prime", cwd=repo.path, stdin=b'{"session_id": "s"}')
    assert (repo.path / ".git" / FOLDER / "s").exists()
    (repo.path / ".checkpoints/build.checkpoint.json").unlink()
    run_here("uninstall", cwd=repo.path)
    assert take_snapshot(repo.path) == before


def test_a_second_time_everything_is_there(repo: GitRepo) -> None:
    _lived_in(repo)
    init(repo, "--agent=auto", "--agent-guard")
    after = take_snapshot(repo.path)
    assert {step["deed"] for step in init(repo, "--agent=auto", "--agent-guard")} == {"keep"}
    init(repo, "--agent=auto")
    assert take_snapshot(repo.path) == after


def test_what_is_left_alone_gets_a_recipe(repo: GitRepo) -> None:
    _comments(repo)
    steps = {step["what"]: step for step in init(repo, "--agent=claude,gemini,codex")}
    for path in (".claude/settings.json", ".gemini/settings.json", ".codex/hooks.json"):
        assert steps[path]["deed"] == "advise"
        assert json.loads(steps[path]["text"].partition("add by hand: ")[2])["hooks"]


def test_a_folder_that_is_read_only_is_left_alone(repo: GitRepo) -> None:
    repo.write(".claude/theirs.txt", "x")
    (repo.path / ".claude").chmod(0o555)
    before = take_snapshot(repo.path / ".claude")
    steps = {step["what"]: step for step in init(repo, "--agent=claude,codex")}
    assert steps[".claude/settings.json"]["deed"] == "advise"
    assert steps[".claude/commands/checkpoints.md"]["text"] == ".claude is read-only"
    assert steps[".codex/hooks.json"]["deed"] == "add"
    assert take_snapshot(repo.path / ".claude") == before


@pytest.mark.parametrize("word", ["--agent=auto", "--agent"])
def test_auto_finds_what_the_repository_is_worked_on_with(repo: GitRepo, word: str) -> None:
    repo.write(".gemini/settings.json", "{}")
    touched = {step["what"] for step in init(repo, word, "--hooks=none")}
    assert {".gemini/settings.json", ".gemini/commands/checkpoints.toml", "GEMINI.md"} < touched
    assert not any(path.startswith((".claude", ".cursor", ".codex", "AGENTS")) for path in touched)


def test_in_a_monorepo_agents_are_set_up_beside_the_checkpoints_around(repo: GitRepo) -> None:
    repo.write("packages/web/.checkpoints/build.checkpoint.json", checkpoint_text())
    repo.write("packages/web/.cursor/rules/style.mdc", "---\n---\n")
    repo.write("CLAUDE.md", "# Rules\n")
    before = take_snapshot(repo.path)
    web = GitRepo(repo.path / "packages/web")
    steps = {step["what"]: step["deed"] for step in init(web, "--agent=auto")}
    assert (
        steps["packages/web/.cursor/hooks.json"]
        == steps["packages/web/.claude/settings.json"]
        == "add"
    )
    assert not (repo.path / ".claude").exists()
    assert b"RESUMING: build" in run_hook(web, find_command(web, "claude", "prime"), b"{}").stdout
    assert {step["deed"] for step in init(web, "--agent=auto")} == {"keep"}
    assert run_here("uninstall", cwd=web.path).returncode == 0
    assert take_snapshot(repo.path) == before


def test_without_a_sign_of_an_agent_auto_says_so(repo: GitRepo) -> None:
    told = next(step for step in init(repo, "--agent=auto") if step["what"] == "agents")
    assert (told["deed"], "name one with --agent: " in told["text"]) == ("skip", True)


def test_without_the_option_no_agent_is_set_up(repo: GitRepo) -> None:
    _lived_in(repo)
    paths = {
        path
        for path in take_snapshot(repo.path)
        if path.startswith((".claude", ".cursor", ".gemini", ".codex"))
    }
    init(repo)
    assert not [path for path in take_snapshot(repo.path) if path.startswith((".claude", ".cur", ".gem", ".cod", ".ag"))
                and path not in paths]  # fmt: skip


@pytest.mark.parametrize("words", [["--agent", "emacs"], ["--agent", ""], ["--agent-guard"]])
def test_an_agent_that_nobody_knows_is_refused(repo: GitRepo, words: list[str]) -> None:
    done = run_here("init", *words, cwd=repo.path)
    assert done.returncode == 2
    assert "claude" in done.stderr
    assert not (repo.path / ".checkpoints").exists()


def test_a_bare_repository_has_no_agents(tmp_path: Path) -> None:
    bare = GitRepo.create(tmp_path / "bare.git", "--bare")
    done = run_here("init", "--agent=claude", cwd=bare.path)
    assert (done.returncode, "bare" in done.stderr) == (2, True)


def test_a_file_that_a_sparse_checkout_leaves_out_is_not_made_anew(repo: GitRepo) -> None:
    repo.write(".claude/settings.json", THEIR_HOOKS % "Stop")
    repo.write("src/a.py", "a\n")
    repo.commit()
    repo.git("sparse-checkout", "set", "--no-cone", "src")
    steps = {step["what"]: step for step in init(repo, "--agent=claude")}
    assert steps[".claude/settings.json"]["deed"] == "skip"
    assert "not checked out" in steps[".claude/settings.json"]["text"]
    assert steps[".claude/settings.json"]["commands"] == [
        ["git", "sparse-checkout", "add", ".claude"]
    ]
    assert not (repo.path / ".claude/settings.json").exists()


def test_a_dry_run_writes_nothing(repo: GitRepo) -> None:
    before = take_snapshot(repo.path)
    assert (
        "would add: .claude/settings.json"
        in run_here("init", "--agent=claude", "--dry-run", cwd=repo.path).stdout
    )
    assert take_snapshot(repo.path) == before


def test_outside_git_agents_are_set_up_too(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    before = take_snapshot(folder)
    run_here("init", "--agent=claude", cwd=folder)
    assert (folder / ".claude/settings.json").exists()
    run_here("uninstall", cwd=folder)
    assert take_snapshot(folder) == before


def test_what_the_skill_tells_to_run_can_be_run(repo: GitRepo) -> None:
    init(repo, "--agent=generic")
    repo.write("PATH", "made by this session\n")
    told = [
        TEXTS[path].partition("```sh\n")[2].partition("```")[0]
        for path in ("SKILL.md", "references/writing.md")
    ]
    assert [text.count("\ncheckpoint ") for text in told] == [9, 10]
    script = f"set -e\n{told[0]}\n{told[1]}\ncheckpoint validate --strict"
    done = run_hook(repo, script, b"", PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}")
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_command_has_the_protocols_own_name_for_who_wants_it_and_goes_back(
    repo: GitRepo,
) -> None:
    def commands() -> list[str]:
        return [path for path in take_snapshot(repo.path) if path.startswith(".claude/commands/")]

    before = take_snapshot(repo.path)
    init(repo, "--agent=claude,codex")
    assert commands() == [".claude/commands/checkpoints.md"]
    repo.git("config", "checkpoint.agentCommand", "checkpoint")
    init(repo, "--agent=claude,codex")
    assert commands() == [".claude/commands/checkpoint.md"]
    skill = (repo.path / ".agents/skills/checkpoint/SKILL.md").read_text()
    assert "name: checkpoint\n" in skill
    assert "/checkpoint status|" in (repo.path / "AGENTS.md").read_text()
    repo.git("config", "checkpoint.agentCommand", "rewind")
    assert (
        "expected: checkpoints or checkpoint"
        in run_here("init", "--agent=claude", cwd=repo.path).stderr
    )
    repo.git("config", "--unset", "checkpoint.agentCommand")
    init(repo, "--agent=claude,codex")
    assert commands() == [".claude/commands/checkpoints.md"]
    assert run_here("uninstall", cwd=repo.path).returncode == 0
    assert take_snapshot(repo.path) == before


@pytest.fixture
def ready(tmp_path: Path) -> GitRepo:
    """A repository set up for every agent, with a checkpoint."""
    copy_built(build_ready, tmp_path / "repo")
    return GitRepo(tmp_path / "repo")


def build_ready(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    run_here("init", *[f"--agent={name}" for name in TABLE], "--agent-guard", cwd=repo.path)
    repo.commit()


NONSENSE = (b"", b"null", b"{]", b"\xff\xfe\x00", b'{"tool_name": []}', b"[" * 3000)


@pytest.mark.parametrize("agent", SAMPLED)
def test_the_hook_at_the_start_tells_and_no_nonsense_stops_it(
    ready: GitRepo, agent: AgentName
) -> None:
    command = find_command(ready, agent, "prime")
    start = {
        "session_id": "s",
        "conversation_id": "s",
        "hook_event_name": "SessionStart",
        "source": "startup",
    }
    for stdin in (json.dumps(start).encode(), *NONSENSE):
        done = run_hook(ready, command, stdin)
        assert (done.returncode, done.stderr) == (0, b"")
        assert "RESUMING: build" in json.dumps(json.loads(done.stdout))


# what keeps each agent going, and the member that its model or user reads
STOPS: dict[str, dict[str, str]] = {
    "claude": {"decision": "block"},
    "codex": {"decision": "block"},
    "gemini": {"decision": "deny"},
    "cursor": {},
    "copilot": {"decision": "block"},
}
SAYS = {(agent, "stop"): "reason" for agent in STOPS} | {
    ("cursor", "stop"): "followup_message",
    ("cursor", "precompact"): "user_message",
}


@pytest.mark.parametrize("agent", [row for row in SAMPLED if "codex" not in str(row)])
def test_what_a_session_did_not_write_down_is_told_to_the_next_one_until_it_is(
    ready: GitRepo, agent: AgentName
) -> None:
    start = json.dumps({"session_id": "s", "source": "startup"}).encode()
    prime = find_command(ready, agent, "prime")
    run_hook(ready, prime, start)
    os.utime(ready.path / ".checkpoints/build.checkpoint.json", (1, 1))
    ready.write("a.py", "pass\n")
    done = run_hook(
        ready,
        find_command(ready, agent, "end"),
        b'{"session_id": "s", "sessionId": "s", "reason": "exit"}',
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    told = run_hook(ready, prime, start.replace(b'"s"', b'"t"')).stdout
    assert b"no checkpoint records: 1 file changed (a.py), 0 commits" in told
    run_here("done", "build", "--next=Go on", cwd=ready.path)
    assert (
        b"no checkpoint records" not in run_hook(ready, prime, start.replace(b'"s"', b'"u"')).stdout
    )


@pytest.mark.parametrize("agent", SAMPLED)
def test_a_session_in_which_nothing_changed_ends_in_silence(
    ready: GitRepo, agent: AgentName
) -> None:
    run_hook(
        ready, find_command(ready, agent, "prime"), b'{"session_id": "s", "source": "startup"}'
    )
    hooks = TABLE[agent].hooks
    assert hooks is not None
    for moment in ("stop", "precompact", "end"):
        if moment not in hooks.events:
            continue
        done = run_hook(ready, find_command(ready, agent, moment), b'{"session_id": "s"}')
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


OPENCODE = """
import { CheckpointGit } from "./.opencode/plugins/checkpoint-git.mjs"
const said = []
const client = { session: { prompt: async (request) => { said.push(request) } } }
const hooks = await CheckpointGit({ client, directory: process.cwd() })
const event = (type, properties) => hooks.event({ event: { type, properties } })
await event("session.created", { info: { id: "s" } })
const system = { system: [] }
await hooks["experimental.chat.system.transform"]({ sessionID: "s" }, system)
await event("session.idle", { sessionID: "s" })
const quiet = said.length
const { utimesSync, writeFileSync } = await import("node:fs")
utimesSync(".git/checkpoint/sessions/s", 2, 2)
utimesSync(".checkpoints/build.checkpoint.json", 1, 1)
writeFileSync("a.py", "pass\\n")
const compact = { context: [] }
await hooks["experimental.session.compacting"]({ sessionID: "s" }, compact)
await event("session.idle", { sessionID: "s" })
await event("session.idle", { sessionID: "s" })
await event("session.created", { info: { id: "child", parentID: "s" } })
const child = { system: [] }
await hooks["experimental.chat.system.transform"]({ sessionID: "child" }, child)
await event("session.deleted", { info: { id: "s" } })
console.log(JSON.stringify({ system: system.system, quiet, said, context: compact.context, child: child.system }))
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="OpenCode's plugins are JavaScript")
def test_the_plugin_of_opencode_primes_reminds_once_and_leaves_subagents_alone(
    ready: GitRepo,
) -> None:
    plugin = ready.path / ".opencode/plugins/checkpoint-git.js"
    # as OpenCode's own runtime reads a .js
    plugin.with_suffix(".mjs").write_bytes(plugin.read_bytes())
    (ready.path / "drive.mjs").write_text(OPENCODE)
    done = subprocess.run(
        ["node", "drive.mjs"], cwd=ready.path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "RESUMING: build" in told["system"][0]
    assert (told["quiet"], told["child"], len(told["said"])) == (0, [], 1)
    assert told["said"][0]["path"] == {"id": "s"}
    assert "Record progress before" in told["said"][0]["body"]["parts"][0]["text"]
    assert "Record progress before" in told["context"][0]
    assert not (ready.path / ".git" / FOLDER / "s").exists()


GUARDED = """
import { CheckpointGitGuard } from "./.opencode/plugins/checkpoint-git-guard.mjs"
const hooks = await CheckpointGitGuard({ directory: process.cwd() })
const said = []
for (const [tool, args] of JSON.parse(process.argv[2])) {
  const call = hooks["tool.execute.before"]({ tool, sessionID: "s", callID: "c" }, { args })
  await call.then(() => said.push(""), (error) => said.push(error.message))
}
console.log(JSON.stringify(said))
"""
LOOK = ("read", {"filePath": "a.py"})
EDIT = ("edit", {"filePath": "a.py", "oldString": "a", "newString": "b"})
LOSS = ("bash", {"command": 'git stash drop "stash@{0}"'})


@pytest.mark.skipif(shutil.which("node") is None, reason="OpenCode's plugins are JavaScript")
def test_the_guard_of_opencode_stops_what_no_point_can_undo(ready: GitRepo) -> None:
    ready.write("a.py", "a")
    plugin = ready.path / ".opencode/plugins/checkpoint-git-guard.js"
    plugin.with_suffix(".mjs").write_bytes(plugin.read_bytes())
    (ready.path / "drive.mjs").write_text(GUARDED)

    def ask(env: dict[str, str] | None = None) -> list[str]:
        words = ["node", "drive.mjs", json.dumps([LOOK, EDIT, LOSS])]
        done = subprocess.run(
            words, cwd=ready.path, capture_output=True, text=True, timeout=100, env=env
        )
        assert done.returncode == 0, done.stderr
        said: list[str] = json.loads(done.stdout)
        return said

    allowed, edited, stopped = ask()
    assert (allowed, edited) == ("", "")
    assert "stopped:" in stopped
    (point,) = json.loads(run_here("rp", "list", "--json", cwd=ready.path).stdout)["automatic"]
    assert point["before"] == "before edit"
    ready.git("config", "checkpoint.install.python", "/nowhere")
    tools = ":".join({str(Path(str(shutil.which(name))).parent) for name in ("node", "git", "sh")})
    if shutil.which("checkpoint", path=tools) is None:
        assert all(ask({"PATH": tools})), "without the command every call is stopped"


def test_the_guard_of_copilot_answers_with_a_denial(ready: GitRepo) -> None:
    ready.write("a.py", "a")
    command = find_command(ready, "copilot", "guard")
    told = list[dict[str, str]]()
    calls = [
        ("view", {"path": "a.py"}),
        ("edit", {"path": "a.py", "old_str": "a", "new_str": "b"}),
        LOSS,
        ("bash", 7),
    ]
    for tool, given in calls:
        call = {
            "hook_event_name": "PreToolUse",
            "session_id": "s",
            "cwd": str(ready.path),
            "tool_name": tool,
        }
        done = run_hook(ready, command, json.dumps({**call, "tool_input": given}).encode())
        assert (done.returncode, done.stderr) == (0, b"")
        told.append(json.loads(done.stdout) if done.stdout else {})
    assert told[:2] == [{}, {}]
    assert [each["permissionDecision"] for each in told[2:]] == ["deny", "deny"]
    assert "stopped: it deletes a stash" in told[2]["permissionDecisionReason"]


@pytest.mark.parametrize("agent", SAMPLED)
def test_the_hooks_at_the_end_remind_and_no_nonsense_disturbs(
    ready: GitRepo, agent: AgentName
) -> None:
    start = json.dumps({"session_id": "s", "source": "startup"}).encode()
    run_hook(ready, find_command(ready, agent, "prime"), start)
    os.utime(ready.path / ".git" / FOLDER / "s", (2, 2))
    os.utime(ready.path / ".checkpoints/build.checkpoint.json", (1, 1))
    ready.write("a.py", "pass\n")
    moments: tuple[Moment, ...] = ("precompact", "stop")
    for moment in moments:
        command = find_command(ready, agent, moment)
        done = run_hook(
            ready,
            command,
            b'{"conversation_id": "s", "trigger": "auto", "stop_hook_active": false}',
        )
        silent = (agent, moment) == ("copilot", "precompact")  # it takes no answer then
        assert (done.returncode, done.stderr) == (0, b"")
        assert (
            silent
            or STOPS[agent].items() <= json.loads(done.stdout).items()
            or moment == "precompact"
        )
        assert (
            silent
            or "Record progress before"
            in json.loads(done.stdout)[SAYS.get((agent, moment), "systemMessage")]
        )
        for stdin in NONSENSE:
            done = run_hook(ready, command, stdin)
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


CALLS: dict[AgentName, tuple[dict[str, Any], dict[str, Any]]] = {
    "claude": (
        {"tool_name": "Read", "tool_input": {"file_path": "a.py"}},
        {"tool_name": "Edit", "tool_input": {"file_path": "a.py"}},
    ),
    "codex": (
        {"tool_name": "update_plan", "tool_input": {"plan": []}},
        {"tool_name": "apply_patch", "tool_input": {"command": "..."}},
    ),
    "gemini": (
        {"tool_name": "read_file", "tool_input": {"file_path": "a.py"}},
        {"tool_name": "run_shell_command", "tool_input": {"command": "rm a.py"}},
    ),
    "cursor": (
        {"tool_name": "Read", "tool_input": {"file_path": "a.py"}},
        {"tool_name": "Write", "tool_input": {"file_path": "a.py"}},
    ),
}


@pytest.mark.parametrize(
    "agent",
    ["claude", *(pytest.param(name, marks=pytest.mark.deep) for name in CALLS if name != "claude")],
)
def test_the_guard_makes_the_point_that_a_change_needs_and_stops_what_no_point_undoes(
    ready: GitRepo, agent: AgentName
) -> None:
    def count_points() -> int:
        return len(
            json.loads(run_here("restore-point", "list", "--json", cwd=ready.path).stdout)[
                "automatic"
            ]
        )

    command = find_command(ready, agent, "guard")
    looks, changes = (json.dumps(call).encode() for call in CALLS[agent])
    assert run_hook(ready, command, looks).returncode == 0
    assert count_points() == 0
    shell = "run_shell_command" if agent == "gemini" else "Shell" if agent == "cursor" else "Bash"
    loss = json.dumps({"tool_name": shell, "tool_input": {"command": "git stash drop"}}).encode()
    for stdin in (loss, *NONSENSE):
        stopped = run_hook(ready, command, stdin)
        assert (stopped.returncode, stopped.stdout) == (2, b"")
        assert stopped.stderr.startswith(b"stopped: ")
    assert count_points() == 0
    assert run_hook(ready, command, changes).returncode == 0
    assert count_points() == 1


def test_a_clone_without_the_tool_is_left_in_peace_but_by_the_guard(
    ready: GitRepo, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("git", "sh", "dirname"):  # the last for a git that is a script
        program = subprocess.run(
            ["sh", "-c", f"command -v {name}"], capture_output=True, text=True
        ).stdout.strip()
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\nexec '{program}' \"$@\"\n")
        (tmp_path / "bin" / name).chmod(0o755)
    ready.git("clone", "-q", str(ready.path), str(tmp_path / "clone"))
    clone = GitRepo(tmp_path / "clone")
    moments: tuple[Moment, ...] = ("prime", "stop", "precompact")
    for moment in moments:
        done = run_hook(
            clone, find_command(clone, "claude", moment), b"{}", PATH=str(tmp_path / "bin")
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    guard = run_hook(
        clone, find_command(clone, "claude", "guard"), b"{}", PATH=str(tmp_path / "bin")
    )
    assert guard.returncode == 2
    on_path = run_hook(
        clone,
        find_command(clone, "claude", "prime"),
        b"{}",
        PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}",
    )
    assert b"RESUMING: build" in on_path.stdout
