"""`checkpoint ci verify`: check that a line-based merge, or a merge queue's candidate, corrupts nothing."""

import argparse

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.git.merges.conflicts import read_choices
from checkpoint_git.git.merges.merges import Commit, read_commits, read_touched
from checkpoint_git.git.merges.squashes import read_squashes
from checkpoint_git.git.merges.suspects import read_suspects
from checkpoint_git.git.merges.trees import Plain, open_plain
from checkpoint_git.git.objects import Env, read_commit
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.git.staged import pathspecs
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


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 where a line-based merge stops, or does what no rule would."""
    cwd, env = invocation.cwd, clean_env(invocation.env)
    schemas = Schemas(read_choices(cwd))
    with open_plain(cwd, env) as plain:
        if args.candidate is not None:
            candidate = _read_named(cwd, args.candidate, env)
            audited, singles = _verify_candidate(plain, candidate, args.base, args.head, schemas)
        else:
            audited, singles = [_predict(plain, args.base, args.head, schemas)], []
    findings = [*list_findings(audited), *map(_tell_single, singles)]
    data = {"candidate": args.candidate, "merges": [merge_data(one) for one in audited], "counts": count_kinds(audited)}
    return Outcome(data, [describe(one) for one in audited], findings, None, [summarize(audited)], list_rules())


def _read_named(cwd: str, name: str, env: Env) -> str:
    """The full id of a commit that the words name. Raises CheckpointError where it is not here: nothing is fetched."""
    try:
        return read_commit(cwd, name, env)
    except CheckpointError as error:
        hint = "fetch it first (git fetch origin '+refs/heads/*:refs/remotes/origin/*'): a job has one branch as a rule"
        raise CheckpointError(error.message, hint) from None


def _predict(plain: Plain, base: str | None, head: str | None, schemas: Schemas) -> AuditedMerge:
    if not base:
        raise CheckpointError(
            "it is not said what is to be merged into what",
            "checkpoint ci verify --base origin/main --head HEAD, or --candidate COMMIT",
        )
    names = (base, head or "HEAD")
    commits = [_read_named(plain.cwd, name, plain.env) for name in names]
    read_checked_bases(plain.cwd, commits[0], commits[1], plain.env)
    return predict_line_merge(plain, commits[0], commits[1], names, schemas)


def _verify_candidate(
    plain: Plain, candidate: str, base: str | None, head: str | None, schemas: Schemas
) -> tuple[list[AuditedMerge], list[Commit]]:
    # what each merge of a candidate did; and the commits of it of whose other side nothing is known
    cwd, env = plain.cwd, plain.env
    (commit,) = read_commits(cwd, [candidate], env)
    if head is not None:
        if not base:
            raise CheckpointError("of a squash both sides must be named", "add --base REF")
        sides = (_read_named(cwd, base, env), _read_named(cwd, head, env))
        squash = commit._replace(parents=sides)
        event = find_event(squash, True, dict(zip(sides, (base, head), strict=True)))
        return [audit_merge(plain, squash, event, schemas, read_touched(cwd, squash, env))], []
    if base is None:
        if len(commit.parents) < 2:
            raise CheckpointError(
                f"{escape_controls(candidate[:12])} is not a merge",
                "of a squash name both sides: --base REF --head REF",
            )
        return list(audit_merges(plain, [(commit, find_event(commit))], schemas)), []
    return _verify_chain(plain, _read_named(cwd, base, env), candidate, schemas)


def _verify_chain(plain: Plain, base: str, candidate: str, schemas: Schemas) -> tuple[list[AuditedMerge], list[Commit]]:
    cwd, env = plain.cwd, plain.env
    if run_git(["merge-base", "--is-ancestor", base, candidate], cwd, env=env, check=False).code != 0:
        raise CheckpointError(
            "the candidate is not built upon the base",
            "name the commit that it was built upon; a shallow clone may lack it",
        )
    words = ["rev-list", "--first-parent", "--reverse", f"{base}..{candidate}", "--"]
    chain = read_commits(cwd, run_git(words, cwd, env=env).out.decode().split(), env)
    merges = [commit.id for commit in chain if len(commit.parents) > 1]
    suspects = {commit.id for commit in read_suspects(cwd, merges, env)}
    squashes = {one.id: one for one in read_squashes(cwd, [candidate, f"^{base}"], candidate, env)}
    words = ["rev-list", "--first-parent", "--no-merges", f"{base}..{candidate}", "--", *pathspecs()]
    touching = set(run_git(words, cwd, env=env).out.decode().split())
    events = [(commit, find_event(commit)) for commit in chain if commit.id in suspects]
    events += [(squash, find_event(squash, True)) for squash in squashes.values() if squash.id not in suspects]
    found = {one.event.commit: one for one in audit_merges(plain, events, schemas)}
    audited, singles = [], []
    for commit in chain:
        if commit.id in found or len(commit.parents) > 1:
            audited.append(found.get(commit.id) or AuditedMerge(find_event(commit), commit, []))
        elif commit.id in touching:
            singles.append(commit)
    return audited, singles


def _tell_single(commit: Commit) -> Finding:
    message = f"commit {commit.id[:12]} names one parent only: of a squash nothing is known of the other side"
    hint = "name both sides (--base REF --head REF), or fetch the heads of pull requests: refs/pull/*/head"
    return Finding(NOT_AUDITED, "note", message, hint=hint)
