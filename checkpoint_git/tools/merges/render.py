"""What a server's merges did, in findings, lines for a person and data for programs. It finds nothing out itself."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Line
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.git.merges.merges import UNSHALLOW
from checkpoint_git.tools.merges.explained import file_data
from checkpoint_git.tools.merges.line_merge import Served
from checkpoint_git.tools.merges.line_merge_findings import NOT_AUDITED, tell_hits


def tell_all(served: Sequence[Served]) -> list[Finding]:
    """The findings of all merges: what they did first, then what is not known of them."""
    return [*(finding for one in served for finding in tell(one)),
            *(finding for one in served for finding in tell_unknown(one))]  # fmt: skip


def tell(served: Served) -> list[Finding]:
    """The findings of one merge."""
    if served.event.commit:
        hint = f"checkpoint explain-merge {served.event.commit[:12]} tells all that it did"
        if served.event.squash:
            sides = served.commit.parents if served.commit else ("BASE", "HEAD")
            hint = f"checkpoint audit {served.event.commit[:12]} --base {sides[0][:12]} --head {sides[1][:12]} --json"
    else:
        hint = "checkpoint ci premerge merges by the rules before the server does, and says what a person has to decide"
    return tell_hits(served.event, served.hits, hint)


def tell_unknown(served: Served) -> list[Finding]:
    """What is not known of one merge, as findings."""
    name = f"merge {served.event.commit[:12]}" if served.event.commit else "this merge"
    found = []
    if served.reason:
        reason, _, hint = served.reason.partition("; ")
        found.append(Finding(NOT_AUDITED, "warning", f"{name} could not be judged: {reason}", hint=hint))
    for path in served.crowded:
        message = f"{name}: more than two parents changed this file, so nothing is told of it"
        found.append(Finding(NOT_AUDITED, "warning", message, path))
    return found


def tell_end(commit: str) -> Finding:
    """That a shallow clone ends at a commit. commit: its full id."""
    message = f"this clone was cut off at {commit[:12]}: of the merges before it nothing is known"
    return Finding(NOT_AUDITED, "warning", message, hint=UNSHALLOW)


def describe(served: Served) -> Line:
    """One line for a person about one merge."""
    event = served.event
    first, second = (shorten(name, 60) for name in event.names)
    if not event.commit:
        title = f"{second} merged into {first} by lines"
    else:
        kind = "squash" if event.squash else "merge"
        title = f'{kind} {event.commit[:12]} of {first} and {second} ("{shorten(event.subject, 60)}")'
    told = count_kinds([served])
    said = ", ".join(f"{number} {kind}" for kind, number in told.items())
    wrong = any(not hit.meant for hit in served.hits)
    if served.reason:
        return Line(f"{title}: nothing can be told: {served.reason}", "warn")
    return Line(
        f"{title}: {said or 'every entry as the rules want it'}", "bad" if wrong else "good" if not said else ""
    )


def count_kinds(served: Sequence[Served]) -> dict[str, int]:
    """How many hits there are, by kind; those that seem to be meant count as "meant"."""
    return dict(Counter("meant" if hit.meant else hit.kind for one in served for hit in one.hits))


def summarize(served: Sequence[Served]) -> Line:
    """One line for a person about all of them."""
    wrong = sum(not hit.meant for one in served for hit in one.hits)
    others = sum(one.others for one in served)
    more = f"; {others} other {'file stops' if others == 1 else 'files stop'} the merge too" if others else ""
    count = f"{len(served)} merge{'' if len(served) == 1 else 's'}"
    what = (
        f"{wrong} place{'' if wrong == 1 else 's'} not as the rules want it"
        if wrong
        else "nothing lost, doubled or blended"
    )
    return Line(f"{count}: {what}{more}", "bad" if wrong else "good")


def served_data(served: Served) -> dict[str, Any]:
    """The JSON of one merge."""
    return {
        "commit": served.event.commit or None,
        "squash": served.event.squash,
        "sides": list(served.event.names),
        "subject": served.event.subject,
        "unexplained": served.reason or None,
        "taken_whole": served.whole,
        "changed_by_more_than_two_parents": list(served.crowded),
        "other_conflicts": served.others,
        "files": [
            {**file_data(file.judged.file, file.judged.found), "made_by": file.how,
             "hits": [found.hit._asdict() for found in file.found]}
            for file in served.files
        ],
    }  # fmt: skip
