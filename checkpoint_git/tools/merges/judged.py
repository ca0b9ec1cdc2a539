"""One file of a past merge: what the merge did to it, and which of the damage a later version still shows."""

from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.merges import Versions
from checkpoint_git.git.merges.suspects import read_later_versions
from checkpoint_git.git.objects import Env
from checkpoint_git.merge.explain import explain
from checkpoint_git.merge.explanation import Entry, Explanation
from checkpoint_git.merge.file import merge_bases
from checkpoint_git.merge.places import CONFLICT
from checkpoint_git.merge.verdict import FAILURES
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.registry import protocol_of

Schema = dict[str, Any]
Key = tuple[str, str | None, str | None, str | None]


class JudgedFile:
    """file: its versions in the merge. base: the merge base's version, of several bases their merge. found: what the
    merge did to every entry. damaged: the entries that were lost, duplicated or mixed up.
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
        """find_left for the version of a commit, without what was lost and came back between the merge and that commit,
        to be removed later.
        """
        left = self.find_left(version)
        if not left or all(entry.verdict != "lost" for entry in left):
            return left
        for between in read_later_versions(cwd, merge, self.file.path, env, head):
            found = self.explain(between) if any(_may_hold(between, entry) for entry in left) else None
            if found is not None and not found.unreadable:
                keys = {key_of(entry) for entry in found.entries}
                left = [entry for entry in left if entry.verdict != "lost" or key_of(entry) in keys]
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

    def judge(self, file: Versions) -> JudgedFile:
        return JudgedFile(file, self.load(file.path), self.choices.narrative)


def list_damage(found: Explanation) -> list[Entry]:
    return [entry for entry in found.entries if entry.verdict in FAILURES and not entry.name.endswith(" (order)")]


def key_of(entry: Entry) -> Key:
    """The same for an entry in any version: where it is may change."""
    if entry.verdict != "lost":
        return (entry.name, entry.verdict, entry.note, None)
    return (entry.name, entry.base, entry.first, entry.second)


def place_of(entry: Entry) -> str:
    """Where to look in the present document: for an item of a list that is gone, at the list."""
    is_gone_item = entry.verdict == "lost" and entry.result is None and entry.name.endswith("]")
    return entry.where.rpartition("/")[0] if is_gone_item else entry.where


def _may_hold(version: bytes, entry: Entry) -> bool:
    # whether a version could have an entry that was lost; a quick look that saves explaining most of them
    value = entry.second if entry.side == "second" else entry.first
    if entry.verdict != "lost" or value is None or "\\" in value:
        return entry.verdict == "lost"
    words = [word for word in value.split('"')[1::2] if word.isascii() and word.isprintable()]
    return all(word.encode() in version for word in words)
