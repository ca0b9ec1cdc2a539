"""`checkpoint restore-point` (`rp`): a verified way back, made before anything dangerous, and the way back itself."""

import argparse
from collections.abc import Callable
from typing import Literal

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Table
from checkpoint_git.protocols.restore import audit, damage, layout, operations, points, rollback, store
from checkpoint_git.protocols.restore.automatic import AUTOMATIC, read_snapshots
from checkpoint_git.protocols.restore.contents import Means
from checkpoint_git.protocols.restore.layout import Workspace, open_workspace
from checkpoint_git.protocols.restore.mechanisms import parts as artifacts
from checkpoint_git.protocols.restore.mechanisms.state import PREFIX
from checkpoint_git.protocols.restore.snapshot import drop_oldest, find_repository

HELP = """\
save a verified restore point before a risky step, and roll back to it

A point holds every file of its scope byte for byte, untracked ones too; work tree, index and stash
stay unchanged. It also records HEAD, what was staged, and a merge or rebase in progress. Excluded
and listed: files whose names suggest secrets (.env, *.pem, ...), and files that git ignores. Each
point has a restore.sh that works without this package.

examples:
  checkpoint restore-point create src tests --reason "before the refactoring"
  checkpoint restore-point diff latest
  checkpoint restore-point rollback latest
  checkpoint restore-point guard < tool-call.json    the hook for agents, with a --help of its own

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
go back to a point; a new point keeps what is there now

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

# change of a path -> what it is since, what a rollback does
_HOW = {
    "missing": ("deleted", "brought back"),
    "changed": ("changed", "restored"),
    "mode": ("another mode", "given its mode again"),
    "kind": ("another kind", "restored"),
    "links": ("no longer linked", "linked again"),
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
    operands = 'create: files, folders, patterns; else the id of a point, its beginning, or "latest"'
    parser.add_argument("operands", metavar="OPERAND", nargs="*", help=operands)
    add = parser.add_argument
    add("--reason", metavar="TEXT", help="the reason, recorded in the log")
    add(
        "--type",
        choices=("git_stash", "file_backup", "state_snapshot", "database_savepoint"),
        help="how to store it (default: git_stash in a repository, else file_backup)",
    )
    add("--state", metavar="KEY=FILE", action="append", help="also save JSON from a file (-: stdin)")
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
        help="also restore HEAD, its branch, what was staged, and a merge, rebase, cherry-pick, revert or bisect "
        "in progress",
    )
    add("--dry-run", action="store_true", help="only show what would be done")
    add("--force", action="store_true", help="use an expired point")
    add("--foreign", action="store_true", help="use a point from another clone")
    add("--here", action="store_true", help="use this work tree for a point of another one")
    add("--expired", action="store_true", help="delete expired points")
    add("--keep", metavar="N", help="delete all but the newest N that you made")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    action, operands = ACTIONS[args.action]
    if operands == "none" and args.operands:
        raise CheckpointError(f"{args.action} takes no operands", _HELP)
    if (operands in ("id", "ids") and not args.operands) or (operands == "id" and len(args.operands) > 1):
        hint = "`checkpoint restore-point list` shows them; `latest` is the newest"
        raise CheckpointError(f"{args.action} needs the id of {'one' if operands == 'id' else 'a'} restore point", hint)
    is_automatic = operands in ("id", "ids") and any(word.startswith(AUTOMATIC) for word in args.operands)
    if is_automatic and action is not _rollback:
        hint = "`rollback` takes it, also with --dry-run; `git diff` takes the digits; `gc --keep N` drops old ones"
        raise CheckpointError(f"{args.action} takes no automatic restore point", hint)
    workspace = open_workspace(invocation.cwd, invocation.now, invocation.env)
    args.stdin = invocation.stdin
    outcome = action(args, workspace)
    return outcome._replace(findings=[*outcome.findings, *damage.find_cut_off(workspace)])


_HELP = "`checkpoint restore-point --help` shows what each action takes"


def _create(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    # a file of such a name is written with ./ before it
    keys = [word.removeprefix(PREFIX) for word in args.operands if word.startswith(PREFIX)]
    scope = [word for word in args.operands if not word.startswith(PREFIX)]
    requests = artifacts.request_databases(workspace, args.database or (), args.table or ())
    requests += artifacts.read_states(workspace, args.state or (), keys, args.stdin)
    if not scope and not requests:
        hint = "name files, folders or patterns: create src 'tests/*.py'; or give --state or --database"
        raise CheckpointError("create needs a scope", hint)
    include = frozenset(operations.find_below(workspace, path) for path in args.include or ())
    request = points.Request(scope, args.reason or "", parts=requests, include=include, may_lack=args.absent)
    made = operations.create_point(workspace, request, args.type, args.expiry)
    data = operations.describe(made)
    blocks: list[Block] = [
        Line(f"{made.manifest.id}: {data['pre_mutation_state']['summary']}", "good"),
        Line(f"  go back:  checkpoint restore-point rollback {made.manifest.id}"),
        Line(f"  or, without this package:  {data['checkpoint']['restore_command']}", "dim"),
    ]
    return Outcome(data, blocks, [Finding("restore/left-out", "warning", text) for text in made.warnings], 0)


def _list(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    found = store.list_points(workspace)
    snapshots = read_snapshots(workspace)
    data = {"restore_points": [operations.outline(one, workspace.now) for one in found]}
    data["automatic"] = [
        {"id": one.id, "tree": one.tree, "at": one.at, "session": one.session, "before": one.before}
        for one in snapshots
    ]
    if not found and not snapshots:
        return Outcome(data, [Line("no restore points yet: checkpoint restore-point create SCOPE", "dim")])
    rows = list[tuple[str | Line, ...]]()
    for manifest, outline in zip(found, data["restore_points"], strict=True):
        state, value = outline["state"], manifest.value
        if manifest.trouble or manifest.is_foreign:
            why = manifest.trouble or "not made in this clone: no command uses it without --foreign"
            rows.append((manifest.id, Line(state, "bad"), "", "", "", why))
            continue
        files, size = str(len(value["scope"]["files"])), operations.size_text(value["size"])
        place = "" if store.is_of_work_tree(workspace, manifest) else f"[work tree {value['work_tree'] or 'main'}] "
        shown = Line(state, "dim" if state == "expired" else "")
        rows.append((manifest.id, shown, files, size, value["expires_at"] or "never", place + value["reason"]))
    rows += [(one.id, "automatic", "", "", "", f"session {one.session}: {one.before}, {one.at}") for one in snapshots]
    return Outcome(data, [Table(("id", "state", "files", "size", "expires", "reason"), rows)])


def _show(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    manifest = store.load_point(workspace, args.operands[0], foreign=True)
    if manifest.trouble:
        hint = "`checkpoint restore-point verify` shows the details"
        raise CheckpointError(f"{manifest.id} is damaged: {manifest.trouble}", hint)
    value, parts, left = manifest.value, manifest.value.get("parts", []), manifest.value.get("left_out", [])
    data = operations.outline(manifest, workspace.now)
    data |= {"entries": value["entries"], "parts": parts, "history": value["history"]}
    rows = [(one["path"], one["kind"], one.get("mode", ""), str(one.get("size", ""))) for one in value["entries"]]
    rows += [(part["name"], part["kind"], "", str(part["size"])) for part in parts]
    rows += [(one["path"], f"excluded: {one['reason']}", "", "") for one in left]
    head = f"{manifest.id}: {data['state']}, made {value['created_at']}, expires {value['expires_at'] or 'never'}"
    lines = [Line(head, "strong"), Line(f"  {value['reason'] or 'no reason given'}")]
    git = value.get("git")
    if git:
        under_way = f", a {git['operation']} under way" if git["operation"] else ""
        place = git["branch"].removeprefix("refs/heads/") or "a detached HEAD"
        lines.append(Line(f"  on {place} at {git['head'][:10] or 'no commit'}{under_way}"))
    return Outcome(data, [*lines, Table(("path", "kind", "mode", "size"), rows)])


def _verify(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    done = operations.verify_point(workspace, args.operands[0], args.reason or "", foreign=args.foreign)
    point, value = done.manifest.id, done.manifest.value
    good = not done.manifest.is_foreign and not any(finding.level == "error" for finding in done.findings)
    text = f"{point}: intact" if good else f"{point}: do not rely on it"
    data = {
        "checkpoint_id": point,
        "verified": good,
        "hash": value.get("hash"),
        "confidence": operations.find_confidence(done.proofs),
        "proofs": done.proofs,
        "reason": args.reason or "",
        "evidence_anchors": operations.find_anchors(done.manifest, "compared with what was kept"),
    }
    return Outcome(data, (), done.findings, summary=[Line(text, "good" if good else "bad")])


def _rollback(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    within = None if args.scope is None else [operations.find_below(workspace, path) for path in args.scope]
    pairs = (artifacts.split_pair(word, "--state-to") for word in args.state_to or ())
    means = Means({key: artifacts.place_target(workspace.cwd, file) for key, file in pairs})
    wanted = rollback.Wanted(within, means, args.index, args.operation)
    leave = operations.Leave(args.force, args.foreign, args.here)
    words, reason = args.operands[0], args.reason or ""
    done = operations.roll_back_point(workspace, words, wanted, leave, dry_run=args.dry_run, reason=reason)
    plan, result, point = done.plan, done.result, done.manifest.id
    what = "compared after the rollback" if result else "planned"
    data = {
        "checkpoint_id": point,
        "dry_run": args.dry_run,
        "verified": result is not None,
        "restored": [one._asdict() for one in plan.restore],
        "removed": plan.remove,
        "parts": [part.name for part in plan.parts],
        "warnings": list(done.told),
        "moved_in_git": list(done.moved),
        "restored_in_git": list(done.brought_back),
        "safety_checkpoint_id": result.safety if result else None,
        "resumed": bool(result and result.resumed),
        "reason": args.reason or "",
        "hash": done.manifest.value["hash"],
        "hash_before": (result.hash_before or None) if result else None,
        "confidence": operations.find_confidence(result.proofs) if result else 0.0,
        "evidence_anchors": operations.find_anchors(done.manifest, what),
    }
    verb = "was" if result else "would be"
    lines: list[Block] = [Line(f"  {one.path}: {verb} {_HOW[one.how][1]}") for one in plan.restore[:_SHOWN]]
    lines += [Line(f"  {path}: {verb} removed (created later)", "warn") for path in plan.remove[:_SHOWN]]
    hidden = sum(max(len(part) - _SHOWN, 0) for part in (plan.restore, plan.remove))
    lines += [Line(f"  and {hidden} more", "dim")] if hidden else []
    lines += [Line(f"  {part.name}: {verb} restored") for part in plan.parts]
    lines += [Line(f"  in git, {verb} restored: {text}") for text in done.brought_back]
    lines += [Line(f"  {text}", "warn") for text in (*done.moved, *done.told)]
    if result is None:
        return Outcome(data, [*lines, Line("nothing was changed: this was a dry run", "dim")])
    lines.append(Line(f"restored and verified against {point}", "good"))
    if result.safety:
        undo = rollback.write_words(result.safety, wanted._replace(within=None))
        lines.append(Line(f"undo with: checkpoint restore-point rollback {undo}", "dim"))
    return Outcome(data, lines)


def _diff(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    leave = operations.Leave(True, args.foreign, args.here)
    done = operations.roll_back_point(workspace, args.operands[0], leave=leave, dry_run=True)
    changes = [{"path": one.path, "change": _HOW[one.how][0]} for one in done.plan.restore]
    changes += [{"path": path, "change": "added"} for path in sorted(done.plan.remove)]
    changes += [{"path": part.name, "change": "changed"} for part in done.plan.parts]
    data = {"checkpoint_id": done.manifest.id, "changes": changes, "moved_in_git": list(done.moved)}
    lines = [Line(f"  {one['path']}: {one['change']}") for one in changes]
    lines += [Line(f"  {text}", "warn") for text in done.moved]
    return Outcome(data, lines or [Line(f"nothing differs from {done.manifest.id}", "good")])


def _gc(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    keep = _read_keep(args)
    gone = operations.collect_garbage(workspace, expired=args.expired, keep=keep, dry_run=args.dry_run)
    verb = "would be removed" if args.dry_run else "removed"
    lines: list[Block] = [
        Line(f"{one.id}: {verb} (made {one.value['created_at']}, expires {one.value['expires_at'] or 'never'})")
        for one in gone
    ]

    automatic = 0
    if keep is not None and not args.dry_run:
        repository = find_repository(workspace.root)
        automatic = drop_oldest(repository, keep) if repository else 0
    if automatic:
        lines.append(Line(f"automatic restore points: {automatic} {verb}"))
    data = {"dry_run": args.dry_run, "cleared": [manifest.id for manifest in gone], "automatic": automatic}
    return Outcome(data, lines or [Line("no restore points to remove", "dim")])


def _read_keep(args: argparse.Namespace) -> int | None:
    if args.keep is None:
        if args.expired:
            return None
        hint = "choose one: checkpoint restore-point gc --expired, or --keep N"
        raise CheckpointError("gc needs to know what to remove", hint)
    if not (args.keep.isascii() and args.keep.isdecimal()):
        raise CheckpointError("--keep takes a number of points", "write --keep 10")
    return int(args.keep[:9])


def _drop(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    gone = [one.id for one in operations.drop_points(workspace, args.operands, args.reason or "", foreign=args.foreign)]
    data = {"dropped": gone[0] if len(gone) == 1 else gone}
    return Outcome(data, [Line(f"{point}: dropped", "good") for point in gone])


def _audit(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    if args.operands not in ([], ["verify"]):
        raise CheckpointError(f"audit takes nothing or `verify`, not {' '.join(args.operands)!a}", _HELP)
    lines = audit.read_records(workspace.root)
    if args.operands:
        unlogged = [damage.explain_unlogged(one)._replace(level="error") for one in damage.find_unlogged(workspace)]
        findings = [*audit.find_breaks(iter(lines)), *unlogged]
        text = f"{len(lines)} records: the chain is {'broken' if findings else 'whole'}"
        return Outcome({"records": len(lines), "whole": not findings}, (), findings, summary=[Line(text)])
    records = [record for _, line in lines if (record := audit.parse_record(line))]
    columns = ("at", "operation", "outcome", "checkpoint_id")
    rows = [tuple(str(record.get(name, "")) for name in columns) for record in records]
    return Outcome({"log": layout.AUDIT_LOG, "records": records}, [Table((*columns[:3], "restore point"), rows)])


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
