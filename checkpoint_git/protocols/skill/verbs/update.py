"""`checkpoint update`: change fields of one skill's checkpoint, or start a new one."""

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import scan_tokens
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import quote_word
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import changes, names
from checkpoint_git.protocols.skill.edits import Edit, make_edit, parse_edits
from checkpoint_git.protocols.skill.layout import check_skill_name
from checkpoint_git.protocols.skill.store import change_checkpoint, check_owner
from checkpoint_git.protocols.write import Tell, Written, say_waiting

SUMMARY = "change fields of a skill's checkpoint, or start a new one"
RAW = True  # the edits are words that argparse cannot know: cli hands them over as args.words
EXAMPLES = """\
  checkpoint update build --step=sprint-3 --progress_summary="Sprint 2 passed."
  checkpoint update build --context_primer.key_decisions+="SQLite for storage"
  checkpoint update build --progress_table[sprint-2].status=complete
  checkpoint update build --blockers+:json='{"id": "b1", "description": "No key yet", "needs": "user_decision"}'

edits:
  --a.b=TEXT        replace            --a.b:json=JSON    replace, the value is JSON
  --a.b+=TEXT       append to a list   --a.b+:json=JSON   append, the value is JSON
  --rows.0.c=TEXT   an item by number  --rows[id].c=TEXT  an item by its id

A missing checkpoint is started. updated_at is stamped. A change that would bring a new error is refused, and
nothing is written; errors that were there before do not hinder you from mending them one by one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The positional skill; edits stay in args.words."""
    parser.add_argument("skill", metavar="SKILL", help="whose checkpoint")
    parser.add_argument("words", metavar="EDIT", nargs="*", help="--path=value, see below")


class UpdateResult(NamedTuple):
    """written: see writing.Written. clock_behind: updated_at stayed ahead of this machine's clock."""

    written: Written
    clock_behind: bool


def update(place: Place, skill: str, edits: list[Edit], now: int, on_wait: Tell = lambda: None) -> UpdateResult:
    """Applies edits to one checkpoint and stamps it. Raises CheckpointError where an edit leads nowhere."""

    def change(value: dict[str, Any] | None) -> dict[str, Any] | Finding:
        is_new = value is None
        changed = value if value is not None else _scaffold(place, skill, now)
        changes.apply_edits(changed, edits, is_new=is_new)
        if "updated_at" not in {edit.field for edit in edits}:
            changes.stamp(changed, now)
        return changed

    written = change_checkpoint(place, skill, change, now, on_wait)
    return UpdateResult(written, _is_ahead(written.document, now))


def _scaffold(place: Place, skill: str, now: int) -> dict[str, Any]:
    project = os.path.basename(place.root) or "project"
    started = changes.scaffold(skill, project, place.root, now)
    has_schema = os.path.isfile(os.path.join(place.directory, changes.SCHEMA_FILE))
    return {"$schema": f"./{changes.SCHEMA_FILE}", **started} if has_schema else started


def _is_ahead(document: Document, now: int) -> bool:
    instant = read_instant((document.value or {}).get("updated_at"))
    return instant is not None and instant[0] > now


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 when the change is refused."""
    return apply_edits(args.skill, parse_edits(args.words), invocation)


def complete_words(skill: str, typed: str, cwd: str) -> Iterator[tuple[str, str]]:
    """(what an edit may go on with, what that means), for the shells."""
    from checkpoint_git.protocols.skill.edit_completion import complete_edit

    return complete_edit(skill, typed, cwd)


def make_edits(replace: Mapping[str, Any] | None, append: Mapping[str, Iterable[Any]] | None) -> list[Edit]:
    """The edits of callers without a command line: dotted path -> new value, and path of a list -> items to add."""
    edits = [make_edit(path, "replace", _tokens(value)) for path, value in (replace or {}).items()]
    for path, items in (append or {}).items():
        edits += [make_edit(path, "append", _tokens(item)) for item in _each(items)]
    return edits


def _tokens(value: Any) -> Any:
    import json  # the command line brings text, which needs none of it

    try:
        return scan_tokens(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"the value cannot be JSON: {error}", "give texts, numbers, lists and mappings") from None


def _each(items: Iterable[Any]) -> Iterable[Any]:
    """The items of a list. Raises CheckpointError for a text, whose letters nobody means to append."""
    if isinstance(items, str | bytes | Mapping):
        raise CheckpointError("append takes a list of items for each path", 'write {"next_actions": ["..."]}')
    return items


def apply_edits(skill: str, edits: list[Edit], invocation: Invocation) -> Outcome:
    """The verb once its words are understood."""
    check_skill_name(skill)
    check_owner(skill, invocation.env)
    place = find_place(invocation.cwd)
    result = update(place, skill, edits, invocation.now, say_waiting(invocation.stderr))
    fields = list(dict.fromkeys(edit.field for edit in edits))
    lines = [] if result.written.refused else _spelling_lines(fields) + _clock_lines(result, invocation.now)
    return outcome_of_write(skill, "update", result.written, fields, lines)


def _spelling_lines(fields: list[str]) -> list[Block]:
    """A field of one's own is allowed, so a misspelt one is written: then at least it is said."""
    meant = {field: names.find_near_miss(field, names.ROOT, shortest=4) for field in fields if field not in names.ROOT}
    return [
        Line(f"{field} is a field of your own; did you mean {name}?", "warn") for field, name in meant.items() if name
    ]


def _clock_lines(result: UpdateResult, now: int) -> list[Block]:
    if not result.clock_behind:
        return []
    stamp = str((result.written.document.value or {}).get("updated_at"))
    text = f"updated_at stays {stamp}: this machine's clock ({write_instant(now)}) is behind it"
    return [Line(text, "warn")]


def outcome_of_write(skill: str, verb: str, written: Written, fields: list[str], lines: list[Block]) -> Outcome:
    """What a writing verb tells: the fields that changed, findings that arose, errors that are left."""
    document = written.document
    if written.refused:
        data = {"skill": skill, "path": document.path, "written": False}
        refusal = Line(f"{skill}: {verb} refused, nothing was written", "bad")
        return Outcome(data, [refusal], written.refused, 1)
    left = sum(finding.level == "error" for finding in document.findings)
    data = {
        "skill": skill,
        "path": document.path,
        "written": True,
        "created": written.created,
        "fields": fields,
        "updated_at": (document.value or {}).get("updated_at"),
        "errors_left": left,
    }
    what = "started" if written.created else "updated"
    changed = f" ({', '.join(fields)})" if fields else ""
    blocks: list[Block] = [Line(f"{skill}: {what}{changed} in {document.path}", "good"), *lines]
    if left:
        blocks.append(
            Line(f"errors left from before: {left} (see checkpoint validate {quote_word(document.path)})", "warn")
        )
    return Outcome(data, blocks, written.arisen, 0)
