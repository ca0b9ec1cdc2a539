"""Conflicts as values: what each side holds, deciding them, and what a text has already decided of
them. Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from checkpoint_git.core.jsontext import JsonTextError, decode, parse, split_pointer
from checkpoint_git.merge.file import Merged, ask_questions, placed_choices, write_result
from checkpoint_git.merge.markers import label_of, say_side, split_lines
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
_MOST_SEARCHED = 64  # conflicts that a text may have decided; each costs a few merges to find out


class Held(NamedTuple):
    value: Any


class Conflict(NamedTuple):
    """where: JSON Pointer, its name. places: all that is decided with it (a group has several).
    sides: what ours, base and theirs hold; of a group an object of its members, where the sides
    disagree on them; of a part of a list the list of its items. question: the options that answer
    it where no side does, else "".
    """

    where: str
    places: tuple[str, ...]
    sides: tuple[Held | None, Held | None, Held | None]
    question: str = ""


class NextAnswer(NamedTuple):
    """What is next, as the answer to a question that no side answers. item: a text that goes into
    the empty list; None where all is done: the list stays empty, and the fields that its
    requirement calls "empty_with" are set.
    """

    item: str | None


Decision = int | NextAnswer  # a side, or the answer to a question


class Clash(NamedTuple):
    """question: as in Conflict."""

    where: str
    ours: str
    theirs: str
    question: str = ""


class Decided(NamedTuple):
    """conflicts: all there were to decide, those that only came up with a decision included. sides:
    by `where`.
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
    return tuple(
        Clash(
            one.where,
            say_side(one.sides[OURS], limit),
            say_side(one.sides[THEIRS], limit),
            one.note,
        )
        for one in merged.conflicts
    )


def is_about(conflict: Conflict, where: str) -> bool:
    """Return whether a pointer names one of the conflict's places, or something that holds one. ""
    and "/" name all.
    """
    return where in ("", "/") or any(
        f"{place}/".startswith(f"{where}/") for place in conflict.places
    )


def decide(merged: Merged, decisions: Mapping[str, Decision], marker_size: int = 7) -> Merged:
    """The merge with the conflicts at these places decided; the others stay. decisions: the `where`
    of a conflict of `merged.conflicts`, and OURS, BASE or THEIRS, or an Answer. A side that has
    nothing at the place leaves nothing there; a side taken for a question leaves the empty list.
    Raises ValueError if the decided side has nothing and the place is the document.
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
    """Return the fields, by pointer, with which the list at this place may be empty; {} if nothing
    says so.
    """
    for requirement in merged.context.strategies.root.get(REQUIRE) or ():
        if requirement.get("where") == where:
            closing: Mapping[str, Any] = requirement.get("empty_with", {})
            return closing
    return {}


def _finish(result: "Result", closing: Mapping[str, Any]) -> None:
    entries = {entry.key: entry for entry in result.entries} if isinstance(result, Built) else {}
    for field, value in closing.items():
        if field[1:] in entries:
            entries[field[1:]].result = Fresh(value)


def _decided(result: "Result", decisions: Mapping[str, Decision]) -> "Result | None":
    if isinstance(result, Choice):
        decision = decisions.get(result.where)
        if decision is None:
            return result
        if isinstance(decision, NextAnswer):
            return Fresh([] if decision.item is None else [decision.item])
        chosen: Result | None = result.sides[decision]
        return chosen

    if not isinstance(result, Built):
        return result
    decided = [(entry, _decided(entry.result, decisions)) for entry in result.entries]
    entries = [Entry(entry.key, part, entry.source) for entry, part in decided if part is not None]
    return Built(result.anchor, entries, result.like, result.base)


def decide_each(
    merged: Merged, choose: Callable[[Conflict], Decision | None], size: int
) -> Decided:
    # Asks `choose` also for the conflicts that a decision brings up; None leaves one open
    sides: dict[str, Decision] = {}
    seen: dict[str, Conflict] = {}
    while fresh := [conflict for conflict in list_conflicts(merged) if _is_news(conflict, seen)]:
        for conflict in fresh:
            seen[conflict.where] = conflict
            sides.pop(conflict.where, None)
        chosen = {
            conflict.where: side for conflict in fresh if (side := choose(conflict)) is not None
        }
        if chosen:
            merged = decide(merged, chosen, size)
            sides.update(chosen)

    return Decided(merged, list(seen.values()), sides)


def _is_news(conflict: Conflict, seen: Mapping[str, Conflict]) -> bool:
    # a list that was in conflict itself may be asked about once it is decided
    known = seen.get(conflict.where)
    return known is None or bool(conflict.question and not known.question)


def decide_all(merged: Merged, side: int, size: int = 7) -> Merged:
    return decide_each(merged, lambda _: side, size).merged


def take_side(merged: Merged, side: int, size: int = 7) -> Merged:
    """Return the merge with every conflict decided for a side, except questions that no side
    answers.
    """
    return decide_each(merged, lambda conflict: None if conflict.question else side, size).merged


def _describe(choice: Choice, placed: Sequence[tuple[str, Choice]]) -> Conflict:
    if not choice.group:
        ours, base, theirs = (_held(choice, side) for side in SIDES)
        return Conflict(choice.where, (choice.where,), (ours, base, theirs), choice.note)

    disputed = [
        (place, member)
        for place, member in placed
        if member.group == choice.group and _held(member, OURS) != _held(member, THEIRS)
    ]
    if choice.group.endswith(PART):
        ours, base, theirs = (_held_items(placed, choice.group, side) for side in SIDES)
        return Conflict(choice.where, (choice.where,), (ours, base, theirs))

    ours, base, theirs = (_held_all(disputed, side) for side in SIDES)
    places = dict.fromkeys([choice.where, *(place for place, _ in disputed)])
    return Conflict(choice.where, tuple(places), (ours, base, theirs))


def _held_items(placed: Sequence[tuple[str, Choice]], group: str, side: int) -> Held | None:
    held = [_held(choice, side) for _, choice in placed if choice.group == group]
    items = [item.value for item in held if item is not None]
    return Held(items) if items else None


def _held_all(members: Sequence[tuple[str, Choice]], side: int) -> Held | None:
    held = {split_pointer(place)[-1]: _held(member, side) for place, member in members}
    present = {name: part.value for name, part in held.items() if part is not None}
    return Held(present) if present else None


def _held(choice: Choice, side: int) -> Held | None:
    result = choice.sides[side]
    return None if result is None else Held(value_of(result, side))


# A merge that is decided in several sittings needs no memory of its own: the text in the work tree
# says which of its conflicts are still marked and which side was taken for the others.
def find_choices(merged: Merged, text: str, size: int) -> dict[str, Decision] | None:
    """The decisions that turn the merge into this text; None if no decisions do, so that it was
    edited. A conflict that the text still marks, by its place behind the marker, is undecided.
    """
    start = "<" * size + " ours: "
    marked = [
        f" {line.removeprefix(start).rstrip(_ENDS)} "
        for line in split_lines(text)
        if line.startswith(start)
    ]
    sides: dict[str, Decision] = {}
    while merged.text != text:
        wheres = [choice.where for choice in merged.conflicts]
        missing = [
            where
            for where in wheres
            if not any(f" {label_of(where)} " in label for label in marked)
        ]
        if not missing or len(sides) >= _MOST_SEARCHED:
            return None
        wanted = split_sides(text, size).ours
        candidates: list[tuple[tuple[int, int], Decision, Merged]] = []
        for side in (*_read_answers(merged, missing[0], wanted), OURS, THEIRS, BASE):
            try:
                decided = decide(merged, {missing[0]: side}, size)
            except (ValueError, JsonTextError):  # that side has no document
                continue
            shown = _answer_as_written(decided, wanted, size)
            candidates.append(
                (_compare_texts(split_sides(shown.text, size).ours, wanted), side, decided)
            )
        if not candidates:
            return None
        _, decision, merged = max(candidates, key=lambda candidate: candidate[0])
        if isinstance(decision, NextAnswer) or missing[0] not in sides:
            # an emptied list that is asked about stays decided as it was
            sides[missing[0]] = decision

    return sides


def _answer_as_written(merged: Merged, text: str, size: int) -> Merged:
    # with the answers that a text seems to give to the questions that a decision brings up
    for choice in merged.conflicts:
        answers = _read_answers(merged, choice.where, text)
        if answers:
            return decide(merged, {choice.where: answers[0]}, size)
    return merged


def _read_answers(merged: Merged, where: str, text: str) -> list[Decision]:
    # what a text that was written by a decision may have put where no side answers
    choice = next(choice for choice in merged.conflicts if choice.where == where)
    if not choice.note:
        return []
    try:
        members = members_of(parse(decode(text.encode("utf-8", "surrogateescape"))))
    except JsonTextError:
        return []

    answers: list[Decision] = [NextAnswer(None)] if find_closing(merged, where) else []
    node = members.get(where[1:])
    value = None if node is None else node.value
    if type(value) is list and len(value) == 1 and type(value[0]) is str:
        return [NextAnswer(value[0]), *answers]
    return answers


def _compare_texts(one: str, other: str) -> tuple[int, int]:
    left, right = split_lines(one), split_lines(other)
    head, tail = _count_alike(left, right), _count_alike(left[::-1], right[::-1])
    if head == min(len(left), len(right)):
        return head + tail, 0
    first, second = left[head], right[head]
    last, other_last = left[len(left) - 1 - tail], right[len(right) - 1 - tail]
    return head + tail, _count_alike(first, second) + _count_alike(last[::-1], other_last[::-1])


def _count_alike(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next(
        (number for number, (one, other) in pairs if one != other), min(len(left), len(right))
    )


class ConflictSides(NamedTuple):
    """A text with conflict markers taken apart: with all of ours, with all of theirs, and the
    base's parts. whole_base: with all of base, None if a conflict shows none (git's style "merge").
    """

    ours: str
    theirs: str
    base: list[str]
    whole_base: str | None


def split_sides(text: str, size: int) -> ConflictSides:
    """Whatever the labels and the style (merge, diff3, zdiff3)."""
    kept: Mapping[int, list[str]] = {OURS: [], BASE: [], THEIRS: []}
    base: list[str] = []
    part: int | None = None
    count = 0
    for line in split_lines(text):
        turn = _turn(line, size, part)
        if turn is not None:
            part = turn[0]
            count += part == OURS
            base += [""] if part == BASE else []
            continue
        if part == BASE:
            base[-1] += line
        for side in SIDES if part is None else (part,):
            kept[side].append(line)

    ours, whole_base, theirs = ("".join(kept[side]) for side in SIDES)
    return ConflictSides(ours, theirs, base, whole_base if count == len(base) else None)


def _turn(line: str, size: int, part: int | None) -> tuple[int | None] | None:
    """(the part that begins with this line,), or None for a line that is not a marker where it
    is.
    """
    bare = line.rstrip(_ENDS)
    if part is None:
        return (OURS,) if bare.startswith("<" * size + " ") else None
    if bare == "|" * size or bare.startswith("|" * size + " "):
        return (BASE,) if part == OURS else None
    if bare == "=" * size:
        return (THEIRS,) if part in (OURS, BASE) else None
    return (None,) if part == THEIRS and bare.startswith(">" * size + " ") else None


def is_text_merge(text: str, base: str, with_ours: str, with_theirs: str, size: int) -> bool:
    """Return whether a text is a line merge's, with nothing else in it. with_ours, with_theirs:
    that merge with every conflict decided for one side; no style or level of zeal changes it.
    """
    sides = split_sides(text, size)
    pairs = ((sides.ours, with_ours), (sides.theirs, with_theirs))
    same = all(one.rstrip(_ENDS) == other.rstrip(_ENDS) for one, other in pairs)
    return same and all(part.rstrip(_ENDS) in base for part in sides.base)
