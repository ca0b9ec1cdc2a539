"""Check for the doctor what recent merges did to checkpoints, and what the next pull will do."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Argv, Blank, advise, chain, command, join_hints
from checkpoint_git.core.terminal_text import join_some, plural, shorten
from checkpoint_git.disk.discover import relative_path
from checkpoint_git.disk.read import read_content
from checkpoint_git.git.merges.merges import read_recent_merges
from checkpoint_git.git.run import offline_env
from checkpoint_git.protocols.check import REPOSITORY, Context, check, fact
from checkpoint_git.protocols.registry import protocol_of
from checkpoint_git.tools.merges.upstream import Upstream, read_upstream

if TYPE_CHECKING:
    from checkpoint_git.merge.conflicts import Clash
    from checkpoint_git.tools.merges.audited_file import AuditedFile
    from checkpoint_git.tools.merges.findings import AuditedMerge
    from checkpoint_git.tools.merges.preview import FilePreview
    from checkpoint_git.tools.merges.verdict import Verdict

_LONGEST_SUBJECT = 60
_LONGEST_VALUE = 40


class MergeFacts:
    def __init__(self, context: Context) -> None:
        self.context = context

    @fact("the latest merges", ())
    def merges(self) -> "Sequence[AuditedMerge]":
        """Return HEAD's last merges with the damage that HEAD and the work tree still show."""
        top, env = self.context.place.top, offline_env(self.context.env)
        recent = read_recent_merges(top, self.context.now, env)
        if not recent:
            return ()
        # It judges documents, which few runs need.
        from checkpoint_git.tools.merges.audit_range import audit_recent

        merges = audit_recent(top, recent, env)
        return [merge._replace(files=list(self._keep_present(merge))) for merge in merges]

    def _keep_present(self, merge: "AuditedMerge") -> "Iterator[AuditedFile]":
        from checkpoint_git.tools.merges.lasting import find_lasting

        for audited in merge.files:
            if not self._is_asked(audited.file.path):
                continue
            data = self._read_present(audited.file.path)
            if data is not None:
                parents = merge.event.name_parents(audited.file)
                audited.hits = find_lasting(audited, data, parents, lambda: ())
            if audited.hits:
                yield audited

    @fact("the upstream", None)
    def upstream(self) -> Upstream | None:
        context = self.context
        return read_upstream(context.place, context.now, context.env, self._is_asked)

    def _read_present(self, path: str) -> bytes | None:
        top = self.context.place.top
        data = read_content(os.path.join(top, path), top)
        return data if isinstance(data, bytes) else None

    def _is_asked(self, path: str) -> bool:
        """Whether a path is a checkpoint of this place and of the skill that was asked for, or, if
        no skill was, a workflow's file below this place.
        """
        place = self.context.place
        skill = self.context.skill
        if protocol_of(path) == "skill":
            folder, _, name = path.rpartition("/")
            if folder != relative_path(place.directory, place.top):
                return False
            return not skill or name.startswith(f"{skill}.")

        if skill or not path:
            return False
        if place.root == place.top:
            return True
        return path.startswith(f"{relative_path(place.root, place.top)}/")


@check("merge/lost-entry", "warning", remedy="restore it from: `git show PARENT:PATH`")
def find_lost_entries(facts: MergeFacts) -> Iterator[Finding]:
    """An entry that a recent merge lost.

    See [recent merges](#recent-merges).
    """
    return _find_damage(facts, "merge/lost-entry", "lost")


@check("merge/came-back", "warning", remedy="`checkpoint drop NAME`")
def find_actions_that_came_back(facts: MergeFacts) -> Iterator[Finding]:
    """A next action that one side finished, and that a recent merge brought back."""
    return _find_damage(facts, "merge/came-back", "came-back")


@check("merge/duplicated", "warning", remedy="remove one of the two")
def find_duplicated_entries(facts: MergeFacts) -> Iterator[Finding]:
    """A row or key that a recent merge duplicated."""
    return _find_damage(facts, "merge/duplicated", "duplicated")


@check("merge/mixed-up", "warning", remedy="fix it by hand: `checkpoint audit --all COMMIT`")
def find_mixed_up_records(facts: MergeFacts) -> Iterator[Finding]:
    """A record or file that a recent merge mixed up from two."""
    return _find_damage(facts, "merge/mixed-up", "mixed-up")


def _find_damage(facts: MergeFacts, code: str, verdict: "Verdict") -> Iterator[Finding]:
    for merge in facts.merges:
        for audited in merge.files:
            finding = _make_damage(merge, audited, code, verdict)
            if finding:
                yield finding


def _make_damage(
    merge: "AuditedMerge", audited: "AuditedFile", code: str, verdict: "Verdict"
) -> Finding | None:
    """Return one finding about all entries of a file that a merge damaged in one way."""
    hits = [hit for hit in audited.hits if hit.entry and hit.entry.verdict == verdict]
    if not hits:
        return None

    event = merge.event
    path = audited.file.path
    commit = event.commit[:12]
    first, second = (event.parents[number - 1] for number in audited.file.parents)

    title = f"merge {commit} of {first[:8]} and {second[:8]}"
    subject = shorten(event.subject, _LONGEST_SUBJECT)
    did = verdict.replace("-", " ")
    if verdict == "came-back":
        did = "brought back"
    what = "an entry" if len(hits) == 1 else f"{len(hits)} entries"
    entries = join_some([hit.sentence for hit in hits], 3, "; ")
    message = f'{title} ("{subject}") {did} {what}: {entries}'

    repair = ("checkpoint", "audit", f"{first[:12]}..{commit}", "--fix")
    hint = advise("to see all that it did", "checkpoint", "audit", "--all", commit, "--", path)
    if verdict == "lost":
        keeper = first
        if hits[0].side == "second":
            keeper = second
        hint = advise("it is still in", "git", "show", f"{keeper[:12]}:{path}")

    if verdict == "came-back":
        hint = join_hints(hint, advise("to remove the entry in a commit", *repair))
    elif verdict != "mixed-up":
        hint = join_hints(hint, advise("to put it back in a commit", *repair))

    return Finding(code, "warning", message, path, hits[0].where, hint=hint)


@check("merge/not-audited", "note", remedy="`git fetch --unshallow`")
def find_unaudited_merges(facts: MergeFacts) -> Iterator[Finding]:
    """Recent merges that could not be checked.

    A shallow or partial clone lacks their objects.
    """
    count = sum(bool(merge.reason) for merge in facts.merges)
    if count:
        lacking = "not all that was merged is in this clone"
        message = f"{plural(count, 'recent merge')} could not be audited: {lacking}"
        hint = join_hints(
            advise("fetch the rest", "git", "fetch", "--unshallow"),
            advise("in a partial clone", "env", "GIT_NO_LAZY_FETCH=0", "checkpoint", "audit"),
        )
        yield Finding("merge/not-audited", "note", message, REPOSITORY, hint=hint)


def _list_previews(facts: MergeFacts) -> "list[tuple[Upstream, FilePreview]]":
    upstream = facts.upstream
    if upstream is None:
        return []
    return [(upstream, preview) for preview in upstream.previews]


@check("upstream/conflict", "warning", remedy="`git pull`, then `checkpoint resolve`")
def find_coming_conflicts(facts: MergeFacts) -> Iterator[Finding]:
    """The next pull will conflict in this checkpoint.

    See [the next pull](#the-next-pull); no server is asked.
    """
    for upstream, preview in _list_previews(facts):
        trouble = _describe_conflict(upstream, preview)
        if not trouble:
            continue

        message = f"{_merge_of(upstream)} will conflict in this file: {trouble}"
        if preview.kind == "conflict" and not preview.driven:
            message += "; the merge driver is not set up here, so git will mark lines instead"
        hint = join_hints(
            advise("merge early", *_pull_command(upstream)),
            advise("then", "checkpoint", "resolve"),
        )
        if upstream.rebases:
            hint = join_hints("a rebase may ask once per commit", hint)
        where = ""
        if preview.clashes:
            where = preview.clashes[0].where
        yield Finding("upstream/conflict", "warning", message, preview.path, where, hint=hint)


def _describe_clash(clash: "Clash") -> str:
    if clash.question:
        return f"{clash.where} (together they finished all of it: what is next?)"
    ours, theirs = (shorten(value, _LONGEST_VALUE) for value in (clash.ours, clash.theirs))
    return f"{clash.where or '/'} ({ours} here, {theirs} there)"


def _describe_conflict(upstream: Upstream, preview: "FilePreview") -> str:
    match preview.kind:
        case "conflict":
            places = [_describe_clash(clash) for clash in preview.clashes]
            return f"{upstream.name} and this branch disagree at {join_some(places)}"
        case "removed-here":
            return f"this branch removed it, and {upstream.name} has changed it"
        case "removed-there":
            return f"{upstream.name} removed it, and this branch has changed it"
        case "text":
            return f"git will use a text merge: {preview.detail}"
        case _:
            return ""


@check("upstream/invalid", "warning", remedy="`git pull`, then fix it")
def find_coming_errors(facts: MergeFacts) -> Iterator[Finding]:
    """Both sides are valid, but the merge result is not."""
    for upstream, preview in _list_previews(facts):
        if preview.invalid:
            message = f"merging {upstream.name} would make it invalid: {preview.invalid}"
            hint = join_hints(
                command(*_pull_command(upstream)),
                advise("then see what to fix", "checkpoint", "validate"),
            )
            yield Finding("upstream/invalid", "warning", message, preview.path, hint=hint)


@check("upstream/uncommitted", "warning", remedy="commit it first")
def find_blocked_pulls(facts: MergeFacts) -> Iterator[Finding]:
    """An uncommitted checkpoint that the upstream changes too: git will not pull over it."""
    for upstream, preview in _list_previews(facts):
        if preview.in_the_way:
            changes = f"it has uncommitted changes, and {upstream.name} changes it too"
            message = f"{changes}: git will not start {_merge_of(upstream)}"
            commit = ("git", "commit", "-m", Blank("why"), "--", preview.path)
            hint = chain("commit it first", (("git", "add", "--", preview.path), commit))
            yield Finding("upstream/uncommitted", "warning", message, preview.path, hint=hint)


@check("upstream/diverged", "note", remedy="`git pull`")
def find_clean_merges(facts: MergeFacts) -> Iterator[Finding]:
    """Checkpoints changed upstream and here; they merge cleanly."""
    upstream = facts.upstream
    if upstream is None or not upstream.ahead or not _is_clean(upstream):
        return

    merged = [preview for preview in upstream.previews if preview.kind == "clean"]
    taken = [preview for preview in upstream.previews if preview.kind == "whole"]
    parts = []
    if merged:
        parts.append(f"merges {_paths(merged)} cleanly")
    if taken:
        parts.append(f"takes {_paths(taken)} from there")
    message = f"{_lacking(upstream)}: {_merge_of(upstream)} {' and '.join(parts)}"
    if not all(preview.driven for preview in merged):
        message += ", if the merge driver is set up; here git merges as text"
    hint = advise("before you push", *_pull_command(upstream))
    yield Finding("upstream/diverged", "note", message, REPOSITORY, hint=hint)


@check("upstream/behind", "note", remedy="`git pull`")
def find_news(facts: MergeFacts) -> Iterator[Finding]:
    """Checkpoints changed upstream only."""
    upstream = facts.upstream
    if upstream is not None and not upstream.ahead and _is_clean(upstream):
        message = f"{_lacking(upstream)}, and they change {_paths(upstream.previews)}"
        hint = advise("before you continue", *_pull_command(upstream))
        yield Finding("upstream/behind", "note", message, REPOSITORY, hint=hint)


@check("upstream/unknown", "warning", remedy="`git fetch`, or as the finding shows")
def find_unknown_upstreams(facts: MergeFacts) -> Iterator[Finding]:
    """The upstream is not in this clone, or its history is unrelated."""
    upstream = facts.upstream
    if upstream is None:
        return
    match upstream.state:
        case "gone":
            trouble = f"the upstream {upstream.name} is not in this clone"
            message = f"{trouble}, so a merge with it cannot be predicted"
            hint = join_hints(
                advise("if it was deleted after a merge", "git", "branch", "--unset-upstream"),
                advise("else", "git", "fetch"),
            )
            yield Finding("upstream/unknown", "note", message, REPOSITORY, hint=hint)
        case "cut":
            message = f"{_lacking(upstream)}; how they merge is unknown: {upstream.detail}"
            hint = advise("if the clone is shallow", "git", "fetch", "--unshallow")
            yield Finding("upstream/unknown", "note", message, REPOSITORY, hint=hint)
        case "unrelated":
            trouble = f"this branch and {upstream.name} have unrelated histories"
            message = f"{trouble}: git refuses to merge them"
            merge = ("git", "merge", "--allow-unrelated-histories", upstream.name)
            hint = advise("if both belong together", *merge)
            yield Finding("upstream/unknown", "warning", message, REPOSITORY, hint=hint)


def _is_clean(upstream: Upstream) -> bool:
    kinds = {preview.kind for preview in upstream.previews}
    return bool(kinds) and kinds <= {"whole", "clean"}


def _lacking(upstream: Upstream) -> str:
    commits = plural(upstream.behind, "commit")
    return f"{upstream.name} has {commits} that this branch does not have"


def _merge_of(upstream: Upstream) -> str:
    return "a pull" if upstream.tracked else f"a merge with {upstream.name}"


def _pull_command(upstream: Upstream) -> Argv:
    if not upstream.tracked:
        return ("git", "merge", upstream.name)
    if not upstream.ahead:
        return ("git", "pull")
    # without an option git asks how to reconcile the two, unless a setting says it
    if upstream.rebases:
        return ("git", "pull", "--rebase")
    return ("git", "pull", "--no-rebase")


def _paths(previews: "Sequence[FilePreview]") -> str:
    return join_some([preview.path for preview in previews])
