"""`checkpoint pipeline`: keep append-only records of a pipeline's phases.

Every answer, errors too, is one JSON document.
"""

import json
import os
import uuid
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command, encode_hint, join_hints
from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.core.yamltext import MAX_BYTES
from checkpoint_git.disk.read import read_content
from checkpoint_git.git.settings import PIPELINE_DIR, PIPELINE_PHASES
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.pipeline import layout, records, store
from checkpoint_git.protocols.pipeline.store import Skipped
from checkpoint_git.protocols.pipeline.validate import CheckedRecord, compare_with_repository

HELP = """\
keep append-only records of a pipeline's phases: one file per ticket, run, phase and attempt

examples:
  checkpoint pipeline write --ticket-id PROJ-42 --run-id a1b2c3d4 --phase implement \\
      --payload @payload.json
  checkpoint pipeline resume --ticket-id PROJ-42 --run-id latest
  checkpoint pipeline list

Every answer is one JSON document: {"success": true, ...} or {"success": false, "error": ...,
"hint": ...}.

exit codes: 0 done; 1 failed or invalid; 3 a bug in checkpoint-git; 130 interrupted
"""
SUB_HELP = {
    "write": """\
record a completed phase

A JSON value is text, `@FILE` or `-` (standard input). With --non-blocking the exit code is 0 even
if nothing was written.

examples:
  checkpoint pipeline write --ticket-id PROJ-42 --run-id a1b2c3d4 --phase implement \\
      --payload @payload.json
  checkpoint pipeline write --ticket-id PROJ-42 --run-id a1b2c3d4 --phase implement \\
      --repo-commit-map '{"web": "a1b2c3d"}' --artifact-paths '["src/foo.py"]' \\
      --payload '{"branch_name": "fix/42", "commit_sha": "a1b2c3d", "files_changed": ["foo.py"]}'

exit codes: 0 done; 1 failed or invalid; 3 a bug in checkpoint-git; 130 interrupted
""",
    "read": """\
print the record of a phase: the newest attempt, or the one that --attempt names

examples:
  checkpoint pipeline read --ticket-id PROJ-42 --run-id a1b2c3d4 --phase implement
  checkpoint pipeline read --ticket-id PROJ-42 --run-id latest --phase implement --fallback

exit codes: 0 done; 1 failed or invalid; 3 a bug in checkpoint-git; 130 interrupted
""",
    "validate": """\
check a record, and with --repo its commits and artifacts

examples:
  checkpoint pipeline validate --ticket-id PROJ-42 --run-id a1b2c3d4 --phase implement
  checkpoint pipeline validate --ticket-id PROJ-42 --run-id a1b2c3d4 --phase implement --repo .

exit codes: 0 done; 1 failed or invalid; 3 a bug in checkpoint-git; 130 interrupted
""",
    "list": """\
list all tickets and runs, or the records of one ticket

examples:
  checkpoint pipeline list
  checkpoint pipeline list --ticket-id PROJ-42

exit codes: 0 done; 1 failed or invalid; 3 a bug in checkpoint-git; 130 interrupted
""",
    "resume": """\
show which phases of a run are complete, or what a later phase can continue with

examples:
  checkpoint pipeline resume --ticket-id PROJ-42 --run-id latest
  checkpoint pipeline resume --ticket-id PROJ-42 --run-id a1b2c3d4 --skip-to local_review

exit codes: 0 done; 1 failed or invalid; 3 a bug in checkpoint-git; 130 interrupted
""",
    "next-attempt": """\
print the number of a phase's next attempt

examples:
  checkpoint pipeline next-attempt --ticket-id PROJ-42 --run-id a1b2c3d4 --phase implement

exit codes: 0 done; 1 failed or invalid; 3 a bug in checkpoint-git; 130 interrupted
""",
}

_BROKEN_HINT = (
    "restore the file, or take the newest good attempt with --fallback, or run the phase again"
)
_RUN = ("ticket_id", "run_id")


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("action", metavar="ACTION", choices=list(ACTIONS), help="one of the above")
    add("--ticket-id", metavar="ID", help="the ticket, such as PROJ-42")
    add(
        "--run-id",
        metavar="ID",
        help="the run: a UUID, or a short name that always maps to the same UUID",
    )
    add(
        "--attempt",
        metavar="N",
        help="which attempt: N, or auto (default): the next one to write, the newest one to read",
    )
    add("--payload", metavar="JSON", help="data for later phases")
    add(
        "--repo-commit-map",
        metavar="JSON",
        help='the commit of each repository, {"web": "a1b2c3d"}',
    )
    add("--artifact-paths", metavar="JSON", help='files the phase produced, ["src/foo.py"]')
    add("--timestamp", metavar="ISO", help="when the phase ended, with an offset (default: now)")
    add("--non-blocking", action="store_true", help="exit with 0 even on failure")
    add(
        "--fallback",
        action="store_true",
        help="use the newest valid attempt if the last is broken",
    )
    add("--repo", metavar="PATH", help="check that commits and artifacts exist in this repository")
    add(
        "--skip-to",
        metavar="PHASE",
        help="the phase to continue with (default: only show progress)",
    )
    add("--phase", metavar="PHASE", help=f"one of {', '.join(layout.PHASES)}")
    add("-v", "--verbose", action="store_true", help="accepted for compatibility; no effect")
    add(
        "--base",
        metavar="DIR",
        help=f"the folder of the records (default: {PIPELINE_DIR}, else ~/{layout.BASE})",
    )


class PipelineRequest(NamedTuple):
    args: Namespace
    base: str
    invocation: Invocation

    @property
    def run(self) -> records.Run:
        phases = store.read_setting(self.invocation.cwd, self.invocation.env, PIPELINE_PHASES)
        return records.open_run(
            self.base, self.args.ticket_id, self.args.run_id, self.invocation.now, phases
        )

    def read_json(self, name: str, kind: type, default: str = "") -> Any:
        """Return the value of an option: JSON, "-" for standard input, "@FILE" for a file.

        Raises CheckpointError for another kind of value.
        """
        option = f"--{name.replace('_', '-')}"
        text = self._read_text(option, getattr(self.args, name), default)
        wanted = 'an object {"...": ...}' if kind is dict else 'a list ["..."]'
        try:
            value = jsontext.load(text)
        except jsontext.JsonTextError as error:
            reason = escape_controls(error.message.replace("the file ", "it ", 1))
            message = f"{option} is not JSON: {reason}"
            raise CheckpointError(message, f"give {wanted}, in single quotes") from None

        if not isinstance(value, kind):
            message = f"{option} is {quote(value)} and must be {wanted}"
            raise CheckpointError(message, "give it in single quotes")
        return value

    def _read_text(self, option: str, given: str | None, default: str) -> str:
        if given is None:
            return default
        if given == "-":
            return self.invocation.stdin.read(MAX_BYTES + 1)
        if not given.startswith("@"):
            return given

        path = os.path.join(self.invocation.cwd, given[1:])
        content = read_content(path, os.sep)
        if isinstance(content, OSError):
            message = f"{option}: {path} cannot be read: {content.strerror}"
            raise CheckpointError(message, "name a file: @FILE")
        return content.decode("utf-8", "replace")

    @property
    def attempt(self) -> int | None:
        """Return the number in --attempt, None for "auto" or nothing. Raises CheckpointError."""
        text = self.args.attempt
        if text is None or text == "auto":
            return None
        is_number = text.isascii() and text.isdigit()
        if is_number and len(text) <= len(str(layout.MAX_ATTEMPT)) and int(text) >= 1:
            return int(text)

        shown = escape_controls(shorten(text, 40))
        message = f'invalid --attempt "{shown}": expected 1 to {layout.MAX_ATTEMPT}'
        raise CheckpointError(message, "or write --attempt auto")

    def read_newest(self, *, fallback: bool = False) -> records.Found:
        """Return the record of the attempt in --attempt, else of the newest one."""
        phase = records.check_phase(self.args.phase)
        return records.read_newest(
            self.run, phase, self.invocation.now, attempt=self.attempt, fallback=fallback
        )

    def compare(self, record: CheckedRecord) -> CheckedRecord:
        if self.args.repo is None:
            return record
        if not record.is_valid:
            return record
        path = os.path.normpath(os.path.join(self.invocation.cwd, self.args.repo))
        found = compare_with_repository(record, path)
        return record._replace(findings=[*record.findings, *found])


class PipelineReply(NamedTuple):
    success: bool
    members: dict[str, Any]  # of the document, beside success and correlation_id


class PipelineAction(NamedTuple):
    act: Callable[[PipelineRequest], PipelineReply]
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()


def answer(args: Namespace, invocation: Invocation) -> Answer:
    document = make_document(args, invocation)
    return Answer(_write_document(document), 0 if document["success"] else 1)


def make_document(args: Namespace, invocation: Invocation) -> dict[str, Any]:
    """Return what `answer` prints, with its hint as a value. Raises CheckpointError."""
    action = ACTIONS[args.action]
    base = store.find_base(args.base, invocation.cwd, invocation.env)
    return _describe_reply(action.act(PipelineRequest(args, base, invocation)))


def tell_error(words: Sequence[str], error: CheckpointError) -> Answer:
    members: dict[str, Any] = {"error": error.message, "hint": error.hint}
    if "validate" in words:
        members = {
            "is_valid": False,
            **members,
            "errors": [error.message],
            "warnings": [],
            "checkpoint": None,
        }

    texts = _write_document(_describe_reply(PipelineReply(False, members)))
    if "--non-blocking" in words and "write" in words:
        warning = f"checkpoint: warning: no checkpoint was written: {error.message}"
        return Answer(texts, 0, warning)
    return Answer(texts, 1)


def _write(request: PipelineRequest) -> PipelineReply:
    args = request.args
    if args.timestamp == "":
        hint = "leave it out for now, or give --timestamp 2026-03-31T14:00:00Z"
        raise CheckpointError("--timestamp is empty", hint)

    run = request.run
    draft = records.RecordDraft(
        phase=records.check_phase(args.phase, run.phases),
        payload=request.read_json("payload", dict),
        commits=request.read_json("repo_commit_map", dict, "{}"),
        artifacts=request.read_json("artifact_paths", list, "[]"),
        timestamp=args.timestamp or "",
    )
    written = records.write_record(run, draft, request.attempt, request.invocation.now)
    members: dict[str, Any] = {
        "checkpoint_path": written.path,
        "attempt_number": written.value["attempt_number"],
    }
    if written.warnings:
        members["warnings"] = written.warnings
    return PipelineReply(True, members)


def _read(request: PipelineRequest) -> PipelineReply:
    fallback = request.args.fallback
    found = request.read_newest(fallback=fallback)
    record = found.record
    if not record.is_valid:
        message = f"{record.place}: {'; '.join(record.messages('error'))}"
        if fallback:
            hint = "no attempt at this phase is good: run the phase again"
            raise CheckpointError(message, hint)
        raise CheckpointError(message, _BROKEN_HINT)

    members: dict[str, Any] = {"checkpoint_path": record.path, "checkpoint": record.value}
    if found.skipped:
        members |= {
            "fallback": True,
            "skipped": _skipped(found.skipped),
            "warnings": found.warnings,
        }

    return PipelineReply(True, members)


def _validate(request: PipelineRequest) -> PipelineReply:
    record = request.compare(request.read_newest().record)
    members: dict[str, Any] = {
        "is_valid": record.is_valid,
        "errors": record.messages("error"),
        "warnings": record.messages("warning"),
        "checkpoint_path": record.path,
        "checkpoint": record.value,
        "findings": [finding._asdict() for finding in record.findings],
    }
    if not record.is_valid:
        members |= {
            "error": f"{record.place} is not valid: {members['errors'][0]}",
            "hint": _BROKEN_HINT,
        }

    return PipelineReply(record.is_valid, members)


def _list(request: PipelineRequest) -> PipelineReply:
    args = request.args
    if args.ticket_id is None:
        return _list_runs(request)

    records.check_ticket(request.base, args.ticket_id)
    run_id = ""
    if args.run_id is not None:
        run_id = request.run.run_id

    now = request.invocation.now
    skipped: list[Skipped] = []
    listed = []
    for record in records.read_records(request.base, args.ticket_id, run_id, now, skipped):
        listed.append({**(record.value or {}), "checkpoint_path": record.path})

    members = {"checkpoints": listed, "count": len(listed), "skipped": _skipped(skipped)}
    return PipelineReply(True, members)


def _list_runs(request: PipelineRequest) -> PipelineReply:
    """Return the runs of all tickets."""
    if request.args.run_id is not None:
        hint = command("checkpoint", "pipeline", "list", more=" names the tickets")
        raise CheckpointError("--run-id needs --ticket-id", hint)

    store.check_base(request.base)
    runs = store.read_base(request.base, request.base)
    members = {
        "count": len(runs),
        "tickets": sorted({run.ticket_id for run in runs}),
        "runs": [run._asdict() for run in runs],
    }
    return PipelineReply(True, members)


def _skipped(skipped: list[Skipped]) -> list[dict[str, str]]:
    rows = []
    for record in skipped:
        rows.append({"path": _decodable(record.path), "reason": _decodable(record.reason)})
    return rows


def _decodable(text: str) -> str:
    """Return a text that JSON can hold: bytes that are not UTF-8 are escaped."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _resume(request: PipelineRequest) -> PipelineReply:
    args = request.args
    phase = None
    if args.skip_to is not None:
        phase = records.check_phase(args.skip_to)

    plan = records.plan_resume(
        request.run,
        phase or "",
        request.invocation.now,
        fallback=args.fallback,
        compare=request.compare,
    )
    if phase is None:
        return _list_phases(request, plan)
    if plan.is_possible:
        return _restore(phase, plan)
    return _refuse_skip(request, phase, plan)


def _list_phases(request: PipelineRequest, plan: records.Resumption) -> PipelineReply:
    """Report which phases of a run are finished."""
    members: dict[str, Any] = {
        "run_id": request.run.run_id,
        "next_phase": plan.run_from or None,
        "completed_phases": [(record.value or {})["phase"] for record in plan.records],
        "phases": [
            {"phase": status.phase, "state": status.state, "errors": status.errors}
            for status in plan.phases
        ],
        "warnings": plan.warnings,
    }
    return PipelineReply(True, members)


def _restore(phase: str, plan: records.Resumption) -> PipelineReply:
    """Give the payloads of the phases before the one to resume from."""
    values = [record.value or {} for record in plan.records]
    payloads = {}
    for value in values:
        payload = dict(value["phase_payload"])
        payload.pop("phase", None)
        payloads[value["phase"]] = payload

    members = {
        "resume_from": phase,
        "completed_phases": [*payloads],
        "restored": payloads,
        "checkpoints": values,
        "warnings": plan.warnings,
    }
    return PipelineReply(True, members)


def _refuse_skip(request: PipelineRequest, phase: str, plan: records.Resumption) -> PipelineReply:
    """Report which phases are missing or invalid, and how to continue."""
    args = request.args
    lacking = [status for status in plan.phases if status.errors]
    reasons = []
    for status in lacking:
        reasons += [f"{status.phase}: {error}" for error in status.errors]
    words = ["--ticket-id", args.ticket_id, "--run-id", args.run_id]
    if args.base:
        words += ["--base", args.base]
    words += ["--skip-to", str(plan.run_from)]
    resume = ("checkpoint", "pipeline", "resume", *words)
    hint = join_hints(
        f"run {plan.run_from} first and continue from there",
        command(*resume, more=" restores the finished phases"),
    )
    invalid = [status for status in lacking if status.state == "invalid"]
    members = {
        "error": f"the pipeline cannot skip to {phase}: {'; '.join(reasons)}",
        "hint": hint,
        "run_from": plan.run_from,
        "missing": [status.phase for status in lacking if status.state == "missing"],
        "invalid": [{"phase": status.phase, "errors": status.errors} for status in invalid],
        "completed_phases": [record.name.phase for record in plan.records],
        "warnings": plan.warnings,
    }
    return PipelineReply(False, members)


def _next_attempt(request: PipelineRequest) -> PipelineReply:
    phase = records.check_phase(request.args.phase)
    following = records.next_attempt(request.run, phase)
    return PipelineReply(True, {"next_attempt": following})


_WRITTEN = ("attempt", "repo_commit_map", "artifact_paths", "timestamp", "non_blocking")
ACTIONS = {
    "write": PipelineAction(_write, (*_RUN, "phase", "payload"), _WRITTEN),
    "read": PipelineAction(_read, (*_RUN, "phase"), ("attempt", "fallback")),
    "validate": PipelineAction(_validate, (*_RUN, "phase"), ("attempt", "repo")),
    "list": PipelineAction(_list, (), ("ticket_id", "run_id")),
    "resume": PipelineAction(_resume, _RUN, ("skip_to", "fallback", "repo")),
    "next-attempt": PipelineAction(_next_attempt, (*_RUN, "phase")),
}
NEEDS = {verb: action.needs for verb, action in ACTIONS.items()}
# option -> the actions that take it
TAKERS: dict[str, list[str]] = {}
for _verb, _action in ACTIONS.items():
    for _name in (*_action.needs, *_action.takes):
        TAKERS.setdefault(_name, []).append(_verb)


def _describe_reply(reply: PipelineReply) -> dict[str, Any]:
    return {"success": reply.success, "correlation_id": str(uuid.uuid4()), **reply.members}


def _write_document(document: dict[str, Any]) -> list[str]:
    return [json.dumps(document, indent=2, default=encode_hint) + "\n"]
