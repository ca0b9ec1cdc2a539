"""The records of runs: write, read, list, and whether a run can go on. It returns facts; callers
word them.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import AnyHint, advise
from checkpoint_git.core.yamlblock import write_block
from checkpoint_git.core.yamltext import MAX_BYTES, MAX_VALUES
from checkpoint_git.disk.read import read_content
from checkpoint_git.git.settings import PIPELINE_PHASES
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.pipeline import layout, rules, store
from checkpoint_git.protocols.pipeline.layout import RecordName
from checkpoint_git.protocols.pipeline.store import Skipped
from checkpoint_git.protocols.pipeline.validate import CheckedRecord, check_record, check_value

_MOST_NAMED = 10  # attempts in a hint


class Run(NamedTuple):
    base: str
    ticket_id: str
    run_id: str
    phases: Mapping[str, int] = layout.PHASES  # that are written, with their ordinals

    def names(self, phase: str = "") -> list[RecordName]:
        names = store.list_names(self.base, self.ticket_id, self.run_id, [])
        return [name for name in names if phase in ("", name.phase)]

    def attempts(self, phase: str) -> list[int]:
        return [name.attempt for name in self.names(phase)]


def check_ticket(base: str, ticket_id: str) -> None:
    store.check_base(base)
    trouble = layout.find_ticket_trouble(ticket_id)
    if trouble:
        raise CheckpointError(
            f"invalid ticket id {quote(ticket_id)}: {trouble}", "for example PROJ-42"
        )


def open_run(base: str, ticket_id: str, run_id: str, now: int = 0, phases: str = "") -> Run:
    """run_id: "latest" for the one with the newest record. phases: as the setting has them."""
    check_ticket(base, ticket_id)
    if run_id == "latest":
        found = read_records(base, ticket_id, "", now, [])
        newest = max(found, key=lambda record: _written_at(base, record), default=None)
        if newest is None:
            raise CheckpointError(
                f"{ticket_id} has no records below {base}", "name the run that begins: --run-id ID"
            )
        run_id = newest.name.run_id

    trouble = layout.find_run_trouble(run_id)
    if trouble:
        raise CheckpointError(
            f"invalid run id {quote(run_id)}: {trouble}", "give a UUID or a short name"
        )

    return Run(base, ticket_id, layout.normalize_run_id(run_id), layout.number_phases(phases))


def _written_at(base: str, record: CheckedRecord) -> tuple[tuple[int, str], int]:
    # the file's time, which a clone changes, decides only between records of one second
    path = os.path.join(base, record.path)
    written = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
    return rules.read_timestamp((record.value or {})["timestamp_utc"]) or (0, ""), written


def check_phase(phase: str, known: Collection[str] = layout.READ_PHASES) -> str:
    if phase in known:
        return phase
    why = "is not a phase"
    hint: AnyHint = f"for example {next(iter(known))}"
    if phase in layout.READ_PHASES:
        why = "is read, but not written"
        hint = advise(
            "to write it", "git", "config", PIPELINE_PHASES, ", ".join(layout.READ_PHASES)
        )
    raise CheckpointError(f"{quote(phase)} {why}; valid phases: {', '.join(known)}", hint)


class RecordDraft(NamedTuple):
    phase: str
    payload: Mapping[str, Any]
    commits: Mapping[str, str]
    artifacts: list[str]
    timestamp: str = ""


class WrittenRecord(NamedTuple):
    path: str
    value: dict[str, Any]
    warnings: list[str]


def write_record(run: Run, draft: RecordDraft, attempt: int | None, now: int) -> WrittenRecord:
    """Attempt None takes the next free number, whoever else is writing. Raises CheckpointError,
    nothing written.
    """
    check_phase(draft.phase, run.phases)
    value = make_value(run, draft, attempt or 1, now)
    warnings = _check(run, value, now)
    later = layout.READ_PHASES[layout.READ_PHASES.index(draft.phase) + 1 :]
    over = [name for name in dict.fromkeys(each.phase for each in run.names()) if name in later]
    warnings += [f"{name} was recorded before this: run it again" for name in over]
    store.prepare_folder(run.base, run.ticket_id, run.run_id)
    while attempt is None:
        value["attempt_number"] = next_attempt(run, draft.phase)
        if _create(run, value):
            return WrittenRecord(_path(run, value), value, warnings)

    taken = run.attempts(draft.phase)
    if attempt in taken or not _create(run, value):
        following = max([attempt, *run.attempts(draft.phase)]) + 1
        message = f"the checkpoint {_path(run, value)} already exists, and checkpoints are never overwritten"
        raise CheckpointError(
            message, f"increment the attempt number: --attempt {following}, or --attempt auto"
        )

    newest = max(taken, default=0)
    if attempt < newest:
        warnings.append(f"attempt {newest} exists already: read still returns that one")
    return WrittenRecord(_path(run, value), value, warnings)


def make_value(run: Run, draft: RecordDraft, attempt: int, now: int) -> dict[str, Any]:
    """The record's value, instants in UTC, the payload's phase filled in; it may still break the
    rules.
    """
    payload = {"phase": draft.phase, **draft.payload}
    if isinstance(payload.get("label_applied_at"), str):
        payload["label_applied_at"] = (
            rules.to_utc(payload["label_applied_at"]) or payload["label_applied_at"]
        )

    timestamp = draft.timestamp or write_instant(now)
    return {
        "schema_version": rules.SCHEMA_VERSION,
        "run_id": run.run_id,
        "ticket_id": run.ticket_id,
        "phase": draft.phase,
        "timestamp_utc": rules.to_utc(timestamp) or timestamp,
        "repo_commit_map": dict(draft.commits),
        "artifact_paths": list(draft.artifacts),
        "attempt_number": attempt,
        "phase_payload": payload,
    }


def _check(run: Run, value: dict[str, Any], now: int) -> list[str]:
    findings = check_value(value, _path(run, value), 0, now)
    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        message = "; ".join(finding.message for finding in errors)
        hint = next((finding.hint for finding in errors if finding.hint), "fix it and write again")
        raise CheckpointError(f"invalid checkpoint: {message}", hint)

    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # JSON can spell halves of surrogate pairs, which no file can hold
        message = "invalid checkpoint: it contains text that is not Unicode"
        raise CheckpointError(message, "fix it and write again") from None

    return [finding.message for finding in findings]


def _path(run: Run, value: dict[str, Any]) -> str:
    ordinal = run.phases[value["phase"]]
    return RecordName(
        value["ticket_id"], value["run_id"], ordinal, value["phase"], value["attempt_number"]
    ).path


def _create(run: Run, value: dict[str, Any]) -> bool:
    from checkpoint_git.disk import atomic  # `pipeline list`, the hot verb, writes nothing

    data = write_block(value).encode()
    if len(data) > MAX_BYTES:
        raise CheckpointError(
            f"the checkpoint would have {len(data)} bytes, and {MAX_BYTES} is the limit",
            "list less",
        )

    if data.count(b"\n") > MAX_VALUES // 2:
        raise CheckpointError(
            f"the checkpoint would have more than {MAX_VALUES // 2} lines", "list less"
        )

    return atomic.create_file(os.path.join(run.base, _path(run, value)), data, layout.FILE_MODE)


def next_attempt(run: Run, phase: str) -> int:
    # By the names of the files. Raises CheckpointError at the last
    following = max(run.attempts(phase), default=0) + 1
    if following > layout.MAX_ATTEMPT:
        raise CheckpointError(
            f"{phase} has been attempted {layout.MAX_ATTEMPT} times", "start a new run"
        )
    return following


class Found(NamedTuple):
    record: CheckedRecord
    skipped: list[Skipped]

    @property
    def warnings(self) -> list[str]:
        return [
            f"{skipped.path} is newer, and broken: {skipped.reason}" for skipped in self.skipped
        ]


def read_newest(
    run: Run, phase: str, now: int, *, attempt: int | None = None, fallback: bool = False
) -> Found:
    """The highest attempt, or the named one, be it broken. fallback: the newest good one. Raises
    CheckpointError.
    """
    names = [name for name in run.names(phase) if attempt in (None, name.attempt)]
    if not names:
        raise _missing(run, phase, attempt)
    names.sort(key=lambda name: (name.attempt, name.ordinal), reverse=True)
    broken: list[CheckedRecord] = []
    for name in names if fallback else names[:1]:
        record = check_record(
            name.path, read_content(os.path.join(run.base, name.path), run.base, MAX_BYTES), now=now
        )
        if record.is_valid:
            return Found(record, [Skipped(each.path, each.messages("error")[0]) for each in broken])
        broken.append(record)

    return Found(broken[0], [])


def _missing(run: Run, phase: str, attempt: int | None) -> CheckpointError:
    attempts = run.attempts(phase)
    if attempts:
        message = f"no attempt {attempt} at {phase} in run {run.run_id} of {run.ticket_id}"
        return CheckpointError(
            message, f"there are attempts {', '.join(map(str, attempts[-_MOST_NAMED:]))}"
        )
    there = ", ".join(dict.fromkeys(name.phase for name in run.names()))
    hint = f"this run has: {there}" if there else f"this run has no records below {run.base}"
    return CheckpointError(f"no checkpoint of {phase} in run {run.run_id} of {run.ticket_id}", hint)


def read_records(
    base: str, ticket_id: str, run_id: str, now: int, skipped: list[Skipped]
) -> Iterator[CheckedRecord]:
    """The valid records by run ("" for all), ordinal and attempt, one at a time; the others are
    added to skipped.
    """
    for run in [run_id] if run_id else store.list_runs(base, ticket_id, skipped):
        for name in store.list_names(base, ticket_id, run, skipped):
            record = check_record(
                name.path,
                read_content(os.path.join(base, name.path), base, MAX_BYTES),
                now=now,
                brief=True,
            )
            if record.is_valid:
                yield record
            else:
                skipped.append(Skipped(record.path, record.messages("error")[0]))


class PhaseState(NamedTuple):
    phase: str
    record: CheckedRecord | None
    errors: list[str]

    @property
    def state(self) -> Literal["valid", "missing", "invalid"]:
        return "missing" if self.record is None else "invalid" if self.errors else "valid"


class Resumption(NamedTuple):
    """phases: the earlier ones in order. warnings: no reasons to stop; first records passed over
    for older ones.
    """

    phase: str
    phases: list[PhaseState]
    warnings: Sequence[str] = ()

    @property
    def run_from(self) -> str:
        return next((each.phase for each in self.phases if each.errors), self.phase)

    @property
    def is_possible(self) -> bool:
        return self.run_from == self.phase

    @property
    def records(self) -> list[CheckedRecord]:
        return [each.record for each in self.phases if each.record is not None and not each.errors]


def plan_resume(
    run: Run,
    phase: str,
    now: int,
    *,
    fallback: bool = False,
    compare: Callable[[CheckedRecord], CheckedRecord] = lambda record: record,
) -> Resumption:
    """phase: "" for how far the run is. compare: adds what is known besides, such as whether its
    commits are here.
    """
    present = {name.phase for name in run.names()}
    phases, passed, odd = [], list[str](), list[str]()
    before: CheckedRecord | None = None
    for earlier in layout.earlier_phases(phase, {*present, *run.phases}):
        if earlier not in present:
            phases.append(PhaseState(earlier, None, ["it has no checkpoint"]))
            continue
        found = read_newest(run, earlier, now, fallback=fallback)
        record = compare(found.record)
        passed += found.warnings
        odd += [f"{earlier}: {message}" for message in record.messages("warning")]
        if (
            before
            and record.is_valid
            and _written_at(run.base, record)[0] < _written_at(run.base, before)[0]
        ):
            odd.append(
                f"{earlier}: its record is older than that of {before.name.phase}: run it again"
            )
        elif record.is_valid:
            before = record
        phases.append(PhaseState(earlier, record, record.messages("error")))

    return Resumption(phase, phases, [*passed, *odd])
