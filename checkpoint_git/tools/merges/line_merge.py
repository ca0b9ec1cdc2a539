"""Line-based merges that a server made or would make: each file compared with what the rules make of it.

How a file was made is found by merging it by lines again. Where nobody had a say in it, whatever differs from the rules
is reported; where the user resolved it, only what no rule allows, and what picking sides cannot explain is marked as
meant.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsonplace import locate_all
from checkpoint_git.core.jsontext import JsonTextError, Node, decode, parse, split_pointer
from checkpoint_git.git.merges.conflicts import read_line_merges
from checkpoint_git.git.merges.merges import Commit, Touched, Versions, read_blobs_at, read_contents, read_touched_each
from checkpoint_git.git.merges.suspects import read_later_versions
from checkpoint_git.git.merges.trees import Made, Plain, is_dropped, merge_by_lines, read_made, read_predicted
from checkpoint_git.merge.explanation import THE_FILE, Entry
from checkpoint_git.merge.file import merge_bases, merge_file
from checkpoint_git.tools.merges.findings import AuditedFile, AuditedMerge, Event, Found, Hit, How, Kind
from checkpoint_git.tools.merges.judged import JudgedFile, Schemas, key_of, list_damage, place_of
from checkpoint_git.tools.merges.sentences import Parents, say_entry

SIDES = ("the base branch", "the head branch")  # of a merge that is foreseen, and of a squash


def predict_line_merge(plain: Plain, first: str, second: str, names: tuple[str, str], schemas: Schemas) -> AuditedMerge:
    """What a server's merge of two commits (full ids) would do; nothing is kept of it."""
    made = merge_by_lines(plain, first, second)
    touched = read_predicted(plain, made, first, second)
    parents = Parents(1, 2, SIDES)
    files = []
    for file in touched.files:
        judged = JudgedFile(file, schemas.load(file.path), schemas.choices.narrative)
        kinds = made.stopped.pop(file.path, None) or made.stopped.pop(file.old_path, None)
        found = _tell_stop(judged, kinds) if kinds is not None else find_hits(judged, "foreseen", parents)
        files.append(AuditedFile(judged, "foreseen", found))
    rest = [Found(Hit("conflict", path, "", "", _say_kinds(kinds))) for path, kinds in made.stopped.items()]
    if rest:
        nothing = JudgedFile(Versions("", "", (), None, None, None, (1, 2)), {})
        files.append(AuditedFile(nothing, "foreseen", rest))
    return AuditedMerge(Event("", names), None, files, touched.whole, tuple(touched.crowded), made.others)


def _tell_stop(judged: JudgedFile, kinds: Sequence[str]) -> list[Found]:
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


def audit_merge(plain: Plain, commit: Commit, event: Event, schemas: Schemas, touched: Touched) -> AuditedMerge:
    """What one merge did to every entry. commit: its parents are the sides, also of a squash that names only one.

    touched: the merge's files.
    """
    narrative = schemas.choices.narrative
    with_schemas = [(file, schemas.load(file.path)) for file in touched.files]
    judged = [
        JudgedFile(file, schema, narrative) for file, schema in with_schemas if not _is_ours(file, schema, narrative)
    ]
    if event.squash:  # what the branch did not touch, the commit changed on its own account
        judged = [one for one in judged if one.file.second != one.base]
    open_files = [one for one in judged if one.damaged or one.found.ours is None or not one.found.ours.same]
    made = _make_again(plain, commit) if open_files else None
    ways = _find_ways(plain, commit, made, open_files)
    files = []
    for one in open_files:
        parents = find_parents(one, event)
        found = find_hits(one, ways[one.file.path], parents)
        if ways[one.file.path] == "hand":
            found = _mark_meant(plain.cwd, one, found)
        files.append(AuditedFile(one, ways[one.file.path], found))
    return AuditedMerge(event, commit, files, touched.whole, tuple(touched.crowded))


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


def find_parents(judged: JudgedFile, event: Event) -> Parents:
    return Parents(*judged.file.parents, names=SIDES if event.squash else ("", ""))


def _make_again(plain: Plain, commit: Commit) -> Made | None:
    """The same merge, line-based; None where git cannot make it, or it has more than two parents."""
    if len(commit.parents) != 2:
        return None
    try:
        return merge_by_lines(plain, *commit.parents)
    except CheckpointError:
        return None


def _find_ways(plain: Plain, commit: Commit, made: Made | None, files: Iterable[JudgedFile]) -> dict[str, How]:
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


# one file


def find_hits(judged: JudgedFile, how: How, parents: Parents) -> list[Found]:
    unreadable = {version for version, _ in judged.found.unreadable}
    if unreadable & {"base", "first", "second"}:
        return []
    meant = how in ("changed", "dropped")
    found = [Found(hit_of(judged, entry, parents, meant), entry) for entry in list_damage(judged.found)]
    if how in ("lines", "foreseen") and not unreadable:
        found += [Found(hit) for hit in _find_strange(judged, parents, [one.hit for one in found])]
        found += [Found(hit) for hit in _find_followed(judged.file, judged.base, parents)]
    return place_lines(judged.file.second if how == "foreseen" else judged.file.result, found)


_KIND_OF_BROKEN: dict[str, Kind] = {"doubled": "duplicate-key", "blended": "not-json"}
_KINDS: dict[str, Kind] = {"lost": "lost", "doubled": "doubled", "blended": "blended"}


def hit_of(judged: JudgedFile, entry: Entry, parents: Parents, meant: bool) -> Hit:
    """One damaged entry. meant: a user made the file so, and not the line-based merge."""
    path = judged.file.path
    if entry.name == THE_FILE and not judged.is_readable:
        return Hit(_KIND_OF_BROKEN[entry.verdict], path, "", "", entry.note)
    meant = meant and entry.verdict != "doubled"
    said = say_entry(entry, parents)
    return Hit(_KINDS[entry.verdict], path, place_of(entry), entry.name, said, entry.side, meant)


def _find_strange(judged: JudgedFile, parents: Parents, hits: Sequence[Hit]) -> list[Hit]:
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

    Lines follow the rename: what the other side wrote is in the archive, and the checkpoint is gone.
    """
    gone = (file.first is None, file.second is None)
    if file.result is not None or gone[0] == gone[1] or base in (None, file.first, file.second):
        return []
    removed, changed = parents.name("second" if gone[1] else "first"), parents.name("first" if gone[1] else "second")
    said = f"{removed} archived or moved the file, {changed} changed it, and that change is in no checkpoint any more"
    return [Hit("undecided", file.path, "", "", said)]


def _say_place(judged: JudgedFile, where: str, parents: Parents) -> str:
    near = [entry for entry in judged.found.entries if _is_related(entry.where, where)]
    notable = [entry for entry in near if entry.verdict not in ("first", "second", "combined")] or near
    return "; ".join(say_entry(entry, parents) for entry in notable[:3]) or f"at {where or '/'}"


def _is_related(left: str, right: str) -> bool:
    return f"{left}/".startswith(f"{right}/") or f"{right}/".startswith(f"{left}/")


def place_lines(text_of: bytes | None, found: list[Found]) -> list[Found]:
    if text_of is None or not found:
        return found
    try:
        text = decode(text_of)
        parse(text)
    except JsonTextError as error:
        return [one._replace(hit=one.hit._replace(line=error.line)) for one in found]
    places = locate_all(text, [one.hit.where for one in found])
    return [one._replace(hit=one.hit._replace(line=line)) for one, (line, _) in zip(found, places, strict=True)]


def _mark_meant(cwd: str, judged: JudgedFile, found: list[Found]) -> list[Found]:
    """Losses that no picking of sides brings about, by hunks or of the whole file: a user wrote the file so."""
    file = judged.file
    if not any(one.hit.kind == "lost" for one in found) or file.result in (file.first, file.second):
        return found
    both = read_line_merges(cwd, judged.base or b"", file.first or b"", file.second or b"")
    picked: set[object] = set()
    for data in both or ():
        explained = judged.explain(data)
        if explained.unreadable:
            return found
        picked.update(key_of(entry) for entry in list_damage(explained))
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


def audit_merges(plain: Plain, events: Sequence[tuple[Commit, Event]], schemas: Schemas) -> Iterator[AuditedMerge]:
    """What some merges did; where this clone lacks something, that is the reason why nothing is known."""
    touched = read_touched_each(plain.cwd, [commit for commit, _ in events], plain.env)
    for (commit, event), read in zip(events, touched, strict=True):
        if isinstance(read, str):
            yield AuditedMerge(event, commit, [], reason=read)
        else:
            yield audit_merge(plain, commit, event, schemas, read)


# what a later commit still shows


def keep_remaining(plain: Plain, audited: AuditedMerge, head: str) -> AuditedMerge:
    """The merge with only what a commit still shows, and what was not brought back in between. head: a full id."""
    if audited.commit is None or not audited.files:
        return audited
    paths = [file.judged.file.path for file in audited.files]
    blobs = read_blobs_at(plain.cwd, paths, plain.env, head)
    contents = read_contents(plain.cwd, filter(None, blobs.values()), plain.env)
    files = []
    for file in audited.files:
        data = contents.get(blobs[file.judged.file.path])
        found = _keep(plain, audited, file, data, head) if file.found else []
        if found:
            files.append(file._replace(found=place_lines(data, found)))
    return audited._replace(files=files)


def _keep(plain: Plain, audited: AuditedMerge, file: AuditedFile, data: bytes | None, head: str) -> list[Found]:
    judged, merge = file.judged, audited.event.commit
    left = judged.read_left(data, merge, plain.cwd, plain.env, head)
    keys = {key_of(entry) for entry in left or ()}
    if judged.file.result is None and data is None:
        return [] if read_later_versions(plain.cwd, merge, judged.file.path, plain.env, head) else file.found
    if judged.is_readable:
        kept = [one for one in file.found if one.entry is not None and key_of(one.entry) in keys]
        return kept + [one for one in file.found if one.entry is None and _is_still(judged, one.hit, data)]
    if left == judged.damaged:
        return file.found
    parents = find_parents(judged, audited.event)
    return [Found(hit_of(judged, entry, parents, False), entry) for entry in left or ()]


def _is_still(judged: JudgedFile, hit: Hit, data: bytes | None) -> bool:
    if data is None or judged.file.result is None:
        return False
    if data == judged.file.result:
        return True
    places = [_find(version, hit.where) for version in (judged.file.result, data)]
    if places[0] is None or places[1] is None:
        return False
    return bool(places[0].value == places[1].value)


def _find(data: bytes, where: str) -> Node | None:
    try:
        node: Node | None = parse(decode(data))
    except JsonTextError:
        return None
    for key in split_pointer(where):
        members = None if node is None else node.members
        if type(members) is dict:
            node = members.get(key)
        elif type(members) is list and key.isdigit() and int(key) < len(members):
            node = members[int(key)]
        else:
            return None
    return node
