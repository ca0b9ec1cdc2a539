"""Merge line by line, as servers do: to predict a merge, or to see what in a past one was done by
hand.
"""

from collections.abc import Iterable, Iterator, Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import join_some
from checkpoint_git.git.merges.conflicts import read_line_merges
from checkpoint_git.git.merges.merges import (
    MergeCommit,
    Touched,
    Versions,
    read_files_at,
    read_later_versions,
    read_touched,
    read_touched_each,
)
from checkpoint_git.git.merges.trees import Plain, find_stopped, is_dropped, merge_by_lines
from checkpoint_git.git.run import Env
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.tools.merges.audited_file import (
    AuditedFile,
    Hit,
    How,
    Key,
    Schemas,
    find_hits,
    key_of,
    place_lines,
)
from checkpoint_git.tools.merges.findings import AuditedMerge, Event
from checkpoint_git.tools.merges.lasting import find_lasting


def predict_line_merge(
    plain: Plain, first: str, second: str, names: tuple[str, str], schemas: Schemas
) -> AuditedMerge:
    """Return what a server's merge of two commits would do to their checkpoints."""
    made = merge_by_lines(plain, first, second)
    commit = MergeCommit(made.tree, made.tree, (first, second), "")
    touched = read_touched(plain.cwd, commit, plain.env)
    event = Event("", names)
    stopped = find_stopped(made)

    files = []
    for file in touched.files:
        audited = schemas.audit(file)
        audited.how = "foreseen"
        kinds = stopped.pop(file.path, None) or stopped.pop(file.old_path, None)
        if kinds is None:
            audited.hits = find_hits(audited, event.name_parents(file))
        else:
            audited.hits = [_make_stop(audited, kinds)]
        files.append(audited)

    if stopped:
        files.append(_list_stops(stopped))

    others = sum(not is_merged(file.path) for file in made.unsettled)
    crowded = tuple(touched.crowded)
    return AuditedMerge(event, files, touched.whole, crowded, others, bases=touched.bases)


def _list_stops(stopped: dict[str, tuple[str, ...]]) -> AuditedFile:
    # files that git does not have in three versions
    audited = AuditedFile(Versions("", "", (), None, None, None, (1, 2)), {})
    audited.how = "foreseen"
    audited.hits = [
        Hit("conflict", path, "", "", _describe_stop(kinds)) for path, kinds in stopped.items()
    ]
    return audited


def _make_stop(audited: AuditedFile, kinds: Sequence[str]) -> Hit:
    path, merged = audited.file.path, audited.judge.merged
    if merged is None:
        return Hit("conflict", path, "", "", _describe_stop(kinds))
    if not merged.conflicts:
        sentence = "the merge rules make one document of both sides"
        return Hit("conflict", path, "", "", sentence)
    places = [conflict.where for conflict in merged.conflicts]
    shown = join_some([place or "/" for place in places], 3)
    sentence = f"by the merge rules only {shown} would be left to decide"
    return Hit("conflict", path, places[0], "", sentence)


def _describe_stop(kinds: Sequence[str]) -> str:
    if not any(kinds):
        return "decide by hand"
    return f"decide by hand ({', '.join(kinds)})"


Events = Sequence[tuple[MergeCommit, Event]]


def audit_merges(
    cwd: str, events: Events, schemas: Schemas, env: Env, plain: Plain | None = None
) -> Iterator[AuditedMerge]:
    """Yield what merges did to the checkpoints that they touched, in a few git processes for all.

    Each commit's parents are the sides, also of a squash that names only one.

    plain: where each merge is made again line by line, to find how its result was made. If git
    made it alone, all that differs from the rules is a hit; if somebody resolved it, only what no
    rule allows. None: merges are not made again, and only damage is a hit.
    """
    found = read_touched_each(cwd, [commit for commit, _ in events], env)
    for (commit, event), touched in zip(events, found, strict=True):
        if isinstance(touched, CheckpointError):
            yield AuditedMerge(event, [], reason=touched.message, hint=touched.hint)
            continue

        files = [file for file in map(schemas.audit, touched.files) if file.is_suspect]
        if event.squash:
            # a file that the branch did not touch was changed in the commit itself
            files = [file for file in files if file.file.second != file.base]
        if plain is not None:
            _find_ways(plain, commit, files)
        for file in files:
            file.hits = find_hits(file, event.name_parents(file.file))
            if plain is not None and file.how == "hand":
                file.hits = _mark_deliberate(cwd, file)
        yield gather(event, touched, files)


def gather(event: Event, touched: Touched, files: list[AuditedFile]) -> AuditedMerge:
    crowded = tuple(touched.crowded)
    return AuditedMerge(event, files, touched.whole, crowded, bases=touched.bases)


def _find_ways(plain: Plain, commit: MergeCommit, files: Iterable[AuditedFile]) -> None:
    """Find how each result was made; that is unknown where git cannot make the merge again."""
    made = None
    if len(commit.parents) == 2 and files:
        try:
            made = merge_by_lines(plain, *commit.parents)
        except CheckpointError:
            made = None

    if made is None:
        for audited in files:
            audited.how = "unknown"
        return

    stopped = find_stopped(made)
    paths = [audited.file.path for audited in files]
    resolved: How = "hand"
    if any(path in stopped for path in paths) and is_dropped(plain.cwd, commit, plain.env):
        resolved = "dropped"
    clean = [path for path in paths if path not in stopped]
    results = read_files_at(plain.cwd, clean, plain.env, made.tree)
    for audited in files:
        path = audited.file.path
        if path in stopped:
            audited.how = resolved
        elif results[path] == audited.file.result:
            audited.how = "lines"
        else:
            audited.how = "changed"


def _mark_deliberate(cwd: str, audited: AuditedFile) -> Sequence[Hit]:
    """Return the hits, with losses marked that come from no choice of sides: somebody wrote the
    file like that.
    """
    hits = audited.hits
    if not any(hit.kind == "lost" for hit in hits):
        return hits
    keys = _find_picked_damage(cwd, audited)
    if keys is None:
        return hits

    marked = []
    for hit in hits:
        if hit.kind == "lost" and hit.entry is not None and key_of(hit.entry) not in keys:
            hit = hit._replace(is_meant=True)
        marked.append(hit)
    return marked


def _find_picked_damage(cwd: str, audited: AuditedFile) -> set[Key] | None:
    """Return the damage of a text merge in which one side is chosen for every conflict; None if
    that is unknown.
    """
    file = audited.file
    if file.result in (file.first, file.second):
        return None
    picked = read_line_merges(cwd, audited.base or b"", file.first or b"", file.second or b"")
    found = [audited.judge.judge(data) for data in picked or ()]
    if not found or any(judged.unreadable for judged in found):
        return None
    return {key_of(entry) for judged in found for entry in judged.damage}


def keep_lasting(cwd: str, merge: AuditedMerge, head: str, env: Env) -> AuditedMerge:
    """Return the merge without the damage that was repaired by `head`, a full id."""
    paths = [audited.file.path for audited in merge.files]
    contents = read_files_at(cwd, paths, env, head)
    for audited in merge.files:
        path = audited.file.path
        later = contents[path]

        def read_between(path: str = path) -> Sequence[bytes]:
            return read_later_versions(cwd, merge.event.commit, path, env, head)

        if audited.hits:
            parents = merge.event.name_parents(audited.file)
            audited.hits = find_lasting(audited, later, parents, read_between)
            audited.hits = place_lines(later, audited.hits)

    return merge._replace(files=[audited for audited in merge.files if audited.hits])
