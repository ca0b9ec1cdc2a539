"""The verbs that record what people say: note, ask, decide, block, unblock and drop."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any, NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import load_document
from checkpoint_git.protocols.skill import changes, entries, store
from checkpoint_git.protocols.skill.entries import Entry
from checkpoint_git.protocols.skill.verbs.update import outcome_of_write
from checkpoint_git.protocols.skill.views import answer_line
from checkpoint_git.protocols.write import Tell, Written, say_waiting

Record = Callable[[dict[str, Any]], Entry | Finding]


class EntryResult(NamedTuple):
    """entry: what was done, None where it was refused."""

    written: Written
    entry: Entry | None


def record(place: Place, skill: str, now: int, change: Record, on_wait: Tell = lambda: None) -> EntryResult:
    """Changes a checkpoint by an entry. Raises CheckpointError where there is none."""
    found: list[Entry] = []

    def run(value: dict[str, Any] | None) -> dict[str, Any] | Finding:
        if value is None:
            raise store.missing_checkpoint(place, skill)
        status, entry = value.get("status"), change(value)
        if isinstance(entry, Finding):
            return entry
        more = ("status",) if value.get("status") != status else ()
        found.append(entry._replace(fields=(*entry.fields, *more)))
        changes.stamp(value, now)
        return value

    written = store.change_checkpoint(place, skill, run, now, on_wait)
    return EntryResult(written, None if written.refused else found[0])


_ARGUMENTS: dict[str, list[tuple[str, dict[str, Any]]]] = load_document(__file__, "record.json")


class _Verb(NamedTuple):
    """One of the verbs, made like a module of its own. make: (arguments, now) -> the change."""

    name: str
    make: Callable[[Namespace, int], Record]
    usage: str | None = None  # None: argparse's own
    SENTENCES: tuple[str, ...] = ("text", "question", "words", "id", "action", "why", "next", "option")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.usage = self.usage
        parser.add_argument("skill", metavar="NAME", help="whose checkpoint")
        for name, options in _ARGUMENTS[self.name]:
            parser.add_argument(*name.split(), **options)

    def run(self, args: Namespace, invocation: Invocation) -> Outcome:
        place = store.find_own_place(args.skill, invocation.cwd, invocation.env)
        tell = say_waiting(invocation.stderr)
        result = record(place, args.skill, invocation.now, self.make(args, invocation.now), tell)
        entry = result.entry or Entry("", ())
        lines: list[Block] = [Line(entry.line, "good")] if entry.line else []
        if self.name == "ask" and entry.id:
            command = answer_line(args.skill, entry.id, {"needs": "user_decision"})
            lines.append(Line(f"answer it: {command}", "strong"))
        fields, understood = entry.fields, entry.understood
        outcome = outcome_of_write(place, invocation, args.skill, self.name, result.written, fields, lines, understood)
        return outcome._replace(data={**outcome.data, "id": entry.id or None})


def _join(words: list[str]) -> str | None:
    return " ".join(words) if words else None


NOTE = _Verb("note", lambda args, now: lambda value: entries.note(value, " ".join(args.text)))
ASK = _Verb(
    "ask", lambda args, now: lambda value: entries.ask(value, " ".join(args.question), args.option, args.blocks)
)
DECIDE = _Verb(
    "decide",
    lambda args, now: lambda value: entries.decide(value, now, *entries.split_answer(value, args.words)),
    "%(prog)s NAME [ID] ANSWER",
)
BLOCK = _Verb(
    "block", lambda args, now: lambda value: entries.block(value, " ".join(args.text), args.needs, args.blocks)
)
UNBLOCK = _Verb("unblock", lambda args, now: lambda value: entries.unblock(value, now, _join(args.id)))
DROP = _Verb(
    "drop",
    lambda args, now: (
        lambda value: entries.drop(
            value, now, args.why, _join(args.action), next_action=args.next, complete=args.complete
        )
    ),
)
