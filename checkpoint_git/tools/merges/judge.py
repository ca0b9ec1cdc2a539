"""The judge of merges: what a merge did to each entry of a document, whoever made it.

It compares the merge's inputs, its result, and what the merge rules make of the inputs. Pure: it
reads no file and no repository. The rules are those of `merge.file`, so the driver's own merges
are never compared with other rules.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from checkpoint_git.core.jsontext import JsonTextError, Node, decode, join_pointer, parse
from checkpoint_git.merge.conflicts import decide_all
from checkpoint_git.merge.file import Merged, merge_documents
from checkpoint_git.merge.places import AUTO
from checkpoint_git.merge.result import OURS, THEIRS, is_same, members_of
from checkpoint_git.merge.strategy import Schema
from checkpoint_git.tools.merges.verdict import DOUBTFUL, FAILURES, PlaceVersions, Verdict
from checkpoint_git.tools.merges.walk import THE_FILE, EntryVersions, Walk


class MergeComparison(NamedTuple):
    """The result beside what the merge rules make of the same versions.

    conflicts: the places that the rules leave to the user.
    differences: the places where the result differs, if the rules leave none to the user.
    """

    clean: bool
    same: bool
    conflicts: tuple[str, ...]
    differences: tuple[str, ...]


class Judged(NamedTuple):
    """The verdict on a file.

    entries: those that changed on either side or in the merge, without those on which both parents
    agree. agreed: how many these are.
    unreadable: (version, reason) for each version that is not JSON; with such an input, nothing is
    known. ours: None if one side has no file.
    """

    entries: tuple[EntryVersions, ...]
    agreed: int
    unreadable: tuple[tuple[str, str], ...]
    ours: MergeComparison | None

    @property
    def has_failed(self) -> bool:
        return any(entry.verdict in FAILURES for entry in self.entries)

    @property
    def is_doubtful(self) -> bool:
        return any(entry.verdict in DOUBTFUL for entry in self.entries)

    @property
    def damage(self) -> list[EntryVersions]:
        """Return the entries that were lost, duplicated or mixed up; a lost order is not one."""
        return [
            entry
            for entry in self.entries
            if entry.verdict in FAILURES and not entry.name.endswith(" (order)")
        ]


class MergeJudge:
    """The inputs of one merge, read once, to judge any version of the file as its result.

    base, first, second: the file's bytes in the merge base and both parents, None for no such
    file.
    merged: what the merge rules make of them; None if a side has no file, or is not JSON.
    """

    def __init__(
        self,
        base: bytes | None,
        first: bytes | None,
        second: bytes | None,
        schema: Schema,
        narrative: str = AUTO,
    ) -> None:
        self.schema = schema
        self.unreadable: list[tuple[str, str]] = []
        self.base = self._read("base", base)
        self.first = self._read("first", first)
        self.second = self._read("second", second)
        self.merged: Merged | None = None
        if self.first is not None and self.second is not None and not self.unreadable:
            self.merged = merge_documents(self.base, self.first, self.second, schema, narrative)

    def _read(self, version: str, data: bytes | None) -> Node | None:
        try:
            return _parse_file(data)
        except JsonTextError as error:
            self.unreadable.append((version, error.message))
            return None

    @cached_property
    def right(self) -> tuple[Node | None, Node | None]:
        """Return what the rules make of the file, with its conflicts decided for the first side
        and with its conflicts decided for the second.
        """
        if self.merged is not None:
            for_first = parse(decide_all(self.merged, OURS).text)
            if not self.merged.conflicts:
                return for_first, for_first
            return for_first, parse(decide_all(self.merged, THEIRS).text)

        if is_same(self.first, self.base):
            return self.second, self.second
        if is_same(self.second, self.base):
            return self.first, self.first
        return self.first, self.second

    def judge(self, result: bytes | None) -> Judged:
        """Return what the merge did, given the file's bytes in its result. Raises nothing."""
        try:
            root = _parse_file(result)
        except JsonTextError as error:
            unreadable = (*self.unreadable, ("result", error.message))
            return Judged((_blame_text(error),), 0, unreadable, None)
        if self.unreadable:
            return Judged((), 0, tuple(self.unreadable), None)

        walk = Walk(
            self.schema, PlaceVersions(self.base, self.first, self.second, root, *self.right)
        )
        return Judged(tuple(walk.entries), walk.agreed, (), self._compare(root))

    def _compare(self, result: Node | None) -> MergeComparison | None:
        if self.merged is None or result is None:
            return None
        if self.merged.conflicts:
            conflicts = tuple(conflict.where for conflict in self.merged.conflicts)
            return MergeComparison(False, False, conflicts, ())
        differences = tuple(_find_differences("", self.right[0], result))
        return MergeComparison(True, not differences, (), differences)


def judge_merge(
    base: bytes | None,
    first: bytes | None,
    second: bytes | None,
    result: bytes | None,
    schema: Schema,
    narrative: str = AUTO,
) -> Judged:
    """Return what one merge did to a file, given the bytes of its versions."""
    return MergeJudge(base, first, second, schema, narrative).judge(result)


def _parse_file(data: bytes | None) -> Node | None:
    """Return the root of a file's document, None for no file. Raises JsonTextError."""
    if data is None:
        return None
    return parse(decode(data))


def _blame_text(error: JsonTextError) -> EntryVersions:
    verdict: Verdict = "mixed-up"
    if error.code == "json/duplicate-key":
        verdict = "duplicated"

    note = f"the result cannot be read: line {error.line}: {error.message}"
    nothing = PlaceVersions(None, None, None, None)
    return EntryVersions("", THE_FILE, verdict, "", note, None, None, None, None, nothing, None)


def _find_differences(where: str, node: Node | None, other: Node | None) -> Iterator[str]:
    # the places at which two documents differ; lists are not looked into
    if is_same(node, other):
        return
    if not _is_object(node) or not _is_object(other):
        yield where
        return
    before, after = members_of(node), members_of(other)
    for key in {**before, **after}:
        yield from _find_differences(join_pointer(where, key), before.get(key), after.get(key))


def _is_object(node: Node | None) -> bool:
    return node is not None and type(node.members) is dict
