"""Links that a branch brings: no command writes, clears or removes anything behind one."""

import os
import shutil
from pathlib import Path

import pytest

from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.snapshot import take_snapshot
from tests.support.writers import PATH, WRITERS

_DEAD = 2**22 + 1  # no process has this number


def _parts(place: str) -> list[str]:
    parts = place.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


CASES = [
    (name, part, way)
    for name, writer in WRITERS.items()
    for part in dict.fromkeys(part for place in writer.places for part in _parts(place))
    for way in ("out", "git")
]


@pytest.mark.parametrize(("name", "part", "way"), CASES)
def test_nothing_is_written_behind_a_link(repo: GitRepo, tmp_path: Path, name: str, part: str, way: str) -> None:
    writer = WRITERS[name]
    repo.write(PATH, checkpoint_text())
    repo.commit("start")
    writer.prepare(repo)
    outside = tmp_path / "outside" if way == "out" else repo.path / ".git/outside"
    outside.mkdir()
    place, target = repo.path / part, outside / "target"
    if os.path.lexists(place):
        shutil.move(place, target)
    elif "." not in Path(part).name.lstrip("."):
        target.mkdir()
    if target.is_dir():
        (target / f".stray.{_DEAD}-00000000.tmp").write_text("another's")
        (target / f".new-{_DEAD}-x").mkdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.relpath(target, place.parent))
    before = take_snapshot(outside)
    done = run_here(*writer.words, cwd=repo.path)
    assert done.returncode in (0, 1, 2), done.stderr
    assert take_snapshot(outside) == before, (done.stdout, done.stderr)
