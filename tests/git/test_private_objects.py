import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git import private_objects
from checkpoint_git.git.objects import TreeEntry, find_missing, read_bounded, read_tree
from checkpoint_git.git.run import GitResult
from tests.support.repos import GitRepo

NAMES = [
    "plain",
    "sp ace",
    "new\nline",
    'qu"ote',
    '"first',
    "-dash",
    "tab\t",
    "back\\slash",
    "ü",
    "\udcff",
]


def keep(repo: GitRepo, contents: list[bytes]) -> str:
    """A commit of these contents under the names above."""
    blobs = private_objects.write_contents(str(repo.path), contents, os.environ)
    files = {name: TreeEntry("100644", blob) for name, blob in zip(NAMES, blobs, strict=False)}
    return private_objects.write_commit(str(repo.path), files, "m\n", [], os.environ)


def test_files_of_any_name_are_kept_byte_for_byte(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text eol=crlf\n")
    paths = [str(repo.write(name, os.fsencode(name) + b"\r\n\n\0")) for name in NAMES]
    blobs = private_objects.write_files(str(repo.path), paths, os.environ)
    assert list(read_bounded(str(repo.path), blobs)) == [
        os.fsencode(name) + b"\r\n\n\0" for name in NAMES
    ]


def test_a_commit_holds_its_files_and_the_index_is_not_made(repo: GitRepo) -> None:
    commit = keep(repo, [b"a", b"b", b"c"])
    assert read_tree(str(repo.path), commit).keys() == set(NAMES[:3])
    assert not (repo.path / ".git/index").exists()


def test_a_commit_has_the_parents_and_the_message_that_are_given(repo: GitRepo) -> None:
    first, second = keep(repo, [b"a"]), keep(repo, [b"b"])
    files = {"a/b": TreeEntry("100755", repo.git("rev-parse", f"{first}:plain"))}
    message = "odd \udcff\n\nmore\n"
    top = str(repo.path)
    commit = private_objects.write_commit(top, files, message, [first, second], os.environ)
    shown = repo.git("log", "-1", "--no-show-signature", "--format=%P%n%an %ce%n%B", commit)
    assert shown == f"{first} {second}\ncheckpoint checkpoint\nodd ?\n\nmore"
    assert read_tree(top, commit) == files


def test_what_only_git_can_name_is_not_there_until_it_is_made(repo: GitRepo) -> None:
    top, ref = str(repo.path), "refs/checkpoints/x"
    assert private_objects.read_ref(top, ref, os.environ) == ""
    with pytest.raises(private_objects.CutShortError):  # a prune removed it
        private_objects.create_ref(top, ref, "1" * 40, os.environ)
    commit = keep(repo, [b"a"])
    with pytest.raises(CheckpointError, match="git update-ref failed"):
        private_objects.create_ref(top, "refs/checkpoints/a..b", commit, os.environ)
    assert private_objects.create_ref(top, ref, commit, os.environ)
    assert private_objects.read_ref(top, ref, os.environ) == commit


def test_files_are_named_from_the_top_whatever_folder_is_asked(repo: GitRepo) -> None:
    inner = GitRepo.create(repo.path / "inner")
    inner.commit("one")
    repo.write(".gitignore", "*.log\n")
    repo.write("sub/kept", "1\n")
    repo.write("sub/changed", "1\n")
    repo.git("-c", "advice.addEmbeddedRepo=false", "add", ".")
    repo.commit()
    inner.commit("two")  # a submodule has moved
    repo.write("sub/changed", "2\n")
    repo.write("sub/n\new", "1\n")
    repo.write("sub/a.log", "1\n")

    sub = str(repo.path / "sub")
    assert private_objects.read_ignored(sub, os.environ) == ["sub/a.log"]
    assert private_objects.read_changed(sub, os.environ) == ["sub/changed", "sub/n\new"]
    paths = ["sub/kept", "sub/*", "sub/n\new", "kept"]
    assert private_objects.read_tracked(sub, paths, os.environ) == {"sub/kept"}
    assert private_objects.read_tracked(sub, [], os.environ) == set()


def test_a_ref_is_made_once(repo: GitRepo) -> None:
    commit = keep(repo, [b"a"])
    assert private_objects.create_ref(str(repo.path), "refs/checkpoints/x", commit, os.environ)
    assert not private_objects.create_ref(str(repo.path), "refs/checkpoints/x", commit, os.environ)
    assert private_objects.read_refs(str(repo.path), "refs/checkpoints/", os.environ) == {
        "x": commit
    }


def test_a_ref_that_names_something_else_by_now_is_not_removed(repo: GitRepo) -> None:
    first, second = keep(repo, [b"a"]), keep(repo, [b"b"])
    private_objects.create_ref(str(repo.path), "refs/checkpoints/x", second, os.environ)
    assert not private_objects.remove_ref(str(repo.path), "refs/checkpoints/x", first, os.environ)
    assert private_objects.remove_ref(str(repo.path), "refs/checkpoints/x", second, os.environ)


def test_a_users_hook_on_refs_has_no_say(repo: GitRepo) -> None:
    hook = repo.write(".git/hooks/reference-transaction", "#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert private_objects.create_ref(
        str(repo.path), "refs/checkpoints/x", keep(repo, [b"a"]), os.environ
    )


def test_lost_objects_are_named(repo: GitRepo) -> None:
    commit = keep(repo, [b"a"])
    assert find_missing(str(repo.path), [commit, "0" * 40]) == {"0" * 40}


def test_a_file_that_git_cannot_read_is_an_error(repo: GitRepo, tmp_path: Path) -> None:
    with pytest.raises(private_objects.CutShortError):
        private_objects.write_files(str(repo.path), [str(tmp_path / "missing")], os.environ)
    with pytest.raises(CheckpointError, match="git hash-object failed"):
        private_objects.write_files(str(repo.path), [str(tmp_path)], os.environ)


@pytest.mark.parametrize(
    ("code", "err", "kind"),
    [
        (-7, b"", private_objects.CutShortError),
        (128, b"error: short read while indexing a\n", private_objects.CutShortError),
        (128, b"fatal: something else\n", CheckpointError),
        (0, b"", CheckpointError),  # no id
    ],
)
def test_a_file_that_becomes_shorter_meanwhile_is_told_from_other_trouble(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, code: int, err: bytes, kind: type[Exception]
) -> None:
    monkeypatch.setattr(private_objects, "run_git", lambda *_, **__: GitResult(code, b"", err))
    with pytest.raises(kind):
        private_objects.write_files(str(repo.path), ["a"], os.environ)
