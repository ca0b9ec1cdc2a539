"""Paths that somebody wrote down, looked up in real repositories."""

import os
from pathlib import Path

import pytest

from checkpoint_git.git.paths import Fate, Lookup, find_state, read_fates, relative_to_top
from tests.support.repos import GitRepo


def fates(repo: GitRepo, paths: list[str]) -> dict[str, Fate]:
    """Without what is told of the commits."""
    return {
        path: fate._replace(citation="")
        for path, fate in read_fates(str(repo.path), paths, since=0).items()
    }


def state(repo: GitRepo, path: str, root: str = "") -> str:
    return find_state(path, str(repo.path / root), str(repo.path))


def test_a_path_a_folder_and_a_pattern_are_found(repo: GitRepo) -> None:
    repo.write("src/pages/[id].astro", "x")
    repo.write("src/a/deep/b.ts", "x")
    for path in (
        "src/pages/[id].astro",
        "src/",
        "src",
        "./src/a",
        "src/**/b.ts",
        "**/deep",
        "src/*/deep/?.ts",
        "src/a/**",
    ):
        assert state(repo, path) == "there", path
    for path in ("src/pages/id.astro", "src/**/c.ts", "src/*.ts", "nope", ""):
        assert state(repo, path) == ("there" if path == "" else "missing"), path


def test_patterns_search_neither_gits_own_folder_nor_more_than_they_may(repo: GitRepo) -> None:
    for name in ("a/x", "a/y", "b/c/z", "[id].astro"):
        repo.write(name, "x")
    assert state(repo, "**/HEAD") == state(repo, "*/HEAD") == "missing"
    assert state(repo, ".git/HEA?") == "there"
    assert state(repo, "a/x/**") == state(repo, "a/*/x") == "missing"
    assert state(repo, "**/c/*") == state(repo, "**/**/z") == state(repo, "./b/../a/?") == "there"

    top = str(repo.path)
    # the top has .git, [id].astro, a and b
    for pattern, budget, found in (("a*/q", 3, "there"), ("z*", 4, "missing"), ("z*", 3, "there")):
        assert find_state(pattern, top, top, iter(range(budget))) == found


def test_an_ordinary_name_is_looked_at_once_and_resolved_nowhere(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("aa", "src/b-c.d/e f", "src/.g"):
        repo.write(name, "x")
    top = str(repo.path)
    asked: list[str] = []

    def note(path: str, *_: object) -> str:
        asked.append(path)
        return "missing"

    monkeypatch.setattr("checkpoint_git.git.paths.relative_to_top", None)
    monkeypatch.setattr("checkpoint_git.git.paths.find_state", note)
    lookup = Lookup(top, top)
    for path in ("aa", "src", "src/b-c.d/e f", "src/.g"):
        assert lookup.find_state(path) == "there"
        assert lookup.find_names(path) == (path,)
    assert asked == []
    for path in ("gone", "gone", "src/", "./aa", "src//.g", "aa/b", "gone"):
        assert lookup.find_state(path) == "missing"
    assert asked == ["gone", "src/", "./aa", "src//.g", "aa/b"]


def test_many_paths_are_looked_up_as_single_ones_are(repo: GitRepo, tmp_path: Path) -> None:
    deep = "/".join(["d"] * 120)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/secret").touch()
    repo.write("src/a", "x")
    repo.write(f"{deep}/a", "x")
    (repo.path / "out").symlink_to(tmp_path / "elsewhere")
    (repo.path / "in").symlink_to("src")
    lookup = Lookup(str(repo.path), str(repo.path))
    paths = [
        "src/a",
        "src",
        "src//a",
        "src/../src/a",
        "in",
        "in/a",
        "out",
        "out/a",
        "out/secret",
        "nope/a",
        "src/a/b",
        "../x",
        "~/x",
    ]
    for path in (
        *paths,
        f"{deep}/a",
        f"{deep}/b",
        "a/" * 2_000 + "b",
        "a" * 5_000,
        "a\0b",
        "src/*",
    ):
        assert lookup.find_state(path) == find_state(path, str(repo.path), str(repo.path)), path
        assert list(lookup.find_names(path)) == relative_to_top(
            path, str(repo.path), str(repo.path)
        ), path


def test_a_project_is_looked_up_in_a_repository_that_is_the_root_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").touch()
    name = str(tmp_path / "folder/file")[1:]
    for root, top in ((str(tmp_path), "/"), ("/", "/"), (str(tmp_path), str(tmp_path / "other"))):
        lookup = Lookup(root, top)
        for path in ("folder/file", "folder/gone", name, "gone"):
            assert lookup.find_state(path) == find_state(path, root, top), (path, root)
    assert Lookup(str(tmp_path), "/").find_state("folder/file") == "there"
    assert Lookup("/", "/").find_names(name) == (name,)


def test_an_absolute_path_inside_counts_and_one_outside_is_not_looked_at(
    repo: GitRepo, tmp_path: Path
) -> None:
    repo.write("a", "x")
    (tmp_path / "secret").write_text("x")
    assert state(repo, str(repo.path / "a")) == "there"
    assert state(repo, str(tmp_path / "secret")) == "outside"
    assert state(repo, "../secret") == "outside"
    assert state(repo, "~/secret") == "outside"
    assert state(repo, "a\0b") == "outside"
    assert state(repo, "a\ud800") == "outside"
    assert state(repo, str(repo.path)) == "there"
    assert state(repo, f"{repo.path}-secret") == "outside"
    assert relative_to_top("etc/../usr", "/", "/") == relative_to_top("/usr", "/x", "/") == ["usr"]


def test_a_symbolic_link_out_of_the_repository_is_not_followed(
    repo: GitRepo, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("x")
    (repo.path / "link").symlink_to(outside)
    (repo.path / "loop").symlink_to(".")
    (repo.path / "nowhere").symlink_to("gone")
    # whether it exists is not told
    assert state(repo, "link/f") == state(repo, "link/gone") == "outside"
    assert state(repo, "**/f") == state(repo, "*/f") == state(repo, "l*/**") == "missing"
    assert state(repo, "l*") == "there"
    assert state(repo, "nowhere") == "missing"


def test_in_a_monorepo_a_path_may_count_from_the_project_or_from_the_top(repo: GitRepo) -> None:
    repo.write("packages/one/src/a.ts", "x")
    assert state(repo, "src/a.ts", "packages/one") == "there"
    assert state(repo, "packages/one/src/a.ts", "packages/one") == "there"
    root, top = str(repo.path / "packages/one"), str(repo.path)
    assert relative_to_top("src/a.ts", root, top) == ["packages/one/src/a.ts", "src/a.ts"]
    assert relative_to_top("../../../etc/passwd", root, top) == []


def test_a_renamed_file_is_followed_to_its_present_name(repo: GitRepo) -> None:
    repo.write("one.txt", "some content that is long enough to be recognised\n" * 5)
    repo.commit()
    for old, new in (("one.txt", "two.txt"), ("two.txt", "lib/three.txt")):
        (repo.path / "lib").mkdir(exist_ok=True)
        repo.git("mv", old, new)
        repo.commit()
    assert fates(repo, ["one.txt", "two.txt"]) == {
        "one.txt": Fate("renamed", "lib/three.txt"),
        "two.txt": Fate("renamed", "lib/three.txt"),
    }


def test_a_renamed_folder_is_followed_like_a_file(repo: GitRepo) -> None:
    for name in "abc":
        repo.write(f"src/old/{name}.py", f"{name} is long enough to be recognised\n" * 5)
    repo.commit()
    repo.git("mv", "src/old", "src/mid")
    repo.git("mv", "src/mid/c.py", "elsewhere.py")
    repo.commit()
    repo.git("mv", "src", "lib")
    repo.commit()
    assert fates(repo, ["src/old", "src/old/", "src"]) == {
        "src/old": Fate("renamed", "lib/mid"),
        "src/old/": Fate("renamed", "lib/mid/"),
        "src": Fate("renamed", "lib"),
    }


def test_a_folder_whose_files_went_different_ways_was_deleted(repo: GitRepo) -> None:
    for name in "ab":
        repo.write(f"src/{name}.py", f"{name} is long enough to be recognised\n" * 5)
    repo.commit()
    for name in "ab":
        (repo.path / name).mkdir()
        repo.git("mv", f"src/{name}.py", f"{name}/{name}.py")
    commit = repo.commit()[:9]
    assert fates(repo, ["src"]) == {"src": Fate("deleted", commit)}


def test_a_deleted_file_names_its_commit_and_a_folder_too(repo: GitRepo) -> None:
    repo.write("gone/a.txt", "a")
    repo.write("ä b.txt", "b")
    repo.commit()
    repo.git("rm", "-rq", "gone", "ä b.txt")
    commit = repo.commit()[:9]
    assert fates(repo, ["gone/a.txt", "gone/", "ä b.txt"]) == dict.fromkeys(
        ["gone/a.txt", "gone/", "ä b.txt"], Fate("deleted", commit)
    )


def test_what_git_never_had_is_told_from_what_it_ignores(repo: GitRepo) -> None:
    repo.write(".gitignore", "dist/\n")
    repo.commit()
    assert fates(repo, ["never.txt", "dist/index.html"]) == {
        "never.txt": Fate("unknown"),
        "dist/index.html": Fate("ignored"),
    }


def test_the_end_of_exactly_one_tracked_path_is_told_from_an_unknown_one(repo: GitRepo) -> None:
    for name in ("src/a/b.py", "src/a/twice.py", "twice.py/x", "lib/twice.py", "src/gone.py"):
        repo.write(name, name)
    repo.commit()
    (repo.path / "src/gone.py").unlink()
    assert fates(repo, ["b.py", "a/b.py", ".py", "twice.py/", "gone.py", "other/b.py"]) == {
        "b.py": Fate("longer", "src/a/b.py"),
        "a/b.py": Fate("longer", "src/a/b.py"),
        **dict.fromkeys([".py", "gone.py", "other/b.py"], Fate("unknown")),
        "twice.py/": Fate("uncommitted"),
    }
    (repo.path / "twice.py/x").unlink()
    (repo.path / "twice.py").rmdir()
    repo.commit()
    assert fates(repo, ["a/twice.py"])["a/twice.py"].detail == "src/a/twice.py"
    assert fates(repo, ["twice.py/y"]) == {"twice.py/y": Fate("unknown")}


def test_a_removal_that_is_not_committed_yet_is_said(repo: GitRepo) -> None:
    repo.write("src/a.txt", "a")
    repo.commit()
    (repo.path / "src/a.txt").unlink()
    assert fates(repo, ["src/a.txt"]) == {"src/a.txt": Fate("uncommitted")}
    assert fates(repo, ["src/"]) == {"src/": Fate("uncommitted")}
    assert fates(repo, ["src/*.txt", "*/b.txt"]) == {
        "src/*.txt": Fate("uncommitted"),
        "*/b.txt": Fate("unknown"),
    }


def test_a_rename_that_is_only_staged_is_followed_and_a_staged_removal_said(repo: GitRepo) -> None:
    for name in ("src/old/a.py", "src/old/b.py", "one.py", "gone.py"):
        repo.write(name, f"{name} is long enough to be recognised\n" * 5)
    repo.commit()
    repo.git("mv", "src/old", "src/new")
    repo.git("mv", "one.py", "two.py")
    repo.git("rm", "-q", "gone.py")
    assert fates(repo, ["src/old/", "src/old/*.py", "src/old/a.py", "one.py", "gone.py"]) == {
        "src/old/": Fate("renamed", "src/new/"),
        "src/old/*.py": Fate("renamed", "src/new/*.py"),
        "src/old/a.py": Fate("renamed", "src/new/a.py"),
        "one.py": Fate("renamed", "two.py"),
        "gone.py": Fate("uncommitted"),
    }


def test_in_a_submodule_nothing_is_said_to_be_unknown_to_git(repo: GitRepo, tmp_path: Path) -> None:
    repo.write("src/a.py", "a")
    repo.write(".gitignore", "dist/\n")
    repo.commit()
    (tmp_path / "outer").mkdir()
    outer = GitRepo(tmp_path / "outer")
    outer.git("init", "-q", "-b", "main")
    outer.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo.path), "libs/sub"
    )
    outer.write(".gitignore", "dist/\n")
    outer.commit()
    paths = ["libs/sub/src/b.py", "libs/sub/*.md", "dist/x", "libs/nope.py"]
    assert fates(outer, paths) == {
        "libs/sub/src/b.py": Fate(""),
        "libs/sub/*.md": Fate(""),
        "dist/x": Fate("ignored"),
        "libs/nope.py": Fate("unknown"),
    }
    assert fates(outer, paths[:2]) == dict.fromkeys(paths[:2], Fate(""))
    outer.git("submodule", "deinit", "-q", "-f", "libs/sub")
    assert fates(outer, paths) == {"dist/x": Fate("ignored"), "libs/nope.py": Fate("unknown")}


def test_damaged_files_of_git_hide_no_fate_that_history_knows(repo: GitRepo) -> None:
    repo.write(".gitmodules", "[submodule\n")
    repo.write("a", "1\n")
    repo.commit()
    repo.git("rm", "-q", "a")
    commit = repo.commit()[:9]
    repo.write(".git/index", "DIRC")
    found = {"a": Fate("deleted", commit), "never": Fate("unknown")}
    assert fates(repo, [*found]) == found


def test_what_a_sparse_checkout_leaves_out_is_not_missing(repo: GitRepo) -> None:
    repo.write("in/a.txt", "a")
    repo.write("out/b.txt", "b")
    repo.commit()
    repo.git("sparse-checkout", "set", "in")
    assert state(repo, "out/b.txt") == "missing"
    assert fates(repo, ["out/b.txt", "out"]) == {}


def test_more_paths_than_git_is_asked_about_one_by_one_have_the_same_fates(repo: GitRepo) -> None:
    repo.write(".gitignore", "dist/\n")
    for name in ("in/kept", "in/gone", "out/b"):
        repo.write(name, f"{name} is long enough to be recognised\n" * 5)
    repo.commit()
    (repo.path / "in/gone").unlink()
    repo.git("sparse-checkout", "set", "in")
    asked = {
        "in/gone": Fate("uncommitted"),
        "dist/x": Fate("ignored"),
        "never": Fate("unknown"),
        "gone": Fate("unknown"),  # it is the end of one path, which is gone, too
        "kept": Fate("longer", "in/kept"),
    }
    assert fates(repo, [*asked, "out/b"]) == asked
    assert fates(repo, [*asked, "out/b", "*.never"]) == {**asked, "*.never": Fate("unknown")}
    many = [f"never/{number}/x" for number in range(100)]
    found = fates(repo, [*asked, "out/b", *many])
    assert found == {**asked, **dict.fromkeys(many, Fate("unknown"))}


def test_what_is_staged_beside_a_pattern_is_no_rename_of_it(repo: GitRepo) -> None:
    repo.write("a", "1\n")
    repo.write("b", "1\n")
    repo.commit()
    repo.write("a", "2\n")
    repo.git("add", "a")
    assert fates(repo, ["*"]) == {"*": Fate("uncommitted")}


def test_a_removal_is_looked_for_in_commits_since_a_day_and_cited(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a", "1\n")
    repo.commit()
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@1772452800 +0000")
    repo.git("rm", "-q", "a")
    commit = repo.commit("Remove a")
    top = str(repo.path)
    (fate,) = read_fates(top, ["a"], 1_772_452_800).values()
    assert (fate.kind, fate.detail) == ("deleted", commit[:9])
    assert "Remove a" in fate.citation
    assert read_fates(top, ["a"], 1_772_452_801) == {"a": Fate("unknown")}
    monkeypatch.setattr("subprocess.Popen", None)
    assert read_fates(top, [], 0) == {}


def test_a_name_that_was_renamed_and_then_removed_is_deleted(repo: GitRepo) -> None:
    repo.write("one/a.txt", "some content that is long enough to be recognised\n" * 5)
    repo.commit()
    repo.git("mv", "one", "two")
    repo.commit()
    repo.git("rm", "-rq", "two")
    commit = repo.commit()[:9]
    gone = ["one/a.txt", "one/", "two"]
    assert fates(repo, gone) == dict.fromkeys(gone, Fate("deleted", commit))


def test_a_shallow_clone_says_of_no_path_that_git_never_had_it(
    repo: GitRepo, tmp_path: Path
) -> None:
    repo.write("src/a.txt", "a")
    repo.write("src/b.txt", "b")
    repo.commit()
    repo.git("rm", "-q", "src/a.txt")
    repo.commit()
    repo.write("src/b.txt", "c")
    repo.commit()
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    asked = ["src/a.txt", "src/never.txt"]
    assert read_fates(str(tmp_path / "shallow"), asked, 0) == dict.fromkeys(asked, Fate("cut"))
    assert [fate.kind for fate in fates(repo, asked).values()] == ["deleted", "unknown"]


def test_without_commits_nothing_is_known(repo: GitRepo) -> None:
    assert fates(repo, ["a"]) == {"a": Fate("unknown")}


@pytest.mark.parametrize("path", [":(top)a", "--help", ":/a", "-z"])
def test_a_path_that_git_could_take_for_something_else_is_taken_literally(
    repo: GitRepo, path: str
) -> None:
    repo.write("a", "1")
    repo.commit()
    assert fates(repo, [path]) == {path: Fate("unknown")}


def test_of_many_patterns_few_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(30):
        (tmp_path / f"f{at}.py").touch()
    listed: list[str] = []
    scan = os.scandir

    def note(path: str) -> object:
        listed.append(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", note)
    lookup = Lookup(str(tmp_path), str(tmp_path))
    states = [lookup.find_state(f"x{at}*.ts") for at in range(20_000)]
    # nobody has looked for the rest, and nobody complains
    assert states == ["missing"] * 100 + ["there"] * 19_900
    assert len(listed) == 100
    assert lookup.find_state("f1.py") == "there"
    assert lookup.find_state("f31.py") == "missing"
