"""docs/doctor.md: its sample is what the doctor prints in such a repository."""

import os

import pytest

from checkpoint_git.cli import render as report
from checkpoint_git.cli.render.screen import Screen
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.setup.init import Options, init
from docs import console
from tests.architecture.imports import ROOT
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb

PAGE = (ROOT / "docs/doctor.md").read_text("utf-8")


def write(repo: GitRepo, skill: str, updated: str, **changes: object) -> None:
    fields = {
        "skill": skill,
        "updated_at": updated,
        "project_dir": "/home/ada/app",
        "context_primer": {},
        **changes,
    }
    repo.write(f".checkpoints/{skill}.checkpoint.json", checkpoint_text(**fields))


def test_the_sample_is_what_the_doctor_prints(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-03-02T10:00:00Z")
    init(str(repo.path), Options(), dict(os.environ))
    for name in ("a", "b", "c"):
        repo.write(f"lib/{name}.py", f"{name}\n" * 30)
    ask = {"id": "b1", "description": "Which plan?", "needs": "user_decision"}
    for skill, files, more in (
        ("api", ["lib/a.py"], {"next_actions": ["Merge PR #232", "Write"]}),
        (
            "web",
            ["lib/b.py", "lib/c.py"],
            {"next_actions": ["Get #232 merged", "Go"], "blockers": [ask]},
        ),
    ):
        primer = {"key_decisions": ["x"], "generated_files": files, "user_preferences": []}
        updated = "2026-03-09T08:00:00Z" if skill == "api" else "2026-03-03T08:00:00Z"
        status = "in_progress" if skill == "api" else "blocked"
        write(repo, skill, updated, status=status, context_primer=primer, **more)
    old = {
        "created_at": "2026-01-01T08:00:00Z",
        "verified_for_sha": "deadbeef",
        "progress_summary": "x " * 900,
    }
    write(repo, "launch", "2026-02-01T08:00:00Z", status="complete", **old)
    repo.commit("begin")
    (repo.path / "src").mkdir()
    repo.git("mv", "lib", "src/core")
    repo.commit("Compare plans (#232)")
    (example,) = (one for one in console.find_examples(PAGE) if one.command == "checkpoint doctor")
    ran = run_verb(doctor, cwd=repo.path, now="2026-03-12T12:00:00Z", env=dict(os.environ))
    printed = report.render("doctor", ran.outcome, "text", Screen())
    assert console.is_as_shown(example.shown, printed), printed
