"""What the doctor tells of restore points: nothing where all is fine, else each kind of damage."""

import json
import os
import shutil
from pathlib import Path

import pytest

from checkpoint_git.core.clock import DAY
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore import operations as use
from checkpoint_git.protocols.restore.capture import PointRequest
from checkpoint_git.protocols.restore.layout import open_workspace
from checkpoint_git.tools.doctor import verb as doctor
from tests.support.repos import GitRepo
from tests.support.restore_points import folder_of, manifest_file
from tests.support.samples import checkpoint_text
from tests.support.verbs import NOON, run_verb, seconds

NOW = seconds(NOON)


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    repo.write("src/a.py", "a\n")
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(project_dir=str(repo.path)))
    repo.commit()
    return repo


def make(work: GitRepo, kind: str = "git_stash", expiry: str | None = None, now: int = NOW) -> str:
    root = str(work.path)
    world = open_workspace(root, now, dict(os.environ))
    return use.create_point(world, PointRequest(["src"], ""), kind, expiry).manifest.id


def told(work: GitRepo, *words: str) -> list[tuple[str, str]]:
    """(level, code) of what is said about restore points."""
    asked = words or ("--check", "restore")
    ran = run_verb(doctor, *asked, cwd=work.path, now=NOON, env=dict(os.environ))
    return [
        (one.level, one.code)
        for one in ran.outcome.findings
        if one.code.startswith(("restore/", "doctor/"))
    ]


def manifest(work: GitRepo, point: str) -> Path:
    return manifest_file(work.path, point)


@pytest.mark.parametrize("kind", ["git_stash", "file_backup"])
def test_points_that_are_whole_are_no_news(work: GitRepo, kind: str) -> None:
    assert told(work) == []
    make(work, kind)
    before = (work.path / layout.AUDIT_LOG).read_bytes()
    assert told(work) == []
    assert told(work, "--check", "restore/content") == []
    assert (work.path / layout.AUDIT_LOG).read_bytes() == before


def test_expired_points_are_one_note_that_says_how_to_clear_them(work: GitRepo) -> None:
    for days in (9, 8):
        make(work, expiry="7d", now=NOW - days * DAY)
    make(work, expiry="7d")
    assert told(work) == [("note", "restore/expired")]


@pytest.mark.parametrize("change", [{"size": 7}, {"entries": []}, {"reason": "another"}])
def test_a_manifest_that_was_changed_is_an_error(work: GitRepo, change: dict[str, object]) -> None:
    path = manifest(work, make(work))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert told(work) == [("error", "restore/manifest")]


def test_a_ref_that_is_gone_and_a_log_that_is_silent_are_told(work: GitRepo) -> None:
    work.git("update-ref", "-d", layout.ref_name(make(work)))
    assert told(work) == [("error", "restore/ref")]
    (work.path / layout.AUDIT_LOG).unlink()
    assert sorted(told(work)) == [("error", "restore/ref"), ("warning", "restore/unlogged")]


def test_objects_and_copies_that_are_lost_are_told_without_reading_any(work: GitRepo) -> None:
    point = make(work)
    (entry,) = [
        one
        for one in json.loads(manifest(work, point).read_text())["entries"]
        if one["kind"] == "file"
    ]
    work.write("src/a.py", "b\n")
    work.commit()
    (work.path / f".git/objects/{entry['blob'][:2]}/{entry['blob'][2:]}").unlink()
    copied = make(work, "file_backup")
    (folder_of(work.path, copied) / "content/src/a.py").unlink()
    assert told(work, "--check", "restore") == [("error", "restore/content")] * 2
    everything = run_verb(doctor, cwd=work.path, now=NOON, env=dict(os.environ))
    assert everything.codes.count("restore/content") == 2


def test_content_is_read_only_where_somebody_asks(work: GitRepo) -> None:
    copied = make(work, "file_backup")
    path = folder_of(work.path, copied) / "content/src/a.py"
    path.write_text("x\n")
    everything = run_verb(doctor, cwd=work.path, now=NOON, env=dict(os.environ))
    assert "restore/content" not in everything.codes
    assert told(work) == told(work, "--check", "restore/content") == [("error", "restore/content")]
    (work.path / f".checkpoints/{copied}/restore.sh").write_text("rm -rf /\n")
    assert ("error", "restore/script") in told(work)


def test_a_point_that_was_removed_by_hand_is_a_note_and_one_that_was_dropped_none(
    work: GitRepo,
) -> None:
    dropped, removed = make(work, "file_backup"), make(work, "file_backup")
    root = str(work.path)
    use.drop_points(open_workspace(root, NOW, dict(os.environ)), [dropped])
    assert told(work) == []
    shutil.rmtree(work.path / ".checkpoints" / removed)
    assert told(work) == []
    shutil.rmtree(folder_of(work.path, removed))
    assert told(work) == [("note", "restore/gone")]


def test_a_log_that_was_edited_is_told(work: GitRepo) -> None:
    make(work)
    path = work.path / layout.AUDIT_LOG
    path.write_bytes(path.read_bytes().replace(b'"success"', b'"failure"'))
    assert ("error", "restore/audit-edited") in told(work)


def test_a_look_at_one_skill_leaves_points_alone(work: GitRepo) -> None:
    manifest(work, make(work)).write_text("{")
    assert told(work, "build") == []
