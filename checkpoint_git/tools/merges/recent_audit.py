"""The audit of recent merges: which there are, and what is known of each; what is not known is judged (judged.py).

What a merge did never changes, so it is cached in git's common directory; without that file it is found out again.
"""

import os
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from checkpoint_git.disk.cache import load_cache, write_cache
from checkpoint_git.disk.discover import Place
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import read_blobs_at
from checkpoint_git.git.merges.suspects import read_outside, read_recent_merges
from checkpoint_git.git.run import offline_env
from checkpoint_git.protocols.registry import KINDS, schema_of_name
from checkpoint_git.tools.merges.facts import HARMS, Audit, Damage, Hurt, Seen, Verdicts, make_mark
from checkpoint_git.version import __version__

_FILE = ("checkpoint", "merges")  # in git's common directory
_MOST_KEPT = 5_000  # merges
Present = Callable[[str], bytes | None]


def read_audit(
    place: Place,
    now: int,
    env: Mapping[str, str],
    since: str = "",
    present: Present = lambda path: None,
    is_asked: Callable[[str], bool] = lambda path: True,
) -> Audit:
    """What recent merges of HEAD's history did to checkpoints and is not repaired.

    now: seconds since 1970. since: a commit after which merges are audited, "" for the latest ones. present: the bytes
    of a checkpoint in the work tree, None where it has none. is_asked: whether a path is to be reported. Raises
    CheckpointError where since names no commit.
    """
    own = offline_env(env)
    recent = read_recent_merges(place.top, now, since, own)
    if not recent.ids:
        return Audit()
    choices = read_choices(place.top)
    file, rules = os.path.join(_find_common_dir(place.git_dir or ""), *_FILE), _make_rules(choices)
    verdicts = _read_verdicts(load_cache(file, rules))
    open_ids = _find_open(place.top, own, recent.ids, verdicts, present)
    waiting = frozenset[str]()
    if open_ids:
        from checkpoint_git.tools.merges.judged import MergeAuditor  # explains documents, which few runs need

        auditor = MergeAuditor(place.top, own, choices, present)
        verdicts.update(auditor.judge_all(open_ids))
        waiting = auditor.waiting
        newest = {one: verdicts[one] for one in recent.ids if one in verdicts}
        write_cache(file, rules, dict([*newest.items(), *verdicts.items()][:_MOST_KEPT]))
    found = [damage for one in recent.ids for seen in verdicts.get(one, {}).values() for damage in seen.damages]
    cut = sum(one not in verdicts and one not in waiting for one in recent.ids)
    asked = tuple(damage for damage in found if is_asked(damage.path))
    return Audit(len(recent.ids), recent.left_out, cut, asked, len(waiting))


def _find_open(cwd: str, env: Mapping[str, str], ids: list[str], verdicts: Verdicts, present: Present) -> list[str]:
    """The merges to judge: those never seen, and those that damaged a file which differs by now."""
    damaged = sorted({path for one in ids for path in verdicts.get(one, {})})
    blobs = read_blobs_at(cwd, damaged, env)
    marks = {path: make_mark(blob, present(path)) for path, blob in blobs.items()}
    changed = [(one, seen) for one in ids for path, seen in verdicts.get(one, {}).items() if marks[path] != seen.mark]
    outside = {"", *read_outside(cwd, [seen.repaired for _, seen in changed if seen.repaired], env)}
    again = {one for one, seen in changed if seen.repaired in outside}
    return [one for one in ids if one not in verdicts or one in again]


# what is kept


def _find_common_dir(git_dir: str) -> str:
    try:
        with open(os.path.join(git_dir, "commondir"), encoding="utf-8", errors="surrogateescape") as stream:
            return os.path.join(git_dir, stream.read().rstrip("\n"))
    except OSError:
        return git_dir


def _make_rules(choices: Choices) -> str:
    """One word for this version and the schemas in use: with another one, every verdict has to be found again."""
    names = [schema_of_name(kind.parts[-1]) for kind in KINDS if kind.is_merged]
    sums = [f"{_sum_file(name):08x}" for name in (*names, choices.schema) if name]
    return "-".join([__version__, *sums])


def _sum_file(path: str) -> int:
    try:
        with open(path, "rb") as stream:
            return zlib.crc32(stream.read())
    except OSError:
        return 0


def _read_verdicts(value: Any) -> Verdicts:
    try:
        return {
            one: {
                path: Seen(str(mark), [_read_damage(damage) for damage in damages], str(repaired))
                for path, (mark, damages, repaired) in files.items()
            }
            for one, files in value.items()
        }
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return {}


def _read_damage(value: Any) -> Damage:
    commit, (first, second), subject, path, harm, entries, keeper = value
    hurts = tuple(Hurt(str(where), str(said)) for where, said in entries)
    return Damage(str(commit), (str(first), str(second)), str(subject), str(path), HARMS[harm], hurts, str(keeper))
