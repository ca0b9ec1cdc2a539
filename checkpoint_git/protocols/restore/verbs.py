"""`checkpoint restore-point` (`rp`): save a verified point before a risky step, and go back."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, Literal

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Blank, Hint, advise, command, join_hints
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Table
from checkpoint_git.core.placeholder import check_filled
from checkpoint_git.protocols.restore import (
    audit,
    damage,
    layout,
    operations,
    output,
    rollback,
    store,
)
from checkpoint_git.protocols.restore.automatic import AUTOMATIC, Snapshot, read_snapshots
from checkpoint_git.protocols.restore.capture import PointRequest
from checkpoint_git.protocols.restore.layout import Workspace, open_workspace
from checkpoint_git.protocols.restore.mechanisms import parts
from checkpoint_git.protocols.restore.mechanisms.contract import Means, MechanismPlan, WantedState
from checkpoint_git.protocols.restore.mechanisms.state import PREFIX
from checkpoint_git.protocols.restore.snapshot import drop_oldest, find_repository

HELP = """\
save a verified restore point before a risky step, and roll back to it

A point has every file of its scope byte for byte, untracked ones too; work tree, index and stash
stay unchanged. It also records HEAD, what was staged, and a merge or rebase in progress. Excluded
and listed: files whose names suggest secrets (.env, *.pem, ...), and files that git ignores. Each
point has a restore.sh that works without this package.

examples:
  checkpoint restore-point create src tests --reason "before the refactoring"
  checkpoint restore-point diff latest
  checkpoint restore-point rollback latest
  checkpoint restore-point guard < tool-call.json    the hook for agents; it has its own --help

exit 1: the point or the log is damaged
"""
SUB_HELP = {
    "create SCOPE...": """\
create a restore point of files, folders or patterns

examples:
  checkpoint restore-point create src tests --reason "before the refactoring" --expiry 7d
  checkpoint restore-point create 'src/*.py' --state run=state.json --database sqlite:///app.db
""",
    "list": """\
list the points of all work trees, and those that an agent's hook took here

examples:
  checkpoint restore-point list
""",
    "show ID": """\
show what a point contains

examples:
  checkpoint restore-point show latest
""",
    "diff ID": """\
show what changed since a point

examples:
  checkpoint restore-point diff latest
""",
    "verify ID": """\
check that a point is intact

examples:
  checkpoint restore-point verify chk_20260115_143022_a7b3c9
  checkpoint restore-point verify latest

exit 1: the point is damaged
""",
    "rollback ID": """\
go back to a point; the current state is saved first

It restores the files of the scope, and removes what was created there since. --index and
--operation restore more.

examples:
  checkpoint restore-point rollback latest --dry-run
  checkpoint restore-point rollback latest
  checkpoint restore-point rollback latest --scope src
  checkpoint restore-point rollback auto-3f2a91c04d7e
""",
    "gc": """\
delete expired points, or all but the newest that you made

examples:
  checkpoint restore-point gc --expired --keep 20
  checkpoint restore-point gc --expired --dry-run
""",
    "drop ID...": """\
delete points

examples:
  checkpoint restore-point drop latest --reason "merged"

""",
    "audit [verify]": """\
show the log of all operations; verify: check that the log is complete

examples:
  checkpoint restore-point audit
  checkpoint restore-point audit verify

exit 1: the log is damaged
""",
}

# difference of a path -> what happened to it since
_CHANGES = {
    "missing": "deleted",
    "changed": "changed",
    "mode": "another mode",
    "kind": "another kind",
    "links": "no longer linked",
}
# difference of a path -> what a rollback does
_REPAIRS = {
    "missing": "brought back",
    "changed": "restored",
    "mode": "given its mode again",
    "kind": "restored",
    "links": "linked again",
}
# option -> the sub-verbs that take it
TAKERS = {
    "reason": ("create", "verify", "rollback", "drop"),
    "type": ("create",),
    "state": ("create",),
    "database": ("create",),
    "table": ("create",),
    "include": ("create",),
    "absent": ("create",),
    "state_to": ("rollback",),
    "expiry": ("create",),
    "scope": ("rollback",),
    "index": ("rollback",),
    "operation": ("rollback",),
    "dry_run": ("rollback", "gc"),
    "force": ("rollback",),
    "foreign": ("diff", "verify", "rollback", "drop"),
    "here": ("diff", "rollback"),
    "expired": ("gc",),
    "keep": ("gc",),
}
_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", choices=list(ACTIONS), help="one of the above")
    operands = (
        'create: files, folders, patterns; else the id of a point, its beginning, or "latest"'
    )
    parser.add_argument("operands", metavar="OPERAND", nargs="*", help=operands)
    add = parser.add_argument
    add("--reason", metavar="TEXT", help="the reason, recorded in the log")
    add(
        "--type",
        choices=("git_stash", "file_backup", "state_snapshot", "database_savepoint"),
        help="how to store it (default: git_stash in a repository, else file_backup)",
    )
    add(
        "--state",
        metavar="KEY=FILE",
        action="append",
        help="also save JSON from a file (-: stdin)",
    )
    add(
        "--database",
        metavar="URL",
        action="append",
        help="also save a database: sqlite:///path, postgresql://user@host/name",
    )
    add(
        "--table",
        metavar="TABLE",
        action="append",
        help="only these tables of a PostgreSQL database",
    )
    add(
        "--include",
        metavar="PATH",
        action="append",
        help="include it although its name suggests a secret",
    )
    add("--absent", action="store_true", help="allow paths that do not exist yet")
    add(
        "--state-to",
        metavar="KEY=FILE",
        action="append",
        help="write a state that was given as a value to FILE",
    )
    add(
        "--expiry",
        metavar="TIME",
        help="when gc may delete it: 30m, 24h, 7d, 2w or never (the default)",
    )
    add("--scope", metavar="PATH", action="append", help="only this path, state:KEY or database")
    add("--index", action="store_true", help="also restore what was staged")
    add(
        "--operation",
        action="store_true",
        help="also restore HEAD, its branch, what was staged, "
        "and a merge, rebase, cherry-pick, revert or bisect in progress",
    )
    add("--dry-run", action="store_true", help="only show what would be done")
    add("--force", action="store_true", help="use an expired point")
    add("--foreign", action="store_true", help="use a point from another clone")
    add("--here", action="store_true", help="use this work tree for a point of another one")
    add("--expired", action="store_true", help="delete expired points")
    add("--keep", metavar="N", help="delete all but the newest N that you made")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Do what ACTION says, and report rollbacks that were interrupted."""
    action, operands = ACTIONS[args.action]
    _check_operands(args, operands)
    check_filled(vars(args))
    is_of_points = operands in ("id", "ids")
    automatic = [word for word in args.operands if word.startswith(AUTOMATIC)]
    if is_of_points and automatic and action is not _rollback:
        message = f"{args.action} takes no automatic restore point"
        raise CheckpointError(message, _advise_automatic(automatic[0]))

    workspace = open_workspace(invocation.cwd, invocation.now, invocation.env)
    args.stdin = invocation.stdin
    outcome = action(args, workspace)
    return outcome._replace(findings=[*outcome.findings, *damage.find_cut_off(workspace)])


def _check_operands(args: argparse.Namespace, operands: str) -> None:
    """Raise CheckpointError for too many operands, or too few."""
    if operands == "none" and args.operands:
        raise CheckpointError(f"{args.action} takes no operands", _HELP)
    show = command("checkpoint", "restore-point", "list", more=" shows them")
    hint = join_hints(show, "`latest` is the newest")
    if operands == "id" and len(args.operands) != 1:
        raise CheckpointError(f"{args.action} needs the id of one restore point", hint)
    if operands == "ids" and not args.operands:
        raise CheckpointError(f"{args.action} needs the id of a restore point", hint)


_HELP = command("checkpoint", "restore-point", "--help", more=" shows what each action takes")


def _advise_automatic(point: str) -> Hint:
    """Return what can be done with an automatic point."""
    gc = ("checkpoint", "restore-point", "gc", "--keep", Blank("how many", "N"))
    return join_hints(
        advise("to go back to it", "checkpoint", "restore-point", "rollback", point),
        advise("to compare", "git", "diff", point.removeprefix(AUTOMATIC)),
        advise("to drop old ones", *gc),
    )


def _create(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    # a file of such a name is written with ./ before it
    keys = [word.removeprefix(PREFIX) for word in args.operands if word.startswith(PREFIX)]
    scope = [word for word in args.operands if not word.startswith(PREFIX)]
    requests = parts.request_databases(workspace, args.database or (), args.table or ())
    requests += parts.read_states(workspace, args.state or (), keys, args.stdin)
    if not scope and not requests:
        hint = "name files, folders or patterns: create src 'tests/*.py'; "
        raise CheckpointError("create needs a scope", hint + "or give --state or --database")

    include = frozenset(operations.find_below(workspace, path) for path in args.include or ())
    request = PointRequest(
        scope,
        args.reason or "",
        parts=requests,
        include=include,
        may_lack=args.absent,
    )
    made = operations.create_point(workspace, request, args.type, args.expiry)
    data = output.describe(made)
    point = made.manifest.id
    blocks: list[Block] = [
        Line(f"{point}: {data['pre_mutation_state']['summary']}", "good"),
        Line("  go back:  ", hint=command("checkpoint", "restore-point", "rollback", point)),
        Line(f"  or, without this package:  {data['checkpoint']['restore_command']}", "dim"),
    ]
    findings = [Finding("restore/left-out", "warning", text) for text in made.warnings]
    return Outcome(data, blocks, findings, 0)


def _list(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    found = store.list_points(workspace)
    snapshots = read_snapshots(workspace)
    data = {
        "restore_points": [output.outline(manifest, workspace.now) for manifest in found],
        "automatic": [_outline_snapshot(snapshot) for snapshot in snapshots],
    }
    if not found and not snapshots:
        return Outcome(data, [Line("no restore points yet", "dim", hint=store.CREATE_HINT)])

    rows = [_make_row(workspace, manifest) for manifest in found]
    for snapshot in snapshots:
        reason = f"session {snapshot.session}: {snapshot.before}, {snapshot.made_at}"
        rows.append((snapshot.id, "automatic", "", "", "", reason))

    columns = ("id", "state", "files", "size", "expires", "reason")
    return Outcome(data, [Table(columns, rows)])


def _outline_snapshot(snapshot: Snapshot) -> dict[str, str]:
    return {
        "id": snapshot.id,
        "tree": snapshot.tree,
        "at": snapshot.made_at,
        "session": snapshot.session,
        "before": snapshot.before,
    }


def _make_row(workspace: Workspace, manifest: store.Manifest) -> tuple[str | Line, ...]:
    """Return the row of a point in the list."""
    state = store.find_state(manifest, workspace.now)
    if manifest.trouble or manifest.is_foreign:
        why = manifest.trouble or "not made in this clone: no command uses it without --foreign"
        return manifest.id, Line(state, "bad"), "", "", "", why

    value = manifest.value
    reason = value["reason"]
    if not store.is_of_work_tree(workspace, manifest):
        reason = f"[work tree {value['work_tree'] or 'main'}] {reason}"
    shown_state = Line(state, "dim" if state == "expired" else "")
    files = str(len(value["scope"]["files"]))
    size = output.size_text(value["size"])
    return manifest.id, shown_state, files, size, value["expires_at"] or "never", reason


def _show(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    manifest = store.load_point(workspace, args.operands[0], foreign=True)
    if manifest.trouble:
        hint = command(
            "checkpoint", "restore-point", "verify", manifest.id, more=" shows the details"
        )
        raise CheckpointError(f"{manifest.id} is damaged: {manifest.trouble}", hint)

    value = manifest.value
    kept_parts = value.get("parts", [])
    data = output.outline(manifest, workspace.now)
    data["entries"] = value["entries"]
    data["parts"] = kept_parts
    data["history"] = value["history"]

    rows = []
    for entry in value["entries"]:
        size = str(entry.get("size", ""))
        rows.append((entry["path"], entry["kind"], entry.get("mode", ""), size))

    for part in kept_parts:
        rows.append((part["name"], part["kind"], "", str(part["size"])))
    for left_out in value.get("left_out", []):
        rows.append((left_out["path"], f"excluded: {left_out['reason']}", "", ""))

    expires = value["expires_at"] or "never"
    head = f"{manifest.id}: {data['state']}, made {value['created_at']}, expires {expires}"
    lines = [Line(head, "strong"), Line(f"  {value['reason'] or 'no reason given'}")]
    if value.get("git"):
        lines.append(Line(_describe_git(value["git"])))
    return Outcome(data, [*lines, Table(("path", "kind", "mode", "size"), rows)])


def _describe_git(git: dict[str, Any]) -> str:
    place = git["branch"].removeprefix("refs/heads/") or "a detached HEAD"
    text = f"  on {place} at {git['head'][:10] or 'no commit'}"
    if git["operation"]:
        text += f", a {git['operation']} under way"
    return text


def _verify(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    reason = args.reason or ""
    point = args.operands[0]
    done = operations.verify_point(workspace, point, reason, foreign=args.foreign)
    manifest = done.manifest
    has_errors = any(finding.level == "error" for finding in done.findings)
    is_good = not manifest.is_foreign and not has_errors
    data = {
        "checkpoint_id": manifest.id,
        "verified": is_good,
        "hash": manifest.value.get("hash"),
        "confidence": output.find_confidence(done.proofs),
        "proofs": done.proofs,
        "reason": reason,
        "evidence_anchors": output.find_anchors(manifest, "compared with what was kept"),
    }
    if is_good:
        line = Line(f"{manifest.id}: intact", "good")
    else:
        line = Line(f"{manifest.id}: do not rely on it", "bad")

    return Outcome(data, (), done.findings, summary=[line])


def _rollback(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    wanted = _read_wanted(args, workspace)
    allowed = operations.Allowed(args.force, args.foreign, args.here)
    reason = args.reason or ""
    done = operations.roll_back_point(
        workspace,
        args.operands[0],
        wanted,
        allowed,
        dry_run=args.dry_run,
        reason=reason,
    )
    data = _describe_rollback(done, reason)
    verb = "was" if done.result else "would be"
    lines = _list_changes(done.plan, verb)
    lines += [Line(f"  in git, {verb} restored: {sentence}") for sentence in done.brought_back]
    lines += [Line(f"  {sentence}", "warn") for sentence in (*done.moved, *done.notes)]
    if done.result is None:
        return Outcome(data, [*lines, Line("nothing was changed: this was a dry run", "dim")])

    lines.append(Line(f"restored and verified against {done.manifest.id}", "good"))
    if done.result.safety:
        words = rollback.write_words(done.result.safety, wanted._replace(within=None)).split()
        undo = command("checkpoint", "restore-point", "rollback", *words)
        lines.append(Line("undo with", "dim", hint=undo))

    return Outcome(data, lines)


def _read_wanted(args: argparse.Namespace, workspace: Workspace) -> WantedState:
    within = None
    if args.scope is not None:
        within = [operations.find_below(workspace, path) for path in args.scope]
    state_to = {}
    for word in args.state_to or ():
        key, file = parts.split_pair(word, "--state-to")
        state_to[key] = parts.place_target(workspace.cwd, file)
    return WantedState(within, Means(state_to), staged=args.index, operation=args.operation)


def _describe_rollback(done: operations.RolledBackPoint, reason: str) -> dict[str, Any]:
    """Return what a rollback, or the plan of one, reports in JSON."""
    plan = done.plan
    data: dict[str, Any] = {
        "checkpoint_id": done.manifest.id,
        "dry_run": True,
        "verified": False,
        "restored": [difference._asdict() for difference in plan.restore],
        "removed": plan.remove,
        "parts": [part.name for part in plan.parts],
        "warnings": list(done.notes),
        "moved_in_git": list(done.moved),
        "restored_in_git": list(done.brought_back),
        "safety_checkpoint_id": None,
        "resumed": False,
        "reason": reason,
        "hash": done.manifest.value["hash"],
        "hash_before": None,
        "confidence": 0.0,
        "evidence_anchors": output.find_anchors(done.manifest, "planned"),
    }
    result = done.result
    if result:
        data["dry_run"] = False
        data["verified"] = True
        data["safety_checkpoint_id"] = result.safety
        data["resumed"] = result.resumed
        data["hash_before"] = result.hash_before or None
        data["confidence"] = output.find_confidence(result.proofs)
        anchors = output.find_anchors(done.manifest, "compared after the rollback")
        data["evidence_anchors"] = anchors

    return data


def _list_changes(plan: MechanismPlan, verb: str) -> list[Block]:
    """Return a line for each path and part that a rollback changes. verb: "was", "would be"."""
    lines: list[Block] = []
    for difference in plan.restore[:_SHOWN]:
        lines.append(Line(f"  {difference.path}: {verb} {_REPAIRS[difference.how]}"))

    for path in plan.remove[:_SHOWN]:
        lines.append(Line(f"  {path}: {verb} removed (created later)", "warn"))
    hidden = max(len(plan.restore) - _SHOWN, 0) + max(len(plan.remove) - _SHOWN, 0)
    if hidden:
        lines.append(Line(f"  and {hidden} more", "dim"))
    lines += [Line(f"  {part.name}: {verb} restored") for part in plan.parts]
    return lines


def _diff(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    allowed = operations.Allowed(expired=True, foreign=args.foreign, here=args.here)
    point = args.operands[0]
    done = operations.roll_back_point(workspace, point, allowed=allowed, dry_run=True)

    changes = []
    for difference in done.plan.restore:
        changes.append({"path": difference.path, "change": _CHANGES[difference.how]})
    changes += [{"path": path, "change": "added"} for path in sorted(done.plan.remove)]
    changes += [{"path": part.name, "change": "changed"} for part in done.plan.parts]

    data = {
        "checkpoint_id": done.manifest.id,
        "changes": changes,
        "moved_in_git": list(done.moved),
    }
    lines = [Line(f"  {change['path']}: {change['change']}") for change in changes]
    lines += [Line(f"  {sentence}", "warn") for sentence in done.moved]
    if not lines:
        lines = [Line(f"nothing differs from {done.manifest.id}", "good")]
    return Outcome(data, lines)


def _gc(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    keep = _read_keep(args)
    removed = operations.collect_garbage(
        workspace,
        expired=args.expired,
        keep=keep,
        dry_run=args.dry_run,
    )
    verb = "would be removed" if args.dry_run else "removed"

    lines: list[Block] = []
    for manifest in removed:
        expires = manifest.value["expires_at"] or "never"
        made = manifest.value["created_at"]
        lines.append(Line(f"{manifest.id}: {verb} (made {made}, expires {expires})"))

    automatic = 0
    if keep is not None and not args.dry_run:
        repository = find_repository(workspace.root)
        if repository:
            automatic = drop_oldest(repository, keep)

    if automatic:
        lines.append(Line(f"automatic restore points: {automatic} {verb}"))
    data = {
        "dry_run": args.dry_run,
        "cleared": [manifest.id for manifest in removed],
        "automatic": automatic,
    }
    return Outcome(data, lines or [Line("no restore points to remove", "dim")])


def _read_keep(args: argparse.Namespace) -> int | None:
    if args.keep is None:
        if args.expired:
            return None
        hint = join_hints(
            advise("choose one", "checkpoint", "restore-point", "gc", "--expired"),
            command("checkpoint", "restore-point", "gc", "--keep", Blank("how many", "N")),
        )
        raise CheckpointError("gc needs to know what to remove", hint)
    if not (args.keep.isascii() and args.keep.isdecimal()):
        raise CheckpointError("--keep takes a number of points", "write --keep 10")
    return int(args.keep[:9])


def _drop(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    dropped = operations.drop_points(
        workspace,
        args.operands,
        args.reason or "",
        foreign=args.foreign,
    )
    ids = [manifest.id for manifest in dropped]
    data = {"dropped": ids[0] if len(ids) == 1 else ids}
    return Outcome(data, [Line(f"{point}: dropped", "good") for point in ids])


def _audit(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    if args.operands not in ([], ["verify"]):
        words = " ".join(args.operands)
        raise CheckpointError(f"audit takes nothing or `verify`, not {words!a}", _HELP)

    lines = audit.read_records(workspace.root)
    if args.operands:
        return _verify_log(workspace, lines)

    records = []
    for _, line in lines:
        record = audit.parse_record(line)
        if record:
            records.append(record)

    columns = ("at", "operation", "outcome", "checkpoint_id")
    rows = []
    for record in records:
        rows.append(tuple(str(record.get(name, "")) for name in columns))
    table = Table(("at", "operation", "outcome", "restore point"), rows)
    return Outcome({"log": layout.AUDIT_LOG, "records": records}, [table])


def _verify_log(workspace: Workspace, lines: Sequence[tuple[int, bytes]]) -> Outcome:
    findings = audit.find_breaks(iter(lines))
    for manifest in damage.find_unlogged(workspace):
        findings.append(damage.explain_unlogged(manifest)._replace(level="error"))
    text = f"{len(lines)} records: the chain is {'broken' if findings else 'whole'}"
    data = {"records": len(lines), "whole": not findings}
    return Outcome(data, (), findings, summary=[Line(text)])


Action = Callable[[argparse.Namespace, Workspace], Outcome]
# name -> what it does, its operands
ACTIONS: dict[str, tuple[Action, Literal["any", "id", "ids", "none"]]] = {
    "create": (_create, "any"),
    "list": (_list, "none"),
    "show": (_show, "id"),
    "diff": (_diff, "id"),
    "verify": (_verify, "id"),
    "rollback": (_rollback, "id"),
    "gc": (_gc, "none"),
    "drop": (_drop, "ids"),
    "audit": (_audit, "any"),
}
