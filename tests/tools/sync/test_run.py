import os
import shutil
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import plan_place
from checkpoint_git.git.stale_locks import OWN_REFS
from checkpoint_git.tools.sync import run as running
from checkpoint_git.tools.sync import take_in as taking_in
from checkpoint_git.tools.sync.commits import Draft, write_commits
from checkpoint_git.tools.sync.context import Wish, open_context
from tests.support.killed_git import update_ref_killed
from tests.support.repos import GitRepo
from tests.support.snapshot import take_snapshot
from tests.tools.sync.clones import BUILD, QA, Clone, Hub, add_hook


def codes(result: object) -> list[str]:
    """The codes of a result's findings."""
    return [finding.code for finding in result.findings]  # type: ignore[attr-defined]  # a SyncResult


def primer(*decisions: str) -> dict[str, list[str]]:
    """A context primer with these decisions."""
    return {"key_decisions": list(decisions), "generated_files": [], "user_preferences": []}


def test_what_two_clones_wrote_meets_on_the_branch_and_in_both(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    ann.change(step="sprint-3")
    bob.change(blockers=[{"id": "b1", "description": "no key", "needs": "user_decision"}])
    assert ann.sync().sent == [BUILD]
    assert bob.sync().merged == [BUILD]
    assert ann.sync().brought == [BUILD]
    assert ann.load() == bob.load() == hub.load()
    assert (ann.load()["step"], ann.load()["blockers"][0]["id"]) == ("sprint-3", "b1")


def test_one_skill_written_by_each_of_two_clones_needs_no_merge(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    ann.change(step="sprint-3")
    bob.change(QA, step="sprint-4")
    ann.sync()
    result = bob.sync()
    assert (result.sent, result.brought, result.merged) == ([QA], [BUILD], [])


def test_nothing_but_checkpoints_is_committed_staged_or_changed(hub: Hub, ann: Clone) -> None:
    ann.write("code.txt", "changed\n")
    ann.write("new.txt", "new\n")
    ann.write("other.txt", "staged\n")
    ann.git("add", "other.txt", "new.txt")
    ann.change(step="sprint-3")
    ann.sync()
    assert hub.git("diff", "--name-only", "main~1", "main") == BUILD
    assert ann.status() == [" M code.txt", "A  new.txt", "M  other.txt"]


def test_locks_of_a_git_that_was_killed_do_not_stop_the_next_sync(ann: Clone) -> None:
    ann.change(step="sprint-3")
    ann.sync()
    for ref in ann.git("for-each-ref", "--format=%(refname)", OWN_REFS).splitlines():
        update_ref_killed(ann, ref)  # its lock is new
    ann.change(step="sprint-4")
    assert ann.sync().sent == [BUILD]
    assert list((ann.path / ".git" / OWN_REFS).rglob("*.lock")) == []


def test_a_part_of_a_killed_write_goes_with_a_sync_that_writes_nothing(ann: Clone) -> None:
    folder = ann.path / ".checkpoints"
    ended = f".build.checkpoint.json.{2**22 + 1}-00000000.tmp"  # no process has this number
    living = f".build.checkpoint.json.{os.getpid()}-00000000.tmp"
    for name in (ended, living):
        (folder / name).write_text("{")

    ann.sync(dry_run=True)
    assert (folder / ended).exists()
    assert ann.sync().state == "current"
    assert (folder / living).exists()
    assert not (folder / ended).exists()


def test_a_ref_that_a_git_left_which_was_killed_goes_with_the_next_sync(ann: Clone) -> None:
    made = f"{OWN_REFS}/made/origin/main"
    ann.git("update-ref", made, "HEAD")
    assert ann.sync().state == "current"
    assert ann.git("for-each-ref", made) == ""


def test_a_lock_of_the_users_that_keeps_the_branch_is_named_once_it_is_old(ann: Clone) -> None:
    lock = ann.path / ".git/index.lock"
    for step, age in (("one", 0), ("two", 60)):
        lock.write_text("")
        os.utime(lock, (time.time() - age,) * 2)
        ann.change(step=step)
        result = ann.sync()
        assert (result.sent, codes(result)) == ([BUILD], ["sync/branch-left"])
        assert (f"rm {lock}" in str(result.findings[0].hint)) == (age > 10)
        assert lock.exists()


def test_nothing_new_on_either_side_changes_nothing(hub: Hub, ann: Clone) -> None:
    before = hub.git("rev-parse", "main")
    assert ann.sync().state == "current"
    assert (hub.git("rev-parse", "main"), ann.status()) == (before, [])


def test_files_that_a_sync_does_not_change_keep_their_bytes_and_their_time(ann: Clone) -> None:
    before = os.stat(ann.path / QA)
    ann.change(step="sprint-3")
    own = (ann.path / BUILD).read_bytes()
    ann.sync()
    after = os.stat(ann.path / QA)
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert (ann.path / BUILD).read_bytes() == own


# the user's own branch


def test_after_a_sync_an_ordinary_pull_has_nothing_to_do(ann: Clone, bob: Clone) -> None:
    bob.change(step="sprint-3")
    bob.sync()
    ann.change(QA, step="sprint-4")
    assert ann.sync().branch_moved
    assert ann.status() == []
    assert "Already up to date" in ann.git("pull")


def test_a_clone_that_lacks_other_peoples_code_can_pull_after_a_sync_and_keeps_later_changes(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    bob.commit_code("two\n")
    bob.git("push", "-q")
    ann.change(step="sprint-3")
    assert ann.sync().branch_moved
    assert (ann.read("code.txt"), ann.status()) == ("one\n", [])
    ann.change(step="sprint-4")
    ann.git("pull", "-q")
    assert (ann.read("code.txt"), ann.load()["step"]) == ("two\n", "sprint-4")
    assert hub.git("show", "main:code.txt") == "two"


def test_commits_that_were_not_pushed_stay_unpushed_and_can_be_pushed_later(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    ann.commit_code("mine\n")
    ann.change(step="sprint-3")
    assert ann.sync().branch_moved
    assert (hub.git("show", "main:code.txt"), hub.load()["step"]) == ("one", "sprint-3")
    assert ann.status() == []
    ann.git("push", "-q")
    assert hub.git("show", "main:code.txt") == "mine"
    bob.git("pull", "-q")
    assert (bob.read("code.txt"), bob.load()["step"]) == ("mine\n", "sprint-3")


@pytest.mark.parametrize("way", ["--no-rebase", "--rebase"])
def test_branches_that_went_apart_come_together_with_every_change_once(
    hub: Hub, ann: Clone, bob: Clone, way: str
) -> None:
    bob.commit_code("theirs\n", "other.txt")
    bob.git("push", "-q")
    ann.commit_code("mine\n")
    ann.change(cost={"total_usd": 1.5})
    assert ann.sync().branch_moved
    ann.change(cost={"total_usd": 1.75})
    # a rebase replays such a commit although the branch has its change already
    if way == "--no-rebase":
        ann.git("commit", "-q", "-a", "-m", "More")
    bob.git("pull", "-q")
    bob.change(cost={"total_usd": 2.5})
    bob.sync()
    ann.sync()
    ann.git("pull", "-q", way)
    assert ann.load()["cost"]["total_usd"] == hub.load()["cost"]["total_usd"] == 2.75
    assert (ann.read("code.txt"), ann.read("other.txt")) == ("mine\n", "theirs\n")


def test_switching_branches_after_a_sync_carries_nothing_along(ann: Clone, bob: Clone) -> None:
    ann.git("branch", "side")
    bob.change(step="sprint-3")
    bob.change(".checkpoints/new.checkpoint.json")
    bob.sync()
    ann.sync()
    ann.git("switch", "-q", "side")
    assert ann.status() == []
    ann.git("switch", "-q", "main")
    assert ann.load()["step"] == "sprint-3"


def test_another_branch_than_the_one_that_is_followed_leaves_head_and_index_alone(
    hub: Hub, ann: Clone
) -> None:
    ann.change(step="sprint-3")
    head, index = ann.git("rev-parse", "HEAD"), (ann.path / ".git/index").read_bytes()
    result = ann.sync(branch="checkpoints")
    assert (result.state, result.branch_moved) == ("synced", False)
    assert (ann.git("rev-parse", "HEAD"), (ann.path / ".git/index").read_bytes()) == (head, index)
    assert sorted(hub.git("ls-tree", "-r", "--name-only", "checkpoints").split("\n")) == [BUILD, QA]


def test_a_detached_head_syncs_and_stays(hub: Hub, ann: Clone) -> None:
    ann.git("switch", "-q", "--detach")
    head = ann.git("rev-parse", "HEAD")
    ann.change(step="sprint-3")
    assert ann.sync(branch="main").state == "synced"
    assert (ann.git("rev-parse", "HEAD"), hub.load()["step"]) == (head, "sprint-3")
    ann.change(step="sprint-4", cost={"total_usd": 4.0})
    ann.sync(branch="main")
    assert (hub.load()["step"], hub.load()["cost"]["total_usd"]) == ("sprint-4", 4.0)


def test_a_repository_without_commits_meets_an_empty_remote(tmp_path: Path) -> None:
    hub = Hub.create(tmp_path / "empty.git", "--bare")
    assert isinstance(hub, Hub)
    ann = hub.clone("ann")
    ann.change(step="sprint-3")
    ann.write("code.txt", "mine\n")
    assert ann.sync(branch="main").state == "synced"
    assert hub.git("ls-tree", "-r", "--name-only", "main") == BUILD
    assert ann.status() == ["?? code.txt"]


def test_a_repository_without_commits_takes_in_what_a_branch_has_and_can_still_pull(
    hub: Hub, tmp_path: Path
) -> None:
    ann = Clone.create(tmp_path / "unborn")
    assert isinstance(ann, Clone)
    ann.git("remote", "add", "origin", str(hub.path))
    ann.change(".checkpoints/new.checkpoint.json")
    result = ann.sync(branch="main")
    assert (result.sent, len(result.brought)) == ([".checkpoints/new.checkpoint.json"], 2)
    ann.git("pull", "-q", "origin", "main")
    assert ann.status() == []


def test_linked_work_trees_remember_each_its_own(hub: Hub, ann: Clone, bob: Clone) -> None:
    ann.git("worktree", "add", "-q", "--detach", "../linked")
    linked = Clone(ann.path.parent / "linked")
    ann.change(step="sprint-3")
    ann.sync()
    linked.change(QA, step="sprint-4")
    assert linked.sync(branch="main").brought == [BUILD]
    bob.sync()
    assert (bob.load()["step"], bob.load(QA)["step"]) == ("sprint-3", "sprint-4")


def test_a_remote_without_the_followed_branch_is_not_given_a_history_of_checkpoints_alone(
    ann: Clone, hub: Hub
) -> None:
    hub.git("branch", "-m", "main", "old")
    with pytest.raises(CheckpointError, match="no branch main yet"):
        ann.sync()


# what cannot both stand


def test_a_conflict_is_left_on_both_sides_and_the_rest_is_synced(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    bob.change(step="theirs")
    bob.sync()
    ann.change(step="mine")
    ann.change(QA, step="sprint-4")
    result = ann.sync()
    assert (codes(result), result.sent) == (["sync/conflict"], [QA])
    assert (hub.load()["step"], ann.load()["step"], hub.load(QA)["step"]) == (
        "theirs",
        "mine",
        "sprint-4",
    )
    assert codes(ann.sync()) == ["sync/conflict"], "it is not forgotten"


def test_a_conflict_goes_away_when_both_sides_agree(hub: Hub, ann: Clone, bob: Clone) -> None:
    bob.change(step="theirs")
    bob.sync()
    ann.change(
        step="mine", blockers=[{"id": "b1", "description": "no key", "needs": "user_decision"}]
    )
    ann.sync()
    ann.change(step="theirs")
    assert codes(ann.sync()) == []
    assert hub.load()["blockers"][0]["id"] == "b1"
    assert ann.status() == []


@pytest.mark.parametrize(("side", "step"), [("ours", "mine"), ("theirs", "theirs")])
def test_a_side_that_is_named_decides_a_conflict(
    hub: Hub, ann: Clone, bob: Clone, side: str, step: str
) -> None:
    bob.change(step="theirs", context_primer=primer("b"))
    bob.sync()
    ann.change(step="mine", context_primer=primer("a"))
    ann.sync()
    assert codes(ann.sync(take=side)) == []
    assert ann.load()["step"] == hub.load()["step"] == step
    assert set(hub.load()["context_primer"]["key_decisions"]) == {"a", "b"}


def test_a_checkpoint_with_a_new_error_is_not_sent_and_the_rest_is(hub: Hub, ann: Clone) -> None:
    ann.write(BUILD, "{ broken")
    ann.change(QA, step="sprint-4")
    result = ann.sync()
    assert (codes(result), result.sent) == (["json/syntax"], [QA])
    assert hub.load()["step"] == "sprint-2"
    assert ann.read(BUILD) == "{ broken"


def test_an_error_that_was_there_before_does_not_hinder(hub: Hub, ann: Clone) -> None:
    ann.change(status="odd")
    ann.git("commit", "-q", "-a", "-m", "odd")
    ann.git("push", "-q")
    ann.change(step="sprint-3")
    assert codes(ann.sync()) == []
    assert hub.load()["step"] == "sprint-3"


# files that come and go


def test_a_skill_that_was_archived_goes_away_everywhere_and_its_past_comes(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    past = ".checkpoints/history/build.2026-03-02-abcd.json"
    (ann.path / ".checkpoints/history").mkdir()
    os.rename(ann.path / BUILD, ann.path / past)
    ann.sync()
    result = bob.sync()
    assert sorted(result.brought) == [BUILD, past]
    assert not (bob.path / BUILD).exists()
    assert bob.load(past)["skill"] == "build"
    assert bob.status() == []


def test_archived_here_and_written_there_is_a_conflict(hub: Hub, ann: Clone, bob: Clone) -> None:
    bob.change(step="sprint-3")
    bob.sync()
    (ann.path / BUILD).unlink()
    (finding,) = ann.sync().findings
    assert (finding.code, finding.path) == ("sync/conflict", BUILD)
    assert finding.message.startswith("it was removed here and changed there")
    assert hub.load()["step"] == "sprint-3"


def test_a_file_that_is_missing_because_another_branch_is_checked_out_is_not_removed(
    hub: Hub, ann: Clone
) -> None:
    ann.change(step="sprint-3")
    ann.sync(branch="checkpoints")
    ann.git("switch", "-q", "-f", "--orphan", "bare")
    assert not (ann.path / BUILD).exists()
    assert ann.sync(branch="checkpoints").brought == [BUILD, QA]
    assert ann.load()["step"] == "sprint-3"


def test_a_commit_checked_out_again_takes_nothing_back_on_the_branch(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    ann.change(step="sprint-3")
    ann.sync()
    ann.git("checkout", "-q", "--detach", "HEAD~1")
    assert (ann.sync(branch="main").brought, hub.load()["step"]) == ([BUILD], "sprint-3")
    assert ann.load()["step"] == "sprint-3"


def test_a_file_restored_from_the_last_commit_takes_in_the_branch_again(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    ann.sync(branch="checkpoints")
    bob.change(step="sprint-3")
    bob.sync(branch="checkpoints", take="ours")
    assert ann.sync(branch="checkpoints").brought == [BUILD]
    ann.git("checkout", "--", ".checkpoints")
    assert ann.sync(branch="checkpoints").brought == [BUILD]
    assert (ann.load()["step"], hub.load(branch="checkpoints")["step"]) == ("sprint-3", "sprint-3")


def test_what_is_written_to_an_older_commit_takes_nothing_back_on_the_branch(
    hub: Hub, ann: Clone
) -> None:
    ann.change(blockers=[{"id": "b1", "description": "No key yet", "needs": "user_decision"}])
    ann.sync()
    ann.git("checkout", "-q", "--detach", "HEAD~1")
    ann.change(step="sprint-9")
    assert ann.sync(branch="main").merged == [BUILD]
    assert (len(hub.load()["blockers"]), hub.load()["step"]) == (1, "sprint-9")
    ann.change(step="sprint-10")
    assert ann.sync(branch="main").sent == [BUILD]
    assert len(hub.load()["blockers"]) == 1


def test_a_commit_of_something_new_is_sent_wherever_head_stands(hub: Hub, ann: Clone) -> None:
    ann.sync(branch="checkpoints")
    ann.change(step="sprint-3")
    ann.git("commit", "-q", "-a", "-m", "Go on")
    assert ann.sync(branch="checkpoints").sent == [BUILD]


def test_history_is_only_ever_added(hub: Hub, ann: Clone, bob: Clone) -> None:
    past = ".checkpoints/history/build.2026-03-02-abcd.json"
    bob.write(past, '{"theirs": 1}\n')
    bob.sync()
    ann.write(past, '{"mine": 1}\n')
    assert codes(ann.sync()) == ["sync/conflict"]
    assert ann.load(past) == {"mine": 1}
    assert hub.load(past) == {"theirs": 1}


# what a stranger put on the branch


def test_a_link_on_the_branch_is_not_taken_in(hub: Hub, ann: Clone, bob: Clone) -> None:
    (bob.path / QA).unlink()
    (bob.path / QA).symlink_to("/etc/passwd")
    bob.commit("link")
    bob.git("push", "-q")
    assert codes(ann.sync()) == ["sync/theirs-unreadable"]
    assert not (ann.path / QA).is_symlink()


def test_broken_text_on_the_branch_is_not_taken_in_and_does_not_hinder_others(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    bob.write(QA, "\x1b[31m broken")
    bob.commit("broken")
    bob.git("push", "-q")
    ann.change(step="sprint-3")
    result = ann.sync()
    assert (codes(result), result.sent) == (["sync/theirs-unreadable"], [BUILD])
    assert "\x1b" not in result.findings[0].message
    assert ann.load(QA)["skill"] == "qa"


def test_a_link_in_the_work_tree_is_neither_read_nor_written_through(
    hub: Hub, ann: Clone, bob: Clone, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("{}")
    (ann.path / QA).unlink()
    (ann.path / QA).symlink_to(outside)
    bob.change(QA, step="sprint-4")
    bob.sync()
    assert codes(ann.sync()) == ["sync/not-readable"]
    assert outside.read_text() == "{}"


def test_what_could_not_be_written_is_not_said_to_be_taken_in(ann: Clone, bob: Clone) -> None:
    bob.change("sub/" + BUILD, step="sprint-3")
    bob.sync()
    ann.write("sub", "a file\n")
    result = ann.sync()
    assert (result.brought, codes(result)) == ([], ["sync/not-written"])


def test_a_path_that_no_skill_can_have_is_not_made(hub: Hub, ann: Clone, bob: Clone) -> None:
    bob.write(".checkpoints/~x.checkpoint.json", "{}\n")
    bob.commit("odd name")
    bob.git("push", "-q")
    assert codes(ann.sync()) == ["sync/theirs-unreadable"]
    assert not (ann.path / ".checkpoints/~x.checkpoint.json").exists()


# races, and lines that break


def test_a_lost_race_is_run_again_with_what_the_winner_wrote(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    bob.change(blockers=[{"id": "b1", "description": "no key", "needs": "user_decision"}])
    bob.commit("first")
    add_hook(
        ann.path / ".git/hooks/pre-push",
        f"env -u GIT_DIR git -C '{bob.path}' push -q origin main || true",
    )
    ann.change(step="sprint-3")
    result = ann.sync()
    assert (result.state, result.lost, result.attempts) == ("synced", 1, 2)
    assert (hub.load()["step"], hub.load()["blockers"][0]["id"]) == ("sprint-3", "b1")


def test_a_race_lost_every_time_leaves_the_change_waiting(hub: Hub, ann: Clone, bob: Clone) -> None:
    push = f"cd '{bob.path}' && git commit -q --allow-empty -m x && git push -q origin main"
    add_hook(ann.path / ".git/hooks/pre-push", f"unset GIT_DIR; {push}")
    ann.change(step="sprint-3")
    result = ann.sync(attempts=2)
    assert (result.state, result.attempts, codes(result)) == ("contended", 2, ["sync/contended"])
    (ann.path / ".git/hooks/pre-push").unlink()
    assert ann.sync().sent == [BUILD]
    assert hub.load()["step"] == "sprint-3"


def test_a_remote_that_can_be_read_and_not_written_is_given_up_soon(ann: Clone) -> None:
    ann.git("config", "remote.origin.pushurl", str(ann.path / "nowhere.git"))
    ann.change(step="sprint-3")
    result = ann.sync(timeout=20.0)
    assert (result.state, result.waiting, result.attempts, result.lost) == (
        "contended",
        [BUILD],
        3,
        0,
    )
    assert "nowhere.git" in result.findings[0].message


def test_what_arrived_although_the_line_broke_is_not_sent_twice(hub: Hub, ann: Clone) -> None:
    hub.hook("post-receive", f"rm '{hub.path}/hooks/post-receive'; kill -9 $PPID")
    ann.change(cost={"total_usd": 5.0})
    result = ann.sync()
    assert (result.state, hub.load()["cost"]["total_usd"]) == ("synced", 5.0)
    assert hub.git("rev-list", "--count", "main") == "2"
    assert ann.status() == []


def sync_and_die(clone: Clone, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """A sync that ends where this step of it would begin; "sync_folder": before the disk knows a
    checkpoint's name.
    """

    def die(*args: object) -> None:
        if step != "sync_folder" or str(args[0]).endswith(".checkpoints"):
            raise KeyboardInterrupt

    module: ModuleType = taking_in
    if step == "sync_folder":
        module = atomic
    elif step == "_take_in":
        module = running
    with monkeypatch.context() as patch:
        patch.setattr(module, step, die)
        with pytest.raises(KeyboardInterrupt):
            clone.sync()


def test_what_arrived_with_a_sync_that_was_killed_is_counted_once_whatever_hinders_the_next(
    hub: Hub, ann: Clone, bob: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.change(cost={"total_usd": 5.0})
    sync_and_die(ann, monkeypatch, "_take_in")
    assert hub.load()["cost"]["total_usd"] == 5.0
    bob.change(cost={"total_usd": 3.0})
    bob.sync()
    ann.change(cost={"total_usd": 12.0})
    hub.hook("pre-receive", "exit 1")
    assert ann.sync().state == "refused"
    (hub.path / "hooks/pre-receive").unlink()
    hub.path.rename(away := hub.path.with_name("away"))
    assert ann.sync().state == "offline"
    away.rename(hub.path)
    ann.sync()
    assert (
        hub.load()["cost"]["total_usd"] == ann.load()["cost"]["total_usd"] == 1.0 + 4.0 + 2.0 + 7.0
    )


def test_what_a_killed_sync_sent_is_remembered_however_often_the_remote_does_not_answer(
    hub: Hub, ann: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.change(cost={"total_usd": 5.0})
    sync_and_die(ann, monkeypatch, "_take_in")
    hub.path.rename(away := hub.path.with_name("away"))
    for total in (6.0, 7.0, 8.0):
        ann.change(cost={"total_usd": total})
        assert ann.sync().state == "offline"
    away.rename(hub.path)
    ann.sync()
    assert hub.load()["cost"]["total_usd"] == ann.load()["cost"]["total_usd"] == 8.0


def mark_deep(*values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.deep)


DEATHS = [
    "_move sync_folder _move",
    "_remember",
    *map(mark_deep, ("write_arrivals", "sync_folder", "_move")),
]
CHANGES = [(4.0, 7.0), mark_deep(0.0, 0.0), mark_deep(0.0, 7.0), mark_deep(4.0, 0.0)]


@pytest.mark.parametrize("deaths", DEATHS)
@pytest.mark.parametrize(("own", "more"), CHANGES)
def test_a_sync_killed_while_it_takes_in_counts_what_came_once(
    hub: Hub,
    ann: Clone,
    bob: Clone,
    monkeypatch: pytest.MonkeyPatch,
    deaths: str,
    own: float,
    more: float,
) -> None:
    bob.change(cost={"total_usd": 3.0}, context_primer=primer("b"))
    bob.sync()
    ann.change(cost={"total_usd": 1.0 + own})
    expected = 3.0 + own + more
    for step in deaths.split():
        sync_and_die(ann, monkeypatch, step)
        bob.sync()
        bob.change(cost={"total_usd": bob.load()["cost"]["total_usd"] + 100.0})
        bob.sync()
        expected += 100.0
    ann.change(cost={"total_usd": ann.load()["cost"]["total_usd"] + more})
    ann.sync()
    assert ann.load()["cost"]["total_usd"] == hub.load()["cost"]["total_usd"] == expected
    assert ann.load()["context_primer"]["key_decisions"] == ["b"]
    assert not list((ann.path / ".git/checkpoint").glob("taking*"))


def test_what_cannot_be_read_counts_after_a_killed_sync_as_it_was_noted(
    ann: Clone, bob: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bob.path / QA).unlink()
    bob.change(step="sprint-3")
    bob.sync()
    own = (ann.path / QA).read_bytes()
    (ann.path / QA).unlink()
    (ann.path / QA).symlink_to("../code.txt")
    sync_and_die(ann, monkeypatch, "_remember")
    assert codes(ann.sync()) == ["sync/not-readable"]
    (ann.path / QA).unlink()
    (ann.path / QA).write_bytes(own)
    assert (ann.sync().brought, (ann.path / QA).exists()) == ([QA], False)


def test_what_a_process_writes_while_a_sync_runs_is_kept(hub: Hub, ann: Clone, bob: Clone) -> None:
    bob.change(context_primer=primer("b"))
    bob.sync()
    write = f"perl -pi -e s/sprint-2/sprint-3/ '{ann.path}/{BUILD}'"
    add_hook(ann.path / ".git/hooks/pre-push", write)
    ann.change(blockers=[{"id": "b1", "description": "no key", "needs": "user_decision"}])
    ann.sync()
    assert (ann.load()["step"], ann.load()["context_primer"]["key_decisions"]) == (
        "sprint-3",
        ["b"],
    )
    assert hub.load()["step"] == "sprint-2"
    (ann.path / ".git/hooks/pre-push").unlink()
    ann.sync()
    assert hub.load() == ann.load()


def test_a_remote_that_refuses_is_quoted_and_the_change_waits(hub: Hub, ann: Clone) -> None:
    hub.hook("pre-receive", "echo 'main is protected' >&2; exit 1")
    ann.change(step="sprint-3")
    result = ann.sync()
    assert (result.state, codes(result)) == ("refused", ["sync/refused"])
    assert "main is protected" in result.findings[0].message
    assert ann.load()["step"] == "sprint-3"
    (hub.path / "hooks/pre-receive").unlink()
    assert ann.sync().sent == [BUILD]


def test_a_pre_push_hook_that_says_no_is_heard_and_can_be_passed_by(hub: Hub, ann: Clone) -> None:
    add_hook(ann.path / ".git/hooks/pre-push", "echo 'not today' >&2; exit 1")
    ann.change(step="sprint-3")
    result = ann.sync()
    assert (result.state, codes(result)) == ("refused", ["sync/hook"])
    assert "not today" in result.findings[0].message
    assert ann.sync(hooks=False).sent == [BUILD]


def test_offline_it_waits_and_the_next_sync_sends_it_even_after_a_reset(
    hub: Hub, ann: Clone
) -> None:
    ann.change(step="sprint-3")
    os.rename(hub.path, hub.path.with_name("away"))
    result = ann.sync()
    assert (result.state, codes(result)) == ("offline", ["sync/queued"])
    ann.git("checkout", "-q", "--", ".")
    os.rename(hub.path.with_name("away"), hub.path)
    ann.sync()
    assert hub.load()["step"] == ann.load()["step"] == "sprint-3"
    assert "queue" not in ann.git("for-each-ref")


def queue_and_restore(hub: Hub, ann: Clone) -> None:
    """A change that only the queue of a clone still holds."""
    ann.change(step="sprint-3")
    os.rename(hub.path, hub.path.with_name("away"))
    assert ann.sync().state == "offline"
    ann.git("checkout", "-q", "--", ".")


def test_what_waits_alone_in_the_queue_outlives_syncs_that_send_nothing(
    hub: Hub, ann: Clone
) -> None:
    queue_and_restore(hub, ann)
    assert ann.sync().state == "offline"
    ann.change(QA, step="sprint-4")
    assert ann.sync().state == "offline"
    os.rename(hub.path.with_name("away"), hub.path)
    hub.hook("pre-receive", "exit 1")
    assert ann.sync().state == "refused"
    (hub.path / "hooks/pre-receive").unlink()
    assert sorted([*(result := ann.sync()).sent, *result.merged]) == [BUILD, QA]
    assert hub.load()["step"] == ann.load()["step"] == "sprint-3"


def test_what_waits_alone_in_the_queue_outlives_a_sync_of_another_skill(
    hub: Hub, ann: Clone
) -> None:
    queue_and_restore(hub, ann)
    os.rename(hub.path.with_name("away"), hub.path)
    ann.change(QA, step="sprint-4")
    assert ann.sync(only="qa").sent == [QA]
    ann.sync()
    assert hub.load()["step"] == ann.load()["step"] == "sprint-3"
    assert "queue" not in ann.git("for-each-ref")


@pytest.mark.parametrize(("side", "step"), [("ours", "sprint-3"), ("theirs", "sprint-4")])
def test_what_waits_alone_in_the_queue_stays_a_conflict_until_somebody_decides(
    hub: Hub, ann: Clone, bob: Clone, side: str, step: str
) -> None:
    queue_and_restore(hub, ann)
    os.rename(hub.path.with_name("away"), hub.path)
    bob.change(step="sprint-4")
    bob.sync()
    ann.change(QA, step="sprint-4")
    for _ in range(2):
        assert codes(ann.sync()) == ["sync/conflict"]
        assert ann.load()["step"] == "sprint-2"
    ann.sync(take=side)
    assert hub.load()["step"] == ann.load()["step"] == step
    assert codes(ann.sync()) == []
    assert "queue" not in ann.git("for-each-ref")


def test_offline_with_nothing_new_says_only_that(hub: Hub, ann: Clone) -> None:
    os.rename(hub.path, hub.path.with_name("away"))
    assert codes(ann.sync()) == ["sync/unreachable"]


def test_a_remote_that_never_answers_is_left_in_time(ann: Clone) -> None:
    ann.git("config", "remote.origin.url", "ssh://nowhere/x")
    ann.change(step="sprint-3")
    ann.git("config", "core.sshCommand", "sleep 60; true")
    result = ann.sync(timeout=1.0)
    assert (result.state, codes(result)) == ("offline", ["sync/queued"])
    assert "no answer within" in result.findings[0].message


def test_a_dry_run_changes_nothing_on_either_side(hub: Hub, ann: Clone, bob: Clone) -> None:
    bob.change(QA, step="sprint-4")
    bob.sync()
    ann.change(step="sprint-3")
    before = hub.git("rev-parse", "main")
    result = ann.sync(dry_run=True)
    assert (result.state, result.sent, result.brought) == ("planned", [BUILD], [QA])
    assert (hub.git("rev-parse", "main"), ann.load(QA)["step"]) == (before, "sprint-2")


@pytest.mark.parametrize(
    "step", ["_take_in", "_move", *map(mark_deep, ("write_arrivals", "sync_folder", "_remember"))]
)
def test_a_dry_run_settles_nothing_that_a_killed_sync_left(
    hub: Hub, ann: Clone, bob: Clone, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def look() -> object:
        refs = [
            line
            for line in ann.git("for-each-ref").splitlines()
            if "/checkpoint/theirs/" not in line
        ]
        return (
            refs,
            take_snapshot(ann.path / ".git/checkpoint"),
            take_snapshot(ann.path / ".checkpoints"),
        )

    bob.change(cost={"total_usd": 3.0})
    bob.sync()
    ann.change(cost={"total_usd": 2.0})
    sync_and_die(ann, monkeypatch, step)
    before = look()
    ann.sync(dry_run=True)
    assert look() == before
    ann.sync()
    assert ann.load()["cost"]["total_usd"] == hub.load()["cost"]["total_usd"] == 4.0


def test_a_full_disk_loses_nothing(hub: Hub, ann: Clone, bob: Clone) -> None:
    bob.change(QA, step="sprint-4")
    bob.sync()
    (ann.path / ".checkpoints").chmod(0o500)
    try:
        if os.access(ann.path / ".checkpoints", os.W_OK):
            (ann.path / QA).unlink()
            # root may write anywhere: then something else stands in the way
            (ann.path / QA).mkdir()
        result = ann.sync()
    finally:
        (ann.path / ".checkpoints").chmod(0o755)
    assert set(codes(result)) <= {"sync/not-written", "sync/not-readable"}
    assert codes(result)


def test_one_skill_can_be_synced_alone_with_a_branch_of_its_own(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    past = ".checkpoints/history/build.2026-03-02-abcd.json"
    ann.change(step="sprint-3")
    ann.change(QA, step="sprint-4")
    ann.write(past, "{}\n")
    ann.sync(branch="checkpoints/build", only="build")
    assert hub.git("ls-tree", "-r", "--name-only", "checkpoints/build").split("\n") == [BUILD, past]
    assert codes(bob.sync(branch="checkpoints/build", only="build")) == ["sync/conflict"], (
        "two beginnings"
    )
    assert bob.sync(branch="checkpoints/build", only="build", take="theirs").state == "synced"
    assert (bob.load()["step"], bob.load(QA)["step"]) == ("sprint-3", "sprint-2")


def test_what_was_left_out_of_a_sync_is_merged_by_the_next(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    bob.change(QA, context_primer=primer("b"))
    bob.change(step="sprint-3")
    bob.sync()
    ann.change(QA, context_primer=primer("a"))
    assert ann.sync(only="build").brought == [BUILD]
    ann.sync()
    assert set(hub.load(QA)["context_primer"]["key_decisions"]) == {"a", "b"}
    assert ann.status() == []


def test_a_staged_checkpoint_counts_as_what_the_work_tree_holds(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    bob.change(context_primer=primer("b"))
    bob.sync()
    ann.change(step="sprint-3")
    ann.git("add", BUILD)
    ann.change(step="sprint-4")
    ann.sync()
    assert ann.status() == []
    assert (hub.load()["step"], ann.load()["context_primer"]["key_decisions"]) == (
        "sprint-4",
        ["b"],
    )


def test_a_commit_after_a_sync_takes_nothing_back(hub: Hub, ann: Clone, bob: Clone) -> None:
    bob.change(step="sprint-3")
    bob.sync()
    ann.write("code.txt", "mine\n")
    ann.sync()
    ann.git("commit", "-q", "-a", "-m", "Code")
    ann.git("push", "-q")
    assert hub.git("diff", "--name-only", "main~1", "main") == "code.txt"
    assert hub.load()["step"] == "sprint-3"


def test_in_the_middle_of_a_merge_the_branch_stays_and_what_is_unresolved_is_left_out(
    hub: Hub, ann: Clone
) -> None:
    ann.git("switch", "-q", "-c", "side")
    ann.change(QA, step="theirs")
    ann.git("commit", "-q", "-a", "-m", "Side")
    ann.git("switch", "-q", "main")
    ann.change(QA, step="mine")
    ann.git("commit", "-q", "-a", "-m", "Main")
    assert ann.exit_code("merge", "side") == 1
    head = ann.git("rev-parse", "HEAD")
    ann.change(step="sprint-3")
    result = ann.sync()
    assert (codes(result), result.sent) == (["sync/not-readable"], [BUILD])
    assert (ann.git("rev-parse", "HEAD"), hub.load(QA)["step"]) == (head, "sprint-2")
    assert (ann.path / ".git/MERGE_HEAD").exists()


@given(st.integers(1, 10_000), st.floats(0, 600), st.floats(0, 1))
def test_a_pause_is_never_long(lost: int, took: float, luck: float) -> None:
    assert 0 <= running.backoff(lost, took, luck) <= 40


@given(st.integers(1, 50), st.floats(0, 60), st.floats(0, 1))
def test_who_lost_more_often_waits_no_shorter(lost: int, took: float, luck: float) -> None:
    assert running.backoff(lost, took, luck) <= running.backoff(lost + 1, took, luck)


def test_luck_spreads_those_who_lost_together() -> None:
    assert running.backoff(3, 0.2, 0.1) < running.backoff(3, 0.2, 0.9)


def test_ignored_checkpoints_go_to_a_named_branch_by_an_explicit_word_alone(ann: Clone) -> None:
    private = ".checkpoints/secret.checkpoint.json"
    ann.write(".git/info/exclude", "secret.checkpoint.json\n")
    ann.change(private)
    for wish in ({}, {"only": "build"}):
        done = ann.sync(branch="checkpoints", **wish)
        assert [(one.code, private in one.message) for one in done.findings] == [
            ("sync/ignored", True)
        ]
        assert private not in ann.git("ls-tree", "-r", "--name-only", "origin/checkpoints").split(
            "\n"
        )
    ann.sync(branch="named", only="secret")
    ann.sync(branch="asked", ignored=True)
    for branch in ("named", "asked"):
        assert private in ann.git("ls-tree", "-r", "--name-only", f"origin/{branch}").split("\n")
    # what is there and not asked for is neither changed nor taken for deleted
    ann.change(private, step="later")
    assert ann.sync(branch="asked").sent == []
    assert private in ann.git("ls-tree", "-r", "--name-only", "origin/asked").split("\n")


def test_what_is_sent_is_in_a_pack_before_a_ref_names_it(ann: Clone) -> None:
    before = ann.git("count-objects").split()[0]
    ann.change(step="packed")
    ann.sync()
    assert ann.git("count-objects").split()[0] == before


PRUNES = [
    "gc --prune=now --quiet",
    "repack -adfq",
    "-c gc.pruneExpire=now maintenance run --quiet --task=gc",
]


def add_prune(clone: Clone, words: str) -> None:
    """Prunes when the commits are written, and most refs are still where they were."""
    script = f"unset GIT_DIR; cd '{clone.path}' && git {words} && git prune --expire=now"
    add_hook(clone.path / ".git/hooks/pre-push", script)


@pytest.mark.parametrize("words", PRUNES)
def test_a_prune_beside_a_sync_takes_no_commit_that_the_branch_will_name(
    ann: Clone, bob: Clone, words: str
) -> None:
    ann.commit_code("mine")
    bob.commit_code("theirs", "other.txt")
    bob.git("push", "-q")
    bob.change(QA, step="sprint-9")
    bob.sync()
    add_prune(ann, words)
    ann.change(step="sprint-3")
    result = ann.sync()
    assert (result.state, result.branch_moved, codes(result)) == ("synced", True, [])
    assert ann.git("fsck", "--connectivity-only", "--no-dangling") == ""
    assert ann.status() == []
    assert "made" not in ann.git("for-each-ref")


@pytest.mark.parametrize("words", PRUNES)
def test_a_prune_beside_a_sync_takes_nothing_of_what_is_left_to_decide(
    ann: Clone, bob: Clone, words: str
) -> None:
    bob.change(QA, step="sprint-9")
    bob.sync()
    add_prune(ann, words)
    ann.change(QA, step="sprint-8")
    ann.change(step="sprint-3")
    result = ann.sync()
    assert (result.state, result.sent, codes(result)) == ("synced", [BUILD], ["sync/conflict"])
    assert ann.git("fsck", "--connectivity-only", "--no-dangling") == ""
    ann.change(QA, step="sprint-9")
    assert codes(ann.sync()) == []


def test_a_prune_that_removes_what_git_is_writing_makes_it_write_again(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repo.write("a", "a\n")
    repo.commit("first")
    pack = f"{repo.path}/.git/objects/pack"
    fake = tmp_path / "bin/git"
    real = shutil.which("git")
    add_hook(
        fake,
        f"""case "$*" in *fast-import*) ;; *) exec '{real}' "$@" ;; esac
        '{real}' "$@" >'{tmp_path}/out'; code=$?
        [ -e '{tmp_path}/seen' ] && {{ cat '{tmp_path}/out'; exit $code; }}
        touch '{tmp_path}/seen'; name=$(ls '{pack}' | sed -n 's/[.]pack$//p')
        touch "{pack}/$name.keep"; rm -f '{pack}'/pack-*.pack '{pack}'/pack-*.idx
        echo "error: unable to write file .git/objects/pack/$name.pack: No such file or directory" >&2; exit 128""",
    )
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    draft = Draft((), [("a.json", b"{}")], "one")
    (commit,) = write_commits(
        str(repo.path), [draft], ["refs/heads/made"], "Ada <a@example.org> 1 +0000", os.environ
    )
    assert (tmp_path / "seen").exists()
    assert repo.git("show", f"{commit}:a.json") == "{}"
    assert [path for path in Path(pack).iterdir() if path.suffix == ".keep"] == []


def test_a_sync_that_a_hook_of_another_ones_push_starts_waits_for_no_turn(
    hub: Hub, ann: Clone
) -> None:
    hub.hook("post-receive", 'echo "turn: $CHECKPOINT_SYNC_TURN" >said')
    ann.change(QA, step="ann")
    ann.sync()
    assert (hub.path / "said").read_text() == "turn: 1\n"
    place = plan_place(str(ann.path))
    assert open_context(place, Wish(), 0, os.environ).turn != ""
    assert open_context(place, Wish(), 0, {**os.environ, "CHECKPOINT_SYNC_TURN": "1"}).turn == ""
