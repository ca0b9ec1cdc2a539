import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import folders, layout, store
from checkpoint_git.protocols.restore.contents import hash_contents
from tests.support.repos import GitRepo
from tests.support.restore_points import NOW, create, load, manifest_file, workspace_of
from tests.support.rows import rows

FIRST = "chk_20260115_143022_a7b3c9"
SECOND = "chk_20260115_143022_b7b3c9"
THIRD = "chk_20260116_000000_000000"


def plant(base: str | Path, point: str, **changes: Any) -> store.Manifest:
    """A point without content, and a manifest that is right unless the changes make it wrong."""
    value = {
        "schema_version": 1,
        "id": point,
        "type": "file_backup",
        "created_at": "2026-01-15T14:30:22Z",
        "expires_at": None,
        "reason": "",
        "scope": {"asked": [""], "files": [], "state_keys": []},
        "entries": [],
        "size": 0,
        "hash": hash_contents([], []),
        "warnings": [],
        "restore_script": "0" * 64,
        "state": "active",
        "history": [],
        **changes,
    }
    value["digest"] = store.find_digest(value)
    folder = Path(base) / point
    folder.mkdir(parents=True, exist_ok=True)
    (folder / layout.MANIFEST).write_bytes(store.write_text(value))
    (folder / layout.RESTORE_SCRIPT).write_text("#!/bin/sh\n")
    return store.parse_manifest(point, store.write_text(value))


def test_a_manifest_that_was_edited_is_not_relied_on(tmp_path: Path) -> None:
    assert plant(tmp_path / layout.FOLDER, FIRST, reason="why").trouble == ""
    path = tmp_path / layout.FOLDER / FIRST / layout.MANIFEST
    path.write_text(path.read_text().replace('"why"', '"how"'))
    assert load(tmp_path, FIRST).trouble == "its manifest was changed after it was made"


def test_a_manifest_of_a_stranger_leads_nowhere_else(full_work: GitRepo) -> None:
    made = create(workspace_of(full_work.path), ["src"], "", "git_stash", None)
    value = {
        **made.manifest.value,
        "entries": [{**made.manifest.value["entries"][1], "path": "../../escape"}],
    }
    data = store.write_text({**value, "digest": store.find_digest(value)})
    assert "leads out of the workspace" in store.parse_manifest(made.manifest.id, data).trouble


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
    manifest = plant(workspace_of(work.path).base, FIRST)
    path = manifest_file(work.path, FIRST)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert load(work.path, manifest.id).trouble.startswith("its manifest cannot be read")


def test_the_state_is_noted_and_changes_nothing_that_the_digest_covers(work: GitRepo) -> None:
    manifest = plant(workspace_of(work.path).base, FIRST)
    store.write_copy(workspace_of(work.path), FIRST)
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
    manifest = plant(workspace_of(work.path).base, FIRST, expires_at=write_instant(NOW + 60))
    assert [store.find_state(manifest, NOW + past) for past in (59, 60)] == ["active", "expired"]
    dropped = store.write_state(workspace_of(work.path), manifest, "dropped", "drop")
    assert store.find_state(dropped, NOW + 60) == "dropped"
    assert store.find_state(manifest._replace(trouble="x"), NOW) == "damaged"


def test_a_name_that_is_taken_is_not_taken_over(work: GitRepo) -> None:
    base = workspace_of(work.path).base
    manifest = plant(base, FIRST)
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
    manifest = create(workspace_of(work.path), ["src"], "why", "git_stash", None).manifest
    shutil.rmtree(work.path / ".checkpoints")
    (back,) = store.list_points(workspace_of(work.path))
    assert (back, store.find_state(back, NOW)) == (manifest, "active")
    assert (work.path / layout.FOLDER / manifest.id / layout.RESTORE_SCRIPT).exists()


def test_a_copy_that_was_removed_is_gone_for_good(work: GitRepo) -> None:
    manifest = plant(workspace_of(work.path).base, FIRST)
    store.write_copy(workspace_of(work.path), FIRST)
    folders.remove_folder(workspace_of(work.path).base, manifest.id)
    folders.remove_folder(str(work.path / ".checkpoints"), manifest.id)
    with pytest.raises(CheckpointError, match="no such restore point"):
        store.load_point(workspace_of(work.path), manifest.id)
    assert os.listdir(work.path / ".checkpoints") == []


def test_git_ignores_our_folders_by_a_list_that_is_never_committed(work: GitRepo) -> None:
    workspace = workspace_of(work.path)
    work.write(".git/info/exclude", "*.mine\n")
    for _ in range(2):
        store.exclude_from_git(workspace)
    text = work.read(".git/info/exclude")
    assert text.count("/.checkpoints/chk_*") == 1
    assert text.startswith("*.mine\n")


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
    ids = (FIRST, SECOND)
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
    workspace = workspace_of(work.path)
    point, other = FIRST, SECOND

    def read_words() -> list[str]:
        return [words for _, words in store.read_journals(workspace)]

    begun = [f"{point} --index", f"{point} --scope PART", other]
    for number, words in enumerate(begun):
        safety = plant(workspace.base, f"chk_20260119_00000{number}_000000")
        store.begin_journal(workspace, safety.id, words)
    assert sorted(read_words()) == sorted(begun)
    store.end_journals(workspace, f"{point} --scope PART")
    assert sorted(read_words()) == sorted([begun[0], other])
    store.end_journals(workspace, point)
    assert read_words() == [other]


def test_nothing_is_written_through_a_link_in_the_place_of_a_folder_of_points(
    work: GitRepo, tmp_path: Path
) -> None:
    workspace = workspace_of(work.path)
    point = plant(workspace.base, FIRST).id
    outside = tmp_path / "outside"
    outside.mkdir()

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


def test_a_manifest_is_wrong_where_the_schema_or_the_rules_say(tmp_path: Path) -> None:
    good = plant(tmp_path, FIRST)
    assert good.trouble == ""
    value = {**dict(reversed(good.value.items())), "state": "restored", "history": [{}]}
    assert store.find_digest(value) == good.value["digest"]

    nested = plant(tmp_path, FIRST, scope={"asked": [1], "files": [], "state_keys": []})
    other = plant(tmp_path, FIRST, id=SECOND)
    assert nested.trouble.startswith("its manifest is wrong at /scope/asked/0: ")
    assert other.trouble == "its manifest was changed after it was made"
    missing = {key: member for key, member in good.value.items() if key != "entries"}
    data = store.write_text({**missing, "digest": store.find_digest(missing)})
    trouble = store.parse_manifest(FIRST, data).trouble
    assert trouble == "its manifest is wrong at /entries: 'entries' is a required property"


def test_a_foreign_point_is_shown_and_used_only_if_that_is_wished(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_of(work.path)
    plant(work.path / layout.FOLDER, FIRST)
    plant(workspace.base, SECOND)
    foreign = store.load_manifest(workspace, FIRST)
    assert foreign is not None
    assert store.find_state(foreign, NOW) == "foreign"
    assert store.load_point(workspace, FIRST, foreign=True) == foreign
    with pytest.raises(CheckpointError, match="not in this clone's store, so it is untrusted"):
        store.load_point(workspace, FIRST)
    assert store.load_point(workspace, SECOND) == store.load_point(workspace, SECOND, foreign=True)
    assert [point.id for point in store.read_manifests(workspace)] == [FIRST, SECOND]
    assert store.locate(workspace, FIRST).folder == str(work.path / layout.FOLDER / FIRST)
    assert store.locate(workspace, SECOND).folder == os.path.join(workspace.base, SECOND)

    # a copy below .checkpoints is not another point, and what a branch brings is read to its limit
    store.list_points(workspace)
    assert (work.path / layout.FOLDER / SECOND / layout.MANIFEST).exists()
    assert [point.is_foreign for point in store.read_manifests(workspace)] == [True, False]
    monkeypatch.setattr(store, "MAX_BYTES", 10)
    troubles = [point.trouble for point in store.read_manifests(workspace)]
    assert troubles[0].startswith("its manifest cannot be read: it has ")
    assert troubles[1] == ""


def test_points_are_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path)
    plant(workspace.base, THIRD, began=1)
    plant(workspace.base, FIRST, began=1)
    plant(workspace.base, SECOND)  # of before this was noted
    assert [point.id for point in store.read_manifests(workspace)] == [SECOND, FIRST, THIRD]
    assert store.find_id(workspace, "latest") == THIRD
    assert store.locate(workspace, FIRST).commit == ""


def test_the_latest_point_is_a_live_one_of_this_work_tree_and_of_no_rollback(
    work: GitRepo, tmp_path: Path
) -> None:
    workspace = workspace_of(work.path)
    base = Path(workspace.base)
    hint = str(store.CREATE_HINT)
    with pytest.raises(CheckpointError, match="no live restore point yet") as caught:
        store.load_point(workspace, "latest")
    assert str(caught.value.hint) == hint

    plant(work.path / layout.FOLDER, "chk_20260120_000000_000000")  # of nobody here
    plant(work.path / layout.FOLDER, "chk_20260120_000000_000001", work_tree="linked")
    for number, changes in enumerate(
        ({"state": "dropped"}, {"expires_at": "2026-01-15T14:30:22Z"}, {"made_for": "rollback"})
    ):
        plant(base, f"chk_20260119_00000{number}_000000", **changes)
    with pytest.raises(CheckpointError) as caught:
        store.find_id(workspace, "latest")
    assert str(caught.value.hint) == hint

    plant(base, THIRD, work_tree="linked")
    with pytest.raises(CheckpointError) as caught:
        store.find_id(workspace, "latest")
    use = f"another work tree has {THIRD}: checkpoint restore-point rollback {THIRD} --here"
    assert str(caught.value.hint) == f"{hint}; {use}"
    plant(base, FIRST, state="restored")
    assert store.find_id(workspace, "latest") == FIRST
    plant(base, SECOND, made_for="guard")
    assert store.load_point(workspace, "latest").id == SECOND

    work.commit()
    work.git("worktree", "add", "-q", str(tmp_path / "linked"))
    assert store.find_work_tree(workspace) == ""
    assert store.find_work_tree(workspace_of(tmp_path / "linked")) == "linked"
    assert store.find_id(workspace_of(tmp_path / "linked"), "latest") == THIRD


def test_a_word_that_names_no_point_is_refused(work: GitRepo) -> None:
    workspace = workspace_of(work.path)
    plant(workspace.base, FIRST)
    assert store.find_id(workspace, THIRD) == THIRD  # an id is not looked for
    with pytest.raises(CheckpointError, match=f"no such restore point: {THIRD}"):
        store.load_point(workspace, THIRD)
    for word in ("", "x", "a7b3c", "20260116"):
        with pytest.raises(CheckpointError, match="is not the name of a restore point"):
            store.find_id(workspace, word)


def test_a_workspace_is_covered_by_a_live_point_of_all_of_it_that_has_its_objects(
    work: GitRepo,
) -> None:
    workspace = workspace_of(work.path)
    assert not store.is_covered(workspace)
    part = {"asked": ["src"], "files": [], "state_keys": []}
    uncovering: list[dict[str, Any]] = [
        {"scope": part},
        {"work_tree": "linked"},
        {"state": "dropped"},
        {"expires_at": "2026-01-15T14:30:22Z"},
        {"schema_version": 2},
        {"type": "git_stash"},  # the objects of which may be gone
    ]
    for number, changes in enumerate(uncovering):
        plant(workspace.base, f"chk_20260119_00000{number}_000000", **changes)
    plant(work.path / layout.FOLDER, SECOND)
    assert not store.is_covered(workspace)

    covering: list[dict[str, Any]] = [
        {},
        {"state": "restored"},
        {"scope": {**part, "asked": ["src", ""]}},
    ]
    for changes in covering:
        plant(workspace.base, FIRST, **changes)
        assert store.is_covered(workspace)
    shutil.rmtree(os.path.join(workspace.base, FIRST))
    work.commit()
    stash = "chk_20260119_000005_000000"
    work.git("update-ref", f"{layout.REF_PREFIX}{stash}", "HEAD")
    assert store.locate(workspace, stash).commit == work.git("rev-parse", "HEAD")
    assert store.is_covered(workspace)
    outside_git = workspace._replace(git_dir=None)
    assert store.is_covered(outside_git)


def test_a_rollback_that_did_not_end_is_known_by_its_safety_point(work: GitRepo) -> None:
    workspace = workspace_of(work.path)
    words = f"{THIRD} --index"
    for number, changes in enumerate(({}, {"work_tree": "linked"}, {"state": "restored"}, {})):
        safety = plant(workspace.base, f"chk_20260119_00000{number}_000000", **changes)
        store.begin_journal(workspace, safety.id, words)
    unmade = f"chk_20260119_000004_{'0' * 6}"
    os.mkdir(os.path.join(workspace.base, unmade))
    store.begin_journal(workspace, unmade, words)
    plant(workspace.base, FIRST)
    for text in ("", "--index", f"{THIRD} --exec=x", f"{THIRD}\n", f"{THIRD}; rm -rf ."):
        store.begin_journal(workspace, FIRST, text)
        found = [(safety.id[-8:], begun) for safety, begun in store.read_journals(workspace)]
        assert found == [("3_000000", words), ("0_000000", words)]

    store.end_journals(workspace, FIRST)
    assert len(store.read_journals(workspace)) == 2
    store.end_journals(workspace, f"{THIRD} --scope PART")
    assert len(store.read_journals(workspace)) == 2
    store.end_journals(workspace, words)
    assert store.read_journals(workspace) == []


def test_a_copy_is_written_where_it_is_missing_or_to_be_renewed(work: GitRepo) -> None:
    workspace = workspace_of(work.path)
    plant(workspace.base, FIRST)
    shutil.rmtree(work.path / ".git/info")
    copy = work.path / layout.FOLDER / FIRST
    store.write_copy(workspace, FIRST)
    assert sorted(os.listdir(copy)) == [layout.MANIFEST, layout.RESTORE_SCRIPT]
    assert "/.checkpoints/chk_*\n" in work.read(".git/info/exclude")

    (copy / layout.MANIFEST).write_text("edited")
    store.write_copy(workspace, FIRST)
    assert (copy / layout.MANIFEST).read_text() == "edited"
    source = Path(workspace.base) / FIRST
    (source / layout.RESTORE_SCRIPT).unlink()
    store.write_copy(workspace, FIRST, renew=True)
    assert (copy / layout.MANIFEST).read_bytes() == (source / layout.MANIFEST).read_bytes()

    # of a point that is dropped, of another work tree or foreign, no copy is made
    manifest = store.load_point(workspace, FIRST)
    shutil.rmtree(copy)
    dropped = store.write_state(workspace, manifest, "dropped", "drop")
    assert not copy.exists()
    plant(workspace.base, SECOND, work_tree="linked")
    plant(work.path / layout.FOLDER, THIRD)
    assert [point.id for point in store.list_points(workspace)] == [FIRST, SECOND, THIRD]
    assert sorted(os.listdir(work.path / layout.FOLDER)) == [FIRST, THIRD]
    assert dropped.value["history"] == [
        {"at": "2026-01-15T14:30:22Z", "operation": "drop", "state": "dropped"}
    ]


def test_outside_git_the_copy_is_the_point_itself(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path)
    manifest = plant(workspace.base, FIRST)
    path = tmp_path / layout.FOLDER / FIRST / layout.MANIFEST
    store.write_state(workspace, manifest, "restored", "rollback")
    assert store.load_point(workspace, FIRST).value["state"] == "restored"
    path.unlink()
    store.write_copy(workspace, FIRST)
    store.exclude_from_git(workspace)
    assert sorted(os.listdir(tmp_path / layout.FOLDER)) == [FIRST]
    assert os.listdir(tmp_path) == [layout.FOLDER]
