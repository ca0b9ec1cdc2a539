"""The five phases of a workflow: their order, what each leaves behind and who works on it. A table, pure."""

from typing import NamedTuple

PHASES = ("REQUIREMENTS", "ARCHITECTURE", "IMPLEMENTATION", "VERIFICATION", "REFLECTION")
LAST = PHASES[-1]
STATUSES = ("pending", "in_progress", "complete", "failed")
TASK_STATUSES = ("pending", "running", "complete", "failed", "blocked")
DEFAULT_APPROVALS = ("REQUIREMENTS", "ARCHITECTURE")
MAX_ATTEMPTS = 3


class Phase(NamedTuple):
    """One phase. outputs: where its result may lie, the first being the usual place; a name may hold one "*".

    drafts: a folder of preliminary results, "" for none. agent: who makes the result. drafter: who makes the drafts.
    """

    name: str
    outputs: tuple[str, ...]
    agent: str
    drafts: str = ""
    drafter: str = ""


TABLE = {
    phase.name: phase
    for phase in (
        Phase("REQUIREMENTS", ("memory/reports/demand.json",), "PM"),
        Phase(
            "ARCHITECTURE",
            ("memory/reports/final_design.json", "memory/reports/designs/final_design.json"),
            "Roundtable",
            "memory/reports/designs",
            "Architects",
        ),
        Phase("IMPLEMENTATION", ("memory/state/execution.json",), "Executor"),
        Phase("VERIFICATION", ("memory/reports/verification.json",), "QA"),
        Phase("REFLECTION", ("memory/reports/reflection*.json", "memory/reflections/*.json"), "Reflector"),
    )
}


def next_phase(phase: str) -> str:
    """The phase after one, "" after the last."""
    at = PHASES.index(phase) + 1
    return PHASES[at] if at < len(PHASES) else ""
