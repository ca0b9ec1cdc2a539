"""Claims as commits hold them: what is not understood lasts as long as a claim can, and no claim
lasts longer.
"""

import io
import os

import pytest

from checkpoint_git.core.outcome import Invocation
from checkpoint_git.git.leases import OURS, SEEN, Claim, find_holder, read_claims
from tests.support.repos import GitRepo
from tests.support.rows import rows

BEGUN = 1_772_452_800  # 2026-03-02T12:00:00Z
SUBJECTS = {
    "a": ("claimed until 2026-03-02T13:00:00Z by Ada", BEGUN + 3_600, "Ada"),
    "b": ("claimed until 2027-03-02T13:00:00Z by Ada", BEGUN + 604_800, "Ada"),
    "c": ("claimed until tomorrow by Ada", BEGUN + 604_800, "Ada"),
    "d": ("mine", BEGUN + 604_800, "an unknown holder"),
    "e\u2028f": (
        "claimed until 2026-03-02T13:00:00Z by Ada\u2028refs/x",
        BEGUN + 3_600,
        "Ada\u2028refs/x",
    ),
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


def test_what_has_no_date_has_ended_and_no_claim_lasts_beyond_the_year_9999(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    blob = repo.git("hash-object", "-w", "--", str(repo.write("a", "no commit\n")))
    repo.git("update-ref", OURS + "blob", blob)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@999999999999 +0000")
    commit = repo.git("commit-tree", repo.git("write-tree"), "-m", "mine")
    repo.git("update-ref", f"{SEEN}a/far", commit)
    far, dateless = sorted(read_claims(str(repo.path), os.environ), key=lambda claim: claim.name)
    assert (dateless.name, dateless.since, dateless.until) == ("blob", 0, 604_800)
    assert far.data == {
        "name": "a/far",
        "holder": "an unknown holder",
        "since": "9999-12-24T23:59:59Z",
        "until": "9999-12-31T23:59:59Z",
    }
    assert far.line == (
        "a/far is claimed by an unknown holder since 9999-12-24T23:59:59Z,"
        " until 9999-12-31T23:59:59Z"
    )


@rows(("seconds", "spared"), [(3_600, 60), (610, 60), (500, 50), (9, 0)])
def test_others_wait_a_little_longer_for_clocks_differ(seconds: int, spared: int) -> None:
    claim = Claim(f"{OURS}a", "", BEGUN, BEGUN + seconds, "Ada")
    assert claim.ends == BEGUN + seconds + spared


def test_a_holder_is_a_session_in_a_work_tree_on_a_machine(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = "checkpoint_git.core.platform"
    monkeypatch.setattr(f"{platform}.find_user_name", lambda env: env["USER"])
    monkeypatch.setattr(f"{platform}.find_host_name", lambda: "host\x1b")

    def find(**env: str) -> str:
        stream = io.StringIO()
        world = Invocation("/", {"USER": "ada", **env}, 0, stream, stream, stream, False)
        return find_holder(str(repo.path), world)

    assert find() == f"ada@host\\x1b:{repo.path}"
    assert find(CLAUDE_SESSION_ID="7") == f"ada@host\\x1b:{repo.path} session 7"
