import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import audit, layout, operations, output
from checkpoint_git.protocols.restore.capture import PointRequest
from checkpoint_git.protocols.restore.output import size_text
from tests.support.killed_git import update_ref_killed
from tests.support.repos import GitRepo
from tests.support.restore_points import load, look, manifest_file, workspace_of


def records(work: GitRepo) -> list[tuple[str, str]]:
    """(operation, outcome) of each line of the log."""
    found = [audit.parse_record(line) for _, line in audit.read_records(str(work.path))]
    return [(one["operation"], one["outcome"]) for one in found if one]


def make(work: GitRepo, expiry: str | None = None) -> str:
    return operations.create_point(
        workspace_of(work.path), PointRequest(["src"], "why"), None, expiry
    ).manifest.id


def test_every_operation_is_in_the_log_failures_too(work: GitRepo) -> None:
    workspace, point = workspace_of(work.path), make(work)
    with pytest.raises(CheckpointError, match="nothing matches"):
        operations.create_point(workspace, PointRequest(["*.none"], ""), None, None)
    operations.verify_point(workspace, point)
    operations.roll_back_point(workspace, point)
    operations.drop_points(workspace, [point])
    assert records(work) == [
        ("create", "success"),
        ("create", "failure"),
        ("verify", "success"),
        ("create", "success"),
        ("rollback", "success"),
        ("drop", "success"),
    ]
    assert audit.find_breaks(audit.read_records(str(work.path))) == []


def test_a_lock_of_a_git_that_was_killed_on_a_point_stops_no_operation(work: GitRepo) -> None:
    workspace = workspace_of(work.path)
    point = make(work)
    lock = update_ref_killed(work, layout.ref_name(point), layout.ref_name(point))
    assert [manifest.id for manifest in operations.drop_points(workspace, [point])] == [point]
    assert not lock.exists()


def test_a_check_that_cannot_be_noted_is_made_all_the_same(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_of(work.path)
    point = make(work)

    def refuse(*_: object) -> None:
        raise CheckpointError("it could not be written: Read-only file system")

    monkeypatch.setattr(audit, "append_record", refuse)
    done = operations.verify_point(workspace, point)
    assert [(finding.code, finding.level) for finding in done.findings] == [
        ("restore/not-logged", "note")
    ]
    assert all(done.proofs.values())


def test_a_dry_run_is_not_in_the_log_and_changes_nothing(work: GitRepo) -> None:
    point = make(work)
    work.write("src/a.py", "broken")
    tree = look(work.path)
    done = operations.roll_back_point(workspace_of(work.path), point, dry_run=True)
    assert ([one.path for one in done.plan.restore], done.result) == (["src/a.py"], None)
    assert (look(work.path), records(work)) == (tree, [("create", "success")])


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_damaged_manifest_is_refused(work: GitRepo, dry_run: bool) -> None:
    point = make(work)
    manifest_file(work.path, point).write_text("{")
    with pytest.raises(CheckpointError, match="cannot be relied on: its manifest is not JSON"):
        operations.roll_back_point(workspace_of(work.path), point, dry_run=dry_run)


def test_an_expired_point_needs_force_and_is_cleared_only_when_asked(work: GitRepo) -> None:
    point, now = make(work, "1m"), workspace_of(work.path)
    later = now._replace(now=now.now + 3600)
    with pytest.raises(CheckpointError, match="expired at"):
        operations.roll_back_point(later, point)
    assert (
        operations.roll_back_point(later, point, allowed=operations.Allowed(True)).result
        is not None
    )
    assert operations.collect_garbage(now) == []
    assert [one.id for one in operations.collect_garbage(later, dry_run=True)] == [point]
    assert [one.id for one in operations.collect_garbage(later)] == [point]
    assert f"refs/checkpoints/{point}" not in work.git("for-each-ref")


def test_a_rollback_leaves_the_point_restored_and_no_journal(work: GitRepo) -> None:
    point = make(work)
    work.write("src/a.py", "broken")
    done = operations.roll_back_point(workspace_of(work.path), point)
    assert (work.read("src/a.py"), load(work.path, point).value["state"]) == ("a\n", "restored")
    assert done.result is not None
    assert load(work.path, done.result.safety).value["reason"] == f"before rolling back to {point}"
    assert not os.path.lexists(os.path.join(workspace_of(work.path).base, point, "rollback-safety"))


@pytest.mark.parametrize(
    ("kind", "message"),
    [("state_snapshot", "cannot store files"), ("database_savepoint", "cannot store files")],
)
def test_a_type_that_keeps_no_files_is_refused_for_files(
    work: GitRepo, kind: str, message: str
) -> None:
    with pytest.raises(CheckpointError, match=message):
        operations.create_point(workspace_of(work.path), PointRequest(["src"], ""), kind, None)


def test_git_is_used_inside_a_repository_and_nowhere_else(work: GitRepo, tmp_path: Path) -> None:
    outside = workspace_of(tmp_path)
    assert operations.choose_type(workspace_of(work.path), ["src"], None, ()) == "git_stash"
    assert operations.choose_type(outside, ["a"], None, ()) == "file_backup"
    with pytest.raises(CheckpointError, match="is not in a git repository"):
        operations.choose_type(outside, ["a"], "git_stash", ())


def test_the_contract_is_computed_from_what_was_proven(work: GitRepo) -> None:
    made = operations.create_point(workspace_of(work.path), PointRequest(["src"], ""), None, None)
    answer = output.describe(made._replace(proofs={"one": True, "other": False}))
    assert answer["confidence"] == 0.5
    assert answer["restore_order"] == ["files"]
    assert any(text.startswith("tool:git:update-ref") for text in answer["evidence_anchors"])


def test_paths_of_the_command_line_are_spelled_as_in_the_manifest(work: GitRepo) -> None:
    workspace = workspace_of(work.path)._replace(cwd=str(work.path / "src"))
    assert operations.find_below(workspace, "a.py") == "src/a.py"
    assert operations.find_below(workspace, "..") == ""
    assert operations.find_below(workspace, "state:run") == "state:run"
    with pytest.raises(CheckpointError, match="outside the workspace"):
        operations.find_below(workspace, "../../x")


def test_a_size_has_the_largest_unit_that_it_fills() -> None:
    sizes = (0, 1023, 1 << 10, 3 << 9, 1 << 20, 1 << 30)
    shown = ["0 bytes", "1023 bytes", "1.0 KB", "1.5 KB", "1.0 MB", "1.0 GB"]
    assert [size_text(size) for size in sizes] == shown
