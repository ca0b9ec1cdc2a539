"""Every command that writes: a repository in which it has something to do, and the places that it
writes to.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

from tests.support import workflows
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
PAST = [{"at": f"2026-03-{day:02}T00:00:00Z", "verdict": "PASS"} for day in range(1, 10)]
RECORD = (
    *("pipeline", "write", "--base", "records", "--ticket-id", "OMN-2144", "--run-id", "a1b2c3d4"),
    *("--phase", "implement", "--repo-commit-map", json.dumps({"web": "a1b2c3d"})),
    *("--artifact-paths", '["src/foo.py"]', "--payload"),
    json.dumps({"branch_name": "feat", "commit_sha": "a1b2c3d", "files_changed": ["src/foo.py"]}),
)


class Writer(NamedTuple):
    words: tuple[str, ...]
    places: tuple[str, ...]  # files that it writes, relative to the work tree
    prepare: Callable[[GitRepo], object]  # in a repository that has the sample checkpoint committed


def _nothing(repo: GitRepo) -> None:
    """The sample checkpoint is enough."""


def _past(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text(skill_state={"run_history": PAST}))
    repo.commit("a long past")


def _workflow(repo: GitRepo) -> None:
    workflows.write_workflow(repo.path, workflows.phase())
    workflows.write_output(repo.path, workflows.OUTPUTS["REQUIREMENTS"])
    repo.commit("a workflow")


def _unmerged(repo: GitRepo) -> None:
    for branch, step in (("other", "theirs"), ("main", "ours")):
        repo.git("checkout", "-q", *(["-b"] if branch == "other" else []), branch)
        repo.write(PATH, checkpoint_text(step=step))
        repo.commit(branch)
    repo.git("merge", "-q", "other", check=False)


def _behind(repo: GitRepo) -> None:
    """A remote whose branch has a newer checkpoint, and one that is new."""
    hub = GitRepo.create(repo.path.parent / "hub.git", "--bare")
    repo.git("remote", "add", "origin", str(hub.path))
    head = repo.git("rev-parse", "HEAD")
    repo.write(PATH, checkpoint_text(step="newer", updated_at="2026-03-03T00:00:00Z"))
    repo.write(".checkpoints/qa.checkpoint.json", checkpoint_text(skill="qa"))
    repo.commit("newer")
    repo.git("push", "-q", "-u", "origin", "main")
    repo.git("reset", "-q", "--hard", head)


def _restorable(repo: GitRepo) -> None:
    from checkpoint_git.protocols.restore.layout import open_workspace
    from tests.support.restore_points import NOW, create

    repo.write("src/deep/a.txt", "kept\n")
    repo.commit("files")
    workspace = open_workspace(str(repo.path), NOW, {})
    create(workspace, ["src"], "", "file_backup", None)
    repo.write("src/deep/a.txt", "changed\n")
    repo.commit("changed")


def _document(repo: GitRepo) -> None:
    repo.git("config", "checkpoint.memoryFile", str(repo.path.parent / "memory.jsonl"))
    repo.write(
        "WORKFLOW-STATUS.yaml", "active:\n  name: one\n  phase: two\nsessions: []\nresume: {}\n"
    )
    repo.commit("a status file")


HISTORY = ".checkpoints/history/build.json"
WRITERS: dict[str, Writer] = {
    "update": Writer(("update", "build", "--step=x"), (PATH,), _nothing),
    "start": Writer(
        ("update", "fresh", "--step=x"), (".checkpoints/fresh.checkpoint.json",), _nothing
    ),
    "done": Writer(("done", "build"), (PATH,), _nothing),
    "note": Writer(("note", "build", "a decision"), (PATH,), _nothing),
    "rotate": Writer(("rotate",), (PATH, HISTORY), _past),
    "reset": Writer(("reset", "build"), (PATH, HISTORY), _nothing),
    "doctor --fix": Writer(("doctor", "--fix", "--yes"), (PATH, HISTORY), _past),
    "workflow start": Writer(
        ("workflow", "start", "login"), ("memory/state/phase.json",), _nothing
    ),
    "workflow advance": Writer(
        ("workflow", "advance", "--yes"), ("memory/state/phase.json",), _workflow
    ),
    "workflow task": Writer(
        ("workflow", "task", "add", "t1"), ("memory/state/execution.json",), _workflow
    ),
    "workflow archive": Writer(
        ("workflow", "archive"), ("memory/state/.archive/old/phase.json",), _workflow
    ),
    "pipeline write": Writer(
        RECORD, ("records/OMN-2144/4fa2159f-9c61-5f8b-9ae5-28692b46cbd7/a.yaml",), _nothing
    ),
    "restore-point create": Writer(
        ("restore-point", "create", "src"),
        (".checkpoints/.audit/checkpoint-operations.log", ".audit/x"),
        _restorable,
    ),
    "restore-point rollback": Writer(
        ("restore-point", "rollback", "latest", "--yes"),
        ("src/deep/a.txt", ".audit/x"),
        _restorable,
    ),
    "restore-point drop": Writer(("restore-point", "drop", "latest"), (".audit/x",), _restorable),
    "init": Writer(
        ("init", "--agent", "claude-code", "--ci", "github", "--schemas"),
        (
            *(
                ".gitattributes",
                ".checkpoints/README.md",
                ".checkpoints/schemas/x.json",
                ".pre-commit-config.yaml",
            ),
            *(
                ".claude/settings.json",
                ".claude/commands/checkpoint.md",
                "CLAUDE.md",
                ".github/workflows/x.yml",
            ),
        ),
        _nothing,
    ),
    "sync": Writer(("sync",), (PATH, ".checkpoints/qa.checkpoint.json"), _behind),
    "resolve": Writer(("resolve", "--theirs"), (PATH,), _unmerged),
    "memory sync": Writer(
        ("memory", "sync", "--to-document"), ("WORKFLOW-STATUS.yaml",), _document
    ),
    "report": Writer(
        ("report", "-o", "out/page.html"), ("out/page.html",), lambda repo: repo.write("out/x", "")
    ),
}
