"""One file of a past merge: what the merge did to it, and which of the damage a later version still shows."""

from collections.abc import Callable, Iterable
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.merges import Commit, Versions, read_blobs_at, read_contents, read_touched
from checkpoint_git.git.merges.suspects import read_later_versions, read_suspects
from checkpoint_git.git.objects import Env, read_commit
from checkpoint_git.merge.explain import explain
from checkpoint_git.merge.explanation import Entry, Explanation
from checkpoint_git.merge.file import merge_bases
from checkpoint_git.merge.places import CONFLICT
from checkpoint_git.merge.verdict import FAILURES
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.registry import protocol_of
from checkpoint_git.tools.merges.facts import HARMS, Damage, Hurt, Seen, Verdicts, make_mark
from checkpoint_git.tools.merges.sentences import Parents, say_entry

Schema = dict[str, Any]
MOST_JUDGED = 30  # merges in one run, of those that call for a look
_MOST_FAILURES = 20  # of a clone that lacks what the merges were made of; beyond, nothing is tried


class Schemas:
    """The schemas that this clone's driver merges by, each read once.

    strict: raise CheckpointError where the clone's private schema cannot be read; the driver merges without it.
    """

    def __init__(self, choices: Choices, *, strict: bool = False) -> None:
        self.choices = choices
        self._strict = strict
        self._known: dict[str | None, Schema] = {}

    def load(self, path: str) -> Schema:
        owner = protocol_of(path)
        if owner not in self._known:
            try:
                self._known[owner] = load_merge_schema(path, self.choices.schema)
            except CheckpointError:
                if self._strict:
                    raise
                self._known[owner] = load_merge_schema(path)
        return self._known[owner]


Key = tuple[str, str | None, str | None, str | None]


class JudgedFile:
    """One file of a merge, and what the merge did to it. damaged: the entries that were lost, duplicated or mixed up.

    found: the whole explanation. base: the merge base's version, of several bases their merge.
    """

    def __init__(self, file: Versions, schema: Schema, narrative: str = CONFLICT) -> None:
        self.file = file
        self.schema = schema
        self.narrative = narrative
        self.base = merge_bases(file.bases, schema)
        self.found = self.explain(file.result)
        self.is_readable = not any(version == "result" for version, _ in self.found.unreadable)
        self.damaged = list_damage(self.found)

    def explain(self, result: bytes | None) -> Explanation:
        return explain(self.base, self.file.first, self.file.second, result, self.schema, self.narrative)

    def read_left(
        self, version: bytes | None, merge: str, cwd: str, env: Env, head: str = "HEAD"
    ) -> list[Entry] | None:
        """find_left for the version of a commit, without what came back between the merge and that commit."""
        left = self.find_left(version)
        if left and any(entry.verdict == "lost" for entry in left):
            left = self.find_never_back(left, read_later_versions(cwd, merge, self.file.path, env, head))
        return left

    def find_left(self, version: bytes | None) -> list[Entry] | None:
        """The damage that a present version of the file still shows; none where the file was removed since.

        None where that is unknown: the version is not JSON, and the merge's result was. What is missing in a later
        one went missing in the repair.
        """
        if self.file.result is not None and version is None:
            return []
        found = self.explain(version)
        if any(name == "result" for name, _ in found.unreadable):
            return None if self.is_readable else self.damaged
        known = {key_of(entry): entry for entry in self.damaged}
        now = {key_of(entry): entry for entry in list_damage(found)}
        return [known.get(key, entry) for key, entry in now.items() if key in known or not self.is_readable]

    def find_never_back(self, entries: list[Entry], versions: Iterable[bytes]) -> list[Entry]:
        """The entries without those that were lost and came back in one of the versions, to be removed later."""
        for version in versions:
            if not any(_may_hold(version, entry) for entry in entries):
                continue
            found = self.explain(version)
            if not found.unreadable:
                keys = {key_of(entry) for entry in found.entries}
                entries = [entry for entry in entries if entry.verdict != "lost" or key_of(entry) in keys]
        return entries


def list_damage(found: Explanation) -> list[Entry]:
    return [entry for entry in found.entries if entry.verdict in FAILURES and not entry.name.endswith(" (order)")]


def key_of(entry: Entry) -> Key:
    if entry.verdict != "lost":
        return (entry.name, entry.verdict, entry.note, None)
    return (entry.name, entry.base, entry.first, entry.second)


def place_of(entry: Entry) -> str:
    """Where to look in the present document: for an item of a list that is gone, at the list."""
    return entry.where.rpartition("/")[0] if is_gone_item(entry) else entry.where


def is_gone_item(entry: Entry) -> bool:
    return entry.verdict == "lost" and entry.result is None and entry.name.endswith("]")


def _may_hold(version: bytes, entry: Entry) -> bool:
    # whether a version could have an entry that was lost; a quick look that saves explaining most of them
    value = entry.second if entry.side == "second" else entry.first
    words = [word for word in (value or "").split('"')[1::2] if word.isascii() and word.isprintable()]
    plain = [word for word in words if "\\" not in word]
    return entry.verdict == "lost" and (value is None or "\\" in value or all(one.encode() in version for one in plain))


# the doctor's look at recent merges


class MergeAuditor:
    """One run over some merges of a repository. choices: what this clone's driver merges by."""

    def __init__(self, cwd: str, env: dict[str, str], choices: Choices, present: Callable[[str], bytes | None]) -> None:
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
        touched = read_touched(self.cwd, merge, self.env)
        found = {}
        for file in touched.files:
            judged = JudgedFile(file, self.schemas.load(file.path))
            if judged.damaged:
                found[file.path] = self._compare(merge, judged)
        return found

    def _compare(self, merge: Commit, judged: JudgedFile) -> Seen:
        """Which of the damage is still there, in HEAD and in the work tree, and was not repaired in between."""
        path = judged.file.path
        blob = read_blobs_at(self.cwd, [path], self.env)[path]
        data = self.present(path)
        version = read_contents(self.cwd, [blob], self.env)[blob] if blob else None
        left = judged.read_left(version, merge.id, self.cwd, self.env)
        repaired = read_commit(self.cwd, "HEAD", self.env) if left == [] else ""
        if left and data is not None:
            keys = {key_of(entry) for entry in judged.find_left(data) or ()}
            left = [entry for entry in left if key_of(entry) in keys]
        return Seen(make_mark(blob, data), list(_make_damages(merge, judged.file, left or [])), repaired)


def _make_damages(merge: Commit, file: Versions, entries: list[Entry]) -> Iterable[Damage]:
    first, second = (merge.parents[number - 1] for number in file.parents)
    for verdict, harm in HARMS.items():
        same = [entry for entry in entries if entry.verdict == verdict]
        if same:
            hurts = tuple(Hurt(place_of(entry), say_entry(entry, Parents(*file.parents))) for entry in same)
            keeper = (second if same[0].side == "second" else first) if harm == "lost" else ""
            yield Damage(merge.id, (first, second), merge.subject, file.path, harm, hurts, keeper)
