"""The audit of recent merges: what each did to the checkpoints by the rules of explain-merge, and what is still so.

What a merge did never changes, so it is kept in git's common directory; without that file it is found out again.
"""

import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from checkpoint_git import __version__
from checkpoint_git.checks.merging import Audit, Damage, Harm, Hurt
from checkpoint_git.commands.explain_merge import Schemas, merge_ancestors
from checkpoint_git.commands.explained import Parents, say_entry
from checkpoint_git.commands.forecast import load_schema
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.cache import load_cache, write_cache
from checkpoint_git.disk.discover import Place
from checkpoint_git.merge.explain import Entry, Explanation, explain_bytes
from checkpoint_git.merge.verdict import FAILURES
from checkpoint_git.protocols.registry import KINDS, schema_of_name
from checkpoint_git.repo.audit import read_blobs_in_head, read_later_versions, read_recent_merges, read_suspects
from checkpoint_git.repo.conflicts import read_choices
from checkpoint_git.repo.git import offline_env
from checkpoint_git.repo.merges import Commit, Versions, read_commits, read_contents, read_touched

_FILE = ("checkpoint-git", "merges")  # in git's common directory
_MOST_KEPT = 5_000  # merges
_HARMS: dict[str, Harm] = {"lost": "lost", "doubled": "doubled", "blended": "blended"}

Present = Callable[[str], bytes | None]
Key = tuple[str, str | None, str | None, str | None]


class _Seen(NamedTuple):
    """What a merge did to one file. present: of the file as it was when that was compared; see _mark."""

    present: str
    damages: list[Damage]


_Verdicts = dict[str, dict[str, _Seen]]  # merge -> path of a file that it harmed -> what is left of that


def read_audit(
    place: Place,
    now: int,
    env: Mapping[str, str],
    since: str = "",
    present: Present = lambda path: None,
    is_asked: Callable[[str], bool] = lambda path: True,
) -> Audit:
    """What recent merges of HEAD's history did to checkpoints and is not mended.

    now: seconds since 1970. since: a commit after which merges are audited, "" for the latest ones. present: the bytes
    of a checkpoint in the work tree, None where it has none. is_asked: whether a path is to be told of. Raises
    CheckpointError where since names no commit.
    """
    own = offline_env(env)
    recent = read_recent_merges(place.top, now, since, own)
    if not recent.ids:
        return Audit()
    work = _Auditing(place.top, own, Schemas(read_choices(place.top)), present)
    file = os.path.join(_find_common_dir(place.git_dir or ""), *_FILE)
    rules = _make_rules(work.schemas)
    verdicts = _read_verdicts(load_cache(file, rules))
    before = dict(verdicts)
    cut = work.judge_all(recent.ids, verdicts)
    if verdicts != before:
        newest = {**{one: verdicts[one] for one in recent.ids if one in verdicts}, **verdicts}
        write_cache(file, rules, dict(list(newest.items())[:_MOST_KEPT]))
    found = [damage for one in recent.ids for seen in verdicts.get(one, {}).values() for damage in seen.damages]
    return Audit(len(recent.ids), recent.left_out, cut, tuple(damage for damage in found if is_asked(damage.path)))


class _Auditing:
    """One run of the audit."""

    def __init__(self, cwd: str, env: dict[str, str], schemas: Schemas, present: Present) -> None:
        self.cwd = cwd
        self.env = env
        self.schemas = schemas
        self.present = present

    def judge_all(self, ids: list[str], verdicts: _Verdicts) -> int:
        """Completes the verdicts of some merges; how many could not be judged."""
        unknown = [one for one in ids if one not in verdicts]
        suspects = read_suspects(self.cwd, unknown, self.env)
        harmed = sorted({path for one in ids for path in verdicts.get(one, {})})
        marks = self._mark(harmed)
        again = [one for one in ids if any(marks[path] != seen.present for path, seen in verdicts.get(one, {}).items())]
        cut = 0
        verdicts.update((one, {}) for one in {*unknown} - {merge.id for merge in suspects})
        for merge in [*suspects, *read_commits(self.cwd, again, self.env)]:
            try:
                verdicts[merge.id] = self._judge(merge)
            except CheckpointError:
                cut += 1
        return cut

    def _mark(self, paths: list[str]) -> dict[str, str]:
        """What tells whether a file is still the one that a merge was compared with: in HEAD, in the work tree."""
        blobs = read_blobs_in_head(self.cwd, paths, self.env)
        return {path: _mark(blob, self.present(path)) for path, blob in blobs.items()}

    def _judge(self, merge: Commit) -> dict[str, _Seen]:
        """What one merge did, by the path of each file that it harmed."""
        touched = read_touched(self.cwd, merge, self.env)
        found = {}
        for file in touched.files:
            judged = _Judged(file, load_schema(self.schemas, file.path))
            if judged.harmed:
                found[file.path] = self._compare(merge, judged)
        return found

    def _compare(self, merge: Commit, judged: "_Judged") -> _Seen:
        """Which of the harm is still to be seen, in HEAD and in the work tree, and was not mended in between."""
        path = judged.file.path
        blob = read_blobs_in_head(self.cwd, [path], self.env)[path]
        committed = read_contents(self.cwd, [blob], self.env)[blob] if blob else None
        data = self.present(path)
        left = judged.find_left([committed] if data is None else [committed, data])
        if any(entry.verdict == "lost" for entry in left):
            later = read_later_versions(self.cwd, merge.id, path, self.env)
            left = judged.find_never_back(left, later)
        return _Seen(_mark(blob, data), list(_make_damages(merge, judged.file, left)))


def _mark(blob: str, data: bytes | None) -> str:
    return f"{blob}:{zlib.crc32(data or b''):08x}"


class _Judged:
    """One file of a merge, and what the merge did to it. harmed: the entries that were lost, doubled or blended."""

    def __init__(self, file: Versions, schema: dict[str, Any]) -> None:
        self.file = file
        self.schema = schema
        self._base = merge_ancestors(file.bases, schema)
        found = self._explain(file.result)
        self.is_readable = not any(version == "result" for version, _ in found.unreadable)
        self.harmed = [entry for entry in found.entries if _is_harm(entry)]

    def _explain(self, result: bytes | None) -> Explanation:
        return explain_bytes(self._base, self.file.first, self.file.second, result, self.schema)

    def find_left(self, versions: list[bytes | None]) -> list[Entry]:
        """The harm that all the present versions of the file still show; none of a file that was removed since."""
        if self.file.result is not None and None in versions:
            return []
        shown = [self._find_harm(version) for version in versions]
        return [entry for key, entry in shown[0].items() if all(key in other for other in shown[1:])]

    def _find_harm(self, version: bytes | None) -> dict[Key, Entry]:
        """What a version still shows of the harm. Nothing can be told from one that is no JSON, where the merge was.

        Where the merge left no JSON itself, whatever is missing since then went missing in mending it.
        """
        found = self._explain(version)
        known = {_key(entry): entry for entry in self.harmed}
        if any(name == "result" for name, _ in found.unreadable):
            return {} if self.is_readable else known
        now = {_key(entry): entry for entry in found.entries if _is_harm(entry)}
        return {key: known.get(key, entry) for key, entry in now.items() if key in known or not self.is_readable}

    def find_never_back(self, entries: list[Entry], versions: list[bytes]) -> list[Entry]:
        """The entries without those that were lost and came back in one of the versions, to be removed later."""
        for version in versions:
            found = self._explain(version)
            if not found.unreadable:
                keys = {_key(entry) for entry in found.entries}
                entries = [entry for entry in entries if entry.verdict != "lost" or _key(entry) in keys]
        return entries


def _is_harm(entry: Entry) -> bool:
    """Whether an entry was harmed; that a list stands in another order is no harm."""
    return entry.verdict in FAILURES and not entry.name.endswith(" (order)")


def _key(entry: Entry) -> Key:
    if entry.verdict != "lost":
        return (entry.name, entry.verdict, entry.note, None)
    return (entry.name, entry.base, entry.first, entry.second)


def _make_damages(merge: Commit, file: Versions, entries: list[Entry]) -> Iterable[Damage]:
    first, second = (merge.parents[number - 1] for number in file.parents)
    for verdict, harm in _HARMS.items():
        same = [entry for entry in entries if entry.verdict == verdict]
        if same:
            hurts = tuple(Hurt(_place_of(entry), say_entry(entry, Parents(*file.parents))) for entry in same)
            keeper = (second if same[0].side == "second" else first) if harm == "lost" else ""
            yield Damage(merge.id, (first, second), merge.subject, file.path, harm, hurts, keeper)


def _place_of(entry: Entry) -> str:
    """Where to look in the present document: for an item of a list that is gone, at the list."""
    return entry.where.rpartition("/")[0] if entry.verdict == "lost" and entry.name.endswith("]") else entry.where


# what is kept


def _find_common_dir(git_dir: str) -> str:
    """The directory that all linked worktrees share."""
    try:
        with open(os.path.join(git_dir, "commondir"), encoding="utf-8", errors="surrogateescape") as stream:
            return os.path.join(git_dir, stream.read().rstrip("\n"))
    except OSError:
        return git_dir


def _make_rules(schemas: Schemas) -> str:
    """One word for this version and the schemas in use: with another one, every verdict has to be found again."""
    names = [schema_of_name(kind[4][-1]) for kind in KINDS if kind[5]]
    sums = [f"{_sum_file(name):08x}" for name in (*names, schemas.choices.schema) if name]
    return "-".join([__version__, *sums])


def _sum_file(path: str) -> int:
    try:
        with open(path, "rb") as stream:
            return zlib.crc32(stream.read())
    except OSError:
        return 0


def _read_verdicts(value: Any) -> _Verdicts:
    """The verdicts as they were kept: tuples have become lists."""
    try:
        return {
            one: {
                path: _Seen(str(seen[0]), [_read_damage(damage) for damage in seen[1]]) for path, seen in files.items()
            }
            for one, files in value.items()
        }
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return {}


def _read_damage(value: Any) -> Damage:
    commit, (first, second), subject, path, harm, entries, keeper = value
    hurts = tuple(Hurt(str(where), str(said)) for where, said in entries)
    return Damage(str(commit), (str(first), str(second)), str(subject), str(path), _HARMS[harm], hurts, str(keeper))
