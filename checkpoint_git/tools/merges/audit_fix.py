"""`audit --fix`: one commit that repairs what merges did wrong, file by file, except where it was edited since."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import JsonTextError
from checkpoint_git.core.linediff import diff_lines
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import plan_place
from checkpoint_git.disk.lock import hold_lock, lock_path
from checkpoint_git.git.merges.conflicts import read_operation
from checkpoint_git.git.merges.merges import read_blobs_at, read_contents
from checkpoint_git.git.merges.new_commits import TRAILER, Site, read_dirty, read_site, write_repair
from checkpoint_git.git.merges.trees import Plain
from checkpoint_git.git.run import clean_env
from checkpoint_git.merge.repair import Past, Repaired, remake, repair
from checkpoint_git.protocols.write import find_new_errors
from checkpoint_git.tools.merges.findings import NOT_REPAIRED, AuditedFile, AuditedMerge
from checkpoint_git.tools.merges.judged import Key, Schemas, key_of, list_damage

SUBJECT = "Repair what merges did to checkpoints"
_MOST_REFUSED = 10  # places of one file that are reported


class FileRepair(NamedTuple):
    """One file. before, after: its bytes in HEAD and in the repair. merges: whose damage is repaired, oldest first."""

    path: str
    before: bytes
    after: bytes
    merges: tuple[str, ...]


class Plan(NamedTuple):
    """What a repair would change, and why not more. refused: findings. env: surroundings to write in."""

    site: Site
    files: list[FileRepair]
    refused: list[Finding]
    env: dict[str, str]

    @property
    def merges(self) -> list[str]:
        return list(dict.fromkeys(merge for file in self.files for merge in file.merges))


def plan_repair(
    plain: Plain, audited: Sequence[AuditedMerge], schemas: Schemas, now: int, env: Mapping[str, str]
) -> Plan:
    """What repairs the damage that still shows. audited: newest first, as compared with HEAD.

    env: the caller's; with CHECKPOINT_SKILL set, only that skill's checkpoint is repaired. Raises CheckpointError where
    no commit can be made now.
    """
    own = clean_env(env)
    site = read_site(plain.cwd, own)
    operation = read_operation(site.git_dir)
    if operation and site.work_tree:
        raise CheckpointError(f"a {operation} waits to be finished here", "finish it or give it up, then repair")
    damaged: dict[str, list[tuple[AuditedMerge, AuditedFile]]] = {}
    for one in reversed(audited):
        for file in one.files:
            if any(not found.hit.meant for found in file.found):
                damaged.setdefault(file.judged.file.path, []).append((one, file))
    dirty = read_dirty(site, list(damaged), own)
    blobs = read_blobs_at(plain.cwd, list(damaged), plain.env, site.head)
    contents = read_contents(plain.cwd, filter(None, blobs.values()), plain.env)
    plan = Plan(site, [], [], own)
    for path, files in damaged.items():
        reason = _find_obstacle(path, dirty, env)
        if reason:
            plan.refused.append(_refuse(path, "", *reason))
        elif not blobs[path]:
            plan.refused.append(_refuse_gone(path, *files[-1]))
        else:
            _plan_file(plan, path, contents[blobs[path]], files, schemas.load(path), now)
    return plan


def _find_obstacle(path: str, dirty: set[str], env: Mapping[str, str]) -> tuple[str, str] | None:
    owner = env.get("CHECKPOINT_SKILL", "")
    if owner and os.path.basename(path) != f"{owner}.checkpoint.json":
        return f"this session works as {owner} (CHECKPOINT_SKILL)", "let the session whose file it is repair it"
    if path in dirty:
        return (
            "it has changes that no commit holds",
            f"commit {shlex.quote(path)} or take the changes back, and run it again",
        )
    return None


def _refuse(path: str, where: str, why: str, hint: str) -> Finding:
    return Finding(NOT_REPAIRED, "warning", f"not repaired: {why}", path, where, hint=hint)


def _refuse_gone(path: str, audited: AuditedMerge, file: AuditedFile) -> Finding:
    """A file that a merge left out is not made again by itself: perhaps it was meant to go."""
    hint = f"checkpoint explain-merge {audited.event.commit[:12]} -- {shlex.quote(path)}"
    versions = file.judged.file
    if audited.commit is not None and (versions.first is None or versions.second is None):
        side = audited.commit.parents[versions.parents[1 if versions.first is None else 0] - 1]
        hint = f"git checkout {side[:12]} -- {shlex.quote(path)} brings it back, to be kept or removed in a commit"
    return _refuse(path, "", "the merge left the file out, and a person has to choose", hint)


def _plan_file(
    plan: Plan,
    path: str,
    before: bytes,
    files: Sequence[tuple[AuditedMerge, AuditedFile]],
    schema: dict[str, Any],
    now: int,
) -> None:
    """Add one file to the plan: the damage of one merge after the other's, the oldest first."""
    data, merges = before, list[str]()
    for audited, file in files:
        hint = f"checkpoint explain-merge {audited.event.commit[:12]} -- {shlex.quote(path)}"
        if audited.event.squash:
            hint = "look at both sides, and write what is missing"
        repaired = _repair(file, data, schema)
        if isinstance(repaired, str):
            plan.refused.append(_refuse(path, "", repaired, hint))
            continue
        told = [_refuse(path, where, why, hint) for where, why in repaired.refused]
        plan.refused.extend(told[:_MOST_REFUSED])
        after = repaired.data
        if after == data:
            continue
        if not told:
            plan.refused.extend(_list_left(file, after, path, hint))
        data = after
        merges.append(audited.event.commit)
    errors = [] if data == before else find_new_errors(path, data, [before], now)
    if errors:
        plan.refused.append(
            _refuse(path, errors[0].where, f"it would become invalid: {errors[0].message}", "fix it by hand")
        )
    elif data != before:
        plan.files.append(FileRepair(path, before, data, tuple(merges)))


def _repair(file: AuditedFile, data: bytes, schema: dict[str, Any]) -> Repaired | str:
    judged = file.judged
    versions = judged.file
    if versions.first is None or versions.second is None:
        return "one side has no such file, and a person has to choose"
    past = Past(judged.base, versions.first, versions.second, versions.result if judged.is_readable else None)
    if not judged.is_readable and data == versions.result:
        made = remake(past, schema)
        return "both sides changed the same places, and a person has to choose" if made is None else Repaired(made, ())
    wanted = _list_wanted(file)
    try:
        return repair(past, data, schema, lambda entry: key_of(entry) in wanted, whole=file.how == "lines")
    except JsonTextError as error:
        return f"it cannot be read as JSON: {error.message}"


def _list_wanted(file: AuditedFile) -> set[Key]:
    return {key_of(found.entry) for found in file.found if found.entry is not None and not found.hit.meant}


def _list_left(file: AuditedFile, after: bytes, path: str, hint: str) -> list[Finding]:
    wanted = _list_wanted(file)
    left = [entry for entry in list_damage(file.judged.explain(after)) if key_of(entry) in wanted]
    names = [(entry.where, f"{shorten(entry.name, 80)} is as it was") for entry in left[:_MOST_REFUSED]]
    return [_refuse(path, where, why, hint) for where, why in names]


# the commit


def write_plan(plan: Plan, on_wait: Callable[[], None]) -> str:
    """The repair as a commit on HEAD; its id. Raises CheckpointError where the files changed meanwhile."""
    site = plan.site
    contents = {file.path: file.after for file in plan.files}
    message = make_message(plan.files)
    if not site.work_tree:
        return write_repair(site, contents, message, plan.env)
    with hold_lock(lock_path(plan_place(site.work_tree)), on_wait=on_wait):
        if read_site(site.work_tree, plan.env).head != site.head or read_dirty(site, list(contents), plan.env):
            raise CheckpointError("somebody wrote here meanwhile", "run it again")
        return write_repair(site, contents, message, plan.env)


def make_message(files: Sequence[FileRepair]) -> str:
    """The commit's message. Paths are untrusted: what could end a line or look like a trailer is escaped."""
    lines = [f"- {escape_controls(shorten(file.path, 200))}" for file in files]
    trailers = [f"{TRAILER}: {merge}" for merge in dict.fromkeys(merge for file in files for merge in file.merges)]
    return "\n".join([SUBJECT, "", *lines, "", *trailers, ""])


def plan_data(plan: Plan, commit: str | None) -> dict[str, Any]:
    """The JSON of a repair. commit: None for a dry run, and where nothing was to be done."""
    return {
        "commit": commit,
        "merges": plan.merges,
        "files": [{"path": file.path, "merges": list(file.merges), "diff": list_diff(file)} for file in plan.files],
    }


def list_diff(file: FileRepair) -> list[str]:
    return diff_lines(file.before.decode("utf-8", "replace"), file.after.decode("utf-8", "replace"), file.path)
