import os
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.untrusted_text import hide_secrets
from checkpoint_git.protocols.skill.verbs import resume
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import Ran, run_verb

FILE = ".checkpoints/build.checkpoint.json"
LATER = "2026-03-04T12:00:00Z"  # two days after the sample was written, and not stale
WRITTEN = 1_772_443_800  # 2026-03-02T09:30:00Z


def listing(*entries: str) -> dict[str, Any]:
    """The change that makes a checkpoint list these generated files."""
    return {"context_primer": {"key_decisions": ["SQLite"], "generated_files": list(entries)}}


def write_old(repo: GitRepo, name: str, content: str = "x\n", seconds: int = WRITTEN - 60) -> None:
    """A file whose time of writing is before the checkpoint's."""
    os.utime(repo.write(name, content), (seconds, seconds))


def commit_at(repo: GitRepo, message: str, instant: str) -> None:
    """Everything committed, at an instant of its own."""
    env = {**os.environ, "GIT_COMMITTER_DATE": instant, "GIT_AUTHOR_DATE": instant}
    repo.git("add", "-A")
    assert repo.run("git", "commit", "-q", "-m", message, env=env).returncode == 0


def messages(ran: Ran) -> str:
    """What the findings say, with their codes; without the one about the sample's project_dir."""
    told = [finding for finding in ran.outcome.findings if finding.code != "drift/project-dir"]
    return "\n".join(f"{finding.code} {finding.level} {finding.message}" for finding in told)


# the decision


def test_the_text_of_a_broken_file_is_searched_for_secrets_once(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = f"{'gh'}p_aB3dE5gH7jK9mN1pQ2rS4tU6"
    text = checkpoint_text(progress_table=[{token: 1}] * 20)
    (project / FILE).write_text(text)
    searched = list[str]()

    def note(value: Any, document: str) -> Any:
        searched.append(document)
        return hide_secrets(value, document)

    monkeypatch.setattr("checkpoint_git.protocols.skill.verbs.resume.hide_secrets", note)
    ran = run_verb(resume, "build", cwd=project)
    assert searched.count(text) == 1
    assert len(ran.outcome.findings) > 20
    assert (token in repr(ran), "[redacted]" in repr(ran)) == (False, True)


def test_fresh_work_goes_on_with_its_context(project: Path) -> None:
    ran = run_verb(resume, "build", cwd=project)
    assert ran.outcome.code == 0
    assert ran.text.startswith(
        "RESUMING: build on tidepool\n"
        "Last session: 2026-03-02T09:30:00Z (2h ago)\n"
        "Status: in_progress — Sprint 1 is done; sprint 2 has its contract.\n"
        "Progress: 2/3 phases complete\n"
        "Next: Write the notes API\n"
        "\n"
        "Resuming from next_actions[0]: Write the notes API\n"
    )
    assert "Key decisions:\n  - SQLite for storage\n  - Passkeys only" in ran.text
    assert "User preferences:\n  - Short answers" in ran.text
    assert "Then:\n  - Run the evaluator" in ran.text


def list_answers(ran: Ran) -> list[tuple[str, str]]:
    return [(answer["name"], str(answer["command"])) for answer in ran.outcome.data["answers"]]


def test_a_decision_that_waits_stops_until_somebody_says_continue(project: Path) -> None:
    blocker = {"id": "b1", "description": "Which region?", "needs": "user_decision"}
    (project / FILE).write_text(checkpoint_text(blockers=[blocker]), "utf-8")
    ran = run_verb(resume, "build", cwd=project)
    assert ran.outcome.code == 1
    assert (ran.outcome.data["decision"], ran.outcome.data["reasons"]) == ("ask", ("decision",))
    assert ran.outcome.data["ask_first"] == [blocker]
    assert list_answers(ran)[0] == ("decide", 'checkpoint decide build b1 "..."')
    assert "Stop: 1 decision waiting on you.\n  blocker b1: Which region?" in ran.text
    assert "Resuming" not in ran.text
    going = run_verb(resume, "build", "--continue", cwd=project)
    assert going.outcome.code == 0
    assert "Ask before proceeding: Which region?" in going.text


def test_a_long_next_action_is_said_whole_once(project: Path) -> None:
    action = f"Write {'the notes API, ' * 20}and its tests"
    (project / FILE).write_text(checkpoint_text(next_actions=[action]), "utf-8")
    ran = run_verb(resume, "build", cwd=project)
    assert f"Next: {action}\n" in ran.text
    assert f"Resuming from next_actions[0]: {action[:57]}...\n" in ran.text


def test_what_was_done_last_the_proofs_and_the_tickets_of_others_are_shown(project: Path) -> None:
    done = [
        {"text": f"Step {number}", "at": f"2026-03-0{number}T08:00:00Z"} for number in (4, 3, 2, 1)
    ]
    actions = [
        {"text": "Run the evaluator", "done_when": "make eval"},
        {"text": "Ship", "done_when": "make ship"},
    ]
    (project / FILE).write_text(checkpoint_text(recently_done=done, next_actions=actions), "utf-8")
    ticket = {"provider": "linear", "id": "T-1", "role": "source", "url": "https://example.org/T-1"}
    other = checkpoint_text(skill="plan", pm_refs=[ticket])
    (project / ".checkpoints/plan.checkpoint.json").write_text(other, "utf-8")
    ran = run_verb(resume, "build", cwd=project)
    assert (
        "Next: Run the evaluator\n\nResuming from next_actions[0]: Run the evaluator\n    done when: make eval\n"
        in ran.text
    )
    assert "Then:\n  - Ship\n    done when: make ship\n" in ran.text
    assert "Done last:\n  - Step 4 (2026-03-04T08:00:00Z)\n  - Step 3" in ran.text
    assert "Step 1" not in ran.text
    assert (
        "Tickets of other skills:\n  - plan: T-1, source, linear, https://example.org/T-1"
        in ran.text
    )
    assert [one["text"] for one in ran.outcome.data["recently_done"]] == [
        "Step 4",
        "Step 3",
        "Step 2",
        "Step 1",
    ]
    assert ran.outcome.data["siblings_pm_refs"] == [{"skill": "plan", **ticket}]


@pytest.mark.parametrize("status", ["blocked", "failed"])
def test_blocked_and_failed_work_stops_with_the_question_and_its_answers(
    project: Path, status: str
) -> None:
    rows = [{"id": "s", "label": "Sprint 9", "status": "failed"}]
    blockers = [{"id": "b1", "description": "No key", "needs": "external_dep"}]
    (project / FILE).write_text(
        checkpoint_text(status=status, progress_table=rows, blockers=blockers), "utf-8"
    )
    ran = run_verb(resume, "build", cwd=project)
    assert ran.outcome.code == 1
    assert ran.outcome.data["decision"] == "ask"
    assert (
        ran.outcome.data["question"] == "Continue from here, restart, or show the full checkpoint?"
    )
    assert list_answers(ran) == [
        ("continue", "checkpoint resume build --continue"),
        ("restart", "checkpoint reset build"),
        ("show", "checkpoint show build"),
    ]
    assert "failed: Sprint 9" in ran.text
    assert "blocker b1: No key" in ran.text


def test_stale_work_stops_until_somebody_says_continue(project: Path) -> None:
    later = "2026-03-12T12:00:00Z"
    ran = run_verb(resume, "build", cwd=project, now=later)
    assert ran.outcome.code == 1
    assert "not updated for 10 days" in ran.text
    going = run_verb(resume, "build", "--continue", cwd=project, now=later)
    assert going.outcome.code == 0
    assert going.outcome.data["decision"] == "continue"
    assert "Key decisions:" in going.text


def test_complete_work_is_told_as_such(project: Path) -> None:
    (project / FILE).write_text(checkpoint_text(status="complete"), "utf-8")
    ran = run_verb(resume, "build", cwd=project)
    assert ran.outcome.code == 0
    assert ran.outcome.data["decision"] == "complete"
    assert "Queued next:\n  Write the notes API" in ran.text


def test_a_missing_checkpoint_is_a_fresh_start(project: Path) -> None:
    ran = run_verb(resume, "deploy", cwd=project)
    assert ran.outcome.code == 0
    assert ran.outcome.data["decision"] == "start_fresh"
    assert "deploy has no checkpoint yet (there are: build)" in ran.text
    assert "Did you mean: checkpoint resume build" in run_verb(resume, "biuld", cwd=project).text
    assert ran.text.splitlines()[1].strip() == "Start fresh: checkpoint update deploy"


def test_only_where_there_is_no_folder_is_it_to_be_made_first(tmp_path: Path) -> None:
    missing = run_verb(resume, "build", cwd=tmp_path)
    (tmp_path / ".checkpoints").mkdir()
    empty = run_verb(resume, "build", cwd=tmp_path)
    lines = [
        "Start fresh: checkpoint init && checkpoint update build",
        "Start fresh: checkpoint update build",
    ]
    assert [ran.text.splitlines()[1] for ran in (missing, empty)] == lines


def test_a_missing_folder_is_a_fresh_start(tmp_path: Path) -> None:
    ran = run_verb(resume, "build", cwd=tmp_path)
    assert ran.outcome.code == 0
    assert ran.outcome.data["reasons"] == ("missing",)


def test_a_folder_that_leads_out_of_the_repository_is_no_fresh_start(
    repo: GitRepo, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo.path / ".checkpoints").symlink_to(outside)
    with pytest.raises(CheckpointError, match="is a symbolic link"):
        run_verb(resume, "build", cwd=repo.path)


@pytest.mark.parametrize("data", [b"null", b"{", b"\xff\xfe", b'{"a": 1, "a": 2}'])
def test_a_corrupt_file_says_why_and_stays_as_it_is(project: Path, data: bytes) -> None:
    (project / FILE).write_bytes(data)
    ran = run_verb(resume, "build", cwd=project)
    assert ran.outcome.code == 1
    assert ran.outcome.data["decision"] == "start_fresh"
    assert ran.outcome.findings[0].line == 1
    assert "restart:   checkpoint reset build" in ran.text
    assert (project / FILE).read_bytes() == data


def test_an_incompatible_version_says_why(project: Path) -> None:
    (project / FILE).write_text(checkpoint_text(protocol_version="2.0"), "utf-8")
    ran = run_verb(resume, "build", cwd=project)
    assert ran.outcome.code == 1
    assert ran.outcome.data["reasons"] == ("incompatible",)
    assert '"2.0"' in ran.text


def test_continue_does_not_go_on_with_what_cannot_be_read(project: Path) -> None:
    (project / FILE).write_text("[]", "utf-8")
    assert run_verb(resume, "build", "--continue", cwd=project).outcome.code == 1


@pytest.mark.parametrize("name", ["../build", "/etc/passwd", "a\x1b[2J", "con", ""])
def test_a_name_that_no_skill_can_have_is_refused(project: Path, name: str) -> None:
    with pytest.raises(CheckpointError):
        run_verb(resume, name, cwd=project)


# the files


def test_within_a_day_only_what_a_commit_moved_or_deleted_is_told(repo: GitRepo) -> None:
    repo.write("docs/plan.md", "the plan, long enough to be recognised\n" * 9)
    repo.write("docs/old.md", "old\n")
    repo.write(FILE, checkpoint_text(**listing("docs/plan.md", "docs/old.md", "docs/next.md")))
    repo.commit()
    assert run_verb(resume, "build", cwd=repo.path).outcome.findings == []
    repo.git("mv", "docs/plan.md", "plan.md")
    repo.git("rm", "-q", "docs/old.md")
    repo.commit()
    said = messages(run_verb(resume, "build", cwd=repo.path))
    assert "docs/plan.md is now called plan.md" in said
    assert "docs/old.md was deleted in" in said
    assert "docs/next.md" not in said


def test_files_and_folders_that_vanished_are_told_after_a_day(repo: GitRepo) -> None:
    write_old(repo, "src/here.ts")
    repo.write(
        FILE,
        checkpoint_text(
            **listing(
                "src/here.ts (new)", "src/gone.ts (new)", "docs/", "src/*.ts", "pages/[id].ts"
            )
        ),
    )
    ran = run_verb(resume, "build", cwd=repo.path, now=LATER)
    said = messages(ran)
    assert ran.outcome.code == 0
    assert "src/gone.ts does not exist" in said
    assert "docs/ does not exist" in said
    assert "pages/[id].ts does not exist" in said
    assert "here.ts" not in said
    assert all(finding.line for finding in ran.outcome.findings)


def test_outside_git_files_that_are_newer_are_told(tmp_path: Path) -> None:
    for name, seconds in (("old.md", WRITTEN - 60), ("new.md", WRITTEN + 3600)):
        (tmp_path / name).write_text("x", "utf-8")
        os.utime(tmp_path / name, (seconds, seconds))
    (tmp_path / ".checkpoints").mkdir()
    (tmp_path / FILE).write_text(checkpoint_text(**listing("old.md", "new.md", "o*.md")), "utf-8")
    said = messages(run_verb(resume, "build", cwd=tmp_path, now=LATER))
    assert said == "drift/file-changed note changed since the checkpoint was written: new.md"


def test_a_fresh_clone_has_no_changed_files(repo: GitRepo) -> None:
    repo.write("src/a.ts", "x\n")
    repo.write(FILE, checkpoint_text(**listing("src/a.ts", "src")))
    commit_at(repo, "All of it", "2026-03-02T09:31:00Z")
    assert messages(run_verb(resume, "build", cwd=repo.path, now=LATER)) == ""


def test_uncommitted_changes_of_listed_files_are_told(repo: GitRepo) -> None:
    for name in ("src/a.ts", "src/deep/z.ts", "lib/b.ts", "lib/c.ts"):
        repo.write(name, "x\n")
    repo.write(FILE, checkpoint_text(**listing("src/*.ts", "lib/")))
    commit_at(repo, "All of it", "2026-03-02T09:31:00Z")
    for name in ("src/a.ts", "src/deep/z.ts", "lib/b.ts", "lib/new.ts"):
        repo.write(name, "changed\n")
    said = messages(run_verb(resume, "build", cwd=repo.path, now=LATER))
    assert said.endswith(": lib/b.ts, lib/new.ts, src/a.ts")


def test_what_was_changed_but_not_committed_before_the_checkpoint_was_written_is_known(
    repo: GitRepo,
) -> None:
    repo.write("src/a.ts", "x\n")
    repo.write(FILE, checkpoint_text(**listing("src/a.ts")))
    commit_at(repo, "All of it", "2026-03-02T09:31:00Z")
    write_old(repo, "src/a.ts", "changed\n")
    assert messages(run_verb(resume, "build", cwd=repo.path, now=LATER)) == ""


def test_committed_changes_of_listed_files_are_told(repo: GitRepo) -> None:
    repo.write("src/a.ts", "x\n")
    repo.write("lib/b.ts", "x\n")
    repo.write("other.ts", "x\n")
    repo.write(FILE, checkpoint_text(**listing("src/a.ts", "lib")))
    commit_at(repo, "All of it", "2026-03-02T09:31:00Z")
    for name in ("src/a.ts", "lib/b.ts", "other.ts"):
        repo.write(name, "changed\n")
    commit_at(repo, "Rework the parser", "2026-03-04T10:00:00Z")
    said = messages(run_verb(resume, "build", cwd=repo.path, now=LATER))
    assert said.endswith(": lib/b.ts, src/a.ts")


def test_what_does_not_fit_is_listed_before_what_is_only_noted(repo: GitRepo) -> None:
    repo.write(FILE, checkpoint_text(**listing("gone.ts")))
    commit_at(repo, "All of it", "2026-03-02T09:31:00Z")
    repo.write("other.ts", "x\n")
    commit_at(repo, "More", "2026-03-04T10:00:00Z")
    ran = run_verb(resume, "build", cwd=repo.path, now=LATER)
    assert [finding.level for finding in ran.outcome.findings] == ["warning", "note", "note"]
    assert ran.codes[0] == "drift/file-missing"


def test_changes_count_from_when_it_was_written_where_the_checkpoint_is_not_committed(
    repo: GitRepo,
) -> None:
    repo.write("a.ts", "x\n")
    repo.write("b.ts", "x\n")
    commit_at(repo, "Before", "2026-03-01T09:00:00Z")
    repo.write("a.ts", "the session's own\n")
    commit_at(repo, "Soon after", "2026-03-02T10:00:00Z")
    repo.write("b.ts", "later\n")
    commit_at(repo, "Later", "2026-03-04T10:00:00Z")
    repo.write(FILE, checkpoint_text(**listing("a.ts", "b.ts")))
    assert messages(run_verb(resume, "build", cwd=repo.path, now=LATER)).endswith("written: b.ts")


def test_a_repository_without_commits_is_no_trouble(repo: GitRepo) -> None:
    write_old(repo, "a.ts")
    repo.write("b.ts", "x\n")
    repo.write(FILE, checkpoint_text(**listing("a.ts", "b.ts")))
    assert messages(run_verb(resume, "build", cwd=repo.path, now=LATER)).endswith("written: b.ts")


def test_where_git_cannot_run_it_says_so_and_goes_on(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_old(repo, "a.ts")
    repo.write(FILE, checkpoint_text(**listing("a.ts")))
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = run_verb(resume, "build", cwd=repo.path, now=LATER, env={"PATH": str(tmp_path)})
    assert ran.outcome.code == 0
    assert ran.codes == ["drift/project-dir", "doctor/not-looked-at"]


def test_a_rebase_changes_no_file(repo: GitRepo) -> None:
    repo.write("a.ts", "x\n")
    repo.write(FILE, checkpoint_text(**listing("a.ts")))
    commit_at(repo, "All of it", "2026-03-02T09:31:00Z")
    env = {**os.environ, "GIT_COMMITTER_DATE": "2026-03-03T09:00:00Z"}
    assert repo.run("git", "commit", "-q", "--amend", "--no-edit", env=env).returncode == 0
    write_old(repo, "a.ts", seconds=WRITTEN + 3600)  # as a rebase writes it again
    assert messages(run_verb(resume, "build", cwd=repo.path, now=LATER)) == ""


def test_commits_since_the_checkpoint_are_counted(repo: GitRepo) -> None:
    repo.write(FILE, checkpoint_text(**listing()))
    commit_at(repo, "Write it down", "2026-03-02T09:31:00Z")
    for subject in ("Sort", "Search \x1b[2J"):
        repo.write("other.ts", subject)
        commit_at(repo, subject, "2026-03-03T10:00:00Z")
    ran = run_verb(resume, "build", cwd=repo.path, now=LATER)
    said = messages(ran)
    assert said.startswith(
        "resume/commits-since note 2 commits were made since the checkpoint was written, the newest "
    )
    assert repo.git("rev-parse", "--short", "HEAD") in said
    assert run_verb(resume, "build", cwd=repo.path).codes == []


def test_another_checkout_of_the_project_is_told(repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    repo.write(FILE, checkpoint_text(project_dir=str(tmp_path / "elsewhere"), **listing()))
    assert run_verb(resume, "build", cwd=repo.path, now=LATER).codes == ["resume/other-checkout"]
    for here in (f"{repo.path}/", "."):
        repo.write(FILE, checkpoint_text(project_dir=here, **listing()))
        ran = run_verb(resume, "build", cwd=repo.path, now=LATER)
        assert ran.codes == []
        assert Path(ran.outcome.data["project_dir"]) == repo.path


# what has shipped, what does not fit


def test_an_action_that_has_shipped_is_passed_over_however_fresh_the_checkpoint_is(
    repo: GitRepo,
) -> None:
    repo.write(
        FILE,
        checkpoint_text(
            next_actions=["Merge PR #12", {"text": "Write the docs", "done_when": "true"}]
        ),
    )
    repo.commit("Search (#12)")
    ran = run_verb(resume, "build", cwd=repo.path)
    assert "Next: Write the docs\n" in ran.text
    assert "\nSkipped: Merge PR #12\n    #12 was merged " in ran.text
    assert "Resuming from next_actions[1]: Write the docs\n" in ran.text
    assert ran.codes == []
    assert ran.outcome.data["next_action"] == {
        "text": "Write the docs",
        "done_when": "true",
        "references": [],
    }
    assert [shipped["text"] for shipped in ran.outcome.data["shipped_actions"]] == ["Merge PR #12"]
    assert ran.outcome.code == 0


def test_where_every_action_has_shipped_there_is_nothing_to_resume_from(repo: GitRepo) -> None:
    repo.write(FILE, checkpoint_text(next_actions=["Merge PR #12"]))
    repo.commit("Search (#12)")
    ran = run_verb(resume, "build", cwd=repo.path)
    assert "Resuming, though every noted action is merged; add what comes next" in ran.text
    assert ran.outcome.data["next_action"] is None


def test_what_does_not_fit_is_told_at_any_age(project: Path) -> None:
    rows = [{"id": "a", "label": "A", "status": "complete"}]
    (project / FILE).write_text(checkpoint_text(progress_table=rows), "utf-8")
    ran = run_verb(resume, "build", cwd=project)
    assert ran.codes == ["resume/no-open-row"]
    assert ran.outcome.findings[0].line
    assert ran.outcome.code == 0


def test_paths_that_leave_the_project_are_never_looked_at(repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x", "utf-8")
    (repo.path / "link").symlink_to(tmp_path)
    entries = (
        "../secret.txt",
        str(tmp_path / "secret.txt"),
        "link/secret.txt",
        "link/*.txt",
        "~/.ssh/id",
    )
    repo.write(FILE, checkpoint_text(**listing(*entries)))
    said = messages(run_verb(resume, "build", cwd=repo.path, now=LATER))
    assert "file-changed" not in said
    assert said.count("outside the repository") + said.count("does not exist") == len(
        said.splitlines()
    )


def test_json_holds_the_plan_and_the_context(project: Path) -> None:
    data = run_verb(resume, "build", cwd=project).outcome.data
    assert data["resuming"][0] == "RESUMING: build on tidepool"
    assert data["next_action"] == {
        "text": "Write the notes API",
        "done_when": None,
        "references": [],
    }
    assert data["context_primer"]["key_decisions"] == ["SQLite for storage", "Passkeys only"]
    assert data["progress"] == {"complete": 2, "total": 3}
    assert "skill_state" not in data


def test_files_of_one_move_are_one_line_of_text_and_each_in_json(repo: GitRepo) -> None:
    files = [f"lib/old name/{number}.txt" for number in range(6)]
    for name in files:
        repo.write(f"part/{name}", f"{name}\n" * 9)
    repo.write(f"part/{FILE}", checkpoint_text(**listing(*files)))
    commit_at(repo, "begin", "2026-03-02T09:40:00Z")
    repo.git("mv", "part/lib/old name", "part/lib/new name")
    commit_at(repo, "move", "2026-03-03T09:40:00Z")
    ran = run_verb(resume, "build", cwd=repo.path / "part", now=LATER)
    moved = [one for one in ran.outcome.findings if one.code == "drift/file-missing"]
    assert [one.message.partition(", since")[0] for one in moved][:1] == [
        "lib/old name/0.txt is now called lib/new name/0.txt"
    ]
    assert len(moved) == 6
    assert ran.outcome.digest is not None
    shown = [(entry.message, str(entry.hint), count) for entry, count in ran.outcome.digest.entries]
    fix = "write the new name: checkpoint doctor build --fix=drift/file-missing"
    assert ("6 files moved: lib/old name/ -> lib/new name/ (build)", fix, 6) in shown
