import re
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Line, Table
from checkpoint_git.protocols.skill.brief.brief import Brief
from checkpoint_git.tools.status import verb
from tests.support.command import run_here, show_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb

DECISION = {
    "id": "b1",
    "description": "Which region?",
    "needs": "user_decision",
    "blocking": "sprint-2",
}


def write(project: Path, skill: str, **changes: object) -> None:
    """Another checkpoint of the project."""
    text = checkpoint_text(**{"skill": skill, **changes})
    (project / f".checkpoints/{skill}.checkpoint.json").write_text(text, "utf-8")


def test_decisions_that_wait_come_first(project: Path) -> None:
    write(project, "deploy", status="blocked", blockers=[DECISION])
    ran = run_verb(verb, cwd=project)
    assert ran.outcome.blocks[0] == Line("1 decision waiting on you", "bad", "decision")
    assert ran.text.splitlines()[1] == "  deploy: Which region? (blocks sprint-2)"
    write(project, "audit", blockers=[DECISION])
    assert run_verb(verb, cwd=project).text.startswith("2 decisions waiting on you\n")


def test_no_banner_where_nothing_waits(project: Path) -> None:
    assert isinstance(run_verb(verb, cwd=project).outcome.blocks[0], Table)


def test_the_table_says_where_each_skill_stands(project: Path) -> None:
    refs = [{"provider": "linear", "id": "T-1", "role": "source"}]
    write(project, "costly", cost={"total_usd": 3, "budget_usd": 2}, pm_refs=refs)
    lines = run_verb(verb, cwd=project).text.splitlines()
    assert (
        lines[0]
        == "costly | build-loop | sprint-2 | in_progress | 2h | 2/3 | over budget (3 of 2 USD); PM: T-1 (source)"
    )
    assert lines[1] == "build | build-loop | sprint-2 | in_progress | 2h | 2/3 | "


def test_stale_work_is_flagged_with_its_age(project: Path) -> None:
    assert " | stale (9d) | " in run_verb(verb, cwd=project, now="2026-03-11T12:00:00Z").text


def test_next_actions_and_blockers_are_listed_for_each_skill(project: Path) -> None:
    key = {"id": "b2", "description": "No key yet", "needs": "external_dep"}
    write(project, "deploy", next_actions=["a", "b", "c", "d", "e"], blockers=[DECISION, key])
    said = run_verb(verb, cwd=project).text
    assert (
        "\ndeploy\n  1 next: a\n  2 then: b\n  3 then: c\n  and 2 more: checkpoint status deploy\n"
        in said
    )
    assert "  blocker b2: No key yet [needs external_dep]" in said
    assert said.count("Which region?") == 1  # decisions wait at the top
    assert "\nbuild\n  1 next: Write the notes API\n  2 then: Run the evaluator" in said


def test_one_skill_is_shown_in_full(project: Path) -> None:
    write(project, "deploy")
    said = run_verb(verb, "build", cwd=project).text
    assert "deploy" not in said
    assert "Sprint 1 is done; sprint 2 has its contract." in said
    assert "sprint-1 | Sprint 1: sign-in | complete" in said
    assert "done when: make eval" in said


def test_a_skill_without_a_checkpoint_is_an_error_that_names_the_others(project: Path) -> None:
    with pytest.raises(CheckpointError) as raised:
        run_verb(verb, "nobody", cwd=project)
    assert "there are: build" in str(raised.value.hint)


def test_brief_is_the_most_important_skill_alone(project: Path) -> None:
    write(project, "deploy", status="failed", blockers=[{**DECISION, "needs": "code_fix"}])
    said = run_verb(verb, "--brief", cwd=project).text
    assert said.splitlines() == [
        "deploy: failed, build-loop, sprint-2, 2h",
        "  1 next: Write the notes API",
        "  blocker b1: Which region? (blocks sprint-2) [needs code_fix]",
        "    checkpoint unblock deploy b1",
    ]


def test_short_is_the_table_alone_also_of_invalid_and_broken_files(project: Path) -> None:
    write(project, "deploy", status="done", blockers=[DECISION])
    (project / ".checkpoints/gone.checkpoint.json").write_text("{", "utf-8")
    ran = run_verb(verb, "--short", cwd=project)
    assert sorted(line.split()[0] for line in ran.text.splitlines() if line) == [
        "build",
        "deploy",
        "gone",
    ]
    assert {each["skill"] for each in ran.outcome.data["skills"]} == {"build", "deploy", "gone"}
    assert {
        finding.path.rpartition("/")[2].partition(".")[0] for finding in ran.outcome.findings
    } == {"deploy", "gone"}


def test_since_tells_what_was_written_and_done_after_an_instant(project: Path) -> None:
    done = [{"text": "Pick a host", "at": "2026-03-02T09:00:00Z"}]
    write(project, "deploy", updated_at="2026-03-02T11:00:00Z", recently_done=done)
    said = run_verb(verb, "--since=2026-03-02T09:00:00Z", cwd=project)
    assert (
        said.text.splitlines()[0]
        == "2 of 2 checkpoints changed since 2026-03-02T09:00:00Z: 1 action done"
    )
    assert "  done: Pick a host" in said.text
    later = run_verb(verb, "--since", "2026-03-02T10:00:00Z", cwd=project)
    assert [change["skill"] for change in later.outcome.data["changed"]] == ["deploy"]


def test_since_compares_with_what_git_had_at_that_instant(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = GitRepo(project)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-03-01T12:00:00Z")
    repo.commit("Start")
    rows = [{"id": "sprint-2", "label": "Sprint 2: notes", "status": "complete"}]
    write(
        project,
        "build",
        step="sprint-3",
        progress_table=rows,
        blockers=[DECISION],
        next_actions=["Tag it"],
    )
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-03-02T09:31:00Z")
    repo.commit("Work")
    ran = run_verb(verb, "--since=2026-03-02", cwd=project)
    assert (
        "1 of 1 checkpoint changed since 2026-03-02: 1 row completed, 1 blocker opened" in ran.text
    )
    assert "  step: sprint-2 -> sprint-3\n  completed: Sprint 2: notes\n" in ran.text
    assert ran.outcome.data["changed"][0]["compared"] is True
    assert {"kind": "queued", "text": "Tag it"} in ran.outcome.data["changed"][0]["events"]
    earlier = run_verb(verb, "--since=2026-03-01", cwd=project)
    assert earlier.outcome.data["changed"][0]["compared"] is False


def test_since_without_git_says_why_and_tells_what_it_can(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = run_verb(verb, "--since=2026-03-02", cwd=project)
    assert ran.codes == ["status/no-history"]
    assert ran.outcome.code == 0
    assert len(ran.outcome.data["changed"]) == 1


def test_since_takes_a_day_and_refuses_what_is_no_instant(project: Path) -> None:
    assert run_verb(verb, "--since=2026-03-02", cwd=project).outcome.data["changed"]
    with pytest.raises(CheckpointError, match="cannot parse"):
        run_verb(verb, "--since=tomorrow", cwd=project)


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        (b"null", 1, 1),
        (b'{\n  "a": 1,\n  "a": 2\n}', 3, 3),
        (b'{\n  "a": \xff\n}', 2, 8),
        (b'{\n<<<<<<< ours\n  "a": 1\n}', 2, 1),
    ],
)
def test_a_broken_file_is_named_with_its_place_and_the_good_ones_are_shown(
    project: Path, data: bytes, line: int, column: int
) -> None:
    (project / ".checkpoints/bad.checkpoint.json").write_bytes(data)
    ran = run_verb(verb, cwd=project)
    (finding,) = ran.outcome.findings
    assert (finding.path, finding.line, finding.column) == (
        ".checkpoints/bad.checkpoint.json",
        line,
        column,
    )
    assert ran.outcome.code == 1
    assert "build | build-loop" in ran.text
    assert "bad |  |  | unreadable" in ran.text


def test_both_sides_of_a_checkpoint_in_conflict_are_shown(project: Path) -> None:
    parts = checkpoint_text(skill="bad").partition('  "step": "sprint-2",\n')
    marked = '<<<<<<< ours: /step\n  "step": "a",\n||||||| base\n=======\n  "step": "b",\n>>>>>>> theirs: /step\n'
    path = project / ".checkpoints/bad.checkpoint.json"
    path.write_text(f"{parts[0]}{marked}{parts[2]}", "utf-8")
    ran = run_verb(verb, "bad", cwd=project)
    assert ran.codes == ["json/conflict-markers"]
    assert [line.split(" | ")[:4] for line in ran.text.splitlines()[:2]] == [
        ["bad (ours)", "build-loop", "a", "in_progress"],
        ["bad (theirs)", "build-loop", "b", "in_progress"],
    ]
    assert ran.text.count("  next: ") == 2
    data = run_verb(verb, "bad", "--json", cwd=project).outcome.data["skills"][0]
    steps = {side: state["step"] for side, state in data["sides"].items()}
    assert (data["status"], steps) == ("unreadable", {"ours": "a", "theirs": "b"})

    # where a side is no document, there is nothing to show of it
    path.write_text(f"{parts[0]}{marked}", "utf-8")
    assert "bad |  |  | unreadable" in run_verb(verb, "bad", cwd=project).text


def test_warnings_are_left_to_validate(project: Path) -> None:
    write(project, "odd", progress_table=[])
    ran = run_verb(verb, cwd=project)
    assert ran.codes == []
    assert ran.outcome.code == 0


def test_an_empty_folder_says_how_to_start(project: Path) -> None:
    (project / ".checkpoints/build.checkpoint.json").unlink()
    for words in ([], ["--brief"], ["--since=2026-01-01"]):
        ran = run_verb(verb, *words, cwd=project)
        assert "no checkpoints in" in ran.text
        assert ran.outcome.code == 0


def test_json_holds_what_the_table_holds(project: Path) -> None:
    data = run_verb(verb, cwd=project).outcome.data
    (skill,) = data["skills"]
    assert data["decisions"] == []
    assert skill["progress"] == {"complete": 2, "total": 3}
    assert skill["next_actions"][1] == {
        "text": "Run the evaluator",
        "done_when": "make eval",
        "references": [],
    }
    assert skill["age_seconds"] == 9000
    assert "skill_state" not in skill


def test_nothing_private_is_in_a_state() -> None:
    assert not any(re.search("skill_state|value|document", field) for field in Brief._fields)


def test_what_the_history_shows_as_merged_is_nowhere_shown_as_next(repo: GitRepo) -> None:
    actions = ["Merge PR #12", "Write the docs"]
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(next_actions=actions))
    repo.write(
        ".checkpoints/old.checkpoint.json", checkpoint_text(skill="old", next_actions=actions[:1])
    )
    repo.commit("Search (#12)")
    text = run_verb(verb, cwd=repo.path).text
    assert (
        "\nbuild\n  2 next: Write the docs\n  1 action skipped as merged: checkpoint status build\n"
        in text
    )
    assert "next: Merge" not in text
    assert "\nbuild\n  2 next: Write the docs\n" in text
    assert "next: Write the docs" in run_verb(verb, "--brief", cwd=repo.path).text
    full = run_verb(verb, "build", cwd=repo.path).text
    assert "  2 next: Write the docs\n  merged: Merge PR #12\n        #12 was merged " in full
    data = run_verb(verb, cwd=repo.path).outcome.data["skills"]
    assert [[action["text"] for action in one["next_actions"]] for one in data] == [
        ["Write the docs"],
        [],
    ]
    assert [one["shipped_actions"][0]["text"] for one in data] == ["Merge PR #12", "Merge PR #12"]


def test_on_a_terminal_all_fits_the_screen_and_what_waits_is_last(
    project: Path, tmp_path: Path
) -> None:
    for number in range(20):
        write(project, f"work-{number}")
    write(project, "deploy", blockers=[DECISION])
    shown = show_here("status", cwd=project, env={"LINES": "24", "NO_COLOR": "1"})
    lines = shown.splitlines()
    assert len(lines) < 24
    assert any(
        line.startswith("and ") and line.endswith(" more: checkpoint status --all")
        for line in lines
    )
    # behind it: this clone is not set up
    assert '    checkpoint decide deploy b1 "..."' in lines[-8:]

    paged = tmp_path / "paged"
    env = {"LINES": "24", "NO_COLOR": "1", "GIT_PAGER": f"cat > {paged}"}
    assert show_here("status", "--all", cwd=project, env=env) == ""
    whole = paged.read_text("utf-8")
    assert whole.count("next: Write the notes API") == 22
    assert show_here("status", "--all", "-P", cwd=project, env=env) == whole
    for broken in ({"GIT_PAGER": "cat"}, {"GIT_PAGER": "no-such-pager-here"}):
        assert show_here("status", "--all", cwd=project, env={**env, **broken}) == whole


@pytest.mark.parametrize("height", [15, 24, 40])
def test_on_a_terminal_long_decisions_fit_too_and_each_is_whole(project: Path, height: int) -> None:
    long = {
        **DECISION,
        "description": "Which region should production run in? Latency speaks for one, the price for two",
    }
    for number in range(20):
        write(
            project, f"work-{number}", blockers=[{**long, "id": f"b{number}"}] if number < 6 else []
        )
    shown = show_here(
        "status", cwd=project, env={"LINES": str(height), "NO_COLOR": "1"}
    ).splitlines()
    assert len(shown) < height
    questions = [line for line in shown if "Which region should" in line]
    answers = [line for line in shown if "checkpoint decide " in line]
    assert len(questions) == len(answers) == {15: 1, 24: 2, 40: 3}[height]
    assert any(f"and {6 - len(answers)} more: checkpoint status --all" in line for line in shown)


def test_yesterday_is_a_time_and_what_is_nearly_a_command_is_named(project: Path) -> None:
    assert run_here("status", "--since", "yesterday", cwd=project).returncode == 0
    assert run_here("-v", cwd=project).stdout.startswith("checkpoint ")
    for word, meant in (
        ("version", "did you mean --version?"),
        ("--list", "did you mean: checkpoint status --short;"),
        ("--open", "did you mean: checkpoint report;"),
    ):
        assert meant in run_here(word, cwd=project).stderr
