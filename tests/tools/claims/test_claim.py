import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import run_here
from tests.support.repos import GitRepo, environ_in
from tests.tools.sync.clones import Clone, Hub

OURS, SEEN = "refs/checkpoint/claims/build", "refs/checkpoint/seen/build"


def ask(place: GitRepo | Path, *words: str, session: str = "") -> tuple[int, dict[str, Any]]:
    """The exit code and the document of a command."""
    cwd = place if isinstance(place, Path) else place.path
    env = {**os.environ, "CHECKPOINT_SESSION": session}
    done = run_here(*words, "--json", cwd=cwd, env=env)
    return done.returncode, json.loads(done.stdout)


def plant(repo: GitRepo, subject: str, ref: str = OURS, ago: int = 0) -> str:
    """A claim of somebody else, as it may come from a remote."""
    tree = repo.git("hash-object", "-t", "tree", "-w", "/dev/null")
    date = f"@{int(time.time()) - ago} +0000"
    env = {**environ_in(repo.path), "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
    words = ["git", "commit-tree", "-m", subject, tree]
    done = subprocess.run(words, cwd=repo.path, env=env, capture_output=True, text=True, check=True)
    repo.git("update-ref", ref, done.stdout.strip())
    return done.stdout.strip()


def instant(seconds: int) -> str:
    """So many seconds from now."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


@pytest.fixture
def tree(ann: Clone) -> GitRepo:
    """A linked work tree of ann's, on a branch that follows none."""
    ann.git("worktree", "add", "-q", "-b", "topic", str(ann.path.parent / "tree"))
    return GitRepo(ann.path.parent / "tree")


def test_what_one_clone_has_claimed_another_cannot(hub: Hub, ann: Clone, bob: Clone) -> None:
    code, mine = ask(ann, "claim", "build")
    assert (code, mine["held"], mine["remote"]) == (0, True, "origin")
    assert hub.git("rev-parse", OURS) == ann.git("rev-parse", OURS)
    code, theirs = ask(bob, "claim", "build")
    assert (code, theirs["held"], theirs["claim"]) == (1, False, mine["claim"])
    assert [finding["code"] for finding in theirs["findings"]] == ["claim/held"]
    assert bob.exit_code("rev-parse", "-q", "--verify", OURS) == 1


def test_what_one_work_tree_has_claimed_another_cannot(ann: Clone, tree: GitRepo) -> None:
    assert ask(tree, "claim", "build")[1]["remote"] is None
    assert ask(ann, "claim", "build", "--remote", ".")[0] == 1
    assert ask(ann, "claim", "build")[0] == 1
    assert ask(ann, "claim", "qa")[0] == 0


def test_a_claim_of_a_name_that_has_no_checkpoint_says_so(ann: Clone) -> None:
    said = [run_here("claim", name, cwd=ann.path).stdout for name in ("typo", "build")]
    assert [
        f"no such checkpoint here: {name}" in text
        for name, text in zip(("typo", "build"), said, strict=True)
    ] == [
        True,
        False,
    ]


def test_two_sessions_in_one_work_tree_are_two_holders(tree: GitRepo) -> None:
    assert ask(tree, "claim", "build", session="one")[0] == 0
    assert ask(tree, "claim", "build", session="two")[0] == 1
    code, again = ask(tree, "claim", "build", "--for", "1d", session="one")
    assert (code, again["claim"]["holder"].endswith(" session one")) == (0, True)


def test_the_holder_renews_its_claim_and_gives_it_up(hub: Hub, ann: Clone, bob: Clone) -> None:
    first = ask(ann, "claim", "build", "--for", "30m")[1]["claim"]["until"]
    assert ask(ann, "claim", "build", "--for", "3h")[1]["claim"]["until"] > first
    assert ask(bob, "release", "build")[0] == 1
    code, gone = ask(ann, "release", "build")
    assert (code, gone["claim"], gone["held"]) == (0, None, False)
    for repo in (hub, ann):
        assert repo.git("for-each-ref", "refs/checkpoint") == ""
    assert ask(bob, "claim", "build")[0] == 0
    assert ask(ann, "release", "qa")[0] == 0


def test_anyone_can_force_the_release_of_a_session_that_is_gone(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    ask(ann, "claim", "build")
    assert ask(bob, "release", "build", "--force")[0] == 0
    assert hub.git("for-each-ref", "refs/checkpoint") == ""
    assert ask(bob, "claim", "build")[0] == 0
    assert ask(ann, "claim", "build")[0] == 1


def test_a_lease_ends_by_itself_a_minute_late_since_clocks_differ(
    ann: Clone, bob: Clone, hub: Hub
) -> None:
    plant(hub, f"claimed until {instant(-30)} by zoe@far:/src", ago=7200)
    assert ask(ann, "claim", "build")[0] == 1
    plant(hub, f"claimed until {instant(-70)} by zoe@far:/src", ago=7200)
    assert ask(ann, "claim", "build")[0] == 0
    assert ask(bob, "claim", "build")[0] == 1


@pytest.mark.parametrize(
    "subject", ["claimed until tomorrow by zoe", "claimed until 9999-01-01T00:00:00Z by zoe", "x"]
)
def test_a_claim_that_is_not_understood_holds_for_seven_days(
    subject: str, hub: Hub, ann: Clone
) -> None:
    plant(hub, subject, ago=6 * 86400)
    assert ask(ann, "claim", "build")[0] == 1
    plant(hub, subject, ago=8 * 86400)
    assert ask(ann, "claim", "build")[0] == 0


def test_two_sessions_in_a_folder_with_a_long_path_are_two_holders(tmp_path: Path) -> None:
    place = GitRepo.create(tmp_path / ("a" * 120) / ("b" * 120))
    place.write("x", "x")
    place.commit()
    assert ask(place, "claim", "build", session="one")[0] == 0
    assert ask(place, "claim", "build", session="two")[0] == 1
    assert ask(place, "claim", "build", session="one")[0] == 0


def test_the_printed_release_names_the_remote_that_was_asked_for(ann: Clone, hub: Hub) -> None:
    ann.git("remote", "add", "other", str(hub.path))
    said = run_here("claim", "build", "--remote", "other", cwd=ann.path).stdout
    assert "checkpoint release build --remote other" in said


@pytest.mark.parametrize("seconds", [253_402_300_800, 10**14])
def test_a_claim_from_a_year_that_no_clock_has_is_shown_and_can_be_released(
    seconds: int, ann: Clone
) -> None:
    plant(ann, "claimed until 9999-12-31T00:00:00Z by bob", ago=int(time.time()) - seconds)
    assert ask(ann, "status")[0] == 0
    assert ask(ann, "claim", "build", "--remote", ".")[0] == 1
    assert ask(ann, "release", "build", "--force", "--remote", ".")[0] == 0
    assert ask(ann, "claim", "build", "--remote", ".")[0] == 0


def test_a_holder_from_a_remote_cannot_speak_to_the_terminal(hub: Hub, ann: Clone) -> None:
    plant(hub, f"claimed until {instant(600)} by \x1b[31mzoe\u202e")
    for words in (["claim", "build"], ["status"], ["next"]):
        said = run_here(*words, cwd=ann.path)
        assert "zoe" in said.stdout + said.stderr
        assert not {"\x1b", "\u202e"}.intersection(said.stdout + said.stderr)


def test_status_next_resume_and_prime_show_what_is_claimed(ann: Clone, tree: GitRepo) -> None:
    ask(ann, "claim", "build", "--remote", ".", session="one")
    for words in (["status"], ["next"], ["resume", "build"]):
        (claim,) = ask(tree, *words)[1]["claims"]
        assert (claim["name"], claim["holder"].endswith("ann session one")) == ("build", True)
        assert "build is claimed by " in run_here(*words, cwd=tree.path).stdout
    assert "build is claimed by " in run_here("prime", cwd=tree.path).stdout
    ask(ann, "release", "build", session="one")
    assert ask(tree, "status")[1]["claims"] == []


def test_next_offers_first_what_nobody_else_has_claimed(ann: Clone, tree: GitRepo) -> None:
    first = ask(tree, "next")[1]["skill"]
    ask(ann, "claim", first)
    assert ask(tree, "next")[1]["skill"] != first
    assert ask(ann, "next")[1]["skill"] == first


def test_after_a_sync_a_clone_knows_the_claims_of_others(ann: Clone, bob: Clone) -> None:
    ask(ann, "claim", "build")
    ask(bob, "sync")
    assert [claim["name"] for claim in ask(bob, "status")[1]["claims"]] == ["build"]
    ask(ann, "release", "build")
    ask(bob, "sync")
    assert ask(bob, "status")[1]["claims"] == []


def test_packed_claims_are_seen_too(ann: Clone, tree: GitRepo) -> None:
    ask(ann, "claim", "build", "--remote", ".")
    ann.git("pack-refs", "--all")
    assert [claim["name"] for claim in ask(tree, "status")[1]["claims"]] == ["build"]
    assert ask(tree, "claim", "build")[0] == 1


def test_a_remote_that_does_not_answer_or_take_it_leaves_nothing_behind(
    hub: Hub, ann: Clone
) -> None:
    hub.hook("pre-receive", "echo no claims here >&2; exit 1")
    done = run_here("claim", "build", cwd=ann.path)
    assert (
        done.returncode,
        "does not take claims" in done.stderr,
        "--remote ." in done.stderr,
    ) == (2, True, True)
    ann.git("remote", "set-url", "origin", str(hub.path.parent / "gone"))
    done = run_here("claim", "build", cwd=ann.path)
    assert (done.returncode, "gave no answer" in done.stderr, "--remote ." in done.stderr) == (
        2,
        True,
        True,
    )
    assert ann.git("for-each-ref", "refs/checkpoint") == ""
    assert ask(ann, "claim", "build", "--remote", ".")[0] == 0


@pytest.mark.parametrize("words", [["build", "--for", "0m"], ["build", "--for", "8d"], ["build", "--for", "soon"],
                                   ["../build"], ["a..b"], ["build", "--remote", "nowhere"]])  # fmt: skip
def test_what_cannot_be_claimed_is_refused(words: list[str], ann: Clone) -> None:
    done = run_here("claim", *words, cwd=ann.path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 2


def test_no_hook_runs_and_no_file_or_branch_changes(ann: Clone) -> None:
    for name in ("pre-push", "reference-transaction", "post-commit"):
        path = ann.write(f".git/hooks/{name}", "#!/bin/sh\ntouch ran\nexit 1\n")
        path.chmod(0o755)
    before = ann.git("for-each-ref", "refs/heads", "refs/remotes")
    assert ask(ann, "claim", "build")[0] == 0
    assert (ann.git("for-each-ref", "refs/heads", "refs/remotes"), ann.status()) == (before, [])


def test_a_ref_that_cannot_be_written_is_not_called_contention(ann: Clone) -> None:
    (ann.path / ".git/refs/checkpoint").write_text("in the way of a folder")
    code, told = ask(ann, "claim", "build", "--remote", ".")
    assert code == 2
    assert "unable to create lock file" in told["error"]["message"]


def test_a_holder_has_the_same_name_without_the_variables_of_a_login(ann: Clone) -> None:
    mine = ask(ann, "claim", "build", "--remote", ".")[1]["claim"]["holder"]
    env = {key: value for key, value in os.environ.items() if key not in ("USER", "LOGNAME")}
    done = run_here("claim", "build", "--remote", ".", "--json", cwd=ann.path, env=env)
    assert json.loads(done.stdout)["claim"]["holder"] == mine
    assert not mine.startswith(f"{os.getuid()}@")
