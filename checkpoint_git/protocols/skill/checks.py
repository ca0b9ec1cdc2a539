"""What the doctor checks in skill checkpoints: are they valid, and do they still agree with time, files and history?"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.terminal_text import join_some, plural, quote_word, shorten
from checkpoint_git.core.untrusted_text import hide_in_value
from checkpoint_git.disk.discover import relative_path
from checkpoint_git.git.history.evidence import Evidence
from checkpoint_git.git.history.history import Change
from checkpoint_git.protocols.check import REPOSITORY, Context, check
from checkpoint_git.protocols.contract import load_document
from checkpoint_git.protocols.mismatch import OWN
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.document_summary import DocumentSummary, Passage
from checkpoint_git.protocols.skill.facts import NamedFile, SkillFacts
from checkpoint_git.protocols.skill.generated_files import find_move, find_readings
from checkpoint_git.protocols.skill.rules import MAX_SIZE
from checkpoint_git.protocols.skill.shape import advise
from checkpoint_git.protocols.skill.views import action_done_when, find_answers, read_list
from checkpoint_git.protocols.validate import find_twins

_FILES = "context_primer.generated_files"
_LONGEST_ITEM = 300  # characters of a command that names it
_FEW_WORDS = 8  # of an action's beginning in a command
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


@check("drift/project-dir", "warning", remedy="`checkpoint update NAME --project_dir=PATH`", fix="by name")
def find_lost_projects(facts: SkillFacts) -> Iterator[Finding]:
    """`project_dir` does not exist on this machine, or is not absolute."""
    for summary in facts.summaries:
        path = summary.project_dir
        if path is None or path not in facts.absent_dirs or _is_covered(facts, summary, "skill/relative-project-dir"):
            continue
        shown = shorten(hide_in_value(path), 100)
        message = f"project_dir is {shown}, and this machine has no such folder"
        if not path.startswith("/"):
            message = f"project_dir is {shown}, which is not an absolute path of this machine"
        hint = f"if this checkout is the project's home: {_fix(summary, 'drift/project-dir')}"
        cause = "checkpoints name another machine's folder as project_dir"
        yield Finding("drift/project-dir", "warning", message, summary.path, "/project_dir", hint=hint, cause=cause)


def _update(summary: DocumentSummary, *edits: str) -> str:
    """edits: as a shell takes them."""
    return " ".join(["checkpoint update", quote_word(summary.skill), *edits])


def _fix(summary: DocumentSummary, code: str) -> str:
    return f"checkpoint doctor {quote_word(summary.skill)} --fix={code}"


def _remove_file(summary: DocumentSummary, at: int) -> str:
    """By its text, so that another one may go before it."""
    item = summary.listed[at] if at < len(summary.listed) else ""
    if not item or not item.isprintable() or len(item) > _LONGEST_ITEM:
        return _update(summary, f"--{_FILES}.{at}-=")
    return _update(summary, f"--{_FILES}-={quote_word(item)}")


def _is_covered(facts: SkillFacts, summary: DocumentSummary, code: str) -> bool:
    # the check of the schema reports the same, and better
    return "schema" in facts.context.codes and summary.has_finding(code)


# time


@check("drift/stale-in-progress", "warning", remedy="continue it, or set another status")
def find_stale_work(facts: SkillFacts) -> Iterator[Finding]:
    """In progress, and not updated for more than 7 days."""
    hint = "continue it, or set --status=complete or failed; or record progress"
    for finding, summary in _find_stale(facts, "in_progress", "checkpoints in progress"):
        command = _update(summary, '--progress_summary="..."')
        yield finding._replace(hint=f"{hint}: {command}")


@check("drift/stale-blocked", "warning", remedy="ask for the decision again")
def find_stale_blocks(facts: SkillFacts) -> Iterator[Finding]:
    """Blocked for more than 3 days."""
    is_told = "drift/blocker-shipped" in facts.context.codes  # that it can go on says more
    told = (
        {each.path for each in find_shipped_resolutions(facts)} if is_told and any(facts.find_aged("blocked")) else ()
    )
    stale = (one for one in _find_stale(facts, "blocked", "blocked checkpoints") if one[1].path not in told)
    for finding, summary in stale:
        answers = (line for _, line in find_answers(summary.skill, facts.read_value(summary.path)))
        command = next(answers, _update(summary, "--status=in_progress"))
        yield finding._replace(hint=f"ask for the decision again; once it is made: {command}")


def _find_stale(facts: SkillFacts, status: str, which: str) -> Iterator[tuple[Finding, DocumentSummary]]:
    limit, code = facts.limits[status], f"drift/stale-{status.replace('_', '-')}"
    for summary, days in facts.find_aged(status):
        message = f"{summary.skill} is {status}, and was not updated for {days} days (limit: {limit})"
        cause = f"{which} were not updated for more than {limit} days"
        yield Finding(code, "warning", message, summary.path, "/updated_at", cause=cause), summary


@check("drift/complete-but-moving", "note", remedy="`checkpoint reset NAME`")
def find_moving_completions(facts: SkillFacts) -> Iterator[Finding]:
    """Complete for more than 14 days, and its files changed since."""
    for summary, days in facts.find_aged("complete"):
        if changed := find_changed_files(summary, facts):
            message = f"it was complete {days} days ago, and {_describe_changes(changed)} since"
            hint = "if the work continues, set --status=in_progress; else archive it"
            hint = f"{hint}: checkpoint reset {quote_word(summary.skill)}"
            yield Finding("drift/complete-but-moving", "note", message, summary.path, "/status", hint=hint)


# files


# fate -> level, what the message says of the file, what to do; the command after it removes the entry
_FATES: dict[str, tuple[Level, str, str]] = load_document(__file__, "words.json")["fates"]


@check("drift/file-missing", "warning", remedy="write the new name, or remove the entry", fix="safe")
def find_missing_files(facts: SkillFacts) -> Iterator[Finding]:
    """A file in generated_files that is missing.

    The finding shows its new name, or the commit that deleted it, if git knows. A note in a shallow clone.
    """
    for summary in facts.summaries:
        groups: dict[tuple[int, str, str], list[NamedFile]] = {}  # an entry with braces can name many
        for file in facts.files.get(summary.path, ()):
            if file.state != "there":
                fate = "outside" if file.state == "outside" else file.fate
                what = " -> ".join(name or "./" for name in find_move(file.path, file.detail))
                groups.setdefault((file.at, fate, what if fate == "renamed" else file.detail), []).append(file)
        renamed = facts.find_renamed(summary)
        for (at, fate, what), group in groups.items():
            level, text, advice = _FATES[fate]
            command = "git fetch --unshallow" if fate == "cut" else _remove_file(summary, at)
            if fate == "uncommitted":  # staged as deleted, maybe
                command = f"git restore --staged --worktree -- {_words(group)}"
            elif fate == "renamed" and renamed[at][1]:
                command = _fix(summary, "drift/file-missing")
            elif fate == "renamed":
                others = {*summary.listed, *(entry.split(" ", 1)[0] for entry in summary.listed)}
                is_listed = all(file.detail in others for file in group)
                advice = "that is listed too; remove this entry" if is_listed else advice
                detail = group[0].detail
                is_only = sum(file.at == at for file in facts.files[summary.path]) == 1 and detail.isprintable()
                new = quote_word(detail) if is_only and find_readings(detail)[:1] == [[detail]] else '"..."'
                command = command if is_listed else _update(summary, f"--{_FILES}.{at}={new}")
            hint = f"{advice}: {command}".removeprefix(": ")
            subject, told = join_some([shorten(file.path, 120) for file in group]), group[0].told
            says = text.format(detail=shorten(group[0].detail, 120), told=told)
            if fate == "renamed" and len(group) > 1:
                says = f"moved since {told}: {shorten(what, 240)}"
            message = f"{'each of ' if len(group) > 1 else ''}{subject} {says}"
            where = f"/context_primer/generated_files/{at}"
            cause = {
                "unknown": "listed files do not exist, and no commit since the checkpoint began had them",
                "renamed": f"files moved: {what}",
                "deleted": f"listed files were deleted in {told}",
                "cut": _SHALLOW,
            }.get(fate, "")
            yield Finding("drift/file-missing", level, message, summary.path, where, hint=hint, cause=cause)


@check("drift/file-uncommitted", "note", remedy="`git add` it, or remove the entry")
def find_uncommitted_files(facts: SkillFacts) -> Iterator[Finding]:
    """A file in generated_files that is not committed, although the checkpoint is: other clones lack it."""
    for summary in facts.summaries:
        files = facts.untracked.get(summary.path, ())
        if files:
            named = join_some([shorten(file.path, 80) for file in files])
            verb = "is" if len(files) == 1 else "are"
            message = f"{named} {verb} here but not in git, so another clone has the checkpoint without"
            hint = f"remove the entry, or add what belongs to the work: git add -- {_words(files)}"
            yield Finding("drift/file-uncommitted", "note", message, summary.path, _where(files), hint=hint)


@check("drift/file-changed", "note", remedy="read the file again")
def find_changed_documents(facts: SkillFacts) -> Iterator[Finding]:
    """A file in generated_files that changed since the checkpoint was written."""
    for summary in facts.summaries:
        changed = [] if summary.status == "complete" else find_changed_files(summary, facts)
        if changed and summary.updated_at is not None:
            since = f"since the checkpoint was written ({write_instant(summary.updated_at)})"
            message = f"{_describe_changes(changed)} {since}"
            hint = f"read them again before you rely on context_primer; if it is still right: {_update(summary)}"
            where = _where([file for file, _ in changed])
            yield Finding("drift/file-changed", "note", message, summary.path, where, hint=hint)


def _words(files: Sequence[NamedFile]) -> str:
    return " ".join(quote_word(name) for file in files for name in file.names[:1])


def _where(files: Sequence[NamedFile]) -> str:
    return f"/context_primer/generated_files{f'/{files[0].at}' if len(files) == 1 else ''}"


def find_changed_files(summary: DocumentSummary, facts: SkillFacts) -> list[tuple[NamedFile, Change]]:
    """The listed files that HEAD's line changed since the checkpoint was written, with the newest change."""
    start, touched = facts.touched.get(summary.path, ("", {}))
    unchanged = facts.unchanged if touched else frozenset[tuple[str, str]]()
    changed = {file.path: (file, step) for name, (file, step) in touched.items() if (start, name) not in unchanged}
    return sorted(changed.values(), key=lambda one: one[0].at)


def _describe_changes(changed: Sequence[tuple[NamedFile, Change]]) -> str:
    named = [f'{shorten(file.path, 80)} ({step.id[:9]} "{shorten(step.subject, 50)}")' for file, step in changed]
    start = "a generated file changed" if len(named) == 1 else f"{len(named)} generated files changed"
    return f"{start}: {join_some(named, 3)}"


# merged work


# how an action uses a reference -> what one and what several actions do, hint for the only action, for another one
_USES: dict[str, tuple[str, str, str, str]] = load_document(__file__, "words.json")["uses"]


@check("drift/action-shipped", "warning", remedy="`checkpoint done NAME`", fix="safe")
def find_shipped_actions(facts: SkillFacts) -> Iterator[Finding]:
    """A next action whose pull request or ticket is already merged."""
    for summary, passage, merged in _find_passages(facts, "actions"):
        from checkpoint_git.protocols.skill.entries import find_action
        from checkpoint_git.protocols.skill.proof import find_closed, judge_action
        from checkpoint_git.protocols.skill.requests import asks_only_to_merge, find_uses

        proof = judge_action(passage.text, merged)
        uses = [one for one in find_uses(passage.text, find_closed(merged, passage.text)) if one.reference in merged]
        role = next((role for role in _USES if any(use.role == role for use in uses)), "")
        if not role:
            continue
        does, do, hint, after = _USES[role]
        at, named = int(passage.where.rpartition("/")[2]), [use.reference for use in uses if use.role == role]
        value, is_done = facts.read_value(summary.path), proof is not None and proof.sure
        actions = read_list(value, "next_actions")
        level: Level = "warning" if is_done and role == "asked" else "note"
        command = f"checkpoint done {quote_word(summary.skill)}"
        if len(actions) == 1 and summary.status == "in_progress":  # it needs another one
            hint = "mark it done; record what is next" if is_done else hint
            command = f'{command} --next "..."' if is_done else _update(summary, '--next_actions.0="..."')
        else:
            hint = "mark it done" if is_done else after
            names = (*named, " ".join(passage.text.split(" ")[:_FEW_WORDS]))  # what only this one has, else its number
            usable = (name for name in names if name.isprintable() and name[:1] not in ("", "-"))
            own = next((name for name in usable if find_action(value, name, "done") == at), str(at))
            command = f"{command} {quote_word(own)}"
            if is_done and asks_only_to_merge(passage.text) and not any(map(action_done_when, actions[at : at + 1])):
                command = _fix(summary, "drift/action-shipped")
        by = ", and ".join(f"{one}, already merged in {merged[one]}" for one in named)
        message, cause = f"next action {does} {by}", f"next actions {do} {by}"
        hint = f"{hint}: {command}"
        yield Finding("drift/action-shipped", level, message, summary.path, passage.where, hint=hint, cause=cause)


@check("drift/blocker-shipped", "warning", remedy="mark the blocker resolved", fix="by name")
def find_shipped_resolutions(facts: SkillFacts) -> Iterator[Finding]:
    """An open blocker whose proposed resolution is merged.

    As a note: merged entries of depends_on.
    """
    for summary, passage, merged in _find_passages(facts, "resolutions"):
        from checkpoint_git.protocols.skill.requests import find_resolution

        if (reference := find_resolution(passage.text, merged)) is None:
            continue
        place = passage.where[1:].replace("/", ".")
        level: Level = "warning"
        message = f"is already merged: {reference} in {merged[reference]}"
        if place.startswith("depends_on"):
            level, message = "note", f"what the work depends on {message}"
            hint = f"the work can continue; remove this entry: {_update(summary, f'--{place}-=')}"
        else:
            message = f"the blocker's proposed resolution {message}"
            value, at = facts.read_value(summary.path), int(place.split(".")[1])
            blocker = read_list(value, "blockers")[at:][:1]
            answers = (line for one, line in find_answers(summary.skill, value) if one in blocker)
            hint = f"check it, then mark the blocker resolved: {next(answers, '')}"
        yield Finding("drift/blocker-shipped", level, message, summary.path, passage.where, hint=hint)


def _find_passages(
    facts: SkillFacts, field: Literal["actions", "resolutions"]
) -> Iterator[tuple[DocumentSummary, Passage, Mapping[str, Evidence]]]:
    proofs = facts.proofs
    for summary in facts.summaries if any(proofs.values()) else ():
        merged = proofs.get(summary.path, {})
        for passage in summary.actions if field == "actions" else summary.resolutions:
            if not merged.keys().isdisjoint(passage.references):
                yield summary, passage, merged


@check("drift/history-partial", "note", remedy="`git fetch --unshallow`")
def find_partial_history(facts: SkillFacts) -> Iterator[Finding]:
    """The clone is shallow, so merges may be missing."""
    if facts.references and facts.is_shallow:
        message = "this clone is shallow: merges before its first commit cannot be seen"
        yield Finding("drift/history-partial", "note", message, hint="git fetch --unshallow", cause=_SHALLOW)


@check("drift/commit-unknown", "warning", remedy="correct the commit")
def find_unknown_commits(facts: SkillFacts) -> Iterator[Finding]:
    """A recorded commit that is not in HEAD's history."""
    for summary in facts.summaries:
        for recorded in summary.recorded:
            kind = facts.foreign_commits.get(recorded.id)
            if kind is None:
                continue
            level: Level = "warning"
            right = advise("write the intended commit", recorded.where, '="..."')
            right = right.replace(OWN, quote_word(summary.skill))
            if kind == "elsewhere":
                trouble, where = "not part of HEAD's history", "HEAD's history"
                hint = f"was it rebased, or is this another branch? {right}"
            elif facts.is_shallow:
                level, trouble, where = "note", "not in this shallow clone", "this shallow clone"
                hint = "git fetch --unshallow"
            else:
                trouble, where = "this repository has no such commit", "this repository"
                hint = f"was it rebased away, or mistyped? {right}"
            message = f"{recorded.key} names {recorded.id[:12]}: {trouble}"
            cause = _SHALLOW if where == "this shallow clone" else f"recorded commits are not in {where}"
            yield Finding("drift/commit-unknown", level, message, summary.path, recorded.where, hint=hint, cause=cause)


# housekeeping


@check("content/unreviewed", "warning", remedy="`checkpoint rotate NAME`", fix="by name")
def find_unreviewed(facts: SkillFacts) -> Iterator[Finding]:
    """Values that a merge set aside for newer ones, not reviewed yet."""
    for summary in facts.summaries:
        if summary.unreviewed:
            message = f"{plural(summary.unreviewed, 'head')} set aside by a merge, not reviewed yet"
            hint = "compare them with the current ones, then move them to history"
            hint = f"{hint}: checkpoint rotate {quote_word(summary.skill)}"
            yield Finding("content/unreviewed", "warning", message, summary.path, "/superseded", hint=hint)


@check("content/rotation-due", "warning", remedy="`checkpoint rotate NAME`", fix="safe")
def find_overdue_rotations(facts: SkillFacts) -> Iterator[Finding]:
    """A file over 32 KB, or more than 50 merged pull requests in a list."""
    for summary in facts.summaries:
        hint = f"move closed entries to .checkpoints/history: checkpoint rotate {quote_word(summary.skill)}"
        if not summary.rotates:
            hint = "shorten it, or move details into files (it has no closed entries to rotate)"
        if summary.size > MAX_SIZE and not _is_covered(facts, summary, "skill/file-too-big"):
            message = f"the file has {summary.size / 1024:.1f} KB, and every resume reads all of it"
            yield Finding("content/rotation-due", "warning", message, summary.path, hint=hint)
        for where, length in summary.merged:
            message = f"{length} merged pull requests are listed; git log has them too"
            yield Finding("content/rotation-due", "warning", message, summary.path, where, hint=hint)


@check("content/not-read", "note", remedy="`mv FILE NAME.checkpoint.json`")
def find_misnamed_files(context: Context) -> Iterator[Finding]:
    """A file in `.checkpoints/` that looks like a checkpoint, but is not read because of its name.

    Such as `build.json`, `build.checkpoint.jsonc` or `Build.Checkpoint.JSON`.
    """
    if context.skill:
        return
    message = "it looks like a checkpoint but is not read: its name must end in .checkpoint.json (lower case)"
    for path in (relative_path(path, context.place.top) for path in store.list_misnamed(context.place)):
        hint = f"rename it, or move it elsewhere: mv -n {quote_word(path)} {quote_word(layout.right_name(path))}"
        yield Finding("content/not-read", "note", message, path, hint=hint)


# an unfinished merge


@check("merge/unresolved", "error", remedy="`checkpoint resolve`")
def find_unresolved(facts: SkillFacts) -> Iterator[Finding]:
    """Conflict markers, unmerged files, or an unfinished git operation."""
    unmerged = dict.fromkeys(facts.unmerged, "a merge left this file unresolved: the index holds both sides")
    marked = [one for one in facts.summaries if one.has_finding("json/conflict-markers")]
    told = {one.path for one in marked if _is_covered(facts, one, "json/conflict-markers")}
    resolved = "conflict markers were left in the file, but git considers it resolved"
    for path, message in {**{one.path: resolved for one in marked}, **unmerged}.items():
        if path not in told:
            hint = f"checkpoint resolve {quote_word(path)}"
            yield Finding("merge/unresolved", "error", message, path, hint=hint)
    if facts.operation:
        message = f"git is in the middle of a {facts.operation}"
        hint = f"abort it, or finish it once nothing is unmerged: git {facts.operation} --continue"
        yield Finding("merge/unresolved", "note", message, REPOSITORY, hint=hint)
