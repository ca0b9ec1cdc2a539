from pathlib import Path

import pytest

from checkpoint_git.cli.completion.complete import Completed, complete, split_line
from checkpoint_git.cli.verbs import VERBS
from tests.support.repos import GitRepo
from tests.support.rows import rows


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    repo = GitRepo.create(tmp_path / "repo")
    folder = repo.path / ".checkpoints"
    folder.mkdir()
    (folder / "build.checkpoint.json").write_text(
        '{"status": "in_progress", "own": {"depth": 1}, "progress_table":'
        ' [{"id": "sprint-1", "label": "First", "status": "complete"}, {"id": "$(touch x)", "status": "complete"}]}'
    )
    return repo


def values(completed: Completed) -> list[str]:
    return [one.value for one in completed[0]]


@rows(
    ("line", "words"),
    [
        ("checkpoint ", [""]),
        ("checkpoint up", ["up"]),
        ("checkpoint update build --a='x y", ["update", "build", "--a=x y"]),
        ('checkpoint done "two words" ', ["done", "two words", ""]),
        ("git checkpoint next --a", ["next", "--a"]),
        ("git -C over/there checkpoint next ", ["next", ""]),
        ("/usr/bin/checkpoint val", ["val"]),
        ("checkpoint-doctor --f", ["doctor", "--f"]),
        ("", [""]),
    ],
)
def test_a_line_is_parted_as_a_shell_would(line: str, words: list[str]) -> None:
    assert split_line(line) == words


def test_an_empty_line_offers_every_verb_that_is_listed(repo: GitRepo) -> None:
    assert values(complete([""], str(repo.path))) == [
        verb for verb, row in VERBS.items() if row.summary
    ]


@rows("verb", sorted(verb for verb, row in VERBS.items() if row.summary))
def test_every_verb_offers_its_own_options_with_words_about_them(verb: str, repo: GitRepo) -> None:
    found = complete([verb, "--"], str(repo.path))[0]
    assert {"--format", "--json"} <= {one.value for one in found}
    assert all(one.text for one in found if one.value != "--")


@rows(
    ("words", "expected"),
    [
        (["update", "b"], ["build"]),
        (["show", ""], ["build"]),
        (["-C", ".", "resume", ""], ["build"]),
        (["rp", "veri"], ["verify"]),
        (["refs", "b"], ["build"]),
        (["status", "--format=j"], ["--format=json"]),
        (["status", "--format", "j"], ["json"]),
        (["show", "--tickets=s"], ["--tickets=source"]),
        (["workflow", "task", "d"], ["done"]),
        (["workflow", "approve", "VERI"], ["VERIFICATION"]),
        (["update", "build", "--progress_t"], ["--progress_table+=", "--progress_table["]),
        (["update", "build", "--progress_table["], ["--progress_table[sprint-1]"]),
        (
            ["update", "build", "--progress_table[sprint-1].st"],
            ["--progress_table[sprint-1].status="],
        ),
        (
            ["update", "build", "--progress_table[sprint-1].status=c"],
            ["--progress_table[sprint-1].status=complete"],
        ),
        (["update", "build", "--status=bl"], ["--status=blocked"]),
        (["update", "build", "--ow"], ["--own."]),
        (["update", "build", "--own."], ["--own.depth="]),
        (["doctor", "--check", "drift/file-m"], ["drift/file-missing"]),
        (["doctor", "--fix=drift/file-m"], ["--fix=drift/file-missing"]),
        (["--br"], ["--brief"]),
        (["nonsense", ""], []),
        (["status", "nobody"], []),
    ],
)
def test_a_word_is_completed_by_what_may_stand_there(
    words: list[str], expected: list[str], repo: GitRepo
) -> None:
    assert values(complete(words, str(repo.path))) == expected


def test_an_option_that_was_given_is_offered_once_only(repo: GitRepo) -> None:
    assert "--strict" not in values(complete(["validate", "--strict", "--"], str(repo.path)))
    assert "--check" in values(
        complete(["doctor", "--check", "drift/project-dir", "--"], str(repo.path))
    )


def test_branches_are_offered_where_a_commit_may_stand(repo: GitRepo) -> None:
    repo.commit("first")
    repo.git("branch", "topic")
    assert values(complete(["validate", "--rev", "to"], str(repo.path))) == ["topic"]
    assert values(complete(["audit", "topic..t"], str(repo.path))) == ["topic..topic"]


@pytest.mark.parametrize(
    ("words", "shell"),
    [(["validate", ""], ":files"), (["-C", ""], ":folders"), (["rp", "create", ""], ":files")],
)
def test_files_and_folders_are_left_to_the_shell(
    words: list[str], shell: str, repo: GitRepo
) -> None:
    assert complete(words, str(repo.path))[1] == shell


def test_what_a_shell_would_run_is_never_offered(repo: GitRepo) -> None:
    found = complete(["update", "build", "--progress_table["], str(repo.path))[0]
    assert found
    assert not any("$" in one.value for one in found)


def test_a_broken_checkpoint_offers_the_fields_of_the_schema_or_nothing(repo: GitRepo) -> None:
    (repo.path / ".checkpoints/build.checkpoint.json").write_text("{")
    assert values(complete(["update", "build", "--status=bl"], str(repo.path))) in (
        [],
        ["--status=blocked"],
    )


def test_a_folder_that_is_not_there_offers_no_names(tmp_path: Path) -> None:
    assert values(complete(["-C", str(tmp_path / "gone"), "show", ""], str(tmp_path))) == []
