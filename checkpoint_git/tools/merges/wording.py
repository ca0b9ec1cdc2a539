"""What happened to an entry in a merge, in words."""

from typing import NamedTuple

from checkpoint_git.core.terminal_text import say_value
from checkpoint_git.tools.merges.judge import MergeComparison
from checkpoint_git.tools.merges.verdict import OTHER
from checkpoint_git.tools.merges.walk import EntryVersions

_ORDINALS = {1: "first", 2: "second", 3: "third"}


class Parents(NamedTuple):
    """The numbers of the merge's parents that are called "first" and "second", counted from 1.

    names: what they are called instead, if the sides are not parents of a commit.
    """

    first: int
    second: int
    names: tuple[str, str] = ("", "")

    def name(self, side: str) -> str:
        """Return the name of "first", "second" or "both" in a sentence."""
        if side == "both":
            return "both sides" if self.names[0] else "both parents"

        name, number = self.names[1], self.second
        if side == "first":
            name, number = self.names[0], self.first
        if name:
            return name
        ordinal = _ORDINALS.get(number, f"{number}th")
        return f"the {ordinal} parent"


def say_entry(entry: EntryVersions, parents: Parents) -> str:
    text = f"{entry.name}: {_say_verdict(entry, parents)}"
    return f"{text} ({entry.note})" if entry.note else text


def _say_verdict(entry: EntryVersions, parents: Parents) -> str:
    value = say_value(_find_lost_value(entry))
    match entry.verdict:
        case "first" | "second":
            return _say_taken(entry, parents.name(entry.verdict))
        case "lost":
            return _say_lost(entry, parents)
        case "decided":
            return _say_decided(entry, parents)
        case "combined":
            first, second = say_value(entry.first), say_value(entry.second)
            return f"{say_value(entry.result)}, made of {first} and {second}"
        case "limited":
            return f"{value} was cut off at the end of a full list"
        case "moved":
            return f"{value} is in another place"
        case "edited" if entry.result is None:
            return f"{value} was changed in the merge"

    return _say_result(entry, parents)


def _say_result(entry: EntryVersions, parents: Parents) -> str:
    # the result has a value that neither parent has
    result = say_value(entry.result)
    subject = ""
    # the name of an item that is known by all its members shows it already
    if entry.result is not None and not _is_named(entry, entry.result):
        subject = f"{result} is "

    match entry.verdict:
        case "edited":
            return f"{subject}no parent's: written in the merge"
        case "came-back":
            return f"{subject}back, though {parents.name(entry.side)} finished it"
        case "resurrected":
            return f"{subject}back, though {parents.name(entry.side)} removed it"
        case "duplicated" if entry.result is None:
            return "something appears twice"
        case "duplicated":
            return f"{result} is back"

    if entry.result is None:
        return "no document"
    return f"{result} is made of two records"


def _find_lost_value(entry: EntryVersions) -> str | None:
    return entry.second if entry.first is None else entry.first


def _say_decided(entry: EntryVersions, parents: Parents) -> str:
    kept, other = say_value(entry.second), say_value(entry.first)
    if entry.side == "first":
        kept, other = other, kept
    winner = parents.name(entry.side)
    loser = parents.name(OTHER[entry.side])
    return f"{kept} of {winner} was kept, {other} of {loser} was not"


def _say_taken(entry: EntryVersions, parent: str) -> str:
    value = entry.second
    if entry.verdict == "first":
        value = entry.first
    if value is None:
        return f"removed, as by {parent}"
    if _is_named(entry, value):
        return f"from {parent}"
    if entry.base is None:
        return f"{say_value(value)}, from {parent}"
    return f"{say_value(value)}, as {parent} changed it"


def _say_lost(entry: EntryVersions, parents: Parents) -> str:
    rest = ""
    if entry.result is not None:
        rest = f"; {say_value(entry.result)} was kept"
    if entry.side == "both" and entry.first != entry.second:
        first, second = say_value(entry.first), say_value(entry.second)
        return f"{first} of {parents.name('first')} and {second} of the other are gone{rest}"

    value = entry.first
    if entry.side == "second":
        value = entry.second
    if entry.base is not None and value == entry.base:
        return f"{say_value(value)}, which {parents.name('both')} kept, is gone{rest}"
    if _is_named(entry, value):
        return f"gone, though {parents.name(entry.side)} added it"
    return f"{say_value(value)} of {parents.name(entry.side)} is gone{rest}"


def _is_named(entry: EntryVersions, value: str | None) -> bool:
    """Whether the entry's name, such as `next_actions[Fix it]`, shows a value already."""
    known = entry.name.partition("[")[2].removesuffix("]").removesuffix("...")
    if not value or not known:
        return False
    return value.strip('"').startswith(known)


def describe_ours(ours: MergeComparison) -> str:
    if not ours.clean:
        return f"the checkpoint driver would ask for a decision: {_join(ours.conflicts)}"
    if ours.same:
        return "the checkpoint driver gets the same result"
    places = _join(ours.differences)
    return f"the checkpoint driver merges these versions cleanly, with another result at {places}"


def _join(places: tuple[str, ...]) -> str:
    return ", ".join(place or "/" for place in places)
