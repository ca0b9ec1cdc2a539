"""The history questions, asked of real repositories."""

import subprocess
from pathlib import Path

import pytest

from checkpoint_git.git.history import history
from checkpoint_git.git.history.history import (
    Removal,
    find_renamed_folders,
    fits,
    is_shallow,
    read_changes,
    read_commit_at,
    read_removals,
    read_strangers,
    read_unchanged,
)
from checkpoint_git.git.history.log import has_commits
from checkpoint_git.git.history.reference_facts import read_facts
from checkpoint_git.git.refs import read_own_names
from tests.support.repos import GitRepo


def removals(repo: GitRepo, paths: list[str]) -> dict[str, Removal]:
    """Without what is told of the commits."""
    found = read_removals(str(repo.path), paths, 0)
    return {path: removal._replace(citation="") for path, removal in found.items()}


@pytest.fixture
def busy(repo: GitRepo) -> GitRepo:
    """A repository that merged #12, ABC-7 and #40, took #13 back, and mentions #14."""
    repo.commit("begin")
    repo.git("checkout", "-qb", "search")
    repo.write("search.py", "1")
    repo.commit("search")
    repo.git("checkout", "-q", "main")
    repo.git(
        "merge", "-q", "--no-ff", "-m", "Merge pull request #12 from ada/abc-7-search", "search"
    )
    repo.write("sort.py", "1")
    repo.commit("sort (#13)")
    repo.git("revert", "--no-edit", "HEAD")
    repo.commit("prepare the ground for #14")
    repo.commit("tidy\n\nCloses #40")
    return repo


def test_a_commit_without_a_date_is_read_as_any_other(busy: GitRepo) -> None:
    busy.git("mv", "search.py", "s.py")
    headers = f"tree {busy.git('write-tree')}\nparent {busy.git('rev-parse', 'HEAD')}\nauthor A <a> 1 +0000\n"
    words = ("git", "hash-object", "-t", "commit", "-w", "--literally", "--stdin")
    damaged = (
        busy.run(*words, stdin=f"{headers}committer A\n\nmore (#41)\n".encode())
        .stdout.decode()
        .strip()
    )
    busy.git("reset", "-q", "--soft", damaged)
    assert read_facts(str(busy.path), [("#41", 0)], 1)["#41", 0].at == 0
    citation = f'{damaged[:9]} "more (#41)", 1970-01-01'
    assert read_removals(str(busy.path), ["search.py"], 0) == {
        "search.py": Removal(damaged, "s.py", citation)
    }
    (change,) = read_changes(str(busy.path), 0, frozenset({"s.py"}))
    assert (change.id, change.when) == (damaged, 0)


def test_a_repository_without_commits_has_no_history(repo: GitRepo) -> None:
    assert not has_commits(str(repo.path))
    assert read_changes(str(repo.path), 0, frozenset({"a"})) == []
    assert read_strangers(str(repo.path), ["1234567"]) == {"1234567": "unknown"}


def test_a_shallow_clone_says_that_it_is_one(busy: GitRepo, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    busy.git("clone", "-q", "--depth", "2", f"file://{busy.path}", str(clone))
    assert is_shallow(str(clone))
    assert not is_shallow(str(busy.path))


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("https://github.com/acme/App.git", {"acme/app"}),
        ("git@github.com:acme/app.git", {"acme/app"}),
        ("ssh://git@host:2222/group/sub/app/", {"group/sub/app"}),
        ("git@ssh.dev.azure.com:v3/acme/shop/app", {"acme/shop/app"}),
        ("/srv/git/origin.git", set()),
        ("file:///srv/git/origin.git", set()),
        ("../origin", set()),
    ],
)
def test_a_remote_on_a_host_says_what_the_repository_is_called(
    repo: GitRepo, url: str, names: set[str]
) -> None:
    repo.git("remote", "add", "origin", url)
    assert read_own_names(str(repo.path)) == names


def test_changes_come_newest_first_with_their_paths(repo: GitRepo) -> None:
    repo.write("src/a b.py", "1")
    repo.commit("one")
    repo.git("checkout", "-qb", "side")
    repo.write("ä.py", "1")
    repo.commit("side")
    repo.git("checkout", "-q", "main")
    repo.write("main.py", "1")
    repo.commit("main")
    repo.git("merge", "-q", "--no-ff", "-m", "join", "side")
    repo.commit("empty")
    watched = frozenset({"ä.py", "main.py", "src/a b.py"})
    assert [
        (change.subject, set(change.paths)) for change in read_changes(str(repo.path), 0, watched)
    ] == [
        ("join", {"ä.py"}),
        ("main", {"main.py"}),
        ("one", {"src/a b.py"}),
    ]
    assert [
        change.subject for change in read_changes(str(repo.path), 0, frozenset({"main.py"}))
    ] == ["main"]
    repo.git("mv", "main.py", "app.py")
    repo.commit("move")
    old_and_new = frozenset({"main.py", "app.py"})
    assert read_changes(str(repo.path), 0, old_and_new)[0].paths == old_and_new


def test_the_commit_at_an_instant_is_the_newest_of_heads_own_line(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit_at(when: int, *words: str) -> str:
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{when} +0000")
        repo.git(*words, "-m", "x")
        return repo.git("rev-parse", "HEAD")

    top = str(repo.path)
    empty = ("commit", "-q", "--allow-empty")
    assert read_commit_at(top, 5_000) == ""
    first = commit_at(1, *empty)
    repo.git("checkout", "-q", "-b", "side")
    commit_at(2_000, *empty)
    repo.git("checkout", "-q", "main")
    merge = commit_at(3_000, "merge", "-q", "--no-ff", "side")
    found = {when: read_commit_at(top, when) for when in (-9, 0, 1, 2_000, 2_999, 3_000)}
    assert found == {-9: "", 0: "", 1: first, 2_000: first, 2_999: first, 3_000: merge}


def test_no_name_of_a_file_passes_for_a_commit_or_a_status(repo: GitRepo) -> None:
    forged = f"{'f' * 40} 99 forged"
    hostile = [f"\x01{forged}", "D", "R100", forged]
    for name in (*hostile, "old.py", "watched.py"):
        repo.write(name, f"{name}\n" * 20)
    added = repo.commit("add")
    (change,) = read_changes(str(repo.path), 0, frozenset({"watched.py"}))
    assert (change.id, change.subject) == (added, "add")
    repo.git("rm", "-q", "watched.py", *hostile)
    repo.git("mv", "old.py", "new.py")
    removed = repo.commit("remove")
    assert removals(repo, [*hostile, "old.py", "watched.py"]) == {
        **dict.fromkeys(hostile, Removal(removed)),
        "old.py": Removal(removed, "new.py"),
        "watched.py": Removal(removed),
    }


def test_changes_before_the_instant_are_left_out(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for when in (1_000_000_000, 1_100_000_000):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{when} +0000")
        repo.write("a", str(when))
        repo.commit(f"at {when}")
    assert [
        change.when for change in read_changes(str(repo.path), 1_050_000_000, frozenset("a"))
    ] == [1_100_000_000]


def test_a_commit_outside_heads_history_is_told_from_an_unknown_one(repo: GitRepo) -> None:
    first = repo.commit("first")
    repo.git("checkout", "-qb", "side")
    side = repo.commit("side")
    repo.git("checkout", "-q", "main")
    last = repo.commit("last")
    repo.git("tag", "-a", "-m", "v1", "v1")
    tag = repo.git("rev-parse", "v1")
    asked = [
        first,
        first[:8],
        last,
        tag,
        side,
        side[:10],
        "deadbeef",
        "0123456789abcdef0123456789abcdef01234567",
    ]
    assert read_strangers(str(repo.path), asked) == {
        side: "elsewhere",
        side[:10]: "elsewhere",
        "deadbeef": "unknown",
        "0123456789abcdef0123456789abcdef01234567": "unknown",
    }


def test_a_repository_of_sha256_works_the_same(tmp_path: Path) -> None:
    if (
        subprocess.run(
            ["git", "init", "-q", "--object-format=sha256", str(tmp_path / "probe")]
        ).returncode
        != 0
    ):
        pytest.skip("this git has no sha256 repositories")
    repo = GitRepo.create(tmp_path / "repo", "--object-format=sha256")
    repo.write("a", "1")
    head = repo.commit("search (#12)")
    assert read_strangers(str(repo.path), [head, head[:12]]) == {}
    assert [change.paths for change in read_changes(str(repo.path), 0, frozenset("a"))] == [
        frozenset({"a"})
    ]


def test_many_paths_are_looked_for_as_few_are(repo: GitRepo) -> None:
    for name in ("old.py", "gone.py", "src/all/a.py"):
        repo.write(name, f"{name}\n" * 20)
    repo.commit("begin")
    repo.git("mv", "old.py", "new.py")
    repo.git("rm", "-q", "gone.py")
    changed = repo.commit("move one, remove one")
    repo.git("rm", "-q", "-r", "src")
    removed = repo.commit("remove a folder")
    expected = {
        "old.py": Removal(changed, "new.py"),
        "gone.py": Removal(changed),
        "src/all": Removal(removed),
    }
    repo.git("config", "diff.renames", "false")
    never = [f"never/{number}.py" for number in range(200)]
    assert removals(repo, [*expected]) == expected
    assert removals(repo, [*never, *expected]) == expected


def test_a_pattern_is_removed_with_the_last_of_its_files_and_the_commit_is_told(
    repo: GitRepo,
) -> None:
    for name in ("src/a.py", "src/b.py", "src/sub/c.py", "top.py"):
        repo.write(name, f"{name}\n" * 20)
    repo.commit("begin")
    repo.git("rm", "-q", "src/a.py")
    repo.commit("remove one")
    repo.git("mv", "src", "lib")
    repo.git("mv", "top.py", "lib/top.py")
    moved = repo.commit("move the rest")
    found = read_removals(str(repo.path), ["src/*.py", "src/**/*.py", "*.py", "src/*.js"], 0)
    assert {path: removal.new_name for path, removal in found.items()} == {
        "src/*.py": "lib/*.py",
        "src/**/*.py": "lib/**/*.py",
        "*.py": "lib/*.py",
    }
    assert found["src/*.py"].citation.startswith(f'{moved[:9]} "move the rest", 20')


def test_paths_that_look_like_options_or_patterns_are_names(repo: GitRepo) -> None:
    repo.write("--all", "1")
    repo.write("[a].py", "1")
    repo.commit("begin")
    repo.git("rm", "-q", "--", "--all", ":(literal)[a].py")
    removed = repo.commit("remove")
    assert removals(repo, ["--all", "[a].py", "a.py", ":/"]) == {
        "--all": Removal(removed),
        "[a].py": Removal(removed),
    }


def test_what_removed_a_path_is_found_in_heads_history_alone(repo: GitRepo) -> None:
    paths = ["a.py", "b/", "never.py", "/"]
    assert removals(repo, paths) == {}
    for name in ("a.py", "b/b.py", "c.py"):
        repo.write(name, f"{name}\n" * 20)
    repo.commit("begin")
    assert removals(repo, paths) == {}
    repo.git("rm", "-q", "a.py")
    first = repo.commit("remove one")
    repo.git("rm", "-q", "-r", "b")
    second = repo.commit("remove a folder")
    assert removals(repo, paths) == {"a.py": Removal(first), "b": Removal(second)}
    repo.git("reset", "-q", "--hard", first)
    assert removals(repo, paths) == {"a.py": Removal(first)}


def test_removals_older_than_the_instant_or_too_deep_are_not_looked_for(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        repo.write(name, name)
    for when, name in enumerate(("", "a", "b", "c"), 1_500_000_000):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{when} +0000")
        if name:
            repo.git("rm", "-q", name)
        repo.commit(f"without {name}")
    paths = ["a", "b", "c"]
    assert set(read_removals(str(repo.path), paths, 1_500_000_002)) == {"b", "c"}
    monkeypatch.setattr(history, "_MAX_DEPTH", 2)
    assert set(removals(repo, paths)) == {"b", "c"}


def test_a_removal_is_found_where_a_partial_clone_cannot_tell_a_rename(
    repo: GitRepo, tmp_path: Path
) -> None:
    repo.write("old.py", "line\n" * 20)
    repo.commit("begin")
    repo.git("mv", "old.py", "new.py")
    repo.write("new.py", "line\n" * 21)
    removed = repo.commit("move")
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    words = ("clone", "-q", "--filter=blob:none", "--no-checkout")
    repo.git(*words, f"file://{repo.path}", str(clone))
    assert read_removals(str(repo.path), ["old.py"], 0)["old.py"].new_name == "new.py"
    assert read_removals(str(clone), ["old.py"], 0) == {"old.py": Removal(removed, "", removed[:9])}


def test_a_pattern_names_paths_by_their_parts_and_two_stars_any_folders_or_none() -> None:
    rows = {
        "*.py": {"a.py"},
        "src/*.py": {"src/a.py"},
        "src/?.p[xy]": {"src/a.py"},
        "src/**/*.py": {"src/a.py", "src/sub/b.py", "src/sub/deep/c.py"},
        "src/**/sub/**/c.py": {"src/sub/deep/c.py"},
        "**/sub/*.py": {"src/sub/b.py"},
        "s*": {"src"},
        "**/b.py": {"src/sub/b.py"},
        "src/**/b.py": {"src/sub/b.py"},
        "src/**": {"src", "src/a.py", "src/sub/b.py", "src/sub/deep/c.py"},
        "src/**.py": {"src/a.py"},
        "src/*": {"src/a.py"},
    }
    paths = ["a.py", "src", "src/a.py", "src/sub/b.py", "src/sub/deep/c.py"]
    found = {pattern: {path for path in paths if fits(path, pattern)} for pattern in rows}
    assert found == rows


def test_a_folder_went_where_more_than_half_of_its_files_went() -> None:
    def find(*targets: str) -> dict[tuple[str, str], str]:
        renames = {
            ("c1", f"old/{number}"): f"{target}/{number}" for number, target in enumerate(targets)
        }
        return find_renamed_folders(renames, [("c1", "old")])

    assert find("new") == {("c1", "old"): "new"}
    assert find("new", "new", "other") == {("c1", "old"): "new"}
    assert find("new", "other") == {}
    assert find("new", "other", "third") == {}
    assert find_renamed_folders({("c1", "old/a"): "new/a"}, [("c2", "old")]) == {}
    # renamed, and no folder with it
    assert find_renamed_folders({("c1", "old/a"): "new/b"}, [("c1", "old")]) == {}


def test_a_file_is_unchanged_under_its_name_or_another_and_an_unknown_commit_says_nothing(
    repo: GitRepo,
) -> None:
    for name in ("same", "moved", "changed"):
        repo.write(name, f"{name}\n" * 9)
    first = repo.commit()
    repo.git("mv", "moved", "elsewhere")
    repo.write("changed", "2\n")
    repo.commit()
    asked = [(first, name) for name in ("same", "elsewhere", "changed", "none")]
    unknown = [("f" * 40, "same"), ("f" * 40, "none"), (first, "a\nb")]
    assert read_unchanged(str(repo.path), [*asked, *unknown]) == {
        (first, "same"),
        (first, "elsewhere"),
    }
