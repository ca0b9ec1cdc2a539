"""What recent merges did to checkpoints and nobody repaired since."""

import os
import zlib
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.cache import load_cache, make_digest, mark_file, package_digest, write_cache
from checkpoint_git.disk.discover import Place, find_common_dir
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import Commit, read_blobs_at, read_contents, read_touched
from checkpoint_git.git.merges.suspects import read_outside, read_recent_merges, read_suspects
from checkpoint_git.git.objects import read_commit
from checkpoint_git.git.run import offline_env

if TYPE_CHECKING:
    from checkpoint_git.tools.merges.judged import Schemas

_CACHE = ("checkpoint", "merges")  # in git's common directory
_MOST_CACHED = 5_000  # merges
MOST_JUDGED = 30  # merges in one run, of those that call for a look
_MOST_FAILURES = 20  # of a clone that lacks what the merges were made of; beyond, nothing is tried

Harm = Literal["lost", "doubled", "blended"]
Present = Callable[[str], bytes | None]


class Hurt(NamedTuple):
    where: str  # a JSON Pointer, into the version that has the entry
    said: str  # what happened to it


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
    left_out: bool = False  # older ones are beyond the bound
    cut: int = 0  # how many could not be judged, in a shallow or partial clone
    damages: tuple[Damage, ...] = ()
    waiting: int = 0  # how many come next time


class Verdict(NamedTuple):
    mark: str  # of the file when that was judged
    damages: list[Damage]
    # A commit by which nothing was left. What was repaired once in HEAD's history is not damage any more, whatever the
    # file becomes.
    repaired: str = ""


Verdicts = dict[str, dict[str, Verdict]]  # merge -> path of a file that it damaged -> what is left of that


# What a merge did never changes, so it is cached in git's common directory; without that file it is found out again.
def read_audit(
    place: Place,
    now: int,
    env: Mapping[str, str],
    since: str = "",
    present: Present = lambda path: None,
    is_asked: Callable[[str], bool] = lambda path: True,
) -> Audit:
    """What recent merges of HEAD's history did to checkpoints and is not repaired. now: seconds since 1970. since: a
    commit after which merges are audited, "" for the latest ones. present: the bytes of a checkpoint in the work tree,
    None where it has none. is_asked: whether a path is to be reported. Raises CheckpointError where since names no
    commit.
    """
    own = offline_env(env)
    recent = read_recent_merges(place.top, now, since, own)
    if not recent.ids:
        return Audit()
    choices = read_choices(place.top)
    cache = os.path.join(find_common_dir(place.git_dir or ""), *_CACHE)
    rules = make_digest([package_digest(), mark_file(choices.schema)])  # by others every verdict has to be found anew
    verdicts = _parse_verdicts(load_cache(cache, rules) or {})
    open_ids = _find_open(place.top, own, recent.ids, verdicts, present)
    waiting = frozenset[str]()
    if open_ids:
        # It explains documents, which few runs need.
        from checkpoint_git.tools.merges.judged import Schemas

        suspects = {merge.id: merge for merge in read_suspects(place.top, open_ids, own)}
        waiting = frozenset(list(suspects)[MOST_JUDGED:])  # the newest come first, and the next run goes on from there
        verdicts |= {one: {} for one in open_ids if one not in suspects}
        verdicts |= _judge_all(place.top, own, list(suspects.values())[:MOST_JUDGED], Schemas(choices), present)
        newest = {one: verdicts[one] for one in recent.ids if one in verdicts}
        write_cache(cache, rules, dict(islice({**newest, **verdicts}.items(), _MOST_CACHED)))
    found = [damage for one in recent.ids for verdict in verdicts.get(one, {}).values() for damage in verdict.damages]
    cut = sum(one not in verdicts and one not in waiting for one in recent.ids)
    return Audit(len(recent.ids), recent.left_out, cut, tuple(one for one in found if is_asked(one.path)), len(waiting))


def _parse_verdicts(cached: Any) -> Verdicts:
    def parse_damage(row: Any) -> Damage:
        commit, (first, second), subject, path, harm, hurts, keeper = row
        return Damage(commit, (first, second), subject, path, harm, tuple(Hurt(*hurt) for hurt in hurts), keeper)

    return {
        one: {
            path: Verdict(mark, [parse_damage(row) for row in rows], repaired)
            for path, (mark, rows, repaired) in files.items()
        }
        for one, files in cached.items()
    }


def _find_open(cwd: str, env: Mapping[str, str], ids: list[str], verdicts: Verdicts, present: Present) -> list[str]:
    known = [(one, path, verdict) for one in ids for path, verdict in verdicts.get(one, {}).items()]
    blobs = read_blobs_at(cwd, sorted({path for _, path, _ in known}), env)
    marks = {path: _make_mark(blob, present(path)) for path, blob in blobs.items()}
    changed = [(one, verdict.repaired) for one, path, verdict in known if marks[path] != verdict.mark]
    outside = {"", *read_outside(cwd, [repaired for _, repaired in changed if repaired], env)}
    again = {one for one, repaired in changed if repaired in outside}
    return [one for one in ids if one not in verdicts or one in again]


def _make_mark(blob: str, data: bytes | None) -> str:
    # Differs once a file is not what the merge was compared with, in HEAD or in the work tree
    return f"{blob}:{zlib.crc32(data or b''):08x}"


def _judge_all(
    cwd: str, env: Mapping[str, str], merges: list[Commit], schemas: "Schemas", present: Present
) -> Verdicts:
    """Verdicts by the merges' ids, without those that a shallow or partial clone cannot judge."""
    verdicts: Verdicts = {}
    failures = 0
    for merge in merges:
        try:
            if failures < _MOST_FAILURES:
                verdicts[merge.id] = _judge(cwd, env, merge, schemas, present)
        except CheckpointError:
            failures += 1
    return verdicts


def _judge(cwd: str, env: Mapping[str, str], merge: Commit, schemas: "Schemas", present: Present) -> dict[str, Verdict]:
    from checkpoint_git.tools.merges.judged import Parents, key_of, place_of, say_entry

    verdicts = {}
    for file in read_touched(cwd, merge, env).files:
        judged = schemas.judge(file)
        if not judged.damaged:
            continue
        blob, data = read_blobs_at(cwd, [file.path], env)[file.path], present(file.path)
        version = read_contents(cwd, [blob], env)[blob] if blob else None
        left = judged.read_left(version, merge.id, cwd, env)
        repaired = read_commit(cwd, "HEAD", env) if left == [] else ""
        if left and data is not None:
            keys = {key_of(entry) for entry in judged.find_left(data) or ()}
            left = [entry for entry in left if key_of(entry) in keys]
        first, second = (merge.parents[number - 1] for number in file.parents)
        damages = []
        for harm in get_args(Harm):
            entries = [entry for entry in left or () if entry.verdict == harm]
            if entries:
                hurts = tuple(Hurt(place_of(entry), say_entry(entry, Parents(*file.parents))) for entry in entries)
                keeper = (second if entries[0].side == "second" else first) if harm == "lost" else ""
                damages.append(Damage(merge.id, (first, second), merge.subject, file.path, harm, hurts, keeper))
        verdicts[file.path] = Verdict(_make_mark(blob, data), damages, repaired)
    return verdicts
