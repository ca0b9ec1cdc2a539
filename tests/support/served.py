"""Pull requests as a server merges them: by lines, in real git, with nothing set up that would
merge otherwise.
"""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint

PATH = ".checkpoints/build.checkpoint.json"
Value = dict[str, Any]
Change = Callable[[Value], None]


def run(day: int, verdict: str = "PASS") -> Value:
    """One entry of the telemetry."""
    return {
        "at": f"2026-03-{day:02}T00:00:00Z",
        "verdict": verdict,
        "notes": f"what the run of day {day} found",
    }


def start() -> Value:
    """A checkpoint with enough lines between its places that changes of two sides rarely touch."""
    rows = [
        {"id": f"row-{n}", "label": f"Row number {n}", "status": "not_started"} for n in range(6)
    ]
    return checkpoint(
        project_dir="/",
        progress_table=rows,
        next_actions=[f"Write chapter {n}" for n in range(6)],
        skill_state={
            "run_history": [run(day) for day in range(1, 6)],
            "merged_prs": [{"number": n, "title": f"Change {n}"} for n in range(1, 4)],
        },
    )


def text_of(value: Value) -> str:
    """A value as a file's text, its keys in their order."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def changed(*changes: Change, base: Value | None = None) -> Value:
    """The start, or another value, after some changes."""
    value = copy.deepcopy(start() if base is None else base)
    for change in changes:
        change(value)
    return value


def _build_begun(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    repo.write(PATH, text_of(start()))
    repo.write("code.py", "print(1)\n")
    repo.commit("begin")


class Server:
    """A repository whose main branch is merged into as a server does it."""

    def __init__(self, path: Path) -> None:
        self.repo = GitRepo(path)
        copy_built(_build_begun, path)

    def put(self, value: Value | str, path: str = PATH) -> None:
        """The checkpoint in the work tree."""
        self.repo.write(path, value if isinstance(value, str) else text_of(value))

    def branch(
        self, name: str, value: Value | str, start_at: str = "main", path: str = PATH
    ) -> str:
        """A branch with one commit; main stays checked out."""
        self.repo.git("checkout", "-q", "-b", name, start_at)
        self.put(value, path)
        commit = self.repo.commit(name)
        self.repo.git("checkout", "-q", "main")
        return commit

    def commit(self, value: Value | str, message: str = "on main", path: str = PATH) -> str:
        """A commit on main."""
        self.put(value, path)
        return self.repo.commit(message)

    def merge(self, name: str, *options: str, message: str = "") -> str:
        """The branch merged into main by lines."""
        words = [
            "merge",
            "-q",
            "--no-ff",
            "-m",
            message or f"Merge pull request from {name}",
            *options,
            name,
        ]
        self.repo.git(*words)
        return self.repo.git("rev-parse", "HEAD")

    def merge_by_hand(self, name: str, value: Value | str) -> str:
        """The branch merged, with a result that somebody wrote."""
        self.repo.run("git", "merge", "-q", "--no-commit", "--no-ff", name)
        self.put(value)
        return self.repo.commit(f"Merge {name}, resolved")

    def squash(self, name: str, message: str) -> str:
        """The branch's work as one commit that does not name it."""
        self.repo.git("merge", "-q", "--squash", name)
        return self.repo.commit(message)
