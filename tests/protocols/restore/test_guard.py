"""The guard: what git sees is kept before a call that may change something; what cannot be kept is
stopped.
"""

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.protocols.restore import layout, snapshot, store
from checkpoint_git.protocols.restore.guard import Call, read_call
from tests.architecture.imports import ROOT
from tests.support.command import BIN, run_here
from tests.support.repos import GitRepo
from tests.support.restore_points import ask, manifest_file

PAGE = (ROOT / "docs/restore-points.md").read_text("utf-8")


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    """A committed file and an ignored one."""
    repo.write(".gitignore", "*.log\n")
    repo.write("src/a.py", "a\n")
    repo.write("src/debug.log", "x")
    repo.commit()
    return repo


def guard(
    work: GitRepo, tool: str, *options: str, cwd: Path | None = None, **given: Any
) -> tuple[int, str]:
    """The exit code and what is said for one tool call."""
    call = {
        "session_id": "x",
        "hook_event_name": "PreToolUse",
        "cwd": str(cwd or work.path),
        "tool_name": tool,
    }
    text = json.dumps({**call, "tool_input": given}).encode()
    done = run_here("restore-point", "guard", *options, cwd=work.path, stdin=text)
    assert done.stdout == ""
    return done.returncode, done.stderr


def count(work: GitRepo) -> int:
    """How many automatic points there are."""
    return len(work.git("log", "-g", "--format=%H", snapshot.REF, "--", check=False).splitlines())


def make_point(work: GitRepo, *words: str) -> str:
    """The id of a new point."""
    return str(ask(work, "create", *words)["checkpoint_id"])


def test_a_tool_that_only_reads_by_its_name_passes_and_nothing_is_kept(work: GitRepo) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Read", {"file_path": "/etc/hosts"}),
        ("Read", {"file_path": "docs/Edit.md"}),
        ("Grep", {"pattern": "rm -rf .git", "path": ".git"}),
        ("read_file", {}),
        ("TodoWrite", {"todos": []}),
    ]
    assert [tool for tool, given in calls if guard(work, tool, **given) != (0, "")] == []
    assert guard(work, "mcp__docs__search", "--reader", "mcp__docs__search") == (0, "")
    assert count(work) == 0


def test_before_any_other_tool_what_git_sees_is_kept_once(work: GitRepo) -> None:
    tools = (
        "Edit",
        "Write",
        "MultiEdit",
        "Bash",
        "shell",
        "exec_command",
        "PowerShell",
        "mcp__x__execute_command",
        "New",
    )
    for number, tool in enumerate(tools, 1):
        work.write("src/a.py", f"{number}\n")
        assert guard(work, tool, command="ls", file_path="src/a.py") == (0, "")
        assert guard(work, tool, command="cat x") == (0, "")
        assert (tool, count(work)) == (tool, number)
    assert guard(work, "Read", command="make") == (0, ""), "what has a command may do anything"
    work.write("src/a.py", "more\n")
    assert guard(work, "Read", command="make") == (0, "")
    assert count(work) == len(tools) + 1
    before = ask(work, "list")["automatic"][0]
    assert (before["session"], before["before"]) == ("x", "before Edit")


def test_what_no_point_brings_back_is_stopped_whatever_the_tool_is_called(work: GitRepo) -> None:
    tools = (
        "Bash",
        "shell",
        "exec_command",
        "PowerShell",
        "mcp__x__execute_command",
        "run_shell_command",
        "Read",
    )
    forms: tuple[dict[str, Any], ...] = (
        {"command": "rm -rf .git"},
        {"cmd": "cd src; rm -rf ../.git"},
        {"command": ["bash", "-lc", "git push --force"]},
        {"command": ["git", "push", "--force"]},
        {"command": "rm", "args": ["-rf", ".git"]},
        {"file_path": ".git/config", "command": "x"},
        {"path": str(work.path / ".git/hooks/pre-commit"), "command": "x"},
        {"CommandLine": "rm -rf .git"},
        {"commands": ["ls", "rm -rf .git"]},
        {"command": "rm -rf .", "workdir": str(work.path)},
        {"source": "a.py", "destination": ".git/config", "command": "x"},
        {"target_file": "link/config", "command": "x"},
        {"paths": ["a.py", ".git/config"], "command": "x"},
        {"absolute_path": str(work.path / ".git/config"), "command": "x"},
        {"edits": [{"file_path": "a.py"}, {"file_path": ".git/config"}], "command": "x"},
        {"input": {"command": "git push --force"}},
        {"action": {"command": ["bash", "-lc", "rm -rf .git"]}},
        {"commands": [{"command": "ls"}, {"program": "rm", "arguments": ["-rf", ".git"]}]},
    )
    (work.path / "link").symlink_to(".git")
    passed = [
        (tool, given) for tool in tools for given in forms if guard(work, tool, **given)[0] != 2
    ]
    assert passed == []
    code, said = guard(work, "Bash", command="git stash drop")
    assert (code, said) == (
        2,
        "stopped: it deletes a stash, and no restore point brings that back; let the user run it\n",
    )
    assert count(work) == 0


def test_every_work_tree_that_a_call_may_change_is_kept(work: GitRepo, tmp_path: Path) -> None:
    other = GitRepo.create(tmp_path / "other")
    other.write("x", "x\n")
    assert guard(work, "Write", file_path=str(other.path / "x")) == (0, "")
    assert (count(work), count(other)) == (1, 1)
    other.write("x", "y\n")
    assert guard(work, "Bash", cwd=other.path, command="make") == (0, "")
    assert guard(work, "Bash", cwd=tmp_path, command="cd -") == (0, "")
    assert (count(work), count(other)) == (1, 2)
    assert guard(work, "Write", file_path=str(tmp_path / "elsewhere")) == (0, ""), (
        "git does not see it"
    )
    (work.path / "out").symlink_to(other.path)
    other.write("x", "z\n")
    assert guard(work, "Write", file_path="out/x") == (0, "")
    assert count(other) == 3
    other.write("x", "in its folder\n")
    assert guard(work, "shell", command=["make"], workdir=str(other.path)) == (0, "")
    assert count(other) == 4
    other.write("x", "moved\n")
    assert (
        guard(work, "mcp__fs__move", source="src/a.py", destination=str(other.path / "y"))[0] == 0
    )
    assert count(other) == 5


def test_where_nothing_can_be_kept_the_call_is_stopped(
    work: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = GitRepo(tmp_path / "outside")
    outside.path.mkdir()
    code, said = guard(outside, "Bash", command="make")
    init = f"is not in a git repository, so nothing there can be kept: git -C {outside.path} init"
    assert (code, init in said) == (2, True)
    assert guard(outside, "Read", file_path="x") == (0, "")

    work.git("config", snapshot.BUDGET, "1k")
    work.write("big", "x" * 5_000)
    code, said = guard(work, "Bash", command="make")
    assert (code, "more than the budget" in said, f"git config {snapshot.BUDGET}" in said) == (
        2,
        True,
        True,
    )
    assert guard(work, "Read", file_path="big") == (0, "")
    (work.path / "big").unlink()

    work.write("src/a.py", "new\n")
    (work.path / ".git/objects").rename(tmp_path / "objects")
    code, said = guard(work, "Bash", command="make")
    assert (code, said.startswith("stopped: no restore point could be made before Bash")) == (
        2,
        True,
    )
    (tmp_path / "objects").rename(work.path / ".git/objects")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert guard(work, "Bash", command="make")[0] == 2


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no disk that is always full"
)
def test_a_full_disk_stops_the_call(work: GitRepo) -> None:
    work.write("src/a.py", "new\n")
    snapshot.take(str(work.path), "")
    (work.path / ".git/checkpoint/automatic/paths.now").unlink()
    (work.path / ".git/checkpoint/automatic/paths.now").symlink_to("/dev/full")
    work.write("src/a.py", "newer\n")
    with pytest.raises(OSError, match="No space left"):
        snapshot._add(
            snapshot.find_repository(str(work.path)) or pytest.fail("no repository"), ["src/a.py"]
        )


def test_a_call_that_cannot_be_read_is_stopped(work: GitRepo) -> None:
    surrogate = {"tool_name": "Write", "tool_input": {"file_path": "\ud800", "content": "\udfff"}}
    texts = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        b'{"tool_name": 1}',
        b'{"tool_name": "Edit", "tool_input": 1}',
        b'{"tool_name": "Edit", "tool_input": {"file_path": {"x": 1}}}',
        b'{"tool_name": "Edit", "tool_input": {"path": ["a.py", 1]}}',
    ]
    texts += [
        json.dumps(surrogate).encode(),
        b'{"tool_name": "Edit", "tool_input": {"file_path": "a\\u0000b"}}',
    ]
    for text in texts:
        done = run_here("restore-point", "guard", cwd=work.path, stdin=text)
        assert (text[:40], done.returncode, done.stderr[:9]) == (text[:40], 2, "stopped: ")

    large = json.dumps({"tool_name": "Write", "tool_input": {"content": "x" * (8 << 20)}}).encode()
    done = run_here("restore-point", "guard", cwd=work.path, stdin=large)
    assert (done.returncode, "more than 8 MB; write less" in done.stderr) == (2, True)


def test_a_path_that_no_system_opens_is_passed_over() -> None:
    given = {"paths": ["a/" * 3_000 + "x", "a/../" * 3_000 + "b"]}
    call = read_call({"tool_name": "New", "tool_input": given}, "/app")
    assert call == Call("New", "/app", "", ("/app/b",))


def test_half_a_letter_anywhere_else_does_no_harm(work: GitRepo) -> None:
    assert guard(work, "Bash\udcff", command="echo \ud800 > x") == (0, "")
    code, said = guard(work, "Bash", command="rm -rf '\ud800' .git")
    assert (code, "removes or moves .git" in said) == (2, True)
    text = json.dumps(
        {"tool_name": "Bash", "cwd": "/\ud800", "tool_input": {"command": "ls"}}
    ).encode()
    assert run_here("restore-point", "guard", cwd=work.path, stdin=text).returncode == 0
    assert read_call(
        {"tool_name": "Bash", "cwd": "/\ud800", "tool_input": {"command": "ls"}}, "/app"
    ) == Call("Bash", "/app", "ls")


# with --require


def require(work: GitRepo, tool: str = "Bash", cwd: Path | None = None, **given: Any) -> int:
    return guard(work, tool, "--require", cwd=cwd, **(given or {"command": "git status"}))[0]


def test_with_require_every_call_but_a_reading_one_waits_for_a_point_of_the_workspace(
    work: GitRepo, tmp_path: Path
) -> None:
    other = GitRepo.create(tmp_path / "other")
    make_point(work, "src")
    code, said = guard(work, "Bash", "--require", command="ls")
    create = f"checkpoint -C {work.path} restore-point create . --expiry 8h"
    assert (code, create in said) == (2, True)
    assert require(work, "Edit", file_path="src/a.py") == 2
    assert require(work, "mcp__x__anything") == 2
    assert require(work, "Read", file_path="src/a.py") == 0
    make_point(work, ".")
    assert require(work) == 0
    assert require(work, "Edit", file_path="src/a.py") == 0
    assert require(work, cwd=work.path / "src") == 0
    assert require(work, command="rm -rf .git") == 2
    assert require(work, cwd=other.path) == 2
    assert require(work, "Edit", file_path=str(other.path / "x")) == 2
    assert require(work, "Write", file_path=str(tmp_path / "new/x")) == 2
    assert count(work) == 0, "it makes none itself"


def test_with_require_a_point_that_is_not_live_does_not_count(
    work: GitRepo, tmp_path: Path
) -> None:
    expired = make_point(work, ".", "--expiry", "1h")
    assert require(work) == 0
    path = manifest_file(work.path, expired)
    year = time.gmtime().tm_year
    text = re.sub(r'("expires_at": ")[0-9]{4}', rf"\g<1>{year - 1}", path.read_text())
    value = json.loads(text)
    value["digest"] = store.find_digest(value)
    path.write_bytes(store.write_text(value))
    assert require(work) == 2

    without_ref = make_point(work, ".")
    assert require(work) == 0
    work.git("update-ref", "-d", f"refs/checkpoints/{without_ref}")
    assert require(work) == 2

    dropped = make_point(work, ".")
    ask(work, "drop", dropped)
    assert require(work) == 2

    make_point(work, ".")
    work.git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert require(work) == 0
    assert require(GitRepo(tmp_path / "tree")) == 2, "a point of another work tree"


def test_with_require_a_point_that_came_with_a_branch_opens_nothing(
    work: GitRepo, tmp_path: Path
) -> None:
    """It is a real one, with real digests, of a clone that may be anybody's."""
    point = make_point(work, ".")
    assert require(work) == 0
    folder = work.path / ".checkpoints" / point
    assert (
        store.parse_manifest(point, layout.read_manifest(str(folder.parent), point)).trouble == ""
    )
    work.git("add", "-f", ".checkpoints", ".audit")
    work.commit("a present")
    clone = GitRepo(tmp_path / "clone")
    work.git("clone", "-q", ".", str(clone.path))
    assert (clone.path / ".checkpoints" / point / "manifest.json").exists()
    clone.git("fetch", "-q", "origin", "refs/checkpoints/*:refs/checkpoints/*")
    assert require(clone) == 2
    make_point(clone, ".")
    assert require(clone) == 0


# the hook


def read_snippet() -> str:
    """The command that the page names for a hook written by hand."""
    found = re.search(r"`(sh -c '[^`]+')`", PAGE)
    assert found is not None
    return found[1]


CALL = json.dumps({"tool_name": "Edit", "tool_input": {"file_path": "src/a.py"}}).encode()


def test_the_snippet_turns_every_failure_into_a_stop(work: GitRepo, tmp_path: Path) -> None:
    script = tmp_path / "bin/checkpoint"
    script.parent.mkdir()
    env = {**os.environ, "PATH": f"{script.parent}:{os.environ['PATH']}"}
    ends = {f"exit {code}": 2 if code else 0 for code in (0, 1, 2, 3, 126, 127, 130)} | {
        "kill -9 $$": 2
    }
    for end, code in ends.items():
        script.write_text(f"#!/bin/sh\n{end}\n")
        script.chmod(0o755)
        assert (end, work.run("sh", "-c", read_snippet(), env=env, stdin=CALL).returncode) == (
            end,
            code,
        )
    tools = tmp_path / "empty"
    tools.mkdir()
    (tools / "sh").symlink_to(shutil.which("sh") or "")
    assert (
        work.run("/bin/sh", "-c", read_snippet(), env={"PATH": str(tools)}, stdin=CALL).returncode
        == 2
    )


def test_the_snippet_and_that_of_earlier_versions_work_with_the_real_guard(work: GitRepo) -> None:
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    loss = json.dumps({"tool_name": "Bash", "tool_input": {"command": "git stash drop"}}).encode()
    for number, command in enumerate(
        (read_snippet(), "sh -c 'checkpoint restore-point guard --auto || exit 2'"), 1
    ):
        work.write("src/a.py", f"{number}\n")
        assert work.run("sh", "-c", command, env=env, stdin=loss).returncode == 2
        done = work.run("sh", "-c", command, env=env, stdin=CALL)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert count(work) == number
