"""A repository that was unpacked with its .git: what reads starts no program that the configuration
names.
"""

from pathlib import Path

from tests.support.command import run_here
from tests.support.hostile import make_hostile, take_marks
from tests.support.repos import GitRepo

PIPELINE = "--base .claude/checkpoints --ticket-id OMN-2144 --run-id a1b2c3d4"
READING = (
    *(
        "status",
        "status --short",
        "next",
        "prime",
        "show",
        "show build",
        "log",
        "log build",
        "resume build",
    ),
    *(
        "validate",
        "validate --staged",
        "validate --rev HEAD",
        "diff",
        "diff build",
        "report -o -",
        "report",
    ),
    *(
        "audit",
        "audit HEAD~2..HEAD",
        "ci verify --base HEAD~1",
        "audit explain HEAD~1",
        "schema",
        "schema skill",
    ),
    *(
        "restore-point list",
        "restore-point verify latest",
        "workflow status",
        "workflow resume",
        "workflow validate",
    ),
    *(f"pipeline {verb} {PIPELINE} --repo ." for verb in ("list", "validate", "resume")),
    *(
        "sync --status",
        "resolve --dry-run",
        "rotate --dry-run",
        "init --dry-run",
        "uninstall --dry-run",
    ),
    *("completion bash", "doctor --list"),
)


def test_what_reads_starts_nothing_that_the_configuration_names(
    repo: GitRepo, tmp_path: Path
) -> None:
    make_hostile(repo, tmp_path / "marks")
    started, failed = {}, {}
    for verb in READING:
        done = run_here(*verb.split(), cwd=repo.path)
        if marks := take_marks(tmp_path / "marks"):
            started[verb] = marks
        if done.returncode not in (0, 1):
            failed[verb] = done.stderr
    assert (started, failed) == ({}, {})
    # the trap is one: git itself walks into it
    repo.git("status", check=False)
    assert "filter.evil.clean" in take_marks(tmp_path / "marks")


def test_the_doctor_starts_the_driver_and_the_hooks_that_it_tries_and_nothing_else(
    repo: GitRepo, tmp_path: Path
) -> None:
    make_hostile(repo, tmp_path / "marks")
    run_here("doctor", cwd=repo.path)
    started = take_marks(tmp_path / "marks")
    assert "merge.checkpoint.driver" in started
    assert [
        one for one in started if one != "merge.checkpoint.driver" and not one.startswith("hook.")
    ] == []


def test_what_reads_does_not_fetch_what_a_partial_clone_lacks(
    repo: GitRepo, tmp_path: Path
) -> None:
    make_hostile(repo, tmp_path / "marks")
    repo.git("config", "remote.origin.promisor", "true")
    repo.git("config", "extensions.partialClone", "origin")
    repo.git("config", "remote.origin.url", "ssh://example.org/x")
    repo.git("config", "core.repositoryFormatVersion", "1")
    for revision in ("HEAD", "HEAD~1"):
        blob = repo.git("rev-parse", f"{revision}:.checkpoints/build.checkpoint.json")
        (repo.path / ".git/objects" / blob[:2] / blob[2:]).unlink(missing_ok=True)
    for verb in (one for one in READING if not one.startswith(("ci ", "audit explain"))):
        run_here(*verb.split(), cwd=repo.path)
    assert "core.sshCommand" not in take_marks(tmp_path / "marks")
    repo.git("cat-file", "-p", blob, check=False)
    assert "core.sshCommand" in take_marks(tmp_path / "marks")  # git itself fetches
