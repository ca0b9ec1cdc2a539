"""`checkpoint restore-point` (`rp`): a proven way back, made before anything dangerous, and the way back itself."""

import argparse
from collections.abc import Callable
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Table
from checkpoint_git.core.progress import make_teller
from checkpoint_git.protocols.restore import audit, contract_output, layout
from checkpoint_git.protocols.restore import operations as use
from checkpoint_git.protocols.restore import requested_parts as restore_parts
from checkpoint_git.protocols.restore.artifact import Means
from checkpoint_git.protocols.restore.entries import Difference
from checkpoint_git.protocols.restore.points import World
from checkpoint_git.protocols.restore.workspace import find_workspace, open_world

SUMMARY = "restore points: a proven way back, made before anything dangerous"
EXAMPLES = """\
  checkpoint restore-point create src tests --reason "before the refactoring" --expiry 7d
  checkpoint restore-point create src --state run=state.json --database sqlite:///app.db
  checkpoint restore-point list
  checkpoint restore-point verify chk_20260115_143022_a7b3c9
  checkpoint restore-point rollback chk_20260115_143022_a7b3c9 --dry-run
  checkpoint restore-point rollback chk_20260115_143022_a7b3c9
  checkpoint restore-point gc --expired
  checkpoint restore-point audit verify
  checkpoint restore-point guard < tool-call.json    an agent's hook; it has a --help of its own

A point holds every file of its scope byte for byte, untracked ones too. Making one changes neither the work tree nor
the index nor the stash. Files that hold secrets by their names (.env, *.pem, ...) are left out, and named. Each point
comes with a restore.sh that needs nothing of this package."""

_TYPES = ("git_stash", "file_backup", "state_snapshot", "database_savepoint")
_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ACTION [OPERAND...] and the options of all actions; which of them an action takes is checked after parsing."""
    add = parser.add_argument
    add("action", metavar="ACTION", choices=list(ACTIONS), help=", ".join(ACTIONS))
    add("operands", metavar="OPERAND", nargs="*", help="create: files, folders, patterns; else the id of a point")
    add("--reason", metavar="TEXT", help="create: why, for the log")
    add("--type", choices=_TYPES, help="create: how it is kept (default: git_stash in a repository, else file_backup)")
    add("--state", metavar="KEY=FILE", action="append", help="create: keep JSON from a file, or - for standard input")
    add("--database", metavar="URL", action="append", help="create: keep sqlite:///path or postgresql://user@host/name")
    add("--table", metavar="NAME", action="append", help="create: only these tables of a PostgreSQL database")
    add("--state-to", metavar="KEY=FILE", action="append", help="rollback: where a state goes that came from no file")
    add("--expiry", metavar="TIME", help="create: when gc may clear it: 30m, 24h, 7d, 2w or never (default: never)")
    add("--scope", metavar="PATH", action="append", help="rollback: only this path, state:KEY or database")
    add("--dry-run", action="store_true", help="rollback, gc: say what would be done, and change nothing")
    add("--force", action="store_true", help="rollback: go back to a point that has expired")
    add("--expired", action="store_true", help="gc: clear the points that have expired")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 when verify or audit verify find something."""
    act, takes = ACTIONS[args.action]
    strange = [name for name in _OPTIONS if getattr(args, name) not in (None, False) and name not in takes]
    if strange:
        raise CheckpointError(f"{args.action} takes no --{strange[0].replace('_', '-')}", _HELP)
    root = find_workspace(invocation.cwd)
    tell = _progress(invocation)
    args.stdin = invocation.stdin
    try:
        return act(args, open_world(root, invocation.cwd, invocation.now, invocation.env, tell))
    finally:
        tell(-1)


_OPTIONS = (
    "reason",
    "type",
    "expiry",
    "state",
    "database",
    "table",
    "state_to",
    "scope",
    "dry_run",
    "force",
    "expired",
)
_HELP = "`checkpoint restore-point --help` shows what each action takes"
_MUCH = 8 << 20  # bytes, from which on a person is told how far it is


def _progress(invocation: Invocation) -> Callable[[int], None]:
    show, told = make_teller(invocation), 0

    def tell(size: int) -> None:
        nonlocal told
        if size < 0 or size - told > _MUCH:
            show("" if size < 0 else f"kept {size >> 20} MB...")
            told = max(size, 0)

    return tell


def _one(args: argparse.Namespace) -> str:
    if len(args.operands) != 1:
        raise CheckpointError(
            f"{args.action} needs the id of one restore point", "`checkpoint restore-point list` shows them"
        )
    return str(args.operands[0])


def _none(args: argparse.Namespace) -> None:
    if args.operands:
        raise CheckpointError(f"{args.action} takes no operands", _HELP)


# the actions


def _create(args: argparse.Namespace, world: World) -> Outcome:
    scope, keys = restore_parts.split_scope(args.operands)
    wanted = restore_parts.find_databases(world, args.database or (), args.table or ())
    wanted += restore_parts.read_states(world, args.state or (), keys, args.stdin)
    if not scope and not wanted:
        hint = "name files, folders or patterns: create src 'tests/*.py'; or give --state or --database"
        raise CheckpointError("create needs a scope", hint)
    made = use.create_point(world, scope, args.reason or "", args.type, args.expiry, wanted)
    data = contract_output.describe(made)
    warnings = [Finding("restore/left-out", "warning", text) for text in made.warnings]
    blocks: list[Block] = [
        Line(f"{made.manifest.id}: {data['pre_mutation_state']['summary']}", "good"),
        Line(f"  go back:  checkpoint restore-point rollback {made.manifest.id}"),
        Line(f"  or, without this package:  {data['checkpoint']['restore_command']}", "dim"),
    ]
    return Outcome(data, blocks, warnings, 0)


def _list(args: argparse.Namespace, world: World) -> Outcome:
    _none(args)
    standings = use.list_points(world)
    rows = [_list_row(one) for one in standings]
    data = {"restore_points": [contract_output.outline(one.manifest, one.state) for one in standings]}
    if not rows:
        return Outcome(data, [Line("no restore points yet: checkpoint restore-point create SCOPE", "dim")])
    return Outcome(data, [Table(("id", "state", "files", "size", "expires", "reason"), rows)])


def _list_row(one: use.Standing) -> tuple[str | Line, ...]:
    value = one.manifest.value
    state = Line(one.state, "bad" if one.state == "damaged" else "dim" if one.state == "expired" else "")
    if one.manifest.trouble:
        return one.manifest.id, state, "", "", "", one.manifest.trouble
    files = str(len(value["scope"]["files"]))
    return (
        one.manifest.id,
        state,
        files,
        contract_output.size_text(value["size"]),
        value["expires_at"] or "never",
        value["reason"],
    )


def _show(args: argparse.Namespace, world: World) -> Outcome:
    manifest = use.load_point(world, _one(args))
    if manifest.trouble:
        raise CheckpointError(
            f"{manifest.id} is damaged: {manifest.trouble}", "`checkpoint restore-point verify` tells more"
        )
    value = manifest.value
    state = use.find_state(manifest, world.now)
    data = {**contract_output.outline(manifest, state), "entries": value["entries"]}
    data |= {"parts": value.get("parts", []), "history": value["history"]}
    rows = [
        (entry["path"], entry["kind"], entry.get("mode", ""), str(entry.get("size", ""))) for entry in value["entries"]
    ]
    rows += [(part["name"], part["kind"], "", str(part["size"])) for part in value.get("parts", [])]
    head = f"{manifest.id}: {state}, made {value['created_at']}, expires {value['expires_at'] or 'never'}"
    blocks: list[Block] = [Line(head, "strong"), Line(f"  {value['reason'] or 'no reason given'}")]
    return Outcome(data, [*blocks, Table(("path", "kind", "mode", "size"), rows)])


def _verify(args: argparse.Namespace, world: World) -> Outcome:
    point = _one(args)
    findings = use.verify_point(world, point)
    good = not any(finding.level == "error" for finding in findings)
    text = f"{point}: everything is as it was captured" if good else f"{point}: do not rely on it"
    data = {"checkpoint_id": point, "verified": good}
    return Outcome(data, (), findings, summary=[Line(text, "good" if good else "bad")])


def _rollback(args: argparse.Namespace, world: World) -> Outcome:
    point = _one(args)
    within = None if args.scope is None else [use.find_below(world, path) for path in args.scope]
    means = Means(restore_parts.read_targets(world, args.state_to or ()))
    done = use.roll_back_point(world, point, within, means, dry_run=args.dry_run, force=args.force)
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
    return Outcome(data, _rollback_lines(args, done))


def _rollback_lines(args: argparse.Namespace, done: use.RolledBackPoint) -> list[Block]:
    plan, result = done.plan, done.result
    verb = "would be" if args.dry_run else "was"
    lines: list[Block] = [_change_line(verb, one) for one in plan.restore[:_SHOWN]]
    lines += [Line(f"  {path}: {verb} removed (it was made since)", "warn") for path in plan.remove[:_SHOWN]]
    more = sum(max(len(part) - _SHOWN, 0) for part in (plan.restore, plan.remove))
    lines += [Line(f"  and {more} more", "dim")] if more else []
    lines += [Line(f"  {part.name}: {verb} put back") for part in plan.parts]
    lines += [Line(f"  {text}", "warn") for text in (result.told if result else ())]
    if result is None:
        return [*lines, Line("nothing was changed: this was a dry run", "dim")]
    back = f"everything in scope is as {done.manifest.id} holds it, and was compared"
    undo = f"what stood there before is kept: checkpoint restore-point rollback {result.safety}"
    return [*lines, Line(back, "good"), Line(undo, "dim")]


def _change_line(verb: str, one: Difference) -> Line:
    how = {"missing": "brought back", "changed": "restored", "mode": "given its mode back", "kind": "restored"}[one.how]
    return Line(f"  {one.path}: {verb} {how}")


def _gc(args: argparse.Namespace, world: World) -> Outcome:
    _none(args)
    if not args.expired:
        raise CheckpointError("gc clears nothing unasked", "say which: checkpoint restore-point gc --expired")
    gone = use.collect_expired(world, dry_run=args.dry_run)
    verb = "would be cleared" if args.dry_run else "cleared"
    lines: list[Block] = [Line(f"{manifest.id}: {verb} (expired {manifest.value['expires_at']})") for manifest in gone]
    data = {"dry_run": args.dry_run, "cleared": [manifest.id for manifest in gone]}
    return Outcome(data, lines or [Line("no restore point has expired", "dim")])


def _drop(args: argparse.Namespace, world: World) -> Outcome:
    manifest = use.drop_point(world, _one(args))
    return Outcome({"dropped": manifest.id}, [Line(f"{manifest.id}: dropped", "good")])


def _audit(args: argparse.Namespace, world: World) -> Outcome:
    if args.operands not in ([], ["verify"]):
        raise CheckpointError(f"audit takes nothing or `verify`, not {' '.join(args.operands)!a}", _HELP)
    lines = list(audit.read_records(world.root))
    if args.operands:
        findings = audit.find_breaks(iter(lines))
        text = f"{len(lines)} records: " + ("the chain is whole" if not findings else "the chain is broken")
        return Outcome({"records": len(lines), "whole": not findings}, (), findings, summary=[Line(text)])
    records = [audit.parse_record(line) for _, line in lines]
    rows = [tuple(str(record.get(name, "")) for name in _AUDIT_COLUMNS) for record in records if record]
    data: dict[str, Any] = {"log": layout.AUDIT_LOG, "records": [record for record in records if record]}
    return Outcome(data, [Table(("at", "operation", "outcome", "restore point"), rows)])


_AUDIT_COLUMNS = ("at", "operation", "outcome", "checkpoint_id")
Act = Callable[[argparse.Namespace, World], Outcome]
ACTIONS: dict[str, tuple[Act, tuple[str, ...]]] = {
    "create": (_create, ("reason", "type", "expiry", "state", "database", "table")),
    "list": (_list, ()),
    "show": (_show, ()),
    "verify": (_verify, ()),
    "rollback": (_rollback, ("scope", "state_to", "dry_run", "force")),
    "gc": (_gc, ("expired", "dry_run")),
    "drop": (_drop, ()),
    "audit": (_audit, ()),
}
