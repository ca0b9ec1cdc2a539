import json
import tomllib
from pathlib import Path

import pytest

from checkpoint_git.mcp.verb import CLIENTS, find_config, write_config
from tests.support.command import run_checkpoint

READ = {"json": json.loads, "toml": tomllib.loads}


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_the_text_of_a_config_is_its_value(name: str) -> None:
    options = ["--skill", 'a "b" \\ ü']
    assert READ[CLIENTS[name].language](write_config(name, options)) == find_config(name, options)


def test_each_client_finds_its_own_keys() -> None:
    start = {"command": "checkpoint", "args": ["mcp"]}
    here = {"type": "stdio", "command": "checkpoint", "args": ["mcp", "--project", "${workspaceFolder}"]}
    assert find_config("claude", []) == {"mcpServers": {"checkpoint": {"type": "stdio", **start}}}
    assert find_config("codex", []) == {"mcp_servers": {"checkpoint": start}}
    assert find_config("cursor", []) == {"mcpServers": {"checkpoint": here}}
    assert find_config("gemini", []) == {"mcpServers": {"checkpoint": start}}
    assert find_config("vscode", []) == {"servers": {"checkpoint": here}}


def test_a_project_that_is_named_stands_in_place_of_the_clients_own(tmp_path: Path) -> None:
    done = run_checkpoint("mcp", "--print-config", "vscode", "--project", ".", cwd=tmp_path)
    assert json.loads(done.stdout)["servers"]["checkpoint"]["args"] == ["mcp", "--project", str(tmp_path)]


def test_the_command_prints_the_file_alone_and_names_it_beside(tmp_path: Path) -> None:
    done = run_checkpoint("mcp", "--print-config", "codex", "--skill", "build", "--read-only", cwd=tmp_path)
    assert done.returncode == 0
    assert (
        done.stdout
        == '[mcp_servers.checkpoint]\ncommand = "checkpoint"\nargs = ["mcp", "--skill", "build", "--read-only"]\n'
    )
    assert done.stderr == "this belongs into .codex/config.toml in the project's root\n"


def test_the_command_says_it_all_as_json(tmp_path: Path) -> None:
    done = run_checkpoint("mcp", "--print-config", "vscode", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert (document["schema_version"], document["command"], document["file"]) == (1, "mcp", ".vscode/mcp.json")
    assert json.loads(document["text"]) == document["config"]
