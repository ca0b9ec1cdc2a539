"""Skill checkpoints for Python: the commands as methods. It never prints or prompts.

Every method may raise CheckpointError: no folder of checkpoints, no such checkpoint, a full disk.
Problems in the content of a checkpoint are never raised, but returned as findings.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import command
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.git.gitpython import find_folder, make_commits, open_repo
from checkpoint_git.git.history.reference_facts import Fact
from checkpoint_git.protocols.contract import fix_clock
from checkpoint_git.protocols.limits import read_limits
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.brief.brief import Action
from checkpoint_git.protocols.skill.brief.history import LifeEntry
from checkpoint_git.protocols.skill.brief.next_action import NextAction, SkippedAction
from checkpoint_git.protocols.skill.brief.since import read_since
from checkpoint_git.protocols.skill.brief.status import StatusResult, status
from checkpoint_git.protocols.skill.edit import entries
from checkpoint_git.protocols.skill.edit.parse import Lists, check_text, make_edits
from checkpoint_git.protocols.skill.verbs.done import DoneResult, check_remaining, done
from checkpoint_git.protocols.skill.verbs.log import LogResult, log
from checkpoint_git.protocols.skill.verbs.next import NextResult, next_actions
from checkpoint_git.protocols.skill.verbs.record import EntryResult, Record, record
from checkpoint_git.protocols.skill.verbs.rename import Renamed, find_claim, rename
from checkpoint_git.protocols.skill.verbs.reset import reset
from checkpoint_git.protocols.skill.verbs.resume import ResumeResult, resume
from checkpoint_git.protocols.skill.verbs.rotate import RotateResult, rotate
from checkpoint_git.protocols.skill.verbs.undo import Undone, undo
from checkpoint_git.protocols.skill.verbs.update import UpdateResult, update
from checkpoint_git.protocols.skill.views import find_refs, public_view, text_field
from checkpoint_git.protocols.validate import iterate_checked
from checkpoint_git.tools.sync.context import TIMEOUT, Wish
from checkpoint_git.tools.sync.run import SyncResult, sync
from checkpoint_git.tools.validate.verb import read_paths

if TYPE_CHECKING:
    from checkpoint_git.git.gitpython import Commit, Folder, Repo

_SUMMARY = ("project", "phase", "step", "status", "updated_at")
_MOST_NAMED = 12  # checkpoints in a message

Objects = list[dict[str, Any]]
Findings = list[Finding]
Row = LifeEntry | NextAction | SkippedAction | Action | Fact  # what has commits of git's history
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _takes_skill(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Accept `skill`, the former word for the parameter `name`, as a keyword."""

    @wraps(method)
    def call(*args: Parameters.args, **keywords: Parameters.kwargs) -> Result:
        if "skill" in keywords and "name" not in keywords:
            message = f"{method.__name__}(skill=...) is called name=... now"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            keywords["name"] = keywords.pop("skill")
        return method(*args, **keywords)

    return call


def _list_ids(row: Row) -> Sequence[str]:
    """Return the full ids of the commits that a row is about."""
    if isinstance(row, LifeEntry):
        if row.commit is None:
            return []
        return [row.commit.id]
    if isinstance(row, Fact):
        return [row.commit]
    ids = [fact.commit for fact in row.facts]
    if isinstance(row, NextAction):
        ids += [fact.commit for fact in row.proposal]
    return ids


class Checkpoints:
    """The checkpoints of one project.

    path: a folder in it, or a git.Repo of GitPython; the nearest .checkpoints upward is looked for
    at every call, so it may be made later. now: a fixed instant in seconds since 1970, None for the
    clock. CHECKPOINT_SKILL in the environment limits what may be written, as it does on the command
    line.

    name, in every method: the checkpoint's. If it may be None, that is the checkpoint of
    CHECKPOINT_SKILL, else the only one there is.
    """

    def __init__(self, path: "Folder" = ".", now: int | None = None) -> None:
        self._given = path
        self._path = find_folder(path)
        self._now = fix_clock(now)

    @property
    def place(self) -> Place:
        return find_place(self._path)

    @property
    def repo(self) -> "Repo":
        """Return the git.Repo that was given as path, else a new one of the repository around it.

        Raises CheckpointError outside git.
        """
        place = self.place
        if place.work_tree is None:
            raise CheckpointError(
                f"{place.root} is not in a git repository", command("git", "init")
            )
        return open_repo(self._given, place.work_tree)

    def commits(self, *rows: Row) -> "list[Commit]":
        """Return the git.Commit objects of entries of log(), and of the evidence for actions.

        rows: also actions of next() and resume(), and their facts. Each commit is there once, in
        the order of the rows; what is not committed yet has none. Raises CheckpointError outside
        git, and for a repository with SHA-256, which GitPython cannot read.
        """
        ids = [name for row in rows for name in _list_ids(row)]
        return make_commits(self.repo, dict.fromkeys(ids))

    @_takes_skill
    def status(self, name: str | None = None, since: str | None = None) -> StatusResult:
        """Return the state of everything, or one checkpoint.

        since: a time, a day, or "2d"; then `changes` has what was written.
        """
        place = self.place
        limits = read_limits(place, os.environ)
        return status(place, self._now(), limits, name, self._read_since(since))

    @_takes_skill
    def next(self, name: str | None = None) -> NextResult:
        """Return the next actions, of one checkpoint if it is named.

        queue.actions[0] matters most; queue.skipped is what merges finished.
        """
        place = self.place
        result = next_actions(place, self._now(), read_limits(place, os.environ))
        if name is None:
            return result
        store.read_document(place, name, self._now())  # raises if there is none
        actions = [action for action in result.queue.actions if action.skill == name]
        skipped = [action for action in result.queue.skipped if action.skill == name]
        return result._replace(queue=result.queue._replace(actions=actions, skipped=skipped))

    @_takes_skill
    def log(self, name: str | None = None, limit: int = 0, since: str | None = None) -> LogResult:
        """Return a checkpoint's history in git, newest first.

        limit: entries, 0 for all. since: a time, a day, or "2d".
        """
        return log(self.place, self._choose(name), limit=limit, since=self._read_since(since))

    @_takes_skill
    def resume(self, name: str | None = None) -> ResumeResult:
        """Return how to continue; the document has the public part only.

        plan.decision is "continue", "ask", "complete" or "start_fresh".
        """
        place = self.place
        limits = read_limits(place, os.environ)
        result = resume(place, self._choose(name), self._now(), os.environ, limits)
        document = result.document
        if document is None or document.value is None:
            return result
        public = document._replace(value=public_view(document.value), text=None)
        return result._replace(document=public)

    def validate(self, paths: Iterable[str | os.PathLike[str]] = ()) -> Findings:
        """Return all findings, [] if valid. paths: files or folders, else all checkpoints."""
        named = [os.fspath(path) for path in paths]
        if named:
            files = read_paths(named, self._path)
        else:
            files = store.read_files(self.place)

        findings = []
        for document in iterate_checked(files, self._now()):
            findings += document.findings
        return findings

    @_takes_skill
    def show(
        self, name: str | None = None, *, public: bool = True, absolute: bool = False
    ) -> dict[str, Any]:
        """Return a checkpoint. Raises CheckpointError for a file that cannot be read.

        public: without skill_state and unknown fields, which CHECKPOINT_SKILL leaves out of the
        checkpoints of others. absolute: with the absolute path as project_dir, if the file has ".".
        """
        place = self.place
        name = self._choose(name)
        value = store.read_value(place, name, self._now())
        if absolute and value.get("project_dir") == layout.HERE:
            value = {**value, "project_dir": place.root}
        owner = os.environ.get("CHECKPOINT_SKILL", name)
        if public or owner not in ("", name):
            return public_view(value)
        return value

    def refs(self, role: str | None = None) -> Objects:
        """Return the tickets of all checkpoints in order, each with the name of its checkpoint.

        role: source, child, deploy, incident, linked.
        """
        return find_refs(store.iterate_documents(self.place, self._now()), role)

    @_takes_skill
    def update(
        self,
        name: str,
        replace: Mapping[str, Any] | None = None,
        append: Lists | None = None,
        remove: Lists | None = None,
        *,
        new_field: bool = False,
    ) -> UpdateResult:
        """Change fields, or start a checkpoint; updated_at is stamped.

        replace: path -> new value. append: path of a list -> items to add. remove: path of a list
        -> items to remove, by their text or id. Paths are "a.b", "rows.0.status",
        "rows[id].status". new_field: unknown names are written as they are. written.refused: the
        new errors for which nothing was written.
        """
        edits = make_edits(replace, append, remove)
        return update(self._own_place(name), name, edits, self._now(), new_field=new_field)

    @_takes_skill
    def add(self, name: str, text: str, *, first: bool = False) -> EntryResult:
        """Add a next action, at the end or as the first."""

        def change(value: dict[str, Any]) -> entries.MadeEntry:
            return entries.add(value, self._now(), text, first=first)

        return self._record(name, change, text)

    @_takes_skill
    def row(
        self,
        name: str,
        text: str,
        status: str | None = None,
        id: str | None = None,  # noqa: A002  as in JSON
    ) -> EntryResult:
        """Add a row to progress_table, or set the status of the one with that label or id.

        id: of a new row; None for one made of its label.
        """

        def change(value: dict[str, Any]) -> entries.MadeEntry | Finding:
            return entries.row(value, text, status, id)

        return self._record(name, change, text, status, id)

    @_takes_skill
    def done(
        self,
        name: str | None = None,
        action: str | int | None = None,
        *,
        next_action: str | None = None,
        complete: bool = False,
        force: bool = False,
    ) -> DoneResult:
        """Move an action to recently_done; a done_when never runs.

        action: its number, from 1, or a part of its text; None for the first. next_action: put
        first in the list. complete: the status becomes complete. The last action needs one of the
        two. Raises CheckpointError if complete would leave other actions, unless force is set.
        """
        check_text(next_action or "")
        name = self._choose(name)
        place = self._own_place(name)
        which = None if action is None else str(action)
        if complete and not force:
            check_remaining(place, name, which, self._now())
        return done(
            place,
            name,
            self._now(),
            next_action=next_action,
            complete=complete,
            action=which,
        )

    @_takes_skill
    def note(self, name: str, text: str) -> EntryResult:
        """Record a key decision."""
        return self._record(name, lambda value: entries.note(value, text), text)

    @_takes_skill
    def ask(
        self, name: str, question: str, options: Sequence[str] = (), blocks: str | None = None
    ) -> EntryResult:
        """Open a decision that waits on the user; entry.id names it. blocks: the row that waits."""
        choices = [options] if isinstance(options, str) else list(options)

        def change(value: dict[str, Any]) -> entries.MadeEntry:
            return entries.ask(value, question, choices, blocks)

        return self._record(name, change, question, blocks, *choices)

    @_takes_skill
    def decide(self, name: str, answer: str | int, id: str | None = None) -> EntryResult:  # noqa: A002  as in JSON
        """Answer a decision, and record the answer as a key decision.

        answer: a text, or the number of an option, from 1. id: of the decision, if several wait.
        """
        text = str(answer)

        def change(value: dict[str, Any]) -> entries.MadeEntry | Finding:
            return entries.decide(value, self._now(), text, id)

        return self._record(name, change, text, id)

    @_takes_skill
    def block(
        self, name: str, text: str, needs: str | None = None, blocks: str | None = None
    ) -> EntryResult:
        """Add a blocker.

        needs: user_decision, code_fix or external_dep. blocks: the row that waits.
        """

        def change(value: dict[str, Any]) -> entries.MadeEntry:
            return entries.block(value, text, needs, blocks)

        return self._record(name, change, text, needs, blocks)

    @_takes_skill
    def unblock(self, name: str, id: str | None = None) -> EntryResult:  # noqa: A002  as in JSON
        """Mark a blocker as resolved. id: of the blocker, if several are open."""

        def change(value: dict[str, Any]) -> entries.MadeEntry | Finding:
            return entries.unblock(value, self._now(), id)

        return self._record(name, change, id)

    @_takes_skill
    def drop(
        self,
        name: str,
        why: str,
        action: str | int | None = None,
        *,
        next_action: str | None = None,
        complete: bool = False,
    ) -> EntryResult:
        """Remove an action without doing it. action, next_action, complete: as for done."""
        which = None if action is None else str(action)

        def change(value: dict[str, Any]) -> entries.MadeEntry | Finding:
            return entries.drop(
                value, self._now(), why, which, next_action=next_action, complete=complete
            )

        return self._record(name, change, why, which, next_action)

    @_takes_skill
    def undo(self, name: str | None = None) -> Undone:
        """Revert the last write; a second call restores it."""
        name = self._choose(name)
        return undo(self._own_place(name), name)

    @_takes_skill
    def rename(self, name: str, new: str) -> Renamed:
        """Give a checkpoint another name, with its history and the depends_on of the others.

        refused: the errors for which nothing was renamed.
        """
        place = self._own_place(name)
        check_text(new)
        store.check_owner(new, os.environ)
        claim = find_claim(place, name, os.environ, self._now())
        if claim:
            return Renamed("", [claim])
        return rename(place, name, new, self._now(), os.environ)

    @_takes_skill
    def reset(self, name: str) -> str:
        """Archive a checkpoint; return the archive's path, relative to the repository."""
        return reset(self._own_place(name), name, self._now())

    @_takes_skill
    def rotate(self, name: str, *, dry_run: bool = False) -> RotateResult:
        """Move closed telemetry into history. dry_run: report what would move, change nothing."""
        return rotate(self._own_place(name), name, self._now(), dry_run=dry_run)

    def sync(
        self, remote: str = "", branch: str = "", *, only: str = "", timeout: float = TIMEOUT
    ) -> SyncResult:
        """Exchange checkpoints with a branch that other clones write to; it may take a while.

        remote, branch: "" for the settings, or what the checked-out branch follows. only: the name
        of a checkpoint. timeout: seconds.
        """
        wish = Wish(remote, branch, timeout=timeout, only=only)
        return sync(self.place, wish, self._now(), os.environ)

    def _record(self, name: str, change: Record, *texts: str | None) -> EntryResult:
        for text in texts:
            if text is not None:
                check_text(text)
        return record(self._own_place(name), name, self._now(), change)

    def _own_place(self, name: str) -> Place:
        check_text(name)
        store.check_owner(name, os.environ)
        return self.place

    def _choose(self, name: str | None) -> str:
        """Return the name that was given, else that of CHECKPOINT_SKILL or of the only one."""
        if name is not None:
            return name
        owner = os.environ.get("CHECKPOINT_SKILL", "")
        if owner:
            return owner

        known = store.list_skills(self.place)
        if len(known) == 1:
            return known[0]
        hint = "there is none yet: start one with update"
        if known:
            hint = f"give its name: {', '.join(known[:_MOST_NAMED])}"
        raise CheckpointError("which checkpoint?", hint)

    def _read_since(self, since: str | None) -> int | None:
        if since is None:
            return None
        return read_since(since, self._now())

    def list(self) -> Objects:
        """Return an object for each checkpoint.

        Its members: skill, path, valid, project, phase, step, status, updated_at.
        """
        found = []
        for document in store.iterate_documents(self.place, self._now()):
            row = {"skill": document.skill, "path": document.path, "valid": document.is_valid}
            for field in _SUMMARY:
                row[field] = text_field(document.value or {}, field) or None
            found.append(row)
        return found
