"""docs/restore-points.md: its example is run in its order, and every action is told of."""

import os
import re

from checkpoint_git.protocols.restore.verbs import ACTIONS
from tests.architecture.imports import ROOT
from tests.support.command import BIN
from tests.support.repos import GitRepo

PAGE = (ROOT / "docs/restore-points.md").read_text("utf-8")
EXAMPLE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_example_does_what_the_page_says(repo: GitRepo) -> None:
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    section = PAGE.partition("## An example")[2].partition("\n## ")[0]
    steps = EXAMPLE.findall(section)
    assert len(steps) == 4
    for step in steps:
        done = repo.run("sh", "-ec", step, env=env)
        assert done.returncode == 0, f"{step}\n{done.stdout.decode()}{done.stderr.decode()}"
    assert len(repo.git("for-each-ref", "refs/checkpoints").splitlines()) == 1


def test_every_action_is_in_the_table() -> None:
    told = re.findall(r"`([a-z]+)", PAGE.partition("## The actions")[2].partition("\n\n**Scope")[0])
    assert {*ACTIONS, "guard"} <= set(told)
