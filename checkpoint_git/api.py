"""Skill checkpoints for Python: the everyday verbs as methods. It prints nothing and asks nobody.

Every method may raise CheckpointError: no folder of checkpoints, no such skill, a full disk. Problems in the content of
a checkpoint are never raised, but returned as findings.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.protocols.contract import fix_clock
from checkpoint_git.protocols.skill import store
from checkpoint_git.protocols.skill.brief.since import read_since
from checkpoint_git.protocols.skill.brief.status import StatusResult, status
from checkpoint_git.protocols.skill.edit import entries
from checkpoint_git.protocols.skill.edit.changes import Lists, check_text, make_edits
from checkpoint_git.protocols.skill.verbs.done import DoneResult, done
from checkpoint_git.protocols.skill.verbs.log import LogResult, log
from checkpoint_git.protocols.skill.verbs.next import NextResult, next_actions
from checkpoint_git.protocols.skill.verbs.record import EntryResult, Record, record
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

_SUMMARY = ("project", "phase", "step", "status", "updated_at")
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
        self._now = fix_clock(now)

    @property
    def place(self) -> Place:
        return find_place(self._path)

    def status(self, skill: str | None = None, since: str | None = None) -> StatusResult:
        """All skills, or one. since: a time, a day, or "2d"; then `changes` has what was written."""
        return status(self.place, self._now(), skill, None if since is None else read_since(since, self._now()))

    def next(self) -> NextResult:
        """queue.actions[0] matters most; queue.skipped is what merges finished."""
        return next_actions(self.place, self._now())

    def log(self, skill: str, limit: int = 0, since: str | None = None) -> LogResult:
        """A checkpoint's history in git, newest first. limit: entries, 0 for all. since: a time, a day, or "2d"."""
        return log(self.place, skill, limit=limit, since=None if since is None else read_since(since, self._now()))

    def resume(self, skill: str) -> ResumeResult:
        """plan.decision is "continue", "ask", "complete" or "start_fresh"; the document has the public part only."""
        result = resume(self.place, skill, self._now(), os.environ)
        document = result.document
        if document is None or document.value is None:
            return result
        return result._replace(document=document._replace(value=public_view(document.value), text=None))

    def validate(self, paths: Iterable[str | os.PathLike[str]] = ()) -> Findings:
        """Everything that is wrong; [] where nothing is. paths: files or folders, else all checkpoints."""
        named = [os.fspath(path) for path in paths]
        files = read_paths(named, self._path) if named else store.read_files(self.place)
        return [finding for document in iterate_checked(files, self._now()) for finding in document.findings]

    def show(self, skill: str, *, public: bool = True) -> dict[str, Any]:
        """public: without skill_state and unknown fields. Raises CheckpointError for a file that cannot be read."""
        value = store.read_value(self.place, skill, self._now())
        return public_view(value) if public else value

    def refs(self, role: str | None = None) -> Objects:
        """The tickets of all skills, each with its skill, in order. role: source, child, deploy, incident, linked."""
        return find_refs(store.iterate_documents(self.place, self._now()), role)

    def update(
        self,
        skill: str,
        replace: Mapping[str, Any] | None = None,
        append: Lists | None = None,
        remove: Lists | None = None,
        *,
        new_field: bool = False,
    ) -> UpdateResult:
        """Changes fields, or starts a checkpoint; updated_at is stamped.

        replace: path -> new value. append: path of a list -> items to add. remove: path of a list -> items to remove,
        by their text or id. Paths are "a.b", "rows.0.status", "rows[id].status". new_field: unknown names are written
        as they are. written.refused: the new errors for which nothing was written.
        """
        edits = make_edits(replace, append, remove)
        return update(self._own_place(skill), skill, edits, self._now(), new_field=new_field)

    def done(
        self, skill: str, action: str | None = None, *, next_action: str | None = None, complete: bool = False
    ) -> DoneResult:
        """Moves an action to recently_done; never runs a done_when. action: its number, from 1, or a part of its text;
        None for the first.

        next_action: put first in the list. complete: the status becomes complete. The last action needs one of both.
        """
        check_text(next_action or "")
        place = self._own_place(skill)
        return done(place, skill, self._now(), next_action=next_action, complete=complete, action=action)

    def note(self, skill: str, text: str) -> EntryResult:
        """Keeps a key decision."""
        return self._record(skill, lambda value: entries.note(value, text), text)

    def ask(self, skill: str, question: str, options: Sequence[str] = (), blocks: str | None = None) -> EntryResult:
        """Opens a decision that waits on the user; entry.id names it. blocks: the row that waits."""
        choices = [options] if isinstance(options, str) else list(options)
        texts = question, blocks, *choices
        return self._record(skill, lambda value: entries.ask(value, question, choices, blocks), *texts)

    def decide(self, skill: str, answer: str, name: str | None = None) -> EntryResult:
        """Answers a decision and keeps the answer as a key decision. name: its id, where several wait."""
        return self._record(skill, lambda value: entries.decide(value, self._now(), answer, name), answer, name)

    def block(self, skill: str, text: str, needs: str | None = None, blocks: str | None = None) -> EntryResult:
        """Adds a blocker. needs: user_decision, code_fix or external_dep."""
        return self._record(skill, lambda value: entries.block(value, text, needs, blocks), text, needs, blocks)

    def unblock(self, skill: str, name: str | None = None) -> EntryResult:
        """Marks a blocker as resolved. name: its id, where several are open."""
        return self._record(skill, lambda value: entries.unblock(value, self._now(), name), name)

    def drop(self, skill: str, why: str, action: str | None = None, **after: Any) -> EntryResult:
        """Removes an action undone. action, after: as for done."""
        return self._record(skill, lambda value: entries.drop(value, self._now(), why, action, **after), why, action)

    def undo(self, skill: str) -> Undone:
        """Takes back the last write, and brings it back when called again."""
        return undo(self._own_place(skill), skill)

    def _record(self, skill: str, change: Record, *texts: str | None) -> EntryResult:
        for text in texts:
            if text is not None:
                check_text(text)
        return record(self._own_place(skill), skill, self._now(), change)

    def reset(self, skill: str) -> str:
        """Archives a checkpoint; returns the archive's path, relative to the repository."""
        return reset(self._own_place(skill), skill, self._now())

    def rotate(self, skill: str, *, dry_run: bool = False) -> RotateResult:
        """Moves closed telemetry into history. dry_run: reports what would move, and changes nothing."""
        return rotate(self._own_place(skill), skill, self._now(), dry_run=dry_run)

    def sync(self, remote: str = "", branch: str = "", *, only: str = "", timeout: float = TIMEOUT) -> SyncResult:
        """Exchanges checkpoints with a branch that other clones write to; it may take a while.

        remote, branch: "" for the settings, or what the checked-out branch follows. only: a skill. timeout: seconds.
        """
        return sync(self.place, Wish(remote, branch, timeout=timeout, only=only), self._now(), os.environ)

    def _own_place(self, skill: str) -> Place:
        check_text(skill)
        store.check_owner(skill, os.environ)
        return self.place

    def list(self) -> Objects:
        """One object a checkpoint: skill, path, valid, project, phase, step, status, updated_at."""
        return [
            {"skill": one.skill, "path": one.path, "valid": one.is_valid}
            | {name: text_field(one.value or {}, name) or None for name in _SUMMARY}
            for one in store.iterate_documents(self.place, self._now())
        ]
