"""`checkpoint ci`: verbs for a forge's jobs; no forge's merge button runs a merge driver."""

import argparse
from collections.abc import Iterator

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import command
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.core.untrusted_text import hide_in_value
from checkpoint_git.git.merges.bases import is_ancestor
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import read_commits
from checkpoint_git.git.merges.trees import open_plain
from checkpoint_git.git.objects import check_readable, find_commit, has_commit
from checkpoint_git.git.run import Env, clean_env, fetching_env, run_git
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.tools.merges import premerge_report
from checkpoint_git.tools.merges.audit import make_outcome
from checkpoint_git.tools.merges.audit_range import AuditRange, audit_range, read_squash
from checkpoint_git.tools.merges.audited_file import Schemas
from checkpoint_git.tools.merges.findings import (
    NOT_AUDITED,
    count_kinds,
    describe,
    list_findings,
    merge_data,
    summarize,
)
from checkpoint_git.tools.merges.line_merge import predict_line_merge
from checkpoint_git.tools.merges.tree_merge import read_checked_bases

HELP = """\
CI helpers for pull requests (merge buttons ignore merge drivers)

examples:
  checkpoint ci merge --base origin/main --head HEAD --branch topic --push
  checkpoint ci verify --base origin/main --head HEAD

exit 1: a manual decision is needed, or a text merge would corrupt something
"""
SUB_HELP = {
    "merge": """\
merge the base branch into a pull request with the merge driver, and push the result

examples:
  checkpoint ci merge --base origin/main --head origin/topic --dry-run
  checkpoint ci merge --base origin/main --head HEAD --branch topic --push
  checkpoint ci merge --base origin/main --head HEAD --format md

exit 1: a manual decision is needed
""",
    "verify": """\
check that a text merge (or a merge queue's commit) corrupts nothing

examples:
  checkpoint ci verify --base origin/main --head HEAD --format github
  checkpoint ci verify --base origin/main --candidate HEAD

exit 1: a text merge would corrupt something
""",
}

# the variable that names the file of a job's page; cli writes it
JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
TAKERS = {
    "remote": ("merge",),
    "branch": ("merge",),
    "push": ("merge",),
    "retries": ("merge",),
    "dry_run": ("merge",),
    "candidate": ("verify",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("action", metavar="VERB", choices=["merge", "verify"], help="one of the above")
    add("--base", metavar="REF", help="the target branch, as this clone knows it")
    head = "the pull request's last commit (default: HEAD, or --branch on the remote)"
    add("--head", metavar="REF", help=head)
    add("--remote", metavar="REMOTE", help="where to fetch and push (default: origin)")
    add("--branch", metavar="BRANCH", help="the pull request's branch on the remote")
    push = "push the merge to the branch (default: no)"
    add("--push", action=argparse.BooleanOptionalAction, help=push)
    add("--retries", metavar="N", type=int, help="how often to retry when the branch moves")
    add("--dry-run", action="store_true", help="only show what would be done")
    candidate = "an existing merge, such as a merge queue's commit"
    add("--candidate", metavar="COMMIT", help=candidate)


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    if args.action == "merge":
        return premerge_report.run(args, invocation)
    if args.candidate is None:
        return _verify_line_merge(args, invocation)
    return _verify_candidate(args, invocation)


def _verify_line_merge(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Predict a text merge; exit with code 1 if it stops, or does what no merge rule would.

    No commits are fetched; in a partial clone git may get the files that are compared.
    """
    cwd, env = invocation.cwd, fetching_env(clean_env(invocation.env))
    if not args.base:
        verify = ("checkpoint", "ci", "verify", "--base", "origin/main", "--head", "HEAD")
        hint = command(*verify, more=", or --candidate COMMIT")
        raise CheckpointError("missing: which branch is merged into which", hint)

    names = (args.base, args.head or "HEAD")
    first, second = (_read_named(cwd, name, env) for name in names)
    read_checked_bases(cwd, first, second, env)
    with open_plain(cwd, env) as plain:
        schemas = Schemas(read_choices(cwd))
        merges = [predict_line_merge(plain, first, second, names, schemas)]

    data = {
        "candidate": None,
        "merges": [merge_data(merge) for merge in merges],
        "counts": count_kinds(merges),
    }
    blocks = [describe(merge) for merge in merges]
    return Outcome(data, blocks, list_findings(merges), None, [summarize(merges)])


def _read_named(cwd: str, name: str, env: Env) -> str:
    """Return the full id. Raises CheckpointError if the commit is not here."""
    commit = find_commit(cwd, name, env)
    if commit:
        return commit
    check_readable(cwd, env)
    fetch = command("git", "fetch", "origin", "+refs/heads/*:refs/remotes/origin/*")
    hint = f"fetch it first ({fetch}): a job has one branch as a rule"
    raise CheckpointError(f"{hide_in_value(name)!r} names no commit", hint)


def _verify_candidate(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Audit the merges that led to a commit, such as a merge queue's, along the first parents."""
    cwd, env = invocation.cwd, fetching_env(clean_env(invocation.env))
    asked = _read_candidate(args, cwd, env)
    with open_plain(cwd, env) as plain:
        found = audit_range(plain, asked, Schemas(read_choices(cwd)), invocation, False)
    outcome = make_outcome(found, False)
    findings = list(outcome.findings)
    if asked.squash is None:
        known = {merge.event.commit for merge in found.audited} | found.squashes
        findings += _list_unknown_squashes(cwd, asked, known, env)

    data = {"candidate": args.candidate, **outcome.data}
    return outcome._replace(data=data, findings=findings)


def _list_unknown_squashes(
    cwd: str, asked: AuditRange, known: set[str], env: Env
) -> Iterator[Finding]:
    words = ["rev-list", "--first-parent", "--no-merges", asked.revisions, "--", *pathspecs()]
    sides = "name both sides (--base REF --head REF)"
    hint = f"{sides}, or fetch the heads of pull requests: refs/pull/*/head"
    for commit in run_git(words, cwd, env=env).out.decode().split():
        if commit not in known:
            why = "has one parent: the other side of a squash is unknown"
            yield Finding(NOT_AUDITED, "note", f"commit {commit[:12]} {why}", hint=hint)


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
        (commit,) = read_commits(cwd, [candidate], env)
        if len(commit.parents) < 2:
            hint = "for a squash, name both sides: --base REF --head REF"
            raise CheckpointError(f"{candidate[:12]} is not a merge", hint)
        base = commit.parents[0]

    # without the base, as in a shallow clone, the candidate alone is audited: it is reported as
    # truncated
    revisions = candidate
    if has_commit(cwd, base, env):
        revisions = f"{base}..{candidate}"
    return AuditRange(revisions, candidate, options=("--first-parent",))
