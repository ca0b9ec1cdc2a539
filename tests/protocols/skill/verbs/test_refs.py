"""checkpoint refs."""

from pathlib import Path

from checkpoint_git.protocols.skill.verbs import refs
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb

SOURCE = {"provider": "linear", "id": "PLAT-1", "role": "source", "url": "https://example.org/1", "body": "private"}
CHILD = {"provider": "linear", "id": "PLAT-2", "role": "child"}


def write(project: Path) -> None:
    folder = project / ".checkpoints"
    (folder / "build.checkpoint.json").write_text(checkpoint_text(pm_refs=[SOURCE, CHILD, "odd"]), "utf-8")
    (folder / "deploy.checkpoint.json").write_text(checkpoint_text(skill="deploy", pm_refs=[{"id": 7}]), "utf-8")


def test_the_tickets_of_all_skills_are_listed_without_their_text(project: Path) -> None:
    write(project)
    ran = run_verb(refs, cwd=project)
    assert [(each["skill"], each["id"]) for each in ran.outcome.data["refs"]] == [
        ("build", "PLAT-1"),
        ("build", "PLAT-2"),
        ("deploy", 7),
    ]
    assert "private" not in ran.text + str(ran.outcome.data)


def test_a_role_narrows_the_list(project: Path) -> None:
    write(project)
    assert [each["id"] for each in run_verb(refs, "--role", "source", cwd=project).outcome.data["refs"]] == ["PLAT-1"]


def test_no_tickets_is_said(project: Path) -> None:
    assert run_verb(refs, cwd=project).text == "no tickets"
