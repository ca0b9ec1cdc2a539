"""What `checkpoint pipeline` and the Python interface do with the records of pipelines: write, read, list, resume.

Facts are returned, sentences for programs and people are made by the caller.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.core.yamlblock import write_block
from checkpoint_git.core.yamltext import MAX_BYTES, MAX_VALUES
from checkpoint_git.protocols.pipeline import layout, rules, store
from checkpoint_git.protocols.pipeline.layout import RecordName
from checkpoint_git.protocols.pipeline.phases import Resumption, plan_resumption
from checkpoint_git.protocols.pipeline.store import Skipped
from checkpoint_git.protocols.pipeline.validate import Record, check_record, check_value

SETTING = "checkpoint.pipelineDir"
_MOST_NAMED = 10  # attempts in a hint


class Run(NamedTuple):
    """One run of a pipeline. base: absolute path. run_id: canonical UUID."""

    base: str
    ticket_id: str
    run_id: str


class Draft(NamedTuple):
    """What a new record is to say. timestamp: "" for now."""

    phase: str
    payload: Mapping[str, Any]
    commits: Mapping[str, str]
    artifacts: list[str]
    timestamp: str = ""


class Written(NamedTuple):
    """A record that is on the disk. path: relative to the base."""

    path: str
    value: dict[str, Any]
    warnings: list[str]


class Found(NamedTuple):
    """The record that was asked for, and newer ones that were passed over because they are broken."""

    record: Record
    skipped: list[Skipped]


# opening


def find_base(wished: str | None, cwd: str, env: Mapping[str, str]) -> str:
    """The folder of all records: the wished one, else what the setting names, else one in the home."""
    if wished is not None:
        return wished
    return read_setting(cwd, env) or os.path.join(_find_home(env), layout.DEFAULT_BASE)


def read_setting(cwd: str, env: Mapping[str, str]) -> str:
    """What the setting names as the base of all records, "" where it is not set or git is missing."""
    from checkpoint_git.git.run import GitMissingError, stream_git

    words = ["config", "--null", "--type=path", "--default", "", "--get", SETTING]
    try:
        out = b"".join(stream_git(words, cwd, env=env))
    except GitMissingError:
        return ""
    return os.fsdecode(out.rstrip(b"\0"))


def _find_home(env: Mapping[str, str]) -> str:
    home = env.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        raise CheckpointError("the home folder is not known", "say where the records lie: --base DIR")
    return home


def check_ticket(base: str, ticket_id: str) -> None:
    """Raises CheckpointError where a base or a ticket's identifier cannot be one."""
    store.check_base(base)
    trouble = layout.find_ticket_trouble(ticket_id)
    if trouble:
        raise CheckpointError(f"the ticket id {rules.quote(ticket_id)} is refused: {trouble}", "it looks like OMN-2144")


def open_run(base: str, ticket_id: str, run_id: str) -> Run:
    """A run by its identifiers; a short run id stands for its UUID. Raises CheckpointError where one is refused."""
    check_ticket(base, ticket_id)
    trouble = layout.find_run_trouble(run_id)
    if trouble:
        raise CheckpointError(f"the run id {rules.quote(run_id)} is refused: {trouble}", "give a UUID or a short name")
    return Run(base, ticket_id, layout.normalize_run_id(run_id))


def check_phase(phase: str, *, writing: bool = False) -> str:
    """The phase itself. Raises CheckpointError, listing the valid ones, for one that is not known."""
    known = tuple(layout.PHASES) if writing else layout.READ_PHASES
    if phase in known:
        return phase
    why = "is read, but not written" if phase in layout.READ_PHASES else "is not a phase"
    shown = escape_controls(shorten(phase, 60))
    raise CheckpointError(f'"{shown}" {why}; valid phases: {", ".join(known)}', f"give --phase {known[0]}, for example")


# writing


def write_record(run: Run, draft: Draft, attempt: int | None, now: int) -> Written:
    """Writes a record; attempt None takes the next free number, whoever else is writing.

    Raises CheckpointError, nothing written, for contents that are no record, an attempt that is there already, and a
    disk that will not take it.
    """
    check_phase(draft.phase, writing=True)
    value = make_value(run, draft, attempt or 1, now)
    findings = check_value(value, _name(run, draft.phase, attempt or 1).path, 0, now)
    _refuse_errors(findings)
    _refuse_halves(value)
    warnings = [finding.message for finding in findings]
    store.prepare_folder(run.base, run.ticket_id, run.run_id)
    if attempt is not None:
        return _write_attempt(run, value, attempt, warnings)
    while True:
        free = next_attempt(run, draft.phase)
        if _create(run, value, free):
            return Written(_name(run, draft.phase, free).path, value, warnings)


def make_value(run: Run, draft: Draft, attempt: int, now: int) -> dict[str, Any]:
    """The record's value, instants in UTC, the payload's phase filled in; it may still break the rules."""
    payload = {"phase": draft.phase, **draft.payload}
    if isinstance(payload.get("label_applied_at"), str):
        payload["label_applied_at"] = rules.to_utc(payload["label_applied_at"]) or payload["label_applied_at"]
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


def _name(run: Run, phase: str, attempt: int) -> RecordName:
    return RecordName(run.ticket_id, run.run_id, layout.PHASES[phase], phase, attempt)


def _refuse_errors(findings: list[Finding]) -> None:
    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        message = "; ".join(finding.message for finding in errors)
        hint = next((finding.hint for finding in errors if finding.hint), "mend it and write again")
        raise CheckpointError(f"this is no valid checkpoint: {message}", hint)


def _refuse_halves(value: dict[str, Any]) -> None:
    """JSON can spell halves of characters, which no file can hold."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise CheckpointError("this is no valid checkpoint: it holds text that is not Unicode", "mend it") from None


def _write_attempt(run: Run, value: dict[str, Any], attempt: int, warnings: list[str]) -> Written:
    phase = value["phase"]
    name = _name(run, phase, attempt)
    taken = _attempts(run, phase)
    if attempt in taken or not _create(run, value, attempt):
        following = max([attempt, *_attempts(run, phase)]) + 1
        raise CheckpointError(
            f"the checkpoint {name.path} already exists, and checkpoints are never overwritten",
            f"increment the attempt number: --attempt {following}, or --attempt auto",
        )
    newest = max(taken, default=0)
    if attempt < newest:
        warnings = [*warnings, f"attempt {newest} is there already: read goes on answering with that one"]
    return Written(name.path, value, warnings)


def _create(run: Run, value: dict[str, Any], attempt: int) -> bool:
    value["attempt_number"] = attempt
    data = _render(value)
    return store.create_record(run.base, _name(run, value["phase"], attempt), data)


def _render(value: dict[str, Any]) -> bytes:
    data = write_block(value).encode()
    if len(data) > MAX_BYTES:
        raise CheckpointError(f"the checkpoint would have {len(data)} bytes, and {MAX_BYTES} is the limit", "list less")
    if data.count(b"\n") > MAX_VALUES // 2:
        raise CheckpointError(f"the checkpoint would have more than {MAX_VALUES // 2} lines", "list less")
    return data


def next_attempt(run: Run, phase: str) -> int:
    """One more than the highest attempt at a phase, by the names of the files. Raises CheckpointError at the last."""
    following = max(_attempts(run, phase), default=0) + 1
    if following > layout.MAX_ATTEMPT:
        raise CheckpointError(f"{phase} has been attempted {layout.MAX_ATTEMPT} times", "start a new run")
    return following


def _attempts(run: Run, phase: str) -> list[int]:
    return [name.attempt for name in _names(run) if name.phase == phase]


def _names(run: Run) -> list[RecordName]:
    return store.list_names(run.base, run.ticket_id, run.run_id, [])


# reading


def read_newest(run: Run, phase: str, now: int, *, attempt: int | None = None, fallback: bool = False) -> Found:
    """The record with the highest attempt at a phase, or the attempt asked for; it may be broken: see its findings.

    fallback: takes the newest one that is not, where there is one. Raises CheckpointError where there is none at all.
    """
    names = [name for name in _names(run) if name.phase == phase and attempt in (None, name.attempt)]
    if not names:
        raise _missing(run, phase, attempt)
    names.sort(key=lambda name: (name.attempt, name.ordinal), reverse=True)
    newest = first = _read(run, names[0], now)
    skipped = []
    for name in names[1:] if fallback else ():
        if newest.is_valid:
            break
        skipped.append(Skipped(newest.path, _reason(newest)))
        newest = _read(run, name, now)
    return Found(newest, skipped) if newest.is_valid else Found(first, [])


def _read(run: Run, name: RecordName, now: int) -> Record:
    return check_record(name.path, store.read_content(run.base, name.path), now=now)


def _reason(record: Record) -> str:
    return next(finding.message for finding in record.findings if finding.level == "error")


def _missing(run: Run, phase: str, attempt: int | None) -> CheckpointError:
    attempts = _attempts(run, phase)
    if attempts:
        message = f"there is no attempt {attempt} at {phase} in run {run.run_id} of {run.ticket_id}"
        return CheckpointError(message, f"there are attempts {', '.join(map(str, attempts[-_MOST_NAMED:]))}")
    there = list(dict.fromkeys(name.phase for name in _names(run)))
    hint = f"this run has: {', '.join(there)}" if there else f"nothing is recorded for this run below {run.base}"
    return CheckpointError(f"there is no checkpoint of {phase} in run {run.run_id} of {run.ticket_id}", hint)


def read_records(base: str, ticket_id: str, run_id: str, now: int, skipped: list[Skipped]) -> Iterator[Record]:
    """The valid records of a ticket (run_id: "" for all runs) by run, ordinal and attempt, one at a time.

    The others are added to skipped with their reason.
    """
    runs = [run_id] if run_id else store.list_runs(base, ticket_id, skipped)
    for entry in store.read_contents(base, ticket_id, runs, skipped):
        record = check_record(entry.path, entry.content, now=now, brief=True)
        if record.is_valid:
            yield record
        else:
            skipped.append(Skipped(entry.path, _reason(record)))


def plan_resume(
    run: Run,
    phase: str,
    now: int,
    *,
    fallback: bool = False,
    compare: Callable[[Record], Record] = lambda record: record,
) -> Resumption:
    """Whether the run can go on at a phase, by the newest record of every earlier one.

    compare: what else is to be known of a record, such as whether a repository has its commits.
    """
    wanted = layout.earlier_phases(phase, present := {name.phase for name in _names(run)})
    found = [read_newest(run, name, now, fallback=fallback) for name in wanted if name in present]
    plan = plan_resumption(phase, {each.record.name.phase: compare(each.record) for each in found})
    return plan._replace(passed=[tell_skipped(skipped) for each in found for skipped in each.skipped])


def tell_skipped(skipped: Skipped) -> str:
    """A sentence about a newer record that was passed over."""
    return f"{skipped.path} is newer, and broken: {skipped.reason}"
