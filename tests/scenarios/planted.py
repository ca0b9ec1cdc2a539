"""A repository with a few hundred commits and a dozen checkpoints that tell the truth, and drift to
plant in it.
"""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, read_instant, write_instant
from checkpoint_git.tools.setup.init import Options, init
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint

NOW = "2026-03-20T12:00:00Z"
HOUR = 3_600
COMMITS = 300


def seconds(instant: str) -> int:
    """An instant's text as seconds since 1970."""
    return (read_instant(instant) or (0, ""))[0]


NOON = seconds(NOW)
BEGAN = NOON - 79 * DAY
WRITTEN = NOON - 5 * HOUR  # when the checkpoints are committed


class Commit(NamedTuple):
    """One commit to come: what it says, what it writes (None: removes), when."""

    message: str
    files: Mapping[str, bytes | None]
    when: int


def ago(days: float) -> str:
    """The instant so many days before NOW."""
    return write_instant(NOON - int(days * DAY))


def path_of(skill: str) -> str:
    """A skill's checkpoint."""
    return f".checkpoints/{skill}.checkpoint.json"


def text_of(repo: GitRepo, skill: str, **changes: Any) -> str:
    """A checkpoint that tells the truth in this repository, with fields replaced."""
    fields: dict[str, Any] = {
        "skill": skill,
        "project_dir": str(repo.path),
        "created_at": ago(75),
        "updated_at": write_instant(WRITTEN - HOUR),
        "context_primer": {
            "key_decisions": ["SQLite"],
            "generated_files": ["docs/plan.md"],
            "user_preferences": [],
        },
        **changes,
    }
    return json.dumps(checkpoint(**fields), indent=2, ensure_ascii=False) + "\n"


def primer(*files: str) -> dict[str, Any]:
    """A context primer that lists these files."""
    return {"key_decisions": [], "generated_files": list(files), "user_preferences": []}


def grow(repo: GitRepo, commits: Iterable[Commit]) -> None:
    """Commits on main, through one fast-import."""
    stream = b"".join(_spell(commit) for commit in commits)
    tip = repo.git("rev-parse", "--verify", "-q", "refs/heads/main", check=False)
    start = f"reset refs/heads/main\nfrom {tip}\n\n".encode() if tip else b""
    done = repo.run("git", "fast-import", "--quiet", stdin=start + stream)
    assert done.returncode == 0, done.stderr.decode()
    repo.git("reset", "-q", "--hard", "main")


def _spell(commit: Commit) -> bytes:
    message = commit.message.encode()
    head = b"commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\ndata %d\n%s\n"
    parts = [head % (commit.when, len(message), message)]
    for path, data in commit.files.items():
        name = path.encode()
        parts.append(
            b"D %s\n" % name
            if data is None
            else b"M 100644 inline %s\ndata %d\n%s\n" % (name, len(data), data)
        )
    return b"".join(parts)


def _history() -> Iterable[Commit]:
    """Three hundred commits: squash merges, merge subjects, tickets, a revert, mere mentions."""
    special = {
        40: "Merge pull request #340 from ada/abc-40",
        60: "ABC-60: sign in with a passkey",
        80: "Add retries (#380)",
        81: 'Revert "Add retries (#380)"\n\nThis reverts commit 0000000000000000000000000000000000000000.',
        90: "Prepare the ground\n\nrefs #390, part of ABC-90",
    }
    for at in range(COMMITS):
        plain = f"Change part {at % 50}" + (f" (#{at})" if at % 3 == 0 else "")
        files = {f"src/part{at % 50}.py": f"# {at}\n".encode() * 20}
        if at == 0:
            files |= {"docs/plan.md": b"the plan\n" * 20, ".gitignore": b"dist/\n"}
            files |= {
                f"lib/{name}.py": f"# {name}\n".encode() * 30
                for name in ("old", "gone", "moving", "held", "kept")
            }
        yield Commit(special.get(at, plain), files, BEGAN + at * 6 * HOUR)


def build_healthy(repo: GitRepo) -> None:
    """The repository, set up by init, its twelve checkpoints committed; all they say is true."""
    grow(repo, _history())
    init(str(repo.path), Options(), dict(os.environ))
    head = repo.git("rev-parse", "HEAD~5")
    blocker = {
        "id": "b1",
        "description": "No key yet",
        "needs": "external_dep",
        "proposed_resolution": "Wait for #9001",
    }
    done = [{"text": "Merge #340", "at": ago(3)}]
    state = {
        "verified_for_sha": head[:12],
        "merged_prs": [{"number": at, "merge_sha": head} for at in range(40)],
    }
    truths: list[dict[str, Any]] = [
        {},
        {"next_actions": ["Merge #9001", "Write about #9002", "Follow up on ABC-60"]},
        {"next_actions": ["Land #380 again", "Finish #390", "Finish ABC-90"]},
        {"status": "blocked", "blockers": [blocker], "updated_at": ago(2)},
        {"status": "blocked", "blockers": [{**blocker, "resolved": True}, {**blocker, "id": "b2"}]},
        {
            "status": "complete",
            "updated_at": ago(40),
            "next_actions": [],
            "context_primer": primer("docs/plan.md"),
        },
        {"status": "complete", "updated_at": ago(2), "context_primer": primer("src/part1.py")},
        {
            "updated_at": ago(6.5),
            "context_primer": primer("docs/plan.md (the plan)", "lib/{held,kept}.py", "lib/*.py"),
        },
        {"skill_state": state, "recently_done": done},
        {
            "context_primer": primer(
                "docs/plan.md + lib/kept.py (new)", "All of the front end", "https://example.org/x"
            )
        },
        {"superseded": [{"step": "x", "reviewed": True}], "verified_for_sha": head},
        {
            "project_dir": str(repo.path),
            "blockers": [{**blocker, "resolved_at": ago(1)}],
            "step": "prüfen → 漢字",
        },
    ]
    for at, changes in enumerate(truths):
        repo.write(path_of(f"healthy-{at:02}"), text_of(repo, f"healthy-{at:02}", **changes))
    commit(repo, "Write checkpoints", WRITTEN)


def commit(repo: GitRepo, message: str, when: int) -> str:
    """Everything in the work tree committed at an instant; the commit's id."""
    repo.git("add", "-A")
    env = {
        **os.environ,
        "GIT_COMMITTER_DATE": f"@{when} +0000",
        "GIT_AUTHOR_DATE": f"@{when} +0000",
    }
    words = ("-c", f"core.hooksPath={os.devnull}", "commit", "-q", "--allow-empty", "-m", message)
    done = repo.run("git", *words, env=env)
    assert done.returncode == 0, done.stderr.decode()
    return repo.git("rev-parse", "HEAD")


def commit_paths(repo: GitRepo, paths: list[str], when: int) -> None:
    """Only these paths committed, as they are in the work tree."""
    env = {**os.environ, "GIT_COMMITTER_DATE": f"@{when} +0000"}
    repo.git("add", "-A", "--", *paths)
    done = repo.run("git", "commit", "-q", "--no-verify", "-m", "Put away", env=env)
    assert done.returncode == 0, done.stderr.decode()
