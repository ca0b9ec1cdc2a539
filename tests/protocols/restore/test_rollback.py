import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import audit, layout, points, rollback
from checkpoint_git.protocols.restore.contents import ContentDifference, ContentEntry, ScopePath
from checkpoint_git.protocols.restore.mechanisms import file_writes, files
from checkpoint_git.protocols.restore.mechanisms.contract import WantedState
from tests.support.repos import GitRepo
from tests.support.restore_points import (
    KINDS,
    ask,
    create,
    go_back,
    look,
    roll_back,
    run_script,
    workspace_of,
)


def damage(root: Path) -> None:
    """Everything that can go wrong with a scope."""
    shutil.rmtree(root / "src/deep")
    (root / "src/deep").write_text("a file now")
    (root / "src/a.txt").unlink()
    (root / "src/a.txt").mkdir()
    (root / "src/a.txt/inner").write_text("x")
    (root / "src/link").unlink()
    (root / "src/link").symlink_to("elsewhere")
    (root / "src/odd/new").chmod(0o600)
    (root / "src/added").mkdir()
    (root / "src/added/file").write_text("x")
    (root / "src/empty").rmdir()


@pytest.mark.parametrize("kind", KINDS)
def test_a_rollback_gives_everything_back_and_can_be_taken_back(
    full_work: GitRepo, kind: str
) -> None:
    before = look(full_work.path)
    made = create(workspace_of(full_work.path), ["src"], "", kind, None)
    damage(full_work.path)
    harmed = look(full_work.path)
    done = go_back(workspace_of(full_work.path), made.manifest)
    assert look(full_work.path) == before
    records = [json.loads(line) for _, line in audit.read_records(str(full_work.path))]
    assert [(one["operation"], one["checkpoint_id"]) for one in records] == [
        ("create", done.safety)
    ]
    roll_back(full_work.path, done.safety)
    assert look(full_work.path) == harmed


def test_the_words_of_a_rollback_name_what_was_asked_for() -> None:
    assert rollback.write_words("auto-1", WantedState()) == "auto-1"
    assert rollback.write_words("auto-1", WantedState(staged=True)) == "auto-1 --index"
    everything = WantedState(staged=True, operation=True, within=["a"])
    assert rollback.write_words("auto-1", everything) == "auto-1 --index --operation --scope PART"


def test_what_git_has_otherwise_by_now_goes_back_only_if_that_is_asked_for(
    full_work: GitRepo,
) -> None:
    workspace = workspace_of(full_work.path)
    made = create(workspace, ["src"], "", "git_stash", None).manifest
    full_work.git("add", "src")

    def find(**wanted: Any) -> list[int]:
        left, back = rollback.find_moved(workspace, made, WantedState(**wanted))
        assert all(text.endswith("(--index restores it)") for text in left)
        return [len(left), len(back)]

    assert find() == find(staged=True, within=["src"]) == [1, 0]
    assert (
        find(staged=True) == find(operation=True) == find(operation=True, within=["src"]) == [0, 1]
    )


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(2, 8))]
)
@pytest.mark.parametrize("kind", KINDS)
def test_random_trees_come_back_whatever_was_done_to_them(
    repo: GitRepo, kind: str, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - it makes trees, no secrets
    grow(repo.path / "t", chance, 15)
    before = look(repo.path)
    made = create(workspace_of(repo.path), ["t"], "", kind, None)
    for _ in range(10):
        mutate(repo.path / "t", chance)
    harmed = look(repo.path)
    done = go_back(workspace_of(repo.path), made.manifest)
    assert look(repo.path) == before
    roll_back(repo.path, done.safety)
    assert look(repo.path) == harmed


def grow(root: Path, chance: random.Random, count: int) -> None:
    """Some files, links of both kinds and folders below a folder; what cannot be made is left
    out.
    """
    root.mkdir(exist_ok=True)
    for _ in range(count):
        path = root.joinpath(*(chance.choice("abc") for _ in range(chance.randint(1, 3))))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if chance.random() < 0.15:
                path.mkdir(mode=chance.choice([0o755, 0o700]), exist_ok=True)
            elif chance.random() < 0.15 and not path.is_symlink():
                path.symlink_to(chance.choice(["a", "../x", "/etc"]))
            elif chance.random() < 0.3:
                path.hardlink_to(
                    root.joinpath(*(chance.choice("abc") for _ in range(chance.randint(1, 3))))
                )
            elif not path.is_symlink():
                path.write_bytes(chance.randbytes(chance.randint(0, 50)))
                path.chmod(chance.choice([0o644, 0o755, 0o600]))
        except OSError:
            continue


def mutate(root: Path, chance: random.Random) -> None:
    """One deletion, renaming or addition."""
    there = [
        Path(folder) / name
        for folder, folders, files in os.walk(root)
        for name in sorted(folders + files)
    ]
    what = chance.random()
    if not there or what > 0.6:
        grow(root, chance, 2)
        return
    path = chance.choice(sorted(there))
    try:
        if what > 0.3:
            path.rename(Path(f"{chance.choice(sorted(there))}{chance.choice(['', 'z'])}"))
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return


HARMS = ("written", "replaced", "removed", "parted")
# each harm with each kind and each way; the other half of the combinations is for the deep tests
USUAL_WAYS = [
    (harm, *pair) for harm in HARMS for pair in zip(KINDS, ("rollback", "restore.sh"), strict=True)
]
MORE_WAYS = [
    (harm, *pair) for harm in HARMS for pair in zip(KINDS, ("restore.sh", "rollback"), strict=True)
]


@pytest.mark.parametrize(
    ("harm", "kind", "way"),
    [*USUAL_WAYS, *(pytest.param(*row, marks=pytest.mark.deep) for row in MORE_WAYS)],
)
def test_names_of_one_file_are_names_of_one_file_again(
    repo: GitRepo, harm: str, kind: str, way: str
) -> None:
    repo.write("src/b", "kept\n")
    for name in ("src/a", "src/c", "outside"):
        (repo.path / name).hardlink_to(repo.path / "src/b")
    before = look(repo.path / "src")
    made = create(workspace_of(repo.path), ["src"], "", kind, None)
    if harm == "written":
        repo.write("src/c", "changed\n")
    elif harm == "removed":
        (repo.path / "src/a").unlink()
    else:
        (repo.path / "src/a").unlink()
        repo.write("src/a", "kept\n" if harm == "parted" else "new\n")
    kept = repo.read("outside")
    if way == "rollback":
        go_back(workspace_of(repo.path), made.manifest)
    else:
        assert run_script(repo.path, made).returncode == 0
    assert look(repo.path / "src") == before
    assert repo.read("outside") == kept
    assert "src/a, src/b, src/c" in made.warnings[0]


def test_one_of_several_names_goes_back_alone(repo: GitRepo) -> None:
    repo.write("src/a", "kept\n")
    (repo.path / "src/b").hardlink_to(repo.path / "src/a")
    made = create(workspace_of(repo.path), ["src"], "", "git_stash", None)
    repo.write("src/a", "mine\n")
    go_back(workspace_of(repo.path), made.manifest, ["src/b"])
    assert (repo.read("src/a"), repo.read("src/b")) == ("mine\n", "kept\n")
    assert made.warnings == []


def test_a_file_that_was_not_there_is_gone_after_the_rollback(full_work: GitRepo) -> None:
    made = create(workspace_of(full_work.path), ["src/later.py"], "", "git_stash", None)
    full_work.write("src/later.py", "x")
    done = go_back(workspace_of(full_work.path), made.manifest)
    assert done.plan.remove == ["src/later.py"]
    assert not (full_work.path / "src/later.py").exists()


def test_a_repository_without_commits_has_points_too(repo: GitRepo) -> None:
    repo.write("a", "x")
    made = create(workspace_of(repo.path), ["a"], "", "git_stash", None)
    repo.write("a", "y")
    go_back(workspace_of(repo.path), made.manifest)
    assert repo.read("a") == "x"


def test_the_first_commit_goes_with_its_branch_if_git_goes_back_too(repo: GitRepo) -> None:
    repo.write("a", "1\n")
    workspace = workspace_of(repo.path)
    made = create(workspace, ["a"], "", "git_stash", None).manifest
    assert repo.git("for-each-ref", "refs/heads") == ""
    repo.commit("first")
    rollback.roll_back(workspace, made, WantedState(operation=True))
    assert repo.git("for-each-ref", "refs/heads") == ""
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    # where nothing is to be removed
    rollback.roll_back(workspace, made, WantedState(operation=True))
    assert repo.read("a") == "1\n"


def test_a_linked_work_tree_has_points_of_its_own_files(full_work: GitRepo, tmp_path: Path) -> None:
    full_work.git("worktree", "add", "-q", str(tmp_path / "other"))
    other = tmp_path / "other"
    (other / "src/b.py").write_text("other\n")
    made = create(workspace_of(other), ["src"], "", "git_stash", None)
    (other / "src/b.py").write_text("broken\n")
    go_back(workspace_of(other), made.manifest)
    assert (other / "src/b.py").read_text() == "other\n"


def test_content_that_was_tampered_with_stops_the_rollback(full_work: GitRepo) -> None:
    made = create(workspace_of(full_work.path), ["src"], "", "file_backup", None)
    (Path(made.location.folder) / layout.CONTENT / "src/b.py").write_text("evil\n")
    full_work.write("src/b.py", "mine\n")
    with pytest.raises(CheckpointError, match=r"src/b\.py is lost or damaged"):
        go_back(workspace_of(full_work.path), made.manifest)
    assert full_work.read("src/b.py") == "mine\n"


def test_a_link_in_the_way_is_not_followed_out(full_work: GitRepo, tmp_path: Path) -> None:
    made = create(workspace_of(full_work.path), ["src/b.py"], "", "git_stash", None)
    shutil.move(full_work.path / "src", tmp_path / "away")
    (full_work.path / "src").symlink_to(tmp_path / "away")
    (tmp_path / "away/b.py").write_text("outside\n")
    with pytest.raises(CheckpointError, match="symbolic link"):
        go_back(workspace_of(full_work.path), made.manifest)
    assert (tmp_path / "away/b.py").read_text() == "outside\n"


def test_a_secret_is_never_touched_by_a_rollback(full_work: GitRepo) -> None:
    full_work.write("src/.env", "TOKEN=1")
    made = create(workspace_of(full_work.path), ["src"], "", "git_stash", None)
    full_work.write("src/.env", "TOKEN=2")
    go_back(workspace_of(full_work.path), made.manifest)
    assert full_work.read("src/.env") == "TOKEN=2"
    assert "TOKEN" not in full_work.git("log", "-p", "--all", "--glob=refs/checkpoints")


def test_a_writer_between_the_plan_and_the_change_keeps_what_it_wrote(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write("src/a.py", "changed\n")
    work.write("src/b.py", "changed\n")
    real = file_writes.write_path

    def write_late(root: str, entry: ContentEntry, *rest: object, **more: object) -> None:
        if entry.path == "src/b.py":
            work.write("src/b.py", "precious\n")
        real(root, entry, *rest, **more)  # type: ignore[arg-type]  # passed through as it came

    monkeypatch.setattr(file_writes, "write_path", write_late)
    with pytest.raises(CheckpointError, match=r"src/b\.py was changed during the rollback"):
        go_back(workspace_of(work.path), made.manifest)
    assert work.read("src/b.py") == "precious\n"


def cut_off(
    work: GitRepo,
    made: points.CreatedPoint,
    monkeypatch: pytest.MonkeyPatch,
    within: list[str] | None = None,
) -> None:
    """A rollback that ends after its first file."""
    real, written = file_writes.write_path, list[str]()

    def write_one(root: str, entry: ContentEntry, *rest: object, **more: object) -> None:
        if written and root == str(work.path):
            raise KeyboardInterrupt
        real(root, entry, *rest, **more)  # type: ignore[arg-type]  # passed through as it came
        written.extend([entry.path] if root == str(work.path) else [])

    with monkeypatch.context() as patch:
        patch.setattr(file_writes, "write_path", write_one)
        with pytest.raises(KeyboardInterrupt):
            go_back(workspace_of(work.path), made.manifest, within)


def test_a_rollback_that_was_cut_off_is_finished_with_the_first_safety_point(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = look(work.path)
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write("src/a.py", "changed\n")
    work.write("src/b.py", "changed\n")
    harmed = look(work.path)
    cut_off(work, made, monkeypatch)
    done = go_back(workspace_of(work.path), made.manifest)
    assert done.resumed
    assert look(work.path) == before
    roll_back(work.path, done.safety)
    assert look(work.path) == harmed


def test_work_done_after_a_rollback_was_cut_off_gets_a_safety_point_of_its_own(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write("src/a.py", "changed\n")
    work.write("src/b.py", "changed\n")
    cut_off(work, made, monkeypatch)
    work.write("src/b.py", "new work\n")
    done = go_back(workspace_of(work.path), made.manifest)
    assert not done.resumed
    roll_back(work.path, done.safety)
    assert work.read("src/b.py") == "new work\n"


def test_a_cut_off_rollback_of_a_part_does_not_stand_for_the_whole(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.write("src/c.py", "c\n")
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    for name in ("a", "b", "c"):
        work.write(f"src/{name}.py", "changed\n")
    cut_off(work, made, monkeypatch, ["src/a.py", "src/b.py"])
    done = go_back(workspace_of(work.path), made.manifest)
    assert not done.resumed
    roll_back(work.path, done.safety)
    assert work.read("src/c.py") == "changed\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_made_since_stays_when_it_holds_a_secret(work: GitRepo, kind: str) -> None:
    made = create(workspace_of(work.path), ["src"], "", kind, None)
    work.write("src/new/deep/.env", "TOKEN=1")
    work.write("src/new/code.py", "x")
    done = go_back(workspace_of(work.path), made.manifest)
    assert work.read("src/new/deep/.env") == "TOKEN=1"
    assert not (work.path / "src/new/code.py").exists()
    assert any(text.startswith("src/new stays") for text in done.notes)


def test_an_ignored_file_made_since_stays(work: GitRepo) -> None:
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write("src/run/debug.log", "kept")
    go_back(workspace_of(work.path), made.manifest)
    assert work.read("src/run/debug.log") == "kept"


def test_what_only_a_rule_made_since_ignores_stays_and_is_told(work: GitRepo) -> None:
    work.write("data/d", "d")
    made = create(workspace_of(work.path), ["."], "", "git_stash", None)
    work.write(".gitignore", "data/\n")
    work.write("data/n", "mine")
    foreseen = ask(work, "rollback", made.manifest.id, "--dry-run")["warnings"]
    assert "git ignores it now, so what the point lacks of it stays: data/" in foreseen
    done = go_back(workspace_of(work.path), made.manifest)
    assert "data/n stays: git ignored it when the rollback began" in done.notes
    assert (work.read("data/n"), work.read("data/d"), work.read(".gitignore")[:5]) == (
        "mine",
        "d",
        "*.log",
    )


def test_a_dry_run_names_what_the_point_leaves_out_too(work: GitRepo) -> None:
    work.write("src/run/debug.log", "kept")
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    foreseen = ask(work, "rollback", made.manifest.id, "--dry-run")
    done = ask(work, "rollback", made.manifest.id)
    left_out = [
        "not in the point, so left as they are and not compared: src/run/, src/run/debug.log"
    ]
    assert foreseen["warnings"] == done["warnings"] == left_out
    assert (foreseen["verified"], done["verified"]) == (False, True)


def test_what_git_ignores_only_by_now_stays_too(work: GitRepo) -> None:
    work.write("src/gen/x.py", "x\n")
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write(".gitignore", "gen/\n")
    work.write("src/gen/y.py", "mine")
    work.write("src/gen/x.py", "changed\n")
    go_back(workspace_of(work.path), made.manifest)
    assert (work.read("src/gen/x.py"), work.read("src/gen/y.py")) == ("x\n", "mine")


@pytest.mark.parametrize("kind", KINDS)
def test_the_history_of_a_repository_cloned_since_stays(work: GitRepo, kind: str) -> None:
    made = create(workspace_of(work.path), ["src"], "", kind, None)
    inner = GitRepo.create(work.path / "src/vendor")
    inner.write("x", "x")
    commit = inner.commit()
    go_back(workspace_of(work.path), made.manifest)
    assert inner.git("rev-parse", "HEAD") == commit


def test_a_folder_in_a_files_place_stops_everything_when_no_point_keeps_what_it_holds(
    work: GitRepo,
) -> None:
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    work.write("src/a.py", "changed\n")
    (work.path / "src/b.py").unlink()
    work.write("src/b.py/.env", "TOKEN=1")
    harmed = look(work.path)
    with pytest.raises(CheckpointError, match=r"a folder is in the place of src/b\.py"):
        go_back(workspace_of(work.path), made.manifest)
    assert look(work.path) == harmed


def test_a_link_in_the_way_of_one_file_stops_it_before_any_is_changed(
    work: GitRepo, tmp_path: Path
) -> None:
    work.write("lib/c.py", "c\n")
    made = create(workspace_of(work.path), ["src/a.py", "lib/c.py"], "", "git_stash", None)
    work.write("src/a.py", "changed\n")
    work.write("lib/c.py", "changed\n")
    shutil.move(work.path / "lib", tmp_path / "away")
    (work.path / "lib").symlink_to(tmp_path / "away")
    with pytest.raises(CheckpointError, match="symbolic link"):
        go_back(workspace_of(work.path), made.manifest)
    assert work.read("src/a.py") == "changed\n"
    assert (tmp_path / "away/c.py").read_text() == "changed\n"


def test_a_pipe_in_a_files_place_stops_everything(work: GitRepo) -> None:
    made = create(workspace_of(work.path), ["src"], "", "git_stash", None)
    (work.path / "src/b.py").unlink()
    os.mkfifo(work.path / "src/b.py")
    with pytest.raises(CheckpointError, match=r"what is in the place of src/b\.py is not a file"):
        go_back(workspace_of(work.path), made.manifest)
    assert (work.path / "src/b.py").is_fifo()


@pytest.mark.parametrize("kind", KINDS)
def test_folders_closed_to_their_owner_are_opened_and_closed_again(
    work: GitRepo, kind: str
) -> None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root passes every mode, and there is no setpriv to become another user")
    (work.path / "src").chmod(0o555)
    made = create(workspace_of(work.path), ["src"], "", kind, None)
    (work.path / "src").chmod(0o755)
    work.write("src/a.py", "changed\n")
    work.write("src/new.py", "x\n")
    (work.path / "src").chmod(0o555)
    go_back(workspace_of(work.path), made.manifest)
    assert (work.read("src/a.py"), sorted(os.listdir(work.path / "src"))) == (
        "a\n",
        ["a.py", "b.py"],
    )
    assert (work.path / "src").stat().st_mode & 0o777 == 0o555
    subprocess.run(["chmod", "-R", "u+w", str(work.path)], check=True)


OLD, NEW = (
    ContentEntry("a", "file", 0o644, 1, "1" * 64),
    ContentEntry("a", "file", 0o644, 1, "2" * 64),
)
OTHER = ContentEntry("a", "file", 0o644, 1, "3" * 64)


def test_a_state_is_half_way_when_each_path_is_as_before_or_after() -> None:
    assert files.is_half_way([OLD], [OLD], [NEW])
    assert files.is_half_way([NEW], [OLD], [NEW])
    assert files.is_half_way([ContentEntry("a", "absent")], [OLD], [NEW])
    assert not files.is_half_way([OTHER], [OLD], [NEW])


def test_a_folder_that_was_opened_on_the_way_is_half_way() -> None:
    closed = ContentEntry("d", "folder", 0o500)
    assert files.is_half_way([closed._replace(mode=0o700)], [closed], [])


def test_what_will_be_changed_must_be_in_the_safety_point() -> None:
    files.check_kept([NEW], ["a"], [NEW])
    files.check_kept([OTHER], [], [NEW])
    with pytest.raises(CheckpointError, match="a was changed during the rollback"):
        files.check_kept([OTHER], ["a"], [NEW])


def test_a_watched_file_that_is_written_to_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    watch = files.Watch(
        str(tmp_path), [ScopePath("a", "file", path.lstat()), ScopePath("b", "absent", None)]
    )
    watch.check("a")
    watch.check("b")
    path.write_text("longer")
    (tmp_path / "b").write_text("x")
    for name in ("a", "b"):
        with pytest.raises(CheckpointError, match="changed during the rollback"):
            watch.check(name)


def test_a_difference_behind_a_link_that_makes_way_is_no_hindrance() -> None:
    entries = [ContentEntry("src", "link", 0o777, 1, "1" * 64)]
    files.check_ways(
        "/nowhere",
        [],
        [ContentDifference("src", "kind"), ContentDifference("src/a", "missing")],
        entries,
    )


def test_a_path_below_a_link_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "src").symlink_to("away")
    with pytest.raises(
        CheckpointError, match="src is a symbolic link, and writing would follow it"
    ):
        files.check_ways(str(tmp_path), [], [ContentDifference("src/a", "missing")], [])


def test_a_folder_in_a_files_place_may_hold_what_will_be_removed_and_nothing_else(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/made").write_text("x")
    present, restore = (
        [ContentEntry("a", "folder"), ContentEntry("a/made", "file")],
        [ContentDifference("a", "kind")],
    )
    files.check_ways(str(tmp_path), ["a/made"], restore, present)
    (tmp_path / "a/.env").write_text("x")
    with pytest.raises(CheckpointError, match="a folder is in the place of a") as caught:
        files.check_ways(str(tmp_path), ["a/made"], restore, present)
    assert "a/.env" in str(caught.value.hint)


def test_a_folder_stays_for_what_no_point_keeps_and_not_for_what_could_not_be_removed(
    tmp_path: Path,
) -> None:
    for name in ("kept/.env", "left/made"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x")
    (tmp_path / "empty").mkdir()
    assert files.find_staying(str(tmp_path), ["left/made", "left", "kept", "empty"]) == ["kept"]


def test_the_folders_that_a_rollback_changed_are_flushed(
    full_work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create(workspace_of(full_work.path), ["src"], "", KINDS[0], None)
    damage(full_work.path)
    flushed: set[str] = set()
    monkeypatch.setattr(file_writes, "sync_folder", flushed.add)
    go_back(workspace_of(full_work.path), made.manifest)
    changed = {str(full_work.path / folder) for folder in ("src", "src/deep", "src/odd")}
    assert changed <= {folder.rstrip("/") for folder in flushed}
