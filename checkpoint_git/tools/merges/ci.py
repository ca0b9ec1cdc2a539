"""`checkpoint ci`: what a job of a forge runs, because no forge's merge button runs a merge driver."""

import argparse
from collections.abc import Callable
from importlib import import_module

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation, Outcome

SUMMARY = """\
what a forge's jobs do for pull requests, because no forge's merge button runs a merge driver

  premerge             merge the base branch into a pull request by meaning, and push that, so that it can be merged
  verify               would the forge's own merge by lines treat every entry by the rules? did a candidate's?"""
EXAMPLES = """\
  checkpoint ci premerge --base origin/main --head origin/topic --dry-run
  checkpoint ci premerge --base origin/main --head HEAD --branch topic --push
  checkpoint ci premerge --base origin/main --head HEAD --format md
  checkpoint ci verify --base origin/main --head HEAD --format github
  checkpoint ci verify --base origin/main --candidate HEAD"""

JOB_SUMMARY = "GITHUB_STEP_SUMMARY"  # the variable that names the file of a job's page; cli writes it
Verb = Callable[[argparse.Namespace, Invocation], Outcome]

# verb -> the module whose run() it is
VERBS = {
    "premerge": "checkpoint_git.tools.merges.premerge_verb",
    "verify": "checkpoint_git.tools.merges.verify",
}
# option -> the verbs that take it; those that all verbs take are not here
_OPTIONS = {
    "remote": ("premerge",),
    "branch": ("premerge",),
    "push": ("premerge",),
    "dry_run": ("premerge",),
    "retries": ("premerge",),
    "candidate": ("verify",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """VERB --base REF --head REF and the options of all verbs."""
    add = parser.add_argument
    add("action", metavar="VERB", choices=list(VERBS), help=", ".join(VERBS))
    add("--base", metavar="REF", help="the branch that the pull request goes into, as this clone knows it")
    add(
        "--head",
        metavar="REF",
        help="the pull request's last commit (default: HEAD, or what the remote has --branch at)",
    )
    add("--remote", metavar="NAME", help="premerge: where to fetch and push (default: origin)")
    add("--branch", metavar="NAME", help="premerge: the pull request's branch on the remote")
    add("--push", action=argparse.BooleanOptionalAction, help="premerge: push the merge to the branch (default: no)")
    add("--retries", metavar="N", type=int, help="premerge: how often to begin anew when the branch moves meanwhile")
    add("--dry-run", action="store_true", help="premerge: say what would be done, write no commit and push nothing")
    add("--candidate", metavar="COMMIT", help="verify: what was made already, such as a merge queue's commit")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb that was named; its module is imported only now."""
    for option, verbs in _OPTIONS.items():
        if getattr(args, option) not in (None, False) and args.action not in verbs:
            spelled = option.replace("_", "-")
            raise CheckpointError(f"ci {args.action} takes no --{spelled}", f"that is for {', '.join(verbs)}")
    verb: Verb = import_module(VERBS[args.action]).run
    return verb(args, invocation)
