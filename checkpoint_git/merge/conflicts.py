"""Conflicts as values: list what each side has, decide them, and find what a text has decided.

A merge that is decided in several sittings needs no memory: the text in the work tree says which of
its conflicts are still marked, and which side was taken for the others.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from checkpoint_git.core.jsontext import JsonTextError, decode, parse, split_pointer
from checkpoint_git.merge.file import Merged, ask_questions, placed_choices, write_result
from checkpoint_git.merge.markers import label_of, say_question, say_side, split_lines
from checkpoint_git.merge.questions import list_options
from checkpoint_git.merge.result import (
    BASE,
    OURS,
    SIDES,
    THEIRS,
    Built,
    Choice,
    Entry,
    Fresh,
    members_of,
    value_of,
)
from checkpoint_git.merge.sequence import PART
from checkpoint_git.merge.strategy import REQUIRE

if TYPE_CHECKING:
    from checkpoint_git.merge.result import Result

_ENDS = "\r\n"  # of a line
_SHARED = -1  # the part of a text that is in no conflict
_MOST_SEARCHED = 64  # conflicts that a text may have decided; each costs a few merges to find out


class Held(NamedTuple):
    """What a side has at a place: a value, which may be null."""

    value: Any


class Conflict(NamedTuple):
    """A conflict for the user.

    where: JSON Pointer, its name. places: all that is decided with it (a group has several).
    sides: what ours, base and theirs have. For a group that is an object of the members on which
    the sides disagree, for a part of a list the list of its items.
    question: the options that answer it if no side does, else "".
    """

    where: str
    places: tuple[str, ...]
    sides: tuple[Held | None, Held | None, Held | None]
    question: str = ""


class NextAnswer(NamedTuple):
    """What is next, as the answer to a question that no side answers.

    item: a text that goes into the empty list. None if all is done: the list stays empty, and the
    fields that its requirement calls "empty_with" are set.
    """

    item: str | None


Decision = int | NextAnswer  # a side, or the answer to a question


class Clash(NamedTuple):
    """A conflict as text: what ours and theirs have, shortened. question: as in Conflict."""

    where: str
    ours: str
    theirs: str
    question: str = ""


class Decided(NamedTuple):
    """A merge with decisions.

    conflicts: all of them, including those that only came up with a decision. sides: the decision
    on each, by its `where`.
    """

    merged: Merged
    conflicts: list[Conflict]
    sides: dict[str, Decision]

    @property
    def remaining(self) -> list[Conflict]:
        return [conflict for conflict in self.conflicts if conflict.where not in self.sides]


def list_conflicts(merged: Merged) -> list[Conflict]:
    placed = placed_choices(merged.result)
    return [_describe(choice, placed) for choice in merged.conflicts]


def list_clashes(merged: Merged, limit: int = 200) -> tuple[Clash, ...]:
    clashes = []
    for choice in merged.conflicts:
        ours = say_side(choice.sides[OURS], limit)
        theirs = say_side(choice.sides[THEIRS], limit)
        clashes.append(Clash(choice.where, ours, theirs, choice.note))
    return tuple(clashes)


def is_about(conflict: Conflict, where: str) -> bool:
    """Whether a pointer names one of the conflict's places, or something that contains one.

    "" and "/" name all.
    """
    if where in ("", "/"):
        return True
    return any(f"{place}/".startswith(f"{where}/") for place in conflict.places)


def decide(merged: Merged, decisions: Mapping[str, Decision], marker_size: int = 7) -> Merged:
    """Return the merge with the conflicts at these places decided; the others stay.

    decisions: the `where` of a conflict of `merged.conflicts`, and OURS, BASE or THEIRS, or a
    NextAnswer. A side that has nothing at the place leaves nothing there; a side taken for a
    question leaves the empty list. Raises ValueError if the place is the document, and the side has
    none.
    """
    result = _decided(merged.result, decisions)
    if result is None:
        raise ValueError("the chosen side has no document")
    for where, decision in decisions.items():
        if decision == NextAnswer(None):
            _finish(result, find_closing(merged, where))

    ask_questions(result, merged.context)
    return write_result(merged.context, result, marker_size)


def find_closing(merged: Merged, where: str) -> Mapping[str, Any]:
    """Return the fields, by pointer, with which the list at this place may be empty; {} if none."""
    for requirement in merged.context.strategies.root.get(REQUIRE) or ():
        if requirement.get("where") == where:
            closing: Mapping[str, Any] = requirement.get("empty_with", {})
            return closing
    return {}


def _finish(result: "Result", closing: Mapping[str, Any]) -> None:
    """Set the fields of a document whose list stays empty."""
    if not isinstance(result, Built):
        return
    entries = {entry.key: entry for entry in result.entries}
    for field, value in closing.items():
        if field[1:] in entries:
            entries[field[1:]].result = Fresh(value)


def _decided(result: "Result", decisions: Mapping[str, Decision]) -> "Result | None":
    """Return a result with its conflicts decided; None if the chosen side has nothing."""
    if isinstance(result, Choice):
        decision = decisions.get(result.where)
        if decision is None:
            return result
        if not isinstance(decision, NextAnswer):
            chosen: Result | None = result.sides[decision]
            return chosen
        if decision.item is None:
            return Fresh([])
        return Fresh([decision.item])

    if not isinstance(result, Built):
        return result
    decided = [(entry, _decided(entry.result, decisions)) for entry in result.entries]
    entries = [Entry(entry.key, part, entry.source) for entry, part in decided if part is not None]
    return Built(result.anchor, entries, result.like, result.base)


def decide_each(
    merged: Merged, choose: Callable[[Conflict], Decision | None], size: int
) -> Decided:
    """Return the merge with a decision on each conflict, also on those that a decision brings up.

    choose: returns the decision, None to leave the conflict open.
    """
    sides: dict[str, Decision] = {}
    seen: dict[str, Conflict] = {}
    while fresh := [conflict for conflict in list_conflicts(merged) if _is_news(conflict, seen)]:
        chosen: dict[str, Decision] = {}
        for conflict in fresh:
            seen[conflict.where] = conflict
            sides.pop(conflict.where, None)
            decision = choose(conflict)
            if decision is not None:
                chosen[conflict.where] = decision

        if chosen:
            merged = decide(merged, chosen, size)
            sides.update(chosen)

    return Decided(merged, list(seen.values()), sides)


def _is_news(conflict: Conflict, seen: Mapping[str, Conflict]) -> bool:
    """Whether a conflict has to be decided: a list that was in conflict may become a question."""
    known = seen.get(conflict.where)
    return known is None or bool(conflict.question and not known.question)


def decide_all(merged: Merged, side: int, size: int = 7) -> Merged:
    return decide_each(merged, lambda _: side, size).merged


def take_side(merged: Merged, side: int, size: int = 7) -> Merged:
    """Return the merge with each conflict decided for a side, if a side answers it."""

    def choose(conflict: Conflict) -> Decision | None:
        return None if conflict.question else side

    return decide_each(merged, choose, size).merged


def _describe(choice: Choice, placed: Sequence[tuple[str, Choice]]) -> Conflict:
    """Return a choice for the user, together with the others of its group.

    placed: all choices of the document, with their places.
    """
    if not choice.group:
        ours, base, theirs = (_value_on(choice, side) for side in SIDES)
        return Conflict(choice.where, (choice.where,), (ours, base, theirs), choice.note)

    group = [(place, member) for place, member in placed if member.group == choice.group]
    if choice.group.endswith(PART):
        items = [member for _, member in group]
        ours, base, theirs = (_items_on(items, side) for side in SIDES)
        return Conflict(choice.where, (choice.where,), (ours, base, theirs))

    disputed = [
        (place, member)
        for place, member in group
        if _value_on(member, OURS) != _value_on(member, THEIRS)
    ]
    ours, base, theirs = (_members_on(disputed, side) for side in SIDES)
    places = dict.fromkeys([choice.where, *(place for place, _ in disputed)])
    return Conflict(choice.where, tuple(places), (ours, base, theirs))


def _items_on(choices: Sequence[Choice], side: int) -> Held | None:
    """Return the list of the items that a side has; None if it has none."""
    values = [_value_on(choice, side) for choice in choices]
    items = [value.value for value in values if value is not None]
    return Held(items) if items else None


def _members_on(members: Sequence[tuple[str, Choice]], side: int) -> Held | None:
    """Return the object of the members that a side has; None if it has none."""
    found = {}
    for place, choice in members:
        value = _value_on(choice, side)
        if value is not None:
            found[split_pointer(place)[-1]] = value.value
    return Held(found) if found else None


def _value_on(choice: Choice, side: int) -> Held | None:
    result = choice.sides[side]
    if result is None:
        return None
    return Held(value_of(result, side))


def find_choices(merged: Merged, text: str, size: int) -> dict[str, Decision] | None:
    """Return the decisions that turn the merge into this text; None if no decisions do.

    Then it was edited. A conflict that the text still marks, by its place behind the marker, is
    undecided.
    """
    marked = _list_marked(text, size)
    wanted = split_sides(text, size).ours
    sides: dict[str, Decision] = {}
    while merged.text != text:
        missing = [
            choice.where for choice in merged.conflicts if not _is_marked(choice, marked, merged)
        ]
        if not missing or len(sides) >= _MOST_SEARCHED:
            return None
        where = missing[0]
        nearest = _find_nearest(merged, where, wanted, size)
        if nearest is None:
            return None
        decision, merged = nearest
        if isinstance(decision, NextAnswer) or where not in sides:
            # an emptied list that is asked about stays decided as it was
            sides[where] = decision

    return sides


def _is_marked(choice: Choice, labels: Sequence[str], merged: Merged) -> bool:
    """Whether a text still has the markers of a conflict.

    A list that was decided may have markers of a question at its place: they are not its own.
    """
    questions = []
    if not choice.note:
        for requirement in merged.context.strategies.root.get(REQUIRE) or ():
            if requirement.get("where") == choice.where:
                questions.append(f"({say_question(list_options(requirement))})")

    for label in labels:
        is_asked = any(question in label for question in questions)
        if f" {label_of(choice.where)} " in label and not is_asked:
            return True
    return False


def _list_marked(text: str, size: int) -> list[str]:
    """Return the labels behind the markers in a text, each between blanks."""
    start = "<" * size + " ours: "
    return [
        f" {line.removeprefix(start).rstrip(_ENDS)} "
        for line in split_lines(text)
        if line.startswith(start)
    ]


def _find_nearest(
    merged: Merged, where: str, wanted: str, size: int
) -> tuple[Decision, Merged] | None:
    """Return the decision on a conflict whose text is most like the wanted one, and its merge."""
    candidates: list[tuple[tuple[int, int], Decision, Merged]] = []
    for decision in (*_read_answers(merged, where, wanted), OURS, THEIRS, BASE):
        try:
            decided = decide(merged, {where: decision}, size)
        except (ValueError, JsonTextError):  # that side has no document
            continue
        candidates.append((_measure_likeness(decided, wanted, size), decision, decided))

    if not candidates:
        return None
    _, decision, decided = max(candidates, key=lambda candidate: candidate[0])
    return decision, decided


def _measure_likeness(merged: Merged, wanted: str, size: int) -> tuple[int, int]:
    """Return how much a merge is like the wanted text, as _compare_texts does.

    A question counts as it is most like the text: open, or with an answer that the text may give.
    """
    shown = [merged]
    for choice in merged.conflicts:
        for answer in _read_answers(merged, choice.where, wanted):
            shown.append(decide(merged, {choice.where: answer}, size))

    return max(_compare_texts(split_sides(merge.text, size).ours, wanted) for merge in shown)


def _read_answers(merged: Merged, where: str, text: str) -> list[Decision]:
    """Return the answers that a text may give to a question; [] if the conflict is not one."""
    choice = next(choice for choice in merged.conflicts if choice.where == where)
    if not choice.note:
        return []
    try:
        members = members_of(parse(decode(text.encode("utf-8", "surrogateescape"))))
    except JsonTextError:
        return []

    answers: list[Decision] = []
    node = members.get(where[1:])
    if node is not None and type(node.value) is list and len(node.value) == 1:
        (item,) = node.value
        if type(item) is str:
            answers.append(NextAnswer(item))
    if find_closing(merged, where):
        answers.append(NextAnswer(None))
    return answers


def _compare_texts(text: str, wanted: str) -> tuple[int, int]:
    """Return how much two texts are alike: the lines at both ends, and the letters at the ends of
    the first and last lines that differ.
    """
    left, right = split_lines(text), split_lines(wanted)
    head = _count_alike(left, right)
    tail = _count_alike(left[::-1], right[::-1])
    if head == min(len(left), len(right)):
        return head + tail, 0

    left_last = left[len(left) - 1 - tail]
    right_last = right[len(right) - 1 - tail]
    letters = _count_alike(left[head], right[head])
    letters += _count_alike(left_last[::-1], right_last[::-1])
    return head + tail, letters


def _count_alike(left: Sequence[str], right: Sequence[str]) -> int:
    """Return how many lines, or letters, both begin with."""
    count = 0
    for part, other in zip(left, right, strict=False):
        if part != other:
            break
        count += 1
    return count


class ConflictSides(NamedTuple):
    """A text with conflict markers, taken apart.

    ours, theirs: the text with all of that side. base: what the conflicts show of base.
    whole_base: the text with all of base, None if a conflict shows none (git's style "merge").
    """

    ours: str
    theirs: str
    base: list[str]
    whole_base: str | None


def split_sides(text: str, size: int) -> ConflictSides:
    """Take a text with conflict markers apart, whatever the labels and style (merge, diff3,
    zdiff3).
    """
    kept: Mapping[int, list[str]] = {OURS: [], BASE: [], THEIRS: []}
    base: list[str] = []
    count = 0
    part = _SHARED
    for line in split_lines(text):
        next_part = _find_turn(line, size, part)
        if next_part is None:
            for side in SIDES:
                if part in (side, _SHARED):
                    kept[side].append(line)
            if part == BASE:
                base[-1] += line
            continue

        part = next_part
        if part == OURS:
            count += 1
        elif part == BASE:
            base.append("")

    ours, whole_base, theirs = ("".join(kept[side]) for side in SIDES)
    if count != len(base):
        return ConflictSides(ours, theirs, base, None)
    return ConflictSides(ours, theirs, base, whole_base)


def _find_turn(line: str, size: int, part: int) -> int | None:
    """Return the part that begins behind this line, _SHARED behind a conflict; None if the line is
    not a marker in the part where it is.
    """
    bare = line.rstrip(_ENDS)
    if part == _SHARED:
        if bare.startswith("<" * size + " "):
            return OURS
    elif bare == "|" * size or bare.startswith("|" * size + " "):
        if part == OURS:
            return BASE
    elif bare == "=" * size:
        if part in (OURS, BASE):
            return THEIRS
    elif bare.startswith(">" * size + " ") and part == THEIRS:
        return _SHARED
    return None


def is_text_merge(text: str, base: str, with_ours: str, with_theirs: str, size: int) -> bool:
    """Whether a text is the result of a line merge, with nothing else in it.

    with_ours, with_theirs: that merge with every conflict decided for one side; no style or level
    of zeal changes it.
    """
    sides = split_sides(text, size)
    if sides.ours.rstrip(_ENDS) != with_ours.rstrip(_ENDS):
        return False
    if sides.theirs.rstrip(_ENDS) != with_theirs.rstrip(_ENDS):
        return False
    return all(part.rstrip(_ENDS) in base for part in sides.base)
