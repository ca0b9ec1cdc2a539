"""`checkpoint audit`: entries that past merges lost, duplicated or mixed up, and a commit that repairs them."""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.linediff import show_diff
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.progress import follow
from checkpoint_git.core.terminal_text import escape_controls, plural, shorten
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import UNSHALLOW, Commit, read_commits, read_cut_ends
from checkpoint_git.git.merges.squashes import read_reverts, read_squashes
from checkpoint_git.git.merges.suspects import read_outside, read_suspects
from checkpoint_git.git.merges.trees import Plain, open_plain
from checkpoint_git.git.objects import find_commit, find_missing, read_commit
from checkpoint_git.git.run import Env, offline_env, run_git
from checkpoint_git.protocols.write import say_waiting
from checkpoint_git.tools.merges.audit_fix import Plan, plan_data, plan_repair, write_plan
from checkpoint_git.tools.merges.findings import (
    NOT_AUDITED,
    AuditedMerge,
    count_kinds,
    describe,
    list_findings,
    list_rules,
    merge_data,
)
from checkpoint_git.tools.merges.judged import Schemas
from checkpoint_git.tools.merges.line_merge import audit_merges, find_event, keep_remaining


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("range", metavar="RANGE", nargs="?", help="such as main~50..main, or a branch (default: HEAD)")
    parser.add_argument("--head", metavar="REF", help="with a single squash commit: the branch it squashed")
    parser.add_argument("--base", metavar="REF", help="with --head: where the squash starts (default: its parent)")
    parser.add_argument("--strict", action="store_true", help="also fail on changes that look deliberate")
    parser.add_argument("--fix", action="store_true", help="repair in one commit; skip anything edited since")
    parser.add_argument("--dry-run", action="store_true", help="show what --fix would change, and change nothing")


class AuditRange(NamedTuple):
    revisions: str  # as rev-list takes them, no option among them
    head: str  # with which what the merges did is compared
    ahead: bool = False  # the range is no part of HEAD's history
    squash: Commit | None = None  # one commit, its sides its parents
    names: tuple[str, str] = ("", "")
    options: tuple[str, ...] = ()  # more words for rev-list


class AuditResult(NamedTuple):
    merges: int  # in the range
    squashes: set[str]
    audited: list[AuditedMerge]  # those with something to report, newest first
    reverted: int  # damaging ones that a later commit reverted as a whole
    end: str  # a commit before which a shallow clone knows nothing of the range, "" for none


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Exit code 1 where unrepaired damage remains."""
    cwd, env = invocation.cwd, offline_env(invocation.env)
    asked = _read_asked(args, cwd, env)
    schemas = Schemas(read_choices(cwd))
    with open_plain(cwd, env) as plain:
        found = audit_range(plain, asked, schemas, invocation, args.strict)
        if not (args.fix or args.dry_run):
            return make_outcome(found, args.strict)
        if asked.ahead:
            message = f"{escape_controls(asked.revisions)} is not part of HEAD's history"
            raise CheckpointError(f"{message}, and the repair goes on top of HEAD", "check that branch out first")
        plan = plan_repair(plain, found.audited, schemas, invocation.now, invocation.env)
        commit = None
        if plan.files and not args.dry_run:
            commit = write_plan(plan, say_waiting(invocation.stderr))
            found = audit_range(plain, asked._replace(head=commit), schemas, invocation, args.strict)
    outcome = make_outcome(found, args.strict)
    data = {**outcome.data, "fix": {**plan_data(plan, commit), "dry_run": args.dry_run}}
    blocks = [*_describe_plan(plan, commit), *outcome.blocks]
    return outcome._replace(data=data, blocks=blocks, findings=[*outcome.findings, *plan.refused])


def _read_asked(args: argparse.Namespace, cwd: str, env: dict[str, str]) -> AuditRange:
    revisions = "HEAD" if args.range is None else args.range
    if args.head is not None:
        return read_squash(cwd, env, revisions, args.base, args.head)
    if args.base is not None:
        raise CheckpointError("for a squash, name its branch too", "add --head REF")
    return _read_range(cwd, env, revisions)


def _read_range(cwd: str, env: dict[str, str], revisions: str) -> AuditRange:
    run_git(["rev-parse", "--git-dir"], cwd, env=env)
    tips = []
    if revisions and not revisions.startswith("-"):
        result = run_git(["rev-parse", "--revs-only", revisions], cwd, env=env, check=False)
        tips = [line for line in result.out.decode().split() if not line.startswith("^")] if result.code == 0 else []
    if not tips:
        message = f"invalid range {escape_controls(shorten(revisions, 80))!r}"
        raise CheckpointError(message, "give one such as main~20..main, or a branch")
    tips = [read_commit(cwd, tip, env) for tip in tips]
    head = find_commit(cwd, "HEAD", env)
    ahead = not head or bool(read_outside(cwd, tips, env))
    return AuditRange(revisions, tips[0] if ahead else head, ahead)


def read_squash(cwd: str, env: dict[str, str], rev: str, base: str | None, head: str) -> AuditRange:
    """One commit that holds the work of a branch and does not name it. base: None for its first parent."""
    (commit,) = read_commits(cwd, [read_commit(cwd, rev, env)], env)
    if base is None and not commit.parents:
        raise CheckpointError(f"{escape_controls(rev)} has no parent", "name what it is based on: --base REF")
    first = commit.parents[0] if base is None else read_commit(cwd, base, env)
    sides = (first, read_commit(cwd, head, env))
    asked = _read_range(cwd, env, commit.id)
    return asked._replace(squash=commit._replace(parents=sides), names=(base or first[:8], head))


def audit_range(plain: Plain, asked: AuditRange, schemas: Schemas, invocation: Invocation, strict: bool) -> AuditResult:
    cwd, env = plain.cwd, plain.env
    ends, merges, squashes = list[Commit](), 0, set[str]()
    if asked.squash is not None:
        names = dict(zip(asked.squash.parents, asked.names, strict=True))
        events, squashes = [(asked.squash, find_event(asked.squash, True, names))], {asked.squash.id}
    else:
        words = ["rev-list", "--merges", *asked.options, "--end-of-options", asked.revisions, "--"]
        ids = run_git(words, cwd, env=env).out.decode().split()
        apart = read_squashes(cwd, [*asked.options, asked.revisions], asked.head, env)
        events = [(commit, find_event(commit)) for commit in _read_suspects(cwd, ids, env)]
        events += [(commit, find_event(commit, True)) for commit in apart]
        ends, merges, squashes = read_cut_ends(cwd, asked.revisions), len(ids), {one.id for one in apart}
    audited = follow(audit_merges(plain, events, schemas), "auditing merges", len(events), invocation)
    reported = [one for one in audited if one.hits or one.reason or one.crowded]
    lasting = [keep_remaining(plain, one, asked.head) for one in reported]
    reverts = read_reverts(cwd, [one.event.commit for one in lasting if one.hits], asked.head, env)
    kept = [one for one in lasting if (one.hits or one.reason or one.crowded) and one.event.commit not in reverts]
    cut = [commit for commit in ends if len(commit.parents) > 1]
    kept += [AuditedMerge(find_event(one), [], reason=f"this clone was cut off there; {UNSHALLOW}") for one in cut]
    end = next((commit.id for commit in ends if len(commit.parents) == 1), "")
    if strict:  # what somebody seems to have meant counts too
        for at, one in enumerate(kept):
            files = [file._replace(hits=[hit._replace(meant=False) for hit in file.hits]) for file in one.files]
            kept[at] = one._replace(files=files)
    return AuditResult(merges + len(cut), squashes, kept, len(reverts), end)


def _read_suspects(cwd: str, ids: Sequence[str], env: Env) -> list[Commit]:
    # the merges that call for a look, and those of which a parent is not in this clone
    commits = read_commits(cwd, ids, env)
    missing = find_missing(cwd, sorted({parent for commit in commits for parent in commit.parents}), env)
    cut = {commit.id for commit in commits if missing & set(commit.parents)}
    known = {commit.id for commit in read_suspects(cwd, [one for one in ids if one not in cut], env)}
    return [commit for commit in commits if commit.id in known | cut]


def make_outcome(found: AuditResult, strict: bool) -> Outcome:
    counts = count_kinds(found.audited)
    data = {
        "merges_looked_at": found.merges,
        "squashes_looked_at": len(found.squashes),
        "reverted": found.reverted,
        "strict": strict,
        "counts": counts,
        "merges": [merge_data(one) for one in found.audited],
    }
    wrong = sum(number for kind, number in counts.items() if kind != "meant")
    parts = [plural(found.merges, "merge")]
    parts += [plural(len(found.squashes), "squash merge")] if found.squashes else []
    parts += [f"{plural(wrong, 'place')} still damaged" if wrong else "nothing lost, duplicated or mixed up"]
    parts += [f"{counts['meant']} that look deliberate"] if counts.get("meant") else []
    parts += [f"{plural(found.reverted, 'merge')} reverted since"] if found.reverted else []
    unknown = sum(bool(one.reason) for one in found.audited)
    parts += [f"{unknown} not checked"] if unknown else []
    summary = Line(", ".join(parts), "bad" if wrong else "warn" if unknown else "good")
    findings = list_findings(found.audited)
    if found.end:
        message = f"this clone was cut off at {found.end[:12]}: earlier merges are unknown"
        findings.append(Finding(NOT_AUDITED, "warning", message, hint=UNSHALLOW))
    return Outcome(data, [describe(one) for one in found.audited], findings, None, [summary], list_rules())


def _describe_plan(plan: Plan, commit: str | None) -> list[Block]:
    paths = ", ".join(file.path for file in plan.files)
    if commit:
        names = ", ".join(merge[:12] for merge in plan.merges)
        return [Line(f"repaired in commit {commit[:12]}, what {names} did: {paths}", "good")]
    if not plan.files:
        return [Line("there is nothing to repair", "dim")]
    return [Line(f"would repair {paths}", "good"), *show_diff(line for file in plan.files for line in file.diff)]
