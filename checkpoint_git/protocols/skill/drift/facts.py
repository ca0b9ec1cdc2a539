"""What the checks of skill checkpoints look at: the checkpoints in short, their files, and git's
history.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.clock import DAY
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.git import paths, worktree
from checkpoint_git.git.clone import read_operation
from checkpoint_git.git.history import history
from checkpoint_git.git.history.log import has_commits
from checkpoint_git.git.run import clean_env
from checkpoint_git.protocols.check import Context, fact
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.drift.document_summary import (
    DocumentSummary,
    read_summaries,
    summarize_document,
)
from checkpoint_git.protocols.skill.drift.generated_files import (
    choose_reading,
    find_readings,
    follow_moves,
    is_path_like,
)
from checkpoint_git.protocols.skill.drift.merged_work import Work, look_up
from checkpoint_git.protocols.skill.views import STALE_DAYS

GRACE = DAY  # a session commits its files soon after it wrote its checkpoint
_MOST_ASKED = 1_000  # paths on one command line


class NamedFile(NamedTuple):
    """One entry of generated_files, or one path of an entry that names several. at: the entry's
    index. path: as far as we understood it. state: "there", "missing" or "outside" the repository.
    names: what git may call it. fate, detail, told: why it is missing, see git.paths.Fate; ""
    outside git.
    """

    at: int
    path: str
    state: str
    names: tuple[str, ...] = ()
    fate: str = ""
    detail: str = ""
    told: str = ""


class SkillFacts:
    """Facts about the checkpoints of a place, or about the one of the skill that was asked for."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @cached_property
    def summaries(self) -> Sequence[DocumentSummary]:
        place, skill = self.context.place, self.context.skill
        # else there is only what another protocol has
        is_there = skill or os.path.lexists(place.directory)
        return read_summaries(place, self.context.now, skill, self.context.tell) if is_there else []

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(one.path for one in self.summaries)

    def read_text(self, path: str) -> str | None:
        """A checkpoint's text as JSON that can be parsed; None for any other path, and where it
        changed meanwhile.
        """
        place, skill = self.context.place, layout.find_skill(os.path.basename(path))
        try:  # a name that cannot be a skill's is an error of its own
            is_own = bool(skill) and layout.relative_checkpoint_path(place, skill) == path
            data = store.read_skill(place, skill) if is_own else None
            text = jsontext.decode(data) if isinstance(data, bytes) else None
            if text is not None:
                jsontext.load(text)
        except (CheckpointError, jsontext.JsonTextError):
            return None

        return text

    def read_value(self, path: str) -> dict[str, Any]:
        value = jsontext.load(self.read_text(path) or "{}")
        return value if isinstance(value, dict) else {}

    @property
    def limits(self) -> Mapping[str, int]:
        return {**STALE_DAYS, **self.context.limits}

    def find_aged(self, status: str) -> Iterator[tuple[DocumentSummary, int]]:
        """(summary, days since it was written) of what has a status for longer than that should
        last.
        """
        limit = self.limits[status]
        for summary in self.summaries:
            age = self.context.now - summary.updated_at if summary.updated_at is not None else 0
            if summary.status == status and age > limit * DAY:
                yield summary, age // DAY

    @fact("the project folders", frozenset(), needs_git=False)
    def absent_dirs(self) -> frozenset[str]:
        named = {
            one.project_dir for one in self.summaries if one.project_dir and one.project_dir.strip()
        }
        named.discard(layout.HERE)
        return frozenset(
            path
            for path in named
            if "\0" in path or not os.path.isabs(path) or not os.path.isdir(path)
        )

    @fact("the generated files", {}, needs_git=False)
    def files(self) -> Mapping[str, Sequence[NamedFile]]:
        place = self.context.place
        lookup = paths.Lookup(place.root, place.top)
        files = {
            one.path: list(_read_listed(one, place.root, lookup))
            for one in self.summaries
            if one.listed
        }
        every = [file for listed in files.values() for file in listed]
        missing = {name for file in every if file.state == "missing" for name in file.names}
        fates = (
            paths.read_fates(place.top, sorted(missing), self._find_start())
            if place.git_dir and missing
            else {}
        )
        return {
            path: [_with_fate(file, fates, place) for file in listed]
            for path, listed in files.items()
        }

    def _find_start(self) -> int:
        """Return when the oldest checkpoint began, in seconds since 1970: what it lists was there
        around that time.
        """
        begun = [summary.created_at or 0 for summary in self.summaries if summary.listed]
        return max(0, min(begun, default=0) - GRACE)

    def find_renamed(self, summary: DocumentSummary) -> dict[int, tuple[str, str]]:
        """Index of generated_files -> (entry, it with the new names of its files, "" if it cannot
        name them).
        """
        by_entry = dict[int, list[tuple[str, str]]]()
        for file in self.files.get(summary.path, ()):
            new = file.detail if file.state == "missing" and file.fate == "renamed" else file.path
            by_entry.setdefault(file.at, []).append((file.path, new))

        listed = summary.listed
        others = {*listed, *(entry.split(" ", 1)[0] for entry in listed)}
        changed = [
            (at, moves) for at, moves in by_entry.items() if any(old != new for old, new in moves)
        ]
        return {at: (listed[at], follow_moves(listed[at], moves, others)) for at, moves in changed}

    @fact("the files that git does not have", {})
    def untracked(self) -> Mapping[str, Sequence[NamedFile]]:
        """Of checkpoints that are committed as they are here: what only this work tree has."""
        top, env = self.context.place.top, clean_env(self.context.env)
        there = {
            path: [file for file in files if file.state == "there"]
            for path, files in self.files.items()
        }
        names = {name for files in there.values() for file in files for name in file.names}
        found = worktree.read_uncommitted(top, names, env) if names else set[str]()
        only_here = {
            path: [one for one in files if not found.isdisjoint(one.names)]
            for path, files in there.items()
        }
        listing = {path: files for path, files in only_here.items() if files}
        in_work = worktree.read_changed(top, list(listing)[:_MOST_ASKED], env)
        return {path: files for path, files in listing.items() if path not in in_work}

    @fact("the index", ())
    def not_in_git(self) -> Sequence[Finding]:
        place = self.context.place
        found = store.find_untracked(
            place, [one.path for one in self.summaries][:_MOST_ASKED], self.context.env
        )
        if found and not has_commits(place.top):  # there nothing is tracked yet
            found = [finding for finding in found if finding.code == "git/ignored"]
        return found

    @fact("the latest history", ())
    def steps(self) -> Sequence[history.CommitPaths]:
        """What HEAD's own line did to checkpoints and listed files, newest first."""
        written = [one.updated_at for one in self.summaries if one.updated_at is not None]
        listed = {name for files in self.files.values() for file in files for name in file.names}
        if not written or not listed:
            return []
        watched = frozenset(listed | {one.path for one in self.summaries})
        return history.read_changes(self.context.place.top, min(written), watched)

    @cached_property
    def touched(
        self,
    ) -> Mapping[str, tuple[str, Mapping[str, tuple[NamedFile, history.CommitPaths]]]]:
        """By checkpoint: the step that brought it in as it is ("" for none), and by git's names the
        listed files, each with the newest step that touched it. What came after that first step
        counts, but not the step itself. Of what came before it, and while the checkpoint is not
        committed, only what is clearly later than updated_at: a session commits its files around
        the time it writes.
        """
        indexes = self._index_steps()
        if not indexes.keys() - self.paths:  # checkpoints change with every session
            return {}
        found = {}
        for summary in self.summaries:
            if summary.updated_at is not None:
                own = self._find_own_step(summary, indexes)
                touched = self._find_touched(summary, own, indexes)
                if touched:
                    found[summary.path] = (self.steps[own].id if own >= 0 else "", touched)

        return found

    def _index_steps(self) -> Mapping[str, Sequence[int]]:
        """Return the indexes of the steps that touched each path, newest first."""
        indexes: dict[str, list[int]] = {}
        for index, step in enumerate(self.steps):
            for path in step.paths:
                indexes.setdefault(path, []).append(index)
        return indexes

    def _find_own_step(self, summary: DocumentSummary, indexes: Mapping[str, Sequence[int]]) -> int:
        """Return the index of the step that brought in a checkpoint as it is, -1 while that is not
        committed.
        """
        own = indexes.get(summary.path, [-1])[0]
        is_committed = own >= 0 and self.steps[own].when >= (summary.updated_at or 0)
        return own if is_committed else -1

    def _find_touched(
        self, summary: DocumentSummary, own: int, indexes: Mapping[str, Sequence[int]]
    ) -> Mapping[str, tuple[NamedFile, history.CommitPaths]]:
        """Return the listed files that something touched since, each with the newest step that did.

        own: the index of the checkpoint's step.
        """
        written = summary.updated_at or 0
        touched: dict[str, tuple[NamedFile, history.CommitPaths]] = {}
        for file in self.files.get(summary.path, ()):
            names = [
                name for name in file.names if file.state == "there" and name not in self.paths
            ]
            for name in names:
                for index in indexes.get(name, ()):
                    step = self.steps[index]
                    is_later = index < own or step.when > written + GRACE
                    if is_later and step.when > written and summary.path not in step.paths:
                        touched[name] = (file, step)
                        break

        return touched

    @fact("the content of the generated files", frozenset())
    def unchanged(self) -> frozenset[tuple[str, str]]:
        """Of what is touched, by the checkpoint's own step: what has the content that it had then,
        under any name.
        """
        asked = {(start, name) for start, files in self.touched.values() if start for name in files}
        return history.read_unchanged(self.context.place.top, sorted(asked))

    @cached_property
    def has_references(self) -> bool:
        return any(summary.references for summary in self.summaries)

    @fact("the history since the checkpoints began", {})
    def work(self) -> Work:
        """What is true of the references in the checkpoints."""
        asked = dict[str, tuple[int, set[str]]]()
        for summary in self.summaries:
            if summary.references and summary.created_at is not None:
                asked[summary.path] = (summary.created_at, summary.references)
        return look_up(self.context.place.top, asked, self.context.now) if asked else {}

    @fact("the recorded commits", {})
    def foreign_commits(self) -> Mapping[str, str]:
        """Recorded commit id -> "unknown" to the repository, or "elsewhere" than in HEAD's
        history.
        """
        ids = {recorded.id for one in self.summaries for recorded in one.recorded}
        return history.read_strangers(self.context.place.top, sorted(ids))

    @fact("the clone's depth", False)
    def is_shallow(self) -> bool:
        return history.is_shallow(self.context.place.top)

    @fact("the index", ())
    def unmerged(self) -> Sequence[str]:
        place = self.context.place
        # at the top, other folders' and protocols' too: who stands there has to resolve them
        start = "" if place.root == place.top else f"{relative_path(place.root, place.top)}/"
        names = worktree.read_unmerged(place.top, clean_env(self.context.env))
        return [name for name in names if name.startswith(start) and is_merged(name)]

    @fact("the git directory", "")
    def operation(self) -> str:
        return read_operation(self.context.place.git_dir or "")


def make_facts(
    place: Place, documents: Sequence[Document], now: int, env: Mapping[str, str]
) -> SkillFacts:
    """Facts as if these documents were all the checkpoints of the place."""
    facts = Context(place, now, env).facts(SkillFacts)
    facts.summaries = [summarize_document(document) for document in documents]
    return facts


def _read_listed(summary: DocumentSummary, root: str, lookup: paths.Lookup) -> Iterator[NamedFile]:
    project = layout.find_project_dir(summary.project_dir or "", root).rstrip("/") + "/"

    def from_root(path: str) -> str:
        # another machine's checkout is elsewhere
        return path[len(project) :] if len(project) > 1 and path.startswith(project) else path

    def is_there(path: str) -> bool:
        return lookup.find_state(from_root(path)) == "there"

    for at, text in enumerate(summary.listed):
        names = [text]
        # nearly every entry is just the path of a file that is there
        if not is_path_like(text) or "{" in text or not is_there(text):
            names = choose_reading(find_readings(text), is_there)
        for name in map(from_root, names):
            yield NamedFile(at, name, lookup.find_state(name), lookup.find_names(name))


def _with_fate(file: NamedFile, fates: Mapping[str, paths.Fate], place: Place) -> NamedFile:
    # a file that is only not checked out is there
    if file.state != "missing" or not place.work_tree or not file.names:
        return file
    known = [fates[name] for name in file.names if name in fates]
    if len(known) < len(file.names):
        return file._replace(state="there")
    best = next((fate for fate in known if fate.kind != "unknown"), known[0])
    base = f"{relative_path(place.root, place.top)}/" if place.root != place.top else ""
    # as the entry names files
    detail = best.detail if file.path.startswith(base) else best.detail.removeprefix(base)
    slash = "/" if best.kind == "renamed" and file.path.endswith("/") and detail[-1:] != "/" else ""
    return file._replace(fate=best.kind, detail=detail + slash, told=best.told)
