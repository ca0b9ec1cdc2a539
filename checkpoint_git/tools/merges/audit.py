"""`checkpoint audit`: find what past merges did to checkpoints, and repair it in a commit."""

import argparse
import os

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Blank, command
from checkpoint_git.core.linediff import show_diff
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Style
from checkpoint_git.core.terminal_text import escape_controls, join_some, plural, shorten
from checkpoint_git.disk.read import read_content
from checkpoint_git.git.attributes import FILE, find_others
from checkpoint_git.git.merges.conflicts import find_top, read_choices
from checkpoint_git.git.merges.merges import UNSHALLOW
from checkpoint_git.git.merges.trees import open_plain
from checkpoint_git.git.run import Env, offline_env
from checkpoint_git.protocols.write import say_waiting
from checkpoint_git.tools.merges.audit_entries import show_entries
from checkpoint_git.tools.merges.audit_fix import AuditRepair, plan_data, plan_repair, write_plan
from checkpoint_git.tools.merges.audit_range import (
    AuditRange,
    AuditResult,
    audit_range,
    keep_paths,
    read_range,
    read_squash,
)
from checkpoint_git.tools.merges.audited_file import Schemas
from checkpoint_git.tools.merges.findings import (
    NOT_AUDITED,
    count_kinds,
    describe,
    list_findings,
    merge_data,
)

HELP = """\
find entries that past merges lost, duplicated or mixed up, and restore them

examples:
  checkpoint audit                             every merge in HEAD's history
  checkpoint audit v2.1..main                  every merge in a range
  checkpoint audit --fix --dry-run             what would be restored, as a diff
  checkpoint audit --fix                       restore it in one commit
  checkpoint audit 3f2a9c1 --base v2.1 --head topic      one squash merge
  checkpoint audit --all 3f2a9c1               what one merge did to every entry
  checkpoint audit --all HEAD -- .checkpoints/build.checkpoint.json

A squash merge that names its pull request ("(#12)") is found automatically if refs/pull/12/head
was fetched.

exit 1: unrepaired damage remains; with --all, something was lost, duplicated or mixed up
"""


_LONGEST_SHOWN = 100  # characters of a pattern


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    which = "such as main~50..main, or a branch; with --all also one merge (default: HEAD)"
    add("range", metavar="RANGE", nargs="?", help=which)
    add("paths", metavar="PATH", nargs="*", help="only these, as paths from the repository root")
    add("--all", action="store_true", help="show what a merge did to every entry")
    head = "with a single squash commit: the branch it squashed"
    add("--head", metavar="REF", help=head)
    base = "with --head: where the squash starts (default: its parent)"
    add("--base", metavar="REF", help=base)
    strict = "also fail on changes that look deliberate; with --all on every decision"
    add("--strict", action="store_true", help=strict)
    add("--fix", action="store_true", help="repair in one commit; skip anything edited since")
    add("--dry-run", action="store_true", help="show what --fix would change, and change nothing")
    add("--range", metavar="RANGE", dest="every", help=argparse.SUPPRESS)  # its former spelling


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Show or repair damage; exit with code 1 if unrepaired damage remains."""
    paths = [os.path.normpath(path) for path in args.paths]
    if args.every is not None:
        args.range = args.every
        args.all = True
    if args.all:
        if args.fix or args.dry_run:
            hint = "run it once with --all to look, and once with --fix to repair"
            raise CheckpointError("--all shows, and --fix repairs", hint)
        return show_entries(args, paths, invocation)

    cwd, env = invocation.cwd, offline_env(invocation.env)
    asked = _read_asked(args, cwd, env)
    schemas = Schemas(read_choices(cwd))
    with open_plain(cwd, env) as plain:
        found = keep_paths(audit_range(plain, asked, schemas, invocation, args.strict), paths)
        others = find_unaudited(cwd, env)
        if not (args.fix or args.dry_run):
            outcome = make_outcome(found, args.strict)
            return outcome._replace(findings=[*outcome.findings, *others])
        if asked.ahead:
            message = f"{escape_controls(asked.revisions)} is not part of HEAD's history"
            hint = "check that branch out first"
            raise CheckpointError(f"{message}, and the repair is a commit on top of HEAD", hint)

        plan = plan_repair(plain, found.audited, invocation.now, invocation.env)
        commit = None
        if plan.files and not args.dry_run:
            commit = write_plan(plan, say_waiting(invocation.stderr))
            asked = asked._replace(head=commit)
            found = keep_paths(audit_range(plain, asked, schemas, invocation, args.strict), paths)

    outcome = make_outcome(found, args.strict)
    data = {**outcome.data, "fix": {**plan_data(plan, commit), "dry_run": args.dry_run}}
    blocks = [*_describe_plan(plan, commit), *outcome.blocks]
    findings = [*outcome.findings, *others, *plan.refused]
    return outcome._replace(data=data, blocks=blocks, findings=findings)


def find_unaudited(cwd: str, env: Env) -> list[Finding]:
    """Return a note about the other files that the driver merges: no audit looks at them."""
    work_tree = find_top(cwd, env).work_tree
    if not work_tree:
        return []
    content = read_content(os.path.join(work_tree, FILE), work_tree)
    if not isinstance(content, bytes):
        return []
    patterns = find_others(content)
    if not patterns:
        return []

    names = join_some([escape_controls(shorten(pattern, _LONGEST_SHOWN)) for pattern in patterns])
    unaudited = "not the other files that the driver merges"
    message = f"only checkpoints are audited, and {unaudited}: {names}"
    show = ("git", "show", "--remerge-diff", Blank("the merge", "COMMIT"))
    hint = command(*show, more=" shows what a merge did to them")
    return [Finding(NOT_AUDITED, "note", message, FILE, hint=hint)]


def _read_asked(args: argparse.Namespace, cwd: str, env: Env) -> AuditRange:
    revisions = args.range
    if revisions is None:
        revisions = "HEAD"
    if args.head is not None:
        return read_squash(cwd, env, revisions, args.base, args.head)
    if args.base is not None:
        raise CheckpointError("for a squash, name its branch too", "add --head REF")
    return read_range(cwd, env, revisions)


def make_outcome(found: AuditResult, strict: bool) -> Outcome:
    data = {
        "merges_looked_at": found.merges,
        "squashes_looked_at": len(found.squashes),
        "reverted": found.reverted,
        "strict": strict,
        "counts": count_kinds(found.audited),
        "merges": [merge_data(merge) for merge in found.audited],
    }
    findings = list_findings(found.audited)
    if found.end:
        message = f"this clone was cut off at {found.end[:12]}: earlier merges are unknown"
        findings.append(Finding(NOT_AUDITED, "warning", message, hint=UNSHALLOW))

    blocks = [describe(merge) for merge in found.audited]
    return Outcome(data, blocks, findings, None, [_summarize(found)])


def _summarize(found: AuditResult) -> Line:
    counts = count_kinds(found.audited)
    wrong = sum(number for kind, number in counts.items() if kind != "meant")
    unknown = sum(bool(merge.reason) for merge in found.audited)
    parts = [plural(found.merges, "merge")]
    if found.squashes:
        parts.append(plural(len(found.squashes), "squash merge"))

    if wrong:
        parts.append(f"{plural(wrong, 'place')} still damaged")
    else:
        parts.append("no damage")

    if counts.get("meant"):
        parts.append(f"{counts['meant']} that look deliberate")
    if found.reverted:
        parts.append(f"{plural(found.reverted, 'merge')} reverted since")
    style: Style = "good"
    if unknown:
        parts.append(f"{unknown} not checked")
        style = "warn"
    if wrong:
        style = "bad"
    return Line(", ".join(parts), style)


def _describe_plan(plan: AuditRepair, commit: str | None) -> list[Block]:
    paths = ", ".join(file.path for file in plan.files)
    if commit:
        names = ", ".join(merge[:12] for merge in plan.merges)
        return [Line(f"repaired in commit {commit[:12]}, what {names} did: {paths}", "good")]
    if not plan.files:
        return [Line("there is nothing to repair", "dim")]
    diff = show_diff(line for file in plan.files for line in file.diff)
    return [Line(f"would repair {paths}", "good"), *diff]
