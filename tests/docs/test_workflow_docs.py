"""docs/workflow.md: its example is run as it stands, and its tables name what there is."""

import os
import re
from pathlib import Path

from checkpoint_git.protocols.workflow import verbs as workflow
from checkpoint_git.protocols.workflow.layout import TABLE
from tests.architecture.imports import ROOT
from tests.support.command import BIN
from tests.support.repos import GitRepo

PAGE = (ROOT / "docs/workflow.md").read_text("utf-8")
EXAMPLE = re.compile(r"^```sh\n(.*?)^```\n(?:.*?)^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z")


def test_the_example_runs_and_answers_as_shown(repo: GitRepo) -> None:
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) == 4
    for commands, shown in examples:
        done = repo.run("sh", "-c", commands, env=env)
        assert done.stderr == b""
        assert INSTANT.sub("INSTANT", done.stdout.decode()) == INSTANT.sub("INSTANT", shown), (
            commands
        )


def test_every_verb_is_listed() -> None:
    verbs = re.search(r"^## Verbs\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    assert verbs is not None
    named = {verb.split()[0] for verb in re.findall(r"`([a-z][a-zA-Z .]*)`", verbs[1])}
    assert set(workflow.VERBS) <= named


def test_every_output_and_agent_of_the_table_is_named() -> None:
    for name, phase in TABLE.items():
        for path in (
            phase.outputs[:1] if name in ("ARCHITECTURE", "IMPLEMENTATION") else phase.outputs
        ):
            assert Path(path).name in PAGE
        assert name in PAGE
        assert phase.agent in PAGE or name == "IMPLEMENTATION"
