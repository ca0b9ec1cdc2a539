"""Restore points that an agent's hook takes by itself (see snapshot.py): which there are, and the way back to one."""

import os
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, join_some, shorten
from checkpoint_git.disk.discover import find_link
from checkpoint_git.git.objects import GITLINK, Change, diff_trees, read_tree
from checkpoint_git.git.private_objects import quiet_env
from checkpoint_git.git.run import NO_HOOKS, run_git
from checkpoint_git.protocols.restore import artifacts, file_writes, layout, operations, rollback, rules, snapshot
from checkpoint_git.protocols.restore.contents import Difference, Entry
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.operations import Leave, RolledBackPoint
from checkpoint_git.protocols.restore.points import Request
from checkpoint_git.protocols.restore.rollback import Plan, RolledBack, Wanted
from checkpoint_git.protocols.restore.scope import look_at
from checkpoint_git.protocols.restore.store import Manifest, begin_journal, end_journals

AUTOMATIC = "auto-"  # how their ids begin
_DIFFERENCES = {"absent": "missing", "folder": "kind"}  # by what is in a path's place
_FORM = "--format=%H%x00%T%x00%cI%x00%gs"


class Snapshot(NamedTuple):
    id: str
    tree: str
    at: str
    session: str
    before: str  # "before Edit"


def read_snapshots(workspace: Workspace) -> list[Snapshot]:
    """Those of this work tree, session by session, oldest first."""
    words = ["log", "--walk-reflogs", _FORM, snapshot.REF, "--"]
    out = run_git(words, workspace.root, env=quiet_env(workspace.env), check=False).out.decode("utf-8", "replace")
    sessions: dict[str, list[Snapshot]] = {}
    for commit, tree, at, label in (line.split("\0") for line in out.splitlines()[::-1] if line.count("\0") == 3):
        session, _, before = escape_controls(shorten(label, 200)).partition(" ")
        one = Snapshot(f"{AUTOMATIC}{commit[:12]}", tree, at, session, before)
        sessions.setdefault(session, []).append(one)
    return [one for found in sessions.values() for one in found]


def roll_back_point(
    workspace: Workspace, word: str, wanted: Wanted, leave: Leave, *, dry_run: bool, reason: str
) -> RolledBackPoint:
    """As in operations, also for automatic points. Raises CheckpointError if unknown, or not what was captured."""
    if not word.startswith(AUTOMATIC):
        return operations.roll_back_point(workspace, word, wanted, leave, dry_run=dry_run, reason=reason)
    within = None if wanted.within and "" in wanted.within else wanted.within
    if (wanted._replace(within=None), leave) != (Wanted(), Leave()) or any(map(artifacts.is_part_name, within or ())):
        hint = "omit all but --scope, --dry-run and --reason, or make one that holds more"
        raise CheckpointError("an automatic restore point holds files of this work tree only", hint)
    meant = _find_snapshot(workspace, word)
    root, changes = workspace.root, _find_changes(workspace, meant, within)
    there = [look_at(root, path) for path in read_tree(root, meant.tree, quiet_env(workspace.env), within or ())]
    odd = [escape_controls(one.path) for one in there if one.status and one.kind == "absent"]
    if odd:
        raise CheckpointError(f"a pipe, socket or device is in the place of {join_some(odd)}", "move it away first")
    found = [look_at(root, each.path) for each in changes if each.after]
    restore = [Difference(one.path, _DIFFERENCES.get(one.kind, "changed")) for one in found]
    plan = Plan([each.path for each in changes[::-1] if not each.after], restore, [])
    # what is behind a link that will itself be removed is not there yet
    reached = [one for one in restore if find_link(os.path.dirname(one.path), root) not in plan.remove]
    blocking = [one.path for one in reached if one.how == "kind"]
    above = {each for path in plan.remove for each in accumulate(path.split("/")[:-1], os.path.join)}
    folders = sorted(above.union(blocking), reverse=True)
    rollback.check_ways(root, [*plan.remove, *folders], reached, [Entry(path, "folder") for path in blocking])
    done = RolledBackPoint(Manifest(meant.id, {"hash": f"git-tree:{meant.tree}"}), plan, None, (), ())
    if dry_run:
        return done
    typed = rollback.write_words(meant.id, Wanted(within))
    if not changes:
        with layout.lock(workspace):
            end_journals(workspace, typed)  # of one that was killed behind its last file
        return done._replace(result=RolledBack(plan, "", False, proofs={"compared": True}))
    kept = frozenset([*plan.remove, *(one.path for one in reached)])
    asked = frozenset(os.path.join(root, path) for path in kept)
    why = f"before rolling back to {meant.id}" + (f": {reason}" if reason else "")
    request = Request(sorted(asked), why, plain=asked, include=kept, made_for="rollback")
    safety = operations.create_point(workspace._replace(cwd=root), request, None, "30d").manifest.id
    details: dict[str, Any] = {"within": within, "reason": reason, "safety": safety, "removed": plan.remove}
    try:
        with layout.lock(workspace), operations.noted(workspace, "rollback", meant.id, details):
            if _find_changes(workspace, meant, within) != changes:
                hint = "stop what writes there, then run the same command again"
                raise CheckpointError("files were changed during the rollback, which stopped before it began", hint)
            begin_journal(workspace, safety, typed)
            for path in [*plan.remove, *(path for path in folders if layout.is_folder(root, path))]:
                file_writes.remove_path(root, path)
            for path, _ in restore:
                file_writes.check_not_folder(root, path)
            words = [*NO_HOOKS, "--literal-pathspecs", "restore", f"--source={meant.tree}"]
            words += ["--worktree", "--overlay", "--ignore-unmerged", "--pathspec-from-file=-", "--pathspec-file-nul"]
            stdin = os.fsencode("".join(f"{one.path}\0" for one in restore))
            if stdin:
                run_git(words, root, stdin=stdin, env=quiet_env(workspace.env))
            file_writes.sync_folders(root, kept)
            left = [each.path for each in _find_changes(workspace, meant, within) if each.old]
            # what git ignores by now it does not list, so that it is there must do
            left += [path for path, _ in restore if not os.path.lexists(os.path.join(root, path))]
            if left:
                shown, hint = escape_controls(join_some(left)), "run it again once nothing else writes there"
                raise CheckpointError(f"the rollback did not restore these: {shown}", hint)
            end_journals(workspace, typed)
    except CheckpointError as error:
        raise CheckpointError(error.message, f"{safety} holds what was there before; {error.hint}") from error
    proofs = {"compared": True, "current state kept first": True}
    return done._replace(result=RolledBack(plan, safety, False, proofs=proofs))


def _find_snapshot(workspace: Workspace, word: str) -> Snapshot:
    found = {one.id: one for one in read_snapshots(workspace) if len(word) > 8 and one.id.startswith(word)}
    if len(found) == 1:
        return found.popitem()[1]
    shown = escape_controls(shorten(word, 60))
    message = f"{len(found)} restore points begin with {shown}" if found else f"no such restore point: {shown}"
    raise CheckpointError(message, "`checkpoint restore-point list` shows those that are")


def _find_changes(workspace: Workspace, meant: Snapshot, within: Sequence[str] | None) -> list[Change]:
    """What differs, without submodules, what looks like a secret, and checkpoints, unless they are named."""
    present = snapshot.take(workspace.root, "")
    if not present:
        raise CheckpointError("git cannot add what is here", "`git add -A --dry-run` says why; nothing was changed")
    places = [f":(top,literal){path}" for path in within or ()]
    return [
        each
        for each in diff_trees(workspace.root, present, meant.tree, places, quiet_env(workspace.env))
        if all(entry is None or entry.mode != GITLINK for entry in (each.old, each.after))
        and (within or not each.path.startswith(f"{layout.FOLDER}/"))
        and rules.is_plain_path(each.path)
        and (not rules.is_sensitive(each.path) or (rules.is_doubtful(each.path) and each.old and each.after))
    ]
