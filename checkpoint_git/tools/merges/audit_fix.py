"""`audit --fix`: repair what merges did wrong in one commit, file by file, except what was edited
since.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Hint, command
from checkpoint_git.core.jsontext import JsonTextError
from checkpoint_git.core.linediff import diff_lines
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import plan_place
from checkpoint_git.disk.lock import hold_lock, lock_path
from checkpoint_git.git.clone import read_operation
from checkpoint_git.git.merges.merges import read_files_at
from checkpoint_git.git.merges.new_commits import TRAILER, Site, read_site, write_repair
from checkpoint_git.git.merges.trees import Plain
from checkpoint_git.git.run import clean_env
from checkpoint_git.git.worktree import read_changed
from checkpoint_git.protocols.write import find_new_errors
from checkpoint_git.tools.merges.audited_file import AuditedFile, Key, key_of
from checkpoint_git.tools.merges.findings import NOT_REPAIRED, AuditedMerge, Event
from checkpoint_git.tools.merges.repair import Refusal, Repaired, remake, repair

SUBJECT = "Repair what merges did to checkpoints"
_MOST_REFUSED = 10  # places of one file that are reported


class FileRepair(NamedTuple):
    path: str
    before: bytes  # in HEAD
    after: bytes
    merges: tuple[str, ...]  # whose damage is repaired, oldest first

    @property
    def diff(self) -> list[str]:
        return diff_lines(self.before, self.after, self.path)


class AuditRepair(NamedTuple):
    site: Site
    files: list[FileRepair]
    refused: list[Finding]
    env: dict[str, str]  # to write in

    @property
    def merges(self) -> list[str]:
        return list(dict.fromkeys(merge for file in self.files for merge in file.merges))


def plan_repair(
    plain: Plain, audited: Sequence[AuditedMerge], now: int, env: Mapping[str, str]
) -> AuditRepair:
    """Return what repairs the damage that still shows.

    audited: newest first, as compared with HEAD.
    env: CHECKPOINT_SKILL limits the repair to that skill's checkpoint.
    Raises CheckpointError if no commit can be made now.
    """
    git_env = clean_env(env)
    site = read_site(plain.cwd, git_env)
    operation = read_operation(site.git_dir)
    if operation and site.work_tree:
        message = f"a {operation} waits to be finished here"
        raise CheckpointError(message, "finish or abort it, then repair")

    damaged: dict[str, list[tuple[Event, AuditedFile]]] = {}
    for merge in reversed(audited):
        for file in merge.files:
            if any(not hit.is_meant for hit in file.hits):
                damaged.setdefault(file.file.path, []).append((merge.event, file))

    dirty = set[str]()
    if site.work_tree:
        dirty = read_changed(site.work_tree, list(damaged), git_env)
    contents = read_files_at(plain.cwd, list(damaged), plain.env, site.head)
    owner = env.get("CHECKPOINT_SKILL", "")
    plan = AuditRepair(site, [], [], git_env)
    for path, files in damaged.items():
        before = contents[path]
        if owner and os.path.basename(path) != f"{owner}.checkpoint.json":
            why = f"this session works as {owner} (CHECKPOINT_SKILL)"
            hint = "let the session that owns the file repair it"
            plan.refused.append(_refuse(path, "", why, hint))
        elif path in dirty:
            hint = f"commit {shlex.quote(path)} or discard the changes, and run it again"
            plan.refused.append(_refuse(path, "", "it has uncommitted changes", hint))
        elif before is None:
            plan.refused.append(_refuse_gone(path, *files[-1]))
        else:
            _plan_file(plan, path, before, files, now)

    return plan


def _refuse(path: str, where: str, why: str, hint: AnyHint) -> Finding:
    return Finding(NOT_REPAIRED, "warning", f"not repaired: {why}", path, where, hint=hint)


def _refuse_gone(path: str, event: Event, audited: AuditedFile) -> Finding:
    versions = audited.file
    hint = _show(path, event)
    if versions.first is None or versions.second is None:
        holder, other = versions.parents
        if versions.first is None:
            holder = other
        restores = " restores it, to keep or remove in a commit"
        commit = event.parents[holder - 1][:12]
        hint = command("git", "checkout", commit, "--", path, more=restores)
    return _refuse(path, "", "the merge dropped the file: decide by hand", hint)


def _show(path: str, event: Event) -> Hint:
    return command("checkpoint", "audit", "--all", event.commit[:12], "--", path)


def _plan_file(
    plan: AuditRepair,
    path: str,
    before: bytes,
    files: Sequence[tuple[Event, AuditedFile]],
    now: int,
) -> None:
    """Add the repair of one file to the plan, merge by merge, oldest first."""
    data = before
    merges: list[str] = []
    for event, audited in files:
        wanted = {key_of(hit.entry) for hit in audited.hits if hit.entry and not hit.is_meant}
        hint: AnyHint = _show(path, event)
        if event.squash:
            hint = "look at both sides, and write what is missing"
        repaired = _repair(audited, data, wanted)
        if isinstance(repaired, str):
            plan.refused.append(_refuse(path, "", repaired, hint))
            continue

        refused = repaired.refused
        if repaired.data != data:
            data = repaired.data
            merges.append(event.commit)
            refused = refused or _list_remaining(audited, data, wanted)
        plan.refused.extend(_refuse(path, *refusal, hint) for refusal in refused[:_MOST_REFUSED])

    if data == before:
        return
    errors = find_new_errors(path, data, [before], now)
    if errors:
        why = f"the result would be invalid: {errors[0].message}"
        plan.refused.append(_refuse(path, errors[0].where, why, "fix it by hand"))
    else:
        plan.files.append(FileRepair(path, before, data, tuple(merges)))


def _list_remaining(audited: AuditedFile, data: bytes, wanted: set[Key]) -> tuple[Refusal, ...]:
    """Return the wanted entries that are still damaged in a repaired file."""
    remaining = [entry for entry in audited.judge.judge(data).damage if key_of(entry) in wanted]
    return tuple((entry.where, f"{shorten(entry.name, 80)} is as it was") for entry in remaining)


def _repair(audited: AuditedFile, data: bytes, wanted: set[Key]) -> Repaired | str:
    """Return the repaired file, or why it cannot be repaired."""
    judge, result = audited.judge, audited.file.result
    if audited.file.first is None or audited.file.second is None:
        return "one side does not have the file: decide by hand"
    if not audited.is_readable and data == result:
        made = remake(judge)
        if made is None:
            return "both sides changed the same fields: decide by hand"
        return Repaired(made, ())

    if not audited.is_readable:
        result = None
    is_whole = audited.how == "lines"
    try:
        return repair(judge, result, data, lambda entry: key_of(entry) in wanted, whole=is_whole)
    except JsonTextError as error:
        return f"it cannot be read as JSON: {error.message}"


def write_plan(plan: AuditRepair, on_wait: Callable[[], None]) -> str:
    """Commit the repair, and return the commit. Raises CheckpointError if HEAD or one of its files
    changed meanwhile.
    """
    site = plan.site
    contents = {file.path: file.after for file in plan.files}
    # Paths are untrusted: what could end a line of the message or look like a trailer is escaped.
    paths = [f"- {escape_controls(shorten(path, 200))}" for path in contents]
    trailers = [f"{TRAILER}: {merge}" for merge in plan.merges]
    message = "\n".join([SUBJECT, "", *paths, "", *trailers, ""])
    if not site.work_tree:
        return write_repair(site, contents, message, plan.env)
    with hold_lock(lock_path(plan_place(site.work_tree)), on_wait=on_wait):
        changed = read_changed(site.work_tree, list(contents), plan.env)
        if changed or read_site(site.work_tree, plan.env).head != site.head:
            raise CheckpointError("the repository changed meanwhile", "run it again")
        return write_repair(site, contents, message, plan.env)


def plan_data(plan: AuditRepair, commit: str | None) -> dict[str, Any]:
    return {
        "commit": commit,
        "merges": plan.merges,
        "files": [
            {"path": file.path, "merges": list(file.merges), "diff": file.diff}
            for file in plan.files
        ],
    }
