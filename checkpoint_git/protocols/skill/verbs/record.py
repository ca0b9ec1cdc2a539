"""Change a checkpoint by one entry, for note, ask, decide, block, unblock, drop and done."""

from argparse import Namespace
from collections.abc import Callable
from typing import Any, NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.skill import store
from checkpoint_git.protocols.skill.edit.actions import stamp
from checkpoint_git.protocols.skill.edit.entries import MadeEntry
from checkpoint_git.protocols.skill.verbs.update import outcome_of_write
from checkpoint_git.protocols.skill.views import answer_command
from checkpoint_git.protocols.write import Tell, Written, say_waiting

Record = Callable[[dict[str, Any]], MadeEntry | Finding]


class EntryResult(NamedTuple):
    """A write of one entry. entry: None if it was refused."""

    written: Written
    entry: MadeEntry | None


def record(
    place: Place, skill: str, now: int, change: Record, on_wait: Tell = lambda: None
) -> EntryResult:
    """Change a checkpoint by an entry. Raises CheckpointError if there is no checkpoint."""
    found: list[MadeEntry] = []

    def run(value: dict[str, Any] | None) -> dict[str, Any] | Finding:
        if value is None:
            raise store.missing_checkpoint(place, skill)
        status = value.get("status")
        entry = change(value)
        if isinstance(entry, Finding):
            return entry
        if value.get("status") != status:
            entry = entry._replace(fields=(*entry.fields, "status"))
        found.append(entry)
        stamp(value, now)
        return value

    written = store.change_checkpoint(place, skill, run, now, on_wait)
    if written.refused:
        return EntryResult(written, None)
    return EntryResult(written, found[0])


def run_record(verb: str, args: Namespace, invocation: Invocation, change: Record) -> Outcome:
    """Run a verb that changes a checkpoint by one entry. The exit code is 1 if it is refused."""
    place = store.find_own_place(args.skill, invocation.cwd, invocation.env)
    tell = say_waiting(invocation.stderr)
    result = record(place, args.skill, invocation.now, change, tell)

    entry = result.entry or MadeEntry("", ())
    lines = list[Block]()
    if entry.line:
        lines.append(Line(entry.line, "good"))
    if verb == "ask" and entry.id:
        answer = answer_command(args.skill, entry.id, {"needs": "user_decision"})
        lines.append(Line("", "strong", hint=advise("answer it", *answer)))

    outcome = outcome_of_write(
        place, invocation, args.skill, verb, result.written, entry.fields, lines, entry.understood
    )
    return outcome._replace(data={**outcome.data, "id": entry.id or None})
