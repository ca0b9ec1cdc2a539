"""checkpoint log, over real histories."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.skill.verbs import log, reset, rotate
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint, checkpoint_text
from tests.support.verbs import Ran, run_verb

FILE = ".checkpoints/build.checkpoint.json"


def decisions(*texts: str) -> dict[str, Any]:
    return {"context_primer": {"key_decisions": ["SQLite for storage", *texts]}}


def save(repo: GitRepo, message: str, name: str = FILE, **changes: Any) -> str:
    repo.write(name, checkpoint_text(**changes))
    return repo.commit(message)


def run_log(repo: GitRepo, *words: str, skill: str = "build", folder: str = "") -> Ran:
    return run_verb(log, skill, *words, cwd=repo.path / folder)


def told(ran: Ran) -> list[tuple[str | None, list[str]]]:
    """For each entry its subject and the kinds of its events; of a start only that it is one."""
    kinds = [
        (each["subject"], [one["kind"] for one in each["events"]])
        for each in ran.outcome.data["entries"]
    ]
    return [(subject, ["started"] if "started" in found else found) for subject, found in kinds]


def texts(ran: Ran, kinds: Sequence[str] = ("decided",)) -> list[str]:
    return [
        one["text"]
        for each in ran.outcome.data["entries"]
        for one in each["events"]
        if one["kind"] in kinds
    ]


def test_each_commit_is_told_newest_first_with_who_and_when(repo: GitRepo) -> None:
    save(repo, "Start")
    tip = save(repo, "Move on", step="sprint-3", **decisions("Passkeys only", "No cache"))
    ran = run_log(repo)
    assert told(ran) == [("Move on", ["step", "decided"]), ("Start", ["started"])]
    first = ran.outcome.data["entries"][0]
    assert (first["commit"], first["author"], first["merge"]) == (tip, "Ada", False)
    assert f"{tip[:9]}  {first['at'][:10]}" in ran.text
    assert "step: sprint-2 -> sprint-3" in ran.text


def test_a_start_tells_what_is_there_already(repo: GitRepo) -> None:
    save(repo, "Start", blockers=[{"id": "b1", "description": "Which host?"}])
    events = run_log(repo).outcome.data["entries"][0]["events"]
    assert [(one["kind"], one["text"]) for one in events] == [
        ("started", "tidepool, build-loop, sprint-2, in_progress"),
        ("completed", "Plan"),
        ("completed", "Sprint 1: sign-in"),
        ("row", "Sprint 2: notes: new -> in_progress"),
        ("decided", "SQLite for storage"),
        ("decided", "Passkeys only"),
        ("opened", "Which host?"),
    ]
    assert texts(run_log(repo, "--decisions")) == ["SQLite for storage", "Passkeys only"]


def test_commits_that_change_nothing_of_what_is_told_are_counted(repo: GitRepo) -> None:
    save(repo, "Start")
    save(repo, "Private", skill_state={"iteration": 2})
    assert told(run_log(repo)) == [("Start", ["started"])]
    assert run_log(repo).outcome.data["silent"] == 1
    assert told(run_log(repo, "--all"))[0] == ("Private", [])


def test_what_is_not_committed_stands_first(repo: GitRepo) -> None:
    save(repo, "Start")
    repo.write(FILE, checkpoint_text(step="sprint-3"))
    ran = run_log(repo)
    assert told(ran)[0] == (None, ["step"])
    assert ran.text.startswith("not committed yet")


def test_a_checkpoint_that_was_never_committed_is_told(repo: GitRepo) -> None:
    repo.write(FILE, checkpoint_text())
    assert told(run_log(repo)) == [(None, ["started"])]


def test_the_limit_keeps_the_newest_and_says_that_there_is_more(repo: GitRepo) -> None:
    for step in ("a", "b", "c"):
        save(repo, step, step=step)
    ran = run_log(repo, "-n", "2")
    assert [subject for subject, _ in told(ran)] == ["c", "b"]
    assert ran.outcome.data["more"] is True
    assert run_log(repo, "-n", "0").outcome.data["more"] is False


def test_since_leaves_older_commits_out(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    for day, step in (("2026-03-01", "a"), ("2026-03-05", "b")):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{day}T10:00:00Z")
        save(repo, step, step=step)
    ran = run_log(repo, "--since", "2026-03-03")
    assert told(ran) == [("b", ["step"])]
    assert ran.outcome.data["entries"][0]["at"] == "2026-03-05T10:00:00Z"


def test_rows_and_decisions_narrow_the_log(repo: GitRepo) -> None:
    save(repo, "Start")
    rows = [dict(row) for row in checkpoint()["progress_table"]]
    rows[2]["status"] = "complete"
    save(repo, "Row", progress_table=rows)
    save(repo, "Decide", progress_table=rows, **decisions("Passkeys only", "No cache"))
    assert told(run_log(repo, "--rows", "sprint-2")) == [("Row", ["completed"]), ("Start", ["row"])]
    assert told(run_log(repo, "--rows")) == [
        ("Row", ["completed"]),
        ("Start", ["completed", "completed", "row"]),
    ]
    assert told(run_log(repo, "--rows", "other")) == []
    assert told(run_log(repo, "--decisions")) == [
        ("Decide", ["decided"]),
        ("Start", ["decided", "decided"]),
    ]


def test_what_came_by_a_merge_is_told_where_it_was_made_and_the_merge_tells_its_own(
    repo: GitRepo,
) -> None:
    save(repo, "Start", **decisions())
    repo.git("checkout", "-q", "-b", "side")
    save(repo, "Side", **decisions("side"))
    repo.git("checkout", "-q", "main")
    save(repo, "Main", **decisions("main"))
    repo.git("merge", "-q", "--no-commit", "side", check=False)
    repo.write(FILE, checkpoint_text(**decisions("main", "side", "at the merge")))
    repo.commit("Merge side")
    ran = run_log(repo)
    by_commit = {
        each["subject"]: [one["text"] for one in each["events"]]
        for each in ran.outcome.data["entries"]
    }
    assert by_commit["Merge side"] == ["at the merge"]
    assert by_commit["Side"] == ["side"]
    assert by_commit["Main"] == ["main"]


def test_a_merge_that_only_brought_together_is_not_told(repo: GitRepo) -> None:
    save(repo, "Start", **decisions())
    repo.git("checkout", "-q", "-b", "side")
    save(repo, "Side", **decisions("side"))
    repo.git("checkout", "-q", "main")
    save(repo, "Main", **decisions("main"))
    repo.git("merge", "-q", "--no-commit", "side", check=False)
    repo.write(FILE, checkpoint_text(**decisions("main", "side")))
    repo.commit("Merge side")
    assert sorted(str(subject) for subject, _ in told(run_log(repo))) == ["Main", "Side", "Start"]


def test_what_a_merge_threw_away_whole_is_not_told(repo: GitRepo) -> None:
    save(repo, "Start", **decisions())
    repo.git("checkout", "-q", "-b", "side")
    save(repo, "Side", **decisions("side"))
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "-s", "ours", "-m", "Ours", "side")
    assert texts(run_log(repo)) == ["SQLite for storage"]


def test_a_moved_project_is_followed_and_branches_of_then_too(repo: GitRepo) -> None:
    save(repo, "Start", **decisions())
    repo.git("checkout", "-q", "-b", "side")
    save(repo, "Side", **decisions("side"))
    repo.git("checkout", "-q", "main")
    (repo.path / "app").mkdir()
    repo.git("mv", ".checkpoints", "app/.checkpoints")
    repo.commit("Move")
    save(repo, "Later", name="app/.checkpoints/build.checkpoint.json", **decisions("later"))
    repo.git("merge", "-q", "--no-commit", "side", check=False)
    repo.write(
        "app/.checkpoints/build.checkpoint.json", checkpoint_text(**decisions("later", "side"))
    )
    repo.commit("Merge side")
    ran = run_log(repo, folder="app")
    assert sorted(str(subject) for subject, _ in told(ran)) == ["Later", "Move", "Side", "Start"]
    assert (
        "moved: .checkpoints/build.checkpoint.json -> app/.checkpoints/build.checkpoint.json"
        in ran.text
    )


def test_another_file_that_took_the_old_name_is_not_told(repo: GitRepo) -> None:
    save(repo, "Start")
    (repo.path / "app").mkdir()
    repo.git("mv", ".checkpoints", "app/.checkpoints")
    repo.commit("Move")
    save(repo, "A stranger", project="other", **decisions("foreign"))
    ran = run_log(repo, folder="app")
    assert [subject for subject, _ in told(ran)] == ["Move", "Start"]


def test_broken_versions_are_told_and_passed_over_to_the_next_good_one(repo: GitRepo) -> None:
    save(repo, "Start", **decisions())
    repo.write(FILE, "{ not json\n")
    repo.commit("Break")
    repo.write(FILE, "[1]\n")
    repo.commit("Break again")
    save(repo, "Mend", **decisions("after all"))
    ran = run_log(repo)
    assert told(ran) == [
        ("Mend", ["repaired", "decided"]),
        ("Break again", ["broken"]),
        ("Break", ["broken"]),
        ("Start", ["started"]),
    ]
    assert "not valid JSON, line 1" in ran.text


def test_a_checkpoint_that_was_deleted_and_made_again_has_two_starts(repo: GitRepo) -> None:
    save(repo, "Start")
    (repo.path / FILE).unlink()
    repo.commit("Delete")
    save(repo, "Again", step="new")
    assert told(run_log(repo)) == [
        ("Again", ["started"]),
        ("Delete", ["deleted"]),
        ("Start", ["started"]),
    ]


def test_a_checkpoint_that_is_gone_still_has_a_log(repo: GitRepo) -> None:
    save(repo, "Start")
    repo.write(".checkpoints/README.md", "kept")
    (repo.path / FILE).unlink()
    repo.commit("Delete")
    assert [subject for subject, _ in told(run_log(repo))] == ["Delete", "Start"]


def test_a_rotation_and_a_reset_are_one_line_each(repo: GitRepo) -> None:
    save(repo, "Start", **decisions(*(f"decision {number}" for number in range(40))))
    run_verb(rotate, "build", cwd=repo.path)
    repo.commit("Rotate")
    run_verb(reset, "build", cwd=repo.path)
    repo.commit("Reset")
    ran = run_log(repo)
    assert told(ran) == [("Reset", ["archived"]), ("Rotate", ["rotated"]), ("Start", ["started"])]
    assert "rotated: 21 entries to .checkpoints/history/build." in ran.text


def test_telemetry_in_the_history_folder_is_not_told(repo: GitRepo) -> None:
    save(repo, "Start")
    repo.write(".checkpoints/history/build/2026-03.json", "{}")
    repo.commit("Telemetry")
    assert told(run_log(repo)) == [("Start", ["started"])]


def test_a_shallow_clone_says_where_it_was_cut_off(repo: GitRepo) -> None:
    save(repo, "Start")
    save(repo, "Next", step="b")
    save(repo, "Last", step="c")
    repo.git("clone", "-q", "--depth", "2", f"file://{repo.path}", "clone")
    ran = run_log(repo, folder="clone")
    assert told(ran) == [("Last", ["step"]), ("Next", ["known"])]
    assert ran.codes == ["log/shallow"]


def test_outside_git_there_is_no_log_and_a_hint(tmp_path: Any) -> None:
    folder = tmp_path / "plain" / ".checkpoints"
    folder.mkdir(parents=True)
    (folder / "build.checkpoint.json").write_text(checkpoint_text(), "utf-8")
    with pytest.raises(CheckpointError) as caught:
        run_verb(log, "build", cwd=folder.parent)
    assert f"git -C {folder.parent} init" in str(caught.value.hint)


def test_a_skill_that_never_was_is_refused_with_the_names_there_are(repo: GitRepo) -> None:
    save(repo, "Start")
    with pytest.raises(CheckpointError) as caught:
        run_log(repo, skill="deploy")
    assert "build" in str(caught.value.hint)


def test_the_skill_may_be_left_out_where_there_is_one(repo: GitRepo) -> None:
    save(repo, "Start")
    assert run_verb(log, cwd=repo.path).outcome.data["skill"] == "build"
    save(repo, "Two", name=".checkpoints/deploy.checkpoint.json", skill="deploy")
    with pytest.raises(CheckpointError):
        run_verb(log, cwd=repo.path)


def test_odd_names_and_texts_reach_the_log_as_values(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "\x1b[31mEve :100644")
    name = ".checkpoints/b[1] ü.checkpoint.json"
    save(repo, ":100644 000000 \x1b]0;title\x07", name=name, skill="b[1] ü")
    save(repo, "Next", name=name, skill="b[1] ü", step="x")
    ran = run_log(repo, skill="b[1] ü")
    assert [kinds for _, kinds in told(ran)] == [["step"], ["started"]]
    assert json.dumps(ran.outcome.data)


def test_a_version_that_is_too_large_is_told_as_one(repo: GitRepo) -> None:
    save(repo, "Start")
    repo.write(FILE, json.dumps({"skill": "build", "filler": "x" * (9 << 20)}))
    repo.commit("Grow")
    save(repo, "Shrink", step="y")
    assert told(run_log(repo)) == [
        ("Shrink", ["repaired", "step"]),
        ("Grow", ["broken"]),
        ("Start", ["started"]),
    ]


def test_no_process_is_left_behind_when_the_log_is_cut(repo: GitRepo) -> None:
    for step in ("a", "b", "c"):
        save(repo, step, step=step)
    program = "import os; from checkpoint_git.cli.app import main; main(['log', '-n', '1']); os.waitpid(-1, os.WNOHANG)"
    # in a process of its own: this one may have other children
    done = repo.run(sys.executable, "-c", program)
    assert b"ChildProcessError" in done.stderr


def test_deep_versions_are_no_trouble(repo: GitRepo) -> None:
    for depth, step in ((90, "a"), (960, "b"), (990, "c"), (200_000, "d")):
        deep = "[" * depth + "]" * depth
        repo.write(
            FILE, f'{{"step": "{step}", "status": "x", "progress_table": {deep}, "z": {deep}}}'
        )
        repo.commit(step)
    repo.write(FILE, '{"step": "e"}')
    subjects = [subject for subject, _ in told(run_log(repo))]
    assert subjects == [None, "d", "c", "b", "a"]


def test_versions_that_other_readers_of_json_take_are_taken(repo: GitRepo) -> None:
    repo.write(FILE, '\ufeff{"step": "a"}')
    repo.commit("byte order mark")
    repo.write(FILE, '{"step": "x", "step": "b", "n": 1e999}')
    repo.commit("twice")
    assert told(run_log(repo)) == [("twice", ["step"]), ("byte order mark", ["started"])]


def test_what_a_partial_clone_lacks_is_said_and_not_fetched(repo: GitRepo) -> None:
    for step in ("a", "b", "c"):
        save(repo, step, step=step)
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "-q", "--filter=blob:none", f"file://{repo.path}", "clone")
    ran = run_log(repo, folder="clone")
    assert told(ran) == [("c", ["repaired"]), ("b", ["broken"]), ("a", ["broken"])]
    assert "this clone does not have that version" in ran.text


def test_settings_of_the_user_change_nothing(repo: GitRepo) -> None:
    save(repo, "Start")
    (repo.path / "app").mkdir()
    repo.git("mv", ".checkpoints", "app/.checkpoints")
    repo.commit("Move")
    save(repo, "Later", name="app/.checkpoints/build.checkpoint.json", step="x")
    before = run_log(repo, folder="app").outcome
    for setting in ("log.showRoot=false", "log.follow=true", "diff.renames=false", "log.showSignature=true",
                    "core.quotePath=true", "log.date=relative", "diff.relative=true", "log.diffMerges=first-parent",
                    "color.ui=always", "core.abbrev=5", "log.decorate=full", "format.pretty=oneline"):  # fmt: skip
        repo.git("config", *setting.split("=", 1))
    assert run_log(repo, folder="app").outcome == before
