"""A law of the log over random histories: what was decided once is told once, at the commit that
decided it.
"""

import json
import random
from pathlib import Path

import pytest

from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.skill.verbs.log import log
from tests.support.repos import GitRepo

COMMITS = 30


class History:
    """A random history of one checkpoint for git fast-import: branches, merges of two or three, who
    decided what.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 (for a test, the same every time)
        self._lines: list[str] = []
        self.decided_by: dict[str, str] = {}
        self.decisions: dict[int, frozenset[str]] = {}
        self._commit([])
        tips = [1]
        for _ in range(COMMITS):
            merges = len(tips) > 1 and self._chance.random() < 0.25
            old = self._chance.choice(tips if self._chance.random() < 0.7 else list(self.decisions))
            parents = (
                self._chance.sample(tips, min(len(tips), self._chance.choice((2, 2, 3))))
                if merges
                else [old]
            )
            tips = [tip for tip in tips if tip not in parents] + [self._commit(parents)]
        while len(tips) > 1:
            tips = [*tips[2:], self._commit(tips[:2])]
        self.tip = tips[0]

    def _commit(self, parents: list[int]) -> int:
        mark = len(self.decisions) + 1
        decisions = frozenset[str]().union(*(self.decisions[parent] for parent in parents))
        if self._chance.random() < (0.3 if len(parents) > 1 else 0.8):
            decisions |= {f"decision {mark}"}
            self.decided_by[f"decision {mark}"] = f"commit {mark}"
        self.decisions[mark] = decisions
        value = {"skill": "build", "context_primer": {"key_decisions": sorted(decisions)}}
        subject, body = f"commit {mark}", json.dumps(value, indent=1)
        # clocks are not always right
        when = 1_700_000_000 + 60 * mark + self._chance.randrange(-100, 100)
        self._lines += [
            f"commit refs/heads/at-{mark}",
            f"mark :{mark}",
            f"committer A <a@example.org> {when} +0000",
        ]
        self._lines += [f"data {len(subject)}", subject]
        self._lines += [
            f"{'merge' if at else 'from'} :{parent}" for at, parent in enumerate(parents)
        ]
        self._lines += [
            "M 100644 inline .checkpoints/build.checkpoint.json",
            f"data {len(body)}",
            body,
            "",
        ]
        return mark

    def write(self, path: Path) -> GitRepo:
        """The history as a repository whose main is its last commit."""
        repo = GitRepo.create(path)
        done = repo.run("git", "fast-import", "--quiet", stdin="\n".join(self._lines).encode())
        assert done.returncode == 0, done.stderr
        repo.git("reset", "-q", "--hard", f"at-{self.tip}")
        return repo


@pytest.mark.parametrize("seed", range(6))
def test_every_decision_is_told_once_at_the_commit_that_made_it(seed: int, tmp_path: Path) -> None:
    history = History(seed)
    repo = history.write(tmp_path / "repo")
    told: dict[str, list[str]] = {}
    for entry in log(find_place(str(repo.path)), "build").entries:
        for event in entry.events:
            assert event.kind in ("decided", "started")
            assert entry.commit is not None
            if event.kind == "decided":
                told.setdefault(event.text, []).append(entry.commit.subject)
    last = history.decisions[history.tip]
    assert len(last) > 5
    assert {text: told.get(text) for text in last} == {
        text: [history.decided_by[text]] for text in last
    }
