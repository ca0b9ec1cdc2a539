"""Read the facts for checks of skill checkpoints: summaries, listed files, and git's history."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

GRACE = DAY  # a session commits its files soon after it wrote its checkpoint
_MOST_ASKED = 1_000  # paths on one command line


class NamedFile(NamedTuple):
    """Name a file of generated_files: one entry, or one path of an entry that names several.

    entry: its index. path: from the place's root. state: "there", "missing" or "outside" the
    repository. names: what git may call it. fate, detail, commit: why it is missing, as kind,
    detail and told of git.paths.Fate; "" outside git.
    """

    entry: int
    path: str
    state: str
    names: tuple[str, ...] = ()
    fate: str = ""
    detail: str = ""
    commit: str = ""


class SkillFacts:
    """Read facts about the checkpoints of a place, or about that of the requested skill."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @cached_property
    def summaries(self) -> Sequence[DocumentSummary]:
        place, skill = self.context.place, self.context.skill
        if not skill and not os.path.lexists(place.directory):
            return []  # only other protocols have files here
        return read_summaries(place, self.context.now, skill, self.context.tell)

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(summary.path for summary in self.summaries)

    def read_text(self, path: str) -> str | None:
        """Return a checkpoint's text, which is valid JSON.

        None for another path, and if it cannot be read any more.
        """
        place = self.context.place
        skill = layout.find_skill(os.path.basename(path))
        try:
            if not skill or layout.relative_checkpoint_path(place, skill) != path:
                return None
            data = store.read_skill(place, skill)
            if not isinstance(data, bytes):
                return None
            text = jsontext.decode(data)
            jsontext.load(text)
        except (CheckpointError, jsontext.JsonTextError):  # such as an invalid name
            return None
        return text

    def read_value(self, path: str) -> dict[str, Any]:
        """Return a checkpoint's value, {} if it cannot be read."""
        value = jsontext.load(self.read_text(path) or "{}")
        if not isinstance(value, dict):
            return {}
        return value

    def find_aged(self, status: str, limit: int) -> Iterator[tuple[DocumentSummary, int]]:
        """Yield the checkpoints with a status for more days than the limit.

        Each comes with the days since it was written.
        """
        for summary in self.summaries:
            if summary.status != status or summary.updated_at is None:
                continue
            age = self.context.now - summary.updated_at
            if age > limit * DAY:
                yield summary, age // DAY

    @fact("the project folders", frozenset(), needs_git=False)
    def absent_dirs(self) -> frozenset[str]:
        """Return the project_dirs that are no absolute path of a folder here."""
        found = set[str]()
        for summary in self.summaries:
            path = summary.project_dir
            if not path or not path.strip() or path == layout.HERE:
                continue
            if "\0" in path or not os.path.isabs(path) or not os.path.isdir(path):
                found.add(path)
        return frozenset(found)

    @fact("the generated files", {}, needs_git=False)
    def files(self) -> Mapping[str, Sequence[NamedFile]]:
        """Return the listed files by the path of their checkpoint."""
        place = self.context.place
        lookup = paths.Lookup(place.root, place.top)
        files = dict[str, list[NamedFile]]()
        missing = set[str]()
        for summary in self.summaries:
            if summary.listed:
                listed = files[summary.path] = list(_read_listed(summary, place.root, lookup))
                missing.update(_names_of(file for file in listed if file.state == "missing"))

        fates: Mapping[str, paths.Fate] = {}
        if place.git_dir and missing:
            fates = paths.read_fates(place.top, sorted(missing), self._find_start())
        for path, listed in files.items():
            files[path] = [_with_fate(file, fates, place) for file in listed]
        return files

    def _find_start(self) -> int:
        """Return when the oldest checkpoint began, in seconds since 1970.

        The files that it lists existed around that time.
        """
        begun = [summary.created_at or 0 for summary in self.summaries if summary.listed]
        return max(0, min(begun, default=0) - GRACE)

    def find_renamed(self, summary: DocumentSummary) -> dict[int, tuple[str, str]]:
        """Return the entries of generated_files with renamed files: index -> (entry, new entry).

        The new entry is "" if it cannot name the files.
        """
        moves = dict[int, list[tuple[str, str]]]()
        for file in self.files.get(summary.path, ()):
            new_path = file.path
            if file.state == "missing" and file.fate == "renamed":
                new_path = file.detail
            moves.setdefault(file.entry, []).append((file.path, new_path))

        listed = summary.listed
        known = {*listed, *(entry.split(" ", 1)[0] for entry in listed)}
        renamed = {}
        for index, pairs in moves.items():
            if any(old != new for old, new in pairs):
                renamed[index] = (listed[index], follow_moves(listed[index], pairs, known))
        return renamed

    @fact("the files that git does not have", {})
    def untracked(self) -> Mapping[str, Sequence[NamedFile]]:
        """Return the files that only this work tree has, by the path of their checkpoint.

        These checkpoints are committed as they are here.
        """
        top = self.context.place.top
        env = clean_env(self.context.env)
        present = dict[str, list[NamedFile]]()
        for path, files in self.files.items():
            present[path] = [file for file in files if file.state == "there"]
        names = {name for files in present.values() for name in _names_of(files)}
        uncommitted = set[str]()
        if names:
            uncommitted = worktree.read_uncommitted(top, names, env)

        found = dict[str, list[NamedFile]]()
        for path, files in present.items():
            only_here = [file for file in files if not uncommitted.isdisjoint(file.names)]
            if only_here:
                found[path] = only_here
        in_work = worktree.read_changed(top, list(found)[:_MOST_ASKED], env)
        return {path: files for path, files in found.items() if path not in in_work}

    @fact("the index", ())
    def not_in_git(self) -> Sequence[Finding]:
        """Return findings for checkpoints that git ignores or does not track."""
        place = self.context.place
        own_paths = [summary.path for summary in self.summaries]
        found = store.find_untracked(place, own_paths[:_MOST_ASKED], self.context.env)
        if found and not has_commits(place.top):  # nothing is tracked yet
            found = [finding for finding in found if finding.code == "git/ignored"]
        return found

    @fact("the latest history", ())
    def steps(self) -> Sequence[history.CommitPaths]:
        """Return the commits of HEAD's own line to checkpoints and listed files, newest first."""
        times = [summary.updated_at for summary in self.summaries]
        written = [time for time in times if time is not None]
        listed = {name for files in self.files.values() for name in _names_of(files)}
        if not written or not listed:
            return []
        watched = frozenset(listed | self.paths)
        return history.read_changes(self.context.place.top, min(written), watched)

    @cached_property
    def touched(
        self,
    ) -> Mapping[str, tuple[str, Mapping[str, tuple[NamedFile, history.CommitPaths]]]]:
        """Return the listed files that commits changed since their checkpoint was written.

        By the checkpoint's path: the commit that brought it in as it is ("" for none), and by
        git's name for a file the file with the newest commit that touched it. A commit counts if
        it is later than the checkpoint's. If it is earlier, or the checkpoint is not committed, it
        counts only if it is clearly later than updated_at: a session commits its files around the
        time at which it writes.
        """
        indexes = self._index_steps()
        if not indexes.keys() - self.paths:  # checkpoints change with every session
            return {}
        found = {}
        for summary in self.summaries:
            if summary.updated_at is None:
                continue
            commit = ""
            start = self._find_step(summary, indexes)
            if start >= 0:
                commit = self.steps[start].id
            touched = self._find_touched(summary, start, indexes)
            if touched:
                found[summary.path] = (commit, touched)

        return found

    def _index_steps(self) -> Mapping[str, Sequence[int]]:
        """Return the indexes of the steps that touched each path, newest first."""
        indexes: dict[str, list[int]] = {}
        for index, step in enumerate(self.steps):
            for path in step.paths:
                indexes.setdefault(path, []).append(index)
        return indexes

    def _find_step(self, summary: DocumentSummary, indexes: Mapping[str, Sequence[int]]) -> int:
        """Return the index of the step that brought in a checkpoint as it is, -1 if none did."""
        if summary.path not in indexes:
            return -1
        newest = indexes[summary.path][0]
        if self.steps[newest].when < (summary.updated_at or 0):
            return -1
        return newest

    def _find_touched(
        self, summary: DocumentSummary, start: int, indexes: Mapping[str, Sequence[int]]
    ) -> Mapping[str, tuple[NamedFile, history.CommitPaths]]:
        """Return the listed files that were touched since, each with the newest step that did it.

        start: the index of the checkpoint's step, -1 for none.
        """
        written = summary.updated_at or 0
        touched: dict[str, tuple[NamedFile, history.CommitPaths]] = {}
        for file in self.files.get(summary.path, ()):
            if file.state != "there":
                continue
            for name in file.names:
                if name in self.paths:
                    continue
                for index in indexes.get(name, ()):
                    step = self.steps[index]
                    is_later = index < start or step.when > written + GRACE
                    if is_later and step.when > written and summary.path not in step.paths:
                        touched[name] = (file, step)
                        break

        return touched

    @fact("the content of the generated files", frozenset())
    def unchanged(self) -> frozenset[tuple[str, str]]:
        """Return the touched files that have the same content as before, under any name.

        Each is the commit of the checkpoint and git's name for the file.
        """
        asked = set[tuple[str, str]]()
        for start, files in self.touched.values():
            if start:
                asked.update((start, name) for name in files)
        return history.read_unchanged(self.context.place.top, sorted(asked))

    @cached_property
    def has_references(self) -> bool:
        return any(summary.references for summary in self.summaries)

    @fact("the history since the checkpoints began", {})
    def work(self) -> Work:
        """Return the facts about the references in the checkpoints."""
        asked = dict[str, tuple[int, set[str]]]()
        for summary in self.summaries:
            if summary.references and summary.created_at is not None:
                asked[summary.path] = (summary.created_at, summary.references)
        if not asked:
            return {}
        return look_up(self.context.place.top, asked, self.context.now)

    @fact("the recorded commits", {})
    def foreign_commits(self) -> Mapping[str, str]:
        """Return the recorded commits that HEAD's history lacks.

        By id: "unknown" to the repository, or "elsewhere".
        """
        ids = {recorded.id for summary in self.summaries for recorded in summary.recorded}
        return history.read_strangers(self.context.place.top, sorted(ids))

    @fact("the clone's depth", False)
    def is_shallow(self) -> bool:
        return history.is_shallow(self.context.place.top)

    @fact("the index", ())
    def unmerged(self) -> Sequence[str]:
        """Return the unmerged files below the place, at the top those of all places."""
        place = self.context.place
        names = worktree.read_unmerged(place.top, clean_env(self.context.env))
        names = [name for name in names if is_merged(name)]
        if place.root == place.top:
            return names
        start = f"{relative_path(place.root, place.top)}/"
        return [name for name in names if name.startswith(start)]

    @fact("the git directory", "")
    def operation(self) -> str:
        return read_operation(self.context.place.git_dir or "")


def make_facts(
    place: Place, documents: Sequence[Document], now: int, env: Mapping[str, str]
) -> SkillFacts:
    """Return facts about these documents, as if the place had no other checkpoints."""
    facts = Context(place, now, env).facts(SkillFacts)
    facts.summaries = [summarize_document(document) for document in documents]
    return facts


def _names_of(files: Iterable[NamedFile]) -> set[str]:
    return {name for file in files for name in file.names}


def _read_listed(summary: DocumentSummary, root: str, lookup: paths.Lookup) -> Iterator[NamedFile]:
    """Yield the files of each entry of generated_files, with their state."""
    project = layout.find_project_dir(summary.project_dir or "", root).rstrip("/") + "/"

    def from_root(path: str) -> str:
        # the checkout of another machine has another folder
        if len(project) > 1:
            return path.removeprefix(project)
        return path

    def is_there(path: str) -> bool:
        return lookup.find_state(from_root(path)) == "there"

    for index, text in enumerate(summary.listed):
        names = [text]
        # nearly every entry is just the path of a file that exists
        if not is_path_like(text) or "{" in text or not is_there(text):
            names = choose_reading(find_readings(text), is_there)
        for name in map(from_root, names):
            yield NamedFile(index, name, lookup.find_state(name), lookup.find_names(name))


def _with_fate(file: NamedFile, fates: Mapping[str, paths.Fate], place: Place) -> NamedFile:
    """Return a missing file with its fate; one that is only not checked out counts as there."""
    if file.state != "missing" or not place.work_tree or not file.names:
        return file
    known = [fates[name] for name in file.names if name in fates]
    if len(known) < len(file.names):
        return file._replace(state="there")

    fate = next((fate for fate in known if fate.kind != "unknown"), known[0])
    detail = fate.detail
    if place.root != place.top:
        base = f"{relative_path(place.root, place.top)}/"
        if not file.path.startswith(base):  # the entry names files from the root
            detail = detail.removeprefix(base)
    if fate.kind == "renamed" and file.path.endswith("/") and not detail.endswith("/"):
        detail += "/"
    return file._replace(fate=fate.kind, detail=detail, commit=fate.citation)
