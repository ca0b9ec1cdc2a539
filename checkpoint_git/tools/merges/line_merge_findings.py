"""What a merge by lines did to entries of checkpoints, or would do, as findings. Pure: others read the merges."""

from typing import Literal, NamedTuple

from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.outcome import Rule
from checkpoint_git.core.terminal_text import shorten

Kind = Literal["conflict", "not-json", "duplicate-key", "lost", "doubled", "blended", "undecided", "differs"]
How = Literal["foreseen", "lines", "hand", "changed", "dropped", "unknown"]

_LONGEST_SUBJECT = 60
_LONGEST_NAME = 60
MOST_TOLD = 20  # hits of one kind in one file


class Hit(NamedTuple):
    """One entry that a merge did not treat by the rules.

    where: a JSON Pointer. name: of the entry, "" for the file. said: what happened. side: whose entry it is ("first",
    "second", "both" or ""). meant: somebody seems to have wanted it so. line: in the file, from 1; 0 where unknown.
    """

    kind: Kind
    path: str
    where: str
    name: str
    said: str
    side: str = ""
    meant: bool = False
    line: int = 0


class Event(NamedTuple):
    """The merge that is told of. commit: its id, "" for one that is only foreseen. names: of its two sides.

    squash: a commit that holds another branch's work and does not name it as a parent.
    """

    commit: str
    names: tuple[str, str]
    subject: str = ""
    squash: bool = False


# kind -> (code, what a merge to come does, what one that was made did, what it means)
_KINDS: dict[Kind, tuple[str, str, str, str]] = {
    "conflict": ("merge/conflict", "stops here", "stopped here", "a merge by lines cannot merge this checkpoint"),
    "not-json": ("merge/not-json", "makes no JSON", "left no JSON", "what came out of the merge is no JSON"),
    "duplicate-key": (
        "merge/duplicate-key",
        "writes a key twice",
        "wrote a key twice",
        "a key stands twice in one object, and most readers drop one of the two",
    ),
    "lost": ("merge/lost-entry", "loses an entry", "lost an entry", "an entry that a side had is gone"),
    "doubled": ("merge/duplicated", "doubles an entry", "doubled an entry", "an entry stands twice"),
    "blended": (
        "merge/blended",
        "glues two records together",
        "glued two records together",
        "one record holds parts of two that do not belong together",
    ),
    "undecided": (
        "merge/undecided",
        "decides what a person should",
        "decided what a person should",
        "both sides changed what belongs together, and nobody was asked",
    ),
    "differs": (
        "merge/differs",
        "makes something else than the rules do",
        "made something else than the rules do",
        "the result is another than what the merge rules make of the same versions",
    ),
}
CODES: dict[Kind, str] = {kind: row[0] for kind, row in _KINDS.items()}
NOT_AUDITED = "merge/not-audited"
NOT_REPAIRED = "merge/not-repaired"


def list_rules() -> list[Rule]:
    """What the codes mean, for reports that explain them."""
    rules = [Rule(row[0], "error", row[3], "checkpoint explain-merge tells all of a merge") for row in _KINDS.values()]
    more = (
        Rule(NOT_AUDITED, "warning", "a merge that nothing can be told of in this clone", "git fetch --unshallow"),
        Rule(NOT_REPAIRED, "warning", "harm of a merge that could not be mended by itself", "mend it by hand"),
    )
    return [*rules, *more]


def tell_hits(event: Event, hits: list[Hit], hint: str) -> list[Finding]:
    """One finding a hit; of many of one kind in one file the first, and how many more there are."""
    found: list[Finding] = []
    told: dict[tuple[str, str, bool], int] = {}
    for hit in hits:
        key = (hit.path, hit.kind, hit.meant)
        told[key] = told.get(key, 0) + 1
        if told[key] <= MOST_TOLD:
            found.append(_tell(event, hit, hint))
    for (path, kind, meant), count in told.items():
        if count > MOST_TOLD:
            code = next(row[0] for each, row in _KINDS.items() if each == kind)
            message = f"{_name_event(event)}: {count - MOST_TOLD} more of this kind here"
            found.append(Finding(code, _level(meant), message, path, hint="--json has all of them"))
    return found


def _tell(event: Event, hit: Hit, hint: str) -> Finding:
    code, does, did, _ = _KINDS[hit.kind]
    what = did if event.commit else does
    meant = "; it seems to be meant" if hit.meant else ""
    message = f"{_name_event(event)} {what}: {hit.said}{meant}"
    return Finding(code, _level(hit.meant), message, hit.path, hit.where, hit.line, hint=hint)


def _level(meant: bool) -> Level:
    return "note" if meant else "error"


def _name_event(event: Event) -> str:
    first, second = (shorten(name, _LONGEST_NAME) for name in event.names)
    if not event.commit:
        return f"merging {second} into {first} by lines"
    subject = f' ("{shorten(event.subject, _LONGEST_SUBJECT)}")' if event.subject else ""
    kind = "squash" if event.squash else "merge"
    return f"{kind} {event.commit[:12]} of {first} and {second}{subject}"
