"""A commit that changes a few files and nothing else, in every kind of repository."""

import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.merges.new_commits import (
    TRAILER,
    Site,
    read_repaired,
    read_site,
    write_merge_commit,
    write_repair,
)
from checkpoint_git.git.worktree import read_changed
from tests.support.repos import GitRepo, environ_in

PATH = ".checkpoints/build.checkpoint.json"
ODD = 'sub "x"/.checkpoints/ä b.checkpoint.json'


@pytest.fixture
def filled(repo: GitRepo) -> GitRepo:
    repo.write(PATH, "old\n")
    repo.write(ODD, "old\n")
    repo.write("code", "code\n")
    repo.commit("begin")
    return repo


def repair(repo: GitRepo, *paths: str, message: str = "Repair") -> str:
    return write_repair(
        read_site(str(repo.path)), dict.fromkeys(paths or (PATH,), b"new\n"), message
    )


def test_index_files_and_branch_have_the_repair_and_nothing_else(filled: GitRepo) -> None:
    filled.write("code", "staged\n")
    filled.git("add", "code")
    filled.write("code", "edited\n")
    filled.write("new", "untracked\n")
    before = filled.git("status", "--porcelain")
    commit = repair(filled, PATH, ODD)
    assert filled.git("rev-parse", "main") == commit
    assert filled.git("status", "--porcelain") == before
    assert (filled.read(PATH), filled.read(ODD)) == ("new\n", "new\n")
    assert filled.git(
        "-c", "core.quotePath=false", "diff", "--name-only", "-z", "HEAD^", "HEAD"
    ).strip("\0").split("\0") == [PATH, ODD]
    assert "checkpoint audit: Repair" in filled.git("reflog", "-1")


def test_the_message_is_in_utf_8_whatever_is_configured(filled: GitRepo) -> None:
    filled.git("config", "i18n.commitEncoding", "ISO-8859-1")
    repair(filled, message=f"Repair\n\n- {ODD}\n")
    message = filled.git("log", "-1", "--encoding=UTF-8", "--format=%B")
    assert message == f"Repair\n\n- {ODD}"


def test_file_modes_stay(filled: GitRepo) -> None:
    filled.git("update-index", "--chmod=+x", PATH)
    filled.git("commit", "-q", "-m", "executable")
    filled.git("reset", "-q", "--hard")
    repair(filled)
    assert filled.git("ls-tree", "HEAD", PATH).startswith("100755")


def test_line_ends_of_the_work_tree_are_gits_business(filled: GitRepo) -> None:
    filled.write(".gitattributes", "*.json text eol=crlf\n")
    filled.commit("attributes")
    repair(filled)
    assert filled.read(PATH) == "new\r\n"
    assert filled.git("cat-file", "-p", f"HEAD:{PATH}") == "new"
    assert filled.git("status", "--porcelain") == ""


def test_a_linked_work_tree_gets_it_on_its_own_branch(filled: GitRepo, tmp_path: Path) -> None:
    filled.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    linked = GitRepo(tmp_path / "linked")
    commit = repair(linked)
    assert (filled.git("rev-parse", "side"), filled.git("rev-parse", "main")) == (
        commit,
        filled.git("rev-parse", "side^"),
    )
    assert (linked.read(PATH), filled.read(PATH)) == ("new\n", "old\n")


def test_a_detached_head_moves_alone(filled: GitRepo) -> None:
    filled.git("checkout", "-q", "--detach")
    assert repair(filled) == filled.git("rev-parse", "HEAD")
    assert filled.git("rev-parse", "main") == filled.git("rev-parse", "HEAD^")


def test_where_head_moved_meanwhile_the_repair_stays_staged(filled: GitRepo) -> None:
    site = read_site(str(filled.path))
    filled.git("commit", "-q", "--allow-empty", "-m", "meanwhile")
    with pytest.raises(CheckpointError, match="HEAD moved") as raised:
        write_repair(site, {PATH: b"new\n"}, "Repair")
    assert str(raised.value.hint).startswith("check what is staged: git diff --cached")
    assert filled.git("log", "-1", "--format=%s") == "meanwhile"
    assert filled.git("diff", "--cached", "--name-only") == PATH


def test_a_bare_repository_gets_the_commit_alone(filled: GitRepo, tmp_path: Path) -> None:
    new = ".checkpoints/new.checkpoint.json"
    bare = GitRepo(tmp_path / "bare")
    filled.git("clone", "-q", "--bare", str(filled.path), str(bare.path))
    environ = environ_in(bare.path)
    site = read_site(str(bare.path), environ)
    assert site == Site("", str(bare.path), filled.git("rev-parse", "HEAD"))
    message = "Repair\n\nwith the reason\n"
    commit = write_repair(site, {PATH: b"new\n", new: b""}, message, environ)
    words = ["log", "-1", "--format=%H %P%n%B", "--raw", "--no-abbrev", "main"]
    shown = bare.git(*words).splitlines()
    assert shown[:4] == [f"{commit} {site.head}", "Repair", "", "with the reason"]
    changes = [line.split() for line in shown if line.startswith(":")]
    assert [(words[1], *words[4:]) for words in changes] == [
        ("100644", "M", PATH),
        ("100644", "A", new),
    ]
    assert {path.name for path in bare.path.iterdir()} & {"index", ".checkpoints"} == set()


def test_a_repair_is_signed_where_commits_are(filled: GitRepo, tmp_path: Path) -> None:
    program = tmp_path / "gpg"
    signature = "-----BEGIN PGP SIGNATURE-----"
    program.write_text(
        f"#!/bin/sh\ncat >/dev/null\necho >&2\necho '[GNUPG:] SIG_CREATED ' >&2\necho '{signature}'\n"
    )
    program.chmod(0o755)
    filled.git("config", "gpg.program", str(program))
    assert signature not in filled.git("cat-file", "commit", repair(filled))
    for setting, is_signed in (("false", False), ("yes", True)):
        filled.git("config", "commit.gpgSign", setting)
        filled.git("reset", "-q", "--hard", "HEAD^")
        assert (signature in filled.git("cat-file", "commit", repair(filled))) == is_signed


def test_without_an_identity_nothing_is_changed(
    filled: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ):
        monkeypatch.delenv(name)
    filled.git("config", "user.useConfigOnly", "true")
    with pytest.raises(CheckpointError, match="commit-tree"):
        repair(filled)
    assert (filled.read(PATH), filled.git("status", "--porcelain")) == ("old\n", "")


def test_files_that_are_not_as_in_head_are_known(filled: GitRepo) -> None:
    top = str(filled.path)
    assert read_changed(top, [PATH, ODD]) == set()
    filled.write(ODD, "edited\n")
    filled.write(PATH, "staged\n")
    filled.git("add", PATH)
    filled.write(PATH, "old\n")
    assert read_changed(top, [PATH, ODD]) == {PATH, ODD}


def test_an_empty_repository_has_nothing_to_repair(repo: GitRepo) -> None:
    with pytest.raises(CheckpointError, match="no commit yet"):
        read_site(str(repo.path))


def test_only_trailers_say_what_was_repaired(filled: GitRepo) -> None:
    merge = filled.git("rev-parse", "HEAD")
    cwd = str(filled.path)
    assert read_repaired(
        cwd, repair(filled, message=f"Repair\n\n- a file\n\n{TRAILER}: {merge}\n")
    ) == [merge]
    for message in (
        f"{TRAILER}: {merge}\n\nand more",
        f"Repair\n\n{TRAILER}: --all",
        f"Repair {TRAILER}: {merge}",
        f"Repair\n\n{TRAILER}: {merge}0",
        f"Repair\n\n {TRAILER}: {merge}",
    ):
        filled.git("commit", "-q", "--allow-empty", "-m", message)
        assert read_repaired(cwd, "HEAD") == []

    other = merge.translate(str.maketrans("0123456789", "1234567890")) + "a" * 24
    lines = [f"{TRAILER}: {id_}" for id_ in (other, merge, other)]
    text = "\n".join(["Repair", "", f"{TRAILER}: {'1' * 40}", "", "Acked-by: Ada", *lines])
    filled.git("commit", "-q", "--allow-empty", "-m", text)
    assert read_repaired(cwd, "HEAD") == [other, merge]


def test_a_merge_commit_is_written_with_the_configured_names_or_the_fallbacks(
    filled: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.configure({"commit.gpgSign": "true", "i18n.commitEncoding": "ISO-8859-1"})
    before = filled.git("for-each-ref"), filled.git("status", "--porcelain")
    cwd = str(filled.path)
    tree, first = filled.git("rev-parse", "HEAD^{tree}", "HEAD").split()
    second = filled.git("commit-tree", "--no-gpg-sign", tree, "-m", "second")
    monkeypatch.delenv("GIT_COMMITTER_EMAIL")
    commit = write_merge_commit(cwd, tree, (second, first), "Mörge \ud800\n\nbody", os.environ)
    words = ["log", "-1", "--encoding=UTF-8", "--format=%T %P%n%an <%ae>%n%cn <%ce>%n%B"]
    known = filled.git(*words, commit)
    assert known.splitlines() == [
        f"{tree} {second} {first}",
        "Ada <ada@example.org>",
        "checkpoint-git <checkpoint-git@localhost>",
        "Mörge ?",
        "",
        "body",
    ]
    assert "gpgsig" not in filled.git("cat-file", "commit", commit)
    assert (filled.git("for-each-ref"), filled.git("status", "--porcelain")) == before
