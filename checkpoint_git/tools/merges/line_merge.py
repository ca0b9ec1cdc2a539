"""Merges that a server made by lines, or would make: each file held against the rules, by the eyes of explain-merge.

How a file was made is found by merging it by lines again. Where nobody had a say in it, whatever differs from the
rules is told; where a person resolved it, only what no rule allows, and what picking sides cannot explain is marked as
meant.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsonplace import locate_all
from checkpoint_git.core.jsontext import JsonTextError, decode, parse
from checkpoint_git.git.merges.conflicts import read_line_merges
from checkpoint_git.git.merges.line_merge import Made, Plain, is_dropped, merge_lines, read_foreseen, read_made
from checkpoint_git.git.merges.merges import UNSHALLOW, Commit, Touched, Versions, read_missing, read_touched
from checkpoint_git.merge.explanation import THE_FILE, Entry
from checkpoint_git.merge.file import merge_bases, merge_file
from checkpoint_git.tools.merges.explain_merge import Schemas, read_in_parts
from checkpoint_git.tools.merges.explained import Parents, say_entry
from checkpoint_git.tools.merges.harm import Judged, key_of, list_harm, place_of
from checkpoint_git.tools.merges.line_merge_findings import Event, Hit, How, Kind
from checkpoint_git.tools.merges.preview import load_schema

SIDES = ("the base branch", "the head branch")  # of a merge that is foreseen, and of a squash


class Found(NamedTuple):
    """What the rules would not have. entry: of the explanation; None where the whole result is compared."""

    hit: Hit
    entry: Entry | None = None


class ServedFile(NamedTuple):
    """One file of a merge. how: who made its result. found: what the rules would not have."""

    judged: Judged
    how: How
    found: list[Found]


class Served(NamedTuple):
    """One merge. whole: files that came from the only side that changed them. crowded: paths of an octopus that more
    than two parents changed. others: files that are no checkpoints and stop the merge. reason: why nothing is known.
    """

    event: Event
    commit: Commit | None
    files: list[ServedFile]
    whole: int = 0
    crowded: tuple[str, ...] = ()
    others: int = 0
    reason: str = ""

    @property
    def hits(self) -> list[Hit]:
        """All of its files'."""
        return [found.hit for file in self.files for found in file.found]


def foresee(plain: Plain, first: str, second: str, names: tuple[str, str], schemas: Schemas) -> Served:
    """What a server's merge of two commits (full ids) would do; nothing is kept of it."""
    made = merge_lines(plain, first, second)
    touched = read_foreseen(plain, made, first, second)
    parents = Parents(1, 2, SIDES)
    files = []
    for file in touched.files:
        judged = Judged(file, load_schema(schemas, file.path), schemas.choices.narrative)
        kinds = made.stopped.pop(file.path, None) or made.stopped.pop(file.old_path, None)
        found = _tell_stop(judged, kinds) if kinds is not None else find_hits(judged, "foreseen", parents)
        files.append(ServedFile(judged, "foreseen", found))
    rest = [Found(Hit("conflict", path, "", "", _say_kinds(kinds))) for path, kinds in made.stopped.items()]
    if rest:
        nothing = Judged(Versions("", "", (), None, None, None, (1, 2)), {})
        files.append(ServedFile(nothing, "foreseen", rest))
    return Served(Event("", names), None, files, touched.whole, tuple(touched.crowded), made.others)


def _tell_stop(judged: Judged, kinds: Sequence[str]) -> list[Found]:
    """A file that the merge leaves to a person, and what of it the rules would leave to one."""
    file = judged.file
    ours = None if None in (file.first, file.second) else judged.explain(file.first).ours
    where = ""
    if ours is None:
        said = _say_kinds(kinds)
    elif ours.clean:
        said = "the merge rules make one document of both sides"
    else:
        where = ours.conflicts[0]
        places = ", ".join(place or "/" for place in ours.conflicts[:3])
        more = f" and {len(ours.conflicts) - 3} more" if len(ours.conflicts) > 3 else ""
        said = f"by the merge rules only {places}{more} would be left to a person"
    return [Found(Hit("conflict", file.path, where, "", said))]


def _say_kinds(kinds: Sequence[str]) -> str:
    return f"a person has to decide ({', '.join(kinds)})" if any(kinds) else "a person has to decide"


# merges that were made


def serve(plain: Plain, commit: Commit, event: Event, schemas: Schemas, read: Touched | None = None) -> Served:
    """What one merge did to every entry. commit: its parents are the sides, also of a squash that names only one.

    read: the merge's files, where they were read already. Raises CheckpointError where this clone lacks what the sides
    have in common.
    """
    touched = read or read_touched(plain.cwd, commit, plain.env)
    narrative = schemas.choices.narrative
    telling = [(file, load_schema(schemas, file.path)) for file in touched.files]
    judged = [Judged(file, schema, narrative) for file, schema in telling if not _is_ours(file, schema, narrative)]
    if event.squash:  # what the branch did not touch, the commit changed on its own account
        judged = [one for one in judged if one.file.second != one.base]
    open_files = [one for one in judged if one.harmed or not _is_right(one)]
    made = _make_again(plain, commit) if open_files else None
    ways = _find_ways(plain, commit, made, open_files)
    files = []
    for one in open_files:
        parents = find_parents(one, event)
        found = find_hits(one, ways[one.file.path], parents)
        if ways[one.file.path] == "hand":
            found = _mark_meant(plain.cwd, one, found)
        files.append(ServedFile(one, ways[one.file.path], found))
    return Served(event, commit, files, touched.whole, tuple(touched.crowded))


def _is_ours(file: Versions, schema: dict[str, Any], narrative: str) -> bool:
    """Whether a result is our own merge byte for byte: then there is nothing to explain, which costs twice as much."""
    if file.first is None or file.second is None or file.result is None:
        return False
    base = merge_bases(file.bases, schema)
    try:
        merged = merge_file(base, file.first, file.second, schema, narrative=narrative)
    except JsonTextError:
        return False
    return not merged.conflicts and merged.data == file.result


def find_parents(judged: Judged, event: Event) -> Parents:
    """What the two sides of a file are called in sentences."""
    return Parents(*judged.file.parents, names=SIDES if event.squash else ("", ""))


def _is_right(judged: Judged) -> bool:
    ours = judged.found.ours
    return ours is not None and ours.same


def _make_again(plain: Plain, commit: Commit) -> Made | None:
    """The same merge by lines; None where git cannot make it, or it has more than two parents."""
    if len(commit.parents) != 2:
        return None
    try:
        return merge_lines(plain, *commit.parents)
    except CheckpointError:
        return None


def _find_ways(plain: Plain, commit: Commit, made: Made | None, files: Iterable[Judged]) -> dict[str, How]:
    """How each file came to be."""
    paths = [one.file.path for one in files]
    if made is None:
        return dict.fromkeys(paths, "unknown")
    results = read_made(plain, made, [path for path in paths if path not in made.stopped])
    ways: dict[str, How] = {}
    dropped: bool | None = None
    for one in files:
        path = one.file.path
        if path in made.stopped:
            if dropped is None:
                dropped = is_dropped(plain, commit)
            ways[path] = "dropped" if dropped else "hand"
        else:
            ways[path] = "lines" if results[path] == one.file.result else "changed"
    return ways


# what is told of one file


def find_hits(judged: Judged, how: How, parents: Parents) -> list[Found]:
    """What the rules would not have, in one file."""
    unreadable = {version for version, _ in judged.found.unreadable}
    if unreadable & {"base", "first", "second"}:
        return []
    meant = how in ("changed", "dropped")
    found = [Found(hit_of(judged, entry, parents, meant), entry) for entry in list_harm(judged.found)]
    if how in ("lines", "foreseen") and not unreadable:
        found += [Found(hit) for hit in _find_strange(judged, parents, [one.hit for one in found])]
        found += [Found(hit) for hit in _find_followed(judged.file, judged.base, parents)]
    return place_lines(judged.file.second if how == "foreseen" else judged.file.result, found)


_KIND_OF_BROKEN: dict[str, Kind] = {"doubled": "duplicate-key", "blended": "not-json"}
_KINDS: dict[str, Kind] = {"lost": "lost", "doubled": "doubled", "blended": "blended"}


def hit_of(judged: Judged, entry: Entry, parents: Parents, meant: bool) -> Hit:
    """One entry that a merge harmed. meant: somebody made the file so, and no lines."""
    path = judged.file.path
    if entry.name == THE_FILE and not judged.is_readable:
        return Hit(_KIND_OF_BROKEN[entry.verdict], path, "", "", entry.note)
    meant = meant and entry.verdict != "doubled"
    said = say_entry(entry, parents)
    return Hit(_KINDS[entry.verdict], path, place_of(entry), entry.name, said, entry.side, meant)


def _find_strange(judged: Judged, parents: Parents, hits: Sequence[Hit]) -> list[Hit]:
    """Every place at which lines made something else than the rules do, and that no hit tells of yet."""
    ours = judged.found.ours
    if ours is None or ours.same:
        return []
    kind: Kind = "differs" if ours.clean else "undecided"
    found = []
    for where in ours.differences if ours.clean else ours.conflicts:
        if not any(_is_related(hit.where, where) for hit in hits):
            said = _say_place(judged, where, parents)
            found.append(Hit(kind, judged.file.path, where, where.lstrip("/").replace("/", "."), said))
    return found


def _find_followed(file: Versions, base: bytes | None, parents: Parents) -> list[Hit]:
    """A checkpoint that one side moved to where none is, as an archive is, and the other changed.

    Lines follow the rename: what the other side wrote stands in the archive, and the checkpoint is gone.
    """
    gone = (file.first is None, file.second is None)
    if file.result is not None or gone[0] == gone[1] or base in (None, file.first, file.second):
        return []
    removed, changed = parents.name("second" if gone[1] else "first"), parents.name("first" if gone[1] else "second")
    said = f"{removed} archived or moved the file, {changed} changed it, and that change is in no checkpoint any more"
    return [Hit("undecided", file.path, "", "", said)]


def _say_place(judged: Judged, where: str, parents: Parents) -> str:
    near = [entry for entry in judged.found.entries if _is_related(entry.where, where)]
    telling = [entry for entry in near if entry.verdict not in ("first", "second", "combined")] or near
    return "; ".join(say_entry(entry, parents) for entry in telling[:3]) or f"at {where or '/'}"


def _is_related(left: str, right: str) -> bool:
    return f"{left}/".startswith(f"{right}/") or f"{right}/".startswith(f"{left}/")


def place_lines(text_of: bytes | None, found: list[Found]) -> list[Found]:
    """The same with the lines at which they stand in a version of the file."""
    if text_of is None or not found:
        return found
    try:
        text = decode(text_of)
        parse(text)
    except JsonTextError as error:
        return [one._replace(hit=one.hit._replace(line=error.line)) for one in found]
    places = locate_all(text, [one.hit.where for one in found])
    return [one._replace(hit=one.hit._replace(line=line)) for one, (line, _) in zip(found, places, strict=True)]


def _mark_meant(cwd: str, judged: Judged, found: list[Found]) -> list[Found]:
    """Losses that no picking of sides brings about, by hunks or of the whole file: somebody wrote the file so."""
    file = judged.file
    if not any(one.hit.kind == "lost" for one in found) or file.result in (file.first, file.second):
        return found
    both = read_line_merges(cwd, judged.base or b"", file.first or b"", file.second or b"")
    picked: set[object] = set()
    for data in both or ():
        explained = judged.explain(data)
        if explained.unreadable:
            return found
        picked.update(key_of(entry) for entry in list_harm(explained))
    if both is None:
        return found
    return [
        one._replace(hit=one.hit._replace(meant=True))
        if one.entry is not None and one.hit.kind == "lost" and key_of(one.entry) not in picked
        else one
        for one in found
    ]


def find_event(commit: Commit, squash: bool = False, names: Mapping[str, str] | None = None) -> Event:
    """A merge that was made, as it is named to people."""
    known = names or {}
    first, second = (known.get(parent, parent[:8]) for parent in (*commit.parents, *commit.parents)[:2])
    more = len(commit.parents) - 2
    return Event(commit.id, (first, f"{second} and {more} more" if more > 0 else second), commit.subject, squash)


def try_serve(plain: Plain, commit: Commit, event: Event, schemas: Schemas) -> Served:
    """The same as serve; where this clone lacks something, that is the reason why nothing is known."""
    missing = read_missing(plain.cwd, commit.parents)
    if missing:
        return Served(event, commit, [], reason=f"{missing[0][:12]} is not in this clone; {UNSHALLOW}")
    try:
        return serve(plain, commit, event, schemas)
    except CheckpointError as error:
        return Served(event, commit, [], reason=f"{error.message}; {error.hint}")


def serve_all(plain: Plain, events: Sequence[tuple[Commit, Event]], schemas: Schemas) -> Iterator[Served]:
    """The same of many merges, read in few processes, as many at a time as memory should hold."""
    missing = set(read_missing(plain.cwd, sorted({parent for commit, _ in events for parent in commit.parents})))
    whole = [(commit, event) for commit, event in events if not missing & set(commit.parents)]
    read = read_in_parts(plain.cwd, [commit for commit, _ in whole], plain.env)
    for (commit, event), touched in zip(whole, read, strict=True):
        if isinstance(touched, CheckpointError):
            yield Served(event, commit, [], reason=f"{touched.message}; {touched.hint}")
        else:
            yield serve(plain, commit, event, schemas, touched)
    for commit, event in events:
        if missing & set(commit.parents):
            yield try_serve(plain, commit, event, schemas)
