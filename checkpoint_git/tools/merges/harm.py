"""One file of a past merge held against what it became later: which harm was done, and which of it still stands.

It reads nothing and tells nobody: versions of files in, entries out.
"""

from collections.abc import Iterable
from typing import Any

from checkpoint_git.git.merges.merges import Versions
from checkpoint_git.merge.explain import explain
from checkpoint_git.merge.explanation import Entry, Explanation
from checkpoint_git.merge.file import merge_bases
from checkpoint_git.merge.places import CONFLICT
from checkpoint_git.merge.verdict import FAILURES

Key = tuple[str, str | None, str | None, str | None]


class Judged:
    """One file of a merge, and what the merge did to it. harmed: the entries that were lost, doubled or blended.

    found: the whole explanation. base: the merge base's version, of several bases their merge.
    """

    def __init__(self, file: Versions, schema: dict[str, Any], narrative: str = CONFLICT) -> None:
        self.file = file
        self.schema = schema
        self.narrative = narrative
        self.base = merge_bases(file.bases, schema)
        self.found = self.explain(file.result)
        self.is_readable = not any(version == "result" for version, _ in self.found.unreadable)
        self.harmed = list_harm(self.found)

    def explain(self, result: bytes | None) -> Explanation:
        """What the merge would have done, had this been its result."""
        return explain(self.base, self.file.first, self.file.second, result, self.schema, self.narrative)

    def find_left(self, version: bytes | None) -> list[Entry] | None:
        """The harm that a present version of the file still shows; none where the file was removed since.

        None where nothing can be told, from a version that is no JSON, unless the merge left none either. What is
        missing in a later one then went missing in mending it.
        """
        if self.file.result is not None and version is None:
            return []
        found = self.explain(version)
        if any(name == "result" for name, _ in found.unreadable):
            return None if self.is_readable else self.harmed
        known = {key_of(entry): entry for entry in self.harmed}
        now = {key_of(entry): entry for entry in list_harm(found)}
        return [known.get(key, entry) for key, entry in now.items() if key in known or not self.is_readable]

    def find_never_back(self, entries: list[Entry], versions: Iterable[bytes]) -> list[Entry]:
        """The entries without those that were lost and came back in one of the versions, to be removed later."""
        for version in versions:
            if not any(_may_hold(version, entry) for entry in entries):
                continue
            found = self.explain(version)
            if not found.unreadable:
                keys = {key_of(entry) for entry in found.entries}
                entries = [entry for entry in entries if entry.verdict != "lost" or key_of(entry) in keys]
        return entries


def list_harm(found: Explanation) -> list[Entry]:
    """The entries that a merge harmed; that a list stands in another order is no harm."""
    return [entry for entry in found.entries if entry.verdict in FAILURES and not entry.name.endswith(" (order)")]


def key_of(entry: Entry) -> Key:
    """What an entry is known by from one version of a file to the next."""
    if entry.verdict != "lost":
        return (entry.name, entry.verdict, entry.note, None)
    return (entry.name, entry.base, entry.first, entry.second)


def place_of(entry: Entry) -> str:
    """Where to look in the present document: for an item of a list that is gone, at the list."""
    return entry.where.rpartition("/")[0] if is_gone_item(entry) else entry.where


def is_gone_item(entry: Entry) -> bool:
    """Whether the entry is an item that its list has lost."""
    return entry.verdict == "lost" and entry.result is None and entry.name.endswith("]")


def _may_hold(version: bytes, entry: Entry) -> bool:
    """Whether a version could have an entry that was lost; a quick look that saves explaining most of them."""
    value = entry.second if entry.side == "second" else entry.first
    words = [word for word in (value or "").split('"')[1::2] if word.isascii() and word.isprintable()]
    plain = [word for word in words if "\\" not in word]
    return entry.verdict == "lost" and (value is None or "\\" in value or all(one.encode() in version for one in plain))
