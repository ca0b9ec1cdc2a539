"""What is said of a merge that was made: its entries with their verdicts, and the context in which they are found."""

from typing import NamedTuple

from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.merge.items import canonical_text
from checkpoint_git.merge.records import list_texts
from checkpoint_git.merge.strategy import Schema, Strategies
from checkpoint_git.merge.verdict import DOUBTFUL, FAILURES, Judgement, Side, Sides, Verdict

THE_FILE = "(the file)"
SAID_ONCE = "one of several alike, and another is there"  # a copy is lost, and what it said is not


class Entry(NamedTuple):
    """where: a JSON Pointer into the result, or into the version that has it. name: the same as people say it, items of
    lists by what identifies them. side and note: see verdict.Judgement. The four values are canonical JSON, None where
    the entry is absent.
    """

    where: str
    name: str
    verdict: Verdict
    side: Side
    note: str
    base: str | None
    first: str | None
    second: str | None
    result: str | None


class Comparison(NamedTuple):
    """What our own merge makes of the same versions. same: whether the result holds the same. conflicts: the places
    that it would leave to the user. differences: the places where the result holds something else, for a clean merge
    that is not the same.
    """

    clean: bool
    same: bool
    conflicts: tuple[str, ...]
    differences: tuple[str, ...]


class Explanation(NamedTuple):
    """entries: what changed on either side or in the merge, in the result's order, without what both parents agree on.
    agreed: how many entries those are. unreadable: (version, what is wrong with it) of the versions that are not JSON;
    with one of them a parent or the base, there are no entries. ours: None where one side has no file.
    """

    entries: tuple[Entry, ...]
    agreed: int
    unreadable: tuple[tuple[str, str], ...]
    ours: Comparison | None

    @property
    def has_failed(self) -> bool:
        return any(entry.verdict in FAILURES for entry in self.entries)

    @property
    def is_doubtful(self) -> bool:
        return any(entry.verdict in DOUBTFUL for entry in self.entries)


class Place(NamedTuple):
    schema: "Schema"
    where: str
    name: str

    def member(self, strategies: Strategies, key: str) -> "Place":
        name = f"{self.name}.{key}" if self.name else key
        return Place(strategies.member(self.schema, key), join_pointer(self.where, key), name)


class ExplainContext:
    __slots__ = ("_texts", "agreed", "entries", "roots", "strategies")

    def __init__(self, schema: "Schema", roots: Sides) -> None:
        self.strategies = Strategies(schema)
        self.roots = roots
        self.entries: list[Entry] = []
        self.agreed = 0
        self._texts: dict[str, list[str]] = {}

    def find_texts(self, text: str) -> list[str]:
        """Where the result has a sentence (canonical JSON)."""
        if not self._texts and self.roots.result is not None:
            for found, where in list_texts(self.roots.result):
                self._texts.setdefault(found, []).append(where)
        return self._texts.get(text, [])

    def note(self, place: Place, sides: Sides, found: Judgement) -> None:
        if found.verdict == "agreed":
            self.agreed += 1
        else:
            values = (None if node is None else canonical_text(node.value) for node in sides)
            self.entries.append(Entry(place.where, place.name or THE_FILE, *found, *values))
