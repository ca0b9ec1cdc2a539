"""Show audited merges as findings, as lines and as data. Nothing is judged here."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.hint import AnyHint, Hint, command
from checkpoint_git.core.outcome import Line
from checkpoint_git.core.terminal_text import plural, shorten
from checkpoint_git.git.merges.merges import MergeCommit, Versions
from checkpoint_git.tools.merges.audited_file import AuditedFile, Hit, Kind, file_data
from checkpoint_git.tools.merges.wording import Parents

_LONGEST_NAME = 60
MOST_TOLD = 20  # hits of one kind in one file

NOT_AUDITED = "merge/not-audited"
NOT_REPAIRED = "merge/not-repaired"


class _Words(NamedTuple):
    does: str  # of a merge that is predicted
    did: str  # of a merge that was made


_WORDS: dict[Kind, _Words] = {
    "conflict": _Words("stops here", "stopped here"),
    "not-json": _Words("makes no JSON", "left no JSON"),
    "duplicate-key": _Words("writes a key twice", "wrote a key twice"),
    "lost": _Words("loses an entry", "lost an entry"),
    "came-back": _Words("brings a finished action back", "brought a finished action back"),
    "duplicated": _Words("duplicates an entry", "duplicated an entry"),
    "mixed-up": _Words("mixes up two records", "mixed up two records"),
    "undecided": _Words("decides without asking", "decided without asking"),
    "differs": _Words("differs from the rules", "differed from the rules"),
}
CODES: dict[Kind, str] = {
    kind: "merge/lost-entry" if kind == "lost" else f"merge/{kind}" for kind in _WORDS
}
# what they are called instead of parents, where nobody has committed the merge of them
_SIDES = ("the base branch", "the head branch")


class Event(NamedTuple):
    """A merge. squash: it holds another branch's work and does not name that as a parent."""

    commit: str  # "" for one that is only predicted
    names: tuple[str, str]  # of its two sides
    subject: str = ""
    squash: bool = False
    parents: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Return a title such as 'merge 0123456789ab of main and topic ("Add it")'."""
        first, second = (shorten(name, _LONGEST_NAME) for name in self.names)
        if not self.commit:
            return f"text merge of {second} into {first}"

        kind = "squash" if self.squash else "merge"
        title = f"{kind} {self.commit[:12]} of {first} and {second}"
        if self.subject:
            title = f'{title} ("{shorten(self.subject, _LONGEST_NAME)}")'
        return title

    def name_parents(self, file: Versions) -> Parents:
        first, second = file.parents
        if self.squash or not self.commit:
            return Parents(first, second, _SIDES)
        return Parents(first, second)


def make_event(
    commit: MergeCommit, *, squash: bool = False, names: tuple[str, str] | None = None
) -> Event:
    """Return the event of a merge. names: of its two sides, if not their ids."""
    ids = [parent[:8] for parent in commit.parents]
    if names:
        first, second = names
    elif len(ids) > 1:
        first, second = ids[0], ids[1]
    else:
        first = second = ids[0]
    if len(ids) > 2:
        second = f"{second} and {len(ids) - 2} more"
    return Event(commit.id, (first, second), commit.subject, squash, commit.parents)


class AuditedMerge(NamedTuple):
    event: Event
    files: list[AuditedFile]
    whole: int = 0  # files that came from the only side that changed them
    crowded: tuple[str, ...] = ()  # paths of an octopus that more than two parents changed
    others: int = 0  # files that are not checkpoints and stop the merge
    reason: str = ""  # why nothing is known
    hint: AnyHint = ""  # what to do about the reason
    bases: Sequence[str] = ()

    @property
    def hits(self) -> list[Hit]:
        return [hit for file in self.files for hit in file.hits]

    @property
    def is_reported(self) -> bool:
        return bool(self.hits or self.reason or self.crowded)


def list_findings(merges: Sequence[AuditedMerge]) -> list[Finding]:
    hits = [finding for merge in merges for finding in list_hit_findings(merge)]
    return hits + [finding for merge in merges for finding in _list_unknown(merge)]


def list_hit_findings(merge: AuditedMerge) -> list[Finding]:
    """Return a finding for each hit; if a file has too many hits of one kind, for the first ones,
    and one that counts the others.
    """
    hint = _find_hint(merge.event)
    title = merge.event.title
    if not merge.event.commit:
        title = f"a {title}"

    found: list[Finding] = []
    counts = Counter[tuple[str, Kind, bool]]()
    for hit in merge.hits:
        counts[hit.path, hit.kind, hit.is_meant] += 1
        if counts[hit.path, hit.kind, hit.is_meant] > MOST_TOLD:
            continue
        message = f"{title} {_name_deed(merge.event, hit)}: {hit.sentence}"
        if hit.is_meant:
            message += "; it seems to be meant"
        code, level = CODES[hit.kind], _level(hit.is_meant)
        found.append(Finding(code, level, message, hit.path, hit.where, hit.line, hint=hint))

    for (path, kind, is_meant), count in counts.items():
        if count > MOST_TOLD:
            message = f"{title}: {count - MOST_TOLD} more of this kind here"
            level = _level(is_meant)
            found.append(Finding(CODES[kind], level, message, path, hint="--json has all of them"))

    return found


def _name_deed(event: Event, hit: Hit) -> str:
    words = _WORDS[hit.kind]
    return words.did if event.commit else words.does


def _find_hint(event: Event) -> Hint:
    if not event.commit:
        merges = " merges by the rules before the server does, and lists what to decide by hand"
        return command("checkpoint", "ci", "merge", more=merges)
    commit = event.commit[:12]
    if not event.squash:
        return command("checkpoint", "audit", "--all", commit, more=" shows all that it did")
    base, head = event.parents[:2]
    sides = ("--base", base[:12], "--head", head[:12])
    return command("checkpoint", "audit", commit, *sides, "--json")


def _level(is_meant: bool) -> Level:
    return "note" if is_meant else "error"


def _list_unknown(merge: AuditedMerge) -> Iterator[Finding]:
    """Yield findings about what could not be checked."""
    name = "this merge"
    if merge.event.commit:
        name = f"merge {merge.event.commit[:12]}"

    if merge.reason:
        message = f"{name} could not be judged: {merge.reason}"
        yield Finding(NOT_AUDITED, "warning", message, hint=merge.hint)
    for path in merge.crowded:
        message = f"{name}: more than two parents changed this file, so it is not checked"
        yield Finding(NOT_AUDITED, "warning", message, path)


def describe(merge: AuditedMerge) -> Line:
    title = merge.event.title
    if merge.reason:
        return Line(f"{title}: not checked: {merge.reason}", "warn", hint=merge.hint)
    counts = count_kinds([merge])
    if not counts:
        return Line(f"{title}: every entry follows the merge rules", "good")
    text = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    if all(hit.is_meant for hit in merge.hits):
        return Line(f"{title}: {text}")
    return Line(f"{title}: {text}", "bad")


def count_kinds(merges: Iterable[AuditedMerge]) -> dict[str, int]:
    """Return how many hits there are of each kind; those that look deliberate are one kind."""
    counts = Counter[str]()
    for merge in merges:
        for hit in merge.hits:
            counts["meant" if hit.is_meant else hit.kind] += 1
    return dict(counts)


def summarize(merges: Sequence[AuditedMerge]) -> Line:
    wrong = sum(not hit.is_meant for merge in merges for hit in merge.hits)
    others = sum(merge.others for merge in merges)
    text = "no damage"
    if wrong:
        text = f"{plural(wrong, 'place')} that differ from the rules"
    if others:
        stop = "file stops" if others == 1 else "files stop"
        text += f"; {others} other {stop} the merge too"
    return Line(f"{plural(len(merges), 'merge')}: {text}", "bad" if wrong else "good")


def merge_data(merge: AuditedMerge) -> dict[str, Any]:
    event = merge.event
    return {
        "commit": event.commit or None,
        "squash": event.squash,
        "sides": list(event.names),
        "subject": event.subject,
        "parents": list(event.parents),
        "bases": list(merge.bases),
        "unexplained": merge.reason or None,
        "taken_whole": merge.whole,
        "changed_by_more_than_two_parents": list(merge.crowded),
        "other_conflicts": merge.others,
        "files": [file_data(file) for file in merge.files],
    }
