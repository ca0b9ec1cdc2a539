"""What a past merge did to the checkpoints by the rules of explain-merge, and what of it is still to be seen."""

from collections.abc import Iterable

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.merges import Commit, Versions, read_contents, read_touched
from checkpoint_git.git.merges.suspects import read_blobs_in_head, read_later_versions, read_suspects
from checkpoint_git.git.objects import read_commit
from checkpoint_git.merge.explanation import Entry
from checkpoint_git.tools.merges.explain_merge import Schemas
from checkpoint_git.tools.merges.explained import Parents, say_entry
from checkpoint_git.tools.merges.facts import Damage, Hurt
from checkpoint_git.tools.merges.harm import Judged, key_of, place_of
from checkpoint_git.tools.merges.preview import load_schema
from checkpoint_git.tools.merges.recent_audit import HARMS, Present, Seen, Verdicts, make_mark

MOST_JUDGED = 30  # merges in one run, of those that call for a look
_MOST_FAILURES = 20  # of a clone that lacks what the merges were made of; beyond, nothing is tried


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
            judged = Judged(file, load_schema(self.schemas, file.path))
            if judged.harmed:
                found[file.path] = self._compare(merge, judged)
        return found

    def _compare(self, merge: Commit, judged: Judged) -> Seen:
        """Which of the harm is still to be seen, in HEAD and in the work tree, and was not mended in between."""
        path = judged.file.path
        blob = read_blobs_in_head(self.cwd, [path], self.env)[path]
        data = self.present(path)
        left = judged.find_left(read_contents(self.cwd, [blob], self.env)[blob] if blob else None)
        if left and any(entry.verdict == "lost" for entry in left):
            left = judged.find_never_back(left, read_later_versions(self.cwd, merge.id, path, self.env))
        mended = read_commit(self.cwd, "HEAD", self.env) if left == [] else ""
        if left and data is not None:
            keys = {key_of(entry) for entry in judged.find_left(data) or ()}
            left = [entry for entry in left if key_of(entry) in keys]
        return Seen(make_mark(blob, data), list(_make_damages(merge, judged.file, left or [])), mended)


def _make_damages(merge: Commit, file: Versions, entries: list[Entry]) -> Iterable[Damage]:
    first, second = (merge.parents[number - 1] for number in file.parents)
    for verdict, harm in HARMS.items():
        same = [entry for entry in entries if entry.verdict == verdict]
        if same:
            hurts = tuple(Hurt(place_of(entry), say_entry(entry, Parents(*file.parents))) for entry in same)
            keeper = (second if same[0].side == "second" else first) if harm == "lost" else ""
            yield Damage(merge.id, (first, second), merge.subject, file.path, harm, hurts, keeper)
