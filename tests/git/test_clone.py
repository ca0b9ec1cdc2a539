import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.clone import find_gaps, find_nested, read_operation
from checkpoint_git.git.driver_settings import Choices, plan_settings
from checkpoint_git.git.run import run_git
from checkpoint_git.tools.setup.init import Options, init
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"


@pytest.fixture
def shared(repo: GitRepo) -> GitRepo:
    repo.write(PATH, checkpoint_text())
    repo.write("docs/page.md", "a page\n")
    repo.commit("one")
    repo.commit("two")
    return repo


def gaps(folder: Path) -> list[tuple[str, str]]:
    place = find_place(str(folder))
    return [
        (gap.code, str(gap.fix)) for gap in find_gaps(place.work_tree, place.git_dir, os.environ)
    ]


def test_a_clone_without_driver_is_told_to_run_init_and_one_with_it_nothing(
    shared: GitRepo,
) -> None:
    assert gaps(shared.path) == [("install/missing", "checkpoint init")]
    init(str(shared.path), Options(hooks="none"), os.environ)
    assert gaps(shared.path) == []
    shared.git("worktree", "add", "-q", "../other")
    assert gaps(shared.path.parent / "other") == []


def test_another_driver_under_our_name_is_not_missing(shared: GitRepo) -> None:
    shared.git("config", "merge.checkpoint.driver", "mine %A")
    assert gaps(shared.path) == []


def test_a_driver_whose_python_is_gone_is_named(shared: GitRepo) -> None:
    for key, value in plan_settings("/gone/python", "/gone/package", Choices()).items():
        shared.git("config", key, value)
    assert gaps(shared.path) == [("driver/broken", "checkpoint init")]
    place = find_place(str(shared.path))
    (gap,) = find_gaps(place.work_tree, place.git_dir, os.environ)
    assert str(gap.line.hint) == "to fix it: checkpoint init"


def test_a_shallow_clone_says_how_to_get_the_rest(shared: GitRepo, tmp_path: Path) -> None:
    shared.git("clone", "-q", "--depth=1", f"file://{shared.path}", str(tmp_path / "shallow"))
    assert ("drift/history-partial", "git fetch --unshallow") in gaps(tmp_path / "shallow")


def test_what_a_sparse_checkout_leaves_out_is_named(shared: GitRepo) -> None:
    shared.write("pkg/.checkpoints/api.checkpoint.json", checkpoint_text(skill="api"))
    shared.commit("three")
    shared.git("sparse-checkout", "init", "--cone")  # the default since git 2.37
    shared.git("sparse-checkout", "set", ".checkpoints", "docs")
    assert ("clone/sparse", "git sparse-checkout add pkg/.checkpoints") in gaps(shared.path)
    shared.git("sparse-checkout", "set", "docs")
    with pytest.raises(CheckpointError) as raised:
        find_place(str(shared.path))
    assert "git sparse-checkout add .checkpoints" in str(raised.value.hint)


def test_a_damaged_index_hides_no_other_gap(shared: GitRepo) -> None:
    shared.git("config", "core.sparseCheckout", "true")
    (shared.path / ".git/index").write_bytes(b"DIRC")
    assert gaps(shared.path) == [("install/missing", "checkpoint init")]


def test_outside_git_nothing_is_missing(tmp_path: Path) -> None:
    (tmp_path / ".checkpoints").mkdir()
    assert gaps(tmp_path) == []


@pytest.mark.parametrize("version", [2, 4])
@pytest.mark.parametrize("folder", ["", "pkg/" + "x" * 221 + "/"])
def test_what_a_stash_left_unmerged_is_found_without_an_operation(
    shared: GitRepo, version: int, folder: str
) -> None:
    init(str(shared.path), Options(hooks="none"), os.environ)
    path = f"{folder}.checkpoints/a.checkpoint.json"
    shared.git("update-index", f"--index-version={version}")
    for step in ("one", "two", "three"):
        shared.write(path, checkpoint_text(skill="a", step=step))
        shared.git("add", "-A")
        shared.git(*(("stash", "-q") if step == "two" else ("commit", "-qm", step)))
    assert gaps(shared.path) == []
    shared.git("stash", "pop", "-q", check=False)
    assert gaps(shared.path) == [("merge/unresolved", "checkpoint resolve")]
    shared.git("add", "-A")
    assert gaps(shared.path) == []


def test_a_clone_in_order_is_looked_at_without_git(
    shared: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    init(str(shared.path), Options(hooks="none"), os.environ)
    monkeypatch.setattr("subprocess.Popen", None)
    assert gaps(shared.path) == []


@pytest.mark.parametrize("operation", ["cherry-pick", "revert", "merge"])
@pytest.mark.parametrize("linked", [False, True])
def test_an_operation_is_seen_where_git_keeps_its_refs_in_a_table(
    tmp_path: Path, operation: str, linked: bool
) -> None:
    if run_git(
        ["init", "-q", "--ref-format=reftable", str(tmp_path / "probe")], str(tmp_path), check=False
    ).code:
        pytest.skip("reftable came with git 2.45")
    repo = GitRepo.create(tmp_path / "repo", "--ref-format=reftable")
    repo.diverge({"a": "0\n"}, {"a": "1\n"}, {"a": "2\n"})
    if linked:
        repo.git("checkout", "-q", "main")
        repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "left")
        repo = GitRepo(tmp_path / "linked")
    git_dir = repo.git("rev-parse", "--absolute-git-dir")
    assert read_operation(git_dir) == ""
    if operation == "revert":
        repo.write("a", "3\n")
        repo.commit("more")
    assert (
        repo.exit_code(operation, *{"revert": ["--no-edit", "HEAD~1"]}.get(operation, ["right"]))
        == 1
    )
    assert read_operation(git_dir) == operation


def test_checkpoints_below_are_named_at_the_top_alone(repo: GitRepo) -> None:
    top = str(repo.path)

    def find(work_tree: str | None, cwd: str) -> list[tuple[str, str]]:
        return [
            (gap.message, str(gap.fix))
            for gap in find_nested(work_tree, f"{top}/.git", os.environ, cwd)
        ]

    repo.write(".checkpoints/README.md", "x")
    repo.commit()
    assert find(top, top) == []
    repo.write("a b/.checkpoints/build.checkpoint.json", "{}")
    repo.commit()
    assert find(top, top) == [("there are checkpoints below: a b", "checkpoint -C 'a b' status")]
    (gap,) = find_nested(top, f"{top}/.git", os.environ, top)
    assert str(gap.line.hint) == "to see them: checkpoint -C 'a b' status"
    assert find(top, f"{top}/a b") == find(None, top) == []
