import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.tools.diff import verb
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb

PATH = ".checkpoints/build.checkpoint.json"


@pytest.fixture
def changed(repo: GitRepo) -> GitRepo:
    repo.write(PATH, checkpoint_text(step="one"))
    repo.commit("one")
    repo.write(PATH, checkpoint_text(step="two"))
    repo.commit("two")
    repo.write(PATH, checkpoint_text(step="three"))
    return repo


def shown(repo: GitRepo, *words: str) -> list[str]:
    """The lines of the diff that begin with a sign."""
    return [
        line
        for line in run_verb(verb, *words, cwd=repo.path).text.splitlines()
        if line[:1] in ("+", "-")
    ]


def test_a_change_is_a_line_for_each_value_and_not_a_line_of_json(changed: GitRepo) -> None:
    assert shown(changed) == ["-step: two", "+step: three"]
    assert shown(changed, "--rev", "HEAD~1") == ["-step: one", "+step: three"]
    assert shown(changed, "--rev", "HEAD~1..HEAD") == ["-step: one", "+step: two"]
    assert shown(changed, "--staged") == []
    changed.git("add", "-A")
    assert shown(changed, "--staged") == ["-step: two", "+step: three"]


def test_names_and_paths_narrow_it(changed: GitRepo) -> None:
    for words in (["build"], [PATH], [".checkpoints"], ["."], [PATH, "build"]):
        assert shown(changed, *words) == ["-step: two", "+step: three"]
    changed.write(f"pkg/{PATH}", checkpoint_text())
    changed.git("add", "pkg")
    changed.git("commit", "-q", "-m", "another", "pkg")
    for words in ([f"pkg/{PATH}"], ["pkg"]):  # the same name in another folder is another file
        assert shown(changed, *words) == []


def test_a_first_checkpoint_is_shown_before_it_is_committed(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text(step="one"))
    ran = run_verb(verb, cwd=repo.path)
    assert ran.text.splitlines()[0] == f"{PATH} (new)"
    assert "+step: one" in ran.text.splitlines()


def test_a_deleted_one_is_shown(changed: GitRepo) -> None:
    (changed.path / PATH).unlink()
    ran = run_verb(verb, cwd=changed.path)
    assert ran.text.splitlines()[0] == f"{PATH} (deleted)"
    assert "-step: two" in ran.text.splitlines()


def test_what_is_no_json_is_compared_as_text_without_its_control_characters(
    changed: GitRepo,
) -> None:
    changed.write(PATH, "<<<<<<< ours\n\x1b[31m\n")
    assert [line for line in shown(changed) if line[0] == "+"] == ["+<<<<<<< ours", "+\\x1b[31m"]


def test_an_unknown_revision_and_a_folder_without_git_are_errors(
    changed: GitRepo, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(CheckpointError, match="nowhere"):
        run_verb(verb, "--rev", "nowhere", cwd=changed.path)
    with pytest.raises(CheckpointError, match="not inside a git repository"):
        run_verb(verb, cwd=tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize("name", ["biuld", "HEAD~1", "no/such/path"])
def test_a_name_that_git_has_nothing_of_is_refused(changed: GitRepo, name: str) -> None:
    ran = run_here("diff", name, cwd=changed.path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"{name} names no checkpoint that git has" in ran.stderr
    assert "checkpoint diff --rev A..B" in ran.stderr


def test_one_that_was_taken_out_of_the_index_alone_is_compared_once(changed: GitRepo) -> None:
    changed.git("rm", "-q", "--cached", PATH)
    assert shown(changed) == ["-step: two", "+step: three"]
