"""The plugin for Claude Code: its parts are found, and its hooks do what those of init do, once."""

import json
from typing import Any

from checkpoint_git.core.yamltext import load
from checkpoint_git.tools.agents.hook_settings import add_hooks, write_plugin_hooks
from checkpoint_git.tools.agents.table import TABLE, Moment
from checkpoint_git.version import __version__
from tests.architecture.imports import ROOT
from tests.support.command import BIN, run_here
from tests.support.repos import GitRepo, environ_in
from tests.support.set_up import copy_set_up

PLUGIN = ROOT / "plugins/checkpoint-git"
CLAUDE = TABLE["claude"].hooks
EVERY: tuple[Moment, ...] = ("prime", "stop", "precompact", "end")


def read(path: str) -> Any:
    return json.loads((PLUGIN / path).read_text("utf-8"))


def test_the_marketplace_leads_to_the_plugin_and_its_skills() -> None:
    [entry] = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text("utf-8"))["plugins"]
    manifest = read(".claude-plugin/plugin.json")
    assert (ROOT / entry["source"]).resolve() == PLUGIN
    assert (entry["name"], manifest["name"]) == ("checkpoint-git", "checkpoint-git")
    assert manifest["version"] == __version__, "run .ci/write-plugin"
    skills = {
        path.parent.name: load(path.read_text().split("---\n")[1])
        for path in PLUGIN.glob("skills/*/SKILL.md")
    }
    assert {name: skill["name"] for name, skill in skills.items()} == {
        name: name for name in skills
    }
    assert set(skills) == {"checkpoint-git", "checkpoints"}


def test_the_folder_of_gits_hooks_holds_no_hooks_of_agents() -> None:
    assert CLAUDE
    assert not (ROOT / "hooks/hooks.json").exists()
    assert (PLUGIN / "hooks/hooks.json").read_text("utf-8") == write_plugin_hooks(CLAUDE, EVERY), (
        "run .ci/write-plugin"
    )


def test_the_plugin_starts_the_server_for_agents() -> None:
    [server] = read(".mcp.json")["mcpServers"].values()
    assert [server["command"], *server["args"]] == ["checkpoint", "mcp"]


def test_a_session_is_briefed_once_whether_or_not_the_project_has_hooks_of_its_own(
    repo: GitRepo,
) -> None:
    copy_set_up(repo)
    run_here("update", "api", "--step=model", "--next", "Write the model", cwd=repo.path)
    [group] = read("hooks/hooks.json")["hooks"]["SessionStart"]
    words = ("bash", "-c", group["hooks"][0]["command"])
    env = {**environ_in(repo.path), "CLAUDE_PROJECT_DIR": str(repo.path)}
    briefed = repo.run(*words, env=env, stdin=b"{}")
    assert (briefed.returncode, briefed.stderr) == (0, b"")
    assert b"Write the model" in briefed.stdout

    # A project that only enables the plugin has no hooks of its own
    repo.write(
        ".claude/settings.json", '{"enabledPlugins": {"checkpoint-git@checkpoint-git": true}}'
    )
    assert repo.run(*words, env=env, stdin=b"{}").stdout == briefed.stdout

    assert CLAUDE
    repo.write(".claude/settings.json", add_hooks(None, CLAUDE, "claude", EVERY, 1).data or b"")
    left = repo.run(*words, env=env, stdin=b"{}")
    assert (left.returncode, left.stdout, left.stderr) == (0, b"", b"")


def test_a_hook_does_nothing_where_there_is_no_repository(tmp_path: Any) -> None:
    folder = GitRepo(tmp_path)
    env = {
        **environ_in(tmp_path),
        "PATH": f"{BIN}:/usr/bin:/bin",
        "CLAUDE_PROJECT_DIR": str(tmp_path),
    }
    for groups in read("hooks/hooks.json")["hooks"].values():
        done = folder.run("bash", "-c", groups[0]["hooks"][0]["command"], env=env, stdin=b"{}")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
