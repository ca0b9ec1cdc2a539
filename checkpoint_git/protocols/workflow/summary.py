"""A running workflow in a few lines, for `checkpoint status`: read from its two files alone, nothing written."""

from typing import Any, NamedTuple

from checkpoint_git.core.clock import age_text, read_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Line
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import find_broken
from checkpoint_git.protocols.workflow import store
from checkpoint_git.protocols.workflow.phases import PHASES
from checkpoint_git.protocols.workflow.state import completed_phases, last_activity, load_state, state_data, workflow_id


class Glance(NamedTuple):
    """data: for programs. blocks: for a person. findings: the first error of each broken file."""

    data: dict[str, Any]
    blocks: list[Block]
    findings: list[Finding]


def read_glance(place: Place, now: int) -> Glance | None:
    """What there is to see of the workflow around the checkpoints of a place; None where there is none.

    now: seconds since 1970.
    """
    home = store.find_workflow_place(place.root)
    if home is None or not store.has_state(home):
        return None
    state = load_state(home, now)
    findings = find_broken(state.documents)
    data = {**state_data(state), "tasks": _count_tasks(state.tasks), "valid": not findings}
    name = workflow_id(state) or "?"
    if findings:
        line = Line(f"workflow {name}: its state appears corrupted: checkpoint workflow resume", "bad", "failed")
        return Glance(data, [line, Line("")], findings)
    value = state.value
    active = read_instant(last_activity(state))
    age = f", {age_text(now - active[0])}" if active else ""
    told = f"workflow {name}: {value['current_phase']} ({value['phase_status']}{age})"
    done = f"{len(completed_phases(state))}/{len(PHASES)} phases"
    tasks = data["tasks"]
    rest = f", {tasks['complete']}/{tasks['total']} tasks" if tasks["total"] else ""
    line = Line(f"{told}, {done}{rest}; checkpoint workflow status", "strong", "in_progress")
    return Glance(data, [line, Line("")], [])


def _count_tasks(tasks: list[Any]) -> dict[str, int]:
    rows = [row for row in tasks if isinstance(row, dict)]
    return {"complete": sum(row.get("status") == "complete" for row in rows), "total": len(rows)}
