"""Links that a branch brings: no command writes, clears or removes anything behind one."""

import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.support.command import run_here
from tests.support.repos import GitRepo, Stage
from tests.support.samples import checkpoint_text
from tests.support.snapshot import take_snapshot
from tests.support.writers import PATH, WRITERS, Writer

_DEAD = 2**22 + 1  # no process has this number


def _parts(place: str) -> list[str]:
    parts = place.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_written_behind_a_link(tmp_path: Path, name: str) -> None:
    writer = WRITERS[name]
    stage = Stage(tmp_path, partial(_build, writer))
    repo = GitRepo(stage.folder / "repo")
    for part in dict.fromkeys(part for place in writer.places for part in _parts(place)):
        for outside in (stage.folder / "outside", repo.path / ".git/outside"):
            stage.put_back()
            _put_link(repo.path / part, outside)
            before = take_snapshot(outside)
            done = run_here(*writer.words, cwd=repo.path)
            assert done.returncode in (0, 1, 2), (part, outside, done.stderr)
            assert take_snapshot(outside) == before, (part, done.stdout, done.stderr)


def _build(writer: Writer, folder: Path) -> None:
    repo = GitRepo.create(folder / "repo")
    repo.write(PATH, checkpoint_text())
    repo.commit("start")
    writer.prepare(repo)
    repo.pack()


def _put_link(place: Path, outside: Path) -> None:
    """What is at the place moved outside, and a link in its stead; a folder there has what killed
    commands leave.
    """
    outside.mkdir()
    target = outside / "target"
    if os.path.lexists(place):
        shutil.move(place, target)
    elif "." not in place.name.lstrip("."):
        target.mkdir()
    if target.is_dir():
        (target / f".stray.{_DEAD}-00000000.tmp").write_text("another's")
        (target / f".new-{_DEAD}-x").mkdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.relpath(target, place.parent))


def test_nothing_is_followed_where_an_archives_own_git_has_a_link(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text())
    outside = repo.path.parent / "outside"
    outside.mkdir()
    (outside / "keep").write_text("another's")
    before = take_snapshot(outside)
    for place, words in (
        (".git/checkpoint", "uninstall"),
        (".git/checkpoint-restore", "rp create ."),
    ):
        link = repo.path / place
        link.symlink_to(outside)
        done = run_here(*words.split(), cwd=repo.path)
        assert (done.returncode, "is a symbolic link" in done.stderr) == (2, True), done.stderr
        assert take_snapshot(outside) == before, place
        link.unlink()
