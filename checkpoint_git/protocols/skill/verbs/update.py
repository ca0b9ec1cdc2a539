"""`checkpoint update`: change fields of one skill's checkpoint, or start a new one."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, steps_of, write_plain
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.placeholder import check_filled
from checkpoint_git.core.terminal_text import join_some, plain_path
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill.edit.actions import (
    FIRST_ACTION,
    describe_goals,
    mark_repeated,
    scaffold,
    stamp,
)
from checkpoint_git.protocols.skill.edit.apply import add_goals, apply_edits
from checkpoint_git.protocols.skill.edit.fields import Understood, understand
from checkpoint_git.protocols.skill.edit.items import find_removed, list_entries
from checkpoint_git.protocols.skill.edit.parse import (
    Edit,
    EditError,
    find_values,
    make_edits,
    parse_edits,
    spell_update,
)
from checkpoint_git.protocols.skill.layout import SCHEMA_FILE
from checkpoint_git.protocols.skill.store import change_checkpoint, find_own_place, find_untracked
from checkpoint_git.protocols.skill.views import read_list
from checkpoint_git.protocols.write import Tell, Written, say_waiting

HELP = """\
change fields of a checkpoint, or start a new one

examples:
  checkpoint update build --step=sprint-3 --progress_summary="Sprint 2 passed."
  checkpoint update build --decision+="SQLite for storage"
  checkpoint update build '--progress_table[sprint-2].status=complete'
  checkpoint update build --blockers+:json='{"id": "b1", "description": "No key yet", "needs": "user_decision"}'

edits:
  --a.b=TEXT         set a field, or append to a list of texts; so does --a.b TEXT
  --a.b+=TEXT        append to a list
  --a.b-=TEXT        remove from a list
  --a.b-=            remove the field
  --rows.0.c=TEXT    an item by its number
  --rows[id].c=TEXT  an item by its id
  --a.b:json=JSON    any of these with a JSON value: =, +=, -=

Short names work: --decision, --next, --summary. A text is added to a list of texts, with or without
"+". Unknown fields are refused; keep your own below skill_state, or add --new-field.

A next action that is nothing but a merge, such as --next "Merge #12", gets done_when_merged: it
is skipped once that pull request is merged.

updated_at is set. An edit that would add a validation error is refused and nothing is written;
existing errors do not block other edits.

exit 1: refused, nothing written
"""

RAW = True  # the edits are words that argparse cannot know: cli hands them over as args.words
NEW_FIELD = "--new-field"
_LONGEST = 2_000  # characters of a hint
_NEW_FIELDS = (NEW_FIELD, "--new_field")

_LISTED = ("context_primer", "generated_files")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skill", metavar="NAME", help="whose checkpoint")
    parser.add_argument("words", metavar="EDIT", nargs="*", help="--FIELD=VALUE, see below")


class UpdateResult(NamedTuple):
    """What an update did.

    clock_behind: updated_at is ahead of this clock. fields: of the root, that changed. understood:
    corrected names and values. removed: list -> texts. waiting: new next actions that got
    done_when_merged.
    """

    written: Written
    clock_behind: bool
    fields: list[str]
    understood: list[Understood]
    removed: dict[str, list[str]]
    waiting: list[dict[str, Any]]


def _shorten_paths(edits: Sequence[Edit], root: str) -> tuple[list[Edit], list[Understood]]:
    """Return the edits with new generated_files relative to the project's folder, and what changed.

    Other clones lack the path of this one, and it may contain the name of a user. root: the folder
    that contains .checkpoints.
    """
    project = f"{root}/"
    relative = list[Edit]()
    shortened = list[Understood]()
    for edit in edits:
        names = tuple(step.name for step in edit.path[:2])
        text = edit.value
        is_listed = names == _LISTED and edit.action != "remove" and isinstance(text, str)
        if is_listed and len(text) > len(project) and text.startswith(project):
            short = text.removeprefix(project)
            shortened.append(Understood(text, short))
            edit = edit._replace(value=short)
        relative.append(edit)

    return relative, shortened


def update(
    place: Place,
    skill: str,
    edits: list[Edit],
    now: int,
    on_wait: Tell = lambda: None,
    *,
    new_field: bool = False,
) -> UpdateResult:
    """Apply edits to one checkpoint and stamp it.

    new_field: unknown names are written as they are. Raises CheckpointError for an unknown name,
    and for an edit whose place does not exist.
    """
    fields: list[str] = []
    understood: list[Understood] = []
    asked: list[Edit] = []
    places: list[str] = []
    removed: dict[str, list[str]] = {}
    waiting = list[dict[str, Any]]()

    def change(value: dict[str, Any] | None) -> dict[str, Any]:
        changed = _start(place, skill, now) if value is None else value
        schema = open_room("skill").schema.document
        clear, corrections = understand(changed, edits, schema, new_field=new_field, skill=skill)
        clear, shortened = _shorten_paths(clear, place.root)
        understood.extend([*corrections, *shortened])
        for edit, understood_edit in zip(edits, clear, strict=True):
            asked.append(edit._replace(value=understood_edit.value))

        edited = {edit.field for edit in clear}
        entries = list(list_entries({name: changed[name] for name in changed if name in edited}))
        rows = [*read_list(changed, "progress_table")]
        written_places = apply_edits(changed, clear, is_new=value is None)
        mark_repeated(changed, written_places, now)
        places.extend(written_places)
        removed.update(find_removed(entries, [changed, FIRST_ACTION]))

        fields.extend(dict.fromkeys(edit.field for edit in clear))
        has_new_row = value is not None and rows != read_list(changed, "progress_table")
        if has_new_row and "progress_table" not in fields:
            fields.append("progress_table")
        waiting.extend(_find_new_goals(clear))
        if "updated_at" not in fields:
            stamp(changed, now)
        return changed

    for edit in edits:
        if edit.action != "remove":
            check_filled(edit.value)

    try:
        written = change_checkpoint(place, skill, change, now, on_wait)
    except EditError as error:
        if not error.correction:
            raise
        corrected = list[Edit]()
        for edit in edits:
            if edit.word == error.word:
                corrected += parse_edits([error.correction])
            else:
                corrected.append(edit)
        raise error.complete(spell_update(skill, corrected)) from None

    if written.refused:
        removed.clear()
        written = written._replace(refused=_retype(written.refused, asked, places, skill))

    stamped = read_instant((written.document.value or {}).get("updated_at"))
    return UpdateResult(
        written, stamped is not None and stamped[0] > now, fields, understood, removed, waiting
    )


def _start(place: Place, skill: str, now: int) -> dict[str, Any]:
    """Return a new checkpoint, which refers to the schema if the folder has it."""
    value = scaffold(skill, os.path.basename(place.root) or "project", now)
    if os.path.isfile(os.path.join(place.directory, SCHEMA_FILE)):
        value = {"$schema": f"./{SCHEMA_FILE}", **value}
    return value


def _find_new_goals(edits: Sequence[Edit]) -> Iterator[dict[str, Any]]:
    """Yield the next actions to which add_goals gives done_when_merged."""
    for edit in edits:
        action = add_goals(edit).value
        if action is not edit.value:
            yield action


def _retype(
    refused: list[Finding], edits: list[Edit], places: list[str], skill: str
) -> list[Finding]:
    """Return the findings of a refused update with the one command that the schema takes as hint.

    The command has all edits, corrected as the findings advise.
    """
    if any(finding.code == "content/secret" for finding in refused):  # which nothing prints
        return refused
    corrected = [[edit] for edit in edits]
    added = list[Edit]()
    advice = [_correct(finding, edits, places, corrected, added) for finding in refused]

    argv = spell_update(skill, [*chain.from_iterable(corrected), *added])
    line = " ".join(write_plain(argv))
    if not line.isprintable() or len(line) >= _LONGEST or argv == spell_update(skill, edits):
        return refused

    findings = []
    for finding, what in zip(refused, advice, strict=True):
        if what:
            finding = finding._replace(hint=advise(what, *argv))
        findings.append(finding)
    return findings


def _correct(
    finding: Finding,
    edits: list[Edit],
    places: list[str],
    corrected: list[list[Edit]],
    added: list[Edit],
) -> str:
    """Correct the edits that a finding is about, and return the advice in words, "" for none.

    places: the JSON Pointer that each edit wrote. corrected: changed in place, the edits to type in
    place of each. added: changed in place, further edits.
    """
    from checkpoint_git.protocols.skill.edit.retype import retype

    found = [
        index for index, where in enumerate(places) if f"{finding.where}/".startswith(f"{where}/")
    ]
    what, advised = _read_update(finding)
    try:
        if found and edits[found[-1]].action != "remove":
            index = found[-1]
            latest = (corrected[index] or [edits[index]])[-1]
            what, words = retype(finding, advised, latest, places[index])
            corrected[index] = parse_edits(words) or corrected[index]
        elif advised:
            for index in found:  # what -= removed
                corrected[index] = []
            added += [edit for edit in parse_edits(advised[3:]) if edit not in added]
    except (LookupError, ValueError, CheckpointError):  # a hint without a line
        return ""

    return what


def _read_update(finding: Finding) -> tuple[str, list[str]]:
    """Return a finding's advice in words, and the words of its update, [] for none."""
    steps = steps_of(finding.hint)
    if not steps:
        return "", []
    step = steps[0]
    if step.commands and step.commands[0][:2] == ("checkpoint", "update"):
        return step.text, write_plain(step.commands[0])
    return step.text, []


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Run the verb. The exit code is 1 if the change is refused."""
    words = [word for word in args.words if word not in _NEW_FIELDS]
    edits = _parse(words, args.skill)
    return _write_edits(args.skill, edits, invocation, new_field=len(words) < len(args.words))


def _parse(words: list[str], skill: str) -> list[Edit]:
    """Return the edits of these words.

    Raises CheckpointError for the first word that is not an edit, with the command in which all
    words are corrected.
    """
    first: EditError | None = None
    for _ in range(3 * len(words) + 1):  # every word may be wrong, and its correction too
        try:
            edits = parse_edits(words)
        except EditError as error:
            before = words[: error.index]
            after = words[error.index + error.count :]
            if error.start:  # --step build
                words = [*before, error.start + words[error.index + 1], *after]
                continue
            if first is None:
                first = error
            words = before + after
            if error.correction:
                words.insert(len(before), error.correction)
            continue
        if not first:
            return edits
        raise first.complete(spell_update(skill, edits))

    raise first or CheckpointError(
        "these words are not edits", "an edit is written as --step=build"
    )


def run_values(skill: str, asked: Mapping[str, Any], invocation: Invocation) -> Outcome:
    """Run the verb for a caller that has JSON values in place of words.

    asked: the members replace, append, remove and new_field.
    """
    edits = make_edits(asked.get("replace"), asked.get("append"), asked.get("remove"))
    if not edits and asked.get("replace") != {}:  # which only stamps, and may start one
        hint = 'give replace {"step": TEXT} or append {"next_actions": [TEXT]}'
        raise CheckpointError("nothing to change was given", hint)
    return _write_edits(skill, edits, invocation, new_field=bool(asked.get("new_field")))


def read_values(words: list[str]) -> dict[str, Any]:
    """Return the arguments of run_values that do the same as the words of a command line.

    Raises CheckpointError if there are none.
    """
    skill = words[0] if words else ""
    edits = [word for word in words[1:] if word not in _NEW_FIELDS]
    values = find_values(skill, parse_edits(edits))
    if len(edits) < len(words[1:]):
        values["new_field"] = True
    make_edits(values.get("replace"), values.get("append"), values.get("remove"))
    return values


def complete_words(skill: str, typed: str, cwd: str) -> Iterator[tuple[str, str]]:
    """Return the continuations of an edit for the shells, each with its description."""
    from checkpoint_git.protocols.skill.edit.edit_completion import complete_edit

    return complete_edit(skill, typed, cwd)


def _write_edits(
    skill: str, edits: list[Edit], invocation: Invocation, *, new_field: bool
) -> Outcome:
    """Write edits, and return the outcome of the verb."""
    place = find_own_place(skill, invocation.cwd, invocation.env)
    tell = say_waiting(invocation.stderr)
    result = update(place, skill, edits, invocation.now, tell, new_field=new_field)
    written = result.written
    lines = list[Block]()
    removed = result.removed
    if removed:
        from checkpoint_git.core.redact import hide_tokens_in  # late: it compiles large patterns

        removed = hide_tokens_in(removed)  # what is removed may be a secret, and nothing prints one

    for where, texts in removed.items():
        shown = join_some([quote(text) for text in texts])
        undo = advise("to undo it", "checkpoint", "undo", skill)
        lines.append(Line(f"removed from {where}: {shown}", "warn", hint=undo))

    waiting = result.waiting
    if written.refused:
        waiting = []
    for action in waiting:
        lines.append(Line(f"{quote(action['text'])}: {describe_goals(action)}", "dim"))

    if result.clock_behind and not written.refused:
        latest = (written.document.value or {}).get("updated_at")
        clock = write_instant(invocation.now)
        message = f"updated_at stays {latest}: this machine's clock ({clock}) is behind it"
        lines.append(Line(message, "warn"))

    outcome = outcome_of_write(
        place, invocation, skill, "update", written, result.fields, lines, result.understood
    )
    data = {**outcome.data, "removed": removed, "waiting_for_merges": waiting}
    return outcome._replace(data=data)


_SHORT = ("next", "decision", "summary")  # names that the help promises


def outcome_of_write(
    place: Place,
    invocation: Invocation,
    skill: str,
    verb: str,
    written: Written,
    fields: Sequence[str],
    lines: Sequence[Block],
    understood: Sequence[Understood] = (),
) -> Outcome:
    """Return the outcome of a writing verb: the fields that changed, the findings that arose, and
    how many errors remain.
    """
    document = written.document
    corrections = [Line(entry.text, "warn") for entry in understood if entry.typed not in _SHORT]
    lines = [*corrections, *lines]
    data: dict[str, Any] = {
        "skill": skill,
        "path": document.path,
        "understood": [entry.data for entry in understood],
    }
    if written.refused:
        refusal = Line(f"{skill}: {verb} refused, nothing was written", "bad")
        return Outcome({**data, "written": False}, [refusal, *lines], written.refused, 1)

    not_in_git = find_untracked(place, [document.path], invocation.env, invocation.cwd)
    errors = sum(finding.level == "error" for finding in document.findings)
    data |= {
        "written": True,
        "created": written.created,
        "fields": [*fields],
        "updated_at": (document.value or {}).get("updated_at"),
        "errors_left": errors,
        "git": not_in_git[0].code.removeprefix("git/") if not_in_git else None,
    }
    done = "started" if written.created else "updated"
    if not written.created and not fields:
        done += " (updated_at)"
    elif fields:
        done += f" ({', '.join(fields)})"
    blocks: list[Block] = [Line(f"{skill}: {done} in {document.path}", "good"), *lines]

    for finding in not_in_git:
        # an untracked file is reported once: the doctor has git/untracked as long as it is true
        if written.created or finding.code == "git/ignored":
            blocks.append(Line(finding.message, "warn", hint=finding.hint))
    if errors:
        look = advise("to see them", "checkpoint", "validate", plain_path(document.path))
        blocks.append(Line(f"errors left from before: {errors}", "warn", hint=look))

    return Outcome(data, blocks, written.arisen, 0)
