"""checkpoint show."""

from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.skill.verbs import show
from tests.support.samples import checkpoint, checkpoint_text
from tests.support.verbs import run_verb


def test_the_whole_file_is_shown_as_it_is(build: Path, project: Path) -> None:
    ran = run_verb(show, "build", cwd=project)
    assert ran.text == build.read_text("utf-8").rstrip("\n")
    assert ran.outcome.data["checkpoints"] == {"build": checkpoint()}


def test_public_leaves_out_what_is_private_and_what_is_unknown(build: Path, project: Path) -> None:
    build.write_text(
        checkpoint_text(mood="calm", cost={"total_usd": 1}, depends_on="plan"), "utf-8"
    )
    ran = run_verb(show, "build", "--public", cwd=project)
    shown = ran.outcome.data["checkpoints"]["build"]
    assert "depends_on" in shown
    assert not {"skill_state", "mood", "cost"} & shown.keys()
    assert "skill_state" not in ran.text
    assert "iteration" not in ran.text


def test_what_is_private_to_another_skill_is_left_out(build: Path, project: Path) -> None:
    assert (
        "skill_state"
        in run_verb(show, "build", cwd=project, env={"CHECKPOINT_SKILL": "build"}).text
    )
    for words in (["build"], []):
        ran = run_verb(show, *words, cwd=project, env={"CHECKPOINT_SKILL": "other"})
        assert "skill_state" not in ran.text
        assert "skill_state" not in ran.outcome.data["checkpoints"]["build"]


def test_without_a_skill_all_are_shown_and_the_bad_one_is_named(project: Path) -> None:
    (project / ".checkpoints/deploy.checkpoint.json").write_text("null")
    ran = run_verb(show, cwd=project)
    assert list(ran.outcome.data["checkpoints"]) == ["build"]
    assert ran.text.startswith(".checkpoints/build.checkpoint.json\n{")
    assert ran.codes == ["json/not-an-object"]


def test_a_skill_without_a_checkpoint_is_an_error(project: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint"):
        run_verb(show, "deploy", cwd=project)
    with pytest.raises(CheckpointError, match="invalid name"):
        run_verb(show, "../../etc/passwd", cwd=project)


def test_where_resume_would_ask_the_choices_are_told_beside_the_content(project: Path) -> None:
    text = checkpoint_text(status="blocked")
    (project / ".checkpoints/build.checkpoint.json").write_text(text, "utf-8")
    ran = run_verb(show, "build", cwd=project)
    assert ran.text == text.rstrip("\n")
    assert (
        "it is blocked; your choices:\n  continue:  checkpoint resume build --continue\n"
        in ran.stderr
    )
    assert [one["name"] for one in ran.outcome.data["choices"]] == ["continue", "restart"]


def test_other_capital_letters_are_taken_for_a_slip(build: Path, project: Path) -> None:
    with pytest.raises(CheckpointError) as caught:
        run_verb(show, "Build", cwd=project)
    assert str(caught.value.hint) == "did you mean build?"
