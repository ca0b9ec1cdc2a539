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
    """clock_behind: updated_at is ahead of this clock. understood: corrected names and values.
    removed: by list. waiting: new next actions that got done_when_merged.
    """

    written: Written
    clock_behind: bool
    fields: list[str]
    understood: list[Understood]
    removed: dict[str, list[str]]
    waiting: list[dict[str, Any]]


def _shorten_paths(edits: Sequence[Edit], root: str) -> tuple[list[Edit], list[Understood]]:
    """Let new generated_files begin at the project's folder: other clones lack the path of this
    one, and it may tell the name of a user. root: the folder that holds .checkpoints.
    """
    project, kept, shortened = f"{root}/", list[Edit](), list[Understood]()
    for edit in edits:
        names = tuple(step.name for step in edit.path[:2])
        text = edit.value
        is_listed = names == _LISTED and edit.action != "remove" and isinstance(text, str)
        if is_listed and len(text) > len(project) and text.startswith(project):
            short = text.removeprefix(project)
            shortened.append(Understood(text, short))
            kept.append(edit._replace(value=short))
        else:
            kept.append(edit)

    return kept, shortened


def update(
    place: Place,
    skill: str,
    edits: list[Edit],
    now: int,
    on_wait: Tell = lambda: None,
    *,
    new_field: bool = False,
) -> UpdateResult:
    """Applies edits to one checkpoint and stamps it. new_field: unknown names are written as they
    are. Raises CheckpointError for a name that nobody knows and where an edit leads nowhere.
    """
    fields: list[str] = []
    understood: list[Understood] = []
    asked: list[Edit] = []
    places: list[str] = []
    removed: dict[str, list[str]] = {}
    waiting = list[dict[str, Any]]()

    def change(value: dict[str, Any] | None) -> dict[str, Any]:
        changed = value
        if changed is None:
            changed = scaffold(skill, os.path.basename(place.root) or "project", now)
            if os.path.isfile(os.path.join(place.directory, SCHEMA_FILE)):
                changed = {"$schema": f"./{SCHEMA_FILE}", **changed}

        meant, taken = understand(
            changed, edits, open_room("skill").schema.document, new_field=new_field, skill=skill
        )
        meant, shortened = _shorten_paths(meant, place.root)
        edited = {edit.field for edit in meant}
        before = list(list_entries({name: changed[name] for name in changed if name in edited}))
        asked.extend(one._replace(value=what.value) for one, what in zip(edits, meant, strict=True))
        rows_before = [*read_list(changed, "progress_table")]
        written_places = apply_edits(changed, meant, is_new=value is None)
        mark_repeated(changed, written_places, now)
        places.extend(written_places)
        removed.update(find_removed(before, [changed, FIRST_ACTION]))
        fields.extend(dict.fromkeys(edit.field for edit in meant))
        has_new_row = value is not None and rows_before != read_list(changed, "progress_table")
        if has_new_row and "progress_table" not in fields:
            fields.append("progress_table")
        understood.extend([*taken, *shortened])
        waiting.extend(goal for edit in meant if (goal := add_goals(edit).value) is not edit.value)
        if "updated_at" not in fields:
            stamp(changed, now)
        return changed

    for edit in edits:
        if edit.action != "remove":
            check_filled(edit.value)

    try:
        written = change_checkpoint(place, skill, change, now, on_wait)
    except EditError as error:
        if not error.meant:
            raise
        meant = list[Edit]()
        for edit in edits:
            meant += parse_edits([error.meant]) if edit.word == error.word else [edit]
        raise error.complete(spell_update(skill, meant)) from None

    if written.refused:
        removed.clear()
        written = written._replace(refused=_retype(written.refused, asked, places, skill))

    stamped = read_instant((written.document.value or {}).get("updated_at"))
    return UpdateResult(
        written, stamped is not None and stamped[0] > now, fields, understood, removed, waiting
    )


def _retype(
    refused: list[Finding], edits: list[Edit], places: list[str], skill: str
) -> list[Finding]:
    """Return the findings with the one line that works: what was typed, with what each of them
    changes in it.
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
    pairs = zip(refused, advice, strict=True)
    return [
        finding._replace(hint=advise(what, *argv)) if what else finding for finding, what in pairs
    ]


def _correct(
    finding: Finding,
    edits: list[Edit],
    places: list[str],
    corrected: list[list[Edit]],
    added: list[Edit],
) -> str:
    """Correct the edits that a finding is about, in place; return what that does in words, "" where
    nothing is known.

    places: JSON Pointers of what each edit wrote. corrected: what to type in place of each. added:
    other edits.
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
            for index in found:  # what -= took away
                corrected[index] = []
            added += [edit for edit in parse_edits(advised[3:]) if edit not in added]
    except (LookupError, ValueError, CheckpointError):  # a hint without a line
        return ""

    return what


def _read_update(finding: Finding) -> tuple[str, list[str]]:
    """Return what a finding advises in words, and the words of its update; [] for another command
    or none.
    """
    steps = steps_of(finding.hint)
    if not steps:
        return "", []
    commands = steps[0].commands
    is_update = bool(commands) and commands[0][:2] == ("checkpoint", "update")
    return steps[0].text, write_plain(commands[0]) if is_update else []


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 when the change is refused."""
    words = [word for word in args.words if word not in _NEW_FIELDS]
    edits = _parse(words, args.skill)
    return _write_edits(args.skill, edits, invocation, new_field=len(words) < len(args.words))


def _parse(words: list[str], skill: str) -> list[Edit]:
    """Raises CheckpointError for the first that is not an edit, with the line in which all are."""
    first: EditError | None = None
    for _ in range(3 * len(words) + 1):  # each of them may be wrong, and what is meant by one too
        try:
            edits = parse_edits(words)
        except EditError as error:
            at = error.at
            if error.start:  # --step build
                words = [*words[:at], error.start + words[at + 1], *words[at + 2 :]]
                continue
            first = first or error
            words = [
                *words[:at],
                *([error.meant] if error.meant else []),
                *words[at + error.count :],
            ]
            continue
        if not first:
            return edits
        raise first.complete(spell_update(skill, edits))

    raise first or CheckpointError(
        "these words are not edits", "an edit is written as --step=build"
    )


def run_values(skill: str, asked: Mapping[str, Any], invocation: Invocation) -> Outcome:
    """The verb for callers that have values of JSON in place of words: replace, append, remove,
    new_field.
    """
    edits = make_edits(asked.get("replace"), asked.get("append"), asked.get("remove"))
    if not edits and asked.get("replace") != {}:  # which only stamps, and may start one
        hint = 'give replace {"step": TEXT} or append {"next_actions": [TEXT]}'
        raise CheckpointError("nothing to change was given", hint)
    return _write_edits(skill, edits, invocation, new_field=bool(asked.get("new_field")))


def read_values(words: list[str]) -> dict[str, Any]:
    """What run_values takes for the words of a command line. Raises CheckpointError if it cannot
    take the same.
    """
    own = [word for word in words[1:] if word not in _NEW_FIELDS]
    more = {"new_field": True} if len(own) < len(words[1:]) else {}
    values = {**find_values(words[0] if words else "", parse_edits(own)), **more}
    make_edits(values.get("replace"), values.get("append"), values.get("remove"))
    return values


def complete_words(skill: str, typed: str, cwd: str) -> Iterator[tuple[str, str]]:
    """(what an edit may continue with, what that means), for the shells."""
    from checkpoint_git.protocols.skill.edit.edit_completion import complete_edit

    return complete_edit(skill, typed, cwd)


def _write_edits(
    skill: str, edits: list[Edit], invocation: Invocation, *, new_field: bool
) -> Outcome:
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
        told = join_some([quote(text) for text in texts])
        undo = advise("to undo it", "checkpoint", "undo", skill)
        lines.append(Line(f"removed from {where}: {told}", "warn", hint=undo))

    for action in () if written.refused else result.waiting:
        lines.append(Line(f"{quote(action['text'])}: {describe_goals(action)}", "dim"))
    if result.clock_behind and not written.refused:
        stamp, here = (
            (written.document.value or {}).get("updated_at"),
            write_instant(invocation.now),
        )
        lines.append(
            Line(f"updated_at stays {stamp}: this machine's clock ({here}) is behind it", "warn")
        )

    outcome = outcome_of_write(
        place, invocation, skill, "update", written, result.fields, lines, result.understood
    )
    waiting = [] if written.refused else result.waiting
    return outcome._replace(
        data={**outcome.data, "removed": removed, "waiting_for_merges": waiting}
    )


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
    """The answer of a writing verb: the fields that changed, findings that arose, errors that are
    left.
    """
    document = written.document
    lines = [*(Line(each.text, "warn") for each in understood if each.typed not in _SHORT), *lines]
    about = {
        "skill": skill,
        "path": document.path,
        "understood": [each.data for each in understood],
    }
    if written.refused:
        data = {**about, "written": False}
        refusal = Line(f"{skill}: {verb} refused, nothing was written", "bad")
        return Outcome(data, [refusal, *lines], written.refused, 1)

    unseen = find_untracked(place, [document.path], invocation.env, invocation.cwd)
    left = sum(finding.level == "error" for finding in document.findings)
    data = {
        **about,
        "written": True,
        "created": written.created,
        "fields": [*fields],
        "updated_at": (document.value or {}).get("updated_at"),
        "errors_left": left,
        "git": unseen[0].code.removeprefix("git/") if unseen else None,
    }
    what = "started" if written.created else "updated"
    changed = f" ({', '.join(fields or ['updated_at'])})" if fields or not written.created else ""
    blocks: list[Block] = [Line(f"{skill}: {what}{changed} in {document.path}", "good"), *lines]
    # an untracked file is reported once: the doctor has git/untracked as long as it is true
    told = [each for each in unseen if written.created or each.code == "git/ignored"]
    blocks += [Line(each.message, "warn", hint=each.hint) for each in told]
    if left:
        look = advise("to see them", "checkpoint", "validate", plain_path(document.path))
        blocks.append(Line(f"errors left from before: {left}", "warn", hint=look))

    return Outcome(data, blocks, written.arisen, 0)
