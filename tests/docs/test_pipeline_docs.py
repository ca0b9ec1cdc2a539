"""docs/pipeline.md: its commands are run in their order, and say what the page says they do."""

import json
import os
import re
from pathlib import Path
from typing import Any

from checkpoint_git.protocols.pipeline.verbs import ACTIONS
from tests.architecture.imports import ROOT
from tests.support.command import BIN
from tests.support.repos import GitRepo

PAGE = (ROOT / "docs/pipeline.md").read_text("utf-8")
EXAMPLE = re.compile(r"^```sh\n(.*?)^```\n(?:\n```json\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def without_chance(document: dict[str, Any]) -> dict[str, Any]:
    """The document without what differs from run to run, and what the page cuts short."""
    return {
        key: value
        for key, value in document.items()
        if key not in ("correlation_id", "checkpoints")
    }


def test_every_example_runs_and_answers_as_shown(repo: GitRepo) -> None:
    repo.write("README.md", "")
    repo.commit()
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) >= 5
    for command, shown in examples:
        done = repo.run("sh", "-ec", command, env=env)
        assert done.returncode == 0, f"{command}\n{done.stdout.decode()}{done.stderr.decode()}"
        if shown:
            assert without_chance(json.loads(done.stdout)) == without_chance(json.loads(shown))
    assert repo.git("config", "checkpoint.pipelineDir") == f"{repo.path}/pipeline"
    assert (repo.path / "checkpoint_manager.py").is_file()
    records = (
        Path(os.environ["HOME"])
        / ".claude/checkpoints/PROJ-123/4fa2159f-9c61-5f8b-9ae5-28692b46cbd7"
    )
    assert len(list(records.iterdir())) == 3


def test_every_action_is_listed_with_its_options() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.*?) \| ", PAGE, re.MULTILINE))
    assert rows.keys() == ACTIONS.keys()
    for name, action in ACTIONS.items():
        options = {f"--{option.replace('_', '-')}" for option in (*action.needs, *action.takes)}
        assert set(re.findall(r"--[a-z-]+", rows[name])) == options
