"""Messages that forges, bots and people write: those that end what an action asks for, and others that look alike."""

import os
from typing import Any

import pytest

from checkpoint_git.tools.doctor import verb as doctor
from tests.scenarios import planted
from tests.scenarios.planted import HOUR, NOW, WRITTEN, path_of, text_of
from tests.support.repos import GitRepo
from tests.support.verbs import run_verb

GITLAB = "Merge branch 'login' into 'main'\n\nLogin\n\nSee merge request {}"
BUMP = "Bump x\n\nBumps [x](https://example.org/x).\n- Fixes #12\n\nSigned-off-by: dependabot[bot] <s@example.org>"


@pytest.fixture
def asking(repo: GitRepo) -> GitRepo:
    repo.write("README.md", "x\n")
    planted.commit(repo, "Begin", WRITTEN - HOUR)
    return repo


def examine(repo: GitRepo, action: str, *messages: str, **changes: Any) -> list[str]:
    fields = {"next_actions": [action, "Write the docs"], **changes}
    repo.write(path_of("build"), text_of(repo, "build", context_primer={}, **fields))
    planted.commit(repo, "Write the checkpoint", WRITTEN)
    for at, message in enumerate(messages):
        planted.commit(repo, message.format(repo.git("rev-parse", "HEAD")), WRITTEN + (at + 1) * HOUR // 4)
    ran = run_verb(doctor, "--check", "drift", cwd=repo.path, now=NOW, env=dict(os.environ))
    return [f"{one.code} {one.level}" for one in ran.outcome.findings]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("Merge #12", "Add login (#12)\n\n* wip\n\nCo-authored-by: Bo <bo@example.org>"),
        ("Merge !12", GITLAB.replace("{}", "acme/app!12")),
        ("Merge !12", GITLAB.replace("{}", "https://gitlab.example.org/acme/app/-/merge_requests/12")),
        ("Merge PR 12", "Add login\n\nReviewed-on: https://codeberg.org/acme/app/pulls/12"),
        ("Merge PR #12", "Pull request #12: Add login\n\nMerge in ACME/app from login to main\n\nSquashed commit"),
        ("Complete PR 12", "Merged PR 12: Add login\n\nRelated work items: #77"),
        ("Land #13", "Merge #12 #13\n\n12: Add login r=bo a=ada\n\n13: Add logout r=bo a=ada"),
        ("Merge #12 through the merge queue", "Merge pull request #12 from acme/gh-readonly-queue/main/pr-12-0123456"),
        ("Finish ABC-12", "fix login; closes ABC-12"),
        ("Fix #12", "#12 fix login"),
        ("Fix #12", "[#12] fix login"),
        ("Finish ABC-12", "Add login\n\nCloses: ABC-12\nSigned-off-by: Ada <ada@example.org>"),
        ("合并 #12", "修复登录问题\uff08#12\uff09"),
        ("PR #12 mergen", "Anmeldung hinzugefügt (#12)"),
        ("Merge #12", "Add login (#12)\n\n(cherry picked from commit 1234567890123456789012345678901234567890)"),
    ],
)
def test_a_message_that_ends_what_is_asked_for_is_seen(asking: GitRepo, action: str, message: str) -> None:
    assert examine(asking, action, message) == ["drift/action-shipped warning"]


def test_what_was_reverted_and_landed_again_is_merged(asking: GitRepo) -> None:
    first, back = "Add login (#12)", 'Revert "Add login (#12)" (#13)\n\nThis reverts commit {}.'
    again = 'Reapply "Add login (#12)" (#14)\n\nThis reverts commit {}.'
    assert examine(asking, "Merge #12", first, back, again) == ["drift/action-shipped warning"]


@pytest.mark.parametrize(
    ("action", "messages"),
    [
        ("Merge #12", ["Prepare search (refs #12)"]),
        ("Merge #12", ["Draft: login (#12)"]),
        ("Merge #12", ["Add logout, stacked on #12 (#13)"]),
        ("Merge #12", ["Add login again (#14)\n\nSupersedes #12"]),
        ("Merge #12", ["Add login (#112)", "Add logout (#121)"]),
        ("Finish ABC-12", ["#12: start", "ABC-123: x", "ABC-12: part 1 of search"]),
        ("Fix #12", ["#12 regression in the parser"]),
        ("Fix #12", ["#12: first step"]),
        ("Fix #12", [BUMP]),
        ("Close #77", ["Merged PR 12: Add login\n\nRelated work items: #77"]),
        ("Merge #12", ["Add login (#12)", "Back out login\n\nThis reverts commit {}."]),
        ("Merge PR 12", ["Merged PR 12: Add login", 'Merged PR 13: Revert "Add login"\n\nThis reverts commit {}.']),
        ("Follow up on #12", ["Add login (#12)"]),
        ("Backport #12 to 1.x", ["Add login (#12)"]),
        ("Do step #2 of the plan", ["Fix a crash (#2)"]),
    ],
)
def test_a_message_that_looks_alike_is_not_taken_for_it(asking: GitRepo, action: str, messages: list[str]) -> None:
    assert examine(asking, action, *messages) == []
