"""Claims as commits hold them: what is not understood lasts as long as a claim can, and no claim
lasts longer.
"""

import os

import pytest

from checkpoint_git.git.leases import OURS, read_claims
from tests.support.repos import GitRepo

BEGUN = 1_772_452_800  # 2026-03-02T12:00:00Z
SUBJECTS = {
    "a": ("claimed until 2026-03-02T13:00:00Z by Ada", BEGUN + 3_600, "Ada"),
    "b": ("claimed until 2027-03-02T13:00:00Z by Ada", BEGUN + 604_800, "Ada"),
    "c": ("claimed until tomorrow by Ada", BEGUN + 604_800, "Ada"),
    "d": ("mine", BEGUN + 604_800, "an unknown holder"),
}


def test_a_claim_ends_after_a_week_at_the_latest(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{BEGUN} +0000")
    tree = repo.git("write-tree")
    for name, (subject, _, _) in SUBJECTS.items():
        repo.git("update-ref", OURS + name, repo.git("commit-tree", tree, "-m", subject))

    found = {
        claim.name: (claim.until, claim.holder) for claim in read_claims(str(repo.path), os.environ)
    }
    assert found == {name: (until, holder) for name, (_, until, holder) in SUBJECTS.items()}
