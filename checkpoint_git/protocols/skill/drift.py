"""Where checkpoints and the world have drifted apart: time, files, merged work, recorded commits. Pure.

Every find_ function looks at the gathered facts and returns findings with `path` and `where`; lines are added later.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from checkpoint_git.core.clock import DAY, write_instant
from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.terminal_text import quote_word, shorten
from checkpoint_git.protocols.skill.document_summary import Passage, Recorded, Sheet
from checkpoint_git.protocols.skill.requests import Use, find_shipped, find_uses, is_resolved_by
from checkpoint_git.tools.doctor.context import NamedFile, Release, Step, World

_GRACE = DAY  # a session commits its files soon after it wrote its checkpoint
_FEW = 5  # items that a message spells out


def find_lost_projects(world: World) -> list[Finding]:
    """project_dir names no folder of this machine, or is not absolute."""
    return [finding for sheet in world.sheets for finding in _check_project_dir(sheet, world)]


def find_stale_work(world: World) -> list[Finding]:
    """In progress, and nothing was written for more than a week."""
    hint = "carry on with it, or say what became of it: checkpoint update {skill} --status=..."
    return _find_old(world, "drift/stale-in-progress", "in_progress", "is in_progress", hint)


def find_stale_blocks(world: World) -> list[Finding]:
    """Blocked for more than three days."""
    hint = "ask for the decision again, or resolve the blocker and set another status"
    return _find_old(world, "drift/stale-blocked", "blocked", "is blocked", hint)


def find_moving_completions(world: World) -> list[Finding]:
    """Complete for more than two weeks while later commits went on changing its files, or a release was made."""
    findings, steps_by_path = [], _index_steps(world)
    for sheet in world.sheets:
        age = _age_of(sheet, "complete", world.now)
        if age <= world.limits["complete"] * DAY:
            continue
        changed = find_changed_files(sheet, world, steps_by_path)
        since = _tell_changes(changed) if changed else _tell_release(sheet, world.release)
        if since:
            message = f"it was complete {age // DAY} days ago, and {since} since"
            hint = f"if its work goes on, say so; else put it away: checkpoint reset {quote_word(sheet.skill)}"
            findings.append(_finding("drift/complete-but-moving", "note", message, sheet, "/status", hint))
    return findings


def _tell_release(sheet: Sheet, release: Release | None) -> str:
    """The release that came later, "" for none. A tag made the same day belongs to the work itself."""
    later = release is not None and sheet.updated_at is not None and release.when > sheet.updated_at + _GRACE
    return f"the tag {shorten(release.name, 60)} was made" if release and later else ""


def find_missing_files(world: World) -> list[Finding]:
    """generated_files names what is not there."""
    findings = []
    for sheet in world.sheets:
        groups: dict[tuple[int, str, str, str], list[NamedFile]] = {}
        for file in world.files.get(sheet.path, ()):
            if file.state != "there":
                groups.setdefault((file.at, file.state, file.fate, file.detail), []).append(file)
        findings += [_tell_files(group, sheet) for group in groups.values()]
    return findings


def find_uncommitted_files(world: World) -> list[Finding]:
    """generated_files that are here and nowhere else, though the checkpoint that lists them is committed."""
    findings = []
    for sheet in world.sheets:
        files = world.untracked.get(sheet.path, ())
        if files:
            where = f"/context_primer/generated_files{f'/{files[0].at}' if len(files) == 1 else ''}"
            named = _some([shorten(file.path, 80) for file in files])
            verb = "is" if len(files) == 1 else "are"
            message = f"{named} {verb} here but not in git, so another clone has the checkpoint without"
            hint = "git add what belongs to the work, or take it off the list"
            findings.append(_finding("drift/file-uncommitted", "note", message, sheet, where, hint))
    return findings


def find_changed_documents(world: World) -> list[Finding]:
    """generated_files changed since the checkpoint was written; a complete one is left to its own check."""
    findings, steps_by_path = [], _index_steps(world)
    for sheet in world.sheets:
        changed = [] if sheet.status == "complete" else find_changed_files(sheet, world, steps_by_path)
        if changed:
            where = f"/context_primer/generated_files{f'/{changed[0].file.at}' if len(changed) == 1 else ''}"
            message = f"{_tell_changes(changed)} since the checkpoint was written ({_updated_text(sheet)})"
            hint = "read them again before relying on the context primer; the next update settles it"
            findings.append(_finding("drift/file-changed", "note", message, sheet, where, hint))
    return findings


def find_shipped_actions(world: World) -> list[Finding]:
    """next_actions that ask for work which the history has merged."""
    findings = []
    for sheet, passage in _passages(world, "actions"):
        uses = [use for use in find_uses(passage.text) if use.reference in world.merged and use.role in _TOLD_BY_ROLE]
        findings += [_tell_action(sheet, passage, use, world) for use in uses]
    return findings


def find_shipped_resolutions(world: World) -> list[Finding]:
    """Open blockers whose proposed resolution is merged."""
    findings = []
    for sheet, passage in _passages(world, "resolutions"):
        for reference in passage.references:
            if reference in world.merged and is_resolved_by(passage.text, reference):
                message = f"what should resolve the blocker is merged: {reference} by {world.merged[reference]}"
                hint = "check it, then mark the blocker resolved or remove it"
                findings.append(_finding("drift/blocker-shipped", "warning", message, sheet, passage.where, hint))
    return findings


def _passages(world: World, field: Literal["actions", "resolutions"]) -> Iterator[tuple[Sheet, Passage]]:
    """The texts that name something merged."""
    merged = world.merged.keys()
    for sheet in world.sheets if merged else ():
        for passage in getattr(sheet, field):
            if not merged.isdisjoint(passage.references):
                yield sheet, passage


def find_partial_history(world: World) -> list[Finding]:
    """The history was cut off when it was cloned, and something was asked of it."""
    if not world.shallow or not find_asked_references(world.sheets):
        return []
    message = "this clone is shallow: work that was merged before it begins cannot be told"
    return [Finding("drift/history-partial", "note", message, hint="git fetch --unshallow")]


def find_strange_commits(world: World) -> list[Finding]:
    """Recorded commits that HEAD's history does not hold."""
    findings = []
    for sheet in world.sheets:
        groups: dict[tuple[str, str], list[Recorded]] = {}
        for recorded in sheet.recorded:
            if recorded.id in world.strangers:
                groups.setdefault((recorded.key, world.strangers[recorded.id]), []).append(recorded)
        findings += [_tell_commits(sheet, kind, group, world) for (_, kind), group in groups.items()]
    return findings


def find_asked_references(sheets: Iterable[Sheet]) -> set[str]:
    """Everything that the history has to be asked about."""
    return {
        reference
        for sheet in sheets
        for passage in (*sheet.actions, *sheet.resolutions)
        for reference in passage.references
    }


def _finding(code: str, level: Level, message: str, sheet: Sheet, where: str, hint: str) -> Finding:
    return Finding(code, level, message, sheet.path, where, hint=hint)


# time


def _updated_text(sheet: Sheet) -> str:
    return write_instant(sheet.updated_at) if sheet.updated_at is not None else "never"


def _age_of(sheet: Sheet, status: str, now: int) -> int:
    """Seconds since a checkpoint of this status was written, 0 for any other."""
    return now - sheet.updated_at if sheet.updated_at is not None and sheet.status == status else 0


def _find_old(world: World, code: str, status: str, says: str, hint: str) -> list[Finding]:
    findings = []
    for sheet in world.sheets:
        age, limit = _age_of(sheet, status, world.now), world.limits[status]
        if age > limit * DAY:
            message = f"{sheet.skill} {says}, and nothing was written for {age // DAY} days (more than {limit})"
            told = hint.format(skill=quote_word(sheet.skill))
            findings.append(_finding(code, "warning", message, sheet, "/updated_at", told))
    return findings


def _check_project_dir(sheet: Sheet, world: World) -> Iterator[Finding]:
    path = sheet.project_dir
    if path is None or path not in world.absent_dirs:
        return
    shown = shorten(path, 100)
    message = f"project_dir is {shown}, and this machine has no such folder"
    if not path.startswith("/"):
        message = f"project_dir is {shown}, which is no absolute path of this machine"
    hint = f"if this checkout is the project's home: checkpoint update {quote_word(sheet.skill)} --project_dir=PATH"
    yield _finding("drift/project-dir", "warning", message, sheet, "/project_dir", hint)


# files


class ChangedFile(NamedTuple):
    """A listed file and the newest step that changed it behind the checkpoint's back."""

    file: NamedFile
    step: Step


def find_changed_files(sheet: Sheet, world: World, steps_by_path: dict[str, list[int]]) -> list[ChangedFile]:
    """The listed files that HEAD's line changed since the checkpoint was written.

    What came after the step that brought in the checkpoint counts, but not that step itself. Of what came before it,
    and while the checkpoint is not committed, only what is clearly later than updated_at: a session commits its
    files around the time it writes. steps_by_path: path -> indices of world.steps.
    """
    written = sheet.updated_at
    if written is None:
        return []
    watched = {name: file for file in world.files.get(sheet.path, ()) for name in file.names if file.state == "there"}
    watched.pop(sheet.path, None)
    own = steps_by_path.get(sheet.path, [])
    committed = own[0] if own and world.steps[own[0]].when >= written else 0

    def is_news(at: int) -> bool:
        since = written if at < committed else written + _GRACE
        return world.steps[at].when > since and sheet.path not in world.steps[at].paths

    changed: dict[str, ChangedFile] = {}
    for name, file in watched.items():
        newest = next((at for at in steps_by_path.get(name, ()) if is_news(at)), None)
        if newest is not None:
            changed.setdefault(file.path, ChangedFile(file, world.steps[newest]))
    return sorted(changed.values(), key=lambda one: one.file.at)


def _index_steps(world: World) -> dict[str, list[int]]:
    """Which steps, newest first, touched each path."""
    by_path: dict[str, list[int]] = {}
    for at, step in enumerate(world.steps):
        for path in step.paths:
            by_path.setdefault(path, []).append(at)
    return by_path


def _tell_changes(changed: list[ChangedFile]) -> str:
    told = [f'{shorten(one.file.path, 80)} ({one.step.id[:9]} "{shorten(one.step.subject, 50)}")' for one in changed]
    start = "a generated file changed" if len(told) == 1 else f"{len(told)} generated files changed"
    return f"{start}: {_some(told)}"


_FATES: dict[str, tuple[Level, str, str]] = {
    "renamed": ("warning", "is now called {detail}", "write the new name; `checkpoint doctor --fix` does"),
    "deleted": ("warning", "was deleted in commit {detail}", "take it off the list"),
    "uncommitted": ("warning", "is in HEAD, but not in the work tree", "git restore it, or take it off the list"),
    "ignored": ("note", "is not here; git ignores it, so it is built on each machine", "leave out what can be rebuilt"),
    "unknown": ("warning", "is missing, and git never had it", "correct the path, commit it, or take it off the list"),
    "outside": ("note", "lies outside the repository, so nobody else has it", "keep it here, or take it off the list"),
    "": ("warning", "is missing", "correct the path, or take it off the list"),
}


def _tell_files(group: list[NamedFile], sheet: Sheet) -> Finding:
    """One entry's paths that share a fate; an entry with braces can name many."""
    first = group[0]
    level, text, hint = _FATES["outside" if first.state == "outside" else first.fate]
    named = _some([shorten(file.path, 120) for file in group])
    subject = named if len(group) == 1 else f"each of {named}"
    message = f"{subject} {text.format(detail=shorten(first.detail, 120))}"
    where = f"/context_primer/generated_files/{first.at}"
    return _finding("drift/file-missing", level, message, sheet, where, hint)


def _some(items: list[str]) -> str:
    """The first few of some items, and how many more there are."""
    more = f" and {len(items) - _FEW} more" if len(items) > _FEW else ""
    return f"{', '.join(items[:_FEW])}{more}"


# merged work


_TOLD_BY_ROLE: dict[str, tuple[Level, str, str]] = {
    "asked": ("warning", "the action asks for {name}, which is merged", "take out what is done"),
    "waits": ("note", "the action waits for {name}, which is merged", "it can go on: say what is next"),
    "about": ("note", "the action is about {name}, which is merged", "if it is done, take it off the list"),
}


def _tell_action(sheet: Sheet, passage: Passage, use: Use, world: World) -> Finding:
    level, told, hint = _TOLD_BY_ROLE[use.role]
    if find_shipped(passage.text, world.merged):
        first = passage.where == "/next_actions/0"
        hint = f"it is done: checkpoint done {quote_word(sheet.skill)}" if first else "it is done: take it off the list"
    message = f"{told.format(name=use.reference)}: by {world.merged[use.reference]}"
    return _finding("drift/action-shipped", level, message, sheet, passage.where, hint)


# recorded commits


def _tell_commits(sheet: Sheet, kind: str, group: list[Recorded], world: World) -> Finding:
    subject = f"{group[0].key} names {_some([one.id[:12] for one in group])}"
    level: Level = "warning"
    if kind == "elsewhere":
        message, hint = f"{subject}: not part of HEAD's history", "was it rebased, or is this another branch?"
    elif world.shallow:
        level = "note"
        message, hint = f"{subject}: not in this shallow clone", "git fetch --unshallow tells whether it is real"
    else:
        message, hint = f"{subject}: this repository has no such commit", "was it rebased away, or mistyped?"
    return _finding("drift/commit-unknown", level, message, sheet, group[0].where, hint)
