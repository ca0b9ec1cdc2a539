"""Squash merges and reverts as messages and refs tell of them, in real repositories."""

from itertools import pairwise
from pathlib import Path

import pytest

from checkpoint_git.git.merges.merges import MergeCommit
from checkpoint_git.git.merges.squashes import (
    _number_of,
    read_pull_heads,
    read_reverts,
    read_squashes,
)
from tests.support.repos import GitRepo, copy_built
from tests.support.rows import rows
from tests.support.streams import Stream

PATH = ".checkpoints/build.checkpoint.json"


@pytest.fixture
def squashed(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """Main holds the work of pull request 12 as one commit; the request's head is here under the
    server's name.
    """
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@1772452800 +0000")
    copy_built(build_squashed, repo.path)
    return repo


def build_squashed(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    repo.write(PATH, "base\n")
    repo.commit("base")
    repo.git("checkout", "-q", "-b", "topic")
    repo.write(PATH, "topic\n")
    repo.git("update-ref", "refs/pull/12/head", repo.commit("work"))
    repo.git("checkout", "-q", "main")
    repo.write("readme", "on\n")
    repo.commit("on")
    repo.git("merge", "-q", "--squash", "topic")
    repo.commit("Do the work (#12)")


def find(repo: GitRepo) -> list[tuple[str, ...]]:
    head = repo.git("rev-parse", "HEAD")
    return [found.parents for found in read_squashes(str(repo.path), ["HEAD"], head)]


def sides(repo: GitRepo) -> tuple[str, ...]:
    return (repo.git("rev-parse", "main^"), repo.git("rev-parse", "topic"))


def test_the_subjects_number_leads_to_the_other_side(squashed: GitRepo) -> None:
    assert find(squashed) == [sides(squashed)]


def test_a_requests_number_in_the_last_line_counts_where_servers_write_it(
    squashed: GitRepo,
) -> None:
    squashed.git("update-ref", "refs/merge-requests/7/head", "topic")
    squashed.git(
        "commit", "-q", "--amend", "-m", "Do the work\n\nSee merge request group/project!7"
    )
    assert find(squashed) == [sides(squashed)]


def test_a_head_that_moved_on_is_no_other_side(
    squashed: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    squashed.git("checkout", "-q", "topic")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@1772452900 +0000")
    squashed.write(PATH, "more\n")
    squashed.git("update-ref", "refs/pull/12/head", squashed.commit("more"))
    squashed.git("checkout", "-q", "main")
    assert find(squashed) == []


def test_two_heads_under_one_number_are_none(squashed: GitRepo) -> None:
    squashed.git("update-ref", "refs/remotes/fork/pr/12", "main^")
    assert read_pull_heads(str(squashed.path)) == {}


def test_a_stranger_may_write_what_they_like_into_a_message(squashed: GitRepo) -> None:
    expected = sides(squashed)
    squashed.write(PATH, "x\n")
    squashed.commit("\x01 (#999999999999999999999)\n\nSee merge request " + "a" * 5_000 + "!3")
    squashed.write(PATH, "y\n")
    squashed.commit("-- (#0012)")
    assert find(squashed) == [expected]


@rows(
    "message, number",
    [
        ("Do it (#12)", ("pull", "12")),
        ("Do it (#12) \n\nSee merge request a/b!7", ("pull", "12")),
        ("Do it (#123456789)", ("pull", "123456789")),
        ("Do it (#1234567890)", ("", "")),
        ("Do it (#12).\n\n(#13)", ("", "")),
        ("Do it (#0)", ("", "")),
        ("Do it\n\nSee merge request a/b!7 \n\nmore", ("merge", "7")),
        ("Do it\n\nPlease see merge request a/b!7", ("", "")),
        ("Do it\n\nSee merge request a b!7", ("", "")),
        ("Do it" + "\n" * 20_000 + "See merge request a/b!7", ("", "")),
    ],
)
def test_a_number_is_read_where_servers_write_it(message: str, number: tuple[str, str]) -> None:
    assert _number_of(message) == number


def test_the_heads_of_requests_are_commits_under_the_names_that_clones_have(repo: GitRepo) -> None:
    first, second = repo.commit("first"), repo.commit("second")
    repo.git("tag", "-a", "-m", "tag", "tagged")
    refs = {
        "pull/1/head": first,
        "pull/1/merge": second,
        "pull/02/head": first,
        "remotes/origin/pr/1": first,
        "remotes/fork/pull/3": second,
        "remotes/fork/merge-requests/4/head": second,
        "remotes/origin/merge-requests/5/heads": first,
        "merge-requests/6/head": first,
        "heads/pull/7": first,
        "remotes/\u2028/pull/5/head": second,
        "remotes/\x85/pr/6": first,
        "pull/8/head": repo.git("rev-parse", "tagged"),
        "pull/9/head": repo.git("rev-parse", "HEAD^{tree}"),
    }
    stdin = "".join(f"create refs/{name} {target}\n" for name, target in refs.items()).encode()
    assert repo.run("git", "update-ref", "--stdin", stdin=stdin).returncode == 0
    assert read_pull_heads(str(repo.path)) == {
        ("pull", "1"): first,
        ("pull", "3"): second,
        ("pull", "5"): second,
        ("pull", "6"): first,
        ("merge", "4"): second,
        ("merge", "6"): first,
    }


def test_a_squash_is_one_commit_of_the_range_that_took_work_of_another_line(repo: GitRepo) -> None:
    stream = Stream()
    stream.commit("root", [], {PATH: "root\n"}, "Start (#12)")
    stream.commit("alien", [], {PATH: "alien\n"})
    for number in (12, 13, 14, 15, 17):
        stream.commit(f"work{number}", ["root"], {PATH: f"{number}\n"})
    stream.commit("squash12", ["root"], {PATH: "12\n"}, "Work (#12)")
    stream.commit("squash13", ["squash12"], {PATH: "13\n"}, "Work (#13)")
    stream.commit("code14", ["squash13"], {"code": "14\n"}, "Code (#14)")
    # what the line before it had in its checkpoints is gone
    stream.commit("merge15", ["code14", "work15"], {PATH: "15\n"}, "Merge (#15)")
    stream.commit("alien16", ["merge15"], {PATH: "16\n"}, "Alien (#16)")
    stream.commit("squash17", ["alien16"], {PATH: "17\n"}, "Work (#17)\n\nbody")
    stream.commit("again12", ["squash17"], {PATH: "again\n"}, "Again (#12)")
    stream.commit("again15", ["again12"], {PATH: "15\n"}, "Again (#15)")
    stream.write(repo)
    cwd = str(repo.path)
    assert read_squashes(cwd, ["again15"], "again15") == [], "no request is here"
    heads = {number: f"work{number}" for number in (12, 13, 14, 15, 17)} | {16: "alien"}
    stdin = "".join(f"create refs/pull/{n}/head {name}\n" for n, name in heads.items()).encode()
    assert repo.run("git", "update-ref", "--stdin", stdin=stdin).returncode == 0

    names = ["squash17", "squash13", "squash12"]
    ids = dict(zip(names, repo.git("rev-parse", *names).split(), strict=True))
    found = read_squashes(cwd, ["again15"], "again15")
    assert [squash.id for squash in found] == list(ids.values())
    assert found[0] == MergeCommit(
        id=ids["squash17"],
        tree=repo.git("rev-parse", "squash17^{tree}"),
        parents=(repo.git("rev-parse", "alien16"), repo.git("rev-parse", "work17")),
        subject="Work (#17)",
    )
    found = read_squashes(cwd, ["again15", "^squash12"], "again15")
    assert [squash.id for squash in found] == [ids["squash17"], ids["squash13"]]
    assert read_squashes(cwd, ["root"], "root") == [], "nothing was squashed yet"


def test_a_head_counts_up_to_the_second_of_its_squash(repo: GitRepo) -> None:
    """A commit that somebody wrote by hand may have no time: nothing is known of it."""
    repo.write(PATH, "squash\n")
    repo.commit("work")
    tree = repo.git("rev-parse", "HEAD^{tree}")
    base = repo.git("commit-tree", "-m", "base", repo.git("mktree"))

    def write(time: str, subject: str) -> str:
        who = f"Ada <ada@example.org>{time}"
        lines = [f"tree {tree}", f"parent {base}", f"author {who}", f"committer {who}"]
        words = ["git", "hash-object", "-w", "-t", "commit", "--literally", "--stdin"]
        made = repo.run(*words, stdin="\n".join([*lines, "", subject]).encode())
        return made.stdout.decode().strip()

    def is_squash(squash: str, head: str) -> bool:
        repo.git("update-ref", "refs/pull/1/head", head)
        return [found.id for found in read_squashes(str(repo.path), [squash], squash)] == [squash]

    squash, later, unknown = (write(time, "Work (#1)") for time in (" 9 +0000", " 10 +0000", ""))
    assert is_squash(squash, write(" 9 +0000", "work"))
    assert is_squash(later, write(" 9 +0000", "work"))
    assert not is_squash(squash, write(" 10 +0000", "work"))
    assert not is_squash(squash, write("", "work"))
    assert not is_squash(unknown, write(" 9 +0000", "work"))


def test_reverts_are_those_of_the_ids_asked_for_that_nobody_took_back(repo: GitRepo) -> None:
    stream = Stream()
    stream.commit("root", [], {PATH: "0\n"})
    names = ["root", "a", "b", "c", "d"]
    for before, name in pairwise(names):
        stream.commit(name, [before], {PATH: f"{name}\n"})
    stream.write(repo)
    a, b, c, d = repo.git("rev-parse", *names[1:]).split()
    cwd = str(repo.path)

    def revert(name: str, before: str, *ids: str, path: str = PATH, more: str = "") -> str:
        stream = Stream()
        text = "\n".join(f"This reverts commit {id_}." for id_ in ids)
        stream.commit(name, [before], {path: f"{name}\n"}, f"Revert\n\n{more}{text}")
        stream.write(repo)
        return repo.git("rev-parse", name)

    both = revert("both", "d", a, b)
    again = revert("again", "both", a)
    taken = revert("taken", "again", c)
    revert("back", "taken", taken)
    revert("code", "back", d, path="code")
    revert("long", "code", d, more="x" * 20_000)
    assert read_reverts(cwd, [a, b, c, d], "long") == {a: again, b: both}
    assert read_reverts(cwd, [b, c], "long") == {b: both}
    assert read_reverts(cwd, [], "long") == {}
    assert read_reverts(cwd, [a, b], "both") == {a: both, b: both}


def test_a_revert_is_known_by_the_id_it_names_and_by_the_last_word(squashed: GitRepo) -> None:
    def reverted() -> dict[str, str]:
        return read_reverts(str(squashed.path), [wrong], squashed.git("rev-parse", "HEAD"))

    wrong = squashed.git("rev-parse", "HEAD")
    assert reverted() == {}
    squashed.git("revert", "--no-edit", "HEAD")
    taken = squashed.git("rev-parse", "HEAD")
    assert reverted() == {wrong: taken}
    squashed.git("revert", "--no-edit", "HEAD")
    assert reverted() == {}
