"""What a past merge did to the checkpoints by the rules of explain-merge, and what of it is still to be seen."""

from collections.abc import Iterable
from typing import Any

from checkpoint_git.checks.merging import Damage, Hurt
from checkpoint_git.commands.doctor.auditing import HARMS, Present, Seen, Verdicts, make_mark
from checkpoint_git.commands.doctor.meeting import load_schema
from checkpoint_git.commands.merges.explain_merge import Schemas, merge_ancestors
from checkpoint_git.commands.merges.explained import Parents, say_entry
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.merge.explain import Entry, Explanation, explain_bytes
from checkpoint_git.merge.verdict import FAILURES
from checkpoint_git.repo.merges.audit import read_blobs_in_head, read_later_versions, read_suspects
from checkpoint_git.repo.merges.merges import Commit, Versions, read_contents, read_touched
from checkpoint_git.repo.setup.settings import Choices
from checkpoint_git.repo.staged import read_commit

MOST_JUDGED = 30  # merges in one run, of those that call for a look
_MOST_FAILURES = 20  # of a clone that lacks what the merges were made of; beyond, nothing is tried

Key = tuple[str, str | None, str | None, str | None]


class Judging:
    """One run over some merges of a repository. choices: what this clone's driver merges by."""

    def __init__(self, cwd: str, env: dict[str, str], choices: Choices, present: Present) -> None:
        self.cwd = cwd
        self.env = env
        self.schemas = Schemas(choices)
        self.present = present
        self.waiting = frozenset[str]()

    def judge_all(self, ids: list[str]) -> Verdicts:
        """The verdicts on merges by their ids, without those that a shallow or partial clone cannot judge.

        Those that there was no time for are in `waiting`: the newest come first, and the next run goes on from there.
        """
        suspects = {merge.id: merge for merge in read_suspects(self.cwd, ids, self.env)}
        verdicts: Verdicts = {one: {} for one in ids if one not in suspects}
        failures = 0
        for merge in list(suspects.values())[:MOST_JUDGED]:
            try:
                if failures < _MOST_FAILURES:
                    verdicts[merge.id] = self._judge(merge)
            except CheckpointError:
                failures += 1
        self.waiting = frozenset(list(suspects)[MOST_JUDGED:])
        return verdicts

    def _judge(self, merge: Commit) -> dict[str, Seen]:
        """What one merge did, by the path of each file that it harmed."""
        touched = read_touched(self.cwd, merge, self.env)
        found = {}
        for file in touched.files:
            judged = _Judged(file, load_schema(self.schemas, file.path))
            if judged.harmed:
                found[file.path] = self._compare(merge, judged)
        return found

    def _compare(self, merge: Commit, judged: "_Judged") -> Seen:
        """Which of the harm is still to be seen, in HEAD and in the work tree, and was not mended in between."""
        path = judged.file.path
        blob = read_blobs_in_head(self.cwd, [path], self.env)[path]
        data = self.present(path)
        left = judged.find_left(read_contents(self.cwd, [blob], self.env)[blob] if blob else None)
        if left and any(entry.verdict == "lost" for entry in left):
            left = judged.find_never_back(left, read_later_versions(self.cwd, merge.id, path, self.env))
        mended = read_commit(self.cwd, "HEAD", self.env) if left == [] else ""
        if left and data is not None:
            keys = {_key(entry) for entry in judged.find_left(data) or ()}
            left = [entry for entry in left if _key(entry) in keys]
        return Seen(make_mark(blob, data), list(_make_damages(merge, judged.file, left or [])), mended)


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

    def find_left(self, version: bytes | None) -> list[Entry] | None:
        """The harm that a present version of the file still shows; none where the file was removed since.

        None where nothing can be told, from a version that is no JSON, unless the merge left none either. What is
        missing in a later one then went missing in mending it.
        """
        if self.file.result is not None and version is None:
            return []
        found = self._explain(version)
        if any(name == "result" for name, _ in found.unreadable):
            return None if self.is_readable else self.harmed
        known = {_key(entry): entry for entry in self.harmed}
        now = {_key(entry): entry for entry in found.entries if _is_harm(entry)}
        return [known.get(key, entry) for key, entry in now.items() if key in known or not self.is_readable]

    def find_never_back(self, entries: list[Entry], versions: list[bytes]) -> list[Entry]:
        """The entries without those that were lost and came back in one of the versions, to be removed later."""
        for version in versions:
            if not any(_may_hold(version, entry) for entry in entries):
                continue
            found = self._explain(version)
            if not found.unreadable:
                keys = {_key(entry) for entry in found.entries}
                entries = [entry for entry in entries if entry.verdict != "lost" or _key(entry) in keys]
        return entries


def _may_hold(version: bytes, entry: Entry) -> bool:
    """Whether a version could have an entry that was lost; a quick look that saves explaining most of them."""
    value = entry.second if entry.side == "second" else entry.first
    words = [word for word in (value or "").split('"')[1::2] if word.isascii() and word.isprintable()]
    plain = [word for word in words if "\\" not in word]
    return entry.verdict == "lost" and (value is None or "\\" in value or all(one.encode() in version for one in plain))


def _is_harm(entry: Entry) -> bool:
    """Whether an entry was harmed; that a list stands in another order is no harm."""
    return entry.verdict in FAILURES and not entry.name.endswith(" (order)")


def _key(entry: Entry) -> Key:
    if entry.verdict != "lost":
        return (entry.name, entry.verdict, entry.note, None)
    return (entry.name, entry.base, entry.first, entry.second)


def _make_damages(merge: Commit, file: Versions, entries: list[Entry]) -> Iterable[Damage]:
    first, second = (merge.parents[number - 1] for number in file.parents)
    for verdict, harm in HARMS.items():
        same = [entry for entry in entries if entry.verdict == verdict]
        if same:
            hurts = tuple(Hurt(_place_of(entry), say_entry(entry, Parents(*file.parents))) for entry in same)
            keeper = (second if same[0].side == "second" else first) if harm == "lost" else ""
            yield Damage(merge.id, (first, second), merge.subject, file.path, harm, hurts, keeper)


def _place_of(entry: Entry) -> str:
    """Where to look in the present document: for an item of a list that is gone, at the list."""
    return entry.where.rpartition("/")[0] if entry.verdict == "lost" and entry.name.endswith("]") else entry.where
