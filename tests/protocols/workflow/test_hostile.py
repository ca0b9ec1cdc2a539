"""What happens to a workflow's files behind its back: git commands, other machines, clocks,
editors, dead processes.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import BIN, ask_json, run_here
from tests.support.hostile import ODD_FILES, put_odd
from tests.support.repos import GitRepo, copy_built
from tests.support.workflows import read_json

PHASE, EXECUTION = "memory/state/phase.json", "memory/state/execution.json"
DEMAND, DESIGN = "memory/reports/demand.json", "memory/reports/final_design.json"


def ask(root: Path, *words: str, code: int | None = 0) -> dict[str, Any]:
    """The answer of `checkpoint workflow WORDS`, which must end with this code, None for any."""
    return ask_json(root, "workflow", *words, code=code)


def codes(answer: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in answer["findings"]}


def build_work(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    ask(repo.path, "start", "login")
    for path in (DEMAND, DESIGN):
        repo.write(path, '{"a": 1}\n')
        ask(repo.path, "advance", "--yes")
    ask(repo.path, "task", "add", "a", "b")
    repo.commit("a workflow in IMPLEMENTATION, with two tasks")


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    """A repository that tracks a workflow in IMPLEMENTATION with the pending tasks a and b."""
    copy_built(build_work, repo.path)
    return repo


def finish(work: GitRepo, name: str) -> None:
    ask(work.path, "task", "start", name)
    ask(work.path, "task", "done", name)


def tasks(work: GitRepo) -> dict[str, str]:
    return {row["id"]: row["status"] for row in read_json(work.path / EXECUTION)["tasks"]}


def test_git_clean_leaves_what_is_tracked_and_takes_what_was_not_added(work: GitRepo) -> None:
    finish(work, "a")
    work.git("clean", "-xfdq")
    assert ask(work.path, "status")["phase"] == "IMPLEMENTATION"
    work.git("rm", "-q", "--cached", "-r", "memory/state")
    work.git("clean", "-xfdq")
    assert "no workflow found" in str(ask(work.path, "resume", code=2))


def test_a_reset_to_an_earlier_commit_goes_on_from_there(work: GitRepo) -> None:
    finish(work, "a")
    finish(work, "b")
    ask(work.path, "advance")
    work.commit("VERIFICATION")
    work.git("reset", "-q", "--hard", "HEAD~1")
    assert ask(work.path, "resume", "--yes")["tasks"] == ["a", "b"]


def test_what_a_forced_checkout_takes_away_is_missed_and_not_passed_over(work: GitRepo) -> None:
    work.git("checkout", "-q", "-b", "without")
    work.git("rm", "-q", DEMAND)
    work.commit("no demand")
    answer = ask(work.path, "resume", "--yes", code=1)
    assert (answer["corrupt"], codes(answer)) == (True, {"workflow/output-missing"})
    work.git("checkout", "-q", "-f", "main")
    assert ask(work.path, "resume", "--yes")["action"] == "continue_tasks"


def test_a_stash_takes_the_state_along_and_brings_it_back(work: GitRepo) -> None:
    finish(work, "a")
    work.git("stash", "-q")
    assert tasks(work)["a"] == "pending"
    work.git("stash", "pop", "-q")
    assert tasks(work)["a"] == "complete"
    assert ask(work.path, "resume", "--yes")["tasks"] == ["b"]


def conflict(work: GitRepo) -> None:
    """Two branches, without a merge driver, that both changed the two files."""
    work.git("checkout", "-q", "-b", "other")
    finish(work, "a")
    work.commit("a")
    work.git("checkout", "-q", "main")
    finish(work, "b")
    work.commit("b")


@pytest.mark.parametrize("way", ["merge", "rebase"])
def test_nothing_is_written_over_the_markers_of_a_merge_or_rebase(work: GitRepo, way: str) -> None:
    conflict(work)
    work.write(EXECUTION, (work.path / EXECUTION).read_text().replace('"a"', '"renamed"'))
    work.commit("more")
    assert work.exit_code(way, "other") != 0
    before = (work.path / EXECUTION).read_bytes()
    assert b"<<<<<<<" in before
    for words in (["advance"], ["task", "done", "a"], ["save"], ["recover"], ["resume", "--yes"]):
        ask(work.path, *words, code=1)
    assert (work.path / EXECUTION).read_bytes() == before
    work.git(way, "--abort")
    assert ask(work.path, "resume", "--yes")["tasks"] == ["renamed"]


def test_a_detached_head_is_a_place_like_any_other(work: GitRepo) -> None:
    work.git("checkout", "-q", "--detach")
    finish(work, "a")
    assert ask(work.path, "resume", "--yes")["tasks"] == ["b"]


def test_each_work_tree_has_its_workflow_and_one_that_is_removed_takes_only_its_own(
    work: GitRepo, tmp_path: Path
) -> None:
    work.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = GitRepo(tmp_path / "linked")
    finish(linked, "a")
    assert (tasks(work)["a"], tasks(linked)["a"]) == ("pending", "complete")
    work.git("worktree", "remove", "--force", str(linked.path))
    assert ask(work.path, "resume", "--yes")["tasks"] == ["a", "b"]


def test_a_clone_goes_on_where_the_original_is(work: GitRepo, tmp_path: Path) -> None:
    finish(work, "a")
    work.commit("a")
    work.git("clone", "-q", str(work.path), str(tmp_path / "clone"))
    answer = ask(tmp_path / "clone", "resume", "--yes")
    assert (answer["action"], answer["tasks"]) == ("continue_tasks", ["b"])


def test_two_machines_that_did_a_task_each_have_both_after_the_merge(work: GitRepo) -> None:
    assert run_here("init", "--hooks", "none", cwd=work.path).returncode == 0
    conflict(work)
    assert work.exit_code("merge", "-q", "--no-edit", "other") == 0
    assert tasks(work) == {"a": "complete", "b": "complete"}
    assert ask(work.path, "resume", "--yes")["action"] == "advance"


def test_a_clock_that_was_years_ahead_stops_the_resume_and_nothing_is_archived_unasked(
    work: GitRepo,
) -> None:
    text = (work.path / PHASE).read_text()
    value = json.loads(text)
    work.write(PHASE, text.replace(value["last_updated"], "2099-01-01T00:00:00Z"))
    answer = ask(work.path, "resume", "--yes", code=1)
    assert "workflow/in-future" in codes(answer)
    assert read_json(work.path / PHASE)["last_updated"] == "2099-01-01T00:00:00Z"


ODD = [
    "new\nline.json",
    'it\'s "odd".json',
    "-dash.json",
    "ünïcode 🎉.json",
    "a" * 200 + ".json",
    "*?[x].json",
]


@pytest.mark.parametrize("name", ODD)
def test_a_result_may_have_any_name(work: GitRepo, name: str) -> None:
    ask(work.path, "task", "start", "a", f"--output=memory/reports/{name}")
    work.write(f"memory/reports/{name}", '{"status": "complete"}')
    answer = ask(work.path, "resume", "--yes")
    assert [(one["id"], one["status"]) for one in answer["recovered"]] == [("a", "complete")]


@pytest.mark.parametrize("file", [PHASE, EXECUTION])
@pytest.mark.parametrize("kind", [*ODD_FILES, "dangling"])
def test_what_is_no_file_in_the_place_of_one_is_reported_and_left(
    work: GitRepo, file: str, kind: str
) -> None:
    path = work.path / file
    path.unlink()
    put_odd(path, kind)
    for words in (["resume", "--yes"], ["validate"], ["advance"], ["task", "start", "a"], ["save"]):
        ask(work.path, *words, code=1)
    assert os.path.lexists(path)


@pytest.mark.parametrize("file", [PHASE, EXECUTION])
@pytest.mark.parametrize("damage", ["half", "empty", "array", "nul", "latin1"])
def test_a_damaged_file_is_never_overwritten_and_fresh_keeps_it(
    work: GitRepo, file: str, damage: str
) -> None:
    text = (work.path / file).read_bytes()
    broken = {
        "half": text[: len(text) // 2],
        "empty": b"",
        "array": b"[]",
        "nul": bytes(40),
        "latin1": b'{"a":"\xe9"}',
    }
    (work.path / file).write_bytes(broken[damage])
    for words in (["resume", "--yes"], ["advance"], ["task", "start", "a"], ["start", "another"]):
        ask(work.path, *words, code=1)
    assert (work.path / file).read_bytes() == broken[damage]
    archive = ask(work.path, "resume", "--fresh")["archive"]
    assert (work.path / archive / Path(file).name).read_bytes() == broken[damage]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_an_editor_of_another_system_leaves_a_state_that_goes_on(
    work: GitRepo, ending: bytes, mark: bytes
) -> None:
    for file in (PHASE, EXECUTION):
        path = work.path / file
        path.write_bytes(mark + path.read_bytes().replace(b"\n", ending))
    finish(work, "a")
    assert (
        json.loads((work.path / EXECUTION).read_bytes().decode("utf-8-sig"))["tasks"][0]["status"]
        == "complete"
    )
    assert ask(work.path, "resume", "--yes")["tasks"] == ["b"]


def test_a_file_where_the_folder_belongs_is_named(work: GitRepo) -> None:
    work.git("rm", "-rq", "memory")
    work.write("memory", "a file\n")
    assert "memory" in str(ask(work.path, "start", "login", code=2))
    assert (work.path / "memory").read_text() == "a file\n"


@pytest.mark.parametrize(
    "said", ["failed", "rejected", "aborted", "incomplete", "partial", "in_progress"]
)
def test_a_result_that_says_it_is_none_ends_no_phase(repo: GitRepo, said: str) -> None:
    ask(repo.path, "start", "login")
    repo.write(DEMAND, json.dumps({"status": said, "goal": "sign in"}))
    ask(repo.path, "advance", "--yes", code=1)
    assert ask(repo.path, "status")["phase"] == "REQUIREMENTS"


def test_many_processes_that_add_tasks_at_once_lose_none(work: GitRepo) -> None:
    names = [f"t{number}" for number in range(6)]
    words = [str(BIN / "checkpoint"), "workflow", "task", "add"]
    running = [
        subprocess.Popen([*words, name], cwd=work.path, stdout=subprocess.DEVNULL) for name in names
    ]
    assert [process.wait(60) for process in running] == [0] * len(names)
    assert set(tasks(work)) == {"a", "b", *names}
