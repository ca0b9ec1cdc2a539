"""checkpoint list."""

from pathlib import Path

from checkpoint_git.protocols.skill.verbs import list as list_verb
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb


def test_every_checkpoint_is_listed_with_its_status(repo: GitRepo) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.write(".checkpoints/audit.checkpoint.json", checkpoint_text(skill="audit", status="done"))
    repo.write(".checkpoints/README.md", "")
    repo.write(".checkpoints/history/build.2026-01-01-0a.json", "{}")
    ran = run_verb(list_verb, cwd=repo.path)
    assert [(each["skill"], each["valid"]) for each in ran.outcome.data["checkpoints"]] == [
        ("audit", False),
        ("build", True),
    ]
    assert "done (invalid)" in ran.text
    assert ran.codes == []


def test_a_corrupt_file_is_named_and_the_good_ones_are_still_listed(project: Path) -> None:
    (project / ".checkpoints/deploy.checkpoint.json").write_text('{"skill": \n')
    ran = run_verb(list_verb, cwd=project)
    assert [each["skill"] for each in ran.outcome.data["checkpoints"]] == ["build", "deploy"]
    (finding,) = ran.outcome.findings
    assert (finding.code, finding.path, finding.line) == ("json/syntax", ".checkpoints/deploy.checkpoint.json", 2)


def test_an_empty_folder_says_how_to_start(repo: GitRepo) -> None:
    repo.write(".checkpoints/README.md", "")
    assert "checkpoint update" in run_verb(list_verb, cwd=repo.path).text
