"""What the version before this one left in a repository works on, is renewed by init, and removed
by uninstall.

tests/examples/former has its words: settings, a hook's call lines, agents' commands, a restore
point. @PYTHON@ and @PACKAGE@ stand for paths, and a command such as "tell prime --format=codex
new=1" for the script of that name around these words, with the note behind it that says what the
file was before.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import checkpoint_git
from tests.support.command import run_checkpoint, run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.snapshot import take_snapshot

FORMER = Path(__file__).parents[1] / "examples/former"
SETUP: dict[str, Any] = json.loads((FORMER / "setup.json").read_text())
PACKAGE = str(Path(checkpoint_git.__file__).parent)
HOOKS = ("pre-commit", "pre-merge-commit", "pre-push", "post-commit", "post-merge", "post-rewrite")
AGENTS = ("claude", "codex", "gemini", "cursor", "copilot", "opencode")
INIT = (
    "init",
    *(word for name in AGENTS for word in ("--agent", name)),
    "--agent-guard",
    "--ci",
    "github",
)

BUILD = ".checkpoints/build.checkpoint.json"
POINT: dict[str, Any] = json.loads((FORMER / "restore-point.json").read_text())
CALL = {
    "session_id": "s1",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "rm -rf src"},
}
_NOTES = re.compile(rb" (folders|new)=\d")
CACHES = (
    "branches.json",
    "history.sqlite",
    "merges",
    "primed.json",
    "sheets.json",
    "trials.json",
    "valid.json",
)
STATE = ("memory-home", "memory-last", "sessions/default", "backups/x/file", "taking-0123")


def begin(folder: Path) -> GitRepo:
    """A repository in which every file that both share has something of its owner."""
    repo = GitRepo.create(folder)
    repo.write(".gitattributes", "src/* text\n")
    repo.write(".claude/settings.json", '{\n  "model": "own"\n}\n')
    repo.write("AGENTS.md", "# Ours\n\nOur own words.\n")
    repo.write("src/a.txt", "one\n")
    repo.write(".git/hooks/post-merge", "#!/bin/sh\necho own\n").chmod(0o755)
    repo.commit("Begin")
    return repo


def put_former(repo: GitRepo) -> None:
    """What `init` of the former version adds to such a repository."""
    for key, value in SETUP["config"].items():
        repo.git("config", key, fill_in(value))
    repo.write(".gitattributes", repo.read(".gitattributes") + lines("attributes"))
    repo.write("AGENTS.md", repo.read("AGENTS.md") + (FORMER / "agents-block.md").read_text())
    for file, value in SETUP["agents"].items():
        repo.write(file, json.dumps(expand(value), indent=2) + "\n")
    for source, file in (
        ("opencode-guard.js", ".opencode/plugins/checkpoint-git-guard.js"),
        ("github-checkpoints.yml", ".github/workflows/checkpoints.yml"),
    ):
        repo.write(file, (FORMER / source).read_bytes())
    for name in HOOKS:
        path = repo.path / ".git/hooks" / name
        first, _, rest = (path.read_text() if path.exists() else "#!/bin/sh\n").partition("\n")
        note = "" if path.exists() else " (new file)"
        block = lines("hook").replace("@NAME@", name).replace("@NOTE@", note)
        repo.write(f".git/hooks/{name}", f"{first}\n{block}{rest}").chmod(0o755)


def lines(name: str) -> str:
    return "".join(f"{line}\n" for line in SETUP[name])


def fill_in(text: str) -> str:
    return text.replace("@PYTHON@", sys.executable).replace("@PACKAGE@", PACKAGE)


def expand(value: Any) -> Any:
    """An agent's settings with whole commands."""
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: write_command(item)
        if key in ("command", "bash") and item != "command"
        else expand(item)
        for key, item in value.items()
    }


def write_command(short: str) -> str:
    found = re.fullmatch(r"(\w+)( [a-z].*?)?( new=\d)?", short)
    assert found, short
    name, words, note = (part or "" for part in found.groups())
    script = SETUP["commands"][name].replace("{words}", words.strip())
    return f"sh -c '{script}' checkpoint-git{note}"


def list_commands(value: Any) -> list[str]:
    """The short commands in an agent's settings."""
    if isinstance(value, list):
        return [text for item in value for text in list_commands(item)]
    if not isinstance(value, dict):
        return []
    own = [value[key] for key in ("command", "bash") if key in value]
    return own + list_commands(list(value.values()))


def read_local_settings(repo: GitRepo) -> list[str]:
    return sorted(repo.git("config", "--local", "--list").splitlines())


def read_all_but_git(repo: GitRepo) -> dict[str, tuple[int, bytes]]:
    """The work tree, hooks and attributes."""
    found = take_snapshot(repo.path)
    kept = (".git/hooks", ".git/info")
    return {
        path: file
        for path, file in found.items()
        if path.startswith(kept) or not path.startswith(".git/")
    }


def test_init_renews_what_the_former_version_wrote_to_what_it_writes_today(tmp_path: Path) -> None:
    former, fresh = begin(tmp_path / "former"), begin(tmp_path / "fresh")
    put_former(former)
    for repo in (former, fresh):
        done = run_here(*INIT, cwd=repo.path)
        assert done.returncode == 0, done.stdout + done.stderr
    found, wanted = read_all_but_git(former), read_all_but_git(fresh)
    for files in (found, wanted):  # notes of the folders that init made are of no account here
        files.update({path: (mode, _NOTES.sub(b"", data)) for path, (mode, data) in files.items()})
    assert [path for path in {*found, *wanted} if found.get(path) != wanted.get(path)] == []
    assert read_local_settings(former) == read_local_settings(fresh)
    assert "already set up" in run_here(*INIT, cwd=former.path).stdout


def test_uninstall_removes_what_the_former_version_wrote_and_nothing_else(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    before, settings = read_all_but_git(repo), read_local_settings(repo)
    put_former(repo)
    for name in CACHES:
        repo.write(f".git/checkpoint/{name}", b"\0")
    done = run_here("uninstall", cwd=repo.path)
    assert done.returncode == 0, done.stdout + done.stderr
    after = read_all_but_git(repo)
    assert [path for path in {*before, *after} if before.get(path) != after.get(path)] == []
    assert read_local_settings(repo) == settings
    assert not (repo.path / ".git/checkpoint").exists()


def test_init_removes_the_caches_of_the_former_version_and_keeps_its_state(tmp_path: Path) -> None:
    leftovers = pytest.importorskip("checkpoint_git.disk.leftovers")
    assert {*CACHES} <= {*leftovers.FILES}
    repo = begin(tmp_path / "repo")
    put_former(repo)
    for name in (*leftovers.FILES, *STATE):
        repo.write(f".git/checkpoint/{name}", b"\0")
    assert run_here("init", cwd=repo.path).returncode == 0
    assert [
        name for name in leftovers.FILES if (repo.path / ".git/checkpoint" / name).exists()
    ] == []
    assert [name for name in STATE if not (repo.path / ".git/checkpoint" / name).exists()] == []


def put_state(repo: GitRepo, hub: GitRepo) -> None:
    """A restore point, a write that undo can take back, and a change that waits to be sent."""
    store = f".git/checkpoint-restore/{POINT['id']}"
    repo.write(f"{store}/manifest.json", (FORMER / "restore-point.json").read_bytes())
    repo.write(f"{store}/content/docs/plan.md", "plan\n")
    repo.write("docs/plan.md", "changed\n")

    repo.git("remote", "add", "origin", str(hub.path))
    repo.write(BUILD, checkpoint_text())
    repo.commit("Checkpoints")
    repo.git("push", "-q", "-u", "origin", "main")
    head = repo.git("rev-parse", "HEAD")
    waiting = checkpoint_text(step="waiting")
    repo.write(BUILD, waiting)
    repo.git("add", BUILD)
    tree = repo.git("write-tree")
    repo.git("reset", "-q", "--hard")
    commit = repo.git("commit-tree", tree, "-p", head, "-m", "Sync checkpoints: build")
    subject, body = "checkpoint sync: waiting to be sent", BUILD
    record = repo.git("commit-tree", tree, "-p", commit, "-m", f"{subject}\n\n{body}")
    for kind, target in (("queue", record), ("made", commit), ("synced", head), ("theirs", head)):
        repo.git("update-ref", f"refs/worktree/checkpoint/{kind}/origin/main", target)

    other = ".checkpoints/qa.checkpoint.json"
    before, after = (checkpoint_text(skill="qa", step=step) for step in ("before", "after"))
    repo.write(other, after)
    name = f".git/checkpoint/undo/{other.replace('/', '%2F')}"
    repo.write(f"{name}.before", before)
    repo.write(f"{name}.after", after)
    repo.write(f"{name}.undone", "")


def test_restore_points_undo_and_what_waits_outlive_the_upgrade(tmp_path: Path) -> None:
    hub, repo = GitRepo.create(tmp_path / "hub.git", "--bare"), begin(tmp_path / "repo")
    put_former(repo)
    put_state(repo, hub)
    assert run_here(*INIT, cwd=repo.path).returncode == 0

    assert POINT["id"] in run_here("restore-point", "list", cwd=repo.path).stdout
    done = run_here("restore-point", "rollback", POINT["id"], cwd=repo.path)
    assert (done.returncode, repo.read("docs/plan.md")) == (0, "plan\n"), done.stdout + done.stderr

    done = run_here("undo", "qa", cwd=repo.path)
    assert done.returncode == 0, done.stderr
    assert json.loads(repo.read(".checkpoints/qa.checkpoint.json"))["step"] == "before"

    assert "build" in run_here("sync", "--status", cwd=repo.path).stdout
    done = run_here("sync", cwd=repo.path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(hub.git("show", f"main:{BUILD}"))["step"] == "waiting"


DRIVERS = (
    "merge-driver -- O A B 7 x.checkpoint.json",
    "merge-driver --base -- O A B 7 x.checkpoint.json",
    "merge-driver --narrative newest --merge-schema s.json -- O A B 7 x.checkpoint.json",
)
FORGE_CHECKS = (
    "content merge pipeline drift/action-shipped drift/blocker-shipped drift/file-missing"
)


def list_calls(repo: GitRepo) -> list[tuple[str, str]]:
    """(the words, standard input) of every command that installed files call, in the former
    version's spelling.
    """
    head, none = repo.git("rev-parse", "HEAD"), "0" * 40
    call = json.dumps({**CALL, "cwd": str(repo.path)})
    forge_checks = " ".join(f"--check {name}" for name in FORGE_CHECKS.split())
    found = [
        ("hook pre-commit", ""),
        ("hook pre-merge-commit", ""),
        ("hook pre-push origin url", f"refs/heads/main {head} refs/heads/main {none}\n"),
        ("hook post-commit", ""),
        ("hook post-merge 0", ""),
        ("hook post-rewrite rebase", f"{head} {head}\n"),
        ("prime", call),
        ("session stop --block --json", call),
        ("session precompact", call),
        ("session end", call),
        ("restore-point guard --auto", call),
        (f"resolve -- {BUILD}", ""),
        ("validate --strict --format github", ""),
        (f"doctor --all {forge_checks} --format github", ""),
        ("ci verify --base main --head HEAD --format github", ""),
        (
            "ci premerge --base main --head HEAD --branch=refs/heads/main --retries 2 --format github",
            "",
        ),
    ]
    told = ("prime", "session stop --block", "session precompact", "session end")
    return [*found, *((f"{words} --format={agent}", call) for agent in AGENTS for words in told)]


def test_every_command_that_installed_files_call_goes_on(tmp_path: Path) -> None:
    hub, repo = GitRepo.create(tmp_path / "hub.git", "--bare"), begin(tmp_path / "repo")
    repo.write(BUILD, checkpoint_text())
    repo.commit("Checkpoints")
    repo.git("remote", "add", "origin", str(hub.path))
    repo.git("push", "-q", "-u", "origin", "main")
    for name in ("O", "A", "B"):
        repo.write(name, checkpoint_text())
    repo.write("s.json", "{}")
    wrong = []
    for line, stdin in list_calls(repo):
        done = run_here(*line.split(), cwd=repo.path, stdin=stdin.encode())
        if done.returncode not in (0, 1):
            wrong.append((line, done.returncode, done.stderr[-300:]))
    for line in DRIVERS:  # it ends its process itself
        done = run_checkpoint(*line.split(), cwd=repo.path)
        if done.returncode != 0:
            wrong.append((line, done.returncode, done.stderr[-300:]))
    head = repo.git("rev-parse", "HEAD")
    for line, stdin in (
        ("hook pre-receive", f"{'0' * 40} {head} refs/heads/x\n"),
        (f"hook update refs/heads/x {'0' * 40} {head}", ""),
    ):
        done = run_here(*line.split(), cwd=hub.path, stdin=stdin.encode())
        if done.returncode != 0:
            wrong.append((line, done.returncode, done.stderr[-300:]))
    assert wrong == []


def test_the_scripts_that_installed_files_start_by_their_path_are_there(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    put_former(repo)
    call, wrong = json.dumps({**CALL, "cwd": str(repo.path)}).encode(), []
    for text in ("point", "deny", *list_commands(SETUP["agents"][".claude/settings.json"])):
        words = ["sh", "-c", write_command(text)]
        done = subprocess.run(words, cwd=repo.path, input=call, capture_output=True, timeout=120)
        if done.returncode or b"Traceback" in done.stderr:
            wrong.append((text, done.returncode, done.stderr[-300:]))
    assert wrong == []
    # the automatic point of `point`
    assert repo.exit_code("rev-parse", "-q", "--verify", "CHECKPOINT_HEAD") == 0

    ours = {"phase": "ship", "updated_at": "2026-03-02T09:30:00Z"}
    repo.diverge(
        {BUILD: checkpoint_text()},
        {BUILD: checkpoint_text(**ours)},
        {BUILD: checkpoint_text(step="two")},
    )
    env = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = repo.run("git", "merge", "-q", "--no-edit", "right", env=env)
    assert done.returncode == 0, done.stderr
    merged = json.loads(repo.read(BUILD))
    assert (merged["phase"], merged["step"]) == ("ship", "two")
