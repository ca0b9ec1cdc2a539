"""Locks of a git that was killed: ours go, once they are old; the user's are described."""

import os
import re
import time
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.repository import read_repository, write_setting
from checkpoint_git.git.stale_locks import (
    OWN_REFS,
    clear_own_locks,
    describe_lock,
    find_locks,
    list_git_dirs,
    list_locks,
    list_work_folders,
)
from tests.support.repos import GitRepo


def make_lock(path: Path, age: float) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    os.utime(path, (time.time() - age,) * 2)
    return str(path)


def test_locks_on_our_own_refs_are_removed_and_while_a_git_may_run_only_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / OWN_REFS
    ours = [make_lock(own / name, 0) for name in ("sync.lock", "sync/theirs.lock")]
    ref = make_lock(own / "sync/known", 60)
    users = [
        make_lock(tmp_path / name, 60)
        for name in ("index.lock", "refs/heads/main.lock", "refs/worktree/x.lock")
    ]

    waited = list[float]()

    def wait(seconds: float) -> None:
        waited.append(seconds)
        make_lock(own / "sync.lock", 6 * len(waited))

    monkeypatch.setattr(time, "sleep", wait)
    make_lock(own / "sync/theirs.lock", 60)
    assert sorted(clear_own_locks(list_locks(str(own)), lambda: True)) == sorted(ours)
    assert len(waited) == 2

    ours = [make_lock(own / "sync.lock", 0)]
    assert clear_own_locks(list_locks(str(own)), lambda: False) == ours
    assert len(waited) == 2
    assert [path for path in (*ours, ref, *users) if os.path.exists(path)] == [ref, *users]

    assert clear_own_locks(ours, lambda: True) == []  # gone meanwhile
    assert len(waited) == 2


def test_a_lock_from_before_the_clock_was_set_back_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = make_lock(tmp_path / "refs/heads/main.lock", -3600)
    assert [found.path for found in find_locks([str(tmp_path)])] == [lock]

    def refuse(seconds: float) -> None:
        raise AssertionError("it is waited for")

    monkeypatch.setattr(time, "sleep", refuse)
    assert clear_own_locks([lock], lambda: True) == [lock]


def test_what_git_locks_is_found_wherever_it_is_and_nothing_else(repo: GitRepo) -> None:
    repo.commit("begin")
    repo.git("worktree", "add", "-q", "../beside")
    common = repo.path / ".git"
    left = [
        *(
            "index.lock",
            "HEAD.lock",
            "config.lock",
            "packed-refs.lock",
            "shallow.lock",
            "refs/heads/a/b.lock",
        ),
        *(
            "logs/HEAD.lock",
            "packed-refs.new",
            "info/sparse-checkout.lock",
            "objects/info/commit-graph.lock",
        ),
        *(
            "worktrees/beside/index.lock",
            "worktrees/beside/HEAD.lock",
            "worktrees/beside/refs/bisect/bad.lock",
        ),
    ]
    locks = [make_lock(common / name, 60) for name in left]
    make_lock(common / "ORIG_HEAD.lock", 0)  # young
    for name in (
        "checkpoint.lock",
        "checkpoint-sync.lock",
        "lfs/x.lock",
        "refs/heads/x",
        "other.lock",
    ):
        make_lock(common / name, 600)
    assert [lock.path for lock in find_locks(list_git_dirs(str(common)))] == sorted(locks)
    assert all(60 <= lock.age < 90 for lock in find_locks(list_git_dirs(str(common))))
    assert list_work_folders(str(common)) == [
        str(common),
        str(repo.path),
        str(repo.path.parent / "beside"),
    ]


def test_a_lock_of_the_users_is_named_with_its_age_and_the_command(repo: GitRepo) -> None:
    path = make_lock(repo.path / ".git/config.lock", 300)
    place = read_repository(str(repo.path), os.environ)
    assert place
    with pytest.raises(CheckpointError) as caught:
        write_setting(place, "checkpoint.x", "1")
    assert re.search(rf"{re.escape(path)} is 30\d seconds old", str(caught.value.hint))
    assert f"rm {path}" in str(caught.value.hint)
    assert describe_lock(f"{path}.gone") == ""
    make_lock(Path(path), -300)  # the clock was set back
    assert re.search(r"is (299|300) seconds old", str(describe_lock(path)))
