import os
import shutil

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.git.objects import TreeEntry, blob_id, read_index, read_tree
from checkpoint_git.tools.sync import commits
from checkpoint_git.tools.sync.commits import Draft, stage_files, write_commits
from checkpoint_git.tools.sync.reconcile import read_contents, read_differing, read_entries
from tests.support.repos import GitRepo

WHO = "Ada <ada@example.org> 1700000000 +0000"
REF = "refs/worktree/checkpoint/queue/origin/main"


def test_commits_are_made_beside_the_index_and_build_on_one_another(repo: GitRepo) -> None:
    repo.write("code.txt", "code\n")
    head = repo.commit()
    index = (repo.path / ".git/index").read_bytes()
    content = b'data 3\nabc\n"\x00\xff\n'
    drafts = [
        Draft((head,), [("a b/ü.json", content)], "one"),
        Draft((0,), [("code.txt", None), ("same.json", content)], "two\n\nfrom HEAD"),
        Draft((head, 1), [], "three"),
    ]
    one, two, three = write_commits(str(repo.path), drafts, [REF], WHO, os.environ)
    assert (repo.path / ".git/index").read_bytes() == index
    assert repo.git("rev-parse", f"{two}^", f"{three}^1", f"{three}^2", REF).split() == [
        one,
        head,
        two,
        three,
    ]
    entries = read_tree(str(repo.path), two)
    assert sorted(entries) == ["a b/ü.json", "same.json"]
    blob = entries["same.json"].blob
    assert blob == blob_id(content, head)
    assert read_contents(str(repo.path), [blob, blob], os.environ) == {blob: content}
    assert repo.git("log", "-1", "--format=%an|%ae|%ct", two) == "Ada|ada@example.org|1700000000"


def test_the_mark_that_a_killed_git_left_on_a_pack_stops_no_later_one(repo: GitRepo) -> None:
    repo.commit("start")
    drafts = [Draft((repo.git("rev-parse", "HEAD"),), [("a", b"one\n")], "one")]
    shutil.copytree(repo.path, other := repo.path.parent / "other")
    write_commits(str(other), drafts, ["refs/x/made"], WHO, os.environ)
    (pack,) = (other / ".git/objects/pack").glob("*.pack")

    packs = repo.path / ".git/objects/pack"
    packs.mkdir(exist_ok=True)
    (packs / f"{pack.stem}.keep").write_text("fast-import")
    users = packs / "pack-1.keep"
    users.write_text("a reason")
    (commit,) = write_commits(str(repo.path), drafts, ["refs/x/made"], WHO, os.environ)
    assert repo.git("show", f"{commit}:a") == "one"
    assert list(packs.glob("*.keep")) == [users]
    assert list((repo.path / ".git").glob("fast_import_crash_*")) == []


def test_no_path_of_a_stranger_is_read_as_a_command(repo: GitRepo) -> None:
    repo.write("code.txt", "code\n")
    head = repo.commit()
    hostile = [
        f"x\nreset refs/heads/stolen\nfrom {head}\n\nprogress q/.checkpoints/a.checkpoint.json",
        '"q/.checkpoints/b.checkpoint.json',
        "q\\n\x7f/.checkpoints/ü.checkpoint.json",
        " q/.checkpoints/c.checkpoint.json ",
    ]
    drafts = [
        Draft((head,), [(path, b"{}") for path in hostile], "one"),
        Draft(
            (0,), [(path, None) for path in [*hostile, *(f"{path}x" for path in hostile)]], "two"
        ),
    ]
    one, two = write_commits(str(repo.path), drafts, [REF], WHO, os.environ)
    assert sorted(read_tree(str(repo.path), one)) == sorted([*hostile, "code.txt"])
    assert sorted(read_tree(str(repo.path), two)) == ["code.txt"]
    assert "stolen" not in repo.git("for-each-ref")


def test_differences_give_the_same_files_as_the_whole_tree(repo: GitRepo) -> None:
    names = [f".checkpoints/{name}.checkpoint.json" for name in "abc"]
    repo.write(names[0], "1")
    repo.write(names[1], "1")
    one = repo.commit()
    repo.write(names[0], "2")
    (repo.path / names[1]).unlink()
    repo.write(names[2], "3")
    repo.write("code.txt", "3")
    two = repo.commit()
    where, env = str(repo.path), os.environ
    known = read_entries(where, one, env)
    assert known.keys() == set(names[:2])
    assert read_differing(where, known, one, two, env) == read_entries(where, two, env)
    assert read_differing(where, known, one, one, env) == known
    assert read_differing(where, {}, "", two, env) == read_entries(where, two, env)


def test_a_file_larger_than_a_checkpoint_may_be_is_told_and_not_kept(repo: GitRepo) -> None:
    repo.write("large.json", "x" * (MAX_BYTES + 1))
    repo.write("small.json", "x")
    repo.commit()
    large, small = (
        repo.git("rev-parse", f"HEAD:{name}.json").strip() for name in ("large", "small")
    )
    assert read_contents(str(repo.path), [large, small], os.environ) == {large: None, small: b"x"}


def test_a_missing_object_is_said(repo: GitRepo) -> None:
    with pytest.raises(CheckpointError, match="no object"):
        read_contents(str(repo.path), ["1" * 40], os.environ)


def test_sha256_repositories_work_alike(tmp_path_factory: pytest.TempPathFactory) -> None:
    repo = GitRepo.create(tmp_path_factory.mktemp("sha256"), "--object-format=sha256")
    (commit,) = write_commits(
        str(repo.path), [Draft((), [("a.json", b"{}")], "one")], [REF], WHO, os.environ
    )
    assert read_tree(str(repo.path), commit)["a.json"].blob == blob_id(b"{}", commit)


def test_files_are_staged_unless_the_index_stays_locked(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "_NAP", 0.0)
    repo.write("a", "1\n")
    repo.write("b", "2\n")
    repo.commit()
    top, entry = str(repo.path), TreeEntry("100755", blob_id(b"2\n", "0" * 40))
    assert stage_files(top, [("a", None), ("new", entry)], os.environ)
    assert {one.path: one.mode for one in read_index(top)} == {"b": "100644", "new": "100755"}
    (repo.path / ".git/index.lock").touch()
    assert not stage_files(top, [("b", None)], os.environ)
    assert {one.path for one in read_index(top)} == {"b", "new"}
