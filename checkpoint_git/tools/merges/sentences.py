"""An explanation of a merge in words and as data: one sentence an entry, for people and for programs."""

from typing import Any, NamedTuple

from checkpoint_git.core.jsontext import load
from checkpoint_git.core.terminal_text import say_value
from checkpoint_git.git.merges.merges import Versions
from checkpoint_git.merge.explanation import Comparison, Entry, Explanation

_ORDINALS = {1: "first", 2: "second", 3: "third"}


class Parents(NamedTuple):
    """Which parents of the merge are meant by "first" and "second", counted from 1: of an octopus, two of many.

    names: what they are called instead, where the sides are not parents of a commit.
    """

    first: int
    second: int
    names: tuple[str, str] = ("", "")

    def name(self, side: str) -> str:
        """A parent as the sentences call it."""
        if side == "both":
            return "both sides" if self.names[0] else "both parents"
        name = self.names[0] if side == "first" else self.names[1]
        if name:
            return name
        number = self.first if side == "first" else self.second
        return f"the {_ORDINALS.get(number, f'{number}th')} parent"


def say_entry(entry: Entry, parents: Parents) -> str:
    """One sentence: the entry's name, what happened to it, why."""
    note = f" ({entry.note})" if entry.note else ""
    return f"{entry.name}: {_say_verdict(entry, parents)}{note}"


def _say_verdict(entry: Entry, parents: Parents) -> str:
    first, second, result = (say_value(value) for value in (entry.first, entry.second, entry.result))
    value = entry.second if entry.first is None else entry.first
    # the name says already what an item is that is known by all that it holds
    stands = "" if entry.result is None or _is_named(entry, entry.result) else f"{result} is "
    match entry.verdict:
        case "first" | "second":
            return _say_taken(entry, parents.name(entry.verdict))
        case "lost":
            return _say_lost(entry, parents)
        case "combined":
            return f"{result}, made of {first} and {second}"
        case "decided":
            kept, other = (first, second) if entry.side == "first" else (second, first)
            loser = parents.name("second" if entry.side == "first" else "first")
            return f"{kept} of {parents.name(entry.side)} stands, {other} of {loser} does not"
        case "limited":
            return f"{say_value(value)} was cut off at the end of a full list"
        case "moved":
            return f"{say_value(value)} is in another place"
        case "edited" if entry.result is None:
            return f"{say_value(value)} was changed in the merge"
        case "edited":
            return f"{stands}no parent's: written in the merge"
        case "resurrected":
            return f"{stands}back, though {parents.name(entry.side)} removed it"
        case "doubled":
            return f"{result} stands there again" if entry.result is not None else "something stands there twice"
        case _:
            return f"{result} is made of two records" if entry.result is not None else "no document"


def _say_taken(entry: Entry, who: str) -> str:
    value = entry.first if entry.verdict == "first" else entry.second
    if value is None:
        return f"removed, as by {who}"
    if _is_named(entry, value):
        return f"from {who}"
    return f"{say_value(value)}, from {who}" if entry.base is None else f"{say_value(value)}, as {who} changed it"


def _say_lost(entry: Entry, parents: Parents) -> str:
    stands = f"; {say_value(entry.result)} stands" if entry.result is not None else ""
    if entry.side == "both" and entry.first != entry.second:
        said = f"{say_value(entry.first)} of {parents.name('first')} and {say_value(entry.second)} of the other"
        return f"{said} are gone{stands}"
    value = entry.second if entry.side == "second" else entry.first
    if entry.base is not None and value == entry.base:
        return f"{say_value(value)}, which {parents.name('both')} kept, is gone{stands}"
    if _is_named(entry, value):
        return f"gone, though {parents.name(entry.side)} added it"
    return f"{say_value(value)} of {parents.name(entry.side)} is gone{stands}"


def _is_named(entry: Entry, value: str | None) -> bool:
    """Whether the entry's name says the value already: an item of a list that is known by all that it holds."""
    known = entry.name.partition("[")[2].removesuffix("]").removesuffix("...")
    return bool(value and known) and (value or "").strip('"').startswith(known)


def describe_ours(ours: Comparison) -> str:
    if not ours.clean:
        return f"the checkpoint driver would leave to a person: {_listed(ours.conflicts)}"
    if ours.same:
        return "the checkpoint driver makes the same of these versions"
    return f"the checkpoint driver merges these versions cleanly, with another result at {_listed(ours.differences)}"


def _listed(places: tuple[str, ...]) -> str:
    return ", ".join(place or "/" for place in places)


# for programs


def file_data(file: Versions, found: Explanation) -> dict[str, Any]:
    return {
        "path": file.path,
        "old_path": file.old_path or None,
        "parents": list(file.parents),
        "agreed": found.agreed,
        "unreadable": [{"version": version, "message": message} for version, message in found.unreadable],
        "entries": [_entry_data(entry) for entry in found.entries],
        "driver": None if found.ours is None else found.ours._asdict(),
    }


def _entry_data(entry: Entry) -> dict[str, Any]:
    """values: only the versions that have the entry, so that absent differs from null."""
    versions = {"base": entry.base, "first": entry.first, "second": entry.second, "result": entry.result}
    return {
        "where": entry.where,
        "name": entry.name,
        "verdict": entry.verdict,
        "side": entry.side or None,
        "note": entry.note,
        "values": {version: load(text) for version, text in versions.items() if text is not None},
    }
