"""Checkpoints on disk: which files are read, what a write keeps and refuses."""

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core import platform
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.disk.lock import lock_path
from checkpoint_git.protocols.skill import kept_write, store
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.samples import checkpoint_text
from tests.support.verbs import NOON, seconds

NOW = seconds(NOON)
FILE = ".checkpoints/build.checkpoint.json"


@pytest.fixture
def place(repo: GitRepo) -> Place:
    repo.write(FILE, checkpoint_text())
    return find_place(str(repo.path))


def set_step(value: dict[str, Any] | None) -> dict[str, Any]:
    return {**(value or {}), "step": "new"}


# reading


def test_all_checkpoints_are_read_by_name_and_nothing_else(place: Place, repo: GitRepo) -> None:
    for name in (
        "a.checkpoint.json",
        "z.checkpoint.json",
        "README.md",
        "x.checkpoint.json.bak",
        ".checkpoint.json",
    ):
        repo.write(f".checkpoints/{name}", name)
    repo.write(".checkpoints/history/old.checkpoint.json", "x")
    (repo.path / ".checkpoints/folder.checkpoint.json").mkdir()
    found = dict(store.read_files(place))
    names = [f".checkpoints/{name}.checkpoint.json" for name in ("a", "build", "folder", "z")]
    assert list(found) == names
    assert found[names[0]] == b"a.checkpoint.json"
    assert isinstance(found[names[2]], OSError)
    assert store.list_skills(place) == ["a", "build", "folder", "z"]
    assert list(dict(store.read_files(place, only=[names[3]]))) == [names[3]]


def test_each_file_is_read_when_its_turn_comes(place: Place, repo: GitRepo) -> None:
    files = store.read_files(place)
    repo.write(FILE, "changed")
    assert dict(files)[FILE] == b"changed"


def test_a_skill_without_a_file_has_none_and_an_invalid_name_is_refused(place: Place) -> None:
    assert store.read_skill(place, "other") is None
    with pytest.raises(CheckpointError, match="invalid name"):
        store.read_skill(place, "../build")


def test_a_folder_that_is_gone_is_one_error(place: Place, tmp_path: Path) -> None:
    gone = place._replace(directory=str(tmp_path / "gone"))
    with pytest.raises(CheckpointError, match="cannot be read"):
        store.read_files(gone)
    assert store.list_misnamed(gone) == []


def test_files_that_look_like_checkpoints_are_found(place: Place, repo: GitRepo) -> None:
    names = ["Build.Checkpoint.JSON", "build.checkpoint.jsonc", "plan.json"]
    repo.write(".checkpoints/plan.json", checkpoint_text())
    for name in (*names[:2], "other.json", "build.checkpoint.json.bak", ".hidden.json"):
        repo.write(f".checkpoints/{name}", "{}")
    (repo.path / ".checkpoints/link.checkpoint.jsonc").symlink_to("plan.json")
    assert [os.path.basename(path) for path in store.list_misnamed(place)] == sorted(names)


# writing


def test_a_change_is_written_whole_and_keeps_the_files_mode(place: Place, repo: GitRepo) -> None:
    path = repo.path / FILE
    path.chmod(0o640)
    written = store.change_checkpoint(place, "build", set_step, NOW)
    assert (written.created, written.refused) == (False, [])
    assert json.loads(path.read_text())["step"] == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(place.directory)) == ["build.checkpoint.json"]


def test_a_refused_change_leaves_the_file_alone(place: Place, repo: GitRepo) -> None:
    before = repo.read(FILE)
    why = Finding("x/y", "error", "no")
    assert store.change_checkpoint(place, "build", lambda value: why, NOW).refused == [
        why._replace(path=FILE)
    ]
    assert store.change_checkpoint(
        place, "build", lambda value: {**(value or {}), "step": ""}, NOW
    ).refused
    assert repo.read(FILE) == before


@pytest.mark.parametrize("text", ["", "{", "null"])
def test_a_broken_file_is_refused_and_kept(place: Place, repo: GitRepo, text: str) -> None:
    repo.write(FILE, text)
    written = store.change_checkpoint(place, "build", set_step, NOW)
    assert [found.path for found in written.refused] == [FILE]
    assert repo.read(FILE) == text


@pytest.mark.parametrize(
    "target", ["../kept/state.json", "other.checkpoint.json", "../.git/config", "gone"]
)
def test_nothing_is_written_through_a_link(place: Place, repo: GitRepo, target: str) -> None:
    repo.write("kept/state.json", checkpoint_text())
    repo.write(".checkpoints/other.checkpoint.json", checkpoint_text(skill="other"))
    path = repo.path / FILE
    path.unlink()
    path.symlink_to(target)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(CheckpointError, match="symbolic link"):
        store.write_checkpoint(place, "build", b"x", b"{}")
    assert path.is_symlink()
    assert (path.read_bytes() if path.exists() else None) == before


def test_of_two_writers_that_no_lock_keeps_apart_the_second_is_refused(
    place: Place, repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "flock", lambda descriptor, wait: True)  # it says yes to all
    repo.write(FILE, checkpoint_text())

    def pass_by(skill: str) -> None:
        """One writer reads, another one reads and writes, and the first goes on."""

        def write_between(value: dict[str, Any] | None) -> dict[str, Any]:
            os.unlink(f"{lock_path(place)}.held")  # by hand, say
            store.change_checkpoint(
                place, skill, lambda known: {**(known or new), "step": "second"}, NOW
            )
            return {**(value or new), "step": "first"}

        new = json.loads(checkpoint_text(skill=skill))
        with pytest.raises(CheckpointError, match="changed by another process") as caught:
            store.change_checkpoint(place, skill, write_between, NOW)
        assert caught.value.hint == "run the same command again"
        assert json.loads(repo.read(f".checkpoints/{skill}.checkpoint.json"))["step"] == "second"

    pass_by("build")
    pass_by("fresh")  # of a checkpoint that is not there yet
    assert sorted(os.listdir(place.directory)) == ["build.checkpoint.json", "fresh.checkpoint.json"]


def test_the_past_is_never_overwritten(place: Place, repo: GitRepo) -> None:
    marks = ["one", "two"]
    first = store.write_history(place, "build", marks, b"a")
    assert store.write_history(place, "build", marks, b"a") == first
    second = store.write_history(place, "build", marks, b"b")
    assert (os.path.basename(first), os.path.basename(second)) == (
        "build.one.json",
        "build.two.json",
    )
    with pytest.raises(CheckpointError, match="all history names of build are taken"):
        store.write_history(place, "build", marks, b"c")
    assert repo.read(".checkpoints/history/build.one.json") == "a"


def test_history_is_not_written_through_a_link_that_leads_out(
    place: Place, repo: GitRepo, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo.path / ".checkpoints/history").symlink_to(outside)
    with pytest.raises(CheckpointError, match="symbolic link"):
        store.write_history(place, "build", ["one"], b"a")
    assert list(outside.iterdir()) == []


def test_a_session_writes_its_own_skill_only() -> None:
    store.check_owner("build", {})
    store.check_owner("build", {"CHECKPOINT_SKILL": "build"})
    with pytest.raises(CheckpointError, match="this session works as build"):
        store.check_owner("other", {"CHECKPOINT_SKILL": "build"})


def test_what_undo_keeps_waits_for_no_pipe(repo: GitRepo, place: Place) -> None:
    kept_write.keep_write(place, "build", b"old", b"new")
    assert kept_write.read_kept(place, "build") == (b"old", b"new", False)
    kept = repo.path / ".git/checkpoint/undo/build.before"
    kept.unlink()
    os.mkfifo(kept)
    kept_write.keep_write(place, "build", b"old", b"new")
    assert kept_write.read_kept(place, "build") is None


def test_what_undo_keeps_is_on_the_disk_before_the_write_is_acknowledged(
    repo: GitRepo, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed, flush = dict[int, bytes](), os.fsync

    def note(descriptor: int) -> None:
        flush(descriptor)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            flushed[os.fstat(descriptor).st_ino] = Path(f"/dev/fd/{descriptor}").read_bytes()

    monkeypatch.setattr(os, "fsync", note)
    store.change_checkpoint(place, "build", set_step, NOW)
    kept = list((repo.path / ".git/checkpoint/undo").iterdir())
    assert len(kept) == 3
    assert [
        path.name for path in kept if flushed.get(path.stat().st_ino) != path.read_bytes()
    ] == []


def test_an_unresolved_or_left_out_checkpoint_is_not_written(repo: GitRepo) -> None:
    path = ".checkpoints/build.checkpoint.json"
    repo.write(path, checkpoint_text())
    repo.commit()
    place = find_place(str(repo.path))
    store.check_index(place, "build")
    store.check_index(place, "other")

    (repo.path / path).unlink()
    repo.git("update-index", "--skip-worktree", path)
    with pytest.raises(CheckpointError, match="this sparse checkout leaves it out"):
        store.check_index(place, "build")
    repo.write(path, checkpoint_text())
    store.check_index(place, "build")  # it is there all the same

    blob = repo.git("rev-parse", f":{path}")
    repo.git("update-index", "--force-remove", path)
    lines = "".join(f"100644 {blob} {stage}\t{path}\n" for stage in (1, 2, 3))
    subprocess.run(
        ["git", "update-index", "--index-info"], cwd=repo.path, input=lines.encode(), check=True
    )
    with pytest.raises(CheckpointError, match=path):
        store.check_index(place, "build")


def test_what_git_does_not_have_is_named_as_it_is_typed_in_the_folder(repo: GitRepo) -> None:
    repo.write("sub/.checkpoints/build.checkpoint.json", checkpoint_text())
    place, path = find_place(str(repo.path / "sub")), "sub/.checkpoints/build.checkpoint.json"
    (found,) = store.find_untracked(place, [path], os.environ)
    assert (found.code, found.level, str(found.hint)) == (
        "git/untracked",
        "note",
        f"git add {path}",
    )
    (found,) = store.find_untracked(place, [path], os.environ, str(repo.path / "sub"))
    assert str(found.hint) == f"git add {path.removeprefix('sub/')}"
    repo.write(".gitignore", "dist\n.checkpoints\n")
    (found,) = store.find_untracked(place, [path], os.environ)
    assert (found.code, found.level) == ("git/ignored", "warning")
    assert str(found.hint) == (
        f'remove the line ".checkpoints" from .gitignore:2, or add it anyway: git add -f {path}'
    )
    repo.git("add", "-f", path)
    assert store.find_untracked(place, [path], os.environ) == []


@rows(
    ("typed", "hint"),
    [
        ("deploy.json", 'name one first: checkpoint update deploy --step="..."'),
        ("step=x", 'name one first: checkpoint update build --step="..."'),
    ],
)
def test_a_mistaken_name_is_refused_with_the_name_that_was_meant(
    place: Place, typed: str, hint: str
) -> None:
    with pytest.raises(CheckpointError, match="cannot be started under that name") as caught:
        store.change_checkpoint(place, typed, set_step, NOW)
    assert str(caught.value.hint) == hint
    assert store.list_skills(place) == ["build"]
