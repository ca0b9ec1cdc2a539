import os
import shutil
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import folders, layout, store
from tests.support.repos import GitRepo
from tests.support.restore_points import NOW, create, load, manifest_file, workspace_of
from tests.support.rows import rows


def test_a_manifest_that_was_edited_is_not_relied_on(full_work: GitRepo) -> None:
    made = create(workspace_of(full_work.path), ["src"], "", "git_stash", None)
    path = manifest_file(full_work.path, made.manifest.id)
    path.write_text(path.read_text().replace("src/b.py", "src/x.py"))
    manifest = store.load_manifest(workspace_of(full_work.path), made.manifest.id)
    assert manifest is not None
    assert manifest.trouble == "its manifest was changed after it was made"


def test_a_manifest_of_a_stranger_leads_nowhere_else(full_work: GitRepo) -> None:
    made = create(workspace_of(full_work.path), ["src"], "", "git_stash", None)
    value = {
        **made.manifest.value,
        "entries": [{**made.manifest.value["entries"][1], "path": "../../escape"}],
    }
    data = store.write_text({**value, "digest": store.find_digest(value)})
    assert "leads out of the workspace" in store.parse_manifest(made.manifest.id, data).trouble


def make(work: GitRepo, kind: str = "git_stash", expires: int | None = None) -> store.Manifest:
    return create(workspace_of(work.path), ["src"], "why", kind, expires).manifest


@rows(
    ("data", "trouble"),
    [
        (b"{", "its manifest is not JSON"),
        (b"[]", "its manifest is not JSON"),
        (b"[" * 100_000, "its manifest is not JSON"),
        (b'{"schema_version": 2}', "its manifest is of another version"),
        (b'{"schema_version": 1, "id": "x"}', "its manifest was changed after it was made"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_reported_and_not_raised(
    data: bytes, trouble: str
) -> None:
    assert store.parse_manifest("chk_20260115_143022_a7b3c9", data).trouble == trouble


def test_a_manifest_that_is_a_link_is_not_followed(work: GitRepo, tmp_path: Path) -> None:
    manifest = make(work)
    path = manifest_file(work.path, manifest.id)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert load(work.path, manifest.id).trouble.startswith("its manifest cannot be read")


def test_the_state_is_noted_and_changes_nothing_that_the_digest_covers(work: GitRepo) -> None:
    manifest = make(work)
    store.write_state(workspace_of(work.path), manifest, "restored", "rollback")
    noted = load(work.path, manifest.id)
    assert (noted.trouble, noted.value["state"], noted.value["digest"]) == (
        "",
        "restored",
        manifest.value["digest"],
    )
    assert [one["operation"] for one in noted.value["history"]] == ["rollback"]
    copy = work.path / layout.FOLDER / manifest.id / layout.MANIFEST
    assert copy.read_bytes() == manifest_file(work.path, manifest.id).read_bytes()


def test_a_point_is_expired_from_its_instant_on_unless_it_was_dropped(work: GitRepo) -> None:
    manifest = make(work, expires=NOW + 60)
    assert [store.find_state(manifest, NOW + past) for past in (59, 60)] == ["active", "expired"]
    dropped = store.write_state(workspace_of(work.path), manifest, "dropped", "drop")
    assert store.find_state(dropped, NOW + 60) == "dropped"
    assert store.find_state(manifest._replace(trouble="x"), NOW) == "damaged"


def test_a_name_that_is_taken_is_not_taken_over(work: GitRepo) -> None:
    manifest = make(work)
    base = workspace_of(work.path).base
    with (
        pytest.raises(CheckpointError, match="already"),
        folders.build_folder(base, manifest.id) as folder,
    ):
        pass
    assert not Path(folder).exists()
    assert load(work.path, manifest.id).trouble == ""


def test_only_folders_of_processes_that_are_gone_are_cleared(work: GitRepo) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    for name in (f".new-{process.pid}-chk_x", f".new-{os.getpid()}-chk_x", ".new-x-chk_x", "chk_y"):
        work.write(f".checkpoints/{name}/manifest.json", "{")
    folders.clear_unfinished(workspace_of(work.path))
    assert sorted(os.listdir(work.path / ".checkpoints")) == [
        f".new-{os.getpid()}-chk_x",
        ".new-x-chk_x",
        "chk_y",
    ]


def test_a_point_whose_folder_was_removed_comes_back_from_git(work: GitRepo) -> None:
    manifest = make(work)
    shutil.rmtree(work.path / ".checkpoints")
    (back,) = store.list_points(workspace_of(work.path))
    assert (back, store.find_state(back, NOW)) == (manifest, "active")
    assert (work.path / layout.FOLDER / manifest.id / layout.RESTORE_SCRIPT).exists()


def test_a_copy_that_was_removed_is_gone_for_good(work: GitRepo) -> None:
    manifest = make(work, "file_backup")
    folders.remove_folder(workspace_of(work.path).base, manifest.id)
    folders.remove_folder(str(work.path / ".checkpoints"), manifest.id)
    with pytest.raises(CheckpointError, match="no such restore point"):
        store.load_point(workspace_of(work.path), manifest.id)
    assert os.listdir(work.path / ".checkpoints") == []


def test_git_ignores_our_folders_by_a_list_that_is_never_committed(work: GitRepo) -> None:
    workspace = workspace_of(work.path)
    for _ in range(2):
        store.exclude_from_git(workspace)
    assert work.read(".git/info/exclude").count("/.checkpoints/chk_*") == 1


def test_a_lock_of_the_index_is_removed_where_a_killed_rollback_took_it(work: GitRepo) -> None:
    lock, copy = (
        work.path / ".git/index.lock",
        work.path / ".git/.index.999999999-0123abcd.tmp.lock",
    )
    lock.write_bytes(b"")
    copy.write_bytes(b"")
    folders.clear_unfinished(workspace_of(work.path))
    assert (lock.exists(), copy.exists()) == (True, False)  # git's own, and not ours to remove
    lock.write_bytes(layout.LOCKED)
    folders.clear_unfinished(workspace_of(work.path))
    assert not lock.exists()


def test_a_part_of_an_id_names_a_point_if_it_names_only_one(work: GitRepo) -> None:
    ids = ("chk_20260115_143022_a7b3c9", "chk_20260115_143022_b7b3c9")
    for point in ids:
        work.write(f".checkpoints/{point}/manifest.json", "{")
    workspace = workspace_of(work.path)
    found = [
        store.find_id(workspace, word)
        for word in ("a7b3c9", "20260115_143022_b", "chk_20260115_143022_a")
    ]
    assert found == [ids[0], ids[1], ids[0]]
    with pytest.raises(
        CheckpointError, match="2 restore points match: chk_20260115_143022_a7b3c9, chk_"
    ) as caught:
        store.find_id(workspace, "2026")
    assert str(caught.value.hint) == "write more of it"


def test_the_journals_of_all_rollbacks_to_a_point_end_with_the_one_that_finished_it(
    work: GitRepo,
) -> None:
    workspace, point, other = workspace_of(work.path), make(work).id, make(work).id

    def begin(words: str) -> str:
        safety = make(work).id
        store.begin_journal(workspace, safety, words)
        return safety

    def left() -> list[str]:
        return [words for _, words in store.read_journals(workspace)]

    begun = [f"{point} --index", f"{point} --scope PART", other]
    for words in begun:
        begin(words)
    assert sorted(left()) == sorted(begun)
    store.end_journals(workspace, f"{point} --scope PART")
    assert sorted(left()) == sorted([begun[0], other])
    store.end_journals(workspace, point)
    assert left() == [other]


def test_nothing_is_written_through_a_link_in_the_place_of_a_folder_of_points(
    work: GitRepo, tmp_path: Path
) -> None:
    workspace = workspace_of(work.path)
    point = make(work).id
    outside = tmp_path / "outside"
    outside.mkdir()

    shutil.rmtree(work.path / ".checkpoints")
    (work.path / ".checkpoints").symlink_to(outside)
    with pytest.raises(CheckpointError, match="symbolic link"):
        store.write_copy(workspace, point, renew=True)

    base = str(tmp_path / "points")
    Path(base).symlink_to(outside)
    with pytest.raises(CheckpointError, match="symbolic link"), folders.build_folder(base, point):
        pytest.fail("a folder for a point was made")
    with pytest.raises(CheckpointError, match="symbolic link"), folders.scratch_folder(base, "x"):
        pytest.fail("a folder was made")
    assert list(outside.iterdir()) == []
