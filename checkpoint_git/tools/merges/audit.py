"""`checkpoint audit`: entries that past merges lost, duplicated or mixed up, and a commit that repairs them."""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Style
from checkpoint_git.core.terminal_text import escape_controls, plural, shorten
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import UNSHALLOW, Commit, read_commits, read_cut_ends
from checkpoint_git.git.merges.squashes import read_reverts, read_squashes
from checkpoint_git.git.merges.suspects import read_outside, read_suspects
from checkpoint_git.git.merges.trees import Plain, open_plain
from checkpoint_git.git.objects import find_missing, read_commit
from checkpoint_git.git.run import offline_env, run_git
from checkpoint_git.protocols.write import say_waiting
from checkpoint_git.tools.merges.audit_fix import Plan, list_diff, plan_data, plan_repair, write_plan
from checkpoint_git.tools.merges.findings import (
    AuditedMerge,
    count_kinds,
    describe,
    find_cut_end,
    list_findings,
    list_rules,
    merge_data,
)
from checkpoint_git.tools.merges.judged import Schemas
from checkpoint_git.tools.merges.line_merge import audit_merges, find_event, keep_remaining


class AuditRange(NamedTuple):
    """What is to be looked at. revisions: as rev-list takes them, no option among them. head: a full id, with which
    what the merges did is compared. ahead: the range is no part of HEAD's history. squash: one commit, its sides its
    parents.
    """

    revisions: str
    head: str
    ahead: bool = False
    squash: Commit | None = None
    names: tuple[str, str] = ("", "")


class AuditResult(NamedTuple):
    """merges, squashes: how many there are in the range. audited: those with something to report, newest first.

    reverted: how many damaging ones a later commit reverted as a whole. end: a commit before which a shallow clone
    knows nothing of the range, "" for none.
    """

    merges: int
    squashes: int
    audited: list[AuditedMerge]
    reverted: int = 0
    end: str = ""


def read_range(cwd: str, env: dict[str, str], revisions: str) -> AuditRange:
    """A range of history. Raises CheckpointError where git knows none."""
    trouble = CheckpointError(
        f"git knows no range {escape_controls(shorten(revisions, 80))!r}", "give one such as main~20..main, or a branch"
    )
    run_git(["rev-parse", "--git-dir"], cwd, env=env)
    if revisions.startswith("-") or not revisions:
        raise trouble
    result = run_git(["rev-parse", "--revs-only", revisions], cwd, env=env, check=False)
    tips = [line for line in result.out.decode().split() if not line.startswith("^")]
    if result.code != 0 or not tips:
        raise trouble
    tips = [read_commit(cwd, tip, env) for tip in tips]
    head = (
        run_git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], cwd, env=env, check=False).out.decode().strip()
    )
    ahead = not head or bool(read_outside(cwd, tips, env))
    return AuditRange(revisions, tips[0] if ahead else head, ahead)


def read_squash(cwd: str, env: dict[str, str], rev: str, base: str | None, head: str) -> AuditRange:
    """One commit that holds the work of a branch and does not name it. base: None for its first parent."""
    (commit,) = read_commits(cwd, [read_commit(cwd, rev, env)], env)
    if base is None and not commit.parents:
        raise CheckpointError(f"{escape_controls(rev)} has no parent", "name what it was built upon: --base REF")
    first = commit.parents[0] if base is None else read_commit(cwd, base, env)
    sides = (first, read_commit(cwd, head, env))
    asked = read_range(cwd, env, commit.id)
    return asked._replace(squash=commit._replace(parents=sides), names=(base or first[:8], head))


def audit_range(plain: Plain, asked: AuditRange, schemas: Schemas) -> AuditResult:
    cwd, env = plain.cwd, plain.env
    if asked.squash is not None:
        names = dict(zip(asked.squash.parents, asked.names, strict=True))
        events = [(asked.squash, find_event(asked.squash, True, names))]
        ends, merges, squashes = list[Commit](), 0, 1
    else:
        words = ["rev-list", "--merges", "--end-of-options", asked.revisions, "--"]
        ids = run_git(words, cwd, env=env).out.decode().split()
        suspects = _find_suspects(plain, ids)
        apart = read_squashes(cwd, [asked.revisions], asked.head, env)
        events = [(commit, find_event(commit)) for commit in suspects]
        events += [(commit, find_event(commit, True)) for commit in apart]
        ends, merges, squashes = read_cut_ends(cwd, asked.revisions), len(ids), len(apart)
    found = audit_merges(plain, events, schemas)
    reported = [one for one in found if one.hits or one.reason or one.crowded]
    lasting = [keep_remaining(plain, one, asked.head) for one in reported]
    reverts = read_reverts(cwd, [one.event.commit for one in lasting if one.hits], asked.head, env)
    kept = [one for one in lasting if (one.hits or one.reason or one.crowded) and one.event.commit not in reverts]
    reason = f"this clone was cut off there; {UNSHALLOW}"
    cut = [commit for commit in ends if len(commit.parents) > 1]
    kept += [AuditedMerge(find_event(commit), commit, [], reason=reason) for commit in cut]
    end = next((commit.id for commit in ends if len(commit.parents) == 1), "")
    return AuditResult(merges + len(cut), squashes, kept, len(reverts), end)


def _find_suspects(plain: Plain, ids: Sequence[str]) -> list[Commit]:
    # the merges that call for a look; all of them where a parent of one is not in this clone
    commits = read_commits(plain.cwd, ids, plain.env)
    missing = find_missing(plain.cwd, sorted({parent for commit in commits for parent in commit.parents}), plain.env)
    if not missing:
        return read_suspects(plain.cwd, ids, plain.env)
    whole = [commit.id for commit in commits if not missing & set(commit.parents)]
    known = {commit.id for commit in read_suspects(plain.cwd, whole, plain.env)}
    return [commit for commit in commits if commit.id in known or commit.id not in whole]


SUMMARY = "find what past merges lost, duplicated or mixed up in checkpoints, and put it back"
EXAMPLES = """\
  checkpoint audit                             every merge of HEAD's history
  checkpoint audit v2.1..main                  those of a range
  checkpoint audit --since v2.1
  checkpoint audit --fix --dry-run             what would be put back, as a diff
  checkpoint audit --fix                       put it back, in one commit of its own
  checkpoint audit 3f2a9c1 --base v2.1 --head topic      one squash merge

A squash that names its pull request, as "(#12)", is found by itself where refs/pull/12/head was fetched."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """[RANGE] [--since COMMIT] [--base REF] [--head REF] [--strict] [--fix [--dry-run]]."""
    parser.add_argument("range", metavar="RANGE", nargs="?", help="such as main~50..main, or a branch (default: HEAD)")
    parser.add_argument("--since", metavar="COMMIT", help="the merges of HEAD's history after this commit")
    help_text = "the branch whose work RANGE, one commit, holds: that commit is a squash merge"
    parser.add_argument("--head", metavar="REF", help=help_text)
    parser.add_argument("--base", metavar="REF", help="what the squash was built upon (default: its parent)")
    parser.add_argument("--strict", action="store_true", help="count what somebody seems to have meant, too")
    parser.add_argument("--fix", action="store_true", help="repair in one commit; skip anything edited since")
    parser.add_argument("--dry-run", action="store_true", help="show what --fix would change, and change nothing")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 where unrepaired damage remains."""
    cwd, env = invocation.cwd, offline_env(invocation.env)
    asked = _read_asked(args, cwd, env)
    schemas = Schemas(read_choices(cwd))
    with open_plain(cwd, env) as plain:
        found = _look(plain, asked, schemas, args.strict)
        if not (args.fix or args.dry_run):
            return _answer(found, args.strict)
        if asked.ahead:
            raise CheckpointError(
                f"{escape_controls(asked.revisions)} is not part of HEAD's history, and the repair goes on top of HEAD",
                "check that branch out first",
            )
        plan = plan_repair(plain, found.audited, schemas, invocation.now, invocation.env)
        if args.dry_run or not plan.files:
            return _add_plan(_answer(found, args.strict), plan, None, args.dry_run)
        commit = write_plan(plan, say_waiting(invocation.stderr))
        left = _look(plain, asked._replace(head=commit), schemas, args.strict)
        return _add_plan(_answer(left, args.strict), plan, commit, False)


def _read_asked(args: argparse.Namespace, cwd: str, env: dict[str, str]) -> AuditRange:
    if args.since is not None and (args.range is not None or args.head is not None):
        raise CheckpointError("--since stands for a range of its own", "give either RANGE or --since COMMIT")
    revisions = "HEAD" if args.range is None else args.range
    if args.head is not None:
        return read_squash(cwd, env, revisions, args.base, args.head)
    if args.base is not None:
        raise CheckpointError("of a squash the branch must be named too", "add --head REF")
    if args.since is not None:
        return read_range(cwd, env, f"{read_commit(cwd, args.since, env)}..HEAD")
    return read_range(cwd, env, revisions)


def _look(plain: Plain, asked: AuditRange, schemas: Schemas, strict: bool) -> AuditResult:
    found = audit_range(plain, asked, schemas)
    return found._replace(audited=[_count_all(one) for one in found.audited]) if strict else found


def _count_all(audited: AuditedMerge) -> AuditedMerge:
    files = [
        file._replace(found=[found._replace(hit=found.hit._replace(meant=False)) for found in file.found])
        for file in audited.files
    ]
    return audited._replace(files=files)


def _answer(found: AuditResult, strict: bool) -> Outcome:
    data = {
        "merges_looked_at": found.merges,
        "squashes_looked_at": found.squashes,
        "reverted": found.reverted,
        "strict": strict,
        "counts": count_kinds(found.audited),
        "merges": [merge_data(one) for one in found.audited],
    }
    blocks = [describe(one) for one in found.audited]
    findings = [*list_findings(found.audited), *([find_cut_end(found.end)] if found.end else [])]
    return Outcome(data, blocks, findings, None, [_summarize(found)], list_rules())


def _summarize(found: AuditResult) -> Line:
    told = count_kinds(found.audited)
    wrong = sum(number for kind, number in told.items() if kind != "meant")
    parts = [plural(found.merges, "merge")]
    parts += [plural(found.squashes, "squash merge")] if found.squashes else []
    parts += [f"{plural(wrong, 'place')} harmed to this day"] if wrong else ["nothing lost, doubled or blended"]
    parts += [f"{told['meant']} that somebody seems to have meant"] if told.get("meant") else []
    parts += [f"{plural(found.reverted, 'merge')} taken back since"] if found.reverted else []
    return Line(", ".join(parts), "bad" if wrong else "good")


_DIFF_STYLES: dict[str, Style] = {"+": "good", "-": "bad", "@": "strong"}


def _add_plan(outcome: Outcome, plan: Plan, commit: str | None, dry_run: bool) -> Outcome:
    blocks: list[Block] = []
    if commit:
        names = ", ".join(merge[:12] for merge in plan.merges)
        blocks.append(Line(f"repaired in commit {commit[:12]}, what {names} did: {_list_files(plan)}", "good"))
    elif plan.files:
        blocks.append(Line(f"would repair {_list_files(plan)}", "good"))
        blocks += [Line(line, _DIFF_STYLES.get(line[:1], "")) for file in plan.files for line in list_diff(file)]
    else:
        blocks.append(Line("there is nothing to repair", "dim"))
    data = {**outcome.data, "fix": {**plan_data(plan, commit), "dry_run": dry_run}}
    return outcome._replace(data=data, blocks=[*blocks, *outcome.blocks], findings=[*outcome.findings, *plan.refused])


def _list_files(plan: Plan) -> str:
    return ", ".join(file.path for file in plan.files)
