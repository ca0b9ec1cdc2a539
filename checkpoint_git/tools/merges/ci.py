"""`checkpoint ci`: what a job of a forge runs, because no forge's merge button runs a merge driver."""

import argparse

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.git.merges.bases import is_ancestor
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import read_commits
from checkpoint_git.git.merges.trees import open_plain
from checkpoint_git.git.objects import has_commit, read_commit
from checkpoint_git.git.run import Env, clean_env, fetching_env, run_git
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.tools.merges import premerge_verb
from checkpoint_git.tools.merges.audit import AuditRange, audit_range, make_outcome, read_squash
from checkpoint_git.tools.merges.findings import (
    NOT_AUDITED,
    count_kinds,
    describe,
    list_findings,
    list_rules,
    merge_data,
    summarize,
)
from checkpoint_git.tools.merges.judged import Schemas
from checkpoint_git.tools.merges.line_merge import predict_line_merge
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
    if args.action == "premerge":
        return premerge_verb.run(args, invocation)
    return _predict(args, invocation) if args.candidate is None else _verify(args, invocation)


# It fetches no commits; in a partial clone git may get the files that it compares.
def _predict(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Whether a line-based merge corrupts anything: exit code 1 where it stops, or does what no rule would."""
    cwd, env = invocation.cwd, fetching_env(clean_env(invocation.env))
    if not args.base:
        hint = "checkpoint ci verify --base origin/main --head HEAD, or --candidate COMMIT"
        raise CheckpointError("missing: which branch is merged into which", hint)
    names = (args.base, args.head or "HEAD")
    first, second = (_read_named(cwd, name, env) for name in names)
    read_checked_bases(cwd, first, second, env)
    with open_plain(cwd, env) as plain:
        audited = [predict_line_merge(plain, first, second, names, Schemas(read_choices(cwd)))]
    data = {"candidate": None, "merges": [merge_data(one) for one in audited], "counts": count_kinds(audited)}
    blocks = [describe(one) for one in audited]
    return Outcome(data, blocks, list_findings(audited), None, [summarize(audited)], list_rules())


def _read_named(cwd: str, name: str, env: Env) -> str:
    # The full id. Raises CheckpointError where the commit is not here: nothing is fetched
    try:
        return read_commit(cwd, name, env)
    except CheckpointError as error:
        hint = "fetch it first (git fetch origin '+refs/heads/*:refs/remotes/origin/*'): a job has one branch as a rule"
        raise CheckpointError(error.message, hint) from None


def _verify(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """What an audit finds of the merges that led to a commit, such as a merge queue's, along the first parents."""
    cwd, env = invocation.cwd, fetching_env(clean_env(invocation.env))
    asked = _read_candidate(args, cwd, env)
    with open_plain(cwd, env) as plain:
        found = audit_range(plain, asked, Schemas(read_choices(cwd)), invocation, False)
    outcome, findings = make_outcome(found, False), list[Finding]()
    if asked.squash is None:
        known = {one.event.commit for one in found.audited} | found.squashes
        words = ["rev-list", "--first-parent", "--no-merges", asked.revisions, "--", *pathspecs()]
        hint = "name both sides (--base REF --head REF), or fetch the heads of pull requests: refs/pull/*/head"
        for commit in run_git(words, cwd, env=env).out.decode().split():
            if commit not in known:
                message = f"commit {commit[:12]} has one parent: the other side of a squash is unknown"
                findings.append(Finding(NOT_AUDITED, "note", message, hint=hint))
    return outcome._replace(data={"candidate": args.candidate, **outcome.data}, findings=[*outcome.findings, *findings])


def _read_candidate(args: argparse.Namespace, cwd: str, env: dict[str, str]) -> AuditRange:
    candidate = _read_named(cwd, args.candidate, env)
    if args.head is not None:
        if not args.base:
            raise CheckpointError("for a squash, name both sides", "add --base REF")
        for name in (args.base, args.head):
            _read_named(cwd, name, env)
        return read_squash(cwd, env, candidate, args.base, args.head)._replace(head=candidate)
    if args.base is not None:
        base = _read_named(cwd, args.base, env)
        if not is_ancestor(cwd, base, candidate, env):
            hint = "name the commit that it is based on; a shallow clone may lack it"
            raise CheckpointError("the candidate is not based on the base branch", hint)
    else:
        base, *others = read_commits(cwd, [candidate], env)[0].parents or ("",)
        if not others:
            hint = "for a squash, name both sides: --base REF --head REF"
            raise CheckpointError(f"{candidate[:12]} is not a merge", hint)
    # where a shallow clone lacks the base, the candidate alone is asked for, and is told as one that was cut off
    revisions = f"{base}..{candidate}" if has_commit(cwd, base, env) else candidate
    return AuditRange(revisions, candidate, options=("--first-parent",))
