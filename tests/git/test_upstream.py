"""The branch that is checked out beside its upstream, in real clones that ask no server."""

import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.run import offline_env
from checkpoint_git.git.upstream import (
    PullSettings,
    Tracking,
    is_in_the_way,
    read_diverged_files,
    read_settings,
    read_tracking,
)
from tests.scenarios.driven import drive
from tests.support.repos import GitRepo, copy_built

PATH = ".checkpoints/build.checkpoint.json"


@pytest.fixture
def clone(repo: GitRepo, tmp_path: Path) -> GitRepo:
    """A clone of a repository with one checkpoint; its origin is `repo`."""
    copy_built(build_clone, repo.path, tmp_path / "clone")
    return GitRepo(tmp_path / "clone")


def build_clone(folder: Path) -> None:
    """0: the origin; 1: the clone."""
    repo = GitRepo.create(folder / "0")
    repo.write(PATH, "base\n")
    repo.commit("base")
    repo.git("clone", "-q", str(repo.path), str(folder / "1"))


def tracking(repo: GitRepo) -> Tracking | None:
    return read_tracking(
        str(repo.path), repo.git("rev-parse", "--absolute-git-dir"), offline_env(os.environ)
    )


def advance(origin: GitRepo, clone: GitRepo, text: str = "theirs\n", path: str = PATH) -> str:
    """One more commit upstream, fetched."""
    origin.write(path, text)
    commit = origin.commit("theirs")
    clone.git("fetch", "-q")
    return commit


def test_an_upstream_is_told_by_what_was_fetched_last(repo: GitRepo, clone: GitRepo) -> None:
    clone.commit("mine")
    clone.write("readme", "mine\n")
    head = clone.commit("mine")
    commit = advance(repo, clone)
    repo.write(PATH, "not fetched\n")
    repo.commit("not fetched")
    assert tracking(clone) == Tracking("main", head, "origin/main", commit, True, 2, 1, frozenset())


def test_what_is_not_as_in_head_is_dirty(clone: GitRepo) -> None:
    clone.write(PATH, "dirty\n")
    clone.write("readme", "no checkpoint\n")
    clone.write(".checkpoints/new.checkpoint.json", "staged\n")
    clone.git("add", ".checkpoints/new.checkpoint.json")
    found = tracking(clone)
    assert found is not None
    assert found.dirty == {PATH, ".checkpoints/new.checkpoint.json"}


def test_a_dirty_path_may_have_any_name_and_be_unmerged(clone: GitRepo) -> None:
    names = ("a b", "tab\there", "line\nend", "ünï")
    paths = [f".checkpoints/{name}.checkpoint.json" for name in names]
    for path in paths:
        clone.write(path, "x\n")
    clone.commit("named")
    for path in paths:
        clone.write(path, "y\n")
    found = tracking(clone)
    assert found is not None
    assert found.dirty == set(paths)

    blob = clone.git("rev-parse", f"HEAD:{paths[0]}")
    lines = [f"0 {'0' * 40}\t{paths[0]}", *(f"100644 {blob} {n}\t{paths[0]}" for n in (1, 2, 3))]
    words = ("git", "update-index", "--index-info")
    clone.run(*words, stdin="".join(f"{line}\n" for line in lines).encode())
    assert clone.git("ls-files", "-u").count(paths[0]) == 3
    assert tracking(clone) == found


def test_a_branch_without_upstream_is_compared_with_the_default_branch(
    repo: GitRepo, clone: GitRepo
) -> None:
    clone.git("checkout", "-q", "--no-track", "-b", "topic")
    commit = advance(repo, clone)
    found = tracking(clone)
    assert found is not None
    assert (found.name, found.commit, found.tracked, found.ahead, found.behind) == (
        "origin/main",
        commit,
        False,
        0,
        1,
    )


def test_the_only_remote_will_do_whatever_its_name(repo: GitRepo, clone: GitRepo) -> None:
    clone.git("remote", "rename", "origin", "upstream")
    clone.git("checkout", "-q", "--no-track", "-b", "topic")
    clone.git("remote", "set-head", "upstream", "main")
    found = tracking(clone)
    assert found is not None
    assert found.name == "upstream/main"


def test_of_several_remotes_without_an_origin_none_is_guessed(clone: GitRepo) -> None:
    clone.git("checkout", "-q", "--no-track", "-b", "topic")
    for name in ("one", "two"):
        clone.git("update-ref", f"refs/remotes/{name}/main", "HEAD")
        clone.git("symbolic-ref", f"refs/remotes/{name}/HEAD", f"refs/remotes/{name}/main")
    clone.git("symbolic-ref", "-d", "refs/remotes/origin/HEAD")
    assert tracking(clone) is None
    clone.git("update-ref", "refs/remotes/origin/HEAD", "HEAD")
    found = tracking(clone)
    assert found is not None
    assert found.name == "origin/HEAD"  # which names no branch
    clone.git("update-ref", "-d", "refs/remotes/origin/HEAD")
    clone.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
    assert tracking(clone) is None


def test_there_is_nothing_to_compare_without_remotes_commits_or_a_branch(
    repo: GitRepo, clone: GitRepo
) -> None:
    assert tracking(repo) is None
    clone.git("checkout", "-q", "--detach")
    assert tracking(clone) is None
    assert tracking(GitRepo.create(repo.path / "empty")) is None


def test_an_upstream_that_is_not_in_this_clone_has_no_commit(clone: GitRepo) -> None:
    clone.git("update-ref", "-d", "refs/remotes/origin/main")
    head = clone.git("rev-parse", "HEAD")
    assert tracking(clone) == Tracking("main", head, "origin/main", "", True, 0, 0, frozenset())


def test_a_local_branch_can_be_an_upstream(clone: GitRepo) -> None:
    clone.git("checkout", "-q", "-b", "topic", "--track", "main")
    found = tracking(clone)
    assert found is not None
    assert (found.name, found.tracked, found.behind) == ("main", True, 0)


def test_what_is_unfinished_is_not_judged(repo: GitRepo, clone: GitRepo) -> None:
    clone.write(PATH, "mine\n")
    clone.commit("mine")
    advance(repo, clone)
    assert clone.exit_code("merge", "-q", "origin/main") != 0
    assert tracking(clone) is None
    clone.git("merge", "--abort")
    assert tracking(clone) is not None
    assert clone.exit_code("rebase", "-q", "origin/main") != 0
    assert tracking(clone) is None


def test_the_versions_of_what_both_sides_hold_are_read(repo: GitRepo, clone: GitRepo) -> None:
    clone.write(PATH, "mine\n")
    clone.commit("mine")
    advance(repo, clone, "new\n", "sub/.checkpoints/audit.checkpoint.json")
    advance(repo, clone)
    found = tracking(clone)
    assert found is not None
    touched = read_diverged_files(str(clone.path), found, offline_env(os.environ))
    assert [
        (file.path, [base.data for base in file.bases], file.first, file.second)
        for file in touched.files
    ] == [
        (PATH, [b"base\n"], b"mine\n", b"theirs\n"),
        ("sub/.checkpoints/audit.checkpoint.json", [None], None, b"new\n"),
    ]


def test_a_shallow_clone_without_the_base_says_so(
    repo: GitRepo, clone: GitRepo, tmp_path: Path
) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.write(PATH, "topic\n")
    repo.commit("topic")
    repo.git("checkout", "-q", "main")
    repo.write(PATH, "main\n")
    repo.commit("main")
    shallow = tmp_path / "shallow"
    repo.git(
        "clone", "-q", "--depth", "1", "--no-single-branch", f"file://{repo.path}", str(shallow)
    )
    cut = GitRepo(shallow)
    cut.git("checkout", "-q", "topic")
    cut.git("branch", "-q", "--set-upstream-to", "origin/main")
    found = tracking(cut)
    assert found is not None
    with pytest.raises(CheckpointError, match="not in this clone"):
        read_diverged_files(str(shallow), found, offline_env(os.environ))


@pytest.mark.parametrize(
    ("settings", "rebases"),
    [({}, False), ({"pull.rebase": "true"}, True), ({"pull.rebase": "merges"}, True),
     ({"pull.rebase": "true", "branch.main.rebase": "false"}, False), ({"branch.main.rebase": "true"}, True),
     ({"branch.other.rebase": "true"}, False)],
)  # fmt: skip
def test_how_a_pull_goes_is_configured(
    repo: GitRepo, settings: dict[str, str], rebases: bool
) -> None:
    for key, value in settings.items():
        repo.git("config", key, value)
    found = read_settings(str(repo.path), "main", offline_env(os.environ))
    assert (found.installed, found.rebases) == (False, rebases)


def test_a_pull_merges_as_the_installed_driver_does(repo: GitRepo) -> None:
    drive(repo)
    found = read_settings(str(repo.path), "main", offline_env(os.environ))
    assert found == PullSettings(True, Choices(), rebases=False, stashes=False)


def test_an_untracked_file_is_in_the_way_of_a_new_one(repo: GitRepo) -> None:
    nothing = Tracking("main", "", "origin/main", "", True, 0, 1, frozenset())
    plain = PullSettings(False, Choices(), rebases=False, stashes=False)
    top = str(repo.path)
    assert not is_in_the_way(top, PATH, nothing, plain, is_new=True)
    repo.write(PATH, "untracked\n")
    assert is_in_the_way(top, PATH, nothing, plain, is_new=True)
    assert not is_in_the_way(top, PATH, nothing, plain, is_new=False)
    dirty = nothing._replace(dirty=frozenset({PATH}))
    assert is_in_the_way(top, PATH, dirty, plain, is_new=False)
    assert not is_in_the_way(top, PATH, dirty, plain._replace(stashes=True), is_new=False)


@pytest.mark.parametrize(
    ("settings", "stashes"),
    [({}, False), ({"merge.autoStash": "true"}, True), ({"rebase.autoStash": "true"}, False),
     ({"rebase.autoStash": "true", "pull.rebase": "true"}, True)],
)  # fmt: skip
def test_a_pull_may_put_aside_what_is_not_committed(
    repo: GitRepo, settings: dict[str, str], stashes: bool
) -> None:
    for key, value in settings.items():
        repo.git("config", key, value)
    assert read_settings(str(repo.path), "main", offline_env(os.environ)).stashes == stashes


def test_a_file_that_is_too_big_is_not_read(repo: GitRepo, clone: GitRepo) -> None:
    advance(repo, clone, "x" * (8 * 1024 * 1024 + 5))
    found = tracking(clone)
    assert found is not None
    (file,) = read_diverged_files(str(clone.path), found, offline_env(os.environ)).files
    assert file.first == b"base\n"
    assert file.second is not None
    assert len(file.second) == 8 * 1024 * 1024 + 1


def test_a_partial_clone_asks_no_server(repo: GitRepo, clone: GitRepo, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    repo.git("clone", "-q", "--filter=blob:none", f"file://{repo.path}", str(partial))
    work = GitRepo(partial)
    advance(repo, work)
    repo.write(PATH, "again\n")
    repo.commit("again")
    work.git("fetch", "-q")
    found = tracking(work)
    assert found is not None
    with pytest.raises(CheckpointError):
        read_diverged_files(str(partial), found, offline_env(os.environ))


def test_booleans_are_read_as_git_reads_them(repo: GitRepo) -> None:
    repo.git("config", "branch.main.rebase", "False")
    with (repo.path / ".git/config").open("a") as config:
        config.write("[pull]\n\trebase\n[merge]\n\tautostash\n")
    found = read_settings(str(repo.path), "main", offline_env(os.environ))
    assert (found.rebases, found.stashes) == (False, True)
    repo.git("config", "--unset", "branch.main.rebase")
    assert read_settings(str(repo.path), "main", offline_env(os.environ)).rebases
