"""checkpoint show --tickets."""

from pathlib import Path

import pytest

from checkpoint_git.protocols.skill.verbs import show
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb

SOURCE = {
    "provider": "linear",
    "id": "PLAT-1",
    "role": "source",
    "url": "https://example.org/1",
    "body": "private",
}
CHILD = {"provider": "linear", "id": "PLAT-2", "role": "child"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--tickets"], [("build", "PLAT-1"), ("build", "PLAT-2"), ("deploy", 7)]),
        (["--tickets=source"], [("build", "PLAT-1")]),
        (["build", "--tickets"], [("build", "PLAT-1"), ("build", "PLAT-2")]),
        (["deploy", "--tickets", "child"], []),
    ],
)
def test_the_tickets_are_listed_without_their_text(
    project: Path, words: list[str], expected: list[tuple[str, object]]
) -> None:
    folder = project / ".checkpoints"
    (folder / "build.checkpoint.json").write_text(
        checkpoint_text(pm_refs=[SOURCE, CHILD, "odd"]), "utf-8"
    )
    (folder / "deploy.checkpoint.json").write_text(
        checkpoint_text(skill="deploy", pm_refs=[{"id": 7}]), "utf-8"
    )
    ran = run_verb(show, *words, cwd=project)
    assert [(each["skill"], each["id"]) for each in ran.outcome.data["tickets"]] == expected
    assert "private" not in ran.text + str(ran.outcome.data)


def test_no_tickets_are_reported(project: Path) -> None:
    assert run_verb(show, "--tickets", cwd=project).text == "no tickets"
