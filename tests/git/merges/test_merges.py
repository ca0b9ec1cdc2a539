"""Merge commits in real repositories: which are found, their bases, and the versions of each
file.
"""

from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git import objects
from checkpoint_git.git.merges import merges
from checkpoint_git.git.merges.bases import MergeBase, read_all_bases, read_bases
from checkpoint_git.git.merges.merges import (
    MergeCommit,
    Versions,
    read_commits,
    read_contents,
    read_cut_ends,
    read_files_at,
    read_later_versions,
    read_outside,
    read_recent_merges,
    read_touched,
    read_touched_each,
    read_touching_merges,
)
from checkpoint_git.git.objects import read_commit
from checkpoint_git.git.run import Env
from tests.support.repos import GitRepo, copy_built
from tests.support.streams import Content, Entry, Stream

PATH = ".checkpoints/build.checkpoint.json"
OTHER = "sub/.checkpoints/audit.checkpoint.json"


def branch(repo: GitRepo, name: str, start: str, **files: str) -> str:
    """A branch with one commit that writes files; their names have "_" for what a keyword cannot
    hold.
    """
    repo.git("checkout", "-q", "-b", name, start)
    for path, text in files.items():
        repo.write(PATH if path == "build" else OTHER if path == "audit" else path, text)
    return repo.commit(name)


def merge(repo: GitRepo, *others: str, **files: str) -> str:
    """A merge into the branch that is checked out, with the content given; its id."""
    repo.run("git", "merge", "-q", "--no-commit", "--allow-unrelated-histories", *others)
    for path, text in files.items():
        repo.write(PATH if path == "build" else OTHER, text)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "a merge")
    return repo.git("rev-parse", "HEAD")


@pytest.fixture
def diverged(repo: GitRepo) -> GitRepo:
    """Two branches that both changed one checkpoint; left is checked out."""
    copy_built(build_diverged, repo.path)
    return repo


def build_diverged(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    repo.diverge({PATH: "base\n", "readme": "x\n"}, left={PATH: "left\n"}, right={PATH: "right\n"})


def commit_of(cwd: str, rev: str) -> MergeCommit:
    (commit,) = read_commits(cwd, [read_commit(cwd, rev)])
    return commit


def find_merges(repo: GitRepo, revisions: str) -> list[str]:
    """Those that touch checkpoints."""
    ids = repo.git("rev-list", "--merges", revisions).split()
    return [commit.id for commit in read_touching_merges(str(repo.path), ids)]


def touched(repo: GitRepo, rev: str = "HEAD") -> list[Versions]:
    cwd = str(repo.path)
    return read_touched(cwd, commit_of(cwd, rev)).files


def test_a_commit_is_read_as_it_was_made(repo: GitRepo) -> None:
    tree = repo.run("git", "hash-object", "-w", "-t", "tree", "--stdin").stdout.decode().strip()
    parents = [repo.git("commit-tree", tree, "-m", name) for name in ("a", "b")]
    ada = "Ada <ada@example.org> 1772452800 +0000"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {ada}", f"committer {ada}", "mergetag object 1", f" tree {parents[0]}"]
    lines += [f" parent {tree}", "", "", "a subject"]
    data = "\n".join(lines).encode() + b" \xff\ntree of the body\n\nparent\n"
    made = repo.run("git", "hash-object", "-w", "-t", "commit", "--stdin", stdin=data)
    commit = made.stdout.decode().strip()
    assert read_commits(str(repo.path), [commit, parents[0]]) == [
        MergeCommit(commit, tree, (parents[0], parents[1]), "a subject \ufffd"),
        MergeCommit(parents[0], tree, (), "a"),
    ]


def test_a_merge_has_every_version_of_a_file_that_both_sides_changed(diverged: GitRepo) -> None:
    merge(diverged, "right", build="both\n")
    (file,) = touched(diverged)
    assert file[:2] == (PATH, "")
    assert [base.data for base in file.bases] == [b"base\n"]
    assert (file.first, file.second, file.result, file.parents) == (
        b"left\n",
        b"right\n",
        b"both\n",
        (1, 2),
    )

    cwd = str(diverged.path)
    commit = commit_of(cwd, "HEAD")
    assert read_touched(cwd, commit._replace(tree="")) == read_touched(cwd, commit)
    unknown = commit._replace(parents=("1" * 40, commit.parents[1]))
    with pytest.raises(CheckpointError, match="commit 111111111111 is not in this") as raised:
        read_touched(cwd, unknown)
    assert "--unshallow" in str(raised.value.hint)


def test_each_merge_is_read_and_one_that_is_damaged_is_an_error_alone(
    diverged: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    cwd = str(diverged.path)
    sides = [diverged.git("rev-parse", name) for name in ("left", "right")]
    parents = [word for side in sides for word in ("-p", side)]
    branch(diverged, "lost", "left", build="lost\n")
    ids = [
        diverged.git("commit-tree", f"{tree}^{{tree}}", *parents, "-m", "merge")
        for tree in ("main", "lost", "left", "right")
    ]
    merged = read_commits(cwd, ids)
    damaged = merged[1]
    # as in a clone that was cut off
    lacking = damaged._replace(parents=(sides[0], "1" * 40))
    blob = diverged.git("rev-parse", f"lost:{PATH}")
    (diverged.path / ".git/objects" / blob[:2] / blob[2:]).unlink()

    whole = [read_touched(cwd, merged[number]) for number in (0, 2, 3)]
    for at_once in (64, 2):
        monkeypatch.setattr(merges, "AT_ONCE", at_once)
        first, lost, cut, *others = read_touched_each(cwd, [*merged[:2], lacking, *merged[2:]])
        assert [first, *others] == whole
        assert [str(lost), str(cut)] == [
            f"git has no object {blob}",
            "111111111111 is not in this clone",
        ]
    with pytest.raises(CheckpointError, match="111111111111 is not in this clone"):
        list(read_touched_each(cwd, [lacking, damaged]))
    assert list(read_touched_each(cwd, [])) == []


def test_merges_are_read_part_by_part_where_the_history_as_a_whole_cannot_be(
    diverged: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = merge(diverged, "right", build="both\n")
    cwd = str(diverged.path)
    found = read_commits(cwd, [commit] * 3)
    known = read_touched(cwd, found[0])
    asked = []

    def read_some(
        cwd: str, sides: list[tuple[str, ...]], env: Env = None
    ) -> list[tuple[MergeBase, ...]]:
        asked.append(len(sides))
        if len(sides) > 2:
            raise CheckpointError("the history could not be read whole", "")
        return read_all_bases(cwd, sides, env)

    monkeypatch.setattr(merges, "AT_ONCE", 2)
    monkeypatch.setattr(merges, "read_all_bases", read_some)
    assert list(read_touched_each(cwd, found)) == [known] * 3
    assert asked == [3, 2, 1]


def test_a_file_taken_whole_from_the_only_side_that_changed_it_is_counted(
    diverged: GitRepo,
) -> None:
    branch(diverged, "more", "right", audit="new\n")
    diverged.git("checkout", "-q", "left")
    merge(diverged, "more", build="both\n")
    found = read_touched(str(diverged.path), commit_of(str(diverged.path), "HEAD"))
    assert ([file.path for file in found.files], found.whole) == ([PATH], 1)


def test_a_side_thrown_away_is_seen(diverged: GitRepo) -> None:
    branch(diverged, "more", "right", audit="new\n")
    diverged.git("checkout", "-q", "left")
    diverged.git("merge", "-q", "-s", "ours", "--no-edit", "more")
    assert [(file.path, file.second, file.result) for file in touched(diverged)] == [
        (PATH, b"right\n", b"left\n"),
        (OTHER, b"new\n", None),
    ]


def test_what_both_parents_had_and_the_merge_lost_is_seen(diverged: GitRepo) -> None:
    diverged.git("checkout", "-q", "-b", "twin", "left")
    diverged.write("readme", "y\n")
    diverged.commit("twin")
    diverged.git("checkout", "-q", "left")
    diverged.write("more", "z\n")
    diverged.commit("more")
    commit = merge(diverged, "twin", build="base\n")
    (file,) = touched(diverged)
    assert (file.first, file.second, file.result) == (b"left\n", b"left\n", b"base\n")
    assert find_merges(diverged, "left") == [commit]


def test_merges_that_touch_no_checkpoint_are_left_out_of_a_range(diverged: GitRepo) -> None:
    branch(diverged, "docs", "left", readme="y\n")
    diverged.git("checkout", "-q", "left")
    diverged.write("more", "z\n")
    diverged.commit("more")
    merge(diverged, "docs")
    commit = merge(diverged, "right", build="both\n")
    assert find_merges(diverged, "main..left") == [commit]
    assert find_merges(diverged, "left..main") == []


def test_a_file_renamed_on_one_side_is_one_file(diverged: GitRepo) -> None:
    text = "".join(f"line {number}\n" for number in range(30))
    diverged.git("checkout", "-q", "main")
    diverged.write(PATH, text)
    diverged.commit("longer")
    between = PATH.replace("build", "cat")
    branch(diverged, "changed", "main", **{"build": f"{text}more\n", between: "theirs\n"})
    diverged.git("checkout", "-q", "-b", "renamed", "main")
    new_path = PATH.replace("build", "craft")
    diverged.git("mv", PATH, new_path)
    diverged.write(new_path, f"first\n{text}")
    diverged.write(between, "theirs\n")
    diverged.commit("rename")
    diverged.git("merge", "-q", "--no-commit", "changed")
    diverged.write(between, "neither's\n")
    diverged.commit("merge")
    other, file = touched(diverged)
    assert (other.path, other.old_path, other.result) == (between, "", b"neither's\n")
    assert file[:2] == (new_path, PATH)
    assert (file.bases[0].data, file.first, file.second) == (
        text.encode(),
        f"first\n{text}".encode(),
        f"{text}more\n".encode(),
    )
    assert file.result == f"first\n{text}more\n".encode()


def test_a_file_removed_on_one_side_and_changed_on_the_other_has_both_told(
    diverged: GitRepo,
) -> None:
    diverged.git("rm", "-q", PATH)
    diverged.commit("gone")
    merge(diverged, "right", build="right\n")
    (file,) = touched(diverged)
    assert (file.first, file.second, file.result) == (None, b"right\n", b"right\n")


def test_unrelated_histories_have_no_base(diverged: GitRepo) -> None:
    diverged.git("checkout", "-q", "--orphan", "other")
    diverged.write(PATH, "other\n")
    diverged.commit("other")
    diverged.git("checkout", "-q", "left")
    merge(diverged, "other", build="both\n")
    (file,) = touched(diverged)
    assert (file.bases, file.first, file.second, file.result) == (
        (),
        b"left\n",
        b"other\n",
        b"both\n",
    )


def test_a_criss_cross_has_several_bases_and_what_is_below_them(diverged: GitRepo) -> None:
    left, right = (diverged.git("rev-parse", name) for name in ("left", "right"))
    merge(diverged, right, build="left again\n")
    diverged.git("checkout", "-q", "right")
    merge(diverged, left, build="right again\n")
    merge(diverged, "left", build="done\n")
    (file,) = touched(diverged)
    assert sorted(base.data or b"" for base in file.bases) == [b"left\n", b"right\n"]
    assert [[below.data for below in base.below] for base in file.bases] == [[], [b"base\n"]]
    assert len(read_bases(str(diverged.path), commit_of(str(diverged.path), "HEAD").parents)) == 2


def test_an_octopus_is_told_where_two_parents_changed_a_file(diverged: GitRepo) -> None:
    branch(diverged, "third", "main", audit="new\n")
    branch(diverged, "fourth", "main", audit="newer\n")
    tree = diverged.git("rev-parse", "left^{tree}")
    parents = [word for name in ("main", "left", "right", "third") for word in ("-p", name)]
    commit = diverged.git("commit-tree", tree, *parents, "-m", "octopus")
    found = read_touched(str(diverged.path), commit_of(str(diverged.path), commit))
    assert [
        (file.path, file.parents, file.first, file.second, file.result) for file in found.files
    ] == [
        (PATH, (2, 3), b"left\n", b"right\n", b"left\n"),
        (OTHER, (1, 4), None, b"new\n", None),
    ]
    assert found.crowded == []

    # the result is as no parent has it, whether the first, another or none changed the file
    for rev, names, expected in (
        ("fourth", ("left", "third", "main"), (b"left\n", b"base\n", b"base\n")),
        ("fourth", ("third", "left", "main"), (b"base\n", b"left\n", b"base\n")),
        ("left", ("main", "third", "fourth"), (b"base\n", b"base\n", b"left\n")),
    ):
        parents = [word for name in names for word in ("-p", name)]
        commit = diverged.git("commit-tree", f"{rev}^{{tree}}", *parents, "-m", "octopus")
        found = read_touched(str(diverged.path), commit_of(str(diverged.path), commit))
        file = next(file for file in found.files if file.path == PATH)
        assert (file.first, file.second, file.result) == expected
        assert file.parents == (1, 2)


def test_an_octopus_in_which_more_than_two_changed_a_file_is_said(diverged: GitRepo) -> None:
    branch(diverged, "third", "main", build="third\n")
    tree = diverged.git("rev-parse", "left^{tree}")
    parents = [word for name in ("left", "right", "third") for word in ("-p", name)]
    commit = diverged.git("commit-tree", tree, *parents, "-m", "octopus")
    found = read_touched(str(diverged.path), commit_of(str(diverged.path), commit))
    assert (found.files, found.crowded) == ([], [PATH])


def test_a_shallow_clone_says_what_it_lacks(diverged: GitRepo, tmp_path: Path) -> None:
    commit = merge(diverged, "right", build="both\n")
    shallow = tmp_path / "shallow"
    diverged.git(
        "clone", "-q", "--depth", "1", "--branch", "left", f"file://{diverged.path}", str(shallow)
    )
    with pytest.raises(CheckpointError) as caught:
        list(read_touched_each(str(shallow), [commit_of(str(shallow), "HEAD")]))
    assert "--unshallow" in str(caught.value.hint)
    whole = str(diverged.path)
    assert list(read_touched_each(whole, [commit_of(whole, "HEAD")])) == [
        read_touched(whole, commit_of(whole, "HEAD"))
    ]
    assert read_touching_merges(str(shallow), [commit]) == [commit_of(str(shallow), "HEAD")], (
        "nothing is known of it"
    )
    assert [
        found.id for found in read_cut_ends(str(shallow), "HEAD") if len(found.parents) > 1
    ] == [commit]
    assert read_cut_ends(str(diverged.path), "HEAD") == []


def test_a_shallow_clone_that_ends_at_the_parents_does_not_guess_a_base(
    diverged: GitRepo, tmp_path: Path
) -> None:
    merge(diverged, "right", build="both\n")
    shallow = tmp_path / "shallow"
    diverged.git(
        "clone", "-q", "--depth", "2", "--branch", "left", f"file://{diverged.path}", str(shallow)
    )
    with pytest.raises(CheckpointError, match="not in this clone"):
        read_touched(str(shallow), commit_of(str(shallow), "HEAD"))


def test_a_bare_repository_and_another_folder_will_do(
    diverged: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge(diverged, "right", build="both\n")
    bare = tmp_path / "bare.git"
    diverged.git("clone", "-q", "--bare", str(diverged.path), str(bare))
    for cwd, git_dir in ((bare, bare), (diverged.path / ".checkpoints", diverged.path / ".git")):
        monkeypatch.setenv("GIT_DIR", str(git_dir))
        found = read_touched(str(cwd), commit_of(str(cwd), "left"))
        assert [file.result for file in found.files] == [b"both\n"]


def test_a_symbolic_link_counts_as_no_file(diverged: GitRepo) -> None:
    (diverged.path / PATH).unlink()
    (diverged.path / PATH).symlink_to("/etc/hostname")
    diverged.commit("link")
    merge(diverged, "right")
    assert all(file.first is None for file in touched(diverged))


# the last merges

DAY = 86_400
NOW = 1_772_452_800


def test_the_last_merges_are_found_newest_first_and_old_ones_left_alone(
    diverged: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    cwd = str(diverged.path)
    assert read_recent_merges(cwd, NOW) == []
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{NOW - DAY} +0000")
    one = merge(diverged, "right", build="both\n")
    branch(diverged, "more", "right", readme="y\n")
    diverged.git("checkout", "-q", "left")
    two = merge(diverged, "more")
    assert read_recent_merges(cwd, NOW) == [two, one]
    assert read_recent_merges(cwd, NOW + 29 * DAY) == [two, one]
    assert read_recent_merges(cwd, NOW + 29 * DAY + 1) == []
    assert read_recent_merges(cwd, 0) == [two, one], "a clock that is wrong"


def test_the_last_merges_are_twenty_and_a_new_repository_has_none(repo: GitRepo) -> None:
    cwd = str(repo.path)
    assert read_recent_merges(cwd, NOW) == []
    stream = Stream()
    stream.commit("main", [], {"readme": ""})
    stream.commit("side", ["main"], {"readme": "side\n"})
    for number in range(21):
        stream.commit(f"m{number}", [f"m{number - 1}" if number else "main", "side"], {})
    stream.write(repo)
    repo.git("symbolic-ref", "HEAD", "refs/heads/m20")
    merged = repo.git("rev-list", "--merges", "HEAD").split()
    assert (len(merged), read_recent_merges(cwd, 1_767_225_600)) == (21, merged[:20])


# what came later


def test_the_versions_after_a_merge_are_those_of_its_descendants(diverged: GitRepo) -> None:
    commit = merge(diverged, "right", build="merged\n")
    diverged.git("checkout", "-q", "-b", "aside", "left~1")
    diverged.write(PATH, "aside\n")
    diverged.commit("aside")
    diverged.git("checkout", "-q", "left")
    for text in ("one\n", "two\n"):
        diverged.write(PATH, text)
        diverged.commit(text)
    diverged.run("git", "merge", "-q", "--no-commit", "aside")
    diverged.write(PATH, "three\n")
    diverged.commit("three")
    assert read_later_versions(str(diverged.path), commit, PATH) == [b"three\n", b"two\n", b"one\n"]
    assert read_later_versions(str(diverged.path), commit, OTHER) == []


def test_the_versions_after_a_merge_are_the_newest_twenty_wherever_they_are_asked_for(
    repo: GitRepo,
) -> None:
    odd = ":x/.checkpoints/build.checkpoint.json"
    stream = Stream()
    last = stream.commit("start", [], {odd: "start\n"})
    aside: dict[int, Content] = {20: None, 21: Entry("120000", b"target")}
    for number in range(1, 24):
        content = aside.get(number, f"{number}\n")
        last = stream.commit(f"c{number}", [last], {odd: content, "sub/readme": f"{number}\n"})
    stream.commit("later", [last], {odd: "later\n"})
    stream.write(repo)
    repo.git("checkout", "-q", last)
    repo.git("config", "diff.relative", "true")
    start = repo.git("rev-parse", "start")
    expected = [f"{number}\n".encode() for number in range(23, 1, -1) if number not in aside]
    assert len(expected) == 20
    assert read_later_versions(str(repo.path), start, odd) == expected
    later = read_later_versions(str(repo.path / "sub"), start, odd, head="later")
    assert later == [b"later\n", *expected[:-1]]


def test_commits_outside_of_heads_history_are_told(diverged: GitRepo) -> None:
    main, right = diverged.git("rev-parse", "main", "right").split()
    assert read_outside(str(diverged.path), []) == set()
    assert read_outside(str(diverged.path), [main, right]) == {right}
    assert read_outside(str(diverged.path), [main, "0" * 40]) == {main, "0" * 40}, (
        "nothing is known then"
    )


def test_heads_files_are_read_and_links_are_none(diverged: GitRepo) -> None:
    (diverged.path / ".checkpoints/link.checkpoint.json").symlink_to("build.checkpoint.json")
    diverged.commit("link")
    found = read_files_at(
        str(diverged.path), [PATH, ".checkpoints/link.checkpoint.json", "nothing"]
    )
    assert found == {PATH: b"left\n", ".checkpoints/link.checkpoint.json": None, "nothing": None}
    assert read_files_at(str(diverged.path), []) == {}
    assert read_files_at(str(diverged.path), [PATH], commit="main") == {PATH: b"base\n"}


def test_a_content_that_is_too_large_is_replaced_by_another_that_is(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "MAX_BYTES", 100)
    monkeypatch.setattr(merges, "MAX_BYTES", 100)
    large, larger, most = (
        repo.run("git", "hash-object", "-w", "--stdin", stdin=b"x" * size).stdout.decode().strip()
        for size in (101, 102, 100)
    )
    found = read_contents(str(repo.path), [large, most, larger, large])
    assert found == {
        most: b"x" * 100,
        large: large.encode() + bytes(61),
        larger: larger.encode() + bytes(61),
    }


def test_a_path_that_looks_like_magic_is_looked_up_as_it_stands(repo: GitRepo) -> None:
    odd = [":x/.checkpoints/build.checkpoint.json", ":(top)/.checkpoints/build.checkpoint.json"]
    for path in odd:
        repo.write(path, "odd\n")
    repo.commit("odd names")
    assert read_files_at(str(repo.path), odd) == dict.fromkeys(odd, b"odd\n")
