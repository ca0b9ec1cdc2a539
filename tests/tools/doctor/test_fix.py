"""`doctor --fix` at its edges: whose files, who else writes, where no git is, what words mean."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import find_place
from checkpoint_git.tools.doctor import fix
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.doctor.diagnose import diagnose
from checkpoint_git.tools.setup.steps import JOURNAL
from tests.disk.test_leftovers import CACHES, STATE, plant
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.set_up import copy_set_up
from tests.support.verbs import NOON, Ran, run_verb, seconds

BOM = "\ufeff"
BUILD, SHIP = ".checkpoints/build.checkpoint.json", ".checkpoints/ship.checkpoint.json"


def examine(path: Path, *words: str, **env: str) -> Ran:
    return run_verb(doctor, *words, cwd=path, now=NOON, env={**os.environ, **env})


def mended(ran: Ran) -> list[str]:
    return [one["path"] for one in ran.outcome.data["fix"]["fixed"]]


def text(path: Path, skill: str = "build", **changes: Any) -> str:
    return checkpoint_text(**{"skill": skill, "project_dir": str(path), **changes})


@pytest.fixture
def project(repo: GitRepo, monkeypatch: pytest.MonkeyPatch, untried_driver: None) -> GitRepo:
    """Two checkpoints that begin with a byte order mark, in a repository that is set up."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-03-02T10:00:00Z")
    copy_set_up(repo)
    repo.write("docs/plan.md", "x\n")
    repo.write(BUILD, BOM + text(repo.path))
    repo.write(SHIP, BOM + text(repo.path, "ship"))
    repo.commit("begin", hooks=False)
    return repo


def test_one_skill_is_mended_alone_however_the_words_stand(project: GitRepo) -> None:
    for words in (["--fix", "build"], ["build", "--fix"]):
        project.write(BUILD, BOM + text(project.path))
        assert mended(examine(project.path, *words)) == [BUILD]
    assert project.read(SHIP).startswith(BOM)


def test_a_session_that_works_for_one_skill_mends_its_own_alone(project: GitRepo) -> None:
    with pytest.raises(CheckpointError) as raised:
        examine(project.path, "ship", "--fix", CHECKPOINT_SKILL="build")
    assert "another skill's checkpoint" in raised.value.message
    ran = examine(project.path, "--fix", CHECKPOINT_SKILL="build")
    assert mended(ran) == [BUILD]
    assert "left to the owners of ship" in ran.text
    assert [finding.path for finding in ran.outcome.findings] == [SHIP]


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("--fix=drift/stale-in-progress", "has no fix"),
        ("--fix=schema", "has no fix"),
        ("--fix=restore/content", "has no fix"),
        ("--fix=drift", "is a group"),
        ("--fix=drift/nothing", "unknown check"),
    ],
)
def test_a_word_that_names_no_mend_is_refused_before_anything_is_read(
    project: GitRepo, word: str, says: str
) -> None:
    with pytest.raises(CheckpointError) as raised:
        examine(project.path, word)
    assert says in raised.value.message
    assert "--list" in str(raised.value.hint)


def test_nothing_to_mend_is_said_and_leaves_no_backup(project: GitRepo) -> None:
    examine(project.path, "--fix")
    ran = examine(project.path, "--fix")
    assert "there is nothing to fix" in ran.text
    assert len(list((project.path / ".git/checkpoint/backups").iterdir())) == 1


def test_what_a_killed_set_up_left_is_cleared_though_there_is_nothing_to_mend(
    project: GitRepo,
) -> None:
    examine(project.path, "--fix")
    (project.path / ".claude").mkdir()
    (project.path / ".git" / JOURNAL).write_text("+.claude")
    examine(project.path, "--fix")
    assert not (project.path / ".claude").exists()
    assert not (project.path / ".git" / JOURNAL).exists()


def test_a_finding_that_is_suppressed_is_not_mended(project: GitRepo) -> None:
    entry = (
        '[[suppress]]\ncode = "json/byte-order-mark"\npath = "*ship*"\nreason = "an old editor"\n'
    )
    project.write(".checkpoints/doctor.toml", entry)
    ran = examine(project.path, "--fix")
    assert mended(ran) == [BUILD]
    assert [one["reason"] for one in ran.outcome.data["suppressed"]] == ["an old editor"]
    assert "1 suppressed" in ran.outcome.summary[0].text  # type: ignore[union-attr]  # the summary is one line


def test_what_somebody_else_wrote_between_plan_and_lock_is_left_alone(project: GitRepo) -> None:
    place, env = find_place(str(project.path)), dict(os.environ)
    found = diagnose(place, seconds(NOON), env=env)
    plan = fix.plan_fix(found, {"json/byte-order-mark"}, env)
    project.write(SHIP, text(project.path, "ship", step="theirs"))
    applied = fix.apply_plan(place, plan, seconds(NOON), lambda: None)
    assert applied.changed == [SHIP]
    assert '"theirs"' in project.read(SHIP)
    assert not project.read(BUILD).startswith(BOM)


def test_a_mend_that_would_bring_an_error_is_not_made(project: GitRepo) -> None:
    value = json.loads(
        text(project.path, next_actions=["Merge #12", "Merge #13"], status="in_progress")
    )
    project.write(BUILD, json.dumps(value))
    project.commit("search (#12)\n\nCloses #13", hooks=False)
    assert mended(examine(project.path, "--fix", "build")) == [BUILD]
    assert json.loads(project.read(BUILD))["next_actions"] == ["Merge #13"]


def test_outside_git_the_file_as_it_was_goes_to_history(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / ".checkpoints").mkdir(parents=True)
    before = BOM + text(folder, context_primer={"generated_files": []})
    (folder / BUILD).write_text(before)
    assert mended(examine(folder, "--fix")) == [BUILD]
    assert not (folder / BUILD).read_text().startswith(BOM)
    (kept,) = (folder / ".checkpoints/history").iterdir()
    assert kept.read_text() == before


def test_a_backup_is_for_its_owners_eyes(project: GitRepo) -> None:
    (backup,) = examine(project.path, "--fix").outcome.data["fix"]["backups"]
    kept = project.path / backup / BUILD
    assert kept.read_text().startswith(BOM)
    assert (kept.stat().st_mode & 0o077, (project.path / backup).stat().st_mode & 0o077) == (0, 0)


def test_hooks_that_never_run_are_mended_where_they_are_ours(project: GitRepo) -> None:
    hooks = project.path / ".git/hooks"
    ours = (hooks / "pre-commit").read_bytes()
    (hooks / "pre-commit").write_bytes(ours.replace(b"#!/bin/sh\n", b"#!/bin/sh\nexit 0\n"))
    (hooks / "pre-push").write_bytes(
        (hooks / "pre-push").read_bytes().replace(b"#!/bin/sh", b"#!/gone/sh")
    )
    (hooks / "post-merge").chmod(0o644)
    theirs = (hooks / "post-commit").read_bytes().replace(
        b"#!/bin/sh", b"#!/gone/sh"
    ) + b"npm test\n"
    (hooks / "post-commit").write_bytes(theirs)
    (told,) = [
        one for one in examine(project.path).outcome.findings if one.code == "hooks/unreachable"
    ]
    for name in (
        "pre-commit (a line above ours",
        "pre-push (its first",
        "post-merge (not",
        "post-commit (its first",
    ):
        assert name in told.message
    (left,) = [
        one
        for one in examine(project.path, "--fix").outcome.findings
        if one.code == "hooks/unreachable"
    ]
    assert "1 of our hooks" in left.message
    assert (hooks / "post-commit").read_bytes() == theirs
    assert (hooks / "pre-commit").read_bytes() == ours + b"exit 0\n"


@pytest.mark.parametrize("text_left", [None, "*.png binary\n"])
def test_attributes_that_were_lost_come_back(project: GitRepo, text_left: str | None) -> None:
    path = project.path / ".gitattributes"
    before = path.read_bytes()
    if text_left is None:
        path.unlink()
    else:
        path.write_text(text_left)
    assert "driver/inert" in {finding.code for finding in examine(project.path).outcome.findings}
    ran = examine(project.path, "--fix")
    assert "driver/inert" not in {one.code for one in ran.outcome.findings if one.level != "note"}
    assert path.read_bytes().splitlines()[-4:] == before.splitlines()[-4:]
    assert path.read_text().startswith(text_left or "#")


def test_another_merge_driver_and_others_hooks_are_never_taken_over(project: GitRepo) -> None:
    project.git("config", "merge.checkpoint.driver", "somebody-elses %O %A %B")
    hook = project.path / ".git/hooks/pre-push"
    hook.write_text("#!/usr/bin/env ruby\nputs 1\n")
    hook.chmod(0o755)
    examine(project.path, "--fix")
    assert project.git("config", "merge.checkpoint.driver") == "somebody-elses %O %A %B"
    assert hook.read_text() == "#!/usr/bin/env ruby\nputs 1\n"


def test_a_monorepos_renamed_file_is_named_from_its_own_root(project: GitRepo) -> None:
    project.write("one/src/old.py", "# enough to be known again\n" * 9)
    primer = {"generated_files": ["src/old.py"]}
    project.write(f"one/{BUILD}", text(project.path / "one", context_primer=primer))
    project.commit("one", hooks=False)
    project.git("mv", "one/src/old.py", "one/src/new.py")
    project.commit("move", hooks=False)
    assert mended(examine(project.path / "one", "--fix")) == [f"one/{BUILD}"]
    assert json.loads(project.read(f"one/{BUILD}"))["context_primer"]["generated_files"] == [
        "src/new.py"
    ]


def test_settings_that_cannot_be_read_are_a_finding_with_its_place(project: GitRepo) -> None:
    path = project.write(".checkpoints/doctor.toml", "x")
    cases = [b"\xff\xfe", b"#" * 70_000, b'[[suppress]]\ncode = "drift"\n']
    for data in cases:
        path.write_bytes(data)
        found = [
            one
            for one in examine(project.path).outcome.findings
            if one.code == "doctor/bad-settings"
        ]
        assert [one.path for one in found] == [".checkpoints/doctor.toml"], data[:20]
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert "doctor/bad-settings" in examine(project.path).codes


def test_a_look_at_one_check_does_not_call_suppressions_idle(project: GitRepo) -> None:
    project.write(".checkpoints/doctor.toml", '[[suppress]]\ncode = "drift"\nreason = "x"\n')
    assert "doctor/suppression-unused" in examine(project.path).codes
    assert "doctor/suppression-unused" not in examine(project.path, "--check", "content").codes
    assert "doctor/suppression-unused" not in examine(project.path, "build").codes


def test_fix_removes_what_earlier_versions_cached_without_a_backup(project: GitRepo) -> None:
    project.write(BUILD, text(project.path))
    project.write(SHIP, text(project.path, "ship"))
    project.commit("plain", hooks=False)
    folder = project.path / ".git" / "checkpoint"
    plant(project.path / ".git", CACHES | STATE)
    planned = examine(project.path, "--fix", "--dry-run")
    assert "would remove: .git/checkpoint/merges" in planned.text
    assert (folder / "merges").is_file()
    done = examine(project.path, "--fix")
    assert "removed: .git/checkpoint/merges (a cache of an earlier version)" in done.text
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} >= STATE
    assert not (folder / "merges").exists()
