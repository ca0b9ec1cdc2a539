"""The facts of a page about a project, read once: what status, next, refs, log and doctor know. It judges nothing."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.progress import Tell
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.git.history.log import environment
from checkpoint_git.git.history.steps import Step, Touch, read_boundary, read_branch, read_steps
from checkpoint_git.git.objects import Blobs
from checkpoint_git.protocols.contract import Question
from checkpoint_git.protocols.document import Document, find_broken
from checkpoint_git.protocols.pipeline.runs import RunState, read_runs
from checkpoint_git.protocols.restore import store as points
from checkpoint_git.protocols.restore.store import PointStatus
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.history import Entry, Versions, read_entries
from checkpoint_git.protocols.skill.next_action import Queue
from checkpoint_git.protocols.skill.progress import outline
from checkpoint_git.protocols.skill.read import check_files, iterate_documents
from checkpoint_git.protocols.skill.state import Decision, State, find_decisions, find_state, find_states
from checkpoint_git.protocols.skill.verbs.next import next_actions
from checkpoint_git.protocols.skill.verbs.refs import find_refs
from checkpoint_git.protocols.skill.views import open_blockers
from checkpoint_git.protocols.workflow import summary as workflow_summary
from checkpoint_git.tools.report.pieces import MOST_SKILLS

MOST_STEPS = 400  # commits of the history that are looked at
_MOST_READ = 48 << 20  # bytes of older versions


class Lives(NamedTuple):
    """The entries by skill, newest first. is_cut: there is older history that was not looked at."""

    by_skill: dict[str, list[Entry]]
    is_cut: bool = False
    is_shallow: bool = False


class Facts(NamedTuple):
    """What a page tells. drift: None where the doctor was not asked. trouble: what could not be asked, and why."""

    place: Place
    now: int
    branch: str
    documents: Sequence[Document]
    states: Sequence[State]
    decisions: Sequence[Decision]
    queue: Queue
    drift: Sequence[Finding] | None
    broken: Sequence[Finding]
    refs: Sequence[dict[str, Any]]
    lives: Lives
    workflow: dict[str, Any] | None
    runs: Sequence[RunState]
    points: Sequence[PointStatus]
    trouble: Sequence[str]


def gather(place: Place, now: int, env: Mapping[str, str], tell: Tell, *, doctor: bool) -> Facts:
    """The facts of a place. now: seconds since 1970. doctor: whether drift is looked for. Nothing is written."""

    def look(what: str) -> None:
        tell(f"looking at {what}..." if what else "")

    look("the checkpoints")
    documents, states = _read_checkpoints(place, now)
    queue = next_actions(place, now)
    look("the history")
    lives, branch, trouble = _read_past(place, [document.skill for document in documents])
    drift, failed = _examine(place, now, env, look) if doctor else (None, [])
    workflow = workflow_summary.summarize(Question(place, now, env, "report"))
    return Facts(
        place=place,
        now=now,
        branch=branch,
        documents=documents,
        states=states,
        decisions=find_decisions(states),
        queue=queue.queue,
        drift=drift,
        broken=[*find_broken(documents), *workflow.findings],
        refs=find_refs(documents),
        lives=lives,
        workflow=workflow.data.get("workflow"),
        runs=read_runs(place, env),
        points=_read_points(place, now),
        trouble=[*trouble, *failed],
    )


def _read_checkpoints(place: Place, now: int) -> tuple[list[Document], list[State]]:
    """The documents and their states; of many, whole are only those of which a page tells more than an outline."""
    documents = list[Document]()
    for document in iterate_documents(place, now):
        is_whole = len(documents) < MOST_SKILLS or open_blockers(document.value or {})  # blockers name rows
        documents.append(document if is_whole else outline(document))
    states = find_states(documents, now)
    if len(documents) <= MOST_SKILLS:
        return documents, states
    shown = {state.path for state in states[:MOST_SKILLS]}
    whole = {one.path: one for one in check_files(store.read_files(place, only=shown), now)}
    documents = [whole.get(document.path, document) for document in documents]
    return documents, [
        find_state(whole[state.path], now, state.tickets) if state.path in whole else state for state in states
    ]


def _examine(place: Place, now: int, env: Mapping[str, str], tell: Tell) -> tuple[list[Finding] | None, list[str]]:
    from checkpoint_git.tools.doctor.diagnose import diagnose  # the doctor brings much along

    try:
        return diagnose(place, now, env=env, tell=tell).findings, []
    except CheckpointError as error:
        return None, [f"the doctor could not look: {error.message}"]


def _read_points(place: Place, now: int) -> list[PointStatus]:
    try:
        return [
            PointStatus(manifest, points.find_state(manifest, now)) for manifest in points.read_manifests(place.top)
        ]
    except CheckpointError:
        return []


# the history


def _read_past(place: Place, skills: Sequence[str]) -> tuple[Lives, str, list[str]]:
    if place.work_tree is None:
        return Lives({}), "", ["this project is in no git repository, so there is no history to tell"]
    try:
        return _read_lives(place, place.work_tree, skills), read_branch(place.work_tree), []
    except CheckpointError as error:
        return Lives({}), "", [f"the history could not be read: {error.message}"]


def _read_lives(place: Place, work_tree: str, skills: Sequence[str]) -> Lives:
    """All skills' entries from one walk through the history."""
    folder = relative_path(place.directory, place.top).replace("[", "[[]")
    specs = [f":(top,glob){folder}/*{layout.SUFFIX}", f":(top,glob){folder}/{layout.HISTORY}/*.json"]
    steps = list(read_steps(work_tree, specs, most=MOST_STEPS))
    boundary = read_boundary(work_tree)
    by_skill: dict[str, list[Entry]] = {}
    with Blobs(work_tree, environment(), MAX_BYTES) as blobs:
        budget = _Budget(blobs)
        for skill in skills:
            versions = Versions(budget.read)
            entries = read_entries(_within(budget, _steps_of(steps, skill)), versions, skill, boundary)
            by_skill[skill] = [entry for entry in entries if entry.events]
    return Lives(by_skill, len(steps) == MOST_STEPS or budget.is_spent, bool(boundary))


class _Budget:
    """Reads blobs and counts their bytes."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._left = _MOST_READ

    def read(self, blob: str) -> bytes | int | None:
        """As Blobs.read."""
        content = self._blobs.read(blob)
        self._left -= len(content) if isinstance(content, bytes) else content or 0
        return content

    @property
    def is_spent(self) -> bool:
        """Whether no more should be read."""
        return self._left < 0


def _within(budget: _Budget, steps: Iterator[Step]) -> Iterator[Step]:
    for step in steps:
        if budget.is_spent:
            return
        yield step


def _steps_of(steps: Sequence[Step], skill: str) -> Iterator[Step]:
    """Those of one skill's checkpoint and of its past."""
    for step in steps:
        touches = [touch for touch in step.touches if _is_of(touch, skill)]
        if touches:
            yield step._replace(touches=touches)


def _is_of(touch: Touch, skill: str) -> bool:
    names = [os.path.basename(path) for path in (touch.path, touch.came_from) if path]
    return any((layout.find_skill(name) or skill) == skill and name.startswith(f"{skill}.") for name in names)
