"""The same verbs for Python: one object for one folder of checkpoints. It prints nothing and asks nobody.

Every method may raise CheckpointError: no folder of checkpoints, no such skill, a disk that is full. Trouble with the
content of a checkpoint is never raised, but returned as findings.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from checkpoint_git.checks.next_action import NextAction
from checkpoint_git.checks.phases import Resumption
from checkpoint_git.checks.resume import Plan
from checkpoint_git.commands.done import DoneResult, done
from checkpoint_git.commands.list import summarize
from checkpoint_git.commands.log import LogResult, log
from checkpoint_git.commands.memory.save import Request, Surroundings, save_checkpoint, update_checkpoint
from checkpoint_git.commands.next import NextResult, next_actions
from checkpoint_git.commands.pipeline import records
from checkpoint_git.commands.reading import check_files, read_documents
from checkpoint_git.commands.refs import find_refs
from checkpoint_git.commands.reset import reset
from checkpoint_git.commands.restore import parts as restore_parts
from checkpoint_git.commands.restore import points as restore_points
from checkpoint_git.commands.resume import ResumeResult, resume
from checkpoint_git.commands.rotate import RotateResult, rotate
from checkpoint_git.commands.show import show
from checkpoint_git.commands.status import StatusResult, read_since, status
from checkpoint_git.commands.update import UpdateResult, make_edits, update
from checkpoint_git.commands.validate import read_paths
from checkpoint_git.commands.workflow.phase import advance_phase, approve_phase, archive_state, save_state
from checkpoint_git.commands.workflow.resume import Prospect, begin_afresh, look_ahead
from checkpoint_git.commands.workflow.state import (
    check_phase,
    find_state,
    find_trouble,
    read_approvals,
    state_data,
)
from checkpoint_git.commands.workflow.tasks import change_task, recover_tasks
from checkpoint_git.commands.workflow.tasks import find_place as find_workflow
from checkpoint_git.commands.writing import check_owner
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.protocols.memory import rules as memory_rules
from checkpoint_git.protocols.memory import store as memory_store
from checkpoint_git.protocols.memory.entity import Entity, read_entity
from checkpoint_git.protocols.memory.layout import ENTITY, check_entity_name
from checkpoint_git.protocols.memory.transports.contract import Transport
from checkpoint_git.protocols.memory.triggers import TRIGGERS, Wish
from checkpoint_git.protocols.pipeline.store import Skipped
from checkpoint_git.protocols.restore import contract_output
from checkpoint_git.protocols.restore.part import Means
from checkpoint_git.protocols.restore.points import World
from checkpoint_git.protocols.skill.views import public_view
from checkpoint_git.protocols.workflow.layout import check_task_id, check_workflow_id
from checkpoint_git.protocols.workflow.recovery import Step
from checkpoint_git.protocols.workflow.store import plan_workflow_place

__all__ = [
    "CheckpointError",
    "Checkpoints",
    "DoneResult",
    "Finding",
    "MemoryCheckpoint",
    "NextAction",
    "NextResult",
    "Pipeline",
    "Plan",
    "RestorePoints",
    "ResumeResult",
    "Resumption",
    "RotateResult",
    "StatusResult",
    "UpdateResult",
    "Workflow",
    "savepoint",
]

Objects = list[dict[str, Any]]
Findings = list[Finding]


class Checkpoints:
    """The checkpoints of one project.

    path: a folder in it; the nearest .checkpoints upward is looked for at every call, so it may be made later. now: a
    fixed instant in seconds since 1970, None for the clock. CHECKPOINT_SKILL in the environment limits what may be
    written, as it does on the command line.
    """

    def __init__(self, path: str | os.PathLike[str] = ".", now: int | None = None) -> None:
        self._path = os.path.abspath(os.fspath(path))
        self._now = now

    @property
    def now(self) -> int:
        """Seconds since 1970, UTC."""
        return int(time.time()) if self._now is None else self._now

    @property
    def place(self) -> Place:
        """Where the checkpoints lie. Raises CheckpointError where there are none."""
        return find_place(self._path)

    # reading

    def status(self, skill: str | None = None, since: str | None = None) -> StatusResult:
        """Where everything stands, or one skill: states, decisions that wait on the user, broken files.

        since: an instant or a day as text; then `changes` holds what was written since.
        """
        return status(self.place, self.now, skill, None if since is None else read_since(since))

    def next(self) -> NextResult:
        """The queue of next actions; queue.actions[0] matters most, queue.skipped is what the history shows as done."""
        return next_actions(self.place, self.now)

    def log(self, skill: str, limit: int = 0, since: str | None = None) -> LogResult:
        """A checkpoint's life through git's history: entries, the newest first, each with its commit and events.

        limit: entries, 0 for all. since: an instant or a day as text.
        """
        return log(self.place, skill, limit=limit, since=None if since is None else read_since(since))

    def resume(self, skill: str) -> ResumeResult:
        """How to go on with a skill: plan.decision is "continue", "ask", "complete" or "start_fresh".

        A missing or broken checkpoint is no error. The document holds the public part only: see show().
        """
        result = resume(self.place, skill, self.now, os.environ)
        document = result.document
        if document is None or document.value is None:
            return result
        return result._replace(document=document._replace(value=public_view(document.value), text=None))

    def validate(self, paths: Iterable[str | os.PathLike[str]] = ()) -> Findings:
        """Everything that is wrong; [] where nothing is. paths: files or folders, else all checkpoints."""
        named = [os.fspath(path) for path in paths]
        documents = (
            check_files(read_paths(named, self._path), self.now) if named else read_documents(self.place, self.now)
        )
        return [finding for document in documents for finding in document.findings]

    def show(self, skill: str, *, public: bool = True) -> dict[str, Any]:
        """A checkpoint's content. public: without skill_state and unknown fields, which belong to the skill alone.

        Raises CheckpointError for a file that cannot be read as a checkpoint.
        """
        document = show(self.place, skill, self.now)[0]
        if document.value is None:
            found = document.findings[0]
            raise CheckpointError(f"{document.path}:{found.line}: {found.message}", found.hint)
        return public_view(document.value) if public else document.value

    def refs(self, role: str | None = None) -> Objects:
        """The tickets of all skills, each with its skill, in order. role: source, child, deploy, incident, linked."""
        return find_refs(read_documents(self.place, self.now), role)

    # writing

    def update(
        self, skill: str, replace: Mapping[str, Any] | None = None, append: Mapping[str, Iterable[Any]] | None = None
    ) -> UpdateResult:
        """Changes fields, or starts a checkpoint; updated_at is stamped.

        replace: dotted path -> new value. append: dotted path of a list -> the items to add. Paths are those of the
        command line: "a.b", "rows.0.status", "rows[id].status". written.refused holds the new errors that kept
        anything from being written.
        """
        return update(self._own_place(skill), skill, make_edits(replace, append), self.now)

    def done(self, skill: str, *, next_action: str | None = None, complete: bool = False) -> DoneResult:
        """Moves the first next action to recently_done. On the last one of work in progress, one of both is needed.

        next_action: put first in the list. complete: the status becomes complete. Never runs a done_when.
        """
        return done(self._own_place(skill), skill, self.now, next_action=next_action, complete=complete)

    def reset(self, skill: str) -> str:
        """Archives a skill's checkpoint; the archive's path, relative to the repository."""
        return reset(self._own_place(skill), skill, self.now)

    def rotate(self, skill: str, *, dry_run: bool = False) -> RotateResult:
        """Moves closed telemetry into history. dry_run: only says what would move."""
        return rotate(self._own_place(skill), skill, self.now, dry_run=dry_run)

    def _own_place(self, skill: str) -> Place:
        """The place, where this process may write to the skill's checkpoint."""
        check_owner(skill, os.environ)
        return self.place

    def list(self) -> Objects:
        """One object a checkpoint: skill, path, valid, project, phase, step, status, updated_at."""
        return [summarize(document) for document in read_documents(self.place, self.now)]


class Pipeline:
    """The append-only records of one run of a pipeline.

    run_id: a UUID, or a short name for one. base: the folder of all records, None for what checkpoint.pipelineDir names
    in the current folder, else ~/.claude/checkpoints. now: as for Checkpoints.
    """

    def __init__(
        self, ticket_id: str, run_id: str, base: str | os.PathLike[str] | None = None, now: int | None = None
    ) -> None:
        found = records.find_base(None if base is None else os.path.abspath(os.fspath(base)), os.getcwd(), os.environ)
        self._run = records.open_run(found, ticket_id, run_id)
        self._now = now

    @property
    def now(self) -> int:
        """Seconds since 1970, UTC."""
        return int(time.time()) if self._now is None else self._now

    def write(
        self,
        phase: str,
        payload: Mapping[str, Any],
        *,
        commits: Mapping[str, str] | None = None,
        artifacts: Iterable[str] = (),
        timestamp: str = "",
        attempt: int | None = None,
    ) -> records.Written:
        """Writes a record: its path below the base, its value, warnings. attempt None: the next free one.

        Raises CheckpointError, nothing written, for contents that are no record and for an attempt that is there.
        """
        draft = records.Draft(phase, payload, commits or {}, list(artifacts), timestamp)
        return records.write_record(self._run, draft, attempt, self.now)

    def read(self, phase: str, *, attempt: int | None = None, fallback: bool = False) -> dict[str, Any]:
        """The newest record of a phase, or one attempt. Raises CheckpointError where there is none, or it is broken.

        fallback: takes the newest good one instead of a broken one.
        """
        found = records.read_newest(self._run, phase, self.now, attempt=attempt, fallback=fallback).record
        if not found.is_valid:
            raise CheckpointError(f"{found.path}: {'; '.join(found.messages('error'))}", "restore it, or use fallback")
        assert found.value is not None
        return found.value

    def validate(self, phase: str, *, attempt: int | None = None) -> Findings:
        """What is wrong with the newest record of a phase, or with one attempt; [] where nothing is."""
        return records.read_newest(self._run, phase, self.now, attempt=attempt).record.findings

    def list(self, skipped: list[Skipped] | None = None) -> Iterator[dict[str, Any]]:
        """The run's good records by ordinal and attempt, one at a time. skipped: takes (path, reason) of the others."""
        run, passed = self._run, [] if skipped is None else skipped
        for record in records.read_records(run.base, run.ticket_id, run.run_id, self.now, passed):
            yield record.value or {}

    def resume(self, phase: str, *, fallback: bool = False) -> Resumption:
        """Whether the run can go on at a phase: is_possible, run_from, the states of the phases before it."""
        return records.plan_resume(self._run, records.check_phase(phase), self.now, fallback=fallback)

    def next_attempt(self, phase: str) -> int:
        """One more than the highest attempt at a phase."""
        return records.next_attempt(self._run, records.check_phase(phase))


class Workflow:
    """The phases and tasks of the workflow of one project.

    path: a folder in it; the nearest memory/state upward is looked for at every call. approvals: the phases that need
    an approval, None for what checkpoint.workflowApprovals names, else REQUIREMENTS and ARCHITECTURE. now: as for
    Checkpoints. What writes returns the findings that kept it from writing: [] where it is done.
    """

    def __init__(
        self, path: str | os.PathLike[str] = ".", approvals: Iterable[str] | None = None, now: int | None = None
    ) -> None:
        self._path = os.path.abspath(os.fspath(path))
        self._approvals = None if approvals is None else ",".join(approvals)
        self._now = now

    @property
    def now(self) -> int:
        """Seconds since 1970, UTC."""
        return int(time.time()) if self._now is None else self._now

    def start(self, name: str, *, fresh: bool = False) -> str | None:
        """Begins a workflow; the archive of the one before, None without one.

        fresh: archives one that is not finished. Otherwise that raises CheckpointError.
        """
        check_workflow_id(name)
        place = plan_workflow_place(self._path)
        changed, archive = begin_afresh(place, name, self.now, unasked=not fresh)
        if changed is None:
            raise CheckpointError("there is an unfinished workflow", "resume it, or start with fresh=True")
        return archive

    def status(self) -> dict[str, Any]:
        """Where it stands: workflow_id, phase, phase_status, started_at, last_activity, completed, approved, tasks."""
        state = find_state(self._path, self.now)
        return {**state_data(state), "tasks": state.tasks}

    def resume(self) -> Prospect:
        """What to do next: plan.action and plan.reason. Nothing is written: call recover() first in a new session.

        plan is None where the state is corrupt; question.kind is "corrupt", "stale" or "resume".
        """
        place = find_workflow(self._path)
        return look_ahead(place, read_approvals(place, self._approvals, os.environ), self.now)

    def advance(self, output: str | None = None, *, approved: bool = False, force: bool = False) -> Findings:
        """Completes the current phase; after the last one the workflow is archived.

        approved: the user says so now. force: although the phase's result is not there.
        """
        place = find_workflow(self._path)
        approvals = read_approvals(place, self._approvals, os.environ)
        return advance_phase(place, self.now, approvals, output, approved=approved, force=force).changed.refused

    def approve(self, phase: str) -> Findings:
        """Notes the user's approval of a phase."""
        return approve_phase(find_workflow(self._path), check_phase(phase), self.now).refused

    def save(self, note: str = "") -> Findings:
        """A checkpoint before an expensive step."""
        return save_state(find_workflow(self._path), note, self.now).refused

    def add_tasks(self, *names: str) -> Findings:
        """Adds pending tasks."""
        return self._change_task("add", list(names))

    def start_task(self, name: str, output: str | None = None) -> Findings:
        """Runs a task, which is added where it is new. output: where its result will lie."""
        return self._change_task("start", [name], output)

    def finish_task(self, name: str, output: str | None = None) -> Findings:
        """Completes a task."""
        return self._change_task("done", [name], output)

    def fail_task(self, name: str, error: str = "") -> Findings:
        """Counts an attempt that came to nothing."""
        return self._change_task("fail", [name], None, error)

    def recover(self) -> list[Step]:
        """Settles the tasks whose session is gone; what was done to each."""
        return recover_tasks(find_workflow(self._path), self.now).steps

    def validate(self) -> Findings:
        """Everything that is wrong with the two files and what they refer to; [] where nothing is."""
        return find_trouble(find_state(self._path, self.now), self.now)

    def archive(self) -> str | None:
        """Moves the state into an archive; its path, relative to the project."""
        return archive_state(find_workflow(self._path), self.now)[1]

    def _change_task(self, verb: str, names: list[str], output: str | None = None, error: str = "") -> Findings:
        for name in names:
            check_task_id(name)
        return change_task(find_workflow(self._path), verb, names, self.now, output, error).refused


class MemoryCheckpoint:
    """An initiative's checkpoint in the graph of a memory server.

    transport: a way to the graph, one of protocols/memory/transports; it belongs to the caller, who closes it. entity:
    the checkpoint's name. path: where copies of what was corrupted go. now: as for Checkpoints. Where the server is
    away, every method raises UnavailableError, a CheckpointError.
    """

    def __init__(
        self,
        transport: Transport,
        entity: str = ENTITY,
        path: str | os.PathLike[str] = ".",
        now: int | None = None,
    ) -> None:
        self._transport = transport
        self._name = check_entity_name(entity)
        self._path = os.path.abspath(os.fspath(path))
        self._now = now

    @property
    def now(self) -> int:
        """Seconds since 1970, UTC."""
        return int(time.time()) if self._now is None else self._now

    def load(self) -> dict[str, str] | None:
        """The fields by their keys, None where there is no checkpoint; validate() says whether to believe them."""
        entity = self._entity()
        return None if entity is None else read_entity(entity).fields

    def validate(self) -> Findings:
        """What is wrong with the checkpoint: corrupted, cut off, outdated; [] where nothing is, or none is there."""
        entity = self._entity()
        return [] if entity is None else memory_rules.check(entity, self.now)

    def save(
        self,
        on: str = "manual",
        *,
        next_milestone: str = "",
        next_phase: str = "",
        interrupted: str = "",
        **fields: str,
    ) -> dict[str, str]:
        """Makes or changes the checkpoint; its fields as the graph has them. on: the occasion.

        Raises CheckpointError where a field is missing, and where the graph does not keep what was written.
        """
        if on not in TRIGGERS:
            raise CheckpointError(f"{on!a} is no occasion", ", ".join(TRIGGERS))
        request = Request(on, fields, Wish(next_milestone, next_phase, interrupted))
        around = Surroundings(self._path, os.environ, self.now)
        return read_entity(save_checkpoint(self._transport, self._name, request, around).written.entity).fields

    def update(self, **fields: str | None) -> dict[str, str]:
        """Changes fields of the checkpoint that is there; None takes one away. The fields afterwards."""
        saved = update_checkpoint(self._transport, self._name, fields, self.now)
        return read_entity(saved.written.entity).fields

    def clear(self) -> bool:
        """Deletes the checkpoint; whether there was one. Raises CheckpointError for another's entity."""
        with self._transport.exclusive():
            entity = self._entity()
            if entity is None:
                return False
            if read_entity(entity).state == "foreign":
                raise CheckpointError(f"{self._name} is another's entity", "choose another name")
            memory_store.remove_entity(self._transport, self._name)
        return True

    def _entity(self) -> Entity | None:
        return memory_store.load_entity(self._transport, self._name)


Ids = list[str]
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class RestorePoints:
    """The restore points of one workspace: proven ways back, made before anything dangerous.

    root: a folder in it, from which relative scopes start. The workspace is the repository around it; outside git the
    nearest folder upward with .checkpoints, else root itself. now: as for Checkpoints.
    """

    def __init__(self, root: str | os.PathLike[str] = ".", now: int | None = None) -> None:
        self._root = os.path.abspath(os.fspath(root))
        self._now = now

    @property
    def _world(self) -> World:
        now = int(time.time()) if self._now is None else self._now
        return restore_points.open_world(restore_points.find_workspace(self._root), self._root, now, os.environ)

    def create(
        self,
        scope: Paths = (),
        reason: str = "",
        *,
        states: Mapping[str, Any] | None = None,
        databases: Iterable[str] = (),
        tables: Iterable[str] = (),
        checkpoint_type: str | None = None,
        expiry: str | None = None,
    ) -> dict[str, Any]:
        """A new point, read back and rehearsed: the output contract, with its id under checkpoint_id.

        scope: files, folders, patterns. states: key -> a value that JSON can hold, or a pathlib.Path of a JSON file.
        databases: URLs. tables: of the one PostgreSQL database, all where none are named. expiry: "24h", "7d", ...
        """
        world = self._world
        wanted = restore_parts.find_databases(world, list(databases), list(tables))
        wanted += restore_parts.keep_states(world, states or {})
        made = restore_points.create_point(world, _texts(scope), reason, checkpoint_type, expiry, wanted)
        return contract_output.describe(made)

    def verify(self, checkpoint_id: str) -> Findings:
        """Everything that is wrong with a point; [] where it can be relied on."""
        return restore_points.verify_point(self._world, checkpoint_id)

    def rollback(
        self,
        checkpoint_id: str,
        scope: Paths | None = None,
        *,
        on_state: Callable[[str, Any], object] | None = None,
        state_to: Mapping[str, str | os.PathLike[str]] | None = None,
        databases: Iterable[str] = (),
        dry_run: bool = False,
        force: bool = False,
    ) -> restore_points.RolledBackPoint:
        """Goes back, and proves it; result.safety is the point of what stood there before.

        scope: only these paths, "state:KEY" or URLs. on_state: takes (key, value) of each state, None where there was
        none. state_to: key -> file. databases: URLs with the passwords that going back needs. force: although expired.
        """
        world = self._world
        within = None if scope is None else [restore_points.find_below(world, text) for text in _texts(scope)]
        files = {key: restore_parts.place_target(self._root, os.fspath(file)) for key, file in (state_to or {}).items()}
        means = Means(files, on_state, restore_parts.find_passwords(world, list(databases)))
        return restore_points.roll_back_point(world, checkpoint_id, within, means, dry_run=dry_run, force=force)

    def list(self) -> Objects:
        """One object a point, oldest first: id, state, type, created_at, expires_at, reason, size, hash, scope."""
        standings = restore_points.list_points(self._world)
        return [contract_output.outline(one.manifest, one.state) for one in standings]

    def show(self, checkpoint_id: str) -> dict[str, Any]:
        """The manifest of a point as it lies on the disk."""
        manifest = restore_points.load_point(self._world, checkpoint_id)
        if manifest.trouble:
            raise CheckpointError(f"{manifest.id} is damaged: {manifest.trouble}", "verify() tells more")
        return manifest.value

    def drop(self, checkpoint_id: str) -> None:
        """Removes a point."""
        restore_points.drop_point(self._world, checkpoint_id)

    def gc(self, *, dry_run: bool = False) -> Ids:
        """Removes the points that have expired; their ids."""
        return [manifest.id for manifest in restore_points.collect_expired(self._world, dry_run=dry_run)]

    @contextmanager
    def guarded(
        self,
        scope: Paths = (),
        reason: str = "",
        *,
        states: Mapping[str, Any] | None = None,
        databases: Iterable[str] = (),
        tables: Iterable[str] = (),
        on_state: Callable[[str, Any], object] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Makes a point, runs the block, goes back when it raises, and lets the exception on. The point stays.

        on_state: takes the states back; needed for those that were given as values. Raises CheckpointError from the
        block's exception where going back failed: the point is still there then.
        """
        urls = list(databases)
        if on_state is None and any(not isinstance(value, os.PathLike) for value in (states or {}).values()):
            raise CheckpointError("states given as values need somewhere to go back to", "give on_state, or files")
        made = self.create(scope, reason, states=states, databases=urls, tables=tables)
        point = str(made["checkpoint_id"])
        try:
            yield made
        except BaseException as error:
            try:
                self.rollback(point, on_state=on_state, databases=urls)
            except CheckpointError as trouble:
                message = f"the block failed, and going back to {point} did too: {trouble.message}"
                raise CheckpointError(message, trouble.hint) from error
            error.add_note(f"rolled back to restore point {point}")
            raise


def savepoint(connection: Any) -> AbstractContextManager[str]:
    """A savepoint around a block on an open DB-API or SQLAlchemy connection, undone when the block raises.

    Nothing is committed behind the caller's back. It cannot outlive its process: RestorePoints copies databases.
    """
    from checkpoint_git.protocols.restore.mechanisms.savepoint import savepoint as hold_savepoint

    return hold_savepoint(connection)


def _texts(paths: Paths) -> list[str]:
    return [os.fspath(paths)] if isinstance(paths, str | os.PathLike) else [os.fspath(path) for path in paths]
