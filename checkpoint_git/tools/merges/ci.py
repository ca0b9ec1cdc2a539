"""`checkpoint ci`: what a job of a forge runs, because no forge's merge button runs a merge driver."""

import argparse

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.git.merges.bases import is_ancestor
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import Commit, read_commits, read_touched
from checkpoint_git.git.merges.squashes import read_squashes
from checkpoint_git.git.merges.suspects import read_suspects
from checkpoint_git.git.merges.trees import Plain, open_plain
from checkpoint_git.git.objects import read_commit
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.tools.merges import premerge_verb
from checkpoint_git.tools.merges.findings import (
    NOT_AUDITED,
    AuditedMerge,
    count_kinds,
    describe,
    list_findings,
    list_rules,
    merge_data,
    summarize,
)
from checkpoint_git.tools.merges.judged import Schemas
from checkpoint_git.tools.merges.line_merge import audit_merge, audit_merges, find_event, predict_line_merge
from checkpoint_git.tools.merges.tree_merge import read_checked_bases

JOB_SUMMARY = "GITHUB_STEP_SUMMARY"  # the variable that names the file of a job's page; cli writes it
TAKERS = dict.fromkeys(("remote", "branch", "push", "retries", "dry_run"), ("premerge",)) | {"candidate": ("verify",)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("action", metavar="VERB", choices=["premerge", "verify"], help="one of the above")
    add("--base", metavar="REF", help="the target branch, as this clone knows it")
    add("--head", metavar="REF", help="the pull request's last commit (default: HEAD, or --branch on the remote)")
    add("--remote", metavar="REMOTE", help="where to fetch and push (default: origin)")
    add("--branch", metavar="BRANCH", help="the pull request's branch on the remote")
    add("--push", action=argparse.BooleanOptionalAction, help="push the merge to the branch (default: no)")
    add("--retries", metavar="N", type=int, help="how often to retry when the branch moves")
    add("--dry-run", action="store_true", help="only show what would be done")
    add("--candidate", metavar="COMMIT", help="an existing merge, such as a merge queue's commit")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    return premerge_verb.run(args, invocation) if args.action == "premerge" else _verify(args, invocation)


# Whether a line-based merge, or a merge queue's candidate, corrupts anything. It fetches nothing.
def _verify(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Exit code 1 where a line-based merge stops, or does what no rule would."""
    cwd, env = invocation.cwd, clean_env(invocation.env)
    schemas = Schemas(read_choices(cwd))
    singles: list[Commit] = []
    with open_plain(cwd, env) as plain:
        if args.candidate is None:
            audited = [_predict(plain, args.base, args.head or "HEAD", schemas)]
        else:
            (commit,) = read_commits(cwd, [_read_named(plain, args.candidate)], env)
            if args.head is None and args.base is not None:
                audited, singles = _verify_chain(plain, _read_named(plain, args.base), commit.id, schemas)
            else:
                audited = [_verify_one(plain, commit, args.base, args.head, schemas)]
    hint = "name both sides (--base REF --head REF), or fetch the heads of pull requests: refs/pull/*/head"
    findings = list_findings(audited)
    for commit in singles:
        message = f"commit {commit.id[:12]} has one parent: the other side of a squash is unknown"
        findings.append(Finding(NOT_AUDITED, "note", message, hint=hint))
    data = {"candidate": args.candidate, "merges": [merge_data(one) for one in audited], "counts": count_kinds(audited)}
    return Outcome(data, [describe(one) for one in audited], findings, None, [summarize(audited)], list_rules())


def _read_named(plain: Plain, name: str) -> str:
    # The full id. Raises CheckpointError where the commit is not here: nothing is fetched
    try:
        return read_commit(plain.cwd, name, plain.env)
    except CheckpointError as error:
        hint = "fetch it first (git fetch origin '+refs/heads/*:refs/remotes/origin/*'): a job has one branch as a rule"
        raise CheckpointError(error.message, hint) from None


def _predict(plain: Plain, base: str | None, head: str, schemas: Schemas) -> AuditedMerge:
    if not base:
        hint = "checkpoint ci verify --base origin/main --head HEAD, or --candidate COMMIT"
        raise CheckpointError("missing: which branch is merged into which", hint)
    first, second = (_read_named(plain, name) for name in (base, head))
    read_checked_bases(plain.cwd, first, second, plain.env)
    return predict_line_merge(plain, first, second, (base, head), schemas)


def _verify_one(plain: Plain, commit: Commit, base: str | None, head: str | None, schemas: Schemas) -> AuditedMerge:
    if head is None:
        if len(commit.parents) < 2:
            hint = "for a squash, name both sides: --base REF --head REF"
            raise CheckpointError(f"{escape_controls(commit.id[:12])} is not a merge", hint)
        return next(audit_merges(plain, [(commit, find_event(commit))], schemas))
    if not base:
        raise CheckpointError("for a squash, name both sides", "add --base REF")
    sides = (_read_named(plain, base), _read_named(plain, head))
    squash = commit._replace(parents=sides)
    event = find_event(squash, True, dict(zip(sides, (base, head), strict=True)))
    return audit_merge(plain, squash, event, schemas, read_touched(plain.cwd, squash, plain.env))


def _verify_chain(plain: Plain, base: str, candidate: str, schemas: Schemas) -> tuple[list[AuditedMerge], list[Commit]]:
    cwd, env = plain.cwd, plain.env
    if not is_ancestor(cwd, base, candidate, env):
        hint = "name the commit that it is based on; a shallow clone may lack it"
        raise CheckpointError("the candidate is not based on the base branch", hint)
    words = ["rev-list", "--first-parent", "--reverse", f"{base}..{candidate}", "--"]
    chain = read_commits(cwd, run_git(words, cwd, env=env).out.decode().split(), env)
    suspects = read_suspects(cwd, [commit.id for commit in chain if len(commit.parents) > 1], env)
    squashes = read_squashes(cwd, [candidate, f"^{base}"], candidate, env)
    words = ["rev-list", "--first-parent", "--no-merges", f"{base}..{candidate}", "--", *pathspecs()]
    touching = set(run_git(words, cwd, env=env).out.decode().split())
    events = [(commit, find_event(commit)) for commit in suspects]
    events += [(squash, find_event(squash, True)) for squash in squashes]
    found = {one.event.commit: one for one in audit_merges(plain, events, schemas)}
    audited, singles = [], []
    for commit in chain:
        if commit.id in found or len(commit.parents) > 1:
            audited.append(found.get(commit.id) or AuditedMerge(find_event(commit), []))
        elif commit.id in touching:
            singles.append(commit)
    return audited, singles
