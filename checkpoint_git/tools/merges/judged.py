"""One file of a past merge: what the merge did to it, which damage a later version still shows, and both in words."""

from typing import Any, NamedTuple

from checkpoint_git.core.jsontext import load
from checkpoint_git.core.terminal_text import say_value
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.merges import Versions
from checkpoint_git.git.merges.suspects import read_later_versions
from checkpoint_git.git.run import Env
from checkpoint_git.merge.explain import VERSIONS, explain
from checkpoint_git.merge.explanation import SAID_ONCE, Comparison, Entry, Explanation
from checkpoint_git.merge.file import merge_bases
from checkpoint_git.merge.places import AUTO
from checkpoint_git.merge.verdict import FAILURES
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.registry import protocol_of

Schema = dict[str, Any]
Key = tuple[str, str | None, str | None, str | None]


class JudgedFile:
    """file: its versions in the merge. base: the merge base's version, of several bases their merge. found: what the
    merge did to every entry. damaged: the entries that were lost, duplicated or mixed up.
    """

    def __init__(self, file: Versions, schema: Schema, narrative: str = AUTO) -> None:
        self.file = file
        self.schema = schema
        self.narrative = narrative
        self.base = merge_bases(file.bases, schema)
        self.found = self.explain(file.result)
        self.is_readable = not any(version == "result" for version, _ in self.found.unreadable)
        self.damaged = list_damage(self.found)

    def explain(self, result: bytes | None) -> Explanation:
        return explain(self.base, self.file.first, self.file.second, result, self.schema, self.narrative)

    def read_left(
        self, version: bytes | None, merge: str, cwd: str, env: Env, head: str = "HEAD"
    ) -> list[Entry] | None:
        """find_left for a commit's version, without what came back since the merge and was removed later."""
        left = self.find_left(version)
        if not left or all(entry.verdict != "lost" for entry in left):
            return left
        for between in read_later_versions(cwd, merge, self.file.path, env, head):
            found = self.explain(between) if any(_may_hold(between, entry) for entry in left) else None
            if found is not None and not found.unreadable:
                keys = {key_of(entry) for entry in found.entries}
                left = [entry for entry in left if entry.verdict != "lost" or key_of(entry) in keys]
        return left

    def find_left(self, version: bytes | None) -> list[Entry] | None:
        """The damage that a present version of the file still shows; none where the file was removed since. None where
        that is unknown: the version is not JSON, and the merge's result was. What is missing in a later one went
        missing in the repair.
        """
        if self.file.result is not None and version is None:
            return []
        found = self.explain(version)
        if any(name == "result" for name, _ in found.unreadable):
            return None if self.is_readable else self.damaged
        known = {key_of(entry): entry for entry in self.damaged}
        now = {key_of(entry): entry for entry in list_damage(found) if entry.note != SAID_ONCE}
        return [known.get(key, entry) for key, entry in now.items() if key in known or not self.is_readable]


class Schemas:
    """The schemas of this clone's driver. strict: raise CheckpointError if its private one cannot be read."""

    def __init__(self, choices: Choices, *, strict: bool = False) -> None:
        self.choices = choices
        self._strict = strict
        self._known: dict[str | None, Schema] = {}

    def load(self, path: str) -> Schema:
        owner = protocol_of(path)
        if owner not in self._known:
            self._known[owner] = load_merge_schema(path, self.choices.schema, strict=self._strict)
        return self._known[owner]

    def judge(self, file: Versions) -> JudgedFile:
        return JudgedFile(file, self.load(file.path), self.choices.narrative)


def list_damage(found: Explanation) -> list[Entry]:
    return [entry for entry in found.entries if entry.verdict in FAILURES and not entry.name.endswith(" (order)")]


def key_of(entry: Entry) -> Key:
    if entry.verdict != "lost":
        return (entry.name, entry.verdict, entry.note, None)
    return (entry.name, entry.base, entry.first, entry.second)


def place_of(entry: Entry) -> str:
    is_gone_item = entry.verdict == "lost" and entry.result is None and entry.name.endswith("]")
    return entry.where.rpartition("/")[0] if is_gone_item else entry.where


def _may_hold(version: bytes, entry: Entry) -> bool:
    # whether a version could have an entry that was lost; a quick look that saves explaining most of them
    value = entry.second if entry.side == "second" else entry.first
    if entry.verdict != "lost" or value is None or "\\" in value:
        return entry.verdict == "lost"
    words = [word for word in value.split('"')[1::2] if word.isascii() and word.isprintable()]
    return all(word.encode() in version for word in words)


_ORDINALS = {1: "first", 2: "second", 3: "third"}


class Parents(NamedTuple):
    """Which parents of the merge are meant by "first" and "second", counted from 1: of an octopus, two of many. names:
    what they are called instead, where the sides are not parents of a commit.
    """

    first: int
    second: int
    names: tuple[str, str] = ("", "")

    def name(self, side: str) -> str:
        if side == "both":
            return "both sides" if self.names[0] else "both parents"
        name = self.names[0] if side == "first" else self.names[1]
        if name:
            return name
        number = self.first if side == "first" else self.second
        return f"the {_ORDINALS.get(number, f'{number}th')} parent"


def say_entry(entry: Entry, parents: Parents) -> str:
    return f"{entry.name}: {_say_verdict(entry, parents)}" + (f" ({entry.note})" if entry.note else "")


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
            return f"{kept} of {parents.name(entry.side)} was kept, {other} of {loser} was not"
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
        case "duplicated":
            return f"{result} is there again" if entry.result is not None else "something is there twice"
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
    stands = f"; {say_value(entry.result)} was kept" if entry.result is not None else ""
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
    known = entry.name.partition("[")[2].removesuffix("]").removesuffix("...")
    return bool(value and known) and (value or "").strip('"').startswith(known)


def describe_ours(ours: Comparison) -> str:
    if not ours.clean:
        return f"the checkpoint driver would ask for a decision: {_listed(ours.conflicts)}"
    if ours.same:
        return "the checkpoint driver makes the same of these versions"
    return f"the checkpoint driver merges these versions cleanly, with another result at {_listed(ours.differences)}"


def _listed(places: tuple[str, ...]) -> str:
    return ", ".join(place or "/" for place in places)


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
    data = entry._asdict()
    versions = {version: data.pop(version) for version in VERSIONS}
    values = {version: load(text) for version, text in versions.items() if text is not None}
    return {**data, "side": entry.side or None, "values": values}
