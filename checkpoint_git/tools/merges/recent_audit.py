"""What recent merges did to checkpoints and nobody repaired since."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Literal, NamedTuple, get_args

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.cache import load_cache, make_digest, mark_file, package_digest, write_cache
from checkpoint_git.disk.discover import Place, find_common_dir
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import Commit, Touched, read_files_at, read_touched_each
from checkpoint_git.git.merges.suspects import read_outside, read_recent_merges, read_suspects
from checkpoint_git.git.objects import read_commit
from checkpoint_git.git.run import offline_env
from checkpoint_git.tools.merges.judged import Schemas

_CACHE = ("checkpoint", "merges")  # in git's common directory
_MOST_CACHED = 5_000  # merges
MOST_DAMAGED = 20  # merges with damage that one run reports, each of which costs about six git processes

Harm = Literal["lost", "duplicated", "mixed-up"]
Present = Callable[[str], bytes | None]
Hurt = tuple[str, str]  # a JSON Pointer into the version that has the entry, and what happened to it


class Damage(NamedTuple):
    commit: str
    parents: tuple[str, str]  # the two that count
    subject: str
    path: str
    harm: Harm
    entries: tuple[Hurt, ...]
    keeper: str = ""  # the parent that still has what was lost, "" for neither


class Audit(NamedTuple):
    merges: int = 0  # how many were looked at
    cut: int = 0  # how many could not be judged, in a shallow or partial clone
    waiting: int = 0  # how many were not looked at, behind the newest damaged ones
    damages: tuple[Damage, ...] = ()


# That a merge did no harm never changes, and what was repaired once in HEAD's history is not damage any more, whatever
# the file becomes. Both are cached in git's common directory; what is still damaged is judged again each time.
def read_audit(
    place: Place, now: int, env: Mapping[str, str], present: Present, is_asked: Callable[[str], bool]
) -> Audit:
    """What recent merges of HEAD's history did to checkpoints and is not repaired. now: seconds since 1970. present:
    the bytes of a checkpoint in the work tree, None where it has none. is_asked: whether a path is to be reported.
    """
    own = offline_env(env)
    recent = read_recent_merges(place.top, now, own)
    if not recent:
        return Audit()
    choices = read_choices(place.top)
    cache = os.path.join(find_common_dir(place.git_dir or ""), *_CACHE)
    rules = make_digest([package_digest(), mark_file(choices.schema)])  # by others every verdict has to be found anew
    # merge -> "" for no harm, a commit whose history has all of it repaired, None for damage
    before: dict[str, str | None] = load_cache(cache, rules) or {}
    outside = {None, *read_outside(place.top, filter(None, before.values()), own)}
    open_ids = [one for one in recent if before.get(one) in outside]
    known, damages, cut, waiting = {**before}, list[Damage](), 0, 0
    if open_ids:
        # It explains documents, which few runs need.
        from checkpoint_git.tools.merges.judged import Schemas

        schemas, suspects = Schemas(choices), read_suspects(place.top, open_ids, own)
        known |= dict.fromkeys(set(open_ids) - {merge.id for merge in suspects}, "")
        cut = len(suspects)
        each = read_touched_each(place.top, suspects, own)
        for at, (merge, touched) in enumerate(zip(suspects, each, strict=False)):  # whose end raises where all are cut
            if len({damage.commit for damage in damages}) == MOST_DAMAGED:
                waiting = len(suspects) - at
                break
            with suppress(CheckpointError):
                if isinstance(touched, Touched):
                    known[merge.id], found = _judge(place.top, own, merge, touched, schemas, present)
                    damages += found
                    cut -= 1
        if known != before:
            newest = {one: known[one] for one in recent if one in known}
            write_cache(cache, rules, dict(islice({**newest, **known}.items(), _MOST_CACHED)))
    return Audit(len(recent), cut - waiting, waiting, tuple(one for one in damages if is_asked(one.path)))


def _judge(
    cwd: str, env: Mapping[str, str], merge: Commit, touched: Touched, schemas: "Schemas", present: Present
) -> tuple[str | None, list[Damage]]:
    """What is known of it from now on, and what is left of the damage."""
    from checkpoint_git.tools.merges.judged import Parents, key_of, place_of, say_entry

    state: str | None = ""
    damages = []
    for file in touched.files:
        judged = schemas.judge(file)
        if not judged.damaged:
            continue
        data = present(file.path)
        left = judged.read_left(read_files_at(cwd, [file.path], env)[file.path], merge.id, cwd, env)
        state = None if left != [] or state is None else read_commit(cwd, "HEAD", env)
        if left and data is not None:
            keys = {key_of(entry) for entry in judged.find_left(data) or ()}
            left = [entry for entry in left if key_of(entry) in keys]
        first, second = (merge.parents[number - 1] for number in file.parents)
        for harm in get_args(Harm):
            entries = [entry for entry in left or () if entry.verdict == harm]
            if entries:
                hurts = tuple((place_of(entry), say_entry(entry, Parents(*file.parents))) for entry in entries)
                keeper = (second if entries[0].side == "second" else first) if harm == "lost" else ""
                damages.append(Damage(merge.id, (first, second), merge.subject, file.path, harm, hurts, keeper))
    return state, damages
