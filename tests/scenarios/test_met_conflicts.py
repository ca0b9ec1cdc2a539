"""Conflicts met where no driver ran: every screen names `checkpoint resolve`, and following it
loses nothing.
"""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from tests.support.command import BIN, run_here
from tests.support.repos import GIT, GitRepo, needs_git
from tests.support.samples import checkpoint

PATH = ".checkpoints/build.checkpoint.json"
SCREENS = (
    "status",
    "next",
    "resume build",
    "show build",
    "status --short",
    "prime",
    "validate",
    "validate --staged",
)
FEW = ("status", "resume build", "validate")  # for what shows the same conflict in another way
DECISION = re.compile(r"checkpoint resolve [^;]*")


def text(side: str = "", skill: str = "build") -> str:
    primer = {
        "key_decisions": ["base", *([side] if side else [])],
        "generated_files": [],
        "user_preferences": [],
    }
    day = {"": 1, "ours": 2, "theirs": 3}[side]
    changes = {
        "step": f"step {side}",
        "context_primer": primer,
        "updated_at": f"2026-03-0{day}T00:00:00Z",
    }
    return json.dumps(checkpoint(skill=skill, **changes), indent=2)


BASE, OURS, THEIRS = text(), text("ours"), text("theirs")


class Met(NamedTuple):
    """git: what it was asked for, after base, ours (main) and theirs were committed. kept: what
    must not be lost.
    """

    name: str
    git: Sequence[str]
    base: str | None = BASE
    ours: str | None = OURS
    theirs: str | None = THEIRS
    path: str = PATH
    cwd: str = ""
    kept: Sequence[str] = ("ours", "theirs")
    screens: Sequence[str] = SCREENS


def with_crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


STASH = (
    "checkout -q main~1",
    "read-tree -u -m theirs",
    "stash -q",
    "checkout -q main",
    "stash pop",
)
PATCH = ("format-patch -q -1 theirs -o ../patches", "am -3 ../patches/0001-theirs.patch")
BROKEN = THEIRS.replace('"phase"', "phase")
CASES = [
    Met("merge", ["merge theirs"]),
    Met("a subfolder", ["merge theirs"], cwd="src/deep", screens=FEW),
    Met(
        "diff3",
        [f"-c merge.conflictStyle={'zdiff3' if GIT >= (2, 35) else 'diff3'} merge theirs"],
        screens=FEW,
    ),
    Met("rebase", ["checkout -q theirs", "rebase main"], screens=FEW),
    Met("cherry-pick", ["cherry-pick theirs"], screens=FEW),
    Met("stash", STASH),
    Met("patch", PATCH, screens=FEW),
    Met(
        "octopus",
        ["checkout -q -b third main~1", "commit -q --allow-empty -m x", "checkout -q main"],
        screens=FEW,
    ),
    Met("squash", ["merge --squash theirs"], screens=FEW),
    Met("both added", ["merge theirs"], base=None, screens=FEW),
    Met("removed by them", ["merge theirs"], theirs=None, kept=["ours"]),
    Met("removed by us", ["merge theirs"], ours=None, kept=["theirs"]),
    Met("windows", ["merge theirs"], with_crlf(BASE), with_crlf(OURS), with_crlf(THEIRS)),
    Met("theirs is not JSON", ["merge theirs"], theirs=BROKEN, screens=FEW),
    Met("ours is not JSON", ["merge theirs"], ours=OURS[:-9]),
    Met("markers added", ["merge theirs", "add -A"]),
    Met("markers committed", ["merge theirs", "add -A", "commit -qm x"]),
    Met("a folder's name", ["merge theirs"], path=f"it's $a/{PATH}", cwd="it's $a"),
    Met("a dash", ["merge theirs"], path=f"-d/{PATH}", screens=["validate"]),
    Met("no markers", ["-c core.attributesFile=../attributes merge theirs"]),
]


@pytest.mark.parametrize("met", CASES, ids=[case.name for case in CASES])
def test_whoever_meets_a_conflict_is_led_through_it(repo: GitRepo, met: Met) -> None:
    sides = {"main": met.base, "theirs": met.theirs, "ours": met.ours}
    repo.write("src/deep/x", "x")
    repo.path.with_name("attributes").write_text("*.json -merge\n")
    for name, content in sides.items():
        if name != "main":
            repo.git("checkout", "-q", "-b", name, "main")
        repo.write(met.path, content or "")
        if content is None:
            (repo.path / met.path).unlink()
        repo.commit(name)
    repo.git("checkout", "-q", "-B", "main", "ours")
    words = [*met.git, *(["merge third theirs"] if met.name == "octopus" else [])]
    for line in words:
        repo.git(*line.split(), check=False)
    cwd = repo.path / met.cwd
    for screen in met.screens:
        ran = run_here(*screen.split(), cwd=cwd)
        shown = ran.stdout + ran.stderr
        assert "checkpoint resolve" in shown, screen
        assert "nothing to do" not in shown
        assert not re.search(r"keep (one|our|their) side", shown, re.IGNORECASE)
    for _ in range(3):
        ran = run_here("resolve", "--json", cwd=cwd)
        answer = json.loads(ran.stdout)
        for finding in answer["findings"]:
            command = DECISION.search(finding["hint"])
            assert command, finding
            env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
            subprocess.run(
                ["sh", "-c", command[0]], cwd=cwd, env=env, capture_output=True, timeout=60
            )
    assert (ran.returncode, answer["still_unmerged"]) == (0, [])
    assert run_here("validate", cwd=cwd).returncode == 0
    repo.git("add", "-A")
    repo.git("commit", "-q", "--allow-empty", "-m", "resolved")
    everything = repo.git(
        "grep", "-h", "-e", "", "--", f":(top,literal){os.path.dirname(met.path)}"
    )
    assert all(f'"{each}"' in everything for each in met.kept)
    assert "<<<<<<<" not in everything


@needs_git(2, 34, feature="git merge -s ort, which gives both names the merged content,")
def test_a_name_that_both_sides_changed_is_decided_by_name(repo: GitRepo) -> None:
    one, two = PATH.replace("build", "one"), PATH.replace("build", "two")
    repo.diverge({PATH: BASE}, {one: text("ours", "one")}, {two: text("theirs", "two")})
    repo.git("rm", "-q", PATH)
    repo.git("commit", "-q", "--amend", "-m", "left")
    repo.git("checkout", "-q", "right")
    repo.git("rm", "-q", PATH)
    repo.git("commit", "-q", "--amend", "-m", "right")
    repo.git("merge", "-q", "left", check=False)
    for path, side in ((PATH, "ours"), (one, "theirs"), (two, "ours")):
        assert run_here("resolve", path, "--take", side, cwd=repo.path).returncode == 0
    assert run_here("validate", cwd=repo.path).returncode == 0
    assert '"ours"' in repo.read(two)
    assert '"theirs"' in repo.read(two)
