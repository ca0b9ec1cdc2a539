"""Find the results of phases among a workflow's files, without those of earlier workflows."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from checkpoint_git.core.clock import read_instant
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import read_objects
from checkpoint_git.protocols.workflow import layout, progress, store
from checkpoint_git.protocols.workflow.layout import PHASES, TABLE
from checkpoint_git.protocols.workflow.tasks import (
    OutputFile,
    judge_result,
    read_status,
    task_name,
)

Value = Mapping[str, Any]  # of phase.json


def find_output(place: Place, value: Value, phase: str) -> OutputFile:
    """Return the result of a phase: a good one before any other, an older one last."""
    found = []
    for pattern in TABLE[phase].outputs:
        found += store.read_outputs(place, pattern)
    earlier = _pick_earlier(place, value, found)

    judged = []
    for output in found:
        if output.path in earlier:
            judged.append(output._replace(state="older"))
        else:
            judged.append(judge_result(output))

    rank = {"good": 0, "older": 2}
    return min(judged, key=lambda output: rank.get(output.state, 1), default=OutputFile())


def find_drafts(place: Place, value: Value, phase: str) -> list[OutputFile]:
    """Return the drafts of a phase that were made in this workflow."""
    row = TABLE[phase]
    if not row.drafts:
        return []
    found = store.read_outputs(place, f"{row.drafts}/*")
    others = {*row.outputs, *_pick_earlier(place, value, found)}
    return [output for output in found if output.digest and output.path not in others]


def _pick_earlier(place: Place, value: Value, found: Sequence[OutputFile]) -> set[str]:
    """Return the paths of the outputs that were there before the workflow, or were rejected.

    By digest if that was noted, else by the file's time. What a clone, a merge or a branch switch
    brought has a new time, and is as old as its commit.
    """
    noted = value.get("earlier_results")
    started, _ = read_instant(value.get("started_at")) or (0, "")
    earlier: set[str] = set()
    for output in found:
        if isinstance(noted, dict):
            is_earlier = bool(output.digest) and noted.get(output.path) == output.digest
        else:
            is_old = output.written < started - layout.GRACE
            is_earlier = is_old and output.state != "outside"
        if is_earlier:
            earlier.add(output.path)

    others = [output.path for output in found if output.digest and output.path not in earlier]
    if not place.work_tree or not others:
        return earlier
    return earlier | store.find_committed_before(place, others, started)


def find_results(place: Place, value: Value, tasks: Sequence[Any], phase: str) -> dict[str, str]:
    """Return what the user approves or rejects of a phase, path -> digest; {} for nothing.

    That is its result, else its drafts.
    """
    if phase == PHASES[2]:
        return _find_task_results(value, read_objects({"tasks": tasks}, "tasks"))
    output = find_output(place, value, phase)
    found = [output]
    if output.state not in ("good", "failed"):
        found = find_drafts(place, value, phase)
    return {output.path: output.digest for output in found}


def _find_task_results(value: Value, tasks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the result of IMPLEMENTATION: its tasks, if all are complete."""
    rows = []
    for task in tasks:
        rows.append([task_name(task), read_status(task.get("status")), task.get("digest")])
    is_complete = all(status == "complete" for _, status, _ in rows)
    if not rows or not is_complete or progress.is_sent_back(value, tasks):
        return {}
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()
    return {layout.relative_state_path(layout.EXECUTION): digest}


def list_results(place: Place, phases: Sequence[str]) -> list[OutputFile]:
    """Return all results and drafts of phases, of any workflow, except execution.json."""
    found = []
    for phase in phases:
        if phase == PHASES[2]:
            continue
        row = TABLE[phase]
        patterns = [*row.outputs]
        if row.drafts:
            patterns.append(f"{row.drafts}/*")
        for pattern in patterns:
            outputs = store.read_outputs(place, pattern)
            found += [output for output in outputs if output.digest]

    return found


def find_earlier(place: Place, value: Value) -> dict[str, str]:
    """Return results that do not count, path -> digest.

    Those of phases that have not begun, and those of the others that _pick_earlier finds.
    """
    begun = PHASES.index(value["current_phase"]) + 1
    results = list_results(place, PHASES[:begun])
    earlier = _pick_earlier(place, value, results)
    known = [output for output in results if output.path in earlier]
    later = list_results(place, PHASES[begun:])
    return {output.path: output.digest for output in (*known, *later)}
