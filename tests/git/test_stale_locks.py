"""Locks of a git that was killed: ours go, once they are old; the user's are described."""

import os
import time
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.repository import read_repository, write_setting
from checkpoint_git.git.stale_locks import OWN_REFS, clear_own_locks, describe_lock
from tests.support.repos import GitRepo


def make_lock(path: Path, age: float) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    os.utime(path, (time.time() - age,) * 2)
    return str(path)


def test_only_old_locks_on_our_own_refs_are_removed(tmp_path: Path) -> None:
    ours = [make_lock(tmp_path / OWN_REFS / name, 60) for name in ("sync.lock", "sync/theirs.lock")]
    new = make_lock(tmp_path / OWN_REFS / "new.lock", 0)
    ref = make_lock(tmp_path / OWN_REFS / "sync/known", 60)
    users = [make_lock(tmp_path / name, 60) for name in ("index.lock", "refs/heads/main.lock", "refs/worktree/x.lock")]
    assert sorted(clear_own_locks(str(tmp_path))) == sorted(ours)
    assert [path for path in (*ours, new, ref, *users) if os.path.exists(path)] == [new, ref, *users]


def test_a_lock_of_the_users_is_named_with_its_age_and_the_command(repo: GitRepo) -> None:
    path = make_lock(repo.path / ".git/config.lock", 300)
    place = read_repository(str(repo.path), os.environ)
    assert place
    with pytest.raises(CheckpointError) as caught:
        write_setting(place, "checkpoint.x", "1")
    assert f"{path} is 300 seconds old" in str(caught.value.hint)
    assert f"rm {path}" in str(caught.value.hint)
    assert describe_lock(f"{path}.gone") == ""
