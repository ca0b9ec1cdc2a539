"""Line-based merges that a server made or would make: each file compared with what the rules make of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsonplace import locate_all
from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens, split_pointer
from checkpoint_git.core.terminal_text import join_some
from checkpoint_git.git.merges.conflicts import read_line_merges
from checkpoint_git.git.merges.merges import Commit, Versions, read_files_at, read_touched, read_touched_each
from checkpoint_git.git.merges.suspects import read_later_versions
from checkpoint_git.git.merges.trees import Plain, find_stopped, is_dropped, merge_by_lines
from checkpoint_git.merge.explanation import THE_FILE, Entry
from checkpoint_git.merge.file import merge_bases, merge_file
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.tools.merges.findings import AuditedFile, AuditedMerge, Event, Hit, How, Kind
from checkpoint_git.tools.merges.judged import JudgedFile, Parents, Schemas, key_of, list_damage, place_of, say_entry

_SIDES = ("the base branch", "the head branch")  # of a merge that is foreseen, and of a squash
_KINDS: dict[str, Kind] = {"lost": "lost", "duplicated": "duplicated", "mixed-up": "mixed-up"}
_KINDS_OF_TEXT: dict[str, Kind] = {"duplicated": "duplicate-key", "mixed-up": "not-json"}  # where it is not JSON


def predict_line_merge(plain: Plain, first: str, second: str, names: tuple[str, str], schemas: Schemas) -> AuditedMerge:
    made = merge_by_lines(plain, first, second)
    touched = read_touched(plain.cwd, Commit(made.tree, made.tree, (first, second), ""), plain.env)
    event = Event("", names)
    stopped = find_stopped(made)
    files = []
    for file in touched.files:
        judged = schemas.judge(file)
        kinds = stopped.pop(file.path, None) or stopped.pop(file.old_path, None)
        parents = find_parents(file, event)
        hits = [_find_stop(judged, kinds)] if kinds is not None else find_hits(judged, "foreseen", parents)
        files.append(AuditedFile(judged, "foreseen", hits))
    if stopped:
        nothing = JudgedFile(Versions("", "", (), None, None, None, (1, 2)), {})
        hits = [Hit("conflict", path, "", "", _say_kinds(kinds)) for path, kinds in stopped.items()]
        files.append(AuditedFile(nothing, "foreseen", hits))
    others = sum(not is_merged(one.path) for one in made.unsettled)
    return AuditedMerge(event, files, touched.whole, tuple(touched.crowded), others, bases=touched.bases)


def _find_stop(judged: JudgedFile, kinds: Sequence[str]) -> Hit:
    file = judged.file
    ours = None if None in (file.first, file.second) else judged.explain(file.first).ours
    where = ""
    if ours is None:
        said = _say_kinds(kinds)
    elif ours.clean:
        said = "the merge rules make one document of both sides"
    else:
        where = ours.conflicts[0]
        places = join_some([place or "/" for place in ours.conflicts], 3)
        said = f"by the merge rules only {places} would be left to decide"
    return Hit("conflict", file.path, where, "", said)


def _say_kinds(kinds: Sequence[str]) -> str:
    return f"decide by hand ({', '.join(kinds)})" if any(kinds) else "decide by hand"


def find_event(commit: Commit, squash: bool = False, names: Mapping[str, str] | None = None) -> Event:
    first, second = ((names or {}).get(parent, parent[:8]) for parent in (*commit.parents, *commit.parents)[:2])
    more = len(commit.parents) - 2
    both = (first, f"{second} and {more} more" if more > 0 else second)
    return Event(commit.id, both, commit.subject, squash, commit.parents)


def find_parents(file: Versions, event: Event) -> Parents:
    return Parents(*file.parents, names=_SIDES if event.squash or not event.commit else ("", ""))


# How a file was made is found by merging it by lines again. Where nobody had a say in it, whatever differs from the
# rules is reported; where the user resolved it, only what no rule allows, and what picking sides cannot explain is
# marked as meant.
def audit_merges(plain: Plain, events: Sequence[tuple[Commit, Event]], schemas: Schemas) -> Iterator[AuditedMerge]:
    """Each commit's parents are the sides, also of a squash that names only one."""
    found = read_touched_each(plain.cwd, [commit for commit, _ in events], plain.env)
    for (commit, event), touched in zip(events, found, strict=True):
        if isinstance(touched, str):
            yield AuditedMerge(event, [], reason=touched)
            continue
        judged = [schemas.judge(file) for file in touched.files if not _is_our_merge(file, schemas)]
        if event.squash:  # what the branch did not touch, the commit changed on its own account
            judged = [one for one in judged if one.file.second != one.base]
        judged = [one for one in judged if one.damaged or one.found.ours is None or not one.found.ours.same]
        files = []
        for one, how in zip(judged, _find_ways(plain, commit, [one.file for one in judged]), strict=True):
            hits = find_hits(one, how, find_parents(one.file, event))
            files.append(AuditedFile(one, how, _mark_meant(plain.cwd, one, hits) if how == "hand" else hits))
        yield AuditedMerge(event, files, touched.whole, tuple(touched.crowded), bases=touched.bases)


def _is_our_merge(file: Versions, schemas: Schemas) -> bool:
    # Byte for byte: then there is nothing to explain, which costs twice as much
    if file.first is None or file.second is None or file.result is None:
        return False
    schema, narrative = schemas.load(file.path), schemas.choices.narrative
    try:
        merged = merge_file(merge_bases(file.bases, schema), file.first, file.second, schema, narrative=narrative)
    except JsonTextError:
        return False
    return not merged.conflicts and merged.data == file.result


def _find_ways(plain: Plain, commit: Commit, files: Sequence[Versions]) -> list[How]:
    """Unknown where git cannot make the merge again, or it has more than two parents."""
    try:
        made = merge_by_lines(plain, *commit.parents) if files and len(commit.parents) == 2 else None
    except CheckpointError:
        made = None
    if made is None:
        return ["unknown"] * len(files)
    stopped = find_stopped(made)
    decided: How = "hand"
    if any(file.path in stopped for file in files) and is_dropped(plain.cwd, commit, plain.env):
        decided = "dropped"
    results = read_files_at(plain.cwd, [one.path for one in files if one.path not in stopped], plain.env, made.tree)
    return [
        decided if file.path in stopped else "lines" if results[file.path] == file.result else "changed"
        for file in files
    ]


def _mark_meant(cwd: str, judged: JudgedFile, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Losses that no picking of sides brings about, by hunks or of the whole file: a user wrote the file so."""
    file = judged.file
    if not any(hit.kind == "lost" for hit in hits) or file.result in (file.first, file.second):
        return hits
    both = read_line_merges(cwd, judged.base or b"", file.first or b"", file.second or b"")
    explained = [judged.explain(data) for data in both or ()]
    if both is None or any(found.unreadable for found in explained):
        return hits
    picked = {key_of(entry) for found in explained for entry in list_damage(found)}
    return [
        hit._replace(meant=True) if hit.entry and hit.kind == "lost" and key_of(hit.entry) not in picked else hit
        for hit in hits
    ]


def find_hits(judged: JudgedFile, how: How, parents: Parents) -> Sequence[Hit]:
    unreadable = {version for version, _ in judged.found.unreadable}
    if unreadable & {"base", "first", "second"}:
        return []
    hits = [_make_hit(judged, entry, parents, how in ("changed", "dropped")) for entry in judged.damaged]
    if how in ("lines", "foreseen") and not unreadable:
        hits += [*_find_strange(judged, parents, hits), *_find_followed(judged, parents)]
    return _place_lines(judged.file.second if how == "foreseen" else judged.file.result, hits)


def _make_hit(judged: JudgedFile, entry: Entry, parents: Parents, is_meant: bool) -> Hit:
    path = judged.file.path
    if entry.name == THE_FILE and not judged.is_readable:
        return Hit(_KINDS_OF_TEXT[entry.verdict], path, "", "", entry.note, entry=entry)
    is_meant = is_meant and entry.verdict != "duplicated"
    said = say_entry(entry, parents)
    return Hit(_KINDS[entry.verdict], path, place_of(entry), entry.name, said, entry.side, is_meant, entry=entry)


def _find_strange(judged: JudgedFile, parents: Parents, known: Sequence[Hit]) -> Iterator[Hit]:
    ours = judged.found.ours
    if ours is None or ours.same:
        return
    for where in ours.differences if ours.clean else ours.conflicts:
        if any(_is_related(hit.where, where) for hit in known):
            continue
        near = [entry for entry in judged.found.entries if _is_related(entry.where, where)]
        notable = [entry for entry in near if entry.verdict not in ("first", "second", "combined")] or near
        said = "; ".join(say_entry(entry, parents) for entry in notable[:3]) or f"at {where or '/'}"
        name = where.lstrip("/").replace("/", ".")
        yield Hit("differs" if ours.clean else "undecided", judged.file.path, where, name, said)


def _find_followed(judged: JudgedFile, parents: Parents) -> Iterator[Hit]:
    """A checkpoint that one side moved to where none is, as an archive is, and the other changed. Lines follow the
    rename: what the other side wrote is in the archive, and the checkpoint is gone.
    """
    file = judged.file
    if file.result is not None or (file.first is None) == (file.second is None):
        return
    if judged.base not in (None, file.first, file.second):
        removed, changed = ("first", "second") if file.first is None else ("second", "first")
        who = f"{parents.name(removed)} archived or moved the file, {parents.name(changed)} changed it"
        yield Hit("undecided", file.path, "", "", f"{who}, and that change is in no checkpoint any more")


def _is_related(left: str, right: str) -> bool:
    return f"{left}/".startswith(f"{right}/") or f"{right}/".startswith(f"{left}/")


def _place_lines(data: bytes | None, hits: Sequence[Hit]) -> Sequence[Hit]:
    if data is None or not hits:
        return hits
    try:
        text = decode(data)
        scan_tokens(text)
    except JsonTextError as error:
        return [hit._replace(line=error.line) for hit in hits]
    places = locate_all(text, [hit.where for hit in hits])
    return [hit._replace(line=line) for hit, (line, _) in zip(hits, places, strict=True)]


def keep_remaining(plain: Plain, audited: AuditedMerge, head: str) -> AuditedMerge:
    """Leaves out what was brought back before `head`, a full id."""
    contents = read_files_at(plain.cwd, [file.judged.file.path for file in audited.files], plain.env, head)
    files = []
    for file in audited.files:
        data = contents[file.judged.file.path]
        hits = _list_remaining(plain, audited.event, file, data, head) if file.hits else []
        if hits:
            files.append(file._replace(hits=_place_lines(data, hits)))
    return audited._replace(files=files)


def _list_remaining(plain: Plain, event: Event, file: AuditedFile, data: bytes | None, head: str) -> Sequence[Hit]:
    judged, merge = file.judged, event.commit
    if judged.file.result is None and data is None:
        return [] if read_later_versions(plain.cwd, merge, judged.file.path, plain.env, head) else file.hits
    left = judged.read_left(data, merge, plain.cwd, plain.env, head)
    if judged.is_readable:
        keys = {key_of(entry) for entry in left or ()}
        kept = [hit for hit in file.hits if hit.entry and key_of(hit.entry) in keys]
        return kept + [hit for hit in file.hits if not hit.entry and _is_still(judged.file.result, data, hit.where)]
    if left == judged.damaged:
        return file.hits
    return [_make_hit(judged, entry, find_parents(judged.file, event), False) for entry in left or ()]


def _is_still(result: bytes | None, data: bytes | None, where: str) -> bool:
    if data is None or result is None:
        return False
    before = _find_value(result, where)
    return data == result or (before is not None and before == _find_value(data, where))


def _find_value(data: bytes, where: str) -> tuple[Any] | None:
    try:
        value = scan_tokens(decode(data))
        for key in split_pointer(where):
            value = value[int(key)] if isinstance(value, list) else value[key]
    except (JsonTextError, LookupError, TypeError, ValueError):
        return None
    return (value,)
