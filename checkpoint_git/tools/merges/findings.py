"""What merges did to entries of checkpoints, or would do, as findings, as lines and as data. It finds nothing out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.outcome import Line, Rule
from checkpoint_git.core.terminal_text import plural, shorten
from checkpoint_git.merge.explanation import Entry
from checkpoint_git.protocols.contract import load_document
from checkpoint_git.tools.merges.judged import JudgedFile, file_data

Kind = Literal["conflict", "not-json", "duplicate-key", "lost", "duplicated", "mixed-up", "undecided", "differs"]
How = Literal["foreseen", "lines", "hand", "changed", "dropped", "unknown"]

_LONGEST_NAME = 60
MOST_TOLD = 20  # hits of one kind in one file


class Hit(NamedTuple):
    kind: Kind
    path: str
    where: str  # a JSON Pointer
    name: str  # of the entry, "" for the file
    said: str  # what happened
    side: str = ""  # whose entry it is: "first", "second", "both" or ""
    meant: bool = False  # somebody seems to have wanted it so
    line: int = 0  # in the file, from 1; 0 where unknown
    entry: Entry | None = None  # None where the whole result is compared


class Event(NamedTuple):
    commit: str  # "" for one that is only predicted
    names: tuple[str, str]  # of its two sides
    subject: str = ""
    squash: bool = False  # it holds another branch's work and does not name it as a parent
    parents: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Such as "merge 0123456789ab of main and topic", with its subject, and "text merge of topic into main"."""
        first, second = (shorten(name, _LONGEST_NAME) for name in self.names)
        if not self.commit:
            return f"text merge of {second} into {first}"
        subject = f' ("{shorten(self.subject, _LONGEST_NAME)}")' if self.subject else ""
        return f"{'squash' if self.squash else 'merge'} {self.commit[:12]} of {first} and {second}{subject}"


class AuditedFile(NamedTuple):
    judged: JudgedFile
    how: How | None = None  # it was made; None where that was not asked
    hits: Sequence[Hit] = ()


class AuditedMerge(NamedTuple):
    event: Event
    files: list[AuditedFile]
    whole: int = 0  # files that came from the only side that changed them
    crowded: tuple[str, ...] = ()  # paths of an octopus that more than two parents changed
    others: int = 0  # files that are not checkpoints and stop the merge
    reason: str = ""  # why nothing is known
    bases: Sequence[str] = ()

    @property
    def hits(self) -> list[Hit]:
        return [hit for file in self.files for hit in file.hits]


# kind -> what a merge to come does, what one that was made did, what it means
_KINDS: dict[Kind, tuple[str, str, str]] = load_document(__file__, "words.json")["kinds"]
CODES: dict[Kind, str] = {kind: f"merge/{'lost-entry' if kind == 'lost' else kind}" for kind in _KINDS}
NOT_AUDITED = "merge/not-audited"
NOT_REPAIRED = "merge/not-repaired"


def list_rules() -> list[Rule]:
    shown = "checkpoint audit explain shows the whole merge"
    rules = [Rule(CODES[kind], "error", meaning, shown) for kind, (_, _, meaning) in _KINDS.items()]
    return [
        *rules,
        Rule(NOT_AUDITED, "warning", "a merge that cannot be checked in this clone", "git fetch --unshallow"),
        Rule(NOT_REPAIRED, "warning", "harm of a merge that could not be repaired automatically", "fix it by hand"),
    ]


def list_findings(audited: Sequence[AuditedMerge]) -> list[Finding]:
    known = [finding for one in audited for finding in find_hit_findings(one.event, one.hits, _find_hint(one.event))]
    return [*known, *(finding for one in audited for finding in _list_unknown(one))]


def _find_hint(event: Event) -> str:
    if not event.commit:
        return "checkpoint ci premerge merges by the rules before the server does, and lists what to decide by hand"
    if not event.squash:
        return f"checkpoint audit explain {event.commit[:12]} shows all that it did"
    base, head = event.parents[:2]
    return f"checkpoint audit {event.commit[:12]} --base {base[:12]} --head {head[:12]} --json"


def find_hit_findings(event: Event, hits: list[Hit], hint: str) -> list[Finding]:
    """One finding a hit; of many of one kind in one file the first, and how many more."""
    name = event.title if event.commit else f"a {event.title}"
    found: list[Finding] = []
    counts = Counter[tuple[str, Kind, bool]]()
    for hit in hits:
        counts[hit.path, hit.kind, hit.meant] += 1
        if counts[hit.path, hit.kind, hit.meant] <= MOST_TOLD:
            code, (does, did, _) = CODES[hit.kind], _KINDS[hit.kind]
            meant = "; it seems to be meant" if hit.meant else ""
            message = f"{name} {did if event.commit else does}: {hit.said}{meant}"
            found.append(Finding(code, _level(hit.meant), message, hit.path, hit.where, hit.line, hint=hint))
    for (path, kind, is_meant), count in counts.items():
        if count > MOST_TOLD:
            message = f"{name}: {count - MOST_TOLD} more of this kind here"
            found.append(Finding(CODES[kind][0], _level(is_meant), message, path, hint="--json has all of them"))
    return found


def _level(meant: bool) -> Level:
    return "note" if meant else "error"


def _list_unknown(audited: AuditedMerge) -> Iterator[Finding]:
    name = f"merge {audited.event.commit[:12]}" if audited.event.commit else "this merge"
    if audited.reason:
        reason, _, hint = audited.reason.partition("; ")
        yield Finding(NOT_AUDITED, "warning", f"{name} could not be judged: {reason}", hint=hint)
    for path in audited.crowded:
        message = f"{name}: more than two parents changed this file, so it is not checked"
        yield Finding(NOT_AUDITED, "warning", message, path)


def describe(audited: AuditedMerge) -> Line:
    title = audited.event.title
    if audited.reason:
        return Line(f"{title}: not checked: {audited.reason}", "warn")
    said = ", ".join(f"{number} {kind}" for kind, number in count_kinds([audited]).items())
    is_bad = any(not hit.meant for hit in audited.hits)
    return Line(f"{title}: {said or 'every entry as the rules want it'}", "bad" if is_bad else "" if said else "good")


def count_kinds(audited: Sequence[AuditedMerge]) -> dict[str, int]:
    return dict(Counter("meant" if hit.meant else hit.kind for one in audited for hit in one.hits))


def summarize(audited: Sequence[AuditedMerge]) -> Line:
    wrong = sum(not hit.meant for one in audited for hit in one.hits)
    others = sum(one.others for one in audited)
    more = f"; {others} other {'file stops' if others == 1 else 'files stop'} the merge too" if others else ""
    what = f"{plural(wrong, 'place')} that differ from the rules" if wrong else "nothing lost, duplicated or mixed up"
    return Line(f"{plural(len(audited), 'merge')}: {what}{more}", "bad" if wrong else "good")


def merge_data(audited: AuditedMerge) -> dict[str, Any]:
    return {
        "commit": audited.event.commit or None,
        "squash": audited.event.squash,
        "sides": list(audited.event.names),
        "subject": audited.event.subject,
        "parents": list(audited.event.parents),
        "bases": list(audited.bases),
        "unexplained": audited.reason or None,
        "taken_whole": audited.whole,
        "changed_by_more_than_two_parents": list(audited.crowded),
        "other_conflicts": audited.others,
        "files": [
            {**file_data(file.judged.file, file.judged.found), "made_by": file.how,
             "hits": [{name: value for name, value in hit._asdict().items() if name != "entry"} for hit in file.hits]}
            for file in audited.files
        ],
    }  # fmt: skip
