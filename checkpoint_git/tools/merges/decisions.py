"""Plan what happens to an unmerged checkpoint: what the options say, else what the user answers at
a terminal. Nothing is written here.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Blank, advise, join_hints
from checkpoint_git.core.jsonlines import parse_any
from checkpoint_git.core.jsontext import JsonTextError, decode, split_pointer
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.core.terminal_text import escape_controls, join_some, say_value, shorten
from checkpoint_git.merge.conflicts import (
    Conflict,
    Decision,
    Held,
    NextAnswer,
    decide_each,
    is_about,
)
from checkpoint_git.merge.file import Merged
from checkpoint_git.merge.items import canonical_text
from checkpoint_git.merge.result import BASE, OURS, THEIRS
from checkpoint_git.protocols.mismatch import quote_where
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.protocols.validate import check_document, check_text
from checkpoint_git.tools.merges.asker import Asker, Take, is_completable, list_takes
from checkpoint_git.tools.merges.judge import judge_merge
from checkpoint_git.tools.merges.unmerged import (
    NAMES,
    Case,
    describe_sides,
    find_newest,
    list_conflicts,
)
from checkpoint_git.tools.merges.walk import THE_FILE
from checkpoint_git.tools.merges.wording import Parents, say_entry

TAKES: tuple[Take, ...] = ("ours", "theirs", "newest", "base")
_SIDES = {name: side for side, name in NAMES.items()}
_WIDTH = 100  # characters of a value that is shown
_MOST_REFUSED = 8  # places of a file that the user's schema refuses


class ResolveRequest(NamedTuple):
    """paths: as typed, none for every unmerged checkpoint. wheres: JSON Pointers, none for every
    conflict. answer: what is next, or that nothing is: no side of a merge answers that.
    """

    paths: Sequence[str] = ()
    take: Take | None = None
    wheres: Sequence[str] = ()
    dry_run: bool = False
    answer: NextAnswer | None = None

    def covers(self, conflict: Conflict) -> bool:
        return not self.wheres or any(is_about(conflict, where) for where in self.wheres)


class Resolved(NamedTuple):
    """conflicts: all that the file had. sides: how those that are decided are, by `where`.
    data: the file's new content, None to remove it. action: "stage" if that is clean and valid.
    passed_over: the other side of a file that was decided as a whole.
    kept_copy: the copy of that or of the edited file, relative to the work tree; "" for none.
    """

    case: Case
    conflicts: Sequence[Conflict] = ()
    sides: Mapping[str, Decision] = MappingProxyType({})
    findings: Sequence[Finding] = ()
    data: bytes | None = None
    action: Literal["leave", "write", "stage"] = "leave"
    passed_over: bytes | None = None
    kept_copy: str = ""

    @property
    def is_staged(self) -> bool:
        return self.action == "stage"

    @property
    def is_removed(self) -> bool:
        return self.is_staged and self.data is None


def _advise_choices(case: Case, conflict: Conflict, now: int) -> AnyHint:
    """Return the command that decides a conflict, and what can be chosen."""
    resolve = ("checkpoint", "resolve", case.typed)
    if conflict.question:
        hint = advise("add what is next", *resolve, "--next", Blank("the next action"))
        if is_completable(case, conflict):
            hint = join_hints(hint, advise("or that nothing is", *resolve, "--complete"))
        return hint

    take: tuple[str, ...] = (*resolve, "--take")
    if conflict.where:
        take = (*resolve, "--where", conflict.where, "--take")
    *first, last = list_takes(case, conflict)
    choices = f"take {', '.join(first)} or {last}"
    ours, _, theirs = case.unmerged.sides
    if case.merged is not None:
        return advise(choices, *take, "ours")
    if not ours:
        return advise(choices, *take, "theirs")
    if not theirs:
        return advise(choices, *take, "ours")

    # decided as a whole: a side that cannot be read is not proposed
    edit = advise("merge both by hand, then", "git", "add", "--", case.typed)
    for name, side in (("ours", ours), ("theirs", theirs)):
        if _is_valid(case, now, side.data):
            other = f"or take {name}, a copy of the other is kept"
            return join_hints(edit, advise(other, *take, name))
    return edit


def plan_file(case: Case, request: ResolveRequest, now: int, asker: Asker | None) -> Resolved:
    """Return what happens to a file. asker: asks what the request does not decide; None: nobody
    is asked.
    """
    if case.blocked:
        return _leave_blocked(case)

    conflicts = list_conflicts(case)
    if case.edited and not (request.take or request.answer):
        planned = _plan_edited(case, conflicts, now, asker)
        if planned is not None:
            return planned

    asked = [conflict for conflict in conflicts if request.covers(conflict)]
    trouble = _find_trouble(case, request) if asked else None
    if trouble is not None:
        code, message = trouble
        return _leave(case, conflicts, code, message, _advise_choices(case, asked[0], now))

    # if the decisions in the file gave nothing that can be staged, all of them are made again
    all_chosen = all(conflict.where in case.chosen for conflict in conflicts)
    starts_over = bool(request.take or asker) and all_chosen and not _is_valid(case, now)
    chosen = {} if starts_over else case.chosen
    choose = _make_chooser(case, request, asker, chosen)
    if case.merged is not None:
        return _decide_places(case, case.merged, choose, now)
    return _decide_whole(case, conflicts, choose, now)


def _leave_blocked(case: Case) -> Resolved:
    if case.reason:
        hint = advise("edit the file, then", "git", "add", "--", case.typed)
        return _leave(case, (), "resolve/not-valid", case.blocked, hint)

    hint = join_hints(
        advise("to take your version", "git", "checkout", "--ours", "--", case.typed),
        advise("or the other one", "git", "checkout", "--theirs", "--", case.typed),
        advise("then", "git", "add", "--", case.typed),
    )
    return _leave(case, (), "resolve/not-a-file", case.blocked, hint)


def _plan_edited(
    case: Case, conflicts: Sequence[Conflict], now: int, asker: Asker | None
) -> Resolved | None:
    """Return what happens to a file that was edited since the merge; None to merge it again."""
    is_valid = _is_valid(case, now)
    state = f"and is not {_name_valid(case)} yet"
    advice = "edit it until it is, then stage it"
    if is_valid:
        state = f"and is {_name_valid(case)} now"
        advice = "stage it"
    state += _describe_damage(case)

    if asker is not None:
        answer = asker.ask_edited(case, state, is_valid)
        if answer == "s":
            return Resolved(case, data=case.stored, action="stage")
        if answer == "m":
            return None

    message = f"the file was edited since the merge, {state}"
    again = "or merge it again, which keeps a copy"
    hint = join_hints(
        advise(advice, "git", "add", "--", case.typed),
        advise(again, "checkpoint", "resolve", case.typed, "--take", "ours"),
    )
    return _leave(case, conflicts, "resolve/edited", message, hint)


def _find_trouble(case: Case, request: ResolveRequest) -> tuple[str, str] | None:
    """Return a code and a message if the side that was asked for is unknown; None otherwise."""
    if request.take == "newest" and find_newest(case) is None:
        message = "neither side is newer: updated_at is equal, or missing on one side"
        return "resolve/no-newest", message
    if request.take == "base" and case.unmerged.sides[BASE] is None:
        return "resolve/no-base", "both sides added the file: they have no common version"
    return None


def _decide_places(
    case: Case, merged: Merged, choose: Callable[[Conflict], Decision | None], now: int
) -> Resolved:
    decided = decide_each(merged, choose, case.size)
    resolved = Resolved(case, decided.conflicts, decided.sides, data=decided.merged.data)
    if not decided.remaining:
        return _check(resolved, now)

    findings = [_find_undecided(case, conflict, now) for conflict in decided.remaining]
    resolved = resolved._replace(findings=findings)
    if decided.merged.data == case.stored:
        return resolved
    # replaces git's text merge, so that only true conflicts remain in the file
    return resolved._replace(action="write")


def _decide_whole(
    case: Case,
    conflicts: Sequence[Conflict],
    choose: Callable[[Conflict], Decision | None],
    now: int,
) -> Resolved:
    side = choose(conflicts[0])
    if side is None or isinstance(side, NextAnswer):
        return Resolved(case, conflicts, findings=[_find_undecided(case, conflicts[0], now)])

    version = case.unmerged.sides[side]
    if version is None:
        return Resolved(case, conflicts, {"": side}, action="stage")

    other = None
    if side == OURS:
        other = case.unmerged.sides[THEIRS]
    elif side == THEIRS:
        other = case.unmerged.sides[OURS]
    resolved = Resolved(case, conflicts, {"": side}, data=version.data)
    if other and other.data:
        resolved = resolved._replace(passed_over=other.data)
    return _check(resolved, now)


def _describe_damage(case: Case) -> str:
    """Return what an edited file lacks of its merge, as the end of a sentence; "" for nothing."""
    if case.merged is None or case.stored is None:
        return ""

    ours, base, theirs = (_read_side(case, side) for side in (OURS, BASE, THEIRS))
    context = case.merged.context
    judged = judge_merge(
        base, ours, theirs, case.stored, context.strategies.root, context.narrative
    )
    damage = judged.damage
    if not damage or damage[0].name == THE_FILE:
        return ""
    parents = Parents(1, 2, ("ours", "theirs"))
    return f", but {join_some([say_entry(entry, parents) for entry in damage], 3, '; ')}"


def _is_valid(case: Case, now: int, data: bytes | None = None) -> bool:
    """Whether a version of the file has no errors. data: default: the file as it is."""
    if data is None:
        data = case.stored or b""
    return not _find_errors(case, data, now)


def _name_valid(case: Case) -> str:
    """Return the name of a file without errors, as the end of "it is ..."."""
    if is_merged(case.path):
        return "a valid checkpoint"
    if case.explain:
        return "valid by its schema"
    return "valid JSON"


def _find_errors(case: Case, data: bytes, now: int) -> list[Finding]:
    if is_merged(case.path):
        findings = check_document(case.path, data, now=now).findings
        return [finding for finding in findings if finding.level == "error"]
    return check_text(case.path, data) or _find_refused(case, data)


def _find_refused(case: Case, data: bytes) -> list[Finding]:
    """Return what the user's schema refuses in a file, without the places that it refuses in a
    side too.
    """
    in_ours = _explain(case, _read_side(case, OURS))
    in_theirs = _explain(case, _read_side(case, THEIRS))
    known = {mismatch.where for mismatch in (*in_ours, *in_theirs)}
    new = [mismatch for mismatch in _explain(case, data) if mismatch.where not in known]

    findings = []
    for mismatch in new[:_MOST_REFUSED]:
        reason = escape_controls(shorten(mismatch.message, _WIDTH))
        message = f"{quote_where(mismatch.where)}: {reason}"
        findings.append(Finding("resolve/schema", "error", message, case.path, mismatch.where))

    return findings


def _read_side(case: Case, side: int) -> bytes | None:
    version = case.unmerged.sides[side]
    return None if version is None else version.data


def _explain(case: Case, data: bytes | None) -> list[Mismatch]:
    """Return how a version breaks the user's schema; [] if there is no such schema, or it cannot
    be applied.
    """
    if case.explain is None or data is None:
        return []
    try:
        return case.explain(parse_any(decode(data)).value)
    except JsonTextError:
        return []


def _leave(
    case: Case, conflicts: Sequence[Conflict], code: str, message: str, hint: AnyHint
) -> Resolved:
    found = Finding(code, "error", f"not resolved: {message}", case.path, hint=hint)
    return Resolved(case, conflicts, findings=[found])


def _make_chooser(
    case: Case, request: ResolveRequest, asker: Asker | None, chosen: Mapping[str, Decision]
) -> Callable[[Conflict], Decision | None]:
    """Return the function that decides a conflict, or leaves it open with None.

    chosen: the decisions that the file has already; they stay unless a pointer names them.
    """
    taken = _SIDES.get(request.take or "")
    if request.take == "newest":
        taken = find_newest(case)

    def choose(conflict: Conflict) -> Decision | None:
        before = chosen.get(conflict.where)
        if conflict.question:
            return answer(conflict, before)
        if not request.covers(conflict) or (before is not None and not request.wheres):
            return before
        if request.take:
            return taken
        if asker is None:
            return before

        side = asker.ask_side(case, conflict)
        return before if side is None else side

    def answer(conflict: Conflict, before: Decision | None) -> NextAnswer | None:
        # a list that was emptied by hand is not an answer
        known = before if isinstance(before, NextAnswer) else None
        if not request.covers(conflict):
            return known
        if request.answer:
            is_possible = request.answer.item is not None or is_completable(case, conflict)
            return request.answer if is_possible else known
        if known or asker is None:
            return known
        return asker.ask_next(case, conflict)

    return choose


def _check(resolved: Resolved, now: int) -> Resolved:
    errors = _find_errors(resolved.case, resolved.data or b"", now)
    if not errors:
        return resolved._replace(action="stage")

    message = f"decided, but not staged: the result is not {_name_valid(resolved.case)}"
    hint = join_hints(
        advise("fix the errors above, then", "git", "add", "--", resolved.case.typed),
        "or decide again, with another --take",
    )
    last = Finding("resolve/not-valid", "error", message, resolved.case.path, hint=hint)
    return resolved._replace(action="write", findings=[*errors, last])


def _find_undecided(case: Case, conflict: Conflict, now: int) -> Finding:
    if case.merged is None:
        message = f"undecided: the whole file: {describe_sides(case)}"
    elif conflict.question:
        message = f"undecided at {conflict.where}: nothing is left to do, so what is next?"
    elif len(conflict.places) > 1:
        fields = f"{len(list_fields(conflict))} fields that are decided together"
        message = f"undecided at {', '.join(conflict.places)}: {fields}"
    else:
        place = conflict.where or "the whole file"
        message = f"undecided at {place}: {_show_sides(*conflict.sides)}"

    hint = _advise_choices(case, conflict, now)
    return Finding("resolve/undecided", "error", message, case.path, conflict.where, hint=hint)


def list_fields(conflict: Conflict) -> list[str]:
    """Return a line for each field of a conflict on which the sides differ."""
    if len(conflict.places) == 1:
        return [f"{conflict.where or 'the whole file'}: {_show_sides(*conflict.sides)}"]

    lines = []
    for place in conflict.places:
        name = split_pointer(place)[-1]
        ours, base, theirs = (_pick(side, name) for side in conflict.sides)
        if ours != theirs:
            lines.append(f"{place}: {_show_sides(ours, base, theirs)}")

    return lines


def _pick(side: Held | None, name: str) -> Held | None:
    """Return a member of one side's value, None if the side lacks it."""
    if side is None or name not in side.value:
        return None
    return Held(side.value[name])


def _show_sides(ours: Held | None, base: Held | None, theirs: Held | None) -> str:
    return f"ours {_show(ours)}, theirs {_show(theirs)} (base {_show(base)})"


def _show(side: Held | None) -> str:
    if side is None:
        return say_value(None, _WIDTH)
    return say_value(canonical_text(side.value), _WIDTH)
