"""What the next pull will do to the checkpoints, said before it happens. Pure: the merge was computed elsewhere."""

import shlex
from collections.abc import Iterator

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.tools.doctor.context import World
from checkpoint_git.tools.merges.facts import Meeting, Upstream
from checkpoint_git.tools.setup.checks import REPOSITORY

_MOST_NAMED = 5  # checkpoints, or places in one
_LONGEST_VALUE = 40


def find_lost_upstreams(world: World) -> list[Finding]:
    """An upstream of which nothing can be told: not in this clone, or without a common past."""
    upstream = world.upstream
    if upstream is None or upstream.state == "there":
        return []
    name = upstream.name
    if upstream.state == "gone":
        message = f"the upstream {name} is not in this clone, so no merge with it could be foreseen"
        hint = "if it was deleted after a merge: git branch --unset-upstream; else git fetch"
        return [Finding("upstream/unknown", "note", message, REPOSITORY, hint=hint)]
    if upstream.state == "cut":
        message = f"{_lacks(upstream)}; how they merge cannot be told: {upstream.detail}"
        hint = "of a shallow clone fetch the rest of the history: git fetch --unshallow"
        return [Finding("upstream/unknown", "note", message, REPOSITORY, hint=hint)]
    message = f"this branch and {name} have no commit in common: git refuses to merge them"
    hint = f"if both belong together: git merge --allow-unrelated-histories {shlex.quote(name)}"
    return [Finding("upstream/unknown", "warning", message, REPOSITORY, hint=hint)]


def find_news(world: World) -> list[Finding]:
    """What the upstream has of checkpoints that this branch lacks, where it has nothing of its own."""
    upstream = world.upstream
    clean = _clean_meetings(upstream)
    if upstream is None or not clean or upstream.ahead:
        return []
    message = f"{_lacks(upstream)}, and they change {_named(clean)}"
    return [Finding("upstream/behind", "note", message, REPOSITORY, hint=f"{_command(upstream)} before you go on")]


def find_clean_merges(world: World) -> list[Finding]:
    """What the upstream has of checkpoints that this branch lacks, where all of it merges without a question."""
    upstream = world.upstream
    clean = _clean_meetings(upstream)
    return [_tell_clean_merge(upstream, clean)] if upstream is not None and clean and upstream.ahead else []


def _clean_meetings(upstream: Upstream | None) -> list[Meeting]:
    """All that the upstream changed, where none of it needs a person."""
    if upstream is None or upstream.state != "there":
        return []
    clean = [meeting for meeting in upstream.meetings if meeting.kind in ("whole", "clean")]
    return clean if len(clean) == len(upstream.meetings) else []


def _tell_clean_merge(upstream: Upstream, clean: list[Meeting]) -> Finding:
    both = [meeting for meeting in clean if meeting.kind == "clean"]
    verb = _verb(upstream)
    told = [f"merges {_named(both)} cleanly"] if both else []
    told += [f"takes {_named(whole)} as it is there"] if (whole := [one for one in clean if one not in both]) else []
    message = f"{_lacks(upstream)}: {verb} {' and '.join(told)}"
    if not all(meeting.driven for meeting in both):
        message += ", where the merge driver is set up; here git merges line by line"
    return Finding("upstream/diverged", "note", message, REPOSITORY, hint=f"{_command(upstream)} before you push")


def find_coming_conflicts(world: World) -> list[Finding]:
    """A warning for each checkpoint that the next merge leaves to a person, with the places."""
    upstream = world.upstream
    if upstream is None or upstream.state != "there":
        return []
    return [finding for meeting in upstream.meetings for finding in _tell_conflict(upstream, meeting)]


def _tell_conflict(upstream: Upstream, meeting: Meeting) -> Iterator[Finding]:
    where = meeting.clashes[0].where if meeting.clashes else ""
    trouble = _TROUBLES[meeting.kind](upstream, meeting) if meeting.kind in _TROUBLES else ""
    if not trouble:
        return
    message = f"{_verb(upstream)} will stop at this file: {trouble}"
    if meeting.kind == "conflict" and not meeting.driven:
        message += "; the merge driver is not set up here, so git will mark lines instead"
    hint = f"{_command(upstream)} soon: it grows with every commit; then `checkpoint resolve` shows both sides"
    if upstream.rebases:
        hint += "; a rebase here goes commit by commit, and may ask more than once"
    yield Finding("upstream/conflict", "warning", message, meeting.path, where, hint=hint)


_TROUBLES = {
    "conflict": lambda upstream, meeting: f"{upstream.name} and this branch disagree at {_places(meeting)}",
    "removed-here": lambda upstream, meeting: f"this branch removed it, and {upstream.name} has changed it",
    "removed-there": lambda upstream, meeting: f"{upstream.name} removed it, and this branch has changed it",
    "text": lambda upstream, meeting: f"git merges it line by line, for {meeting.detail}",
}


def _places(meeting: Meeting) -> str:
    told = [
        f"{clash.where or '/'} ({shorten(clash.ours, _LONGEST_VALUE)} here, "
        f"{shorten(clash.theirs, _LONGEST_VALUE)} there)"
        for clash in meeting.clashes[:_MOST_NAMED]
    ]
    return ", ".join(told) + _rest(len(meeting.clashes))


def find_coming_errors(world: World) -> list[Finding]:
    """Checkpoints that merge cleanly, and are wrong afterwards though neither side is."""
    upstream = world.upstream
    return [
        Finding(
            "upstream/invalid",
            "warning",
            f"merged with {upstream.name} it breaks a rule that both sides keep: {meeting.invalid}",
            meeting.path,
            hint=f"{_command(upstream)}, then mend it: checkpoint validate",
        )
        for meeting in (upstream.meetings if upstream else ())
        if upstream and meeting.invalid
    ]


def find_blocked_pulls(world: World) -> list[Finding]:
    """Checkpoints of the work tree that git would refuse to merge over."""
    upstream = world.upstream
    return [
        Finding(
            "upstream/uncommitted",
            "warning",
            f"it holds something that is not committed, and {upstream.name} changes it too: "
            f"git will not start {_verb(upstream)}",
            meeting.path,
            hint="commit it first: it then merges as committed",
        )
        for meeting in (upstream.meetings if upstream else ())
        if upstream and meeting.in_the_way
    ]


def _lacks(upstream: Upstream) -> str:
    return f"{upstream.name} has {upstream.behind} commit{'' if upstream.behind == 1 else 's'} that this branch lacks"


def _verb(upstream: Upstream) -> str:
    return "a pull" if upstream.tracked else f"a merge with {upstream.name}"


def _command(upstream: Upstream) -> str:
    return "git pull" if upstream.tracked else f"git merge {shlex.quote(upstream.name)}"


def _named(meetings: list[Meeting]) -> str:
    return ", ".join(meeting.path for meeting in meetings[:_MOST_NAMED]) + _rest(len(meetings))


def _rest(count: int) -> str:
    return f" and {count - _MOST_NAMED} more" if count > _MOST_NAMED else ""
