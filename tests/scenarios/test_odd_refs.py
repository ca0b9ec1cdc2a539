"""Branches whose names have what Python, and not git, takes for a blank or the end of a line."""

import re
from pathlib import Path

from tests.support.command import run_here
from tests.support.repos import GitRepo

ODD = "a\u2028b\u00a0c\u0085"

READERS = [
    ["status"],
    ["doctor"],
    ["report"],
    ["claim", "api"],
]


def test_commands_read_branches_of_any_name(tmp_path: Path) -> None:
    origin = GitRepo.create(tmp_path / "origin")
    origin.git("checkout", "-q", "-b", ODD)
    origin.commit("one")
    origin.git("clone", "-q", str(origin.path), str(tmp_path / "clone"))
    clone = GitRepo(tmp_path / "clone")
    clone.git("checkout", "-q", "--no-track", "-b", f"topic-{ODD}")
    assert run_here("init", cwd=clone.path).returncode == 0
    assert run_here("update", "api", "--step=x", "--next+=y", cwd=clone.path).returncode == 0
    clone.commit("two")

    for words in READERS:
        done = run_here(*words, cwd=clone.path)
        assert done.returncode in (0, 1), (words, done.stderr)

    made = run_here("restore-point", "create", ".", "--reason", "before", cwd=clone.path)
    point = re.search(r"chk_\w+", made.stdout)
    assert point, made.stderr
    head = clone.git("rev-parse", "HEAD")
    clone.git("commit", "-q", "--allow-empty", "-m", "three")
    words = ["restore-point", "rollback", point[0], "--operation"]
    done = run_here(*words, cwd=clone.path)
    assert (done.returncode, clone.git("rev-parse", "HEAD")) == (0, head), done.stderr
