"""Read and change workflows from Python: the verbs of `checkpoint workflow` as methods.

They never print or prompt.
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.git.gitpython import find_folder
from checkpoint_git.protocols.contract import fix_clock
from checkpoint_git.protocols.limits import read_stale_days
from checkpoint_git.protocols.workflow.changes import WorkflowWriter
from checkpoint_git.protocols.workflow.layout import check_id, check_phase
from checkpoint_git.protocols.workflow.plan import Prospect, look_ahead, read_approvals
from checkpoint_git.protocols.workflow.state import find_trouble, load_state
from checkpoint_git.protocols.workflow.store import open_place, plan_workflow_place
from checkpoint_git.protocols.workflow.tasks import TaskStep

if TYPE_CHECKING:
    from checkpoint_git.git.gitpython import Folder


class Workflow:
    """The phases and tasks of the workflow of one project.

    path: a folder in it, or a git.Repo; every call looks for the nearest memory/state upward.
    approvals: the phases that need an approval, None for what checkpoint.workflowApprovals names,
    else REQUIREMENTS and ARCHITECTURE. now: as for Checkpoints. A method that writes returns the
    findings that kept it from writing: [] if it is done.
    """

    def __init__(
        self, path: "Folder" = ".", approvals: Iterable[str] | None = None, now: int | None = None
    ) -> None:
        self._path = find_folder(path)
        self._approvals = None if approvals is None else ",".join(approvals)
        self._now = fix_clock(now)

    def start(self, name: str, *, fresh: bool = False) -> str | None:
        """Begin a workflow, and return the archive of the one before, None without one.

        fresh: archive an unfinished one, which raises CheckpointError otherwise.
        """
        check_id(name, "login-2026")
        writer = WorkflowWriter(plan_workflow_place(self._path), self._now())
        changed = writer.start(name, unasked=not fresh)
        if changed is None:
            hint = "resume it, or start with fresh=True"
            raise CheckpointError("there is an unfinished workflow", hint)
        return changed.archive

    def status(self) -> dict[str, Any]:
        """Return its state.

        workflow_id, phase, phase_status, started_at, last_activity, completed, approved, tasks.
        """
        state = load_state(open_place(self._path), self._now())
        return {**state.data(), "tasks": state.tasks}

    def resume(self) -> Prospect:
        """Return what to do next: plan.action and plan.reason.

        Nothing is written: call recover() first in a new session.
        plan is None if the state is corrupt; question.kind is "corrupt", "stale" or "resume".
        """
        place = open_place(self._path)
        approvals = read_approvals(place, self._approvals, os.environ)
        stale_days = read_stale_days(place.root, os.environ)
        return look_ahead(place, approvals, self._now(), stale_days)

    def advance(
        self, output: str | None = None, *, approved: bool = False, force: bool = False
    ) -> list[Finding]:
        """Complete the current phase; after the last one the workflow is archived.

        approved: the user approves the phase now. force: the phase's result may be missing.
        """
        writer = self._writer()
        approvals = read_approvals(writer.place, self._approvals, os.environ)
        return writer.advance(approvals, output, approved=approved, force=force).refused

    def approve(self, phase: str) -> list[Finding]:
        return self._writer().approve(check_phase(phase)).refused

    def save(self, note: str = "") -> list[Finding]:
        return self._writer().save(note).refused

    def add_tasks(self, *names: str) -> list[Finding]:
        return self._writer().change_task("add", list(names)).refused

    def start_task(self, name: str, output: str | None = None) -> list[Finding]:
        """Start a task, and add it if it is new. output: where its result will be."""
        return self._writer().change_task("start", [name], output).refused

    def finish_task(self, name: str, output: str | None = None) -> list[Finding]:
        return self._writer().change_task("done", [name], output).refused

    def fail_task(self, name: str, error: str = "") -> list[Finding]:
        """Count a failed attempt."""
        return self._writer().change_task("fail", [name], None, error).refused

    def recover(self) -> list[TaskStep]:
        """Settle the tasks whose session is gone, and return what was done to each."""
        return list(self._writer().recover().steps)

    def validate(self) -> list[Finding]:
        """Return what is wrong with the two files and what they refer to; [] if nothing is."""
        place = open_place(self._path)
        stale_days = read_stale_days(place.root, os.environ)
        return find_trouble(load_state(place, self._now()), self._now(), stale_days)

    def archive(self) -> str | None:
        return self._writer().archive().archive

    def _writer(self) -> WorkflowWriter:
        return WorkflowWriter(open_place(self._path), self._now())
