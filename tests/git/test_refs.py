"""Where a commit or a tag stands beside HEAD, asked of real repositories."""

import hashlib
import itertools
import os
from pathlib import Path

import pytest

from checkpoint_git.git.refs import (
    DefaultBranch,
    Standing,
    read_commit_address,
    read_default_branch,
    read_own_names,
    read_standing,
)
from tests.support.repos import GitRepo


@pytest.fixture
def line(repo: GitRepo) -> list[str]:
    """Four commits of main, the second one tagged v1.0 (annotated), the third one 1.1; one more on
    a side branch.
    """
    ids = [repo.commit("one"), repo.commit("two")]
    repo.git("tag", "-a", "v1.0", "-m", "first")
    ids.append(repo.commit("three"))
    repo.git("tag", "1.1")
    ids.append(repo.commit("four"))
    repo.git("checkout", "-q", "-b", "side", ids[2])
    ids.append(repo.commit("aside"))
    repo.git("checkout", "-q", "main")
    return ids


def test_a_commit_is_known_by_seven_digits_or_all(repo: GitRepo, line: list[str]) -> None:
    head = line[3]
    assert read_standing(str(repo.path), head, ()) == (head, head, 0, 0, False)
    assert read_standing(str(repo.path), head[:7], ()) == Standing(head, head)
    assert read_standing(str(repo.path), line[0][:9], ()) == Standing(head, line[0], behind=3)
    assert read_standing(str(repo.path), line[4][:9], ()) == Standing(
        head, line[4], behind=1, ahead=1
    )


def test_what_is_ahead_is_counted(repo: GitRepo, line: list[str]) -> None:
    repo.git("checkout", "-q", "--detach", line[0])
    assert read_standing(str(repo.path), line[3], ()) == Standing(line[0], line[3], ahead=3)


def test_a_tag_stands_for_its_commit_and_the_first_one_counts(
    repo: GitRepo, line: list[str]
) -> None:
    assert read_standing(str(repo.path), "", ("1.0", "v1.0")).id == line[1]
    assert read_standing(str(repo.path), "", ("1.1", "v1.0")).id == line[2]
    assert read_standing(str(repo.path), "deadbeef", ("1.1",)).id == line[2]


def test_what_nobody_knows_is_unknown(repo: GitRepo, line: list[str]) -> None:
    for start in ("deadbeef", "f" * 40, "f" * 64):
        assert read_standing(str(repo.path), start, ("v9", "9")) == Standing(line[3])


def test_a_branch_that_is_called_like_a_commit_is_none(repo: GitRepo, line: list[str]) -> None:
    repo.git("branch", "deadbee", line[0])
    repo.git("branch", line[3][:8], line[0])
    assert read_standing(str(repo.path), "deadbee", ()).id == ""
    assert read_standing(str(repo.path), line[3][:8], ()).id == line[3]


def test_a_branch_or_a_commits_message_is_no_tag(repo: GitRepo, line: list[str]) -> None:
    for name in (
        "side",
        "main",
        "heads/side",
        "HEAD",
        "v1.0..side",
        "--all",
        "-x",
        ":/one",
        "v1.0^",
        "v1.0~1",
        "*",
    ):
        assert read_standing(str(repo.path), "", (name,)).id == "", name
        assert read_standing(str(repo.path), name, ()).id == "", name


def test_a_file_that_begins_like_it_is_no_commit(repo: GitRepo, line: list[str]) -> None:
    repo.write("a", "text")
    blob = repo.git("hash-object", "-w", "a")
    assert read_standing(str(repo.path), blob[:7], ()).id == ""


def test_without_commits_there_is_nothing_to_stand_beside(repo: GitRepo) -> None:
    assert read_standing(str(repo.path), "deadbeef", ("v1",)) == Standing("")


def test_a_shallow_clone_knows_what_it_has(repo: GitRepo, line: list[str], tmp_path: Path) -> None:
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.path}", str(tmp_path / "clone"))
    assert read_standing(str(tmp_path / "clone"), line[0], ()) == Standing(line[3])
    assert read_standing(str(tmp_path / "clone"), line[3][:7], ()).id == line[3]


def test_digits_that_two_commits_begin_with_name_neither(repo: GitRepo, line: list[str]) -> None:
    tree = repo.git("rev-parse", "HEAD^{tree}")
    seen: dict[str, bytes] = {}
    for number in itertools.count():
        who = f"a <a> {number} +0000"
        commit = f"tree {tree}\nauthor {who}\ncommitter {who}\n\n".encode()
        digits = hashlib.sha1(b"commit %d\0" % len(commit) + commit).hexdigest()[:7]  # noqa: S324 # as git names them
        if digits in seen:
            break
        seen[digits] = commit
    for twin in (commit, seen[digits]):
        repo.run("git", "hash-object", "-t", "commit", "-w", "--stdin", stdin=twin)
    assert read_standing(str(repo.path), digits, ()) == Standing(line[3], ambiguous=True)


def test_a_remote_is_known_by_the_path_at_its_host(repo: GitRepo) -> None:
    assert read_own_names(str(repo.path)) == frozenset()
    addresses = (
        ("https://user:secret@github.com/acme/https.git", "github.com/acme/https/commit"),
        ("https://gitea.example.org:8443/acme/port/", "gitea.example.org:8443/acme/port/commit"),
        ("ssh://git@gitlab.com:2222/acme/sub/ssh", "gitlab.com/acme/sub/ssh/-/commit"),
        ("git@bitbucket.org:acme/scp.git", "bitbucket.org/acme/scp/commits"),
    )
    for number, (url, address) in enumerate(addresses):
        (repo.path / ".git/config").write_text(f'[remote "a"]\n\turl = {url}\n')
        assert read_commit_address(str(repo.path)) == f"https://{address}/", number

    urls = ["/srv/local.git", "https://example.org/acme/other", "git@github.com:Acme/App.git"]
    text = "".join(f'[remote "r{n}"]\n\turl = {url}\n' for n, url in enumerate(urls))
    (repo.path / ".git/config").write_text(text)
    assert read_own_names(str(repo.path)) == {"acme/other", "acme/app"}
    assert read_commit_address(str(repo.path)) == "https://github.com/Acme/App/commit/"
    (repo.path / ".git/config").write_text(f'[remote "a"]\n\turl = {urls[1]}\n')
    assert read_commit_address(str(repo.path)) == ""


def test_the_default_branch_is_the_remotes_else_the_configured_else_main(repo: GitRepo) -> None:
    def find() -> DefaultBranch | None:
        return read_default_branch(str(repo.path), "a", os.environ)

    assert find() is None
    repo.commit()
    assert find() == DefaultBranch("main", None)
    repo.write("a", "1\n")
    repo.git("checkout", "-q", "-b", "trunk")
    head = repo.commit()
    repo.git("update-ref", "refs/heads/master", head)
    assert find() == DefaultBranch("main", None)
    repo.git("config", "init.defaultBranch", "trunk")
    assert find() == DefaultBranch("trunk", b"1\n")
    repo.git("config", "init.defaultBranch", "trunk\nx")
    assert find() == DefaultBranch("main", None)
    repo.git("update-ref", "refs/remotes/origin/topic", head)
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/topic")
    assert find() == DefaultBranch("origin/HEAD", b"1\n")
