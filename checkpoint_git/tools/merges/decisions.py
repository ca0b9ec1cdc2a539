"""What happens to an unmerged checkpoint: as the user asked, else as they answer at a terminal.
Nothing is written.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, TextIO

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Blank, advise, join_hints
from checkpoint_git.core.jsonlines import parse_any
from checkpoint_git.core.jsontext import JsonTextError, decode, split_pointer
from checkpoint_git.core.leaflines import list_leaves
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.core.terminal_text import escape_controls, join_some, say_value, shorten
from checkpoint_git.merge.conflicts import (
    Conflict,
    Decision,
    Held,
    NextAnswer,
    decide_each,
    find_closing,
    is_about,
)
from checkpoint_git.merge.file import Merged
from checkpoint_git.merge.items import canonical_text
from checkpoint_git.merge.result import BASE, OURS, THEIRS
from checkpoint_git.protocols.mismatch import quote_where
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.protocols.validate import check_document, check_text
from checkpoint_git.tools.merges.judge import THE_FILE, judge_merge
from checkpoint_git.tools.merges.unmerged import (
    NAMES,
    Case,
    describe_sides,
    find_newest,
    list_conflicts,
)
from checkpoint_git.tools.merges.wording import Parents, say_entry

Take = Literal["ours", "theirs", "newest", "base"]
TAKES: tuple[Take, ...] = ("ours", "theirs", "newest", "base")
_SIDES = {name: side for side, name in NAMES.items()}
_WIDTH = 100  # characters of a line that is shown
_MOST_LINES = 12  # of one side's value
_MOST_REFUSED = 8  # places of a file that the user's schema refuses


class ResolveRequest(NamedTuple):
    paths: Sequence[str] = ()  # as typed, none for every unmerged checkpoint
    take: Take | None = None
    wheres: Sequence[str] = ()  # JSON Pointers, none for all
    dry_run: bool = False
    answer: NextAnswer | None = None  # to what no side answers: what is next

    def covers(self, conflict: Conflict) -> bool:
        return not self.wheres or any(is_about(conflict, where) for where in self.wheres)


class Resolved(NamedTuple):
    case: Case
    conflicts: Sequence[Conflict] = ()  # all it had
    sides: Mapping[str, Decision] = MappingProxyType({})  # of those decided, by `where`
    findings: Sequence[Finding] = ()
    data: bytes | None = None  # what it becomes, None to remove it
    action: Literal["leave", "write", "stage"] = "leave"  # "stage" where it is clean and valid
    passed_over: bytes | None = None  # the other side of a file that was decided as a whole
    kept_copy: str = ""  # where that or an edited file was put, relative to the work tree

    @property
    def is_staged(self) -> bool:
        return self.action == "stage"

    @property
    def is_removed(self) -> bool:
        return self.is_staged and self.data is None


class Asker:
    """The user at a terminal, asked about one conflict at a time; what is shown is untrusted text,
    so it is escaped. preface: what has to be known before the first question; it is said with that,
    once. has_quit: the user has had enough, and every further answer is "leave it".
    """

    def __init__(self, stdin: TextIO, stderr: TextIO) -> None:
        self.stdin = stdin
        self.stderr = stderr
        self.preface = ""
        self.has_quit = False

    def ask_side(self, case: Case, conflict: Conflict) -> int | None:
        if self.has_quit:
            return None
        self._say(
            "", f"{case.path}: {', '.join(conflict.places) if conflict.where else 'the whole file'}"
        )
        if case.merged is None:
            self._say(f"  {describe_sides(case)}")
        else:
            for side in (BASE, OURS, THEIRS):
                first, *rest = _show_value(conflict.sides[side])
                self._say(f"  {NAMES[side]:6}  {first}", *(f"          {line}" for line in rest))

        takes = _list_takes(case, conflict)
        sides = {take[0]: side for take, side in takes.items()}
        offers = [
            f"[{take[0]}]{take[1:]}{f' ({NAMES[side]})' if take == 'newest' else ''}"
            for take, side in takes.items()
        ]
        return sides.get(self._ask(" ".join(offers), [*sides, "e", "q"]))

    def ask_next(self, case: Case, conflict: Conflict) -> NextAnswer | None:
        """Return what the user says is next; None to leave it open."""
        if self.has_quit:
            return None
        can_complete = _can_complete(case, conflict)
        self._say("", f"{case.path}: {conflict.where}: nothing is left to do, so what is next?")
        offers = "a text, or [c]omplete" if can_complete else "a text, or"
        while True:
            answer = self._read_line(offers)
            if answer in ("e", "q"):
                return None
            if answer == "c" and can_complete:
                return NextAnswer(None)
            if len(answer) > 1:
                return NextAnswer(answer)
            self._say("please answer with a text of more than one letter, or one of the letters")

    def ask_edited(self, case: Case, state: str, can_stage: bool) -> str:
        """An edited file: "s"tage, "m"erge anew, "e" or "q" to leave it. state: the end of a
        sentence about it.
        """
        if self.has_quit:
            return "q"
        self._say("", f"{case.path}: edited since the merge, {state}.")
        offers, keys = "[m]erge again, keeping a copy", ["m", "e", "q"]
        return (
            self._ask(f"[s]tage it as it is {offers}", ["s", *keys])
            if can_stage
            else self._ask(offers, keys)
        )

    def _ask(self, offers: str, keys: Sequence[str]) -> str:
        # the first letter of an answer that is one of the keys; "q" at the end of the input
        while True:
            key = self._read_line(offers).lower()[:1]
            if key == "q":
                self.has_quit = True
            if key in keys:
                return key
            self._say(f"please answer with one of: {', '.join(keys)}")

    def _read_line(self, offers: str) -> str:
        """Return what the user typed; "q" at the end of the input."""
        self.stderr.write(f"{offers} [e]dit later [q]uit? ")
        self.stderr.flush()
        line = self.stdin.readline()
        if not line:
            self._say("")
        answer = line.strip() if line else "q"
        if answer.lower() == "q":
            self.has_quit = True
        return answer

    def _say(self, *lines: str) -> None:
        preface, self.preface = self.preface, ""
        for line in (preface, *lines) if preface else lines:
            self.stderr.write(f"{escape_controls(line)}\n")


def _can_complete(case: Case, conflict: Conflict) -> bool:
    return case.merged is not None and bool(find_closing(case.merged, conflict.where))


def _list_takes(case: Case, conflict: Conflict) -> dict[Take, int]:
    """What decides it, and for which side."""
    takes: dict[Take, int] = {"ours": OURS, "theirs": THEIRS}
    newest = find_newest(case)
    if newest is not None:
        takes["newest"] = newest
    if case.unmerged.sides[BASE] is not None and conflict.sides[BASE] is not None:
        takes["base"] = BASE
    return takes


def _say_choices(case: Case, conflict: Conflict, now: int) -> AnyHint:
    if conflict.question:
        resolve = ("checkpoint", "resolve", case.typed)
        hint = advise("add what is next", *resolve, "--next", Blank("the next action"))
        if _can_complete(case, conflict):
            hint = join_hints(hint, advise("or that nothing is", *resolve, "--complete"))
        return hint

    *first, last = _list_takes(case, conflict)
    where = ("--where", conflict.where) if conflict.where else ()
    argv = ("checkpoint", "resolve", case.typed, *where, "--take")
    choices = f"take {', '.join(first)} or {last}"
    if case.merged is not None:
        return advise(choices, *argv, "ours")
    # as a whole: what removes it or cannot be read is not what is proposed
    ours, _, theirs = case.unmerged.sides
    good = [
        name
        for name, side in (("ours", ours), ("theirs", theirs))
        if side and _is_valid(case, now, side.data)
    ]
    if ours and theirs:
        edit = advise("merge both by hand, then", "git", "add", "--", case.typed)
        if not good:
            return edit
        return join_hints(
            edit, advise(f"or take {good[0]}, a copy of the other is kept", *argv, good[0])
        )

    return advise(choices, *argv, "ours" if ours else "theirs")


def _show_value(held: Held | None) -> list[str]:
    if held is None:
        return ["(nothing)"]
    if not isinstance(held.value, dict | list) or not held.value:
        return [shorten(canonical_text(held.value), _WIDTH)]
    lines = [shorten(line, _WIDTH) for line in list_leaves(held.value)]
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"... and {more} more"] if more > 0 else lines


def plan_file(case: Case, request: ResolveRequest, now: int, asker: Asker | None) -> Resolved:
    """asker: who is asked about what the request does not decide."""
    if case.blocked:
        code, todo = (
            ("not-valid", "edit the file")
            if case.reason
            else ("not-a-file", "keep the version you want")
        )
        return _leave(
            case,
            (),
            f"resolve/{code}",
            case.blocked,
            advise(f"{todo}, then", "git", "add", "--", case.typed),
        )

    conflicts = list_conflicts(case)
    if case.edited and not (request.take or request.answer):
        planned = _plan_edited(case, conflicts, now, asker)
        if planned is not None:
            return planned

    asked = [conflict for conflict in conflicts if request.covers(conflict)]
    trouble = _find_trouble(case, request) if asked else None
    if trouble is not None:
        code, message = trouble
        return _leave(case, conflicts, code, message, _say_choices(case, asked[0], now))

    # all was decided, and not into what can be staged: who decides now decides anew
    is_stuck = all(conflict.where in case.chosen for conflict in conflicts) and not _is_valid(
        case, now
    )
    decides = bool(request.take or asker)
    choose = _make_chooser(case, request, asker, is_stuck and decides)
    if case.merged is not None:
        return _decide_places(case, case.merged, choose, now)
    return _decide_whole(case, conflicts, choose, now)


def _plan_edited(
    case: Case, conflicts: Sequence[Conflict], now: int, asker: Asker | None
) -> Resolved | None:
    """Return what happens to a file that was edited since the merge; None to merge it again."""
    is_valid = _is_valid(case, now)
    state = f"and is {_say_valid(case)} now" if is_valid else f"and is not {_say_valid(case)} yet"
    state += _describe_damage(case)
    answer = asker.ask_edited(case, state, is_valid) if asker else ""
    if answer == "s":
        return Resolved(case, data=case.stored, action="stage")
    if answer == "m":
        return None
    message = f"the file was edited since the merge, {state}"
    what = "stage it" if is_valid else "edit it until it is, then stage it"
    again = "or merge it again, which keeps a copy"
    hint = join_hints(
        advise(what, "git", "add", "--", case.typed),
        advise(again, "checkpoint", "resolve", case.typed, "--take", "ours"),
    )
    return _leave(case, conflicts, "resolve/edited", message, hint)


def _find_trouble(case: Case, request: ResolveRequest) -> tuple[str, str] | None:
    """Return the code and the message where the side that was asked for is not known."""
    if request.take == "newest" and find_newest(case) is None:
        return (
            "resolve/no-newest",
            "neither side is newer: updated_at is equal, or missing on one side",
        )
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
    # git's own text merge becomes ours, of which only true conflicts are left
    return resolved._replace(
        findings=findings, action="leave" if decided.merged.data == case.stored else "write"
    )


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
    other = None if side == BASE else case.unmerged.sides[THEIRS if side == OURS else OURS]
    passed_over = (other.data or None) if other else None
    return _check(
        Resolved(case, conflicts, {"": side}, data=version.data, passed_over=passed_over), now
    )


def _describe_damage(case: Case) -> str:
    """Return what an edited file lacks of its merge, as the end of a sentence; "" for nothing."""
    if case.merged is None or case.stored is None:
        return ""
    ours, base, theirs = (version.data if version else None for version in case.unmerged.sides)
    schema = case.merged.context.strategies.root
    damage = judge_merge(
        base, ours, theirs, case.stored, schema, case.merged.context.narrative
    ).damage
    if not damage or damage[0].name == THE_FILE:
        return ""
    parents = Parents(1, 2, ("ours", "theirs"))
    return f", but {join_some([say_entry(entry, parents) for entry in damage], 3, '; ')}"


def _is_valid(case: Case, now: int, data: bytes | None = None) -> bool:
    """data: default: the file as it is."""
    return not _find_errors(case, (case.stored if data is None else data) or b"", now)


def _say_valid(case: Case) -> str:
    """Return what a good file is, as the end of "it is ..."."""
    if is_merged(case.path):
        return "a valid checkpoint"
    return "valid by its schema" if case.explain else "valid JSON"


def _find_errors(case: Case, data: bytes, now: int) -> list[Finding]:
    if is_merged(case.path):
        return [
            finding
            for finding in check_document(case.path, data, now=now).findings
            if finding.level == "error"
        ]
    return check_text(case.path, data) or _find_refused(case, data)


def _find_refused(case: Case, data: bytes) -> list[Finding]:
    """Return what the user's schema refuses in a file, except what is wrong in a side at the same
    place.
    """
    known = {
        mismatch.where
        for side in (OURS, THEIRS)
        for mismatch in _explain(case, _read_side(case, side))
    }
    new = [mismatch for mismatch in _explain(case, data) if mismatch.where not in known]
    findings = []
    for mismatch in new[:_MOST_REFUSED]:
        message = (
            f"{quote_where(mismatch.where)}: {escape_controls(shorten(mismatch.message, _WIDTH))}"
        )
        findings.append(Finding("resolve/schema", "error", message, case.path, mismatch.where))

    return findings


def _read_side(case: Case, side: int) -> bytes | None:
    version = case.unmerged.sides[side]
    return None if version is None else version.data


def _explain(case: Case, data: bytes | None) -> list[Mismatch]:
    """Return how a version breaks the user's schema; [] if there is no such schema, or it cannot be
    applied.
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
    case: Case, request: ResolveRequest, asker: Asker | None, is_stuck: bool
) -> Callable[[Conflict], Decision | None]:
    """How each conflict of the file is decided; decisions that the file holds stay unless a pointer
    names them.
    """
    taken = find_newest(case) if request.take == "newest" else _SIDES.get(request.take or "")
    chosen = {} if is_stuck else case.chosen

    def choose(conflict: Conflict) -> Decision | None:
        before = chosen.get(conflict.where)
        if conflict.question:
            return answer(conflict, before)
        if not request.covers(conflict) or (before is not None and not request.wheres):
            return before
        if request.take:
            return taken
        side = asker.ask_side(case, conflict) if asker else None
        return before if side is None else side

    def answer(conflict: Conflict, before: Decision | None) -> NextAnswer | None:
        # Whoever emptied the list by hand did not say what is next
        known = before if isinstance(before, NextAnswer) else None
        if request.answer and request.covers(conflict):
            is_possible = request.answer.item is not None or _can_complete(case, conflict)
            return request.answer if is_possible else known
        if known or not (asker and request.covers(conflict)):
            return known
        return asker.ask_next(case, conflict)

    return choose


def _check(resolved: Resolved, now: int) -> Resolved:
    errors = _find_errors(resolved.case, resolved.data or b"", now)
    if not errors:
        return resolved._replace(action="stage")
    message = f"decided, but not staged: the result is not {_say_valid(resolved.case)}"
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
        count = len(list_fields(conflict))
        message = (
            f"undecided at {', '.join(conflict.places)}: {count} fields that are decided together"
        )
    else:
        message = f"undecided at {conflict.where or 'the whole file'}: {_say_sides(conflict.sides)}"

    hint = _say_choices(case, conflict, now)
    return Finding("resolve/undecided", "error", message, case.path, conflict.where, hint=hint)


def list_fields(conflict: Conflict) -> list[str]:
    """Return what the sides say of each field of a conflict, a line each; of a conflict of one
    field that line.
    """
    if len(conflict.places) == 1:
        return [f"{conflict.where or 'the whole file'}: {_say_sides(conflict.sides)}"]
    lines = []
    for place in conflict.places:
        name = split_pointer(place)[-1]
        ours, base, theirs = (_pick(held, name) for held in conflict.sides)
        if ours != theirs:
            lines.append(f"{place}: {_say_sides((ours, base, theirs))}")

    return lines


def _pick(held: Held | None, name: str) -> Held | None:
    is_there = held is not None and name in held.value
    return Held(held.value[name]) if held is not None and is_there else None


def _say_sides(sides: tuple[Held | None, Held | None, Held | None]) -> str:
    texts = [
        say_value(None if held is None else canonical_text(held.value), _WIDTH) for held in sides
    ]
    return f"ours {texts[0]}, theirs {texts[2]} (base {texts[1]})"
