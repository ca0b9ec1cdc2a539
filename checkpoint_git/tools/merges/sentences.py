"""An explanation of a merge in words and as data: one sentence an entry, for people and for programs."""

from collections.abc import Callable
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
    return f"{entry.name}: {_SENTENCES[entry.verdict](entry, parents)}{note}"


def _taken(entry: Entry, parents: Parents) -> str:
    value = entry.first if entry.verdict == "first" else entry.second
    who = parents.name(entry.verdict)
    if value is None:
        return f"removed, as by {who}"
    if _is_named(entry, value):
        return f"from {who}"
    return f"{say_value(value)}, from {who}" if entry.base is None else f"{say_value(value)}, as {who} changed it"


def _decided(entry: Entry, parents: Parents) -> str:
    other = "second" if entry.side == "first" else "first"
    stands, gone = (entry.first, entry.second) if entry.side == "first" else (entry.second, entry.first)
    return (
        f"{say_value(stands)} of {parents.name(entry.side)} stands, {say_value(gone)} of {parents.name(other)} does not"
    )


def _lost(entry: Entry, parents: Parents) -> str:
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


def _resurrected(entry: Entry, parents: Parents) -> str:
    value = "" if _is_named(entry, entry.result) else f"{say_value(entry.result)} is "
    return f"{value}back, though {parents.name(entry.side)} removed it"


def _edited(entry: Entry, parents: Parents) -> str:
    if entry.result is None:
        return f"{say_value(entry.first or entry.second)} was changed in the merge"
    value = "" if _is_named(entry, entry.result) else f"{say_value(entry.result)} is "
    return f"{value}no parent's: written in the merge"


_SENTENCES: dict[str, Callable[[Entry, Parents], str]] = {
    "first": _taken,
    "second": _taken,
    "combined": lambda entry, parents: (
        f"{say_value(entry.result)}, made of {say_value(entry.first)} and {say_value(entry.second)}"
    ),
    "decided": _decided,
    "limited": lambda entry, parents: f"{say_value(entry.first or entry.second)} was cut off at the end of a full list",
    "moved": lambda entry, parents: f"{say_value(entry.first or entry.second)} is in another place",
    "edited": _edited,
    "resurrected": _resurrected,
    "lost": _lost,
    "doubled": lambda entry, parents: (
        f"{say_value(entry.result)} stands there again" if entry.result is not None else "something stands there twice"
    ),
    "blended": lambda entry, parents: (
        f"{say_value(entry.result)} is made of two records" if entry.result is not None else "no document"
    ),
}


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
