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
    with pytest.raises((CheckpointError, private_objects.CutShortError)):
        private_objects.write_files(str(repo.path), [str(tmp_path / "missing")], os.environ)


@pytest.mark.parametrize(
    ("code", "err", "kind"),
    [
        (-7, b"", private_objects.CutShortError),
        (128, b"error: short read while indexing a\n", private_objects.CutShortError),
        (128, b"fatal: something else\n", CheckpointError),
    ],
)
def test_a_file_that_becomes_shorter_meanwhile_is_told_from_other_trouble(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, code: int, err: bytes, kind: type[Exception]
) -> None:
    monkeypatch.setattr(private_objects, "run_git", lambda *_, **__: GitResult(code, b"", err))
    with pytest.raises(kind):
        private_objects.write_files(str(repo.path), ["a"], os.environ)
