"""Turn the judge's verdict on one file of a merge into hits to report."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.jsonplace import locate_all
from checkpoint_git.core.jsontext import JsonTextError, decode, load, scan_tokens
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.merges import Versions
from checkpoint_git.merge.file import merge_bases
from checkpoint_git.merge.places import AUTO
from checkpoint_git.merge.strategy import Schema
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.registry import protocol_of
from checkpoint_git.tools.merges.judge import Judged, MergeJudge
from checkpoint_git.tools.merges.verdict import PlaceVersions
from checkpoint_git.tools.merges.walk import THE_FILE, EntryVersions
from checkpoint_git.tools.merges.wording import Parents, say_entry

Kind = Literal[
    "conflict",
    "not-json",
    "duplicate-key",
    "lost",
    "came-back",
    "duplicated",
    "mixed-up",
    "undecided",
    "differs",
]
How = Literal["foreseen", "lines", "hand", "changed", "dropped", "unknown"]
Key = tuple[str, str | None, str | None, str | None]
Pointed = Iterable[tuple[str, Any]]  # values, each with a JSON Pointer

_DAMAGE: dict[str, Kind] = {
    "lost": "lost",
    "came-back": "came-back",
    "duplicated": "duplicated",
    "mixed-up": "mixed-up",
}
_DAMAGE_OF_TEXT: dict[str, Kind] = {"duplicated": "duplicate-key", "mixed-up": "not-json"}


class Hit(NamedTuple):
    """One thing that is reported about a file.

    where: a JSON Pointer. name: of the entry, "" for the file. sentence: what happened.
    side: the parent that has the entry, "first", "second", "both" or "".
    is_meant: it looks deliberate. line: in the file, from 1; 0 if unknown.
    entry: None if the whole result is compared.
    """

    kind: Kind
    path: str
    where: str
    name: str
    sentence: str
    side: str = ""
    is_meant: bool = False
    line: int = 0
    entry: EntryVersions | None = None


class AuditedFile:
    """One file of a merge.

    base: the merge base's version; of several bases their merge.
    how: how its result was made; None if that was not found out.
    hits: what is reported about it.
    """

    def __init__(self, file: Versions, schema: Schema, narrative: str = AUTO) -> None:
        self.file = file
        self.base = merge_bases(file.bases, schema)
        self.judge = MergeJudge(self.base, file.first, file.second, schema, narrative)
        self.how: How | None = None
        self.hits: Sequence[Hit] = ()

    @cached_property
    def found(self) -> Judged:
        return self.judge.judge(self.file.result)

    def release_trees(self) -> None:
        """Keep what is shown of the file, and release its parsed versions: a range has many."""
        nothing = PlaceVersions(None, None, None, None)
        entries = tuple(entry._replace(sides=nothing, item=None) for entry in self.found.entries)
        self.found = self.found._replace(entries=entries)
        del self.judge

    @property
    def is_readable(self) -> bool:
        return not any(version == "result" for version, _ in self.found.unreadable)

    @property
    def is_by_rules(self) -> bool:
        """Whether the result is what the merge rules make, byte for byte: nothing is wrong."""
        merged = self.judge.merged
        if merged is None or merged.conflicts:
            return False
        return merged.data == self.file.result

    @property
    def is_suspect(self) -> bool:
        """Whether the file is damaged, or at least not what the merge rules make."""
        if self.is_by_rules:
            return False
        return bool(self.found.damage) or self.found.ours is None or not self.found.ours.same


class Schemas:
    """The schemas of this clone's driver. strict: raise CheckpointError for an unreadable one."""

    def __init__(self, choices: Choices, *, strict: bool = False) -> None:
        self.choices = choices
        self._strict = strict
        self._known: dict[str | None, Schema] = {}

    def load(self, path: str) -> Schema:
        owner = protocol_of(path)
        if owner not in self._known:
            schema = load_merge_schema(path, self.choices.schema, strict=self._strict)
            self._known[owner] = schema
        return self._known[owner]

    def audit(self, file: Versions) -> AuditedFile:
        return AuditedFile(file, self.load(file.path), self.choices.narrative)


def key_of(entry: EntryVersions) -> Key:
    """Return what identifies an entry's damage in a file."""
    if entry.verdict != "lost":
        return (entry.name, entry.verdict, entry.note, None)
    return (entry.name, entry.base, entry.first, entry.second)


# hits


def find_hits(audited: AuditedFile, parents: Parents) -> list[Hit]:
    """Return what is to be reported about a file.

    If a machine made the result, it is also compared with the rules, place by place.
    """
    unreadable = {version for version, _ in audited.found.unreadable}
    if unreadable - {"result"}:
        return []

    is_free = audited.how in ("changed", "dropped")
    hits = [make_hit(audited, entry, parents, is_free) for entry in audited.found.damage]
    if audited.how in ("lines", "foreseen") and not unreadable:
        hits += _find_strange(audited, parents, hits)
        hits += _find_followed(audited, parents)

    # a merge that is only predicted has no result to show: the lines are the head branch's
    shown = audited.file.result
    if audited.how == "foreseen":
        shown = audited.file.second
    return place_lines(shown, hits)


def make_hit(
    audited: AuditedFile, entry: EntryVersions, parents: Parents, is_free: bool = False
) -> Hit:
    """Return an entry's damage as a hit. is_free: somebody changed the result without need, so
    that a loss seems to be meant.
    """
    path = audited.file.path
    if entry.name == THE_FILE and not audited.is_readable:
        return Hit(_DAMAGE_OF_TEXT[entry.verdict], path, "", "", entry.note, entry=entry)
    return Hit(
        _DAMAGE[entry.verdict],
        path,
        _place_of(entry),
        entry.name,
        say_entry(entry, parents),
        entry.side,
        is_meant=is_free and entry.verdict != "duplicated",
        entry=entry,
    )


def _place_of(entry: EntryVersions) -> str:
    # an item that is gone has no place: its list has one
    if entry.verdict == "lost" and entry.result is None and entry.item is not None:
        return entry.where.rpartition("/")[0]
    return entry.where


def _find_strange(audited: AuditedFile, parents: Parents, known: Sequence[Hit]) -> Iterator[Hit]:
    """Yield a hit for each place that differs from the rules and has no known hit near it."""
    ours = audited.found.ours
    if ours is None or ours.same:
        return

    kind: Kind = "undecided"
    places = ours.conflicts
    if ours.clean:
        kind = "differs"
        places = ours.differences

    known_hits = _find_related(places, [(hit.where, hit) for hit in known])
    related = _find_related(places, [(entry.where, entry) for entry in audited.found.entries])
    for where in places:
        if known_hits[where]:
            continue

        near: list[EntryVersions] = related[where]
        notable = [e for e in near if e.verdict not in ("first", "second", "combined")] or near
        sentence = "; ".join(say_entry(entry, parents) for entry in notable[:3])
        if not sentence:
            sentence = f"at {where or '/'}"
        name = where.lstrip("/").replace("/", ".")
        yield Hit(kind, audited.file.path, where, name, sentence)


def _find_related(places: Sequence[str], values: Pointed) -> dict[str, list[Any]]:
    """Return the values whose pointer is at, above or below each place."""
    related: dict[str, list[Any]] = {place: [] for place in places}
    below: dict[str, list[str]] = {}
    for place in related:
        for pointer in _list_prefixes(place):
            below.setdefault(pointer, []).append(place)

    for where, value in values:
        targets = below.get(where)
        if not targets:
            targets = [prefix for prefix in _list_prefixes(where) if prefix in related]
        for place in targets:
            related[place].append(value)

    return related


def _list_prefixes(pointer: str) -> list[str]:
    keys = pointer.split("/")
    return ["/".join(keys[:end]) for end in range(1, len(keys) + 1)]


def _find_followed(audited: AuditedFile, parents: Parents) -> Iterator[Hit]:
    """Yield a hit if one side moved the checkpoint to a name that is not one, as archiving does,
    and the other changed it: git follows the rename, so that the change is in the archive.
    """
    file = audited.file
    if file.result is not None or (file.first is None) == (file.second is None):
        return
    if audited.base in (None, file.first, file.second):
        return

    mover, other = parents.name("second"), parents.name("first")
    if file.first is None:
        mover, other = other, mover
    both = f"{mover} archived or moved the file, {other} changed it"
    sentence = f"{both}, and that change is in no checkpoint any more"
    yield Hit("undecided", file.path, "", "", sentence)


def place_lines(data: bytes | None, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with their lines in a version of the file."""
    if data is None or not hits:
        return list(hits)
    try:
        text = decode(data)
        scan_tokens(text)
    except JsonTextError as error:
        return [hit._replace(line=error.line) for hit in hits]
    places = locate_all(text, [hit.where for hit in hits])
    return [hit._replace(line=line) for hit, (line, _) in zip(hits, places, strict=True)]


# for programs


def file_data(audited: AuditedFile) -> dict[str, Any]:
    file, found = audited.file, audited.found
    driver = None
    if found.ours is not None:
        driver = found.ours._asdict()
    return {
        "path": file.path,
        "old_path": file.old_path or None,
        "parents": list(file.parents),
        "agreed": found.agreed,
        "unreadable": [
            {"version": version, "message": message} for version, message in found.unreadable
        ],
        "entries": [_entry_data(entry) for entry in found.entries],
        "driver": driver,
        "made_by": audited.how,
        "hits": [_hit_data(hit) for hit in audited.hits],
    }


def _entry_data(entry: EntryVersions) -> dict[str, Any]:
    """Return an entry for programs; `values` has only the versions with the entry, so that absent
    differs from null.
    """
    versions = {
        "base": entry.base,
        "first": entry.first,
        "second": entry.second,
        "result": entry.result,
    }
    return {
        "where": entry.where,
        "name": entry.name,
        "verdict": entry.verdict,
        "side": entry.side or None,
        "note": entry.note,
        "values": {name: load(text) for name, text in versions.items() if text is not None},
    }


def _hit_data(hit: Hit) -> dict[str, Any]:
    return {
        "kind": hit.kind,
        "path": hit.path,
        "where": hit.where,
        "name": hit.name,
        "said": hit.sentence,
        "side": hit.side,
        "meant": hit.is_meant,
        "line": hit.line,
    }
