"""Make conflicts of what the user's schema refuses in the merge of two sides that it accepts."""

from checkpoint_git.core.jsontext import join_pointer, split_pointer
from checkpoint_git.merge.result import OURS, THEIRS, Built, Choice, is_same, members_of, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from checkpoint_git.merge.places import MergeContext
    from checkpoint_git.merge.result import Entry, Result

    Judge = Callable[[Any], list[str]]  # lists the places at which a document breaks a schema

# each takes a few looks at the document; if more are wrong, the document is the conflict
_MOST_PLACES = 8


def enforce_schema(judge: "Judge", result: "Result", context: "MergeContext") -> "Result":
    """Return the result with a conflict at each place that makes it invalid.

    judge: lists the places at which a document, numbers as tokens, breaks the schema. A side that
    is invalid itself is to blame, and not the merge: then nothing is changed.
    """
    wrong = _find_wrong(judge, result)
    if not wrong or judge(context.ours.value) or judge(context.theirs.value):
        return result
    for _ in range(_MOST_PLACES):
        if not _ask_at(judge, result, wrong[0]):
            break
        wrong = _find_wrong(judge, result)
        if not wrong:
            return result

    return Choice("", context.ours, context.base, context.theirs)


def _find_wrong(judge: "Judge", result: "Result") -> "list[tuple[str, int]]":
    """Return the places at which the result is invalid with ours taken for its conflicts, each
    with OURS; if there are none, those with theirs taken.
    """
    found = [(where, OURS) for where in judge(value_of(result, OURS))]
    return found or [(where, THEIRS) for where in judge(value_of(result, THEIRS))]


def _ask_at(judge: "Judge", result: "Result", wrong: "tuple[str, int]") -> bool:
    """Make the smallest conflict around a place after which no side is invalid there.

    Returns whether there is one.
    """
    where, side = wrong
    for entry, choice in reversed(_list_candidates(result, where, side)):
        before = entry.result
        entry.result = choice
        wrong_places = [place for place, _ in _find_wrong(judge, result)]
        if not any(_is_within(place, choice.where) for place in wrong_places):
            return True
        entry.result = before

    return False


def _is_within(place: str, where: str) -> bool:
    """Whether one place is in the other.

    What is wrong with a container may be put right by a conflict inside it: then it must be gone,
    too.
    """
    return f"{place}/".startswith(f"{where}/") or f"{where}/".startswith(f"{place}/")


def _list_candidates(result: "Result", where: str, side: int) -> "list[tuple[Entry, Choice]]":
    """Return the entries on the way to a place, from the root, each with a possible conflict."""
    found: list[tuple[Entry, Choice]] = []
    pointer = ""
    part: Any = result
    for key in split_pointer(where):
        entry = _find_entry(part, key, side)
        if entry is None:
            break
        pointer = join_pointer(pointer, key)
        versions = _find_versions(part, entry)
        if versions is not None:
            found.append((entry, Choice(pointer, *versions)))
        part = entry.result

    return found


def _find_entry(part: "Any", key: str, side: int) -> "Entry | None":
    if type(part) is not Built:
        return None
    if type(part.anchor.value) is dict:
        return next((entry for entry in part.entries if entry.key == key), None)
    # a list is counted as the side has it
    present = [
        entry
        for entry in part.entries
        if type(entry.result) is not Choice or entry.result.sides[side]
    ]
    if key.isdecimal() and int(key) < len(present):
        return present[int(key)]
    return None


def _find_versions(part: Built, entry: "Entry") -> "tuple[Any, Any, Any] | None":
    """Return what ours, base and theirs have for an entry; None if that is not known, or equal."""
    versions: tuple[Any, Any, Any]
    if type(entry.result) is Built:
        versions = (entry.result.anchor, entry.result.base, entry.result.like)
    elif entry.key is not None:
        ours, base, theirs = [
            members_of(node).get(entry.key) for node in (part.anchor, part.base, part.like)
        ]
        versions = (ours, base, theirs)
    else:
        return None

    if is_same(versions[0], versions[2]):
        return None
    return versions
