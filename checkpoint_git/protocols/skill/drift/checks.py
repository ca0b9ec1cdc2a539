"""Check skill checkpoints for the doctor: are they valid, and do time, files and history agree?"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.hint import (
    AnyHint,
    Argument,
    Argv,
    Blank,
    advise,
    blank,
    command,
    fill_blank,
    join_hints,
)
from checkpoint_git.core.terminal_text import join_some, plain_path, plural, shorten
from checkpoint_git.core.untrusted_text import hide_in_value
from checkpoint_git.disk.discover import relative_path
from checkpoint_git.git.history.history import CommitPaths
from checkpoint_git.protocols.check import REPOSITORY, Context, check
from checkpoint_git.protocols.mismatch import OWN
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.drift import merged_work
from checkpoint_git.protocols.skill.drift.document_summary import (
    DocumentSummary,
    Passage,
    Recorded,
)
from checkpoint_git.protocols.skill.drift.facts import NamedFile, SkillFacts
from checkpoint_git.protocols.skill.drift.generated_files import (
    find_move,
    find_readings,
    follow_moves,
)
from checkpoint_git.protocols.skill.rules import MAX_SIZE
from checkpoint_git.protocols.skill.shape import FILL, advise_edit
from checkpoint_git.protocols.skill.views import (
    find_answers,
    read_list,
    read_primer,
    waits_on_user,
)
from checkpoint_git.protocols.validate import find_twins

if TYPE_CHECKING:
    from checkpoint_git.git.history.reference_facts import Fact

_FILES = "context_primer.generated_files"
_LONGEST_ITEM = 300  # characters of a command that names it
_NEXT = Blank("the next action")
_UNSHALLOW = ("git", "fetch", "--unshallow")
_SHALLOW = "answers need the history that this shallow clone lacks"


# the files themselves


@check("schema", "error", remedy="as each finding says", in_bare=True)
def find_invalid(facts: SkillFacts) -> Iterator[Finding]:
    """Everything that `checkpoint validate` reports.

    ([list](skill-checkpoints.md#findings))
    """
    for summary in facts.summaries:
        yield from summary.findings
    yield from find_twins(summary.path for summary in facts.summaries)


@check("json/byte-order-mark", "warning", remedy="remove it", fix="safe")
def find_byte_order_marks(facts: SkillFacts) -> Iterator[Finding]:
    """A byte order mark before the JSON, which other parsers reject."""
    return (finding for finding in find_invalid(facts) if finding.code == "json/byte-order-mark")


@check("git/ignored", "warning", remedy="remove it from `.gitignore`")
def find_ignored(facts: SkillFacts) -> Iterator[Finding]:
    """A checkpoint that git ignores: no other clone has it."""
    return (finding for finding in facts.not_in_git if finding.code == "git/ignored")


@check("git/untracked", "note", remedy="`git add` it")
def find_untracked(facts: SkillFacts) -> Iterator[Finding]:
    """A checkpoint that was never added to git: no other clone has it."""
    return (finding for finding in facts.not_in_git if finding.code == "git/untracked")


@check(
    "drift/project-dir",
    "warning",
    remedy="`checkpoint update NAME --project_dir=.`",
    fix="by name",
)
def find_lost_projects(facts: SkillFacts) -> Iterator[Finding]:
    """`project_dir` does not exist on this machine, or is relative and not `.`."""
    for summary in facts.summaries:
        path = summary.project_dir
        if path is None or path not in facts.absent_dirs:
            continue
        if _is_covered(facts, summary, "skill/relative-project-dir"):
            continue

        shown = shorten(hide_in_value(path), 100)
        message = f"project_dir is {shown}, and this machine has no such folder"
        if not path.startswith("/"):
            message = f"project_dir is {shown}, which is not an absolute path of this machine"
        code = "drift/project-dir"
        hint = advise("if this checkout is the project's home", *_fix(summary, code))
        cause = "checkpoints name another machine's folder as project_dir"
        where = "/project_dir"
        yield Finding(code, "warning", message, summary.path, where, hint=hint, cause=cause)


def _update(summary: DocumentSummary, *edits: Argument) -> Argv:
    return ("checkpoint", "update", summary.skill, *edits)


def _fix(summary: DocumentSummary, code: str) -> Argv:
    return ("checkpoint", "doctor", summary.skill, f"--fix={code}")


def _remove_file(summary: DocumentSummary, index: int) -> Argv:
    """Return the command that removes an entry, by its text if possible: indexes may change."""
    item = ""
    if index < len(summary.listed):
        item = summary.listed[index]
    if not item or not item.isprintable() or len(item) > _LONGEST_ITEM:
        return _update(summary, f"--{_FILES}.{index}-=")
    return _update(summary, f"--{_FILES}-={item}")


def _write_longer(facts: SkillFacts, summary: DocumentSummary, file: NamedFile) -> Argv:
    """Return the command that writes the whole path of a file into its entry, () for none.

    The entry keeps its notes.
    """
    entries = read_primer(facts.read_value(summary.path), "generated_files")
    if file.entry >= len(entries) or not isinstance(entries[file.entry], str):
        return ()
    if not _is_only_file(facts, summary, file.entry):
        return ()
    longer = follow_moves(entries[file.entry], [(file.path, file.detail)], summary.listed)
    if not longer or not longer.isprintable():
        return ()
    return _update(summary, f"--{_FILES}.{file.entry}={longer}")


def _is_only_file(facts: SkillFacts, summary: DocumentSummary, index: int) -> bool:
    """Return whether an entry of generated_files names one file."""
    return sum(file.entry == index for file in facts.files[summary.path]) == 1


def _is_covered(facts: SkillFacts, summary: DocumentSummary, code: str) -> bool:
    """Return whether the check of the schema reports the same with more detail."""
    return "schema" in facts.context.codes and summary.has_finding(code)


# time


@check("drift/stale-in-progress", "warning", remedy="continue it, or set another status")
def find_stale_work(facts: SkillFacts) -> Iterator[Finding]:
    """In progress, and not updated for more than checkpoint.staleDays days (default: 7)."""
    hint = "continue it, or set --status=complete or failed; or record progress"
    limit = facts.context.limits.in_progress
    for finding, summary in _find_stale(facts, "in_progress", limit, "checkpoints in progress"):
        command = _update(summary, blank("--progress_summary=", "what was done"))
        yield finding._replace(hint=advise(hint, *command))


@check("drift/stale-blocked", "warning", remedy="ask for the decision again")
def find_stale_blocks(facts: SkillFacts) -> Iterator[Finding]:
    """Blocked for more than blocked_days days (default: 3)."""
    limit = facts.context.limits.blocked
    for finding, summary in _find_stale(facts, "blocked", limit, "blocked checkpoints"):
        value = facts.read_value(summary.path)
        answers = find_answers(summary.skill, value)
        if not answers:
            argv = _update(summary, "--status=in_progress")
            hint = advise("nothing blocks it any more; continue it", *argv)
        else:
            blocker, argv = answers[0]
            what = "ask for the decision again; once it is made"
            if not waits_on_user(blocker):
                what = "ask about the blocker again; once it is resolved"
            hint = advise(what, *argv)
        yield finding._replace(hint=hint)


def _find_stale(
    facts: SkillFacts, status: str, limit: int, noun: str
) -> Iterator[tuple[Finding, DocumentSummary]]:
    """Yield findings without a hint for checkpoints with a status for longer than its limit.

    limit: in days. noun: of these checkpoints, in the plural.
    """
    code = f"drift/stale-{status.replace('_', '-')}"
    cause = f"{noun} were not updated for more than {limit} days"
    for summary, days in facts.find_aged(status, limit):
        state = f"{summary.skill} is {status}"
        message = f"{state}, and was not updated for {days} days (limit: {limit})"
        yield Finding(code, "warning", message, summary.path, "/updated_at", cause=cause), summary


@check("drift/complete-but-moving", "note", remedy="`checkpoint reset NAME`")
def find_moving_completions(facts: SkillFacts) -> Iterator[Finding]:
    """Complete for more than complete_days days (default: 14), and its files changed since."""
    for summary, days in facts.find_aged("complete", facts.context.limits.complete):
        if changed := find_changed_files(summary, facts):
            message = f"it was complete {days} days ago, and {_describe_changes(changed)} since"
            what = "if the work continues, set --status=in_progress; else archive it"
            hint = advise(what, "checkpoint", "reset", summary.skill)
            yield Finding(
                "drift/complete-but-moving", "note", message, summary.path, "/status", hint=hint
            )


# files


# fate -> level, the predicate of the message, the advice before the command
_FATES: dict[str, tuple[Level, str, str]] = {
    "renamed": ("warning", "is now called {detail}, since {commit}", "write the new name"),
    "deleted": ("warning", "was deleted in {commit}", "remove the entry"),
    "uncommitted": (
        "warning",
        "is in HEAD, but not in the work tree",
        "remove the entry, or bring the file back",
    ),
    "ignored": (
        "note",
        "is not here; git ignores it, so it is built on each machine",
        "leave out what can be rebuilt",
    ),
    "cut": ("note", "is missing, and this shallow clone does not know why", ""),
    "unknown": (
        "warning",
        "does not exist, and no commit since the checkpoint began had it",
        "fix the path, commit it, or remove the entry",
    ),
    "longer": ("warning", "does not exist; did you mean {detail}?", "write the whole path"),
    "outside": (
        "note",
        "is outside the repository, so no other clone has it",
        "keep it here, or remove the entry",
    ),
    "": ("warning", "does not exist", "fix the path, or remove the entry"),
}


class _Missing(NamedTuple):
    """Group the files of one entry with the same fate.

    entry: its index. what: of a rename "old -> new", else the files' detail.
    """

    entry: int
    fate: str
    what: str
    files: list[NamedFile]


@check(
    "drift/file-missing", "warning", remedy="write the new name, or remove the entry", fix="safe"
)
def find_missing_files(facts: SkillFacts) -> Iterator[Finding]:
    """A file in generated_files that is missing.

    The finding shows its new name, the tracked path that it is the end of, or the commit that
    deleted it, if git knows. A note in a shallow clone.
    """
    for summary in facts.summaries:
        renamed = facts.find_renamed(summary)
        for missing in _group_missing(facts.files.get(summary.path, ())):
            level, _, advice = _FATES[missing.fate]
            if missing.fate == "renamed" and not renamed[missing.entry][1]:
                hint = _advise_renaming(missing, summary, facts)
            else:
                hint = advise(advice, *_choose_remedy(missing, summary, facts))
            yield Finding(
                "drift/file-missing",
                level,
                _describe_missing(missing),
                summary.path,
                f"/context_primer/generated_files/{missing.entry}",
                hint=hint,
                cause=_name_cause(missing),
            )


def _group_missing(files: Iterable[NamedFile]) -> list[_Missing]:
    """Return the missing files by entry and fate: an entry with braces can name many files."""
    groups: dict[tuple[int, str, str], list[NamedFile]] = {}
    for file in files:
        if file.state == "there":
            continue
        fate = file.fate
        if file.state == "outside":
            fate = "outside"
        what = file.detail
        if fate == "renamed":
            what = " -> ".join(name or "./" for name in find_move(file.path, file.detail))
        groups.setdefault((file.entry, fate, what), []).append(file)

    return [_Missing(*key, group) for key, group in groups.items()]


def _choose_remedy(
    missing: _Missing, summary: DocumentSummary, facts: SkillFacts
) -> Sequence[Argument]:
    """Return the command for missing files, unless the user has to write a new name."""
    if missing.fate == "cut":
        return _UNSHALLOW
    if missing.fate == "uncommitted":  # staged as deleted, maybe
        return ("git", "restore", "--staged", "--worktree", "--", *_words(missing.files))
    if missing.fate == "renamed":
        return _fix(summary, "drift/file-missing")

    if missing.fate == "longer":
        argv = _write_longer(facts, summary, missing.files[0])
        if argv:
            return argv
    return _remove_file(summary, missing.entry)


def _advise_renaming(missing: _Missing, summary: DocumentSummary, facts: SkillFacts) -> AnyHint:
    """Return what to do about a renamed file if no fix can write its new name."""
    listed = {*summary.listed, *(entry.split(" ", 1)[0] for entry in summary.listed)}
    if all(file.detail in listed for file in missing.files):
        argv = _remove_file(summary, missing.entry)
        return advise("that is listed too; remove this entry", *argv)

    new_name = missing.files[0].detail
    is_only = _is_only_file(facts, summary, missing.entry)
    edit: Argument = blank(f"--{_FILES}.{missing.entry}=", "its new name")
    if is_only and new_name.isprintable() and find_readings(new_name)[:1] == [[new_name]]:
        edit = f"--{_FILES}.{missing.entry}={new_name}"
    return advise(_FATES["renamed"][2], *_update(summary, edit))


def _describe_missing(missing: _Missing) -> str:
    """Return a sentence with the missing files and what happened to them."""
    first = missing.files[0]
    subject = join_some([shorten(file.path, 120) for file in missing.files])
    template = _FATES[missing.fate][1]
    predicate = template.format(detail=shorten(first.detail, 120), commit=first.commit)
    if len(missing.files) == 1:
        return f"{subject} {predicate}"
    if missing.fate == "renamed":
        predicate = f"moved since {first.commit}: {shorten(missing.what, 240)}"
    return f"each of {subject} {predicate}"


def _name_cause(missing: _Missing) -> str:
    """Return the cause that findings of many entries share, "" for none."""
    causes = {
        "unknown": "listed files do not exist, and no commit since the checkpoint began had them",
        "renamed": f"files moved: {missing.what}",
        "deleted": f"listed files were deleted in {missing.files[0].commit}",
        "cut": _SHALLOW,
    }
    return causes.get(missing.fate, "")


@check("drift/file-uncommitted", "note", remedy="`git add` it, or remove the entry")
def find_uncommitted_files(facts: SkillFacts) -> Iterator[Finding]:
    """A file in generated_files that is not committed, although the checkpoint is: other clones
    lack it.
    """
    for summary in facts.summaries:
        files = facts.untracked.get(summary.path, ())
        if files:
            names = join_some([shorten(file.path, 80) for file in files])
            verb = "are"
            if len(files) == 1:
                verb = "is"
            trouble = "here but not in git, so another clone has the checkpoint without"
            message = f"{names} {verb} {trouble}"
            what = "remove the entry, or add what belongs to the work"
            hint = advise(what, "git", "add", "--", *_words(files))
            code = "drift/file-uncommitted"
            yield Finding(code, "note", message, summary.path, _where(files), hint=hint)


@check("drift/file-changed", "note", remedy="read the file again")
def find_changed_documents(facts: SkillFacts) -> Iterator[Finding]:
    """A file in generated_files that changed since the checkpoint was written."""
    for summary in facts.summaries:
        if summary.status == "complete":
            continue
        changed = find_changed_files(summary, facts)
        if changed and summary.updated_at is not None:
            since = f"since the checkpoint was written ({write_instant(summary.updated_at)})"
            message = f"{_describe_changes(changed)} {since}"
            what = "read them again before you rely on context_primer; if it is still right"
            hint = advise(what, *_update(summary))
            where = _where([file for file, _ in changed])
            yield Finding("drift/file-changed", "note", message, summary.path, where, hint=hint)


def _words(files: Sequence[NamedFile]) -> list[str]:
    return [name for file in files for name in file.names[:1]]


def _where(files: Sequence[NamedFile]) -> str:
    """Return the pointer to the entry of a file, or to the list for several files."""
    if len(files) == 1:
        return f"/context_primer/generated_files/{files[0].entry}"
    return "/context_primer/generated_files"


def find_changed_files(
    summary: DocumentSummary, facts: SkillFacts
) -> list[tuple[NamedFile, CommitPaths]]:
    """Return the listed files that changed since the checkpoint was written, on HEAD's line.

    Each comes with its newest change.
    """
    if summary.path not in facts.touched:
        return []
    start, touched = facts.touched[summary.path]
    changed = {}
    for name, (file, step) in touched.items():
        if (start, name) not in facts.unchanged:
            changed[file.path] = (file, step)
    return sorted(changed.values(), key=lambda change: change[0].entry)


def _describe_changes(changed: Sequence[tuple[NamedFile, CommitPaths]]) -> str:
    """Return the changed files with their newest commits, in words."""
    parts = []
    for file, step in changed:
        commit = f'{step.id[:9]} "{shorten(step.subject, 50)}"'
        parts.append(f"{shorten(file.path, 80)} ({commit})")
    subject = f"{len(parts)} generated files"
    if len(parts) == 1:
        subject = "a generated file"
    return f"{subject} changed: {join_some(parts, 3)}"


# merged work


_STATES = {"closed": " closed", "lost": " merged, but not in HEAD"}
_FEW_ACTIONS = 5  # of one checkpoint that are listed
_FEW_CHECKPOINTS = 5  # that have a note each


@check("drift/action-shipped", "warning", remedy="`checkpoint done NAME`", fix="safe")
def find_shipped_actions(facts: SkillFacts) -> Iterator[Finding]:
    """A next action whose `done_when_merged` is merged.

    As a note, one for each checkpoint: next actions that name merged or closed work.
    """
    if not any(facts.work.values()):
        return
    notes = list[tuple[Finding, int]]()
    for summary in facts.summaries:
        known = facts.work.get(summary.path, {})
        named = list["tuple[Passage, list[Fact]]"]()
        for passage in summary.actions:
            finished = merged_work.find_finished(passage.references, known)
            if merged_work.are_merged(passage.goals, known):
                yield _report_finished(summary, passage, finished, facts)
            elif finished:
                named.append((passage, finished))
        if named:
            notes.append((_note_merged(summary, named), len(named)))

    if len(notes) <= _FEW_CHECKPOINTS:
        yield from (note for note, _ in notes)
        return

    count = sum(count for _, count in notes)
    message = f"{count} next actions in {len(notes)} checkpoints name merged work"
    show = command("checkpoint", "status", "--merged")
    yield Finding("drift/action-shipped", "note", message, REPOSITORY, hint=show)


def _report_finished(
    summary: DocumentSummary, passage: Passage, finished: "Sequence[Fact]", facts: SkillFacts
) -> Finding:
    """Return the finding for a next action that merges finished."""
    evidence = "; ".join(merged_work.describe_facts(finished, facts.context.now))
    hint = advise("mark it done", *_fix(summary, "drift/action-shipped"))
    if summary.actions_count == 1 and summary.status == "in_progress":
        what = "mark it done; record what is next"
        hint = advise(what, "checkpoint", "done", summary.skill, "--next", _NEXT)

    message = f"next action {passage.position + 1} is finished: {evidence}"
    cause = "next actions are finished by merges"
    return Finding(
        "drift/action-shipped",
        "warning",
        message,
        summary.path,
        passage.where,
        hint=hint,
        cause=cause,
    )


def _note_merged(
    summary: DocumentSummary, named: "Sequence[tuple[Passage, Sequence[Fact]]]"
) -> Finding:
    """Return the note for the next actions of a checkpoint that name merged or closed work."""
    parts = list[str]()
    for passage, finished in named:
        works = [f"{fact.reference}{_STATES.get(fact.state, '')}" for fact in finished]
        parts.append(f"{passage.position + 1} ({join_some(works)})")

    work = "merged work"
    if any(fact.state == "closed" for _, finished in named for fact in finished):
        work = "merged or closed work"
    verb = "name"
    where = "/next_actions"
    if len(named) == 1:
        verb = "names"
        where = named[0][0].where
    actions = plural(len(named), "next action")
    message = f"{actions} {verb} {work}: {join_some(parts, _FEW_ACTIONS)}"

    # the last one goes first: each removes an action, and so changes the numbers of later ones
    commands = list[Argv]()
    for passage, _ in named[:_FEW_ACTIONS]:
        commands.insert(0, ("checkpoint", "done", summary.skill, str(passage.position + 1)))
    if len(named) == summary.actions_count and summary.status == "in_progress":
        commands[-1] = (*commands[-1], "--next", _NEXT)
    first, *others = commands
    hints = [command(*argv) for argv in others]
    hint = join_hints(advise("if nothing is left to do", *first), *hints)
    return Finding("drift/action-shipped", "note", message, summary.path, where, hint=hint)


@check(
    "drift/action-done",
    "warning",
    remedy="`checkpoint drop NAME`, or reword it",
    fix="by name",
)
def find_done_actions(facts: SkillFacts) -> Iterator[Finding]:
    """A next action that `recently_done` has too, as after a merge that was resolved by hand."""
    return (finding for finding in find_invalid(facts) if finding.code == "drift/action-done")


@check(
    "drift/blocker-shipped", "note", remedy="`checkpoint unblock NAME` or `checkpoint decide NAME`"
)
def find_shipped_resolutions(facts: SkillFacts) -> Iterator[Finding]:
    """An open blocker whose proposed resolution names merged or closed work, or an entry of
    depends_on that does.
    """
    if not any(facts.work.values()):
        return
    for summary in facts.summaries:
        known = facts.work.get(summary.path, {})
        for passage in summary.resolutions:
            finished = merged_work.find_finished(passage.references, known)
            if finished:
                yield _note_resolution(summary, passage, finished, facts)


def _note_resolution(
    summary: DocumentSummary, passage: Passage, finished: "Sequence[Fact]", facts: SkillFacts
) -> Finding:
    """Return the note for a blocker or an entry of depends_on that names finished work."""
    evidence = "; ".join(merged_work.describe_facts(finished, facts.context.now))
    place = passage.where[1:].replace("/", ".")
    if place.startswith("depends_on"):
        message = f"what the work depends on names finished work: {evidence}"
        argv = _update(summary, f"--{place}-=")
        hint = advise("if the work can continue, remove this entry", *argv)
    else:
        message = f"the blocker's proposed resolution names finished work: {evidence}"
        value = facts.read_value(summary.path)
        blocker = read_list(value, "blockers")[passage.position : passage.position + 1]
        commands = [argv for found, argv in find_answers(summary.skill, value) if found in blocker]
        hint = advise("if that settles it", *commands[0])

    code = "drift/blocker-shipped"
    return Finding(code, "note", message, summary.path, passage.where, hint=hint)


@check("drift/history-partial", "note", remedy="`git fetch --unshallow`")
def find_partial_history(facts: SkillFacts) -> Iterator[Finding]:
    """The clone is shallow, so merges may be missing."""
    if facts.has_references and facts.is_shallow:
        message = "this clone is shallow: merges before its first commit cannot be seen"
        hint = command(*_UNSHALLOW)
        yield Finding("drift/history-partial", "note", message, hint=hint, cause=_SHALLOW)


@check("drift/commit-unknown", "warning", remedy="correct the commit")
def find_unknown_commits(facts: SkillFacts) -> Iterator[Finding]:
    """A recorded commit that is not in HEAD's history."""
    for summary in facts.summaries:
        for recorded in summary.recorded:
            kind = facts.foreign_commits.get(recorded.id)
            if kind is not None:
                yield _report_commit(summary, recorded, kind, is_shallow=facts.is_shallow)


def _report_commit(
    summary: DocumentSummary, recorded: Recorded, kind: str, *, is_shallow: bool
) -> Finding:
    """Return the finding for a recorded commit. kind: as in SkillFacts.foreign_commits."""
    level: Level = "warning"
    edit = advise_edit("write the intended commit", recorded.where, FILL)
    edit = fill_blank(edit, OWN, summary.skill)
    if kind == "elsewhere":
        trouble = "not part of HEAD's history"
        cause = "recorded commits are not in HEAD's history"
        hint = join_hints("was it rebased, or is this another branch", edit)
    elif is_shallow:
        level = "note"
        trouble = "not in this shallow clone"
        cause = _SHALLOW
        hint = command(*_UNSHALLOW)
    else:
        trouble = "this repository has no such commit"
        cause = "recorded commits are not in this repository"
        hint = join_hints("was it rebased away, or mistyped", edit)

    message = f"{recorded.key} names {recorded.id[:12]}: {trouble}"
    code = "drift/commit-unknown"
    return Finding(code, level, message, summary.path, recorded.where, hint=hint, cause=cause)


# housekeeping


@check("content/unreviewed", "warning", remedy="`checkpoint rotate NAME`", fix="by name")
def find_unreviewed(facts: SkillFacts) -> Iterator[Finding]:
    """Values that a merge set aside for newer ones, not reviewed yet."""
    for summary in facts.summaries:
        if summary.unreviewed:
            heads = plural(summary.unreviewed, "head")
            message = f"{heads} set aside by a merge, not reviewed yet"
            what = "compare them with the current ones, then move them to history"
            hint = advise(what, "checkpoint", "rotate", summary.skill)
            code = "content/unreviewed"
            yield Finding(code, "warning", message, summary.path, "/superseded", hint=hint)


@check("content/rotation-due", "warning", remedy="`checkpoint rotate NAME`", fix="safe")
def find_overdue_rotations(facts: SkillFacts) -> Iterator[Finding]:
    """A file over 32 KB, or more than 50 merged pull requests in a list."""
    for summary in facts.summaries:
        what = "move closed entries to .checkpoints/history"
        hint: AnyHint = advise(what, "checkpoint", "rotate", summary.skill)
        if not summary.rotates:
            hint = "shorten it, or move details into files (it has no closed entries to rotate)"
        if summary.size > MAX_SIZE and not _is_covered(facts, summary, "skill/file-too-big"):
            kilobytes = f"{summary.size / 1024:.1f} KB"
            message = f"the file has {kilobytes}, and every resume reads all of it"
            yield Finding("content/rotation-due", "warning", message, summary.path, hint=hint)
        for where, length in summary.merged:
            message = f"{length} merged pull requests are listed; git has them too"
            yield Finding(
                "content/rotation-due", "warning", message, summary.path, where, hint=hint
            )


@check("content/not-read", "note", remedy="`mv FILE NAME.checkpoint.json`")
def find_misnamed_files(context: Context) -> Iterator[Finding]:
    """A file in `.checkpoints/` that looks like a checkpoint, but is not read because of its name.

    Such as `build.json`, `build.checkpoint.jsonc` or `Build.Checkpoint.JSON`.
    """
    if context.skill:
        return
    rule = "its name must end in .checkpoint.json (lower case)"
    message = f"it looks like a checkpoint but is not read: {rule}"
    for full in store.list_misnamed(context.place):
        path = relative_path(full, context.place.top)
        hint = advise("rename it, or move it elsewhere", "mv", "-n", path, layout.right_name(path))
        yield Finding("content/not-read", "note", message, path, hint=hint)


# an unfinished merge


@check("merge/unresolved", "error", remedy="`checkpoint resolve`")
def find_unresolved(facts: SkillFacts) -> Iterator[Finding]:
    """Conflict markers, unmerged files, or an unfinished git operation."""
    code = "json/conflict-markers"
    marked = [summary for summary in facts.summaries if summary.has_finding(code)]
    covered = {summary.path for summary in marked if _is_covered(facts, summary, code)}
    messages = dict[str, str]()
    for summary in marked:
        resolved = "conflict markers were left in the file, but git considers it resolved"
        messages[summary.path] = resolved
    for path in facts.unmerged:
        messages[path] = "a merge left this file unresolved: the index has both sides"

    for path, message in messages.items():
        if path not in covered:
            hint = command("checkpoint", "resolve", plain_path(path))
            yield Finding("merge/unresolved", "error", message, path, hint=hint)

    if facts.operation:
        message = f"git is in the middle of a {facts.operation}"
        what = "abort it, or finish it once all conflicts are resolved"
        hint = advise(what, "git", facts.operation, "--continue")
        yield Finding("merge/unresolved", "note", message, REPOSITORY, hint=hint)
