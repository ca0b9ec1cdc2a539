"""`checkpoint restore-point` (`rp`): a verified way back, made before anything dangerous, and the way back itself."""

import argparse
from collections.abc import Callable
from typing import Any, Literal

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Table
from checkpoint_git.core.progress import make_teller
from checkpoint_git.protocols.restore import artifacts, audit, layout, operations, store
from checkpoint_git.protocols.restore.contents import Means
from checkpoint_git.protocols.restore.layout import Workspace, open_workspace
from checkpoint_git.protocols.restore.state_snapshot import PREFIX

_TYPES = ("git_stash", "file_backup", "state_snapshot", "database_savepoint")
_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("action", metavar="ACTION", choices=list(ACTIONS), help=", ".join(ACTIONS))
    add("operands", metavar="OPERAND", nargs="*", help="create: files, folders, patterns; else the id of a point")
    add("--reason", metavar="TEXT", help="create: why, for the log")
    add("--type", choices=_TYPES, help="create: how it is kept (default: git_stash in a repository, else file_backup)")
    add("--state", metavar="KEY=FILE", action="append", help="create: keep JSON from a file, or - for standard input")
    add("--database", metavar="URL", action="append", help="create: keep sqlite:///path or postgresql://user@host/name")
    add("--table", metavar="NAME", action="append", help="create: only these tables of a PostgreSQL database")
    add("--state-to", metavar="KEY=FILE", action="append", help="rollback: file for a state that came from no file")
    add("--expiry", metavar="TIME", help="create: when gc may clear it: 30m, 24h, 7d, 2w or never (default: never)")
    add("--scope", metavar="PATH", action="append", help="rollback: only this path, state:KEY or database")
    add("--dry-run", action="store_true", help="rollback, gc: only show what would be done, and change nothing")
    add("--force", action="store_true", help="rollback: go back to a point that has expired")
    add("--expired", action="store_true", help="gc: clear the points that have expired")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    action, operands, takes = ACTIONS[args.action]
    options = {name for _, _, names in ACTIONS.values() for name in names}
    unknown = sorted(name for name in options if getattr(args, name) not in (None, False) and name not in takes)
    if unknown:
        raise CheckpointError(f"{args.action} takes no --{unknown[0].replace('_', '-')}", _HELP)
    if operands == "none" and args.operands:
        raise CheckpointError(f"{args.action} takes no operands", _HELP)
    if operands == "id" and len(args.operands) != 1:
        hint = "`checkpoint restore-point list` shows them"
        raise CheckpointError(f"{args.action} needs the id of one restore point", hint)
    workspace = open_workspace(invocation.cwd, invocation.now, invocation.env)
    show, shown = make_teller(invocation), 0

    def progress(size: int) -> None:
        nonlocal shown
        if size - shown > _MUCH:
            show(f"kept {size >> 20} MB...")
            shown = size

    args.stdin = invocation.stdin
    try:
        return action(args, workspace._replace(progress=progress))
    finally:
        show("")


_HELP = "`checkpoint restore-point --help` shows what each action takes"
_MUCH = 8 << 20  # bytes between two lines of progress


# the actions


def _create(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    # a file of such a name is written with ./ before it
    keys = [word.removeprefix(PREFIX) for word in args.operands if word.startswith(PREFIX)]
    scope = [word for word in args.operands if not word.startswith(PREFIX)]
    requests = artifacts.request_databases(workspace, args.database or (), args.table or ())
    requests += artifacts.read_states(workspace, args.state or (), keys, args.stdin)
    if not scope and not requests:
        hint = "name files, folders or patterns: create src 'tests/*.py'; or give --state or --database"
        raise CheckpointError("create needs a scope", hint)
    made = operations.create_point(workspace, scope, args.reason or "", args.type, args.expiry, requests)
    data = operations.describe(made)
    blocks: list[Block] = [
        Line(f"{made.manifest.id}: {data['pre_mutation_state']['summary']}", "good"),
        Line(f"  go back:  checkpoint restore-point rollback {made.manifest.id}"),
        Line(f"  or, without this package:  {data['checkpoint']['restore_command']}", "dim"),
    ]
    return Outcome(data, blocks, [Finding("restore/left-out", "warning", text) for text in made.warnings], 0)


def _list(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    points = store.list_points(workspace)
    data = {"restore_points": [operations.outline(one, workspace.now) for one in points]}
    if not points:
        return Outcome(data, [Line("no restore points yet: checkpoint restore-point create SCOPE", "dim")])
    rows = list[tuple[str | Line, ...]]()
    for (point, value, trouble), outline in zip(points, data["restore_points"], strict=True):
        if trouble:
            rows.append((point, Line("damaged", "bad"), "", "", "", trouble))
            continue
        state = Line(outline["state"], "dim" if outline["state"] == "expired" else "")
        files, size = str(len(value["scope"]["files"])), operations.size_text(value["size"])
        rows.append((point, state, files, size, value["expires_at"] or "never", value["reason"]))
    return Outcome(data, [Table(("id", "state", "files", "size", "expires", "reason"), rows)])


def _show(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    manifest = store.load_point(workspace, args.operands[0])
    if manifest.trouble:
        hint = "`checkpoint restore-point verify` shows the details"
        raise CheckpointError(f"{manifest.id} is damaged: {manifest.trouble}", hint)
    value, parts = manifest.value, manifest.value.get("parts", [])
    data = operations.outline(manifest, workspace.now)
    data |= {"entries": value["entries"], "parts": parts, "history": value["history"]}
    rows = [(one["path"], one["kind"], one.get("mode", ""), str(one.get("size", ""))) for one in value["entries"]]
    rows += [(part["name"], part["kind"], "", str(part["size"])) for part in parts]
    head = f"{manifest.id}: {data['state']}, made {value['created_at']}, expires {value['expires_at'] or 'never'}"
    lines = [Line(head, "strong"), Line(f"  {value['reason'] or 'no reason given'}")]
    return Outcome(data, [*lines, Table(("path", "kind", "mode", "size"), rows)])


def _verify(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    point = args.operands[0]
    findings = operations.verify_point(workspace, point)
    good = not any(finding.level == "error" for finding in findings)
    text = f"{point}: everything is as it was captured" if good else f"{point}: do not rely on it"
    data = {"checkpoint_id": point, "verified": good}
    return Outcome(data, (), findings, summary=[Line(text, "good" if good else "bad")])


def _rollback(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    point = args.operands[0]
    within = None if args.scope is None else [operations.find_below(workspace, path) for path in args.scope]
    means = Means(artifacts.read_targets(workspace.cwd, args.state_to or ()))
    done = operations.roll_back_point(workspace, point, within, means, dry_run=args.dry_run, force=args.force)
    plan, result = done.plan, done.result
    data = {
        "checkpoint_id": point,
        "dry_run": args.dry_run,
        "verified": result is not None,
        "restored": [one._asdict() for one in plan.restore],
        "removed": plan.remove,
        "parts": [part.name for part in plan.parts],
        "warnings": list(result.told) if result else [],
        "safety_checkpoint_id": result.safety if result else None,
        "resumed": bool(result and result.resumed),
    }
    verb = "was" if result else "would be"
    lines = [Line(f"  {one.path}: {verb} {_HOW[one.how]}") for one in plan.restore[:_SHOWN]]
    lines += [Line(f"  {path}: {verb} removed (it was made since)", "warn") for path in plan.remove[:_SHOWN]]
    more = sum(max(len(part) - _SHOWN, 0) for part in (plan.restore, plan.remove))
    lines += [Line(f"  and {more} more", "dim")] if more else []
    lines += [Line(f"  {part.name}: {verb} restored") for part in plan.parts]
    if result is None:
        return Outcome(data, [*lines, Line("nothing was changed: this was a dry run", "dim")])
    lines += [Line(f"  {text}", "warn") for text in result.told]
    lines.append(Line(f"restored and verified against {done.manifest.id}", "good"))
    if result.safety:
        lines.append(Line(f"undo with: checkpoint restore-point rollback {result.safety}", "dim"))
    return Outcome(data, lines)


_HOW = {"missing": "brought back", "changed": "restored", "mode": "given its mode back", "kind": "restored"}


def _gc(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    if not args.expired:
        raise CheckpointError("gc clears nothing unasked", "say which: checkpoint restore-point gc --expired")
    gone = operations.collect_expired(workspace, dry_run=args.dry_run)
    verb = "would be cleared" if args.dry_run else "cleared"
    lines: list[Block] = [Line(f"{manifest.id}: {verb} (expired {manifest.value['expires_at']})") for manifest in gone]
    data = {"dry_run": args.dry_run, "cleared": [manifest.id for manifest in gone]}
    return Outcome(data, lines or [Line("no restore point has expired", "dim")])


def _drop(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    manifest = operations.drop_point(workspace, args.operands[0])
    return Outcome({"dropped": manifest.id}, [Line(f"{manifest.id}: dropped", "good")])


def _audit(args: argparse.Namespace, workspace: Workspace) -> Outcome:
    if args.operands not in ([], ["verify"]):
        raise CheckpointError(f"audit takes nothing or `verify`, not {' '.join(args.operands)!a}", _HELP)
    lines = list(audit.read_records(workspace.root))
    if args.operands:
        findings = audit.find_breaks(iter(lines))
        text = f"{len(lines)} records: the chain is {'broken' if findings else 'whole'}"
        return Outcome({"records": len(lines), "whole": not findings}, (), findings, summary=[Line(text)])
    records = [record for _, line in lines if (record := audit.parse_record(line))]
    rows = [tuple(str(record.get(name, "")) for name in _AUDIT_COLUMNS) for record in records]
    data: dict[str, Any] = {"log": layout.AUDIT_LOG, "records": records}
    return Outcome(data, [Table(("at", "operation", "outcome", "restore point"), rows)])


_AUDIT_COLUMNS = ("at", "operation", "outcome", "checkpoint_id")
Action = Callable[[argparse.Namespace, Workspace], Outcome]
# name -> what it does, its operands, its options
ACTIONS: dict[str, tuple[Action, Literal["any", "id", "none"], tuple[str, ...]]] = {
    "create": (_create, "any", ("reason", "type", "expiry", "state", "database", "table")),
    "list": (_list, "none", ()),
    "show": (_show, "id", ()),
    "verify": (_verify, "id", ()),
    "rollback": (_rollback, "id", ("scope", "state_to", "dry_run", "force")),
    "gc": (_gc, "none", ("expired", "dry_run")),
    "drop": (_drop, "id", ()),
    "audit": (_audit, "any", ()),
}
