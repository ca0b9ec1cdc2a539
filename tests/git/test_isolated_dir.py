"""A git directory of its own that has a repository's objects and nothing else of it."""

import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.isolated_dir import (
    OBJECTS,
    OTHER_OBJECTS,
    list_folders,
    name_commits,
    open_sealed,
    run_sealed,
)
from tests.support.repos import GitRepo
from tests.support.rows import rows


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_what_is_written_goes_to_the_repository_and_the_rest_is_removed(
    tmp_path: Path, kind: str
) -> None:
    repo = GitRepo.create(tmp_path / kind, f"--object-format={kind}")
    with open_sealed(str(repo.path)) as sealed:
        assert os.listdir(sealed.cwd) == []
        blob = run_sealed(sealed, ["hash-object", "-w", "--stdin"], b"new\n").out.decode().strip()
        (Path(sealed.folder) / "temporary").write_text("x")
        assert not sealed.partial
    assert not Path(sealed.folder).exists()
    assert repo.git("cat-file", "blob", blob) == "new"


def test_only_attributes_that_are_given_count(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* merge=union\n")
    repo.write(".git/info/attributes", "* text\n")
    with open_sealed(str(repo.path), ["*.md merge=mine", "*.json diff"]) as sealed:
        asked = ["check-attr", "-z", "merge", "text", "diff", "--", "a.md", "b.json", "c"]
        fields = run_sealed(sealed, asked).out.decode().split("\0")[:-1]
    found = list(zip(fields[::3], fields[1::3], fields[2::3], strict=True))
    assert [row for row in found if row[2] != "unspecified"] == [
        ("a.md", "merge", "mine"),
        ("b.json", "diff", "set"),
    ]


def test_settings_that_are_given_count_and_the_repositorys_do_not(repo: GitRepo) -> None:
    repo.git("config", "merge.renames", "false")
    settings = {"merge.conflictStyle": "diff3", "some.key": "a\nb"}
    with open_sealed(str(repo.path), settings=settings) as sealed:
        for key, value in settings.items():
            assert run_sealed(sealed, ["config", key]).out.decode() == f"{value}\n"
        assert run_sealed(sealed, ["config", "merge.renames"], answers=[1]).out == b""


def test_of_the_environment_what_would_lead_git_elsewhere_is_left_out(
    repo: GitRepo, tmp_path: Path
) -> None:
    env = {
        **os.environ,
        "MY_OWN": "kept",
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_WORK_TREE": str(tmp_path),
        "GIT_EXEC_PATH": repo.git("--exec-path"),
    }
    with open_sealed(str(repo.path), env=env) as sealed:
        run_sealed(sealed, ["rev-parse", "--git-dir"])
        assert sealed.env["MY_OWN"] == "kept"
        assert sealed.env["GIT_EXEC_PATH"] == env["GIT_EXEC_PATH"]
        assert sealed.env.keys().isdisjoint({"GIT_TRACE", "GIT_WORK_TREE"})
        home = sealed.env["HOME"]
    assert home == sealed.folder
    assert (tmp_path / "trace").read_text().count("hash-object") == 0


def test_a_hooks_quarantine_is_kept(repo: GitRepo, tmp_path: Path) -> None:
    known = repo.git("hash-object", "-w", str(repo.write("x", "known")))
    ours = str(repo.path / ".git/objects")
    env = {**os.environ, OBJECTS: str(tmp_path / "new"), OTHER_OBJECTS: ours}
    (tmp_path / "new").mkdir()
    with open_sealed(str(repo.path), env=env) as sealed:
        assert run_sealed(sealed, ["cat-file", "blob", known]).out == b"known"
        new = run_sealed(sealed, ["hash-object", "-w", "--stdin"], b"new").out.decode().strip()
    assert (tmp_path / "new" / new[:2] / new[2:]).is_file()
    assert repo.exit_code("cat-file", "-e", new) == 1


def test_a_history_that_was_replaced_or_cut_is_read_as_it_is(repo: GitRepo, tmp_path: Path) -> None:
    first = repo.commit("first")
    second = repo.commit("second")
    repo.git("replace", second, first)
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    with open_sealed(str(repo.path)) as sealed:
        assert b"second" in run_sealed(sealed, ["cat-file", "commit", second]).out
        assert run_sealed(sealed, ["rev-list", second]).out.decode().split() == [second, first]
    with open_sealed(str(tmp_path / "shallow")) as sealed:
        assert run_sealed(sealed, ["rev-list", second]).out.decode().split() == [second]


@pytest.mark.parametrize(
    ("value", "shared"), [("group", "group"), ("0660", "0660"), ("a\n[b]", "umask")]
)
def test_how_objects_are_shared_is_the_repositorys_own(
    repo: GitRepo, value: str, shared: str
) -> None:
    with (repo.path / ".git/config").open("a") as config:
        written = value.replace("\n", "\\n")
        config.write(f'[core]\n\tsharedRepository = "{written}"\n')
    with open_sealed(str(repo.path)) as sealed:
        assert not sealed.partial
        listed = run_sealed(sealed, ["config", "core.sharedRepository"])
    assert listed.out.decode() == f"{shared}\n"


def test_a_partial_clone_is_known_by_its_settings(repo: GitRepo) -> None:
    repo.git("config", "remote.origin.promisor", "true")
    with open_sealed(str(repo.path)) as sealed:
        assert sealed.partial
    repo.git("config", "--unset", "remote.origin.promisor")
    repo.git("config", "remote.origin.url", "x")
    with open_sealed(str(repo.path)) as sealed:
        assert not sealed.partial


def test_where_no_repository_is_or_its_path_has_a_line_break_nothing_is_opened(
    tmp_path: Path,
) -> None:
    with pytest.raises(CheckpointError, match="not a git repository"), open_sealed(str(tmp_path)):
        pass
    odd = GitRepo.create(tmp_path / "a\nb")
    with pytest.raises(CheckpointError, match="contains a line break"), open_sealed(str(odd.path)):
        pass


def test_commits_get_names_that_git_writes_beside_conflicts(repo: GitRepo) -> None:
    commit = repo.commit()
    with open_sealed(str(repo.path)) as sealed:
        name_commits(sealed, {"ours": commit})
        assert run_sealed(sealed, ["rev-parse", "ours"]).out.decode().strip() == commit
    assert repo.exit_code("rev-parse", "--verify", "-q", "ours") == 1


def test_an_answer_that_is_not_expected_is_an_error(repo: GitRepo) -> None:
    with open_sealed(str(repo.path)) as sealed:
        asked = ["rev-parse", "--verify", "-q", "gone"]
        assert run_sealed(sealed, asked, answers=(0, 1)).code == 1
        with pytest.raises(CheckpointError, match="rev-parse failed in a merge in memory") as error:
            run_sealed(sealed, asked)
        assert not error.value.hint
        tree = ""
        for line in (f"100644 blob {'1' * 40}\tconfig", "040000 tree {}\t.git"):
            stdin = line.format(tree).encode()
            tree = run_sealed(sealed, ["mktree", "--missing"], stdin).out.decode().strip()
        with pytest.raises(CheckpointError, match="invalid path") as error:
            run_sealed(sealed, ["read-tree", tree])
    assert "made by hand" in str(error.value.hint)


@rows(
    "first, others, listed",
    [
        ("/a", None, '"/a"'),
        ("/a", "", '"/a"'),
        ("/a", "/b", f'"/a"{os.pathsep}/b'),
        ('/a"\\b:c', "/b", f'"/a\\"\\\\b:c"{os.pathsep}/b'),
    ],
)
def test_folders_of_objects_are_listed_as_git_reads_them(
    first: str, others: str | None, listed: str
) -> None:
    assert list_folders(first, others) == listed
