"""Write, read and list the records of runs, and find whether a run can continue.

It returns facts; callers word them.
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
        message = f"invalid ticket id {quote(ticket_id)}: {trouble}"
        raise CheckpointError(message, "for example PROJ-42")


def open_run(base: str, ticket_id: str, run_id: str, now: int = 0, phases: str = "") -> Run:
    """Return a run that may have no records yet. Raises CheckpointError.

    run_id: "latest" for the one with the newest record. phases: as the setting has them.
    """
    check_ticket(base, ticket_id)
    if run_id == "latest":
        found = read_records(base, ticket_id, "", now, [])
        newest = max(found, key=lambda record: _find_age(base, record), default=None)
        if newest is None:
            message = f"{ticket_id} has no records below {base}"
            raise CheckpointError(message, "name the run that begins: --run-id ID")
        run_id = newest.name.run_id

    trouble = layout.find_run_trouble(run_id)
    if trouble:
        message = f"invalid run id {quote(run_id)}: {trouble}"
        raise CheckpointError(message, "give a UUID or a short name")

    return Run(base, ticket_id, layout.normalize_run_id(run_id), layout.number_phases(phases))


def _find_age(base: str, record: CheckedRecord) -> tuple[tuple[int, str], int]:
    """Return what orders valid records by age: (the timestamp, the file's time in nanoseconds).

    The file's time, which a clone changes, decides only between records of one second.
    """
    path = os.path.join(base, record.path)
    written = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
    return _read_stamp(record), written


def _read_stamp(record: CheckedRecord) -> tuple[int, str]:
    return rules.read_timestamp((record.value or {})["timestamp_utc"]) or (0, "")


def check_phase(phase: str, known: Collection[str] = layout.READ_PHASES) -> str:
    if phase in known:
        return phase
    why = "is not a phase"
    hint: AnyHint = f"for example {next(iter(known))}"
    if phase in layout.READ_PHASES:
        why = "is read, but not written"
        setting = ("git", "config", PIPELINE_PHASES, ", ".join(layout.READ_PHASES))
        hint = advise("to write it", *setting)
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
    """Write a record. Raises CheckpointError, and then nothing is written.

    attempt: None takes the next free number, whoever else is writing.
    """
    check_phase(draft.phase, run.phases)
    value = make_value(run, draft, attempt or 1, now)
    warnings = _check(run, value, now)
    later = layout.READ_PHASES[layout.READ_PHASES.index(draft.phase) + 1 :]
    for phase in dict.fromkeys(name.phase for name in run.names()):
        if phase in later:
            warnings.append(f"{phase} was recorded before this: run it again")

    store.prepare_folder(run.base, run.ticket_id, run.run_id)
    while attempt is None:
        value["attempt_number"] = next_attempt(run, draft.phase)
        if _create(run, value):
            return WrittenRecord(_path(run, value), value, warnings)

    taken = run.attempts(draft.phase)
    if attempt in taken or not _create(run, value):
        following = max([attempt, *run.attempts(draft.phase)]) + 1
        message = f"the checkpoint {_path(run, value)} already exists"
        message += ", and checkpoints are never overwritten"
        hint = f"increment the attempt number: --attempt {following}, or --attempt auto"
        raise CheckpointError(message, hint)

    newest = max(taken, default=0)
    if attempt < newest:
        warnings.append(f"attempt {newest} exists already: read still returns that one")
    return WrittenRecord(_path(run, value), value, warnings)


def make_value(run: Run, draft: RecordDraft, attempt: int, now: int) -> dict[str, Any]:
    """Return the value of a record, which may still break the rules.

    Its instants are in UTC, and the payload's phase is filled in.
    """
    payload = {"phase": draft.phase, **draft.payload}
    applied_at = payload.get("label_applied_at")
    if isinstance(applied_at, str):
        payload["label_applied_at"] = rules.to_utc(applied_at) or applied_at

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
    name = RecordName(
        value["ticket_id"],
        value["run_id"],
        run.phases[value["phase"]],
        value["phase"],
        value["attempt_number"],
    )
    return name.path


def _create(run: Run, value: dict[str, Any]) -> bool:
    from checkpoint_git.disk import atomic  # `pipeline list`, the hot verb, writes nothing

    data = write_block(value).encode()
    if len(data) > MAX_BYTES:
        message = f"the checkpoint would have {len(data)} bytes, and {MAX_BYTES} is the limit"
        raise CheckpointError(message, "list less")
    if data.count(b"\n") > MAX_VALUES // 2:
        message = f"the checkpoint would have more than {MAX_VALUES // 2} lines"
        raise CheckpointError(message, "list less")

    return atomic.create_file(os.path.join(run.base, _path(run, value)), data, layout.FILE_MODE)


def next_attempt(run: Run, phase: str) -> int:
    # By the names of the files. Raises CheckpointError at the last
    following = max(run.attempts(phase), default=0) + 1
    if following > layout.MAX_ATTEMPT:
        message = f"{phase} has been attempted {layout.MAX_ATTEMPT} times"
        raise CheckpointError(message, "start a new run")
    return following


class Found(NamedTuple):
    record: CheckedRecord
    skipped: list[Skipped]

    @property
    def warnings(self) -> list[str]:
        return [f"{path} is newer, and broken: {reason}" for path, reason in self.skipped]


def read_newest(
    run: Run, phase: str, now: int, *, attempt: int | None = None, fallback: bool = False
) -> Found:
    """Return the highest attempt or the named one, also if it is broken. Raises CheckpointError.

    fallback: instead of a broken one return the newest good one, if there is one.
    """
    names = [name for name in run.names(phase) if attempt in (None, name.attempt)]
    if not names:
        raise _missing(run, phase, attempt)
    names.sort(key=lambda name: (name.attempt, name.ordinal), reverse=True)

    newest = _read_record(run.base, names[0], now)
    if newest.is_valid or not fallback:
        return Found(newest, [])

    skipped = [_skip(newest)]
    for name in names[1:]:
        record = _read_record(run.base, name, now)
        if record.is_valid:
            return Found(record, skipped)
        skipped.append(_skip(record))

    return Found(newest, [])


def _read_record(base: str, name: RecordName, now: int, *, brief: bool = False) -> CheckedRecord:
    content = read_content(os.path.join(base, name.path), base, MAX_BYTES)
    return check_record(name.path, content, now=now, brief=brief)


def _skip(record: CheckedRecord) -> Skipped:
    return Skipped(record.path, record.messages("error")[0])


def _missing(run: Run, phase: str, attempt: int | None) -> CheckpointError:
    place = f"in run {run.run_id} of {run.ticket_id}"
    attempts = run.attempts(phase)
    if attempts:
        known = ", ".join(str(number) for number in attempts[-_MOST_NAMED:])
        message = f"no attempt {attempt} at {phase} {place}"
        return CheckpointError(message, f"there are attempts {known}")

    phases = ", ".join(dict.fromkeys(name.phase for name in run.names()))
    hint = f"this run has no records below {run.base}"
    if phases:
        hint = f"this run has: {phases}"
    return CheckpointError(f"no checkpoint of {phase} {place}", hint)


def read_records(
    base: str, ticket_id: str, run_id: str, now: int, skipped: list[Skipped]
) -> Iterator[CheckedRecord]:
    """Yield the valid records by run, ordinal and attempt, one at a time.

    run_id: "" for all runs. skipped: gets the other records.
    """
    runs = [run_id]
    if not run_id:
        runs = store.list_runs(base, ticket_id, skipped)

    for run in runs:
        for name in store.list_names(base, ticket_id, run, skipped):
            record = _read_record(base, name, now, brief=True)
            if record.is_valid:
                yield record
            else:
                skipped.append(_skip(record))


class PhaseState(NamedTuple):
    phase: str
    record: CheckedRecord | None
    errors: list[str]

    @property
    def state(self) -> Literal["valid", "missing", "invalid"]:
        if self.record is None:
            return "missing"
        if self.errors:
            return "invalid"
        return "valid"


class Resumption(NamedTuple):
    """Whether a run can continue at a phase.

    phases: the earlier ones in order. warnings: no reasons to stop; records that were passed over
    for older ones come first.
    """

    phase: str
    phases: list[PhaseState]
    warnings: Sequence[str] = ()

    @property
    def run_from(self) -> str:
        return next((status.phase for status in self.phases if status.errors), self.phase)

    @property
    def is_possible(self) -> bool:
        return self.run_from == self.phase

    @property
    def records(self) -> list[CheckedRecord]:
        valid = [status for status in self.phases if not status.errors]
        return [status.record for status in valid if status.record is not None]


def plan_resume(
    run: Run,
    phase: str,
    now: int,
    *,
    fallback: bool = False,
    compare: Callable[[CheckedRecord], CheckedRecord] = lambda record: record,
) -> Resumption:
    """Return whether a run can continue at a phase, or how far it is.

    phase: "" for the end of the run. compare: adds findings to a record, such as that its commits
    are not here.
    """
    present = {name.phase for name in run.names()}
    phases: list[PhaseState] = []
    passed_over: list[str] = []
    warnings: list[str] = []
    last_valid: CheckedRecord | None = None
    for earlier in layout.earlier_phases(phase, {*present, *run.phases}):
        if earlier not in present:
            phases.append(PhaseState(earlier, None, ["it has no checkpoint"]))
            continue

        found = read_newest(run, earlier, now, fallback=fallback)
        record = compare(found.record)
        phases.append(PhaseState(earlier, record, record.messages("error")))
        passed_over += found.warnings
        warnings += [f"{earlier}: {message}" for message in record.messages("warning")]
        if not record.is_valid:
            continue

        if last_valid is not None and _read_stamp(record) < _read_stamp(last_valid):
            older = f"its record is older than that of {last_valid.name.phase}"
            warnings.append(f"{earlier}: {older}: run it again")
        else:
            last_valid = record

    return Resumption(phase, phases, [*passed_over, *warnings])
