"""What the records of a run say about going on with it: which earlier phases are over, and what they left. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.protocols.pipeline import layout
from checkpoint_git.protocols.pipeline.validate import Record


class PhaseState(NamedTuple):
    """One phase that must be over. record: its newest attempt, None where there is none. errors: why it is not over."""

    phase: str
    record: Record | None
    state: str  # "valid", "missing" or "invalid"
    errors: list[str]


class Resumption(NamedTuple):
    """Whether a run can go on at a phase. run_from: the first phase that has to be run, the wished one if all is well.

    phases: the earlier ones in order. passed: what was passed over for an older record, one sentence each.
    """

    phase: str
    run_from: str
    phases: list[PhaseState]
    passed: Sequence[str] = ()

    @property
    def is_possible(self) -> bool:
        """Whether every earlier phase is over."""
        return self.run_from == self.phase

    @property
    def records(self) -> list[Record]:
        """The records of the phases that are over."""
        return [each.record for each in self.phases if each.record is not None and each.state == "valid"]

    @property
    def warnings(self) -> list[str]:
        """What is odd about the records, and no reason to stop."""
        return [*self.passed] + [
            f"{each.phase}: {message}"
            for each in self.phases
            if each.record is not None
            for message in each.record.messages("warning")
        ]


def plan_resumption(phase: str, newest: Mapping[str, Record]) -> Resumption:
    """Whether a run can go on at a phase. newest: the newest record of each phase that has any."""
    phases = [_find_state(name, newest.get(name)) for name in layout.earlier_phases(phase, newest)]
    run_from = next((each.phase for each in phases if each.state != "valid"), phase)
    return Resumption(phase, run_from, phases)


def _find_state(phase: str, record: Record | None) -> PhaseState:
    if record is None:
        return PhaseState(phase, None, "missing", ["it has no checkpoint"])
    errors = record.messages("error")
    return PhaseState(phase, record, "invalid" if errors else "valid", errors)


def restored_fields(records: list[Record]) -> dict[str, dict[str, Any]]:
    """What each phase left for those after it: its payload without the phase's name."""
    return {
        record.name.phase: {key: member for key, member in record.value["phase_payload"].items() if key != "phase"}
        for record in records
        if record.value is not None
    }
