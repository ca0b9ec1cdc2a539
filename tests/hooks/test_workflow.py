"""The two files of a workflow, which a merge brings together one by one."""

from tests.hooks.test_commit import commit
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.workflows import execution, phase, task, text_of

PHASE, EXECUTION = "memory/state/phase.json", "memory/state/execution.json"


def merge_of_a_task_and_a_step(guarded: GitRepo, folder: str = "") -> int:
    """One branch adds a task, the other goes on to VERIFICATION: git's answer to the merge."""
    guarded.write(folder + PHASE, text_of(phase("IMPLEMENTATION")))
    guarded.write(folder + EXECUTION, text_of(execution(task("a", "complete"))))
    guarded.commit(hooks=False)
    guarded.git("checkout", "-q", "-b", "other")
    guarded.write(folder + PHASE, text_of(phase("VERIFICATION")))
    guarded.commit(hooks=False)
    guarded.git("checkout", "-q", "main")
    guarded.write(folder + EXECUTION, text_of(execution(task("a", "complete"), task("b"))))
    guarded.commit(hooks=False)
    return guarded.exit_code("merge", "-q", "-m", "merge", "other")


def test_a_merge_that_would_drop_a_task_stops(guarded: GitRepo) -> None:
    assert merge_of_a_task_and_a_step(guarded) == 1
    done = commit(guarded)
    assert "workflow/tasks-behind" in done.stderr.decode()
    checked = run_here("validate", "--staged", cwd=guarded.path)
    assert (checked.returncode, "tasks-behind" in checked.stdout + checked.stderr) == (1, True)
    assert run_here("workflow", "back", "IMPLEMENTATION", cwd=guarded.path).returncode == 0
    guarded.git("add", "-A")
    assert commit(guarded).returncode == 0


def test_so_does_one_in_a_folder_of_a_project(guarded: GitRepo) -> None:
    assert merge_of_a_task_and_a_step(guarded, "apps/web/") == 1
    assert "apps/web/memory/state/execution.json" in commit(guarded).stderr.decode()


def test_two_files_that_fit_pass(guarded: GitRepo) -> None:
    guarded.write(PHASE, text_of(phase("VERIFICATION")))
    guarded.write(EXECUTION, text_of(execution(task("a", "complete"))))
    guarded.git("add", "-A")
    assert commit(guarded).returncode == 0
