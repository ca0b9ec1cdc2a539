"""Summarize a checkpoint for the doctor in a slim value, so that ten thousand fit into memory."""

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.progress import Tell
from checkpoint_git.core.references import find_references, spell_ranges
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import goals, store, views
from checkpoint_git.protocols.skill.drift import merged_work
from checkpoint_git.protocols.skill.rules import MAX_SIZE

MAX_MERGED = 50  # entries of a list of merged pull requests


class Passage(NamedTuple):
    """A text that names references. goals: those that finish an action once all are merged."""

    where: str
    position: int
    references: tuple[str, ...]
    goals: tuple[str, ...] = ()


class Recorded(NamedTuple):
    """A commit id in a document. key: the name of its field."""

    where: str
    key: str
    id: str


class DocumentSummary(NamedTuple):
    """One checkpoint file, as far as the checks look at it. path: relative to the repository, "/"
    between its parts. status, updated_at and created_at (seconds since 1970), project_dir: None
    where they are missing or something else. size: bytes. findings: of validate. listed: the
    entries of generated_files, "" for one that is not text. actions: next_actions that name
    references; resolutions: the same of open blockers and depends_on. actions_count: of all next
    actions. created_at: else updated_at. unreviewed: how many narratives a merge set aside. merged:
    (where, length) of the lists of merged pull requests that are too long and that `checkpoint
    rotate` would shorten. rotates: it would move anything at all; what is unreviewed does not
    count.
    """

    path: str
    skill: str
    size: int = 0
    findings: Sequence[Finding] = ()
    status: str | None = None
    updated_at: int | None = None
    project_dir: str | None = None
    listed: tuple[str, ...] = ()
    actions: tuple[Passage, ...] = ()
    resolutions: tuple[Passage, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    unreviewed: int = 0
    merged: tuple[tuple[str, int], ...] = ()
    rotates: bool = False
    created_at: int | None = None
    actions_count: int = 0

    @property
    def references(self) -> set[str]:
        found = set[str]()
        for passage in (*self.actions, *self.resolutions):
            found.update(passage.references)
        return found

    def has_finding(self, code: str) -> bool:
        return any(finding.code == code for finding in self.findings)


def summarize_document(document: Document) -> DocumentSummary:
    value = document.value
    findings = tuple(document.findings)
    if value is None:
        return DocumentSummary(document.path, document.skill, document.size, findings)

    long_lists = _find_long_lists(value)
    due = set[str]()
    if long_lists or document.size > MAX_SIZE:
        # late: few checkpoints are that long
        from checkpoint_git.protocols.skill.rotation import plan_rotation

        due = {part.where for part in plan_rotation(value).moved if part.where != "/superseded"}

    updated = read_instant(value.get("updated_at"))
    actions = views.read_list(value, "next_actions")
    return DocumentSummary(
        path=document.path,
        skill=document.skill,
        size=document.size,
        findings=findings,
        status=_share(value.get("status")),
        updated_at=updated[0] if updated else None,
        project_dir=_share(value.get("project_dir")),
        listed=tuple(map(views.listed_path, views.read_primer(value, "generated_files"))),
        actions=_find_actions(actions),
        resolutions=_find_resolutions(value),
        recorded=_find_recorded(value, document.text or ""),
        unreviewed=sum(
            not views.is_reviewed(entry) for entry in views.read_list(value, "superseded")
        ),
        merged=tuple((where, length) for where, length in long_lists if where in due),
        rotates=bool(due),
        created_at=merged_work.find_start(value),
        actions_count=len(actions),
    )


def _find_long_lists(value: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the place and the length of each list of merged pull requests that is too long."""
    state = value.get("skill_state")
    if not isinstance(state, dict):
        return []
    return [
        (join_pointer("/skill_state", key), len(member))
        for key, member in state.items()
        if key.startswith("merged_prs") and isinstance(member, list) and len(member) > MAX_MERGED
    ]


def _find_resolutions(value: dict[str, Any]) -> tuple[Passage, ...]:
    """Return what names references in the proposals of open blockers, and in depends_on."""
    proposals = list[str]()
    for blocker in views.read_list(value, "blockers"):
        is_open = isinstance(blocker, dict) and views.is_open(blocker)
        proposals.append(views.text_field(blocker, "proposed_resolution") if is_open else "")
    place = "/depends_on" if isinstance(value.get("depends_on"), str) else "/depends_on/{}"
    return (
        *_find_passages("/blockers/{}/proposed_resolution", proposals),
        *_find_passages(place, map(str, views.list_waits(value))),
    )


def _find_recorded(value: dict[str, Any], text: str) -> tuple[Recorded, ...]:
    """Return the commit ids of a document. text: of its file; where no key can name one, the value
    is not walked.
    """
    if any(word in text and re.search(word + _KEY_END, text) for word in _KEY_WORDS):
        return tuple(find_recorded_commits(value))
    return ()


def _share(text: Any) -> str | None:
    """Return a text as the one object that many checkpoints share, None for another value."""
    if type(text) is not str:
        return None
    return sys.intern(text)


# In every spelling of a reference a digit is behind one of these: most texts name none, and that is
# soon seen.
_MAY_NAME = re.compile(r"[#!/-]\d|(?:PR|MR|GH|request)s?[ #!-]*\d", re.IGNORECASE)


def _find_passages(where: str, texts: Iterable[str]) -> tuple[Passage, ...]:
    """Return the texts that name references. where: their pointer, with {} for the index."""
    found = []
    for index, text in enumerate(texts):
        if not _MAY_NAME.search(text):
            continue
        references = find_references(spell_ranges(text))
        if references:
            found.append(Passage(where.format(index), index, tuple(references)))
    return tuple(found)


def _find_actions(actions: Iterable[Any]) -> tuple[Passage, ...]:
    """Return the next actions that name references or are finished by them."""
    found = []
    for index, action in enumerate(actions):
        named = goals.find_named(views.action_text(action))
        finishing = goals.find_goals(action)
        if named or finishing:
            references = tuple(dict.fromkeys([*named, *finishing]))
            found.append(Passage(f"/next_actions/{index}", index, references, tuple(finishing)))
    return tuple(found)


# Seldom needed, so texts: `re` compiles and keeps them when they are first used.
_COMMIT_ID = r"[0-9a-fA-F]{7,40}|[0-9a-fA-F]{64}"
_COMMIT_KEY = r"(?:.*_)?sha|(?:.*_)?commit|(?:.*_)?commit_(?:id|hash)"
# An open branch's head never becomes part of history where pull requests are squashed; the others
# name no commits.
_OTHER_KEY = (
    r"(?:head|branch|pr|blob|tree|file|content|image|digest|config|lock\w*|artifact|package"
    r"|source_map)_sha"
)
_MAX_DEPTH = 50
# Such a key ends like this in the file's text; a document without any need not be walked. A pattern
# that begins with plain letters is found ten times as fast as one that may begin with several.
_KEY_WORDS = ("sha", "Sha", "SHA", "commit", "Commit")
_KEY_END = r'(?:\+?"|_id|_hash|Id|Hash)'
_HUMP = r"(?<=[a-z0-9])(?=[A-Z])"


def find_recorded_commits(value: Any) -> list[Recorded]:
    """Return the commit ids in fields that name one: sha, commit, deploy_sha, mergeCommit."""
    found: list[Recorded] = []
    waiting: list[tuple[str, str, Any, int]] = [("", "", value, 0)]
    while waiting:
        where, key, item, depth = waiting.pop()
        children: list[tuple[str, str, Any]] = []
        if isinstance(item, str):
            if re.fullmatch(_COMMIT_ID, item) and _names_commit(key):
                found.append(Recorded(where, key, item))
        elif isinstance(item, dict):
            children = [
                (join_pointer(where, name), name.rstrip("+"), member)
                for name, member in item.items()
            ]
        elif isinstance(item, list):
            children = [(f"{where}/{index}", key, member) for index, member in enumerate(item)]
        if depth < _MAX_DEPTH:
            waiting += [(*child, depth + 1) for child in reversed(children)]

    return found


def _names_commit(key: str) -> bool:
    """Whether a field's name is that of a commit."""
    plain = key
    if not key.islower():
        plain = re.sub(_HUMP, "_", key).lower()
    return bool(re.fullmatch(_COMMIT_KEY, plain)) and not re.fullmatch(_OTHER_KEY, plain)


_PACE = 100  # checkpoints between two updates of the progress line


def read_summaries(
    place: Place, now: int, skill: str = "", tell: Tell = lambda what: None
) -> list[DocumentSummary]:
    """Return the summary of every checkpoint, or of one skill's, and hold no document longer than
    it takes to read it.

    now: seconds since 1970. tell: called with how many were read. Raises CheckpointError if the
    skill has none.
    """
    if skill:
        return [summarize_document(store.read_document(place, skill, now))]

    total = len(store.list_skills(place))
    summaries = list[DocumentSummary]()
    for document in store.iterate_documents(place, now):
        summaries.append(summarize_document(document))
        if len(summaries) % _PACE == 0:
            tell(f"looking at checkpoints: {len(summaries)} of {total}")

    return summaries
