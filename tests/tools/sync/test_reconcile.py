"""The work tree and the branch compared: it writes nothing, and knows what git put back from what
somebody changed.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import plan_place
from checkpoint_git.tools.sync.context import Wish, open_context
from checkpoint_git.tools.sync.plan import Ground
from checkpoint_git.tools.sync.reconcile import (
    Comparison,
    compare,
    read_contents,
    read_own,
    read_sent,
    read_waiting,
)
from checkpoint_git.tools.sync.state import QUEUED
from tests.support.snapshot import take_snapshot
from tests.tools.sync.clones import BUILD, NOW, QA, Clone, Hub


def compared(clone: Clone, **wish: Any) -> Comparison:
    """What a clone's files and the branch, as it was last fetched, come to."""
    context = open_context(
        plan_place(str(clone.path)), Wish(**{"timeout": 30.0, **wish}), NOW, os.environ
    )
    return compare(
        context, read_own(context), seen=clone.git("rev-parse", "refs/remotes/origin/main")
    )


def test_a_comparison_says_what_a_sync_would_do_and_changes_nothing(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    ann.sync()
    assert compared(ann).plan.ways == {}
    ann.change(step="sprint-3")
    before = take_snapshot(ann.path)
    found = compared(ann)
    assert found.plan.ways == {BUILD: "sent"}
    assert found.tip == ann.git("rev-parse", "origin/main")
    assert found.shape.send == 0
    assert found.ground == Ground(found.tip, found.tip, found.tip, False)
    assert take_snapshot(ann.path) == before

    # the same, seen from a clone that others were faster than
    ann.sync()
    bob.change(QA, step="sprint-4")
    bob.git("fetch", "-q")
    found = compared(bob)
    assert found.plan.ways == {BUILD: "brought", QA: "sent"}
    assert found.ground is not None
    assert found.ground.common == found.ground.head == bob.git("rev-parse", "HEAD")
    assert not found.ground.elsewhere


def test_a_branch_stays_where_it_is_if_it_is_held_or_git_is_at_work(hub: Hub, ann: Clone) -> None:
    ann.change(step="sprint-3")
    assert compared(ann).ground is not None
    assert compared(ann, keep_branch=True).ground is None
    assert compared(ann, branch="checkpoints").ground is None
    # a part of it cannot be the branch's next commit
    assert compared(ann, only="build").ground is None
    (ann.path / ".git/MERGE_HEAD").write_text(ann.git("rev-parse", "HEAD") + "\n")
    assert compared(ann).ground is None


def test_a_trial_keeps_the_notes_of_a_killed_sync(hub: Hub, ann: Clone) -> None:
    ann.sync()
    journal = Path(
        open_context(plan_place(str(ann.path)), Wish(timeout=30.0), NOW, os.environ).journal
    )
    journal.parent.mkdir(exist_ok=True)
    journal.write_text(ann.git("rev-parse", "origin/main") + "\n")
    compared(ann, dry_run=True)
    assert journal.exists()
    compared(ann)
    assert not journal.exists()


def test_code_that_differs_keeps_the_branch_from_simply_moving_along(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    bob.commit_code("new\n")
    bob.git("push", "-q")
    ann.git("fetch", "-q")
    ann.change(step="sprint-3")
    ground = compared(ann).ground
    assert ground is not None
    assert ground.elsewhere


def test_what_a_switch_put_back_is_nobodys_change(hub: Hub, ann: Clone) -> None:
    old = ann.git("rev-parse", "HEAD")
    ann.sync()
    ann.change(step="sprint-3")
    ann.sync()
    ann.git("checkout", "-q", "-b", "side", old)
    assert ann.load()["step"] != "sprint-3"
    assert compared(ann, branch="main", remote="origin").plan.list_paths("sent") == []
    ann.change(step="sprint-4")
    assert compared(ann, branch="main", remote="origin").plan.open == {BUILD}  # both sides wrote it
    ann.git("commit", "-q", "-a", "-m", "by hand")
    # the branch never had it
    assert compared(ann, branch="main", remote="origin").plan.ways == {BUILD: "sent"}


def test_a_followed_branch_that_the_remote_lacks_is_refused_with_the_command(
    hub: Hub, ann: Clone
) -> None:
    ann.git("update-ref", "-d", "refs/remotes/origin/main")
    context = open_context(plan_place(str(ann.path)), Wish(timeout=30.0), NOW, os.environ)
    with pytest.raises(CheckpointError, match="has no branch main yet") as caught:
        compare(context, read_own(context), is_there=False)
    assert "git push -u origin main" in (str(caught.value.hint) or "")


def test_a_record_names_what_was_sent_and_what_waits_and_no_other_path(
    hub: Hub, ann: Clone
) -> None:
    lines = [BUILD, f"{QA}{QUEUED}", "../outside.json", f"src/app.json{QUEUED}"]
    record = ann.git("commit-tree", "-m", "sent", "-m", "\n".join(lines), "HEAD^{tree}")
    top = str(ann.path)
    assert read_sent(top, record, os.environ) == [BUILD]
    assert read_waiting(top, record, os.environ) == {BUILD: BUILD, QA: f"{QA}{QUEUED}"}


def test_a_missing_content_is_an_error_and_none_is_asked_for_nothing(hub: Hub, ann: Clone) -> None:
    assert read_contents(str(ann.path), [], os.environ) == {}
    with pytest.raises(CheckpointError):
        read_contents(str(ann.path), ["0" * 39 + "1"], os.environ)
