import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import checkpoint_git
from checkpoint_git import CheckpointError, Checkpoints
from checkpoint_git.core.clock import read_instant
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

FILE = ".checkpoints/build.checkpoint.json"
NOW = (read_instant("2026-03-02T12:00:00Z") or (0, ""))[0]


@pytest.fixture
def checkpoints(repo: GitRepo) -> Checkpoints:
    """The sample project, at noon."""
    repo.write(FILE, checkpoint_text())
    return Checkpoints(repo.path, now=NOW)


def test_status_says_where_everything_stands(checkpoints: Checkpoints) -> None:
    result = checkpoints.status()
    assert [state.skill for state in result.states] == ["build"]
    assert result.decisions == []
    assert checkpoints.status("build", since="2026-03-01").changes[0].state.skill == "build"


def test_next_is_the_queue(checkpoints: Checkpoints) -> None:
    result = checkpoints.next()
    assert result.queue.actions[0].action == "Write the notes API"
    assert result.queue.skipped == []


def test_log_tells_what_each_commit_did(checkpoints: Checkpoints, repo: GitRepo) -> None:
    repo.commit("Start")
    checkpoints.update("build", replace={"step": "sprint-3"})
    result = checkpoints.log("build")
    told = [
        (entry.commit and entry.commit.subject, entry.events[0].kind) for entry in result.entries
    ]
    assert told == [(None, "step"), ("Start", "started")]
    assert checkpoints.log("build", limit=1).is_cut


def test_resume_says_how_to_go_on_and_shows_the_public_part(checkpoints: Checkpoints) -> None:
    result = checkpoints.resume("build")
    assert result.plan.decision == "continue"
    assert result.document is not None
    assert "skill_state" not in (result.document.value or {})
    assert result.document.text is None
    assert checkpoints.resume("deploy").plan.decision == "start_fresh"


def test_validate_lists_everything_that_is_wrong(checkpoints: Checkpoints, repo: GitRepo) -> None:
    assert checkpoints.validate() == []
    repo.write(".checkpoints/bad.checkpoint.json", "null")
    assert [finding.code for finding in checkpoints.validate()] == ["json/not-an-object"]
    assert checkpoints.validate([repo.path / FILE]) == []


def test_show_leaves_out_what_is_private_unless_asked(
    checkpoints: Checkpoints, repo: GitRepo
) -> None:
    assert "skill_state" not in checkpoints.show("build")
    assert checkpoints.show("build", public=False)["skill_state"] == {"iteration": 1}
    repo.write(".checkpoints/bad.checkpoint.json", "null")
    with pytest.raises(CheckpointError, match="null"):
        checkpoints.show("bad")


def test_update_replaces_and_appends(checkpoints: Checkpoints) -> None:
    result = checkpoints.update(
        "build",
        replace={
            "step": "sprint-3",
            "skill_state.iteration": 2,
            "progress_table[sprint-2].status": "complete",
        },
        append={
            "context_primer.key_decisions": ["Dark mode", "One worker"],
            "next_actions": [{"text": "Ship"}],
        },
    )
    assert result.written.refused == []
    value = checkpoints.show("build", public=False)
    assert value["step"] == "sprint-3"
    assert value["skill_state"] == {"iteration": 2}
    assert value["progress_table"][2]["status"] == "complete"
    assert value["context_primer"]["key_decisions"][2:] == ["Dark mode", "One worker"]
    assert value["next_actions"][-1] == {"text": "Ship"}
    assert value["updated_at"] == "2026-03-02T12:00:00Z"


def test_update_refuses_what_would_be_wrong(checkpoints: Checkpoints) -> None:
    result = checkpoints.update("build", replace={"status": "nearly"})
    assert [finding.code for finding in result.written.refused] == ["skill/unknown-status"]
    assert checkpoints.show("build")["status"] == "in_progress"


def test_update_refuses_what_is_no_json_and_no_list(checkpoints: Checkpoints) -> None:
    with pytest.raises(CheckpointError, match="cannot be JSON"):
        checkpoints.update("build", replace={"step": object()})
    with pytest.raises(CheckpointError, match="list of items"):
        checkpoints.update("build", append={"next_actions": object()})  # type: ignore[dict-item]


def test_done_moves_the_first_action(checkpoints: Checkpoints) -> None:
    result = checkpoints.done("build")
    assert (result.action, result.next_action) == ("Write the notes API", "Run the evaluator")
    assert checkpoints.done("build").written.refused
    assert checkpoints.done("build", complete=True).written.refused == []
    assert checkpoints.show("build")["status"] == "complete"


def test_done_counts_from_1_and_leaves_no_action_behind_unasked(checkpoints: Checkpoints) -> None:
    with pytest.raises(CheckpointError, match="1 other action would be left"):
        checkpoints.done("build", 2, complete=True)
    assert checkpoints.done("build", 2, complete=True, force=True).action == "Run the evaluator"
    assert checkpoints.show("build")["next_actions"] == ["Write the notes API"]


def test_every_verb_that_adds_or_settles_an_entry(checkpoints: Checkpoints) -> None:
    def read(field: str) -> Any:
        return checkpoints.show("build")[field]

    checkpoints.add("build", "Ship it", first=True)
    assert read("next_actions")[0] == "Ship it"
    checkpoints.drop("build", "no time", 1)
    assert read("next_actions")[0] == "Write the notes API"
    row = checkpoints.row("build", "User tests", "in_progress", id="tests").entry
    assert row is not None
    assert (row.id, read("progress_table")[-1]["label"]) == ("tests", "User tests")

    first = checkpoints.ask("build", "Which store?", ["SQLite", "D1"]).entry
    second = checkpoints.ask("build", "Which font?").entry
    assert first is not None
    assert second is not None
    assert checkpoints.decide("build", "D1").written.refused  # both wait
    checkpoints.decide("build", 2, id=first.id)
    assert read("context_primer")["key_decisions"][-1].startswith("Which store? D1 (")
    blocker = checkpoints.block("build", "The disk is full", "external_dep").entry
    assert blocker is not None
    assert checkpoints.unblock("build", id=blocker.id).written.refused == []


def test_a_name_may_be_left_out_if_it_is_clear(
    checkpoints: Checkpoints, repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checkpoints.done().action == "Write the notes API"
    assert checkpoints.undo().exists
    assert checkpoints.show()["skill"] == "build"
    assert checkpoints.resume().plan.decision == "continue"
    repo.write(".checkpoints/ship.checkpoint.json", checkpoint_text(skill="ship"))
    for read in (
        checkpoints.done,
        checkpoints.resume,
        checkpoints.show,
        checkpoints.log,
        checkpoints.undo,
    ):
        with pytest.raises(CheckpointError, match="which checkpoint"):
            read()
    assert [action.skill for action in checkpoints.next("ship").queue.actions] == ["ship"]
    with pytest.raises(CheckpointError, match="has no checkpoint"):
        checkpoints.next("shop")
    monkeypatch.setenv("CHECKPOINT_SKILL", "ship")
    assert checkpoints.show()["skill"] == "ship"
    assert "skill_state" in checkpoints.show(public=False)
    assert "skill_state" not in checkpoints.show("build", public=False)


def test_the_former_word_for_name_still_works(checkpoints: Checkpoints) -> None:
    with pytest.warns(DeprecationWarning, match="name="):
        assert checkpoints.show(skill="build")["skill"] == "build"  # type: ignore[call-arg]


def test_rename_takes_the_history_along(checkpoints: Checkpoints, repo: GitRepo) -> None:
    repo.write(".checkpoints/web.checkpoint.json", checkpoint_text(skill="web", depends_on="build"))
    repo.commit("Start")
    renamed = checkpoints.rename("build", "api")
    assert (renamed.path, renamed.staged) == (FILE.replace("build", "api"), True)
    assert renamed.dependents == ("web",)
    assert checkpoints.show("api")["skill"] == "api"
    with pytest.raises(CheckpointError, match="already exists"):
        checkpoints.rename("api", "web")
    with pytest.raises(CheckpointError, match="invalid name"):
        checkpoints.rename("api", "../web")
    assert run_here("claim", "api", cwd=repo.path).returncode == 0
    assert [finding.code for finding in checkpoints.rename("api", "app").refused] == ["claim/held"]


def test_reset_and_rotate_keep_the_past(checkpoints: Checkpoints, repo: GitRepo) -> None:
    assert checkpoints.rotate("build", dry_run=True).moved == []
    archive = checkpoints.reset("build")
    assert json.loads((repo.path / archive).read_text("utf-8")) == json.loads(checkpoint_text())
    assert checkpoints.list() == []


def test_list_and_refs_are_plain_objects(checkpoints: Checkpoints) -> None:
    checkpoints.update(
        "build", append={"pm_refs": [{"provider": "jira", "id": "T-1", "role": "source"}]}
    )
    assert checkpoints.list()[0]["skill"] == "build"
    assert checkpoints.refs() == [
        {"skill": "build", "provider": "jira", "id": "T-1", "role": "source"}
    ]
    assert checkpoints.refs("child") == []


def test_another_skills_checkpoint_is_not_written(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECKPOINT_SKILL", "deploy")
    for write in (checkpoints.reset, checkpoints.done, checkpoints.rotate, checkpoints.update):
        with pytest.raises(CheckpointError, match="works as deploy"):
            write("build")
    assert checkpoints.show("build")


def test_a_project_without_checkpoints_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError) as raised:
        Checkpoints(tmp_path).status()
    assert "checkpoint init" in str(raised.value.hint)


def test_the_clock_is_asked_where_no_instant_is_given(repo: GitRepo) -> None:
    assert Checkpoints(repo.path)._now() > NOW


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, checkpoint_git; print([name for name in sys.modules if name.startswith('checkpoint_git.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_the_package_offers_what_it_says() -> None:
    for name in checkpoint_git.__all__:
        assert getattr(checkpoint_git, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        checkpoint_git.nothing  # noqa: B018


@pytest.mark.parametrize("path", ["x=y", "x+", "x:json", ""])
def test_a_path_that_would_name_another_field_is_refused(
    checkpoints: Checkpoints, repo: GitRepo, path: str
) -> None:
    before = repo.read(FILE)
    with pytest.raises(CheckpointError):
        checkpoints.update("build", replace={path: 5})
    assert repo.read(FILE) == before


def test_clones_sync_from_python_too(
    checkpoints: Checkpoints, repo: GitRepo, tmp_path: Path
) -> None:
    repo.commit()
    repo.git("init", "-q", "--bare", str(tmp_path / "hub.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    result = checkpoints.sync(branch="checkpoints")
    assert (result.state, result.sent) == ("synced", [".checkpoints/build.checkpoint.json"])
    assert repo.git("rev-parse", "--verify", "origin/checkpoints") == result.commit


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.update("build", remove=["x"]),
        lambda one: one.update("build", replace=["x"]),
        lambda one: one.update("build", replace={"skill_state.x": "\udcff"}),
        lambda one: one.update(None, replace={"step": "x"}),
        lambda one: one.note("build", 5),
        lambda one: one.ask("build", "Which?", options=[5]),
        lambda one: one.done("build", next_action=5),
        lambda one: one.drop("build", None),
    ],
)
def test_arguments_of_another_type_are_refused(
    checkpoints: Checkpoints, call: Callable[[Any], object]
) -> None:
    before = checkpoints.show("build", public=False)
    with pytest.raises(CheckpointError):
        call(checkpoints)
    assert checkpoints.show("build", public=False) == before


def test_one_option_is_not_taken_for_its_letters(checkpoints: Checkpoints) -> None:
    checkpoints.ask("build", "Which region?", options="eu-west")
    assert checkpoints.show("build")["blockers"][-1]["options"] == ["eu-west"]
