"""What the doctor checks of merges: what recent ones did to checkpoints, and what the next pull will do to them."""

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import join_some, plural, quote_path, shorten
from checkpoint_git.disk.discover import relative_path
from checkpoint_git.disk.read import read_content
from checkpoint_git.protocols.check import REPOSITORY, Context, check, fact
from checkpoint_git.protocols.registry import protocol_of
from checkpoint_git.tools.merges.recent_audit import MOST_DAMAGED, Audit, Harm, read_audit
from checkpoint_git.tools.merges.upstream import Upstream, read_upstream

if TYPE_CHECKING:
    from checkpoint_git.tools.merges.preview import FilePreview

_LONGEST_SUBJECT = 60
_LONGEST_VALUE = 40


class MergeFacts:
    def __init__(self, context: Context) -> None:
        self.context = context

    @fact("the latest merges", Audit())
    def audit(self) -> Audit:
        context = self.context
        return read_audit(context.place, context.now, context.env, self._read_present, self._is_asked)

    @fact("the upstream", None)
    def upstream(self) -> Upstream | None:
        context = self.context
        return read_upstream(context.place, context.now, context.env, self._is_asked)

    def _read_present(self, path: str) -> bytes | None:
        top = self.context.place.top
        data = read_content(os.path.join(top, path), top) if self._is_asked(path) else None
        return data if isinstance(data, bytes) else None

    def _is_asked(self, path: str) -> bool:
        # a checkpoint of this place and of the skill asked for, or a file of a workflow below it
        place = self.context.place
        folder, _, name = path.rpartition("/")
        if protocol_of(path) == "skill":
            wanted = self.context.skill
            return folder == relative_path(place.directory, place.top) and (not wanted or name.startswith(f"{wanted}."))
        root = "" if place.root == place.top else f"{relative_path(place.root, place.top)}/"
        return not self.context.skill and path.startswith(root) and bool(path)


@check("merge/lost-entry", "warning", remedy="restore it from: `git show PARENT:PATH`")
def find_lost_entries(facts: MergeFacts) -> Iterator[Finding]:
    """An entry that a recent merge lost.

    See [recent merges](#recent-merges).
    """
    return _find_damages(facts, "merge/lost-entry", "lost", "lost")


@check("merge/duplicated", "warning", remedy="remove one of the two")
def find_duplicated_entries(facts: MergeFacts) -> Iterator[Finding]:
    """A row or key that a recent merge duplicated."""
    return _find_damages(facts, "merge/duplicated", "duplicated", "duplicated")


@check("merge/mixed-up", "warning", remedy="fix it by hand: `checkpoint audit explain COMMIT`")
def find_mixed_up_records(facts: MergeFacts) -> Iterator[Finding]:
    """A record or file that a recent merge mixed up from two."""
    return _find_damages(facts, "merge/mixed-up", "mixed-up", "mixed up")


def _find_damages(facts: MergeFacts, code: str, harm: Harm, verb: str) -> Iterator[Finding]:
    for damage in (damage for damage in facts.audit.damages if damage.harm == harm):
        commit, count = damage.commit[:12], len(damage.entries)
        first, second = (parent[:8] for parent in damage.parents)
        merge = f'merge {commit} of {first} and {second} ("{shorten(damage.subject, _LONGEST_SUBJECT)}")'
        entries = join_some([said for _, said in damage.entries], 3, "; ")
        message = f"{merge} {verb} {'an entry' if count == 1 else f'{count} entries'}: {entries}"
        hint = f"to see all that it did: checkpoint audit explain {commit} -- {shlex.quote(damage.path)}"
        if damage.keeper:
            hint = f"it is still in git show {shlex.quote(f'{damage.keeper[:12]}:{damage.path}')}"
        if harm != "mixed-up":
            hint += f"; to put it back in a commit: checkpoint audit {damage.parents[0][:12]}..{commit} --fix"
        yield Finding(code, "warning", message, damage.path, damage.entries[0][0], hint=hint)


@check("merge/not-audited", "note", remedy="`git fetch --unshallow`")
def find_unaudited_merges(facts: MergeFacts) -> Iterator[Finding]:
    """Recent merges that could not be checked.

    A shallow or partial clone lacks their objects.
    """
    audit = facts.audit
    if audit.cut:
        message = f"{plural(audit.cut, 'recent merge')} could not be audited: not all that was merged is in this clone"
        hint = "fetch the rest: git fetch --unshallow; in a partial clone: GIT_NO_LAZY_FETCH=0 checkpoint audit"
        yield Finding("merge/not-audited", "note", message, REPOSITORY, hint=hint)
    if audit.waiting:
        message = f"{plural(audit.waiting, 'older merge')} not audited: a run stops after {MOST_DAMAGED} damaged ones"
        yield Finding("merge/not-audited", "note", message, REPOSITORY, hint="all of them: checkpoint audit")


def _list_previews(facts: MergeFacts) -> "list[tuple[Upstream, FilePreview]]":
    upstream = facts.upstream
    return [(upstream, preview) for preview in upstream.previews] if upstream else []


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
        hint = f"merge early, then run `checkpoint resolve`: {_command(upstream)}"
        if upstream.rebases:
            hint = f"a rebase may ask once per commit; {hint}"
        where = preview.clashes[0].where if preview.clashes else ""
        yield Finding("upstream/conflict", "warning", message, preview.path, where, hint=hint)


def _describe_conflict(upstream: Upstream, preview: "FilePreview") -> str:
    match preview.kind:
        case "conflict":
            places = [
                f"{clash.where or '/'} ({shorten(clash.ours, _LONGEST_VALUE)} here, "
                f"{shorten(clash.theirs, _LONGEST_VALUE)} there)"
                for clash in preview.clashes
            ]
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
            hint = f"then `checkpoint validate` says what to fix: {_command(upstream)}"
            yield Finding("upstream/invalid", "warning", message, preview.path, hint=hint)


@check("upstream/uncommitted", "warning", remedy="commit it first")
def find_blocked_pulls(facts: MergeFacts) -> Iterator[Finding]:
    """An uncommitted checkpoint that the upstream changes too: git will not pull over it."""
    for upstream, preview in _list_previews(facts):
        if preview.in_the_way:
            changes = f"it has uncommitted changes, and {upstream.name} changes it too"
            message = f"{changes}: git will not start {_merge_of(upstream)}"
            typed = quote_path(preview.path)
            hint = f'commit it first: git add -- {typed} && git commit -m "..." -- {typed}'
            yield Finding("upstream/uncommitted", "warning", message, preview.path, hint=hint)


@check("upstream/diverged", "note", remedy="`git pull`")
def find_clean_merges(facts: MergeFacts) -> Iterator[Finding]:
    """Checkpoints changed upstream and here; they merge cleanly."""
    upstream = facts.upstream
    if upstream is None or not upstream.ahead or not _is_clean(upstream):
        return
    merged = [preview for preview in upstream.previews if preview.kind == "clean"]
    taken = [preview for preview in upstream.previews if preview.kind == "whole"]
    parts = [f"merges {_paths(merged)} cleanly"] if merged else []
    parts += [f"takes {_paths(taken)} as it is there"] if taken else []
    message = f"{_lacking(upstream)}: {_merge_of(upstream)} {' and '.join(parts)}"
    if not all(preview.driven for preview in merged):
        message += ", where the merge driver is set up; here git merges line by line"
    yield Finding("upstream/diverged", "note", message, REPOSITORY, hint=f"before you push: {_command(upstream)}")


@check("upstream/behind", "note", remedy="`git pull`")
def find_news(facts: MergeFacts) -> Iterator[Finding]:
    """Checkpoints changed upstream only."""
    upstream = facts.upstream
    if upstream is not None and not upstream.ahead and _is_clean(upstream):
        message = f"{_lacking(upstream)}, and they change {_paths(upstream.previews)}"
        yield Finding("upstream/behind", "note", message, REPOSITORY, hint=f"before you go on: {_command(upstream)}")


@check("upstream/unknown", "warning", remedy="`git fetch`, or as the finding says")
def find_unknown_upstreams(facts: MergeFacts) -> Iterator[Finding]:
    """The upstream is not in this clone, or its history is unrelated."""
    upstream = facts.upstream
    if upstream is None:
        return
    match upstream.state:
        case "gone":
            message = f"the upstream {upstream.name} is not in this clone, so a merge with it cannot be predicted"
            hint = "if it was deleted after a merge: git branch --unset-upstream; else git fetch"
            yield Finding("upstream/unknown", "note", message, REPOSITORY, hint=hint)
        case "cut":
            message = f"{_lacking(upstream)}; how they merge is unknown: {upstream.detail}"
            hint = "if the clone is shallow: git fetch --unshallow"
            yield Finding("upstream/unknown", "note", message, REPOSITORY, hint=hint)
        case "unrelated":
            message = f"this branch and {upstream.name} have unrelated histories: git refuses to merge them"
            hint = f"if both belong together: git merge --allow-unrelated-histories {shlex.quote(upstream.name)}"
            yield Finding("upstream/unknown", "warning", message, REPOSITORY, hint=hint)


def _is_clean(upstream: Upstream) -> bool:
    return bool(upstream.previews) and all(preview.kind in ("whole", "clean") for preview in upstream.previews)


def _lacking(upstream: Upstream) -> str:
    return f"{upstream.name} has {plural(upstream.behind, 'commit')} that this branch does not have"


def _merge_of(upstream: Upstream) -> str:
    return "a pull" if upstream.tracked else f"a merge with {upstream.name}"


def _command(upstream: Upstream) -> str:
    if upstream.tracked and upstream.ahead:  # git asks how, where no setting says it
        return f"git pull {'--rebase' if upstream.rebases else '--no-rebase'}"
    return "git pull" if upstream.tracked else f"git merge {shlex.quote(upstream.name)}"


def _paths(previews: "Sequence[FilePreview]") -> str:
    return join_some([preview.path for preview in previews])
