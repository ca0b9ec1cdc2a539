"""`checkpoint audit`: what past merges lost, doubled or glued together in checkpoints, and a commit that mends it."""

import argparse

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Style
from checkpoint_git.core.terminal_text import escape_controls, plural
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.trees import Plain, open_plain
from checkpoint_git.git.objects import read_commit
from checkpoint_git.git.run import offline_env
from checkpoint_git.protocols.write import say_waiting
from checkpoint_git.tools.merges.audit_fix import Plan, list_diff, plan_data, plan_repair, write_plan
from checkpoint_git.tools.merges.findings import (
    Served,
    count_kinds,
    describe,
    list_rules,
    served_data,
    tell_all,
    tell_end,
)
from checkpoint_git.tools.merges.judged import Schemas
from checkpoint_git.tools.merges.past import Asked, Look, look, read_asked, read_squash

SUMMARY = "find what past merges lost, doubled or glued together in checkpoints, and put it back"
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
    parser.add_argument("--fix", action="store_true", help="undo the harm in one commit, where nobody was since")
    parser.add_argument("--dry-run", action="store_true", help="show what --fix would change, and change nothing")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 where harm still stands."""
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
        plan = plan_repair(plain, found.served, schemas, invocation.now, invocation.env)
        if args.dry_run or not plan.files:
            return _add_plan(_answer(found, args.strict), plan, None, args.dry_run)
        commit = write_plan(plan, say_waiting(invocation.stderr))
        left = _look(plain, asked._replace(head=commit), schemas, args.strict)
        return _add_plan(_answer(left, args.strict), plan, commit, False)


def _read_asked(args: argparse.Namespace, cwd: str, env: dict[str, str]) -> Asked:
    if args.since is not None and (args.range is not None or args.head is not None):
        raise CheckpointError("--since stands for a range of its own", "give either RANGE or --since COMMIT")
    revisions = "HEAD" if args.range is None else args.range
    if args.head is not None:
        return read_squash(cwd, env, revisions, args.base, args.head)
    if args.base is not None:
        raise CheckpointError("of a squash the branch must be named too", "add --head REF")
    if args.since is not None:
        return read_asked(cwd, env, f"{read_commit(cwd, args.since, env)}..HEAD")
    return read_asked(cwd, env, revisions)


def _look(plain: Plain, asked: Asked, schemas: Schemas, strict: bool) -> Look:
    found = look(plain, asked, schemas)
    return found._replace(served=[_count_all(one) for one in found.served]) if strict else found


def _count_all(served: Served) -> Served:
    """With what seems to be meant taken for harm like any."""
    files = [
        file._replace(found=[found._replace(hit=found.hit._replace(meant=False)) for found in file.found])
        for file in served.files
    ]
    return served._replace(files=files)


def _answer(found: Look, strict: bool) -> Outcome:
    data = {
        "merges_looked_at": found.merges,
        "squashes_looked_at": found.squashes,
        "reverted": found.reverted,
        "strict": strict,
        "counts": count_kinds(found.served),
        "merges": [served_data(one) for one in found.served],
    }
    blocks = [describe(one) for one in found.served]
    findings = [*tell_all(found.served), *([tell_end(found.end)] if found.end else [])]
    return Outcome(data, blocks, findings, None, [_summarize(found)], list_rules())


def _summarize(found: Look) -> Line:
    told = count_kinds(found.served)
    wrong = sum(number for kind, number in told.items() if kind != "meant")
    parts = [plural(found.merges, "merge")]
    parts += [plural(found.squashes, "squash merge")] if found.squashes else []
    parts += [f"{plural(wrong, 'place')} harmed to this day"] if wrong else ["nothing lost, doubled or blended"]
    parts += [f"{told['meant']} that somebody seems to have meant"] if told.get("meant") else []
    parts += [f"{plural(found.reverted, 'merge')} taken back since"] if found.reverted else []
    return Line(", ".join(parts), "bad" if wrong else "good")


_DIFF_STYLES: dict[str, Style] = {"+": "good", "-": "bad", "@": "strong"}


def _add_plan(outcome: Outcome, plan: Plan, commit: str | None, dry_run: bool) -> Outcome:
    """The outcome of a look with what was, or would be, repaired."""
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
